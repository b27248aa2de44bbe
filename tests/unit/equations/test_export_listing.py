"""Listings for people: evaluated line by line, and checked as documents."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable

import numpy as np
import pytest

from servotwin.equations.export import export_robot
from servotwin.equations.export.latex import latex_body, latex_document, latex_equation, latex_symbol
from servotwin.equations.export.listing import listed_steps, markdown_listing, text_listing
from servotwin.equations.export.script import Function, Script, indices
from servotwin.equations.export.terms import Kind, Symbol, symbols
from servotwin.mechanism.model import Array
from tests.export_cases import ALL, assert_close, case, full_script

BINARY: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
CALLS = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt}


def _value(node: ast.expr, known: dict[str, float]) -> float:
    """Arithmetic and nothing else."""
    match node:
        case ast.Constant(value=float() | int() as number):
            return float(number)
        case ast.Name(id=name):
            return known[name]
        case ast.BinOp(left=left, op=op, right=right):
            return BINARY[type(op)](_value(left, known), _value(right, known))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, known)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return CALLS[name](_value(argument, known))
    raise AssertionError(ast.dump(node))


def _run(lines: list[str], known: dict[str, float]) -> None:
    """Evaluate ``name = expression`` lines in order; indented lines continue the line before."""
    joined = re.sub(r"\n    ", " ", "\n".join(lines))
    for line in joined.splitlines():
        match = re.fullmatch(r"(\w+) = (.*)", line)
        if match:
            name, expression = match.groups()
            assert name not in known
            known[name] = _value(ast.parse(expression.replace("^", "**"), mode="eval").body, known)


def _answer(script: Script, function: Function, lines: list[str], arguments: list[Array]) -> Array:
    known = {p.symbol.name: p.value for p in script.parameters}
    for argument, array in zip(function.arguments, arguments, strict=True):
        for symbol, index in zip(argument.symbols, indices(argument.shape), strict=True):
            known[symbol.name] = float(array[index])
    _run(lines, known)
    (result,) = function.results
    return np.array([known.get(e.symbol.name, 0.0) for e in result.entries]).reshape(result.shape)


def _text_sections(text: str) -> dict[str, list[str]]:
    """Lines under every underlined title."""
    out: dict[str, list[str]] = {}
    lines = text.splitlines()
    title = ""
    for k, line in enumerate(lines):
        if k + 1 < len(lines) and re.fullmatch(r"-{3,}|={3,}", lines[k + 1]):
            title = line.split(":")[0]
        out.setdefault(title, []).append(line)
    return out


@pytest.mark.parametrize("name", ALL)
def test_text_listing_evaluated_equals_the_engine(name):
    robot = case(name)
    script = full_script(name)
    sections = _text_sections(text_listing(script))
    constants = sections.get("Constants, once per robot", [])
    for function in script.functions:
        arguments = [a[0] for a in robot.arguments([a.shape for a in function.arguments], 1)]
        got = _answer(script, function, [*constants, *sections[function.name]], arguments)
        assert_close(got, robot.engine(function.name, arguments), f"{name} {function.name}")


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "delta"])
def test_markdown_listing_evaluated_equals_the_engine(name):
    robot = case(name)
    script = robot.script(["rne", "inertia"])
    text = markdown_listing(script)
    assert text.count("```") == 2 * (len(script.functions) + bool(script.constants))
    blocks = [block.splitlines() for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL)]
    constants = blocks.pop(0) if script.constants else []
    for function, block in zip(script.functions, blocks, strict=True):
        arguments = [a[0] for a in robot.arguments([a.shape for a in function.arguments], 1)]
        got = _answer(script, function, [*constants, *block], arguments)
        assert_close(got, robot.engine(function.name, arguments), function.name)


def test_markdown_table_has_one_row_per_parameter_and_no_markup_from_names():
    robot = case("met-two-link")
    script = robot.script(["rne"])
    text = markdown_listing(script)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == len(script.parameters)
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)
    marked = export_robot(robot.numbers, "markdown", ["rne"], name="a|b", joints=["*x*", "[y](z)"])
    assert "# a\\|b\n" in marked
    assert "(\\*x\\*)" in marked
    assert "\\[y\\](z)" in marked


# --- LaTeX --------------------------------------------------------------------------------------------
def _assert_balanced(text: str) -> None:
    plain = re.sub(r"\\[{}]", "", text)
    depth = 0
    for c in plain:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    begun: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", plain):
        if kind == "begin":
            begun.append(name)
        else:
            assert begun.pop() == name
    assert begun == []
    assert plain.count(r"\left(") == plain.count(r"\right)")
    assert plain.count("$") % 2 == 0


@pytest.mark.parametrize("name", ALL)
def test_latex_document_is_balanced_and_complete(name):
    script = full_script(name)
    text = latex_document(script)
    _assert_balanced(text)
    assert text.startswith("% Generated by ServoTwin")
    body = latex_body(script)
    assert body in text
    blocks = [script.constants, *(listed_steps(function) for function in script.functions)]
    assert body.count(r"\begin{align*}") == sum(bool(block) for block in blocks)


@pytest.mark.parametrize("name", ALL)
def test_latex_symbols_are_distinct_and_defined_before_use(name):
    script = full_script(name)
    robot = [p.symbol for p in script.parameters]
    steps = list(script.constants)
    for function in script.functions:
        inputs = [s for a in function.arguments for s in a.symbols]
        known = {latex_symbol(s) for s in (*robot, *inputs)}
        for step in (*steps, *listed_steps(function)):
            assert {latex_symbol(s) for s in symbols(step.term)} <= known
            written = latex_symbol(step.symbol)
            assert written not in known
            known.add(written)


def test_latex_text_from_names_is_escaped():
    numbers = case("met-two-link").numbers
    text = export_robot(numbers, "latex", ["rne"], name="a_b & {c}", joints=["100%", r"\input{x}"])
    _assert_balanced(text)
    assert r"\section*{a\_b \& \{c\}}" in text
    assert r"100\%" in text
    assert r"\textbackslash{}input\{x\}" in text


@pytest.mark.parametrize(
    ("letters", "index", "text"),
    [
        ("qd", ("2",), r"\dot{q}_{2}"),
        ("Jxx", ("3",), "J_{xx,3}"),
        ("mxb", ("3",), r"m^{\mathrm{b}}_{x,3}"),
        ("s", ("2", "-3"), "s_{2-3}"),
        ("gz", (), "g_{z}"),
        ("A", ("1", "2", "4"), "A^{(1)}_{24}"),
        ("q0", ("3",), "q^{0}_{3}"),
        ("M", ("1", "11"), "M_{1,11}"),
        ("gap", ("1",), r"\mathrm{gap}_{1}"),
    ],
)
def test_latex_symbol_has_its_indices_below(letters, index, text):
    assert latex_symbol(Symbol("x", Kind.STEP, letters, index)) == text


def test_latex_equations_are_accepted_by_a_renderer():
    from matplotlib import mathtext

    parser = mathtext.MathTextParser("path")
    script = case("palletizer-4").script(["rne", "inertia", "energy"])
    for function in script.functions:
        for step in (*script.constants, *listed_steps(function)):
            for line in latex_equation(step):
                parser.parse(f"${line.replace('&', '').replace(chr(92) + 'quad', '')}$")
