"""The page on exports: its code runs, its listing is what the package writes."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

from servotwin.equations.export.listing import text_listing
from tests.export_cases import case

PAGE = Path(__file__).resolve().parents[3] / "docs" / "exports.md"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_docs_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("scara", "five_bar"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    script = tmp_path / "page.py"
    script.write_text("\n".join(_blocks("python")), encoding="utf-8")
    runpy.run_path(str(script))
    written = (tmp_path / "scara.c").read_text(encoding="ascii")
    assert all(line in written for line in _blocks("c")[0].splitlines())


def test_docs_listing_is_current():
    assert _blocks("text")[0] in text_listing(case("gsis-scara").script(["rne"]))
