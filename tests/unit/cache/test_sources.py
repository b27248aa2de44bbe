"""Which sources decide about what is kept: followed import by import, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.cache import sources as module
from servotwin.cache.sources import source_digest, sources

FILES = {
    "made/start.py": "from servotwin.made import (\n    one,\n    other,\n)\nfrom servotwin.given.model import Model\n",
    "made/__init__.py": "",
    "made/one.py": "def late():\n    from servotwin.deep.end import GAIN\n    return GAIN\n",
    "made/unused.py": "import math\n",
    "deep/end.py": "from servotwin.made.start import Start\nGAIN = 2.0\n",
    "given/model.py": "from servotwin.given.more import More\n",
    "given/more.py": "",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    return tmp_path


def test_sources_follow_imports_of_imports_inside_functions_and_in_circles(package: Path) -> None:
    found = sources("made/start", given=["given/model"])
    assert sorted(found) == ["deep/end", "made/__init__", "made/one", "made/start"]


@pytest.mark.parametrize(
    ("name", "changes"), [("deep/end.py", True), ("made/unused.py", False), ("given/model.py", False)]
)
def test_digest_changes_with_what_is_followed_and_with_nothing_else(
    package: Path, name: str, changes: bool
) -> None:
    before = source_digest("made/start", given=["given/model"])
    (package / name).write_text(FILES[name] + "MORE = 1\n")
    assert (source_digest("made/start", given=["given/model"]) != before) == changes


def test_descriptions_depend_on_the_table_of_actuators_and_not_on_what_writes_files() -> None:
    found = sources("description/load", "mechanism/build", "mechanism/store")
    assert {"description/schema", "drives/table", "drives/kind", "mechanism/model"} <= found.keys()
    assert not {"description/write", "mechanism/urdf_export", "robot/load"} & found.keys()


def test_generated_kernels_depend_on_the_generator_and_not_on_descriptions() -> None:
    found = sources("kernels/kernel_store", given=["mechanism/model"])
    wanted = {"dynamics/rnea", "equations/graph", "kernels/emit", "kernels/emit_step", "mechanism/grouping"}
    assert wanted <= found.keys()
    assert not any(name.startswith(("description/", "drives/")) for name in found)


def test_all_imports_of_the_package_have_the_form_that_is_followed() -> None:
    for path in sorted(module.PACKAGE.rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith(("import servotwin", "from .")):
                assert line.startswith("import servotwin.compiled.numba_start"), f"{path}: {line}"
