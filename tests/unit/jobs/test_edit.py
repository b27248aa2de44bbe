"""A point is renamed wherever a job names it, and nowhere else."""

from __future__ import annotations

import pytest

from servotwin.errors import InputError
from servotwin.jobs.edit import rename_point

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
    assert rename_point(TEXT, "P1", "corner") == expected


def test_all_that_is_not_the_point_stays_as_it_is_written() -> None:
    text = "movej   P1 speed 50%#P1\r\n\n\tMOVEL P1   # P1, then P1\r\nMOVEJ P11"
    wanted = "movej   corner speed 50%#P1\r\n\n\tMOVEL corner   # P1, then P1\r\nMOVEJ P11"
    assert rename_point(text, "P1", "corner") == wanted
    assert rename_point(text, "nowhere", "corner") == text


def test_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(InputError, match="meaning of its own"):
        rename_point(TEXT, "P1", "END")
