r"""One servo period of a simulated arm with substituted joints: shafts in, voltages and load torques out.

At every servo instant: rates of the shafts are estimated, the simulated joints are carried up to now, and every
``arm_every`` periods M and h are computed anew; then every servo gives its voltage, and the load motors of
substituted joints get the torque that the arm would give (``shaft_loads.py``). Nothing of Python runs in a cycle.

A rig that stamps when a command took effect and when it sampled, :math:`t_c` and :math:`t_s` by one clock of its own,
tells how old its samples are, in periods T, at the deadline of the next command,

.. math:: \delta = 1 - (t_s - t_c) / T                                                                (eq:sample-age)

if they answer the newest command. An answer that is late, or samples that are used once more because none came, are
older by as many periods as the link was disturbed; that is counted there, and not carried on here.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, kernel, part, piece
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.hil.arm_step import carry_arm
from servotwin.hil.arm_terms import SUBSTITUTED, evaluate_terms
from servotwin.hil.joint_servo import commanded, control_voltage, motor_torque
from servotwin.hil.observer_torque import prepare_observer
from servotwin.hil.ports import MAX_SHAFTS, SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.records import ARM, JOINT, CycleStatus, Role
from servotwin.hil.shaft_estimate import OBSERVER, estimate
from servotwin.hil.shaft_loads import feel_arm, load_torques, measured_deviation

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


@helper
def between_samples(before: float, now: float, share: float) -> float:
    """A sample at a share of the way from the last cycle to this one."""
    return now if share == 1.0 else before + share * (now - before)


@part
def sense(arm: Any, joints: Any, feedback: Any, share: float) -> None:
    """Angle, rate and acceleration of every substituted shaft, and of its joint; ``share``: of the way to now."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role != SUBSTITUTED:
            continue
        a = joint.shaft
        arm.status = unusable(joint, feedback)
        if arm.status != RUNNING:
            return
        if feedback.fault[a] != 0:
            arm.status = RIG_FAULT
            return
        if joint.stamped:
            joint.delay = sample_age(feedback, arm.period)
        rate = between_samples(arm.rates_before[a], feedback.rate[a], share)
        estimate(joint, rate, between_samples(arm.angles_before[a], feedback.angle[a], share), arm.period)
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


@helper
def take_currents(arm: Any, joints: Any, feedback: Any) -> None:
    """Torques of the drive motors, where asked for as their sensed currents say."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role == SUBSTITUTED and joint.measured_current and arm.tick > 0:
            joint.tau_d += measured_deviation(joint, feedback.drive_current[joint.shaft])


@helper
def prepare_observers(arm: Any, joints: Any, begins: bool) -> None:
    """What the observers know of the coming period."""
    for i in range(arm.n):
        if joints[i].role == SUBSTITUTED and joints[i].estimator == OBSERVER:
            prepare_observer(joints[i], arm.period, begins)


@helper
def steps_at(arm: Any) -> bool:
    """Whether a step of the arm's states ends at the present instant."""
    return arm.tick % arm.arm_every == 0 or not arm.at_arm


@part
def advance(arm: Any, joints: Any, feedback: Any, share: float) -> None:
    """Shafts and simulated joints up to the present instant, and M and h there if they are due."""
    sense(arm, joints, feedback, share)
    if arm.status == RUNNING and arm.tick > 0 and steps_at(arm):
        carry_arm(arm, joints, arm.period * (arm.arm_every if arm.at_arm else 1))
        keep_state(arm, joints)
    if arm.status == RUNNING and arm.tick % arm.arm_every == 0:
        evaluate_terms(arm, arm.y, arm.time)


@helper
def hold_given(joints: Any, n: int) -> None:
    """Observers: over periods that were missed the command before the newest was held."""
    for i in range(n):
        joints[i].tau_newest, joints[i].tau_given = joints[i].tau_given, joints[i].tau_before


@part
def make_up(arm: Any, joints: Any, feedback: Any, missed: int) -> None:
    """Carry shafts and arm over periods without a cycle: commands held, samples on the line to the present one."""
    hold_given(joints, arm.n)
    for k in range(missed):
        advance(arm, joints, feedback, (k + 1.0) / (missed + 1.0))
        if arm.status != RUNNING:
            return
        if steps_at(arm):
            remember(arm, joints)
        move_base(arm, joints)
        arm.tick += 1
        arm.time = arm.tick * arm.period
    for i in range(arm.n):
        joints[i].tau_given = joints[i].tau_newest


@helper
def keep_samples(arm: Any, feedback: Any) -> None:
    """Samples from which missed ones are found in the next cycle."""
    for a in range(MAX_SHAFTS):
        arm.rates_before[a], arm.angles_before[a] = feedback.rate[a], feedback.angle[a]


@helper
def one_cycle(arm: Any, joints: Any, feedback: Any, command: Any, missed: int) -> None:
    """One servo period, and ``missed`` ones before it; see ``cycle``."""
    if missed > 0 and arm.tick > 0:
        make_up(arm, joints, feedback, missed)
    if arm.status == RUNNING:
        advance(arm, joints, feedback, 1.0)
    if arm.status == RUNNING:
        steps_now = steps_at(arm)
        run_servos(arm, joints, steps_now)
        if steps_now:
            remember(arm, joints)
        move_base(arm, joints)
        if arm.shafts > 0:
            take_currents(arm, joints, feedback)
            feel_arm(arm, joints, steps_now)
            load_torques(arm, joints)
            prepare_observers(arm, joints, steps_now)
            keep_samples(arm, feedback)
    command_shafts(arm, joints, command)
    arm.tick += 1
    arm.time = arm.tick * arm.period


@piece
def cycle_piece(arm_at: int, feedback_at: int, command_at: int, spare: int, t: float, span: float) -> None:
    """``cycle`` by the addresses of its records, for compiled loops (``call_piece``); the rest is not used.

    ``t``: time that was missed since the last cycle, beside one period [s]. Compiled once and called by address, it
    gives the same bits in simulated and in real time.
    """
    arm = records_at(arm_at, 1, ARM)[0]
    joints = records_at(arm.joints_at, arm.n, JOINT)
    one_cycle(
        arm,
        joints,
        records_at(feedback_at, 1, SHAFT_FEEDBACK)[0],
        records_at(command_at, 1, SHAFT_COMMAND)[0],
        int(t / arm.period + 0.5),
    )


@kernel
def _call(piece_at: int, a: int, b: int, c: int, t: float) -> None:
    call_piece(piece_at, a, b, c, 0, t, 0.0)


def cycle(arm: Any, feedback: Any, command: Any, missed_s: float = 0.0) -> None:
    """One servo period from Python, ``missed_s`` [s] later than it was due.

    ``arm``, ``feedback``, ``command``: arrays of one ARM, SHAFT_FEEDBACK, SHAFT_COMMAND. What the joints refer to must
    be kept (``substitution.Substitution`` does). Compiled loops call ``cycle_piece``.
    """
    _call(cycle_piece.address, arm.ctypes.data, feedback.ctypes.data, command.ctypes.data, float(missed_s))
