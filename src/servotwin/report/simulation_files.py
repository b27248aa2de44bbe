"""A simulated run on disk: summary, signals, zoom and report, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.report.files import make_folder, write_bytes, write_json, write_parquet
from servotwin.report.labels import finite
from servotwin.simulation.result import Result, matching_signals, no_such_signal, sampling
from servotwin.simulation.stored import PAGE, SIGNALS, SUMMARY, ZOOM


class ResultFiles(NamedTuple):
    """Where the parts of a result are; None for those that were not written."""

    summary: Path
    signals: Path
    zoom: Path | None
    page: Path | None


def write_result(
    result: Result,
    folder: str | Path,
    *,
    report: bool = True,
    progress: Callable[[str], None] = lambda step: None,
) -> ResultFiles:
    """Write ``summary.json``, ``signals.parquet``, ``zoom.parquet`` and ``report.html`` into a folder.

    What an earlier run left there and this one does not have is removed, so
    that the files of a folder always belong together.
    """
    target = make_folder(folder)
    progress("writing the signals")
    chosen = wanted_signals(result)  # a mistake in the patterns is found before anything is written
    summary = write_json(target / SUMMARY, stored_summary(result))
    signals = write_parquet(target / SIGNALS, chosen, {name: sampling(name) for name in chosen})
    zoom, page = target / ZOOM, target / PAGE
    if result.zoom:
        write_parquet(zoom, result.zoom)
    else:
        zoom.unlink(missing_ok=True)
    if report:
        progress("drawing the report")
        from servotwin.report.simulation_page import simulation_page

        write_bytes(page, simulation_page(result).encode())
    else:
        page.unlink(missing_ok=True)
    return ResultFiles(summary, signals, zoom if result.zoom else None, page if report else None)


def wanted_signals(result: Result) -> dict[str, Array]:
    """The signals that the scenario asks for, time first; a pattern that meets none is a mistake."""
    patterns = result.scenario.record.signals
    if not patterns:
        return result.signals
    for pattern in patterns:
        if not matching_signals(pattern, result.signals):
            raise InputError(no_such_signal(pattern, list(result.signals)), field="record.signals")
    chosen = {name for pattern in patterns for name in matching_signals(pattern, result.signals)}
    return {name: values for name, values in result.signals.items() if name == "time_s" or name in chosen}


def stored_summary(result: Result) -> dict[str, Any]:
    """The summary as its file has it: with events, and whether the run came to its end."""
    numbers: dict[str, Any] = json_ready(result.summary)
    return {
        **numbers,
        "complete": result.complete,
        "events": [json_ready(asdict(event)) for event in result.events],
    }


def json_ready(value: Any) -> Any:
    """Plain data for JSON: numpy numbers and arrays as plain ones, None where a number is not finite."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    return finite(value) if isinstance(value, float) else value
