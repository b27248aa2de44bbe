r"""The curves a tool follows: straight line, circle through three points, spline, blend.

A curve gives pose and rates over its parameter s from 0 to ``length``. Lines, circles and splines are
measured by the way of the tool point [m], or by the turn [rad] if the point stays in place
(``metric`` False); a blend by a plain number. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.curve_sampling import sample_blend, sample_line
from servotwin.motion.rotations import turn_between, turned_from

STILL = 1e-9  # m and rad: a shorter curve counts as no motion
FLAT = 1e-6  # sine between the chords of three points that lie on one line


class Curve(Protocol):
    """A path of the tool: pose, first and second rate over its parameter."""

    @property
    def kind(self) -> str:
        """'line', 'circle', 'spline' or 'blend'."""

    @property
    def length(self) -> float:
        """The last parameter."""

    @property
    def metric(self) -> bool:
        """Whether the parameter is the way of the tool point [m]."""

    @property
    def knots(self) -> Array:
        """Where higher rates jump; first 0, last ``length``."""

    def pose(self, s: Array) -> Array:
        """Poses (k, 4, 4) in the base at s (k,)."""

    def rates(self, s: Array) -> tuple[Array, Array]:
        """First and second rate (k, 6) at s (k,): of the point, then of the turn, in base axes."""


@dataclass(frozen=True)
class Line:
    r"""A straight line with a turn about one fixed axis, evenly along the way.

    .. math:: p = p_0 + s\, e, \quad R = R_0 \exp\!\left[\frac{s}{L} w\right]                  (eq:line)
    """

    X_from: Array
    X_to: Array
    direction: Array  # (3,) per unit of s
    turn: Array  # (3,) rotation vector per unit of s, in the axes of X_from
    length: float
    metric: bool
    kind: str = "line"

    @property
    def knots(self) -> Array:
        """Its ends."""
        return np.array([0.0, self.length])

    @cached_property
    def numbers(self) -> tuple[Array, Array]:
        """Its first pose, direction and turn (2, 3), for compiled code."""
        return np.ascontiguousarray(self.X_from, dtype=np.float64), np.array([self.direction, self.turn])

    def sample(self, s: Array) -> tuple[Array, Array, Array]:
        """Pose and rates, as ``pose`` and ``rates`` give them."""
        s = np.ascontiguousarray(s, dtype=np.float64)
        X, rates = np.empty((s.size, 4, 4)), np.empty((2, s.size, 6))
        sample_line(*self.numbers, s, X, rates[0], rates[1])
        return X, rates[0], rates[1]

    def pose(self, s: Array) -> Array:
        """See ``Curve``."""
        return self.sample(s)[0]

    def rates(self, s: Array) -> tuple[Array, Array]:
        """See ``Curve``."""
        return self.sample(s)[1:]


def line(X_from: Array, X_to: Array) -> Line:
    """The straight line between two poses; turning only if the points coincide."""
    way, turn = X_to[:3, 3] - X_from[:3, 3], turn_between(X_from[:3, :3], X_to[:3, :3])
    far, angle = float(np.sqrt(way @ way)), float(np.sqrt(turn @ turn))
    metric = far > STILL
    length = far if metric else angle
    scale = 1.0 / length if length > STILL else 0.0
    return Line(X_from, X_to, way * scale * metric, turn * scale, length if length > STILL else 0.0, metric)


@dataclass(frozen=True)
class Circle:
    r"""An arc about ``centre`` with the turn of ``Line``.

    .. math:: p = c + r (\cos\varphi\, e_1 + \sin\varphi\, e_2), \quad \varphi = s / r          (eq:circle)
    """

    X_from: Array
    centre: Array
    radius: float
    axes: Array  # (2, 3): e_1 to the start, e_2 along the motion
    turn: Array  # (3,) per metre
    length: float
    metric: bool = True
    kind: str = "circle"

    @property
    def knots(self) -> Array:
        """Its ends."""
        return np.array([0.0, self.length])

    def pose(self, s: Array) -> Array:
        """See ``Curve``."""
        phi = s[:, None] / self.radius
        p = self.centre + self.radius * (np.cos(phi) * self.axes[0] + np.sin(phi) * self.axes[1])  # eq:circle
        return _poses(p, turned_from(self.X_from[:3, :3], self.turn, s))

    def rates(self, s: Array) -> tuple[Array, Array]:
        """See ``Curve``."""
        phi = s[:, None] / self.radius
        c, si = np.cos(phi), np.sin(phi)
        spin = np.broadcast_to(self.X_from[:3, :3] @ self.turn, (s.size, 3))
        first = c * self.axes[1] - si * self.axes[0]
        second = -(c * self.axes[0] + si * self.axes[1]) / self.radius
        return np.hstack([first, spin]), np.hstack([second, np.zeros_like(second)])


def circle(X_from: Array, via: Array, X_to: Array) -> Circle:
    """The arc from a pose over the point ``via`` (3,) to a pose; orientation from the first to the last."""
    p, m, q = X_from[:3, 3], via, X_to[:3, 3]
    a, b = m - p, q - p
    normal = np.cross(a, b)
    size = float(np.linalg.norm(normal))
    spans = [float(np.linalg.norm(v)) for v in (a, b, q - m)]
    if min(spans) < STILL:
        raise InputError("two of the three points of the circle coincide; expected three different points")
    if size < FLAT * spans[0] * spans[1]:
        raise InputError("the three points of the circle lie on one line; expected a point beside it")
    aa, bb = a @ a, b @ b
    centre = p + np.cross(aa * b - bb * a, normal) / (2.0 * size * size)
    e1 = (p - centre) / np.linalg.norm(p - centre)
    e2 = np.cross(normal / size, e1)
    radius = float(np.linalg.norm(p - centre))
    angle = math.atan2(float((q - centre) @ e2), float((q - centre) @ e1)) % (2.0 * math.pi)
    length = radius * angle
    turn = turn_between(X_from[:3, :3], X_to[:3, :3]) / length
    return Circle(X_from, centre, radius, np.array([e1, e2]), turn, length)


@dataclass(frozen=True)
class Blend:
    r"""A rounded corner: the quintic with given place, first and second rates at both ends.

    Point and turn (a rotation vector in the axes of the corner) are one curve y (6,) of u in 0 .. 1

    .. math:: y = \sum_{k=0}^{5} c_k u^k                                                        (eq:blend)
    """

    corner: Array  # (4, 4)
    coefficients: Array  # (6, 6): power, component
    length: float = 1.0
    metric: bool = False
    kind: str = "blend"

    @property
    def knots(self) -> Array:
        """Its ends."""
        return np.array([0.0, 1.0])

    @cached_property
    def numbers(self) -> tuple[Array, Array]:
        """Corner and coefficients for compiled code."""
        return tuple(np.array(x, dtype=np.float64) for x in (self.corner, self.coefficients))  # type: ignore[return-value]

    def sample(self, s: Array) -> tuple[Array, Array, Array]:
        """Pose and rates, as ``pose`` and ``rates`` give them."""
        s = np.ascontiguousarray(s, dtype=np.float64)
        X, rates = np.empty((s.size, 4, 4)), np.empty((2, s.size, 6))
        sample_blend(*self.numbers, s, X, rates[0], rates[1])
        return X, rates[0], rates[1]

    def pose(self, s: Array) -> Array:
        """See ``Curve``."""
        return self.sample(s)[0]

    def rates(self, s: Array) -> tuple[Array, Array]:
        """See ``Curve``."""
        return self.sample(s)[1:]


def quintic_through(
    ends: tuple[Array, Array, Array], others: tuple[Array, Array, Array], h: Array | float = 1.0
) -> Array:
    """Coefficients (6, m) over u in 0 .. h of the quintic with value, first and second rate at both ends."""
    y0, d0, c0 = ends
    y1, d1, c1 = others
    p, v, a = y1 - y0 - h * (d0 + 0.5 * h * c0), d1 - d0 - h * c0, c1 - c0
    return np.array(
        [
            y0,
            d0,
            0.5 * c0,
            (10.0 * p - 4.0 * h * v + 0.5 * h * h * a) / h**3,
            (-15.0 * p + 7.0 * h * v - h * h * a) / h**4,
            (6.0 * p - 3.0 * h * v + 0.5 * h * h * a) / h**5,
        ]
    )  # eq:blend


def pose_and_rates(curve: Curve, s: Array) -> tuple[Array, Array, Array]:
    """Poses (k, 4, 4), first and second rates (k, 6) of a curve at s (k,)."""
    if isinstance(curve, Line | Blend):
        return curve.sample(s)
    return curve.pose(s), *curve.rates(s)


def _poses(p: Array, R: Array) -> Array:
    X = np.zeros((p.shape[0], 4, 4))
    X[:, :3, :3], X[:, :3, 3], X[:, 3, 3] = R, p, 1.0
    return X
