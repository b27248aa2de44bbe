"""Robot, drives and controller as the data of the compiled loop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from servotwin.control.axis_data import bus_voltage_of, controller_of
from servotwin.description.checks import motor_names
from servotwin.description.motors import motor_of, owners
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.records import FREE, STOP, STUCK, Kind, zeros
from servotwin.equations.derivation import Numbers
from servotwin.errors import UnsupportedError
from servotwin.kernels.hub import Entry, entry, step_entry
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.closure_watch import SOUND
from servotwin.simulation.controller_data import axis_records, timing_record
from servotwin.simulation.drive_data import (
    current_limit,
    fill_friction,
    motor_records,
    power_record,
    sensor_records,
)
from servotwin.simulation.friction_data import joint_curves
from servotwin.simulation.loop import AXIS, BRIDGE, DRIVER, LAW, MAIN, run
from servotwin.simulation.recording import HEAD, LOG_PERIOD, NEVER, PER_LOG, PER_ROW
from servotwin.simulation.scenario_parts import Solver
from servotwin.simulation.start import Start, Started, begin
from servotwin.simulation.steps import WANTING
from servotwin.simulation.warm import addresses
from servotwin.simulation.work import MAX_FREE, MAX_JOINTS, PER_BUS, PER_MOTOR, WORLD, address_of, tableau

EDGE_STEPS = 2  # of the fast method between two edges, where a window goes from edge to edge
STOP_MARGIN = 0.05  # end stops lie beyond the position limits by this part of the stroke
OPEN_END = 1e9
FIRST_LOG, LONGEST_LOG = (
    1 << 10,
    1 << 20,
)  # rows of the log of the motion; powers of two, so that it can be halved
DRIVERS = {
    "dc": "dc",
    "dc-reduced": "dc",
    "pmsm": "pmsm",
    "ideal": "ideal",
}  # kinds of motor by what feeds them
LEAST_DECAY = 0.015  # of a current within its period, for the written-out fast method with DC motors


@dataclass
class Machine:
    """Everything ``loop.run`` works on; ``advance`` runs it."""

    world: Any
    timing: Any
    power: Any
    motors: Any
    sensors: Any
    axes: Any
    stops: Any
    tasks: Any
    table: Any
    inverse: Array
    random: Any
    rows: Array
    log: Array
    zoom: Array
    kept: list[Any] = field(default_factory=list)  # kernels whose addresses the records hold
    compile_s: float = 0.0  # spent on pieces that a run met on its way
    started: Started = field(init=False)  # how it began

    def advance(self, until_ns: int) -> None:
        """Simulate up to an instant [ns]."""
        self.run(until_ns)
        while self.world["status"][0] == WANTING:
            self.world["status"] = 0
            began = time.perf_counter()
            attach_pieces(self, every=True)
            self.compile_s += time.perf_counter() - began
            self.run(until_ns)

    def run(self, until_ns: int) -> None:
        """The same, unless the run meets a piece that is not compiled yet."""
        run(
            self.world, self.timing, self.power, self.motors, self.sensors, self.axes, self.stops, self.tasks,
            self.table, self.inverse, self.random, self.rows, self.log, self.zoom, until_ns,
        )  # fmt: skip

    def reserve(self, until_ns: int, *, rows: bool = True) -> None:
        """Make room for the rows of the record and of the log of the motion up to an instant [ns]."""
        world = self.world[0]
        span = until_ns - int(world["now"])
        if rows:
            needed = int(world["rows"]) + span // int(world["row_every"]) + 2
            if needed > len(self.rows):
                self.rows = longer(self.rows, max(2 * len(self.rows), needed))
        needed = int(world["log_rows"]) + span // int(world["log_every"]) + 3  # never full but at its longest
        self.log = longer(self.log, min(1 << needed.bit_length(), LONGEST_LOG))

    def close(self) -> None:
        """Write the last rows of a run that is over, where they are not there yet and have their room."""
        self.world["closing"] = 1
        self.run(int(self.world["now"][0]))
        self.world["closing"] = 0

    @property
    def y(self) -> Array:
        """State now, a view."""
        return self.world["y"][0]  # type: ignore[no-any-return]

    @property
    def N(self) -> Array:
        """The transmission theta_m = N q."""
        n = int(self.world["n"][0])
        return self.world["N"][0, :n, :n]  # type: ignore[no-any-return]

    @property
    def x(self) -> Array:
        """Free coordinates of the arm now."""
        return np.array(self.y[: int(self.world["n_x"][0])])

    @property
    def qd(self) -> Array:
        """Joint speeds now."""
        n, n_x = int(self.world["n"][0]), int(self.world["n_x"][0])
        return np.array(self.y[n_x : n_x + n])


def build_machine(
    belief: RobotDescription,
    truth: RobotDescription,
    model: Robot,
    plant: Robot,
    start: Start,
    solver: Solver,
    *,
    seed: int = 1,
    rows: int = 1,
    row_every_ns: int = 1_000_000,
    every_piece: bool = False,
) -> Machine:
    """A machine that has just begun as ``start`` says, its servos holding it there.

    The controller is made of ``belief`` and ``model``, everything else of ``truth`` and ``plant``.

    ``every_piece`` compiles what a plain robot needs only at end stops, for faults and for a zoom, at once.
    """
    check_alike(belief, truth)
    N = square_transmission(plant)
    motors = motor_records(truth, N)
    limits = [current_limit(belief, name) for name in owners(belief)]
    sensors = sensor_records(truth, limits)
    n, m = plant.mechanism.n_q, len(motors)
    n_x = n + len(plant.mechanism.passive_names)
    world, entries = world_record(truth, plant, motors, n_x, solver, rows, row_every_ns)
    model_N = square_transmission(model)
    axes = axis_records(belief, model, model_N, model.mechanism.q_home)
    machine = Machine(
        world,
        timing_record(belief),
        power_record(truth, solver, controller_of(belief).current_period, limits),
        motors,
        sensors,
        axes,
        stop_records(plant, truth),
        task_table(belief),
        np.zeros((1, m, 3)),
        np.linalg.inv(model_N).astype(np.float64),
        np.array([seed], dtype=np.uint64),
        np.zeros((rows, HEAD + n_x + n + PER_ROW * m)),
        np.zeros((FIRST_LOG, PER_LOG + int(world["n_x"][0]))),
        np.zeros((1, 2 + 3 * m)),
        entries,
    )
    period = controller_of(belief).current_period_ns
    world["log_every"] = world["log_next"] = max(LOG_PERIOD // period, 1) * period
    attach_drives(machine, solver)
    attach_model(machine, model)
    attach_step(machine, plant)
    attach_closure(machine, plant)
    machine.started = begin(machine, plant, model, start)
    attach_pieces(machine, every=every_piece)
    return machine


def longer(table: Array, rows: int) -> Array:
    """A table with so many rows at least; what it holds stays."""
    if rows <= len(table):
        return table
    return np.concatenate([table, np.zeros((rows - len(table), table.shape[1]))])


def attach_drives(machine: Machine, solver: Solver) -> None:
    """Tell the record where it and its companions stand; the motors side by side for the plain road."""
    world, motors = machine.world[0], machine.motors
    for name, array in (
        ("world", machine.world),
        ("power", machine.power),
        ("motors", motors),
        ("stops", machine.stops),
    ):
        world[f"{name}_at"] = array.ctypes.data
    m = len(motors)
    world["pulses"] = 1 if machine.power["two_level"][0] else 2  # of a bridge in a window
    world["separate"] = int(
        world["diagonal"]
        and world["n_x"] == world["n"]
        and world["elastic"] == 0
        and (motors["eta"] >= 1.0).all()
    )
    # the plain window divides by R T / L four times: too many digits are lost where the winding hardly decays; the
    # general one goes from edge to edge by series that hold down to R = 0
    decay = (motors["R"] + motors["R_bridge"]) / np.where(motors["L"] > 0.0, motors["L"], np.inf)
    decays = solver.method != "fast" or (decay * machine.timing["T_current"][0] >= LEAST_DECAY).all()
    direct = world["separate"] and world["at_bus"] < 0 and (motors["kind"] == Kind.DC).all() and decays
    linear = world["smooth"] and not motors["points"].any()  # friction in proportion to the speed
    world["plain"] = int(direct and linear and solver.method in ("rk4", "fast"))
    world["rubs"] = int(direct and not linear and solver.method == "fast")
    world["joint_rubs"] = int(machine.stops["rubs"].any())
    if synchronous(machine):
        world["plain"] = 1
    ratio = np.diag(machine.N)
    slope = 1.0 / np.where(motors["L"] > 0.0, motors["L"], 1.0)
    world["ratio"][:m], world["emf"][:m], world["slope"][:m] = ratio, motors["K"], slope
    world["pull"][:m], world["drag"][:m] = ratio * motors["K"], ratio**2 * motors["f"]
    world["decay"][:m] = (motors["R"] + motors["R_bridge"]) * slope
    world["back_emf"][:m] = motors["K"] * slope
    world["unratio"][:m] = 1.0 / np.where(ratio != 0.0, ratio, 1.0)
    world["back"][:m] = motors["K"] * ratio * slope


def synchronous(machine: Machine) -> bool:
    """Whether the window written out for synchronous motors serves this robot: all of them, stiff and smooth."""
    world, kinds = machine.world[0], machine.motors["kind"]
    smooth = world["smooth"] and not machine.motors["points"].any()
    stiff = smooth and world["diagonal"] and world["elastic"] == 0 and world["n_x"] == world["n"]
    return bool(world["method"] == 1 and stiff and world["at_bus"] < 0 and (kinds == Kind.PMSM).all())


def attach_pieces(machine: Machine, *, every: bool) -> None:
    """Tell the record where the compiled pieces are: what a plain robot needs, or all of them.

    Compiling takes seconds; most runs of plain robots never need the others.
    """
    world = machine.world[0]
    names = (["plain"] if world["method"] == 1 else ["march"]) if world["plain"] else []
    if synchronous(machine):
        names = ["synchronous"]
    if every or not names:
        names += ["rubbing"] if world["rubs"] else []
        names += ["advance", "fast", "constrained", "switch"]
    if machine.power["dead_time"][0] > 0.0 or machine.power["storage_time"][0] > 0.0:
        names.append("late")
    if world["n_x"] > world["n"]:
        names.append("closure")
    for name, address in addresses(names, meanwhile=lambda: machine.run(0)).items():
        machine.world["plain_piece" if name == "synchronous" else f"{name}_piece"] = address


def check_alike(belief: RobotDescription, truth: RobotDescription) -> None:
    """Complain about a robot that its controller could not be wired to: other joints, motors or kinds of motors."""
    for what, known, true in (
        ("joints", belief.joint_names, truth.joint_names),
        ("motors", tuple(motor_names(belief)), tuple(motor_names(truth))),
    ):
        if known != true:
            raise refuse(
                truth,
                "axes",
                f"the robot as it is has the {what} {', '.join(true)}; expected those that its controller knows, "
                f"{', '.join(known)}",
            )
    for name, believed in zip(owners(truth), owners(belief), strict=True):
        kind, driver = motor_of(truth, name)[2], motor_of(belief, believed)[2]
        if kind != "ideal" and DRIVERS[kind] != DRIVERS[driver]:
            raise refuse(
                truth,
                f"axes.{name}.motor.kind",
                f"'{kind}' in truth, at a driver for '{driver}'; expected a motor that the driver feeds, or ideal",
            )


def square_transmission(robot: Robot) -> Array:
    """N of theta_m = N q; every joint must have its motor."""
    N = robot.mechanism.rotors.N
    if N.shape[0] != N.shape[1] or abs(np.linalg.det(N / np.abs(N).max())) < 1e-12:
        raise UnsupportedError(
            f"{robot.name}: {N.shape[0]} motors for {N.shape[1]} joints; a simulation needs one motor for each "
            "joint (gear ratios, or a square transmission matrix)"
        )
    return np.ascontiguousarray(N, dtype=np.float64)


def world_record(
    truth: RobotDescription, plant: Robot, motors: Any, n_x: int, solver: Solver, rows: int, every: int
) -> tuple[Any, list[Any]]:
    """Layout of the state, the arm's kernels, the method."""
    world = zeros(WORLD, 1)
    w = world[0]
    n, m = plant.mechanism.n_q, len(motors)
    if n > MAX_JOINTS or n_x > MAX_FREE:
        raise UnsupportedError(
            f"{plant.name}: {n} joints and {n_x - n} passive ones; a simulation has room for {MAX_JOINTS} joints and "
            f"{MAX_FREE} in all"
        )
    elastic = int((motors["flexible"] >= 0).sum())
    w["n"], w["n_x"], w["m"], w["elastic"] = n, n_x, m, elastic
    w["at_theta"] = n_x + n
    w["at_w"] = w["at_theta"] + elastic
    at = int(w["at_w"]) + elastic
    for motor in motors:
        width = {int(Kind.DC): 1, int(Kind.PMSM): 2}.get(int(motor["kind"]), 0)
        motor["current_at"] = at if width else -1
        at += width
    has_bus = truth.power is not None and truth.power.capacitance is not None
    w["at_bus"] = at if has_bus else -1
    w["n_y"] = at + has_bus
    synchronous = motors["kind"] == Kind.PMSM
    w["n_z"] = PER_MOTOR * m + PER_BUS + int(synchronous.sum())
    motors["charge_at"] = np.where(synchronous, PER_MOTOR * m + PER_BUS + np.cumsum(synchronous) - 1, -1)
    w["u_bus"] = bus_voltage_of(truth)
    N = plant.mechanism.rotors.N
    w["diagonal"] = int(np.array_equal(N, np.diag(np.diag(N))))
    w["smooth"] = int((motors["mode"] == FREE).all() and (motors["half_play"] == 0.0).all())
    if any(curve.dry for curve in joint_curves(truth, N)):
        w["smooth"] = 0
    w["simple"] = w["smooth"]
    w["method"] = int(solver.method == "fast")
    w["adaptive"] = int(solver.method == "adaptive")
    w["tolerance"] = solver.tolerance
    # one step between two edges would lose some 5e-6 of the energy where shafts stick and slide
    w["steps"] = max(solver.steps, EDGE_STEPS) if solver.method == "fast" else solver.steps
    w["averaged"] = int(solver.pwm == "averaged")
    w["row_every"], w["row_next"] = every, every
    w["N"][:n, :n] = N
    fill_schemes(w, solver, brakes=bool((motors["brake_torque"] > 0.0).any()))
    for name in ("inputs", "outputs", "signals", "command"):
        w[f"{name}_at"] = address_of(world, name)
    w["model_at"] = address_of(world, "model_buffer")
    w["zoom_from"] = w["zoom_to"] = NEVER
    entries = arm_entries(plant, motors)
    w["accel"], w["accel_data"] = entries[0].address, entries[0].data.ctypes.data
    w["motion"], w["motion_data"] = entries[1].address, entries[1].data.ctypes.data
    return world, list(entries)


def arm_entries(plant: Robot, motors: Any) -> tuple[Entry, Entry]:
    """Forward dynamics with the rotors behind stiff gears, and M, h of the arm alone."""
    numbers = arm_numbers(plant, motors)
    if plant.closed:
        return entry("closed_drift", numbers, drives=True), entry("closed_motion_terms", numbers)
    return entry("accel", numbers, drives=True), entry("motion", numbers)


def arm_numbers(plant: Robot, motors: Any) -> Numbers:
    """The arm with those rotors that turn with its joints."""
    stiff = np.where(motors["flexible"] < 0, motors["J"], 0.0)
    elastic = [plant.mechanism.rotors.names[k] for k in plant.mechanism.rotors.spinning if not stiff[k]]
    if elastic:
        raise UnsupportedError(
            f"{plant.name}: rotor_coupling full behind the elastic gears of {', '.join(elastic)} is not there yet; "
            "leave out their stiffness, or take rotor_coupling: reflected"
        )
    mechanism = plant.mechanism.with_(rotors=replace(plant.mechanism.rotors, J_m=stiff))
    return Robot(mechanism, road="auto").numbers


def attach_step(machine: Machine, plant: Robot) -> None:
    """The generated RK4 step of a plain robot."""
    world = machine.world[0]
    if not world["plain"] or world["method"] == 1:
        return
    step = step_entry(arm_numbers(plant, machine.motors))
    world["step_entry"], world["step_data"] = step.address, step.data.ctypes.data
    world["march_at"] = address_of(machine.world, "march")
    world["march_size"] = machine.world["march"].strides[1]
    machine.kept.append(step)


def attach_closure(machine: Machine, plant: Robot) -> None:
    """What looks after the loops of a closed chain (``closure_watch``)."""
    if not plant.closed:
        return
    world = machine.world[0]
    track = entry("closed_track", arm_numbers(plant, machine.motors))
    (length,) = track.outputs[0]
    buffer = np.zeros(int(world["n_x"]) + int(world["n"]) + 2 * length)
    sound = zeros(SOUND, 1)
    world["track"], world["track_data"] = track.address, track.data.ctypes.data
    world["track_at"], world["track_n"], world["sound_at"] = buffer.ctypes.data, length, sound.ctypes.data
    machine.kept += [track, buffer, sound]


def attach_model(machine: Machine, model: Robot) -> None:
    """Give the axis controllers the inverse dynamics of the robot as they know it."""
    timing = machine.timing[0]
    if not (timing["law"] or timing["share_torque"] or timing["share_gravity"]):
        return
    if model.closed:
        raise UnsupportedError(
            f"{model.name}: torque feed-forward, gravity compensation and computed torque are not there for closed "
            "chains yet; use the law 'cascade' without them"
        )
    rne = entry("rne", model.numbers, drives=True)
    timing["model"], timing["model_data"] = rne.address, rne.data.ctypes.data
    machine.kept.append(rne)


def stop_records(plant: Robot, truth: RobotDescription) -> Any:
    """End stops a little beyond the position limits, the other limits of the joints, and their own friction."""
    low, high = plant.limits.q_min, plant.limits.q_max
    stops = zeros(STOP, len(low))
    margin = np.where(np.isfinite(high - low), STOP_MARGIN * (high - low), 0.0)
    stops["low"] = np.where(np.isfinite(low), low - margin, -OPEN_END)
    stops["high"] = np.where(np.isfinite(high), high + margin, OPEN_END)
    stops["speed_limit"], stops["effort_limit"] = plant.limits.qd_max, plant.limits.tau_max
    stops["has_effort"] = np.isfinite(plant.limits.tau_max)
    for stop, curve in zip(stops, joint_curves(truth, plant.mechanism.rotors.N), strict=True):
        fill_friction(stop, curve)
        stop["rubs"], stop["mode"] = int(curve.some), STUCK if curve.dry else FREE
    return stops


def task_table(belief: RobotDescription) -> Any:
    """Next instant, period, jitter [ns] and number of the next run of every task."""
    control = controller_of(belief)
    tasks = np.zeros((5, 4), dtype=np.int64)
    for task, period in (
        (MAIN, control.main_period_ns),
        (AXIS, control.axis_period_ns),
        (DRIVER, control.speed_period_ns),
        (BRIDGE, control.current_period_ns),
    ):
        tasks[task, 1] = period
    for task in (MAIN, AXIS, DRIVER):
        tasks[task, 2] = round(control.jitter * 1e9)
    tasks[LAW, 0] = NEVER
    return tasks


def fill_schemes(world: Any, solver: Solver, *, brakes: bool) -> None:
    """Runge-Kutta schemes: the fast method's windows with events are computed by RK4.

    Where something may stick, the window's scheme looks at its end too: what is held there may let go.
    """
    method = "rk4" if solver.method == "fast" else solver.method
    window = "third" if world["smooth"] and not brakes else "third-to-the-end"
    for which, name in enumerate((method, window)):
        a, b, e, c, count = tableau(name)
        world["rk_a"][which], world["rk_b"][which], world["rk_e"][which] = a, b, e
        world["rk_c"][which], world["rk_n"][which] = c, count
