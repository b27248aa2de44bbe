"""Where the law of an elastic gear changes: kinks of its stiffness (eq:gear-stiffening), and flanks (eq:flank-push)."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.gears import flank_loss, flank_margin, next_contact
from servotwin.drives.records import NO_CONTACT
from servotwin.simulation.plant.event_steps import FAR
from servotwin.simulation.plant.rates import GEAR
from servotwin.simulation.windows.motor_coordinates import at_motor

CLOSE_TWIST = (
    1e-10  # rad at the motor: so little beyond a kink of its stiffness, or into its play, a gear is met
)


@helper
def gear_slopes(motor: Any, twist: float) -> tuple[float, float]:
    """Stiffness and damping of the gear where it is twisted by so much (eq:gear-stiffening); none within its play."""
    if motor.half_play > 0.0 and motor.contact == NO_CONTACT:
        return 0.0, 0.0
    k = motor.stiffness
    if motor.bend_1 > 0.0:
        size = abs(twist)
        k += (motor.added_1 if size > motor.bend_1 else 0.0) + (motor.added_2 if size > motor.bend_2 else 0.0)
    return k, motor.damping


@helper
def part_of_curve(motor: Any, twist: float) -> int:
    """On which straight part of its curve a gear is, -2 to 2, with the sign of the twist (eq:gear-stiffening)."""
    size = abs(twist)
    part = (1 if size > motor.bend_1 else 0) + (1 if motor.added_2 > 0.0 and size > motor.bend_2 else 0)
    return part if twist > 0.0 else -part


@helper
def end_of_part(motor: Any, part: int) -> float:
    """The larger twist at which a straight part of the gear's curve ends [rad]."""
    if part <= 0:
        return motor.bend_1 if part == 0 else -(motor.bend_1 if part == -1 else motor.bend_2)  # type: ignore[no-any-return]
    return motor.bend_2 if part == 1 and motor.added_2 > 0.0 else FAR


@helper
def gear_margin(motor: Any, part: int, twist: float, rate: float) -> float:
    """How far a gear is from the ends of a straight part of its curve [rad], or with play from a change of contact.

    Negative beyond.
    """
    if motor.half_play > 0.0:
        return flank_margin(motor, twist, rate)
    return min(end_of_part(motor, part) - twist, twist + end_of_part(motor, -part))


@helper
def close_margin(motor: Any) -> float:
    """So little beyond, the end of ``gear_margin`` is met [rad, N m of a flank that parts]."""
    parts = motor.half_play > 0.0 and motor.contact != NO_CONTACT
    return CLOSE_TWIST * motor.stiffness if parts else CLOSE_TWIST


@part
def settle_contacts(world: Any, motors: Any) -> bool:
    """Let flanks touch and part that lie beyond their event; true if one did (eq:flank-loss)."""
    state, changed = world.state, False
    for j in range(world.m):
        motor = motors[j]
        if motor.half_play > 0.0:
            twist = state.y[world.at_theta + motor.flexible] - at_motor(world, j, state.y, 0)
            rate = state.y[world.at_w + motor.flexible] - at_motor(world, j, state.y, world.n_x)
            contact = next_contact(motor, twist, rate)
            if contact != motor.contact:
                lost = flank_loss(motor, motor.contact, rate) - flank_loss(motor, contact, rate)
                state.z[GEAR * world.m + j] += lost  # eq:flank-loss
                motor.contact, changed = contact, True
    return changed
