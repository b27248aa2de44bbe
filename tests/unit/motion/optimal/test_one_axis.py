"""One axis has answers in closed form; every one of them is derived in the docstring of its test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq, least_squares

pytest.importorskip("casadi")

from servotwin.motion.errors import PathError
from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.optimal.result import OptimalMotion

R, K, RATIO, ROTOR, U, CURRENT = 0.5, 0.12, 50.0, 1.5e-4, 60.0, 20.0
LOAD = 0.08  # kg m2
J = LOAD + RATIO**2 * ROTOR
STEP = 1.2  # rad
WITHIN = 1e-3  # what a hundred intervals give up, and more

AXIS = """\
format: servotwin/1
name: one-axis
axes:
  A:
    type: revolute
    origin: {{}}
    axis: [0, 0, 1]
    limits: {{position: [-200 deg, 200 deg], speed: {speed} rad/s}}
    link: {{mass: 2 kg, center: [200 mm, 0 mm, 0 mm]}}
    gear: {{ratio: 50}}
    motor:
      kind: {kind}
      torque_constant: 0.12 N*m/A
      resistance: 0.5 ohm
      {more}
      rotor_inertia: 1.5e-4 kg*m^2
      current_limit: {current} A
power: {{bus_voltage: {bus} V}}
"""
THERMAL = (
    "thermal: {winding_to_housing: 1 K/W, housing_to_ambient: 2 K/W, winding_capacity: 60 J/K, "
    "housing_capacity: 500 J/K, limit: 85 degC}"
)


def axis(
    tmp_path, *, kind="dc-reduced", more="", speed=1000.0, current=CURRENT, bus=1e4, way=STEP, **options
) -> OptimalMotion:
    """The optimal motion of an arm of 0.08 kg m2 about a vertical axis, without friction."""
    text = AXIS.format(kind=kind, more=more, speed=speed, current=current, bus=bus)
    path = tmp_path / "axis.yaml"
    path.write_text(text)
    return optimise_motion(path, [0.0], [way], **options)


def test_current_limit_alone_gives_the_double_integrator(tmp_path):
    """Half the way with the largest acceleration N K I/J, half with its opposite: T = 2 sqrt(D J/(N K I))."""
    motion = axis(tmp_path)
    T = 2.0 * math.sqrt(STEP * J / (RATIO * K * CURRENT))
    assert motion.duration == pytest.approx(T, rel=WITHIN)
    # T goes with 1/sqrt(I)
    assert motion.gains()["current", "A"] == pytest.approx(T / (2.0 * CURRENT), rel=0.01)
    assert abs(motion.qdd[10, 0]) == pytest.approx(RATIO * K * CURRENT / J, rel=1e-4)


def bang_bang(bus: float) -> float:
    """Time under a voltage limit alone, back-EMF and all.

    J w' = (N K/R) (u - N K w) with u = +U, then -U: w = W (1 - x), x = exp(-t1/tau), then down to zero in
    t2 = tau ln(2 - x), where W = U/(N K), tau = J R/(N K)^2; the way is D = W (t1 - t2).
    """
    W, tau = bus / (RATIO * K), J * R / (RATIO * K) ** 2
    t1 = brentq(lambda t: W * (t - tau * math.log(2.0 - math.exp(-t / tau))) - STEP, 1e-6, 100.0)
    return t1 + tau * math.log(2.0 - math.exp(-t1 / tau))


def test_voltage_limit_alone_gives_bang_bang_with_back_emf(tmp_path):
    motion = axis(tmp_path, current=1000.0, bus=U)
    assert motion.duration == pytest.approx(bang_bang(U), rel=WITHIN)
    gain = (bang_bang(U - 0.5) - bang_bang(U + 0.5)) / 1.0
    assert motion.gains()["voltage", "A"] == pytest.approx(gain, rel=0.02)
    held = [any("voltage" in name for name in names) for names in motion.active]
    assert np.mean(held) > 0.9


def test_current_and_voltage_limits_together_meet_at_the_corner(tmp_path):
    """Constant torque to the corner (U - R I)/(N K), from there the line of the voltage, then the brake."""
    bus = 20.0
    alpha, W, tau = RATIO * K * CURRENT / J, bus / (RATIO * K), J * R / (RATIO * K) ** 2
    corner = (bus - R * CURRENT) / (RATIO * K)

    def way(t: float) -> tuple[float, float]:
        top = W - (W - corner) * math.exp(-t / tau)
        along = W * t - (W - corner) * tau * (1.0 - math.exp(-t / tau))
        return corner**2 / (2 * alpha) + along + top**2 / (2 * alpha), corner / alpha + t + top / alpha

    t = brentq(lambda t: way(t)[0] - STEP, 0.0, 10.0)
    motion = axis(tmp_path, bus=bus)
    assert motion.duration == pytest.approx(way(t)[1], rel=WITHIN)
    assert {names[0].split()[0] for names in motion.active if names} == {"current", "voltage"}


@pytest.mark.parametrize("L", [2.5e-4, 5e-4, 1.2e-3, 4e-3])
def test_inductance_delays_the_current_as_three_bangs_do(tmp_path, L):
    """q, w, i of a DC motor from rest to rest under +-U switch twice; the times solve the linear system exactly.

    The electric time constants, 0.5 to 8 ms, are shorter and longer than an interval of 1.3 ms.
    """
    A = np.array([[0, 1, 0], [0, 0, RATIO * K / J], [0, -RATIO * K / L, -R / L]], dtype=float)
    B = np.array([0.0, 0.0, 1.0 / L])

    def after(x, u, t):
        return expm(np.block([[A, (B * u)[:, None]], [np.zeros((1, 4))]]) * t)[:3] @ np.append(x, 1.0)

    def miss(times):
        x = np.zeros(3)
        for u, t in zip((U, -U, U), times, strict=True):
            x = after(x, u, t)
        return (x - [STEP, 0.0, 0.0]) * [1.0, 0.1, 1e-3]

    times = least_squares(
        miss, [0.6 * bang_bang(U), 0.4 * bang_bang(U), 0.6 * L / R], xtol=1e-15, ftol=1e-15
    ).x
    assert np.abs(miss(times)).max() < 1e-9
    assert times.min() > 0.0
    motion = axis(tmp_path, kind="dc", more=f"inductance: {L} H", current=1000.0, bus=U)
    assert motion.duration == pytest.approx(times.sum(), rel=WITHIN)
    along = optimise_motion(tmp_path / "axis.yaml", path=[[0.0], [STEP]])
    assert along.duration == pytest.approx(times.sum(), rel=WITHIN)


def test_least_copper_in_a_given_time_is_a_parabola_of_speed(tmp_path):
    """i is a straight line, w a parabola: E = 12 R (J/(N K))^2 D^2/T^3."""
    T = 0.8
    motion = axis(tmp_path, objective="copper", duration=T)
    assert motion.copper_loss == pytest.approx(12.0 * R * (J / (RATIO * K)) ** 2 * STEP**2 / T**3, rel=WITHIN)
    s = motion.t / T
    assert motion.qd[:, 0] == pytest.approx(6.0 * STEP / T * s * (1.0 - s), abs=1e-3 * STEP / T)
    assert motion.duration == pytest.approx(T, rel=1e-9)


def test_mixture_of_time_and_energy_balances_their_slopes(tmp_path):
    """Without friction the work is zero and E = c/T^3, so that T + mu c/T^3 is least at T^4 = 3 mu c."""
    mu = 0.05
    c = 12.0 * R * (J / (RATIO * K)) ** 2 * STEP**2
    motion = axis(tmp_path, energy_weight=mu)
    assert motion.duration == pytest.approx((3.0 * mu * c) ** 0.25, rel=WITHIN)
    assert motion.objective_value == pytest.approx(motion.duration * 4.0 / 3.0, rel=WITHIN)


def test_winding_temperature_of_a_repeated_motion_bounds_the_rms_current(tmp_path):
    """With I_rms from the heat balance, the parabola of speed is best: T^4 = 12 D^2 (J/(N K))^2/I_rms^2."""
    motion = axis(tmp_path, more=THERMAL, temperature=True, current=100.0)
    rise, alpha, resistance = 60.0, 0.00393, 3.0
    square = rise / (resistance * R * (1.0 + alpha * rise))
    T = (12.0 * STEP**2 * (J / (RATIO * K)) ** 2 / square) ** 0.25
    assert motion.duration == pytest.approx(T, rel=WITHIN)
    assert np.nanmax(motion.winding) == pytest.approx(85.0, abs=0.1)
    # T goes with I_rms^(-1/2), I_rms^2 with rise/(1 + alpha rise)
    gain = 0.25 * T / (rise * (1.0 + alpha * rise))
    assert motion.gains()["temperature", "A"] == pytest.approx(gain, rel=0.02)


def test_bus_power_limit_is_kept_and_costs_time(tmp_path):
    free = axis(tmp_path, bus=U, more="")
    bound = axis(tmp_path, bus=U, bus_power=(-math.inf, 300.0))
    assert free.bus_power.max() > 400.0
    assert bound.bus_power.max() == pytest.approx(300.0, rel=1e-3)
    assert bound.duration > 1.01 * free.duration
    less = axis(tmp_path, bus=U, bus_power=(-math.inf, 295.0))
    more = axis(tmp_path, bus=U, bus_power=(-math.inf, 305.0))
    assert bound.gains()["bus power", "bus"] == pytest.approx(
        (less.duration - more.duration) / 10.0, rel=0.05
    )


def test_axis_that_may_feed_nothing_back_is_refused_with_the_power_of_the_free_motion(tmp_path):
    """Without friction R i^2 + K i w >= 0 leaves i >= 0 or i <= -K w/R, and a current does not jump in between."""
    with pytest.raises(
        PathError, match=r"feeds at most 0 W back and takes at most 500 W: .*; without this"
    ) as refused:
        axis(tmp_path, bus=U, bus_power=(0.0, 500.0), intervals=10)
    assert "feeds back up to 7" in str(refused.value)


def test_speed_limit_cuts_the_double_integrator(tmp_path):
    """Ramps to V and a cruise: T = D/V + V/a."""
    V, a = 4.0, RATIO * K * CURRENT / J
    motion = axis(tmp_path, speed=V)
    assert motion.duration == pytest.approx(STEP / V + V / a, rel=WITHIN)
    fine = motion.sample(np.linspace(0.0, motion.duration, 5001))[1]
    assert np.abs(fine).max() <= V * 1.001


@pytest.mark.parametrize("way", [0.02, 1.5])
@pytest.mark.parametrize("speed", [30.0, 1000.0])
@pytest.mark.parametrize("part", [1 / 3, 1 / 2, 2 / 3])
def test_dry_friction_counts_whatever_the_limit_of_speed_is(tmp_path, part, speed, way):
    """a = N (K I - M)/J up and N (K I + M)/J down: v^2/2 (1/a + 1/b) = D, so T = sqrt(2 D (1/a + 1/b))."""
    dry = part * K * CURRENT
    motion = axis(tmp_path, more=f"coulomb_friction: {dry} N*m", speed=speed, way=way)
    up, down = (RATIO * (K * CURRENT + sign * dry) / J for sign in (-1.0, 1.0))
    T = math.sqrt(2.0 * way * (1.0 / up + 1.0 / down))
    assert motion.duration == pytest.approx(T, rel=2e-4)
    assert motion.duration > T * (1.0 - 1e-6)  # friction is never less than it is
