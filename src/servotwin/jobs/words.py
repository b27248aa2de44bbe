"""The words of the job language, and the bounds of what it can say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

GRAMMAR = Path(__file__).with_name("job.lark")
KEYWORDS = frozenset(
    str.split(
        """
        MOVEJ MOVEL MOVEC SPLINE VIA TO PALLET ABOVE OFFSET TOOL SPEED TIME ACC BLEND PROFILE OPTIMAL ENERGY FRAME NONE
        SHAPER BASE WAIT SET ON OFF LET INC BY NEXT RESET CALL ALARM BREAK RETURN STOP REPEAT FOREVER END IF ELSE FULL
        WAITFOR TIMEOUT SUB ROWS COLUMNS LAYERS ORIGIN ROW COLUMN LAYER
        """
    )
)
# The words that begin a line.
INSTRUCTIONS = tuple(
    str.split(
        """
        MOVEJ MOVEL MOVEC SPLINE SPEED PROFILE SHAPER TOOL FRAME WAIT WAITFOR SET LET INC NEXT RESET CALL ALARM
        BREAK RETURN STOP REPEAT IF ELSE END SUB PALLET
        """
    )
)
SHAPERS = ("zv", "zvd", "ei", "two-hump")
PROFILES = ("cubic-ramp", "trapezoid", "s-curve", "quintic")
MAX_DEPTH = 20  # blocks within blocks
MAX_COUNT = 1_000_000  # of a REPEAT
MAX_PLACES = 100_000  # of a pallet
MAX_WHOLE = 2**31 - 1  # of a variable


@cache
def _unit() -> re.Pattern[str]:
    """What the grammar takes for a unit."""
    found = re.search(r"^UNIT\S*: /(.*)/$", GRAMMAR.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return re.compile(found[1])


def is_unit(name: str) -> bool:
    """Whether a word is a unit of the language, behind a number."""
    return _unit().fullmatch(name) is not None
