"""``make bench-against``: words, missing rows, ratios, and one row measured against the last commit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import against, against_rows

ROOT = Path(__file__).resolve().parents[2]
in_repository = pytest.mark.skipif(
    subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], check=False, capture_output=True).returncode
    != 0,
    reason="the sources are not in a repository",
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no commit to compare with; expected: python -m benchmarks.against REV"),
        ([""], "no commit to compare with"),
        (["HEAD", "MOVEJ"], "there is no row 'MOVEJ'; expected some of: plain SCARA, fast"),
        (["HEAD", "rounds=few"], "'rounds=few' is no number above zero"),
    ],
)
def test_words_that_cannot_be_read_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert against.main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith(message)
    assert (said.err.count("\n"), said.out) == (1, "")


def test_every_row_but_the_first_run_is_measured_unless_some_are_named() -> None:
    assert against.wanted(["v1"]).rows == tuple(row for row in against.ROWS if row not in against.LEFT_OUT)
    asked = against.wanted(["v1", "first run, empty cache", "rounds=2", "seconds=0.5"])
    assert asked == against.Wanted("v1", ("first run, empty cache",), 2, 0.5)


@in_repository
def test_unknown_commit_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert against.main(["no-such-commit", "MOVEJ planned"]) == 2
    assert capsys.readouterr().err == "there is no commit 'no-such-commit' in this repository\n"


def test_sides_alternate_and_a_row_that_a_side_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[tuple[str, str]] = []

    def measured(row: str, tree: Path, own: Path, seconds: float) -> tuple[list[tuple[float, float]], str]:
        turns.append((row, own.name))
        if (row, own.name) == ("MOVEJ planned", "old"):
            return [], "ModuleNotFoundError: No module named 'servotwin.motion'"
        size = 4.0 if own.name == "old" else 1.0
        return [(size * len(turns), size), (3.0 * size, size)], ""

    monkeypatch.setattr(against, "measured", measured)
    asked = against.Wanted("v1", ("plain SCARA, fast", "MOVEJ planned"), 2, 0.0)
    rows = against.compare(asked, {"old": tmp_path, "new": tmp_path}, tmp_path, against.Console(stderr=True))
    assert [side for row, side in turns if row == "plain SCARA, fast"] == ["old", "new", "new", "old"]
    assert rows[1].missing == "not in v1: ModuleNotFoundError: No module named 'servotwin.motion'"
    cells = [list(column.cells) for column in against.table(rows, "v1").columns]
    assert [column[0] for column in cells[:6]] == [
        "plain SCARA, fast", "4 s", "2 s", "2 x", "4 x", "4 x",
    ]  # fmt: skip
    assert [column[1] for column in cells[1:]] == [*5 * [""], rows[1].missing]


def test_row_that_fails_says_why_as_json(tmp_path: Path) -> None:
    program = [sys.executable, "-P", str(ROOT / "benchmarks" / "against_rows.py"), "no such row", "0"]
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["missing"] == "KeyError: 'no such row'"


@in_repository
def test_one_row_is_measured_with_the_sources_of_a_commit(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    against.unpacked("HEAD", tmp_path / "tree")
    samples, missing = against.measured("MOVEJ planned", tmp_path / "tree", tmp_path, 0.0)
    assert missing == ""
    assert len(samples) == 3
    assert all(wall > 0.0 for wall, _ in samples)
    _, elsewhere = against.measured("MOVEJ planned", tmp_path / "no-tree", tmp_path, 0.0)
    assert elsewhere.startswith("the package that was measured is")  # the installed one


def test_samples_are_at_least_three_and_the_first_call_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def row() -> against_rows.Callable[[], tuple[float, float]]:
        return lambda: (float(calls.append(1) or len(calls)), 0.0)

    monkeypatch.setitem(against_rows.ROWS, "counted", row)
    assert [wall for wall, _ in against_rows.measure("counted", 0.0)] == [2.0, 3.0, 4.0]
