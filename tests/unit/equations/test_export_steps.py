"""Programs as numbered assignments: names, order, counts, parameters, refusals."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from servotwin.description.load import catalogue_names, read_description
from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.export import LANGUAGES, SUFFIXES, export_program, export_robot, program_script
from servotwin.equations.export.cut import NESTING, OPERANDS
from servotwin.equations.export.latex import latex_symbol
from servotwin.equations.export.names import Names, camel, comment_text, identifier
from servotwin.equations.export.script import Function, Script
from servotwin.equations.export.terms import (
    Call,
    Kind,
    Number,
    Product,
    Quotient,
    Sum,
    Symbol,
    Term,
    operations,
    parts,
    product,
    symbols,
    total,
)
from servotwin.equations.export.transfer import copied
from servotwin.equations.programs import PROGRAMS, Program
from servotwin.errors import ServotwinError, UnsupportedError
from servotwin.mechanism.build import build_mechanism
from tests.export_cases import ALL, CATALOGUE, case, full_script
from tests.random_trees import random_mechanism

COUNTED = ("mul", "add", "div", "trig")


def _entries(program: Program) -> list:
    return [e for block in program.outputs for e in block.entries]


def _count(program: Program) -> dict[str, int]:
    return program.derivation.graph.operations(_entries(program))


def _leaves(term: Term) -> int:
    inner = parts(term)
    return sum(_leaves(t) for t in inner) if inner else 1


def _depth(term: Term) -> int:
    """Brackets within brackets, as printed."""
    if isinstance(term, Product):
        return max(_depth(f) + isinstance(f, Sum) for f in term.factors)
    if isinstance(term, Quotient):
        below = isinstance(term.below, Sum | Product | Quotient)
        return max(_depth(term.above) + isinstance(term.above, Sum), _depth(term.below) + below)
    if isinstance(term, Call):
        return 1 + _depth(term.argument)
    return max((_depth(t) for t in parts(term)), default=0)


# --- terms --------------------------------------------------------------------------------------------
X, Y, Z = (Symbol(name, Kind.STEP, name) for name in "xyz")
M = Symbol("m", Kind.PARAMETER, "m")


def test_sum_within_sum_is_opened_and_signs_are_tidy():
    assert total([(False, X), (True, total([(False, Y), (True, Z)]))]) == Sum(
        ((False, X), (True, Y), (False, Z))
    )
    assert total([(True, total([(False, X), (True, Y)]))]) == Sum(((False, Y), (True, X)))


def test_sum_of_numbers_is_one_number():
    assert total([(False, Number(2.0)), (False, total([(False, X), (True, Number(3.0))]))]) == Sum(
        ((False, X), (True, Number(1.0)))
    )
    assert total([(False, X), (True, Number(-1.0))]) == Sum(((False, X), (False, Number(1.0))))


def test_product_puts_number_then_robot_then_rest():
    assert product([X, product([M, Number(2.0)])]) == Product((Number(2.0), M, X))
    assert product([product([X, Number(2.0)]), product([Number(0.25), Y])]) == Product((Number(0.5), X, Y))


def test_operations_of_a_term_are_those_printed():
    term = total([(True, product([X, Y, Z])), (True, Quotient(X, Y)), (True, Call("sin", Z))])
    assert operations([term]) == {"mul": 2, "add": 2, "div": 1, "trig": 1, "neg": 1}


def test_cases_cover_every_open_robot_of_the_catalogue():
    assert set(CATALOGUE) == {n for n in catalogue_names() if not build_mechanism(read_description(n)).loops}


# --- counts -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
def test_operations_exported_equal_those_of_the_graph(name):
    robot = case(name)
    for function in full_script(name).functions:
        program = robot.build(function.name)
        graph, written = _count(copied(program)), function.operations
        assert {k: written[k] for k in COUNTED} == {k: graph[k] for k in COUNTED}
        assert written["neg"] <= graph["neg"]  # b - a instead of -(a - b)
        source = _count(program)
        assert all(written[k] <= source[k] for k in source)
        if robot.numbers.cut is None:
            assert {k: written[k] for k in COUNTED} == {k: source[k] for k in COUNTED}


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_operations_with_numbers_in_place_never_grow(name):
    robot = case(name)
    symbolic, numeric = full_script(name), robot.script(numeric=True)
    assert not numeric.parameters
    assert not numeric.constants
    for a, b in zip(symbolic.functions, numeric.functions, strict=True):
        assert sum(b.operations.values()) <= sum(a.operations.values())


def test_numbers_of_one_group_leave_the_others_symbolic():
    robot = case("gsis-scara")
    script = robot.script(["rne"], numeric=["geometry", "gravity"])
    assert {p.symbol.name for p in script.parameters} == {"Jxx1", "mx2", "Jxx2", "m3", "Jxx4", "Jyy4"}
    script = robot.script(["rne"], numeric=["inertia"])
    assert {p.symbol.name for p in script.parameters} == {"d2", "d3", "gz"}
    for wrong in ("geometry", ["masses"]):
        with pytest.raises(
            ServotwinError, match="expected True, False or some of geometry, gravity, inertia"
        ):
            robot.script(["rne"], numeric=wrong)


# --- order and names ----------------------------------------------------------------------------------
def _assert_defined_before_use(script: Script, function: Function) -> None:
    known = {p.symbol for p in script.parameters}
    for constant in script.constants:
        assert set(symbols(constant.term)) <= known
        known.add(constant.symbol)
    known |= {s for argument in function.arguments for s in argument.symbols}
    for step in function.steps:
        assert set(symbols(step.term)) <= known
        known.add(step.symbol)
    for result in function.results:
        assert all(set(symbols(entry.term)) <= known for entry in result.entries)


@pytest.mark.parametrize("name", ALL)
def test_steps_define_names_once_and_before_use(name):
    script = full_script(name)
    robot = [p.symbol.name for p in script.parameters] + [c.symbol.name for c in script.constants]
    for function in script.functions:
        _assert_defined_before_use(script, function)
        local = [s.name for a in function.arguments for s in a.symbols]
        local += [step.symbol.name for step in function.steps]
        assert len({*robot, *local}) == len(robot) + len(local)
        assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", n) for n in (*robot, *local))


@pytest.mark.parametrize("name", ["puma560", "delta"])
def test_steps_stay_readable_and_are_not_one_operation_each(name):
    script = case(name).script(["rne"])
    (function,) = script.functions
    terms = [c.term for c in script.constants] + list(function.terms())
    assert max(_leaves(term) for term in terms) <= OPERANDS
    assert max(_depth(term) for term in terms) <= NESTING
    compute = [s for s in function.steps if not isinstance(s.term, Call)]
    assert sum(function.operations.values()) > 2.3 * len(compute)


def test_steps_name_sines_and_sums_of_coordinates():
    names = [step.symbol.name for step in case("palletizer-4").script(["rne"]).functions[0].steps]
    # The wrist turns by -(q2 + q3) through the coupling.
    assert names[:4] == ["s2", "c2", "s3", "c3"]
    assert {"q23", "s23", "c23", "qd23"} <= set(names)
    scara = case("gsis-scara").script(["rne"]).functions[0]
    by_name = {step.symbol.name: step.term for step in scara.steps}
    assert [s.name for s in symbols(by_name["qd12"])] == ["qd1", "qd2"]


def test_steps_of_an_angle_with_a_constant_part_have_a_named_angle():
    function = case("tree-1").script(["rne"]).functions[0]
    by_name = {step.symbol.name: step.term for step in function.steps}
    angles = {name for name in by_name if re.fullmatch(r"a\d", name)}
    assert angles
    for angle in angles:
        assert {s.name for s in symbols(by_name[angle])} == {f"th{angle[1]}", f"q{angle[1]}"}
        assert by_name[f"s{angle[1]}"].argument.name == angle


def test_steps_of_many_joints_separate_indices():
    numbers = Numbers.of(random_mechanism(np.random.default_rng(2), 11))
    text = export_robot(numbers, "text", ["inertia"], name="long")
    assert "M1_11 = " in text
    assert "M11_1 = M1_11" in text


def test_results_that_other_lines_need_keep_their_names():
    function = case("gsis-scara").script(["inertia"]).functions[0]
    entries = {entry.symbol.name: entry.term for entry in function.results[0].entries}
    assert entries["M21"].name == "M12"
    assert any(step.symbol.name == "M12" for step in function.steps)


def test_function_of_a_script_does_not_depend_on_its_neighbours():
    robot = case("puma560")
    alone, together = robot.script(["inertia"]), robot.script(["rne", "energy", "inertia"])
    names = [[step.symbol.name for step in s.functions[-1].steps] for s in (alone, together)]
    assert names[0] == names[1]


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_export_is_the_same_text_in_every_run_and_ascii(language):
    robot = case("delta")
    options = {"name": "délta-3", "joints": ["größe", *robot.joints[1:]], "frame": robot.frame}
    first, second = (export_robot(robot.numbers, language, ["rne", "fkine"], **options) for _ in range(2))
    assert first == second
    assert first.isascii()
    assert first.endswith("\n")
    assert language in SUFFIXES


def test_export_does_not_depend_on_the_order_of_sets():
    code = (
        "import hashlib, sys\n"
        "from servotwin.equations.export import LANGUAGES, export_robot\n"
        "from tests.export_cases import case\n"
        "robot = case('tree-5')\n"
        "texts = [export_robot(robot.numbers, language, name='r') for language in LANGUAGES]\n"
        "print(hashlib.sha256(''.join(texts).encode()).hexdigest())\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != ""


# --- parameters ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
def test_parameters_counted_from_zero_have_the_names_of_the_table(name):
    robot = case(name)
    for kind in ("rne", "fkine", "energy"):
        script = robot.script([kind], first=0, drives=robot.rotors)
        options = {"frame": robot.frame} if kind == "fkine" else {}
        table = robot.numbers.table(energy=kind == "energy", drives=True, **options)
        for parameter in script.parameters:
            written = parameter.symbol.name
            own = kind == "energy" and re.fullmatch(r"(m|J)[xyz]*b\d+", written)
            assert table[written.replace("b", "") if own else written] == parameter.value


@pytest.mark.parametrize("name", ALL)
def test_parameters_have_meaning_and_unit(name):
    robot = case(name)
    units = {"1", "m", "rad", "kg", "kg m", "kg m2", "m/s2", "m/rad", "rad/m"}
    for parameter in robot.script(drives=robot.rotors).parameters:
        assert parameter.unit in units
        assert parameter.meaning != "number of the robot"


def test_parameters_of_energy_stand_beside_grouped_ones():
    script = case("gsis-scara").script(["rne", "energy"])
    by_name = {p.symbol.name: p for p in script.parameters}
    assert by_name["mb2"].value == pytest.approx(8.71)
    assert by_name["mb2"].meaning == "mass of the body of joint 2 (B), by itself"
    assert by_name["m3"].meaning.endswith("grouped")


def test_parameter_of_unknown_kind_keeps_its_name():
    numbers = case("met-two-link").numbers
    derivation = Derivation(numbers, {**numbers.table(), "stiffness": 4.0})
    program = PROGRAMS["gravload"](derivation)
    entry = program.outputs[0].entries[0] + derivation.number("stiffness") * program.inputs[0].entries[0]
    blocks = [dataclasses.replace(program.outputs[0], entries=[entry, *program.outputs[0].entries[1:]])]
    script = program_script(dataclasses.replace(program, outputs=blocks), name="sprung", results=["tau"])
    assert "stiffness" in {p.symbol.name for p in script.parameters}


# --- identifiers --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [("gsis-scara", "gsis_scara"), ("6 axes", "robot_6_axes"), ("größe", "gro_e"), ("***", "robot")],
)
def test_identifier_of_odd_text_is_valid(text, expected):
    assert identifier(text) == expected


def test_names_that_are_taken_get_a_tail():
    names = Names({"for"})
    assert [names.take("for"), names.take("x"), names.take("x"), names.take("x_2")] == [
        "for_2",
        "x",
        "x_2",
        "x_2_2",
    ]


def test_comment_text_cannot_end_a_comment():
    text = comment_text('a */ b *) c """ d \\ e ??/ \n f')
    assert not any(mark in text for mark in ("*/", "*)", '"""', "\\", "??", "\n"))
    assert camel("gsis_scara_rne") == "gsisScaraRne"


# --- refusals -----------------------------------------------------------------------------------------
def test_unknown_language_is_refused_with_the_known_ones():
    program = case("met-two-link").build("rne")
    with pytest.raises(ServotwinError, match=r"no language 'fortran'; there are: python, c99"):
        export_program(program, "fortran", name="rne")
    with pytest.raises(ServotwinError, match="to_sympy"):
        export_program(program, "sympy", name="rne")


def test_unknown_function_frame_and_results_are_refused():
    numbers = case("met-two-link").numbers
    with pytest.raises(ServotwinError, match=r"no function 'torque'.*rne"):
        export_robot(numbers, "c99", ["torque"], name="r")
    with pytest.raises(ServotwinError, match="no function 'closed_rne'"):
        export_robot(numbers, "c99", ["closed_rne"], name="r")
    with pytest.raises(ServotwinError, match="no frame 'hand'"):
        export_robot(numbers, "c99", ["fkine"], name="r", frame="hand")
    with pytest.raises(ServotwinError, match="2 names; the program has 1"):
        export_program(case("met-two-link").build("rne"), "c99", name="r", results=["a", "b"])


def test_forward_dynamics_without_inertia_is_refused_or_noted():
    robot = case("palletizer-4")
    with pytest.raises(UnsupportedError, match=r"accel: joint 5 \(th5\) moves no inertia"):
        robot.script(["accel"])
    assert robot.script(["rne"]).notes == ()
    usual = export_robot(robot.numbers, "text", name="p", joints=robot.joints)
    assert "Left out accel: joint 5 (th5) moves no inertia" in usual
    assert "\naccel: " not in usual
    with_rotors = export_robot(robot.numbers, "text", name="p", drives=True)
    assert ("\naccel: " in with_rotors) == robot.rotors


def test_number_that_is_not_finite_is_refused():
    numbers = case("met-two-link").numbers
    program = PROGRAMS["rne"](Derivation(numbers, {**numbers.table(), "gy": float("inf")}))
    with pytest.raises(UnsupportedError, match="is inf; only finite numbers"):
        export_program(program, "c99", name="rne")


def test_result_name_that_is_an_argument_gets_a_tail():
    program = case("met-two-link").build("accel")
    script = program_script(program, name="forward", results=["tau"])
    (result,) = script.functions[0].results
    assert result.name == "tau_2"
    assert latex_symbol(result.entries[0].symbol) == r"\mathrm{tau\_2}_{1}"


def test_step_whose_name_is_taken_gets_a_tail():
    numbers = case("met-two-link").numbers
    derivation = Derivation(numbers, {**numbers.table(), "s2": 4.0, "th0": 0.5})
    program = PROGRAMS["rne"](derivation)
    first, *rest = program.outputs[0].entries
    blocks = [dataclasses.replace(program.outputs[0], entries=[first * derivation.number("s2"), *rest])]
    script = program_script(dataclasses.replace(program, outputs=blocks), name="rne")
    by_name = {step.symbol.name: step.symbol for step in script.functions[0].steps}
    assert latex_symbol(by_name["s2_2"]) == "s_{2,(2)}"


def test_summary_says_frame_rotors_and_coordinates():
    summaries = {f.name: f.summary for f in case("delta").script(["fkine", "jacob0"]).functions}
    assert summaries["fkine"].startswith("x -> pose of the frame 'tool'")
    assert "the frame 'tool'" in summaries["jacob0"]
    (function,) = case("gsis-scara").script(["rne"], drives=True).functions
    assert function.summary == "(q, qd, qdd) -> tau, with the inertia of the rotors."
