"""Substitution in real time: the same bits as in simulated time, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError, SimulationError
from servotwin.hil.real_time import RealTime, run_real_time
from servotwin.hil.result import SubstitutionResult
from servotwin.hil.scenario import read_substitution
from servotwin.hil.substitution import build_substitution
from servotwin.realtime.libc import SUPPORTED

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="Linux only")
SHORT = {"duration": "1 s"}


@pytest.mark.parametrize("wall", [False, True])
def test_twin_in_process_gives_the_bits_of_simulated_time(wall: bool) -> None:
    scenario = read_substitution("met-substituted", SHORT)
    expected = st.substitute(scenario, compare=False)
    run, report = run_real_time(build_substitution(scenario), RealTime(wall=wall))
    assert run.complete
    assert report.numbers["simulated_cycles"] == len(run.rows) == scenario.ticks + 1
    np.testing.assert_array_equal(run.rows, expected.run.rows)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (RealTime(cpu=-1), "--cpu: -1 is not accepted"),
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
