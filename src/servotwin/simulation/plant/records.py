"""The record a compiled loop works in, and the Runge-Kutta schemes it may use.

Settings stand at its top; state, scratch, addresses and what belongs to one window are records inside it, with room
for the largest robots. Compiled functions pass one address instead of forty arrays, which keeps them short to compile
and quick to call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.drives.own import MOST_STATES
from servotwin.drives.records import FALLS
from servotwin.drives.table import KINDS
from servotwin.kernels.emit_step import step_buffer_size

STAGES = 7
WINDOWS = 8  # room for the addresses of windows.choice.Window
REJECTIONS = 16  # and for the counts of windows.choice.Rejection
MAX_EDGES = 24  # of a motor in a period: six, and what dead time and the zeros of the current make of each
MAX_JOINTS = 16  # joints, and motors
MAX_FREE = 48  # joints and passive joints
# joint speeds, angles and speeds of rotors, four of an actuator, hysteresis of a gear; bus voltage, supply pressure
MAX_STATES = MAX_FREE + 8 * MAX_JOINTS + 4
PER_MOTOR = 5  # quadratures of a motor: electrical energy, i^2, torque, friction, gear
PER_ACTUATOR = max(kind.integrals for kind in KINDS.values())
PER_SUPPLY = max(kind.supply_integrals for kind in KINDS.values())
PER_BUS = 3  # source, braking resistor, supply resistance; behind them i_q of every synchronous motor
MAX_INTEGRALS = PER_MOTOR * MAX_JOINTS + PER_BUS + (2 + PER_ACTUATOR) * MAX_JOINTS + PER_SUPPLY + 2
_ROWS = 2 * MAX_JOINTS
MOST_SIGNALS = 8  # that one kind of actuator alone has
(SUPPLY,) = (kind.supply for kind in KINDS.values() if kind.supply is not None)

Shape = tuple[int, ...]
_JOINTS: Shape = (MAX_JOINTS,)
_SQUARE: Shape = (MAX_JOINTS, MAX_JOINTS)


def _record(
    wholes: str = "", reals: str = "", **fields: Shape | tuple[str, Shape] | np.dtype[Any]
) -> np.dtype[Any]:
    """A record of whole numbers, real numbers, real arrays (a shape), whole arrays ("i", shape) and other records."""
    found: list[Any] = [(name, np.int64) for name in wholes.split()]
    found += [(name, np.float64) for name in reals.split()]
    for name, field in fields.items():
        if isinstance(field, np.dtype):
            found.append((name, field))
        elif field and field[0] == "i":
            found.append((name, np.int64, field[1]))
        else:
            found.append((name, np.float64, field))
    return np.dtype(found)


# What the compiled loop reads to choose the window; only ``windows.choice`` writes it.
# window: the one that comes next; moving, at_stop: the one without and with a joint at its end stop
# event_window: the one that sees the events which the windows of dry friction leave to it
# unconstrained: the arm obeys its equation as it stands; smooth: nothing but end stops makes events
CHOICE = _record("window moving at_stop event_window unconstrained smooth")

# What the plant is now, and what it has used up so far. Times in ns.
STATE = _record(
    "now period_start status events intervals_max no_number",  # no_number: a force of the environment was none
    # bus voltage where it is stiff; its change over the last window; estimated error of the arm's steps; by how much
    # the general window missed its speeds; energy of impacts; energy from the source and back, window by window [J]
    # own_fastest: with which rate states of own actuators can change [1/s], for the longest step (eq:own-rate)
    "u_bus bus_step error missed impact_J flowed own_fastest",
    y=(MAX_STATES,),
    z=(MAX_INTEGRALS,),  # integrals of powers
    z_mark=(MAX_INTEGRALS,),  # z when the window began
    heat=(MAX_JOINTS, 2),  # copper and bridge losses [J]
)

# How many windows each of windows.choice.Window carried, and how many were left to the steps from edge to edge, by
# windows.choice.Rejection.
COUNTS = _record(carried=("i", (WINDOWS,)), rejected=("i", (REJECTIONS,)))

# Where the rows of the result, of the log of the motion and of the zoom have got to.
RECORD = _record(
    "rows row_every row_next row_from log_rows log_every log_next closing zoom_from zoom_to zoom_rows",
    z_row=(MAX_INTEGRALS,),  # z at the last recorded row
)

# The bridges in the present current period: edges since it began [s], levels between them in bus voltages, their mean,
# the interval that every bridge is in; asked: modulation and current of a bridge with dead time, both components.
PATTERN = _record(
    times=(MAX_JOINTS, MAX_EDGES),
    level_a=(MAX_JOINTS, MAX_EDGES + 1),
    level_b=(MAX_JOINTS, MAX_EDGES + 1),
    mean_a=_JOINTS,
    mean_b=_JOINTS,
    asked=(4,),
    edges=("i", _JOINTS),
    place=("i", _JOINTS),
)

# Addresses: of the records, of compiled pieces, of the robot's kernels with their data and buffers.
CODE = _record(
    "world_at power_at motors_at stops_at servo dead_time_pattern constrained_arm change_modes loop_closure "
    "supply_rates after_step after_window "  # of actuators whose code is compiled apart, 0 without
    "own_bound "  # the bound of the rates of users' actuators, where steps of fixed length need it
    "environment environment_at instants instants_at "  # at which its forces and accelerations jump [s], in order
    "accel accel_data motion motion_data inputs_at outputs_at ys_at dy_at actuator_out_at "
    "step_entry step_data buffers_at buffer_size "
    "track track_data track_at track_n sound_at",
    windows=("i", (WINDOWS,)),  # by windows.choice.Window
)

# Scratch of the steps from edge to edge and of the arm's equation; nothing in it outlives a window.
# exact_currents: a fast window carries the plant, its currents are solved apart; carrier: which one, as one may call
# another; rejected: why it left the window to the steps from edge to edge, 0 if it did not; reached: how far [s]
SCRATCH = _record(
    "exact_currents carrier rejected moving no_number",  # no_number: a force of the environment was none in this step
    # fastest: with which rates states of actuators can change in the last step [1/s] (eq:fastest-rate)
    # middle of the present step, after the window began [s]: what holds from an instant on is looked up there
    # fixed_step: length of the present step [s], 0 of one that adapts (eq:hysteresis-pace)
    "reached fastest middle fixed_step",
    y1=(MAX_STATES,),  # after a step
    z1=(MAX_INTEGRALS,),
    ys=(MAX_STATES,),  # at a stage, and its rates
    dy=(MAX_STATES,),
    dz=(MAX_INTEGRALS,),
    k=(STAGES, MAX_STATES),
    k_first=(MAX_STATES,),  # rates when the window began, where its steps are cut
    own_slopes=(MOST_STATES, MOST_STATES),  # of the rates of an own actuator by its states, and their powers
    own_square=(MOST_STATES, MOST_STATES),
    signals=(MOST_SIGNALS,),  # of the kind of a motor, for a row
    actuator_out=(3,),  # effort, power and loss of an actuator of the user's
    slack=(_ROWS,),  # of stuck shafts and joints when a step began
    inputs=(MAX_FREE + 2 * MAX_JOINTS,),  # arguments of the robot's kernels
    outputs=(MAX_JOINTS * MAX_JOINTS + MAX_JOINTS + MAX_FREE,),
    A=_SQUARE,  # inertia, then its factor
    C=(_ROWS, MAX_JOINTS),  # rows of the constraints
    X=(_ROWS * MAX_JOINTS,),
    S=(_ROWS, _ROWS),
    qdd=_JOINTS,
    force=_JOINTS,  # at the joints
    motor_torque=_JOINTS,  # less friction
    reaction=(_ROWS,),
    closing_speed=(_ROWS,),  # along the constraints, before an impact
    flux_points=(4, 4),  # fluxes and voltages of a synchronous motor at the points of a step
    row_of=("i", (_ROWS,)),  # shaft or joint of a constraint
    moving_joints=("i", _JOINTS),  # the first ``moving`` are joints that do not stick
)

# Torque a0 + a1 t of the motors over a window of the fast method (eq:moment-match), and before it is corrected;
# 1 / S and 12 / S^3 of the window's length S.
LINE = _record("", "per_span per_cube", a0=_JOINTS, a1=_JOINTS, before=(MAX_JOINTS, 2))

# What one window of the fast method tells the next (eq:motor-inverse-inertia): number of windows in a row, time since
# B was computed, B now, as computed last, and its rate; drift; the speed's derivatives, and the arm's change of them
PREDICTION = _record(
    "windows eventful",
    "since",
    B=_SQUARE,
    B_last=_SQUARE,
    B_rate=_SQUARE,
    drift=(MAX_JOINTS, 2),
    alpha=_JOINTS,
    jerk=_JOINTS,
    snap=_JOINTS,
    d_alpha=_JOINTS,
    d_jerk=_JOINTS,
)

# The general window: state before it, what events change beside the state, integrals of the window, currents at its
# end, largest current and torque of every motor.
GENERAL = _record(
    y0=(MAX_STATES,),
    z0=(MAX_INTEGRALS,),
    saved=(_ROWS, 5),
    z_window=(MAX_INTEGRALS,),
    next_i=(MAX_STATES,),
    peak=(MAX_JOINTS, 2),
)

# DC motors side by side, for the DC windows and generated RK4 (``dc_window`` has the equations)
DC_WINDOW = _record(
    K=_JOINTS,  # torque constant
    joint_K=_JOINTS,  # torque at the joint per current
    decay=_JOINTS,  # R / L
    L=_JOINTS,
    inverse_L=_JOINTS,
    emf_rate=_JOINTS,  # K / L
    joint_emf_rate=_JOINTS,  # the same per joint speed
    conductance=_JOINTS,  # 1 / R
    G=(8, MAX_JOINTS),  # eq:window-functions, and R / L and length of the window that they hold for
    known=(2, MAX_JOINTS),
    w=_JOINTS,  # speed and current when the window begins, current when it ends
    i=_JOINTS,
    i_end=_JOINTS,
    voltage_moments=(3, MAX_JOINTS),
    pulse_moments=(5, MAX_JOINTS),  # moments of the current that answers to the pulses, v
    at_edges=(MAX_JOINTS, MAX_EDGES + 1),  # v at the end of every interval
    swing=_JOINTS,  # largest less smallest current, at the speed of the window's beginning
    pulse_end=_JOINTS,
    pulse_work=_JOINTS,
    pulse_decay=_JOINTS,
    Q=_JOINTS,  # charge and moments of the current
    M1=_JOINTS,
    M2=_JOINTS,
    residual=(3, MAX_JOINTS),  # moments of the torque beside its line
    shake=(3, MAX_JOINTS),  # what they do to the speeds of all,
    ripple=(2, MAX_JOINTS),  # and by way of these to charge and moment,
    ripple_square=_JOINTS,  # and to the integral of i^2, by the shape of the ripple
    shape=_JOINTS,
    lost=_JOINTS,  # copper loss by the balance of the window, without the ripple; what the ripple adds to int i^2
    more_square=_JOINTS,
    turning=_JOINTS,  # work of the motor
    peak=_JOINTS,  # largest current at constant speed
    dry_work=_JOINTS,  # of dry friction
)

# Synchronous motors in their window (``pmsm_window`` has the equations)
PMSM_WINDOW = _record(
    decay=_JOINTS,  # R / L_q
    stiffness=_JOINTS,  # eq:flux-stiffness
    G=(MAX_JOINTS, 8),
    cos=_JOINTS,  # of the electrical angle when the window began
    sin=_JOINTS,
    torque_moments=(MAX_JOINTS, 4),  # about the middle of the window
    guess=(MAX_JOINTS, 2),  # impulse and moment of the torque that the pulses alone would make
    missing=(MAX_JOINTS, 2),  # of impulse and moment in that guess
    driven=_JOINTS,  # time under voltage [s]
    impulse=_JOINTS,  # of the torque, and its moment
    moment=_JOINTS,
    flux=(MAX_JOINTS, 2),  # at the end of the window
    square=_JOINTS,  # integrals of i^2 and i_q
    charge=_JOINTS,
    unbalanced=_JOINTS,  # energy that the fluxes leave over
    flux_motion=(MAX_JOINTS, 2),  # acceleration and jerk under which the fluxes were computed
    residual=(MAX_JOINTS, 2),
    shake=_JOINTS,
    ripple=(MAX_JOINTS, 2),
    ripple_square=_JOINTS,
    peak=(MAX_JOINTS, 2),  # largest current and torque
    extremes=(MAX_JOINTS, 2),  # least and largest torque at the edges
)

# Motors behind stiff gears side by side (``stiff_lanes``): a column for each, in the order of ``ELASTIC_WINDOW.stiff``
STIFF_LANES = _record(
    # motors, lanes; whether all are DC; whether some have dry friction, and some a Stribeck curve
    "count width dc dry falls",
    "longest",  # interval [s]
    next_edge=_JOINTS,  # when the present interval of a bridge ends, and its voltages
    u_a=_JOINTS,
    u_b=_JOINTS,
    decay=_JOINTS,  # R / L, 1 / L and torque constant of DC motors
    per_L=_JOINTS,
    K=_JOINTS,
    f=_JOINTS,  # friction: viscous, dry, direction in which a shaft slides
    coulomb=_JOINTS,
    way=_JOINTS,
    fall=(FALLS, MAX_JOINTS),  # excess of Stribeck curves at the speed ``w_0``, and one over their speeds
    per_fall=(FALLS, MAX_JOINTS),
    w_0=_JOINTS,
    back=_JOINTS,  # speed below which a curve of which nothing is left comes back
    moves=_JOINTS,  # 1 if a shaft moves, and sticks the other way round
    sticks=_JOINTS,
    spare=_JOINTS,  # distance from events of a shaft that has none
    hold_up=_JOINTS,  # what stiction holds
    hold_down=_JOINTS,
    drift=(2, MAX_JOINTS),  # accelerations without the torques of these motors, and their rate
    answer=_SQUARE,  # [k, j] acceleration of j, or what it passes on if it sticks, per torque of k,
    answer_drift=(2, MAX_JOINTS),  # and by the drift and its rate
    # in an interval: speed, current, torque of the motor, friction and its derivatives by the speed
    w=_JOINTS,
    i=_JOINTS,
    tau=_JOINTS,
    friction=_JOINTS,
    slope=_JOINTS,
    bend=_JOINTS,
    torque=_JOINTS,  # torque less friction when it begins, and its rate
    rate=_JOINTS,
    now=_JOINTS,  # acceleration when it begins, or what a stuck motor passes on; its rate
    now_rate=_JOINTS,
    terms=(3, MAX_JOINTS),  # of eq:current-series
    i_end=_JOINTS,
    charge=_JOINTS,  # integrals of the current, and of its moment
    impulse=_JOINTS,  # of torque less friction, and moment
    moment=_JOINTS,
    gained=_JOINTS,  # speed that is gained, or impulse that a stuck motor passes on; the same for the moment
    gained_moment=_JOINTS,
    rest=_JOINTS,  # speed at its end above its parabola, impulse of the torque that this makes, and what that gains
    late=_JOINTS,
    late_gained=_JOINTS,
    w_end=_JOINTS,
    tau_end=_JOINTS,
    torque_end=_JOINTS,
    end=_JOINTS,  # acceleration at its end, or what a stuck motor passes on
    margin=_JOINTS,  # from an event at its end
    slowest=_JOINTS,  # bound of the speed within it
    got=(MAX_JOINTS, 9),  # what the windings of motors other than DC did
    # integrals over the window: torque, i^2, energy, current, work of friction, what is passed on and its moment
    sum_torque=_JOINTS,
    sum_square=_JOINTS,
    sum_energy=_JOINTS,
    sum_charge=_JOINTS,
    sum_friction=_JOINTS,
    passed=_JOINTS,
    passed_moment=_JOINTS,
    most=_JOINTS,  # squared current and torque
    high=_JOINTS,
)

# Motors side by side in a window, each through its own edges (``pmsm_lanes``): a column for each; rows of intervals
LANES = _record(
    "rows dc",  # intervals of the motor with most; whether DC motors have the lanes
    count=("i", _JOINTS),  # intervals of each motor
    longest=(MAX_EDGES + 1,),  # (R / L + speed) x time of every interval, the most of all motors
    tau=(MAX_EDGES + 1, MAX_JOINTS),  # length and voltages of every interval, and of the present one
    u_a=(MAX_EDGES + 1, MAX_JOINTS),
    u_b=(MAX_EDGES + 1, MAX_JOINTS),
    h=_JOINTS,
    v_a=_JOINTS,
    v_b=_JOINTS,
    R=_JOINTS,  # of winding and bridge
    g_d=_JOINTS,  # 1 / L
    g_q=_JOINTS,
    psi=_JOINTS,
    p=_JOINTS,
    w=_JOINTS,  # motion over the window
    alpha=_JOINTS,
    jerk=_JOINTS,
    cos=_JOINTS,  # of the electrical angle when the window began, and now
    sin=_JOINTS,
    c=_JOINTS,
    s=_JOINTS,
    t=_JOINTS,  # time since the window began
    D=_JOINTS,  # fluxes now
    Q=_JOINTS,
    T_0=_JOINTS,  # moments of the torque
    T_1=_JOINTS,
    T_2=_JOINTS,
    T_3=_JOINTS,
    energy=_JOINTS,
    square=_JOINTS,
    charge=_JOINTS,
    most=_JOINTS,  # square of the largest current, least and largest torque per 3/2 of the pole pairs, at edges
    low=_JOINTS,
    high=_JOINTS,
    decay=_JOINTS,  # R / L, 1 / L, torque constant and current of DC motors
    per_L=_JOINTS,
    K=_JOINTS,
    i=_JOINTS,
    # motors behind elastic gears (``elastic_lanes``)
    margin=_JOINTS,  # least distance from an event so far; negative: not in its lane
    way=_JOINTS,  # direction in which a shaft slides, 0 without dry friction or if it sticks
    sticks=_JOINTS,  # 1 if it does, and slides the other way round
    slides=_JOINTS,
    per_J=_JOINTS,  # 1 / J, 0 of a stuck shaft
    f=_JOINTS,
    coulomb=_JOINTS,
    fall=_JOINTS,  # excess of a Stribeck curve when the window began, one over its speed, speed then
    per_fall=_JOINTS,
    w_0=_JOINTS,
    on_curve=_JOINTS,  # one over the speed of the curve while the shaft is so slow that it must be followed, else 0
    back=_JOINTS,  # speed below which a curve of which nothing is left comes back
    hold_up=_JOINTS,  # what stiction holds
    hold_down=_JOINTS,
    stiffness=_JOINTS,
    damping=_JOINTS,
    twist=_JOINTS,  # of the gear now, and by how much the motor turned
    turned=_JOINTS,
    load_w=_JOINTS,  # motion of the load over the window, as the motor sees it
    load_a=_JOINTS,
    load_j=_JOINTS,
    passed=_JOINTS,  # impulse and moment of the spring's torque
    lever=_JOINTS,
    rubbed=_JOINTS,  # work of friction and of the damper
    damped=_JOINTS,
)

# Robots with elastic gears (``elastic_window`` has the equations). Motors behind stiff gears: their number and list.
ELASTIC_WINDOW = _record(
    # motors behind stiff gears, those that stick; joints that stick by themselves; events of the present window;
    # windows in a row through which the torques of all gears were smooth
    "stiff_count stuck_count held_joints events smooth_windows",
    # 1 / S of the window before; length of the present one; until when no flank touches or parts; how much more the
    # joints that stick could hold, when it begins and at the least
    "per_last span until first_margin joint_margin "
    "load_rate",  # square of the fastest frequency of the links on their gears, rotors held [1/s2]
    stiff=("i", _JOINTS),
    place=("i", _JOINTS),  # interval of its bridge that a motor is in
    drift=_JOINTS,  # accelerations of the joints without the torques of motors behind stiff gears, and their rate
    drift_rate=_JOINTS,
    rate_seen=_JOINTS,  # the rate that the arm's step has shown
    drift_last=_JOINTS,  # the same a window before
    rate_last=_JOINTS,
    gain=_SQUARE,  # acceleration of joint i per torque of motor k behind a stiff gear, as computed last, and its rate
    gain_last=_SQUARE,
    gain_rate=_SQUARE,
    B=_SQUARE,  # the same at the motors behind stiff gears, in their order
    rotor_inertia=_JOINTS,  # of rotors behind stiff gears, at the joints
    holding=_JOINTS,  # what friction of the joints holds (eq:held-joints)
    held_gain=_SQUARE,  # the same at joint i, per torque of motor k behind a stiff gear
    begins=_JOINTS,  # torques of the springs when the window began
    load=(MAX_JOINTS, 2),  # acceleration and jerk of the joints in the window
    torque_now=_JOINTS,  # of the motors at a stage of the arm's step
    settled=_JOINTS,  # speeds, then angles of the motors at the end
    held=_JOINTS,  # what the gears of stuck motors pass on, now and at both ends of the window
    held_ends=(MAX_JOINTS, 2),
    sway=_SQUARE,  # of the load of a stuck motor, per torque of another one
    torque_line=(MAX_JOINTS, 3),  # what the arm gets at each motor, by powers of time
    passed=(MAX_JOINTS, 2),  # its impulse and moment
    theta=_JOINTS,  # motors in the window and at its end
    w=_JOINTS,
    i=_JOINTS,
    i_q=_JOINTS,
    cos=_JOINTS,
    sin=_JOINTS,
    impulse=_JOINTS,  # integrals of the window: torque, i^2, energy, i_q, work of friction and of dampers
    square=_JOINTS,
    electric=_JOINTS,
    charge=_JOINTS,
    friction=_JOINTS,
    gear=_JOINTS,
    joint_friction=_JOINTS,
    peak=(MAX_JOINTS, 2),  # largest squared current, largest torque
)

# Settings stand at the top; they do not change once a machine is built.
WORLD = _record(
    # sizes and places in the state; diagonal: every motor has a joint of its own; separate: also stiff and without loss
    "n n_x m elastic at_theta at_w at_bus at_supply supply_z supplied_at environment_z n_y n_z diagonal separate "
    "joint_friction play "  # whether some joint has friction of its own, and some gear has play
    # method and its choices; pulses of a bridge in a window; servo_elsewhere: another process drives this plant;
    # runge_kutta: some actuator has no exact window
    "method adaptive steps averaged pulses servo_elsewhere runge_kutta",
    # step_rate: steps per second that windings, gears and bus ask of the fast method where it goes from edge to edge;
    # gear_rate: how fast rotors and links swing on elastic gears, or dampers stop them [1/s]
    "tolerance step_rate gear_rate",
    N=_SQUARE,  # theta_m = N q
    N_inverse=_SQUARE,  # of as many motors as joints
    ratio=_JOINTS,  # its diagonal
    inverse_ratio=_JOINTS,
    viscous=_JOINTS,  # viscous friction of the motors per joint speed
    rk_a=(2, STAGES, STAGES),  # schemes: 0 for everything, 1 for the arm of the fast method
    rk_b=(2, STAGES),
    rk_e=(2, STAGES),
    rk_c=(2, STAGES),
    rk_n=("i", (2,)),
    # that actuators of one kind share; at_supply: where its pressure stands, -1 if constant; supply_z: its integrals;
    # supplied_at: where that of the energy stands which it took, -1 without; environment_z: that of the
    # environment, then that of its friction
    supply=SUPPLY,
    choice=CHOICE,
    state=STATE,
    counts=COUNTS,
    record=RECORD,
    pattern=PATTERN,
    code=CODE,
    scratch=SCRATCH,
    line=LINE,
    prediction=PREDICTION,
    general=GENERAL,
    dc=DC_WINDOW,
    pmsm=PMSM_WINDOW,
    lanes=LANES,
    elastic_window=ELASTIC_WINDOW,
    stiff_lanes=STIFF_LANES,
    generated=_record(buffers=(2, step_buffer_size(MAX_JOINTS))),  # before and after a step of generated RK4
)


def address_of(world: Any, path: str) -> int:
    """Address of an array inside a record (an array of one record), by its path, such as "scratch.inputs"."""
    dtype, at = WORLD, int(world.ctypes.data)
    for name in path.split("."):
        fields: Any = dtype.fields
        dtype, offset = fields[name][:2]
        at += int(offset)
    return at


def tableau(method: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Coefficients a, b, b - b_hat, c and the number of stages."""
    if method == "modified-euler":  # Heun: Euler predicts, the mean of both slopes corrects
        a, b, e, c = [[], [1.0]], [0.5, 0.5], [-0.5, 0.5], [0.0, 1.0]
    elif method == "rk4":
        a = [[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]]
        b, e, c = [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0.0] * 4, [0.0, 0.5, 0.5, 1.0]
    elif method == "third":  # Bogacki and Shampine, embedded in the midpoint rule
        a, b = [[], [0.5], [0.0, 0.75]], [2 / 9, 1 / 3, 4 / 9]
        e, c = [2 / 9, 1 / 3 - 1.0, 4 / 9], [0.0, 0.5, 0.75]
    elif method == "third-to-the-end":  # the same with a look at the rates at its end
        a, b = [[], [0.5], [0.0, 0.75], [2 / 9, 1 / 3, 4 / 9]], [2 / 9, 1 / 3, 4 / 9, 0.0]
        e, c = [2 / 9, 1 / 3 - 1.0, 4 / 9, 0.0], [0.0, 0.5, 0.75, 1.0]
    else:  # Dormand and Prince, order 5 with an embedded order 4
        a = [
            [],
            [1 / 5],
            [3 / 40, 9 / 40],
            [44 / 45, -56 / 15, 32 / 9],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
            [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
        ]
        b = [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0]
        low = [5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]
        e = [x - y for x, y in zip(b, low, strict=True)]
        c = [0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0]
    n = len(b)
    A = np.zeros((STAGES, STAGES))
    for i, row in enumerate(a):
        A[i, : len(row)] = row
    pad = [0.0] * (STAGES - n)
    return A, np.array(b + pad), np.array(e + pad), np.array(c + pad), np.array(n)
