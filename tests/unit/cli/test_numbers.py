"""Numbers in options: whatever is typed, one line that names option, value and what is accepted; exit code 2."""

from __future__ import annotations

import pytest

from servotwin.cli.main import main

JOINTS = "30 deg, 60 deg, 50 mm, 20 deg"
WRONG = ("0", "-1", "nan", "inf", "1e309", "text", "")
HUGE = "1e300"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a command refuses with."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    for alien in ("Traceback", "Invalid value", "Input should", "nPa", "evaluate", "warning"):
        assert alien not in err
    assert "; expected " in err
    return err.strip()


@pytest.mark.parametrize("value", [*WRONG, "101", "50.5", "1e2 m"])
@pytest.mark.parametrize("command", ["plan", "run"])
def test_override_that_is_no_percentage_is_refused(
    capsys: pytest.CaptureFixture[str], command: str, value: str
) -> None:
    line = refused(capsys, "job", command, "scara-line", f"--override={value}")
    wanted = f"'{value}' is not accepted; expected a whole percentage from 1 to 100, such as '50 %'"
    assert line == f"--override: {wanted}"


@pytest.mark.parametrize("value", [*WRONG, "101"])
def test_jog_speed_that_is_no_percentage_is_refused(capsys: pytest.CaptureFixture[str], value: str) -> None:
    line = refused(capsys, "jog", "gsis-scara", "--joint", "A", "--by", "5 deg", f"--speed={value}")
    assert line.startswith(f"--speed: '{value}' is not accepted; expected a percentage above 0 and up to 100")


def test_percent_sign_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    step = ("jog", "gsis-scara", "--joint", "A", "--by", "5 deg", "--json")
    assert main([*step, "--speed", "50"]) == 0
    plain = capsys.readouterr().out
    assert main([*step, "--speed", "50 %"]) == 0
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(
    ("option", "unit", "quantity"),
    [
        ("current", "rad/s", "an angular speed"),
        ("speed", "rad/s", "an angular speed"),
        ("position", "1/s", "a frequency"),
    ],
)
def test_bandwidth_without_unit_is_answered_in_the_unit_of_its_option(
    capsys: pytest.CaptureFixture[str], option: str, unit: str, quantity: str
) -> None:
    line = refused(capsys, "tune", "gsis-scara", f"--{option}", "100")
    place = f"--{option}: bandwidth of the {option} loop"
    assert line == f"{place}: '100' has no unit; expected {quantity}, such as '100 {unit}'"
    line = refused(capsys, "tune", "gsis-scara", f"--{option}=0 {unit}")
    assert line.startswith(f"{place}: '0 {unit}' is none; expected more than zero, such as '")
    assert line.endswith(f" {unit}'")


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize(
    ("words", "option", "shape"),
    [
        (("tune", "gsis-scara"), "--current", "{}"),
        (("tune", "gsis-scara"), "--speed", "{}"),
        (("tune", "gsis-scara"), "--position", "{}"),
        (("tune", "gsis-scara"), "--payload", "{}"),
        (("job", "plan", "scara-line"), "--time-limit", "{}"),
        (("job", "plan", "scara-line"), "--q", "{}, 60 deg, 50 mm, 20 deg"),
        (("jog", "gsis-scara", "--joint", "A"), "--by", "{}"),
        (("jog", "gsis-scara", "--q", JOINTS), "--x", "{}"),
        (("jog", "gsis-scara", "--q", JOINTS), "--rz", "{}"),
        (("fkine", "gsis-scara"), "--q", "{}, 60 deg, 50 mm, 20 deg"),
        (("ikine", "gsis-scara"), "--xyz", "{}, 200 mm, -50 mm"),
        (("ikine", "gsis-scara", "--xyz", "400 mm, 200 mm, -50 mm"), "--rpy", "0 deg, 0 deg, {}"),
        (("rne", "gsis-scara", "--q", JOINTS), "--qd", "{}, 0 deg/s, 0 mm/s, 0 deg/s"),
        (("rne", "gsis-scara", "--q", JOINTS), "--qdd", "{}, 0 deg/s^2, 0 m/s^2, 0 deg/s^2"),
        (("rne", "gsis-scara", "--q", JOINTS), "--payload", "4 kg, 0 mm, 0 mm, {}"),
        (("rne", "gsis-scara", "--q", JOINTS), "--wrench", "{}, 0 N, -20 N, 0 N*m, 0 N*m, 0 N*m"),
    ],
)
def test_quantity_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], option: str, shape: str, value: str
) -> None:
    line = refused(capsys, *words, f"{option}={shape.format(value)}")
    assert line.startswith(f"{option}: ")
    assert (f"'{value}'" in line) or (value == "" and "no value is given" in line)
    assert ", such as '" in line


@pytest.mark.parametrize(
    "words",
    [
        ("tune", "gsis-scara", f"--speed={HUGE} rad/s"),
        ("jog", "gsis-scara", "--q", JOINTS, f"--x=-{HUGE} mm"),
        ("ikine", "gsis-scara", f"--xyz={HUGE} mm, 0 mm, 0 mm"),
        ("rne", "gsis-scara", "--q", JOINTS, f"--qd={HUGE} deg/s, 0 deg/s, 0 m/s, 0 deg/s"),
        ("rne", "gsis-scara", "--q", JOINTS, f"--payload=4 kg, 0 m, 0 m, {HUGE} m"),
        ("job", "plan", "scara-line", f"--q={HUGE} deg, 60 deg, 50 mm, 20 deg"),
    ],
)
def test_quantity_beyond_all_machines_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """A line of so many metres would be planned for minutes."""
    assert "is beyond all machines; expected " in refused(capsys, *words)


@pytest.mark.parametrize(("option", "last"), [("--method", "adaptive"), ("--pwm", "averaged")])
@pytest.mark.parametrize("value", ["0", ""])
def test_simulation_choice_names_its_own_option(
    capsys: pytest.CaptureFixture[str], option: str, last: str, value: str
) -> None:
    line = refused(capsys, "simulate", "scara-a-axis-100deg", f"{option}={value}")
    assert line.startswith(f"{option}: '{value}' is not accepted; expected one of ")
    assert line.endswith(last)


def test_pose_of_a_tuning_beyond_the_limits_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "gsis-scara", "--q", "200 deg, 0 deg, 0 mm, 0 deg", "--json"]) == 0
    assert "note: outside the limits: A" in capsys.readouterr().err
