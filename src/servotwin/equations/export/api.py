"""Exports by language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from servotwin.equations.derivation import Numbers
from servotwin.equations.export.assemble import program_script, robot_script
from servotwin.equations.export.c99 import c99_source
from servotwin.equations.export.latex import latex_document
from servotwin.equations.export.listing import markdown_listing, text_listing
from servotwin.equations.export.mathematica import mathematica_source
from servotwin.equations.export.matlab import matlab_source
from servotwin.equations.export.python_source import python_source
from servotwin.equations.export.script import Script
from servotwin.equations.programs import Program
from servotwin.errors import ServotwinError

LANGUAGES: dict[str, Callable[[Script], str]] = {
    "python": python_source,
    "c99": c99_source,
    "matlab": matlab_source,
    "mathematica": mathematica_source,
    "text": text_listing,
    "markdown": markdown_listing,
    "latex": latex_document,
}
SUFFIXES = {
    "python": ".py",
    "c99": ".c",
    "matlab": ".m",
    "mathematica": ".wl",
    "text": ".txt",
    "markdown": ".md",
    "latex": ".tex",
}


def export_program(
    program: Program,
    language: str,
    *,
    name: str,
    numeric: bool | Collection[str] = False,
    results: Sequence[str] | None = None,
    joints: Sequence[str] = (),
    first: int = 1,
    notes: Sequence[str] = (),
    file: str | None = None,
    motor_units: Sequence[str] = (),
) -> str:
    """A program as source text of a language.

    ``name`` becomes the function's name; ``numeric`` (all, or some of 'geometry', 'gravity', 'inertia')
    puts numbers in place of parameters; ``results`` names the outputs (default: by the kind of program
    that ``name`` ends with); ``joints`` names the tree joints for comments; names of variables count
    from ``first``; ``notes``: further lines for the reader; ``file``: what the file will be called, where that
    matters (MATLAB); ``motor_units``: rad, or m of a piston.
    """
    printer = _printer(language)
    return printer(
        program_script(
            program,
            name=name,
            numeric=numeric,
            results=results,
            joints=joints,
            first=first,
            notes=notes,
            file=file,
            motor_units=motor_units,
        )
    )


def export_robot(
    numbers: Numbers,
    language: str,
    functions: Sequence[str] | None = None,
    *,
    name: str,
    frame: str = "tool",
    drives: bool = False,
    numeric: bool | Collection[str] = False,
    joints: Sequence[str] = (),
    first: int = 1,
) -> str:
    """Several functions of a robot as one source text; see ``assemble.robot_script`` for the options."""
    printer = _printer(language)
    return printer(
        robot_script(
            numbers,
            functions,
            name=name,
            frame=frame,
            drives=drives,
            numeric=numeric,
            joints=joints,
            first=first,
        )
    )


def _printer(language: str) -> Callable[[Script], str]:
    if language not in LANGUAGES:
        hint = "; for SymPy objects call to_sympy" if language == "sympy" else ""
        raise ServotwinError(f"no language '{language}'; there are: {', '.join(LANGUAGES)}{hint}")
    return LANGUAGES[language]
