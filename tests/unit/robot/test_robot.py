"""The robot facade: shapes, errors, payload, frames, immutability, engines."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import CATALOGUE
from servotwin.errors import InputError, ServotwinError, ShapeError, UnsupportedError
from servotwin.robot import load


@pytest.fixture(scope="module")
def scara() -> st.Robot:
    return st.load_robot("gsis-scara")


def test_robot_arrays_of_any_leading_shape_give_the_rows_of_single_calls(scara):
    rng = np.random.default_rng(0)
    q, qd, qdd = scara.random_q(rng, (3, 5)), rng.normal(size=(3, 5, 4)), rng.normal(size=(5, 4))
    tau, M, T = scara.rne(q, qd, qdd), scara.inertia(q), scara.fkine(q)
    assert tau.shape == (3, 5, 4)
    assert M.shape == (3, 5, 4, 4)
    assert T.shape == (3, 5, 4, 4)
    for i in np.ndindex(3, 5):
        np.testing.assert_allclose(tau[i], scara.rne(q[i], qd[i], qdd[i[1]]), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(M[i], scara.inertia(q[i]), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(T[i], scara.fkine(q[i]), rtol=1e-12, atol=1e-12)
    assert scara.rne(np.empty((0, 4)), np.empty((0, 4)), np.empty((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("engine", ["graph", "recursive"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0] * 3, [0.0] * 4, [0.0] * 4), ("q has shape (3,)", "(..., 4)", "A [rad]", "Z [m]")),
        (([0.0] * 4, [0.0] * 5, [0.0] * 4), ("qd has shape (5,)",)),
        (([0.0] * 4, [0.0] * 4, 1.0), ("qdd has shape ()",)),
        ((np.zeros((2, 4)), np.zeros((3, 4)), np.zeros(4)), ("leading axes", "q (2, 4)", "qd (3, 4)")),
        ((["a"] * 4, [0.0] * 4, [0.0] * 4), ("q has elements",)),
        (([[0.0], [0.0, 1.0]], [0.0] * 4, [0.0] * 4), ("q is ragged",)),
    ],
)
def test_robot_wrong_shapes_are_explained(scara, engine, arguments, words):
    with pytest.raises(ShapeError) as caught:
        scara.with_engine(engine).rne(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    assert all(word in text for word in words)


def test_robot_unknown_frame_and_bad_given_are_explained(scara):
    with pytest.raises(ServotwinError, match="no frame 'nose'; it has: base"):
        scara.fkine(np.zeros(4), "nose")
    with pytest.raises(ShapeError, match="expected 4 words 'tau' or 'qdd'"):
        scara.hybrid(np.zeros(4), np.zeros(4), given=["tau"] * 3)
    with pytest.raises(ServotwinError, match="expected 'auto', 'graph' or 'recursive'"):
        scara.with_engine("highway")


def test_robot_payload_is_the_body_itself_and_leaves_the_robot_unchanged(scara):
    """A point mass at the tool adds m J^T J to M and m g to the vertical axis (Steiner by hand)."""
    q = np.array([0.3, 0.8, 0.05, -0.4])
    before = scara.inertia(q)
    loaded = scara.with_payload(4.0)
    J = scara.jacob0(q)[:3]
    np.testing.assert_allclose(loaded.inertia(q), before + 4.0 * J.T @ J, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        loaded.gravload(q) - scara.gravload(q), 4.0 * -scara.mechanism.gravity @ J, atol=1e-12
    )
    np.testing.assert_array_equal(scara.inertia(q), before)
    back = loaded.with_payload(0.0)
    np.testing.assert_allclose(back.inertia(q), loaded.inertia(q), rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mass": -1.0}, "payload mass is -1.0 kg"),
        ({"mass": np.nan}, "payload mass"),
        ({"mass": 1.0, "center": [0, 0]}, "payload centre"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 5.0])}, "principal moments"),
        ({"mass": 1.0, "inertia": np.eye(2)}, "symmetric 3 x 3"),
        ({"mass": 1.0, "frame": "nose"}, "no frame 'nose'"),
    ],
)
def test_robot_bad_payload_is_refused(scara, arguments, words):
    with pytest.raises(ServotwinError, match=words):
        scara.with_payload(**arguments)


def test_robot_drives_add_the_reflected_rotor_inertia(scara):
    q, qd, qdd = np.full((3, 4), 0.1)
    N, J_m = scara.mechanism.rotors.N, scara.mechanism.rotors.J_m
    reflected = N.T @ np.diag(J_m) @ N
    np.testing.assert_allclose(scara.inertia(q, drives=True) - scara.inertia(q), reflected, atol=1e-9)
    extra = scara.rne(q, qd, qdd, drives=True) - scara.rne(q, qd, qdd)
    np.testing.assert_allclose(extra, reflected @ qdd, atol=1e-9)


def test_robot_jacobe_is_the_jacobian_in_tool_axes(scara):
    q = np.array([0.3, 0.8, 0.05, -0.4])
    R = scara.fkine(q)[:3, :3]
    np.testing.assert_allclose(scara.jacobe(q)[:3], R.T @ scara.jacob0(q)[:3], atol=1e-15)


def test_robot_joint_without_inertia_is_named_not_divided_by():
    palletizer = st.load_robot("palletizer-4")
    zero = np.zeros(4)
    with pytest.raises(UnsupportedError, match="joint 'th5' moves no inertia"):
        palletizer.accel(palletizer.q_home, zero, zero)
    assert np.isfinite(palletizer.accel(palletizer.q_home, zero, zero, drives=True)).all()


def test_robot_first_torque_from_the_cache_loads_neither_numba_nor_the_schema(tmp_path):
    code = (
        "import sys, servotwin as st\n"
        "st.load_robot('puma560').rne([0.1] * 6, [0.2] * 6, [0.3] * 6)\n"
        "print([m for m in ('numba', 'pydantic', 'pint', 'scipy', 'sympy') if m in sys.modules])\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                       env={"SERVOTWIN_CACHE": str(tmp_path), "PATH": ""}).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert runs[1] == "[]"


def test_load_robot_notices_a_changed_file(tmp_path):
    text = (
        "format: servotwin/1\nname: one\naxes:\n  J:\n    type: revolute\n    dh: {a: LENGTH}\n"
        "    link: {mass: 1 kg, center: [0 m, 0 m, 0 m], inertia: {gyration: {radius: 0.1 m, axes: [z]}}}\n"
    )
    path = tmp_path / "one.yaml"
    for length in ("0.5 m", "700 mm"):
        path.write_text(text.replace("LENGTH", length))
        for _ in range(2):
            reach = st.load_robot(path).fkine([0.0])[0, 3]
            assert reach == pytest.approx({"0.5 m": 0.5, "700 mm": 0.7}[length], rel=1e-15)
    assert st.load_robot(path, {"axes.J.dh.a": "300 mm"}).fkine([0.0])[0, 3] == pytest.approx(0.3, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, z: r.accel(z, z, [1.0], f_ext=[0.0] * 6), r"tau has shape \(1,\).*A \[N m\]"),
        (lambda r, z: r.hybrid(z, z, tau=1.0, qdd=z, given=["tau"] * 4), r"tau has shape \(\)"),
        (lambda r, z: r.hybrid(z, z, qdd=z, given=["tau", "qdd", "tau", "qdd"]), "tau is missing"),
        (lambda r, z: r.hybrid(z, z, tau=z, given=None), "expected 4 words"),
        (lambda r, z: r.rne(np.zeros((3, 4)), z, z, f_ext=np.ones((7, 6))), "leading axes do not fit"),
        (lambda r, z: r.rne(z, z, z, f_ext="x"), "expected real numbers"),
        (lambda r, z: r.with_gravity("down"), "expected real numbers"),
        (lambda r, z: r.with_payload("4 kg"), "expected one number"),
        (lambda r, z: r.with_payload([1, 2]), "expected one number"),
        (lambda r, z: r.ikine("here"), "4 x 4 matrix of real numbers"),
        (lambda r, z: r.ikine(r.fkine(z), q0=[np.nan] * 4), "not finite"),
        (lambda r, z: r.ikine(r.fkine(z), mask=[np.nan] * 6), "expected 6 flags"),
        (lambda r, z: st.load_robot(None), "expected a catalogue name"),
        (lambda r, z: st.load_robot("gsis-scara", ["a"]), "overrides must map"),
        (lambda r, z: st.load_robot("delta", engine="recursive"), "generated code only"),
    ],
)
def test_robot_whatever_is_handed_over_gets_a_clear_line(scara, call, words):
    with pytest.raises(ServotwinError, match=words) as caught:
        call(scara, np.zeros(4))
    assert "\n" not in str(caught.value)


def test_robot_does_not_change_and_survives_pickling(scara):
    with pytest.raises(AttributeError, match="does not change"):
        scara.title = "another"
    q = np.full(4, 0.2)
    scara.rne(q, q, q)
    again = pickle.loads(pickle.dumps(scara))
    np.testing.assert_array_equal(again.rne(q, q, q), scara.rne(q, q, q))


def test_load_robot_warns_of_inertia_that_no_body_has(tmp_path):
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="5" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = (
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
    path = tmp_path / "odd.urdf"
    path.write_text(f'<robot name="odd"><link name="a"/><link name="b">{body}</link>{joint}</robot>')
    for _ in range(2):  # read, and again from the store
        with pytest.warns(st.RobotWarning, match="odd.urdf"):
            robot = st.load_robot(path)
        assert len(robot.warnings) == 1


def test_stored_catalogue_robot_of_another_installation_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two installations share the store of checked robots; each has its own catalogue."""
    here = load._key("gsis-scara", {})
    monkeypatch.setattr(load, "PACKAGE", Path("/elsewhere/servotwin"))
    assert load._key("gsis-scara", {}) != here


def test_random_q_takes_a_size_of_numpy(scara: st.Robot) -> None:
    drawn = [scara.random_q(np.random.default_rng(1), size) for size in (3, np.int64(3))]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_accel_at_a_position_beyond_the_sine_says_that_q_is_too_large() -> None:
    with pytest.raises(InputError, match="gsis-scara: q is too large; expected at most 1e\\+09 rad"):
        st.load_robot("gsis-scara").accel([0.0, 3e9, 0.05, 0.0], np.zeros(4), np.zeros(4))


def test_load_robot_notices_a_file_that_appears_where_it_looks_first(tmp_path):
    path, part = tmp_path / "arm.yaml", tmp_path / "gsis-motors.yaml"
    path.write_text("extends: gsis-scara\naxes: {A: {motor: {include: gsis-motors.yaml#a-axis}}}\n")
    zero, turning = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])

    def torque() -> float:
        return float(st.load_robot(path).rne(zero, zero, turning, drives=True)[0])

    of_catalogue = [torque() for _ in range(2)]
    part.write_text((CATALOGUE / "parts" / part.name).read_text().replace("1.5e-4 kg*m^2", "1.5 kg*m^2"))
    of_file = [torque() for _ in range(2)]
    part.unlink()
    assert of_file[0] == of_file[1] > 100 * of_catalogue[0]
    assert torque() == of_catalogue[0] == of_catalogue[1]


def test_load_robot_a_path_without_suffix_is_no_catalogue_name_whatever_was_loaded_before(tmp_path):
    st.load_robot("puma560")
    with pytest.raises(InputError, match=r"not a robot file; expected \.yaml, \.yml or \.urdf"):
        st.load_robot(Path("puma560"))


def test_load_robot_a_file_without_stem_is_that_of_the_current_folder(tmp_path, monkeypatch):
    found = []
    for name in ("puma560", "gsis-scara"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path(".yaml").write_text(f"extends: {name}\n")
        found.append(len(st.load_robot(".yaml").joint_names))
    assert found == [6, 4]


def test_load_robot_a_file_that_became_a_pipe_is_not_waited_for(tmp_path):
    path, base = tmp_path / "arm.yaml", tmp_path / "base.yaml"
    base.write_text("extends: puma560\n")
    path.write_text("extends: base.yaml\n")
    st.load_robot(path)
    base.unlink()
    os.mkfifo(base)
    with pytest.raises(InputError, match=r"base\.yaml"):
        st.load_robot(path)


def test_load_robot_a_file_that_an_override_names_is_that_of_the_current_folder(tmp_path, monkeypatch):
    motors = (CATALOGUE / "parts/gsis-motors.yaml").read_text()
    zero, turning = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])
    torques = []
    for name, inertia in (("light", "1.5e-4 kg*m^2"), ("heavy", "1.5 kg*m^2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.yaml").write_text(motors.replace("1.5e-4 kg*m^2", inertia))
        monkeypatch.chdir(tmp_path / name)
        robot = st.load_robot("gsis-scara", {"axes.A.motor.include": "mine.yaml#a-axis"})
        torques.append(float(robot.rne(zero, zero, turning, drives=True)[0]))
    assert torques[1] > 100 * torques[0]
