"""Machine code that comes with the package, so that a first run compiles little: made when a wheel is built.

It is looked up under the same digests as the user's cache, for a level of processors (``llvm.LEVELS``) instead of
this one: code of a changed source, of other libraries or of a level that this machine lacks is not found. It is
trusted as the package's own sources are. A list beside the files has their SHA-256; a file that does not fit it is
damaged, and its code is compiled as if it had not come along. ``tools/objects.py`` writes both; a clone has none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from servotwin.cache import store
from servotwin.cache.store import Kind
from servotwin.cache.trust import say_once
from servotwin.compiled.llvm import LEVELS, reached

FOLDER = Path(__file__).with_name("objects")
INDEX = "index.json"


@cache
def digests() -> dict[str, dict[str, str]]:
    """SHA-256 of the files by level and name; empty where none came along."""
    try:
        found = json.loads((FOLDER / INDEX).read_bytes())
        return {str(level): dict(names) for level, names in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


@cache
def level() -> str | None:
    """The best level of which code came along that this machine runs; None if the user chose another processor."""
    if "NUMBA_CPU_NAME" in os.environ or "NUMBA_CPU_FEATURES" in os.environ:
        return None
    return next((name for name in LEVELS if name in digests() and reached(name)), None)


def read(kind: Kind, name: str) -> bytes | None:
    """The data that came along under a name, for the level of this machine; None if there are none, or damaged ones."""
    there = level()
    digest = None if there is None else digests()[there].get(f"{kind}/{name}")
    if digest is None:
        return None
    path = FOLDER / f"{kind}-{name}"
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != digest:
        say_once("shipped", f"{path} is damaged; its code is compiled here")
        return None
    return data


def entry_of(kind: Kind, name_for: Callable[[str | None], str]) -> tuple[dict[str, Any], bytes] | None:
    """Header and code of an entry, the user's or the one that came along; ``name_for``: its name by level."""
    data = store.read(kind, name_for(None))
    if data is None and (there := level()) is not None:
        data = read(kind, name_for(there))
    return store.parse_entry(data)
