"""How much a job does at least: rounds are multiplied, not run; what may be left early counts once."""

from __future__ import annotations

import pytest

from servotwin.jobs.language import parse
from servotwin.jobs.length import MOST, Length, least_length
from servotwin.jobs.points import Points
from servotwin.jobs.program import Program


def length(text: str, called: dict[str, Program] | None = None) -> Length:
    return least_length(Program(parse(text), Points(), called or {}))


@pytest.mark.parametrize(
    ("text", "seconds", "moves"),
    [
        ("WAIT 2 s\nWAIT 500 ms\n", 2.5, 0),
        ("MOVEJ P1\nMOVEL P2 TIME 3 s\n", 3.0, 2),
        ("REPEAT 1000\nREPEAT 1000\nREPEAT 1000\nMOVEJ P1\nWAIT 1 s\nEND\nEND\nEND\n", 1e9, 10**9),
        ("SUB a\nREPEAT 10\nWAIT 1 s\nEND\nEND\nREPEAT 5\nCALL a\nEND\n", 50.0, 0),
        ("PALLET p ROWS 4 COLUMNS 5 ORIGIN P1 ROW P2 COLUMN P3\nREPEAT PALLET p\nMOVEJ PALLET p\nEND\n", 0.0, 20),
        ("IF IN1 ON\nWAIT 5 s\nELSE\nWAIT 3 s\nEND\n", 3.0, 0),
        ("IF IN1 ON\nWAIT 5 s\nEND\n", 0.0, 0),
        ("IF IN1 ON\nREPEAT 1000\nMOVEJ P1\nEND\nELSE\nWAIT 3 s\nEND\n", 0.0, 0),
        ("WAITFOR IN1 ON TIMEOUT 5 s\nWAIT 1 s\n", 1.0, 0),
        ("REPEAT FOREVER\nWAIT 1 s\nEND\n", 1.0, 0),
        ("REPEAT 1000\nWAIT 1 s\nIF IN1 ON\nBREAK\nEND\nEND\nWAIT 4 s\n", 5.0, 0),
        ("REPEAT 1000\nWAIT 1 s\nIF IN1 ON\nSTOP\nEND\nEND\nWAIT 4 s\n", 1.0, 0),
        ("SUB a\nIF IN1 ON\nRETURN\nEND\nWAIT 9 s\nEND\nCALL a\nWAIT 1 s\n", 1.0, 0),
        ("ALARM \"no\"\nWAIT 9 s\n", 0.0, 0),
    ],
)  # fmt: skip
def test_least_length_counts_what_is_certain(text: str, seconds: float, moves: int) -> None:
    found = length(text)
    assert (found.seconds, found.moves) == (pytest.approx(seconds), moves)


def test_least_length_files_are_counted_once_and_added_as_often_as_they_are_called() -> None:
    inner = Program(parse("WAIT 2 s\n"), Points())
    middle = Program(parse('CALL "i.job"\nCALL "./i.job"\n'), Points(), {"i.job": inner, "./i.job": inner})
    found = length('REPEAT 100\nCALL "m.job"\nEND\n', {"m.job": middle})
    assert found.seconds == pytest.approx(400.0)


def test_least_length_after_a_file_that_may_stop_the_job_counts_nothing() -> None:
    checks = Program(parse("WAIT 1 s\nIF IN1 ON\nSTOP\nEND\n"), Points())
    through = Program(parse('CALL "c.job"\nWAIT 5 s\n'), Points(), {"c.job": checks})
    text = 'REPEAT 100\nCALL "{}"\nEND\nWAIT 9 s\n'
    assert length(text.format("c.job"), {"c.job": checks}).seconds == pytest.approx(1.0)
    assert length(text.format("t.job"), {"t.job": through}).seconds == pytest.approx(1.0)


def test_least_length_beyond_all_numbers_stays_a_number() -> None:
    block = "REPEAT 1000000\n" * 18 + "{}\n" + "END\n" * 18
    subs = "".join(f"SUB s{i}\n{block.format(f'CALL s{i + 1}')}END\n" for i in range(15))
    found = length(f"{subs}SUB s15\nMOVEJ P1\nWAIT 1000000 s\nEND\nCALL s0\n")
    assert (found.seconds, found.moves, found.instructions) == (float(MOST), MOST, MOST)
