r"""The simulated joints carried over a period: explicit Runge-Kutta, or Euler with implicit damping.

Back-EMF and friction are dampers :math:`D = N^2 (K^2/R + f)`; a step h of modified Euler multiplies rates by

.. math:: 1 - Z + Z^2/2, \quad Z = h A^{-1} D                                      (eq:step-amplification)

so the eigenvalues of Z must stay below 2; the implicit one solves with A + h D, which damps at any step. Springs and
shafts of compliant gears are explicit in it (eq:semi-implicit-step in ``stability.py``).
Substituted joints follow what was estimated of their shafts, from the last sample to the present one. Shafts with dry
friction stick and slide as modes; a step in which one would turn round is cut where its rate comes to zero,

.. math:: h_1 = h\,\omega_0 / (\omega_0 - \omega_1)                                              (eq:stopped-shaft)

and the rest begins with this shaft at rest, held by friction or let go.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.hil.arm_terms import (
    BASE,
    SIMULATED,
    SUBSTITUTED,
    accelerate,
    evaluate_terms,
    is_given,
    joint_forces,
    transmitted,
)
from servotwin.hil.joint_servo import commanded, motor_torque, sliding_friction, spring_torque
from servotwin.hil.records import FREE, STUCK

MOST_CUTS = 4  # of a step: a shaft that turns round after so many stops at the end of the step
LEAST_CUT = 1e-6  # of a step: a shaft that turns round at once stops at its end
NEARLY = (
    1e-2  # of the rate at which a step began: what the line of eq:stopped-shaft may leave of it at its cut
)


@helper
def between(last: float, now: float, part_done: float) -> float:
    """A value between two samples."""
    return last + part_done * (now - last)


@helper
def follow_shafts(arm: Any, joints: Any, y: Any, part_done: float, time: float) -> None:
    """State and acceleration of joints that are given, at a part of the step."""
    n = arm.n
    for i in range(n):
        joint = joints[i]
        if joint.role == BASE:
            arm.qdd[i] = commanded(joint, time)
        elif joint.role == SUBSTITUTED:
            y[2 * n + i] = between(joint.theta_last, joint.theta, part_done)
            y[3 * n + i] = between(joint.w_last, joint.w, part_done)
            if not joint.compliant:
                y[i] = between(joint.q_last, joint.q, part_done)
                y[n + i] = between(joint.qd_last, joint.qd, part_done)
                arm.qdd[i] = between(joint.qdd_last, joint.qdd, part_done)
        elif is_given(joint):
            arm.qdd[i] = 0.0


@part
def slopes(arm: Any, joints: Any, y: Any, stage: int) -> None:
    """Slopes of the state at y, to row ``stage`` of k, once the arm's accelerations are known."""
    n, k = arm.n, arm.k
    for i in range(n):
        joint = joints[i]
        k[stage, i], k[stage, n + i] = y[n + i], arm.qdd[i]
        k[stage, 2 * n + i] = k[stage, 3 * n + i] = 0.0
        if joint.compliant and joint.role != SUBSTITUTED:
            theta, w = y[2 * n + i], y[3 * n + i]
            k[stage, 2 * n + i] = w
            if joint.mode != STUCK:
                load = spring_torque(joint, theta, w, y[i], y[n + i]) / joint.N
                net = motor_torque(joint, joint.u_held, w) - sliding_friction(joint, w) - load
                k[stage, 3 * n + i] = net / joint.J


@helper
def evaluate(
    arm: Any, joints: Any, y: Any, stage: int, part_done: float, time: float, middle: float, fresh: bool
) -> None:
    """Accelerations and slopes at y; ``fresh``: M and h of this state are there already.

    ``middle`` of the step: there the steps of tables are the same for all stages.
    """
    follow_shafts(arm, joints, y, part_done, middle)
    if arm.every_stage and not fresh:
        evaluate_terms(arm, y, time)
    joint_forces(arm, joints, y)
    accelerate(arm, joints)
    slopes(arm, joints, y, stage)


@part
def let_go(arm: Any, joints: Any, y: Any) -> bool:
    """Set the direction of stuck shafts that friction cannot hold any more; true if there is one."""
    n, changed = arm.n, False
    for i in range(n):
        joint = joints[i]
        if joint.role != SIMULATED or joint.mode != STUCK:
            continue
        if joint.compliant:
            load = spring_torque(joint, y[2 * n + i], 0.0, y[i], y[n + i]) / joint.N
        else:
            load = transmitted(arm, i) / joint.N
        needed = motor_torque(joint, joint.u_held, 0.0) - load
        if abs(needed) > joint.tau_s:
            joint.mode = 1 if needed > 0.0 else -1
            changed = True
    return changed


@helper
def shaft_rate(arm: Any, joint: Any, y: Any, i: int) -> float:
    """Rate of the shaft of joint i in a state [rad/s]."""
    return y[3 * arm.n + i] if joint.compliant else joint.N * y[arm.n + i]  # type: ignore[no-any-return]


@helper
def turns_round(arm: Any, joint: Any, i: int) -> bool:
    """Whether a shaft with friction that slid the other way has turned round, or come to rest."""
    if joint.role != SIMULATED or joint.mode in (STUCK, FREE):
        return False
    return joint.mode * shaft_rate(arm, joint, arm.y, i) <= 0.0  # type: ignore[no-any-return]


@part
def first_stop(arm: Any, joints: Any) -> float:
    """Part of the step after which the first shaft comes to rest that turns round in it; 1: none (eq:stopped-shaft)."""
    first = 1.0
    for i in range(arm.n):
        if turns_round(arm, joints[i], i):
            w_0 = shaft_rate(arm, joints[i], arm.y_begin, i)
            w_1 = shaft_rate(arm, joints[i], arm.y, i)
            if joints[i].mode * w_0 > 0.0:
                first = min(first, w_0 / (w_0 - w_1))  # eq:stopped-shaft
    return first


@part
def stop_reversed(arm: Any, joints: Any, nearly: float) -> None:
    """Shafts that have turned round in this step, or lost all but the part ``nearly`` of their rate, stick."""
    for i in range(arm.n):
        joint = joints[i]
        if joint.role != SIMULATED or joint.mode in (STUCK, FREE):
            continue
        w_0, w_1 = shaft_rate(arm, joint, arm.y_begin, i), shaft_rate(arm, joint, arm.y, i)
        if joint.mode * w_1 <= nearly * joint.mode * w_0:
            arm.y[3 * arm.n + i if joint.compliant else arm.n + i] = 0.0
            joint.mode = STUCK


@helper
def substep(arm: Any, joints: Any, begin: float, h: float, span: float, first: bool) -> None:
    """One Runge-Kutta step of length h, which begins ``begin`` after the last sample of the span."""
    width = 4 * arm.n
    start, arm.step = arm.time - span + begin, h
    middle = start + 0.5 * h
    evaluate(arm, joints, arm.y, 0, begin / span, start, middle, first)
    for _ in range(arm.n):
        if not let_go(arm, joints, arm.y):
            break
        evaluate(arm, joints, arm.y, 0, begin / span, start, middle, True)
    for stage in range(1, arm.stages):
        for j in range(width):
            slope = 0.0
            for s in range(stage):
                slope += arm.rk_a[stage, s] * arm.k[s, j]
            arm.ys[j] = arm.y[j] + h * slope
        passed = begin + arm.rk_c[stage] * h
        evaluate(arm, joints, arm.ys, stage, passed / span, arm.time - span + passed, middle, False)
    for j in range(width):
        slope = 0.0
        for s in range(arm.stages):
            slope += arm.rk_b[s] * arm.k[s, j]
        arm.y[j] += h * slope
    if arm.implicit:  # Euler that ends with the new rate
        for i in range(arm.n):
            arm.y[i] += h * h * arm.k[0, arm.n + i]


@helper
def copy_state(arm: Any, to: Any, y: Any) -> None:
    """States of all joints."""
    for j in range(4 * arm.n):
        to[j] = y[j]


@part
def carry_step(arm: Any, joints: Any, begin: float, end: float, span: float, first: bool) -> None:
    """One step, cut where shafts with dry friction come to rest."""
    for cut in range(MOST_CUTS + 1):
        h = end - begin
        copy_state(arm, arm.y_begin, arm.y)
        substep(arm, joints, begin, h, span, first)
        done = first_stop(arm, joints)
        if cut == MOST_CUTS or not LEAST_CUT < done < 1.0:
            stop_reversed(arm, joints, 0.0)
            return
        copy_state(arm, arm.y, arm.y_begin)
        substep(arm, joints, begin, done * h, span, False)
        stop_reversed(arm, joints, NEARLY)
        begin, first = begin + done * h, False


@part
def carry_arm(arm: Any, joints: Any, span: float) -> None:
    """Carry the simulated joints over the past ``span`` [s], up to the present samples of the shafts."""
    h = span / arm.steps
    for step in range(arm.steps):
        carry_step(arm, joints, step * h, (step + 1) * h, span, step == 0)
    follow_shafts(arm, joints, arm.y, 1.0, arm.time)
