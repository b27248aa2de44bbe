"""A result on disk, read back: the folder that ``servotwin simulate`` wrote."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servotwin.description.regular_file import SUMMARY as SUMMARY_FILE
from servotwin.description.regular_file import TABLE, Kind, is_there, read_bytes
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.result_folder import SIGNALS, SUMMARY, ZOOM, recover
from servotwin.simulation.result_mark import belongs
from servotwin.simulation.tables import read_table

ATTEMPTS = 20


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
        return self._named(r"motor_(.+)_angle_rad")

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.summary.get("complete", True))

    def _named(self, pattern: str) -> tuple[str, ...]:
        found = (re.fullmatch(pattern, column) for column in self.signals)
        return tuple(match[1] for match in found if match)


def read_result(folder: str | Path) -> Saved:
    """The result in a folder; InputError says which of its files is missing or damaged.

    All files are of one run, even if another one replaces the folder in the meantime.
    """
    place = Path(folder)
    recover(place)
    for _ in range(ATTEMPTS):
        before = _identity(place)
        try:
            saved = _read(place)
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


def _read(place: Path) -> Saved:
    if not place.is_dir():
        what = "is a file" if place.exists() else "does not exist"
        raise InputError(f"{what}; expected a folder that 'servotwin simulate' has written", file=str(place))
    signals = _table(place / SIGNALS)
    if "time_s" not in signals or len(signals["time_s"]) < 2:
        raise InputError("has no column time_s with two instants or more", file=str(place / SIGNALS))
    zoom = _table(place / ZOOM) if belongs(place, ZOOM) else {}
    return Saved(place, signals, zoom, _read_summary(place / SUMMARY))


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_bytes(path, SUMMARY_FILE))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError("is not JSON as 'servotwin simulate' writes it", file=str(path), line=line) from None
    if not isinstance(value, dict):
        raise InputError("is not JSON as 'servotwin simulate' writes it", file=str(path))
    return value


def _table(path: Path) -> dict[str, Array]:
    return read_table(_bytes(path, TABLE), str(path))


def _bytes(path: Path, kind: Kind) -> bytes:
    try:
        return read_bytes(path, kind)
    except InputError:
        if is_there(path):
            raise
        raise InputError("is missing; the folder holds no result", file=str(path)) from None
