r"""The simulated joints carried over a period: explicit Runge-Kutta, or Euler with implicit damping.

Back-EMF and friction are dampers :math:`D = N^2 (K^2/R + f)`; a step h of modified Euler multiplies rates by

.. math:: 1 - Z + Z^2/2, \quad Z = h A^{-1} D                                      (eq:step-amplification)

so the eigenvalues of Z must stay below 2; the implicit one solves with A + h D, which damps at any step. Springs and
shafts of compliant gears are explicit in it (eq:semi-implicit-step in ``stability.py``).
Substituted joints follow what was estimated of their shafts, from the last sample to the present one. Shafts with dry
friction stick and slide as modes; one that would turn round stops at the end of the step, and may let go in the next.
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


@part
def stop_reversed(arm: Any, joints: Any) -> None:
    """Shafts that would turn round in this step stick."""
    n, y = arm.n, arm.y
    for i in range(n):
        joint = joints[i]
        if joint.role != SIMULATED or joint.mode in (STUCK, FREE):
            continue
        at = 3 * n + i if joint.compliant else n + i
        w = y[at] if joint.compliant else joint.N * y[at]
        if joint.mode * w <= 0.0:
            y[at] = 0.0
            joint.mode = STUCK


@helper
def substep(arm: Any, joints: Any, begin: float, h: float, span: float, first: bool) -> None:
    """One Runge-Kutta step of length h, which begins ``begin`` after the last sample of the span."""
    width = 4 * arm.n
    start = arm.time - span + begin
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
    stop_reversed(arm, joints)


@part
def carry_arm(arm: Any, joints: Any, span: float) -> None:
    """Carry the simulated joints over the past ``span`` [s], up to the present samples of the shafts."""
    h = span / arm.steps
    arm.step = h
    for step in range(arm.steps):
        substep(arm, joints, step * h, h, span, step == 0)
    follow_shafts(arm, joints, arm.y, 1.0, arm.time)
