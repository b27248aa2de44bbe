"""A simulated run on disk: summary, signals, zoom and report, which replace those of an earlier run as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.report.files import write_json, write_page, write_parquet
from servotwin.report.labels import finite
from servotwin.simulation.results.folder import PAGE, RUN_FILES, SIGNALS, SUMMARY, ZOOM, replaced_folder
from servotwin.simulation.results.result import Result, matching_signals, no_such_signal, sampling


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
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> ResultFiles:
    """Write ``summary.json``, ``signals.parquet``, ``zoom.parquet`` and ``report.html`` into a folder.

    They take the place of an earlier run's files as one: the files of a folder always belong together.
    Other files in the folder stay. A folder with files that servotwin did not write raises InputError, unless it holds
    a result of ours and none of them is in the way, or ``overwrite`` is given.
    """
    with replaced_folder(folder, RUN_FILES, overwrite=overwrite) as place:
        put_run(result, place, progress)
        if report:
            put_report(result, place, progress)
    return result_files(result, folder, report=report)


def result_files(result: Result, folder: str | Path, *, report: bool) -> ResultFiles:
    """Where the files of a run are in its folder."""
    target = Path(folder)
    zoom, page = target / ZOOM if result.zoom else None, target / PAGE if report else None
    return ResultFiles(target / SUMMARY, target / SIGNALS, zoom, page)


def put_run(result: Result, place: Path, progress: Callable[[str], None]) -> None:
    """Write numbers and signals into a folder that holds no result."""
    progress("writing the signals")
    write_json(place / SUMMARY, stored_summary(result))
    chosen = wanted_signals(result)
    write_parquet(place / SIGNALS, chosen, {name: sampling(name) for name in chosen})
    if result.zoom:
        write_parquet(place / ZOOM, result.zoom)


def put_report(result: Result, place: Path, progress: Callable[[str], None]) -> None:
    """Draw the report beside them."""
    progress("drawing the report")
    from servotwin.report.simulation_page import simulation_page

    write_page(place / PAGE, simulation_page(result))


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
