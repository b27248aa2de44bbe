"""Measurements that cannot be right, or cannot be used: refused with what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from servotwin.description.display import MM
from servotwin.description.nodes import quoted
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.observation import Measured, start
from servotwin.design.calibration.validation import predicted_distances
from servotwin.errors import InputError

FAR = 0.05  # of the robot's size: residuals beyond are no deviations
STILL = 1e-3  # m: places that spread less say nothing about units


def check_measured(model: CalibrationModel, measured: Measured) -> None:
    """Complain about joints far outside their limits, wrong units, and measurements that are not this robot's."""
    robot, q = model.robot, measured.q
    wide = robot.limits.q_max - robot.limits.q_min
    for j, name in enumerate(robot.joint_names):
        over = np.maximum(robot.limits.q_min[j] - q[:, j], q[:, j] - robot.limits.q_max[j])
        limit = wide[j] if np.isfinite(wide[j]) else 1e3
        k = int(np.argmax(over if np.isfinite(wide[j]) else np.abs(q[:, j])))
        far = over[k] if np.isfinite(wide[j]) else abs(q[k, j])
        if far > limit:
            unit = robot.joint_units[j]
            raise InputError(
                f"{name} is at {q[k, j]:.4g} {unit}, far outside of its limits; is the unit in the name of its "
                "column the one of its numbers?", file=measured.file or None, line=_line(measured, k),
            )  # fmt: skip
    T = model.poses(np.zeros(len(model.parameters)), q)
    p, setup = T[:, :3, 3], start(measured, T)
    if measured.position is not None:
        spread, seen = (
            float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())) for x in (p, measured.position)
        )
        off = measured.position - (p @ setup.station[:3, :3].T + setup.station[:3, 3])
        miss = np.linalg.norm(off, axis=1)
        size = max(spread, 1e-3)
    else:
        assert measured.distance is not None
        predicted = predicted_distances(measured, setup, p)
        spread, seen = float(np.median(predicted)), float(np.median(measured.distance))
        miss, size = np.abs(measured.distance - predicted), max(spread, 1e-3)
    ratio = seen / max(spread, 1e-12)
    moves = max(spread, seen) > STILL  # else there is nothing to tell units by
    if moves and (ratio > 30.0 or ratio < 1.0 / 30.0):
        raise InputError(
            f"the {measured.words} are {ratio:.3g} times as large as the robot makes them (median residual "
            f"{MM * float(np.median(miss)):.3g} mm); wrong units: expected mm under names in _mm, m under _m, and "
            "joints in the units of their names too",
            file=measured.file or None,
        )
    middle = float(np.median(miss))
    if middle > FAR * max(size, 0.2):
        raise InputError(
            f"the median residual is {MM * middle:.3g} mm before any calibration; expected less than "
            f"{MM * FAR * max(size, 0.2):.3g} mm: are joints, their signs and units, and the measured point those of "
            "this robot?", file=measured.file or None,
        )  # fmt: skip


def _line(measured: Measured, k: int) -> int | None:
    return measured.lines[k] if measured.lines else None


def seen_alike(measured: Measured, other: Measured) -> Measured:
    """Other measurements with the fixed points of the first ones; complain where those cannot predict them."""
    if other.words != measured.words:
        raise InputError(
            f"has {other.words}; expected {measured.words}, as the poses that are fitted",
            file=other.file or None,
            field="--validate",
        )
    if other.bar is None or not other.bars:
        return other
    for name in other.bars:
        if name not in measured.bars:
            raise InputError(
                f"fixed point {quoted(name)} is not known from the poses that are fitted; expected one of "
                f"{', '.join(measured.bars)}", file=other.file or None, field="--validate",
            )  # fmt: skip
    number = np.array([measured.bars.index(name) for name in other.bars])
    return replace(other, bar=number[other.bar], bars=measured.bars)


def check_bars(measured: Measured) -> None:
    """Complain about fixed points with fewer distances than their place has coordinates."""
    if measured.bar is None:
        return
    counts = np.bincount(measured.bar, minlength=len(measured.bars))
    for b in np.flatnonzero(counts < 4):
        name = quoted(measured.bars[b]) if measured.bars else f"{b + 1}"
        raise InputError(
            f"fixed point {name} has {counts[b]} distances beside those held out; expected at least 4, since its own "
            "place is unknown", file=measured.file or None,
        )  # fmt: skip
