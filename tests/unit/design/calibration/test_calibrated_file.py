"""The calibrated robot as a file: it predicts the poses of the estimate, and what it had before is found anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.observation import Measured
from servotwin.design.calibration.plan import default_station, random_positions, simulated
from servotwin.design.calibration.robot_model import model_of, robot_and_description
from servotwin.errors import InputError
from servotwin.motion.follow import attained_turns

ALL = ("geometry", "offsets", "scale", "compliance", "eccentricity")


def campaign(name: str, families: tuple[str, ...], count: int) -> tuple[CalibrationModel, Measured]:
    """Positions measured by a tracker of a robot that deviates everywhere by a third of what is usual."""
    description, robot = robot_and_description(name, None)
    model = model_of(robot, Measured(np.zeros((0, robot.n)), np.zeros((0, 3))), families, description)
    rng = np.random.default_rng(3)
    typical = np.array([p.typical for p in model.parameters])
    theta = 0.3 * typical * rng.standard_normal(len(typical))
    soft = [k for k, p in enumerate(model.parameters) if p.kind.value == "compliance"]
    theta[soft] = np.abs(theta[soft])
    q = random_positions(robot, rng, count)
    return model, simulated(model, theta, q, st.Tracker(), default_station(model), rng)


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4-elastic"])
def test_file_predicts_the_poses_of_the_estimate(name: str, tmp_path: Path) -> None:
    """Compliance and harmonics included: they are the gear's stiffness and the deviation's harmonics."""
    model, measured = campaign(name, ALL, 110)
    found = st.calibrate(name, measured, noise=st.Tracker(), parameters=ALL)
    text = found.robot_text()
    assert text is not None
    (tmp_path / "built.yaml").write_text(text, encoding="utf-8")
    q = random_positions(model.robot, np.random.default_rng(1), 10)
    np.testing.assert_allclose(st.commanded_poses(tmp_path / "built.yaml", q), found.poses(q), atol=1e-12)
    assert "harmonics" in text
    if name == "palletizer-4-elastic":
        assert "gravity_twist: 1" in text


def test_known_stiffness_counts_where_it_is_not_estimated() -> None:
    """Poses of gears that sag by their stated stiffness leave nothing for the geometry to explain."""
    name = "palletizer-4-elastic"
    robot = st.load_robot(name)
    q = random_positions(robot, np.random.default_rng(2), 40)
    T = st.commanded_poses(name, q)
    assert np.abs(T - robot.fkine(q)).max() > 1e-5  # the sag is seen
    found = st.calibrate(name, Measured(q, T[:, :3, 3]), noise=st.Noise(stated=True), held_out=0.0)
    assert max(abs(p.value) for p in found.found) < 1e-9


def test_deviations_of_a_calibrated_file_are_found_anew(tmp_path: Path) -> None:
    _, measured = campaign("gsis-scara", ("geometry", "offsets"), 40)
    first = st.calibrate("gsis-scara", measured, noise=st.Tracker())
    (tmp_path / "first.yaml").write_text(first.robot_text() or "", encoding="utf-8")
    again = st.calibrate(tmp_path / "first.yaml", measured, noise=st.Tracker(), parameters=("offsets",))
    (tmp_path / "again.yaml").write_text(again.robot_text() or "", encoding="utf-8")
    q = measured.q[:5]
    np.testing.assert_allclose(st.load_robot(tmp_path / "again.yaml").fkine(q), again.poses(q), atol=1e-12)


def test_straight_line_of_an_arm_as_built_keeps_its_place_to_the_accuracy_of_the_path() -> None:
    """Four joints cannot keep the tool as upright as drawn: the place is met, the tilt is that of the deviations."""
    robot = st.load_robot("palletizer-4")
    built = robot.with_deviations(
        {"th2": {"rotation": [3e-4, 0.0, 2e-4]}, "th5": {"rotation": [2e-4, -4e-4, 0.0]}}
    )
    assert attained_turns(robot).tolist() == [1.0, 1.0, 1.0]
    assert attained_turns(built).tolist() == [0.0, 0.0, 1.0]
    from servotwin.motion.curves import line
    from servotwin.motion.follow import Tracker, follow

    start = built.fkine(built.q_home)
    goal = start.copy()
    goal[1, 3] += 0.3
    curve = line(start, goal)
    path = follow(Tracker(built), curve, built.q_home)
    end = built.fkine(path.q[-1])
    assert np.linalg.norm(end[:3, 3] - goal[:3, 3]) < 1e-8
    assert 1e-6 < np.abs(end[:3, :3] - goal[:3, :3]).max() < 2e-3


def distances(robot: st.Robot, names: str, rng: np.random.Generator, count: int) -> Measured:
    places = {"A": np.array([0.5, 0.1, 0.1]), "B": np.array([-0.2, 0.5, 0.2])}
    q = random_positions(robot, rng, count)
    order = [names[k % len(names)] for k in range(count)]
    d = [float(np.linalg.norm(T[:3, 3] - places[b])) for T, b in zip(robot.fkine(q), order, strict=True)]
    return Measured(q, distance=np.array(d), bar=np.array([names.index(b) for b in order]), bars=tuple(names))


def test_other_distances_are_predicted_from_the_fixed_points_of_the_same_name() -> None:
    robot = st.load_robot("gsis-scara")
    rng = np.random.default_rng(0)
    fitted, other = distances(robot, "AB", rng, 150), distances(robot, "BA", rng, 20)
    found = st.calibrate(robot, fitted, noise=st.Noise(stated=True), validate=other)
    assert found.held_out.after.max() < 1e-8


def test_measurements_that_cannot_be_predicted_are_refused() -> None:
    robot = st.load_robot("gsis-scara")
    rng = np.random.default_rng(0)
    fitted = distances(robot, "AB", rng, 150)
    q = fitted.q[:20]
    with pytest.raises(InputError, match="has positions; expected distances from fixed points"):
        st.calibrate(robot, fitted, validate=Measured(q, robot.fkine(q)[:, :3, 3]))
    only_a = distances(robot, "A", rng, 150)
    with pytest.raises(InputError, match="fixed point 'B' is not known"):
        st.calibrate(robot, only_a, validate=fitted)
    bar = np.zeros(150, dtype=np.int64)
    bar[3] = 1
    lone = Measured(only_a.q, distance=only_a.distance, bar=bar, bars=("A", "B"))
    with pytest.raises(InputError, match="fixed point 'B' has 1 distances"):
        st.calibrate(robot, lone, held_out=0.0)


def test_seeds_below_zero_and_plans_beyond_their_candidates_are_refused() -> None:
    with pytest.raises(InputError, match="--seed"):
        st.plan_calibration("gsis-scara", 20, seed=-1)
    with pytest.raises(InputError, match="expected at most 2000"):
        st.plan_calibration("gsis-scara", 5000)
