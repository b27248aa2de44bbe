"""Servovalves as limits of an optimal motion, against closed forms and the model of the hydraulic axis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

pytest.importorskip("casadi")

from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.description.load import read_description
from servotwin.drives.hydraulic.steady import flows, operating_point
from servotwin.errors import InputError, UnsupportedError
from servotwin.motion.optimal.optimise import optimise_motion

MASS, STROKE, A_A, A_B, P_S, P_T = 400.0, 0.3, 2.0e-4, 1.4e-4, 70e5, 1e5
FLOW, DROP = 3.8e-3 / 60.0, 70e5
CYLINDER = """\
format: servotwin/1
name: one-cylinder
axes:
  A:
    type: prismatic
    origin: {{}}
    axis: [1, 0, 0]
    limits: {{position: [0 mm, 400 mm], speed: 100 m/s}}
    link: {{mass: 400 kg}}
    motor:
      kind: hydraulic
      valve:
        {{rated_flow: 3.8 L/min, rated_drop: 70 bar, rated_current: 40 mA, natural_frequency: 120 Hz, damping: 0.8}}
      cylinder: {{area: 2 cm^2, rod_side_area: 1.4 cm^2, dead_volume: 1 cm^3}}
hydraulics:
  {supply}
  tank_pressure: 1 bar
  oil: {{bulk_modulus: 50 GPa, entrained_gas: 0.0001 %}}
"""
CONSTANT = "supply_pressure: 70 bar"
PUMP = """supply_pressure: 70 bar
  line_volume: 1 L
  pump: {flow: 2 L/min}
  relief: {pressure: 75 bar, flow: 2 L/min, override: 5 bar}"""


def cylinder(tmp_path, supply=CONSTANT, **options):
    path = tmp_path / "cylinder.yaml"
    path.write_text(CYLINDER.format(supply=supply))
    return optimise_motion(path, [0.05], [0.05 + STROKE], **options)


def test_cylinder_with_a_mass_takes_the_time_of_the_closed_form(tmp_path):
    """Fully open, m dv/dt = F_+ - c v^2, so v = v_0 tanh(t/T_0) and x = v_0 T_0 ln cosh(t/T_0); then braked.

    v_0 = sqrt(F_+/c), T_0 = m v_0/F_+, c = (A_A^3 + A_B^3)/k^2; k: half the rated drop at each edge. Braking, the edges
    throttle both chambers as the squares of their areas; the larger one is filled and has tank pressure at least.
    """
    motion = cylinder(tmp_path)
    k = FLOW / math.sqrt(0.5 * DROP)
    c = (A_A**3 + A_B**3) / k**2
    forward, backward = A_A * P_S - A_B * P_T, A_B * ((A_B / A_A) ** 2 * (P_S - P_T) + P_T) - A_A * P_T
    v_0 = math.sqrt(forward / c)
    T_0 = MASS * v_0 / forward

    def missing(t_1: float) -> float:
        v_1 = v_0 * math.tanh(t_1 / T_0)
        return v_0 * T_0 * math.log(math.cosh(t_1 / T_0)) + 0.5 * MASS * v_1**2 / backward - STROKE

    t_1 = brentq(missing, 1e-3, 10.0)
    shortest = t_1 + MASS * v_0 * math.tanh(t_1 / T_0) / backward
    assert motion.duration == pytest.approx(shortest, rel=1e-3)
    assert motion.duration > shortest * (1.0 - 1e-6)


def test_valve_gain_is_what_a_larger_valve_buys(tmp_path):
    """The multiplier against the difference of two optima, the rated flow 2 % apart."""
    motion = cylinder(tmp_path)
    (gain,) = [use.gain for use in motion.limits if use.what == "valve flow"]
    times = []
    for factor in (0.99, 1.01):
        path = tmp_path / f"valve{factor}.yaml"
        text = CYLINDER.format(supply=CONSTANT).replace("3.8 L/min", f"{3.8 * factor} L/min")
        path.write_text(text)
        times.append(optimise_motion(path, [0.05], [0.05 + STROKE]).duration)
    assert gain == pytest.approx((times[0] - times[1]) / 0.02, rel=0.03)


def test_chambers_of_a_braked_piston_stay_between_tank_and_supply(tmp_path):
    """Pressures by the equations of valve and cylinder where the motion brakes; the larger chamber limits it."""
    for ends, larger_at in ((([0.05], [0.35]), P_T), (([0.35], [0.05]), P_S)):
        path = tmp_path / "cylinder.yaml"
        path.write_text(CYLINDER.format(supply=CONSTANT))
        motion = optimise_motion(path, *ends)
        description = read_description(path, {})
        axis, supply = hydraulic_axis(description, drives_of(description)[0]), hydraulic_supply(description)
        speed, force = motion.qd[:, 0], motion.current[:, 0]
        braked = (force * speed < 0.0) & (np.abs(speed) > 0.3 * np.abs(speed).max())
        hardest = int(np.argmax(np.where(braked, np.abs(force), 0.0)))
        point = operating_point(axis, supply, motion.q[hardest, 0], speed[hardest], force[hardest])
        assert point.p_a == pytest.approx(larger_at, abs=0.02 * P_S)
        assert P_T - 0.01 * P_S <= point.p_b <= 1.01 * P_S
        pressures = point.p_a, point.p_b
        q_a, q_b = flows(axis, supply, point.opening, motion.q[hardest, 0], pressures, P_S)
        assert q_a == pytest.approx(A_A * speed[hardest], rel=0.01)
        assert q_b == pytest.approx(-A_B * speed[hardest], rel=0.03)


@pytest.mark.parametrize(("start", "goal"), [(0.05, 0.35), (0.35, 0.05)])
def test_moving_piston_is_braked_by_no_more_than_throttling_gives_until_it_rests(tmp_path, start, goal):
    """Of (p_s - p_t) (A_A^3 + A_B^3)/A_A^2 the force that drives is missing (eq:valve-braking), however slow it is."""
    path = tmp_path / "cylinder.yaml"
    path.write_text(CYLINDER.format(supply=CONSTANT))
    motion = optimise_motion(path, [start], [goal])
    drive = A_A * P_S - A_B * P_T if goal > start else A_B * P_S - A_A * P_T
    most = (P_S - P_T) * (A_A**3 + A_B**3) / A_A**2 - drive
    _, qd, qdd = motion.sample(np.linspace(0.0, motion.duration, 20_001))
    way = np.sign(goal - start)
    assert (way * MASS * qdd).min() == pytest.approx(-most, rel=1e-3)
    assert (way * qd).min() > -1e-7  # rounding of a motion that comes to rest


def test_force_gain_is_what_more_pressure_buys(tmp_path):
    """With equal areas A a supply 1 bar higher gives A * 1 bar more force both ways, and nothing else."""
    text = CYLINDER.replace("rod_side_area: 1.4", "rod_side_area: 2")

    def solved(bar: float):
        path = tmp_path / "equal.yaml"
        path.write_text(text.format(supply=f"supply_pressure: {bar} bar"))
        return optimise_motion(path, [0.05], [0.05 + STROKE])

    (gain,) = [use.gain for use in solved(70.0).limits if use.what == "force"]
    slope = (solved(69.0).duration - solved(71.0).duration) / (2.0 * A_A * 1e5)
    assert gain == pytest.approx(slope, rel=0.05)


def test_reserve_leaves_flow_to_the_controller(tmp_path):
    """With a tenth in reserve the valve opens nine tenths, and that is the limit that is shown."""
    motion = cylinder(tmp_path, reserve=0.1)
    assert np.nanmax(np.abs(motion.opening)) == pytest.approx(0.9, rel=2e-3)
    (use,) = [use for use in motion.limits if use.what == "valve flow"]
    assert (use.value, use.peak) == (pytest.approx(0.9), pytest.approx(1.0, rel=1e-3))


def test_pump_without_accumulator_bounds_the_speed(tmp_path):
    """Forward the pump fills the piston side: v <= q/A_A."""
    motion = cylinder(tmp_path, PUMP)
    most = 2e-3 / 60.0 / A_A
    assert np.abs(motion.qd[:, 0]).max() == pytest.approx(most, rel=2e-3)
    assert np.abs(motion.qd[:, 0]).max() <= most
    assert any(use.what == "pump flow" and use.peak > 0.999 for use in motion.limits)


def test_fully_open_valve_moves_as_evenly_as_its_own_model_says():
    """Where daiv-1 runs at the limit of its valve, the equations of valve and cylinder find it fully open, too."""
    motion = optimise_motion("daiv-1", [0.0, 0.0, -0.14], [0.0, 0.0, -0.01], speed=False)
    description = read_description("daiv-1", {})
    drive = next(drive for drive in drives_of(description) if drive.owner == "q3")
    axis, supply = hydraulic_axis(description, drive), hydraulic_supply(description)
    even = int(np.argmin(np.abs(motion.qdd[:, 2]) + np.where(motion.qd[:, 2] > 0.2, 0.0, 10.0)))
    force, v = motion.current[even, 2], motion.qd[even, 2]
    point = operating_point(axis, supply, motion.q[even, 2], 0.97 * v, force)
    assert point.opening == pytest.approx(0.97, abs=0.02)  # leaks and gas are not counted by the optimum
    assert motion.opening[even, 2] == pytest.approx(1.0, abs=1e-3)


def test_energy_of_a_servovalve_is_refused():
    with pytest.raises(InputError, match="a servovalve takes its energy from the pump"):
        optimise_motion("daiv-1", [0.0, 0.0, -0.05], [0.2, 0.2, -0.1], objective="energy", duration=1.0)


def test_path_of_a_servovalve_is_refused():
    with pytest.raises(UnsupportedError, match="a servovalve moves q3"):
        optimise_motion("daiv-1", path=[[0.0, 0.0, -0.05], [0.2, 0.2, -0.1]])


def test_cylinder_that_its_valve_cannot_brake_without_cavitation_is_refused(tmp_path):
    """Braking forward, B = p_s A_B^3/A_A^2 - p_t (A_A + A_B^3/A_A^2 - A_B) is negative for areas of 2 and 0.4 cm2."""
    path = tmp_path / "thick-rod.yaml"
    path.write_text(CYLINDER.format(supply=CONSTANT).replace("rod_side_area: 1.4", "rod_side_area: 0.4"))
    small, ratio = 0.4e-4, (0.4e-4) ** 3 / A_A**2
    assert P_S * ratio - P_T * (A_A + ratio - small) < 0.0
    with pytest.raises(UnsupportedError, match="cannot brake it without cavitation"):
        optimise_motion(path, [0.05], [0.35])
