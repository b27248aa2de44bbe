"""From programs, or from a robot's numbers, to the script that back ends print."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from servotwin.dynamics.forward import NoInertiaError
from servotwin.equations.closed_programs import CLOSED_PROGRAMS
from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.export.names import Names, identifier
from servotwin.equations.export.parameters import GROUPS, Glossary
from servotwin.equations.export.per_robot import PerRobot
from servotwin.equations.export.script import Script
from servotwin.equations.export.steps import Counting, Request, write_function
from servotwin.equations.export.transfer import copied, has_own_moments
from servotwin.equations.programs import PROGRAMS, Program
from servotwin.errors import ServotwinError, UnsupportedError

RESULTS = {
    "rne": "tau",
    "inertia": "M",
    "coriolis": "C",
    "gravload": "g",
    "accel": "qdd",
    "fkine": "T",
    "fkine_all": "T",
    "jacob0": "J",
    "jacob0_dot": "Jd",
    "energy": "E",
    "gradient": "S",
    "projection": "T",
    "multipliers": "lam",
}
USUAL = ("rne", "inertia", "coriolis", "gravload", "accel", "fkine", "jacob0", "energy")
USUAL_CLOSED = ("step", *USUAL)
TREE_COORDINATES = {"q": "x", "qd": "xd", "qdd": "xdd"}  # of a closed chain: actuated and passive joints


def program_script(
    program: Program,
    *,
    name: str,
    numeric: bool | Collection[str] = False,
    results: Sequence[str] | None = None,
    joints: Sequence[str] = (),
    first: int = 1,
    notes: Sequence[str] = (),
    file: str | None = None,
    motor_units: Sequence[str] = (),
) -> Script:
    """One program as a script with one function, both called ``name``; the script as its ``file``, if stated."""
    copy = copied(program, numeric=_groups(numeric), own_moments=has_own_moments(program))
    function = identifier(name, "program")
    kind = _guess(function)
    names = tuple(results) if results is not None else _result_names(kind, len(copy.outputs))
    if len(names) != len(copy.outputs):
        raise ServotwinError(f"results has {len(names)} names; the program has {len(copy.outputs)} results")
    request = Request(function, copy, tuple(identifier(n, "out") for n in names), _summary(kind, program))
    glossary = Glossary(program.derivation.numbers, joints, first, motor_units)
    return _script(
        name, function if file is None else identifier(file, "program"), [request], glossary, notes
    )


def robot_script(
    numbers: Numbers,
    functions: Sequence[str] | None = None,
    *,
    name: str,
    frame: str = "tool",
    drives: bool = False,
    numeric: bool | Collection[str] = False,
    joints: Sequence[str] = (),
    first: int = 1,
) -> Script:
    """Several functions of one robot, which share its parameters.

    ``functions``: names of programs, for closed chains with or without 'closed_'; default the usual
    ones. ``frame`` is the frame of fkine and jacob0; ``drives`` counts the rotors; ``numeric`` (all, or
    some of 'geometry', 'gravity', 'inertia') puts numbers in place of parameters; ``joints`` names the
    tree joints for comments; names count from ``first``.
    """
    glossary = Glossary(numbers, joints, first)
    requests, notes = [], []
    for kind in functions or (USUAL_CLOSED if numbers.cut else USUAL):
        try:
            requests.append(_request(numbers, kind, frame, drives, _groups(numeric)))
        except NoInertiaError as error:
            text = f"{glossary.joint(glossary.free[error.joint])} moves no inertia"
            text += ", so a torque does not fix its acceleration"
            if functions:
                raise UnsupportedError(f"{name}: {kind}: {text}") from None
            notes.append(f"Left out {kind}: {text}.")
    return _script(name, identifier(name), requests, glossary, notes)


def _groups(numeric: bool | Collection[str]) -> Collection[str]:
    """Groups of parameters that become numbers."""
    chosen = (GROUPS if numeric else ()) if isinstance(numeric, bool) else tuple(numeric)
    unknown = sorted(set(chosen) - set(GROUPS))
    if unknown or isinstance(numeric, str):
        raise ServotwinError(f"numeric is {numeric!r}; expected True, False or some of {', '.join(GROUPS)}")
    return chosen


def _request(numbers: Numbers, kind: str, frame: str, drives: bool, numeric: Collection[str]) -> Request:
    build = _find(numbers, kind)
    short = build.__name__.removeprefix("closed_")
    accepted = inspect.signature(build).parameters
    options: dict[str, Any] = {}
    if "frame" in accepted:
        if frame not in numbers.frames:
            raise ServotwinError(f"no frame '{frame}'; there are: {', '.join(numbers.frames)}")
        options["frame"] = frame
    if drives and "drives" in accepted:
        options["drives"] = True
    own = short == "energy"
    table = numbers.table(energy=own, frame=options.get("frame"), drives="drives" in options)
    program = build(Derivation(numbers, table), **options)
    inputs = TREE_COORDINATES if numbers.cut and build.__name__ == short else {}
    summary = re.sub(r"\bqd{0,2}\b", lambda word: inputs.get(word[0], word[0]), _doc(build))
    if "frame" in options:
        summary = summary.replace("a frame", f"the frame '{frame}'")
    if "drives" in options:
        summary = f"{summary.removesuffix('.')}, with the inertia of the rotors."
    copy = copied(program, numeric=numeric, own_moments=own, inputs=inputs)
    return Request(short, copy, _result_names(short, len(copy.outputs)), summary)


def _find(numbers: Numbers, kind: str) -> Callable[..., Program]:
    short = kind.removeprefix("closed_")
    if numbers.cut is None:
        known = PROGRAMS
    else:
        tree = {k: PROGRAMS[k] for k in ("fkine", "fkine_all")}
        known = {**tree, **{k.removeprefix("closed_"): f for k, f in CLOSED_PROGRAMS.items()}}
    if short not in known or (numbers.cut is None and kind != short):
        raise ServotwinError(f"no function '{kind}' for this robot; there are: {', '.join(known)}")
    return known[short]


def _script(
    title: str,
    name: str,
    requests: Sequence[Request],
    glossary: Glossary,
    notes: Sequence[str] = (),
) -> Script:
    programs = [request.program for request in requests]
    blocks = [block for program in programs for block in (*program.inputs, *program.outputs)]
    if not requests or any(not block.entries for block in blocks):
        raise UnsupportedError(f"{title}: nothing to export: no functions, no joints or no results")
    robot = PerRobot.of(programs, glossary)
    _refuse_infinite(title, programs, robot)
    functions = [
        write_function(request, robot.symbols(k, request.program), Counting.of(request, glossary.first))
        for k, request in enumerate(_distinct(requests))
    ]
    return Script(
        name=name,
        title=title,
        coordinates=tuple(glossary.coordinates()),
        parameters=tuple(robot.parameters),
        constants=tuple(robot.constants),
        functions=tuple(functions),
        notes=tuple(notes),
    )


def _refuse_infinite(title: str, programs: Sequence[Program], robot: PerRobot) -> None:
    """No language has a literal for what is not finite."""
    values = [(p.symbol.name, p.value) for p in robot.parameters]
    values += [(c.symbol.name, c.value) for c in robot.constants]
    values += [("a number", v) for program in programs for v in program.derivation.graph.constants]
    for name, value in values:
        if not math.isfinite(value):
            raise UnsupportedError(f"{title}: {name} is {value}; only finite numbers can be exported")


def _distinct(requests: Sequence[Request]) -> list[Request]:
    names = Names()
    return [Request(names.take(r.name), r.program, r.results, r.summary) for r in requests]


def _guess(name: str) -> str | None:
    """The kind of program that a function's name ends with."""
    kinds = [*PROGRAMS, *(kind.removeprefix("closed_") for kind in CLOSED_PROGRAMS)]
    fits = [kind for kind in kinds if name == kind or name.endswith(f"_{kind}")]
    return max(fits, key=len, default=None)


def _result_names(kind: str | None, count: int) -> tuple[str, ...]:
    if count == 1:
        return (RESULTS.get(kind, kind) if kind else "out",)
    return tuple(f"out{k}" for k in range(1, count + 1))


def _summary(kind: str | None, program: Program) -> str:
    if kind is None:
        return ""
    closed = program.derivation.numbers.cut is not None
    found = CLOSED_PROGRAMS.get(f"closed_{kind}") if closed else PROGRAMS.get(kind)
    return _doc(found) if found is not None else ""


def _doc(build: Callable[..., Program]) -> str:
    return (inspect.getdoc(build) or "").split("\n")[0]
