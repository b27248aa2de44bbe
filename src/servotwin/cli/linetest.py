"""``servotwin linetest``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from servotwin.cli.arguments import read_overrides, read_quantities, read_quantity
from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import progress_bar
from servotwin.description.display import MM, MS
from servotwin.description.nodes import one_line, quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.design.line_test import LineTest

AXES, METRES = ("x", "y", "z"), ("m",) * 3


def linetest(
    name: str,
    overrides: Sequence[str] | None,
    *,
    begin: str | None,
    end: str | None,
    speed: str | None,
    acceleration: str | None,
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Simulate the line with several laws; print their errors side by side, or write them with their figures."""
    changes = read_overrides(overrides)
    asked = {
        "begin": None if begin is None else read_quantities("--from", begin, AXES, METRES),
        "end": None if end is None else read_quantities("--to", end, AXES, METRES),
        "speed": _positive("--speed", speed, "m/s", "0.5 m/s"),
        "acceleration": _positive("--acc", acceleration, "m/s^2", "1 m/s^2"),
    }
    with ExitStack() as claimed:
        if out is not None:
            from servotwin.simulation.results.folder import LINE_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, LINE_FILES, overwrite=overwrite))
        with progress_bar(f"line test of {one_line(name)}") as progress:
            from servotwin.design.line_test import line_test

            given = {key: value for key, value in asked.items() if value is not None}
            test = line_test(name, changes, progress=progress, **given)  # type: ignore[arg-type]
    places = {}
    if out is not None:
        from servotwin.report.line_test_page import write_line_test

        with working("drawing"), finishing():
            places = write_line_test(test, out, overwrite=overwrite)
    if json:
        print_json({**places, **test.data()})
        return
    _print(test)
    for what, where in places.items():
        print_line(f"{what + ':':<9}{where}")
    for line in dict.fromkeys(text for run in test.runs for text in run.result.summary["warnings"]):
        print_note(f"warning: {line}")


def _positive(option: str, text: str | None, unit: str, example: str) -> float | None:
    if text is None:
        return None
    value = read_quantity(option, text, unit, name=option.strip("-"), example=example)
    if not value > 0.0:
        raise InputError(f"{quoted(text)}; expected more than zero, such as '{example}'", field=option)
    return value


def _print(test: LineTest) -> None:
    begin, end = (", ".join(f"{MM * v:g}" for v in point) for point in (test.begin, test.end))
    print_line(
        f"{test.robot.name}: ({begin}) to ({end}) mm, {test.speed:g} m/s, {test.acceleration:g} m/s2, "
        f"{test.duration:.3f} s"
    )
    print_heading("Errors of the motors in pulses, at most")
    columns = ("law", "where", *test.motors)
    rows = []
    for run in test.runs:
        rows.append((run.law, "set points", *(f"{v:.0f}" for v in run.at_set_points())))
        rows.append(("", "in between", *(f"{v:.0f}" for v in run.in_between())))
        if run.predicted.any():
            rows.append(("", "of it by v / K_x", *(f"{v:.0f}" for v in np.abs(run.predicted).max(axis=0))))
    print_table(columns, rows, text_columns=2)
    print_heading("The tool")
    columns = ("law", "delay [ms]", "error [mm]", "off the line [mm]", "error at the end [mm]")
    rows = [
        (
            run.law,
            f"{MS * test.delay(run):.3f}",
            f"{MM * float(np.linalg.norm(run.error, axis=1).max()):.4f}",
            f"{MM * test.across(run):.4f}",
            f"{MM * float(np.linalg.norm(run.error[-1])):.4f}",
        )
        for run in test.runs
    ]
    print_table(columns, rows, text_columns=1)
    print_line(f"the position loop explains a delay of 1 / K_x = {MS * test.predicted_delay:.3f} ms")
