r"""Targets that a run comes back to: how near to them the tool rests, and how near to each other (ISO 9283).

From the places :math:`p_i` at which the tool stands when it leaves a target p again,

.. math:: AP = |\bar p - p|, \quad l_i = |p_i - \bar p|, \quad RP = \bar l + 3\,S_l          (eq:repeatability)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array

LEAST = 5  # visits from which a spread says something
SAME = 1e-9  # m: commands nearer to each other are one target


@dataclass(frozen=True)
class Visits:
    """One target (3,) [m], where the tool rested each time (k, 3) [m], and the shortest rest [s]."""

    target: Array
    places: Array
    rest: float

    @property
    def accuracy(self) -> float:
        """AP of eq:repeatability [m]."""
        return float(np.linalg.norm(self.places.mean(axis=0) - self.target))

    @property
    def repeatability(self) -> float:
        """RP of eq:repeatability [m]."""
        distance = np.linalg.norm(self.places - self.places.mean(axis=0), axis=1)
        return float(distance.mean() + 3.0 * distance.std(ddof=1))


def visits_of(signals: Mapping[str, Array]) -> list[Visits]:
    """The targets that the command reached and left, or ended at, often enough; the most visited one first."""
    t = signals["time_s"]
    if len(t) < LEAST:
        return []
    tip, wanted = (np.stack([signals[f"tip_{word}{a}_m"] for a in "xyz"], axis=1) for word in ("", "ref_"))
    moved = np.linalg.norm(np.diff(wanted, axis=0), axis=1) > SAME
    began = int(np.argmax(moved)) if moved.any() else len(t)
    stands = np.concatenate([[False], ~moved])  # the command is where it was a row before
    leaves = np.concatenate([moved, [True]])
    ends = np.flatnonzero(stands & leaves)
    ends = ends[ends > began]
    groups = _same_places(wanted, ends[np.isfinite(wanted[ends]).all(axis=1)])
    last_moved = np.maximum.accumulate(np.where(moved, np.arange(len(moved)), -1))
    found = []
    for group in sorted(groups, key=len, reverse=True):
        if len(group) >= LEAST:
            arrivals = [last_moved[k - 1] + 1 for k in group]
            rests = [t[k] - t[begin] for k, begin in zip(group, arrivals, strict=True)]
            found.append(Visits(wanted[group[0]], tip[group], float(min(rests))))
    return found


def _same_places(places: Array, rows: Iterable[int]) -> list[list[int]]:
    """The rows by the place that they name, within SAME of the first of each.

    Places are looked up in cells of four times that size: one that is so near lies in one of eight.
    """
    groups: list[list[int]] = []
    cells: dict[tuple[int, ...], list[list[int]]] = {}
    for k in rows:
        scaled = places[k] / (4.0 * SAME)
        low = [math.floor(x - 0.5) for x in scaled]
        near = [(low[0] + i, low[1] + j, low[2] + m) for i in (0, 1) for j in (0, 1) for m in (0, 1)]
        candidates = [group for cell in near for group in cells.get(cell, [])]
        known = next((g for g in candidates if np.linalg.norm(places[g[0]] - places[k]) < SAME), None)
        if known is None:
            known = []
            groups.append(known)
            cells.setdefault(tuple(math.floor(x) for x in scaled), []).append(known)
        known.append(int(k))
    return groups


def visit_summary(signals: Mapping[str, Array]) -> list[dict[str, Any]]:
    """The same as numbers with their units."""
    return [
        {
            "target_m": [float(x) for x in one.target],
            "visits": len(one.places),
            "rest_s": one.rest,
            "accuracy_m": one.accuracy,
            "repeatability_m": one.repeatability,
        }
        for one in visits_of(signals)
    ]
