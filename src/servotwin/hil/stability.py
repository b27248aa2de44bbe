r"""Whether the integration of the arm is stable, before it runs: how a step amplifies the modes of arm and drives.

Linear about the start, with held voltages, in the joints and in the shafts of compliant gears (at the joint's side),

.. math:: M_z \ddot z + D_z \dot z + K_z z = 0, \qquad |R(h \lambda)| \le 1                  (eq:step-stability)

for every eigenvalue :math:`\lambda` of it, with R the stability function of the method; of modified Euler
:math:`1 + \mu + \mu^2/2`, on a pure damper eq:step-amplification.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from servotwin.hil.joint_data import JointDrive, joint_drive
from servotwin.hil.substitution import Substitution, tableau
from servotwin.mechanism.model import Array

GROWS = 1.0 + 1e-6  # amplification of a step that is more than rounding


class StepStability(NamedTuple):
    """Largest amplification of a mode in a step [-], and the step [s]."""

    amplification: float
    step: float


def stability_of(made: Substitution) -> StepStability:
    """How the method of a scenario amplifies the fastest mode of its arm at the start (eq:step-stability)."""
    file = made.scenario.file
    span = made.scenario.period * (file.rates.arm_every if file.integration.at == "arm" else 1)
    step = span / file.integration.steps
    if file.integration.method == "semi-implicit":
        return StepStability(0.0, step)
    return StepStability(
        float(np.abs(growth(file.integration.method, step * modes(made))).max(initial=0.0)), step
    )


def growth(method: str, mu: Array) -> Array:
    """Stability function R of a Runge-Kutta method at mu = h lambda: 1 + mu b^T (1 - mu a)^-1 1."""
    a, b, _ = tableau(method)
    n = len(b)
    A = np.array([[*row, *([0.0] * (n - len(row)))] for row in a])
    ones = np.ones(n)
    found = [1.0 + m * (np.array(b) @ np.linalg.solve(np.eye(n) - m * A, ones)) for m in mu]
    return np.array(found)


def modes(made: Substitution) -> Array:
    """Eigenvalues of the simulated joints with their drives at the start [1/s]."""
    scenario, names = made.scenario, made.scenario.description.joint_names
    q = np.array(made.joints["q"])
    M = made.robot.inertia(q)[: len(names), : len(names)]
    drives = {name: joint_drive(scenario, name) for name in names}
    free = [i for i, name in enumerate(names) if name not in scenario.substituted or drives[name].stiffness]
    if not free:
        return np.zeros(0)
    rotor = scenario.file.integration.rotor_inertia
    M_z, D_z, K_z = _linear(M[np.ix_(free, free)], [drives[names[i]] for i in free], rotor)
    size = len(M_z)
    F = np.block(
        [[np.zeros((size, size)), np.eye(size)], [-np.linalg.solve(M_z, K_z), -np.linalg.solve(M_z, D_z)]]
    )
    return np.asarray(np.linalg.eigvals(F))


def _linear(M: Array, drives: list[JointDrive], rotor: bool) -> tuple[Array, Array, Array]:
    """M_z, D_z and K_z of joints and compliant shafts."""
    n = len(drives)
    soft = [i for i, drive in enumerate(drives) if drive.stiffness]
    size = n + len(soft)
    M_z, D_z, K_z = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    M_z[:n, :n] = M
    for i, drive in enumerate(drives):
        at = n + soft.index(i) if i in soft else i
        reflected = drive.N**2 * drive.J
        M_z[at, at] += reflected if rotor or i in soft else 0.0
        D_z[at, at] += drive.N**2 * drive.back_emf_damping
        if i in soft:
            for matrix, value in ((K_z, drive.stiffness or 0.0), (D_z, drive.damping)):
                matrix[np.ix_([i, at], [i, at])] += value * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return M_z, D_z, K_z


def step_warnings(made: Substitution) -> list[str]:
    """A line where the integration of a scenario is unstable."""
    found = stability_of(made)
    if found.amplification <= GROWS:
        return []
    method = made.scenario.file.integration.method
    return [
        f"integration {method} with steps of {1e3 * found.step:g} ms multiplies the fastest mode of arm and drives by "
        f"{found.amplification:.3g} in each: it diverges, or swings between limits; expected smaller steps, "
        "semi-implicit, or integration.rotor_inertia true"
    ]
