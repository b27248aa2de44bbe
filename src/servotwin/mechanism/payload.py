"""A mass added to a body, giving another mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ServotwinError, ShapeError
from servotwin.mechanism.model import BASE, Array, Mechanism
from servotwin.mechanism.spatial import phi_from, transform_phi


def with_payload(
    mechanism: Mechanism, mass: float, center: ArrayLike, inertia: ArrayLike | None, frame: str | None
) -> Mechanism:
    """Mechanism with a further rigid body fixed to a frame (see ``Robot.with_payload``)."""
    mass = _number("mass", mass)
    c = _array("centre", center)
    I_c = np.zeros((3, 3)) if inertia is None else _array("inertia", inertia)
    _check(mass, c, I_c)
    try:
        at = mechanism.frame(frame)
    except KeyError as error:
        raise ServotwinError(str(error.args[0])) from None
    if at.body == BASE:
        return mechanism
    phi = mechanism.phi.copy()
    phi[at.body] += transform_phi(at.X_body_frame, phi_from(mass, c, I_c))
    return mechanism.with_(phi=phi)


def _array(name: str, value: ArrayLike) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        raise ShapeError(f"payload {name} is {value!r}; expected real numbers in SI units") from None


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float | np.integer | np.floating):
        raise ShapeError(f"payload {name} is {value!r}; expected one number [kg]")
    return float(value)


def _check(mass: float, center: Array, inertia: Array) -> None:
    if not (np.isfinite(mass) and mass >= 0):
        raise ServotwinError(f"payload mass is {mass} kg; expected zero or more")
    if center.shape != (3,) or not np.isfinite(center).all():
        raise ShapeError(f"payload centre has shape {center.shape}; expected 3 finite lengths [m]")
    if inertia.shape != (3, 3) or not np.allclose(inertia, inertia.T):
        raise ShapeError(
            f"payload inertia has shape {inertia.shape}; expected a symmetric 3 x 3 tensor [kg m2]"
        )
    moments = np.linalg.eigvalsh(inertia)
    slack = 1e-9 * max(float(moments[-1]), 1e-300)
    if moments[0] < -slack or moments[2] > moments[0] + moments[1] + slack:
        raise ServotwinError(
            f"payload inertia has principal moments {moments.tolist()} kg m2; "
            "each must be positive and at most the sum of the other two"
        )
