"""J_eff and b at substituted joints against Pinocchio and against unit accelerations of the robot's hybrid dynamics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.hil.cycle import cycle
from servotwin.hil.scenario import read_substitution
from servotwin.hil.substitution import Substitution, build_substitution
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio
from tests.crosscheck.robot_data import urdf_path

pinocchio = pytest.importorskip("pinocchio")

SCENARIO = """\
format: servotwin-substitution/1
name: any-robot
robot: met-two-link
rates: {servo: 1000 Hz}
duration: 1 s
command: [{at: 0 s, rates: {}}]
servo:
  {proportional: 0.1 V*s/rad, integral: 1 V/rad, voltage_limit: 48 V, ratio: 60, resistance: 0.5 ohm,
   torque_constant: 0.08 N*m/A, rotor_inertia: 6.38e-5 kg*m^2, viscous_friction: 2.58e-5 N*m*s/rad,
   coulomb_friction: 0 N*m}
substitute: {joints: [J1], rig: met-rig-three, filter: {cut_off: 200 Hz}}
"""


def at_a_state(
    tmp_path: Path, robot: str, joints: list[str], seed: int = 1, spread: float = 0.3, **more: str
) -> Substitution:
    """The first cycle of a robot at a random state near home."""
    file = tmp_path / "any.yaml"
    file.write_text(SCENARIO)
    # a revolute ratio holds for a sliding joint too: what is substituted is any joint of any robot
    changes = {"robot": robot, "substitute.joints": f"[{', '.join(joints)}]", **more}
    made = build_substitution(read_substitution(file, changes))
    rng = np.random.default_rng(seed)
    n = len(made.joints)
    q = made.joints["q"] + rng.uniform(-spread, spread, n)
    qd = rng.uniform(-0.5, 0.5, n)
    made.arm["y"][0, :n], made.arm["y"][0, n : 2 * n] = q, qd
    made.joints["q"], made.joints["qd"], made.joints["theta"] = q, qd, 60.0 * q
    made.joints["w"] = 60.0 * qd
    if made.robot.closed:
        made.arm["q_closed"][0, :n] = q
        made.arm["passive"][0, : int(made.arm["n_x"][0]) - n] = made.robot.coordinates(q)[n:]
    for shaft, name in enumerate(joints):
        made.feedback["rate"][0, shaft] = 60.0 * qd[made.joint_names.index(name)]
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["status"][0] == 0
    return made


def expected(made: Substitution, M: Any, h: Any, joints: list[str]) -> tuple[Any, Any]:
    """J_eff and b by unit accelerations of the substituted joints, torques of the others given."""
    n = len(made.joints)
    s = [made.joint_names.index(name) for name in joints]
    f = [i for i in range(n) if i not in s]
    A = M + np.diag([0.0 if i in s else 60.0**2 * 6.38e-5 for i in range(n)])
    tau = made.arm["force"][0, :n]

    def torque(qdd_s: Any) -> Any:
        qdd = np.zeros(n)
        qdd[s] = qdd_s
        qdd[f] = np.linalg.solve(A[np.ix_(f, f)], tau[f] - h[f] - A[np.ix_(f, s)] @ qdd_s) if f else []
        return (A @ qdd + h)[s]

    b = torque(np.zeros(len(s)))
    J = np.array([torque(unit) - b for unit in np.eye(len(s))]).T
    return J, b


def check(made: Substitution, M: Any, h: Any, joints: list[str]) -> None:
    J, b = expected(made, M, h, joints)
    k = len(joints)
    assert made.arm["J_eff"][0, :k, :k] == pytest.approx(J, rel=1e-9, abs=1e-10)
    assert made.arm["bias"][0, :k] == pytest.approx(b, rel=1e-9, abs=1e-9)
    # eq 10 of the paper, for one joint or several
    N, J_m = 60.0, 6.38e-5
    tau_d = np.array([made.joints["tau_d"][made.joint_names.index(name)] for name in joints])
    w = np.array([made.joints["w"][made.joint_names.index(name)] for name in joints])
    free = tau_d - 2.58e-5 * w
    qdd = np.linalg.solve(J + N**2 * J_m * np.eye(k), N * free - b)
    assert made.command["load_torque"][0, :k] == pytest.approx(J_m * N * qdd - free, rel=1e-9)
    if k == 1:
        by_eq_10 = -(J[0, 0] * free + N * J_m * b) / (N**2 * J_m + J[0, 0])
        assert made.command["load_torque"][0, :1] == pytest.approx(by_eq_10, rel=1e-9)


@pytest.mark.parametrize(
    "joints", [["joint2"], ["joint1"], ["joint7"], ["joint2", "joint4"], ["joint6", "joint1", "joint3"]]
)
def test_open_chain_of_seven_joints_agrees_with_pinocchio(tmp_path: Path, joints: list[str]) -> None:
    path = urdf_path("xarm7")
    made = at_a_state(tmp_path, str(path), joints)
    model = pinocchio.buildModelFromUrdf(str(path))
    model.gravity.linear = made.robot.mechanism.gravity
    data = model.createData()
    q, qd = made.arm["y"][0, :7].copy(), made.arm["y"][0, 7:14].copy()
    M = pinocchio.crba(model, data, q).copy()
    M = np.triu(M) + np.triu(M, 1).T
    check(made, M, pinocchio.rnea(model, data, q, qd, np.zeros(7)), joints)


@pytest.mark.parametrize("joints", [["right_j0"], ["left_j1", "right_j1"]])
def test_branched_chain_agrees_with_pinocchio(tmp_path: Path, joints: list[str]) -> None:
    path = tmp_path / "branched.urdf"
    path.write_text(branched_urdf())
    made = at_a_state(tmp_path, str(path), joints)
    model = pinocchio.buildModelFromUrdf(str(path))
    model.gravity.linear = made.robot.mechanism.gravity
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in made.joint_names]
    n = len(order)
    q, qd = np.zeros(n), np.zeros(n)
    q[order], qd[order] = made.arm["y"][0, :n], made.arm["y"][0, n : 2 * n]
    M = pinocchio.crba(model, data, q).copy()
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    check(made, M, pinocchio.rnea(model, data, q, qd, np.zeros(n))[order], joints)


def branched_urdf() -> str:
    """A trunk that turns, with two arms of two joints each."""
    links, joints = (
        ['<link name="base"/>', _link("trunk", 5.0)],
        [_joint("trunk_j", "base", "trunk", "0 0 0.1", "0 0 1")],
    )
    for side, y in (("left", 0.2), ("right", -0.2)):
        links += [_link(f"{side}_upper", 2.0), _link(f"{side}_fore", 1.5)]
        joints.append(_joint(f"{side}_j0", "trunk", f"{side}_upper", f"0 {y} 0.3", "0 1 0"))
        joints.append(_joint(f"{side}_j1", f"{side}_upper", f"{side}_fore", "0.3 0 0", "1 0.5 0"))
    return f'<robot name="branched">{"".join(links + joints)}</robot>'


def _link(name: str, mass: float) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0.12 0.02 0.05"/><mass value="{mass}"/>'
        f'<inertia ixx="{0.02 * mass}" iyy="{0.03 * mass}" izz="{0.025 * mass}" ixy="0.001" ixz="0" iyz="0.002"/>'
        "</inertial></link>"
    )


def _joint(name: str, parent: str, child: str, xyz: str, axis: str) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="100" velocity="3"/></joint>'
    )


@pytest.mark.parametrize("robot", ["delta", "five-bar"])
@pytest.mark.parametrize("count", [1, 2])
def test_closed_chain_agrees_with_unit_accelerations_of_its_hybrid_dynamics(
    tmp_path: Path, robot: str, count: int
) -> None:
    joints = list(st.load_robot(robot).joint_names[:count])
    made = at_a_state(tmp_path, robot, joints)
    n = len(made.joints)
    q, qd = made.arm["y"][0, :n].copy(), made.arm["y"][0, n : 2 * n].copy()
    whole = st.load_robot(robot)
    h = whole.rne(q, qd, np.zeros(n), drives=False)
    M = np.array([whole.rne(q, qd, unit, drives=False) - h for unit in np.eye(n)]).T
    check(made, M, h, joints)


class ByPinocchio:
    """The opened tree by Pinocchio, its cuts as constraints: what joints feel, from the equations in all coordinates.

    With tree joints G x + q0, point constraints at the cuts and accelerations of the substituted joints s given,

        [M, -C^T, -S^T] [xdd, lambda, tau_s] = tau_f - h,   C xdd = -c,   S xdd = qdd_s

    solved by least squares, for cuts in a plane have one equation more than they need.
    """

    def __init__(self, made: Substitution) -> None:
        mechanism = made.robot.mechanism
        self.made, self.mechanism = made, mechanism
        self.model = to_pinocchio(mechanism)
        self.data = self.model.createData()
        self.G = mechanism.coupling.G[depth_first(mechanism)]
        n, n_x = int(made.arm["n"][0]), int(made.arm["n_x"][0])
        self.n, self.n_x = n, n_x
        x = np.append(made.arm["y"][0, :n], made.arm["passive"][0, : n_x - n])
        self.tree_q = self.G @ x + mechanism.coupling.q0[depth_first(mechanism)]
        C = self.constraints()
        qd = made.arm["y"][0, n : 2 * n]
        passive = np.linalg.lstsq(C[:, n:], -C[:, :n] @ qd, rcond=None)[0]
        self.xd = np.append(qd, passive)
        assert np.abs(C @ self.xd).max() < 1e-9

    def constraints(self) -> Any:
        """Jacobian of the points of all cuts over x; they coincide."""
        pinocchio.computeJointJacobians(self.model, self.data, self.tree_q)
        pinocchio.updateFramePlacements(self.model, self.data)
        world, rows = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED, []
        for loop in self.mechanism.loops:
            a, b = (self.model.getFrameId(name) for name in (loop.frame_a, loop.frame_b))
            gap = self.data.oMf[a].translation - self.data.oMf[b].translation
            assert np.abs(gap).max() < 1e-9
            points = [
                pinocchio.computeFrameJacobian(self.model, self.data, self.tree_q, k, world)[:3].copy()
                for k in (a, b)
            ]
            rows.append((points[0] - points[1]) @ self.G)
        return np.vstack(rows)

    def drift(self) -> Any:
        """Accelerations of the cuts' points at xdd = 0."""
        rates = self.G @ self.xd
        pinocchio.forwardKinematics(self.model, self.data, self.tree_q, rates, np.zeros(len(rates)))
        pinocchio.updateFramePlacements(self.model, self.data)
        world, rows = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED, []
        for loop in self.mechanism.loops:
            ends = [self.model.getFrameId(name) for name in (loop.frame_a, loop.frame_b)]
            both = [
                pinocchio.getFrameClassicalAcceleration(self.model, self.data, k, world).linear.copy()
                for k in ends
            ]
            rows.append(both[0] - both[1])
        return np.concatenate(rows)

    def effective(self, joints: list[str]) -> tuple[Any, Any]:
        """J_eff and b by unit accelerations of the substituted joints."""
        made, n, n_x = self.made, self.n, self.n_x
        M = pinocchio.crba(self.model, self.data, self.tree_q).copy()
        M = self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G
        rates = self.G @ self.xd
        h = self.G.T @ pinocchio.rnea(self.model, self.data, self.tree_q, rates, np.zeros(len(rates)))
        C, c = self.constraints(), self.drift()
        s = [made.joint_names.index(name) for name in joints]
        tau = np.zeros(n_x)
        for i in range(n):
            if i not in s:
                M[i, i] += 60.0**2 * 6.38e-5
                tau[i] = made.arm["force"][0, i]
        S, k, m = np.eye(n_x)[s], len(s), len(C)
        zeros = np.zeros((m + k, m + k))
        whole = np.block([[M, -np.vstack([C, S]).T], [np.vstack([C, S]), zeros]])

        def torque(qdd: Any) -> Any:
            right = np.concatenate([tau - h, -c, qdd])
            found = np.linalg.lstsq(whole, right, rcond=1e-12)[0]
            assert np.abs(whole @ found - right).max() < 1e-8 * max(1.0, np.abs(right).max())
            return found[n_x + m :]

        b = torque(np.zeros(k))
        return np.array([torque(unit) - b for unit in np.eye(k)]).T, b


# the third motor of the palletizer turns two joints, which is refused; its loops are what matters here
OWN_MOTORS = {
    "palletizer-4-loops": {
        "set.transmission.matrix": "[[121.119, 0, 0, 0], [0, 114.05, 0, 0], [0, 0, 120.965, 0], [0, 0, 0, 50]]"
    }
}


@pytest.mark.parametrize("robot", ["delta", "five-bar", "palletizer-4-loops", "stewart"])
@pytest.mark.parametrize("count", [1, 2])
def test_closed_chain_agrees_with_the_constrained_tree_of_pinocchio(
    tmp_path: Path, robot: str, count: int
) -> None:
    names = list(st.load_robot(robot).joint_names)
    joints = names[len(names) - count :][::-1] if robot == "five-bar" else names[1 : 1 + count]
    made = at_a_state(
        tmp_path, robot, joints, spread=0.02 if robot == "stewart" else 0.3, **OWN_MOTORS.get(robot, {})
    )
    J, b = ByPinocchio(made).effective(joints)
    assert made.arm["J_eff"][0, :count, :count] == pytest.approx(J, rel=1e-7, abs=1e-8 * np.abs(J).max())
    assert made.arm["bias"][0, :count] == pytest.approx(b, rel=1e-7, abs=1e-7 * np.abs(b).max())
