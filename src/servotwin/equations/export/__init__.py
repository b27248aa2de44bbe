"""Programs as source text: Python, C99, Mathematica, LaTeX, Markdown, plain text; and as SymPy objects."""

from servotwin.equations.export.api import LANGUAGES, SUFFIXES, export_program, export_robot
from servotwin.equations.export.assemble import program_script, robot_script
from servotwin.equations.export.to_sympy import SympyProgram, to_sympy

__all__ = [
    "LANGUAGES",
    "SUFFIXES",
    "SympyProgram",
    "export_program",
    "export_robot",
    "program_script",
    "robot_script",
    "to_sympy",
]
