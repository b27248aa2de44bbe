"""Exported C99, compiled without a single warning, called through ctypes, compared with the kernels."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from servotwin.equations.derivation import Numbers
from servotwin.equations.export import export_program
from servotwin.equations.export.c99 import c99_source
from servotwin.equations.export.script import Script
from servotwin.kernels.kernel_store import kernel
from servotwin.mechanism.model import Array
from tests.export_cases import ALL, Case, assert_close, case, full_script
from tests.random_trees import random_mechanism

COMPILER = next((c for c in ("gcc", "cc", "clang") if shutil.which(c)), None)
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-O2"]
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def _compiled(text: str, folder: Path, name: str = "exported") -> ctypes.CDLL:
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="ascii")
    command = [COMPILER, *FLAGS, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return ctypes.CDLL(str(library))


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _call(function, arguments: list[Array], shape: tuple[int, ...], model: object = None) -> Array:
    """One call per row of the arguments."""
    out = np.full((len(arguments[0]), *shape), np.nan)
    for k in range(len(out)):
        rows = [np.ascontiguousarray(a[k]) for a in arguments]
        first = [] if model is None else [ctypes.byref(model)]
        function(*first, *map(_pointer, rows), _pointer(out[k]))
    return out


def _compare(robot: Case, script: Script, library: ctypes.CDLL, *, drives: bool = False) -> None:
    for function in script.functions:
        arguments = robot.arguments([a.shape for a in function.arguments])
        compiled = getattr(library, f"{script.name}_{function.name}")
        got = _call(compiled, arguments, function.results[0].shape)
        assert_close(got, robot.engine(function.name, arguments, drives=drives), function.name)


@pytest.mark.parametrize("name", ALL)
def test_c99_every_function_equals_the_engine(name, tmp_path):
    robot = case(name)
    closed = ["step", "rne", "inertia", "accel", "energy", "fkine", "jacob0"]  # all 18 would take seconds
    script = robot.script(closed) if robot.numbers.cut else full_script(name)
    _compare(robot, script, _compiled(c99_source(script), tmp_path))


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_c99_with_numbers_in_place_and_rotors_equals_the_engine(name, tmp_path):
    robot = case(name)
    script = robot.script(["rne", "inertia", "accel"], numeric=True, drives=True)
    text = c99_source(script)
    assert "struct" not in text
    _compare(robot, script, _compiled(text, tmp_path), drives=True)


def _structure(text: str, name: str) -> type[ctypes.Structure]:
    """The struct of that name, read from the source."""
    body = re.search(rf"typedef struct \{{([^}}]*)\}} {name};", text)[1]
    fields = re.findall(r"double (\w+);", body)
    return type(name, (ctypes.Structure,), {"_fields_": [(f, ctypes.c_double) for f in fields]})


def test_c99_model_of_another_robot_gives_that_robot(tmp_path):
    first = random_mechanism(np.random.default_rng(21), 4, serial=True)
    second = first.with_(phi=1.5 * first.phi, gravity=np.array([1.0, -2.0, 3.0]))
    robot = Case("two-arms", Numbers.of(first), (), np.zeros(4), "tool", False)
    other = Numbers.of(second)
    script = robot.script(["rne", "inertia"], first=0)
    text = c99_source(script)
    library = _compiled(text, tmp_path)
    parameters = _structure(text, "two_arms_parameters")()
    model = _structure(text, "two_arms_model")()
    library.two_arms_defaults(ctypes.byref(parameters))
    table = robot.numbers.table()
    assert all(getattr(parameters, field) == table[field] for field, _ in parameters._fields_)
    for field, _ in parameters._fields_:
        setattr(parameters, field, other.table()[field])
    library.two_arms_prepare(ctypes.byref(parameters), ctypes.byref(model))
    for function in script.functions:
        arguments = robot.arguments([a.shape for a in function.arguments])
        of_model = getattr(library, f"two_arms_{function.name}_of")
        got = _call(of_model, arguments, function.results[0].shape, model)
        assert_close(got, kernel(function.name, other).call(*arguments), function.name)
    _compare(robot, script, library)


def test_c99_result_may_share_its_array_with_an_argument(tmp_path):
    robot = case("puma560")
    library = _compiled(c99_source(robot.script(["rne"])), tmp_path)
    q, qd, qdd = (a[0] for a in robot.arguments([(6,), (6,), (6,)]))
    want = robot.engine("rne", [q, qd, qdd])
    shared = qdd.copy()
    library.puma560_rne(_pointer(q), _pointer(qd), _pointer(shared), _pointer(shared))
    assert_close(shared, want)


@pytest.mark.parametrize("name", ["double", "sin", "y1", "6 axes*/", "printf", "gravload"])
def test_c99_names_that_mean_something_are_avoided(name, tmp_path):
    robot = case("gsis-scara")
    odd = ["*/ int x; /*", "größe", "trail\\", "??/"]
    text = export_program(robot.build("accel"), "c99", name=name, results=["restrict"], joints=odd)
    library = _compiled(text, tmp_path)
    (own,) = re.findall(r"^void (\w+)\(const double q\[4\][^;{]*;", text, re.MULTILINE)
    arguments = robot.arguments([(4,), (4,), (4,)])
    assert_close(_call(getattr(library, own), arguments, (4,)), robot.engine("accel", arguments))


def test_c99_head_states_operations_and_prototype_is_as_documented():
    text = c99_source(case("gsis-scara").script(["rne"]))
    signature = (
        "void gsis_scara_rne(const double q[4], const double qd[4], const double qdd[4], double tau[4])"
    )
    assert f"{signature};\n" in text
    assert " *   gsis_scara_rne: 24 mul, 17 add, 2 trig\n" in text
    assert re.findall(r"#include (.*)", text) == ["<math.h>"]
    assert max(map(len, text.splitlines())) <= 120


def test_c99_two_files_of_different_robots_link_together(tmp_path):
    for name in ("gsis-scara", "met-two-link"):
        text = c99_source(case(name).script(["rne"]))
        (tmp_path / f"{name}.c").write_text(text, encoding="ascii")
    sources = sorted(map(str, tmp_path.glob("*.c")))
    command = [COMPILER, *FLAGS, "-shared", "-fPIC", *sources, "-o", str(tmp_path / "both.so"), "-lm"]
    subprocess.run(command, check=True)
