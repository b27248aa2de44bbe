"""Controllers with the machine: instants, delays, feed-forward, models, arithmetic, sensing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.control.servo.tasks import AXIS, BRIDGE, DRIVER, MAIN
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.simulation.run import carry_out
from tests import small_drives as small
from tests.small_drives import DC, RATIO, K

G = 9.80665
MOVE = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}], "solver": {"method": "fast"}}
COARSE = {"lines": 1000, "bits": None}
HANGING = {
    "start": {"A": "-1.5 rad"},
    "move": [{"to": {"A": "0 rad"}, "dwell": "0.5 s"}],
    "solver": {"method": "fast"},
}


def controlled(axis: small.Tree | None = None, **control: Any) -> small.Tree:
    return small.robot({"controller": control}, axes={"A": axis or small.axis()})


def following(result: Any) -> np.ndarray:
    return np.asarray(result.signals["joint_A_position_ref_rad"] - result.signals["joint_A_position_rad"])


# --- instants ---------------------------------------------------------------------------------------


def test_tasks_run_at_whole_multiples_of_their_periods(tmp_path: Path) -> None:
    periods = {"main_period": "16 ms", "axis_period": "1.6 ms"}
    run = small.prepared(tmp_path, controlled(**periods), small.rest(0.16))
    carry_out(run, lambda part: None)
    tasks = run.machine.servo.tasks
    assert tasks[[MAIN, AXIS, DRIVER, BRIDGE], 3].tolist() == [10, 100, 160, 800]
    assert tasks[[MAIN, AXIS, DRIVER, BRIDGE], 0].tolist() == [160_000_000] * 4


def test_interpolator_goes_ten_steps_between_two_points_in_whole_pulses(tmp_path: Path) -> None:
    machine = controlled(small.axis(encoder=COARSE))
    run = small.prepared(tmp_path, machine, {**MOVE, "record": {"every": "1 ms"}})
    run.machine.reserve(run.duration_ns)
    instants = np.arange(
        1_000_000, run.duration_ns, 1_000_000
    )  # at the ends of the axis controller's periods
    pulses = np.zeros(len(instants))
    for row, instant in enumerate(instants):
        run.machine.advance(int(instant))
        pulses[row] = run.machine.axes["counts_ref"][0]
    points = pulses[::10]  # where the main controller's points are reached
    np.testing.assert_allclose(points, np.rint(points), atol=1e-6)
    steps = np.diff(pulses[: len(pulses) // 10 * 10]).reshape(-1)
    for first in range(0, len(steps) - 10, 10):
        np.testing.assert_allclose(steps[first : first + 10], steps[first], atol=1e-6)
    # the interpolated reference comes one main period late: the point of an instant is reached at the next
    wanted = run.reference.sample(instants * 1e-9)[0][:, 0] * RATIO * 4000 / (2 * math.pi)
    assert np.abs(pulses[1:] - wanted[:-1]).max() < 1.0 + np.abs(np.diff(wanted, 2)).max() * 100


def voltages(folder: Path, **control: Any) -> np.ndarray:
    law = PythonLaw(lambda time, _signals: [5.0 + 100.0 * time], 2e-4, "voltage")
    result = small.run_case(folder, controlled(**control), small.rest(0.02, every="0.2 ms"), law)
    return result.signals["motor_A_voltage_V"]


def test_computation_delay_is_one_current_period(tmp_path: Path) -> None:
    at_once, late = voltages(tmp_path), voltages(tmp_path, computation_delay=1)
    assert np.array_equal(late[1:], at_once[:-1])
    assert late[0] == 0.0


def test_jitter_is_bounded_and_late_only(tmp_path: Path) -> None:
    run = small.prepared(tmp_path, controlled(jitter="100 us"), small.rest(0.2))
    late = []
    for k in range(1, 200):
        run.machine.advance(k * 1_000_000 - 1)
        late.append(int(run.machine.servo.tasks[AXIS, 0] - run.machine.servo.tasks[AXIS, 3] * 1_000_000))
    assert min(late) >= 0
    assert max(late) < 100_000
    assert np.std(late) == pytest.approx(100_000 / math.sqrt(12), rel=0.2)


@pytest.mark.parametrize(
    "disturbed", [{"jitter": "50 us"}, {"current_sensor": {"bits": 0, "noise": "0.05 A"}}]
)
def test_a_seed_repeats_a_run_and_another_does_not(tmp_path: Path, disturbed: dict[str, Any]) -> None:
    machine = controlled(**disturbed)
    first = small.run_case(tmp_path, machine, MOVE).signals
    again = small.run_case(tmp_path, machine, MOVE).signals
    other = small.run_case(tmp_path, machine, {**MOVE, "seed": 2}).signals
    for name, values in first.items():
        assert np.array_equal(values, again[name]), name
    assert not np.array_equal(first["motor_A_current_A"], other["motor_A_current_A"])
    # different noise, the same machine: the joint hardly differs
    assert np.abs(first["joint_A_position_rad"] - other["joint_A_position_rad"]).max() < 1e-3


# --- loops ------------------------------------------------------------------------------------------


def test_following_error_at_constant_speed_is_speed_over_gain(tmp_path: Path) -> None:
    """And a velocity feed-forward takes its share of it away."""
    errors = {}
    for share in (0.0, 0.5, 1.0):
        machine = controlled(main_period="2 ms", axis_period="0.2 ms", feedforward={"velocity": share})
        scenario = {"move": [{"to": {"A": "2.5 rad"}, "speed": "100 %"}], "solver": {"method": "fast"}}
        result = small.run_case(tmp_path, machine, scenario)
        cruise = result.signals["joint_A_velocity_ref_rad_per_s"] > 4.0 - 1e-9
        errors[share] = following(result)[cruise][-50:].mean()
    assert errors[0.0] == pytest.approx(
        4.0 / 30.0, rel=0.02
    )  # v / K_x; 0.2 ms of dead time are 0.6 % of 33 ms
    assert errors[0.5] == pytest.approx(0.5 * errors[0.0], rel=0.03)
    assert abs(errors[1.0]) < 0.03 * errors[0.0]


def test_each_feed_forward_takes_away_more_of_the_following_error(tmp_path: Path) -> None:
    worst = []
    for feed in (
        {},
        {"velocity": 1.0},
        {"velocity": 1.0, "acceleration": 1.0},
        {"velocity": 1.0, "torque": 1.0},
    ):
        machine = controlled(
            small.axis(origin=small.HORIZONTAL), main_period="2 ms", axis_period="0.2 ms", feedforward=feed
        )
        worst.append(np.abs(following(small.run_case(tmp_path, machine, MOVE))).max())
    assert worst[1] < worst[0] / 5
    assert worst[2] < worst[1] / 2
    assert worst[3] < worst[1] / 2
    assert worst[3] < 1e-3  # rad: 0.2 ms of delay at 4 rad/s, and less of everything else


def test_gravity_compensation_removes_the_sag(tmp_path: Path) -> None:
    """Without integrators a load of m g r sinks by tau / (N K K_n K_x) at the motor."""
    flat = small.axis(origin=small.HORIZONTAL)
    sags = {}
    for share in (0.0, 0.5, 1.0):
        gains = {"A": {"speed_integral": "0 A/rad", "speed_proportional": "0.2 A*s/rad"}}
        machine = controlled(flat, gains=gains, feedforward={"gravity": share})
        sags[share] = following(small.run_case(tmp_path, machine, HANGING))[-1]
    wanted = 2.0 * G * 0.2 / RATIO / K / 0.2 / 30.0 / RATIO
    assert sags[0.0] == pytest.approx(wanted, rel=0.01)
    assert sags[0.5] == pytest.approx(0.5 * sags[0.0], rel=0.05)
    assert abs(sags[1.0]) < 0.03 * sags[0.0]


def test_feed_forward_does_not_push_a_robot_that_rests(tmp_path: Path) -> None:
    """The run begins in balance, whoever provides the current."""
    for feed in ({"gravity": 1.0}, {"torque": 1.0}):
        machine = controlled(small.axis(origin=small.HORIZONTAL), feedforward=feed)
        result = small.run_case(tmp_path, machine, {**small.rest(0.1), "solver": {"method": "fast"}})
        assert np.abs(following(result)).max() < 1e-5


def test_computed_torque_is_as_good_as_its_model(tmp_path: Path) -> None:
    """The exact model tracks; a plant with half more mass is followed worse."""
    machine = controlled(
        small.axis(origin=small.HORIZONTAL),
        law="computed-torque", main_period="2 ms", axis_period="0.2 ms", speed_period="0.2 ms",
        position_bandwidth="60 1/s",
    )  # fmt: skip
    exact = np.abs(following(small.run_case(tmp_path, machine, MOVE))).max()
    wrong = {**MOVE, "plant": {"set": {"axes.A.link.mass": "3 kg"}}}
    off = np.abs(following(small.run_case(tmp_path, machine, wrong))).max()
    cascade = np.abs(
        following(small.run_case(tmp_path, controlled(small.axis(origin=small.HORIZONTAL)), MOVE))
    ).max()
    assert exact < 0.01  # rad, at 4 rad/s: 2.2 ms of delay of the reference
    assert exact < cascade / 10
    assert off > 1.5 * exact


def step(folder: Path, size: float) -> tuple[np.ndarray, Any]:
    """Motor speed over the commanded one after a step of the speed command; its saturation."""
    law = PythonLaw(lambda time, _signals: [size if time > 0.005 else 0.0], 1e-3, "speed")
    axis = small.axis(motor={**DC, "current_limit": "3 A"}, limits={"position": ["-90 rad", "90 rad"]})
    result = small.run_case(folder, controlled(axis), {**small.rest(0.4), "solver": {"method": "fast"}}, law)
    return result.signals["motor_A_speed_rad_per_s"] / size, result.summary["axes"][0]["saturation"]


def test_a_long_saturation_does_not_wind_up(tmp_path: Path) -> None:
    """A step that runs into the current limit for long overshoots less than one that does not reach it."""
    linear, free = step(tmp_path, 5.0)
    limited, saturated = step(tmp_path, 150.0)
    assert not free
    assert (
        sum(entry["to_s"] - entry["from_s"] for entry in saturated if entry["kind"] == "current limit") > 0.05
    )
    assert limited.max() - 1.0 < linear.max() - 1.0
    assert limited[-1] == pytest.approx(1.0, abs=0.01)


def test_fixed_point_arithmetic_stays_close_to_floating_point(tmp_path: Path) -> None:
    axis = small.axis(encoder=COARSE)
    floating = small.run_case(tmp_path, controlled(axis), MOVE)
    fixed = small.run_case(tmp_path, controlled(axis, arithmetic="fixed"), MOVE)
    q, q_fixed = floating.signals["joint_A_position_rad"], fixed.signals["joint_A_position_rad"]
    pulse = 2 * math.pi / 4000 / RATIO
    assert np.abs(q - q_fixed).max() < 100 * pulse  # of 32000 pulses
    assert abs(q[-1] - q_fixed[-1]) < 3 * pulse
    assert not np.array_equal(q, q_fixed)


@pytest.mark.parametrize("sensing", ["counted", "inverse-time", "filtered"])
def test_every_way_to_find_the_speed_reaches_the_target(tmp_path: Path, sensing: str) -> None:
    constant = {"speed_filter": "2 ms"} if sensing == "filtered" else {}
    machine = controlled(small.axis(encoder=COARSE), speed_sensing=sensing, **constant)
    result = small.run_case(tmp_path, machine, MOVE)
    assert abs(following(result)[-1]) < 3 * 2 * math.pi / 4000 / RATIO


def test_time_between_pulses_makes_a_slow_axis_run_quieter(tmp_path: Path) -> None:
    """At two pulses per sample counting gives steps of half the speed, and current to match."""
    scenario = {
        "move": [{"to": {"A": "0.05 rad"}, "speed": "1.6 %", "ramp": "0.1 s"}],
        "solver": {"method": "fast"},
    }
    rms = {}
    for sensing in ("counted", "inverse-time"):
        machine = controlled(small.axis(encoder=COARSE), speed_sensing=sensing)
        result = small.run_case(tmp_path, machine, scenario)
        rms[sensing] = result.summary["axes"][0]["rms_current_A"]
    assert rms["inverse-time"] < 0.5 * rms["counted"]
