"""Every axis has its own command level and actuator: decoupled axes against sampled loops of our own around SciPy.

A gantry of three slides and a spindle, none of which feels the others. Between two instants of the current loop each
of them is linear under a constant command, so a matrix exponential is exact there; the loops are written down anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from servotwin.errors import InputError
from servotwin.simulation.run import Run, carry_out
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small
from tests.unit.drives.test_own_actuator import CONSTANT, FILE, LAG

G = 9.80665
MASSES = {"A": 3.0, "B": 2.0, "C": 1.5}  # kg
SPIN = 2.0 * 0.01  # kg m2 of the spindle about its axis
RATIO, SPINDLE = 300.0, 50.0  # rad/m, -
FRICTION = small.VISCOUS
OWN = {
    "kind": "lagged.py:LAGGED",
    "parameters": {"constant": f"{CONSTANT} N*m/A", "lag": f"{LAG} s"},
    "torque_constant": f"{CONSTANT} N*m/A",
    "rotor_inertia": f"{small.J} kg*m^2",
    "viscous_friction": f"{FRICTION} N*m*s/rad",
    "current_limit": "20 A",
}
IDEAL = {
    "kind": "ideal",
    "torque_constant": "0.2 N*m/A",
    "rotor_inertia": f"{small.J} kg*m^2",
    "viscous_friction": f"{FRICTION} N*m*s/rad",
    "current_limit": "20 A",
}
LEVELS = {"A": "speed", "B": "current", "C": "current", "D": "speed"}
METHODS = {"fast": 1, "rk4": 2, "adaptive": 1, "modified-euler": 12}
MOVE = {
    "move": [
        {
            "to": {"A": "0.05 m", "B": "-0.04 m", "C": "0.03 m", "D": "0.6 rad"},
            "ramp": "0.05 s",
            "dwell": "0.05 s",
        }
    ],
    "record": {"every": "1 ms"},
}


def slide(axis: list[int], mass: float, motor: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "prismatic",
        "origin": {},
        "axis": axis,
        "limits": {"position": ["-0.5 m", "0.5 m"], "speed": "0.4 m/s"},
        "link": {"mass": f"{mass} kg"},
        "gear": {"ratio": f"{RATIO} rad/m"},
        "motor": motor,
        "encoder": small.FINE,
    }


def gantry(**controller: Any) -> small.Tree:
    spindle = small.axis()
    tensor = {"xx": "0.012 kg*m^2", "yy": "0.012 kg*m^2", "zz": f"{SPIN} kg*m^2"}
    spindle["link"] = {"mass": "1 kg", "center": ["0 m", "0 m", "0 m"], "inertia": {"tensor": tensor}}
    spindle["motor"] = OWN
    axes = {
        "A": slide([1, 0, 0], MASSES["A"], small.DC),
        "B": slide([0, 1, 0], MASSES["B"], small.DC),
        "C": slide([0, 0, 1], MASSES["C"], IDEAL),
        "D": spindle,
    }
    levels = {name: {"level": level} for name, level in LEVELS.items()}
    settings = {"speed_period": "0.6 ms", "axis_period": "1 ms", "axes": levels, **controller}
    return small.robot({"controller": settings}, axes=axes)


@dataclass
class Axis:
    """One axis by itself: x' = F x + b command + c, its angle and speed first; PI loops as the file states them."""

    F: Any
    b: Any
    c: Any
    voltage: bool  # its command is a voltage, with a current loop around its third state
    level: str
    gains: Any
    counts: float  # per rad
    hold: float  # current that holds it at rest
    x: Any = field(init=False)
    step: Any = field(init=False)

    def __post_init__(self) -> None:
        self.x = np.zeros(len(self.F))
        n = len(self.F)
        whole = np.zeros((n + 2, n + 2))
        whole[:n, :n], whole[:n, n], whole[:n, n + 1] = self.F, self.b, self.c
        self.step = expm(whole * 0.2e-3)[:n]
        self.sum_n, self.sum_i, self.i_ref, self.w_meas, self.u = self.hold, 0.0, self.hold, 0.0, 0.0
        self.w_command = self.waiting_w = 0.0
        self.waiting_i, self.last = self.hold, 0

    @property
    def count(self) -> int:
        return int(np.floor(self.x[0] * self.counts + 0.5))

    def position_loop(self, reference: float, path: float) -> None:
        self.w_command = float(
            self.gains["K_x"] * (reference - self.count) / self.counts + self.gains["share_velocity"] * path
        )

    def speed_loop(self, T: float) -> None:
        self.w_meas = (self.count - self.last) / self.counts / T
        self.last = self.count
        error = self.w_command - self.w_meas
        self.i_ref = self.gains["K_n"] * error + self.sum_n
        self.sum_n += self.gains["K_ni"] * T * error

    def current_loop(self, T: float) -> None:
        if self.voltage:
            error = self.i_ref - self.x[2]
            self.u = self.gains["K_i"] * error + self.sum_i
            self.sum_i += self.gains["K_ii"] * T * error
        else:
            self.u = self.i_ref
        self.x = self.step @ np.concatenate([self.x, [self.u, 1.0]])


def decoupled(run: Run) -> list[Axis]:
    """The four axes from the data above; gains and resolution are those that the servo was given."""
    J = {
        "A": small.J + sum([*MASSES.values(), 1.0]) / RATIO**2,
        "B": small.J + (MASSES["B"] + MASSES["C"] + 1.0) / RATIO**2,
        "C": small.J + (MASSES["C"] + 1.0) / RATIO**2,
        "D": small.J + SPIN / SPINDLE**2,
    }
    weight = (MASSES["C"] + 1.0) * G / RATIO
    found = []
    for j, name in enumerate("ABCD"):
        free = [0.0, 1.0, 0.0], [0.0, -FRICTION / J[name], small.K / J[name]]
        if name in "AB":
            F = np.array([*free, [0.0, -small.K / small.L, -small.R / small.L]])
            b, c, hold = np.array([0.0, 0.0, 1.0 / small.L]), np.zeros(3), 0.0
        elif name == "C":
            F = np.array([[0.0, 1.0], [0.0, -FRICTION / J[name]]])
            b, c, hold = np.array([0.0, 0.2 / J[name]]), np.array([0.0, -weight / J[name]]), weight / 0.2
        else:
            F = np.array([[0.0, 1.0, 0.0], [0.0, -FRICTION / J[name], 1.0 / J[name]], [0.0, 0.0, -1.0 / LAG]])
            b, c, hold = np.array([0.0, 0.0, CONSTANT / LAG]), np.zeros(3), 0.0
        axis = run.machine.axes[j]
        found.append(Axis(F, b, c, name in "AB", LEVELS[name], axis, float(axis["counts_per_rad"]), hold))
    return found


def brute_force(run: Run, *, speed_delay: int, axis_delay: int) -> Any:
    """Motor angles (k, 4) after every millisecond."""
    axes, table = decoupled(run), np.array(run.machine.servo.setpoints)
    main, period, driver, current = 10_000_000, 1_000_000, 600_000, 200_000
    before = np.zeros((4, 3))
    after = np.zeros((4, 3))
    rows = []
    for now in range(0, run.duration_ns, current):
        if now % main == 0:
            before, after = after, table[min(now // main, len(table) - 1)]
        if now % period == 0:
            rows.append([axis.x[0] for axis in axes])
            share = (now % main) / main
            wanted = before + (after - before) * share
            for j, axis in enumerate(axes):
                axis.position_loop(wanted[j, 0], wanted[j, 1])
                if axis.level == "current":
                    axis.speed_loop(1e-3)
                    if axis_delay:
                        axis.i_ref, axis.waiting_i = axis.waiting_i, axis.i_ref
                elif axis_delay:
                    axis.w_command, axis.waiting_w = axis.waiting_w, axis.w_command
        for axis in axes:
            if axis.level == "speed" and now % driver == 0:
                axis.speed_loop(0.6e-3)
                if speed_delay:
                    axis.i_ref, axis.waiting_i = axis.waiting_i, axis.i_ref
            axis.current_loop(0.2e-3)
    return np.array(rows)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delays", [(0, 0), (1, 1)])
def test_mixed_robot_moves_as_its_axes_do_by_themselves(
    method: str, delays: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    speed_delay, axis_delay = delays
    machine = gantry(speed_delay=speed_delay, axis_delay=axis_delay, feedforward={"velocity": 0.8})
    solver = {"method": method, "steps": METHODS[method], "pwm": "averaged", "tolerance": 1e-10}
    run = small.prepared(tmp_path, machine, {**MOVE, "solver": solver}, allow_code=True)
    wanted = brute_force(run, speed_delay=speed_delay, axis_delay=axis_delay)
    result = carry_out(run, lambda part: None)
    for j, name in enumerate("ABCD"):
        unit, ratio = ("rad", SPINDLE) if name == "D" else ("m", RATIO)
        got = ratio * result.signals[f"joint_{name}_position_{unit}"]
        at = np.rint(result.signals["time_s"] * 1e3).astype(int)
        inside = at < len(wanted)
        # a count of the encoder may fall on the other side: 4e-7 rad, times what the loops make of it
        np.testing.assert_allclose(got[inside], wanted[at[inside], j], atol=2e-5 * np.ptp(wanted[:, j]))
        assert np.ptp(wanted[:, j]) > 5.0
    summary = {axis["motor"]: (axis["law"], axis["level"]) for axis in result.summary["axes"]}
    assert summary == {name: ("cascade", level) for name, level in LEVELS.items()}
    assert "motor_A_speed_command_V" in result.signals
    assert "motor_B_speed_command_V" not in result.signals


PUSH = 0.3  # A beyond what holds the vertical slide


def push(time: float, signals: Any, memory: Any, command: Any) -> None:
    command[:] = np.nan
    command[2] = 2.5 * 9.80665 / 300.0 / 0.2 + 0.3


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_law_of_one_motor_leaves_the_others_to_the_cascade(
    method: str, compiled: bool, tmp_path: Path
) -> None:
    """Constant current at the ideal motor C; what the law gives for the others, no number, is not used."""
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    current = (MASSES["C"] + 1.0) * G / RATIO / 0.2 + PUSH

    def compute(time: float, signals: Any) -> Any:
        return np.array([np.nan, np.nan, current, np.nan])

    law: PythonLaw | CompiledLaw = PythonLaw(compute, 1e-3, {"C": "current"})
    if compiled:
        law = CompiledLaw(push, 1e-3, 4, {"C": "current"})
    solver = {"method": method, "steps": METHODS[method], "pwm": "averaged", "tolerance": 1e-10}
    run = small.prepared(tmp_path, gantry(), {**MOVE, "solver": solver}, law, allow_code=True)
    wanted = brute_force(run, speed_delay=0, axis_delay=0)
    alone, rows = decoupled(run)[2], []
    for k in range(5 * len(wanted)):
        if k % 5 == 0:
            rows.append(alone.x[0])
        alone.x = alone.step @ np.concatenate([alone.x, [current, 1.0]])
    wanted[:, 2] = rows
    result = carry_out(run, lambda part: None)
    at = np.rint(result.signals["time_s"] * 1e3).astype(int)
    inside = (at < len(wanted)) & (at < 60)  # before the end stop
    for j, name in enumerate("ABCD"):
        unit, ratio = ("rad", SPINDLE) if name == "D" else ("m", RATIO)
        got = ratio * result.signals[f"joint_{name}_position_{unit}"]
        np.testing.assert_allclose(got[inside], wanted[at[inside], j], atol=2e-5 * np.ptp(wanted[:60, j]))
    assert [axis["law"] for axis in result.summary["axes"]] == ["cascade", "cascade", "own", "cascade"]


def test_loops_in_the_axis_controller_are_judged_at_its_period(tmp_path: Path) -> None:
    """The margins of B are those of a robot whose drivers close the speed loop every axis period."""
    mixed, plain = gantry(), gantry(axes={}, speed_period="1 ms")
    for tree in (mixed, plain):
        tree["axes"]["C"]["motor"] = tree["axes"]["D"]["motor"] = small.DC
    (tmp_path / "mixed").mkdir()
    (tmp_path / "plain").mkdir()
    margins = {}
    for name, tree in (("mixed", mixed), ("plain", plain)):
        path = small.write_case(tmp_path / name, tree).parent / "robot.yaml"
        tuned = {axis.motor: axis for axis in tune(read_description(path)).axes}
        margins[name] = [loop.phase_margin for loop in tuned["B"].case("design").loops.all]
        assert (tuned["B"].command is None) == (name == "mixed")
    assert margins["mixed"] == pytest.approx(margins["plain"], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"axes": {"A": {"law": "computed-torque"}}},
            "controller.axes.A.law: computed-torque beside cascade",
        ),
        (
            {"law": "computed-torque", "axes": {"B": {"law": "cascade"}}},
            "controller.axes.B.law: cascade beside",
        ),
        (
            {"law": "computed-torque", "level": "speed", "axes": {}},
            "controller.level: computed-torque commands",
        ),
        (
            {"law": "computed-torque", "axes": {"B": {"level": "speed"}}},
            "controller.axes.B.level: computed-torque",
        ),
        ({"axes": {"A": {"level": "voltage"}}}, "controller.axes.A.level: 'voltage' is not accepted"),
        (
            {"axes": {"a": {"level": "speed"}}},
            "controller.axes.a: 'a' is not a motor; expected one of A, B, C, D",
        ),
        ({"axes": {"A": "speed"}}, "controller.axes.A: "),
    ],
)
def test_levels_that_do_not_go_together_are_refused_in_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        small.prepared(tmp_path, gantry(**changes), MOVE)
    assert message in str(caught.value)
    assert "robot.yaml:" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("level", "controller", "message"),
    [
        ({"B": "speed"}, {}, "the driver of motor B takes currents"),
        ({"Q": "speed"}, {}, "'Q' is not a motor"),
        ({"A": "speed"}, {"law": "computed-torque", "axes": {}}, "computed torque is one law of all motors"),
    ],
)
def test_law_at_a_level_that_a_driver_does_not_take_is_refused(
    level: dict[str, str], controller: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    law = PythonLaw(lambda time, signals: np.zeros(4), 1e-3, level)
    with pytest.raises(InputError, match=message):
        small.prepared(tmp_path, gantry(**controller), MOVE, law, allow_code=True)


def test_scenario_states_levels_by_motor(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text("def push(t, s):\n    return [0, 0, 0, 0]\n", encoding="utf-8")
    named = {"law": "law.py:push", "period": "1 ms", "level": {"A": "speed", "C": "current"}}
    path = small.write_case(tmp_path, gantry(), {**MOVE, "controller": named})
    law = read_scenario(path).law
    assert law is not None
    assert law.level == {"A": "speed", "C": "current"}
    for text, message in (
        ("{Q: speed}", "controller.level"),
        ("{A: force}", "'force' is not accepted"),
        ("warp", "'warp'"),
    ):
        with pytest.raises(InputError, match=message):
            read_scenario(path, {"controller.level": text})
    assert read_scenario(path, {"controller.level": "{B: current}"}).law.level == {"B": "current"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "changes",
    [
        {"speed_sensing": "inverse-time"},
        {"speed_sensing": "filtered", "speed_filter": "0.1 ms"},
        {"arithmetic": "fixed", "word_bits": 64},
    ],
)
def test_sensing_and_integers_hold_in_the_axis_controller_too(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    """Fine encoders: whatever way the speed is found and computed with, the slide of B moves nearly the same."""
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    paths = []
    for more in ({}, changes):
        run = small.prepared(tmp_path, gantry(**more), MOVE, allow_code=True)
        paths.append(carry_out(run, lambda part: None).signals["joint_B_position_m"])
    assert not np.array_equal(*paths)
    np.testing.assert_allclose(paths[1], paths[0], atol=0.01 * np.ptp(paths[0]))


def test_mixed_robot_with_every_pulse_is_the_same_under_fast_and_adaptive(tmp_path: Path) -> None:
    (tmp_path / "lagged.py").write_text(FILE, encoding="utf-8")
    paths = []
    for solver in ({"method": "fast"}, {"method": "adaptive", "tolerance": 1e-10}):
        run = small.prepared(tmp_path, gantry(), {**MOVE, "solver": solver}, allow_code=True)
        signals = carry_out(run, lambda part: None).signals
        paths.append([signals[f"joint_{name}_position_{'rad' if name == 'D' else 'm'}"] for name in "ABCD"])
    for fast, fine in zip(*paths, strict=True):
        np.testing.assert_allclose(fast, fine, atol=2e-5 * np.ptp(fine))
