"""What the times of the single cycles say: ratios with their spread, and the share of the machine in slow cycles."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.hil.link.link_report import LinkReport
from servotwin.realtime.cycle_times import CycleTime

RESAMPLED = 400
LEVEL = (2.5, 97.5)  # %
BLOCK_S = 1.0  # cycles that are near in time are disturbed together: whole blocks are drawn
LEAST_WAKE_US = 0.1  # two readings of the clock


def p99_ratio(own: Any, bare: Any, block: int, least: float = LEAST_WAKE_US) -> dict[str, Any]:
    """p99 of the cycles' times over that of the bare clock's, neither below ``least``, with its 95 % interval.

    ``own``, ``bare``: one for each cycle [us], NaN where none was measured. The interval is that of a bootstrap over
    ``block`` cycles in a row.
    """
    if not (np.isfinite(own).any() and np.isfinite(bare).any()):
        return {"ratio": None, "interval": None}
    count = max(len(own) // block, 1)
    size = len(own) // count
    blocks = np.arange(count * size).reshape(count, size)
    rng = np.random.default_rng(1)
    drawn = [blocks[rng.integers(count, size=count)].ravel() for _ in range(RESAMPLED)]
    spread = np.percentile([_ratio(own[rows], bare[rows], least) for rows in drawn], LEVEL)
    return {"ratio": round(_ratio(own, bare, least), 3), "interval": [round(float(x), 3) for x in spread]}


def _ratio(own: Any, bare: Any, least: float) -> float:
    p99 = [max(float(np.nanpercentile(x, 99.0)) if np.isfinite(x).any() else 0.0, least) for x in (own, bare)]
    return p99[0] / p99[1]


def own_percentile(compute: Any, reference: Any, share: float) -> float:
    """The least time x [us] that cycles exceed oftener than the reference by 1 - ``share`` at most.

    An interval of some microseconds is as often cut by interrupts of the machine wherever it lies, so what the
    reference, which computes as long in registers, meets too is no property of the cycle.
    """
    compute, reference = np.sort(compute[np.isfinite(compute)]), np.sort(reference[np.isfinite(reference)])
    if not len(reference):
        return float(np.percentile(compute, 100.0 * share))
    above = 1.0 - np.arange(1, len(compute) + 1) / len(
        compute
    )  # share of the cycles above each of their times
    above_reference = 1.0 - np.searchsorted(reference, compute, side="right") / len(reference)
    too_many = np.flatnonzero(above - above_reference > 1.0 - share)
    return float(compute[min(too_many[-1] + 1, len(compute) - 1)] if len(too_many) else compute[0])


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
    for name, own, bare in (
        ("wake", CycleTime.WAKE_UP, CycleTime.BARE_WAKE_UP),
        ("timer", CycleTime.TIMER, CycleTime.BARE_TIMER),
    ):
        ratio = p99_ratio(report.times_us(own), report.times_us(bare), block)
        interval = ratio["interval"] if intervals else None
        found |= {f"{name}_ratio": ratio["ratio"], f"{name}_interval": interval}
    return found
