"""The plant's integration: orders of the methods, and arms under given torques against other integrators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.simulation.run import carry_out
from tests import small_drives as small

HOLD = 0.01  # s between two changes of the open-loop commands

# slow pulses on a quick motor: errors of coarse steps stand well above rounding
SLOW = {
    "main_period": "20 ms",
    "axis_period": "2 ms",
    "speed_period": "2 ms",
    "current_period": "2 ms",
    "speed_bandwidth": "50 rad/s",
    "current_bandwidth": "200 rad/s",
    "position_bandwidth": "10 1/s",
}


def open_loop(time: float, signals: Any) -> np.ndarray:
    """Voltages that look at nothing but the time: nothing quantised comes back."""
    return np.array([20.0 * np.sin(40.0 * time) + 5.0, 15.0 * np.cos(25.0 * time)])[: len(signals.current)]


def two_links(**changes: Any) -> small.Tree:
    """A planar arm of two links that turn about flat axes, on slow pulses."""
    axes = {
        "A": small.axis(origin=small.HORIZONTAL, **changes),
        "B": small.axis(origin={"xyz": ["0.4 m", "0 m", "0 m"]}, parent="A", **changes),
    }
    return small.robot({"controller": SLOW}, axes=axes)


def end_state(
    folder: Path, machine: small.Tree, law: PythonLaw | CompiledLaw, seconds: float, **solver: Any
) -> np.ndarray:
    scenario = {**small.rest(seconds, every="2 ms"), "solver": solver}
    run = small.prepared(folder, machine, scenario, law)
    carry_out(run, lambda part: None)
    return np.array(run.machine.y[: int(run.machine.world["n_y"][0])])


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("modified-euler", 2)])
@pytest.mark.parametrize("elastic", [False, True])
def test_fixed_steps_converge_with_their_order_between_edges(
    tmp_path: Path, method: str, order: int, elastic: bool
) -> None:
    """Halving the steps divides the error by 2^order although the voltage jumps: edges are hit exactly."""
    gear = {"ratio": 50, "stiffness": "400 N*m/rad", "damping": "0.5 N*m*s/rad"} if elastic else {"ratio": 50}
    machine = two_links(gear=gear)
    law = PythonLaw(open_loop, HOLD, "voltage")
    exact = end_state(tmp_path, machine, law, 0.1, method="rk4", steps=128)
    errors = [
        np.abs(end_state(tmp_path, machine, law, 0.1, method=method, steps=steps) - exact).max()
        for steps in (2, 4, 8, 16)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(order, abs=0.25)
    assert orders[-2] == pytest.approx(order, abs=0.5)


@pytest.mark.parametrize("tolerance", [1e-5, 1e-8])
def test_adaptive_steps_meet_their_tolerance(tmp_path: Path, tolerance: float) -> None:
    machine, law = two_links(), PythonLaw(open_loop, HOLD, "voltage")
    exact = end_state(tmp_path, machine, law, 0.1, method="rk4", steps=128)
    found = end_state(tmp_path, machine, law, 0.1, method="adaptive", tolerance=tolerance)
    # some 450 steps, each within the tolerance of its largest relative error
    assert np.max(np.abs(found - exact) / (1 + np.abs(exact))) < 10 * tolerance


@pytest.mark.parametrize("elastic", [False, True])
def test_fast_method_agrees_with_converged_steps(tmp_path: Path, elastic: bool) -> None:
    """At the usual periods of 0.2 ms, on two coupled links under pulses, within 1e-6 of every state.

    Behind elastic gears the rotor is light, and its third-order steps show: 1e-5.
    """
    gear = {"ratio": 50, "stiffness": "400 N*m/rad", "damping": "0.5 N*m*s/rad"} if elastic else {"ratio": 50}
    machine = small.merged(two_links(gear=gear), {"controller": small.CONTROLLER})
    law = PythonLaw(open_loop, HOLD, "voltage")
    exact = end_state(tmp_path, machine, law, 0.1, method="rk4", steps=8)
    fast = end_state(tmp_path, machine, law, 0.1, method="fast")
    assert np.max(np.abs(fast - exact) / (1 + np.abs(exact))) < (1e-5 if elastic else 1e-6)


# --- arms under given torques -----------------------------------------------------------------------


def torques(time: float, count: int) -> np.ndarray:
    """Motor torques [N m]."""
    phases = np.arange(count)
    return 0.2 * np.sin(12.0 * time + phases) + 0.05


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_ideal_drives_move_the_arm_like_its_equations_integrated_by_dop853(
    tmp_path: Path, method: str
) -> None:
    """Half a second of torques held for 10 ms each; DOP853 at 1e-12 restarts at each of them."""
    motor = {"kind": "ideal", "rotor_inertia": "1.5e-4 kg*m^2", "viscous_friction": "1e-3 N*m*s/rad"}
    machine = two_links(motor=motor, limits={"position": ["-50 rad", "50 rad"], "speed": "40 rad/s"})
    law = PythonLaw(lambda time, _signals: torques(time, 2), HOLD, "current")
    scenario = {**small.rest(0.5, every="2 ms"), "solver": {"method": method, "steps": 8}}
    run = small.prepared(tmp_path, machine, scenario, law)
    carry_out(run, lambda part: None)
    arm = st.load_robot(tmp_path / "robot.yaml")
    N = arm.mechanism.rotors.N
    y = np.zeros(4)

    def rates(_time: float, y: np.ndarray, tau: np.ndarray) -> np.ndarray:
        net = N.T @ (tau - 1e-3 * (N @ y[2:]))
        return np.concatenate([y[2:], arm.accel(y[:2], y[2:], net, drives=True)])

    for k in range(50):
        args = (torques(k * HOLD, 2),)
        y = solve_ivp(rates, (0.0, HOLD), y, method="DOP853", rtol=1e-12, atol=1e-13, args=args).y[:, -1]
    close = 1e-8 if method == "rk4" else 1e-6
    np.testing.assert_allclose(run.machine.y[:4], y, rtol=close, atol=close)


# --- laws -------------------------------------------------------------------------------------------


@njit
def _damped(time: float, signals: Any, memory: Any, command: Any) -> None:
    for j in range(command.shape[0]):
        memory[j] += 0.3 * (signals[0, j] - signals[3, j])
        command[j] = 0.5 * (signals[0, j] - signals[3, j]) - 0.02 * signals[4, j] + memory[j]


class Damped:
    """The same law in Python."""

    def __init__(self, count: int) -> None:
        self.memory = np.zeros(count)

    def __call__(self, time: float, signals: Any) -> np.ndarray:
        off = signals.position_ref - signals.position
        self.memory += 0.3 * off
        return 0.5 * off - 0.02 * signals.speed + self.memory


def test_the_same_law_in_python_and_compiled_gives_the_same_run(tmp_path: Path) -> None:
    machine = small.merged(two_links(), {"controller": small.CONTROLLER})
    scenario = {
        "move": [{"to": {"A": "0.3 rad", "B": "-0.2 rad"}, "dwell": "0.2 s"}],
        "solver": {"method": "fast"},
    }
    compiled = small.run_case(tmp_path, machine, scenario, CompiledLaw(_damped, 1e-3, 2, "current", memory=2))
    plain = small.run_case(tmp_path, machine, scenario, PythonLaw(Damped(2), 1e-3, "current"))
    for name, values in compiled.signals.items():
        # numba may fuse products and sums, so that the last bits differ
        np.testing.assert_allclose(plain.signals[name], values, rtol=1e-6, atol=1e-9, err_msg=name)
