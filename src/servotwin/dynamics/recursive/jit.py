"""How the functions of this package are compiled: by numba, cached on disk, one specialisation each.

Numba's own cache watches only the file a function stands in. The kernels here
are built from helpers of other files, so their entries are stamped with the
contents of every module that theirs imports, directly or through others. An entry
that is damaged counts as missing: the kernel is compiled and saved again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined,unused-ignore]


def _spare_scipy() -> None:
    """Let numba load without importing SciPy, a quarter of the start of a process.

    Numba asks only whether SciPy's BLAS can be imported; whoever compiles linear algebra imports it then.
    """
    name = "scipy.linalg.cython_blas"
    if name in sys.modules or importlib.util.find_spec("scipy") is None:
        return
    sys.modules[name] = ModuleType(name)
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[name]


_spare_scipy()

Function = TypeVar("Function", bound=Callable[..., Any])

# The compiler may ignore the sign of zero, divide by a reciprocal and fuse
# multiply-add; it may not reorder sums, which would cost compile time and accuracy.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"nsz", "arcp", "contract"}}
# Helpers borrow the arrays of their caller, so they need not count references
# (a third of the run time of ABA), and nobody calls them from Python or C
# (a quarter of the compile time).
HELPER_OPTIONS: dict[str, Any] = OPTIONS | {
    "forceinline": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
DIGEST_SIZE = 32


def helper(function: Function) -> Function:
    """A function that disappears into compiled callers; it must not make arrays, nor return them."""
    return cast(Function, _for_callers(njit(**HELPER_OPTIONS)(function)))


def part(function: Function) -> Function:
    """A larger function of compiled loops, called rather than inlined: it keeps them short to compile."""
    return cast(Function, _for_callers(njit(**(HELPER_OPTIONS | {"forceinline": False}))(function)))


class CallersOnly(_FunctionCompiler):  # type: ignore[misc,unused-ignore]
    """Compiles to LLVM code only: machine code of a function that only compiled code calls is never run."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        result = super()._compile_core(args, return_type)
        stand_in: list[Any] = []  # numba wants a built-in method, of its own for each function, as the key
        result = result._replace(entry_point=stand_in.append)
        context = self.targetdescr.target_context
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def _for_callers(compiled: Any) -> Any:
    """Spare a numba function its own machine code, a third of the compile time of loops with many helpers."""
    compiler = getattr(compiled, "_compiler", None)
    if type(compiler) is _FunctionCompiler:
        compiler.__class__ = CallersOnly
    return compiled


def allocator(function: Function) -> Function:
    """A function that makes the work arrays of a kernel."""
    return cast(Function, njit(**OPTIONS)(function))


def kernel(function: Function) -> Function:
    """A function called from Python or from other compiled loops; its machine code is kept on disk."""
    compiled: Any = njit(**OPTIONS)(function)
    if compiled is not function:  # numba returns the function itself when it is switched off
        with suppress(RuntimeError):  # no folder to write to: compile in every process
            compiled._cache = SourceCache(function)
    return cast(Function, compiled)


class Piece:
    """A compiled function that others call by its address, ``void f(int64 * 4, double * 2)``.

    Numba optimises a function together with everything it calls, once for every caller on the way up.
    Pieces are optimised once, and kept on disk one by one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @cached_property
    def _callback(self) -> Any:
        from numba import types
        from numba.core.ccallback import CFunc

        arguments = (types.int64,) * 4 + (types.float64,) * 2
        options = OPTIONS | {"_nrt": False}
        compiled: Any = cast(Any, CFunc)(self.function, (arguments, types.void), locals={}, options=options)
        with suppress(RuntimeError):  # no folder to write to: compile in every process
            compiled._cache = SourceCache(self.function)
        return compiled

    @cached_property
    def address(self) -> int:
        """Where the compiled function stands in this process; compiled or read from disk at first use."""
        self._callback.compile()
        return int(self._callback.address)

    @property
    def on_disk(self) -> bool:
        """Whether the compiled function is at hand, here or on disk, so that its address comes at once."""
        if "address" in self.__dict__:
            return True
        callback = self._callback
        cache = callback._cache
        return isinstance(cache, SourceCache) and cache.holds(callback._sig, callback._targetdescr)


def piece(function: Callable[..., Any]) -> Piece:
    """Decorator for a ``Piece``."""
    return Piece(function)


IMPORT = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)


@lru_cache
def imported_modules(path: Path, root: Path) -> frozenset[Path]:
    """Modules below the folder ``root`` that a module imports at its top level."""
    found = set()
    for package, names, plain in IMPORT.findall(path.read_text(encoding="utf-8")):
        place = root.joinpath(*(package or plain).split("."))
        places = [place, *(place / name for name in re.findall(r"\w+", names))]
        for candidate in places:
            found |= {
                file for file in (candidate.with_suffix(".py"), candidate / "__init__.py") if file.is_file()
            }
    return frozenset(found)


@lru_cache
def source_stamp(path: Path) -> str:
    """Digest of a module and of all modules of its package that it is built from."""
    package = path.parent
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    root, reached, waiting = package.parent, {path}, [path]
    while waiting:
        following = imported_modules(waiting.pop(), root) - reached
        reached |= following
        waiting += following
    digest = hashlib.sha256()
    for module in sorted(reached):
        digest.update(str(module.relative_to(root)).encode() + b"\0" + module.read_bytes() + b"\0")
    return digest.hexdigest()


class CheckedCacheFile(IndexDataCacheFile):  # type: ignore[misc,unused-ignore]
    """Machine code is kept behind its digest: damaged code would crash the process."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # noqa: BLE001 -- unpickling damaged bytes can raise anything
            return {}

    def _read_data(self, name: str) -> bytes:
        stored = Path(self._data_path(name)).read_bytes()
        digest, data = stored[:DIGEST_SIZE], stored[DIGEST_SIZE:]
        if hashlib.sha256(data).digest() != digest:
            raise OSError("damaged cache entry")  # an OSError tells the caller that there is no entry
        return data

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._read_data(name))

    def _save_data(self, name: str, data: Any) -> None:
        dumped = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(dumped).digest() + dumped)


class SourceCache(FunctionCache):  # type: ignore[misc,unused-ignore]
    """Numba's function cache, stamped by all sources of a function and forgiving about damaged entries."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = CheckedCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=source_stamp(Path(function.__code__.co_filename).resolve()),
        )

    def holds(self, sig: Any, target: Any) -> bool:
        """Whether there is an undamaged entry; its code is not loaded, for what is loaded stays in the process."""
        name = self._cache_file._load_index().get(self._index_key(sig, target.target_context.codegen()))
        try:
            return name is not None and bool(self._cache_file._read_data(name))
        except OSError:
            return False

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code; a full or read-only disk costs time later, not the result now."""
        with suppress(OSError):
            super().save_overload(sig, data)
