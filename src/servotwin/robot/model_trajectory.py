r"""The complete model along a trajectory: the nonlinear motion, and what small deviations from it become.

.. math:: \dot x = f(x, u), \qquad \dot\Phi = A(t)\,\Phi, \quad \dot\Gamma = A(t)\,\Gamma + B(t),
          \qquad \Phi(t_k) = I, \; \Gamma(t_k) = 0                                    (eq:variation)

with A and B the exact derivatives at the state on the way. A deviation :math:`\epsilon` becomes
:math:`\Phi \epsilon + O(\epsilon^2)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ShapeError, SimulationError
from servotwin.mechanism.model import Array
from servotwin.robot.arguments import real_array
from servotwin.robot.state_space import Directions, StateSpace

TOLERANCE = 1e-10  # of every state, relative to the largest value that it has had


class LinearTrajectory(NamedTuple):
    """States at the instants t (k + 1,), inputs held between them, and the linear system of every interval.

    x (k + 1, n), u (k, m); deviations follow dx[i + 1] = Phi[i] dx[i] + Gamma[i] du[i].
    """

    t: Array
    x: Array
    u: Array
    Phi: Array  # (k, n, n)
    Gamma: Array  # (k, n, m)


def rollout(
    model: StateSpace, x0: ArrayLike, u: ArrayLike, t: ArrayLike, directions: Directions = None
) -> Array:
    """States (k + 1, n) at the instants t under inputs u (k, m), each held from one instant to the next."""
    x, times, held = _checked(model, x0, u, t)
    out = [x]
    for k, inputs in enumerate(held):
        out.append(
            _integrated(
                lambda _, y, v=inputs: model.rates(y, v, directions), out[-1], times[k : k + 2], model
            )
        )
    return np.array(out)


def linearised(
    model: StateSpace, x0: ArrayLike, u: ArrayLike, t: ArrayLike, directions: Directions = None
) -> LinearTrajectory:
    """The same motion with the linear system of every interval (eq:variation)."""
    x, times, held = _checked(model, x0, u, t)
    n, m = model.order, len(model.inputs)
    states, Phis, Gammas = [x], [], []
    for k, inputs in enumerate(held):

        def rate(_: float, y: Array, v: Array = inputs) -> Array:
            f, A, B, _E = model.linearise(y[:n], v, directions)
            along = y[n:].reshape(n, n + m)
            rise = A @ along
            rise[:, n:] += B
            return np.concatenate([f, rise.ravel()])

        start = np.concatenate([states[-1], np.hstack([np.eye(n), np.zeros((n, m))]).ravel()])
        end = _integrated(rate, start, times[k : k + 2], model)
        states.append(end[:n])
        both = end[n:].reshape(n, n + m)
        Phis.append(both[:, :n])
        Gammas.append(both[:, n:])
    return LinearTrajectory(times, np.array(states), held, np.array(Phis), np.array(Gammas))


def _checked(model: StateSpace, x0: ArrayLike, u: ArrayLike, t: ArrayLike) -> tuple[Array, Array, Array]:
    x, held, times = real_array("x0", x0), real_array("u", u), real_array("t", t)
    if x.shape != (model.order,):
        raise ShapeError(f"x0 has shape {x.shape}; expected ({model.order},)")
    if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0.0).all():
        raise ShapeError("t must be two or more ascending instants [s]")
    if held.shape != (len(times) - 1, len(model.inputs)):
        raise ShapeError(f"u has shape {held.shape}; expected ({len(times) - 1}, {len(model.inputs)})")
    return x, times, held


def _integrated(rate, start: Array, span: Array, model: StateSpace) -> Array:  # type: ignore[no-untyped-def]
    from scipy.integrate import solve_ivp

    size = np.maximum(np.abs(start), 1e-6)
    found = solve_ivp(rate, (span[0], span[1]), start, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE * size)
    if not found.success or not np.isfinite(found.y[:, -1]).all():
        raise SimulationError(
            f"{model.robot.name}: no motion from {span[0]:g} s to {span[1]:g} s: {found.message}"
        )
    return np.asarray(found.y[:, -1])
