"""Loops of servovalves over the whole stroke, with margins that are a setting, and with overlap."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq

from servotwin.control.servo.axis_data import robot_gains, timing_of
from servotwin.control.servo.records import AXIS, zeros
from servotwin.control.servo.valve_loop import pressure_gain
from servotwin.control.tuning.loops import pressure_loop
from servotwin.control.tuning.valve import pressure_feedback, sampled_valve
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from tests import hydraulic_axes as hydraulic
from tests import small_drives as small


def gantry(**control):
    """A lift of 25 kg with 20 kg on it and unequal areas, whose oil swings about as fast as its valve at the ends."""
    motor = {
        "valve": {"rated_flow": "19 L/min", "natural_frequency": "100 Hz", "null_leakage": "0.6 L/min"},
        "cylinder": {"area": "8.04 cm^2", "rod_side_area": "4.24 cm^2", "dead_volume": "30 cm^3"},
    }
    limits = {"position": ["0 mm", "400 mm"], "speed": "0.4 m/s", "acceleration": "4 m/s^2"}
    machine = hydraulic.lift(
        {"supply_pressure": "100 bar"},
        motor=motor,
        limits=limits,
        link={"mass": "25 kg"},
        friction={"viscous": "150 N*s/m"},
    )
    periods = {
        "axis_period": "1 ms",
        "speed_period": "0.25 ms",
        "current_period": "125 us",
        "main_period": "4 ms",
    }
    more = {"payload": {"mass": "20 kg"}, "home": {"A": "200 mm"}, "controller": {**periods, **control}}
    return small.merged(machine, more)


def model_of(folder, machine, mass=45.0):
    small.write_case(folder, machine)
    description = read_description(folder / "robot.yaml")
    return robot_gains(description, np.array([mass]))[0][0], timing_of(description.controller), description


@pytest.fixture(scope="module")
def control():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("control")


@pytest.mark.parametrize("scheduled", [False, True])
def test_pressure_loop_keeps_its_margins_over_the_stroke_by_python_control(tmp_path, control, scheduled):
    model, timing, _ = model_of(tmp_path, gantry(valve={"scheduled": scheduled}))
    assert len(model.stroke) == 9
    assert (model.stroke[0], model.stroke[-1]) == pytest.approx((0.0, 0.4), abs=1e-12)
    for mass in (25.0, 45.0):
        for x in model.stroke:
            there = model.with_load(mass, x)
            plant = sampled_valve(there, timing.T_current)
            system = control.ss(plant.A, plant.B[:, None], there.pressure_gain * plant.C[None], 0.0, plant.T)
            L = control.frequency_response(system, np.geomspace(1.0, np.pi / plant.T, 20001)[:-1]).complex
            near_one = np.abs(np.diff(np.sign(np.abs(L) - 1.0))) > 0
            phases = 180.0 - np.degrees(np.abs(np.angle(L[:-1][near_one])))
            real = L.real[:-1][np.abs(np.diff(np.sign(L.imag))) > 0]
            assert (phases > 29.9).all()
            assert (real > -1.0 / 1.99).all()
            closed = plant.A - there.pressure_gain * np.outer(plant.B, plant.C)
            assert np.abs(np.linalg.eigvals(closed)).max() < 1.0 + 1e-6  # the position stands on the circle


def test_oil_is_softest_within_the_stroke_and_stiffest_at_its_ends(tmp_path):
    model, _, _ = model_of(tmp_path, gantry())
    w = [model.with_load(45.0, x).natural_frequency for x in model.stroke]
    k = int(np.argmin(w))
    assert 0 < k < 8
    assert (np.diff(w[: k + 1]) < 0.0).all()
    assert (np.diff(w[k:]) > 0.0).all()


def ends(folder, **valve):
    """Swing of the pressure of the empty lift that has come to rest near its lower end [Pa]."""
    machine = gantry(valve=valve, pressure_sensor={"bits": 0})
    move = [{"to": {"A": "8 mm"}, "speed": "0.05 m/s", "dwell": "0.5 s"}]
    scenario = {"start": {"A": "5 mm"}, "move": move, "plant": {"set": {"payload.mass": "0 kg"}}}
    result = small.run_case(folder, machine, scenario)
    late = result.signals["time_s"] > result.signals["time_s"][-1] - 0.1
    p = result.signals["motor_A_pressure_a_Pa"][late]
    return float(np.ptp(p))


def test_default_feedback_is_calm_at_the_end_of_the_stroke_where_that_of_mid_stroke_oscillates(tmp_path):
    model, timing, _ = model_of(tmp_path, gantry())
    wanted = pressure_feedback(replace(model, pressure_gain=0.0), timing, 0.4)[0]
    assert model.pressure_gain < 0.5 * wanted == 0.5 * model.wanted_gain
    (tmp_path / "old").mkdir()
    assert ends(tmp_path / "old", pressure_gain=f"{wanted} A/Pa") > 5e5
    for k, valve in enumerate(({}, {"scheduled": True})):
        (tmp_path / str(k)).mkdir()
        assert ends(tmp_path / str(k), **valve) < 2e4


def test_scheduled_feedback_damps_mid_stroke_better_and_the_ends_as_well(tmp_path):
    (tmp_path / "a").mkdir()
    fixed, timing, _ = model_of(tmp_path, gantry())
    scheduled, _, _ = model_of(tmp_path / "a", gantry(valve={"scheduled": True}))
    assert scheduled.gain_at(0.2) > 2.0 * fixed.pressure_gain
    assert min(scheduled.schedule) >= fixed.pressure_gain
    assert scheduled.gain_at(0.225) == pytest.approx(0.5 * (scheduled.gain_at(0.2) + scheduled.gain_at(0.25)))
    assert pressure_loop(fixed, timing).stable


@njit
def _gain(axes):
    return pressure_gain(axes[0])


def test_servo_interpolates_its_schedule_as_numpy_does():
    axes = zeros(AXIS, 1)
    places, gains = np.linspace(-0.1, 0.3, 9), np.random.default_rng(0).uniform(0, 1e-9, 9)
    axes["counts_per_rad"], axes["K_stroke"] = 1e6, gains
    axes["stroke_from"], axes["stroke_step"] = places[0], places[1] - places[0]
    for x in np.linspace(-0.2, 0.4, 61):
        axes["count"] = round(1e6 * x)
        assert _gain(axes) == pytest.approx(np.interp(axes["count"][0] / 1e6, places, gains), rel=1e-9)
    axes["stroke_step"], axes["K_pressure"] = 0.0, 7.0
    assert _gain(axes) == 7.0


def test_tune_tells_what_the_stroke_costs_and_what_brings_it_back(tmp_path):
    _, _, description = model_of(tmp_path, gantry())
    found = tune(description)
    assert any("controller.valve.scheduled: true" in line for line in found.remarks)
    assert not any("pressure loop" in line for line in found.warnings)
    positions = {case.position for case in found.axes[0].stroke}
    assert len(positions) == 9
    assert len(found.axes[0].stroke) == 27
    stated = gantry(valve={"pressure_gain": f"{found.axes[0].valve.wanted_gain} A/Pa"})
    _, _, description = model_of(tmp_path, stated)
    worst = " ".join(tune(description).warnings)
    assert "piston at" in worst
    assert "pressure loop" in worst


def test_low_gain_margin_is_warned_of_by_the_limits_of_the_file(tmp_path):
    """A heavy arm on a soft hydraulic motor: phase margins of 76 deg, and a gain margin of 1.3."""
    machine = small.merged(hydraulic.MIXED, {"payload": {"mass": "5 kg", "largest": "8 kg"}})
    small.write_case(tmp_path, machine)
    lines = " ".join(tune(read_description(tmp_path / "robot.yaml")).warnings)
    assert "position loop: gain margin below 2: axis shoulder" in lines
    calm = {"controller.margins.gain": "1.2"}
    assert tune(read_description(tmp_path / "robot.yaml", calm)).warnings == ()
    strict = {"controller.margins.phase": "89 deg", "controller.margins.gain": "1.2"}
    assert "expected at least 89 deg" in " ".join(
        tune(read_description(tmp_path / "robot.yaml", strict)).warnings
    )


def edge(lap, clearance):
    return 0.5 * (lap + math.hypot(lap, 2.0 * clearance))


@pytest.mark.parametrize("leakage", [0.0, 0.01])
def test_overlapped_valve_is_tuned_by_its_slope_beyond_the_overlap(tmp_path, leakage):
    r"""K_q = k f((p_s - p_t)/2) / i_r once an edge is open; within the overlap it would be zero.

    Both valves pass the rated flow at the rated current, so with the same clearance delta of their edges the slopes are
    as o(1) : o(0.95), which is 1 : 0.95 without one. The same leakage would mean another delta: it shifts null.
    """
    delta = (
        brentq(lambda d: edge(-0.05, d) / edge(0.95, d) - 0.5 * leakage / 19.0, 0.0, 0.1) if leakage else 0.0
    )
    valve = {"overlap": 0.05, "null_leakage": f"{leakage} L/min"}
    tight = {"leakage": "0 m^3/(s*Pa)", "external_leakage": "0 m^3/(s*Pa)"}  # else null is off by leakage / k
    machine = small.merged(gantry(), {"axes": {"A": {"motor": {"valve": valve, "cylinder": tight}}}})
    model, _, description = model_of(tmp_path, machine)
    flow, drop = 19e-3 / 60.0, 70e5
    k = flow / (0.95 * math.sqrt(drop / 2.0))
    assert model.flow_gain > 0.5 * k * math.sqrt(100e5 / 2.0) / 0.04
    same = {"overlap": 0.0, "null_leakage": f"{19.0 * 2.0 * edge(0.0, delta) / edge(1.0, delta)} L/min"}
    critical = small.merged(machine, {"axes": {"A": {"motor": {"valve": same}}}})
    (tmp_path / "b").mkdir()
    other, _, _ = model_of(tmp_path / "b", critical)
    assert model.flow_gain == pytest.approx(other.flow_gain * edge(1.0, delta) / edge(0.95, delta), rel=1e-6)
    assert model.pressure_gain > 0.0
    notes = " ".join(tune(description).remarks)
    assert "overlap 5 %; gains and margins are those beyond it; all of it is jumped over" in notes
    left = read_description(tmp_path / "robot.yaml", {"controller.valve.overlap_compensation": "0.5"})
    assert "leaves 2.5 % of the stroke in which no current moves the piston" in " ".join(tune(left).remarks)
