"""Control laws and payloads that a scenario file or the command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError
from servotwin.simulation.law_file import load_law
from servotwin.simulation.run import prepare
from servotwin.simulation.scenario import read_scenario
from tests import small_drives as small

MOVE = {"move": [{"to": {"A": "0.2 rad"}}], "solver": {"method": "fast"}}
LAWS = """
import numba
import servotwin as st

def follow(time, signals):
    return signals.speed_ref + 30.0 * (signals.position_ref - signals.position)

@numba.njit
def compiled(time, signals, memory, command):
    memory[1] += 1.0
    for j in range(command.size):
        command[j] = signals[1, j] + 30.0 * (signals[0, j] - signals[3, j])

ready = st.PythonLaw(follow, period=1e-3, level="speed")
number = 3

def fails(time, signals):
    raise ValueError("no idea")

@numba.njit
def untyped(time, signals, memory, command):
    command[0] = signals.position
"""


def case(folder: Path, controller: dict[str, Any] | None = None, laws: str = LAWS, **more: Any) -> Path:
    (folder / "mylaw.py").write_text(laws, encoding="utf-8")
    named = {"controller": controller} if controller else {}
    return small.write_case(folder, small.robot(), {**MOVE, **named, **more})


def positions(path: Path, law: Any = None) -> np.ndarray:
    return st.simulate(path, controller=law).signals["joint_A_position_rad"]


def follow(_time: float, signals: Any) -> Any:
    return signals.speed_ref + 30.0 * (signals.position_ref - signals.position)


@pytest.mark.parametrize(
    "controller",
    [
        {"law": "mylaw.py:follow", "period": "1 ms", "level": "speed"},
        {"law": "mylaw.py:compiled", "period": "1 ms", "level": "speed", "memory": 2},
        {"law": "mylaw.py:ready"},
    ],
    ids=["function", "compiled", "ready"],
)
def test_a_law_of_the_file_runs_as_the_same_law_from_python(
    tmp_path: Path, controller: dict[str, Any]
) -> None:
    plain = positions(case(tmp_path))
    wanted = positions(case(tmp_path), st.PythonLaw(follow, 1e-3, "speed"))
    found = positions(case(tmp_path, controller))
    assert not np.array_equal(wanted, plain)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_law_of_the_call_replaces_that_of_the_file(tmp_path: Path) -> None:
    law = st.PythonLaw(lambda _time, _signals: [0.0], 1e-3, "speed")
    path = case(tmp_path, {"law": "mylaw.py:ready"})
    assert np.abs(positions(path, law)).max() < 1e-6


def test_period_and_level_of_the_scenario_replace_those_of_a_ready_law(tmp_path: Path) -> None:
    scenario = read_scenario(case(tmp_path, {"law": "mylaw.py:ready", "period": "2 ms", "level": "current"}))
    assert scenario.law is not None
    law = load_law(scenario.law, 1)
    assert (law.period, law.level) == (2e-3, "current")


def test_reading_a_scenario_does_not_run_its_law(tmp_path: Path) -> None:
    path = case(tmp_path, {"law": "mylaw.py:follow", "period": "1 ms"}, "raise SystemExit(7)")
    scenario = read_scenario(path)
    assert scenario.plain()["controller"]["law"].endswith("mylaw.py:follow")
    with pytest.raises(InputError, match=r"mylaw\.py:1: the law cannot be loaded: SystemExit: 7"):
        prepare(scenario)


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        (
            {"law": "mylaw.py"},
            "controller.law: 'mylaw.py' is not FILE.py:NAME; expected such as 'mylaw.py:follow'",
        ),
        (
            {"law": "none.py:f"},
            "controller.law: no file 'none.py' beside the scenario; expected a Python file",
        ),
        (
            {"law": "mylaw.py:f", "level": "force"},
            "controller.level: 'force' is not accepted; expected one of speed",
        ),
        ({"law": "mylaw.py:f", "period": "1 m"}, "controller.period: '1 m' is a length"),
        (
            {"law": "mylaw.py:folow", "period": "1 ms"},
            "controller.law: mylaw.py has no 'folow'; expected a function",
        ),
        ({"law": "mylaw.py:folow", "period": "1 ms"}, "did you mean 'follow'"),
        (
            {"law": "mylaw.py:follow"},
            "controller.period: no period: 'follow' does not say how often it is called",
        ),
        (
            {"law": "mylaw.py:number", "period": "1 ms"},
            "controller.law: 'number' is of type int; expected a function",
        ),
        (
            {"law": "mylaw.py:untyped", "period": "1 ms"},
            "controller.law: numba cannot compile it, mylaw.py:22: TypingError: Unknown attribute 'position'",
        ),
    ],
)
def test_a_law_that_cannot_run_is_one_line_with_its_place(
    tmp_path: Path, controller: dict[str, Any], expected: str
) -> None:
    path = case(tmp_path, controller)
    with pytest.raises(InputError) as caught:
        st.simulate(path)
    text = str(caught.value)
    assert expected in text
    assert text.startswith(f"{path}:")
    assert caught.value.line
    assert "\n" not in text


@pytest.mark.parametrize(
    ("laws", "expected"),
    [
        ("x = 1\ndef f(:\n", ":2: not Python: "),
        (
            "x = 1\n\nimport no_such_module\n",
            ":3: the law cannot be loaded: ModuleNotFoundError: No module named",
        ),
        (
            "def g():\n    return 1 / 0\n\ng()\n",
            ":2: the law cannot be loaded: ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_broken_file_is_told_with_its_own_line(tmp_path: Path, laws: str, expected: str) -> None:
    path = case(tmp_path, {"law": "mylaw.py:f", "period": "1 ms"}, laws)
    with pytest.raises(InputError) as caught:
        st.simulate(path)
    assert str(caught.value).startswith(f"{tmp_path / 'mylaw.py'}{expected}")


def test_a_law_that_fails_in_the_run_leaves_the_result(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="the control law failed at 0 s: ValueError: no idea"):
        st.simulate(case(tmp_path, {"law": "mylaw.py:fails", "period": "1 ms"}))


def test_the_command_line_names_a_law(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = [
        "simulate",
        str(path),
        "--no-report",
        "--out",
        "out",
        "--law",
        "mylaw.py:follow",
        "--level",
        "speed",
    ]
    assert main(options) == 2
    assert capsys.readouterr().err.startswith("--law: no period: 'follow' does not say")
    assert main([*options, "--period", "1 ms"]) == 0
    assert main([*options, "--period", "1 mm"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("--period: '1 mm' is a length")
    assert main(["simulate", str(path), "--law", "other.py:f"]) == 2
    assert capsys.readouterr().err == "--law: no file 'other.py' in this folder; expected a Python file\n"


# --- payload ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload", ["2 kg", {"mass": "2 kg"}, {"mass": "2 kg", "center": ["0 m", "0 m", "10 mm"]}]
)
def test_payload_is_short_for_a_change_of_the_robot(tmp_path: Path, payload: Any) -> None:
    scenario = read_scenario(case(tmp_path, payload=payload))
    assert scenario.description.payload is not None
    assert scenario.plant_description.payload is not None
    assert scenario.plant_description.payload.mass == 2.0
    assert scenario.set["payload.mass"] == "2 kg"
    if "center" in payload:
        assert scenario.description.payload.center == (0.0, 0.0, 0.01)


def test_payload_of_the_catalogue_robot_keeps_its_other_fields() -> None:
    load = read_scenario("scara-full-range", {"payload": "1 kg"}).description.payload
    assert load is not None
    assert (load.mass, load.largest) == (1.0, 4.0)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"payload": "2 m"}, "payload.mass: '2 m' is a length; expected a mass"),
        ({"payload": {"weight": "2 kg"}}, "payload.weight: unknown field; expected one of"),
        ({"payload": ["2 kg"]}, "payload: a list stands here; expected a mass, such as '2 kg', or a mapping"),
        (
            {"payload": "2 kg", "set": {"payload.mass": "1 kg"}},
            "payload: set.payload.mass is stated as well; expected one of them",
        ),
    ],
)
def test_payload_that_cannot_be_accepted_says_why(
    tmp_path: Path, more: dict[str, Any], expected: str
) -> None:
    path = case(tmp_path, **more)
    with pytest.raises(InputError) as caught:
        read_scenario(path)
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: {expected}")


def test_payload_of_the_command_line_wins(tmp_path: Path) -> None:
    path = case(tmp_path, payload={"mass": "2 kg", "center": ["0 m", "0 m", "10 mm"]})
    (short,) = {read_scenario(path, {"payload": "3 kg"}).description.payload}
    assert short is not None
    assert (short.mass, short.center) == (3.0, (0.0, 0.0, 0.0))
    dotted = read_scenario(path, {"set.payload.mass": "3 kg"}).description.payload
    assert dotted is not None
    assert (dotted.mass, dotted.center) == (3.0, (0.0, 0.0, 0.01))
