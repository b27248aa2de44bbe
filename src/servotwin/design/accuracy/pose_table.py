"""Poses of the tool in a CSV file."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from servotwin.description.nodes import one_line, quoted
from servotwin.description.regular_file import Kind, read_text
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.rotations import turned

TABLE = Kind("a table of poses", 1_000_000, "expected at most 1 MB")
MOST = 1000  # poses
FARTHEST = 100.0  # m: beyond all robots
UNITS = {"m": 1.0, "mm": 1e-3, "rad": 1.0, "deg": math.pi / 180.0}
PLACES, ANGLES = ("x", "y", "z"), ("roll", "pitch", "yaw")
EXPECTED = "x_mm,y_mm,z_mm and, if wanted, roll_deg,pitch_deg,yaw_deg and name"


def parse_poses(path: str | Path, orientation: Array | None = None) -> tuple[tuple[str, ...], Array]:
    """Names and poses (m, 4, 4), with an ``orientation`` (3, 3) where the table has no angles.

    InputError with file, line and column for what is not accepted.
    """
    text, file = read_text(path, TABLE), one_line(path, 200)
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise InputError(f"not a CSV table: {one_line(str(error), 100)}", file=file) from None
    if not rows:
        raise InputError(f"is empty; expected the columns {EXPECTED}", file=file)
    columns = _columns([cell.strip() for cell in rows[0]], file)
    names: list[str] = []
    poses: list[Array] = []
    for line, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(poses) == MOST:
            raise InputError(f"more than {MOST} poses", file=file, line=line)
        if len(row) != len(rows[0]):
            raise InputError(f"{len(row)} values; expected {len(rows[0])}", file=file, line=line)
        values = {name: _number(row[k], scale, name, file, line) for name, (k, scale) in columns.items()}
        poses.append(_pose(values, np.eye(3) if orientation is None else orientation))
        place = [cell.strip() for cell in rows[0]].index("name") if "name" in map(str.strip, rows[0]) else -1
        names.append(one_line(row[place].strip(), 20) if place >= 0 else f"P{len(poses)}")
    if len(poses) < 2:
        raise InputError(f"{len(poses)} poses; expected at least 2", file=file)
    return tuple(names), np.array(poses)


def _columns(header: list[str], file: str) -> dict[str, tuple[int, float]]:
    """Column and scale to SI of each coordinate."""
    found: dict[str, tuple[int, float]] = {}
    for k, title in enumerate(header):
        name, _, unit = title.rpartition("_")
        allowed = ("m", "mm") if name in PLACES else ("rad", "deg") if name in ANGLES else ()
        if title == "name":
            continue
        if unit not in allowed or name in found:
            raise InputError(f"column {quoted(title)}; expected {EXPECTED}", file=file, line=1)
        found[name] = (k, UNITS[unit])
    missing = [name for name in PLACES if name not in found]
    if missing:
        raise InputError(f"no column for {', '.join(missing)}; expected {EXPECTED}", file=file, line=1)
    return found


def _number(text: str, scale: float, name: str, file: str, line: int) -> float:
    try:
        value = float(text) * scale
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and abs(value) <= FARTHEST):
        raise InputError(f"{quoted(text)}; expected a number", file=file, line=line, field=name)
    return value


def _pose(values: dict[str, float], orientation: Array) -> Array:
    turns = turned(np.diag([values.get(name, 0.0) for name in ANGLES]))
    pose = np.eye(4)
    pose[:3, :3] = turns[2] @ turns[1] @ turns[0] if any(name in values for name in ANGLES) else orientation
    pose[:3, 3] = [values[name] for name in PLACES]
    return pose
