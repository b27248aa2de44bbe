r"""M and h of the simulated arm, its free joints' accelerations, and what a substituted joint feels of the rest.

With s the substituted joints, g those whose acceleration is given otherwise (base, stuck shafts) and f the rest,
whose torques are given, and :math:`A = M + N^2 J` of the motors that are simulated,

.. math:: A_{ff}\,\ddot q_f = \tau_f - h_f - M_{fs}\,\ddot q_s - M_{fg}\,\ddot q_g                 (eq:hybrid-arm)

.. math:: J_\mathrm{eff} = M_{ss} - M_{sf} A_{ff}^{-1} M_{fs}, \quad
          b = h_s + M_{sg}\,\ddot q_g + M_{sf} A_{ff}^{-1} (\tau_f - h_f - M_{fg}\,\ddot q_g)
                                                                                 (eq:effective-inertia)

so that :math:`\tau_s = J_\mathrm{eff}\,\ddot q_s + b`: the paper's eq 7 to 9 for any number of joints anywhere in the
arm. It is the inertia of the articulated body at the joint, and the inboard joints give way too. M and h come
from the robot's generated kernel, called by address, of open, branched and closed chains alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address, numbers_at, records_at
from servotwin.hil.joint_servo import joint_friction, motor_torque, sliding_friction, spring_torque
from servotwin.hil.records import STUCK, CycleStatus, Role
from servotwin.simulation.plant.link_forces import LINK_FORCE, joint_effort, link_wrench

OPEN_LOOP, BAD_FORCE = int(CycleStatus.OPEN_LOOP), int(CycleStatus.BAD_FORCE)
SIMULATED, SUBSTITUTED, BASE = int(Role.SIMULATED), int(Role.SUBSTITUTED), int(Role.BASE)
ROUNDS = 3  # Newton steps that close the loops after a small motion
OPEN = 1e-3  # rad or m of a Newton step that does not close them
CLOSED = 1e-9  # rad or m of a Newton step behind which the next one would be rounding: steps shrink by their square


@part
def close_loops(arm: Any, q: Any) -> None:
    """Passive joints of a closed chain at q, from those of the last evaluation."""
    n, p = arm.n, arm.n_x - arm.n
    given = numbers_at(arm.track_in_at, np.float64)
    said = numbers_at(arm.track_out_at, np.float64)
    for i in range(n):
        given[i] = arm.q_closed[i]
        given[arm.n_x + i] = q[i] - arm.q_closed[i]
    for i in range(p):
        given[n + i] = arm.passive[i]
    call_address(arm.track, arm.track_in_at, arm.track_out_at, arm.track_data)
    for i in range(p):
        given[n + i] += said[p + i]
    for i in range(n):
        given[i] = arm.q_closed[i] = q[i]
        given[arm.n_x + i] = 0.0
    largest = 0.0
    for _ in range(ROUNDS):
        call_address(arm.track, arm.track_in_at, arm.track_out_at, arm.track_data)
        largest = 0.0
        for i in range(p):
            given[n + i] += said[i]
            largest = max(largest, abs(said[i]))
        if largest < CLOSED:
            break
    for i in range(p):
        arm.passive[i] = given[n + i]
    if not largest < OPEN:
        arm.status = OPEN_LOOP


@part
def evaluate_terms(arm: Any, y: Any, time: float) -> None:
    """M and h at the state y, with the forces of the environment in h."""
    n, n_x = arm.n, arm.n_x
    if n_x > n:
        close_loops(arm, y)
    for i in range(n):
        arm.inputs[i] = y[i]
        arm.inputs[n_x + i] = y[n + i]
    for i in range(n_x - n):
        arm.inputs[n + i] = arm.passive[i]
    call_address(arm.motion, arm.inputs_at, arm.outputs_at, arm.motion_data)
    for i in range(n):
        arm.h[i] = arm.outputs[n * n + i]
    if arm.forces > 0:
        forces = records_at(arm.forces_at, arm.forces, LINK_FORCE)
        for e in range(arm.forces):
            if not link_wrench(forces[e], n, arm.inputs_at, y, n, time, time):
                arm.status = BAD_FORCE
            for i in range(n):
                arm.h[i] -= joint_effort(forces[e], n, i)


@helper
def is_given(joint: Any) -> bool:
    """Whether the acceleration of a joint is given: the base, a rigid substituted joint, a stuck shaft."""
    if joint.role == BASE:
        return True
    if joint.compliant:
        return False
    return joint.role == SUBSTITUTED or joint.mode == STUCK  # type: ignore[no-any-return]


@helper
def drive_torque(joint: Any, u: float, q: float, qd: float, theta: float, w: float) -> float:
    """What the drive of a joint of given torque passes on to it [N m]."""
    if joint.compliant:
        return spring_torque(joint, theta, w, q, qd)
    w_m = joint.N * qd
    return joint.N * (motor_torque(joint, u, w_m) - sliding_friction(joint, w_m))  # type: ignore[no-any-return]


@helper
def damping_of(joint: Any, qd: float) -> float:
    """Slope of the drive's torque over the joint's rate: friction, and back-EMF unless its limit holds [N m s/rad]."""
    if joint.compliant:
        return joint.damping  # type: ignore[no-any-return]
    slope = joint.f
    if abs(motor_torque(joint, joint.u_held, joint.N * qd)) < joint.tau_limit:
        slope += joint.K * joint.K_e / joint.R
    return joint.N * joint.N * slope  # type: ignore[no-any-return]


@part
def assemble(arm: Any, joints: Any, implicit: int) -> None:
    """Free joints, and the factor of A_ff, from M and the present modes; ``implicit`` adds step times damping."""
    n = arm.n
    arm.count = 0
    for i in range(n):
        if not is_given(joints[i]):
            arm.free[arm.count] = i
            arm.count += 1
    for r in range(arm.count):
        i = arm.free[r]
        for c in range(r + 1):
            arm.A[r, c] = arm.outputs[n * i + arm.free[c]]
        joint = joints[i]
        if arm.rotor and not joint.compliant:
            arm.A[r, r] += joint.N * joint.N * joint.J
        if implicit:
            arm.A[r, r] += arm.step * damping_of(joint, arm.y[n + i])
    factor(arm.A, arm.count)


@helper
def factor(A: Any, n: int) -> None:
    """Cholesky factor in the lower triangle of A, the inverse of its diagonal on the diagonal."""
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        inverse = 1.0 / math.sqrt(d)
        A[j, j] = inverse
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s * inverse


@helper
def solve_row(A: Any, n: int, X: Any, row: int) -> None:
    """Solve with the factor; row ``row`` of X is overwritten."""
    for i in range(n):
        s = X[row, i]
        for k in range(i):
            s -= A[i, k] * X[row, k]
        X[row, i] = s * A[i, i]
    for i in range(n - 1, -1, -1):
        s = X[row, i]
        for k in range(i + 1, n):
            s -= A[k, i] * X[row, k]
        X[row, i] = s * A[i, i]


@helper
def given_pull(arm: Any, joints: Any, i: int, substituted: bool) -> float:
    """M_ig qdd_g of the joints whose acceleration is given; those of the rig on demand."""
    n, total = arm.n, 0.0
    for g in range(n):
        if is_given(joints[g]) and (substituted or joints[g].role != SUBSTITUTED):
            total += arm.outputs[n * i + g] * arm.qdd[g]
    return total


@part
def accelerate(arm: Any, joints: Any) -> None:
    """qdd of the free joints under ``force`` = tau - friction of the joint (eq:hybrid-arm)."""
    assemble(arm, joints, arm.implicit)
    for r in range(arm.count):
        i = arm.free[r]
        arm.X[0, r] = arm.force[i] - arm.h[i] - given_pull(arm, joints, i, True)
    solve_row(arm.A, arm.count, arm.X, 0)
    for r in range(arm.count):
        arm.qdd[arm.free[r]] = arm.X[0, r]


@helper
def transmitted(arm: Any, i: int) -> float:
    """Torque that the arm asks for at joint i, M qdd + h [N m]."""
    n, total = arm.n, arm.h[i]
    for k in range(n):
        total += arm.outputs[n * i + k] * arm.qdd[k]
    return total  # type: ignore[no-any-return]


@helper
def joint_forces(arm: Any, joints: Any, y: Any) -> None:
    """``force`` of every joint of given torque at the state y, under the voltages of the present step."""
    n = arm.n
    for i in range(n):
        joint = joints[i]
        if is_given(joint):
            continue
        qd = y[n + i]
        arm.force[i] = drive_torque(joint, joint.u_held, y[i], qd, y[2 * n + i], y[3 * n + i])
        arm.force[i] -= joint_friction(joint, qd)


@part
def effective_inertia(arm: Any, joints: Any) -> None:
    """``J_eff`` and ``bias`` at the rigid substituted joints, in the order of the shafts (eq:effective-inertia)."""
    n = arm.n
    assemble(arm, joints, 0)
    for r in range(arm.count):
        i = arm.free[r]
        for a in range(arm.shafts):
            arm.X[a, r] = 0.0
        arm.X[arm.shafts, r] = arm.force[i] - arm.h[i] - given_pull(arm, joints, i, False)
        for s in range(n):
            if joints[s].role == SUBSTITUTED and not joints[s].compliant:
                arm.X[joints[s].shaft, r] = arm.outputs[n * i + s]
    for row in range(arm.shafts + 1):
        solve_row(arm.A, arm.count, arm.X, row)
    for s in range(n):
        if joints[s].role != SUBSTITUTED or joints[s].compliant:
            continue
        a = joints[s].shaft
        arm.bias[a] = arm.h[s] + given_pull(arm, joints, s, False) + joints[s].f_joint * joints[s].qd
        for r in range(arm.count):
            arm.bias[a] += arm.outputs[n * s + arm.free[r]] * arm.X[arm.shafts, r]
        for t in range(n):
            if joints[t].role == SUBSTITUTED and not joints[t].compliant:
                b = joints[t].shaft
                arm.J_eff[a, b] = arm.outputs[n * s + t]
                for r in range(arm.count):
                    arm.J_eff[a, b] -= arm.outputs[n * s + arm.free[r]] * arm.X[b, r]
