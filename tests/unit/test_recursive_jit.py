"""The cache of compiled kernels: stamped by the modules that a kernel is built from, forgiving about damage."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from servotwin.dynamics.recursive.jit import imported_modules, source_stamp

HELPERS = """
from servotwin.dynamics.recursive.jit import helper

@helper
def scaled(x):
    return FACTOR * x
"""
KERNELS = """
from servotwin.dynamics.recursive.jit import kernel
from kernel_package.helpers import scaled

@kernel
def scale(x):
    return scaled(x)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "kernel_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helpers.py").write_text(HELPERS.replace("FACTOR", "2.0"))
    (folder / "kernels.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("kernel_package")]:
        del sys.modules[name]
    source_stamp.cache_clear()
    imported_modules.cache_clear()


def load() -> ModuleType:
    """The package as another process would see it."""
    forget()
    importlib.invalidate_caches()
    return importlib.import_module("kernel_package.kernels")


def hits(module: ModuleType) -> int:
    return sum(module.scale.stats.cache_hits.values())


def test_kernel_second_load_comes_from_cache(package: Path) -> None:
    first = load()
    assert first.scale(3.0) == 6.0
    assert hits(first) == 0
    second = load()
    assert second.scale(3.0) == 6.0
    assert hits(second) == 1


def test_kernel_changed_helper_file_is_compiled_again(package: Path) -> None:
    assert load().scale(3.0) == 6.0
    helpers = package / "helpers.py"
    helpers.write_text(HELPERS.replace("FACTOR", "25.0"))
    assert load().scale(3.0) == 75.0


def test_kernel_changed_module_that_is_not_imported_comes_from_cache(package: Path) -> None:
    assert load().scale(3.0) == 6.0
    (package / "report.py").write_text("TITLE = 'another module of the folder'")
    second = load()
    assert second.scale(3.0) == 6.0
    assert hits(second) == 1


def test_source_stamp_follows_imports_of_imports_and_of_names_in_packages(package: Path) -> None:
    (package / "deep.py").write_text("FACTOR = 2.0\n")
    (package / "helpers.py").write_text(
        "from kernel_package import (\n    deep,\n)\n" + HELPERS.replace("FACTOR", "deep.FACTOR")
    )
    forget()
    before = source_stamp(package / "kernels.py")
    (package / "deep.py").write_text("FACTOR = 3.0\n")
    forget()
    assert source_stamp(package / "kernels.py") != before


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_kernel_damaged_cache_entry_is_compiled_again(package: Path, pattern: str, damage: str) -> None:
    assert load().scale(3.0) == 6.0
    (entry,) = (package / "__pycache__").glob(pattern)
    content = entry.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    entry.write_bytes({"truncated": content[:middle], "flipped": flipped, "empty": b""}[damage])
    assert load().scale(3.0) == 6.0
    again = load()
    assert again.scale(3.0) == 6.0
    assert hits(again) == 1


def test_kernel_unwritable_cache_folder_still_computes(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load()

    def full_disk(self: object, name: str, data: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("servotwin.dynamics.recursive.jit.CheckedCacheFile._save_data", full_disk)
    assert module.scale(3.0) == 6.0
