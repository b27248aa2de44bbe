"""Compiling in less time: what numba does again and again while it compiles, done once or with less.

Nothing of it changes what is compiled. It is worth a quarter of the time that loops over nested records take. All but
the pause of the collector replaces methods inside numba, so that happens in versions whose methods were read; others
work as they come.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import analysis, errors, transforms
from numba.core.codegen import CPUCodeLibrary
from numba.core.ir import Arg, Const, Expr, FreeVar, Global, Inst, Loc, Var
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import Array, Boolean, Function, Number, Record

READ = frozenset({"0.68"})  # versions of numba whose methods are known to do what these do
BRIGHT, RESET = "\x1b[1m", "\x1b[0m"  # of terminals, as colorama writes them


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python from looking for garbage in the millions of objects of a compilation, most of them in use."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


_write_text = Record.__repr__
_texts: dict[str, str] = {}


def _text(self: Any) -> str:
    """A record's type with all its fields at every depth; types of one name are one type to numba."""
    if self.name not in _texts:
        _texts[self.name] = _write_text(self)
    return _texts[self.name]


_compare, _hash = TargetConfig.__eq__, TargetConfig.__hash__
_hashes: dict[type, int] = {}


def _same_options(self: Any, other: Any) -> Any:
    """Options are equal if what was set is; only otherwise the defaults have to be looked at."""
    if self is other or (type(self) is type(other) and self._values == other._values):
        return True
    return _compare(self, other)


def _hash_of_names(self: Any) -> int:
    """Numba's hash of options is one of their names, so it is the same for all of a class."""
    kind = type(self)
    if kind not in _hashes:
        _hashes[kind] = _hash(self)
    return _hashes[kind]


_write_variables = Inst._rec_list_vars
_PLAIN = (str, int, float, bool, complex, type(None), type(len), type(collector_paused), type)
_NO_VARIABLES = frozenset({Arg, Const, FreeVar, Global, Loc, *_PLAIN})


def _variables(self: Any, value: Any) -> list[Any]:
    """The variables in the parts of an instruction, in numba's order, without a list for every part."""
    found: list[Any] = []
    _collect(self, value, found)
    return found


def _collect(instruction: Any, value: Any, found: list[Any]) -> None:
    kind = type(value)
    if kind is Var:
        found.append(value)
    elif kind in _NO_VARIABLES:
        return
    elif kind is Expr:
        _collect(value, value._kws, found)
    elif kind is dict:
        for part in value.values():
            _collect(instruction, part, found)
    elif kind is list or kind is tuple:
        for part in value:
            _collect(instruction, part, found)
    else:
        found += _write_variables(instruction, value)


_find_call_type = Function.get_call_type
_BY_TYPE = (Number, Boolean, Array, Record)  # operations on them follow from their types and the options


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a function of numba's for arguments of these types: found once among many templates.

    What carries it out is remembered with it, for each set of options, because numba keeps the last one found. A
    function for which templates are registered later is another object to numba, with nothing remembered.
    """
    if kws or type(args) is not tuple or not all(isinstance(kind, _BY_TYPE) for kind in args):
        return _find_call_type(self, context, args, kws)
    known = self.__dict__.setdefault("_known_call_types", {})
    key = context, args, ConfigStack.top_or_none()
    if key not in known:
        found: Any = _find_call_type(self, context, args, kws)
        known[key] = found, self._impl_keys[found.args]
    found, implementation = known[key]
    self._impl_keys[found.args] = implementation
    return found


_process = PostProcessor.run


class _EntryVariables(dict[Any, Any]):
    """Which variables live where blocks begin, found when first asked for; only generators ask."""

    def __init__(self, blocks: Any, lifetime: Any) -> None:
        super().__init__()
        self._of = blocks, lifetime

    def __contains__(self, block: object) -> bool:
        return any(block is one for one in self._of[0].values())

    def __missing__(self, block: Any) -> Any:
        blocks, lifetime = self._of
        maps = lifetime.cfg, blocks, lifetime.usedefs.defmap, lifetime.deadmaps.combined
        found = analysis.compute_live_variables(*maps)
        self.update({one: found[offset] for offset, one in blocks.items()})
        return self[block]


def _process_lazily(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What numba does after most of its passes; lifetimes of variables, which hardly any pass reads, on demand."""
    code = self.func_ir
    if emit_dels or code.is_generator:
        _process(self, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.block_entry_vars = _EntryVariables(code.blocks, code.variable_lifetime)
    code.generator_info = None


_optimize_all = CPUCodeLibrary._optimize_functions


def _optimize_functions(self: Any, module: Any) -> None:
    """Optimise the functions of a module one by one; most of them are declarations, in which nothing is to be done."""
    module.data_layout = self._codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            manager, builder = self._codegen._function_pass_manager()
            with self._recorded_timings.record(f"Function passes on {function.name!r}", builder):
                manager.run(function, builder)


_scheme: Any = getattr(errors, "HighlightColorScheme", None)  # where there is colorama
_set_up_and_mark = getattr(_scheme, "_markup", None)


def _mark_up(self: Any, message: str, color: str | None = None, style: str | None = BRIGHT) -> str:
    """A message in colour, as numba and colorama write it, without setting up the terminal for each.

    Numba marks the message of every error, also of those with which it finds out that a template does not fit.
    """
    return f"{color or ''}{style or ''}{message}{RESET}"


def replace_methods(version: str) -> bool:
    """Put the methods in the place of numba's, in a version that was read; whether that happened."""
    if ".".join(version.split(".")[:2]) not in READ:
        return False
    Record.__repr__ = _text  # type: ignore[method-assign,unused-ignore]
    TargetConfig.__eq__ = _same_options  # type: ignore[method-assign,unused-ignore]
    TargetConfig.__hash__ = _hash_of_names  # type: ignore[method-assign,unused-ignore]
    Inst._rec_list_vars = _variables
    Function.get_call_type = _call_type  # type: ignore[method-assign,unused-ignore]
    PostProcessor.run = _process_lazily  # type: ignore[method-assign,unused-ignore]
    CPUCodeLibrary._optimize_functions = _optimize_functions
    if _scheme is not None:
        _scheme._markup = _mark_up
    return True


READS = replace_methods(numba.__version__)  # whether this version's insides are known
