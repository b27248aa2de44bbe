r"""Friction over speed, as a file states it: viscous, Coulomb, Stribeck, breakaway and a table of measured points.

A shaft that slides in direction s = +-1 at the speed w feels

.. math:: \tau_f = f\,\omega + s\,D_s(|\omega|), \qquad
          D_s(v) = \tau_c + \sum_k \Delta_k\,e^{-(v/\omega_k)^2} + T_s(v)              (eq:friction-curve)

with T the table of that direction: straight lines between its points, the first torque below the first point, and
beyond the last one the last line if it rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from servotwin.description.drive_parts import Friction, Motor

Points = tuple[tuple[float, float], ...]  # speed >= 0, torque >= 0; ascending speeds


@dataclass(frozen=True)
class FrictionCurve:
    """Friction of one shaft or joint on its own side (SI); pairs are forward and backward.

    ``falls``: torques above the Coulomb one and the Stribeck speeds within which they fall; ``static``: what a
    shaft at rest holds.
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    falls: tuple[tuple[float, float], ...] = ()
    static: tuple[float, float] = (0.0, 0.0)
    tables: tuple[Points, Points] = ((), ())

    @property
    def dry(self) -> bool:
        """True if it holds something at rest."""
        return max(self.static) > 0.0

    @property
    def some(self) -> bool:
        """True if there is any friction."""
        return self.dry or self.viscous > 0.0 or any(self.tables)

    def at_motor(self, ratio: float) -> FrictionCurve:
        r"""The same friction of a joint, seen by the motor behind a stiff gear without loss.

        .. math:: \tau_m(\omega) = \frac1N\,\tau_q\Bigl(\frac{\omega}{N}\Bigr)              (eq:friction-at-motor)

        ``ratio`` N [-, rad/m]: motor angle per joint motion; a negative one swaps the directions.
        """
        n = abs(ratio)
        scaled = [tuple((w * n, tau / n) for w, tau in points) for points in self.tables]
        static = [tau / n for tau in self.static]
        if ratio < 0.0:
            scaled.reverse()
            static.reverse()
        return FrictionCurve(
            self.viscous / n**2,
            self.coulomb / n,
            tuple((excess / n, w * n) for excess, w in self.falls),
            (static[0], static[1]),
            (scaled[0], scaled[1]),
        )  # eq:friction-at-motor

    def __add__(self, other: FrictionCurve) -> FrictionCurve:
        """Both on one shaft."""
        return FrictionCurve(
            self.viscous + other.viscous,
            self.coulomb + other.coulomb,
            self.falls + other.falls,
            (self.static[0] + other.static[0], self.static[1] + other.static[1]),
            (_sum(self.tables[0], other.tables[0]), _sum(self.tables[1], other.tables[1])),
        )

    def torque(self, w: ArrayLike) -> NDArray[np.float64]:
        """Friction torque of a shaft that slides at w [N m], with the sign of w; zero at rest (eq:friction-curve)."""
        speed = np.asarray(w, dtype=np.float64)
        dry = np.where(speed != 0.0, self.coulomb, 0.0)
        for excess, w_s in self.falls:
            dry = dry + excess * np.exp(-((speed / w_s) ** 2))
        dry = dry + self.of_tables(speed)
        return np.asarray(self.viscous * speed + np.sign(speed) * dry)

    def of_tables(self, w: ArrayLike) -> NDArray[np.float64]:
        """What the table of the direction of w adds to the size of the torque [N m]."""
        speed = np.asarray(w, dtype=np.float64)
        forward, backward = (table_torque(points, np.abs(speed)) for points in self.tables)
        return np.where(speed < 0.0, backward, forward)


def table_torque(points: Points, speed: ArrayLike) -> NDArray[np.float64]:
    """Torque of a table at speeds >= 0 [N m]."""
    v = np.asarray(speed, dtype=np.float64)
    if not points:
        return np.zeros_like(v)
    w, tau = np.array(points).T
    inside = np.interp(v, w, tau)
    rise = (tau[-1] - tau[-2]) / (w[-1] - w[-2]) if len(w) > 1 else 0.0
    return np.asarray(inside + max(rise, 0.0) * np.maximum(v - w[-1], 0.0))


def _sum(first: Points, second: Points) -> Points:
    """The sum of two tables; one more point at twice the last speed carries the lines that go on."""
    if not first or not second:
        return first or second
    speeds = np.array(sorted({w for w, _ in first + second}))
    speeds = np.append(speeds, 2.0 * speeds[-1] or 1.0)
    torques = table_torque(first, speeds) + table_torque(second, speeds)
    return tuple(zip(speeds.tolist(), torques.tolist(), strict=True))


def two_sides(points: Sequence[tuple[float, float]]) -> tuple[Points, Points]:
    """The table of either direction, both counted positive; one that has no negative speeds holds for both."""
    backward = tuple(reversed([(-w, -tau) for w, tau in points if w < 0.0 or (w == 0.0 and tau <= 0.0)]))
    if not any(w < 0.0 for w, _ in points):
        return tuple(points), tuple(points)
    return tuple((w, tau) for w, tau in points if w > 0.0 or (w == 0.0 and tau >= 0.0)), backward


def friction_curve(
    viscous: float | None,
    coulomb: float | None,
    static: float | None,
    stribeck_speed: float | None,
    table: Sequence[tuple[float, float]] | None,
) -> FrictionCurve:
    """The curve of the fields of a motor or joint.

    Without a Stribeck speed the static torque is a mere breakaway level: what slides feels the Coulomb torque.
    """
    tables = two_sides(table or ())
    dry = coulomb or 0.0
    forward, backward = rest_torques(table or ())
    excess = (static or 0.0) - dry
    falls = ((excess, stribeck_speed),) if excess > 0.0 and stribeck_speed else ()
    holds = (max(static or 0.0, dry + forward), max(static or 0.0, dry + backward))
    return FrictionCurve(viscous or 0.0, dry, falls, holds, tables)


def motor_curve(motor: Motor | None) -> FrictionCurve:
    """Friction of a motor's shaft."""
    if motor is None:
        return FrictionCurve()
    return friction_curve(
        motor.viscous_friction,
        motor.coulomb_friction,
        motor.static_friction,
        motor.stribeck_speed,
        motor.friction_table,
    )


def joint_curve(friction: Friction | None) -> FrictionCurve:
    """Friction of a joint, on its own side."""
    if friction is None:
        return FrictionCurve()
    return friction_curve(
        friction.viscous, friction.coulomb, friction.static, friction.stribeck_speed, friction.table
    )


def rest_torques(table: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """What a table gives at rest, forward and backward [N m]."""
    forward, backward = two_sides(table)
    return float(table_torque(forward, 0.0)), float(table_torque(backward, 0.0))
