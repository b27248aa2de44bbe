"""Bounds in an interior-point method: their barrier, multipliers and what they leave of a step; compiled.

Vectors are pointers, of ``count`` entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import not_inlined

DUAL_CLIP = 1e10


@part
def pushed(value: Any, low: Any, high: Any, push: Any) -> Any:
    """A value moved into the interior of its bounds."""
    not_inlined()
    if np.isfinite(low):
        gap = push * max(1.0, abs(low))
        if np.isfinite(high):
            gap = min(gap, push * (high - low))
        value = max(value, low + gap)
    if np.isfinite(high):
        gap = push * max(1.0, abs(high))
        if np.isfinite(low):
            gap = min(gap, push * (high - low))
        value = min(value, high - gap)
    return value


@part
def barrier(count: Any, low: Any, high: Any, value: Any, skip: Any) -> Any:
    """Sum of logarithms of the distances to bounds; minus infinity outside of them."""
    not_inlined()
    total = 0.0
    for i in range(count):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            if value[i] <= low[i]:
                return -np.inf
            total += np.log(value[i] - low[i])
        if np.isfinite(high[i]):
            if value[i] >= high[i]:
                return -np.inf
            total += np.log(high[i] - value[i])
    return total


@part
def bound_terms(
    count: Any,
    low: Any,
    high: Any,
    value: Any,
    z_low: Any,
    z_high: Any,
    skip: Any,
    mu: Any,
    weight: Any,
    slope: Any,
) -> Any:
    """Weights and slopes that bounds add to the model."""
    not_inlined()
    for i in range(count):
        weight[i] = 0.0
        slope[i] = 0.0
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            weight[i] += z_low[i] / (value[i] - low[i])
            slope[i] -= mu / (value[i] - low[i])
        if np.isfinite(high[i]):
            weight[i] += z_high[i] / (high[i] - value[i])
            slope[i] += mu / (high[i] - value[i])


@part
def dual_steps(
    count: Any,
    low: Any,
    high: Any,
    value: Any,
    d: Any,
    z_low: Any,
    z_high: Any,
    skip: Any,
    mu: Any,
    dz_low: Any,
    dz_high: Any,
) -> Any:
    """Steps of the multipliers of bounds."""
    not_inlined()
    for i in range(count):
        dz_low[i] = 0.0
        dz_high[i] = 0.0
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            gap = value[i] - low[i]
            dz_low[i] = (mu - z_low[i] * d[i]) / gap - z_low[i]
        if np.isfinite(high[i]):
            gap = high[i] - value[i]
            dz_high[i] = (mu + z_high[i] * d[i]) / gap - z_high[i]


@part
def to_bounds(count: Any, low: Any, high: Any, value: Any, d: Any, skip: Any, tau: Any) -> Any:
    """The longest step that keeps a part 1 - tau of the distance to all bounds."""
    not_inlined()
    step = 1.0
    for i in range(count):
        if skip[i]:
            continue
        if d[i] < 0.0 and np.isfinite(low[i]):
            step = min(step, -tau * (value[i] - low[i]) / d[i])
        if d[i] > 0.0 and np.isfinite(high[i]):
            step = min(step, tau * (high[i] - value[i]) / d[i])
    return step


@part
def to_zero(count: Any, z: Any, d: Any, tau: Any) -> Any:
    """The same for multipliers."""
    not_inlined()
    step = 1.0
    for i in range(count):
        if d[i] < 0.0:
            step = min(step, -tau * z[i] / d[i])
    return step


@part
def advance(
    count: Any,
    low: Any,
    high: Any,
    value: Any,
    z_low: Any,
    z_high: Any,
    dz_low: Any,
    dz_high: Any,
    skip: Any,
    step: Any,
    mu: Any,
) -> Any:
    """Multipliers after a step, kept near mu over the distances."""
    not_inlined()
    for i in range(count):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            centre = mu / (value[i] - low[i])
            z_low[i] = min(max(z_low[i] + step * dz_low[i], centre / DUAL_CLIP), centre * DUAL_CLIP)
        if np.isfinite(high[i]):
            centre = mu / (high[i] - value[i])
            z_high[i] = min(max(z_high[i] + step * dz_high[i], centre / DUAL_CLIP), centre * DUAL_CLIP)


@part
def complementarity(
    count: Any, low: Any, high: Any, value: Any, z_low: Any, z_high: Any, skip: Any, mu: Any
) -> Any:
    """The largest |distance * multiplier - mu|, the sum of multipliers and their number."""
    not_inlined()
    most, total, bounds = 0.0, 0.0, 0
    for i in range(count):
        if skip[i]:
            continue
        if np.isfinite(low[i]):
            most = max(most, abs((value[i] - low[i]) * z_low[i] - mu))
            total += z_low[i]
            bounds += 1
        if np.isfinite(high[i]):
            most = max(most, abs((high[i] - value[i]) * z_high[i] - mu))
            total += z_high[i]
            bounds += 1
    return most, total, bounds


@part
def first_bounds(
    count: Any, low: Any, high: Any, value: Any, z_low: Any, z_high: Any, skip: Any, mu: Any, known: Any
) -> Any:
    """Multipliers of bounds to begin with: one, or ``mu`` over the distance near a solution that is known."""
    not_inlined()
    for i in range(count):
        z_low[i] = 0.0
        z_high[i] = 0.0
        if not skip[i] and np.isfinite(low[i]):
            z_low[i] = mu / (value[i] - low[i]) if known else 1.0
        if not skip[i] and np.isfinite(high[i]):
            z_high[i] = mu / (high[i] - value[i]) if known else 1.0


@part
def largest(count: Any, values: Any) -> Any:
    """The largest magnitude of a vector; infinite if one of its entries is no number."""
    most = 0.0
    for i in range(count):
        size = abs(values[i])
        if not size <= most:
            most = size if size > most else np.inf
    return most
