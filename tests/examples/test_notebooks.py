"""The notebooks run from top to bottom, hold what they assert, and are kept without outputs."""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind
    ]


def test_five_notebooks_tell_the_story() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "1_describe",
        "2_equations",
        "3_drives",
        "4_job",
        "5_accuracy",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs_and_asserts_what_it_says(path: Path) -> None:
    code = cells(path, "code")
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert sum("assert" in "".join(cell["source"]) for cell in code) >= 3
    assert len(cells(path, "markdown")) >= 3
    assert not re.search(r"https?://", "".join("".join(cell["source"]) for cell in code))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_shows_something(path: Path, tmp_path: Path) -> None:
    with (
        warnings.catch_warnings()
    ):  # of the kernel's own libraries, not of ours: those fail inside the kernel
        warnings.simplefilter("ignore")
        import nbformat
        from nbclient import NotebookClient

        book = nbformat.read(path, as_version=4)
        # A warning of the package inside the kernel is an error there, as everywhere in the tests.
        begin = "import warnings; warnings.filterwarnings('error', module='servotwin')"
        book.cells = [nbformat.v4.new_code_cell(begin), *book.cells]
        kernel = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "IPYTHONDIR": str(tmp_path),
            "HOME": str(tmp_path),
            # Compiled code and the key that it is authenticated with are those of the other tests.
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "XDG_STATE_HOME": os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state"),
        }
        client = NotebookClient(book, timeout=900, resources={"metadata": {"path": str(tmp_path)}})
        client.execute(env=kernel)
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    html = "".join(output.get("data", {}).get("text/html", "") for output in shown)
    own = "".join(part for part in html.split('<div class="servotwin">')[1:])
    assert "<script" not in own.split("</style>")[0]
    assert not [output for output in shown if output.get("name") == "stderr" and "Warning" in output["text"]]
