"""Exported Python modules, imported and compared with the compiled kernels."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from servotwin import load_robot
from servotwin.description.load import read_description
from servotwin.equations.derivation import Numbers
from servotwin.equations.export import export_program, export_robot
from servotwin.equations.export.python_source import python_source
from servotwin.kernels.kernel_store import kernel
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.closed_engine import ClosedEngine
from tests.export_cases import ALL, Case, assert_close, case, full_script
from tests.random_trees import random_mechanism


def _module(text: str, folder: Path, name: str = "exported") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="ascii")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ALL)
def test_python_every_function_equals_the_engine(name, tmp_path):
    robot = case(name)
    script = full_script(name)
    module = _module(python_source(script), tmp_path)
    for function in script.functions:
        arguments = robot.arguments([a.shape for a in function.arguments])
        got = getattr(module, function.name)(*arguments)
        assert_close(got, robot.engine(function.name, arguments), f"{name} {function.name}")


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_python_with_rotors_equals_the_engine(name, tmp_path):
    robot = case(name)
    assert robot.rotors
    script = robot.script(["rne", "inertia"], drives=True)
    module = _module(python_source(script), tmp_path)
    for function in script.functions:
        arguments = robot.arguments([a.shape for a in function.arguments])
        got = getattr(module, function.name)(*arguments)
        assert_close(got, robot.engine(function.name, arguments, drives=True))


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "tree-5", "delta"])
def test_python_with_numbers_in_place_equals_the_engine(name, tmp_path):
    robot = case(name)
    script = robot.script(["rne", "inertia", "energy", "fkine"], numeric=True)
    module = _module(python_source(script), tmp_path)
    assert not hasattr(module, "PARAMETERS")
    for function in script.functions:
        arguments = robot.arguments([a.shape for a in function.arguments])
        assert_close(getattr(module, function.name)(*arguments), robot.engine(function.name, arguments))


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_python_equals_recursion_over_arrays(name, tmp_path):
    """The recursive engine shares no code with the graph."""
    module = _module(python_source(case(name).script(["rne", "inertia", "jacob0"])), tmp_path)
    robot = load_robot(name).with_engine("recursive")
    q, qd, qdd = case(name).arguments([(robot.n,)] * 3)
    assert_close(module.rne(q, qd, qdd), robot.rne(q, qd, qdd))
    assert_close(module.inertia(q), robot.inertia(q))
    assert_close(module.jacob0(q), robot.jacob0(q))


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "palletizer-4-loops", "delta"])
def test_python_closed_chain_on_its_manifold_equals_the_engine(name, tmp_path):
    mechanism = build_mechanism(read_description(name))
    engine = ClosedEngine(mechanism)
    text = export_robot(engine.numbers, "python", ["rne", "inertia", "step"], name=name)
    module = _module(text, tmp_path)
    rng = np.random.default_rng(2)
    q = mechanism.q_home + rng.uniform(-0.1, 0.1, (4, engine.n))
    qd, qdd = rng.uniform(-1, 1, (2, 4, engine.n))
    x = engine.full(q)
    assert_close(module.rne(x, qd, qdd), engine.rne(q, qd, qdd, False))
    assert_close(module.inertia(x), engine.inertia(q, False))
    opened = x + 1e-3
    for _ in range(6):  # Newton: errors square at every step
        opened[:, : engine.n] = q
        opened[:, engine.n :] += module.step(opened)[:, 0]
    assert_close(opened, x)


def test_python_model_of_another_robot_gives_that_robot(tmp_path):
    first = random_mechanism(np.random.default_rng(21), 4, serial=True)
    second = first.with_(phi=1.5 * first.phi, gravity=np.array([1.0, -2.0, 3.0]))
    numbers = Numbers.of(first)
    program = Case("arm", numbers, (), np.zeros(4), "tool", False).build("rne")
    module = _module(export_program(program, "python", name="rne", first=0), tmp_path)
    table = Numbers.of(second).table()
    model = module.Model(**{name: table[name] for name in module.PARAMETERS})
    arguments = np.random.default_rng(3).uniform(-1, 1, (3, 6, 4))
    assert_close(module.rne(*arguments, model), kernel("rne", Numbers.of(second)).call(*arguments))
    assert_close(module.rne(*arguments), kernel("rne", numbers).call(*arguments))
    with pytest.raises(ValueError, match="unknown parameters: mass"):
        module.Model(mass=3.0)


def test_python_leading_axes_broadcast(tmp_path):
    robot = case("gsis-scara")
    module = _module(python_source(robot.script(["rne", "inertia", "gravload"])), tmp_path)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (5, 1, 4)), rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, 4)
    assert_close(module.rne(q, qd, qdd), robot.engine("rne", [q, qd, qdd]))
    assert module.inertia(q).shape == (5, 1, 4, 4)
    assert module.gravload([0.0] * 4).shape == (4,)
    assert module.gravload(np.zeros((0, 4))).shape == (0, 4)


def test_python_argument_of_wrong_shape_is_refused(tmp_path):
    module = _module(python_source(case("gsis-scara").script(["rne"])), tmp_path)
    good = np.zeros(4)
    with pytest.raises(ValueError, match=r"qd has shape \(3,\); expected \(\.\.\., 4\)"):
        module.rne(good, np.zeros(3), good)
    with pytest.raises(ValueError, match=r"q has shape \(\)"):
        module.rne(0.0, good, good)


def test_python_module_needs_numpy_only():
    tree = ast.parse(python_source(full_script("delta")))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]


@pytest.mark.parametrize("name", ["lambda", "np", "max", "Model", "rne"])
def test_python_names_that_mean_something_are_avoided(name, tmp_path):
    program = case("met-two-link").build("accel")
    text = export_program(program, "python", name=name, results=["lambda"], joints=['"""', "\\"])
    module = _module(text, tmp_path)
    own = next(k for k, v in vars(module).items() if callable(v) and k.startswith(name) and k != "Model")
    arguments = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    assert_close(getattr(module, own)(*arguments), case("met-two-link").engine("accel", arguments))
