"""Errors of the tool at measured poses, before and after a calibration, and against what the noise bound predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.design.calibration.identify import Estimate
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, residuals, start, turn_between
from servotwin.mechanism.model import Array


@dataclass(frozen=True)
class Errors:
    """Errors at some measured poses, before and after (SI): of the tool's place or of distances, and of its turn."""

    before: Array  # (k,) [m]
    after: Array
    turn_before: Array  # (k,) [rad], empty where no orientation was measured
    turn_after: Array

    @staticmethod
    def rms(values: Array) -> float:
        """Root mean square."""
        return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def errors_at(model: CalibrationModel, measured: Measured, e: Estimate, before: Setup) -> Errors:
    """Errors of a robot as drawn, seen from the setup ``before``, and as estimated."""
    zero = np.zeros(len(model.parameters))
    sides = []
    for theta, setup in ((zero, before), (e.theta, e.setup)):
        T = model.poses(theta, measured.q)
        if measured.position is None:
            assert measured.distance is not None
            sides.append(
                (np.abs(measured.distance - predicted_distances(measured, setup, T[:, :3, 3])), np.zeros(0))
            )
            continue
        seen = setup.station @ T
        off = np.linalg.norm(measured.position - seen[:, :3, 3], axis=1)
        turn = np.zeros(0)
        if measured.rotation is not None:
            turn = np.linalg.norm(turn_between(seen[:, :3, :3], measured.rotation), axis=1)
        sides.append((off, turn))
    return Errors(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def validated(
    model: CalibrationModel,
    test: Measured,
    noise: Noise,
    e: Estimate,
    *,
    fitted_setup: Setup,
    before: Setup | None,
    train: Measured,
) -> tuple[Errors, float, float]:
    """Errors at poses held out, their white size over its prediction, and the prediction (eq:held-out)."""
    zero = np.zeros(len(model.parameters))
    if before is None:
        before = start(train, model.poses(zero, train.q))
    T, J = model.jacobian(e.theta, test.q)
    r, D = residuals(test, noise, fitted_setup, T, J[:, :, list(e.chosen)])
    variance = e.factor**2 + ((D @ e.covariance) * D).sum(axis=1)
    predicted = float(np.sqrt(variance.mean()))
    return errors_at(model, test, e, before), float(np.sqrt(np.mean(r**2))) / predicted, predicted


def predicted_distances(measured: Measured, setup: Setup, p: Array) -> Array:
    """Distances [m] that places of the tool p (K, 3) make: of pairs, or from fixed points."""
    if measured.pair is not None:
        return np.asarray(np.linalg.norm(p[measured.pair[:, 0]] - p[measured.pair[:, 1]], axis=1))
    assert measured.bar is not None
    return np.asarray(np.linalg.norm(p - setup.centres[measured.bar], axis=1))
