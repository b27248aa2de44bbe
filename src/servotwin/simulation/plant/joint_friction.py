r"""Friction of joints on their own side of an elastic gear or of a coupled transmission.

Behind a stiff gear of its own a joint moves with its motor, and its friction is part of the motor's
(eq:friction-at-motor). Elsewhere the joint slides and sticks by itself: its friction is a torque on the joint
while it slides, and a constraint :math:`\ddot q_i = 0` with the holding torque as its multiplier while it sticks
(eq:joint-stiction). A joint at its end stop is held by the stop; its friction counts as sticking meanwhile.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.drives.friction import joint_friction_torque, joint_slack
from servotwin.drives.records import BETWEEN, FREE, SLIDES_BACKWARD, SLIDES_FORWARD, STUCK

AT_REST = 1e-12  # rad/s, m/s: slower than this is rest, or the rounding of a joint that a stuck motor holds


@helper
def apply_joint_friction(world: Any, stops: Any, y: Any, dz: Any, at: int) -> None:
    """Subtract the friction of sliding joints from their torques in ``inputs``; add the power lost to dz[at:]."""
    n, n_x = world.n, world.n_x
    for i in range(n):
        joint = stops[i]
        if joint.has_friction:
            tau = joint_friction_torque(joint, y[n_x + i])
            world.scratch.inputs[n_x + n + i] -= tau
            dz[at + i] += tau * y[n_x + i]  # beside the motors: there are as many of them as joints


@helper
def held_joint(joint: Any) -> bool:
    """True if friction or an end stop holds the joint."""
    return joint.state != BETWEEN or (joint.has_friction != 0 and joint.mode == STUCK)  # type: ignore[no-any-return]


@helper
def hold_joint(joint: Any, reaction: float) -> None:
    """Note what holds a joint: its end stop, or its friction and how much more that could hold."""
    if joint.state != BETWEEN:
        joint.reaction = reaction
    else:
        joint.holding = reaction
        joint.slack = joint_slack(joint)


@helper
def joint_margin(joint: Any, qd: float) -> float:
    """How far a joint with friction is from letting go or from rest; large without friction."""
    if not joint.has_friction or joint.mode == FREE or joint.state != BETWEEN:
        return 1e9
    return joint.slack if joint.mode == STUCK else joint.mode * qd + AT_REST  # type: ignore[no-any-return]


@helper
def switch_joint(joint: Any, qd: float) -> bool:
    """Change the mode of a joint that lies beyond its event; true if it has come to rest now."""
    if not joint.has_friction or joint.mode == FREE or joint.state != BETWEEN:
        return False
    if joint.mode == STUCK:
        if joint.slack < 0.0:
            joint.mode = SLIDES_BACKWARD if joint.holding > 0.0 else SLIDES_FORWARD
            joint.slack = 0.0
        return False
    if (
        joint.mode * qd + AT_REST < 0.0
    ):  # not at rest: it may just have let go, or a stuck motor may hold it still
        joint.mode, joint.slack = STUCK, 0.0
        return True
    return False


@helper
def release_joints(world: Any, stops: Any) -> None:
    """An impulse is more than any friction holds."""
    for i in range(world.n):
        if stops[i].has_friction and stops[i].mode == STUCK:
            stops[i].mode = SLIDES_FORWARD


@helper
def slide_joints_on(world: Any, stops: Any) -> None:
    """After an impact every joint with dry friction slides the way it moves, or sticks."""
    for i in range(world.n):
        joint = stops[i]
        if joint.has_friction and joint.mode != FREE:
            qd = world.state.y[world.n_x + i]
            joint.mode = SLIDES_FORWARD if qd > AT_REST else (SLIDES_BACKWARD if qd < -AT_REST else STUCK)
            joint.slack = 0.0
            if joint.mode == STUCK and world.diagonal:
                world.state.y[world.n_x + i] = 0.0
