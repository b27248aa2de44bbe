"""What ``make package`` accepts as sdist and wheel, and what it takes for the core."""

from __future__ import annotations

import importlib.util
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
INFO = "servotwin-0.1.0.dist-info/METADATA"
CODE = "servotwin/compiled/objects/index.json"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package_tool", ROOT / "tools" / "package.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))  # as for a script of that folder
        spec.loader.exec_module(module)
    return module


def wheel_of(path: Path, names: Iterable[str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def sdist_of(path: Path, names: Iterable[str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"servotwin-0.1.0/{name}"))
    return path


def test_wheel_of_the_package_alone_is_accepted(tool: ModuleType, tmp_path: Path) -> None:
    files = tool.package_files()
    assert {"servotwin/py.typed", "servotwin/jobs/job.lark", "servotwin/report/animation.js"} <= files
    assert sum(name.startswith("servotwin/catalogue/") and name.endswith(".yaml") for name in files) > 10
    assert sum(name.startswith("servotwin/scenarios/") and name.endswith(".yaml") for name in files) > 3
    tool.check_wheel(wheel_of(tmp_path / "a.whl", {*files, INFO, CODE}))


@pytest.mark.parametrize("stray", ["tests/test_a.py", "servotwin/x.nbi", "docs/index.md"])
def test_wheel_with_anything_else_is_refused(tool: ModuleType, tmp_path: Path, stray: str) -> None:
    with pytest.raises(tool.PackageError, match=f"wheel holds beyond the package: {stray}"):
        tool.check_wheel(wheel_of(tmp_path / "a.whl", {*tool.package_files(), INFO, CODE, stray}))


def test_wheel_without_the_code_of_a_first_run_is_refused(tool: ModuleType, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "a.whl", {*tool.package_files(), INFO})
    if tool.objects.levels():
        with pytest.raises(tool.PackageError, match="wheel lacks the machine code of a first run"):
            tool.check_wheel(wheel)
    else:
        tool.check_wheel(wheel)


@pytest.mark.parametrize("part", ["servotwin/report/animation.js", "servotwin/cli/main.py"])
def test_wheel_that_lacks_a_file_is_refused(tool: ModuleType, tmp_path: Path, part: str) -> None:
    with pytest.raises(tool.PackageError, match=f"wheel lacks: {part}"):
        tool.check_wheel(wheel_of(tmp_path / "a.whl", {*tool.package_files(), INFO, CODE} - {part}))


@pytest.mark.parametrize("part", ["tests/conftest.py", "docs/index.md", "Makefile", "constraints.txt"])
def test_sdist_that_lacks_tests_or_docs_is_refused(tool: ModuleType, tmp_path: Path, part: str) -> None:
    names = tool.tracked() or {"tests/conftest.py", "docs/index.md", "Makefile", "constraints.txt"}
    tool.check_sdist(sdist_of(tmp_path / "a.tar.gz", {*names, "PKG-INFO"}))
    with pytest.raises(tool.PackageError, match=f"sdist lacks: {part}"):
        tool.check_sdist(sdist_of(tmp_path / "b.tar.gz", names - {part}))


def test_sdist_with_files_that_nobody_committed_is_refused(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"tests/conftest.py", "docs/index.md", "Makefile", "constraints.txt"}
    monkeypatch.setattr(tool, "tracked", lambda: names)
    with pytest.raises(tool.PackageError, match=r"sdist holds beyond version control: out/secret\.txt"):
        tool.check_sdist(sdist_of(tmp_path / "a.tar.gz", {*names, "out/secret.txt"}))


def test_core_is_pinned_by_hash_without_the_extras(tool: ModuleType) -> None:
    core = tool.core_packages()
    assert {"numpy", "ruamel-yaml", "narwhals", "flexparser"} <= core  # direct ones, and what they bring in
    assert not core & {"sympy", "mpmath", "pyarrow", "pytest", "trimesh"}
    pins = tool.core_pins()
    assert pins.count("==") == len(core)
    assert "sympy" not in pins


def test_command_that_fails_or_hangs_is_told(tool: ModuleType) -> None:
    with pytest.raises(tool.PackageError, match="exit code 3\nwords"):
        tool.run([sys.executable, "-c", "print('words'); raise SystemExit(3)"])
    with pytest.raises(tool.PackageError, match="not done after 1 s"):
        tool.run([sys.executable, "-c", "import time; time.sleep(60)"], seconds=1)
