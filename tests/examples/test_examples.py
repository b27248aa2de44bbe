"""Every example and every Python block of the README runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
MOST_LINES = 60


def blocks(document: str) -> list[str]:
    return BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples leave nothing behind, and need nothing that lies around."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_prints(path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with np.printoptions():
        runpy.run_path(str(path), run_name="__main__")
    out = capsys.readouterr().out
    assert out
    assert "check: False" not in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_numbered(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES
    assert re.fullmatch(r"\d\d_[a-z0-9_]+\.py", path.name)


def test_examples_are_numbered_without_gaps() -> None:
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("number", range(len(blocks("README.md"))))
def test_readme_python_block_runs(number: int) -> None:
    exec(compile(blocks("README.md")[number], f"README.md block {number}", "exec"), {})  # noqa: S102
