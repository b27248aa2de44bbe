"""Limits of tool, supply and ends against closed forms and integration in the phase plane, by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

pytest.importorskip("casadi")

from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.optimal.task import Region

MASS, FORCE_X, FORCE_Y = 10.0, 20.0, 40.0
GANTRY = """\
format: servotwin/1
name: gantry
axes:
  X:
    type: prismatic
    origin: {{}}
    axis: [1, 0, 0]
    limits: {{position: [0 m, 5 m], speed: 100 m/s, effort: 20 N}}
    link: {{mass: 0.001 kg}}
  Y:
    type: prismatic
    parent: X
    origin: {{}}
    axis: [0, 1, 0]
    limits: {{position: [-1 m, 5 m], speed: 100 m/s, effort: 40 N}}
    link: {{mass: 9.999 kg}}
tool: {{parent: Y{tool}}}
"""
AXIS = """\
format: servotwin/1
name: one-axis
axes:
  A:
    type: revolute
    origin: {}
    axis: [0, 0, 1]
    limits: {position: [-200 deg, 200 deg], speed: 1000 rad/s}
    link: {mass: 2 kg, center: [200 mm, 0 mm, 0 mm]}
    gear: {ratio: 50}
    motor: {kind: dc-reduced, torque_constant: 0.12 N*m/A, resistance: 0.5 ohm, rotor_inertia: 1.5e-4 kg*m^2,
      current_limit: 20 A}
power: {bus_voltage: 10000 V}
"""
R, K, RATIO, CURRENT, STEP = 0.5, 0.12, 50.0, 20.0, 1.2
J = 0.08 + RATIO**2 * 1.5e-4


def one_axis(tmp_path, **options):
    path = tmp_path / "axis.yaml"
    path.write_text(AXIS)
    return optimise_motion(path, [0.0], [STEP], **options)


def shortest(most, least) -> float:
    """Time from rest to rest over STEP with the largest and least current at each motor speed, by integration.

    One axis without friction: as quick as possible up to a switch, then braked as hard as possible; the braking is
    integrated backwards from the goal.
    """

    def speeds(current, sign: float):
        def rate(t, y):
            return [y[1], sign * RATIO * K * current(RATIO * y[1]) / J]

        return solve_ivp(rate, (0.0, 2.0), [0.0, 1e-9], rtol=1e-10, atol=1e-12, dense_output=True).sol

    up, down = speeds(most, 1.0), speeds(least, -1.0)

    def back_to(v: float) -> float:
        return brentq(lambda t: down(t)[1] - v, 0.0, 2.0)

    def missing(t: float) -> float:
        x, v = up(t)
        return float(x + down(back_to(float(v)))[0] - STEP)

    late = next(t for t in np.linspace(0.02, 0.5, 49) if missing(t) > 0.0)
    t = brentq(missing, 1e-3, late)
    return t + back_to(float(up(t)[1]))


def test_bus_power_limit_takes_the_time_of_the_phase_plane(tmp_path):
    """R i^2 + K w i <= P bounds the current that accelerates."""
    power = 300.0

    def most(w: float) -> float:
        return min(CURRENT, (-K * w + math.sqrt((K * w) ** 2 + 4.0 * R * power)) / (2.0 * R))

    motion = one_axis(tmp_path, bus_power=(-math.inf, power))
    assert motion.duration == pytest.approx(shortest(most, lambda w: -CURRENT), rel=1e-3)
    assert motion.bus_power.max() <= power * (1.0 + 1e-6)


def test_regeneration_limit_takes_the_time_of_the_phase_plane(tmp_path):
    """R i^2 + K w i >= -P bounds the current that brakes, unless it is so large that it burns what it brakes."""
    power = 150.0

    def least(w: float) -> float:
        if R * CURRENT**2 - K * w * CURRENT >= -power:
            return -CURRENT
        return (-K * w + math.sqrt((K * w) ** 2 - 4.0 * R * power)) / (2.0 * R)

    motion = one_axis(tmp_path, bus_power=(-power, math.inf))
    assert motion.duration == pytest.approx(shortest(lambda w: CURRENT, least), rel=2e-3)
    assert motion.bus_power.min() >= -power * (1.0 + 1e-6)


def test_free_end_speed_takes_the_time_of_one_ramp(tmp_path):
    """Accelerated all the way: T = sqrt(2 D/a)."""
    motion = one_axis(tmp_path, free_end=True)
    assert motion.duration == pytest.approx(math.sqrt(2.0 * STEP * J / (RATIO * K * CURRENT)), rel=1e-3)


def test_free_speeds_at_both_ends_take_the_time_of_the_speed_limit(tmp_path):
    path = tmp_path / "axis.yaml"
    path.write_text(AXIS.replace("1000 rad/s", "5 rad/s"))
    motion = optimise_motion(path, [0.0], [STEP], free_start=True, free_end=True)
    assert motion.duration == pytest.approx(STEP / 5.0, rel=1e-3)


def gantry(tmp_path, start, goal, tool="", **options):
    path = tmp_path / "gantry.yaml"
    path.write_text(GANTRY.format(tool=tool))
    return optimise_motion(path, start, goal, **options)


def test_region_takes_the_time_of_the_later_axis_at_its_corner(tmp_path):
    """The tool is above h before it is beyond x_1: x waits, and passes the corner at t_h with what its run-up gives.

    y alone: full force to h at t_h = sqrt(2 h/a_y), then braked to 2 h. x has no room to back up, so it comes with
    v^2 = 2 a_x x_1, and goes on as quickly as it can to rest after d: T = t_h + (2 v_p - v)/a_x, v_p^2 = v^2/2 + a_x d.
    """
    h, x_1, d = 1.0, 0.2, 1.0
    a_x, a_y = FORCE_X / MASS, FORCE_Y / MASS
    t_h, v = math.sqrt(2.0 * h / a_y), math.sqrt(2.0 * a_x * x_1)
    expected = t_h + (2.0 * math.sqrt(0.5 * v * v + a_x * d) - v) / a_x
    wall = Region(x=(x_1, None), y=(None, h))
    motion = gantry(tmp_path, [0.0, 0.0], [x_1 + d, 2.0 * h], keep_out=(wall,), intervals=300)
    alone = gantry(tmp_path, [0.0, 0.0], [x_1 + d, 2.0 * h]).duration
    assert expected > 1.1 * alone
    assert motion.duration == pytest.approx(expected, rel=3e-3)


def test_range_of_the_tool_cuts_the_run_up(tmp_path):
    """The same with a tool that may back up to -0.3 m, but is kept to x >= 0 by its own range."""
    h, x_1, d = 1.0, 0.2, 1.0
    wall = Region(x=(x_1, None), y=(None, h))
    path = tmp_path / "gantry.yaml"
    path.write_text(GANTRY.format(tool="").replace("[0 m, 5 m]", "[-0.3 m, 5 m]"))
    ends = [0.0, 0.0], [x_1 + d, 2.0 * h]
    free = optimise_motion(path, *ends, keep_out=(wall,), intervals=200)
    kept = optimise_motion(path, *ends, keep_out=(wall,), within={"x": (0.0, 5.0)}, intervals=200)
    short = gantry(tmp_path, *ends, keep_out=(wall,), intervals=200)
    assert kept.duration == pytest.approx(short.duration, rel=1e-3)
    assert free.duration < 0.995 * kept.duration
    assert kept.q[:, 0].min() >= -1e-6


def test_tool_speed_limit_takes_the_time_of_the_trapezoid(tmp_path):
    """One axis moves: T = D/v + v/a."""
    v, D, a = 0.8, 2.0, FORCE_X / MASS
    tool = ", limits: {speed: 0.8 m/s}"
    motion = gantry(tmp_path, [0.0, 0.0], [D, 0.0], tool=tool)
    assert motion.duration == pytest.approx(D / v + v / a, rel=1e-3)
    assert np.abs(motion.qd[:, 0]).max() <= v * (1.0 + 1e-6)
