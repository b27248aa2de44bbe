"""Robot, drives and controller as the data of the compiled loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.compiled.numeric import Stream, random_stream
from servotwin.control.servo.axis_data import bus_voltage_of, controller_of
from servotwin.control.servo.records import InnerLoop
from servotwin.control.servo.unit import ServoUnit
from servotwin.description.drive_data import STOP_MARGIN
from servotwin.description.friction_data import joint_curves
from servotwin.description.motors import current_limit, required_drives
from servotwin.description.schema import RobotDescription
from servotwin.drives.kind import Feed
from servotwin.drives.records import FREE, STOP, STUCK, zeros
from servotwin.dynamics.forward import NoInertiaError
from servotwin.equations.derivation import Numbers
from servotwin.errors import UnsupportedError
from servotwin.kernels.kernel_store import Entry, entry, step_entry
from servotwin.mechanism.model import Array, Mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.actuators import winding_rate
from servotwin.simulation.plant.drive_records import (
    bus_rate,
    fill_friction,
    motor_records,
    power_record,
    sensor_records,
)
from servotwin.simulation.plant.environment import attach_environment
from servotwin.simulation.plant.fit import check_alike, square_transmission
from servotwin.simulation.plant.groups import ActuatorGroup, attach_groups, fill_supplies
from servotwin.simulation.plant.limit_log import AXIS_LOG
from servotwin.simulation.plant.loop import run
from servotwin.simulation.plant.loop_closure import SOUND
from servotwin.simulation.plant.own_actuator import OwnActuator, attach_own, own_actuators
from servotwin.simulation.plant.pieces import attach_pieces
from servotwin.simulation.plant.recording import LOG_PERIOD, NEVER, PER_LOG
from servotwin.simulation.plant.records import (
    MAX_FREE,
    MAX_JOINTS,
    PER_BUS,
    PER_MOTOR,
    PER_SUPPLY,
    WORLD,
    address_of,
    tableau,
)
from servotwin.simulation.plant.row_layout import lay_out_rows
from servotwin.simulation.plant.servo_records import build_servo
from servotwin.simulation.plant.start import Start, Started, begin
from servotwin.simulation.plant.status import PIECE_MISSING, SERVO_WANTED
from servotwin.simulation.plant.switched_drives import SwitchedDrives
from servotwin.simulation.scenario.parts import Solver
from servotwin.simulation.windows.choice import Method, Window, first_choice

if TYPE_CHECKING:
    from servotwin.simulation.scenario.scenario import Scenario

EDGE_STEPS = 2  # of the fast method between two edges, where a window goes from edge to edge,
LONGEST_DECAY = 0.03  # and by which a current decays, or swings with its rotor, at most in one of them
LONGEST_SWING = 0.25  # rad by which a rotor swings against its gear at most in one of them,
LONGEST_SETTLING = 0.25  # and of the time constant of a bus with its supply
OPEN_END = 1e9
FIRST_LOG, LONGEST_LOG = (
    1 << 10,
    1 << 20,
)  # rows of the log of the motion; powers of two, so that it can be halved


@dataclass
class Machine:
    """Everything ``loop.run`` works on; ``advance`` runs it."""

    world: Any
    power: Any
    motors: Any
    sensors: Any
    stops: Any
    logs: Any  # limits met, per axis
    noise: Any  # state of the sensors' random numbers
    servo: ServoUnit
    columns: Any  # of a recorded row, per motor and signal (``row_layout``)
    rows: Array
    log: Array
    zoom: Array
    kept: list[Any] = field(default_factory=list)  # kernels whose addresses the records hold
    drives: SwitchedDrives = field(default_factory=SwitchedDrives)  # which are enabled, and brakes that close
    own: dict[int, OwnActuator] = field(default_factory=dict)  # actuators of the user's, by motor
    groups: list[ActuatorGroup] = field(default_factory=list)  # with a supply and an account of their own
    environment: Any = None  # what acts on the arm beside its drives, ENVIRONMENT (1,)
    compile_s: float = 0.0  # spent on pieces that a run met on its way
    started: Started = field(init=False)  # how it began
    exchange: Callable[[ServoUnit], None] | None = None  # with a servo elsewhere

    def advance(self, until_ns: int) -> None:
        """Simulate up to an instant [ns]; drives and brakes are switched as the servo commands."""
        while True:
            self.drives.obey(self)
            self.run(self.drives.until(until_ns))
            status = self.world["state"]["status"][0]
            if status == PIECE_MISSING:
                self.world["state"]["status"] = 0
                began = time.perf_counter()
                attach_pieces(self, every=True)
                self.compile_s += time.perf_counter() - began
            elif status == SERVO_WANTED and self.exchange is not None:
                self.exchange(self.servo)
                self.world["state"]["status"] = 0
            elif status != 0 or not self.drives.close_due(self, until_ns):
                return

    def hand_over(self, exchange: Callable[[ServoUnit], None]) -> None:
        """Let a servo elsewhere drive this plant: ``exchange`` gives it FEEDBACK and fills in its DRIVE_COMMAND.

        What stays inside that servo is not recorded: rows have no columns for it (``signal_table``, SERVO).
        """
        self.exchange = exchange
        self.world["servo_elsewhere"] = 1
        lay_out_rows(self)

    def run(self, until_ns: int) -> None:
        """The same, unless the run meets a piece that is not compiled yet."""
        unit = self.servo
        run(
            self.world, self.power, self.motors, self.sensors, self.stops, self.logs, self.noise,
            unit.servo, unit.axes, unit.tasks, unit.setpoints, unit.inverse, unit.random, unit.feedback, unit.command,
            self.columns, self.rows, self.log, self.zoom, until_ns,
        )  # fmt: skip

    @property
    def axes(self) -> Any:
        """The records of the servo's axes."""
        return self.servo.axes

    @property
    def inverse(self) -> Array:
        """Joints of motor angles (n, m), as the servo believes."""
        return self.servo.inverse

    def reserve(self, until_ns: int, *, rows: bool = True) -> None:
        """Make room for the rows of the record and of the log of the motion up to an instant [ns]."""
        world = self.world[0]
        span = until_ns - int(world["state"]["now"])
        if rows:
            needed = int(world["record"]["rows"]) + span // int(world["record"]["row_every"]) + 2
            if needed > len(self.rows):
                self.rows = longer(self.rows, max(2 * len(self.rows), needed))
        needed = (
            int(world["record"]["log_rows"]) + span // int(world["record"]["log_every"]) + 3
        )  # never full but at its longest
        self.log = longer(self.log, min(1 << needed.bit_length(), LONGEST_LOG))

    def close(self) -> None:
        """Write the last rows of a run that is over, where they are not there yet and have their room."""
        self.world["record"]["closing"] = 1
        self.run(int(self.world["state"]["now"][0]))
        self.world["record"]["closing"] = 0

    @property
    def y(self) -> Array:
        """State now, a view."""
        return self.world["state"]["y"][0]  # type: ignore[no-any-return]

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
    zoomed: bool = False,
    allow_code: bool = False,
    scenario: Scenario | None = None,
) -> Machine:
    """A machine that has just begun as ``start`` says, its servos holding it there.

    The controller is made of ``belief`` and ``model``, everything else of ``truth`` and ``plant``.

    ``every_piece`` compiles at once what most robots need only at end stops and for faults, ``zoomed`` what a zoom
    needs; ``scenario``: that whose environment acts on the arm.
    """
    check_alike(belief, truth)
    square_transmission(plant)
    motors, own = motor_records(truth), own_actuators(truth, allow_code=allow_code)
    kept = attach_own(motors, own)
    limits = [current_limit(belief, drive) for drive in required_drives(belief)]
    sensors = sensor_records(truth, limits)
    n, m = plant.mechanism.n_q, len(motors)
    n_x = n + len(plant.mechanism.passive_names)
    world, entries = world_record(truth, plant, motors, n_x, solver, rows, row_every_ns)
    servo = build_servo(belief, model, square_transmission(model), seed)
    # a driver that nothing tells the full scale of its sensor gets amperes
    sensors["current_full_scale"][servo.axes["current_range_hat"] == 0.0] = 0.0
    # an actuator that takes a current in the place of a bridge gets it, whatever its driver was made for
    by_current, valve = motors["feed"] == Feed.COMMAND, motors["valve"] != 0
    servo.axes["inner"][by_current] = np.where(valve, InnerLoop.VALVE, InnerLoop.CURRENT)[by_current]
    machine = Machine(
        world,
        power_record(truth, solver, controller_of(belief).current_period, limits),
        motors,
        sensors,
        stop_records(plant, truth),
        zeros(AXIS_LOG, m),
        random_stream(seed, Stream.NOISE),
        servo,
        np.zeros((m, 0), dtype=np.int64),
        np.zeros((rows, 0)),
        np.zeros((FIRST_LOG, PER_LOG + int(world["n_x"][0]))),
        np.zeros((1, 2 + 3 * m)),
        entries,
    )
    machine.own, machine.kept = own, [*machine.kept, *kept]
    machine.groups = attach_groups(world[0], motors, truth, plant)
    period = controller_of(belief).current_period_ns
    world["record"]["log_every"] = world["record"]["log_next"] = max(LOG_PERIOD // period, 1) * period
    if scenario is not None:
        attach_environment(machine, arm_mechanism(plant, machine.motors), scenario, allow_code=allow_code)
    lay_out_rows(machine)
    attach_drives(machine)
    attach_closure(machine, plant)
    machine.started = begin(machine, plant, model, start)
    for group in machine.groups:
        group.note_start(machine)
    first_choice(machine)
    fill_schemes(machine, solver)
    attach_step(machine, plant)
    attach_pieces(machine, every=every_piece, zoomed=zoomed)
    machine.run(0)  # nothing moves; the drives report their faults
    return machine


def longer(table: Array, rows: int) -> Array:
    """A table with so many rows at least; what it holds stays."""
    if rows <= len(table):
        return table
    return np.concatenate([table, np.zeros((rows - len(table), table.shape[1]))])


def attach_drives(machine: Machine) -> None:
    """Tell the record where it and its companions stand; the motors side by side for the DC window."""
    world, motors = machine.world[0], machine.motors
    for name, array in (
        ("world", machine.world),
        ("power", machine.power),
        ("motors", motors),
        ("stops", machine.stops),
    ):
        world["code"][f"{name}_at"] = array.ctypes.data
    m = len(motors)
    world["pulses"] = 1 if machine.power["two_level"][0] else 2  # of a bridge in a window
    world["separate"] = int(
        world["diagonal"]
        and world["n_x"] == world["n"]
        and world["elastic"] == 0
        and (motors["eta"] >= 1.0).all()
    )
    world["joint_friction"] = int(machine.stops["has_friction"].any())
    world["play"] = int((machine.motors["half_play"] > 0.0).any())
    ratio = np.diag(machine.N)
    slope = 1.0 / np.where(motors["L"] > 0.0, motors["L"], 1.0)
    world["ratio"][:m], world["dc"]["K"][:m], world["dc"]["inverse_L"][:m] = ratio, motors["K"], slope
    world["dc"]["joint_K"][:m], world["viscous"][:m] = ratio * motors["K"], ratio**2 * motors["f"]
    world["dc"]["decay"][:m] = (motors["R"] + motors["R_bridge"]) * slope
    world["dc"]["emf_rate"][:m], world["dc"]["L"][:m] = motors["K"] * slope, motors["L"]
    stiff = np.flatnonzero(motors["flexible"] < 0)
    world["elastic_window"]["stiff_count"] = len(stiff)
    world["elastic_window"]["stiff"][: len(stiff)] = stiff
    world["inverse_ratio"][:m] = 1.0 / np.where(ratio != 0.0, ratio, 1.0)
    world["dc"]["joint_emf_rate"][:m] = motors["K"] * ratio * slope


def world_record(
    truth: RobotDescription, plant: Robot, motors: Any, n_x: int, solver: Solver, rows: int, every: int
) -> tuple[Any, list[Any]]:
    """Layout of the state, the arm's kernels, the method."""
    world = zeros(WORLD, 1)
    w = world[0]
    n, m = plant.mechanism.n_q, len(motors)
    fill_supplies(w["supply"], truth)
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
        width = int(motor["width"])
        motor["current_at"] = at if width else -1
        motor["chambers_at"] += at if motor["chambers_at"] >= 0 else 0
        at += width
    has_bus = truth.power is not None and truth.power.capacitance is not None
    w["at_bus"] = at if has_bus else -1
    at += has_bus
    w["at_supply"] = at if w["supply"]["has_state"] else -1
    at += int(w["supply"]["has_state"])
    hysteretic = motors["hysteresis_limit"] > 0.0
    motors["hysteresis_at"] = np.where(hysteretic, at + np.cumsum(hysteretic) - 1, -1)
    w["n_y"] = at + int(hysteretic.sum())
    synchronous = motors["feed"] == Feed.THREE_PHASE
    charges = PER_MOTOR * m + PER_BUS
    motors["charge_at"] = np.where(synchronous, charges + np.cumsum(synchronous) - 1, -1)
    place_losses(w, motors, charges + int(synchronous.sum()))
    w["state"]["u_bus"] = bus_voltage_of(truth)
    N = plant.mechanism.rotors.N
    w["diagonal"] = int(np.array_equal(N, np.diag(np.diag(N))))
    if n == m:
        w["N_inverse"][:n, :n] = np.linalg.inv(N)
    w["method"] = Method.named(solver.method)
    w["adaptive"] = int(solver.method == "adaptive")
    w["tolerance"] = solver.tolerance
    # one step between two edges would lose some 5e-6 of the energy where shafts stick and slide
    w["steps"] = max(solver.steps, EDGE_STEPS) if solver.method == "fast" else solver.steps
    w["averaged"] = int(solver.pwm == "averaged")
    w["elastic_window"]["load_rate"] = fastest_load(plant, motors) if elastic and n_x == n == m else 0.0
    w["gear_rate"] = gear_rate(motors)
    if solver.method == "fast":
        w["step_rate"] = max(
            winding_rate(motors) / LONGEST_DECAY,
            w["gear_rate"] / LONGEST_SWING,
            bus_rate(truth.power) / LONGEST_SETTLING,
        )
    w["record"]["row_every"], w["record"]["row_next"] = every, every
    w["N"][:n, :n] = N
    for name in ("inputs", "outputs", "ys", "dy", "actuator_out"):
        w["code"][f"{name}_at"] = address_of(world, f"scratch.{name}")
    w["state"]["period_start"] = -1
    w["record"]["zoom_from"] = w["record"]["zoom_to"] = NEVER
    entries = arm_entries(plant, motors)
    w["code"]["accel"], w["code"]["accel_data"] = entries[0].address, entries[0].data.ctypes.data
    w["code"]["motion"], w["code"]["motion_data"] = entries[1].address, entries[1].data.ctypes.data
    return world, list(entries)


def gear_rate(motors: Any) -> float:
    """How fast a rotor swings against its elastic gear, or the damper stops it, the most of all [1/s]."""
    motors = motors[motors["flexible"] >= 0]
    if len(motors) == 0:
        return 0.0
    stiffness = motors["stiffness"] + motors["added_1"] + motors["added_2"]
    return float(np.maximum(np.sqrt(stiffness / motors["J"]), motors["damping"] / motors["J"]).max())


def fastest_load(plant: Robot, motors: Any) -> float:
    """Square of the fastest frequency of the links on their elastic gears, rotors held, joints at zero [1/s2]."""
    N, stiff = plant.mechanism.rotors.N, motors["flexible"] < 0
    inertia = plant.inertia(np.zeros(plant.n)) + N[stiff].T @ (motors["J"][stiff, None] * N[stiff])
    stiffness = N.T @ (
        np.where(stiff, 0.0, motors["stiffness"] + motors["added_1"] + motors["added_2"])[:, None] * N
    )
    try:
        return float(np.linalg.eigvals(np.linalg.solve(inertia, stiffness)).real.max())
    except (
        np.linalg.LinAlgError
    ):  # a joint without inertia, or beyond all machines: refused by name elsewhere
        return 0.0


def place_losses(w: Any, motors: Any, at: int) -> None:
    """Where the integrals of actuators stand that Runge-Kutta carries, from ``at`` on, and those of their supply."""
    motors["loss_at"] = -1
    for motor in motors:
        if motor["integrals"]:
            motor["loss_at"] = at
            at += int(motor["integrals"])
    w["supplied_at"] = motors["supplied_at"] = -1
    w["supply_z"] = at if w["supply"]["has_state"] else -1
    at += PER_SUPPLY if w["supply"]["has_state"] else 0
    hysteretic = motors["hysteresis_at"] >= 0
    motors["hysteresis_z"] = np.where(hysteretic, at + np.cumsum(hysteretic) - 1, -1)
    w["n_z"] = at + int(hysteretic.sum())
    w["runge_kutta"] = int((motors["exact"] == 0).any())


def arm_entries(plant: Robot, motors: Any) -> tuple[Entry, Entry]:
    """Forward dynamics with the rotors behind stiff gears, and M, h of the arm alone."""
    numbers = arm_numbers(plant, motors)
    if plant.closed:
        return entry("closed_drift", numbers, drives=True), entry("closed_motion_terms", numbers)
    try:
        return entry("accel", numbers, drives=True), entry("motion", numbers)
    except NoInertiaError as error:
        raise UnsupportedError(
            f"{plant.name}: joint {plant.joint_names[error.joint]} moves no inertia of its own; expected an inertia of "
            "its link or payload, or a stiff gear, through which it moves that of its motor"
        ) from None


def arm_numbers(plant: Robot, motors: Any) -> Numbers:
    """The arm with those rotors that turn with its joints, for kernels."""
    return Robot(arm_mechanism(plant, motors), engine="auto").numbers


def arm_mechanism(plant: Robot, motors: Any) -> Mechanism:
    """The arm with those rotors that turn with its joints."""
    stiff = np.where(motors["flexible"] < 0, motors["J"], 0.0)
    elastic = [plant.mechanism.rotors.names[k] for k in plant.mechanism.rotors.spinning if not stiff[k]]
    if elastic:
        raise UnsupportedError(
            f"{plant.name}: rotor_coupling full behind the elastic gears of {', '.join(elastic)} is not there yet; "
            "leave out their stiffness, or take rotor_coupling: reflected"
        )
    return plant.mechanism.with_(rotors=replace(plant.mechanism.rotors, J_m=stiff))


def attach_step(machine: Machine, plant: Robot) -> None:
    """The generated RK4 step, for robots that it fits."""
    world = machine.world[0]
    if world["choice"]["moving"] != Window.GENERATED_RK4:
        return
    step = step_entry(arm_numbers(plant, machine.motors))
    world["code"]["step_entry"], world["code"]["step_data"] = step.address, step.data.ctypes.data
    world["code"]["buffers_at"] = address_of(machine.world, "generated.buffers")
    world["code"]["buffer_size"] = machine.world["generated"]["buffers"].strides[1]
    machine.kept.append(step)


def attach_closure(machine: Machine, plant: Robot) -> None:
    """What looks after the loops of a closed chain (``loop_closure``)."""
    if not plant.closed:
        return
    world = machine.world[0]
    track = entry("closed_track", arm_numbers(plant, machine.motors))
    (length,) = track.outputs[0]
    buffer = np.zeros(int(world["n_x"]) + int(world["n"]) + 2 * length)
    sound = zeros(SOUND, 1)
    world["code"]["track"], world["code"]["track_data"] = track.address, track.data.ctypes.data
    world["code"]["track_at"], world["code"]["track_n"], world["code"]["sound_at"] = (
        buffer.ctypes.data,
        length,
        sound.ctypes.data,
    )
    machine.kept += [track, buffer, sound]


def stop_records(plant: Robot, truth: RobotDescription) -> Any:
    """End stops a little beyond the position limits, the other limits of the joints, and their own friction."""
    low, high = plant.limits.q_min, plant.limits.q_max
    stops = zeros(STOP, len(low))
    margin = np.where(np.isfinite(high - low), STOP_MARGIN * (high - low), 0.0)
    stops["low"] = np.where(np.isfinite(low), low - margin, -OPEN_END)
    stops["high"] = np.where(np.isfinite(high), high + margin, OPEN_END)
    stops["speed_limit"], stops["effort_limit"] = plant.limits.qd_max, plant.limits.tau_max
    stops["has_effort"] = np.isfinite(plant.limits.tau_max)
    for stop, curve in zip(stops, joint_curves(truth), strict=True):
        fill_friction(stop, curve)
        stop["has_friction"], stop["mode"] = int(curve.some), STUCK if curve.dry else FREE
    return stops


def fill_schemes(machine: Machine, solver: Solver) -> None:
    """Runge-Kutta schemes: the fast method's windows with events are computed by RK4.

    Where something may stick, the window's scheme looks at its end too: a stuck shaft may break away there.
    """
    world = machine.world[0]
    brakes = (machine.motors["brake_torque"] > 0.0).any()
    method = "rk4" if solver.method == "fast" else solver.method
    window = "third" if world["choice"]["smooth"] and not brakes else "third-to-the-end"
    # steps as long as their states allow, instead of windows rejected by their estimated error
    if machine.groups:
        window = "rk4"
    for which, name in enumerate((method, window)):
        a, b, e, c, count = tableau(name)
        world["rk_a"][which], world["rk_b"][which], world["rk_e"][which] = a, b, e
        world["rk_c"][which], world["rk_n"][which] = c, count
