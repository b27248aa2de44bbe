"""A point is renamed wherever a job names it, and nowhere else."""

from __future__ import annotations

import pytest

from servotwin.errors import InputError
from servotwin.jobs.edit import rename_point
from servotwin.jobs.language import format_job, parse

TEXT = """\
# P1 is the corner
PALLET P1 ROWS 2 COLUMNS 2 ORIGIN P1 ROW P1 COLUMN P10
REPEAT 2  # P1
  IF P1 = 3
    MOVEC VIA P1 OFFSET 0 mm, 0 mm, 5 mm TO P2 SPEED 50%
  ELSE
    SPLINE P2 P1 P10
  END
  WAITFOR IN1 ON TIMEOUT 1 s ELSE
    MOVEJ P1
  END
END
SUB P1
  MOVEL PALLET P1
END
"""


def test_renamed_point_is_renamed_in_moves_splines_and_pallets() -> None:
    expected = TEXT.replace("ORIGIN P1 ROW P1", "ORIGIN corner ROW corner").replace("VIA P1", "VIA corner")
    expected = expected.replace("P2 P1 P10", "P2 corner P10").replace("MOVEJ P1", "MOVEJ corner")
    assert format_job(rename_point(parse(TEXT), "P1", "corner")) == expected


def test_places_of_lines_are_kept() -> None:
    job = parse("\nMOVEJ P1")
    assert rename_point(job, "P1", "P2").body[0].place == job.body[0].place


def test_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InputError, match="meaning of its own"):
        rename_point(parse(TEXT), "P1", "END")
