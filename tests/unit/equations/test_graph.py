"""The expression graph: folding, sharing, evaluation, differentiation."""

from __future__ import annotations

import math

import pytest

from servotwin.equations.graph import Graph


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_graph_equal_expressions_are_one_node(graph):
    x, y = graph.input("x"), graph.input("y")
    assert (x + y) is (y + x)
    assert (x * y) is (y * x)
    assert (x - y) is -(y - x)


def test_graph_zero_and_one_fold_away(graph):
    x = graph.input("x")
    assert x + 0.0 is x
    assert 0.0 * x is graph.zero
    assert 1.0 * x is x
    assert x - x is graph.zero
    assert x / 1.0 is x
    assert graph.neg(graph.neg(x)) is x


def test_graph_signs_move_to_the_outside(graph):
    x, y = graph.input("x"), graph.input("y")
    assert (-x) * y is -(x * y)
    assert (-x) + y is y - x
    assert x - (-y) is x + y
    assert (-2.0) * x is -(2.0 * x)
    assert graph.operations([(-x) * (-y)]) == {"mul": 1, "add": 0, "div": 0, "trig": 0, "neg": 0}


def test_graph_parameter_only_parts_are_marked_and_not_counted(graph):
    x, m, l = graph.input("x"), graph.param("m"), graph.param("l")
    inertia = m * l * l
    assert graph.of_params[inertia.id]
    assert graph.operations([inertia * x])["mul"] == 1


def test_graph_evaluate_matches_python(graph):
    x, y, m = graph.input("x"), graph.input("y"), graph.param("m")
    expression = m * graph.sin(x) / (y + 2.0) - graph.sqrt(graph.cos(x) + 3.0)
    got = graph.evaluate([expression, 7], {"x": 0.3, "y": -0.4}, [1.7])
    want = 1.7 * math.sin(0.3) / (-0.4 + 2.0) - math.sqrt(math.cos(0.3) + 3.0)
    assert got[0] == pytest.approx(want, rel=1e-15)
    assert got[1] == 7.0


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "sin", "cos", "sqrt"])
def test_graph_derivative_of_every_operation_matches_a_difference_quotient(graph, op):
    x, y = graph.input("x"), graph.input("y")
    binary = op in {"add", "sub", "mul", "div"}
    expression = getattr(graph, op)(x * x, y) if binary else getattr(graph, op)(x * x + y)
    (rate,) = graph.derivative([expression], {x.id: 1.0, y.id: 0.5})

    def at(t: float) -> float:
        return graph.evaluate([expression], {"x": 0.7 + t, "y": 0.9 + 0.5 * t})[0]

    h = 1e-5
    difference = (at(h) - at(-h)) / (2 * h)
    got = graph.evaluate([rate], {"x": 0.7, "y": 0.9})[0]
    assert got == pytest.approx(difference, rel=1e-8)  # truncation of the central difference
