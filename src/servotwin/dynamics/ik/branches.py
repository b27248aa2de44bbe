"""What every closed form shares after its roots are found: full turns, limits, the nearest branch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from servotwin.description.display import ANGLE
from servotwin.dynamics.ik.geometry import ToolChain
from servotwin.mechanism.model import Array, Quantities

SAME = 1e-6  # branches closer than this in every joint are one
AT_LIMIT = 1e-9  # positions this little outside a limit are moved onto it


def principal(q: Array, period: Array) -> Array:
    """The equivalent position with every turning joint within half a turn of zero."""
    turns = np.isfinite(period)
    wrapped = np.array(q)
    wrapped[turns] = q[turns] - period[turns] * np.ceil(q[turns] / period[turns] - 0.5)
    return wrapped


def distinct(found: Iterable[Array], period: Array) -> list[Array]:
    """The branches without repetitions (equal up to full turns)."""
    kept: list[Array] = []
    for q in found:
        if not any(np.max(np.abs(principal(q - other, period))) < SAME for other in kept):
            kept.append(q)
    return kept


def equivalents(q: Array, low: Array, high: Array, period: Array) -> list[Array]:
    """q with every turning joint as it is, a full turn less and a full turn more, if inside the limits.

    Joints without any limit appear once, within half a turn of zero.
    """
    choices = []
    for value, least, most, turn in zip(principal(q, period), low, high, period, strict=True):
        unlimited = not np.isfinite(least) and not np.isfinite(most)
        shifts = (0.0,) if unlimited or not np.isfinite(turn) else (0.0, -turn, turn)
        inside = [v for v in (float(value + s) for s in shifts) if least - AT_LIMIT <= v <= most + AT_LIMIT]
        choices.append([min(max(v, float(least)), float(most)) for v in inside])
    return [np.array(combination) for combination in itertools.product(*choices)]


def closest_equivalent(q: Array, q_ref: Array, low: Array, high: Array, period: Array) -> Array | None:
    """The equivalent of q inside the limits whose joints are nearest to q_ref; None if there is none."""
    result = np.array(q)
    for j, (least, most, turn) in enumerate(zip(low, high, period, strict=True)):
        value = float(q[j])
        if np.isfinite(turn):
            value -= turn * round((value - float(q_ref[j])) / turn)
            if value < least - AT_LIMIT:
                value += turn * math.ceil((least - AT_LIMIT - value) / turn)
            elif value > most + AT_LIMIT:
                value -= turn * math.ceil((value - most - AT_LIMIT) / turn)
        if not least - AT_LIMIT <= value <= most + AT_LIMIT:
            return None
        result[j] = min(max(value, float(least)), float(most))
    return result


def within(found: Iterable[Array], quantities: Quantities) -> list[Array]:
    """The positions at which all quantities are in their ranges."""
    return [q for q in found if (quantities.beyond(q) <= AT_LIMIT).all()]


def quantity_miss(found: list[Array], quantities: Quantities, name: str) -> str:
    """The message for positions outside the ranges of quantities: that of the position nearest to its range."""
    q = min(found, key=lambda q: float(quantities.beyond(q).max()))
    k = int(np.argmax(quantities.beyond(q)))
    factor, unit = (1.0, "m") if quantities.lengths[k] else ANGLE
    stands, low, high = (
        factor * float(v) for v in (quantities.values(q)[k], quantities.low[k], quantities.high[k])
    )
    return (
        f"{name}: reachable only outside the limits: {quantities.names[k]} would be "
        f"{stands:.4g} {unit}, allowed are {low:.4g} .. {high:.4g} {unit}"
    )


def limit_miss(found: list[Array], chain: ToolChain, low: Array, high: Array, period: Array) -> str:
    """The message for branches outside the joint limits: the worst joint of the branch nearest to the limits."""
    worst: list[tuple[float, int, float]] = []
    for q in found:
        over = []
        for j, value in enumerate(principal(q, period)):
            shifts = (0.0, -period[j], period[j]) if np.isfinite(period[j]) else (0.0,)
            candidates = [float(value + s) for s in shifts]
            misses = [max(float(low[j]) - v, v - float(high[j]), 0.0) for v in candidates]
            k = int(np.argmin(misses))
            over.append((misses[k], j, candidates[k]))
        worst.append(max(over))
    _, j, value = min(worst)
    factor, unit = (1.0, "m") if chain.sliding[j] else ANGLE
    return (
        f"{chain.name}: reachable only outside the joint limits: {chain.joint_names[j]} would stand at "
        f"{factor * value:.4g} {unit}, allowed are {factor * low[j]:.4g} .. {factor * high[j]:.4g} {unit}"
    )
