"""Control laws that a scenario names: ``mylaw.py:follow``. Loading one runs the Python code of its file.

So none is loaded unless the caller allows it, and none from outside the folder of the scenario that names it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw, UserLaw
from servotwin.description.nodes import Node, one_line, quoted, read_text
from servotwin.description.problems import find
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.simulation.scenario.parts import OwnLaw

listeners: list[Callable[[str], None]] = []  # told of code that begins to run, FILE.py:NAME


@dataclass(frozen=True)
class LawFile:
    """A law in a Python file, not loaded yet; ``node`` is where the scenario names it.

    ``folder`` is that of the file that names it, which it must not leave; None where the user named it, by an
    option or in a call.
    """

    path: Path
    name: str
    period: float | None
    level: str | dict[str, str] | None
    memory: int | None
    node: Node = field(repr=False, compare=False)
    folder: Path | None = None

    def plain(self) -> dict[str, Any]:
        """As texts and SI numbers, ready for JSON."""
        law = f"{self.path}:{self.name}"
        return {"law": law, "period": self.period, "level": self.level, "memory": self.memory}

    def error(self, message: str, name: str = "law") -> InputError:
        """An error at a field of the scenario's ``controller``."""
        return find(self.node, [name]).error(message, f"controller.{name}")


def law_file(stated: OwnLaw, node: Node) -> LawFile:
    """The law that a scenario states at ``node``; its file lies beside the scenario, that of an option anywhere."""
    place = find(node, ["law"])
    file, _, name = stated.law.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        text = f"{quoted(stated.law)} is not FILE.py:NAME; expected such as 'mylaw.py:follow'"
        raise place.error(text, "controller.law")
    folder = Path(place.origin.file).parent if place.origin.line else None
    path = Path(file) if folder is None else folder / file
    law = LawFile(path, name, stated.period, stated.level, stated.memory, node, folder)
    check_beside(law)
    try:
        there = path.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        beside = "" if folder is None else " beside the scenario"
        raise place.error(f"no file {quoted(file)}{beside}; expected a Python file", "controller.law")
    return law


def check_beside(law: LawFile) -> None:
    """Refuse a law whose file lies, or through a link leads, outside the folder of the scenario that names it."""
    if law.folder is None:
        return
    named = Path(str(find(law.node, ["law"]).value).rpartition(":")[0])
    try:
        inside = law.path.resolve().is_relative_to(law.folder.resolve())
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside or named.is_absolute() or ".." in named.parts:
        raise law.error(
            f"{quoted(str(named))} leads out of the folder of the scenario; expected a file beside it"
        )


def check_allowed(law: LawFile | None, allow_code: bool) -> None:
    """Refuse to run a law unless the user has allowed the code of files."""
    if law is not None and not allow_code:
        shown = one_line(f"{law.path}:{law.name}", 300)
        remedy = "if you trust it, allow it by --allow-code (Python: allow_code=True)"
        raise law.error(f"'{shown}' is Python code, which is not run; {remedy}")


def announce(law: LawFile) -> None:
    """Name a law on stderr before its code runs."""
    announce_code("law", law.path, law.name)


def announce_code(what: str, path: Path, name: str) -> None:
    """Name on stderr what is run of a file, before it runs, and tell the ``listeners``."""
    shown = one_line(f"{path.resolve()}:{name}", 300)
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or absent
        sys.stderr.write(f"running the {what} {shown}\n")
        sys.stderr.flush()
    for told in listeners:
        told(shown)


def load_law(law: LawFile, motors: int) -> UserLaw:
    """The law, ready to run, for as many motors; names the file, and runs its code anew."""
    check_beside(law)  # links may have changed since the scenario was read
    announce(law)
    module = load_module(law.path, "law")
    found = getattr(module, law.name, None)
    if found is None:
        names = [name for name, value in vars(module).items() if callable(value)]
        hint = did_you_mean(law.name, names)
        raise law.error(f"{law.path.name} has no {quoted(law.name)}; expected a function in it{hint}")
    stated = {"period": law.period, "level": law.level}
    if isinstance(found, PythonLaw | CompiledLaw):
        changes: dict[str, Any] = {name: value for name, value in stated.items() if value is not None}
        return replace(found, **changes)
    if not callable(found) or isinstance(found, type):
        expected = "a function, a PythonLaw or a CompiledLaw"
        raise law.error(f"{quoted(law.name)} is of type {type(found).__name__}; expected {expected}")
    if law.period is None:
        text = f"no period: {quoted(law.name)} does not say how often it is called; expected such as '1.6 ms'"
        raise law.error(text, "period")
    level = law.level or "current"
    if hasattr(found, "py_func"):  # compiled by numba
        return CompiledLaw(found, law.period, motors, level, law.memory or 1)
    return PythonLaw(found, law.period, level)


def load_module(path: Path, what: str) -> ModuleType:
    """The file as a module; what goes wrong in it is told with its line."""
    module = ModuleType(f"servotwin_{what}_{path.stem}")
    module.__file__ = str(path)
    source = read_text(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102
    except SyntaxError as error:
        line = error.lineno if error.filename == str(path) else None
        raise InputError(f"not Python: {one_line(error.msg, 120)}", file=str(path), line=line) from error
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        said = one_line(f"{type(error).__name__}: {error}", 160).rstrip(": ")
        message = f"the {what} cannot be loaded: {said}"
        raise InputError(message, file=str(path), line=lines[-1] if lines else None) from error
    return module
