"""The table of actuators is real: a kind is named in its own modules, in the tables and in hardly any other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import servotwin
from servotwin.drives.kind import ActuatorKind
from servotwin.drives.table import KINDS

ROOT = Path(servotwin.__file__).parent
MOST = 3


def own(path: Path, kind: str) -> bool:
    """Whether a module belongs to a kind: in its folder, or with its name in its own."""
    return kind in path.parts or path.stem.startswith(f"{kind}_") or path.stem == kind


@pytest.mark.parametrize("kind", [name.replace("-", "_") for name in KINDS])
def test_at_most_three_other_modules_import_a_kind(kind: str) -> None:
    imports = re.compile(rf"^\s*from servotwin\.drives\.{kind}(\.\w+)? import", re.MULTILINE)
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if not own(path.relative_to(ROOT), kind) and imports.search(path.read_text())
    ]
    assert "drives/table.py" in naming
    assert len(naming) <= MOST, naming


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_nothing_but_the_table_compares_the_code_of_a_kind(kind: ActuatorKind) -> None:
    code = kind.name.upper().replace("-", "_")
    compared = re.compile(rf"\bkind(\"\])? *[!=]= *{code}\b")
    places = {
        path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if compared.search(path.read_text())
    }
    assert {place for place in places if not own(Path(place), kind.name)} <= {"simulation/plant/actuators.py"}
