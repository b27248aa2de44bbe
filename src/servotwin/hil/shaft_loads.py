r"""What the load motors of substituted shafts are asked for: the torque that the arm would give, friction at rest too.

With :math:`\tau_d'` the drive motor's torque less friction, eq 5 and 9 of the paper for all substituted joints together
are

.. math:: (N^2 J + J_\mathrm{eff})\,\ddot q = N \tau_d' - s\,c - b, \qquad \tau_l = J N \ddot q - \tau_d'
                                                                                               (eq:load-torque)

and for one joint eq 10, :math:`\tau_l = -(J_\mathrm{eff} \tau_d' + N J b) / (N^2 J + J_\mathrm{eff})`; s = +-1 is the
direction in which the shaft slides, c the Coulomb friction of the joint itself, which the rig does not have. A gear
that gives needs no acceleration: :math:`\tau_l = -\tau/N` (eq:gear-spring).

Friction holds a shaft, or the motor of a simulated joint, until it must hold more than it can. All that stand are
looked at together, at the instant at which J_eff and b are felt, and those that break away are felt as moving.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.hil.arm_step import let_go
from servotwin.hil.arm_terms import (
    SUBSTITUTED,
    effective_inertia,
    factor,
    joint_forces,
)
from servotwin.hil.joint_servo import motor_torque, sliding_friction, spring_torque
from servotwin.hil.records import FREE, STUCK, CycleStatus

BAD_COMMAND = int(CycleStatus.BAD_COMMAND)


@helper
def joint_dry_friction(joint: Any) -> float:
    """Coulomb friction of the joint itself, at its shaft [N m]; behind a gear that gives the shaft does not feel it."""
    return 0.0 if joint.compliant else joint.c_joint / abs(joint.N)


@helper
def rest_mode(joint: Any) -> int:
    """Direction in which a substituted shaft slides; 0 where it is so slow that friction may hold it."""
    if joint.tau_c + joint_dry_friction(joint) <= 0.0:
        return FREE
    if abs(joint.w) > joint.rest_rate:
        return 1 if joint.w > 0.0 else -1
    return STUCK


@helper
def released(joint: Any, load: float) -> int:
    """Mode of a shaft at rest against ``load`` [N m]: stuck, or the direction in which it breaks away."""
    needed = joint.tau_d - load
    if abs(needed) <= joint.tau_s + joint_dry_friction(joint):
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
        if joint.mode != FREE:
            arm.right[a] -= joint.mode * joint.N * joint_dry_friction(joint)


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
def accelerate_all(arm: Any, joints: Any) -> None:
    """qdd of the free joints at the accelerations ``right`` of the shafts, from the solutions of J_eff and b."""
    n = arm.n
    for s in range(n):
        if joints[s].role == SUBSTITUTED and not joints[s].compliant:
            arm.qdd[s] = arm.right[joints[s].shaft]
    for r in range(arm.count):
        total = arm.X[arm.shafts, r]
        for a in range(arm.shafts):
            total -= arm.X[a, r] * arm.right[a]
        arm.qdd[arm.free[r]] = total


@part
def choose_modes(joints: Any, n: int) -> None:
    """Modes of the substituted shafts before the arm is felt: those that may be at rest are held."""
    for i in range(n):
        joint = joints[i]
        if joint.role != SUBSTITUTED:
            continue
        joint.mode = rest_mode(joint)
        if joint.compliant and joint.mode == STUCK:
            joint.mode = released(joint, gear_load(joint))


@part
def feel_arm(arm: Any, joints: Any, begins: bool) -> None:
    """J_eff and b at the substituted joints and accelerations of their shafts, now.

    Where a step of the arm ``begins``, simulated joints may break away as well as shafts: the others feel it at once.
    """
    choose_modes(joints, arm.n)
    for _ in range(arm.n + 1):
        joint_forces(arm, joints, arm.y)
        effective_inertia(arm, joints)
        solve_shafts(arm, joints)
        accelerate_all(arm, joints)
        changed = release_shafts(arm, joints)
        if begins and let_go(arm, joints, arm.y):
            changed = True
        if not changed:
            break


@part
def load_torques(arm: Any, joints: Any) -> None:
    """Load torque of every substituted shaft (eq:load-torque), once the arm has been felt."""
    for i in range(arm.n):
        if joints[i].role == SUBSTITUTED:
            set_load(arm, joints[i])


@helper
def held_torque(arm: Any, joint: Any) -> float:
    """Load torque of a shaft that stands: what the arm asks for, and the share of the joint's own friction [N m].

    Shaft and joint hold what is left in proportion to what they can, so the shaft stays within its own friction.
    """
    load, dry = held_load(arm, joint), joint_dry_friction(joint)
    if dry <= 0.0:
        return -load
    return -load - (joint.tau_d - load) * dry / (joint.tau_s + dry)  # type: ignore[no-any-return]


@helper
def set_load(arm: Any, joint: Any) -> None:
    """Load torque of one shaft at the joint acceleration that eq:load-torque gives, within its limit."""
    if joint.compliant:
        wanted = -gear_load(joint)
    elif joint.mode == STUCK:
        wanted = held_torque(arm, joint)
    else:
        qdd = arm.right[joint.shaft]
        wanted = joint.J * joint.N * qdd - (joint.tau_d - sliding_friction(joint, joint.w))  # eq:load-torque
    if not math.isfinite(wanted):
        arm.status = BAD_COMMAND
        wanted = 0.0
    joint.tau_l = min(max(wanted, -joint.load_limit), joint.load_limit)
