"""Measured signals from a table of text: a time column, and columns named like the simulator's signals.

The unit stands at the end of a column's name, ``joint_A_position_deg`` or
``joint A position [deg]``, and is converted to SI. Columns with other names
are given theirs by a mapping: ``joint_A_position_rad=enc1_deg``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from servotwin.description.nodes import one_line, quoted
from servotwin.description.quantities import dimension_name
from servotwin.description.units import did_you_mean, dimension_of, parse_quantity
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.comparing.csv_table import open_csv
from servotwin.simulation.preflight.budget import MAX_MEMORY
from servotwin.simulation.results.result import matching_signals

MIN_ROWS = 4
OVERHEAD = 3  # memory of a comparison in that of the columns that were read
LISTED = 12  # names in a message
LONGEST_NAME = 300  # characters; no signal has a longer one
UNIT_PARTS = 8  # words of a unit at the end of a name, at most
# Endings of the simulator's own columns, longest first, and the units they stand for.
SI_ENDINGS = {
    "rad_per_s": "rad/s",
    "m_per_s": "m/s",
    "degC": "degC",
    "N_m": "N*m",
    "rad": "rad",
    "m": "m",
    "s": "s",
    "A": "A",
    "V": "V",
    "W": "W",
    "J": "J",
}


@dataclass(frozen=True)
class Channel:
    """One measured signal in SI, NaN where its cell was empty; ``column`` and ``unit`` are as in the file.

    ``mean``: its values are means since the row before, not instants.
    """

    signal: str
    column: str
    unit: str
    values: Array
    mean: bool = False


@dataclass(frozen=True)
class MeasuredSignals:
    """A measured record: instants (k,) [s], channels by the simulator's signal, columns that name none."""

    file: str
    time: Array
    channels: dict[str, Channel]
    ignored: tuple[str, ...]

    @cached_property
    def begin(self) -> Array:
        """When the rows began (k,) [s]: where the one before ended, the first as long before its end as the second."""
        return np.concatenate([[2.0 * self.time[0] - self.time[1]], self.time[:-1]])

    def without_numbers(self) -> MeasuredSignals:
        """What was recorded, but not the numbers: they take memory that writing a long comparison needs."""
        none = np.zeros(0)
        empty = {signal: replace(channel, values=none) for signal, channel in self.channels.items()}
        return replace(self, time=none, channels=empty)


@dataclass(frozen=True)
class _Use:
    """How a column is used: which signal it is, and SI units in one of its own."""

    index: int
    signal: str
    unit: str
    factor: float


def split_signal(name: str) -> tuple[str, str]:
    """Stem and SI unit of a simulator's signal; the unit is empty where it has none.

    >>> split_signal("joint_A_velocity_rad_per_s"), split_signal("motor_A_count")
    (('joint_A_velocity', 'rad/s'), ('motor_A_count', ''))
    """
    for ending, unit in SI_ENDINGS.items():
        if name.endswith(f"_{ending}"):
            return name.removesuffix(f"_{ending}"), unit
    return name, ""


def read_measured(
    path: str | Path,
    signals: Iterable[str],
    mapping: Mapping[str, str] | None = None,
    means: Sequence[str] = (),
    *,
    max_memory: float = MAX_MEMORY,
) -> MeasuredSignals:
    """The record of a CSV file; ``signals`` are those of the simulator, ``mapping`` gives signal -> column.

    ``means``: patterns of the signals that were measured as means since the row before. Of rows that share an
    instant, as logs have them at events, the last is kept, of an empty cell there the one before. The file is read in
    pieces; columns that would take more than ``max_memory`` [byte], comparison included, are refused.
    """
    file = str(path)
    table = open_csv(Path(path))
    names = table.names
    _check_names(file, table.head, names)
    uses, ignored = _uses(file, names, list(signals), mapping or {})
    averaged = _averaged(means, [use.signal for use in uses[1:]])
    columns = table.columns([use.index for use in uses], uses[0].unit, max_memory, OVERHEAD)
    if len(columns[0]) < MIN_ROWS:
        raise InputError(f"{len(columns[0])} rows of numbers; expected {MIN_ROWS} or more", file=file)
    for use, column in zip(uses, columns, strict=True):
        column *= use.factor
    time = np.ascontiguousarray(columns[0])  # it is searched again and again
    rises = time[1:] > time[:-1]
    if rises.sum() + 1 < MIN_ROWS:
        text = f"{rises.sum() + 1} instants; expected {MIN_ROWS} or more"
        raise InputError(text, file=file, field=names[uses[0].index])
    last = None if rises.all() else np.append(rises, True)
    channels = {}
    for k, use in enumerate(uses[1:], 1):
        values = columns[k] if last is None else _moved_up(columns[k], _last_known(time, columns[k])[last])
        if np.isfinite(values).sum() < MIN_ROWS:
            raise InputError(f"has fewer than {MIN_ROWS} numbers", file=file, field=names[use.index])
        channels[use.signal] = Channel(use.signal, names[use.index], use.unit, values, use.signal in averaged)
    return MeasuredSignals(file, time if last is None else time[last], channels, tuple(ignored))


def _averaged(patterns: Sequence[str], signals: list[str]) -> set[str]:
    """The measured signals that patterns name."""
    found: set[str] = set()
    for pattern in patterns:
        named = matching_signals(pattern, signals)
        if not named:
            text = f"{quoted(pattern)} names no signal that was measured; expected of {some_names(signals)}"
            raise InputError(f"{text}{did_you_mean(pattern, signals)}", field="--mean")
        found.update(named)
    return found


def _moved_up(column: Array, kept: Array) -> Array:
    """A column with what is kept of it at its beginning: it needs no other memory."""
    column[: len(kept)] = kept
    return column[: len(kept)]


def _last_known(time: Array, values: Array) -> Array:
    """Empty cells filled with what stands before them at the same instant.

    >>> _last_known(np.array([0.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, np.nan, np.nan])).tolist()
    [1.0, 2.0, 2.0, nan]
    """
    number = np.arange(len(values))
    first = np.maximum.accumulate(np.where(np.diff(time, prepend=-np.inf) > 0.0, number, 0))  # of its instant
    known = np.maximum.accumulate(np.where(np.isnan(values), -1, number))
    return np.asarray(np.where(known >= first, values[known], values))


def _check_names(file: str, head: int, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise InputError(f"the column {quoted(name)} stands there twice", file=file, line=head)
        seen.add(name)


def _uses(
    file: str, names: Sequence[str], signals: list[str], mapping: Mapping[str, str]
) -> tuple[list[_Use], list[str]]:
    """The columns to read, time first, and the names of those that are no signals."""
    uses: dict[str, _Use] = {}
    for signal, column in mapping.items():
        use = _mapped(file, names, ["time_s", *signals], signal, column)
        uses[use.signal] = use
    taken = {use.index for use in uses.values()}
    stems = _stems(signals)
    stems.pop("time", None)
    ignored = []
    for i, name in enumerate(names):
        if i in taken:
            continue
        if len(name) > LONGEST_NAME:
            ignored.append(name)
            continue
        found = _time_column(file, i, name) or _named(file, i, name, stems)
        if found is None:
            ignored.append(name)
        elif found.signal in uses:
            text = f"the columns {quoted(names[uses[found.signal].index])} and {quoted(name)} are the same signal"
            raise InputError(text, file=file)
        else:
            uses[found.signal] = found
    _check_uses(file, names, uses, stems)
    time = uses.pop("time_s")
    return [time, *uses.values()], ignored


def some_names(names: Sequence[str]) -> str:
    """The first names of a list, each cut if long, and how many more there are.

    >>> some_names(["time_s", "", "x"]), some_names([f"c{i}" for i in range(20)])[-14:]
    ('time_s, x', 'c11 and 8 more')
    """
    given = [name for name in names if name]
    more = f" and {len(given) - LISTED} more" if len(given) > LISTED else ""
    return ", ".join(one_line(name) for name in given[:LISTED]) + more


def _check_uses(
    file: str, names: Sequence[str], uses: Mapping[str, _Use], stems: Mapping[str, tuple[str, str]]
) -> None:
    if "time_s" not in uses:
        text = "has no time column; expected one named time_s, time_ms or t_s, or --column time_s=NAME"
        raise InputError(text, file=file)
    if len(uses) == 1:
        accepted = [signal for signal, _ in stems.values() if re.search(r"(position|angle)_(rad|m)$", signal)]
        if not accepted:
            raise InputError("the result has no position that it could be compared with", file=file)
        text = (
            f"none of its columns ({some_names(names)}) names a signal of the result; "
            f"expected such as {', '.join(accepted[:4])}, or --column {accepted[0]}=NAME"
        )
        raise InputError(text, file=file)


def _mapped(file: str, names: Sequence[str], signals: list[str], signal: str, column: str) -> _Use:
    """A column that the mapping names; its unit is at its end, or else in the signal's name."""
    option = f"--column {signal}={column}"
    if column not in names:
        text = f"{quoted(column)} is no column of {file}{did_you_mean(column, list(names))}"
        raise InputError(f"{text}; it has {some_names(names)}", field=option)
    stems = _stems(signals)
    own, _, given = _match(signal, stems)
    if own is None:
        raise InputError(
            f"{quoted(signal)} is no signal of the result{did_you_mean(signal, signals)}", field=option
        )
    si = split_signal(own)[1]
    _, text = _bracket(column)
    candidates = [text] if text else [_unit_text(part) for part in _endings(column)]
    for unit in candidates:
        factor = _factor(unit, si)
        if factor is not None:
            return _Use(names.index(column), own, unit, factor)
    factor = _factor(_unit_text(given), si)
    if factor is None:
        raise InputError(
            f"{quoted(given)} does not measure {_measures(si)}; expected such as {si}", field=option
        )
    return _Use(names.index(column), own, _unit_text(given), factor)


def _time_column(file: str, i: int, name: str) -> _Use | None:
    match = re.fullmatch(r"(?:time|t)(?:_(\w+)|\s*[\[(]\s*(\w+)\s*[\])])?", name, re.IGNORECASE)
    if match is None:
        return None
    unit = match[1] or match[2] or ""
    factor = _factor(unit, "s")
    if factor is None:
        raise InputError("says no unit of time; expected such as time_s or time_ms", file=file, field=name)
    return _Use(i, "time_s", unit, factor)


def _named(file: str, i: int, name: str, stems: Mapping[str, tuple[str, str]]) -> _Use | None:
    """A column whose own name is that of a signal, in whatever unit."""
    signal, si, ending = _match(name, stems)
    if signal is None:
        return None
    factor = _factor(_unit_text(ending), si)
    if factor is None:
        what = f"the unit {quoted(ending)} does not measure" if ending else "no unit in the name of"
        text = f"{what} {_measures(si)}; expected such as {signal}"
        raise InputError(text, file=file, field=name)
    return _Use(i, signal, _unit_text(ending), factor)


def _stems(signals: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Signal and SI unit by the name without it, the longest first."""
    found = {stem: (own, unit) for own in signals for stem, unit in [split_signal(own)] if unit}
    return {stem: found[stem] for stem in sorted(found, key=len, reverse=True)}


def _match(name: str, stems: Mapping[str, tuple[str, str]]) -> tuple[str | None, str, str]:
    """The signal that a name begins with, its SI unit, and the ending that should be a unit; longest stems first."""
    stem, bracket = _bracket(name)
    for known, (signal, si) in stems.items():
        if stem == known:
            return signal, si, bracket
        if not bracket and stem.startswith(f"{known}_"):
            return signal, si, stem.removeprefix(f"{known}_")
    return None, "", ""


def _bracket(name: str) -> tuple[str, str]:
    """``joint A position [deg]`` as ``joint_A_position`` and ``deg``."""
    match = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\[\]()]+?)\s*[\])]", name)
    stem, unit = (match[1], match[2]) if match else (name, "")
    return re.sub(r"\s+", "_", stem.strip()), unit


def _endings(name: str) -> list[str]:
    """What may be the unit at the end of a name, longest first."""
    parts = name.split("_")
    return ["_".join(parts[k:]) for k in range(max(1, len(parts) - UNIT_PARTS), len(parts))]


def _unit_text(ending: str) -> str:
    """``deg_per_s`` reads ``deg/s``."""
    return ending.replace("_per_", "/").replace("_", "*")


def _factor(unit: str, si: str) -> float | None:
    """SI units in one ``unit``; None if it is no unit of the dimension of ``si``."""
    if unit == si:
        return 1.0
    if not unit or si == "degC":
        return None
    try:
        return parse_quantity(f"1 {unit}", si)
    except ValueError:
        return None


def _measures(si: str) -> str:
    return "a temperature in degC" if si == "degC" else dimension_name(dimension_of(si))
