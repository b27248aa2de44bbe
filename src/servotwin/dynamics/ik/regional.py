r"""Position of a point carried by three revolute joints of any geometry (Pieper 1968).

The point w_0 (zero angles) is to come to w. Turning about axis 1 keeps the
distance from a point p_1 of that axis and the height along it, so with
x = R_3-turned w_0 seen from p_2, a point of axis 2,

.. math:: |x|^2 + |d|^2 + 2 d \cdot R_2 x = |w - p_1|^2, \quad u_1 \cdot (R_2 x + d) = u_1 \cdot (w - p_1)

where d = p_2 - p_1 is the common normal of axes 1 and 2, length a, twist alpha.
Where a and sin(alpha) are not zero, both give the components of R_2 x across
axis 2, whose squares add up to :math:`|x|^2 - (u_2 \cdot x)^2`: an equation of
second degree in cos and sin of theta_3, up to four real roots. Where one of
them is zero, one equation holds theta_3 alone and the other theta_2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from servotwin.dynamics.ik.elementary import EDGE, trig_roots
from servotwin.dynamics.ik.geometry import angle_about, turned
from servotwin.dynamics.ik.pose import cross
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array

ALIKE = 1e-6  # offset (relative) or sine of the twist below which axes 1 and 2 count as crossing or parallel
CIRCLE = 1e-3  # roots z = exp(i theta) this close to the unit circle are candidates; checked afterwards


@dataclass(frozen=True)
class Regional:
    """Axes (unit) and points of three revolute joints at zero angles, and the carried point w0."""

    u: Array  # (3, 3), one axis per row
    p: Array  # (3, 3), p[0] and p[1] are the feet of the common normal
    w0: Array  # (3,)
    size: float

    @classmethod
    def of(cls, points: Array, axes: Array, w0: Array, size: float) -> Regional:
        """Prepare; UnsupportedError if the three joints cannot place the point in space."""
        foot1, foot2 = common_normal(points[0], axes[0], points[1], axes[1])
        regional = cls(np.array(axes[:3]), np.array([foot1, foot2, points[2]]), w0, size)
        if regional._crossing and regional._parallel:
            raise UnsupportedError("joints 1 and 2 turn about the same line")
        turning = float(np.linalg.norm(regional._x[1]))
        linear = regional._norm if regional._crossing else regional._along
        alone = regional._crossing or regional._parallel  # one equation holds theta_3 alone
        if turning <= ALIKE * size or (alone and math.hypot(*linear[1:]) <= ALIKE * size):
            raise UnsupportedError("the first three joints cannot place the wrist in space")
        return regional

    @cached_property
    def _d(self) -> Array:
        return np.asarray(self.p[1] - self.p[0], dtype=np.float64)

    @cached_property
    def _crossing(self) -> bool:
        return bool(np.linalg.norm(self._d) < ALIKE * self.size)

    @cached_property
    def _parallel(self) -> bool:
        return bool(np.linalg.norm(cross(self.u[0], self.u[1])) < ALIKE)

    @cached_property
    def _x(self) -> Array:
        """x = x[0] + x[1] cos(theta_3) + x[2] sin(theta_3), (3, 3)."""
        u3 = self.u[2]
        v = self.w0 - self.p[2]
        along = (u3 @ v) * u3
        return np.array([self.p[2] - self.p[1] + along, v - along, cross(u3, v)])

    @cached_property
    def _along(self) -> Array:
        """u_2 . x as constant, cosine and sine part."""
        return np.asarray(self._x @ self.u[1], dtype=np.float64)

    @cached_property
    def _norm(self) -> Array:
        """|x|^2 / size as constant, cosine and sine part (the squares of the turning part are constant)."""
        fixed, cosine, sine = self._x
        constant = fixed @ fixed + cosine @ cosine
        return np.array([constant, 2.0 * fixed @ cosine, 2.0 * fixed @ sine]) / self.size

    def solve(self, w: Array, free: Array) -> list[Array]:
        """Candidate angles (3,) that bring w0 to w; angles without effect are taken from ``free``."""
        return [
            np.array([self._theta1(w, theta2, theta3, float(free[0])), theta2, theta3])
            for theta3 in self._theta3(w)
            for theta2 in self._theta2(w, theta3, float(free[1]))
        ]

    def _conditions(self, w: Array) -> tuple[float, float]:
        """|w - p_1|^2 - |d|^2 and u_1 . (w - p_1)."""
        v = w - self.p[0]
        return float(v @ v - self._d @ self._d), float(self.u[0] @ v)

    def _theta3(self, w: Array) -> list[float]:
        square, height = self._conditions(w)
        if self._crossing:
            constant, A, B = self._norm
            return trig_roots(A, B, square / self.size - constant)
        if self._parallel:
            constant, A, B = self._along * float(self.u[0] @ self.u[1])
            return trig_roots(A, B, height - constant)
        a, (cos_twist, sin_twist) = float(np.linalg.norm(self._d)), self._twist()
        one = np.array([1.0, 0.0, 0.0])
        across = (square * one - self.size * self._norm) / (2.0 * a)  # R_2 x along the common normal
        upright = (height * one - cos_twist * self._along) / sin_twist  # R_2 x across it
        E = _product(across, across) + _product(upright, upright) + _product(self._along, self._along)
        E[1:4] -= self.size * _harmonics(self._norm)
        return _unit_roots(E / np.abs(E).max())

    def _twist(self) -> tuple[float, float]:
        """Components of axis 1 along axis 2 and across it."""
        return float(self.u[0] @ self.u[1]), float(self.u[0] @ self._upright())

    def _upright(self) -> Array:
        """Unit vector across axis 2 and the common normal."""
        m = cross(self.u[1], self._d)
        return np.asarray(m / np.linalg.norm(m), dtype=np.float64)

    def _theta2(self, w: Array, theta3: float, free: float) -> list[float]:
        square, height = self._conditions(w)
        c, s = math.cos(theta3), math.sin(theta3)
        fixed, cosine, sine = self._x
        x = fixed + c * cosine + s * sine
        u1, u2 = self.u[0], self.u[1]
        flat = x - (x @ u2) * u2
        radius = float(np.linalg.norm(flat))
        if radius <= EDGE * self.size:  # the point lies on axis 2
            return [free]
        turn = cross(u2, x)
        if self._crossing:
            return trig_roots(float(u1 @ flat), float(u1 @ turn), height - float((u1 @ u2) * (x @ u2)))
        along = 0.5 * (square - float(x @ x))
        if self._parallel:
            return trig_roots(float(self._d @ flat), float(self._d @ turn), along)
        n = self._d / np.linalg.norm(self._d)
        cos_twist, sin_twist = self._twist()
        goal = along / float(np.linalg.norm(self._d)) * n
        goal = goal + (height - cos_twist * float(x @ u2)) / sin_twist * self._upright()
        return [angle_about(u2, flat, goal)]

    def place(self, theta: Array) -> Array:
        """Where the point comes at angles theta (3,)."""
        point = self.w0
        for u, p, angle in zip(self.u[::-1], self.p[::-1], theta[::-1], strict=True):
            point = p + turned(u, float(angle), point - p)
        return point

    def _theta1(self, w: Array, theta2: float, theta3: float, free: float) -> float:
        u1, p1 = self.u[0], self.p[0]
        y = self.place(np.array([0.0, theta2, theta3])) - p1
        if np.linalg.norm(cross(u1, y)) <= EDGE * self.size:  # the point lies on axis 1
            return free
        return angle_about(u1, y, w - p1)

    def reach(self) -> tuple[float, float]:
        """Least and largest distance of the point from p_1 over all angles, to about a percent."""
        angles = np.linspace(-np.pi, np.pi, 121)
        fixed, cosine, sine = self._x
        x = fixed + np.cos(angles)[:, None] * cosine + np.sin(angles)[:, None] * sine
        squares = np.einsum("ij,ij->i", x, x) + self._d @ self._d
        along = x @ self.u[1]
        flat = x - along[:, None] * self.u[1]
        # d is perpendicular to axis 2, so d . R_2 x swings between -+ a times the radius about axis 2.
        swing = 2.0 * np.linalg.norm(self._d) * np.linalg.norm(flat, axis=1)
        low, high = np.min(squares - swing), np.max(squares + swing)
        return math.sqrt(max(float(low), 0.0)), math.sqrt(float(high))


def common_normal(p1: Array, u1: Array, p2: Array, u2: Array) -> tuple[Array, Array]:
    """Points of two lines nearest to each other; for parallel lines p1 and the foot of its perpendicular."""
    cosine = float(u1 @ u2)
    sine2 = float(np.sum(cross(u1, u2) ** 2))
    v = p2 - p1
    if sine2 < ALIKE**2:
        return np.array(p1), np.asarray(p2 - (u2 @ v) * u2, dtype=np.float64)
    s = float(u1 @ v - cosine * (u2 @ v)) / sine2
    t = float(cosine * (u1 @ v) - u2 @ v) / sine2
    return np.asarray(p1 + s * u1, dtype=np.float64), np.asarray(p2 + t * u2, dtype=np.float64)


def _harmonics(form: Array) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """constant + A cos + B sin as coefficients of z^-1, 1, z with z = exp(i theta)."""
    constant, A, B = form
    return np.array([0.5 * (A + 1j * B), constant, 0.5 * (A - 1j * B)])


def _product(a: Array, b: Array) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Coefficients of z^-2 .. z^2 of the product of two such forms."""
    return np.convolve(_harmonics(a), _harmonics(b))


def _unit_roots(E: np.ndarray[tuple[int], np.dtype[np.complex128]]) -> list[float]:
    """Angles theta at which the real trigonometric polynomial with coefficients of z^-2 .. z^2 vanishes."""
    k = np.arange(-2, 3)
    angles = []
    for z in np.roots(E[::-1]):
        if z == 0.0 or abs(math.log(abs(z))) > CIRCLE:
            continue
        theta = math.atan2(z.imag, z.real)
        for _ in range(3):  # Newton steps take out the error of the eigenvalues; not at double roots
            powers = np.exp(1j * k * theta)
            value, slope = float((E @ powers).real), float((E @ (1j * k * powers)).real)
            if abs(value) < 1e-16 or abs(slope) < 1e-6:
                break
            theta -= value / slope
        angles.append(theta)
    return angles
