"""Job programs: every job survives its own text, and no text gives anything but a job or one clear line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from servotwin.description.plain_text import hidden_character
from servotwin.errors import InputError
from servotwin.jobs import requests as r
from servotwin.jobs import syntax as s
from servotwin.jobs.build_blocks import tidy
from servotwin.jobs.check import Signals, check, used_points
from servotwin.jobs.interpreter import Interpreter
from servotwin.jobs.language import format_job, parse
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.points_file import parse_points, points_text
from servotwin.jobs.program import SHIPPED, Program, job_names
from servotwin.jobs.words import INSTRUCTIONS, KEYWORDS, PROFILES, SHAPERS

UNITS = ("m", "mm", "um", "cm", "inch", "s", "ms", "min", "deg", "rad")
NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,5}(-[a-z0-9]{1,3})?\Z").filter(
    lambda name: name.upper() not in KEYWORDS and name not in UNITS
)
POINTS = st.sampled_from(["P1", "P2", "P3", "above-box"])
PALLETS = st.sampled_from(["box", "tray"])
COMMENTS = st.one_of(
    st.just(""),
    st.text(st.characters(exclude_categories=("C", "Z")), max_size=12),
    st.sampled_from(["# x", "END", "ä \" '"]),
)
POSITIVE = st.floats(1e-6, 900.0)
ANY = st.floats(-1e3, 1e3)


def amounts(units: tuple[str, ...], numbers: Any = POSITIVE) -> Any:
    return st.builds(s.Amount, numbers.map(lambda v: v + 0.0), st.sampled_from(units))


SHARES = amounts(("%",), st.floats(1e-3, 100.0))
LENGTHS = amounts(("mm", "m", "cm", "inch", "um"), ANY)
TIMES = amounts(("s", "ms", "min"))
OFFSETS = st.none() | st.builds(s.Offset, LENGTHS, LENGTHS, LENGTHS, st.booleans())
POINT_TARGETS = st.builds(s.PointTarget, POINTS, OFFSETS)
TARGETS = POINT_TARGETS | st.builds(s.PalletTarget, PALLETS, st.none() | LENGTHS, OFFSETS)


@st.composite
def manners(draw: st.DrawFn, joints: bool = False) -> s.Manner:
    timed = draw(st.booleans())
    speeds = SHARES if joints else SHARES | amounts(("m/s", "mm/s", "m/min", "cm/s"))
    accelerations = SHARES if joints else SHARES | amounts(("m/s2", "mm/s2"))
    return s.Manner(
        None if timed else draw(st.none() | speeds),
        draw(st.none() | TIMES) if timed else None,
        draw(st.none() | accelerations),
        draw(st.none() | amounts(("mm", "m"), st.floats(0.0, 100.0))),
        draw(st.none() | st.sampled_from(PROFILES)),
    )


WHOLE = st.integers(-(2**31) + 1, 2**31 - 1)
OPERANDS = WHOLE | NAMES
SIGNALS = st.sampled_from(["IN1", "IN2", "OUT1", "door"])
TEXTS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters='"'), max_size=10)
NOTE = {"comment": COMMENTS}

SIMPLE = st.one_of(
    st.builds(s.MoveJ, TARGETS, manners(joints=True), **NOTE),
    st.builds(s.MoveL, TARGETS, manners(), **NOTE),
    st.builds(s.MoveC, TARGETS, TARGETS, manners(), **NOTE),
    st.builds(s.Spline, st.lists(POINTS, min_size=2, max_size=5).map(tuple), manners(), **NOTE),
    st.builds(s.SpeedDefault, SHARES, **NOTE),
    st.builds(s.ProfileDefault, st.sampled_from(PROFILES), **NOTE),
    st.builds(s.ShaperDefault, st.none() | st.sampled_from(SHAPERS), **NOTE),
    st.builds(s.UseTool, st.none() | NAMES, **NOTE),
    st.builds(s.UseFrame, st.none() | NAMES, **NOTE),
    st.builds(s.Wait, TIMES, **NOTE),
    st.builds(s.SetOutput, SIGNALS, st.booleans(), **NOTE),
    st.builds(s.WaitFor, SIGNALS, st.booleans(), st.none() | TIMES, **NOTE),
    st.builds(s.Let, NAMES, OPERANDS, **NOTE),
    st.builds(s.Inc, NAMES, OPERANDS, **NOTE),
    st.builds(s.Next, PALLETS, **NOTE),
    st.builds(s.Reset, PALLETS, **NOTE),
    st.builds(s.Call, NAMES, **NOTE),
    st.builds(s.CallFile, NAMES.map(lambda name: f"{name}.job"), **NOTE),
    st.builds(s.Alarm, TEXTS, **NOTE),
    st.builds(s.Break, **NOTE),
    st.builds(s.Return, **NOTE),
    st.builds(s.Stop, **NOTE),
    st.builds(s.Nothing, **NOTE),
)
CONDITIONS = st.one_of(
    st.builds(s.SignalIs, SIGNALS, st.booleans()),
    st.builds(s.Compare, NAMES, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), OPERANDS),
    st.builds(s.PalletFull, PALLETS),
)


def bodies(inner: Any) -> Any:
    return st.lists(inner, max_size=4).map(tidy)


def blocks(inner: Any) -> Any:
    body = bodies(inner)
    return st.one_of(
        st.builds(s.Repeat, st.none() | st.integers(1, 10**6) | PALLETS, body, COMMENTS, **NOTE),
        st.builds(s.If, CONDITIONS, body, st.none(), st.just(""), COMMENTS, **NOTE),
        st.builds(s.If, CONDITIONS, body, body, COMMENTS, COMMENTS, **NOTE),
        st.builds(s.WaitFor, SIGNALS, st.booleans(), TIMES, body, COMMENTS, **NOTE),
    )


ITEMS = st.recursive(SIMPLE, blocks, max_leaves=8)


@st.composite
def pallets(draw: st.DrawFn) -> s.Pallet:
    rows, columns, layers = (draw(st.integers(1, 9)) for _ in range(3))
    return s.Pallet(
        draw(PALLETS),
        draw(POINTS),
        rows,
        columns,
        layers,
        draw(POINTS) if rows > 1 else None,
        draw(POINTS) if columns > 1 else None,
        draw(amounts(("mm", "m"))) if layers > 1 else None,
        comment=draw(COMMENTS),
    )


SUBS = st.builds(s.Sub, NAMES, bodies(ITEMS), COMMENTS, **NOTE)
JOBS = st.lists(ITEMS | SUBS | pallets(), max_size=8).map(lambda body: s.Job(tidy(body)))


@settings(max_examples=150)
@given(JOBS)
def test_every_job_survives_its_text(job: s.Job) -> None:
    text = format_job(job)
    again = parse(text)
    assert again == job
    assert format_job(again) == text


@settings(max_examples=60)
@given(JOBS, st.randoms(use_true_random=False))
def test_layout_does_not_change_a_job(job: s.Job, random: Any) -> None:
    """Keywords in any case, spaces doubled, tabs before lines; comments and texts are left alone."""
    lines = []
    for line in format_job(job).splitlines():
        if "#" in line or '"' in line:
            lines.append(" " + line)
            continue
        words = [w.swapcase() if w in KEYWORDS and random.random() < 0.5 else w for w in line.split()]
        lines.append("\t" + "  ".join(words) + " \r")
    assert parse("\n".join(lines)) == job


TEXTS_OF_JOBS = [(SHIPPED / f"{name}.job").read_text(encoding="utf-8") for name in job_names()]
PIECES = [
    *INSTRUCTIONS,
    *KEYWORDS,
    "P1",
    "50%",
    "5 mm",
    "0.5 m/s",
    "-1",
    "1e400",
    ".",
    "#",
    '"',
    ",",
    "<",
    "=",
    "\n",
    "\n\n",
]
PIECES += [
    "\x00",
    "\u2028",
    "é",
    "END\n",
    "REPEAT 2\n",
    "(" * 50,
    "9" * 400,
    "\t",
    "\r",
    "'",
    "m/s2",
    "1e",
    "%",
    " ",
]


def check_text(text: str) -> None:
    try:
        job = parse(text, "a.job")
    except InputError as error:
        line = str(error)
        assert line.startswith("a.job:")
        assert "\n" not in line
        assert line.isprintable()
        assert len(line) < 400
        return
    assert parse(format_job(job)) == job
    for problem in check(job, Points()):
        assert "\n" not in str(problem)
    used_points(job)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of a job with a few pieces cut out, doubled, moved or replaced."""
    text = draw(st.sampled_from(TEXTS_OF_JOBS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 20, 100])))
        other = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from([*PIECES, text[start:end], text[other : other + 30]]))
        text = text[:start] + piece + text[end:]
    return text


@settings(max_examples=500)
@given(mutated())
def test_mutated_job_gives_a_job_or_an_input_error(text: str) -> None:
    check_text(text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
@example("REPEAT 2\n" * 3000 + "END\n" * 3000)
@example("IF IN1 ON\n" * 5000)
@example("END\n" * 5000)
def test_any_words_give_a_job_or_an_input_error(text: str) -> None:
    check_text(text)


@given(st.text(max_size=100))
def test_any_text_gives_a_job_or_an_input_error(text: str) -> None:
    check_text(text)


# --- running ---------------------------------------------------------------------------------------


class Slides:
    """A robot of three slides."""

    joint_names = ("x", "y", "z")

    def fkine(self, q: Any) -> Any:
        X = np.eye(4)
        X[:3, 3] = q
        return X


TAUGHT = Points({name: Point(pose=Pose(x=i / 10)) for i, name in enumerate(["P1", "P2", "P3", "above-box"])})


@settings(max_examples=100)
@given(JOBS, st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=40))
def test_any_job_runs_to_requests_without_a_crash(job: s.Job, course: list[tuple[bool, bool, bool]]) -> None:
    """Two runs with the same inputs give the same requests; an ended job stays ended."""
    first, second = (Interpreter(Program(job, TAUGHT), Slides()) for _ in range(2))
    for one, two, late in course:
        inputs = {"IN1": one, "IN2": two}
        request, same = first.advance(inputs, timed_out=late), second.advance(inputs, timed_out=late)
        assert type(request) is type(same)
        assert request.where == same.where
        if isinstance(request, r.Motion):
            assert all(np.isfinite(target.X).all() for target in request.targets)
        if first.ended:
            assert isinstance(first.advance(inputs), r.End)


@settings(max_examples=100)
@given(JOBS, st.booleans())
def test_job_without_errors_never_meets_the_bound_of_silent_instructions(job: s.Job, on: bool) -> None:
    """What the checker lets pass asks for something in time."""
    body = tuple(x for x in job.body if not isinstance(x, s.CallFile))
    job = replace(job, body=body)
    problems = check(job, TAUGHT, signals=Signals(("IN1", "IN2", "door"), ("OUT1",)))
    if any("loop" in p.message or "calls itself" in p.message for p in problems):
        return
    interpreter = Interpreter(Program(job, TAUGHT), Slides())
    for _ in range(30):
        request = interpreter.advance({"IN1": on})
        if isinstance(request, r.ProgramAlarm):
            assert "without a move or wait" not in request.text
        if interpreter.ended:
            break


# --- points ----------------------------------------------------------------------------------------

COORDINATES = st.floats(-1e3, 1e3).map(lambda v: v + 0.0)
POSES = st.builds(Pose, *([COORDINATES] * 6))
VISIBLE = st.characters(exclude_categories=["Cs", "Cc"]).filter(lambda c: hidden_character(c) is None)
NOTES = st.text(VISIBLE, max_size=30).map(lambda t: " ".join(t.encode("utf-8", "ignore").decode().split()))
TAUGHT_POINTS = st.one_of(
    st.builds(lambda pose, note: Point(pose=pose, note=note), POSES, NOTES),
    st.builds(
        lambda a, b, note: Point({"A": a, "Z": b}, frozenset("Z"), note=note), COORDINATES, COORDINATES, NOTES
    ),
)
POINT_NAMES = NAMES.filter(lambda name: name not in ("source", "assumed", "value"))


@settings(max_examples=150)
@given(
    st.dictionaries(POINT_NAMES, TAUGHT_POINTS, max_size=4),
    st.dictionaries(POINT_NAMES, POSES, max_size=2),
    st.dictionaries(POINT_NAMES, POSES, max_size=2),
)
def test_points_survive_their_text_exactly(
    points: dict[str, Point], frames: dict[str, Pose], tools: dict[str, Pose]
) -> None:
    whole = Points(points, frames, tools, "gsis-scara")
    again = parse_points(points_text(whole))
    assert again == whole
    assert list(again.points) == list(points)


@settings(max_examples=150)
@given(st.sampled_from(job_names()), st.data())
def test_mutated_points_file_gives_points_or_an_input_error(name: str, data: st.DataObject) -> None:
    text = (SHIPPED / f"{name}.points.yaml").read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    piece = data.draw(
        st.sampled_from([*PIECES, ":", "{", "}", "[", "null", "&a", "*a", "joints: ", "x: 1 m"])
    )
    text = text[:start] + piece + text[start + data.draw(st.integers(0, 20)) :]
    try:
        parse_points(text, "a.yaml")
        line = ""
    except InputError as error:
        line = str(error)
    assert "\n" not in line
    assert len(line) < 1500
