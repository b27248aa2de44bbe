"""Joints seen from the motors and motors from the joints, theta_m = N q and tau = N^T tau_m, for compiled windows."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def at_motor(world: Any, j: int, joints: Any, first: int) -> float:
    """What stands in ``joints`` from ``first`` on, as motor j has it: row j of N times it."""
    if world.diagonal:
        return world.ratio[j] * joints[first + j]  # type: ignore[no-any-return]
    total = 0.0
    for i in range(world.n):
        total += world.N[j, i] * joints[first + i]
    return total


@helper
def at_joint(world: Any, i: int, torques: Any) -> float:
    """Torque or force at joint i of the torques of all motors: column i of N times them."""
    if world.diagonal:
        return world.ratio[i] * torques[i]  # type: ignore[no-any-return]
    total = 0.0
    for j in range(world.m):
        total += world.N[j, i] * torques[j]
    return total


@helper
def joint_from_motors(world: Any, i: int, motors: Any) -> float:
    """Joint i from what every motor has: row i of the inverse of N times it."""
    total = 0.0
    for j in range(world.m):
        total += world.N_inverse[i, j] * motors[j]
    return total
