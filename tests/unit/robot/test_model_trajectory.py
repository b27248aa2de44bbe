"""The complete model along a trajectory: small deviations are predicted to second order."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import ShapeError
from servotwin.robot.model_trajectory import linearised, rollout


def moving(name: str) -> tuple[st.StateSpace, np.ndarray, np.ndarray, np.ndarray]:
    model = st.state_space(name)
    n, rng = model.robot.n, np.random.default_rng(1)
    slides = np.array(model.robot.joint_units) == "m"
    q = model.robot.q_home + np.where(slides, -0.05, 0.1)
    x, u = model.operating_point(q, np.where(slides, 0.1, 0.3) * rng.uniform(-1, 1, n))
    t = np.linspace(0.0, 0.04, 5)
    sizes = {"V": 6.0, "N*m": 1.0, "N": 5.0, "A": 1e-3}
    swing = [sizes[q.unit] for q in model.inputs]
    return model, x, u + rng.uniform(-1, 1, (4, len(u))) * swing, t


@pytest.mark.parametrize("name", ["gsis-scara", "manutec-r3", "palletizer-4", "daiv-1", "five-bar"])
def test_linear_prediction_along_a_trajectory_errs_to_second_order(name):
    """Halving the deviation quarters the error of the prediction."""
    model, x, u, t = moving(name)
    found = linearised(model, x, u, t)
    np.testing.assert_allclose(found.x, rollout(model, x, u, t), rtol=1e-7, atol=1e-8 * np.abs(found.x).max())
    rng = np.random.default_rng(2)
    sizes = {"A": 1.0, "m": 0.02, "": 0.02, "1/s": 5.0, "Pa": 1e5}
    dx = rng.uniform(-1, 1, model.order) * [sizes.get(q.unit, 0.1) for q in model.states]
    dx[[q.name.endswith("twist") for q in model.states]] *= 0.01
    du = rng.uniform(-1, 1, u.shape) * [1e-3 if q.unit == "A" else 1.0 for q in model.inputs]
    predicted = dx
    for Phi, Gamma, step in zip(found.Phi, found.Gamma, du, strict=True):
        predicted = Phi @ predicted + Gamma @ step
    errors = []
    for size in (0.4, 0.2, 0.1):
        end = rollout(model, x + size * dx, u + size * du, t)[-1]
        errors.append(np.abs(end - found.x[-1] - size * predicted) / (np.abs(predicted) + 1e-9))
    worst = np.argmax(errors[0])
    ratios = [errors[k][worst] / errors[k + 1][worst] for k in range(2)]
    assert ratios[0] == pytest.approx(4.0, rel=0.25)
    assert ratios[1] == pytest.approx(4.0, rel=0.15)


def test_trajectory_arguments_of_the_wrong_shape_are_refused():
    model = st.state_space("double-pendulum")
    with pytest.raises(ShapeError, match="ascending"):
        rollout(model, model.state(), np.zeros((1, 2)), [0.0, 0.0])
    with pytest.raises(ShapeError, match="u has shape"):
        rollout(model, model.state(), np.zeros((2, 2)), [0.0, 0.1])
