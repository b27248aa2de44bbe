"""What the times of the single cycles say: ratios with their spread, and the share of the machine in slow cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from servotwin.hil.link.link_report import LinkReport
from servotwin.realtime.cycle_times import CycleTime

RESAMPLED = 400
LEVEL = (2.5, 97.5)  # %
BLOCK_S = 1.0  # cycles that are near in time are disturbed together: whole blocks are drawn
NEIGHBOURS = 101  # bursts in a row whose median is the usual length of one
LEAST_WAKE_US = 0.1  # two readings of the clock


def p99_ratio(own: Any, bare: Any, block: int, least: float = LEAST_WAKE_US) -> dict[str, Any]:
    """p99 of the cycles' times over that of the bare clock's, neither below ``least``, with its 95 % interval.

    ``own``, ``bare``: one for each cycle [us], NaN where none was measured. The interval is that of a bootstrap over
    ``block`` cycles in a row.
    """
    if not (np.isfinite(own).any() and np.isfinite(bare).any()):
        return {"ratio": None, "interval": None}
    spread = [_ratio(own[rows], bare[rows], least) for rows in _drawn(len(own), block)]
    interval = [round(float(x), 3) for x in np.percentile(spread, LEVEL)]
    return {"ratio": round(_ratio(own, bare, least), 3), "interval": interval}


def _drawn(length: int, block: int) -> Iterator[Any]:
    """Rows of the samples of a bootstrap: whole blocks, with replacement."""
    count = max(length // block, 1)
    size = length // count
    blocks = np.arange(count * size).reshape(count, size)
    rng = np.random.default_rng(1)
    for _ in range(RESAMPLED):
        yield blocks[rng.integers(count, size=count)].ravel()


def _ratio(own: Any, bare: Any, least: float) -> float:
    p99 = [max(float(np.nanpercentile(x, 99.0)) if np.isfinite(x).any() else 0.0, least) for x in (own, bare)]
    return p99[0] / p99[1]


def machine_times(compute: Any, reference: Any) -> Any:
    """Median of the compute times with what the machine added to each burst of the reference [us]; NaN: no burst.

    Added is what a burst takes more than its neighbours in time. The length of the burst follows the computation, so
    its whole time would excuse cycles that are slow for a while, or all the time, by themselves.
    """
    from scipy.ndimage import median_filter

    known = np.isfinite(reference)
    found = np.full(len(reference), np.nan)
    found[known] = np.nanmedian(compute) + reference[known] - median_filter(reference[known], NEIGHBOURS)
    return found


def own_percentile(compute: Any, reference: Any, share: float) -> float:
    """The least time x [us] from which on cycles are slower oftener than ``machine_times`` by 1 - ``share`` at most.

    An interval of some microseconds is as often cut by interrupts of the machine wherever it lies, so what the
    reference, which computes as long in registers, meets too is no property of the cycle. Never below the median of
    the cycles, from which what the machine adds is counted.
    """
    machine = machine_times(compute, reference)
    compute, machine = np.sort(compute[np.isfinite(compute)]), np.sort(machine[np.isfinite(machine)])
    if not len(machine):
        return float(np.percentile(compute, 100.0 * share))
    times = np.unique(np.concatenate((compute, machine)))  # between two of them no share changes
    too_many = np.flatnonzero(_share_above(compute, times) - _share_above(machine, times) > 1.0 - share)
    least = times[too_many[-1] + 1] if len(too_many) else compute[0]
    return float(max(least, np.median(compute)))


def _share_above(ordered: Any, times: Any) -> Any:
    return 1.0 - np.searchsorted(ordered, times, side="right") / len(ordered)


def own_excess(compute: Any, reference: Any, limit_us: float, block: int) -> list[float]:
    """Share of the cycles beyond a limit less that of ``machine_times`` [%], and its 95 % interval over blocks."""
    machine = machine_times(compute, reference)
    if not np.isfinite(machine).any():
        return [float(100.0 * np.mean(compute > limit_us)), np.nan, np.nan]
    kept = len(compute) // block * block or len(compute)
    slow, known = (
        np.array([test(x[:kept]).reshape(-1, min(block, kept)).sum(axis=1) for x in (compute, machine)])
        for test in (lambda x: x > limit_us, np.isfinite)
    )  # (2, blocks)
    drawn = np.random.default_rng(1).integers(slow.shape[1], size=(RESAMPLED, slow.shape[1]))
    shares = slow[:, drawn].sum(axis=2) / known[:, drawn].sum(axis=2)  # (2, RESAMPLED)
    value = np.mean(compute > limit_us) - np.mean(machine[np.isfinite(machine)] > limit_us)
    spread = np.percentile(shares[0] - shares[1], LEVEL)
    return [round(100.0 * float(x), 4) for x in (value, *spread)]


def time_figures(report: LinkReport, limit_us: float, *, intervals: bool) -> dict[str, Any]:
    """Figures of a run: compute time beside its reference, wake-ups beside the bare clock's, outages of both."""
    compute, reference = report.times_us(CycleTime.COMPUTE), report.times_us(CycleTime.REFERENCE)
    period_us = report.period_s * 1e6
    block = round(BLOCK_S / report.period_s) if intervals else len(compute)
    found: dict[str, Any] = {
        "compute_p99.9_own_us": round(own_percentile(compute, reference, 0.999), 3),
        "slow_cycles": int(np.nansum(compute > limit_us)),
        "slow_references": int(np.nansum(reference > limit_us)),
        "outages": int(np.nansum(report.times_us(CycleTime.TIMER) > period_us / 2.0)),
        "bare_outages": int(np.nansum(report.times_us(CycleTime.BARE_TIMER) > period_us / 2.0)),
    }
    if intervals:
        value, low, high = own_excess(compute, reference, limit_us, block)
        found |= {"own_excess_percent": value, "own_excess_interval": [low, high]}
    for name, own, bare in (
        ("wake", CycleTime.WAKE_UP, CycleTime.BARE_WAKE_UP),
        ("timer", CycleTime.TIMER, CycleTime.BARE_TIMER),
    ):
        ratio = p99_ratio(report.times_us(own), report.times_us(bare), block)
        interval = ratio["interval"] if intervals else None
        found |= {f"{name}_ratio": ratio["ratio"], f"{name}_interval": interval}
    return found
