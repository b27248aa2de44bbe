"""What the page of the fieldbus shows works."""

from __future__ import annotations

import re
from pathlib import Path

from servotwin.fieldbus.namespace import join_hint

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fieldbus.md"


def test_python_works_as_shown() -> None:
    shown = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for code in shown:
        exec(code, {})  # noqa: S102 -- lines of our own page


def test_hint_names_the_interface_of_masters() -> None:
    assert "stmaster" in join_hint()
