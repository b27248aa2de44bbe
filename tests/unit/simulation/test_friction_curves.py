"""Breakaway levels, friction tables and friction of joints, against closed forms and matrix exponentials."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from servotwin.control.servo.user_laws import PythonLaw
from servotwin.errors import InputError
from servotwin.simulation.run import carry_out
from tests import small_drives as small
from tests.small_drives import LOAD, RATIO, J, K

J_ALL = J + LOAD / RATIO**2
PERIOD = 2e-4  # s: the law's torque is constant over it
IDEAL = {"kind": "ideal", "torque_constant": f"{K} N*m/A", "rotor_inertia": f"{J} kg*m^2"}
METHODS = ["rk4", "fast", "adaptive", "modified-euler"]


def run(
    folder: Path,
    axis: small.Tree,
    seconds: float,
    of_time: Callable[[float], float],
    **solver: Any,
) -> tuple[Any, Any]:
    """Signals every 0.2 ms and the machine, under a torque of the motor that is constant over each 0.2 ms."""
    law = PythonLaw(lambda time, _signals: [of_time(time) / K], PERIOD, "current")
    home = "0 m" if axis["type"] == "prismatic" else "0 rad"
    scenario = {**small.rest(seconds, every="0.2 ms", at=home), "solver": {"method": "rk4", **solver}}
    made = small.prepared(folder, small.robot(axes={"A": axis}), scenario, law)
    return carry_out(made, lambda part: None), made.machine


# --- breakaway --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stated", [{}, {"stribeck_speed": "0 rad/s"}], ids=["unsaid", "zero"])
def test_breakaway_without_stribeck_speed_slides_by_coulomb_at_once(
    tmp_path: Path, method: str, stated: small.Tree
) -> None:
    """J dw/dt = tau - tau_c in every period after the one in which 0.3 N m are passed."""
    motor = {**IDEAL, "coulomb_friction": "0.1 N*m", "static_friction": "0.3 N*m", **stated}
    result, machine = run(tmp_path, small.axis(motor=motor), 0.16, lambda time: 2.0 * time, method=method)
    w = result.signals["motor_A_speed_rad_per_s"]
    tau = result.signals["motor_A_torque_N_m"]
    assert not w[tau < 0.3 - 1e-9].any()
    sliding = np.flatnonzero(w)[1:]
    assert len(sliding) > 40
    expected = (tau[sliding] - 0.1) / J_ALL
    np.testing.assert_allclose((w[sliding] - w[sliding - 1]) / PERIOD, expected, rtol=1e-8)
    assert machine.world["state"]["events"][0] <= 2


# --- tables -----------------------------------------------------------------------------------------

TABLE = [
    ["-150 rad/s", "-0.30 N*m"],
    ["-20 rad/s", "-0.08 N*m"],
    ["0 rad/s", "-0.12 N*m"],
    ["0 rad/s", "0.20 N*m"],
    ["30 rad/s", "0.10 N*m"],
    ["100 rad/s", "0.25 N*m"],
]


def by_table(w: float) -> float:
    """The same points, read by hand: size of the torque, lines that go on beyond the ends."""
    if w >= 0.0:
        return 0.2 - 0.1 * w / 30.0 if w < 30.0 else 0.1 + 0.15 * (w - 30.0) / 70.0
    return 0.12 - 0.04 * -w / 20.0 if w > -20.0 else 0.08 + 0.22 * (-w - 20.0) / 130.0


def swing(time: float) -> float:
    return 1.2 * math.sin(2.0 * math.pi * 10.0 * time)


def swung_by_table(seconds: float, step: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Angle and speed of the shaft at the end of every period: small midpoint steps, stopped at zero speed."""
    w = theta = 0.0
    angles, speeds = [], []
    for k in range(round(seconds / PERIOD)):
        tau = swing(k * PERIOD)
        for _ in range(round(PERIOD / step)):
            way = math.copysign(1.0, w) if w else (1.0 if tau > 0.2 else -1.0 if tau < -0.12 else 0.0)
            if not way:
                continue
            half = w + 0.5 * step * (tau - way * by_table(w if w else way * 1e-12)) / J_ALL
            new = w + step * (tau - way * by_table(half)) / J_ALL
            new = 0.0 if way * new < 0.0 else new
            theta, w = theta + 0.5 * step * (w + new), new
        angles.append(theta)
        speeds.append(w)
    return np.array(angles), np.array(speeds)


@pytest.mark.parametrize("method", METHODS)
def test_friction_table_moves_the_shaft_as_its_points_say(tmp_path: Path, method: str) -> None:
    """A torque to and fro, friction that differs with the direction."""
    motor = {**IDEAL, "friction_table": TABLE}
    result, _ = run(tmp_path, small.axis(motor=motor), 0.2, swing, method=method)
    angle, speed = swung_by_table(0.2)
    assert np.ptp(speed) > 150.0  # beyond the last point of either side
    np.testing.assert_allclose(result.signals["motor_A_angle_rad"], angle, atol=2e-4 * np.ptp(angle))
    np.testing.assert_allclose(result.signals["motor_A_speed_rad_per_s"], speed, atol=2e-4 * np.ptp(speed))


def test_friction_table_that_begins_at_zero_is_followed_without_sticking(tmp_path: Path) -> None:
    """Drag in proportion to the square of the speed, by its points: nothing holds at rest."""
    points = [[f"{w} rad/s", f"{1e-4 * w * w} N*m"] for w in (0, 10, 20, 40, 80)]
    motor = {**IDEAL, "friction_table": points}
    result, machine = run(tmp_path, small.axis(motor=motor), 0.2, lambda _time: -0.05)
    w = np.array([0.0, 10.0, 20.0, 40.0, 80.0])
    drag = lambda _t, y: [(-0.05 + np.interp(-y[0], w, 1e-4 * w**2)) / J_ALL]  # noqa: E731
    t = result.signals["time_s"]
    exact = solve_ivp(drag, (0.0, 0.2), [0.0], t_eval=t, rtol=1e-10, atol=1e-12, max_step=1e-4).y[0]
    np.testing.assert_allclose(result.signals["motor_A_speed_rad_per_s"], exact, atol=1e-6 * abs(exact).max())
    assert machine.world["state"]["events"][0] == 0


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([["0 rad/s", "0.1 N*m"], ["10 rad/s", "-0.1 N*m"]], "does not oppose the motion"),
        ([["10 rad/s", "0.1 N*m"], ["5 rad/s", "0.1 N*m"]], "do not rise"),
        ([["-10 rad/s", "-0.1 N*m"]], "no point forwards"),
        ([["10 rad/s"]], "expected a point"),
        ([["10 N*m", "1 rad/s"]], "expected an angular speed"),
    ],
)
def test_friction_table_that_is_none_is_refused(tmp_path: Path, table: Any, text: str) -> None:
    motor = {**IDEAL, "friction_table": table}
    with pytest.raises(InputError, match=text):
        run(tmp_path, small.axis(motor=motor), 0.1, swing)


# --- joints -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [RATIO, -RATIO])
def test_joint_friction_behind_a_stiff_gear_decelerates_the_joint(
    tmp_path: Path, method: str, ratio: float
) -> None:
    """I dqd/dt = N tau - tau_c - f qd in closed form, and nothing moves below the static torque."""
    friction = {"coulomb": "5 N*m", "viscous": "0.8 N*m*s/rad", "static": "9 N*m"}
    axis = small.axis(motor=IDEAL, gear={"ratio": ratio}, friction=friction)
    push = math.copysign(0.3, ratio)
    result, _ = run(tmp_path, axis, 0.2, lambda t: push if t > 0.0999 else push * 0.17 / 0.3, method=method)
    t, qd = result.signals["time_s"], result.signals["joint_A_velocity_rad_per_s"]
    assert not qd[t < 0.1].any()  # 0.17 N m times 50 are 8.5 N m
    inertia, net = LOAD + RATIO**2 * J, RATIO * 0.3 - 5.0
    since = t[t > 0.1 + 0.5 * PERIOD] - 0.1
    exact = net / 0.8 * (1.0 - np.exp(-0.8 / inertia * since))
    np.testing.assert_allclose(qd[t > 0.1 + 0.5 * PERIOD], exact, rtol=1e-6)


def test_joint_friction_table_turns_round_with_a_negative_ratio(tmp_path: Path) -> None:
    """What opposes the joint forwards opposes the motor backwards."""
    table = [["-1 rad/s", "-2 N*m"], ["1 rad/s", "6 N*m"]]
    axis = small.axis(motor=IDEAL, gear={"ratio": -RATIO}, friction={"table": table})
    for push, dry in ((-0.2, 6.0), (0.2, -2.0)):
        result, _ = run(tmp_path, axis, 0.02, lambda _t, push=push: push)  # type: ignore[misc]
        qd = result.signals["joint_A_velocity_rad_per_s"][-1]
        assert qd == pytest.approx((-RATIO * push - dry) / (LOAD + RATIO**2 * J) * 0.02, rel=1e-8)


STIFFNESS, DAMPING = 4000.0, 4.0  # N m/rad, N m s/rad at the joint
DRY_JOINT = {"coulomb": "6 N*m", "static": "8 N*m", "viscous": "0.5 N*m*s/rad"}


def rocked(time: float) -> float:
    return 0.3 * math.sin(2.0 * math.pi * 12.0 * time)


class TwoMasses:
    """Rotor, spring and a joint that rubs; between events linear, so that a matrix exponential is exact."""

    def __init__(self) -> None:
        self.state = np.zeros(4)  # theta, q, w, qd
        self.mode = 0

    def matrix(self, tau: float) -> np.ndarray:
        k, d = STIFFNESS / RATIO**2, DAMPING / RATIO**2
        spring = np.array([k, -k * RATIO, d, -d * RATIO, 0.0])
        rotor = (np.array([0.0, 0.0, 0.0, 0.0, tau]) - spring) / J
        joint = (RATIO * spring - np.array([0.0, 0.0, 0.0, 0.5, 6.0 * self.mode])) / LOAD
        if self.mode == 0:
            joint = np.zeros(5)
        return np.vstack([[0, 0, 1, 0, 0], [0, 0, 0, 1, 0], rotor, joint, np.zeros(5)])

    def load(self, state: np.ndarray) -> float:
        twist, rate = state[0] - RATIO * state[1], state[2] - RATIO * state[3]
        return float((STIFFNESS * twist + DAMPING * rate) / RATIO)

    def margin(self, state: np.ndarray) -> float:
        return 8.0 - abs(self.load(state)) if self.mode == 0 else self.mode * state[3]

    def advance(self, tau: float, span: float) -> None:
        while span > 1e-13:
            A, y = self.matrix(tau), np.append(self.state, 1.0)
            step = span if self.margin((expm(A * span) @ y)[:4]) >= 0.0 else self.event(A, y, span)
            self.state = (expm(A * step) @ y)[:4]
            if step < span:
                self.mode = int(np.sign(self.load(self.state))) if self.mode == 0 else 0
                self.state[3] = 0.0
            span -= step

    def event(self, A: np.ndarray, y: np.ndarray, span: float) -> float:
        """The instant at which the margin, positive a little later, is zero."""
        low, high = 0.0, span
        if self.margin((expm(A * span * 1e-3) @ y)[:4]) >= 0.0:
            low = span * 1e-3
        for _ in range(60):
            middle = 0.5 * (low + high)
            if self.margin((expm(A * middle) @ y)[:4]) >= 0.0:
                low = middle
            else:
                high = middle
        return high


@pytest.mark.parametrize("method", METHODS)
def test_joint_friction_behind_an_elastic_gear_sticks_and_slips_like_two_masses(
    tmp_path: Path, method: str
) -> None:
    gear = {"stiffness": f"{STIFFNESS} N*m/rad", "damping": f"{DAMPING} N*m*s/rad"}
    axis = small.axis(motor=IDEAL, gear=gear, friction=DRY_JOINT)
    steps = {"rk4": 4, "modified-euler": 64}.get(method, 1)
    result, machine = run(tmp_path, axis, 0.2, rocked, method=method, steps=steps, tolerance=1e-9)
    reference, q, changes = TwoMasses(), [], 0
    for k in range(1000):
        before = reference.mode
        reference.advance(rocked(k * PERIOD), PERIOD)
        changes += before != reference.mode
        q.append([*reference.state[:2], reference.state[3]])
    theta, joint, speed = np.array(q).T
    assert changes >= 8
    assert machine.world["state"]["events"][0] == pytest.approx(changes, abs=2)
    signals = result.signals
    most = {"rk4": 1e-7, "adaptive": 1e-6, "fast": 5e-4}.get(method, 1e-4)  # fast: third order, 0.2 ms
    np.testing.assert_allclose(signals["joint_A_position_rad"], joint, atol=most * np.ptp(joint))
    np.testing.assert_allclose(signals["joint_A_velocity_rad_per_s"], speed, atol=10 * most * np.ptp(speed))
    np.testing.assert_allclose(signals["motor_A_angle_rad"], theta, atol=most * np.ptp(theta))
    # lost in the joint: the dry and the viscous part over the way
    lost = np.sum(6.0 * np.abs(speed) + 0.5 * speed**2) * PERIOD
    assert result.summary["energy"]["friction_J"] == pytest.approx(lost, rel=2e-3)
    assert abs(result.summary["energy"]["balance_error_J"]) < 1e-5 * lost


def test_start_with_speed_twists_the_gear_by_what_the_joint_rubs(tmp_path: Path) -> None:
    """Moving evenly, the spring carries 6 N m and 0.5 N m s/rad."""
    gear = {"stiffness": f"{STIFFNESS} N*m/rad", "damping": f"{DAMPING} N*m*s/rad"}
    axis = small.axis(gear=gear, friction=DRY_JOINT)
    scenario = {**small.rest(0.1), "initial": {"speed": {"A": "1 rad/s"}}}
    machine = small.prepared(tmp_path, small.robot(axes={"A": axis}), scenario).machine
    twist = machine.motors["theta"][0] / RATIO - machine.x[0]
    assert twist == pytest.approx(6.5 / STIFFNESS, rel=1e-9)
    assert machine.stops["mode"][0] == 1


def test_stuck_joint_behind_an_elastic_gear_stands_still_while_its_motor_swings(tmp_path: Path) -> None:
    gear = {"stiffness": f"{STIFFNESS} N*m/rad", "damping": f"{DAMPING} N*m*s/rad"}
    axis = small.axis(motor=IDEAL, gear=gear, friction={"coulomb": "50 N*m"})
    result, machine = run(tmp_path, axis, 0.1, rocked)
    assert set(result.signals["joint_A_position_rad"]) == {0.0}
    assert np.ptp(result.signals["motor_A_angle_rad"]) > 0.1
    assert machine.world["state"]["events"][0] == 0
    assert {entry["kind"] for entry in result.summary["axes"][0]["saturation"]} == {"stuck"}


@pytest.mark.parametrize(("force", "moves"), [(18.0, False), (30.0, True)])
def test_joint_friction_of_a_belt_drive_holds_one_direction_only(
    tmp_path: Path, force: float, moves: bool
) -> None:
    """Two motors and two belts: equal torques push A, which rubs; the difference pushes B, which does not."""
    slide = small.merged(small.LIFT, {"gear": None, "motor": IDEAL, "link": {"mass": "4 kg"}})
    axes = {
        "A": small.merged(slide, {"axis": [1, 0, 0], "friction": {"coulomb": "20 N", "static": "25 N"}}),
        "B": small.merged(slide, {"axis": [0, 1, 0], "link": {"mass": "6 kg"}}),
    }
    r = 100.0
    belts = {"motors": ["A", "B"], "matrix": [[f"{r} rad/m"] * 2, [f"{r} rad/m", f"-{r} rad/m"]]}
    both, apart = force / (2 * r), 0.02
    law = PythonLaw(lambda _t, _s: [(both + apart) / K, (both - apart) / K], PERIOD, "current")
    move = {"move": [{"to": {"A": "0 m", "B": "0 m"}, "dwell": "0.05 s"}], "record": {"every": "0.2 ms"}}
    made = small.prepared(tmp_path, small.robot({"transmission": belts}, axes=axes), move, law)
    signals = carry_out(made, lambda part: None).signals
    rotors = 2 * r**2 * J
    assert signals["joint_B_velocity_m_per_s"][-1] == pytest.approx(
        2 * r * apart / (6.0 + rotors) * 0.05, rel=1e-8
    )
    expected = (force - 20.0) / (10.0 + rotors) * 0.05 if moves else 0.0
    assert signals["joint_A_velocity_m_per_s"][-1] == pytest.approx(expected, rel=1e-8, abs=0.0)


def test_joint_friction_behind_a_stiff_gear_with_losses_is_refused(tmp_path: Path) -> None:
    axis = small.axis(motor=IDEAL, gear={"efficiency": 0.8}, friction={"coulomb": "5 N*m"})
    with pytest.raises(InputError, match=r"axes\.A\.friction.*not modelled behind a stiff gear"):
        run(tmp_path, axis, 0.1, swing)
