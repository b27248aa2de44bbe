"""Times of a loop as a histogram of fixed size: 32 bins for every doubling, so a bin is at most 3.2 % wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper

SUB = 32  # bins of a doubling
SHIFT = 5  # SUB = 2^SHIFT
OCTAVES = 32  # 2^36 ns = 69 s; what is longer counts in the last bin
BINS = SUB * (OCTAVES + 1)
SHARES = (0.5, 0.99, 0.999)

HISTOGRAM: np.dtype[Any] = np.dtype(
    [("count", np.int64), ("max", np.int64), ("sum", np.int64), ("bins", np.int64, (BINS,))]
)


@helper
def add_time(histogram: Any, time_ns: int) -> None:
    """Count a time [ns]; one below zero counts as zero."""
    value = max(time_ns, 0)
    octave = 0
    while (value >> octave) >= 2 * SUB:
        octave += 1
    number = octave * SUB + (value >> octave)
    histogram.bins[min(number, BINS - 1)] += 1
    histogram.count += 1
    histogram.sum += value
    histogram.max = max(histogram.max, value)


def bin_edges() -> Any:
    """The upper ends of the bins [ns], (BINS,): the largest whole time that a bin counts."""
    number = np.arange(BINS, dtype=np.int64)
    octave = np.maximum(number // SUB - 1, 0)
    return ((number - octave * SUB + 1) << octave) - 1


@dataclass(frozen=True)
class Times:
    """What a histogram says: percentiles are upper ends of bins [ns], ``most`` is exact."""

    count: int
    mean: float
    p50: float
    p99: float
    p999: float
    most: float

    def plain(self) -> dict[str, float | int | None]:
        """For a summary, in microseconds."""
        values = {
            "mean_us": self.mean,
            "p50_us": self.p50,
            "p99_us": self.p99,
            "p99.9_us": self.p999,
            "max_us": self.most,
        }
        return {"count": self.count} | {
            name: None if self.count == 0 else round(value * 1e-3, 3) for name, value in values.items()
        }


def read_times(histogram: Any) -> Times:
    """Percentiles of a histogram record; zeros where nothing was counted."""
    record = np.asarray(histogram).reshape(-1)[0]
    count = int(record["count"])
    if count == 0:
        return Times(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    total = np.cumsum(record["bins"])
    edges = bin_edges()
    at = [min(int(np.searchsorted(total, share * count)), BINS - 1) for share in SHARES]
    most = float(record["max"])
    p50, p99, p999 = (min(float(edges[i]), most) for i in at)
    return Times(count, float(record["sum"]) / count, p50, p99, p999, most)


def bars(histogram: Any) -> tuple[list[float], list[int]]:
    """The bins that counted something and what is between them: upper ends [ns] and counts, for a figure."""
    record = np.asarray(histogram).reshape(-1)[0]
    used = np.flatnonzero(record["bins"])
    if used.size == 0:
        return [], []
    span = slice(int(used[0]), int(used[-1]) + 1)
    return [float(x) for x in bin_edges()[span]], [int(x) for x in record["bins"][span]]
