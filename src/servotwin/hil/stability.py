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
        return StepStability(
            float(np.abs(np.linalg.eigvals(semi_implicit(made, step))).max(initial=0.0)), step
        )
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


def semi_implicit(made: Substitution, h: float) -> Array:
    r"""What a step of Euler with implicit damping makes of (z, z') (eq:semi-implicit-step).

    .. math:: (M + h D)\,\ddot q = F_q, \; \dot q \mathrel{+}= h \ddot q, \; q \mathrel{+}= h \dot q, \qquad
              N^2 J\,\ddot s = F_s, \; s \mathrel{+}= h \dot s, \; \dot s \mathrel{+}= h \ddot s (eq:semi-implicit-step)

    with F = -K_z z - D_z z', q the joints, D the diagonal of D_z at them, s = theta/N the compliant shafts.
    """
    found = linear_arm(made)
    if found is None:
        return np.zeros((0, 0))
    M_z, D_z, K_z, n = found
    size = len(M_z)
    solved = M_z.copy()
    solved[:n, :n] += h * np.diag(np.diag(D_z)[:n])
    accelerations = np.linalg.solve(solved, -np.hstack([K_z, D_z]))  # by z and z'
    step = np.eye(2 * size)
    step[size:] += h * accelerations
    step[:size, size:] += h * np.eye(size)
    step[:n] += h * h * accelerations[:n]
    return step


def modes(made: Substitution) -> Array:
    """Eigenvalues of the simulated joints with their drives at the start [1/s]."""
    found = linear_arm(made)
    if found is None:
        return np.zeros(0)
    M_z, D_z, K_z, _ = found
    size = len(M_z)
    F = np.block(
        [[np.zeros((size, size)), np.eye(size)], [-np.linalg.solve(M_z, K_z), -np.linalg.solve(M_z, D_z)]]
    )
    return np.asarray(np.linalg.eigvals(F))


def linear_arm(made: Substitution) -> tuple[Array, Array, Array, int] | None:
    """M_z, D_z, K_z of simulated joints and compliant shafts at the start, how many are joints; None: no such joint."""
    scenario, names = made.scenario, made.scenario.description.joint_names
    q = np.array(made.joints["q"])
    M = made.robot.inertia(q)[: len(names), : len(names)]
    drives = {name: joint_drive(scenario, name) for name in names}
    free = [i for i, name in enumerate(names) if name not in scenario.substituted or drives[name].stiffness]
    if not free:
        return None
    rotor = scenario.file.integration.rotor_inertia
    return *_linear(M[np.ix_(free, free)], [drives[names[i]] for i in free], rotor), len(free)


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
    compliant = any(made.joints["compliant"])  # their shafts and springs are explicit in all methods
    other = ", rk4" if compliant and method != "rk4" else ""
    other += "" if compliant or method == "semi-implicit" else ", semi-implicit"
    other += "" if made.scenario.file.integration.rotor_inertia else ", or integration.rotor_inertia true"
    return [
        f"integration {method} with steps of {1e3 * found.step:g} ms multiplies the fastest mode of arm and drives by "
        f"{found.amplification:.3g} in each: it diverges, or swings between limits; expected smaller steps{other}"
    ]
