"""Environment models, compliant gears, several and closed chains in substitution scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.errors import InputError
from servotwin.hil.cycle import cycle
from servotwin.hil.result import SubstitutionRun
from servotwin.hil.scenario import read_substitution
from servotwin.hil.stability import step_warnings
from servotwin.hil.substitution import Substitution, build_substitution
from tests import met_arm

STILL = {"command.0.rates.J1": "0 rad/s", "command.0.rates.J2": "0 rad/s", "servo.coulomb_friction": "0 N*m"}


def scenario_file(tmp_path: Path, more: str, base: str = "met-pure") -> Path:
    """A scenario of a base with more in it."""
    file = tmp_path / "own.yaml"
    file.write_text(f"extends: {base}\nname: own\n{more}")
    return file


def at_a_state(file: Path, q: Any, qd: Any) -> Substitution:
    """The first cycle with the simulated joints at q, qd."""
    made = build_substitution(read_substitution(file))
    n = len(made.joints)
    made.arm["y"][0, : len(q)], made.arm["y"][0, n : n + len(qd)] = q, qd
    cycle(made.arm, made.feedback, made.command)
    return made


def test_wall_pushes_back_with_spring_and_damper(tmp_path: Path) -> None:
    wall = "{kind: wall, point: [1.4 m, 0 m, 0 m], direction: [-2, 0, 0], stiffness: 5000 N/m, damping: 40 N*s/m}"
    file = scenario_file(tmp_path, f"environment: {{forces: [{wall}]}}\n")
    q, qd = np.array([0.2, 0.1]), np.array([-0.3, 0.2])
    made = at_a_state(file, q, qd)
    robot = st.load_robot("met-two-link")
    jac = robot.jacob0(q)[:3]
    x, v = robot.fkine(q)[0, 3], (jac @ qd)[0]
    assert x > 1.4
    force = np.array([-(5000.0 * (x - 1.4) + 40.0 * v), 0.0, 0.0])
    expected = met_arm.bias(q[1], qd) - jac.T @ force
    assert made.arm["h"][0, :2] == pytest.approx(expected, rel=1e-10)


def test_wall_is_not_felt_in_front_of_it_nor_does_it_pull(tmp_path: Path) -> None:
    wall = "{kind: wall, point: [1.4 m, 0 m, 0 m], direction: [-1, 0, 0], stiffness: 10 N/m, damping: 4000 N*s/m}"
    file = scenario_file(tmp_path, f"environment: {{forces: [{wall}]}}\n")
    for q, qd in (([1.0, 0.5], [0.5, 0.0]), ([0.2, 0.1], [0.5, 0.0])):  # before it; within, on its way out
        made = at_a_state(file, np.array(q), np.array(qd))
        assert made.arm["h"][0, :2] == pytest.approx(met_arm.bias(q[1], np.array(qd)), rel=1e-10, abs=1e-12)


def test_plume_falls_with_distance_and_angle(tmp_path: Path) -> None:
    plume = (
        "{kind: plume, point: [1 m, -2 m, 0 m], direction: [0, 3, 0], half_angle: 30 deg, pressure: 20 Pa, "
        "distance: 1 m, area: 0.5 m^2}"
    )
    file = scenario_file(tmp_path, f"environment: {{forces: [{plume}]}}\n")
    q = np.array([0.1, 0.2])
    made = at_a_state(file, q, np.zeros(2))
    robot = st.load_robot("met-two-link")
    r = robot.fkine(q)[:3, 3] - np.array([1.0, -2.0, 0.0])
    angle = np.arccos(r[1] / np.linalg.norm(r))
    size = 20.0 * 0.5 / (r @ r) * np.cos(np.pi / 2 * angle / np.deg2rad(30)) ** 2
    force = size * r / np.linalg.norm(r)
    assert 0.0 < angle < np.deg2rad(30)
    assert made.arm["h"][0, :2] == pytest.approx(-robot.jacob0(q)[:3].T @ force, rel=1e-10)
    beside = at_a_state(file, np.array([3.0, 0.2]), np.zeros(2))
    assert beside.arm["h"][0, :2] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_base_that_accelerates_feels_as_gravity_the_other_way(tmp_path: Path) -> None:
    file = scenario_file(tmp_path, "environment: {base: {x: [[0 s, 2 m/s^2]], y: [[0 s, -1 m/s^2]]}}\n")
    q, qd = np.array([0.3, 0.4]), np.array([0.2, -0.1])
    made = at_a_state(file, q, qd)
    n = 4
    M = made.arm["outputs"][0, : n * n].reshape(n, n)
    pseudo = M[:2, 2:] @ np.array([2.0, -1.0]) + made.arm["h"][0, :2]
    heavy = st.load_robot("met-two-link", {"gravity": "[-2 m/s^2, 1 m/s^2, 0 m/s^2]"})
    assert pseudo == pytest.approx(heavy.rne(q, qd, np.zeros(2), drives=False), rel=1e-10)


def test_base_that_turns_about_the_axis_of_joint_1_adds_to_its_rate(tmp_path: Path) -> None:
    file = scenario_file(tmp_path, "environment: {base: {rz: [[0 s, 0 rad/s^2]]}}\n")
    made = build_substitution(read_substitution(file))
    q, qd, turning = np.array([0.3, 0.4]), np.array([0.2, -0.1]), 0.7
    made.arm["y"][0, :2], made.arm["y"][0, 3:5], made.arm["y"][0, 5] = q, qd, turning
    cycle(made.arm, made.feedback, made.command)
    assert made.arm["h"][0, :2] == pytest.approx(met_arm.bias(q[1], qd + np.array([turning, 0.0])), rel=1e-10)


def test_order_of_the_base_in_the_file_changes_nothing(tmp_path: Path) -> None:
    steps = {"x": "[[0 s, 2 m/s^2]]", "rz": "[[0 s, 3 rad/s^2]]", "ry": "[[0 s, -4 rad/s^2]]"}
    rates = []
    for order in (("x", "ry", "rz"), ("rz", "x", "ry")):
        base = ", ".join(f"{axis}: {steps[axis]}" for axis in order)
        file = scenario_file(tmp_path, f"duration: 0.3 s\nenvironment: {{base: {{{base}}}}}\n")
        run = st.substitute(file).run
        assert run.joint_names[2:] == ("base_x", "base_ry", "base_rz")
        rates.append(run.joint("J1", "qd"))
    assert np.abs(rates[0]).max() > 0.0
    assert (rates[0] == rates[1]).all()


def test_motors_hold_the_arm_while_its_base_accelerates(tmp_path: Path) -> None:
    base = "environment: {base: {y: [[0 s, 0.05 m/s^2], [1 s, 0 m/s^2]]}}\n"
    changes = {**STILL, "integration.method": "rk4"}
    run = st.substitute(scenario_file(tmp_path, base), changes).run
    assert run.joint("base_y", "qd")[-1] == pytest.approx(0.05, rel=1e-9)
    assert run.joint("J1", "qd")[:100].min() < -1e-6  # pressed back while it lasts
    assert abs(run.joint("J1", "qd")[-1]) < 1e-5


def test_function_of_the_user_acts_as_the_wrench_it_returns(tmp_path: Path) -> None:
    (tmp_path / "wind.py").write_text(
        "def gust(t, signals, memory, wrench):\n"
        "    memory[0] += 1.0\n"
        "    wrench[1] = 3.0 - 2.0 * signals[17]\n"
    )
    more = "environment: {forces: [{kind: function, function: 'wind.py:gust', memory: 2}]}\n"
    file = scenario_file(tmp_path, more)
    with pytest.raises(InputError, match=r"is Python code, which is not run.*--allow-code"):
        build_substitution(read_substitution(file))
    made = build_substitution(read_substitution(file), allow_code=True)
    q, qd = np.array([0.3, 0.4]), np.array([0.2, -0.1])
    made.arm["y"][0, :2], made.arm["y"][0, 2:4] = q, qd
    cycle(made.arm, made.feedback, made.command)
    jac = st.load_robot("met-two-link").jacob0(q)[:3]
    force = np.array([0.0, 3.0 - 2.0 * (jac @ qd)[1], 0.0])
    assert made.arm["h"][0, :2] == pytest.approx(met_arm.bias(q[1], qd) - jac.T @ force, rel=1e-10)


def test_joint_friction_slows_simulated_and_substituted_joint_alike(tmp_path: Path) -> None:
    more = "environment: {joint_friction: {J1: {coulomb: 10 N*m, viscous: 50 N*m*s/rad}}}\n"
    file = scenario_file(tmp_path, more, "met-substituted")
    with_friction = st.substitute(file, {"substitute.rig": "met-rig"})
    without = st.substitute("met-substituted", {"substitute.rig": "met-rig"})
    at = np.searchsorted(without.run.time, 0.5)
    slowed = [
        float(a.joint("J1", "qd")[at] - b.joint("J1", "qd")[at])
        for a, b in ((with_friction.run, without.run), (with_friction.pure, without.pure))
        if a is not None and b is not None
    ]
    assert slowed[0] < -5e-4
    assert slowed[0] == pytest.approx(slowed[1], rel=0.05)  # the load motor lags by a servo period
    assert with_friction.differences["J1"].largest < 6e-4


COMPLIANT = "servo: {axes: {J1: {stiffness: 2e4 N*m/rad, damping: 400 N*m*s/rad}}}\n"


def compliant_by_scipy(duration: float, k: float, d: float) -> Any:
    """Joint rates (ticks, 2) of the paper's arm with a spring in gear 1, integrated between the servos' samples."""
    N, T = met_arm.N, 0.01
    y, integral, rates = (
        np.zeros(6),
        np.zeros(2),
        [np.zeros(2)],
    )  # q1, q2, q1', q2', shaft angle and rate over N
    for _ in range(round(duration / T)):
        error = N * (met_arm.RATE - np.array([y[5], y[3]]))
        u = met_arm.KP * error + integral
        integral = integral + met_arm.KI * T * error

        def slope(_: float, y: Any, u: Any = u) -> Any:
            spring = k * (y[4] - y[0]) + d * (y[5] - y[2])
            drive = met_arm.joint_torque(u, np.array([y[5], y[3]]))
            A = met_arm.mass_matrix(y[1]) + np.diag([0.0, N**2 * met_arm.J])
            qdd = np.linalg.solve(A, np.array([spring, drive[1]]) - met_arm.bias(y[1], y[2:4]))
            return np.array([y[2], y[3], *qdd, y[5], (drive[0] - spring) / (N**2 * met_arm.J)])

        y = solve_ivp(slope, (0.0, T), y, rtol=1e-9, atol=1e-12).y[:, -1]
        rates.append(y[2:4].copy())
    return np.array(rates)


def test_compliant_gear_of_a_pure_arm_follows_scipy(tmp_path: Path) -> None:
    changes = {
        "integration.method": "rk4",
        "integration.steps": "8",
        "rates.arm": "100 Hz",
        "duration": "2 s",
    }
    run = st.substitute(scenario_file(tmp_path, COMPLIANT), changes).run
    expected = compliant_by_scipy(2.0, 2e4, 400.0)
    assert np.abs(run.joint("J1", "qd") - expected[:, 0]).max() < 1e-6
    assert np.abs(run.joint("J2", "qd") - expected[:, 1]).max() < 1e-6
    stiff = st.substitute("met-pure", {"duration": "2 s"}).run
    assert np.abs(run.joint("J1", "qd") - stiff.joint("J1", "qd")).max() > 1e-4


def test_compliant_substituted_joint_needs_no_acceleration_and_agrees_with_the_pure_one(
    tmp_path: Path,
) -> None:
    changes = {
        "substitute.rig": "met-rig", "integration.method": "rk4", "integration.steps": "4",
        "rates.servo": "500 Hz", "rates.arm": "500 Hz", "substitute.filter.cut_off": "100 Hz",
    }  # fmt: skip
    result = st.substitute(scenario_file(tmp_path, COMPLIANT, "met-substituted"), changes)
    assert result.differences["J1"].largest < 5e-4
    assert result.differences["J2"].largest < 5e-4


def test_two_joints_substituted_agree_with_the_pure_arm() -> None:
    changes = {"substitute.joints": "[J2, J1]", "substitute.rig": "met-rig-three"}
    result = st.substitute("met-substituted", changes)
    assert all(gap.largest < 5e-4 for gap in result.differences.values())


def delta_scenario(tmp_path: Path) -> Path:
    """The DELTA with joints 1 and 3 on a rig, arms down by gravity and held by servos."""
    file = tmp_path / "delta.yaml"
    file.write_text(
        "format: servotwin-substitution/1\nname: delta-hybrid\nrobot: delta\nrates: {servo: 1000 Hz}\nduration: 1 s\n"
        "command: [{at: 0 s, rates: {}}]\n"
        "servo: {proportional: 0.2 V*s/rad, integral: 4 V/rad, voltage_limit: 20 V, ratio: 800, resistance: 2.05 ohm,\n"
        "  torque_limit: 0.144 N*m, torque_constant: 0.061 N*m/A, rotor_inertia: 6.38e-5 kg*m^2,\n"
        "  viscous_friction: 2.58e-5 N*m*s/rad,\n"
        "  coulomb_friction: 0.0205 N*m}\n"
        "substitute: {joints: [JOINTS], rig: met-rig-three, estimator: observer, observer: {analog_cut_off: 50 Hz}}\n"
    )
    return file


def test_delta_with_two_joints_substituted_agrees_with_the_pure_one(tmp_path: Path) -> None:
    first, _, third = st.load_robot("delta").joint_names[:3]
    changes = {
        "substitute.joints": f"[{first}, {third}]",
        "command.0.rates": f"{{{first}: 0.05 rad/s, {third}: 0.03 rad/s}}",
    }
    result = st.substitute(delta_scenario(tmp_path), changes)
    run: SubstitutionRun = result.run
    assert np.abs(run.joint(first, "q")[-1] - run.joint(first, "q")[0]) > 0.01
    assert all(gap.largest < 1e-3 for gap in result.differences.values())  # 2 % of the largest rate


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"substitute.joints": "[J3]"}, "'J3' is not an axis; expected one of J1, J2"),
        ({"substitute.joints": "[J1, J1]"}, "named twice"),
        ({"substitute.joints": "[J1, J2]"}, "has 1 shaft;"),
        ({"substitute.filter.cut_off": "50 Hz"}, "half of the servo's rate, 50 Hz"),
        ({"substitute.filter": None}, "'filter' is missing"),
        ({"substitute.rig": "no-such-rig"}, "no rig 'no-such-rig'"),
        (
            {"substitute.observer.measures": "angle", "substitute.estimator": "observer"},
            "the rig has no encoder",
        ),
        ({"rates.arm": "30 Hz"}, "no whole part of the servo's 100 Hz"),
        ({"rates.servo": "-1 Hz"}, "too small"),
        ({"servo.proportional": None}, "'proportional' of joint 'J1' is missing"),
        ({"integration.method": "euler"}, "expected one of modified-euler, rk4, semi-implicit"),
        ({"robot": "gsis-scaar"}, "no robot 'gsis-scaar'"),
        ({"environment.forces": "[{kind: plume}]"}, "'point' is missing"),
        ({"environment.forces": "[{kind: wrench, frame: hand}]"}, "no frame 'hand'"),
        ({"environment.base": "{w: [[0 s, 1 m/s^2]]}"}, "not a direction of the base"),
        (
            {"environment.base": "{x: [[1 s, 1 m/s^2], [0 s, 2 m/s^2]]}"},
            "environment.base.x.1.0: 0 s is not after the step before it; expected ascending times",
        ),
        (
            {"environment.forces": "[{kind: wrench, start: 2 s, end: 1 s}]"},
            "environment.forces.0.end: 1 s is not after the start at 2 s; expected a later end",
        ),
        ({"servo.ratio": "0"}, "servo.ratio: 0: the shaft would not turn with its joint"),
        ({"servo.axes.J2.ratio": "0"}, "servo.axes.J2.ratio: 0: the shaft would not turn with its joint"),
    ],
)
def test_bad_scenario_gets_one_line(changes: dict[str, str | None], said: str) -> None:
    with pytest.raises(InputError) as caught:
        build_substitution(read_substitution("met-substituted", changes))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_spring_of_a_compliant_gear_that_is_too_quick_for_the_step_is_warned_of(tmp_path: Path) -> None:
    stiff = "servo: {axes: {J1: {stiffness: 1e8 N*m/rad}}}\n"
    made = build_substitution(read_substitution(scenario_file(tmp_path, stiff)))
    assert "it diverges" in step_warnings(made)[0]
    fine = build_substitution(
        read_substitution(
            scenario_file(tmp_path, COMPLIANT), {"integration.method": "rk4", "integration.steps": "4"}
        )
    )
    assert step_warnings(fine) == []


@pytest.mark.parametrize("spring", [False, True])
def test_arm_with_weight_begins_in_balance(tmp_path: Path, spring: bool) -> None:
    file = scenario_file(
        tmp_path, (COMPLIANT if spring else "") + "set: {gravity: '[0 m/s^2, -2 m/s^2, 0 m/s^2]'}\n"
    )
    run = st.substitute(
        file, {**STILL, "integration.method": "rk4", "integration.steps": "4", "duration": "1 s"}
    ).run
    assert run.joint("J1", "drive_torque")[0] > 0.05
    assert np.abs(run.joint("J1", "q")).max() < 1e-9
    assert np.abs(run.joint("J2", "q")).max() < 1e-9


def test_weight_on_a_substituted_joint_is_given_by_its_load_motor(tmp_path: Path) -> None:
    more = "set: {gravity: '[0 m/s^2, -2 m/s^2, 0 m/s^2]'}\n"
    changes = {
        "command.0.rates.J1": "0.01 rad/s",
        "command.0.rates.J2": "0 rad/s",
        "substitute.rig": "met-rig",
    }
    result = st.substitute(scenario_file(tmp_path, more, "met-substituted"), changes)
    weight = 2.0 * (met_arm.M1 * met_arm.L1 / 2 + met_arm.M2 * (met_arm.L1 + met_arm.L2 / 2))
    assert result.run.joint("J1", "load_torque")[0] == pytest.approx(-weight / met_arm.N, rel=1e-9)
    assert result.differences["J1"].largest < 5e-4
