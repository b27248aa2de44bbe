"""Servovalves as limits of an optimal motion, against closed forms and the model of the hydraulic axis."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

pytest.importorskip("casadi")

import servotwin as st
from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.description.load import read_description
from servotwin.drives.hydraulic.steady import flows, operating_point
from servotwin.errors import InputError, UnsupportedError
from servotwin.motion.limits import limits_of
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.hydraulic_energy import supply_energy
from servotwin.motion.optimal.optimise import optimise_motion
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveL
from servotwin.motion.time_optimal import time_optimal

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
    motion, shortest = cylinder(tmp_path), shortest_time()
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


@pytest.mark.parametrize("mass", [100.0, 118.0, 130.0])
def test_load_that_a_moving_piston_cannot_hold_back_is_lifted(tmp_path, mass):
    """Heavier than the force that brakes downwards; it rises nearly at the speed where m g = F_+ - c v^2."""
    text = CYLINDER.format(supply=CONSTANT).replace("axis: [1, 0, 0]", "axis: [0, 0, 1]")
    path = tmp_path / "lift.yaml"
    path.write_text(text.replace("mass: 400 kg", f"mass: {mass} kg"))
    F, c = A_A * P_S - A_B * P_T, (A_A**3 + A_B**3) / (FLOW / math.sqrt(DROP / 2.0)) ** 2
    down = (P_S - P_T) * (A_A**3 + A_B**3) / A_A**2 - (A_B * P_S - A_A * P_T)
    assert down < mass * 9.81 < F
    motion = optimise_motion(path, [0.05], [0.05 + STROKE])
    steady = STROKE / math.sqrt((F - mass * 9.81) / c)
    assert steady < motion.duration < 1.1 * steady
    (use,) = [use for use in motion.limits if use.what == "force"]
    assert use.value == pytest.approx(F)
    assert use.peak == pytest.approx(motion.current.max() / F)
    assert use.active > 0.8  # at what the valve leaves at its speed
    assert "force A" in motion.active[motion.t.size // 2]


def test_refused_load_names_the_force_of_its_direction(tmp_path):
    text = CYLINDER.format(supply=CONSTANT).replace("axis: [1, 0, 0]", "axis: [0, 0, 1]")
    path = tmp_path / "lift.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"it has {A_A * P_S - A_B * P_T:.4g} N"):
        optimise_motion(path, [0.05], [0.05 + STROKE])


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


def shortest_time() -> float:
    """The closed form of ``test_cylinder_with_a_mass_takes_the_time_of_the_closed_form``, forward over the stroke."""
    k = FLOW / math.sqrt(0.5 * DROP)
    c = (A_A**3 + A_B**3) / k**2
    forward, brake = A_A * P_S - A_B * P_T, A_B * ((A_B / A_A) ** 2 * (P_S - P_T) + P_T) - A_A * P_T
    v_0 = math.sqrt(forward / c)
    T_0 = MASS * v_0 / forward

    def missing(t_1: float) -> float:
        v_1 = v_0 * math.tanh(t_1 / T_0)
        return v_0 * T_0 * math.log(math.cosh(t_1 / T_0)) + 0.5 * MASS * v_1**2 / brake - STROKE

    t_1 = brentq(missing, 1e-3, 10.0)
    return t_1 + MASS * v_0 * math.tanh(t_1 / T_0) / brake


def test_cylinder_along_a_path_takes_the_time_of_the_closed_form(tmp_path):
    path = tmp_path / "cylinder.yaml"
    path.write_text(CYLINDER.format(supply=CONSTANT))
    motion = optimise_motion(path, path=[[0.05], [0.15], [0.05 + STROKE]], intervals=200)
    assert motion.duration == pytest.approx(shortest_time(), rel=2e-3)
    assert np.nanmax(np.abs(motion.opening)) == pytest.approx(1.0, abs=2e-3)
    (use,) = [use for use in motion.limits if use.what == "valve flow"]
    assert use.peak == pytest.approx(1.0, abs=2e-3)
    (free,) = [x for x in cylinder(tmp_path).limits if x.what == "valve flow"]
    assert use.gain == pytest.approx(free.gain, rel=0.05)


def test_pump_bounds_the_speed_along_a_path(tmp_path):
    path = tmp_path / "cylinder.yaml"
    path.write_text(CYLINDER.format(supply=PUMP))
    motion = optimise_motion(path, path=[[0.05], [0.05 + STROKE]])
    most = 2e-3 / 60.0 / A_A
    assert np.abs(motion.qd[:, 0]).max() == pytest.approx(most, rel=2e-3)
    assert any(use.what == "pump flow" and use.peak > 0.999 for use in motion.limits)


@pytest.mark.parametrize(("ends", "area"), [(([0.05], [0.35]), A_A), (([0.35], [0.05]), A_B)])
def test_hydraulic_energy_is_the_volume_that_the_supply_fills(tmp_path, ends, area):
    """A stroke s takes p_s A s from a constant pressure, however quick it is; the side that is filled counts."""
    path = tmp_path / "cylinder.yaml"
    path.write_text(CYLINDER.format(supply=CONSTANT))
    for options in ({}, {"objective": "energy", "duration": 3.0}, {"energy_weight": 0.01}):
        motion = optimise_motion(path, *ends, **options)
        assert motion.hydraulic_energy == pytest.approx(P_S * area * STROKE, rel=1e-4)
        assert motion.energy == pytest.approx(motion.hydraulic_energy + motion.copper_loss)
    assert motion.objective_value == pytest.approx(motion.duration + 0.01 * motion.energy)
    along = optimise_motion(path, path=list(ends), energy_weight=0.01)
    assert along.hydraulic_energy == pytest.approx(P_S * area * STROKE, rel=1e-4)


def test_energy_of_a_mixed_robot_is_that_of_its_electric_axes_and_the_volume():
    """In a long time the electric axes of daiv-1 take least where they would without the cylinder moving along."""
    still = optimise_motion("daiv-1", [0.2, 0.2, -0.1], [1.2, 0.8, -0.1], objective="energy", duration=2.0)
    motion = optimise_motion("daiv-1", [0.2, 0.2, -0.14], [1.2, 0.8, -0.05], objective="energy", duration=2.0)
    assert motion.hydraulic_energy == pytest.approx(70e5 * 2e-4 * 0.09, rel=1e-3)
    assert still.hydraulic_energy < 1.0
    electric = [x.copper_loss + x.mechanical_work for x in (still, motion)]
    assert electric[1] == pytest.approx(electric[0], rel=1e-3)  # a lift along vertical axes turns no arm
    quick = optimise_motion("daiv-1", [0.2, 0.2, -0.14], [1.2, 0.8, -0.05])
    assert electric[1] < 0.3 * (quick.copper_loss + quick.mechanical_work)


def test_stroke_that_is_paid_for_changes_no_mixture_of_time_and_energy():
    """The oil of a stroke costs the same at any pace, so the electric axes alone decide how long the motion takes."""
    lift, flat = (
        optimise_motion("daiv-1", [0.2, 0.2, z], [1.2, 0.8, -0.05], energy_weight=0.02)
        for z in (-0.14, -0.05)
    )
    assert lift.duration == pytest.approx(flat.duration, rel=1e-3)
    assert lift.objective_value == pytest.approx(flat.objective_value + 0.02 * 70e5 * 2e-4 * 0.09, rel=1e-4)


def test_piston_whose_pace_is_free_does_not_jerk():
    motion = optimise_motion("daiv-1", [0.2, 0.2, -0.14], [1.2, 0.8, -0.05], objective="energy", duration=1.2)
    (use,) = [use for use in motion.limits if (use.what, use.who) == ("acceleration", "q3")]
    assert use.peak < 0.9


def test_hydraulic_energy_counts_every_turn_of_a_piston():
    """Forward by one millimetre and back takes two, whatever the net stroke is: against SciPy's quadrature."""
    description = read_description("daiv-1", {})
    valves = drive_model(st.load_robot("daiv-1"), description).valves
    t = np.linspace(0.0, 1.0, 201)
    w, wd = np.zeros((201, 3)), np.zeros((201, 3))
    w[:, 2], wd[:, 2] = np.sin(2.0 * np.pi * t), 2.0 * np.pi * np.cos(2.0 * np.pi * t)
    exact = quad(lambda x: abs(math.sin(2.0 * math.pi * x)), 0.0, 1.0, points=[0.5])[0]
    assert supply_energy(valves, t, w, wd) == pytest.approx(70e5 * 2e-4 * exact, rel=1e-4)


def test_copper_loss_of_a_robot_without_windings_is_refused(tmp_path):
    with pytest.raises(InputError, match="objective: no motor has a winding"):
        cylinder(tmp_path, objective="copper", duration=3.0)


def test_path_of_daiv_is_no_slower_than_the_reachability_along_it():
    """Another method, on a grid and without oil that is compressed, under the same limits."""
    description = read_description("daiv-1", {})
    robot = st.load_robot("daiv-1")
    points = [[0.2, 0.2, -0.14], [0.25, 0.22, -0.08], [0.3, 0.25, -0.01]]
    motion = optimise_motion("daiv-1", path=points, speed=False, intervals=200)
    loose = {"acceleration": robot.limits.qdd_max, "speed": np.full(3, 1e3)}
    grid = time_optimal(robot, points, replace(limits_of(robot, description), **loose), grid=400)
    assert motion.duration == pytest.approx(grid.duration, rel=0.01)


def test_played_stroke_takes_the_energy_and_leaks_from_the_supply():
    """The drive-level simulator, whose supply, valve and chambers know nothing of the optimum."""
    motion = optimise_motion("daiv-1", [0.2, 0.2, -0.14], [0.6, 0.5, -0.02], reserve=0.1, modulation=0.95)
    run = st.play_motion(motion, "daiv-1")
    power, t = run.signals["motor_q3_hydraulic_power_W"], run.signals["time_s"]
    taken = float((power[1:] * np.diff(t)).sum())
    assert motion.hydraulic_energy == pytest.approx(70e5 * 2e-4 * 0.12, rel=1e-4)
    assert motion.hydraulic_energy < taken < 1.06 * motion.hydraulic_energy
    opening = np.abs(run.signals["motor_q3_valve_opening"]).max()
    assert opening == pytest.approx(np.nanmax(np.abs(motion.opening)), abs=0.05)


def test_line_of_a_job_with_a_cylinder_is_optimal_too():
    robot = st.load_robot("daiv-1")
    limits = limits_of(robot, read_description("daiv-1", {}))
    start = np.array([0.5, 0.8, -0.1])
    target = robot.fkine(start)
    target[:3, 3] += [-0.05, 0.0, 0.05]
    quick, usual = (plan(robot, start, [MoveL(target, optimal=best)], limits) for best in (True, False))
    assert [segment.kind for segment in quick.segments] == ["optimal"]
    assert quick.duration < usual.duration
    np.testing.assert_allclose(
        robot.fkine(quick.sample([quick.duration])[0][0])[:3, 3], target[:3, 3], atol=1e-6
    )


def test_hydraulic_motor_has_a_torque_and_takes_its_displacement(tmp_path):
    """D = 10 cm^3 a turn at 70 bar over half a turn: E = p_s D phi."""
    path = tmp_path / "motor.yaml"
    text = CYLINDER.format(supply=CONSTANT)
    text = text.replace("type: prismatic", "type: revolute").replace("[1, 0, 0]", "[0, 0, 1]")
    text = text.replace("[0 mm, 400 mm], speed: 100 m/s", "[-180 deg, 180 deg], speed: 100 rad/s")
    body = "link: {mass: 2 kg, inertia: {gyration: {radius: 1 m, axes: [x, y, z]}, about: center}}"
    text = text.replace("link: {mass: 400 kg}", body)
    text = text.replace(
        "cylinder: {area: 2 cm^2, rod_side_area: 1.4 cm^2, dead_volume: 1 cm^3}",
        "hydraulic_motor: {displacement: 10 cm^3/rev, dead_volume: 1 cm^3}",
    )
    path.write_text(text)
    motion = optimise_motion(path, [0.0], [math.pi])
    displacement = 10e-6 / (2.0 * math.pi)
    assert motion.hydraulic_energy == pytest.approx(P_S * displacement * math.pi, rel=1e-3)
    assert motion.rotary_valves == ("A",)
    (use,) = [use for use in motion.limits if use.what == "torque"]
    assert (use.value, use.unit) == (pytest.approx(displacement * (P_S - P_T), rel=1e-6), "N m")
    assert "tau_h A [N m]" in motion.signals()


def test_cylinder_that_its_valve_cannot_brake_without_cavitation_is_refused(tmp_path):
    """Braking forward, B = p_s A_B^3/A_A^2 - p_t (A_A + A_B^3/A_A^2 - A_B) is negative for areas of 2 and 0.4 cm2."""
    path = tmp_path / "thick-rod.yaml"
    path.write_text(CYLINDER.format(supply=CONSTANT).replace("rod_side_area: 1.4", "rod_side_area: 0.4"))
    small, ratio = 0.4e-4, (0.4e-4) ** 3 / A_A**2
    assert P_S * ratio - P_T * (A_A + ratio - small) < 0.0
    with pytest.raises(UnsupportedError, match="cannot brake it without cavitation"):
        optimise_motion(path, [0.05], [0.35])
