"""Run a scenario: build the machine, let it run, collect what it did."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np

from servotwin.control.axis_data import axis_model, timing_of
from servotwin.control.loops import check_loops
from servotwin.control.records import Law
from servotwin.control.user_laws import LEVELS, CompiledLaw, PythonLaw, Signals
from servotwin.drives.records import Kind
from servotwin.errors import InputError, SimulationError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.controller_data import axis_gains_of, controller_of, shaft_inertia
from servotwin.simulation.drive_data import owners
from servotwin.simulation.energy import account, stored
from servotwin.simulation.faults import apply_fault, fault_times
from servotwin.simulation.loop import LAW
from servotwin.simulation.machine import Machine, build_machine
from servotwin.simulation.result import Event, Result
from servotwin.simulation.scenario import Scenario, plan_scenario, read_scenario
from servotwin.simulation.signals import Reference, joint_kinds, make_signals, make_zoom
from servotwin.simulation.steps import ASKING, DIVERGED
from servotwin.simulation.summary import axis_summaries, events_of, saturation_warnings, tip_errors

CHUNK = 200_000_000  # ns between two looks at the clock, the progress bar and Ctrl-C
MOST_ROWS = 20_000_000
UserLaw = PythonLaw | CompiledLaw


def simulate(
    scenario: str | PathLike[str] | Scenario,
    overrides: Mapping[str, str] | None = None,
    *,
    controller: UserLaw | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulate arm, drives and controller together.

    ``scenario`` is the name of one that ships, the path of a scenario file, or a ``Scenario``; ``overrides``
    changes its fields (``{"solver.method": "rk4", "set.variables.load": "2 kg"}``). A ``controller`` of the
    user's takes the place of position and speed loops. ``progress`` is called with the part done, 0 to 1.
    A run that diverges raises SimulationError with ``.partial``; Ctrl-C gives a result that is not ``complete``.
    """
    if not isinstance(scenario, Scenario):
        scenario = read_scenario(scenario, overrides)
    elif overrides:
        raise InputError("overrides go with a name or file; expected a scenario that is not read yet")
    run = prepare(scenario, controller)
    return carry_out(run, progress or (lambda part: None))


@dataclass
class Run:
    """A machine that stands ready, and what is known about its run."""

    scenario: Scenario
    model: Robot
    plant: Robot
    reference: Reference
    machine: Machine
    law: UserLaw | None
    warnings: list[str]
    duration_ns: int
    before: dict[str, float]
    compile_s: float


def prepare(scenario: Scenario, law: UserLaw | None = None) -> Run:
    """Build everything up to the instant zero; compiles what is not compiled yet."""
    belief, truth = scenario.description, scenario.plant_description
    model = Robot(build_mechanism(belief), title=belief.title)
    plant = Robot(build_mechanism(truth), title=truth.title) if scenario.plant_set else model
    reference = plan_scenario(scenario, model.joint_names, model.limits)
    control = controller_of(belief)
    every = record_period(scenario, control.current_period_ns)
    duration = -(-round(reference.duration * 1e9) // every) * every
    if duration // every > MOST_ROWS:
        raise InputError(
            f"{duration // every} samples; expected at most {MOST_ROWS}: record less often",
            field="record.every",
        )
    began = time.perf_counter()
    q = np.array([scenario.start[name] for name in model.joint_names])
    machine = build_machine(
        belief, truth, model, plant, q, scenario.solver,
        seed=scenario.seed, rows=duration // every, row_every_ns=every,
        every_piece=scenario.record.zoom is not None or bool(scenario.faults),
    )  # fmt: skip
    set_table(machine, reference, control.main_period)
    set_zoom(machine, scenario, control.current_period_ns)
    if law is not None:
        attach_law(machine, law)
    compiled = time.perf_counter() - began
    warnings = [*belief.warnings, *loop_warnings(scenario, model)]
    return Run(
        scenario, model, plant, reference, machine, law, warnings, duration, stored(machine, plant), compiled
    )


def record_period(scenario: Scenario, current_ns: int) -> int:
    """Time between two rows [ns]; rows are written when a current period ends."""
    every = round(scenario.record.every * 1e9)
    if every % current_ns:
        nearest = max(1, round(every / current_ns)) * current_ns
        raise InputError(
            f"{every * 1e-6:g} ms is not a multiple of the current period, {current_ns * 1e-6:g} ms; expected such as "
            f"'{nearest * 1e-6:g} ms'",
            file=str(scenario.path) if scenario.path else None,
            field="record.every",
        )
    return every


def set_table(machine: Machine, reference: Reference, period: float) -> None:
    """What the main controller will hand out at each of its instants, in pulses."""
    count = int(np.ceil(reference.duration / period)) + 1
    q, qd, qdd = reference.sample((np.arange(count) + 1) * period)
    N, counts = machine.N, machine.sensors["counts_per_rad"]
    machine.table = np.ascontiguousarray(
        np.stack([np.rint(q @ N.T * counts), qd @ N.T, qdd @ N.T], axis=-1), dtype=np.float64
    )


def set_zoom(machine: Machine, scenario: Scenario, current_ns: int) -> None:
    """Room for the detail of a short time, whole current periods of it."""
    zoom = scenario.record.zoom
    if zoom is None:
        return
    first = int(zoom.at * 1e9 // current_ns) * current_ns
    periods = max(1, round(zoom.span * 1e9 / current_ns))
    machine.world["zoom_from"][0], machine.world["zoom_to"][0] = first, first + periods * current_ns
    machine.zoom = np.zeros((periods * (6 * len(machine.motors) + 3) * 2, machine.zoom.shape[1]))


def loop_warnings(scenario: Scenario, model: Robot) -> list[str]:
    """Loops that are unstable or nearly so at the pose where the run begins."""
    description = scenario.description
    control = controller_of(description)
    N = model.mechanism.rotors.N
    q = np.array([scenario.start[name] for name in model.joint_names])
    inertia, gains = shaft_inertia(model, N, q), axis_gains_of(description, model, N, model.mechanism.q_home)
    lines: list[str] = []
    for j, name in enumerate(owners(description)):
        motor = description.axes[name].motor
        if motor is None or motor.kind in ("ideal", "hydraulic"):
            continue
        axis = axis_model(description, name, float(inertia[j]))
        lines += check_loops(name, axis, gains[j], timing_of(control), "at the start")
    return lines


def attach_law(machine: Machine, law: UserLaw) -> None:
    """Put a control law of the user's in the place of position and speed loops."""
    timing, tasks = machine.timing[0], machine.tasks
    timing["level"] = LEVELS[law.level]
    if law.level == "voltage" and (machine.motors["kind"] == Kind.PMSM).any():
        raise InputError(
            "'voltage' is not there for synchronous motors, whose driver turns it with the rotor; expected speed "
            "or current",
            field="level",
        )
    tasks[LAW] = (0, round(law.period * 1e9), 0, 0)
    if isinstance(law, PythonLaw):
        timing["law"] = Law.EXTERNAL
        return
    m = len(machine.motors)
    if law.motors != m:
        raise InputError(f"the law is for {law.motors} motors; expected {m}", field="motors")
    timing["law"] = Law.COMPILED
    memory = np.zeros(max(law.memory, 1))
    timing["law_at"], machine.world["memory_at"][0] = law.compiled.address, memory.ctypes.data
    machine.kept += [law.compiled, memory]


def answer(machine: Machine, law: PythonLaw) -> None:
    """Let a Python law see its signals and hand over its commands."""
    world, axes = machine.world[0], machine.axes
    m = len(machine.motors)
    rows = world["signals"][: 6 * m].reshape(6, m).copy()
    command = np.asarray(law.compute(int(world["now"]) * 1e-9, Signals(*rows)), dtype=np.float64)
    if command.shape != (m,):
        raise InputError(f"the law returned the shape {command.shape}; expected ({m},)", field="controller")
    field, most, bit = {
        "speed": ("w_command", "w_max", 4),
        "current": ("i_ref", "i_max", 2),
        "voltage": ("u_ref", "u_max", 1),
    }[law.level]
    limited = np.clip(command, -axes[most], axes[most])
    axes[field] = limited
    axes["saturation"] |= np.where(limited != command, bit, 0)
    world["status"] = 0


def carry_out(run: Run, progress: Callable[[float], None]) -> Result:
    """Run to the end, to a failure, or to Ctrl-C."""
    machine, world = run.machine, run.machine.world[0]
    faults = fault_times(run.scenario)
    happened: list[tuple[float, str, str]] = []
    complete = True
    began = time.perf_counter()
    try:
        while world["now"] < run.duration_ns and world["status"] == 0:
            while faults and faults[0][0] <= world["now"]:
                at, fault = faults.pop(0)
                apply_fault(machine, fault, run.plant.mechanism.rotors.names)
                happened.append((at * 1e-9, fault.axis or "supply", f"fault: {fault.kind}"))
            until = min(
                run.duration_ns, int(world["now"]) + CHUNK, faults[0][0] if faults else run.duration_ns
            )
            machine.advance(until)
            while world["status"] == ASKING and isinstance(run.law, PythonLaw):
                answer(machine, run.law)
                machine.advance(until)
            progress(int(world["now"]) / max(run.duration_ns, 1))
    except KeyboardInterrupt:
        complete = False
    wall = time.perf_counter() - began - machine.compile_s
    failed = int(world["status"])
    result = collect(run, wall, happened, complete=complete and failed == 0)
    if failed:
        raise SimulationError(failure_text(failed, int(world["now"]) * 1e-9, run), result)
    return result


def failure_text(status: int, at: float, run: Run) -> str:
    """Why a run ended early, in one line."""
    name = run.scenario.name
    if status == DIVERGED:
        return (
            f"{name}: diverged at {at:.6g} s: a motor left all bounds of speed; look at the gains (servotwin tune) and "
            "at the data of motors and loads"
        )
    return (
        f"{name}: stalled at {at:.6g} s: too many events in one PWM interval; look at friction, stiffness and play, or "
        "raise solver.steps"
    )


def collect(run: Run, wall: float, faults: list[tuple[float, str, str]], *, complete: bool) -> Result:
    """The result of a run that has ended."""
    machine, plant, scenario = run.machine, run.plant, run.scenario
    with np.errstate(all="ignore"):  # a run that diverged has left numbers behind that are none
        signals = make_signals(machine, plant, run.model, run.reference)
    now = int(machine.world["now"][0]) * 1e-9
    sliding = joint_kinds(plant)
    motors = plant.mechanism.rotors.names
    axes = axis_summaries(
        machine, scenario.plant_description, signals, plant.joint_names, sliding, motors, now
    )
    moved = float(np.abs(np.diff(signals["bus_energy_J"], prepend=0.0)).sum())
    events: tuple[Event, ...] = events_of(axes, faults)
    summary = {
        "scenario": scenario.name,
        "robot": plant.name,
        "method": scenario.solver.method,
        "pwm": scenario.solver.pwm,
        "seed": scenario.seed,
        "simulated_s": now,
        "wall_s": wall,
        "compile_s": run.compile_s + machine.compile_s,
        "real_time_factor": now / wall if wall > 0.0 else None,
        **tip_errors(signals, run.reference),
        "energy": account(machine, plant, run.before, moved),
        "axes": axes,
        "warnings": [*run.warnings, *saturation_warnings(axes)],
        "intervals_per_current_period_max": intervals(machine, scenario),
        "estimated_step_error": float(machine.world["error"][0]),
    }
    return Result(
        scenario=scenario,
        robot=run.model,
        joints=plant.joint_names,
        prismatic=sliding,
        motors=tuple(motors),
        signals=signals,
        zoom=make_zoom(machine, plant),
        summary=summary,
        events=events,
        complete=complete,
    )


def intervals(machine: Machine, scenario: Scenario) -> int:
    """Most intervals that the edges of all motors cut one current period into."""
    seen = int(machine.world["intervals_max"][0])
    if seen or scenario.solver.pwm == "averaged":
        return max(seen, 1)
    edges = {int(Kind.DC): 4, int(Kind.DC_REDUCED): 4, int(Kind.PMSM): 6}
    return 1 + sum(edges.get(int(kind), 0) for kind in machine.motors["kind"])
