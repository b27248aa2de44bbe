"""What ``check`` knows of an actuator of the user's without running its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.main import main
from tests import small_drives as small
from tests.unit.drives.test_own_actuator import CONSTANT, FILE, LAG, own_robot

TRAP = "import pathlib; pathlib.Path({mark!r}).touch()\n"


def checked(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str | None = FILE, **motor: Any
) -> tuple[int, str]:
    """Exit code of ``check`` and its words, for robot and scenario; nothing of the file runs."""
    mark = folder / "mark"
    if text is not None:
        (folder / "lagged.py").write_text(TRAP.format(mark=str(mark)) + text, encoding="utf-8")
    small.write_case(folder, own_robot(**motor))
    codes = [main(["check", str(folder / name)]) for name in ("robot.yaml", "scenario.yaml")]
    assert codes[0] == codes[1]
    assert not mark.exists()
    printed = capsys.readouterr()
    return codes[0], printed.out + printed.err


def test_good_actuator_is_accepted_and_what_is_not_checked_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = checked(tmp_path, capsys)
    assert code == 0
    assert (
        "motor A: 'lagged.py:LAGGED' is Python code, which check does not run; not checked: equations" in said
    )


GOOD = {"constant": f"{CONSTANT} N*m/A", "lag": f"{LAG} s"}
BAD: dict[str, tuple[str | None, dict[str, Any], str]] = {
    "no file": (None, {}, "no file 'lagged.py' beside the robot file"),
    "unknown parameter": (
        FILE,
        {"parameters": {**GOOD, "lagg": "1 s"}},
        "motor.parameters.lagg: the actuator has no such parameter; expected constant, lag",
    ),
    "missing parameter": (
        FILE,
        {"parameters": {"lag": "1 s"}},
        "'constant' is missing; expected a number in N*m/A",
    ),
    "unit": (FILE, {"parameters": {**GOOD, "lag": "1 m"}}, "motor.parameters.lag"),
    "unit declared": (FILE.replace('"lag": "s"', '"lag": "sec0nd"'), {}, "parameters 'lag'"),
    "too many states": (
        FILE.replace('{"torque": "N*m"}', str({f"x{i}": "m" for i in range(4)})),
        {},
        "4 states; expected at most 3",
    ),
    "states in a list": (FILE.replace('{"torque": "N*m"}', '["torque"]'), {}, "expected names with units"),
    "no such name": (
        FILE.replace("LAGGED =", "LAGED ="),
        {},
        "has no Actuator 'LAGGED'; did you mean 'LAGED'",
    ),
    "no Python": ("def rates(:\n", {}, "lagged.py:2: not Python"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_can_be_read_without_running_it_is_checked(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, motor, expected = BAD[what]
    code, said = checked(tmp_path, capsys, text, **motor)
    assert code == 2
    assert len(said.splitlines()) == 2
    assert expected in said


COMPUTED = {
    "computed": FILE.replace('{"constant": "N*m/A", "lag": "s"}', "dict(constant='N*m/A', lag='s')"),
    "bound twice": FILE + "LAGGED = LAGGED\n",
    "made elsewhere": FILE.replace("LAGGED =", "other =") + "globals()['LAGGED'] = other\n",
}


@pytest.mark.parametrize("what", COMPUTED)
def test_what_only_the_code_knows_is_left_open_and_said(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = checked(tmp_path, capsys, COMPUTED[what], parameters={"nobody": "knows"})
    assert code == 0
    assert "not checked: parameters" in said


def test_home_outside_the_limits_of_its_joint_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = {"limits": {"position": ["-1 rad", "90 deg"]}}
    for home, code in (("90 deg", 0), ("91 deg", 2)):
        robot = small.robot({"home": {"A": home}}, axes={"A": small.axis(**limits)})
        small.write_case(tmp_path, robot)
        assert main(["check", str(tmp_path / "robot.yaml")]) == code
    assert "home.A: 91 deg is outside limits.position of the joint; expected -57.2958 deg to 90 deg" in (
        capsys.readouterr().err
    )
