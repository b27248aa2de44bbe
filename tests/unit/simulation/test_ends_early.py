"""Runs that end before their end: what there is of them is kept, whoever ended them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.errors import InputError, SimulationError
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small

PLAIN = small.robot()
SHORT = {**small.rest(0.1), "solver": {"method": "fast"}}


def diverging(folder: Path, every: str) -> SimulationError:
    """A law that pushes a light load without bound: beyond all speeds after a millisecond."""
    ideal = {"kind": "ideal", "rotor_inertia": "1e-6 kg*m^2"}
    axis = small.axis(motor=ideal, link={"mass": "1e-6 kg", "center": ["0 m", "0 m", "0 m"]}, limits=None)
    axis["limits"] = {"speed": "4 rad/s"}
    law = PythonLaw(lambda _time, _signals: [1e4], 1e-3, "current")
    with pytest.raises(SimulationError, match="diverged") as caught:
        small.run_case(folder, small.robot(axes={"A": axis}), small.rest(0.5, every=every), law)
    return caught.value


@pytest.mark.parametrize(("every", "least", "most"), [("0.5 s", 0, 0), ("0.8 ms", 1, 1), ("0.2 ms", 2, 100)])
def test_a_run_that_diverges_is_written_with_its_report(
    tmp_path: Path, every: str, least: int, most: int
) -> None:
    """Before the first row, after one, after some."""
    error = diverging(tmp_path, every)
    rows = len(error.partial.signals["time_s"])
    assert least <= rows <= most
    files = write_result(error.partial, tmp_path / "out")
    assert files.page is not None
    page = files.page.read_text(encoding="utf-8")
    assert "did not come to its end" in page
    assert ("instant was recorded" in page) == (rows < 2)
    assert ("Following error" in page) == (rows >= 2)
    assert "How it was computed" in page
    assert str(error) == error.partial.summary["failure"]
    assert "diverged at 0.001 s: a motor or joint left all bounds of speed or torque" in page
    assert "Tip error at rest" not in page
    assert "Settling</div>" not in page


def interrupted(calls: int) -> PythonLaw:
    """A law during whose call number ``calls`` somebody presses Ctrl-C."""
    seen = []

    def compute(_time: float, _signals: Any) -> list[float]:
        seen.append(1)
        if len(seen) == calls:
            raise KeyboardInterrupt
        return [0.0]

    return PythonLaw(compute, 1e-3, "current")


@pytest.mark.parametrize("calls", [1, 51])
def test_ctrl_c_within_a_law_gives_the_part_that_was_simulated(tmp_path: Path, calls: int) -> None:
    result = small.run_case(tmp_path, PLAIN, SHORT, interrupted(calls))
    assert not result.complete
    assert result.summary["failure"] == "interrupted"
    assert result.summary["simulated_s"] == pytest.approx((calls - 1) * 1e-3, abs=1e-12)
    assert len(result.signals["time_s"]) == calls - 1
    assert write_result(result, tmp_path / "out").page is not None


def test_a_run_that_ended_on_the_way_has_not_settled(tmp_path: Path) -> None:
    move = {"move": [{"to": {"A": "1e-6 rad"}, "dwell": "0.1 s"}], "solver": {"method": "fast"}}
    result = small.run_case(tmp_path, PLAIN, move, interrupted(100))
    assert len(result.signals["time_s"]) == 99
    assert result.summary["settling_s"] is None
    assert small.run_case(tmp_path, PLAIN, move).summary["settling_s"] == 0.0


def failing(folder: Path, compute: Any) -> SimulationError:
    with pytest.raises(SimulationError) as caught:
        small.run_case(folder, PLAIN, SHORT, PythonLaw(compute, 1e-3, "current"))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.partial, Result)
    assert not caught.value.partial.complete
    return caught.value


def test_a_law_that_raises_keeps_the_result_and_its_cause(tmp_path: Path) -> None:
    def compute(time: float, _signals: Any) -> list[float]:
        return [1.0 / (0.0 if time > 0.0395 else 1.0)]

    error = failing(tmp_path, compute)
    assert str(error) == "small: the control law failed at 0.04 s: ZeroDivisionError: float division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert len(error.partial.signals["time_s"]) == 40


def test_a_law_that_returns_no_number_is_named_with_time_and_motor(tmp_path: Path) -> None:
    error = failing(tmp_path, lambda time, _signals: [math.nan if time > 0.0195 else 0.0])
    expected = "small: the control law returned a value that is not a number at 0.02 s for motor A"
    assert str(error) == expected
    assert len(error.partial.signals["time_s"]) == 20
    assert all(np.isfinite(values).all() for values in error.partial.signals.values())


@pytest.mark.parametrize("answer", [[1.0, 2.0], [], 1.0, ["fast"], None])
def test_a_law_that_returns_something_else_is_refused_with_the_result(tmp_path: Path, answer: Any) -> None:
    error = failing(tmp_path, lambda _time, _signals: answer)
    assert "the control law" in str(error)


def test_an_infinite_command_is_one_at_the_limit(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [math.inf], 1e-3, "current")
    axis = small.axis(motor={**small.DC, "static_friction": "100 N*m"})
    result = small.run_case(tmp_path, small.robot(axes={"A": axis}), SHORT, law)
    assert result.signals["motor_A_current_ref_A"][-1] == 20.0
    assert {entry["kind"] for entry in result.summary["axes"][0]["saturation"]} >= {"current limit"}


# --- what is said before a run ----------------------------------------------------------------------


def test_signals_that_do_not_exist_are_refused_before_the_run_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(
        "format: servotwin-scenario/1\nname: s\nrobot: gsis-scara\nmove:\n  - {to: {A: 1 deg}}\n"
        "record:\n  signals:\n    - motor_A_*\n    - joint_A_positoin_rad\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    text = str(caught.value)
    assert text.startswith(
        f"{path}:9: record.signals.1: no signal is called 'joint_A_positoin_rad'; expected"
    )
    assert text.endswith("did you mean 'joint_A_position_rad'?")
    with pytest.raises(InputError, match=r"record\.signals\.0: no signal is called 'motor_Q_\*'"):
        read_scenario("scara-a-axis-100deg", {"record.signals": "[motor_Q_*]"})


def test_the_known_names_are_those_of_a_run(tmp_path: Path) -> None:
    """Turning and sliding joints, motors of other names than the joints."""
    from servotwin.simulation.results.result import signal_names

    axes = {
        "A": small.axis(gear=None),
        "B": small.merged(small.LIFT, {"parent": "A", "gear": None}),
    }
    belt = {"transmission": {"motors": ["left", "right"], "matrix": [[50, "0 rad/m"], [30, "600 rad/m"]]}}
    result = small.run_case(tmp_path, small.robot(belt, axes=axes), {**small.rest(0.01), "solver": {}})
    assert result.motors == ("left", "right")
    known = signal_names(result.joints, result.prismatic, result.motors)
    # these motors have no thermal data and no d axis, their position loops no integrator
    missing = ("temperature", "d_current", "position_integrator")
    assert list(result.signals) == [name for name in known if not any(word in name for word in missing)]
    assert "joint_B_position_m" in result.signals
    assert write_result(result, tmp_path / "out").page is not None


def test_a_result_that_would_not_fit_into_memory_is_refused(tmp_path: Path) -> None:
    scenario = {"move": [{"to": {"A": "0 rad"}, "dwell": "3000 s"}], "record": {"every": "0.2 ms"}}
    with pytest.raises(
        InputError,
        match=r"record\.every: 1\.5e\+07 rows of 30 signals take .* GB of memory; expected at most 2 GB",
    ):
        small.run_case(tmp_path, PLAIN, scenario)


def test_a_brake_that_would_close_after_the_end_is_told(tmp_path: Path) -> None:
    """The power goes 10 ms before the end, the brake needs 30."""
    axis = small.axis(brake={"torque": "1 N*m", "delay": "30 ms"})
    faults = [{"at": "90 ms", "kind": "power-off"}]
    result = small.run_case(tmp_path, small.robot(axes={"A": axis}), {**SHORT, "faults": faults})
    assert [event.what for event in result.events if event.what.startswith("fault")] == ["fault: power-off"]
    told = [line for line in result.summary["warnings"] if "brake-closes of A at 0.09 s" in line]
    assert len(told) == 1
    assert "would act at 0.12 s, not before the end of the run at 0.1 s: without effect" in told[0]


def test_overrides_need_a_scenario_that_is_not_read_yet() -> None:
    scenario = read_scenario("scara-a-axis-100deg")
    with pytest.raises(InputError, match="not read yet"):
        st.simulate(scenario, {"seed": "2"})
    assert replace(scenario, seed=2).seed == 2
