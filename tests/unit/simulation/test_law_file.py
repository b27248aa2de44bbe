"""Control laws and payloads that a scenario file or the command line names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError
from servotwin.simulation.run import prepare
from servotwin.simulation.scenario.law_file import load_law
from servotwin.simulation.scenario.scenario import read_scenario, scenario_names
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
    return st.simulate(path, controller=law, allow_code=law is None).signals["joint_A_position_rad"]


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
        prepare(scenario, allow_code=True)


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
        st.simulate(path, allow_code=True)
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
        st.simulate(path, allow_code=True)
    assert str(caught.value).startswith(f"{tmp_path / 'mylaw.py'}{expected}")


def test_a_law_that_fails_in_the_run_leaves_the_result(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="the control law failed at 0 s: ValueError: no idea"):
        st.simulate(case(tmp_path, {"law": "mylaw.py:fails", "period": "1 ms"}), allow_code=True)


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
        "--allow-code",
    ]
    assert main(options) == 2
    named = f"running the law {tmp_path / 'mylaw.py'}:follow\n"
    assert capsys.readouterr().err.startswith(f"{named}--law: no period: 'follow' does not say")
    assert main([*options, "--period", "1 ms"]) == 0
    assert capsys.readouterr().err.startswith(named)
    assert main([*options, "--period", "1 mm"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("--period: '1 mm' is a length")
    assert main(["simulate", str(path), "--law", "other.py:f"]) == 2
    assert capsys.readouterr().err == "--law: no file 'other.py'; expected a Python file\n"


# --- permission ----------------------------------------------------------------------------------------

LEAVES_A_MARK = """
from pathlib import Path
Path(__file__).with_name("mark").touch()

def follow(time, signals):
    return signals.speed_ref
"""
FOLLOW = {"law": "mylaw.py:follow", "period": "1 ms", "level": "speed"}


def test_a_law_of_a_file_is_not_run_unless_it_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = case(tmp_path, FOLLOW, LEAVES_A_MARK)
    law = tmp_path / "mylaw.py"
    with pytest.raises(InputError) as caught:
        st.simulate(path)
    line = caught.value.line
    expected = (
        f"{path}:{line}: controller.law: '{law}:follow' is Python code, which is not run; "
        "if you trust it, allow it by --allow-code (Python: allow_code=True)"
    )
    assert str(caught.value) == expected
    out = tmp_path / "out"
    assert main(["simulate", str(path), "--no-report", "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"{expected}\n"
    assert not out.exists()
    assert not (tmp_path / "mark").exists()


def test_a_law_of_an_option_is_not_run_unless_it_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case(tmp_path, laws=LEAVES_A_MARK)
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", str(path), "--law", "mylaw.py:follow", "--period", "1 ms"]) == 2
    assert capsys.readouterr().err.startswith("--law: 'mylaw.py:follow' is Python code, which is not run;")
    assert not (tmp_path / "mark").exists()


def test_a_law_of_an_extended_file_is_not_run_unless_it_is_allowed(tmp_path: Path) -> None:
    base = case(tmp_path, FOLLOW, LEAVES_A_MARK)
    variant = tmp_path / "variant.yaml"
    variant.write_text(f"extends: {base.name}\nname: variant\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mylaw\.py:follow' is Python code, which is not run"):
        st.simulate(variant)
    assert not (tmp_path / "mark").exists()


def test_an_allowed_law_is_named_before_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = case(tmp_path, FOLLOW, "raise SystemExit(7)")
    with pytest.raises(InputError, match="SystemExit: 7"):
        prepare(read_scenario(path), allow_code=True)
    assert capsys.readouterr().err == f"running the law {tmp_path / 'mylaw.py'}:follow\n"


@pytest.mark.parametrize("named", ["../mylaw.py", "{folder}/mylaw.py", "sub/../../mylaw.py", "link.py"])
def test_a_law_outside_the_folder_of_its_scenario_is_refused(tmp_path: Path, named: str) -> None:
    (tmp_path / "mylaw.py").write_text(LEAVES_A_MARK, encoding="utf-8")
    folder = tmp_path / "inner"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.py").symlink_to("../mylaw.py")
    path = case(folder, {**FOLLOW, "law": f"{named.format(folder=tmp_path)}:follow"}, LEAVES_A_MARK)
    with pytest.raises(
        InputError, match="leads out of the folder of the scenario; expected a file beside it"
    ):
        st.simulate(path, allow_code=True)
    assert not list(tmp_path.rglob("mark"))


def test_a_link_that_is_laid_after_reading_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    scenario = read_scenario(case(folder, FOLLOW))
    (tmp_path / "other.py").write_text(LEAVES_A_MARK, encoding="utf-8")
    (folder / "mylaw.py").unlink()
    (folder / "mylaw.py").symlink_to("../other.py")
    assert scenario.law is not None
    with pytest.raises(InputError, match="leads out of the folder"):
        load_law(scenario.law, 1)
    assert not list(tmp_path.rglob("mark"))


def test_a_law_below_the_folder_of_its_scenario_runs(tmp_path: Path) -> None:
    (tmp_path / "laws").mkdir()
    path = case(tmp_path, {**FOLLOW, "law": "laws/mylaw.py:follow"})
    (tmp_path / "mylaw.py").rename(tmp_path / "laws/mylaw.py")
    scenario = read_scenario(path)
    assert scenario.law is not None
    assert load_law(scenario.law, 1).level == "speed"


def test_no_shipped_scenario_names_a_law() -> None:
    for name in scenario_names():
        assert read_scenario(name).law is None


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


def test_law_of_a_file_stays_beside_it_whatever_is_allowed_outside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    path = case(tmp_path / "sub", {"law": "../mylaw.py:follow", "period": "1 ms"})
    (tmp_path / "mylaw.py").write_text(LAWS, encoding="utf-8")
    with pytest.raises(InputError, match="leads out of the folder of the scenario"):
        read_scenario(path, allow_outside=True)


def test_law_that_the_user_names_may_lie_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    path = case(tmp_path / "sub")
    (tmp_path / "mylaw.py").write_text(LAWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "sub")
    read = read_scenario(path, {"controller.law": "../mylaw.py:follow", "controller.period": "1 ms"})
    assert read.law is not None
    assert read.law.path == Path("../mylaw.py")
