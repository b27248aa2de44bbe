r"""Joints that stick by themselves, behind elastic gears, in the window of these.

With f the joints that move and s those that their friction holds, A the inertia of the arm with the rotors behind
stiff gears,

.. math:: A_{ff}\,\ddot q_f = \tau_f - h_f, \qquad \ddot q_s = 0, \qquad
          r_s = A_{sf}\,\ddot q_f + h_s - \tau_s                                            (eq:held-joints)

r is what friction holds (eq:joint-stiction). In a window no joint changes between sticking and sliding: one in which
that happens, or in which the ripple of the motors could make it happen, is left to the steps from edge to edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address
from servotwin.drives.friction import part_on_curve
from servotwin.drives.records import BETWEEN, FREE, STUCK
from servotwin.simulation.plant.event_steps import FAR, turned_twice
from servotwin.simulation.plant.joint_friction import hold_joint, joint_margin
from servotwin.simulation.plant.stuck_shafts import factor, solve


@helper
def list_held_joints(world: Any, motors: Any, stops: Any) -> None:
    """Number of the joints that stick, list of the others, and the inertia of rotors behind stiff gears at them."""
    scratch, elastic = world.scratch, world.elastic_window
    elastic.held_joints = scratch.moving = 0
    if not world.joint_friction:
        return
    for i in range(world.n):
        if stops[i].has_friction and stops[i].mode == STUCK:
            elastic.held_joints += 1
        else:
            scratch.moving_joints[scratch.moving] = i
            scratch.moving += 1
        stiff = motors[i].flexible < 0
        elastic.rotor_inertia[i] = world.ratio[i] * world.ratio[i] * motors[i].J if stiff else 0.0


@helper
def call_arm(world: Any) -> None:
    """Accelerations of the arm under ``inputs``, with joints that stick where some do."""
    code = world.code
    if world.elastic_window.held_joints > 0:
        call_held_arm(world)
    else:
        call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)


@part
def call_held_arm(world: Any) -> None:
    """Accelerations in ``outputs``, and what friction holds, by eq:held-joints."""
    scratch, code, elastic = world.scratch, world.code, world.elastic_window
    n = world.n
    call_address(code.motion, code.inputs_at, code.outputs_at, code.motion_data)
    M, h = scratch.outputs, n * n
    for r in range(scratch.moving):
        i = scratch.moving_joints[r]
        for c in range(r + 1):
            scratch.A[r, c] = M[n * i + scratch.moving_joints[c]]
        scratch.A[r, r] += elastic.rotor_inertia[i]
        scratch.X[r] = scratch.inputs[2 * n + i] - M[h + i]
    factor(scratch.A, scratch.moving)
    solve(scratch.A, scratch.moving, scratch.X, 0)
    for i in range(n):
        elastic.holding[i] = M[h + i] - scratch.inputs[2 * n + i]
        for r in range(scratch.moving):
            elastic.holding[i] += M[n * i + scratch.moving_joints[r]] * scratch.X[r]  # eq:held-joints
    for i in range(n):
        scratch.outputs[i] = 0.0
    for r in range(scratch.moving):
        scratch.outputs[scratch.moving_joints[r]] = scratch.X[r]


@helper
def holding_margin(world: Any, stops: Any) -> float:
    """How much more the joints that stick could hold after ``call_arm`` [N m, N], the least; large if none sticks."""
    least = FAR
    if world.elastic_window.held_joints > 0:
        for i in range(world.n):
            if stops[i].has_friction and stops[i].mode == STUCK:
                hold_joint(stops[i], world.elastic_window.holding[i])
                least = min(least, stops[i].slack)
    return least


@helper
def torque_ripple(world: Any, j: int) -> float:
    """How far the torque of motor j goes beside its mean over the window [N m], by its largest size at the edges."""
    elastic = world.elastic_window
    return elastic.peak[j, 1] - abs(elastic.impulse[j]) * world.line.per_span  # type: ignore[no-any-return]


@helper
def shaken_by(world: Any, gains: Any, i: int) -> float:
    """What the ripple of the motors behind stiff gears does at joint i, by ``gains`` per torque."""
    elastic, total = world.elastic_window, 0.0
    for r in range(elastic.stiff_count):
        k = elastic.stiff[r]
        total += abs(gains[i, k]) * torque_ripple(world, k)
    return total


@helper
def keeps_sliding(world: Any, joint: Any, i: int, h: float) -> bool:
    """True if joint i, which slides, does so faster than ripple shakes it, and one step follows its friction."""
    y, y1, k, n, way = world.state.y, world.scratch.y1, world.scratch.k, world.n, joint.mode
    first, last = way * y[n + i], way * y1[n + i]
    shaken = 0.25 * h * shaken_by(world, world.elastic_window.gain, i)
    if (
        joint_margin(joint, y1[n + i]) < 0.0
        or min(first, last) < shaken
        or part_on_curve(joint, min(first, last), abs(last - first)) < 1.0
    ):
        return False
    return turned_twice(first, last, way * k[1, n + i] * h, way * k[4, n + i] * h) >= 1.0


@part
def joints_keep_modes(world: Any, motors: Any, stops: Any, h: float) -> bool:
    """True if no joint changes between sticking and sliding in a window, whatever the ripple of the motors does."""
    elastic = world.elastic_window
    for i in range(world.n):
        joint, motor = stops[i], motors[i]
        if not joint.has_friction or joint.mode == FREE or joint.state != BETWEEN:
            continue
        if joint.mode != STUCK:
            if not keeps_sliding(world, joint, i, h):
                return False
            continue
        # the damper of its own gear passes on the ripple of its motor's speed
        passed = abs(world.ratio[i]) * motor.damping * torque_ripple(world, i) / motor.J * 0.125 * h
        if not elastic.joint_margin >= passed + shaken_by(world, elastic.held_gain, i):
            return False
    return True
