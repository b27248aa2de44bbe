"""Arms with elastic gears and friction as a user would write them for SciPy's ``solve_ivp``, and a published time.

The model is what a Modelica tool would solve: rotors, springs, windings and the cascade of the controller are
continuous in time, voltages are means without pulses, and dry friction is a steep smooth curve. It has the numbers of
the simulated machine, and the arm's dynamics from compiled code of ours, so that SciPy pays for its integration and for
the model in NumPy alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.drives.pmsm import PMSM

# Dymola's log of RobotR3.FullRobot (MAP-LIB_ReferenceResults): 0.50 s of processor time for 1.86 s. It names no
# processor; the time counts half here, as if that one had been half as fast as the one that runs this.
LOGGED_S = 0.5 / 1.86 / 2.0
STEEP = 0.05  # rad/s of a motor within which its smooth friction changes its sign
RTOL, ATOL = 1e-6, 1e-8
GRID = 2.5e-4  # s between points of the reference; lines between


@dataclass(frozen=True)
class Smooth:
    """A machine as continuous equations: states q, q', motor angles and speeds, currents, two integrators."""

    arm: Any
    N: np.ndarray  # motor turns per joint turn
    springs: np.ndarray  # which motors are behind elastic gears
    motor: dict[str, np.ndarray]
    gain: dict[str, np.ndarray]
    reference: np.ndarray  # on the grid: motor angles, motor speeds

    def wanted(self, t: float) -> np.ndarray:
        """Angles and speeds of the reference at the motors."""
        k = min(int(t / GRID), len(self.reference) - 2)
        before, after = self.reference[k], self.reference[k + 1]
        return before + (t / GRID - k) * (after - before)  # type: ignore[no-any-return]

    def friction(self, w: np.ndarray) -> np.ndarray:
        """Friction of the shafts [N m], smooth through rest."""
        m = self.motor
        fall = m["tau_fall"] * np.exp(-((w / m["w_stribeck"]) ** 2))
        return m["f"] * w + (m["tau_c"] + fall) * np.tanh(w / STEEP)  # type: ignore[no-any-return]

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivatives of the state."""
        m, gain, springs, N = self.motor, self.gain, self.springs, self.N
        q, qd, theta, w, i, sum_n, sum_i = x.reshape(7, len(springs))
        load, load_w = N @ q, N @ qd
        theta, w = np.where(springs, theta, load), np.where(springs, w, load_w)
        theta_ref, w_ref = self.wanted(t)
        e = w_ref + gain["K_x"] * (theta_ref - theta) - w
        i_error = gain["K_n"] * e + sum_n - i
        u = gain["K_i"] * i_error + sum_i
        drive = m["K"] * i - self.friction(w)
        spring = m["stiffness"] * (theta - load) + m["damping"] * (w - load_w)
        stiff = N[~springs]
        M = self.arm.inertia(q) + stiff.T @ (m["J"][~springs, None] * stiff)
        torque = N.T @ np.where(springs, spring, drive)
        qdd = np.linalg.solve(M, torque - self.arm.rne(q, qd, np.zeros(len(q))))
        w_dot = np.where(springs, (drive - spring) / m["J"], N @ qdd)
        i_dot = (u - m["R"] * i - m["emf"] * w) / m["L"]
        return np.concatenate((qd, qdd, w, w_dot, i_dot, gain["K_ni"] * e, gain["K_ii"] * i_error))


def smooth_machine(run: Any) -> Smooth:
    """The continuous equations of a prepared run."""
    motors, axes = run.machine.motors, run.machine.servo.axes
    synchronous, n = motors["kind"] == PMSM.code, len(motors)
    psi, falls = motors["psi"] * motors["pole_pairs"], motors["tau_fall"][:, 0]
    motor = {name: motors[name].copy() for name in ("f", "tau_c", "stiffness", "damping", "J")}
    motor["R"] = motors["R"] + motors["R_bridge"]
    motor["L"] = np.where(synchronous, motors["L_q"], motors["L"])
    motor["K"] = np.where(synchronous, 1.5 * psi, motors["K"])
    motor["emf"] = np.where(synchronous, psi, motors["K"])
    motor["tau_fall"] = falls.copy()
    motor["w_stribeck"] = np.where(falls > 0.0, motors["w_stribeck"][:, 0], 1.0)
    gain = {name: axes[name].copy() for name in ("K_x", "K_n", "K_ni", "K_i", "K_ii")}
    N = run.machine.world["N"][0][:n, :n].copy()
    q, qd, _ = run.reference.sample(np.arange(0.0, 1e-9 * run.duration_ns + 2 * GRID, GRID))
    return Smooth(run.plant, N, motors["flexible"] >= 0, motor, gain, np.stack((q @ N.T, qd @ N.T), axis=1))


def start_of(run: Any, smooth: Smooth) -> np.ndarray:
    """The state in which a run begins: in balance."""
    motors, y = run.machine.motors, np.asarray(run.machine.y)
    n = len(motors)
    q = y[:n]
    theta = smooth.N @ q
    theta[smooth.springs] = y[2 * n + motors["flexible"][smooth.springs]]
    i = y[motors["current_at"] + (motors["kind"] == PMSM.code)]
    rest = np.zeros(n)
    return np.concatenate((q, rest, theta, rest, i, i, smooth.motor["R"] * i))


def solve_ivp_machine(run: Any, seconds: float) -> tuple[float, np.ndarray]:
    """Processor seconds that SciPy's LSODA takes for a simulated second of a run, and the joints at its end."""
    from scipy.integrate import solve_ivp

    smooth = smooth_machine(run)
    x = start_of(run, smooth)
    start = time.process_time()
    found = solve_ivp(smooth.rates, (0.0, seconds), x, "LSODA", [seconds], rtol=RTOL, atol=ATOL)
    if not found.success:
        raise ArithmeticError(f"solve_ivp: {found.message}")
    return (time.process_time() - start) / seconds, found.y[: len(smooth.springs), -1]
