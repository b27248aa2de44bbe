r"""Motors behind elastic gears side by side, from edge to edge, as long as nothing happens to them.

The equations are those of ``elastic_motor``, written without branches, so that the processor carries four motors at
once (``pmsm_lanes``): here what all kinds of motors have in common, their windings in ``pmsm_elastic_lanes`` and
``dc_elastic_lanes``. A stuck shaft is one that torques do not accelerate. Of a Stribeck curve the exponential is
computed once, where the window begins; within it

.. math:: e^{-(\omega/\omega_k)^2} = e^{-(\omega_0/\omega_k)^2}\,e^{-z}, \qquad
          z = (\omega^2 - \omega_0^2)/\omega_k^2                                              (eq:stribeck-series)

is a series in z. A lane in which a shaft comes to rest or breaks away, might have turned round twice, or goes along its
curve faster than the series of friction follows, is left as it was: ``elastic_motor`` carries that motor.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.drives.friction import BACKWARD, FALLEN, FORWARD, GONE, MOST_OF_CURVE, SLOW, friction_moments
from servotwin.drives.records import FREE, STUCK
from servotwin.simulation.windows.motor_coordinates import at_motor

LEFT = -1.0  # margin of a lane that is left to ``elastic_motor``
SERIES = 0.4  # largest z of eq:stribeck-series


@helper
def small_exp(z: float) -> float:
    """exp(-z) for sizes of z up to ``SERIES``: what is left out is below 1e-12."""
    z2 = z * z
    low = (1.0 - z) + z2 * (1 / 2 - z / 6)
    return low + z2 * z2 * ((1 / 24 - z / 120) + z2 * (1 / 720 - z / 5040 + z2 * (1 / 40320 - z / 362880)))


@helper
def fill_friction_lane(world: Any, motor: Any, j: int) -> bool:
    """Friction of motor j into its lane; false if it is none of eq:friction-curve with one fall of the torque."""
    lanes, w = world.lanes, world.elastic_window.w[j]
    brake = motor.seal_torque + (motor.brake_torque if motor.brake_closed else 0.0)
    lanes.way[j], lanes.f[j], lanes.coulomb[j] = motor.mode, motor.f, motor.tau_c + brake
    lanes.hold_up[j], lanes.hold_down[j] = motor.tau_s[FORWARD] + brake, motor.tau_s[BACKWARD] + brake
    lanes.sticks[j], lanes.slides[j], lanes.back[j] = 0.0, 1.0, 0.0
    lanes.per_J[j], lanes.fall[j], lanes.per_fall[j], lanes.w_0[j] = 1.0 / motor.J, 0.0, 0.0, w
    lanes.on_curve[j] = 0.0
    if motor.mode == FREE:
        lanes.way[j] = 0.0
        return True
    if motor.mode == STUCK:
        lanes.way[j], lanes.per_J[j], lanes.sticks[j], lanes.slides[j] = 0.0, 0.0, 1.0, 0.0
        return True
    if motor.tau_fall[0] > 0.0:
        ratio = w / motor.w_stribeck[0]
        if ratio * ratio < FALLEN:
            lanes.fall[j], lanes.per_fall[j] = (
                motor.tau_fall[0] * math.exp(-ratio * ratio),
                1.0 / motor.w_stribeck[0],
            )
            lanes.on_curve[j] = lanes.per_fall[j] if ratio * ratio < SLOW * SLOW else 0.0
        else:
            lanes.back[j] = GONE * motor.w_stribeck[0]
    return motor.tau_fall[1] <= 0.0 and motor.mode * w > 0.0  # type: ignore[no-any-return]


@helper
def fill_gear_lane(world: Any, motor: Any, j: int) -> None:
    """Gear and load of motor j into its lane, integrals at zero."""
    lanes, elastic, y = world.lanes, world.elastic_window, world.state.y
    lanes.t[j], lanes.stiffness[j], lanes.damping[j] = 0.0, motor.stiffness, motor.damping
    lanes.twist[j], lanes.w[j] = elastic.theta[j] - at_motor(world, j, y, 0), elastic.w[j]
    lanes.load_w[j] = at_motor(world, j, y, world.n_x)
    lanes.load_a[j], lanes.load_j[j] = (
        at_motor(world, j, elastic.load[:, 0], 0),
        at_motor(world, j, elastic.load[:, 1], 0),
    )
    lanes.T_0[j] = lanes.energy[j] = lanes.square[j] = lanes.charge[j] = 0.0
    lanes.passed[j] = lanes.lever[j] = lanes.rubbed[j] = lanes.damped[j] = lanes.turned[j] = 0.0
    lanes.most[j], lanes.high[j] = elastic.peak[j, 0], 0.0


@helper
def holds_now(world: Any, motor: Any, j: int, torque: float) -> bool:
    """Whether stiction holds a shaft that sticks under this torque of the motor as the window begins."""
    lanes = world.lanes
    spring = lanes.stiffness[j] * lanes.twist[j] + lanes.damping[j] * (lanes.w[j] - lanes.load_w[j])
    slack = min(spring + lanes.hold_up[j] - torque, torque + lanes.hold_down[j] - spring)
    return motor.mode != STUCK or slack >= 0.0  # type: ignore[no-any-return]


@helper
def begin_rotor(
    world: Any, j: int, torque: float, rate: float
) -> tuple[float, float, float, float, float, float, float, float]:
    """Acceleration and jerk of a rotor (eq:rotor-jerk), its spring's torque with two derivatives, its friction.

    ``torque`` and ``rate`` of the motor; of friction the torque and both derivatives by the speed.
    """
    lanes = world.lanes
    t, w, k, d = lanes.t[j], lanes.w[j], lanes.stiffness[j], lanes.damping[j]
    load_a = lanes.load_a[j] + t * lanes.load_j[j]
    slip = w - (lanes.load_w[j] + t * (lanes.load_a[j] + 0.5 * t * lanes.load_j[j]))
    s_0, per, way = k * lanes.twist[j] + d * slip, lanes.per_fall[j], lanes.way[j]
    z = (w - lanes.w_0[j]) * (w + lanes.w_0[j]) * per * per
    rest, ratio = lanes.fall[j] * small_exp(z), w * per  # eq:stribeck-series
    f_0 = lanes.f[j] * w + way * (lanes.coulomb[j] + rest)
    slope = lanes.f[j] - way * 2.0 * ratio * per * rest
    bend = way * (4.0 * ratio * ratio - 2.0) * per * per * rest
    alpha = (torque - f_0 - s_0) * lanes.per_J[j]
    s_1 = k * slip + d * (alpha - load_a)
    jerk = (rate - slope * alpha - s_1) * lanes.per_J[j]  # eq:rotor-jerk
    s_2 = k * (alpha - load_a) + d * (jerk - lanes.load_j[j])
    return alpha, jerk, s_0, s_1, s_2, f_0, slope, bend


@helper
def step_rotor(
    world: Any, j: int, h: float, alpha: float, jerk: float, s_0: float, s_1: float, s_2: float,
    f_0: float, slope: float, bend: float, impulse: float, moment: float,
) -> tuple[float, float, float]:  # fmt: skip
    r"""Speed that a rotor ends an interval with, by how much it turned (eq:rotor-step), and its speed above a parabola.

    Books what the spring passes on. Damper and friction answer to the speed r above the parabola, which grows as the
    cube of time:

    .. math:: \Delta\!\int\tau = \tfrac14 \tau r \Bigl(d + \frac{d\tau_f}{d\omega}\Bigr), \qquad
              \Delta\!\int\tau\,t = \tfrac45\,\tau\,\Delta\!\int\tau                                  (eq:late-torques)
    """
    lanes, w, per_J = world.lanes, world.lanes.w[j], world.lanes.per_J[j]
    spring = h * (s_0 + h * (s_1 / 2.0 + h * (s_2 / 6.0)))
    lever = h * h * (s_0 / 2.0 + h * (s_1 / 3.0 + h * (s_2 / 8.0)))
    rubbing, rubbing_lever = friction_moments(f_0, slope, bend, alpha, jerk, h)
    whole = impulse - rubbing - spring
    w_1 = w + whole * per_J  # eq:rotor-step
    turned = w * h + (h * whole - (moment - rubbing_lever - lever)) * per_J
    rest = w_1 - w - h * (alpha + 0.5 * h * jerk)
    later = 0.25 * h * rest  # eq:late-torques
    spring += later * lanes.damping[j]
    lever += 0.8 * h * later * lanes.damping[j]
    lanes.passed[j], lanes.lever[j] = lanes.passed[j] + spring, lanes.lever[j] + lever + lanes.t[j] * spring
    both = later * (lanes.damping[j] + slope) * per_J
    return w_1 - both, turned - 0.2 * h * both, rest


@helper
def keep_rotor(
    world: Any, j: int, h: float, alpha: float, jerk: float, f_0: float, slope: float, bend: float,
    w_1: float, turned: float, torque: float,
) -> None:  # fmt: skip
    """Take the rotor at the end of an interval: work of friction and damper, distance from events.

    ``w_1``, ``turned`` and the ``torque`` of the motor as the interval ends.
    """
    lanes = world.lanes
    t, w, d, way = lanes.t[j], lanes.w[j], lanes.damping[j], lanes.way[j]
    load_j, load_a = lanes.load_j[j], lanes.load_a[j] + t * lanes.load_j[j]
    load_w = lanes.load_w[j] + t * (lanes.load_a[j] + 0.5 * t * load_j)
    middle = w + 0.5 * h * (alpha + 0.25 * h * jerk) + 0.125 * (w_1 - w - h * (alpha + 0.5 * h * jerk))
    f_m = f_0 + (middle - w) * (slope + 0.5 * (middle - w) * bend)
    f_e = f_0 + (w_1 - w) * (slope + 0.5 * (w_1 - w) * bend)
    load_m, load_1 = (
        load_w + 0.5 * h * (load_a + 0.25 * h * load_j),
        load_w + h * (load_a + 0.5 * h * load_j),
    )
    slip, slip_m, slip_1 = w - load_w, middle - load_m, w_1 - load_1
    twist = lanes.twist[j] + turned - h * (load_w + h * (load_a / 2.0 + h * load_j / 6.0))
    spring = lanes.stiffness[j] * twist + d * slip_1
    slack = min(spring + lanes.hold_up[j] - torque, torque + lanes.hold_down[j] - spring)
    # a shaft that slows down and speeds up again is nowhere slower than if it went on to slow down
    slowest = min(way * w_1, way * w + min(way * alpha * h, 0.0))
    moves = slowest - lanes.back[j] + (1.0 - way * way) + lanes.sticks[j] * slack
    z = (w - lanes.w_0[j]) * (w + lanes.w_0[j]) * lanes.per_fall[j] * lanes.per_fall[j]
    followed = MOST_OF_CURVE - max(abs(middle - w), abs(w_1 - w)) * lanes.on_curve[j]
    lanes.margin[j] = min(
        lanes.margin[j], lanes.sticks[j] * slack + lanes.slides[j], moves, SERIES - abs(z), followed
    )
    lanes.rubbed[j] += h / 6.0 * (f_0 * w + 4.0 * f_m * middle + f_e * w_1)
    lanes.damped[j] += d * h / 6.0 * (slip * slip + 4.0 * slip_m * slip_m + slip_1 * slip_1)
    lanes.high[j] = max(lanes.high[j], abs(torque))
    lanes.turned[j], lanes.twist[j], lanes.w[j], lanes.t[j] = lanes.turned[j] + turned, twist, w_1, t + h
