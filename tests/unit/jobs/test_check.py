"""What the checker finds, where, and what it lets pass."""

from __future__ import annotations

import re

import pytest

from servotwin.jobs.check import Signals, check, used_points
from servotwin.jobs.language import parse
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.problems import Problem

POINTS = (
    Points({f"P{i}": Point(pose=Pose(x=i / 10)) for i in range(1, 5)}, file="a.points.yaml")
    .with_frame("table", Pose())
    .with_tool("gripper", Pose())
    .with_point("J1", Point({"A": 0.1, "Z": 0.02}, frozenset("Z")))
    .with_point("J2", Point({"A": 0.1, "B": 0.02}))
    .with_point("J3", Point({"A": 0.1, "Z": 0.02}))
)


def found(text: str) -> list[Problem]:
    return check(parse(text, "a.job"), POINTS, ("A", "Z"), sliding=(False, True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "MOVEJ P9",
            "a.job:1:7: no point 'P9' in a.points.yaml; expected one of J1, J2, J3, P1, P2, P3, P4$",
        ),
        ("MOVEJ p1", "1:7: .*did you mean 'P1'"),
        ("MOVEC VIA P1 TO P8", "1:17: no point 'P8'"),
        ("SPLINE P1 P8 P2", "1:11: no point 'P8'"),
        ("SPLINE P1 P1 P2", "1:11: point 'P1' twice in a row"),
        ("MOVEC VIA P1 TO P1", "1:1: a circle through one point twice"),
        ("PALLET a ROWS 2 ORIGIN P1 ROW X2", "1:31: no point 'X2'"),
        ("MOVEL PALLET b", "1:14: no pallet 'b'"),
        ("MOVEJ J2", "1:7: point 'J2' has an axis 'B'; expected A, Z"),
        ("MOVEJ J2", "1:7: point 'J2' lacks Z"),
        ("MOVEJ J3", "axis 'Z' of point 'J3'; expected a length"),
        (
            "TOOL griper",
            "1:6: no tool 'griper' in a.points.yaml; expected one of gripper; did you mean 'gripper'",
        ),
        ("FRAME desk", "1:7: no frame 'desk'"),
        ("SET OUT99 ON", "1:5: no output 'OUT99'"),
        ("SET IN1 ON", "no output 'IN1'"),
        ("WAITFOR OUT1 ON", "no input 'OUT1'"),
        ("IF IN99 ON\nEND", "1:4: no input or output 'IN99'"),
        ("IF n < 3\nEND", "1:4: no variable 'n'"),
        ("LET n = 1\nIF n < k\nEND", "2:8: no variable 'k'"),
        ("INC n", "1:5: no variable 'n'"),
        ("LET n = k", "no variable 'k'"),
        ("CALL x", "1:6: no subprogram 'x'"),
        ("NEXT b", "no pallet 'b'"),
        ("RESET b", "no pallet 'b'"),
        ("REPEAT PALLET b\nWAIT 1 s\nEND", "1:15: no pallet 'b'"),
        ("IF PALLET b FULL\nEND", "no pallet 'b'"),
        ("SUB x\nEND\nSUB x\nEND", "3:1: subprogram 'x' is given twice; the first is in line 1"),
        ("PALLET b ORIGIN P1\nPALLET b ORIGIN P1", "2:1: pallet 'b' is given twice"),
        ("BREAK", "1:1: BREAK outside of a loop"),
        ("RETURN", "1:1: RETURN outside of a subprogram"),
        ("REPEAT 2\nCALL x\nWAIT 1 s\nEND\nSUB x\nBREAK\nEND", "6:1: BREAK outside of a loop"),
        ("CALL a\nSUB a\nCALL b\nEND\nSUB b\nCALL a\nEND", "a subprogram calls itself: a calls b calls a"),
        ("CALL a\nSUB a\nCALL a\nEND", "a calls a"),
        ("REPEAT 3\nSET OUT1 ON\nEND", "1:1: a loop without a move or wait"),
        ("REPEAT FOREVER\nEND", "a loop without a move or wait"),
        ("REPEAT 3\nCALL a\nEND\nSUB a\nSET OUT1 ON\nEND", "1:1: a loop without a move or wait"),
        ("REPEAT FOREVER\nIF IN1 ON\nMOVEJ P1\nEND\nEND", "1:1: this loop can go round without"),
        (
            "REPEAT FOREVER\nCALL a\nEND\nSUB a\nIF IN1 ON\nRETURN\nEND\nWAIT 1 s\nEND",
            "this loop can go round",
        ),
        (
            "REPEAT FOREVER\nREPEAT 3\nIF IN1 ON\nBREAK\nEND\nWAIT 1 s\nEND\nEND",
            "this loop can go round without",
        ),
    ],
)
def test_error_is_found_at_its_place(text: str, said: str) -> None:
    errors = [str(p) for p in found(text) if p.error]
    assert any(re.search(said, line) for line in errors), errors


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("STOP\n\n# note\nMOVEJ P1", 4),
        ("REPEAT FOREVER\nWAIT 1 s\nEND\nMOVEJ P1", 4),
        ('IF IN1 ON\nSTOP\nELSE\nALARM "x"\nEND\nMOVEJ P1', 6),
        ("REPEAT 2\nWAIT 1 s\nBREAK\nWAIT 2 s\nEND", 4),
        ("CALL a\nMOVEJ P1\nSUB a\nREPEAT FOREVER\nWAIT 1 s\nEND\nEND", 2),
        ("CALL a\nSUB a\nWAIT 1 s\nRETURN\nWAIT 2 s\nEND", 5),
    ],
)
def test_line_that_is_never_reached_is_a_warning(text: str, line: int) -> None:
    problems = found(text)
    assert [(p.line, p.error) for p in problems if "never reached" in p.message] == [(line, False)]
    assert not any(p.error for p in problems)


def test_subprogram_that_is_never_called_is_a_warning() -> None:
    (problem,) = found("WAIT 1 s\nSUB a\nWAIT 1 s\nEND")
    assert str(problem) == "a.job:2:1: warning: subprogram 'a' is never called"


@pytest.mark.parametrize(
    "text",
    [
        "REPEAT FOREVER\nIF IN1 ON\nMOVEJ P1\nELSE\nWAIT 0.1 s\nEND\nEND",
        "REPEAT FOREVER\nWAITFOR IN1 ON\nEND",
        "REPEAT FOREVER\nIF IN1 ON\nBREAK\nEND\nWAIT 1 s\nEND\nMOVEJ P1",
        "REPEAT 3\nIF IN1 ON\nBREAK\nELSE\nWAIT 1 s\nEND\nEND",
        "REPEAT FOREVER\nCALL a\nEND\nSUB a\nMOVEJ J1\nEND",
        "REPEAT 2\nWAIT 1 s\nREPEAT 2\nBREAK\nEND\nEND".replace(
            "REPEAT 2\nBREAK", "REPEAT 2\nWAIT 1 s\nBREAK"
        ),
        "WAITFOR IN1 ON TIMEOUT 1 s ELSE\nSTOP\nEND\nMOVEJ P1",
        "SUB a\nRETURN\nEND\nCALL a\nMOVEJ P1",
        "LET n = 1\nINC n BY n\nIF n >= n\nMOVEJ P1\nEND",
        "TOOL gripper\nFRAME table\nMOVEL P1\nTOOL NONE\nFRAME BASE",
    ],
)
def test_sound_job_has_no_problem(text: str) -> None:
    assert [str(p) for p in found(text)] == []


def test_signals_of_the_controller_count() -> None:
    signals = Signals(("door",), ("lamp",))
    job = parse("SET lamp ON\nWAITFOR door ON\nIF lamp ON\nEND")
    assert check(job, Points(), signals=signals) == []
    assert len(check(job, Points())) == 3


def test_many_subprograms_are_checked_quickly() -> None:
    subs = [
        f"SUB s{i}\n{f'CALL s{i + 1}' if i < 400 else ''}\n{f'CALL s{i + 1}' if i < 400 else ''}\nEND"
        for i in range(401)
    ]
    problems = check(parse("CALL s0\n" + "\n".join(subs)), Points())
    assert any("deep; expected at most" in p.message for p in problems)


def test_used_points_are_listed_with_their_places() -> None:
    job = parse(
        "PALLET a ROWS 2 ORIGIN P1 ROW P2\nMOVEC VIA P3 TO P1\nREPEAT 2\nSPLINE P1 P4\nMOVEL PALLET a\nEND"
    )
    used = used_points(job)
    assert {name: [p.line for p in places] for name, places in used.items()} == {
        "P1": [1, 2, 4],
        "P2": [1],
        "P3": [2],
        "P4": [4],
    }


def test_job_without_instructions_is_said_but_runs() -> None:
    for text in ("", "# nothing\n", "SUB a\n  MOVEJ P1\nEND\n"):
        assert any("empty job" in p.message and not p.error for p in found(text)), text


@pytest.mark.parametrize("corners", ["ORIGIN P1 ROW P1", "ORIGIN P1 ROW same"])
def test_pallet_whose_corners_are_one_place_is_refused(corners: str) -> None:
    points = POINTS.with_point("same", POINTS["P1"])
    problems = check(parse(f"PALLET box ROWS 2 {corners}\nMOVEJ PALLET box", "a.job"), points)
    assert [p.message for p in problems if p.error] == [
        "ORIGIN and ROW of pallet 'box' are the same place; expected two corners"
    ]


def test_points_beyond_the_limits_of_the_robot_are_found() -> None:
    ranges = {"A": (-3.0, 0.05), "Z": (0.0, 0.02)}

    def said(text: str) -> list[str]:
        job = parse(text, "a.job")
        found = check(job, POINTS, ("A", "Z"), sliding=(False, True), ranges=ranges)
        return [str(p) for p in found if p.error]

    assert said("MOVEJ J1") == [
        "a.job:1:7: axis 'A' of point 'J1' would stand at 5.72958 deg, beyond its limits; allowed are -171.887 deg to "
        "2.86479 deg"
    ]
    assert said("MOVEL J1 OFFSET 0 mm, 0 mm, 5 mm") == []  # where that is, the plan tells
    ranges["A"] = (0.1, 0.2)  # which A stands at exactly
    assert said("MOVEJ J1") == []
