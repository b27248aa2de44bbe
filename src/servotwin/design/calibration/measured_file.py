"""Measured poses from a table of text: joints by name, what was seen of the tool, units in the column names.

``th1_deg`` or ``th1 [deg]``; ``x_mm, y_mm, z_mm`` and, where orientations were measured, ``roll_deg, pitch_deg,
yaw_deg`` or ``qw, qx, qy, qz``; or ``distance_mm``, with ``bar`` (which fixed point it is measured from) or ``pair``
(which two rows it lies between). A column with the name of a joint is that joint's; what was seen of the tool may be
written ``tool_x_mm``, and has to be where a joint has its name.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from servotwin.description.frames import rot_rpy
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean, parse_quantity
from servotwin.design.calibration.observation import Measured
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.comparing.csv_table import CsvTable, open_csv

MOST_ROWS = 20_000
POSITION = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
QUATERNION = ("qw", "qx", "qy", "qz")
GROUPS = ("bar", "pair")
SEEN = "tool_"  # in front of what was seen of the tool, where a joint is called like it
Columns = dict[str, tuple[int, float]]  # place and SI factor by name


def read_measured_poses(path: str | Path, robot: Robot, *, base: bool = False) -> Measured:
    """What a file has measured of a robot; ``base``: positions are told in its base frame."""
    table = open_csv(Path(path))
    units = dict.fromkeys((*POSITION, "distance"), "m") | dict.fromkeys(ANGLES, "rad")
    units |= dict.fromkeys((*QUATERNION, *GROUPS), "")
    joints, columns = _columns(table, units, dict(zip(robot.joint_names, robot.joint_units, strict=True)))
    _complete(table, columns, set(joints))
    rows = list(table.rows(MOST_ROWS))
    if not rows:
        raise InputError("has no row of numbers below the names of its columns", file=table.file)
    cells = {name: _values(table, rows, *place) for name, place in columns.items() if name not in GROUPS}
    labels = {name: [row[columns[name][0]] for _, row in rows] for name in GROUPS if name in columns}
    q = np.stack([_values(table, rows, *joints[name]) for name in robot.joint_names], axis=1)
    lines = tuple(line for line, _ in rows)
    if "x" in columns:
        position = np.stack([cells[name] for name in POSITION], axis=1)
        return Measured(q, position, _rotations(table, rows, cells), file=table.file, lines=lines, base=base)
    return _distances(table, q, cells["distance"], labels, lines)


def _columns(table: CsvTable, seen: dict[str, str], joints: dict[str, str]) -> tuple[Columns, Columns]:
    """Columns of the joints, and of what was seen of the tool; units by name."""
    units = seen | {SEEN + name: unit for name, unit in seen.items()} | joints
    found: Columns = {}
    for i, name in enumerate(table.names):
        stem, unit = _split(name, units)
        if stem is not None and stem not in joints and stem not in seen:
            stem = stem if stem.removeprefix(SEEN) in joints else stem.removeprefix(SEEN)
        if stem is None:
            continue
        if stem in found:
            raise InputError(
                f"two columns are {quoted(stem)}; expected one", file=table.file, line=table.head
            )
        si = units[stem]
        factor: float | None = 1.0
        if si:
            factor = _factor(unit, si)
        if factor is None:
            example = f"{stem}_{'deg' if si == 'rad' else 'mm'}"
            what = f"the unit {quoted(unit)} is none of" if unit else "no unit in the name of"
            kind = "an angle" if si == "rad" else "a length"
            raise InputError(f"{what} {kind}; expected such as {example}", file=table.file, field=name)
        found[stem] = (i, factor)
    missing = sorted(set(joints) - set(found))
    if missing:
        hint = did_you_mean(missing[0], table.names)
        given = ", ".join(table.names[:12])
        example = f"{missing[0]}_{'deg' if joints[missing[0]] == 'rad' else 'mm'}"
        text = f"no column of joint {', '.join(missing)} ({given}){hint}; expected such as {example}"
        raise InputError(text, file=table.file, line=table.head)
    tool = {name.removeprefix(SEEN): place for name, place in found.items() if name not in joints}
    return {name: found[name] for name in joints}, tool


def _split(name: str, units: dict[str, str]) -> tuple[str | None, str]:
    """``th1 [deg]`` and ``th1_deg`` as th1 and deg; no name where none is known."""
    match = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\[\]()]+?)\s*[\])]", name)
    stem, unit = (match[1].strip(), match[2]) if match else (name.strip(), "")
    if stem in units:
        return stem, unit
    for known in sorted(units, key=len, reverse=True):
        if not unit and stem.startswith(f"{known}_"):
            return known, stem.removeprefix(f"{known}_")
    return None, ""


def _factor(unit: str, si: str) -> float | None:
    try:
        return parse_quantity(f"1 {unit}", si) if unit else None
    except ValueError:
        return None


def _complete(table: CsvTable, columns: Columns, joints: set[str]) -> None:
    """Complain about measurements that are not there, or only in part."""
    seen = [name for name in POSITION if name in columns]
    if not seen and "distance" not in columns:
        x, y, z, distance = (_called(name, joints) for name in (*POSITION, "distance"))
        text = f"nothing measured; expected columns {x}_mm, {y}_mm, {z}_mm, or {distance}_mm with bar or pair"
        raise InputError(text, file=table.file, line=table.head)
    if seen and "distance" in columns:
        raise InputError("positions and distances; expected one of them", file=table.file, line=table.head)
    for group in (POSITION, ANGLES, QUATERNION):
        there = [name for name in group if name in columns]
        if there and len(there) < len(group):
            lacking = ", ".join(_called(name, joints) for name in group if name not in columns)
            text = f"columns {', '.join(there)} without {lacking}; expected all of {', '.join(group)}"
            raise InputError(text, file=table.file, line=table.head)
    if not seen and any(name in columns for name in (*ANGLES, *QUATERNION)):
        raise InputError("orientations without positions; expected both", file=table.file, line=table.head)


def _called(name: str, joints: set[str]) -> str:
    """Name of the column of what was seen of the tool, which differs from those of the joints."""
    return SEEN + name if name in joints else name


def _values(table: CsvTable, rows: list[tuple[int, list[str]]], index: int, factor: float) -> Array:
    values = np.array([table.number(line, index, row[index]) for line, row in rows])
    for k in np.flatnonzero(np.isnan(values)):
        raise InputError(
            "missing; expected a number", file=table.file, line=rows[k][0], field=table.names[index]
        )
    return factor * values


def _rotations(table: CsvTable, rows: list[tuple[int, list[str]]], cells: dict[str, Array]) -> Array | None:
    if "roll" in cells:
        angles = np.stack([cells[name] for name in ANGLES], axis=1)
        return np.array([rot_rpy((float(r), float(p), float(y))) for r, p, y in angles])
    if "qw" not in cells:
        return None
    quaternions = np.stack([cells[name] for name in QUATERNION], axis=1)
    for k, length in enumerate(np.linalg.norm(quaternions, axis=1)):
        if not math.isclose(length, 1.0, abs_tol=1e-3):
            text = f"a quaternion of length {length:.4g}; expected one of length 1"
            raise InputError(text, file=table.file, line=rows[k][0])
    w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def _distances(
    table: CsvTable, q: Array, distance: Array, labels: dict[str, list[str]], lines: tuple[int, ...]
) -> Measured:
    if len(labels) == 2:
        raise InputError("both bar and pair; expected one of them", file=table.file, line=table.head)
    for k in np.flatnonzero(distance <= 0.0):
        raise InputError("a distance is positive", file=table.file, line=lines[k], field="distance")
    if "pair" in labels:
        rows: dict[str, list[int]] = {}
        for row, label in enumerate(labels["pair"]):
            rows.setdefault(label, []).append(row)
        for label, members in rows.items():
            if len(members) != 2:
                text = f"pair {quoted(label)} has {len(members)} rows; expected two"
                raise InputError(text, file=table.file, line=lines[members[0]])
            first, second = members
            if not math.isclose(distance[first], distance[second], rel_tol=1e-12):
                text = f"pair {quoted(label)} has two distances; expected the same in both of its rows"
                raise InputError(text, file=table.file, line=lines[second])
        pair = np.array(list(rows.values()))
        return Measured(q, distance=distance[pair[:, 0]], pair=pair, file=table.file, lines=lines)
    names = list(dict.fromkeys(labels.get("bar", ["1"] * len(q))))
    bar = np.array([names.index(label) for label in labels.get("bar", ["1"] * len(q))])
    return Measured(q, distance=distance, bar=bar, file=table.file, lines=lines, bars=tuple(names))
