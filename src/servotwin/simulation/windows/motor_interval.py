r"""A motor between two edges of its bridge, under the speed with which the interval begins and its two derivatives.

The windows that go through a motor's own edges (``elastic_motor``, ``stiff_motors``) know the torque at the
beginning of an interval and how fast it changes, hence acceleration and jerk of the rotor there; the currents under that
speed are exact (eq:exact-current, eq:flux-series).
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.dc import DC as DC_KIND
from servotwin.drives.dc.interval import dc_interval
from servotwin.drives.dc.model import dc_current_rate
from servotwin.drives.pmsm.interval import pmsm_interval
from servotwin.drives.pmsm.model import pmsm_current_rates, pmsm_torque

DC = DC_KIND.code
I, I_Q, COS, SIN, IMPULSE, MOMENT, SQUARE, ENERGY, CHARGE = range(9)  # of what ``motor_interval`` gives


@helper
def motor_torque(motor: Any, i: float, i_q: float) -> float:
    """Torque [N m] by the currents, of a synchronous motor i_d and i_q."""
    if motor.kind == DC:
        return motor.K * i  # type: ignore[no-any-return]
    return pmsm_torque(motor, i, i_q)


@helper
def torque_rate(
    motor: Any, u_a: float, u_b: float, i: float, i_q: float, cos: float, sin: float, w: float
) -> float:
    """How fast the torque changes [N m/s]."""
    if motor.kind == DC:
        return motor.K * dc_current_rate(motor, u_a, i, w)  # type: ignore[no-any-return]
    di_d, di_q = pmsm_current_rates(motor, cos * u_a + sin * u_b, cos * u_b - sin * u_a, i, i_q, w)
    salient = motor.L_d - motor.L_q
    return 1.5 * motor.pole_pairs * ((motor.psi + salient * i) * di_q + salient * di_d * i_q)  # type: ignore[no-any-return]


@part
def motor_interval(
    world: Any, motor: Any, u_a: float, u_b: float, i: float, i_q: float, cos: float, sin: float,
    w: float, alpha: float, jerk: float, tau: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """Currents, cosine and sine of the electrical angle after ``tau`` seconds, and integrals over them.

    Impulse of the torque and its moment about the beginning, integrals of i^2 (of three phases 3/2 of it), of the
    power from the bridge and of the current that makes torque.
    """
    R = motor.R + motor.R_bridge
    if motor.kind == DC:
        i, charge, lever, square = dc_interval(R, motor.L, motor.K, u_a, i, w, alpha, jerk, tau)
        return i, 0.0, cos, sin, motor.K * charge, motor.K * lever, square, u_a * charge, charge
    g_d, g_q = 1.0 / motor.L_d, 1.0 / motor.L_q
    D, Q, cos, sin, impulse, moment, _, _, energy, square, charge = pmsm_interval(
        world.scratch.flux_points, R, g_d, g_q, motor.psi, motor.pole_pairs, w, alpha, jerk, cos, sin, cos, sin,
        u_a, u_b, motor.L_d * i + motor.psi, motor.L_q * i_q, 0.0, tau, 0.0,
    )  # fmt: skip
    return (D - motor.psi) * g_d, Q * g_q, cos, sin, impulse, moment, square, energy, charge


@helper
def middle_speed(w: float, alpha: float, jerk: float, end: float, tau: float) -> float:
    """Speed in the middle of an interval, on the cubic with this beginning and this end."""
    rest = end - w - tau * (alpha + 0.5 * tau * jerk)
    return w + 0.5 * tau * (alpha + 0.25 * tau * jerk) + 0.125 * rest


@helper
def friction_work(
    friction: float, slope: float, bend: float, w: float, middle: float, end: float, tau: float
) -> float:
    """What friction takes in an interval [J], by Simpson's rule, with the series of ``friction_series`` at w."""
    more, most = middle - w, end - w
    at_middle = friction + more * (slope + 0.5 * more * bend)
    at_end = friction + most * (slope + 0.5 * most * bend)
    return tau / 6.0 * (friction * w + 4.0 * at_middle * middle + at_end * end)
