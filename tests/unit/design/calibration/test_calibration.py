"""Calibration: exact derivatives, rank, estimates against an independent one, the noise bound, files and mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import servotwin as st
from servotwin.design.calibration.measured_file import read_measured_poses
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise, Tracker
from servotwin.design.calibration.observation import Measured, Setup
from servotwin.design.calibration.parameters import FAMILIES, parameters_of
from servotwin.design.calibration.plan import default_station, random_positions, simulated
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.deviation import places


def model_of(
    name: str, families: tuple[str, ...] = ("geometry", "offsets"), base: bool = False
) -> CalibrationModel:
    robot = st.load_robot(name)
    return CalibrationModel(robot, tuple(parameters_of(robot.mechanism, families, 1e5, base=base)))


def drawn_truth(model: CalibrationModel, rng: np.random.Generator, size: float = 0.3) -> np.ndarray:
    return size * np.array([p.typical for p in model.parameters]) * rng.standard_normal(len(model.parameters))


def campaign(
    model: CalibrationModel,
    seed: int,
    counts: tuple[int, ...],
    orientation: bool = False,
    noise: Noise | None = None,
):
    rng = np.random.default_rng(seed)
    theta = drawn_truth(model, rng)
    device = noise or Tracker()
    setup = default_station(model)
    sets = [
        simulated(
            model,
            theta,
            random_positions(model.robot, rng, count),
            device,
            setup,
            rng,
            orientation=orientation,
        )
        for count in counts
    ]
    return theta, sets


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "sixaxis-5kg", "delta"])
def test_derivatives_are_those_of_the_poses(name: str) -> None:
    model = model_of(name, FAMILIES, base=True)
    rng = np.random.default_rng(0)
    theta, q = drawn_truth(model, rng), model.robot.q_home + 0.1 * rng.normal(size=(3, model.robot.n))
    _, J = model.jacobian(theta, q)
    for k, p in enumerate(model.parameters):
        step = np.zeros(len(theta))
        step[k] = 1e-2 * p.typical
        A, B = model.poses(theta + step, q), model.poses(theta - step, q)
        turn = Rotation.from_matrix(A[:, :3, :3] @ B[:, :3, :3].transpose(0, 2, 1)).as_rotvec()
        difference = np.concatenate([(A - B)[:, :3, 3], turn], axis=1) / (2 * step[k])
        assert np.abs(difference - J[:, :, k]).max() * p.typical < 1e-11, p.name


@pytest.mark.parametrize("name", ["palletizer-4", "palletizer-4-loops", "delta"])
def test_model_is_the_robot_with_deviations(name: str) -> None:
    model = model_of(name, base=True)
    rng = np.random.default_rng(1)
    theta, q = drawn_truth(model, rng), model.robot.q_home + 0.05 * rng.normal(size=(3, model.robot.n))
    built = model.robot.with_deviations(model.deviations(theta))
    assert np.abs(built.fkine(q) - model.poses(theta, q)).max() < 1e-13


def palletizer_by_hand(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Places of the palletizer's tool with link lengths a1..a4 and offsets of th2, th3 off by v, and a station."""
    a1, a2, a3, a4 = np.array([0.195, 0.7, 0.65, 0.12]) + np.array([0.0, v[0], v[1], v[2]])
    th2, th3 = q[:, 1] + v[3], q[:, 2] + v[4]
    radius = a1 + a2 * np.cos(th2) + a3 * np.cos(th2 + th3) + a4
    height = a2 * np.sin(th2) + a3 * np.sin(th2 + th3)
    p = np.stack([radius * np.cos(q[:, 0]), radius * np.sin(q[:, 0]), height], axis=1)
    return p @ Rotation.from_rotvec(v[8:11]).as_matrix().T + v[5:8]


def test_estimate_is_that_of_scipy_on_kinematics_written_by_hand() -> None:
    """In the plane of the arm: lengths and offsets, everything else without noise and deviation."""
    robot = st.load_robot("palletizer-4")
    rng = np.random.default_rng(2)
    q = robot.random_q(rng, 60)
    # a1 and a4 do the same: the sum of both is one parameter
    truth = np.array([3e-4, -2e-4, 5e-4, 4e-4, -6e-4, 2.0, 0.3, -0.2, 0.02, -0.03, 0.6])
    noise = Noise(position=2e-5, stated=True)
    seen = palletizer_by_hand(q, truth) + 2e-5 * rng.standard_normal((60, 3))
    peer = least_squares(
        lambda v: (palletizer_by_hand(q, v) - seen).ravel() / 2e-5,
        0.9 * truth,
        x_scale="jac",
        xtol=1e-14,
        ftol=1e-14,
    )
    # the same five parameters of ours: th3, th4 and th5 stand a2, a3 and a4 along x behind their parents
    wanted = ["th2.offset", "th3.offset", "th3.position.x", "th4.position.x", "th5.position.x"]
    every = parameters_of(robot.mechanism, ("geometry", "offsets"), 1e5, base=False)
    model = CalibrationModel(robot, tuple(p for p in every if p.name in wanted))
    from servotwin.design.calibration.identify import estimate

    found = estimate(model, Measured(q, seen), noise, tuple(range(5)))
    ours = {p.name: value for p, value in zip(model.parameters, found.theta, strict=True)}
    # offsets move the coupled hand too, as by hand: th4 keeps it level
    assert ours["th3.position.x"] == pytest.approx(peer.x[0], abs=2e-9)
    assert ours["th4.position.x"] == pytest.approx(peer.x[1], abs=2e-9)
    assert ours["th5.position.x"] == pytest.approx(peer.x[2], abs=2e-9)
    assert ours["th2.offset"] == pytest.approx(peer.x[3], abs=2e-9)
    assert ours["th3.offset"] == pytest.approx(peer.x[4], abs=2e-9)
    cov = np.linalg.inv(peer.jac.T @ peer.jac)
    sigma = dict(zip((p.name for p in model.parameters), found.sigma, strict=True))
    assert sigma["th3.position.x"] == pytest.approx(np.sqrt(cov[0, 0]), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "orientation"), [("palletizer-4", False), ("sixaxis-5kg", True), ("delta", False)]
)
def test_error_held_out_is_what_the_bound_predicts(name: str, orientation: bool) -> None:
    """A sample of benchmarks/calibration_campaign.py: parallel axes, six joints, closed loops."""
    model = model_of(name)
    for seed in (0, 1):
        _, (train, test) = campaign(model, seed, (60, 100), orientation)
        found = st.calibrate(model.robot, train, noise=Tracker(), validate=test)
        assert 0.8 < found.ratio < 1.1
        assert np.sqrt((found.held_out.after**2).mean()) < 0.2 * np.sqrt((found.held_out.before**2).mean())


@pytest.mark.parametrize("name", ["palletizer-4", "gsis-scara", "sixaxis-5kg"])
def test_selected_poses_are_better_than_random_ones_with_as_many_readings(name: str) -> None:
    """25 poses read four times each against 100 random ones; see docs/theory/calibration.md for one reading each."""
    plan = st.plan_calibration(name, 25, criterion="prediction", readings=4)
    assert plan.plan.random_count == 100
    assert plan.plan.prediction < plan.random_prediction
    limits = plan.model.robot.limits
    assert ((plan.q >= limits.q_min) & (plan.q <= limits.q_max)).all()


def test_best_design_there_is_does_not_bring_25_readings_to_100_random_ones() -> None:
    """A bound for every choice of poses (Elfving, Kiefer): weights on many positions, joints at their limits too.

    phi^2 / max d is below tr(M^-1 W) of all designs with as many readings, whatever weights give phi and d.
    """
    from servotwin.design.calibration.plan import blocks

    plan = st.plan_calibration("gsis-scara", 25, criterion="prediction")
    robot, rng = plan.model.robot, np.random.default_rng(4)
    low, wide = robot.limits.q_min, robot.limits.q_max - robot.limits.q_min
    q = low + wide * np.clip(rng.uniform(-0.5, 1.5, (1500, robot.n)), 0.0, 1.0)
    D, G = blocks(
        plan.model, np.concatenate([q, robot.random_q(rng, 500)]), plan.noise, plan.setup, orientation=False
    )
    columns = [*range(6), *(6 + k for k in plan.plan.told.chosen)]
    scale = np.sqrt((D[:, :, columns] ** 2).sum(axis=(0, 1)))
    F, own = ((X[:, :, columns] / scale).reshape(-1, len(columns)) for X in (D, G[1500:]))
    W = own.T @ own / 500
    weights = np.full(2000, 1.0 / 2000)
    for _ in range(200):
        inverse = np.linalg.inv(F.T @ (np.repeat(weights, 3)[:, None] * F))
        gain = ((F @ inverse @ W @ inverse) * F).sum(axis=1).reshape(-1, 3).sum(axis=1)
        phi = float(np.trace(inverse @ W))
        weights *= np.sqrt(gain)
        weights /= weights.sum()
    bound = np.sqrt(phi**2 / gain.max() / 25)
    assert bound < plan.plan.prediction < 1.05 * bound  # the exchange leaves little
    assert 1.7 * plan.random_prediction < bound  # docs/theory/calibration.md: 7.0 against 3.8 um


def test_mean_of_readings_has_less_noise_and_is_planned_and_fitted_so() -> None:
    once, four = (st.plan_calibration("gsis-scara", 12, seed=3, readings=n) for n in (1, 4))
    np.testing.assert_array_equal(once.q, four.q)
    assert four.plan.prediction == pytest.approx(0.5 * once.plan.prediction, rel=1e-9)
    assert four.random_prediction == pytest.approx(once.random_prediction, rel=1e-9)
    made, _ = four.simulate(seed=2)
    found = st.calibrate(four.model.robot, made, noise=Tracker(), readings=4, held_out=0.0)
    assert 0.5 < np.sqrt(np.mean(found.estimate.residual**2)) < 1.2  # white with a quarter of the variance
    for wrong in (0, 20_000):
        with pytest.raises(InputError, match=rf"--readings: {wrong}; expected 1 to 10000 readings"):
            Tracker().of_mean(wrong)


def test_exchange_raises_the_determinant_of_as_many_random_poses() -> None:
    from servotwin.design.calibration.plan import blocks

    plan = st.plan_calibration("gsis-scara", 15)
    rng = np.random.default_rng(9)
    columns = [*range(6), *(6 + k for k in plan.plan.told.chosen)]

    def measure(q: np.ndarray) -> float:
        D, _ = blocks(plan.model, q, plan.noise, plan.setup, orientation=False)
        D = D[:, :, columns].reshape(-1, len(columns))
        return float(np.linalg.slogdet(D.T @ D)[1])

    others = [measure(plan.model.robot.random_q(rng, 15)) for _ in range(30)]
    assert measure(plan.q) > max(others) + 1.0


@pytest.mark.parametrize("kind", ["bar", "pair"])
def test_distances_alone_calibrate(kind: str) -> None:
    model = model_of("sixaxis-5kg")
    rng = np.random.default_rng(5)
    theta = drawn_truth(model, rng)
    noise = Noise(distance=5e-6, stated=True)

    def made(count: int) -> Measured:
        q = model.robot.random_q(rng, count)
        p = model.poses(theta, q)[:, :3, 3]
        if kind == "pair":
            pair = np.arange(count).reshape(-1, 2)
            d = np.linalg.norm(p[pair[:, 0]] - p[pair[:, 1]], axis=1)
            return Measured(q, distance=d + 5e-6 * rng.standard_normal(len(d)), pair=pair)
        centres = np.array([[0.5, 0.0, 0.1], [0.0, 0.5, 0.3]])
        bar = np.arange(count) % 2
        d = np.linalg.norm(p - centres[bar], axis=1)
        return Measured(q, distance=d + 5e-6 * rng.standard_normal(count), bar=bar)

    found = st.calibrate(model.robot, made(200), noise=noise, validate=made(800))
    assert 0.9 < found.ratio < 1.1  # 400 distances or more: 3.5 % of one standard deviation
    assert np.sqrt((found.held_out.after**2).mean()) < 1e-5


def test_compliance_and_eccentricity_are_found_with_geometry() -> None:
    families = ("geometry", "offsets", "compliance", "eccentricity")
    model = model_of("sixaxis-5kg", families)
    rng = np.random.default_rng(3)
    theta = drawn_truth(model, rng)
    for k, p in enumerate(model.parameters):
        if p.kind.value == "compliance":
            theta[k] = 2e-5  # rad per N m
    setup = default_station(model)
    train, test = (
        simulated(model, theta, model.robot.random_q(rng, 100), Tracker(), setup, rng) for _ in range(2)
    )
    found = st.calibrate(model.robot, train, parameters=families, noise=Tracker(), validate=test)
    assert 0.9 < found.ratio < 1.1
    values = {p.name: p for p in found.found}
    for name in ("J2.compliance", "J3.compliance"):
        assert abs(values[name].value - 2e-5) < 4 * values[name].sigma
        assert values[name].sigma < 2e-6
    poor = st.calibrate(model.robot, train, noise=Tracker(), validate=test)
    assert poor.ratio > 2.0  # geometry alone does not explain it
    assert any("times the stated noise" in note for note in poor.notes)
    # the command that brings the robot as built to a pose, all errors counted
    goal = found.poses(model.robot.q_home + 0.1)[0]
    q = found.ikine(goal, q0=model.robot.q_home)
    assert np.linalg.norm(found.poses(q)[0][:3, 3] - goal[:3, 3]) < 1e-9


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "puma560", "palletizer-4-loops", "delta"])
def test_inverse_kinematics_of_a_robot_as_built_meets_the_place(name: str) -> None:
    robot = st.load_robot(name)
    rng = np.random.default_rng(1)
    built = robot.with_deviations(
        {
            p: {"position": rng.normal(0, 2e-4, 3), "rotation": rng.normal(0, 3e-4, 3)}
            for p in places(robot.mechanism)
        }
    )
    start = robot.q_home if name != "gsis-scara" else np.array([0.3, 0.8, 0.02, 0.1])
    for _ in range(3):
        q = np.clip(start + 0.1 * rng.normal(size=robot.n), robot.limits.q_min, robot.limits.q_max)
        T = robot.fkine(q)
        found = built.ikine(T, q0=q)
        assert np.linalg.norm(built.fkine(found)[:3, 3] - T[:3, 3]) < 1e-9
        assert np.abs(found - q).max() < 0.05
        assert np.abs(built.ikine(built.fkine(q), q0=q) - q).max() < 1e-7
    if name in ("palletizer-4", "puma560"):
        every = built.ikine_all(T, respect_limits=False)
        assert len(every) == len(robot.ikine_all(T, respect_limits=False))
        assert max(np.linalg.norm(built.fkine(each)[:3, 3] - T[:3, 3]) for each in every) < 1e-9


def test_weights_by_usual_sizes_need_fewer_poses_than_parameters() -> None:
    model = model_of("sixaxis-5kg")
    _, (train, test) = campaign(model, 4, (8, 60))
    with pytest.raises(InputError, match="too few poses: 8 of them give 24 equations for 25 unknowns"):
        st.calibrate(model.robot, train, noise=Tracker(), validate=test)
    found = st.calibrate(model.robot, train, noise=Tracker(), validate=test, prior=True)
    assert np.sqrt((found.held_out.after**2).mean()) < 0.7 * np.sqrt((found.held_out.before**2).mean())


def test_one_pose_measured_again_and_again_identifies_nothing_and_has_no_wrong_units() -> None:
    model = model_of("gsis-scara")
    _, (train,) = campaign(model, 4, (40,))
    same = train.part(np.zeros(40, dtype=np.intp))
    with pytest.raises(InputError, match=r"the poses do not identify tool\.position\.x"):
        st.calibrate(model.robot, same)


def test_parameters_that_no_such_measurement_tells_are_refused(tmp_path: Path) -> None:
    """Zeros of a gantry's slides are another place of the tracker; a plan for nothing would look like a plan."""
    text = "format: servotwin/1\nname: gantry\naxes:\n"
    for name, axis in (("X", "[1, 0, 0]"), ("Y", "[0, 1, 0]"), ("Z", "[0, 0, 1]")):
        text += (
            f"  {name}: {{type: prismatic, origin: {{xyz: [0 mm, 0 mm, 0 mm]}}, axis: {axis}, "
            "limits: {position: [0 mm, 500 mm]}, link: {mass: 2 kg}}\n"
        )
    (tmp_path / "gantry.yaml").write_text(text)
    gantry = st.load_robot(tmp_path / "gantry.yaml")
    said = r"--parameters: nothing of these parameters can be told by such measurements"
    with pytest.raises(InputError, match=said):
        st.plan_calibration(gantry, 10, parameters=("offsets",))
    q = gantry.random_q(np.random.default_rng(1), 12)
    with pytest.raises(InputError, match=said):
        st.calibrate(gantry, Measured(q, q.copy()), parameters=("offsets",))


def test_holding_all_poses_out_is_refused() -> None:
    model = model_of("gsis-scara")
    _, (train,) = campaign(model, 4, (40,))
    with pytest.raises(InputError, match=r"--held-out: 0.99 of 40 poses leaves none to fit"):
        st.calibrate(model.robot, train, held_out=0.99)


def test_poses_that_do_not_move_a_joint_are_refused_with_the_parameter() -> None:
    model = model_of("sixaxis-5kg")
    rng = np.random.default_rng(6)
    q = model.robot.random_q(rng, 60)
    q[:, 2] = 0.3
    made = simulated(model, drawn_truth(model, rng), q, Tracker(), default_station(model), rng)
    with pytest.raises(InputError, match=r"do not identify .*J3") as caught:
        st.calibrate(model.robot, made, noise=Tracker())
    assert "\n" not in str(caught.value)


def test_covariance_of_predicted_poses_is_that_of_many_campaigns() -> None:
    model = model_of("palletizer-4")
    rng = np.random.default_rng(8)
    theta, q = drawn_truth(model, rng), model.robot.random_q(rng, 40)
    setup, at = Setup(np.eye(4), np.zeros((0, 3))), model.robot.q_home[None]
    ends = []
    for seed in range(24):
        made = simulated(model, theta, q, Noise(stated=True), setup, np.random.default_rng(seed))
        found = st.calibrate(model.robot, made, noise=Noise(stated=True), held_out=0.0)
        ends.append(found.poses(at)[0, :3, 3])
    predicted = np.sqrt(np.diag(found.pose_covariance(at)[0])[:3])
    seen = np.std(ends, axis=0)
    chosen = predicted > 1e-9
    assert np.all(seen[chosen] < 1.5 * predicted[chosen])  # chi-square of 23: 99 % below 1.35
    assert np.all(seen[chosen] > 0.6 * predicted[chosen])


# --- files --------------------------------------------------------------------------------------------


def table(made: Measured, robot: st.Robot, millimetres: float = 1e3) -> str:
    turns = [("deg", np.degrees(1.0)) if unit == "rad" else ("mm", 1e3) for unit in robot.joint_units]
    head = [f"{name}_{unit}" for name, (unit, _) in zip(robot.joint_names, turns, strict=True)]
    rows = [",".join([*head, "x_mm", "y_mm", "z_mm"])]
    for q, p in zip(made.q, made.position, strict=True):
        cells = [
            *(f"{v * f:.10f}" for v, (_, f) in zip(q, turns, strict=True)),
            *(f"{millimetres * v:.7f}" for v in p),
        ]
        rows.append(",".join(cells))
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def made() -> tuple[CalibrationModel, Measured]:
    model = model_of("palletizer-4")
    _, (train,) = campaign(model, 3, (60,))
    return model, train


def test_file_calibrates_and_the_calibrated_robot_is_a_file(made, tmp_path: Path) -> None:
    model, train = made
    path = tmp_path / "poses.csv"
    path.write_text(table(train, model.robot))
    found = st.calibrate("palletizer-4", path, noise=Tracker())
    again = found.report(tmp_path / "out")
    robot = st.load_robot(again["robot"])
    q = model.robot.q_home + 0.1
    assert np.abs(robot.fkine(q) - found.calibrated.fkine(q)).max() < 1e-14
    assert "calibrated from 60 measured positions" in Path(again["robot"]).read_text()
    assert "th2.offset" in Path(again["report"]).read_text()
    assert found.summary()["poses_held_out"] == 12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda t: t.replace("x_mm,y_mm,z_mm", "x_m,y_m,z_m"),
            "1e+03 times as large as the robot makes them",
        ),
        (lambda t: t.replace("th3_deg", "th3_rad"), "far outside of its limits"),
        (lambda t: t.replace("th3_deg", "elbow_deg"), "no column of joint th3"),
        (lambda t: t.replace("y_mm,", "yy_mm,"), "columns x, z without y"),
        (lambda t: t.replace("th3_deg", "th3"), "no unit in the name of an angle; expected such as th3_deg"),
        (lambda t: t.replace("th3_deg", "th3_mm"), "the unit 'mm' is none of an angle"),
        (lambda t: "\n".join(t.splitlines()[:6]) + "\n", "too few poses"),
        (lambda t: t.splitlines()[0] + "\n", "has no row of numbers"),
        (lambda t: t.replace("x_mm,y_mm,z_mm", "a,b,c"), "nothing measured"),
        (lambda t: t.splitlines()[0] + "\n1,2,3,4,5,6,x\n", "'x' is not a number"),
        (lambda t: t.splitlines()[0] + "\n1,2,3\n", "3 cells; expected 7"),
    ],
)
def test_mistakes_in_files_are_one_line(made, tmp_path: Path, change, words: str) -> None:
    model, train = made
    path = tmp_path / "poses.csv"
    path.write_text(change(table(train, model.robot)))
    with pytest.raises(ServotwinError) as caught:
        st.calibrate("palletizer-4", path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_orientations_as_angles_and_quaternions_are_the_same(tmp_path: Path) -> None:
    robot = st.load_robot("sixaxis-5kg")
    R = Rotation.from_euler("xyz", [10, -20, 30], degrees=True)
    x, y, z, w = R.as_quat()
    joints = ",".join(f"{name}_deg" for name in robot.joint_names)
    (tmp_path / "a.csv").write_text(
        f"{joints},x_mm,y_mm,z_mm,roll_deg,pitch_deg,yaw_deg\n0,0,0,0,0,0,1,2,3,10,-20,30\n"
    )
    (tmp_path / "b.csv").write_text(
        f"{joints},x_mm,y_mm,z_mm,qw,qx,qy,qz\n0,0,0,0,0,0,1,2,3,{w},{x},{y},{z}\n"
    )
    a, b = (read_measured_poses(tmp_path / name, robot) for name in ("a.csv", "b.csv"))
    assert np.abs(a.rotation - R.as_matrix()).max() < 1e-12
    assert np.abs(a.rotation - b.rotation).max() < 1e-12


FIVE = """format: servotwin/1
name: five
axes:
  yaw: {type: revolute, dh: {theta: 0 deg, d: 350 mm, a: 0 mm, alpha: -90 deg}, limits: {position: [-160 deg, 160 deg]}}
  x: {type: prismatic, dh: {theta: 0 deg, d: 0 mm, a: 0 mm, alpha: 90 deg}, limits: {position: [0 mm, 900 mm]}}
  roll: {type: revolute, dh: {theta: 0 deg, d: 100 mm, a: 50 mm, alpha: 0 deg}, limits: {position: [-90 deg, 90 deg]}}
"""


def test_columns_of_joints_called_like_the_pose_are_those_of_the_joints(tmp_path: Path) -> None:
    (tmp_path / "five.yaml").write_text(FIVE)
    robot = st.load_robot(tmp_path / "five.yaml")
    file = tmp_path / "a.csv"
    file.write_text("yaw_deg,x_mm,roll_deg,tool_x_mm,y_mm,tool_z_mm\n10,500,20,1,2,3\n")
    measured = read_measured_poses(file, robot)
    np.testing.assert_allclose(measured.q, [[np.radians(10), 0.5, np.radians(20)]])
    np.testing.assert_allclose(measured.position, [[1e-3, 2e-3, 3e-3]])
    assert measured.rotation is None
    file.write_text("yaw_deg,x_mm,roll_deg,y_mm,z_mm\n10,500,20,2,3\n")
    with pytest.raises(ServotwinError, match="columns y, z without tool_x"):
        read_measured_poses(file, robot)
    file.write_text("yaw_deg,x_mm,roll_deg\n10,500,20\n")
    with pytest.raises(ServotwinError, match="nothing measured; expected columns tool_x_mm, y_mm, z_mm"):
        read_measured_poses(file, robot)
