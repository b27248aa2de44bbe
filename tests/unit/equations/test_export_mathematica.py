"""Exported Mathematica, read back by SymPy's parser of that language and evaluated.

There is no kernel to run it, so the test reads the file as the language defines
it: comments, a package, rules, functions with a Module of assignments.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy
from sympy.parsing.mathematica import parse_mathematica

from servotwin.equations.export import export_program
from servotwin.equations.export.mathematica import mathematica_number, mathematica_source
from tests.export_cases import assert_close, case, full_script

Values = dict[str, float]


def _evaluate(expression: str, values: Values) -> float | list:
    """Value of one right-hand side; numbers in the notation *^ are written out for the parser."""
    scaled = re.sub(r"([0-9.]+)`?\*\^(-?\d+)", r"(\1*10^(\2))", expression)
    # Names of SymPy's own functions (E1, ...) would be read as those: give every symbol a plain one.
    plain = re.sub(r"\b(?!Sin\b|Cos\b|Sqrt\b)([A-Za-z][A-Za-z0-9]*)", r"u\1u", scaled)
    parsed = parse_mathematica(plain)
    return _number(parsed, {f"u{name}u": value for name, value in values.items()})


def _number(parsed, values: Values) -> float | list:
    if isinstance(parsed, tuple | list):
        return [_number(entry, values) for entry in parsed]
    free = sorted(parsed.free_symbols, key=str)
    assert {str(s) for s in free} <= values.keys()
    function = sympy.lambdify(free, parsed, "math")
    return function(*(values[str(s)] for s in free))


def _rules(text: str, name: str, values: Values) -> None:
    body = re.search(rf"^{name} = \{{\n(.*?)\n\}};", text, re.MULTILINE | re.DOTALL)[1]
    for rule in re.split(r",\s*\n", body + ",\n"):
        if rule.strip():
            left, right = rule.split("->")
            values[left.strip()] = _evaluate(right.strip(), values)


def _run(text: str, name: str, arguments: list[np.ndarray], values: Values) -> np.ndarray:
    """Call a function of the package."""
    match = re.search(
        rf"^{name}\[(.*?)\] :=\s*Module\[\{{(.*?)\}},\n(.*?)\n  \];", text, re.MULTILINE | re.DOTALL
    )
    patterns, variables, body = match[1], re.findall(r"\w+", match[2]), match[3]
    local = dict(values)
    for group, array in zip(re.findall(r"\{(.*?)\}", patterns, re.DOTALL), arguments, strict=True):
        symbols = re.findall(r"([A-Za-z0-9]+)_", group)
        local.update(zip(symbols, map(float, array), strict=True))
    *steps, result = body.split(";")
    for step in steps:
        left, right = step.split(" = ")
        assert left.strip() in variables
        local[left.strip()] = _evaluate(right, local)
    assert "_" not in body
    return np.array(_evaluate(result.strip(), local), dtype=float)


def _without_comments(text: str) -> str:
    plain = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
    assert "*)" not in plain
    return re.sub(r"[ ]+\n", "\n", plain)


@pytest.mark.parametrize("name", ["gsis-scara", "met-two-link", "palletizer-4", "daiv-1", "tree-1"])
def test_mathematica_functions_equal_the_engine(name):
    robot = case(name)
    functions = ["rne", "inertia", "gravload", "fkine", "energy"]
    text = _without_comments(mathematica_source(robot.script(functions)))
    prefix = re.search(r"(\w+)Parameters = ", text)[1]
    values: Values = {}
    _rules(text, f"{prefix}Parameters", values)
    if f"{prefix}Constants" in text:
        _rules(text, f"{prefix}Constants", values)
    for kind in functions:
        shapes = [block.shape for block in robot.build(kind).inputs]
        arguments = [a[0] for a in robot.arguments(shapes, 1)]
        got = _run(text, prefix + kind.capitalize(), arguments, values)
        assert_close(got, robot.engine(kind, arguments), kind)


def test_mathematica_accel_of_a_six_axis_arm_equals_the_engine():
    robot = case("puma560")
    text = _without_comments(export_program(robot.build("accel"), "mathematica", name="puma", numeric=True))
    arguments = [a[0] for a in robot.arguments([(6,), (6,), (6,)], 1)]
    assert_close(_run(text, "puma", arguments, {}), robot.engine("accel", arguments))


def test_mathematica_closed_chain_equals_the_engine():
    robot = case("delta")
    program = robot.build("rne")
    text = _without_comments(export_program(program, "mathematica", name="delta_rne"))
    values: Values = {}
    _rules(text, "deltaRneParameters", values)
    if "deltaRneConstants" in text:
        _rules(text, "deltaRneConstants", values)
    arguments = [a[0] for a in robot.arguments([block.shape for block in program.inputs], 1)]
    assert_close(_run(text, "deltaRne", arguments, values), robot.engine("rne", arguments))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (0.35, "0.35"),
        (1e-05, "1.0*^-5"),
        (0.30000000000000004, "0.30000000000000004`"),
        (3.9285000000000014e-05, "3.9285000000000014`*^-5"),
        (1e22, "1.0*^22"),
    ],
)
def test_mathematica_number_is_a_machine_number(value, text):
    assert mathematica_number(value) == text


def test_mathematica_is_balanced_and_has_a_context_of_its_own():
    text = mathematica_source(full_script("delta"))
    assert 'BeginPackage["Delta`"];' in text
    assert text.endswith("EndPackage[];\n")
    plain = _without_comments(text)
    for left, right in ("[]", "{}", "()"):
        assert plain.count(left) == plain.count(right)
    names = re.findall(r"^(\w+)\[", plain, re.MULTILINE)
    assert len(names) == len(set(names))
    assert all("_" not in name for name in names)


@pytest.mark.parametrize("name", ["N", "E", "my_robot", "Sin"])
def test_mathematica_names_that_mean_something_are_avoided(name):
    program = case("met-two-link").build("gravload")
    text = export_program(program, "mathematica", name=name, results=["C"], joints=["*)", "(*"])
    plain = _without_comments(text)
    (own,) = re.findall(r"^(\w+)\[", plain, re.MULTILINE)[1:-1]
    assert own not in ("N", "E", "Sin")
    assert "_" not in own
