"""Signals of a piston: named for a position, a speed and a force, in memory, in files and where runs are compared."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import read_result

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def lift() -> Result:
    return st.simulate("daiv-1-lift")


def test_piston_has_position_speed_and_force(lift: Result) -> None:
    own = [name for name in lift.signals if name.startswith("motor_q3_")]
    assert {"motor_q3_position_m", "motor_q3_speed_m_per_s", "motor_q3_force_N"} <= set(own)
    assert not [name for name in own if re.search("torque|angle|rad", name)]
    assert "motor_th1_torque_N_m" in lift.signals
    np.testing.assert_allclose(
        lift.signals["motor_q3_position_m"], lift.signals["joint_q3_position_m"], rtol=1e-12
    )


def test_force_of_the_piston_is_that_of_its_pressures(lift: Result) -> None:
    """F = A (p_a - p_b), equal areas of 2 cm^2: instants against the mean since the row before."""
    p_a, p_b = (lift.signals[f"motor_q3_pressure_{side}_Pa"] for side in "ab")
    force = lift.signals["motor_q3_force_N"]
    instant = 2e-4 * (p_a - p_b)
    means = 0.5 * (instant[1:] + instant[:-1])
    apart = np.convolve(force[1:] - means, np.full(50, 0.02), mode="valid")  # the oil swings within a row
    assert np.abs(apart).max() < 0.02 * np.abs(instant).max()


def test_stored_run_keeps_the_names_and_is_compared_by_them(
    lift: Result, tmp_path: Path, capsys: Capture
) -> None:
    write_result(lift, tmp_path / "run", report=False)
    saved = read_result(tmp_path / "run")
    assert saved.motors == ("th1", "th2", "q3")
    t, columns = (
        saved.signals["time_s"],
        ("motor_q3_position_m", "motor_q3_force_N", "joint_th1_position_rad"),
    )
    rows = np.column_stack([t, *(saved.signals[name] for name in columns)])[::5]
    header = ",".join(("time_s", *columns))
    np.savetxt(tmp_path / "robot.csv", rows, delimiter=",", header=header, comments="")
    words = [
        "compare",
        str(tmp_path / "run"),
        str(tmp_path / "robot.csv"),
        "--out",
        str(tmp_path / "c"),
        "--json",
    ]
    assert main([*words, "--shift", "0"]) == 0
    out = capsys.readouterr().out
    assert '"motor_q3_position_m"' in out
    assert '"motor_q3_force_N"' in out


def test_recorded_signals_are_chosen_by_the_names_of_a_piston() -> None:
    chosen = st.read_scenario("daiv-1-lift", {"record.signals": "['motor_q3_force_N']"})
    assert chosen.record.signals == ("motor_q3_force_N",)
    with pytest.raises(st.InputError, match="no signal is called 'motor_q3_torque_N_m'"):
        st.read_scenario("daiv-1-lift", {"record.signals": "['motor_q3_torque_N_m']"})
