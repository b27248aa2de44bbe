"""Processes that the package starts see the package and its libraries, never what lies in the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import servotwin
from servotwin import processes
from servotwin.simulation.plant import pieces as warm

PACKAGE = Path(servotwin.__file__).parent
SHADOWS = (
    *("numba", "numpy", "llvmlite", "typer", "rich", "pydantic", "sitecustomize", "usercustomize"),
    *("servotwin", "importlib", "typing"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a stranger's: modules with well-known names that leave a mark when they run."""
    place = tmp_path / "stranger"
    place.mkdir()
    for name in SHADOWS:
        (place / f"{name}.py").write_text(
            f"import pathlib; pathlib.Path({str(tmp_path)!r}, 'mark').touch()\n"
        )
    monkeypatch.chdir(place)
    monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path / "cache"))
    return place


@pytest.mark.parametrize("path", [None, "", ".", "stranger"])
def test_the_compiling_process_runs_nothing_of_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", str(folder) if path == "stranger" else path)
    process = warm.start_compiler(["loop_closure"])
    assert process is not None
    assert process.wait(120) == 0
    assert len(list((folder.parent / "cache/loops").iterdir())) == 1
    assert not (folder.parent / "mark").exists()


def test_the_compiling_process_is_that_of_the_same_package_and_cache(folder: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    code = (
        "import os, pathlib, numba\n"
        f"pathlib.Path({str(seen)!r}).write_text('|'.join((package.__file__, os.getcwd(), *sys.path)))\n"
        "from servotwin.cache import store; store.write('loops', 'a' * 64, b'x')"
    )
    process = processes.start_python(code)
    assert process is not None
    assert process.wait(60) == 0
    file, where, *paths = seen.read_text().split("|")
    assert (Path(file), where) == (PACKAGE / "__init__.py", os.sep)
    assert not {"", ".", str(folder)} & set(paths)
    assert (tmp_path / "cache/loops" / ("a" * 64)).exists()


def test_variables_of_python_do_not_reach_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "evil.py")
    monkeypatch.setenv("PYTHONPATH", "here")
    assert not [name for name in processes.environment() if name.startswith("PYTHON")]


@pytest.mark.parametrize("module", ["servotwin", "servotwin.cli"])
def test_python_m_does_not_look_for_libraries_in_the_current_folder(folder: Path, module: str) -> None:
    for name in ("servotwin", "importlib", "typing"):  # taken before the first line of ours runs
        (folder / f"{name}.py").unlink()
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", module, "robots"],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "gsis-scara" in done.stdout
    assert not (folder.parent / "mark").exists()


def test_only_one_module_starts_processes() -> None:
    words = (
        "import subprocess",
        "os.system(",
        "os.popen(",
        "os.spawn",
        "os.exec",
        "multiprocessing",
        "ProcessPool",
    )
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    }
    assert found <= {"processes.py", "simulation/plant/pieces.py"}
    assert "subprocess.Popen(" not in (PACKAGE / "simulation/plant/pieces.py").read_text(encoding="utf-8")


def test_one_processor_means_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert processes.processors() == 1
    finally:
        os.sched_setaffinity(0, before)
    monkeypatch.setattr(warm, "processors", lambda: 1)
    monkeypatch.setattr(warm, "start_compiler", None)  # a call would fail
    monkeypatch.setattr(warm, "compiled_piece", lambda name: SimpleNamespace(on_disk=False, address=7))
    assert warm.addresses(["switch"], meanwhile=lambda: None) == {"switch": 7}
