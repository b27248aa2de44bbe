r"""One servo period of a simulated arm with substituted joints: shafts in, voltages and load torques out.

At every servo instant: rates of the shafts are estimated, the simulated joints are carried up to now, and every
``arm_every`` periods M and h are computed anew; then every servo gives its voltage, and the load motors of
substituted joints get the torque that the arm would give. With :math:`\tau_d'` the drive motor's torque less friction,
eq 5 and 9 of the paper for all substituted joints together are

.. math:: (N^2 J + J_\mathrm{eff})\,\ddot q = N \tau_d' - b, \qquad \tau_l = J N \ddot q - \tau_d'     (eq:load-torque)

and for one joint eq 10, :math:`\tau_l = -(J_\mathrm{eff} \tau_d' + N J b) / (N^2 J + J_\mathrm{eff})`. A gear
that gives needs no acceleration: :math:`\tau_l = -\tau/N` (eq:gear-spring). Nothing of Python runs in a cycle.

A rig that stamps when a command took effect and when it sampled, :math:`t_c` and :math:`t_s` by one clock of its own,
tells how old its samples are when the period T ends, in which the next command takes effect,

.. math:: \delta = 1 - (t_s - t_c) / T                                                                (eq:sample-age)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, kernel, part, piece
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.hil.arm_step import carry_arm
from servotwin.hil.arm_terms import (
    SUBSTITUTED,
    drive_torque,
    effective_inertia,
    evaluate_terms,
    factor,
    is_given,
    joint_forces,
)
from servotwin.hil.joint_servo import (
    commanded,
    control_voltage,
    motor_torque,
    sliding_friction,
    spring_torque,
)
from servotwin.hil.ports import MAX_SHAFTS, SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.records import ARM, FREE, JOINT, STUCK, CycleStatus, Role
from servotwin.hil.shaft_estimate import OBSERVER, estimate, observed_acceleration

RUNNING, DIVERGED = int(CycleStatus.RUNNING), int(CycleStatus.DIVERGED)
RIG_FAULT, BAD_RATE = int(CycleStatus.RIG_FAULT), int(CycleStatus.BAD_RATE)
BAD_ANGLE, BAD_CURRENT = int(CycleStatus.BAD_ANGLE), int(CycleStatus.BAD_CURRENT)
BAD_COMMAND = int(CycleStatus.BAD_COMMAND)
BASE = int(Role.BASE)
FASTEST = 1e9  # rad/s or m/s of a joint: beyond all machines


@helper
def unusable(joint: Any, feedback: Any) -> int:
    """What is not finite of the samples that a shaft uses, as a status; RUNNING: nothing."""
    if not math.isfinite(feedback.rate[joint.shaft]):
        return BAD_RATE
    if (
        joint.estimator == OBSERVER
        and joint.angle_measured
        and not math.isfinite(feedback.angle[joint.shaft])
    ):
        return BAD_ANGLE
    if joint.measured_current and not math.isfinite(feedback.drive_current[joint.shaft]):
        return BAD_CURRENT
    return RUNNING


@helper
def sample_age(feedback: Any, period: float) -> float:
    """Age of the samples at the end of their period, in periods, by the rig's clock: 0 to 1 (eq:sample-age)."""
    age = 1.0 - 1e-9 * (feedback.time - feedback.applied) / period  # eq:sample-age
    return min(max(age, 0.0), 1.0)  # type: ignore[no-any-return]


@part
def sense(arm: Any, joints: Any, feedback: Any) -> None:
    """Angle, rate and acceleration of every substituted shaft, and of its joint."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role != SUBSTITUTED:
            continue
        rate = feedback.rate[joint.shaft]
        arm.status = unusable(joint, feedback)
        if arm.status != RUNNING:
            return
        if feedback.fault[joint.shaft] != 0:
            arm.status = RIG_FAULT
            return
        if joint.stamped:
            joint.delay = sample_age(feedback, arm.period)
        estimate(joint, rate, feedback.angle[joint.shaft], arm.period)
        joint.w = joint.w_hat
        if not joint.compliant:
            joint.q, joint.qd = joint.theta / joint.N, joint.w / joint.N
            joint.qdd = joint.alpha_hat / joint.N


@part
def keep_state(arm: Any, joints: Any) -> None:
    """The state of the arm as that of its joints and shafts; it must be finite."""
    n, y = arm.n, arm.y
    for i in range(n):
        joint = joints[i]
        if not abs(y[n + i]) < FASTEST and arm.status == RUNNING:
            arm.status = DIVERGED
        joint.q, joint.qd = y[i], y[n + i]
        if joint.role == SUBSTITUTED:
            continue
        joint.qdd = arm.qdd[i]
        if joint.compliant:
            joint.theta, joint.w = y[2 * n + i], y[3 * n + i]
        else:
            joint.theta, joint.w = joint.N * y[i], joint.N * y[n + i]


@part
def run_servos(arm: Any, joints: Any, held: bool) -> None:
    """Voltages of all motors; ``held``: the arm's present step ends here, the next one takes the new voltages."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role == BASE:
            continue
        joint.w_ref = joint.N * commanded(joint, arm.time)
        joint.u_before = joint.u
        control_voltage(joint, joint.w, arm.period)
        if held:
            joint.u_held = joint.u
        joint.tau_d = motor_torque(joint, joint.u, joint.w)


@helper
def rest_mode(joint: Any) -> int:
    """Direction in which a substituted shaft slides; 0 where it is so slow that friction may hold it."""
    if joint.tau_c <= 0.0:
        return FREE
    if abs(joint.w) > joint.rest_rate:
        return 1 if joint.w > 0.0 else -1
    return STUCK


@helper
def released(joint: Any, load: float) -> int:
    """Mode of a shaft at rest against ``load`` [N m]: stuck, or the direction in which it breaks away."""
    needed = joint.tau_d - load
    if abs(needed) <= joint.tau_s:
        return STUCK
    return 1 if needed > 0.0 else -1


@helper
def measured_deviation(joint: Any, current: float) -> float:
    """By how much the sensed current gives more torque than the model of the past period's voltage [N m]."""
    return joint.K * current - motor_torque(joint, joint.u_before, joint.w)  # type: ignore[no-any-return]


@helper
def gear_load(joint: Any) -> float:
    """What a gear that gives asks of its shaft [N m] (eq:gear-spring)."""
    return spring_torque(joint, joint.theta, joint.w, joint.q, joint.qd) / joint.N  # type: ignore[no-any-return]


@helper
def load_row(arm: Any, joint: Any) -> None:
    """Row of one substituted shaft in eq:load-torque, in its present mode."""
    a = joint.shaft
    for c in range(arm.shafts):
        arm.S[a, c] = 0.0 if joint.compliant else arm.J_eff[a, c]
    arm.S[a, a] += joint.N * joint.N * joint.J
    arm.right[a] = 0.0
    if not joint.compliant:
        arm.right[a] = joint.N * (joint.tau_d - sliding_friction(joint, joint.w)) - arm.bias[a]


@helper
def hold_row(arm: Any, a: int) -> None:
    """A shaft at rest: no acceleration, and none of it at the others."""
    for c in range(arm.shafts):
        arm.S[a, c] = arm.S[c, a] = 0.0
    arm.S[a, a], arm.right[a] = 1.0, 0.0


@helper
def held_load(arm: Any, joint: Any) -> float:
    """What the arm asks of a shaft that does not turn, at the accelerations ``right`` of the others [N m].

    (b_a + sum_c J_ac qdd_c) / N
    """
    a = joint.shaft
    total = arm.bias[a]
    for c in range(arm.shafts):
        if c != a:
            total += arm.J_eff[a, c] * arm.right[c]
    return total / joint.N  # type: ignore[no-any-return]


@part
def solve_shafts(arm: Any, joints: Any) -> None:
    """Accelerations of the rigid substituted joints in their present modes, to ``right`` (eq:load-torque)."""
    n = arm.n
    for i in range(n):
        if joints[i].role == SUBSTITUTED:
            load_row(arm, joints[i])
    for i in range(n):
        if joints[i].role == SUBSTITUTED and joints[i].mode == STUCK and not joints[i].compliant:
            hold_row(arm, joints[i].shaft)
    factor(arm.S, arm.shafts)
    solve_vector(arm.S, arm.shafts, arm.right)


@part
def release_shafts(arm: Any, joints: Any) -> bool:
    """Set the direction of stuck shafts that friction cannot hold against the arm; true if there is one."""
    changed = False
    for i in range(arm.n):
        joint = joints[i]
        if joint.role != SUBSTITUTED or joint.compliant or joint.mode != STUCK:
            continue
        joint.mode = released(joint, held_load(arm, joint))
        changed = changed or joint.mode != STUCK
    return changed


@part
def load_torques(arm: Any, joints: Any, feedback: Any) -> None:
    """Load torque of every substituted shaft (eq:load-torque); those that break away move the others."""
    n = arm.n
    for i in range(n):
        joint = joints[i]
        if joint.role != SUBSTITUTED:
            continue
        if joint.measured_current and arm.tick > 0:
            joint.tau_d += measured_deviation(joint, feedback.drive_current[joint.shaft])
        joint.mode = rest_mode(joint)
        if joint.compliant and joint.mode == STUCK:
            joint.mode = released(joint, gear_load(joint))
    solve_shafts(arm, joints)
    for _ in range(arm.shafts):
        if not release_shafts(arm, joints):
            break
        solve_shafts(arm, joints)
    for i in range(n):
        if joints[i].role == SUBSTITUTED:
            set_load(arm, joints[i])


@helper
def solve_vector(A: Any, n: int, x: Any) -> None:
    """Solve with the factor of ``factor``; x is overwritten."""
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= A[i, k] * x[k]
        x[i] = s * A[i, i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= A[k, i] * x[k]
        x[i] = s * A[i, i]


@helper
def set_load(arm: Any, joint: Any) -> None:
    """Load torque of one shaft at the joint acceleration that eq:load-torque gives, within its limit."""
    if joint.compliant:
        wanted = -gear_load(joint)
    elif joint.mode == STUCK:
        wanted = -held_load(arm, joint)
    else:
        qdd = arm.right[joint.shaft]
        wanted = joint.J * joint.N * qdd - (joint.tau_d - sliding_friction(joint, joint.w))  # eq:load-torque
    if not math.isfinite(wanted):
        arm.status = BAD_COMMAND
        wanted = 0.0
    joint.tau_l = min(max(wanted, -joint.load_limit), joint.load_limit)


@helper
def prepare_observer(joint: Any, begins: bool) -> None:
    """The torque that acts over the coming period; where a step of the arm ``begins``, its acceleration there."""
    tau = joint.tau_d + joint.K * joint.K_e / joint.R * joint.w + joint.tau_l
    if joint.mode != FREE:
        tau -= joint.mode * joint.tau_c
    if joint.mode == STUCK:
        tau = 0.0
    joint.tau_before = joint.tau_given
    joint.tau_given = tau
    if begins:
        joint.qdd_last = observed_acceleration(joint, tau) / joint.N


@helper
def command_shafts(arm: Any, joints: Any, command: Any) -> None:
    """The command record: voltages and load torques, or the safe state once the cycle has stopped."""
    for i in range(arm.n):
        usable = math.isfinite(joints[i].u) and math.isfinite(joints[i].tau_l)
        if joints[i].role == SUBSTITUTED and arm.status == RUNNING and not usable:
            arm.status = BAD_COMMAND
    running = arm.status == RUNNING
    for a in range(MAX_SHAFTS):
        command.drive_voltage[a] = command.load_torque[a] = 0.0
        command.enable[a] = command.brake_released[a] = 0
    if running:
        for i in range(arm.n):
            joint = joints[i]
            if joint.role == SUBSTITUTED:
                command.drive_voltage[joint.shaft] = joint.u
                command.load_torque[joint.shaft] = joint.tau_l
                command.enable[joint.shaft] = command.brake_released[joint.shaft] = 1
    command.time = math.floor(arm.time * 1e9 + 0.5)


@helper
def remember(arm: Any, joints: Any) -> None:
    """Samples of the shafts at which the next step of the arm begins."""
    for i in range(arm.n):
        joint = joints[i]
        joint.q_last, joint.qd_last, joint.qdd_last = joint.q, joint.qd, joint.qdd
        joint.theta_last, joint.w_last = joint.theta, joint.w


@helper
def move_base(arm: Any, joints: Any) -> None:
    """Accelerations of the base that hold now."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role == BASE:
            arm.qdd[i] = joint.qdd = commanded(joint, arm.time)


@part
def feel_arm(arm: Any, joints: Any) -> None:
    """Torques of the simulated joints, and J_eff and b at the substituted ones, now."""
    n = arm.n
    for i in range(n):
        joint = joints[i]
        if not is_given(joint):
            joint.tau_joint = drive_torque(joint, joint.u_held, joint.q, joint.qd, joint.theta, joint.w)
    joint_forces(arm, joints, arm.y)
    effective_inertia(arm, joints)


@helper
def one_cycle(arm: Any, joints: Any, feedback: Any, command: Any) -> None:
    """One servo period; see ``cycle``."""
    sense(arm, joints, feedback)
    arm_instant = arm.tick % arm.arm_every == 0
    steps_now = arm_instant or not arm.at_arm
    if arm.status == RUNNING and arm.tick > 0 and steps_now:
        carry_arm(arm, joints, arm.period * (arm.arm_every if arm.at_arm else 1))
        keep_state(arm, joints)
    if arm.status == RUNNING and arm_instant:
        evaluate_terms(arm, arm.y, arm.time)
    if arm.status == RUNNING:
        run_servos(arm, joints, steps_now)
        if steps_now:
            remember(arm, joints)
        move_base(arm, joints)
        if arm.shafts > 0:
            feel_arm(arm, joints)
            load_torques(arm, joints, feedback)
            for i in range(arm.n):
                if joints[i].role == SUBSTITUTED and joints[i].estimator == OBSERVER:
                    prepare_observer(joints[i], steps_now)
    command_shafts(arm, joints, command)
    arm.tick += 1
    arm.time = arm.tick * arm.period


@piece
def cycle_piece(arm_at: int, feedback_at: int, command_at: int, spare: int, t: float, span: float) -> None:
    """``cycle`` by the addresses of its records, for compiled loops (``call_piece``); the rest is not used.

    Compiled once and called by address, it gives the same bits in simulated and in real time.
    """
    arm = records_at(arm_at, 1, ARM)[0]
    joints = records_at(arm.joints_at, arm.n, JOINT)
    one_cycle(
        arm,
        joints,
        records_at(feedback_at, 1, SHAFT_FEEDBACK)[0],
        records_at(command_at, 1, SHAFT_COMMAND)[0],
    )


@kernel
def _call(piece_at: int, a: int, b: int, c: int) -> None:
    call_piece(piece_at, a, b, c, 0, 0.0, 0.0)


def cycle(arm: Any, feedback: Any, command: Any) -> None:
    """One servo period from Python.

    ``arm``, ``feedback``, ``command``: arrays of one ARM, SHAFT_FEEDBACK, SHAFT_COMMAND. What the joints refer to must
    be kept (``substitution.Substitution`` does). Compiled loops call ``cycle_piece``.
    """
    _call(cycle_piece.address, arm.ctypes.data, feedback.ctypes.data, command.ctypes.data)
