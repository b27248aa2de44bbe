"""Job texts: what is read, how it is laid out, and what is said when it is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.errors import InputError
from servotwin.jobs import syntax as s
from servotwin.jobs.language import GRAMMAR, format_job, parse, read_job, write_job
from servotwin.jobs.layout import text_of
from servotwin.jobs.problems import JobError
from servotwin.jobs.words import INSTRUCTIONS, KEYWORDS

EVERYTHING = """\
# every instruction

PALLET box ROWS 3 COLUMNS 4 LAYERS 2 ORIGIN P1 ROW P2 COLUMN P3 LAYER 50 mm  # twenty-four
SPEED 50%
PROFILE s-curve
SHAPER two-hump
SHAPER NONE
TOOL gripper
FRAME table
MOVEJ P1 SPEED 50%  # go
MOVEL P2 SPEED 0.5 m/s ACC 1 m/s2 BLEND 5 mm
MOVEC VIA P3 TO P4 OFFSET TOOL 0 mm, 1 mm, -50 mm TIME 2 s
SPLINE P1 P2 P3 PROFILE quintic
WAIT 0.2 s

SET OUT1 ON
WAITFOR IN3 ON TIMEOUT 2 s
WAITFOR IN3 OFF TIMEOUT 2 s ELSE  # late
  ALARM "no part"
END  # of waiting
REPEAT PALLET box
  MOVEL PALLET box ABOVE 100 mm
  NEXT box
  IF n >= 3
    BREAK
  ELSE  # otherwise
    CALL x
    CALL "b.job"
  END
  IF PALLET box FULL
    RESET box
  END
  LET n = -2
  INC n BY m1
  INC n
END
REPEAT FOREVER
  IF IN1 OFF
    STOP
  END
  WAIT 20 ms
END
TOOL NONE
FRAME BASE
SUB x
  RETURN
END
"""


def test_formatted_text_stays_as_it_is() -> None:
    assert format_job(parse(EVERYTHING)) == EVERYTHING


def test_layout_and_case_of_keywords_do_not_matter() -> None:
    wild = EVERYTHING.replace("\n", "\n\n\n").replace("  ", "\t").replace(" mm", "mm").replace("50%", "50 %")
    for word in sorted(KEYWORDS, key=len, reverse=True):
        wild = wild.replace(f"{word} ", f"{word.lower()}   ").replace(f" {word}\r\n", f"  {word.title()}\r\n")
    got = [type(x) for x in parse(wild).body if not isinstance(x, s.Nothing)]
    assert got == [type(x) for x in parse(EVERYTHING).body if not isinstance(x, s.Nothing)]


def test_every_instruction_is_in_the_text_above() -> None:
    words = {line.split()[0] for line in EVERYTHING.splitlines() if line.split()}
    assert set(INSTRUCTIONS) <= words


def test_grammar_declares_exactly_the_keywords() -> None:
    lines = GRAMMAR.read_text(encoding="utf-8").splitlines()
    declared = {word for line in lines if line.startswith("%declare") for word in line.split()[1:]}
    assert declared == KEYWORDS


def test_amounts_are_read_to_si() -> None:
    (move,) = parse("MOVEL P2 SPEED 250 mm/s ACC 50% BLEND 5 mm PROFILE Trapezoid").body
    assert isinstance(move, s.MoveL)
    assert move.manner.speed is not None
    assert move.manner.speed.si == 0.25
    assert move.manner.acc == s.Amount(50.0, "%")
    assert move.manner.blend is not None
    assert move.manner.blend.si == 0.005
    assert move.manner.profile == "trapezoid"


def test_places_are_known() -> None:
    job = parse("\n  MOVEL P2  # x\nREPEAT 2\n WAIT 1 s\nEND", "a.job")
    move, loop = job.body
    assert isinstance(move, s.MoveL)
    assert isinstance(loop, s.Repeat)
    assert move.place == s.Place(2, 3)
    assert s.place_of(move.target.point) == s.Place(2, 9)  # type: ignore[union-attr]
    assert loop.body[0].place == s.Place(4, 2)


def test_empty_lines_are_kept_once_and_comments_always() -> None:
    text = "\n\n# one\n\n\n\nWAIT 1 s#two\nREPEAT 2 # three\n\n# four\nWAIT 1 s\n\nEND\n\n"
    assert format_job(parse(text)) == (
        "# one\n\nWAIT 1 s  # two\nREPEAT 2  # three\n  # four\n  WAIT 1 s\nEND\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MOVJ P1", "a.job:1:1: 'MOVJ' is not an instruction; .*did you mean 'MOVEJ'"),
        ("MOVEJ", "1:6: the line ends; expected a point such as P1 or PALLET"),
        ("MOVEJ P1 SPED 50%", "1:10: 'SPED' stands here; expected .*SPEED.*did you mean 'SPEED'"),
        ("MOVEJ P1 SPEED 50", "1:16: MOVEJ SPEED '50' has no unit; expected a share such as 50%"),
        ("MOVEJ P1 SPEED 1 m/s", "'1 m/s' is a speed; expected a share"),
        ("MOVEJ P1 ACC 1 m/s2", "'1 m/s2' is an acceleration; expected a share"),
        ("MOVEL P1 SPEED 5 furlong", "1:18: 'furlong' is not a unit; expected %, m/s or mm/s"),
        ("MOVEL P1 SPEED 5 mm", "'5 mm' is a length; expected a speed such as 0.5 m/s or a share"),
        ("MOVEL P1 SPEED 500%", "out of range; expected above 0% to 100%"),
        ("MOVEL P1 SPEED -1 m/s", "SPEED '-1 m/s'; expected more than zero"),
        ("MOVEL P1 BLEND -1 mm", "BLEND '-1 mm'; expected zero or more"),
        ("MOVEL P1 BLEND 5 deg", "'5 deg' is an angle; expected a length"),
        ("MOVEL P1 SPEED 5% TIME 2 s", "1:19: SPEED and TIME are both given"),
        ("MOVEL P1 BLEND 5 mm BLEND 5 mm", "1:21: BLEND is given twice"),
        ("MOVEJ SPEED 50%", "1:7: 'SPEED' is a keyword; expected a point"),
        ("MOVEJ mm", "1:7: 'mm' is a unit; expected a point"),
        ("MOVEJ P1 P2", "1:10: 'P2' stands here"),
        ("MOVEC P1 TO P2", "1:7: 'P1' stands here; expected VIA"),
        ("MOVEL P1 OFFSET 1 mm 2 mm", "1:22: '2' stands here; expected ','"),
        ("SPLINE P1", "the line ends; expected a point"),
        ("WAIT", "the line ends; expected a number"),
        ("WAIT 0 s", "WAIT '0 s'; expected more than zero"),
        ("WAIT 2 mm", "'2 mm' is a length; expected a time"),
        ("WAIT 1e999 s", "too large"),
        ("SET OUT1", "1:9: the line ends; expected OFF or ON"),
        ("SET OUT1 ONN", "did you mean 'ON'"),
        ("WAITFOR IN3 ON TIMOUT 2 s", "did you mean 'TIMEOUT'"),
        ("WAIT 1 s\nREPEAT 10\nMOVEJ P1", "2:1: this REPEAT has no END"),
        ("WAITFOR IN1 ON TIMEOUT 1 s ELSE", "1:1: this WAITFOR has no END"),
        ("END", "1:1: END without a block"),
        ("IF IN1 ON\nELSE\nELSE\nEND", "3:1: ELSE without IF"),
        ("REPEAT\nEND", "expected a number, FOREVER or PALLET"),
        ("REPEAT 2.5\nEND", "'2.5'; expected a whole number of rounds from 1"),
        ("REPEAT 0\nEND", "'0'; expected a whole number of rounds from 1"),
        ("SUB a\nSUB b\nEND\nEND", "2:1: SUB inside a block"),
        ("IF n != 3\nEND", "'not equal' is written <>"),
        ("IF n = 1.5\nEND", "expected a whole number"),
        ("LET n 3", "1:7: '3' stands here; expected '='"),
        ("CALL 'x'", "double quotes"),
        ('CALL "abc', 'ends with " in the same line'),
        ('CALL "abc"', "'abc' is not a job file"),
        ("PROFILE trapez", "did you mean 'trapezoid'"),
        ("MOVEJ P1; WAIT 2 s", "1:9: ';' is not understood here"),
        ("PALLET a ROWS 2 ORIGIN P1", "several ROWS but no ROW"),
        ("PALLET a ROWS 2 ROW P1", "no ORIGIN"),
        ("PALLET a ORIGIN P1 LAYER 5 mm", "expected LAYERS of 2 or more"),
        ("PALLET a ROWS 1000 COLUMNS 1000 ORIGIN P1 ROW P2 COLUMN P3", "1000000 places"),
        ("PALLET a ROWS 2 ROWS 2 ORIGIN P1 ROW P2", "ROWS is given twice"),
        ("REPEAT 2\n" * 30 + "END\n" * 30, "nested deeper than 20"),
        ("a\x00b", "1:2: the character U[+]0000"),
        ("x" * 3000, "a line of more than 2000"),
        ("MOVEJ " + "x" * 100, "too long a name"),
        ("WAIT 1 s\n" * 200_000, "longer than"),
    ],
)
def test_mistake_is_explained_with_its_place(text: str, said: str) -> None:
    with pytest.raises(JobError, match=said) as caught:
        parse(text, "a.job")
    assert str(caught.value).startswith("a.job:")
    assert "\n" not in str(caught.value)


def test_error_carries_line_and_column() -> None:
    with pytest.raises(JobError) as caught:
        parse("WAIT 1 s\n  MOVEJ P1 SPEED", "a.job")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("a.job", 2, 17)


def test_file_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "a.job"
    path.write_bytes(b"\xef\xbb\xbfwait 1 s\r\nSET OUT1 ON\r\n")
    job = read_job(path)
    write_job(job, path)
    assert path.read_bytes() == b"WAIT 1 s\nSET OUT1 ON\n"
    assert read_job(path) == job


@pytest.mark.parametrize(("data", "said"), [(None, "no such file"), (b"WAIT \xff", "not UTF-8")])
def test_file_that_cannot_be_read(data: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.job"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_job(path)


def test_statement_without_text_is_refused() -> None:
    with pytest.raises(TypeError):
        text_of(s.Statement())
