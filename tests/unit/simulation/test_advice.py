"""What a run is warned of before it begins: loops that run, feed-forward that counts twice, plants that contradict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.control.servo.axis_data import controller_of, robot_gains, timing_of
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.control.tuning.computed_torque_stability import computed_torque_run, stable_bandwidth
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.preflight.advice import run_warnings
from servotwin.simulation.results.result import Result
from servotwin.simulation.run import prepare
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small

QUICK = {"main_period": "2 ms", "axis_period": "0.2 ms", "speed_period": "0.2 ms"}
SLOW = {"main_period": "10 ms", "axis_period": "1 ms", "speed_period": "1 ms"}
STEP = {"move": [{"to": {"A": "0.02 rad"}, "ramp": "20 ms", "dwell": "0.4 s"}], "solver": {"method": "fast"}}


def warned(folder: Path, own: PythonLaw | None = None, plant: Any = None, **control: Any) -> list[str]:
    scenario = {"plant": {"set": plant}} if plant else {}
    path = small.write_case(folder, small.robot({"controller": control}), scenario)
    run = prepare(read_scenario(path), own)
    return run.warnings


# --- loops ------------------------------------------------------------------------------------------

WILD = {"gains": {"A": {"speed_proportional": "3 A*s/rad"}}}


def test_loops_that_do_not_run_are_not_judged(tmp_path: Path) -> None:
    """The speed loop of these gains is unstable; below a law of currents there is none."""
    assert any("speed loop: unstable" in line for line in warned(tmp_path, **WILD))
    for level, judged in (("speed", True), ("current", False), ("voltage", False)):
        law = PythonLaw(lambda _time, _signals: [0.0], 1e-3, level)
        assert any("speed loop" in line for line in warned(tmp_path, law, **WILD)) == judged, level
    assert not warned(tmp_path, law="computed-torque", **WILD, **QUICK)


def test_a_current_loop_is_judged_below_a_law_of_currents_and_not_below_one_of_voltages(
    tmp_path: Path,
) -> None:
    fast = {"gains": {"A": {"current_proportional": "40 V/A"}}}
    for level, judged in (("current", True), ("voltage", False)):
        law = PythonLaw(lambda _time, _signals: [0.0], 1e-3, level)
        assert any("current loop: unstable" in line for line in warned(tmp_path, law, **fast)) == judged
    assert any("current loop: unstable" in line for line in warned(tmp_path, law="computed-torque", **fast))


def test_the_loops_are_judged_on_the_robot_as_it_is(tmp_path: Path) -> None:
    """A winding of less inductance than believed is as much more gain of the current loop."""
    assert not warned(tmp_path)
    found = warned(tmp_path, plant={"axes.A.motor.inductance": "0.05 mH"})
    assert any(line.startswith("axis A, at the start, current loop: unstable") for line in found)


def test_warnings_of_the_true_robot_are_told(tmp_path: Path) -> None:
    contradiction = {"axes.A.motor.voltage_constant": "0.3 V*s/rad"}
    path = small.write_case(tmp_path, small.robot(), {"plant": {"set": contradiction}})
    scenario = read_scenario(path)
    told = scenario.plant_description.warnings
    assert told
    assert not scenario.description.warnings
    run = prepare(scenario)
    assert [f"the robot as it is: {line}" for line in told] == run.warnings[: len(told)]


# --- computed torque --------------------------------------------------------------------------------


def computed(folder: Path, bandwidth: float, clocks: dict[str, str], **more: Any) -> Result:
    control = {"law": "computed-torque", "position_bandwidth": f"{bandwidth} 1/s", **clocks, **more}
    return small.run_case(folder, small.robot({"controller": control}), STEP)


def limit(folder: Path, clocks: dict[str, str], **more: Any) -> float:
    path = small.write_case(folder, small.robot({"controller": {**clocks, **more}}))
    run = prepare(read_scenario(path))
    description = run.scenario.description
    q = run.model.mechanism.q_home
    axis, gains = robot_gains(description, motor_inertia(run.model, q, held=True))[0]
    return stable_bandwidth(axis, axis, gains, timing_of(controller_of(description)))


def trembling(result: Result) -> float:
    """Largest motor speed in the last tenth of a second of standstill [rad/s]."""
    return float(np.abs(result.signals["motor_A_speed_rad_per_s"][-100:]).max())


@pytest.mark.parametrize(
    ("clocks", "more"),
    [(QUICK, {}), (SLOW, {}), (SLOW, {"computation_delay": 1}), (SLOW, {"axis_delay": 1})],
    ids=["quick", "slow", "late", "late axis controller"],
)
def test_computed_torque_oscillates_beyond_the_bandwidth_that_is_said(
    tmp_path: Path, clocks: dict[str, str], more: dict[str, Any]
) -> None:
    """The whole simulator as judge of the sampled axis: calm 10 % below the limit, wild 10 % above."""
    edge = limit(tmp_path, clocks, **more)
    calm, wild = (computed(tmp_path, factor * edge, clocks, **more) for factor in (0.9, 1.1))
    assert trembling(calm) < 0.5
    assert trembling(wild) > 5.0
    assert any("computed torque" in line and "only 1.11 times" in line for line in calm.summary["warnings"])
    assert any("is unstable; expected less than" in line for line in wild.summary["warnings"])
    assert not run_warnings_of(computed(tmp_path, 0.4 * edge, clocks, **more))


def run_warnings_of(result: Result) -> list[str]:
    return [line for line in result.summary["warnings"] if "computed torque" in line]


def test_slow_computed_torque_is_a_critically_damped_second_order_system(tmp_path: Path) -> None:
    """1 - (1 + omega t) exp(-omega t), up to the lags of clocks and currents."""
    run = small.prepared(tmp_path, small.robot({"controller": QUICK}))
    description = run.scenario.description
    q = run.model.mechanism.q_home
    axis, gains = robot_gains(description, motor_inertia(run.model, q, held=True))[0]
    timing = timing_of(controller_of(description))
    free = replace(
        axis, voltage_constant=0.0
    )  # back-EMF that grows leaves an error in the current, as more inertia would
    t, angle = computed_torque_run(free, axis, gains, timing, 5.0).step_response("position", 1.0)
    np.testing.assert_allclose(angle, 1.0 - (1.0 + 5.0 * t) * np.exp(-5.0 * t), atol=3e-3)


# --- feed-forward -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feed", "said"),
    [
        ({"acceleration": 1.0, "torque": 1.0}, "both contain the inertia, 200 % of it in all"),
        ({"torque": 0.75, "gravity": 0.5}, "both contain gravity, 125 % of it in all"),
        ({"torque": 0.5, "gravity": 0.5}, ""),
        ({"velocity": 1.0, "torque": 1.0}, ""),
        ({"acceleration": 1.0, "gravity": 1.0}, ""),
    ],
)
def test_feed_forward_that_counts_twice_is_told(tmp_path: Path, feed: dict[str, float], said: str) -> None:
    found = warned(tmp_path, feedforward=feed)
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_feed_forward_beside_computed_torque_is_told_to_be_idle(tmp_path: Path) -> None:
    found = warned(tmp_path, law="computed-torque", feedforward={"torque": 1.0, "gravity": 1.0}, **QUICK)
    assert found == [
        "controller.feedforward: torque, gravity without effect: computed torque contains all of it"
    ]


@pytest.mark.parametrize(
    ("solver", "told"),
    [
        ({"method": "fast"}, True),
        ({"method": "adaptive"}, False),
        ({"method": "fast", "pwm": "averaged"}, False),
    ],
)
def test_fast_method_tells_that_it_does_not_see_ripple_through_lossy_gears(
    tmp_path: Path, solver: dict[str, str], told: bool
) -> None:
    machine = small.robot({"axes": {"A": {"gear": {"efficiency": 0.8}}}})
    run = small.prepared(tmp_path, machine, {**small.rest(0.01), "solver": solver})
    found = [line for line in run_warnings(run.scenario, run.model, run.plant) if "efficiency" in line]
    assert len(found) == told


def test_shipped_scenarios_are_not_warned_of() -> None:
    for name in ("scara-a-axis-100deg", "scara-perturbed-high-speed"):
        run = prepare(read_scenario(name))
        assert not run_warnings(run.scenario, run.model, run.plant), name


@pytest.mark.parametrize("pwm", ["switched", "averaged"])
def test_motor_without_inductance_is_told_of_where_pulses_are_switched(tmp_path: Path, pwm: str) -> None:
    reduced = {name: value for name, value in small.DC.items() if name != "inductance"}
    machine = small.robot(axes={"A": small.axis(motor={**reduced, "kind": "dc-reduced"})})
    run = small.prepared(tmp_path, machine, {**small.rest(0.01), "solver": {"pwm": pwm}})
    found = [line for line in run_warnings(run.scenario, run.model, run.plant) if "inductance" in line]
    assert len(found) == (pwm == "switched")
    assert all("motor A: " in line and "solver.pwm averaged" in line for line in found)
