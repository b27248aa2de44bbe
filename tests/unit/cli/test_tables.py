"""Tables on narrow terminals: no column, name or number is lost."""

from __future__ import annotations

import re
import sys

import pytest

from servotwin.cli import output
from servotwin.cli.compare import COLUMNS as COMPARED
from servotwin.cli.job_run import PLAN_COLUMNS
from servotwin.cli.simulate import COLUMNS as SIMULATED

TABLES = {
    "simulate": (
        SIMULATED,
        [["shoulder", "12.34", "1.234", "1.27", "972 %", "97 %", "3000", "10.25"], ["Z", *["0.5"] * 7]],
        1,
    ),
    "compare": (
        COMPARED,
        [["joint_A_velocity_rad_per_s", "rad/s", "0.0009999", "0.003332", "0.143%", "0.999992", "-0.041"]],
        2,
    ),
    "plan": (
        PLAN_COLUMNS,
        [[f"{i}234567{i}" if i > 2 else f"text {i} of_an_instruction" for i in range(len(PLAN_COLUMNS))]],
        3,
    ),
    "sentences": (
        ("field", "value", "why"),
        [["axes.A.motor.rotor_inertia", "1.3e-05 kg m2", "the maker gives none; " + "estimated from its mass " * 3]],
        3,
    ),
    "numbers": (("x [mm]", "y [mm]"), [["1" * 40, "2" * 40]], 0),
}  # fmt: skip


def printed(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    columns, rows, text_columns = TABLES[name]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.print_table(columns, rows, text_columns=text_columns)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # bold headings


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", TABLES)
def test_narrow_terminal_loses_no_heading_and_no_cell(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(name, width, monkeypatch, capsys)
    columns, rows, _ = TABLES[name]
    words = out.split()
    for text in (*columns, *(cell for row in rows for cell in row)):
        assert set(text.split()) <= set(words), text
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80])
def test_first_column_stays_whole_and_leads_every_block(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed("compare", width, monkeypatch, capsys)
    blocks = out.split("\n\n")
    assert all("joint_A_velocity_rad_per_s" in block and "signal" in block for block in blocks)


def test_a_word_longer_than_the_terminal_makes_a_longer_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    TABLES["long"] = (("name", "value [m]"), [["n" * 90, "1.5"]], 1)
    try:
        out = printed("long", 80, monkeypatch, capsys)
    finally:
        del TABLES["long"]
    assert "n" * 90 in out
    assert "1.5" in out.splitlines()[-1]
