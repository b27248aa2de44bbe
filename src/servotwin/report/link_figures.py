"""What a page shows about the link of a run and its clock: counts by name, and histograms of its times."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.hil.link.link_report import NAMES, LinkReport
from servotwin.report.substitution_page import Histogram

US = 1e-3  # per ns


def link_histograms(report: LinkReport) -> list[Histogram]:
    """Compute time, whole cycle, wake-up and the bare clock's, those that counted something."""
    found = []
    for name, title in NAMES.items():
        ends, counts = report.figures[name]
        if counts:
            edges = np.array([max(ends[0] - 1.0, 0.0), *ends]) * US
            times = report.numbers["times"][name]
            shares = {
                key.removesuffix("_us"): times[key] for key in ("p50_us", "p99_us", "p99.9_us", "max_us")
            }
            found.append(Histogram(title, edges, np.array(counts), shares))
    return found


def link_numbers(report: LinkReport) -> dict[str, Any]:
    """The counts of a link for a summary and for the table of a page."""
    return {"transport": report.transport, "period_s": report.period_s, **report.numbers}


def link_rows(report: LinkReport) -> dict[str, Any]:
    """The same, one level deep, in words."""
    rows: dict[str, Any] = {"transport": report.transport, "ended": report.words}
    for name, value in report.numbers.items():
        if name in ("times", "safe_state"):
            continue
        words = name.replace("_", " ")
        if name == "system":
            rows |= {key: ", ".join(value[key].values()) or "nothing" for key in value}
        else:
            rows[words] = _counts(value)
    return rows


def _counts(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in value.items()) or "none"
    return value
