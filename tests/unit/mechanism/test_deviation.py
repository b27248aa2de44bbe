"""Deviations: small displacements of placements, in files and in Python, one build and many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import servotwin as st
from servotwin.description.load import read_description
from servotwin.description.write import write_yaml
from servotwin.equations.derivation import structure_key
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.deviation import displacement, places
from servotwin.mechanism.store import pack, unpack
from servotwin.robot.robot import Robot

OPEN = ("gsis-scara", "palletizer-4", "sixaxis-5kg", "puma560")
CLOSED = ("palletizer-4-loops", "delta", "five-bar")


def draws_of(robot: Robot, seed: int, count: int) -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    made = {
        place: {"position": rng.normal(0, 2e-4, (count, 3)), "rotation": rng.normal(0, 3e-4, (count, 3))}
        for place in places(robot.mechanism)
    }
    for name in robot.joint_names:
        made[name]["offset"] = rng.normal(0, 1e-3, count)
        made[name]["scale"] = rng.normal(0, 1e-4, count)
    return made


def one(draws: dict[str, dict[str, np.ndarray]], k: int) -> dict[str, dict[str, np.ndarray]]:
    return {place: {key: value[k] for key, value in fields.items()} for place, fields in draws.items()}


def test_displacement_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    r = np.vstack([rng.normal(0, 0.1, (20, 3)), np.zeros((1, 3)), 1e-9 * rng.normal(size=(5, 3))])
    D = displacement(np.zeros(3), r)
    assert np.abs(D[:, :3, :3] - Rotation.from_rotvec(r).as_matrix()).max() < 1e-15


@pytest.mark.parametrize("name", OPEN)
def test_joint_deviation_is_a_displacement_behind_the_placement(name: str) -> None:
    robot = st.load_robot(name)
    built = robot.with_deviations(one(draws_of(robot, 3, 1), 0))
    m, deviations = robot.mechanism, one(draws_of(robot, 3, 1), 0)
    q = robot.random_q(np.random.default_rng(0))
    moved = np.array(
        [
            (1 + deviations[n]["scale"]) * v + deviations[n]["offset"]
            for n, v in zip(m.joint_names, q, strict=True)
        ]
    )
    angles = m.coupling.G @ moved + m.coupling.q0
    D = {place: np.eye(4) for place in deviations}
    for place, d in deviations.items():
        D[place][:3, :3] = Rotation.from_rotvec(d["rotation"]).as_matrix()
        D[place][:3, 3] = d["position"]
    poses: list[np.ndarray] = []
    for i, joint in enumerate(m.tree_joint_names):
        M = np.eye(4)
        if m.prismatic[i]:
            M[2, 3] = angles[i]
        else:
            M[:3, :3] = Rotation.from_rotvec([0, 0, angles[i]]).as_matrix()
        carrier = D["base"] if m.parent[i] < 0 else poses[m.parent[i]]
        poses.append(carrier @ m.X_tree[i] @ D[joint] @ M)
    tool = m.frame()
    expected = poses[tool.body] @ tool.X_body_frame @ D["tool"]
    assert np.abs(built.fkine(q) - expected).max() < 1e-14
    assert np.abs(built.with_engine("recursive").fkine(q) - expected).max() < 1e-14


@pytest.mark.parametrize("name", [*OPEN, *CLOSED])
def test_draws_are_the_robots_one_by_one(name: str) -> None:
    robot = st.load_robot(name)
    rng = np.random.default_rng(2)
    q = robot.q_home + 0.03 * rng.normal(size=(4, robot.n))
    draws = draws_of(robot, 5, 6)
    poses = robot.fkine_draws(q, draws)
    for k in (0, 5):
        assert np.abs(robot.with_deviations(one(draws, k)).fkine(q) - poses[k]).max() < 1e-13


@pytest.mark.parametrize("name", ["palletizer-4", "sixaxis-5kg"])
@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-6, 1e-8])
def test_almost_parallel_axes_cost_no_digits(name: str, size: float) -> None:
    robot = st.load_robot(name)
    rng = np.random.default_rng(4)
    built = robot.with_deviations({p: {"rotation": size * rng.normal(size=3)} for p in robot.joint_names})
    again = built.with_engine("recursive")
    q, qd, qdd = (rng.normal(size=(5, robot.n)) for _ in range(3))
    M = again.inertia(q)
    assert np.abs(built.inertia(q) - M).max() < 1e-13 * np.abs(M).max()
    tau = again.rne(q, qd, qdd)
    assert np.abs(built.rne(q, qd, qdd) - tau).max() < 1e-12 * np.abs(tau).max()


def test_no_deviation_is_the_robot_itself_bit_for_bit() -> None:
    robot = st.load_robot("palletizer-4")
    same = robot.with_deviations({"th1": {"position": [0, 0, 0]}})
    assert same.mechanism.nominal is None
    assert same.mechanism.X_tree.tobytes() == robot.mechanism.X_tree.tobytes()
    back = robot.with_deviations({"th2": {"offset": 1e-3}}).with_payload(3.0).with_deviations({})
    assert back.mechanism.X_tree.tobytes() == robot.mechanism.X_tree.tobytes()
    assert back.gravload(robot.q_home) == pytest.approx(
        robot.with_payload(3.0).gravload(robot.q_home), rel=1e-14
    )


def test_offset_moves_what_is_coupled_and_a_turn_about_z_does_not() -> None:
    robot = st.load_robot("palletizer-4")
    q = robot.q_home
    offset = robot.with_deviations({"th2": {"offset": 1e-3}}).fkine(q)
    assert np.abs(offset - robot.fkine(q + np.array([0, 1e-3, 0, 0]))).max() < 1e-14
    tilted = robot.with_deviations({"th2": {"rotation": [0, 0, 1e-3]}}).fkine(q)
    assert np.abs(tilted[2, 2] - offset[2, 2]) > 1e-7  # the hand is no longer level


def test_builds_share_their_kernels() -> None:
    robot = st.load_robot("sixaxis-5kg")
    draws = draws_of(robot, 8, 2)
    numbers = [robot.with_deviations(one(draws, k)).numbers for k in (0, 1)]
    a, b = (structure_key("fkine", each, each.table(frame="tool")) for each in numbers)
    assert a == b


def test_mechanism_with_deviations_survives_the_store() -> None:
    built = st.load_robot("delta").with_deviations(
        {"cut2.a": {"position": [1e-4, 0, 0]}, "arm1": {"offset": 1e-3}}
    )
    again = Robot(unpack(*pack(built.mechanism)))
    q = built.q_home + 0.05
    assert np.array_equal(again.fkine(q), built.fkine(q))
    assert np.array_equal(again.with_deviations({}).fkine(q), built.with_deviations({}).fkine(q))


FILE = """
format: servotwin/1
name: swing
base: {deviation: {rotation: [1 mrad, 0 mrad, 0 mrad]}}
axes:
  A:
    type: revolute
    origin: {xyz: [0 m, 0 m, 0.4 m]}
    deviation: {position: [0.05 mm, 0 mm, 0 mm], offset: 0.02 deg, scale: 1e-4, source: measured}
    link: {mass: 1 kg}
  B:
    type: prismatic
    origin: {xyz: [0.3 m, 0 m, 0 m]}
    deviation: {rotation: [0 mrad, 2 mrad, 0 mrad], offset: 0.3 mm}
    link: {mass: 1 kg}
tool: {xyz: [0 m, 0 m, 0.1 m], deviation: {position: [0 mm, 1 mm, 0 mm]}}
"""


def test_file_with_deviations_is_the_robot_with_deviations_and_is_written_back(tmp_path: Path) -> None:
    path = tmp_path / "swing.yaml"
    path.write_text(FILE)
    robot = st.load_robot(path)
    same = robot.with_deviations(
        {
            "base": {"rotation": [1e-3, 0, 0]},
            "A": {"position": [5e-5, 0, 0], "offset": np.radians(0.02), "scale": 1e-4},
            "B": {"rotation": [0, 2e-3, 0], "offset": 3e-4},
            "tool": {"position": [0, 1e-3, 0]},
        }
    )
    q = [0.3, 0.1]
    assert np.abs(robot.fkine(q) - same.fkine(q)).max() < 1e-15
    assert np.abs(robot.fkine(q) - robot.with_deviations({}).fkine(q)).max() > 1e-4
    write_yaml(read_description(path), tmp_path / "again.yaml")
    assert np.array_equal(st.load_robot(tmp_path / "again.yaml").fkine(q), robot.fkine(q))
    assert "measured" in (tmp_path / "again.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("offset: 0.3 mm", "offset: 0.3 deg", "axes.B.deviation.offset: '0.3 deg' is an angle"),
        ("[0.05 mm, 0 mm, 0 mm]", "[0.05 m, 0 m, 1 m]", "too large; expected at most 0.2 m"),
        ("type: revolute", "type: fixed", "axes.A.deviation: a fixed joint has no deviation"),
        ("scale: 1e-4", "scal: 1e-4", "axes.A.deviation.scal: unknown field"),
    ],
)
def test_mistakes_in_a_file_are_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "swing.yaml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(InputError) as caught:
        st.load_robot(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("deviations", "words"),
    [
        ({"th9": {"offset": 1e-3}}, "'th9' has no deviation; expected one of th1"),
        ({"th4": {"offset": 1e-3}}, "th4 has no offset and no scale"),
        ({"th2": {"position": [1.0, 0, 0]}}, "expected three small numbers"),
        ({"th2": {"shift": [1.0, 0, 0]}}, "expected position, rotation, offset, scale"),
        ({"th2": {"scale": float("nan")}}, "expected one small number"),
        ([1, 2], "must map places"),
    ],
)
def test_mistakes_in_python_are_one_line(deviations: object, words: str) -> None:
    with pytest.raises(ServotwinError) as caught:
        st.load_robot("palletizer-4").with_deviations(deviations)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ({"th1": {"position": np.zeros((5, 2))}}, "expected \\(D, 3\\)"),
        ({"th1": {"offset": np.zeros(5)}, "th2": {"offset": np.zeros(4)}}, "expected one number of them"),
        ({"th4": {"offset": np.ones(5)}}, "no position of its own"),
        ({"th7": {"offset": np.ones(5)}}, "expected one of th1"),
    ],
)
def test_mistakes_in_draws_are_one_line(draws: dict[str, dict[str, np.ndarray]], words: str) -> None:
    robot = st.load_robot("palletizer-4")
    with pytest.raises(ServotwinError, match=words):
        robot.fkine_draws(robot.q_home[None], draws)
