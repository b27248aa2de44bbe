"""Compiling in less time: three things that numba does again and again while it compiles, done once.

None of them changes what is compiled. They are worth a sixth of the time that loops over nested records take. Two of
them replace methods inside numba, so that happens in versions whose methods were read; others work as they come.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core.targetconfig import TargetConfig
from numba.core.types import Record

READ = frozenset({"0.68"})  # versions of numba whose methods are known to do what these do


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


def replace_methods(version: str) -> bool:
    """Put the methods in the place of numba's, in a version that was read; whether that happened."""
    if ".".join(version.split(".")[:2]) not in READ:
        return False
    Record.__repr__ = _text  # type: ignore[method-assign,unused-ignore]
    TargetConfig.__eq__ = _same_options  # type: ignore[method-assign,unused-ignore]
    TargetConfig.__hash__ = _hash_of_names  # type: ignore[method-assign,unused-ignore]
    return True


READS = replace_methods(numba.__version__)  # whether this version's insides are known
