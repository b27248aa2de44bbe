"""Exact derivatives on the graph, against SymPy, complex steps and difference quotients."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.differentiate import (
    gradient,
    hessian,
    hessian_vector,
    jacobian,
    pullback,
    pushforward,
    sparsity,
)
from servotwin.equations.graph import Graph
from servotwin.equations.programs import accel
from tests.complex_steps import complex_jacobian
from tests.random_trees import random_mechanism


def evaluated(graph: Graph, matrix, at, params=()) -> np.ndarray:
    out = np.zeros(matrix.shape)
    out[list(matrix.rows), list(matrix.columns)] = graph.evaluate(matrix.entries, at, params)
    return out


@pytest.fixture
def case():
    graph = Graph()
    x, y, z, p = graph.input("x"), graph.input("y"), graph.input("z"), graph.param("p")
    f = [
        p * graph.sin(x) / (y + 2.0) - graph.sqrt(graph.cos(x) + 3.0),
        x * y * y - y / x,
        -(x * p),
        graph.sin(x * y) * graph.cos(x - y),
        graph.exp(x * y - z) * graph.log(y * y + p),
        graph.step(x + y) * x * y + graph.step(x - y) * y * y * z,
    ]
    return graph, (x, y, z), f, {"x": 0.3, "y": -0.4, "z": 1.0}, [1.7]


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobian_equals_complex_steps(case, mode):
    graph, inputs, f, at, params = case
    got = evaluated(graph, jacobian(f, inputs, mode=mode), at, params)
    np.testing.assert_allclose(
        got, complex_jacobian(graph, f, ["x", "y", "z"], at, params), rtol=1e-14, atol=1e-15
    )


def test_jacobian_leaves_out_what_is_identically_zero(case):
    _, inputs, f, _, _ = case
    J = jacobian(f, inputs)
    assert set(zip(J.rows, J.columns, strict=True)) == {
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
        (3, 0),
        (3, 1),
        *((4, k) for k in range(3)),
        *((5, k) for k in range(3)),
    }
    assert sparsity(f, inputs) == [(0, 1), (0, 1), (0,), (0, 1), (0, 1, 2), (0, 1, 2)]


def test_hessian_equals_sympy(case):
    sympy = pytest.importorskip("sympy")
    graph, inputs, f, at, params = case
    x, y, z = sympy.symbols("x y z")
    terms = [
        params[0] * sympy.sin(x) / (y + 2) - sympy.sqrt(sympy.cos(x) + 3),
        x * y * y - y / x,
        -x * params[0],
        sympy.sin(x * y) * sympy.cos(x - y),
        sympy.exp(x * y - z) * sympy.log(y * y + params[0]),
        y * y * z,  # x + y < 0 < x - y
    ]
    w = [0.7, -1.3, 2.0, 0.4, 1.1, -0.6]
    want = sympy.hessian(sum(a * b for a, b in zip(w, terms, strict=True)), (x, y, z)).subs(at)
    got = evaluated(graph, hessian(f, inputs, w), at, params)
    np.testing.assert_allclose(got, np.array(want.evalf(17), dtype=float), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(got, got.T)


def test_hessian_vector_pushforward_and_pullback_equal_the_matrices(case):
    graph, inputs, f, at, params = case
    w, v = [0.7, -1.3, 2.0, 0.4, 1.1, -0.6], [0.2, -0.5, 0.9]
    J, H = (evaluated(graph, m, at, params) for m in (jacobian(f, inputs), hessian(f, inputs, w)))
    for nodes, want in (
        (pushforward(f, inputs, v), J @ v),
        (pullback(f, w, inputs), w @ J),
        (gradient(f[3], inputs), J[3]),
        (hessian_vector(f, inputs, v, w), H @ v),
    ):
        np.testing.assert_allclose(graph.evaluate(nodes, at, params), want, rtol=1e-13, atol=1e-14)


def test_jacobian_of_an_inner_node_takes_it_as_independent():
    graph = Graph()
    x = graph.input("x")
    v = graph.sin(x)
    f = v * v * x
    at = {"x": 0.3}
    by_v, by_x = graph.evaluate(jacobian([f], [v, x]).entries, at)
    s = np.sin(0.3)
    assert by_v == pytest.approx(2 * s * 0.3, rel=1e-15)
    assert by_x == pytest.approx(s * s, rel=1e-15)
    (held,) = graph.evaluate(jacobian([f], [x], held=[v]).entries, at)
    assert held == by_x


def test_hessian_with_symbolic_weights_takes_them_as_constants():
    graph = Graph()
    x = graph.input("x")
    w = graph.cos(x)  # depends on x, yet a weight does not move
    (got,) = graph.evaluate(hessian([x * x * x], [x], [w]).entries, {"x": 0.5})
    assert got == pytest.approx(np.cos(0.5) * 6 * 0.5, rel=1e-15)
    with pytest.raises(ValueError, match="weight"):
        hessian([x * x], [x], [x])


@pytest.mark.parametrize("seed", range(3))
def test_forward_dynamics_of_a_random_tree_has_exact_first_and_second_derivatives(seed):
    rng = np.random.default_rng(seed)
    numbers = Numbers.of(random_mechanism(rng, 4))
    derivation = Derivation(numbers, numbers.table())
    program = accel(derivation)
    graph, inputs = derivation.graph, [e for block in program.inputs for e in block.entries]
    names = [graph.inputs[graph.a[e.id]] for e in inputs]
    at = dict(zip(names, rng.uniform(-1, 1, len(names)), strict=True))
    params = [numbers.table()[name] for name in graph.params]
    qdd = program.outputs[0].entries
    J = jacobian(qdd, inputs)
    want = complex_jacobian(graph, qdd, names, at, params)
    np.testing.assert_allclose(
        evaluated(graph, J, at, params), want, rtol=1e-10, atol=1e-11 * np.abs(want).max()
    )
    w = rng.uniform(-1, 1, len(qdd))
    slope = pullback(qdd, w.tolist(), inputs)
    want = complex_jacobian(graph, slope, names, at, params)
    got = evaluated(graph, hessian(qdd, inputs, w.tolist()), at, params)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max())
