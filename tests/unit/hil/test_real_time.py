"""Substitution in real time: the same bits as in simulated time, and how it ends."""

from __future__ import annotations

import ctypes
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError, SimulationError
from servotwin.hil import real_time
from servotwin.hil.link.session import link_rehearse
from servotwin.hil.real_time import RealTime, run_real_time
from servotwin.hil.result import SubstitutionResult
from servotwin.hil.scenario import read_substitution
from servotwin.hil.substitution import build_substitution
from servotwin.realtime.executive import run_loop
from servotwin.realtime.libc import SUPPORTED
from tests.stand_in_arm import rig_thread

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="Linux only")
SHORT = {"duration": "1 s"}
TRIES = 5  # runs until one is not disturbed by the machine


@pytest.mark.parametrize("wall", [False, True])
def test_twin_in_process_gives_the_bits_of_simulated_time(wall: bool) -> None:
    scenario = read_substitution("met-substituted", SHORT)
    expected = st.substitute(scenario, compare=False)
    run, report = run_real_time(build_substitution(scenario), RealTime(wall=wall))
    assert run.complete
    assert report.numbers["simulated_cycles"] == len(run.rows) == scenario.ticks + 1
    np.testing.assert_array_equal(run.rows, expected.run.rows)


@pytest.mark.parametrize("rehearse", [False, True])
def test_rehearsal_never_changes_a_bit_of_a_run(rehearse: bool) -> None:
    scenario = read_substitution("met-substituted", {**SHORT, "substitute.rig": "met-rig-noisy"})
    expected = st.substitute(scenario, compare=False)
    run, report = run_real_time(build_substitution(scenario), RealTime(rehearse=rehearse, guard=1e-3))
    assert (report.numbers["rehearsals"] > 20) == rehearse
    for over in (False, True):
        told = replace(report, numbers={**report.numbers, "rehearsals_ended": over}).lines()
        assert any("rehearsals ended after" in line for line in told) == over
    np.testing.assert_array_equal(run.rows, expected.run.rows)


DELTA = """format: servotwin-substitution/1
name: delta-rehearsed
robot: delta
rates: {servo: 1 kHz}
duration: 0.2 s
command: [{at: 0 s, rates: {arm1: 0.1 rad/s}}]
servo: {proportional: 0.2 V*s/rad, integral: 4 V/rad, voltage_limit: 20 V, ratio: 800, resistance: 2.05 ohm,
  torque_limit: 0.144 N*m, torque_constant: 0.061 N*m/A, rotor_inertia: 6.38e-5 kg*m^2,
  viscous_friction: 2.58e-5 N*m*s/rad, coulomb_friction: 0.0205 N*m}
substitute: {joints: [arm1], rig: met-rig, estimator: observer}
environment:
  forces:
    - {kind: function, function: "force.py:counts", memory: 2}
    - {kind: wrench, force: [1 N, 0 N, 0 N]}
"""
DELTA_ON_THREE = DELTA.split("environment:", maxsplit=1)[0].replace(
    "[arm1], rig: met-rig,", "[arm1, arm2], rig: met-rig-three,"
)


@pytest.mark.parametrize("wall", [False, True])
def test_closed_chain_with_two_shafts_on_the_twin_gives_the_bits_of_simulated_time(
    tmp_path: Path, wall: bool
) -> None:
    (tmp_path / "delta.yaml").write_text(DELTA_ON_THREE)
    scenario = read_substitution(tmp_path / "delta.yaml")
    expected = st.substitute(scenario, compare=False).run
    run, report = run_real_time(build_substitution(scenario), RealTime(wall=wall))
    assert run.complete
    assert report.numbers["simulated_cycles"] == len(run.rows) == 201
    assert np.ptp(run.joint("arm1", "qd")) > 0.05
    np.testing.assert_array_equal(run.rows, expected.rows)


COUNTS = """def counts(t, signals, memory, wrench):
    memory[0] += 1.0
    wrench[2] = 1e-3 * memory[0]
"""


def test_rehearsal_leaves_every_byte_as_it_was(tmp_path: Path) -> None:
    """A closed chain with a function that remembers: rehearsals between the cycles of simulated time."""
    (tmp_path / "delta.yaml").write_text(DELTA)
    (tmp_path / "force.py").write_text(COUNTS)
    scenario = read_substitution(tmp_path / "delta.yaml")
    expected = st.substitute(scenario, compare=False, allow_code=True).run.rows
    made = build_substitution(scenario, allow_code=True)
    how = RealTime(wall=True)
    rows = np.full((scenario.ticks + 1, *expected.shape[1:]), np.nan)
    rig = real_time._twin(made)
    record = real_time._record(made, rig, rows)
    run = real_time._link_run(made, how, how.address(), record, rig, len(rows))
    run.executive["paced"] = 0
    arrays = (run.link, run.rows, run.executive, record, rows, rig, made.arm, made.joints, made.forces)
    held = [*arrays, *(each for each in made.kept if isinstance(each, np.ndarray))]
    rehearse = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(link_rehearse.address)
    loop = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(run_loop.address)
    total, run.executive["finish_at"] = int(run.executive["cycles"][0]), 0
    for done in range(1, total + 1):
        run.executive["cycles"] = done
        loop(run.executive.ctypes.data)
        scratch = int(record["spare_row_at"][0])
        before = [each.tobytes() for each in held if each.ctypes.data != scratch]
        assert rehearse(run.link.ctypes.data, done, 0) == 0
        assert before == [each.tobytes() for each in held if each.ctypes.data != scratch]
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("rate", ["300.00003000000300 Hz", "7500.01875004688 Hz"])
def test_rates_near_those_without_whole_nanoseconds_give_the_same_bits_too(rate: str) -> None:
    scenario = read_substitution(
        "met-substituted", {"rates.servo": rate, "rates.arm": None, "duration": "0.2 s"}
    )
    expected = st.substitute(scenario, compare=False)
    run, _ = run_real_time(build_substitution(scenario), RealTime(wall=False))
    np.testing.assert_array_equal(run.rows, expected.run.rows)


@pytest.mark.parametrize(("rate", "better"), [("300 Hz", "300.00003"), ("7.5 kHz", "7500.01875")])
def test_period_that_is_no_whole_number_of_nanoseconds_is_refused_with_a_rate_that_has_one(
    rate: str, better: str
) -> None:
    with pytest.raises(st.InputError, match=rf"no whole number of nanoseconds.*'{better}\d* Hz'"):
        read_substitution("met-substituted", {"rates.servo": rate, "rates.arm": rate})
    assert (
        read_substitution(
            "met-substituted", {"rates.servo": "300.00003 Hz", "rates.arm": "300.00003 Hz"}
        ).period_ns
        == 3_333_333
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (RealTime(cpu=-1), "--cpu: -1 is not accepted"),
        (RealTime(guard=-1e-6), "--guard: -1 us is not accepted; expected 0 to 10000 us"),
        (RealTime(guard=float("nan")), "--guard: nan us is not accepted"),
        (RealTime(tolerance=-3), "--tolerance: -3 is not accepted"),
        (RealTime(tolerance=10**15), "--tolerance: 1000000000000000 is not accepted"),
        (RealTime("udp://127.0.0.1:5", wall=False), "--simulated-time: a rig elsewhere has its own clock"),
    ],
)
def test_settings_that_no_run_can_have_are_refused_in_one_line(how: RealTime, said: str) -> None:
    with pytest.raises(InputError) as caught:
        st.substitute("met-substituted", SHORT, real_time=how)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_substitute_with_a_transport_runs_in_real_time_and_reports_its_link() -> None:
    result = st.substitute("met-substituted", {"duration": "0.5 s"}, transport="in-process")
    assert result.link is not None
    assert result.link.numbers["times"]["compute"]["count"] == 52
    assert result.differences["J1"].largest < 0.01


FAST = {"servo.torque_limit": "1e9 N*m", "servo.voltage_limit": "1e9 V", "servo.coulomb_friction": "0 N*m"}
PURE_DIVERGES = {
    "substitute.joints": "[J1, J2]",
    "substitute.rig": "met-rig-three",
    "integration.at": "arm",
    "integration.rotor_inertia": "false",
    "duration": "1 s",
    **FAST,
}


@pytest.mark.parametrize("how", [None, RealTime(wall=False)])
def test_pure_arm_that_diverges_leaves_the_run_with_the_rig_whole(how: RealTime | None) -> None:
    result = st.substitute("met-substituted", PURE_DIVERGES, real_time=how)
    assert result.complete
    assert len(result.run.rows) == 101
    assert (result.link is None) == (how is None)
    assert any("pure arm" in text and "diverged" in text for text in result.run.warnings)
    assert result.pure is not None
    assert 1 < len(result.pure.rows) < 101
    columns = result.columns()
    assert {len(values) for values in columns.values()} == {101}
    assert np.isfinite(columns["joint_J1_velocity_rad_per_s"]).all()
    assert np.isnan(columns["pure_joint_J1_velocity_rad_per_s"][-1])


@pytest.mark.parametrize("how", [None, RealTime(wall=False)])
def test_warning_of_an_unstable_integration_comes_before_the_run(how: RealTime | None) -> None:
    """The arm diverges: whoever warns after the run has nobody left to warn."""
    told: list[str] = []
    changes = {"integration.at": "arm", "integration.rotor_inertia": "false", **FAST}
    with pytest.raises(SimulationError) as caught:
        st.substitute("met-substituted", changes, compare=False, real_time=how, warn=told.append)
    assert "multiplies the fastest mode" in told[0]  # what the run met on its way comes after it
    partial = caught.value.partial
    run = partial.run if isinstance(partial, SubstitutionResult) else partial
    assert run.warnings == tuple(told)
    with pytest.warns(st.RobotWarning, match="multiplies the fastest mode"), pytest.raises(SimulationError):
        st.substitute("met-substituted", changes, compare=False, real_time=how)


def test_one_value_that_is_no_number_does_not_cost_the_column() -> None:
    run = st.substitute("met-substituted", {"duration": "0.1 s"}, compare=False).run
    run.rows[3, 3, 0] = np.nan
    assert "joint_J1_acceleration_rad_per_s2" in run.columns()
    assert "motor_J2_speed_true_rad_per_s" not in run.columns()


def test_arm_that_diverges_ends_in_the_safe_state_with_its_rows() -> None:
    # the explicit scheme at 25 Hz without the rotor's inertia diverges
    changes = {
        "integration.at": "arm",
        "integration.rotor_inertia": "false",
        "servo.torque_limit": "1e9 N*m",
        "servo.voltage_limit": "1e9 V",
        "servo.coulomb_friction": "0 N*m",
    }
    with pytest.raises(SimulationError, match=r"safe state at .* the simulated arm stopped") as caught:
        st.substitute("met-substituted", changes, compare=False, real_time=RealTime(wall=False))
    partial = caught.value.partial
    assert isinstance(partial, SubstitutionResult)
    assert 1 < len(partial.run.rows) < 501
    assert not partial.complete


@pytest.mark.parametrize("key", [None, b"0123456789abcdef"])
def test_rehearsal_leaves_a_run_over_udp_as_it_is_in_simulated_time(
    key: bytes | None, tmp_path: Path
) -> None:
    scenario = read_substitution("met-substituted", {**SHORT, "substitute.rig": "met-rig"})
    expected = st.substitute(scenario, compare=False).run.rows
    file = tmp_path / "key"
    if key is not None:
        file.write_bytes(key)
        file.chmod(0o600)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"udp://127.0.0.1:{probe.getsockname()[1]}"
    how = RealTime(where, tolerance=100, guard=1e-3, key_file=None if key is None else file)
    for _ in range(TRIES):
        with rig_thread(where, **({} if key is None else {"key": key})):
            run, report = run_real_time(build_substitution(scenario), how)
        if not report.numbers["disturbed_cycles"]:
            break
    else:
        pytest.skip("the machine is too busy: every run was disturbed; the numbers are not compared")
    assert report.numbers["rehearsals"] > 20
    assert report.numbers["answers_accepted"] == len(expected)
    np.testing.assert_array_equal(run.rows[:, :12], expected[:, :12])
