"""The environment of ordinary scenarios, against closed forms integrated by SciPy.

A double pendulum without power (links of mass M, length L, centre L/2, inertia I about it; hinge 1 damped by D):

    [a + 2 b cos p2, ...] p'' + h = J^T F - D p1',  in the plane x-y, angles from the x axis.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline

import servotwin as st
from servotwin.errors import InputError, SimulationError
from tests import small_drives

M, L, C, I, D, G = 13.86, 0.5, 0.25, 0.292908, 0.1, 9.80665
SECONDS = 0.6
METHODS = ("rk4", "fast", "adaptive")


def tip(q: Any, qd: Any) -> tuple[Any, Any, Any]:
    """Position, velocity and Jacobian of the end of link 2."""
    a, b = q[0], q[0] + q[1]
    x = L * np.array([np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])
    jac = L * np.array([[-np.sin(a) - np.sin(b), -np.sin(b)], [np.cos(a) + np.cos(b), np.cos(b)]])
    return x, jac @ qd, jac


def accelerations(q: Any, qd: Any, effort: Any, gravity: Any = (0.0, -G)) -> Any:
    a, b = q[0], q[0] + q[1]
    m12 = I + M * C**2 + M * L * C * np.cos(q[1])
    mass = np.array(
        [[2 * I + M * (C**2 + L**2 + C**2) + 2 * M * L * C * np.cos(q[1]), m12], [m12, I + M * C**2]]
    )
    s = M * L * C * np.sin(q[1])
    h = np.array([-s * (2 * qd[0] * qd[1] + qd[1] ** 2), s * qd[0] ** 2])
    first = C * np.array([[-np.sin(a), 0.0], [np.cos(a), 0.0]])
    second = np.array(
        [[-L * np.sin(a) - C * np.sin(b), -C * np.sin(b)], [L * np.cos(a) + C * np.cos(b), C * np.cos(b)]]
    )
    weight = (first + second).T @ (M * np.array(gravity))
    return np.linalg.solve(mass, effort + weight - h - np.array([D * qd[0], 0.0]))


def swing(effort: Any, gravity: Any = None, jumps: tuple[float, ...] = ()) -> Any:
    """q of both joints by SciPy; ``effort(t, q, qd)``, ``gravity(t)``; integrated apart between ``jumps``."""

    def slope(t: float, y: Any) -> Any:
        pull = (0.0, -G) if gravity is None else gravity(t)
        return [*y[2:], *accelerations(y[:2], y[2:], effort(t, y[:2], y[2:]), pull)]

    ends, y, found = np.linspace(0.0, SECONDS, 61), np.zeros(4), []
    edges = [0.0, *jumps, SECONDS]
    for begin, end in pairwise(edges):
        inside = ends[(ends >= begin) & (ends < end)] if end < SECONDS else ends[ends >= begin]
        # just inside of both instants, so that no stage sees the other side
        part = solve_ivp(
            lambda t, y, low=begin, high=end: slope(min(max(t, low + 1e-13), high - 1e-13), y),
            (begin, end),
            y,
            t_eval=np.union1d(inside, [end]),
            rtol=1e-11,
            atol=1e-12,
            max_step=1e-3,
            method="DOP853",
        )
        y = part.y[:, -1]
        found.append(part.y[:2, : len(inside)].T)
    return np.vstack(found)


def simulated(tmp_path: Path, environment: str, method: str, **settings: Any) -> Any:
    """The result of ``simulate``, the tool at the end of link 2."""
    file = tmp_path / "case.yaml"
    file.write_text(
        f"extends: double-pendulum-swing\nname: case\nenvironment: {environment}\n"
        f"solver: {{method: {method}}}\nset: {{tool: {{xyz: [0.5 m, 0 m, 0 m]}}}}\n"
        f"move: [{{to: {{phi1: 0 deg}}, speed: 1 rad/s, dwell: {SECONDS} s}}]\nrecord: {{every: 10 ms}}\n"
    )
    return st.simulate(file, **settings)


def angles(result: Any) -> Any:
    columns = (result.signals[f"joint_phi{i}_position_rad"] for i in (1, 2))
    return np.array([np.asarray(each) for each in columns]).T[:60]


def check(result: Any, expected: Any, tolerance: float) -> None:
    found = angles(result)
    assert np.abs(found - expected[1 : len(found) + 1]).max() < tolerance  # the first row is at 10 ms
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5
    assert "environment_J" in result.summary["energy"]


WALL = {"k": 2e4, "y": -0.4}


def wall_effort(damping: float) -> Any:
    def effort(t: float, q: Any, qd: Any) -> Any:
        x, v, jac = tip(q, qd)
        depth = WALL["y"] - x[1]
        push = max(0.0, WALL["k"] * depth - damping * v[1]) if depth > 0.0 else 0.0
        return jac.T @ [0.0, push]

    return effort


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damping", [0.0, 50.0])
def test_spring_wall_is_that_of_scipy(tmp_path: Path, method: str, damping: float) -> None:
    wall = "kind: wall, point: [0 m, -0.4 m, 0 m], direction: [0, 1, 0], stiffness: 2e4 N/m"
    result = simulated(tmp_path, f"{{forces: [{{{wall}, damping: {damping} N*s/m}}]}}", method)
    expected = swing(wall_effort(damping))
    assert min(tip(q, np.zeros(2))[0][1] for q in expected) < WALL["y"]  # it is touched
    # steps of 0.2 ms see the touch, where the damper sets in at once, up to a step late
    check(result, expected, 5e-4 if damping and method != "adaptive" else 2e-5)


def test_wall_too_stiff_for_the_steps_is_named_with_the_energy_that_is_missing(tmp_path: Path) -> None:
    wall = "{kind: wall, point: [0 m, -0.4 m, 0 m], direction: [0, 1, 0], stiffness: 1e9 N/m}"
    result = simulated(tmp_path, f"{{forces: [{wall}]}}", "rk4")
    said = [text for text in result.summary["warnings"] if text.startswith("energy balance")]
    assert len(said) == 1
    assert "a stiff wall (environment.forces.0) is through it within a step" in said[0]


@pytest.mark.parametrize("method", METHODS)
def test_wrench_and_friction_of_a_joint_are_those_of_scipy(tmp_path: Path, method: str) -> None:
    wrench = (
        "{kind: wrench, force: [3 N, 20 N, 0 N], moment: [0 N*m, 0 N*m, 5 N*m], start: 0.1 s, end: 0.4 s}"
    )
    friction = "{phi2: {viscous: 0.3 N*m*s/rad, coulomb: 0.5 N*m}}"
    result = simulated(tmp_path, f"{{forces: [{wrench}], joint_friction: {friction}}}", method)

    def effort(t: float, q: Any, qd: Any) -> Any:
        given = tip(q, qd)[2].T @ [3.0, 20.0] + 5.0 if 0.1 <= t < 0.4 else np.zeros(2)
        return given - np.array([0.0, 0.3 * qd[1] + 0.5 * np.tanh(qd[1] / 0.01)])

    check(result, swing(effort), 2e-5)
    assert result.summary["energy"]["environment_friction_J"] > 0.0


def test_friction_of_the_environment_is_lost_and_not_brought_in(tmp_path: Path) -> None:
    """Work of the friction by SciPy along the path: integral of f qd^2."""
    result = simulated(tmp_path, "{joint_friction: {phi2: {viscous: 0.3 N*m*s/rad}}}", "rk4")
    numbers = result.summary["energy"]
    found = swing(lambda t, q, qd: np.array([0.0, -0.3 * qd[1]]))
    rate = CubicSpline(np.linspace(0.0, SECONDS, 61), found[:, 1]).derivative()
    lost = quad(lambda t: 0.3 * rate(t) ** 2, 0.0, SECONDS, limit=400)[0]
    assert lost > 0.01
    assert numbers["environment_friction_J"] == pytest.approx(lost, rel=1e-3)
    assert numbers["environment_J"] == 0.0
    assert abs(numbers["balance_error_relative"]) < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_force_that_begins_and_ends_off_all_steps_is_that_of_scipy(tmp_path: Path, method: str) -> None:
    wrench = "{kind: wrench, force: [3 N, 200 N, 0 N], start: 0.10011 s, end: 0.23457 s}"
    result = simulated(tmp_path, f"{{forces: [{wrench}]}}", method)

    def effort(t: float, q: Any, qd: Any) -> Any:
        return tip(q, qd)[2].T @ [3.0, 200.0] if 0.10011 <= t < 0.23457 else np.zeros(2)

    check(result, swing(effort, jumps=(0.10011, 0.23457)), 2e-7)


@pytest.mark.parametrize("method", METHODS)
def test_base_that_begins_to_turn_off_all_steps_is_that_of_scipy(tmp_path: Path, method: str) -> None:
    result = simulated(tmp_path, "{base: {rz: [[0.20011 s, 30 rad/s^2]]}}", method)
    absolute = swing(lambda t, q, qd: np.array([D * 30.0 * max(t - 0.20011, 0.0), 0.0]), jumps=(0.20011,))
    turned = 15.0 * np.clip(np.linspace(0.0, SECONDS, 61) - 0.20011, 0.0, None) ** 2
    check(result, absolute - np.outer(turned, [1.0, 0.0]), 2e-7)


@pytest.mark.parametrize("method", METHODS)
def test_base_that_accelerates_is_another_gravity(tmp_path: Path, method: str) -> None:
    base = "{base: {x: [[0 s, 2 m/s^2]], y: [[0.2 s, -1 m/s^2]]}}"
    pull = lambda t: (-2.0, -G + (1.0 if t >= 0.2 else 0.0))  # noqa: E731
    check(simulated(tmp_path, base, method), swing(lambda *_: np.zeros(2), pull), 2e-6)


@pytest.mark.parametrize("method", METHODS)
def test_base_that_turns_is_the_pendulum_seen_from_it(tmp_path: Path, method: str) -> None:
    """phi1 = absolute angle - base's; the hinge's damper feels the relative rate."""
    result = simulated(tmp_path, "{base: {rz: [[0 s, 3 rad/s^2], [0.3 s, -1 rad/s^2]]}}", method)
    rate = lambda t: 3.0 * t if t < 0.3 else 0.9 - (t - 0.3)  # noqa: E731
    absolute = swing(lambda t, q, qd: np.array([D * rate(t), 0.0]))
    t = np.linspace(0.0, SECONDS, 61)
    turned = np.where(t < 0.3, 1.5 * t**2, 0.135 + 0.9 * (t - 0.3) - 0.5 * (t - 0.3) ** 2)
    check(result, absolute - np.outer(turned, [1.0, 0.0]), 2e-6)


FUNCTION = """
def push(t, signals, memory, wrench):
    memory[0] += 1.0  # found empty at every call
    wrench[0] = 4.0 * memory[0] * signals[7]
"""


def test_function_gets_pose_and_an_empty_memory_and_runs_only_where_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "force.py").write_text(FUNCTION)
    environment = "{forces: [{kind: function, function: 'force.py:push', memory: 1}]}"
    with pytest.raises(InputError, match="is Python code, which is not run"):
        simulated(tmp_path, environment, "rk4")
    result = simulated(tmp_path, environment, "rk4", allow_code=True)
    check(result, swing(lambda t, q, qd: tip(q, qd)[2].T @ [4.0 * tip(q, qd)[0][1], 0.0]), 2e-6)


def test_force_that_is_no_number_stops_the_run_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "force.py").write_text("def push(t, s, m, w):\n    w[0] = (0.1 - t) ** 0.5\n")
    environment = "{forces: [{kind: function, function: 'force.py:push'}]}"
    with pytest.raises(
        SimulationError, match=r"stopped at 0\.1\d* s: a force of the environment is not a number"
    ):
        simulated(tmp_path, environment, "rk4", allow_code=True)


def test_force_is_not_blamed_where_the_motion_left_all_bounds_before(tmp_path: Path) -> None:
    (tmp_path / "force.py").write_text("def push(t, s, m, w):\n    w[1] = 1e300\n    w[0] = 0.0 * s[17]\n")
    environment = "{forces: [{kind: function, function: 'force.py:push'}]}"
    with pytest.raises(SimulationError, match="diverged at"):
        simulated(tmp_path, environment, "rk4", allow_code=True)


def test_unknown_frame_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"case\.yaml:3: environment\.forces\.0\.frame: no frame 'hand'"):
        simulated(tmp_path, "{forces: [{kind: wrench, frame: hand}]}", "rk4")


# --- with motors ------------------------------------------------------------------------------------------------------


def held(moment: float) -> dict[str, Any]:
    wrench = {"kind": "wrench", "moment": ["0 N*m", "0 N*m", f"{moment} N*m"], "start": "0.05 s"}
    return {**small_drives.rest(1.0), "environment": {"forces": [wrench]}}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("motor", [small_drives.DC, small_drives.PMSM], ids=["dc", "pmsm"])
def test_servo_holds_against_a_moment_with_its_share_at_the_motor(
    tmp_path: Path, method: str, motor: dict[str, Any]
) -> None:
    machine = small_drives.robot(axes={"A": small_drives.axis(motor=motor)})
    result = small_drives.run_case(tmp_path, machine, held(6.0), solver__method=method)
    torque = np.asarray(result.signals["motor_A_torque_N_m"])[-100:]
    assert torque.mean() == pytest.approx(-6.0 / small_drives.RATIO, rel=2e-3)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5
    said = [text for text in result.summary["warnings"] if text.startswith("environment: ")]
    assert len(said) == (method == "fast" or (method == "rk4" and motor["kind"] == "dc"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("moment", "moves"), [(4.9, False), (5.2, True)])
def test_shaft_that_sticks_breaks_away_at_its_friction(
    tmp_path: Path, method: str, moment: float, moves: bool
) -> None:
    """Coulomb friction of 0.1 N m at the motor is 5 N m at the joint; then (L + N^2 J) q'' = M - 5 N m."""
    motor = {**small_drives.DC, "coulomb_friction": "0.1 N*m", "viscous_friction": None}
    motor.pop("viscous_friction")
    machine = small_drives.robot(axes={"A": small_drives.axis(motor=motor)})
    scenario = {**held(moment), "faults": [{"at": "0 s", "kind": "power-off"}]}
    scenario = {**scenario, "move": [{"to": {"A": "0 rad"}, "dwell": "0.25 s"}]}
    result = small_drives.run_case(tmp_path, machine, scenario, solver__method=method)
    angle = np.asarray(result.signals["joint_A_position_rad"])[-1]
    span = float(np.asarray(result.signals["time_s"])[-1]) - 0.05
    inertia = small_drives.LOAD + small_drives.RATIO**2 * small_drives.J
    expected = 0.5 * (moment - 5.0) / inertia * span**2 if moves else 0.0
    assert angle == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_work_of_a_force_on_a_closed_chain_is_force_times_way(tmp_path: Path) -> None:
    """W = F (x_end - x_start) of the frame, and nothing of it is lost on its way into the energies of the arm."""
    file = tmp_path / "case.yaml"
    file.write_text(
        "extends: planar-fourbar-swing\nname: case\n"
        "environment: {forces: [{kind: wrench, force: [7 N, -30 N, 20 N]}]}\n"
    )
    result = st.simulate(file)
    robot, numbers = result.true_robot, result.summary["energy"]
    q = [np.asarray(result.signals[f"joint_{name}_position_rad"]) for name in robot.joint_names]
    start = np.array([result.scenario.start[name] for name in robot.joint_names])
    way = robot.fkine(np.array([each[-1] for each in q]))[:3, 3] - robot.fkine(start)[:3, 3]
    work = np.array([7.0, -30.0, 20.0]) @ way
    assert abs(work) > 0.1
    assert numbers["environment_J"] == pytest.approx(work, rel=1e-6)
    assert abs(numbers["balance_error_relative"]) < 1e-6
