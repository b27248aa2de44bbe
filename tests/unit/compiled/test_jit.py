"""The cache of compiled kernels: named by what a kernel depends on, forgiving about damage."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba.core.serialize import dumps

from servotwin.cache import store

HELPERS = """
from servotwin.compiled.jit import helper

@helper
def scaled(x):
    return FACTOR * x
"""
KERNELS = """
from servotwin.compiled.jit import kernel
from kernel_package.helpers import scaled

@kernel
def scale(x):
    return scaled(x)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path / "cache"))
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


@pytest.mark.parametrize(
    "text", ["# a comment\n", "def report():\n    return 'not compiled'\n", "TITLE = 'unused'\n"]
)
def test_kernel_changed_module_of_a_helper_without_changing_the_helper_comes_from_cache(
    package: Path, text: str
) -> None:
    assert load().scale(3.0) == 6.0
    (package / "helpers.py").write_text(text + HELPERS.replace("FACTOR", "2.0"))
    second = load()
    assert second.scale(3.0) == 6.0
    assert hits(second) == 1


def entries(package: Path) -> list[Path]:
    return list((package.parent / "cache/loops").iterdir())


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_kernel_damaged_cache_entry_is_compiled_again(package: Path, damage: str) -> None:
    assert load().scale(3.0) == 6.0
    (entry,) = entries(package)
    content = entry.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    entry.write_bytes({"truncated": content[:middle], "flipped": flipped, "empty": b""}[damage])
    assert hits(again := load()) == 0
    assert again.scale(3.0) == 6.0
    again = load()
    assert again.scale(3.0) == 6.0
    assert hits(again) == 1


def test_kernel_full_disk_still_computes(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(path: Path, data: bytes) -> None:
        raise OSError("no space left on device")

    module = load()
    monkeypatch.setattr("servotwin.cache.store.write_private", full_disk)
    assert module.scale(3.0) == 6.0


def test_kernel_leaves_nothing_beside_its_source_nor_where_numba_is_told_to(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "elsewhere"))
    assert load().scale(3.0) == 6.0
    assert len(entries(package)) == 1
    assert not (tmp_path / "elsewhere").exists()
    assert not [*package.rglob("*.nbi"), *package.rglob("*.nbc")]


class Exploit:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("signed", ["not", "with another key", "for another entry"])
def test_kernel_entry_of_somebody_else_is_not_unpickled(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signed: str
) -> None:
    assert load().scale(3.0) == 6.0
    (entry,) = entries(package)
    mark = tmp_path / "mark"
    planted = pickle.dumps(Exploit(mark))
    if signed == "not":
        entry.write_bytes(store.MAGIC + bytes(store.MAC_SIZE) + planted)
    else:
        name = entry.name if signed == "with another key" else "0" * 64
        with monkeypatch.context() as attacker:
            if signed == "with another key":
                attacker.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
            store.write("loops", name, planted)
        entry.write_bytes(entry.with_name(name).read_bytes())
    again = load()
    assert again.scale(3.0) == 6.0
    assert hits(again) == 0
    assert not mark.exists()


def test_kernel_entry_that_is_authentic_but_of_another_signature_is_compiled_again(package: Path) -> None:
    first = load()
    assert first.scale(3.0) == 6.0
    (entry,) = entries(package)
    key, data = pickle.loads(store.read("loops", entry.name) or b"")
    store.write("loops", entry.name, dumps((("another", *key[1:]), data)))
    again = load()
    assert again.scale(3.0) == 6.0
    assert hits(again) == 0


@pytest.mark.parametrize("text", ["disable_jit: 1\ncache_dir: here\n", "]: not YAML", ""])
def test_settings_for_numba_in_the_current_folder_are_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / ".numba_config.yaml").write_text(text)
    paths = [path for path in sys.path if path]
    code = (
        f"import sys; sys.path[:0] = {paths!r}\n"
        "import servotwin.compiled.native_calls\n"
        "from numba.core import config, compiler\n"
        "config.reload_config()\n"
        "print(config.DISABLE_JIT, repr(config.CACHE_DIR))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0 ''\n", "")
