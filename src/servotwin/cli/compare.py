"""``servotwin compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from servotwin.cli.arguments import read_quantity
from servotwin.cli.output import fixed, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import read_limits
from servotwin.description.display import MS
from servotwin.description.nodes import quoted
from servotwin.errors import InputError


def compare(
    result: str, measured: str, out: str | None, shift: str, columns: Sequence[str] | None,
    means: Sequence[str] | None = None, *, max_memory: str | None = None, overwrite: bool = False, json: bool,
) -> None:  # fmt: skip
    """Compare a simulated with a measured run, write page and numbers, and say where they are."""
    delta, mapping = read_shift(shift), read_columns(columns)
    most = read_limits(max_memory, None).memory
    from servotwin.simulation.comparing.measured_signals import some_names
    from servotwin.simulation.results.folder import COMPARISON_FILES, claimed_folder
    from servotwin.simulation.results.result_files import read_result
    from servotwin.workbench.comparing import compare as run

    folder = out or Path(result) / "comparison"
    if out is None and Path(folder).is_symlink():  # which whoever made the result has chosen
        raise InputError("is a link; name the folder by --out", file=str(folder))
    with working("comparing"):
        saved = read_result(result, max_memory=most)
        with claimed_folder(folder, COMPARISON_FILES, overwrite=overwrite):  # a refusal comes before the work
            found = run(saved, measured, shift=delta, columns=mapping, means=means or (), max_memory=most)
            numbers = found.summary()
    comparison, record = found.comparison, found.measured
    with working("writing the page"), finishing():
        files = found.report(folder, overwrite=overwrite)
    if json:
        print_json({"page": str(files.page), "summary": str(files.summary), **numbers})
        return
    rows = [row for axis in numbers["axes"] for row in _axis_rows(axis, comparison.shift_s)]
    rows += [_row(other, None) for other in numbers["others"]]
    print_table(COLUMNS, rows, text_columns=2)
    print_line()
    how = "given" if comparison.shift_given else "found from the motion"
    print_line(f"time shift of the measured clock: {fixed(MS * comparison.shift_s, 3)} ms ({how})")
    if record.ignored:
        print_note(f"columns that name no signal: {some_names(record.ignored)}")
    print_line(f"numbers: {files.summary}")
    print_line(f"page: {files.page}")


COLUMNS = ("signal", "unit", "RMS", "largest", "NRMSE", "correlation", "own minus common shift [ms]")


def read_shift(text: str) -> float | None:
    """The shift [s] of an option; None for 'auto', which finds it."""
    if text.strip() == "auto":
        return None
    if text.strip() == "0":
        return 0.0
    try:
        return read_quantity("--shift", text, "s", example="12 ms")
    except InputError as error:
        raise InputError(f"{error.message}, or auto", field="--shift") from None


def read_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """The mapping signal -> column of ``--column`` options."""
    mapping = {}
    for pair in pairs or ():
        signal, equals, column = pair.partition("=")
        if not equals or not signal.strip() or not column.strip():
            text = f"{quoted(pair)} is not signal=column, such as joint_A_position_rad=enc1_deg"
            raise InputError(text, field="--column")
        mapping[signal.strip()] = column.strip()
    return mapping


def _axis_rows(axis: Mapping[str, Any], common: float) -> list[list[str]]:
    """The rows of an axis; ``common`` is the shift [s] of the whole recording."""
    found = (axis["position"], axis["velocity"])
    own = axis["own_shift_s"]
    return [_row(part, None if own is None else own - common) for part in found if part is not None]


def _row(part: Mapping[str, Any], beyond: float | None) -> list[str]:
    def share(value: float | None, pattern: str) -> str:
        return "-" if value is None else format(value, pattern)

    return [
        str(part["signal"]),
        str(part["unit"]),
        f"{part['rms']:.4g}",
        f"{part['max']:.4g}",
        share(part["nrmse"], ".3%"),
        share(part["correlation"], ".6f"),
        "-" if beyond is None else fixed(MS * beyond, 3),
    ]
