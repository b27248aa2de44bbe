"""The sources that decide about what is kept: a module, all that it imports, and so on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
IMPORT = re.compile(rf"^ *from {PACKAGE.name}((?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
OUTSIDE = ("cache", "errors")  # where and whether something is kept, and words: they change nothing of it


def source_digest(*roots: str, given: Collection[str] = ()) -> str:
    """Digest of modules such as ``equations/programs`` and of all modules of the package that they import.

    What they wrote before they changed is not read again. Modules that are ``given`` hold the input, whose values
    are part of the key: they and what they import are left out.
    """
    digest = hashlib.sha256()
    for name, text in sorted(sources(*roots, given=given).items()):
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


def sources(*roots: str, given: Collection[str] = ()) -> dict[str, str]:
    """The modules that ``source_digest`` reads, and their texts."""
    found: dict[str, str] = {}
    left_out, waiting = {*OUTSIDE, *given}, list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or name in left_out or name.partition("/")[0] in left_out:
            continue
        found[name] = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
        waiting += imported(found[name])
    return found


def imported(text: str) -> list[str]:
    """The modules of the package that a text imports, at its top or inside functions.

    >>> imported("from servotwin.mechanism.model import Array")
    ['mechanism/model']
    >>> imported("from servotwin.cache import place, store")
    ['cache/__init__', 'cache/place', 'cache/store']
    """
    modules = []
    for place, names in IMPORT.findall(text):
        module = place[1:].replace(".", "/")
        if module and (PACKAGE / f"{module}.py").is_file():
            modules.append(module)
            continue
        inside = [f"{module}/{name}".lstrip("/") for name in ("__init__", *re.findall(r"\w+", names))]
        modules += [name for name in inside if (PACKAGE / f"{name}.py").is_file()]
    return modules
