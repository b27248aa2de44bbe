"""What every run of a machine consists of: two robots, the machine, an account of energy, times, the result.

Scenarios (``run.py``) and jobs (``job_run.py``) build with it, let the machine run in their own way, and collect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.display import US
from servotwin.description.error_sources import base_compliance, source_notes
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.thermal_growth import true_mechanism
from servotwin.robot.arguments import position_text
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.drive_records import highest_voltage
from servotwin.simulation.plant.groups import GROUPS
from servotwin.simulation.plant.machine import Machine, build_machine
from servotwin.simulation.plant.own_actuator import carried_notes, quick_actuators, troubles
from servotwin.simulation.plant.start import Start
from servotwin.simulation.plant.status import DIVERGED, LAW_NOT_A_NUMBER, LAW_WANTED, RUNNING, SINGULAR
from servotwin.simulation.preflight.advice import coarse_steps
from servotwin.simulation.results.energy import account, balance_warnings, own_errors
from servotwin.simulation.results.limits_met import bus_summary, bus_warnings, excess_warnings, limit_warnings
from servotwin.simulation.results.motion_log import CommandedMotion, make_log
from servotwin.simulation.results.repeatability import visit_summary
from servotwin.simulation.results.result import Result, RunEvent
from servotwin.simulation.results.signals import joint_kinds, make_signals, make_zoom
from servotwin.simulation.results.summary import axis_summaries, events_of, tip_errors
from servotwin.simulation.results.window_counts import window_summary
from servotwin.simulation.scenario.scenario import Scenario

WELL = (
    RUNNING,
    LAW_WANTED,
)  # a law that was asked and did not answer: the machine stands well before that instant
CLOSED_WINDOW = (RUNNING, LAW_WANTED, LAW_NOT_A_NUMBER, SINGULAR)  # others fail within a window


@dataclass
class Run:
    """A machine that stands ready, or has run, and what is known about its run.

    ``stored_before``: energies at its begin [J]. Planning and compiling before it have their own times [s]; what is
    compiled on the way is in ``machine.compile_s``.
    """

    scenario: Scenario
    model: Robot  # as the controller knows it
    plant: Robot  # as it is
    machine: Machine
    stored_before: dict[str, float]
    warnings: list[str]
    compile_s: float
    planning_s: float

    @property
    def now_s(self) -> float:
        """Simulated so far."""
        return int(self.machine.world["state"]["now"][0]) * 1e-9

    @property
    def status(self) -> int:
        """Why it stopped (``RunStatus``)."""
        return int(self.machine.world["state"]["status"][0])

    @property
    def failed(self) -> bool:
        """Whether the machine could not go on."""
        return self.status not in WELL


def robots_of(scenario: Scenario) -> tuple[Robot, Robot]:
    """The robot as its controller knows it, and as it is."""
    belief, truth = scenario.description, scenario.plant_description
    model = Robot(build_mechanism(belief), title=belief.title)
    section = truth.error_sources
    alike = not scenario.plant_set and (section is None or not (section.enabled or section.off))
    return model, model if alike else Robot(true_mechanism(truth), title=truth.title)


def machine_of(
    scenario: Scenario,
    model: Robot,
    plant: Robot,
    start: Start,
    *,
    rows: int,
    row_every_ns: int,
    every_piece: bool = False,
    zoomed: bool = False,
    allow_code: bool = False,
) -> Machine:
    """The machine of a scenario as it begins; see ``build_machine``."""
    return build_machine(
        scenario.description, scenario.plant_description, model, plant, start, scenario.solver,
        seed=scenario.seed, rows=rows, row_every_ns=row_every_ns, every_piece=every_piece, zoomed=zoomed,
        allow_code=allow_code, scenario=scenario,
    )  # fmt: skip


def failure_text(run: Run) -> str:  # noqa: PLR0911 -- one for each reason
    """Why the machine of a run failed, in one line."""
    name, at, status = run.scenario.name, run.now_s, run.status
    if status == DIVERGED:
        if run.machine.world["state"]["no_number"][0]:
            return f"{name}: stopped at {at:.6g} s: a force of the environment is not a number"
        own = troubles(run.machine.own.values())
        if own:
            return f"{name}: stopped at {at:.6g} s: {own[0]}"
        quick = quick_lines(run)
        if quick:
            return f"{name}: diverged at {at:.6g} s: {quick[0]}"
        return (
            f"{name}: diverged at {at:.6g} s: a motor or joint left all bounds of speed or torque; "
            f"{coarse_steps(run.machine, run.scenario.solver, run.plant.mechanism.rotors.names)}look at the gains "
            "(servotwin tune) and at the data of motors and loads"
        )
    if status == LAW_NOT_A_NUMBER:
        return f"{name}: stopped at {at:.6g} s: the control law returned a value that is not a number"
    if status == SINGULAR:
        robot = run.plant
        sliding = [unit == "m" for unit in robot.joint_units]
        joints = position_text(run.machine.x[: robot.n], robot.joint_names, sliding)
        return (
            f"{name}: stopped at {at:.6g} s: {run.plant.name} came to a singular position ({joints}), where the "
            "actuated joints no longer determine the passive ones; keep the motion away from it"
        )
    quick = quick_lines(run)
    if quick:
        return f"{name}: stalled at {at:.6g} s: {quick[0]}"
    fastest = float(run.machine.world["scratch"]["fastest"][0])
    if fastest > 0.0 and run.machine.groups:
        return f"{name}: stalled at {at:.6g} s: {run.machine.groups[0].stalled(US / fastest)}"
    return (
        f"{name}: stalled at {at:.6g} s: too many events in one PWM interval; look at friction, stiffness and play, or "
        "raise solver.steps"
    )


def quick_lines(run: Run) -> list[str]:
    """Actuators of the user's that are too quick for the steps of a run, a line for each."""
    machine = run.machine
    period = float(machine.servo.servo["T_current"][0])
    return quick_actuators(machine.own, machine.motors["own_rate"], period, run.scenario.solver.method)


@np.errstate(all="ignore")  # a run may contain NaN after divergence
def collect(
    run: Run,
    reference: CommandedMotion,
    wall: float,
    happened: Sequence[tuple[float, str, str]],
    *,
    failure: str | None = None,
) -> Result:
    """The result of a run that has ended, after ``wall`` [s] of simulating.

    ``happened``: faults, keys and alarms with their times [s] and where; ``failure``: why it ended before its time,
    if it was not the machine that failed.
    """
    machine, plant, scenario = run.machine, run.plant, run.scenario
    if run.failed:
        failure = failure_text(run)
    if run.status in CLOSED_WINDOW:
        machine.close()
    log = make_log(machine, plant, run.model, reference, base_compliance(scenario.plant_description))
    signals = make_signals(machine, plant, run.model, reference, log)
    errors = tip_errors(log, float(reference.arrivals[-1]))
    repeatability = visit_summary(log.tip_signals())
    now = run.now_s
    sliding = joint_kinds(plant)
    motors = plant.mechanism.rotors.names
    axes = axis_summaries(
        machine, scenario.plant_description, log, plant.joint_names, sliding, motors, now,
        float(reference.arrivals[-1]),
    )  # fmt: skip
    events: tuple[RunEvent, ...] = events_of(axes, happened)
    energy = account(machine, plant, run.stored_before)
    bus = bus_summary(machine, energy["brake_resistor_J"], now)
    parts = {group.key: group.summary(machine, motors) for group in machine.groups}
    warnings = [*run.warnings, *machine.started.warnings, *limit_warnings(axes)]
    if run.status != DIVERGED:  # which leaves all limits behind
        power = scenario.plant_description.power
        warnings += excess_warnings(axes)
        warnings += bus_warnings(bus, highest_voltage(power)[1] if power is not None else "")
        forces = enumerate(scenario.environment.forces)
        walls = [f"environment.forces.{i}" for i, force in forces if force.kind == "wall"]
        warnings += balance_warnings(energy, scenario.solver, own_errors(machine), walls)
        warnings += quick_lines(run) if scenario.solver.method != "adaptive" else []
        for group in machine.groups:
            warnings += group.warnings(parts[group.key], scenario.solver)
    summary = {
        "scenario": scenario.name,
        "title": scenario.title,
        "robot": plant.name,
        "method": scenario.solver.method,
        "pwm": scenario.solver.pwm,
        "seed": scenario.seed,
        "start": machine.started.plain(plant.joint_names),
        "failure": failure,
        "simulated_s": now,
        "wall_s": wall,
        "compile_s": run.compile_s + machine.compile_s,
        "planning_s": run.planning_s,
        "real_time_factor": now / wall if wall > 0.0 else None,
        **errors,
        "repeatability": repeatability,
        "energy": energy,
        "bus": bus,
        **dict.fromkeys(GROUPS),
        **parts,
        "axes": axes,
        "warnings": warnings,
        "notes": [
            *carried_notes(scenario.plant_description, scenario.solver.method),
            *source_notes(scenario.plant_description),
        ],
        "windows": window_summary(machine),
        "intervals_per_current_period_max": int(machine.world["state"]["intervals_max"][0]),
        "estimated_step_error": None
        if scenario.solver.method == "rk4"
        else float(machine.world["state"]["error"][0]),
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
        complete=failure is None,
        log=log,
        plant=plant,
    )
