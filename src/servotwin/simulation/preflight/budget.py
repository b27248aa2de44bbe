"""What a run may take: memory and computing time, as options and arguments give them, and in words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from servotwin.description.nodes import quoted
from servotwin.description.units import parse_quantity
from servotwin.errors import InputError

MAX_MEMORY = 2e9  # byte
MAX_TIME = 3600.0  # s of computing
_UNITS = {
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}


@dataclass(frozen=True)
class Budget:
    """What a run may take: ``memory`` [byte] and ``time`` [s] of computing."""

    memory: float = MAX_MEMORY
    time: float = MAX_TIME


class BudgetError(Exception):
    """A run has computed as long as it may."""


def read_budget(max_memory: float | str | None = None, max_time: float | str | None = None) -> Budget:
    """The limits of a run: numbers in byte and s, or texts with units such as '4 GB' and '2 h'."""
    memory = MAX_MEMORY if max_memory is None else max_memory
    seconds = MAX_TIME if max_time is None else max_time
    if isinstance(memory, str):
        memory = _bytes(memory)
    if isinstance(seconds, str):
        try:
            seconds = parse_quantity(seconds, "s", example="2 h")
        except ValueError as error:
            raise InputError(str(error), field="--max-time") from None
    if not memory > 0.0:
        raise InputError(f"{memory:g} byte; expected more than zero, such as '4 GB'", field="--max-memory")
    if not seconds > 0.0:
        raise InputError(f"{seconds:g} s; expected more than zero, such as '2 h'", field="--max-time")
    return Budget(float(memory), float(seconds))


def _bytes(text: str) -> float:
    """The bytes of a text such as '4 GB' or '500 MiB'."""
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([kMGT]|[KMGT]i|)B\s*", text)
    if match is None:
        raise InputError(
            f"{quoted(text)} is not an amount of memory; expected such as '4 GB'", field="--max-memory"
        )
    return float(match[1]) * _UNITS[match[2]]


def over_time(budget: Budget) -> str:
    """What to say of a run that has computed as long as it may."""
    return f"it has computed for {duration_text(budget.time)}; raise --max-time to let it go on"


# --- words -----------------------------------------------------------------------------------------


def bytes_text(size: float) -> str:
    """An amount of memory for people.

    >>> bytes_text(2e9), bytes_text(1234.0), bytes_text(999.9e6), bytes_text(5e20)
    ('2 GB', '1.23 kB', '1 GB', '5e+08 TB')
    """
    for unit in ("T", "G", "M", "k"):
        if (
            size >= 0.9995 * _UNITS[unit]
        ):  # in three digits that is 1 of the unit, not 1000 of the next smaller one
            return f"{size / _UNITS[unit]:.3g} {unit}B"
    return f"{size:.0f} B"


def duration_text(seconds: float) -> str:
    """A time for people.

    >>> duration_text(3600.0), duration_text(1800.0), duration_text(1e9), duration_text(0.5)
    ('1 h', '1800 s', '31.7 years', '0.5 s')
    """
    if not math.isfinite(seconds):
        return "for ever"
    for size, unit in ((365.25 * 86400.0, "years"), (86400.0, "days"), (3600.0, "h")):
        if seconds >= (2.0 if unit != "h" else 1.0) * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def count_text(count: int) -> str:
    """A count for people: all digits while they are few."""
    return str(count) if count < 10**7 else f"{count:.3g}" if count < 10**300 else "more than 1e+300"
