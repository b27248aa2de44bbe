"""The complete model as text in other languages gives the numbers of the compiled one."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import CATALOGUE
from servotwin.equations.derivation import Derivation
from servotwin.equations.export import export_program, export_robot
from servotwin.equations.export.names import words
from servotwin.equations.programs import PROGRAMS
from servotwin.errors import ServotwinError
from servotwin.report.model_page import write_model
from servotwin.robot.model_export import export_model

ROBOTS = ["gsis-scara", "manutec-r3-axis", "palletizer-4", "five-bar", "daiv-1-simplified", "daiv-1"]


def point(model: st.StateSpace) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(2)
    n, e = model.robot.n, sum(s.elastic for s in model.shafts)
    x = rng.uniform(-0.5, 0.5, model.order)
    x[:n] = model.robot.q_home + np.where(np.array(model.robot.joint_units) == "m", -0.05, 0.1)
    x[[q.unit == "Pa" for q in model.states]] += 3e6
    q = model.robot.coordinates(x[:n]) if model.robot.closed else x[:n]
    parts = {"x" if model.robot.closed else "q": q, "qd": x[n : 2 * n]}
    parts |= {"twist": x[2 * n : 2 * n + e], "w": x[2 * n + e : 2 * n + 2 * e], "xi": x[2 * n + 2 * e :]}
    return x, rng.uniform(-1, 1, len(model.inputs)), {k: v for k, v in parts.items() if len(v)}


@pytest.mark.parametrize("name", ROBOTS)
def test_python_text_gives_drift_and_gain(name):
    model = st.state_space(name)
    x, _, parts = point(model)
    space: dict = {}
    exec(export_model(model, "python"), space)  # noqa: S102 - our own text
    A, B = space[f"{name.replace('-', '_')}_state_space"](**parts)
    want = model.affine(x)
    np.testing.assert_allclose(A, want.A, rtol=1e-9, atol=1e-11 * np.abs(want.A).max())
    np.testing.assert_allclose(B, want.B, rtol=1e-9, atol=1e-11 * np.abs(want.B).max())


def test_python_text_of_the_linear_model_gives_the_derivatives():
    model = st.state_space("manutec-r3-axis")
    x, u, parts = point(model)
    space: dict = {}
    exec(export_model(model, "python", "linear"), space)  # noqa: S102
    f, A, B = space["manutec_r3_axis_linearised"](**parts, u=u)
    want = model.linearise(x, u)
    for got, value in ((f, want.f), (A, want.A), (B, want.B)):
        np.testing.assert_allclose(got, value, rtol=1e-9, atol=1e-9 * np.abs(value).max())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ["gsis-scara", "daiv-1"])
def test_c99_text_compiles_without_warnings_and_gives_the_same_numbers(tmp_path: Path, name: str):
    model = st.state_space(name)
    x, _, parts = point(model)
    text = export_model(model, "c99")
    (tmp_path / "model.c").write_text(text, encoding="utf-8")
    library = tmp_path / "model.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(tmp_path / "model.c"), "-o", str(library), "-lm"], check=True)
    call = getattr(ctypes.CDLL(str(library)), f"{name.replace('-', '_')}_state_space", None)
    assert call is not None, text[:2000]
    A, B = np.zeros(model.order), np.zeros((model.order, len(model.inputs)))
    real = ctypes.POINTER(ctypes.c_double)
    arrays = [np.ascontiguousarray(v) for v in parts.values()] + [A, B]
    call(*(a.ctypes.data_as(real) for a in arrays))
    want = model.affine(x)
    np.testing.assert_allclose(A, want.A, rtol=1e-9, atol=1e-11 * np.abs(want.A).max())
    np.testing.assert_allclose(B, want.B, rtol=1e-9, atol=1e-11)


class Reads:
    """An array that is read with round brackets, from 1."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __call__(self, *index: int) -> float:
        return float(self.values[tuple(k - 1 for k in index)])


def run_matlab(text: str, name: str, arguments: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Evaluate an export by itself: every line is an assignment that Python reads as well, but for its brackets."""
    text = re.sub(r" \.\.\.\n\s*", " ", text)
    bodies = dict(re.findall(r"^function ([^\n]*)\n(.*?)^end$", text, re.MULTILINE | re.DOTALL))
    p = SimpleNamespace()
    space: dict = {
        "p": p,
        "double": float,
        "struct": SimpleNamespace,
        **{f: getattr(math, f) for f in FUNCTIONS},
    }
    heads = {re.search(r"(\w+)\(", head)[1]: head for head in bodies}
    for function in ("parameters", "prepare", f"{name}_values"):
        space |= {key: Reads(value) for key, value in arguments.items()}
        for line in bodies[heads[function]].splitlines():
            code = line.split("%")[0].strip().removesuffix(";")
            if not code or code == "p = struct()":
                continue
            target, value = code.split(" = ", 1)
            if value.startswith("zeros("):
                space[target] = np.zeros(eval(value.removeprefix("zeros")))  # noqa: S307 - our own text
                continue
            number = eval(value, space)  # noqa: S307
            entry = re.fullmatch(r"(\w+)\(([\d, ]+)\)", target)
            if entry:
                space[entry[1]][tuple(int(k) - 1 for k in entry[2].split(","))] = number
            elif target.startswith("p."):
                setattr(p, target[2:], number)
            else:
                space[target] = number
    results = re.search(r"\[(.*?)\]", heads[f"{name}_values"])[1].split(", ")
    return [space[result] for result in results]


FUNCTIONS = ("sin", "cos", "sqrt", "exp", "log")


@pytest.mark.parametrize("name", ROBOTS)
def test_matlab_text_gives_drift_and_gain(name):
    model = st.state_space(name)
    x, _, parts = point(model)
    text = export_model(model, "matlab")
    assert text.isascii()
    A, B = run_matlab(text, f"{name.replace('-', '_')}_state_space", parts)
    want = model.affine(x)
    np.testing.assert_allclose(A[:, 0], want.A, rtol=1e-9, atol=1e-11 * np.abs(want.A).max())
    np.testing.assert_allclose(B, want.B, rtol=1e-9, atol=1e-11 * np.abs(want.B).max())


def test_exports_say_what_the_states_of_a_valve_are():
    text = export_model(st.state_space("daiv-1"), "text")
    assert "xi3: q3.pressure_a [Pa]" in text
    assert "step(x) is 1 where x > 0" in text
    assert r"\operatorname{step}" in export_model(st.state_space("daiv-1"), "latex")
    assert "Boole[" in export_model(st.state_space("daiv-1"), "mathematica")


@pytest.mark.parametrize("language", ["text", "latex", "markdown", "mathematica"])
def test_other_languages_name_the_numbers_of_the_drives(language):
    text = export_model(st.state_space("manutec-r3-axis"), language)
    assert "stiffness of the gear of motor 1" in text
    assert "number of the robot" not in text


def test_unknown_form_is_refused():
    with pytest.raises(ServotwinError, match="affine or linear"):
        export_model(st.state_space("double-pendulum"), "text", "quadratic")  # type: ignore[arg-type]


# iskeyword() of Octave 9, and spmd of MATLAB
OCTAVE_WORDS = set(words("""
break case catch classdef continue do else elseif end end_try_catch end_unwind_protect endclassdef endfor endfunction
endif endparfor endswitch endwhile for function global if otherwise parfor persistent return spmd switch try until
unwind_protect unwind_protect_cleanup while
"""))  # fmt: skip
AWKWARD = ("parameters", "prepare", "struct", "robot", "p", "names", "k", "rne", "z" * 80)


def assert_own_names(text, functions):
    heads = re.findall(r"^function (?:.* = )?(\w+)\(", text, re.MULTILINE)
    assert len(set(heads)) == len(heads) == 3 + functions
    assert all(len(head) <= 63 and head not in OCTAVE_WORDS for head in heads)
    main = text.partition("\nfunction p = parameters")[0]
    variables = {*re.findall(r"^\s*(\w+) = ", main, re.MULTILINE), "robot", "changes", "k"}
    assert heads[0] not in variables | {"struct", "fieldnames", "isfield", "numel", "error", "nargin"}
    fields = re.findall(r"^robot\.(\w+) = ", main, re.MULTILINE)
    assert len(set(fields)) == len(fields) == 1 + functions


@pytest.mark.parametrize("name", [*AWKWARD, *sorted(OCTAVE_WORDS)])
def test_matlab_function_of_any_robot_has_a_name_of_its_own(name):
    arm = st.load_robot("double-pendulum")
    assert_own_names(export_robot(arm.numbers, "matlab", ["fkine"], name=name), 1)
    program = PROGRAMS["gravload"](Derivation(arm.numbers, arm.numbers.table()))
    assert_own_names(export_program(program, "matlab", name=name), 1)


def test_long_name_of_a_model_fits(tmp_path):
    text = (CATALOGUE / "double-pendulum.yaml").read_text(encoding="utf-8")
    path = tmp_path / "long.yaml"
    path.write_text(re.sub(r"(?m)^name: .*$", f"name: {'z' * 80}", text), encoding="utf-8")
    code = export_model(st.state_space(path), "matlab").partition("p = parameters")[2]
    assert "z" * 50 in code
    assert max(map(len, re.findall(r"\w+", code))) <= 63


def test_matlab_file_of_a_model_says_how_to_call_it(tmp_path):
    write_model(st.study_model("daiv-1"), tmp_path / "out")
    text = (tmp_path / "out" / "model_equations.m").read_text()
    assert text.startswith("function robot = model_equations(changes)\n")
    assert "% Save as model_equations.m, then: robot = model_equations();\n" in text
    assert "% [A, B] = robot.daiv_1_state_space(q, qd, xi); %" in text


@pytest.mark.skipif(shutil.which("octave-cli") is None, reason="no Octave here")
def test_octave_runs_the_file_as_its_header_says(tmp_path):
    model = st.state_space("daiv-1")
    x, _, parts = point(model)
    (tmp_path / "model_equations.m").write_text(export_model(model, "matlab", file="model_equations"))
    given = ", ".join(f"[{'; '.join(repr(float(v)) for v in part)}]" for part in parts.values())
    code = (
        f"robot = model_equations(); [A, B] = robot.daiv_1_state_space({given}); printf('%.17g\\n', A, B');"
    )
    done = subprocess.run(
        ["octave-cli", "--eval", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    got, want = np.array(done.stdout.split(), dtype=float), model.affine(x)
    np.testing.assert_allclose(got, np.concatenate([want.A, want.B.ravel()]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("language", ["text", "c99", "matlab", "markdown"])
def test_numbers_of_a_piston_have_its_units(language):
    """60 N s/m of the piston beside 1e-4 N m s/rad of both DC motors."""
    text = export_model(st.state_space("daiv-1"), language)
    assert text.count("viscous friction of the shaft of motor") == 2
    assert len(re.findall(r"N m s/rad", text)) == 2
    assert len(re.findall(r"N s/m\b", text)) == 1
