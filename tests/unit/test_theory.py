"""Equations of the theory pages and of the code carry the same labels."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABEL = re.compile(r"\(eq:[a-z0-9-]+\)|\beq:[a-z0-9-]+")


def _labels(paths) -> set[str]:
    return {label.strip("()") for path in paths for label in LABEL.findall(path.read_text(encoding="utf-8"))}


def test_theory_labels_in_code_and_pages_agree():
    code = _labels((ROOT / "src").rglob("*.py"))
    pages = _labels(
        page for folder in ("theory", "papers") for page in (ROOT / "docs" / folder).rglob("*.md")
    )
    assert code == pages
    assert code
