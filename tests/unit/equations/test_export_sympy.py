"""Programs as SymPy objects, lambdified and compared with the kernels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sympy

from servotwin.equations.export import to_sympy
from tests.export_cases import assert_close, case

SMALL = ["met-two-link", "daiv-1", "gsis-scara"]


def _stacked(values, shape, count: int) -> np.ndarray:
    """Entries that lambdify leaves as plain numbers, broadcast to the batch."""
    flat = [np.broadcast_to(v, (count,)) for v in values]
    return np.stack(flat, axis=-1).reshape(count, *shape)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("kind", ["rne", "inertia", "coriolis", "gravload", "fkine", "jacob0"])
def test_sympy_closed_expressions_equal_the_engine(name, kind):
    robot = case(name)
    program = robot.build(kind)
    found = to_sympy(program, name=kind)
    (expression,) = found.expressions().values()
    inputs = [s for block in found.arguments.values() for s in block]
    assert expression.free_symbols <= {*inputs, *found.parameters}
    function = sympy.lambdify([*inputs, *found.parameters], list(expression), "numpy")
    arguments = robot.arguments([block.shape for block in program.inputs])
    columns = [column for array in arguments for column in array.T]
    got = function(*columns, *found.parameters.values())
    assert_close(_stacked(got, program.outputs[0].shape, 3), robot.engine(kind, arguments))


@pytest.mark.parametrize(("name", "kind"), [("puma560", "rne"), ("tree-5", "accel"), ("delta", "rne")])
@pytest.mark.parametrize("numeric", [False, True])
def test_sympy_steps_equal_the_engine(name, kind, numeric):
    robot = case(name)
    program = robot.build(kind)
    found = to_sympy(program, name=kind, numeric=numeric)
    inputs = [s for block in found.arguments.values() for s in block]
    assert bool(found.parameters) != numeric
    (result,) = found.results.values()
    function = sympy.lambdify(
        [*inputs, *found.parameters], list(result), "numpy", cse=lambda _: (found.steps, list(result))
    )
    arguments = robot.arguments([block.shape for block in program.inputs])
    columns = [column for array in arguments for column in array.T]
    got = function(*columns, *found.parameters.values())
    assert_close(_stacked(got, program.outputs[0].shape, 3), robot.engine(kind, arguments))


def test_sympy_parameters_are_symbols_of_any_robot_of_the_structure():
    found = to_sympy(case("gsis-scara").build("inertia"), name="inertia")
    M = found.expressions()["M"]
    d2, m3 = sympy.Symbol("d2"), sympy.Symbol("m3")
    assert {d2, m3} <= M.free_symbols
    assert M[2, 2] == m3
    assert sympy.simplify(M - M.T) == sympy.zeros(4, 4)


def test_sympy_array_of_poses_has_three_axes():
    found = to_sympy(case("met-two-link").build("fkine_all"), name="fkine_all")
    assert found.results["T"].shape == (2, 4, 4)


def test_sympy_is_imported_only_when_asked_for():
    code = "import sys, servotwin.equations.export; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
