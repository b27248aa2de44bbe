"""How the functions of this package are compiled: by numba, cached on disk, one specialisation each.

Numba's own cache watches only the file a function stands in. The kernels here are built from helpers of other
files, so an entry is named by a digest of what the function depends on (``compiled/dependencies.py``). An entry
that is damaged or not this user's counts as missing: the kernel is compiled and saved again.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
import hashlib
import pickle
from collections.abc import Callable
from functools import cached_property
from types import MethodType, SimpleNamespace
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined,unused-ignore]
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.types.misc import unliteral

from servotwin.cache import store
from servotwin.compiled import numba_quicker, shipped
from servotwin.compiled.dependencies import NotFollowedError, dependency_digest
from servotwin.compiled.llvm import target_of

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


def helper(function: Function) -> Function:
    """A function that disappears into compiled callers; it must not make arrays, nor return them."""
    return cast(Function, _for_callers(njit(**HELPER_OPTIONS)(function)))


def part(function: Function) -> Function:
    """A larger function of compiled loops, called rather than inlined: it keeps them short to compile."""
    return cast(Function, _for_callers(njit(**(HELPER_OPTIONS | {"forceinline": False}))(function)))


# Motors, PWM and friction are optimised by themselves too: inlined as they come, they made the DC window 7 % slower.
ALONE = "servotwin.drives."


def _end_as_llvm_code(library: Any) -> None:
    """Let no more be added. Numba would link, optimise and translate the code by itself, for nothing."""
    library._raise_if_finalized()
    library._finalized = True


class CallersOnly(_FunctionCompiler):  # type: ignore[misc,unused-ignore]
    """Compiles to LLVM code only: machine code of a function that only compiled code calls is never run.

    A caller gets the code of all it calls, at every depth, and all of that is optimised once, in the caller. In
    versions of numba whose insides were not read a function is optimised by itself, too.
    """

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        result = super()._compile_core(args, return_type)
        stand_in: list[Any] = []  # numba wants a built-in method, of its own for each function, as the key
        result = result._replace(entry_point=stand_in.append)
        library = result.library
        needed = [library]
        if numba_quicker.READS:
            # of all depths, for those it calls brought theirs
            called = dict.fromkeys(library._linking_libraries)
            if self.py_func.__module__.startswith(ALONE):
                for other in called:
                    library._final_module.link_in(other._get_module_for_linking(), preserve=True)
                library._optimize_final_module()
                called = {}
            library.finalize = MethodType(_end_as_llvm_code, library)
            needed += called
        context = self.targetdescr.target_context
        context.insert_user_function(result.entry_point, result.fndesc, needed)
        return result


def _for_callers(compiled: Any) -> Any:
    """Spare a numba function its own machine code, a third of the compile time of loops with many helpers."""
    compiler = getattr(compiled, "_compiler", None)
    if type(compiler) is _FunctionCompiler:
        compiler.__class__ = CallersOnly
        _compile_once_for_literals(compiled)
    return compiled


def _compile_once_for_literals(compiled: Any) -> None:
    """Let a number that is written in a call count as any number of its type.

    Numba would compile the function anew for each of them; where it is inlined, LLVM knows the number all the same.
    """
    template_for = compiled.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return template_for(tuple(map(unliteral, args)), kws)

    compiled.get_call_template = get_call_template


def allocator(function: Function) -> Function:
    """A function that makes the work arrays of a kernel."""
    return cast(Function, njit(**OPTIONS)(function))


def kernel(function: Function) -> Function:
    """A function called from Python or from other compiled loops; its machine code is kept on disk."""
    return _kept(function, njit(**OPTIONS)(function))


def background_kernel(function: Function) -> Function:
    """A kernel that lets other threads of the interpreter run meanwhile: for seconds of work that somebody watches."""
    return _kept(function, njit(**(OPTIONS | {"nogil": True}))(function))


def strict_kernel(function: Function) -> Function:
    """The same for numbers that must not depend on how the compiler contracts them."""
    return _kept(function, njit(function))


def _kept(function: Function, compiled: Any) -> Function:
    if compiled is not function:  # numba returns the function itself when it is switched off
        compiled._cache = CompiledCache(function, compiled)
    return cast(Function, compiled)


class Callback:
    """A compiled function with a C signature, which others call by its address; kept on disk.

    ``arguments`` and ``result``: names of numba's types, such as 'int64' for a pointer.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[str, ...], result: str) -> None:
        self.function = function
        self.arguments, self.result = arguments, result

    @cached_property
    def _callback(self) -> Any:
        from numba import types
        from numba.core.ccallback import CFunc

        arguments = tuple(getattr(types, name) for name in self.arguments)
        options = OPTIONS | {"_nrt": False}
        signature = (arguments, getattr(types, self.result))
        compiled: Any = cast(Any, CFunc)(self.function, signature, locals={}, options=options)
        compiled._cache = CompiledCache(self.function, options)
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
        return isinstance(cache, CompiledCache) and cache.holds(callback._sig, callback._targetdescr)


class Piece(Callback):
    """A callback of the simulation's loops, ``void f(int64 * 4, double * 2)``.

    Numba optimises a function together with everything it calls, once for every caller on the way up.
    Pieces are optimised once, and kept on disk one by one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, ("int64",) * 4 + ("float64",) * 2, "void")


def piece(function: Callable[..., Any]) -> Piece:
    """Decorator for a ``Piece``."""
    return Piece(function)


def callback(*arguments: str, result: str) -> Callable[[Callable[..., Any]], Callback]:
    """Decorator for a ``Callback``."""
    return lambda function: Callback(function, arguments, result)


class CompiledResults(CompileResultCacheImpl):  # type: ignore[misc,unused-ignore]
    """How numba turns compiled functions into data and back; where the data lie is no business of numba's."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = SimpleNamespace(_py_file=function.__code__.co_filename)  # for numba's warnings


class CompiledCache(FunctionCache):  # type: ignore[misc,unused-ignore]
    """Numba's function cache in the cache of the house, one entry for each function, signature and processor.

    Numba's own lies beside the sources or wherever NUMBA_CACHE_DIR points, and is unpickled whoever wrote it.
    An entry's name is the digest of all that decides about the code; nothing of it is unpickled before it is
    authenticated. ``options`` are those the function is compiled with, or its numba dispatcher.
    """

    def __init__(self, function: Callable[..., Any], options: Any) -> None:
        self._name, self._py_func, self._options = repr(function), function, options
        self._impl = CompiledResults(function)
        self._cache_path = None
        self._read: dict[str, bytes] = {}
        self.enable()

    @cached_property
    def _depends(self) -> str | None:
        """Digest of what the function depends on; None, and nothing is kept, if that is not known."""
        try:
            return dependency_digest(self._py_func, self._options)
        except NotFollowedError:
            return None

    def _index_key(self, sig: Any, target: Any) -> Any:
        """``target``: triple, name and features of a processor."""
        return sig, target, self._depends

    def _entry(self, key: Any) -> str:
        return hashlib.sha256(repr(tuple(map(str, key))).encode()).hexdigest()

    def _found(self, sig: Any, codegen: Any) -> tuple[Any, bytes] | None:
        """Key and data of the entry, the user's or the one that came with the package."""
        key = self._index_key(sig, codegen.magic_tuple())
        data = self._read.pop(self._entry(key), None) or store.read("loops", self._entry(key))
        if data is None and (level := shipped.level()) is not None:
            key = self._index_key(sig, target_of(level))
            data = self._read.pop(self._entry(key), None) or shipped.read("loops", self._entry(key))
        return None if data is None else (key, data)

    def holds(self, sig: Any, target: Any) -> bool:
        """Whether there is an undamaged entry; its code is not loaded, for what is loaded stays in the process."""
        found = None if self._depends is None else self._found(sig, target.target_context.codegen())
        if found is not None:
            self._read[self._entry(found[0])] = found[1]
        return found is not None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of the entry, or None.

        Numba would first learn how all it knows is compiled, a tenth of the time of a process that only loads code.
        Code needs the functions that count references and nothing else; whatever is compiled comes after the rest.
        """
        if not numba_quicker.READS:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if self._depends is None or not self._enabled:
            return None
        found = self._found(sig, target_context.codegen())
        if found is None:
            return None
        try:
            stored, data = pickle.loads(found[1])
        except Exception:  # noqa: BLE001 -- libraries that changed without their version can raise anything
            return None
        return self._impl.rebuild(target_context, data) if stored == found[0] else None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._enabled and self._depends is not None and self._impl.check_cachable(data):
            key = self._index_key(sig, data.codegen.magic_tuple())
            store.write("loops", self._entry(key), dumps((key, self._impl.reduce(data))))

    def flush(self) -> None:
        """Entries are never wrong, so none is removed; the limit of the cache does that."""
