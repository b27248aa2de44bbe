"""Machine code that comes with the package: used where it fits, compiled again where it does not, the same numbers."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from servotwin.compiled import llvm, shipped

ROOT = Path(__file__).resolve().parents[3]
SOURCE = """
import sys
from pathlib import Path

import numpy as np

from servotwin.compiled import jit, shipped
from servotwin.compiled.numeric import quantise

if len(sys.argv) > 1:
    shipped.FOLDER = Path(sys.argv[1])
GAIN = 0.3


@jit.kernel
def sums(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += GAIN * x[i] * x[i] + quantise(x[i], 2.0, 8)
    return total


value = sums(np.linspace(-1.0, 1.0, 101))
print(float(value).hex(), sum(sums.stats.cache_hits.values()), shipped.level())
"""
LEVEL = "x86-64-v3"
needs_level = pytest.mark.xfail(not llvm.reached(LEVEL), reason="no processor of that level", run=False)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("objects_tool", ROOT / "tools" / "objects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the code of the little program above, made as for a wheel."""
    place = tmp_path_factory.mktemp("made")
    (place / "program.py").write_text(SOURCE)
    variables = tool.compile_for(ROOT / "src", LEVEL, place / "work", [[str(place / "program.py")]])
    tool.write(place / "objects", {LEVEL: tool.entries(variables)})
    return place / "objects"


class Answer:
    """What the program says in a process with an empty cache."""

    def __init__(self, tool: ModuleType, folder: Path, place: Path, source: str = SOURCE) -> None:
        place.mkdir()
        (place / "program.py").write_text(source)
        variables = tool.environment(ROOT / "src", LEVEL, place)
        del variables["NUMBA_CPU_NAME"], variables["NUMBA_CPU_FEATURES"]
        done = subprocess.run(
            [sys.executable, str(place / "program.py"), str(folder)],
            env=variables, capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.value, hits, self.level = done.stdout.split()
        self.compiled = hits == "0"
        self.said = done.stderr


@needs_level
def test_code_that_came_along_is_used_and_gives_the_numbers_of_code_compiled_here(
    tool: ModuleType, made: Path, tmp_path: Path
) -> None:
    with_code = Answer(tool, made, tmp_path / "a")
    without = Answer(tool, tmp_path / "none", tmp_path / "b")
    assert (with_code.compiled, without.compiled) == (False, True)
    assert (with_code.level, without.level) == (LEVEL, "None")
    assert with_code.value == without.value  # bit for bit
    assert with_code.said == without.said == ""


@needs_level
def test_damaged_code_is_compiled_again(tool: ModuleType, made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    for path in made.iterdir():
        data = bytearray(path.read_bytes())
        if path.name.startswith("loops-"):
            data[len(data) // 2] ^= 1
        (folder / path.name).write_bytes(data)
    answer = Answer(tool, folder, tmp_path / "a")
    assert answer.compiled
    assert answer.value == Answer(tool, made, tmp_path / "b").value
    assert answer.said.count("is damaged; its code is compiled here") == 1


@needs_level
def test_code_of_an_earlier_source_is_not_used(tool: ModuleType, made: Path, tmp_path: Path) -> None:
    answer = Answer(tool, made, tmp_path / "a", SOURCE.replace("GAIN = 0.3", "GAIN = 0.4"))
    assert answer.compiled
    assert answer.value != Answer(tool, made, tmp_path / "b").value


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder in the place of the package's."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    for each in (shipped.digests, shipped.level):
        each.cache_clear()
        monkeypatch.setattr(shipped, each.__name__, each.__wrapped__)
    return tmp_path


def entry_in(folder: Path, level: str) -> str:
    name = "0" * 64
    (folder / f"kernels-{name}").write_bytes(b"code")
    index = {level: {f"kernels/{name}": hashlib.sha256(b"code").hexdigest()}}
    (folder / "index.json").write_text(json.dumps(index))
    return name


def having(monkeypatch: pytest.MonkeyPatch, features: frozenset[str]) -> None:
    binding: Any = llvm.llvm
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: dict.fromkeys(features, True))
    monkeypatch.setattr(binding, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")


def test_code_of_a_level_that_the_machine_lacks_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = entry_in(folder, "x86-64-v4")
    having(monkeypatch, llvm.LEVELS["x86-64-v4"])
    assert (shipped.level(), shipped.read("kernels", name)) == ("x86-64-v4", b"code")
    for missing in llvm.LEVELS["x86-64-v4"]:
        having(monkeypatch, llvm.LEVELS["x86-64-v4"] - {missing})
        assert shipped.level() is None
        assert shipped.read("kernels", name) is None


def test_code_that_came_along_is_not_for_a_processor_of_the_users_choice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_in(folder, "x86-64-v3")
    having(monkeypatch, llvm.LEVELS["x86-64-v3"])
    assert shipped.level() == "x86-64-v3"
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert shipped.level() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x86-64-v3": 3}', "\xff"])
def test_list_that_is_damaged_counts_as_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    name = entry_in(folder, "x86-64-v3")
    having(monkeypatch, llvm.LEVELS["x86-64-v3"])
    (folder / "index.json").write_text(text, encoding="latin-1")
    assert shipped.read("kernels", name) is None


def test_file_that_is_listed_and_missing_counts_as_damaged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = entry_in(folder, "x86-64-v3")
    having(monkeypatch, llvm.LEVELS["x86-64-v3"])
    (folder / f"kernels-{name}").unlink()
    assert shipped.read("kernels", name) is None


@pytest.mark.parametrize("name", [None, "generic", "x86-64-v3"])
def test_kernels_are_made_for_the_processor_that_numba_makes_its_code_for(name: str | None) -> None:
    code = "from servotwin.compiled import jit, llvm; from numba.core.registry import cpu_target as c; "
    code += "print(llvm.host()[1:] == tuple(c.target_context.codegen().magic_tuple())[1:])"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_CPU")}
    own = {} if name is None else {"NUMBA_CPU_NAME": name}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | own, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
