"""Control laws that a scenario names: ``mylaw.py:follow``. Loading one runs the Python code of its file."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from servotwin.control.user_laws import CompiledLaw, PythonLaw, UserLaw
from servotwin.description.nodes import Node, one_line, quoted, read_text
from servotwin.description.problems import find
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.simulation.scenario_parts import OwnLaw


@dataclass(frozen=True)
class LawFile:
    """A law in a Python file, not loaded yet; ``node`` is where the scenario names it."""

    path: Path
    name: str
    period: float | None
    level: str | None
    memory: int | None
    node: Node = field(repr=False, compare=False)

    def plain(self) -> dict[str, Any]:
        """As texts and SI numbers, ready for JSON."""
        law = f"{self.path}:{self.name}"
        return {"law": law, "period": self.period, "level": self.level, "memory": self.memory}

    def error(self, message: str, name: str = "law") -> InputError:
        """An error at a field of the scenario's ``controller``."""
        return find(self.node, [name]).error(message, f"controller.{name}")


def law_file(stated: OwnLaw, node: Node) -> LawFile:
    """The law that a scenario states at ``node``; its file lies beside the scenario, of an option in this folder."""
    place = find(node, ["law"])
    file, _, name = stated.law.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        text = f"{quoted(stated.law)} is not FILE.py:NAME; expected such as 'mylaw.py:follow'"
        raise place.error(text, "controller.law")
    path = Path(place.origin.file).parent / file if place.origin.line else Path(file)
    try:
        there = path.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        beside = "beside the scenario" if place.origin.line else "in this folder"
        raise place.error(f"no file {quoted(file)} {beside}; expected a Python file", "controller.law")
    return LawFile(path, name, stated.period, stated.level, stated.memory, node)


def load_law(law: LawFile, motors: int) -> UserLaw:
    """The law, ready to run, for as many motors; runs the code of its file anew."""
    module = _module(law.path)
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


def _module(path: Path) -> ModuleType:
    """The file as a module; what goes wrong in it is told with its line."""
    module = ModuleType(f"servotwin_law_{path.stem}")
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
        message = f"the law cannot be loaded: {said}"
        raise InputError(message, file=str(path), line=lines[-1] if lines else None) from error
    return module
