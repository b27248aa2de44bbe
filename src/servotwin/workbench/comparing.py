"""``st.compare``: a simulated run beside a measured one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.simulation.comparing.compare import Comparison, comparison_summary
from servotwin.simulation.comparing.compare import compare as aligned
from servotwin.simulation.comparing.measured_signals import MeasuredSignals, read_measured
from servotwin.simulation.preflight.budget import MAX_MEMORY
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import Saved, read_result


@dataclass(frozen=True)
class Compared(Plots, Tabulates, Reports, ShowsItself):
    """Differences of a measured run from a simulated one, after their clocks were aligned."""

    comparison: Comparison
    saved: Saved
    measured: MeasuredSignals

    @property
    def shift(self) -> float:
        """Lag of the measured clock [s]."""
        return self.comparison.shift_s

    def summary(self) -> dict[str, Any]:
        """RMS, largest difference, NRMSE and correlation of every signal, as plain data in SI."""
        return comparison_summary(self.comparison, self.saved, self.measured)

    def rows(self) -> list[dict[str, Any]]:
        """The same as a table, a row for each signal."""
        found = self.summary()
        parts = [part for axis in found["axes"] for part in (axis["position"], axis["velocity"]) if part]
        keys = ("signal", "unit", "rms", "max", "nrmse", "correlation")
        return [{key: part[key] for key in keys} for part in (*parts, *found["others"])]


def compare(
    result: Result | Saved | str | Path,
    measured: str | Path,
    *,
    shift: float | None = None,
    columns: Mapping[str, str] | None = None,
    means: Sequence[str] = (),
    max_memory: float = MAX_MEMORY,
) -> Compared:
    """Compare a run, or the folder of one, with a recording (CSV: a time column, and columns named like signals).

    ``shift``: lag of the measured clock [s], found from the motion if None; ``columns``: signal -> column where their
    names differ; ``means``: signals that were measured as means since the row before. ``max_memory`` [byte].
    """
    saved = _saved(result, max_memory)
    record = read_measured(measured, saved.signals, dict(columns or {}), means, max_memory=max_memory)
    return Compared(aligned(saved, record, shift), saved, record.without_numbers())


def _saved(result: Result | Saved | str | Path, max_memory: float) -> Saved:
    if isinstance(result, str | Path):
        return read_result(result, max_memory=max_memory)
    if isinstance(result, Result):
        return Saved(Path(result.scenario.name), result.signals, result.zoom, result.summary)
    return result
