r"""Moments of inertia about the mass centre, from every way they are stated.

.. math:: I_C = I_P - m (|r|^2 E - r r^T)                       (eq:parallel-axis)

with r the mass centre seen from the point P the axes go through. Radii of
gyration give :math:`m k^2` about the stated axes; axes left open are filled
about the mass centre: one stated axis makes a lamina, two make a rod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servotwin.description.frames import Array, link_frame, rot_rpy

if TYPE_CHECKING:
    from servotwin.description.schema import Axis, Base, Gyration, Inertia, Payload, Tensor

# Both relative to the largest moment. Three printed digits of a thin plate can break the triangle
# inequality by 0.15 % through rounding alone; a moment below zero is never a matter of printed digits.
TRIANGLE_SLACK = 2e-3
SIGN_SLACK = 1e-6


def link_inertia(axis: Axis) -> tuple[float, Array, Array]:
    """Mass [kg], centre (3,) [m] and inertia about the centre (3, 3) [kg m2] in the LINK frame."""
    link = axis.link
    X_joint_link = link_frame(axis)
    R, p = X_joint_link[:3, :3], X_joint_link[:3, 3]
    center = np.array(link.center)
    if link.frame == "joint":
        origins = {"joint": np.zeros(3), "link": p}
    else:
        origins = {"joint": -R.T @ p, "link": np.zeros(3)}
    moments = center_inertia(link.mass, center, link.inertia, origins)
    if link.frame == "joint":
        center = R.T @ (center - p)
        moments = R.T @ moments @ R
    return link.mass, center, moments


def payload_inertia(payload: Payload) -> tuple[float, Array, Array]:
    """Mass, centre and inertia about the centre of the payload, in the tool frame."""
    return _stated_inertia(payload)


def base_inertia(base: Base) -> tuple[float, Array, Array]:
    """Mass, centre and inertia about the centre of the base, in its frame."""
    return _stated_inertia(base)


def _stated_inertia(body: Payload | Base) -> tuple[float, Array, Array]:
    center = np.array(body.center)
    origins = {"joint": np.zeros(3), "link": np.zeros(3)}
    return body.mass, center, center_inertia(body.mass, center, body.inertia, origins)


def center_inertia(mass: float, center: Array, inertia: Inertia | None, origins: dict[str, Array]) -> Array:
    """Inertia about the mass centre in the axes of ``center``; ``origins`` gives the other points."""
    if inertia is None:
        return np.zeros((3, 3))
    R = rot_rpy(inertia.rpy)
    r = np.zeros(3) if inertia.about == "center" else R.T @ (center - origins[inertia.about])
    shift = mass * (r @ r * np.eye(3) - np.outer(r, r))
    if inertia.tensor is not None:
        moments = tensor_matrix(inertia.tensor) - shift  # eq:parallel-axis
    else:
        assert inertia.gyration is not None
        moments = np.diag(_gyration_moments(mass, inertia.gyration, np.diag(shift)))
    return np.asarray(R @ moments @ R.T)


def tensor_matrix(t: Tensor) -> Array:
    """The symmetric 3x3 matrix of a tensor."""
    return np.array([[t.xx, t.xy, t.xz], [t.xy, t.yy, t.yz], [t.xz, t.yz, t.zz]])


def _gyration_moments(mass: float, gyration: Gyration, shift: Array) -> list[float]:
    """Principal moments about the mass centre; ``shift`` holds m r^2 of each axis."""
    radii = gyration.radii()
    stated = {i: mass * k**2 - shift[i] for i, k in enumerate(radii) if k is not None}
    rest = sum(stated.values()) / 2.0 if len(stated) == 1 else 0.0
    return [float(stated.get(i, rest)) for i in range(3)]


def physical_problem(moments: Array) -> str:
    """Why no body has this inertia about its mass centre; empty if one has."""
    low, middle, high = (float(v) for v in np.linalg.eigvalsh(moments))
    largest = max(abs(low), abs(high))
    principal = f"principal moments {low:.4g}, {middle:.4g}, {high:.4g} kg*m^2 about the mass centre"
    if low < -SIGN_SLACK * largest:
        return f"{principal} are not all positive"
    if low + middle < high - TRIANGLE_SLACK * largest:
        return f"{principal} violate the triangle inequality (the largest exceeds the sum of the others)"
    return ""
