"""What the machine code of a function depends on, as a digest: the name under which it is kept.

A function depends on its own bytecode, on the values of the globals, closures and default arguments that it reads,
on the options it is compiled with, and on every function it calls, which depends on the same things again. It does
not depend on comments, docstrings and line numbers, nor on other things of the modules it imports. Numba, llvmlite,
NumPy and Python count by their versions.

Numba freezes globals when it compiles, so values are taken as they stand when the digest is first asked for.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
import builtins
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from opcode import opmap
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType, NoneType
from typing import Any
from weakref import WeakKeyDictionary

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined,unused-ignore]
from numba.core.extending import _Intrinsic  # type: ignore[attr-defined,unused-ignore]

# Machine code knows Python by its C interface alone, which a minor version keeps, and a build for debugging or for free
# threads does not: the ending of extension modules names all three. Bytecode is read itself.
VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__, EXTENSION_SUFFIXES[0])
# Packages whose versions are part of the digest: their functions are named, not followed.
VERSIONED = frozenset({"numba", "llvmlite", "numpy", "builtins", *sys.stdlib_module_names})
# Settings of numba's (NUMBA_OPT and the like) that choose the code it generates.
SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "ENABLE_AVX",
    "USING_SVML",
    "DEBUGINFO_DEFAULT",
    "DEBUG_JIT",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
)
PLAIN = (int, float, complex, bool, str, bytes, NoneType, type(Ellipsis))
EXTENDED, GLOBAL, CONSTANT, IMPORT = (
    opmap[name] for name in ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_CONST", "IMPORT_NAME")
)
FIRST_CONSTANT = bytes((CONSTANT, 0))


class NotFollowedError(Exception):
    """A function uses a value of which nobody knows how it enters the machine code; the code is not kept."""


@dataclass(frozen=True)
class Use:
    """A function and how it is used: compiled, or run by Python while others are compiled (intrinsics)."""

    function: FunctionType
    compiled: bool


@dataclass(frozen=True)
class Own:
    """What one function contributes by itself, and the functions that it uses, in the order of its code."""

    text: bytes
    follows: tuple[Use, ...]


_owned: WeakKeyDictionary[FunctionType, dict[bool, Own]] = WeakKeyDictionary()


def dependency_digest(function: Any, options: Any) -> str:
    """Digest of all that decides about the machine code of a function but its signature and the processor."""
    settings = [repr(getattr(config, name, None)) for name in SETTINGS]
    digest = hashlib.sha256(repr((VERSIONS, settings, _Reader(frozenset()).value(options))).encode())
    order = [Use(function, compiled=True)]
    numbers = {order[0]: 0}
    for use in order:  # grows while it is read
        own = _own(use)
        for following in own.follows:
            if following not in numbers:
                numbers[following] = len(order)
                order.append(following)
        digest.update(own.text)
        digest.update(repr([numbers[following] for following in own.follows]).encode())
    return digest.hexdigest()


def _own(use: Use) -> Own:
    known = _owned.setdefault(use.function, {})
    if use.compiled not in known:
        known[use.compiled] = _read(use)
    return known[use.compiled]


def _read(use: Use) -> Own:
    function, code = use.function, use.function.__code__
    codes = list(_codes(code))
    reader = _Reader(frozenset(name for each in codes for name in each.co_names), use.compiled)
    cells = function.__closure__ or ()
    names = {name: None for each in codes for name in _named_by(each, GLOBAL, 1)}
    modules = {name: None for each in codes for name in _named_by(each, IMPORT, 0)}
    if not all(_versioned(name) for name in modules):
        raise NotFollowedError(f"{function.__qualname__} imports {', '.join(modules)}")
    text = (
        use.compiled,
        function.__module__,
        function.__qualname__,
        reader.code(code, function.__doc__),
        [(name, reader.read_global(function, name)) for name in names],
        [(name, reader.cell(name, cell)) for name, cell in zip(code.co_freevars, cells, strict=True)],
        reader.value(function.__defaults__),
        reader.value(function.__kwdefaults__),
    )
    return Own(repr(text).encode(), tuple(reader.follows))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _named_by(code: CodeType, operation: int, shift: int) -> Iterator[str]:
    """The names that an operation of the bytecode loads; ``shift`` removes the flags of its argument."""
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    at = operations.find(operation)
    while at >= 0:
        number, place, before = arguments[at], 8, at - 1
        while before >= 0 and operations[before] == EXTENDED:
            number |= arguments[before] << place
            place, before = place + 8, before - 1
        yield code.co_names[number >> shift]
        at = operations.find(operation, at + 1)


def _versioned(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in VERSIONED


def _is_of_versioned_package(value: Any) -> bool:
    """Whether a callable is what a versioned package has under its name; an object may only be made of its class."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not _versioned(module):
        return False
    try:
        return attrgetter(name)(sys.modules[module]) is value
    except (KeyError, AttributeError):
        return False


def _dtype(dtype: Any) -> str:
    """A data type with the names, types and places of its fields, at every depth."""
    if dtype.subdtype is not None:
        return f"{dtype.shape}{_dtype(dtype.base)}"
    if dtype.fields is None:
        return str(dtype.str)
    fields = [(name, _dtype(dtype.fields[name][0]), dtype.fields[name][1]) for name in dtype.names]
    return repr((fields, dtype.itemsize, dtype.alignment, dtype.isalignedstruct))


def _array(array: Any) -> Any:
    if array.dtype.hasobject:
        raise NotFollowedError(f"an array of {array.dtype}")
    content = hashlib.sha256(array.tobytes()).hexdigest()
    return "array", _dtype(array.dtype), array.shape, array.strides, array.flags.writeable, content


class _Reader:
    """Writes values as nested tuples of text and numbers, and collects the functions among them.

    ``names`` are those that the bytecode mentions: what it may read from a module.
    """

    def __init__(self, names: frozenset[str], compiled: bool = True) -> None:
        self.names, self.compiled = names, compiled
        self.follows: list[Use] = []
        self._entered: set[str] = set()

    def code(self, code: CodeType, doc: str | None = None) -> Any:
        """Bytecode and all it refers to; without the docstring, which is the first constant and never loaded."""
        constants = list(code.co_consts)
        if constants and doc is not None and constants[0] == doc and FIRST_CONSTANT not in code.co_code:
            constants[0] = None
        return (
            code.co_name,
            code.co_code,
            [self.code(each) if isinstance(each, CodeType) else self.value(each) for each in constants],
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            code.co_exceptiontable,
        )

    def read_global(self, function: FunctionType, name: str) -> Any:
        """The value that a global name has in a function."""
        if name in function.__globals__:
            return self.value(function.__globals__[name])
        return "builtin" if hasattr(builtins, name) else "missing"

    def cell(self, name: str, cell: Any) -> Any:
        """The value of a closure; ``__class__`` is what ``super()`` looks at, the class of the function itself."""
        try:
            content = cell.cell_contents
        except ValueError:
            return "empty"
        return content.__qualname__ if name == "__class__" else self.value(content)

    def value(self, value: Any) -> Any:
        """A value that compiled code may contain."""
        if type(value) in PLAIN:
            return repr(value)
        if isinstance(value, Enum):
            return "enum", type(value).__qualname__, value.name, self.value(value.value)
        if isinstance(value, np.generic | np.ndarray | np.dtype):
            return _dtype(value) if isinstance(value, np.dtype) else _array(np.asarray(value))
        if isinstance(value, types.Type) and not isinstance(value, types.Callable):
            return type(value).__name__, str(value)
        if isinstance(value, tuple | list | set | frozenset | dict):
            return self._collection(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            return self._module(value)
        return self._callable(value)

    def _collection(self, values: Any) -> Any:
        kind = type(values).__qualname__, getattr(values, "_fields", None)
        if isinstance(values, dict):
            return kind, [(self.value(key), self.value(value)) for key, value in values.items()]
        if isinstance(values, set | frozenset):
            return kind, sorted(repr(self.value(value)) for value in values)
        return kind, [self.value(value) for value in values]

    def _class(self, kind: Any) -> Any:
        name = getattr(kind, "__module__", None), kind.__qualname__
        if issubclass(kind, Enum):
            return name, [self.value(member) for member in kind.__members__.values()]
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return name, kind._fields, self.value(kind._field_defaults)
        if _versioned(name[0]) or issubclass(kind, BaseException):  # errors are raised by their names
            return name
        raise NotFollowedError(f"the class {kind.__qualname__}")

    def _module(self, module: ModuleType) -> Any:
        """A module of which the code reads some names: which ones is not looked at, so all that it mentions."""
        if _versioned(module.__name__) or module.__name__ in self._entered:
            return module.__name__
        if hasattr(module, "__getattr__"):
            raise NotFollowedError(f"the module {module.__name__}, whose attributes are made on demand")
        self._entered.add(module.__name__)
        there = sorted(self.names & vars(module).keys())
        return module.__name__, [(name, self.value(getattr(module, name))) for name in there]

    def _callable(self, value: Any) -> Any:
        if isinstance(value, Dispatcher):
            self.follows.append(Use(value.py_func, compiled=True))
            return (
                "compiled",
                self.value(value.targetoptions),
                self.value(value.locals),
                self._compiler(value),
            )
        if isinstance(value, _Intrinsic) and not _versioned(value._defn.__module__):
            self.follows.append(Use(value._defn, compiled=False))
            return "intrinsic", value._name, value._prefer_literal, self.value(value._ctor_kwargs)
        if isinstance(value, np.ufunc) and value is getattr(np, str(value.__name__), None):
            return "ufunc", str(value)
        if _is_of_versioned_package(value):
            return value.__module__, value.__qualname__
        if isinstance(value, FunctionType) and not self.compiled:  # compiled code calls an overload of it
            self.follows.append(Use(value, compiled=False))
            return "function"
        raise NotFollowedError(f"{value!r} of {type(value).__qualname__}")

    def _compiler(self, dispatcher: Any) -> Any:
        """A compiler other than numba's own counts by its methods."""
        kind = type(dispatcher._compiler)
        if kind is _FunctionCompiler:
            return kind.__qualname__, dispatcher._compiler.pipeline_class.__qualname__
        methods = [(name, each) for name, each in vars(kind).items() if isinstance(each, FunctionType)]
        self.follows += [Use(each, compiled=False) for _, each in methods]
        return (
            kind.__qualname__,
            dispatcher._compiler.pipeline_class.__qualname__,
            [name for name, _ in methods],
        )
