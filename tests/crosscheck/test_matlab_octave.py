"""Every kind of file for MATLAB, run by GNU Octave: the same numbers to 1e-12.

``make test`` installs Octave where it can (root, apt-get). Elsewhere these tests are skipped, and
``tests/unit/equations/test_model_export.py`` evaluates the text by itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.equations.export import export_robot
from servotwin.linear.files import mat_bytes, matlab_text
from servotwin.robot.model_export import export_model
from tests.unit.equations.test_model_export import ROBOTS, point

OCTAVE = shutil.which("octave-cli")
pytestmark = pytest.mark.skipif(OCTAVE is None, reason="GNU Octave is not installed (octave-cli)")
CLOSE = 1e-12  # of the largest entry: sums in another order


def octave(folder: Path, code: str) -> np.ndarray:
    """Numbers that a program prints."""
    command = [str(OCTAVE), "--norc", "--no-history", "--eval", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip() or "DISPLAY" in done.stderr, done.stderr
    return np.array(done.stdout.split(), dtype=float)


def column(values) -> str:
    return f"[{'; '.join(repr(float(v)) for v in np.ravel(values))}]"


def same(got: np.ndarray, wanted: list[np.ndarray]) -> None:
    at = 0
    for want in wanted:
        part = got[at : at + want.size].reshape(want.shape)
        np.testing.assert_allclose(part, want, rtol=CLOSE, atol=CLOSE * max(1e-300, np.abs(want).max()))
        at += want.size
    assert at == got.size


SHOW = "printf('%.17g\\n', {});"


@pytest.mark.parametrize("name", ROBOTS)
def test_drift_and_gain_of_the_complete_model(tmp_path, name):
    model = st.state_space(name)
    x, _, parts = point(model)
    (tmp_path / "m.m").write_text(export_model(model, "matlab", file="m"))
    call = f"robot.{name.replace('-', '_')}_state_space({', '.join(map(column, parts.values()))})"
    got = octave(
        tmp_path, f"robot = m(); [A, B] = {call}; {SHOW.format('A')} {SHOW.format(chr(66) + chr(39))}"
    )
    want = model.affine(x)
    same(got, [want.A, want.B])


@pytest.mark.parametrize("name", ["manutec-r3-axis", "daiv-1", "gsis-scara"])
def test_derivatives_of_the_complete_model(tmp_path, name):
    model = st.state_space(name)
    x, u, parts = point(model)
    (tmp_path / "m.m").write_text(export_model(model, "matlab", "linear", file="m"))
    call = f"robot.{name.replace('-', '_')}_linearised({', '.join(map(column, (*parts.values(), u)))})"
    shown = " ".join(SHOW.format(what) for what in ("f", "A'", "B'"))
    got = octave(tmp_path, f"robot = m(); [f, A, B] = {call}; {shown}")
    want = model.linearise(x, u)
    same(got, [want.f, want.A, want.B])


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
def test_equations_of_the_arm_with_changed_parameters(tmp_path, name):
    """As exported; twice as heavy, which doubles inertia and torques; and without gravity."""
    robot = st.load_robot(name)
    text = export_robot(robot.numbers, "matlab", ["inertia", "rne"], name="arm")
    (tmp_path / "arm.m").write_text(text)
    q, qd, qdd = np.random.default_rng(5).uniform(-1.0, 1.0, (3, robot.n))
    M, tau = robot.inertia(q), robot.rne(q, qd, qdd)
    heavy = re.findall(r"^p\.(\w+) = (\S+); % \[kg", text, re.MULTILINE)
    assert len(heavy) > 4
    doubled = ", ".join(f"'{field}', 2.0 * {value}" for field, value in heavy)
    call = f"M = robot.inertia({column(q)}); tau = robot.rne({column(q)}, {column(qd)}, {column(qdd)});"
    shown = f"{SHOW.format('M' + chr(39))} {SHOW.format('tau')}"
    cases = {"": [M, tau], f"struct({doubled})": [2.0 * M, 2.0 * tau],
             "struct('gz', 0.0)": [M, tau - robot.gravload(q)]}  # fmt: skip
    for changes, want in cases.items():
        same(octave(tmp_path, f"robot = arm({changes}); {call} {shown}"), want)


def test_parameter_that_the_arm_does_not_have_is_refused(tmp_path):
    robot = st.load_robot("gsis-scara")
    (tmp_path / "arm.m").write_text(export_robot(robot.numbers, "matlab", ["inertia"], name="arm"))
    refused = "any(strfind(e.message, 'unknown parameter mass'))"
    code = f"try; arm(struct('mass', 1.0)); catch e; {SHOW.format(refused)} end"
    assert octave(tmp_path, code).tolist() == [1.0]


@pytest.mark.parametrize("name", ["daiv-1", "gsis-scara"])
def test_linear_system_as_script_and_as_mat_file(tmp_path, name):
    system = st.state_space(name).linear()
    (tmp_path / "linear.m").write_text(matlab_text(system))
    (tmp_path / "linear.mat").write_bytes(mat_bytes(system))
    shown = " ".join(SHOW.format(what) for what in ("A'", "B'", "C'", "D'", "x0", "u0", "numel(state_names)"))
    want = [system.A, system.B, system.C, system.D, system.x0, system.u0, np.array([float(system.order)])]
    for load in ("linear;", "load('linear.mat');"):
        got = octave(tmp_path, f"{load} {shown}")
        assert np.array_equal(got, np.concatenate([w.ravel() for w in want]))  # all digits
