"""A result on disk, read back: the folder that ``servotwin simulate`` wrote."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.fields import LARGEST
from servotwin.description.plain_text import hidden_problem
from servotwin.description.regular_file import SUMMARY as SUMMARY_FILE
from servotwin.description.regular_file import TABLE, Kind, is_there, read_bytes
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.preflight.budget import MAX_MEMORY, bytes_text
from servotwin.simulation.results.folder import SIGNALS, SUMMARY, ZOOM, recover
from servotwin.simulation.results.mark import belongs
from servotwin.simulation.results.tables import read_table

ATTEMPTS = 20
COPIES = 2.5  # of a table that are there at once while it is read
JSON_MEMORY = 25  # bytes of memory for one of JSON: empty lists take most
WHOLE_DIGITS = 19


@dataclass(frozen=True)
class Saved:
    """Signals and summary of a stored run; ``joints`` and ``motors`` are in the order of the columns."""

    folder: Path
    signals: dict[str, Array]
    zoom: dict[str, Array]
    summary: dict[str, Any]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self._named(r"joint_(.+)_position_(?:rad|m)")

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """For every joint whether it slides."""
        return tuple(f"joint_{name}_position_m" in self.signals for name in self.joints)

    @property
    def motors(self) -> tuple[str, ...]:
        """Names of the motors."""
        return self._named(r"motor_(.+)_(?:angle_rad|position_m)")

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.summary.get("complete", True))

    def _named(self, pattern: str) -> tuple[str, ...]:
        found = (re.fullmatch(pattern, column) for column in self.signals)
        return tuple(match[1] for match in found if match)


def read_result(folder: str | Path, *, max_memory: float = MAX_MEMORY) -> Saved:
    """The result in a folder; InputError says which of its files is missing or damaged.

    All files are of one run, even if another one replaces the folder in the meantime. One that would take more than
    ``max_memory`` [byte] is refused before it is read.
    """
    place = Path(folder)
    recover(place)
    for _ in range(ATTEMPTS):
        before = _identity(place)
        try:
            saved = _read(place, max_memory)
        except InputError:
            if _identity(place) == before:
                raise
            continue
        if _identity(place) == before:
            return saved
    raise InputError("is replaced again and again while it is read", file=str(place))


def _identity(place: Path) -> tuple[int, int] | None:
    """Which folder has this name now."""
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read(place: Path, max_memory: float) -> Saved:
    if not place.is_dir():
        what = "is a file" if place.exists() else "does not exist"
        raise InputError(f"{what}; expected a folder that 'servotwin simulate' has written", file=str(place))
    signals = _read_table(place / SIGNALS, max_memory)
    if "time_s" not in signals or len(signals["time_s"]) < 2:
        raise InputError("has no column time_s with two instants or more", file=str(place / SIGNALS))
    time = signals["time_s"]
    if not (np.abs(time) <= LARGEST).all() or (np.diff(time) < 0.0).any():
        raise InputError(
            "the instants in time_s are not finite, or not in their order", file=str(place / SIGNALS)
        )
    zoom = _read_table(place / ZOOM, max_memory) if belongs(place, ZOOM) else {}
    return Saved(place, signals, zoom, _read_summary(place / SUMMARY, max_memory))


def _read_summary(path: Path, max_memory: float) -> dict[str, Any]:
    expected = "expected JSON as 'servotwin simulate' writes it"
    _check_size(path, _size(path) * JSON_MEMORY, max_memory)
    try:
        value = json.loads(_bytes(path, SUMMARY_FILE), parse_int=_whole)
    except RecursionError:
        raise InputError(f"is nested too deeply; {expected}", file=str(path)) from None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError("is not JSON as 'servotwin simulate' writes it", file=str(path), line=line) from None
    if not isinstance(value, dict):
        raise InputError("is not JSON as 'servotwin simulate' writes it", file=str(path))
    for key in ("scenario", "title", "robot"):
        text = value.get(key)
        if not isinstance(text, str | None):
            raise InputError(f"is no text; {expected}", file=str(path), field=key)
        problem = hidden_problem(text or "")
        if problem is not None:
            raise InputError(problem, file=str(path), field=key)
    return value


def _whole(text: str) -> int:
    """A whole number of JSON; no run counts further than 64 bits."""
    if len(text) > WHOLE_DIGITS:
        raise ValueError(text[:WHOLE_DIGITS])
    return int(text)


def _read_table(path: Path, max_memory: float) -> dict[str, Array]:
    _check_size(path, _size(path), max_memory)
    numbers = int(min(max_memory, 1e18) // (8 * COPIES))
    return read_table(_bytes(path, TABLE), str(path), numbers)


def _check_size(path: Path, size: float, max_memory: float) -> None:
    if size > max_memory:
        text = f"takes {bytes_text(size)} of memory; expected at most {bytes_text(max_memory)}"
        raise InputError(f"{text}: record less often, or raise --max-memory", file=str(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # the file cannot be read either, which is said then


def _bytes(path: Path, kind: Kind) -> bytes:
    try:
        return read_bytes(path, kind)
    except InputError:
        if is_there(path):
            raise
        raise InputError("is missing; the folder holds no result", file=str(path)) from None
