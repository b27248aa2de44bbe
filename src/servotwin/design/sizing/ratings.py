r"""Ratings of motor and gear side by side, as Table 3 of Kim (2018) has them: motor shaft, load shaft, gear output.

.. math:: T_{load} = n\,\tau_m, \qquad \omega_{load} = \omega_m / n                        (eq:load-shaft)

The load shaft is an ideal one, without losses; what the gear bears stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.design.sizing.actuators import Actuator


@dataclass(frozen=True)
class RatingRow:
    """Rated and largest value at motor shaft, load shaft and gear output; None where nothing is stated."""

    axis: str
    item: str  # 'torque' or 'speed'
    motor: tuple[float | None, float | None]
    load: tuple[float | None, float | None]
    gear: tuple[float | None, float | None]


def rating_rows(axis: str, actuator: Actuator) -> tuple[RatingRow, RatingRow]:
    """The rows of torque [N m, N] and speed [rad/s, m/s] of one actuator (eq:load-shaft)."""
    motor, gear, n = actuator.motor, actuator.gear, actuator.gear.ratio
    torque, speed = (motor.rated_torque, motor.peak_torque), (motor.rated_speed, motor.max_speed)
    most = gear.repeated_torque if gear.repeated_torque is not None else gear.momentary_torque
    return (
        RatingRow(axis, "torque", torque, _scaled(torque, n), (gear.rated_torque, most)),
        RatingRow(
            axis,
            "speed",
            speed,
            _scaled(speed, 1.0 / n),
            _scaled((gear.rated_speed, gear.max_speed), 1.0 / n),
        ),
    )


def _scaled(pair: tuple[float | None, float | None], factor: float) -> tuple[float | None, float | None]:
    return (
        None if pair[0] is None else factor * pair[0],  # eq:load-shaft
        None if pair[1] is None else factor * pair[1],
    )
