"""The key of compiled code: whatever can change the machine code changes it, and nothing else does."""

from __future__ import annotations

import dis
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher

from servotwin.compiled import dependencies, jit
from servotwin.compiled.dependencies import NotFollowedError, dependency_digest

CONSTANTS = """
from enum import IntEnum
import numpy as np

class Mode(IntEnum):
    STUCK = 1

GAIN = 2.0
TABLE = np.array([1.0, 2.0])
PAIR = (1, 2.5)
UNUSED = 1.0
POINT = np.dtype([("x", "f8"), ("inner", [("y", "f8")])], align=True)

def report():
    return "not compiled"
"""
DEEP = """
from key_package import constants
from servotwin.compiled.jit import helper

@helper
def doubled(x):
    '''Twice the number.'''
    return constants.GAIN * x
"""
MIDDLE = """
from numba import types
from numba.extending import intrinsic
from servotwin.compiled.jit import helper, part
from key_package.constants import PAIR, POINT, TABLE, Mode
from key_package.deep import doubled

WIDTH = 64

@intrinsic
def answer(typing):
    def generate(context, builder, signature, arguments):
        return context.get_constant(types.int64, WIDTH)
    return types.int64(), generate

@part
def shifted(x, by=1.0):
    # a comment
    return doubled(x) + by + TABLE[0] + PAIR[1] + answer()

def made(factor):
    @helper
    def scaled(x):
        return factor * x
    return scaled

tripled = made(3.0)

@helper
def moved(x):
    if x > Mode.STUCK:
        return shifted(x)
    return tripled(x) + size(POINT)

@intrinsic
def size(typing, dtype):
    def generate(context, builder, signature, arguments):
        return context.get_constant(types.int64, 8)
    return types.int64(dtype), generate
"""
TOP = """
from servotwin.compiled.jit import kernel
from key_package.constants import report
from key_package.middle import moved

@kernel
def top(x):
    '''What is kept.'''
    return moved(x)

def shown():
    return report()
"""
PACKAGE = Path(jit.__file__).parents[1]
FILES = {"constants": CONSTANTS, "deep": DEEP, "middle": MIDDLE, "top": TOP}
Key = Callable[..., str]


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Key]:
    """The key of the kernel ``top`` after some texts of a module of its package were replaced."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "key_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")

    def of(name: str = "top", old: str = "", new: str = "") -> str:
        for module, text in FILES.items():
            assert module != name or old in text
            (folder / f"{module}.py").write_text(text.replace(old, new) if module == name and old else text)
        forget()
        importlib.invalidate_caches()
        top: Any = importlib.import_module("key_package.top").top
        return dependency_digest(top.py_func, top)

    yield of
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("key_package")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        pytest.param("middle", "# a comment", "# another\n    # one", id="comment"),
        pytest.param("deep", "Twice the number.", "The number, twice.", id="docstring"),
        pytest.param("top", "'''What", "'''All that\n    what", id="docstring of the kernel"),
        pytest.param("top", "return report()", "return 2 * report()", id="function that is not compiled"),
        pytest.param("constants", "not compiled", "never compiled", id="function of a module two imports away"),
        pytest.param("constants", "UNUSED = 1.0", "UNUSED = 2.0\nMORE = 3", id="constant that nobody uses"),
        pytest.param("middle", "@part", "\n\n\n@part", id="line numbers"),
    ],
)  # fmt: skip
def test_key_of_what_does_not_matter_stays(key: Key, module: str, old: str, new: str) -> None:
    assert key(module, old, new) == key()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        pytest.param("top", "moved(x)\n\n", "moved(-x)\n\n", id="kernel"),
        pytest.param("deep", "GAIN * x", "GAIN / x", id="helper two modules away"),
        pytest.param("constants", "GAIN = 2.0", "GAIN = 2.5", id="constant read as module.name"),
        pytest.param("constants", "GAIN = 2.0", "GAIN = 2", id="type of a constant"),
        pytest.param("constants", "[1.0, 2.0]", "[1.0, 3.0]", id="array"),
        pytest.param("constants", "(1, 2.5)", "(1, -2.5)", id="tuple"),
        pytest.param("constants", "STUCK = 1", "STUCK = 2", id="enum"),
        pytest.param("constants", '[("y", "f8")]', '[("y", "f4")]', id="field of a record in a record"),
        pytest.param("constants", '("x", "f8")', '("z", "f8")', id="name of a field"),
        pytest.param("constants", "align=True", "align=False", id="alignment of a record"),
        pytest.param("middle", "by=1.0", "by=2.0", id="default argument"),
        pytest.param("middle", "made(3.0)", "made(4.0)", id="closure"),
        pytest.param("middle", "factor * x", "x / factor", id="code of a closure"),
        pytest.param("middle", "types.int64, 8", "types.int64, 9", id="intrinsic"),
        pytest.param("middle", "WIDTH = 64", "WIDTH = 32", id="constant of an intrinsic"),
        pytest.param("middle", "@part", "@helper", id="option"),
        pytest.param("deep", "@helper", "@__import__('numba').njit", id="compiler"),
    ],
)  # fmt: skip
def test_key_of_what_matters_changes(key: Key, module: str, old: str, new: str) -> None:
    assert key(module, old, new) != key()


def test_key_follows_versions_and_settings_of_numba(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr("numba.core.config.BOUNDSCHECK", 1)
    bounded = key()
    monkeypatch.setattr(dependencies, "VERSIONS", ("0.0",))
    assert len({before, bounded, key()}) == 3


def add_thing(x: Any) -> Any:
    return x + THING  # type: ignore[name-defined]  # noqa: F821 -- in the globals of a copy


def copy_of(function: FunctionType, **names: Any) -> Any:
    """The function in a module of its own, with the given globals."""
    return FunctionType(function.__code__, {"__name__": "elsewhere", **names})


class Plain:
    """A class of which nobody knows what compiled code makes of it."""


@pytest.mark.parametrize("thing", [Plain(), Plain, lambda x: x, np.array([None]), [Plain()]])
def test_function_with_a_value_that_is_not_understood_is_not_kept(thing: Any) -> None:
    function = copy_of(add_thing, THING=thing)
    with pytest.raises(NotFollowedError):
        dependency_digest(function, {})
    assert jit.CompiledCache(function, {})._depends is None


def test_callback_of_numba_is_not_taken_for_a_function_of_numbas_own() -> None:
    from numba import cfunc

    callback = cfunc("float64(float64)")(lambda x: 2.0 * x)
    with pytest.raises(NotFollowedError):
        dependencies._Reader(frozenset()).value(callback)


def test_docstring_that_the_code_reads_counts() -> None:
    def reads_one() -> str:
        """one"""
        return "one"

    code = reads_one.__code__
    other = code.replace(co_consts=tuple("two" if each == "one" else each for each in code.co_consts))
    one, two = FunctionType(code, {}), FunctionType(other, {})
    assert (one.__doc__, two.__doc__) == ("one", "two")
    assert dependency_digest(one, {}) != dependency_digest(two, {})


def ping(x: Any) -> Any:
    return pong(x)


def pong(x: Any) -> Any:
    return ping(x)


def test_functions_that_call_each_other_have_a_key() -> None:
    names: dict[str, Any] = {"__name__": "elsewhere"}
    for function in (ping, pong):
        names[function.__name__] = njit(FunctionType(function.__code__, names))
    first, second = names["ping"].py_func, names["pong"].py_func
    assert dependency_digest(first, {}) != dependency_digest(second, {})


def kept_functions() -> Iterator[tuple[str, Any, Any]]:
    """All functions of the package whose machine code is kept."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "servotwin.compiled.jit import" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("servotwin", *path.relative_to(PACKAGE).with_suffix("").parts)))
    for module in [module for name, module in sys.modules.items() if name.startswith("servotwin.")]:
        for name, value in vars(module).items():
            if isinstance(value, jit.Piece):
                yield f"{module.__name__}.{name}", value.function, jit.OPTIONS
            elif isinstance(value, Dispatcher) and isinstance(value._cache, jit.CompiledCache):
                yield f"{module.__name__}.{name}", value.py_func, value


def test_every_kept_function_of_the_package_is_understood() -> None:
    keys = {name: dependency_digest(function, options) for name, function, options in kept_functions()}
    assert len(set(keys.values())) >= 20


def test_globals_of_all_compiled_functions_are_found_in_their_bytecode() -> None:
    for _, function, options in kept_functions():
        dependency_digest(function, options)
    read = [code for function in dependencies._owned for code in dependencies._codes(function.__code__)]
    assert len(read) > 200
    for code in read:
        expected = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
        assert set(dependencies._named_by(code, dependencies.GLOBAL, 1)) == expected


def test_module_with_attributes_made_on_demand_is_not_understood() -> None:
    module: Any = ModuleType("elsewhere")
    module.__getattr__ = lambda name: 1.0
    with pytest.raises(NotFollowedError):
        dependencies._Reader(frozenset({"x"})).value(module)
