"""The quickest way along a path with servovalves: against a closed form and a brute-force program of the valve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of
from servotwin.motion.path_limits import shares_of
from servotwin.motion.retiming import limiting
from servotwin.motion.time_optimal import time_optimal

MASS, STROKE, P_S, P_T, FLOW, DROP = 400.0, 0.3, 70e5, 1e5, 3.8e-3 / 60.0, 70e5
CYLINDER = """\
format: servotwin/1
name: one-cylinder
axes:
  A:
    type: prismatic
    origin: {{}}
    axis: [1, 0, {up}]
    limits: {{position: [0 mm, 400 mm], speed: 100 m/s}}
    link: {{mass: 400 kg}}
    motor:
      kind: hydraulic
      valve:
        {{rated_flow: 3.8 L/min, rated_drop: 70 bar, rated_current: 40 mA, natural_frequency: 120 Hz, damping: 0.8}}
      cylinder: {{area: 2 cm^2, rod_side_area: {rod} cm^2, dead_volume: 1 cm^3}}
hydraulics: {{supply_pressure: 70 bar, tank_pressure: 1 bar}}
"""


def cylinder(tmp_path, rod=1.4, up=0.0, supply=None):
    path = tmp_path / "cylinder.yaml"
    text = CYLINDER.format(rod=rod, up=up)
    if supply:
        text = text.replace("hydraulics: {supply_pressure: 70 bar,", f"hydraulics: {{{supply},")
    path.write_text(text)
    robot = st.load_robot(str(path))
    limits = limits_of(robot, read_description(str(path), {}))
    return robot, replace(limits, acceleration=np.full(1, np.inf))


def forces(rod):
    """F_+, F_-, braking forces forward and backward, c: half the rated drop at each edge, both chambers throttled."""
    A, B = 2e-4, rod * 1e-4
    k = FLOW / math.sqrt(0.5 * DROP)
    ahead, back = A * P_S - B * P_T, B * P_S - A * P_T
    throttled = (P_S - P_T) * (A**3 + B**3) / max(A, B) ** 2
    return ahead, back, min(throttled - ahead, back), min(throttled - back, ahead), (A**3 + B**3) / k**2


@pytest.mark.parametrize("rod", [2.0, 1.4])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_cylinder_takes_the_time_of_the_closed_form(tmp_path, rod, way):
    """Fully open m dv/dt = F - c v^2, so v = v_0 tanh(t/T_0); then braked with all that cavitation leaves."""
    robot, limits = cylinder(tmp_path, rod)
    ends = [[0.05], [0.05 + STROKE]]
    found = time_optimal(robot, ends[:: int(way)], limits, grid=1000)
    ahead, back, brake, brake_back, c = forces(rod)
    drive, hold = (ahead, brake) if way > 0.0 else (back, brake_back)
    v_0 = math.sqrt(drive / c)
    T_0 = MASS * v_0 / drive

    def missing(t: float) -> float:
        v = v_0 * math.tanh(t / T_0)
        return v_0 * T_0 * math.log(math.cosh(t / T_0)) + 0.5 * MASS * v**2 / hold - STROKE

    t = brentq(missing, 1e-3, 10.0)
    shortest = t + MASS * v_0 * math.tanh(t / T_0) / hold
    assert found.duration == pytest.approx(shortest, rel=2e-3)


def test_loaded_piston_reaches_flow_over_area_with_the_load_pressure(tmp_path):
    """Against gravity the speed tends to Q/A = k sqrt((p_s - p_t - p_L)/2)/A, with the load pressure p_L = F/A."""
    robot, limits = cylinder(tmp_path, 2.0, up=0.2)
    found = time_optimal(robot, [[0.01], [0.39]], limits, grid=1000)
    q, qd, _ = found.sample(np.linspace(0.0, found.duration, 4001))
    load = MASS * 9.80665 * 0.2 / math.hypot(1.0, 0.2)
    k = FLOW / math.sqrt(0.5 * DROP)
    top = k * math.sqrt(0.5 * (P_S - P_T - load / 2e-4)) / 2e-4
    assert qd.max() == pytest.approx(top, rel=2e-3)
    assert q[-1, 0] == pytest.approx(0.39)


def test_force_against_gravity_that_no_valve_has_is_refused(tmp_path):
    from servotwin.motion.errors import PathError

    robot, limits = cylinder(tmp_path, 1.4, up=3.0)
    with pytest.raises(PathError, match="cannot hold or follow"):
        time_optimal(robot, [[0.01], [0.39]], limits)


def test_pump_bounds_the_speed(tmp_path):
    supply = "supply_pressure: 70 bar, line_volume: 1 L, pump: {flow: 2 L/min}, "
    supply += "relief: {pressure: 75 bar, flow: 2 L/min, override: 5 bar}"
    robot, limits = cylinder(tmp_path, 1.4, supply=supply)
    found = time_optimal(robot, [[0.05], [0.35]], limits)
    speeds = found.sample(np.linspace(0.0, found.duration, 2001))[1]
    assert speeds.max() == pytest.approx(2e-3 / 60.0 / 2e-4, rel=1e-3)
    assert limiting(robot, found, limits)[0].what == "pump flow"


def test_daiv_path_is_at_the_limit_of_its_valve_and_no_slower():
    """A lift of daiv-1 without speed limits, against its piston integrated by SciPy with a fully open valve."""
    description = read_description("daiv-1", {})
    robot = st.load_robot("daiv-1")
    limits = limits_of(robot, description)
    free = np.full(3, 1e3)
    limits = replace(limits, acceleration=np.full(3, np.inf), speed=free, torque=np.full(3, np.inf))
    start, goal = [0.5, 0.5, -0.14], [0.5, 0.5, -0.01]
    found = time_optimal(robot, [start, goal], limits, grid=1000)
    t = np.linspace(0.0, found.duration, 2001)
    used = shares_of(robot, *found.sample(t), limits)
    assert used.values.max() <= 1.001
    assert limiting(robot, found, limits)[0].what == "valve flow"
    shortest = _piston(robot, description, start, goal)
    assert found.duration == pytest.approx(shortest, rel=3e-3)


def _piston(robot, description, start, goal):
    """The least time of the piston alone: opened fully, then braked, found by bisection of the instant between."""
    axis = description.axes["q3"].motor
    A, k = 2e-4, axis.valve.rated_flow / math.sqrt(0.5 * axis.valve.rated_drop)
    p = description.hydraulics.supply_pressure - description.hydraulics.tank_pressure
    mass = float(robot.inertia(start, drives=True)[2, 2])
    weight = float(robot.gravload(start)[2])
    friction = limits_of(robot, description).motors.friction[2]

    def net(v, opened):
        rub = friction.coulomb + friction.viscous * v
        return ((A * p - 2.0 * A**3 / k**2 * v * v if opened else -A * p) - weight - rub) / mass

    def braked(x, v):
        def stop(t, y):
            return y[1]

        stop.terminal, stop.direction = True, -1
        run = solve_ivp(lambda t, y: [y[1], net(y[1], False)], (0.0, 1.0), [x, v], events=stop, rtol=1e-9)
        return run.y[0, -1], run.t[-1]

    opened = solve_ivp(
        lambda t, y: [y[1], net(y[1], True)], (0.0, 2.0), [start[2], 0.0], dense_output=True, rtol=1e-9
    ).sol
    switch = brentq(lambda t: braked(*opened(t))[0] - goal[2], 1e-3, 1.5)
    return switch + braked(*opened(switch))[1]
