"""The servo of a hydraulic axis: designed from the linear model, run on the nonlinear plant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import cont2discrete

import servotwin as st
from servotwin.control.servo.axis_data import robot_gains, timing_of
from servotwin.control.tuning.loops import axis_loops
from servotwin.control.tuning.sampled import Timing
from servotwin.control.tuning.step_response import axis_run
from servotwin.control.tuning.valve import ValveModel, damped_valve, pressure_feedback, sampled_valve
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from servotwin.errors import InputError
from servotwin.report.simulation_figures_hydraulic import valve as valve_figure
from servotwin.report.simulation_page import simulation_page
from servotwin.report.simulation_view import View
from tests import hydraulic_axes as hx
from tests import small_drives as small

IDEAL = {"pressure_sensor": {"bits": 0}, "command_bits": 0, "current_sensor": {"bits": 0}}
FINE = {"resolution": "1 nm"}


def level_axis(mass: float = 40.0, control: dict[str, Any] | None = None, **changes: Any) -> small.Tree:
    """A slide that gravity does not pull."""
    axis = small.merged(
        hx.LIFT, {"axis": [1, 0, 0], "link": {"mass": f"{mass} kg"}, "encoder": FINE, **changes}
    )
    return small.robot(
        {"hydraulics": hx.FEED, "power": None, "controller": small.merged(IDEAL, control or {})},
        axes={"A": axis},
    )


def at_rest(folder: Path, robot: small.Tree, start: str = "-75 mm", **more: Any) -> Any:
    scenario = {
        "start": {"A": start},
        "move": [{"to": {"A": start}, "dwell": "1 s"}],
        "solver": {"method": "fast"},
    }
    return small.prepared(folder, robot, {**scenario, **more})


def model_of(folder: Path, robot: small.Tree, mass: float) -> tuple[ValveModel, Any, Timing]:
    small.write_case(folder, robot)
    description = read_description(folder / "robot.yaml")
    model, gains = robot_gains(description, np.array([mass]))[0]
    assert isinstance(model, ValveModel)
    return model, gains, timing_of(description.controller)


def test_sampled_valve_is_what_scipy_discretises(tmp_path: Path) -> None:
    model, _, timing = model_of(tmp_path, level_axis(), 40.0)
    A, B, *_ = cont2discrete((model.A, model.B[:, None], np.eye(6), np.zeros((6, 1))), timing.T_current)
    found = sampled_valve(model, timing.T_current)
    assert found.A[:6, :6] == pytest.approx(A, rel=1e-8, abs=1e-9 * np.abs(A).max())
    assert found.B[:6] == pytest.approx(B[:, 0], rel=1e-8)


@pytest.mark.parametrize("delay", [0, 1])
def test_pressure_feedback_gives_the_swing_about_the_damping_that_is_asked_for(
    tmp_path: Path, delay: int
) -> None:
    """First-order design, hence a third of the ratio; without feedback there are 2 %."""
    model, _, timing = model_of(tmp_path, level_axis(), 40.0)
    timing = replace(timing, current_delay=delay)
    gain, corner = pressure_feedback(model, timing, 0.3)

    def damping(of: ValveModel) -> float:
        poles = np.linalg.eigvals(damped_valve(of, timing).A)
        s = np.log(poles[np.abs(poles) > 1e-12].astype(complex)) / timing.T_current
        swing = s[np.argmin(np.abs(np.abs(s.imag) - of.natural_frequency))]
        return float(-swing.real / abs(swing))

    assert damping(replace(model, pressure_gain=0.0)) < 0.06
    assert damping(replace(model, pressure_gain=gain, pressure_corner=corner)) == pytest.approx(0.3, rel=0.35)


def test_valve_that_is_too_slow_for_the_oil_gets_no_feedback(tmp_path: Path) -> None:
    model, _, timing = model_of(tmp_path, level_axis(1.15), 1.15)
    assert model.natural_frequency > 2.0 * model.valve_frequency
    assert pressure_feedback(model, timing, 0.4)[0] == 0.0


def test_small_step_of_the_reference_is_what_tune_computes(tmp_path: Path) -> None:
    """0.05 mm: position over 0.3 s within 1.5 % of the step; the valve's edges bend that much around null."""
    robot = level_axis()
    run = at_rest(tmp_path, robot)
    machine, step = run.machine, 5e-5
    counts = step * machine.axes["counts_per_rad"][0]
    for name in ("from_counts", "to_counts"):
        machine.axes[name] += counts
    machine.servo.setpoints[:, 0, 0] += counts
    found = []
    for k in range(1, 301):
        machine.advance(k * 1_000_000)
        found.append((machine.x[0] + 0.075) / step)
    model, gains, timing = model_of(tmp_path, robot, 40.0)
    t, wanted = axis_run(model, gains, timing).step_response("position", 0.3)
    assert np.array(found) == pytest.approx(np.interp(np.arange(1, 301) * 1e-3, t, wanted), abs=0.015)
    loops = axis_loops(model, gains, timing)
    assert loops.current.name == "pressure"
    assert all(loop.stable for loop in loops.all)


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
def test_loaded_lift_stands_still_and_follows_its_path(tmp_path: Path, method: str) -> None:
    """Gravity on 40 kg: nothing jumps at the start, and at the end the integral part has found what holds it."""
    robot = hx.lift(hx.PUMP, encoder=FINE)
    robot["controller"] = small.merged(robot["controller"], {**IDEAL, "feedforward": {"velocity": 1}})
    scenario = {
        "start": {"A": "-120 mm"},
        "move": [
            {"to": {"A": "-120 mm"}, "dwell": "0.05 s"},
            {"to": {"A": "-30 mm"}, "speed": "0.12 m/s", "dwell": "0.5 s"},
        ],
        "solver": {"method": method},
    }
    result = small.run_case(tmp_path, robot, scenario)
    position = result.signals["joint_A_position_m"]
    reference = result.signals["joint_A_position_ref_m"]
    assert np.abs(position[:50] + 0.12).max() < 1e-7
    assert np.abs(position - reference).max() < 1e-3
    assert abs(position[-1] + 0.03) < 2e-6
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-6


def test_wrong_belief_of_the_supply_is_made_up_for(tmp_path: Path) -> None:
    robot = hx.lift(encoder=FINE)
    robot["controller"] = small.merged(robot["controller"], {**IDEAL, "feedforward": {"velocity": 1}})
    scenario = {
        "start": {"A": "-120 mm"},
        "move": [{"to": {"A": "-30 mm"}, "speed": "0.1 m/s", "dwell": "0.8 s"}],
        "plant": {"set": {"hydraulics.supply_pressure": "55 bar"}},
        "solver": {"method": "fast"},
    }
    result = small.run_case(tmp_path, robot, scenario)
    assert abs(result.signals["joint_A_position_m"][-1] + 0.03) < 5e-6


def test_pressure_sensor_has_range_bits_and_offset(tmp_path: Path) -> None:
    sensor = {"bits": 8, "range": "30 bar", "offset": "2 bar", "noise": "0 bar"}
    run = at_rest(tmp_path, level_axis(control={"pressure_sensor": sensor}))
    machine = run.machine
    machine.advance(1_000_000)
    at = int(machine.motors["current_at"][0])
    true = float(machine.y[at + 2])
    seen = float(machine.servo.feedback["pressure_a"][0, 0])
    assert true + 2e5 > 30e5
    assert seen == pytest.approx(30e5, rel=1e-9)


def test_energy_closes_in_closed_loop_with_sticking_seals(tmp_path: Path) -> None:
    seals = {"coulomb": "40 N", "static": "60 N", "stribeck_speed": "10 mm/s"}
    move = [{"to": {"A": "-30 mm"}, "speed": "0.2 m/s", "dwell": "0.2 s"}]
    scenario = {"start": {"A": "-120 mm"}, "move": move, "solver": {"method": "fast"}}
    summary = small.run_case(tmp_path, level_axis(friction=seals), scenario).summary
    assert any(span["kind"] == "stuck" for span in summary["axes"][0]["saturation"])
    assert abs(summary["energy"]["balance_error_relative"]) < 1e-6


@pytest.mark.parametrize(("key", "value"), [("arithmetic", "fixed"), ("law", "computed-torque")])
def test_what_does_not_go_with_a_valve_is_refused(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(InputError, match=f"controller.{key}: {value} does not go with the servovalve"):
        at_rest(tmp_path, level_axis(control={key: value}))


def test_load_beyond_the_supply_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at the start: no flow at a force of 1961 N"):
        at_rest(tmp_path, hx.lift(link={"mass": "200 kg"}))


def test_tune_of_daiv_1_gives_gains_and_margins_of_its_valve() -> None:
    tuning = tune(read_description("daiv-1"))
    axis = next(axis for axis in tuning.axes if axis.motor == "q3")
    assert axis.valve is not None
    assert axis.gains.position == 20.0
    assert axis.gains.speed_integral == pytest.approx(axis.valve.flow_share * 150.0 / 5.0)
    for case in axis.cases:
        assert all(loop.stable for loop in case.loops.all)
        assert np.degrees(case.loops.position.phase_margin or 0.0) > 60.0


def test_shipped_scenario_and_job_of_daiv_1_run_and_tell_of_their_oil(tmp_path: Path) -> None:
    lift = st.simulate("daiv-1-lift")
    numbers = lift.summary["hydraulics"]
    (axis,) = numbers["axes"]
    assert axis["motor"] == "q3"
    assert 0.0 < axis["pressure_a_min_Pa"] < axis["pressure_a_max_Pa"] < 70e5
    assert 0.5 < axis["valve_opening_max"] < 0.7  # 180 of 310 mm/s
    assert axis["cavitated_s"] == 0.0
    assert abs(numbers["mass_error_relative"]) < 1e-6
    assert abs(lift.summary["energy"]["balance_error_relative"]) < 1e-6
    power, loss = (lift.signals[f"motor_q3_hydraulic_{name}_W"] for name in ("power", "loss"))
    assert (power > 0.0).all()
    assert np.trapezoid(loss, lift.signals["time_s"]) == pytest.approx(
        lift.summary["energy"]["valve_J"], rel=0.01
    )
    page = simulation_page(lift)
    assert "Hydraulic axes" in page
    assert "force and speed" in page
    done = st.run_job("daiv-pick-and-place", pwm="averaged")
    assert done.result.summary["failure"] is None
    assert done.result.summary["axes"][2]["joint_error_max"] < 1e-3


def test_dc_neighbour_under_switched_pulses_and_cylinder_agree_in_all_methods(tmp_path: Path) -> None:
    """The DC axis keeps its exact currents in the windows that Runge-Kutta carries for the cylinder."""
    slide = {
        **hx.LIFT,
        "axis": [1, 0, 0],
        "link": {"mass": "8 kg"},
        "origin": {"xyz": ["0.3 m", "0 m", "0 m"]},
    }
    axes = {"A": small.axis(limits={"speed": "2 rad/s"}), "B": slide}
    move = {
        "start": {"A": "0 rad", "B": "-120 mm"},
        "move": [{"to": {"A": "1 rad", "B": "-40 mm"}, "dwell": "0.1 s"}],
    }
    runs = {}
    for method in ("fast", "rk4", "adaptive"):
        folder = tmp_path / method
        folder.mkdir()
        robot = small.robot({"hydraulics": hx.PUMP}, axes=axes)
        runs[method] = small.run_case(folder, robot, {**move, "solver": {"method": method}})
        assert abs(runs[method].summary["energy"]["balance_error_relative"]) < 1e-6
        assert abs(runs[method].summary["hydraulics"]["mass_error_relative"]) < 1e-6
    for name, rel in (
        ("joint_A_position_rad", 1e-7),
        ("joint_B_position_m", 1e-6),
        ("motor_B_pressure_a_Pa", 1e-4),
    ):
        wanted = runs["adaptive"].signals[name]
        for method in ("fast", "rk4"):
            assert np.abs(runs[method].signals[name] - wanted).max() < rel * np.abs(wanted).max()


def test_driver_of_a_valve_reads_its_current_in_amperes(tmp_path: Path) -> None:
    """A sensor of a stated range shows parts of it; the driver takes them for amperes, as one of a winding does."""
    sensor = {"current_sensor": {"bits": 0, "range": "0.1 A"}}
    machine = at_rest(tmp_path, level_axis(control=sensor)).machine
    machine.servo.setpoints[:, 0, 0] += 1e-3 * machine.axes["counts_per_rad"][0]
    machine.advance(20_000_000)
    shown = float(machine.servo.feedback["current_a"][0, 0])
    assert abs(shown) > 1e-3
    assert machine.axes["i_meas"][0] == pytest.approx(0.1 * shown, rel=1e-12)


def test_figure_of_a_valve_is_over_its_rated_current(tmp_path: Path) -> None:
    """A driver that gives half of it at most: 50 % of current are 50 % of stroke, once the spool has come there."""
    robot = level_axis(motor={"current_limit": "20 mA"})
    move = {
        "start": {"A": "-140 mm"},
        "move": [{"to": {"A": "-10 mm"}, "speed": "0.3 m/s"}],
        "solver": {"method": "fast"},
    }
    result = small.run_case(tmp_path, robot, move)
    opening, current = valve_figure(View(result, result.scenario.description), "A").data[:2]
    assert max(current.y) == pytest.approx(50.0, rel=1e-6)
    assert max(opening.y) == pytest.approx(50.0, rel=0.1)


@pytest.mark.parametrize(
    "field",
    [
        "cylinder.area=1e-120 m^2",
        "cylinder.rod_side_area=1e-120 m^2",
        "cylinder.cushion.flow=1e-200 L/min",
        "valve.laminar_drop=1e-200 Pa",
        "valve.natural_frequency=1e-200 Hz",
        "valve.rated_current=1e-320 A",
        "valve.rated_flow=1e-320 m^3/s",
    ],
)
def test_numbers_whose_squares_vanish_are_too_small(field: str) -> None:
    name, value = field.split("=")
    path = f"axes.q3.motor.{name}"
    with pytest.raises(InputError, match=f"{path}: '.*' is too small; expected at least"):
        tune(read_description("daiv-1", {path: value}))


@pytest.mark.parametrize(
    ("area", "problem"), [("0.01 cm^2", "too small to .* backward"), ("200 cm^2", "too large to .* forward")]
)
def test_rod_side_that_the_tank_alone_holds_is_refused(area: str, problem: str) -> None:
    """2 cm2 at 70 bar and 1 bar in the tank: 2/70 to 2 x 70 cm2 can move both ways."""
    field = "axes.q3.motor.cylinder.rod_side_area"
    with pytest.raises(InputError, match=f"{problem} .*; expected more than 0.02857 and less than 140 cm"):
        tune(read_description("daiv-1", {field: area}))
    for moved in ("0.2 cm^2", "20 cm^2"):
        tune(read_description("daiv-1", {field: moved}))


def test_leakage_that_fits_no_edge_is_told_the_least_without_a_sign() -> None:
    with pytest.raises(InputError, match="expected 0 L/min"):
        tune(read_description("daiv-1", {"axes.q3.motor.valve.null_leakage": "10 L/min"}))


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_short_line_behind_a_weak_pump_takes_short_steps(tmp_path: Path, method: str) -> None:
    """Its relief valve is closed: the edges of the servovalve alone settle the pressure of the line."""
    robot = level_axis()
    robot["hydraulics"] = {
        "supply_pressure": "70 bar", "pump": {"flow": "1 L/min"}, "line_volume": "0.5 cm^3",
        "relief": {"pressure": "75 bar", "flow": "10 L/min", "override": "20 bar"},
    }  # fmt: skip
    move = [{"to": {"A": "-60 mm"}, "speed": "0.3 m/s"}]
    summary = small.run_case(
        tmp_path, robot, {"start": {"A": "-120 mm"}, "move": move, "solver": {"method": method}}
    ).summary
    assert summary["hydraulics"]["supply_pressure_min_Pa"] < 40e5
    assert abs(summary["energy"]["balance_error_relative"]) < 1e-6
    assert abs(summary["hydraulics"]["mass_error_relative"]) < 1e-6


def test_drain_of_a_valve_without_leakage_tunes_no_servo_for_foam(tmp_path: Path) -> None:
    """Pressures at half of the supply: w_h^2 = beta A^2 (1/V_A + 1/V_B) / m with the bulk modulus at 35 bar."""
    tight = {"valve": {"null_leakage": "0 L/min"}, "cylinder": {"external_leakage": "2e-14 m^3/(s*Pa)"}}
    robot = hx.lift(motor=tight)
    model, _, _ = model_of(tmp_path, robot, 40.0)
    p, V = 35e5, 5e-6 + 2e-4 * 75e-3 * 1.0  # the end stops' margin is left out: 5 %
    beta = -hx.volume_ratio(p, hx.SUPPLY_70) / hx.plain_slope(p, hx.SUPPLY_70)
    assert model.natural_frequency == pytest.approx(np.sqrt(beta * 4e-8 * 2 / V / 40.0), rel=0.05)
    move = [{"to": {"A": "-60 mm"}, "dwell": "0.4 s"}]
    signals = small.run_case(tmp_path, robot, {"start": {"A": "-120 mm"}, "move": move}).signals
    error = signals["joint_A_position_m"] - signals["joint_A_position_ref_m"]
    assert np.abs(error[-len(error) // 5 :]).max() < 4e-6
