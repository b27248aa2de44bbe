r"""Small deviations of a built robot from its drawing, giving another mechanism.

A deviation displaces a fixed placement by a small shift and turn in the frame that is placed,

.. math:: X \to X\, D(p, r), \qquad D = \begin{pmatrix} \exp [r]_\times & p \\ 0 & 1 \end{pmatrix}   (eq:deviation)

of a joint (z on its axis), of the tool, of either side of a loop closure; ``base`` displaces all
that stands on the base, from the left. Six numbers each: no DH parameter jumps when axes are almost
parallel. What has no effect on the tool is a matter of rank, not of the form. An independent joint has an offset
and a scale besides: it stands at

.. math:: (1 + s)\, q + o                                                                   (eq:deviation-joint)

when its encoder says q, and joints that are coupled to it follow what it does.
Theory: docs/theory/calibration.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.description.units import did_you_mean
from servotwin.errors import ServotwinError
from servotwin.mechanism.model import BASE, Array, Frame, Mechanism, Quantities

LARGEST = 0.2  # rad and m: beyond, a displacement is another robot
FIELDS = ("position", "rotation", "offset", "scale")


@dataclass(frozen=True)
class Deviation:
    """Shift [m] and rotation vector [rad] of a placement, in its own frame; offset and scale of a joint."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset: float = 0.0  # rad, m
    scale: float = 0.0

    @property
    def zero(self) -> bool:
        """True if nothing deviates."""
        return not any((*self.position, *self.rotation, self.offset, self.scale))


def displacement(position: Array, rotation: Array) -> Array:
    """D (..., 4, 4) of shifts (..., 3) and rotation vectors (..., 3) (eq:deviation)."""
    p, r = np.asarray(position, dtype=np.float64), np.asarray(rotation, dtype=np.float64)
    D = np.zeros((*np.broadcast_shapes(p.shape, r.shape)[:-1], 4, 4))
    D[..., :3, :3] = rotation_matrix(r)
    D[..., :3, 3] = p
    D[..., 3, 3] = 1.0
    return D


def rotation_matrix(r: Array) -> Array:
    """exp [r]x (..., 3, 3) of rotation vectors (..., 3) (Rodrigues' formula, accurate at zero)."""
    angle = np.sqrt((r * r).sum(axis=-1))[..., None, None]
    K = skew(r)
    half = 0.5 * angle
    # sin x / x and (1 - cos x) / x^2 = (sin(x/2) / (x/2))^2 / 2 without a division by zero
    first, second = np.sinc(angle / np.pi), 0.5 * np.sinc(half / np.pi) ** 2
    return np.asarray(np.eye(3) + first * K + second * (K @ K))


def skew(r: Array) -> Array:
    """Matrices (..., 3, 3) of the cross product with vectors (..., 3)."""
    K = np.zeros((*r.shape, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -r[..., 2], r[..., 1], -r[..., 0]
    return np.asarray(K - np.swapaxes(K, -1, -2))


def places(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of all that can deviate: moving joints, ``base``, ``tool``, sides of the loop closures."""
    sides = [side for loop in mechanism.loops for side in (loop.frame_a, loop.frame_b)]
    names = [*mechanism.tree_joint_names, "base", "tool", *sides]
    return tuple(dict.fromkeys(names))


def nominal_of(mechanism: Mechanism) -> Mechanism:
    """The mechanism without its deviations; masses and all that was changed since stay."""
    nominal = mechanism.nominal
    if nominal is None:
        return mechanism
    return mechanism.with_(
        X_tree=nominal.X_tree,
        frames=nominal.frames,
        coupling=nominal.coupling,
        quantities=nominal.quantities,
        nominal=None,
    )


def with_deviations(mechanism: Mechanism, deviations: Mapping[str, Any]) -> Mechanism:
    """The mechanism as it is built (see ``Robot.with_deviations``); given deviations replace earlier ones."""
    nominal = nominal_of(mechanism)
    if not isinstance(deviations, Mapping):
        raise ServotwinError(
            "deviations must map places to deviations, such as {'th2': {'rotation': [1e-4, 0, 0]}}"
        )
    read = {name: checked(nominal, name, value) for name, value in deviations.items()}
    if all(deviation.zero for deviation in read.values()):
        return nominal
    built = displaced(nominal, {name: vars(deviation) for name, deviation in read.items()})
    offset, scale = (
        np.array([getattr(read.get(name, Deviation()), field) for name in nominal.joint_names])
        for field in ("offset", "scale")
    )
    return nominal.with_(
        X_tree=built.X_tree + 0.0,
        frames=tuple(Frame(f.name, f.body, built.frames[f.name]) for f in nominal.frames),
        coupling=replace(nominal.coupling, G=built.G),
        quantities=_quantities(nominal.quantities, offset, scale),
        nominal=nominal,
    )


@dataclass(frozen=True)
class Built:
    """Placements of one build or of many (leading axes ...): what deviates of a mechanism."""

    X_tree: Array  # (..., n, 4, 4)
    frames: dict[str, Array]  # X_body_frame (..., 4, 4)
    G: Array  # (..., n, n_x)


def displaced(nominal: Mechanism, deviations: Mapping[str, Mapping[str, Any]]) -> Built:
    """Placements with deviations applied (eq:deviation, eq:deviation-joint).

    Each deviation has ``position`` and ``rotation`` (..., 3), ``offset`` and ``scale`` (...), with leading
    axes that broadcast against each other: one build, or as many as are drawn.
    """
    fields = {
        name: {key: np.asarray(value, dtype=np.float64) for key, value in deviation.items()}
        for name, deviation in deviations.items()
    }
    D = {
        name: displacement(d.get("position", np.zeros(3)), d.get("rotation", np.zeros(3)))
        for name, d in fields.items()
    }
    along = _along_axes(nominal, fields)
    X_tree = []
    for i, name in enumerate(nominal.tree_joint_names):
        X = nominal.X_tree[i] @ D[name] if name in D else nominal.X_tree[i]
        if nominal.parent[i] == BASE and "base" in D:
            X = D["base"] @ X
        X_tree.append(X if along is None else X @ _motion(along[..., i], bool(nominal.prismatic[i])))
    own = nominal.frames[0].name  # the base's own frame is what poses are told in
    frames = {}
    for frame in nominal.frames:
        place = "tool" if frame.name == nominal.tool else frame.name
        X = frame.X_body_frame @ D[place] if place in D and frame.name != own else frame.X_body_frame
        frames[frame.name] = D["base"] @ X if frame.body == BASE and frame.name != own and "base" in D else X
    lead = np.broadcast_shapes(*(X.shape[:-2] for X in X_tree))
    stacked = np.stack([np.broadcast_to(X, (*lead, 4, 4)) for X in X_tree], axis=-3)
    return Built(stacked, frames, _scaled(nominal, fields))


def _along_axes(nominal: Mechanism, fields: Mapping[str, Mapping[str, Array]]) -> Array | None:
    """What offsets of the independent joints do at every joint of the tree (..., n); None without any."""
    stated = {
        name: fields[name]["offset"] for name in nominal.joint_names if "offset" in fields.get(name, {})
    }
    if not any(np.any(value) for value in stated.values()):
        return None
    columns = np.broadcast_arrays(*(stated.get(name, np.zeros(())) for name in nominal.joint_names))
    return np.asarray(np.stack(columns, axis=-1) @ nominal.coupling.G[:, : nominal.n_q].T)


def _motion(along: Array, prismatic: bool) -> Array:
    """Turn about z, or shift along z (..., 4, 4)."""
    z = np.zeros((*along.shape, 3))
    z[..., 2] = along
    still = np.zeros(3)
    return displacement(z, still) if prismatic else displacement(still, z)


def _scaled(nominal: Mechanism, fields: Mapping[str, Mapping[str, Array]]) -> Array:
    G, names = nominal.coupling.G, nominal.joint_names
    stated = {name: fields[name]["scale"] for name in names if "scale" in fields.get(name, {})}
    if not any(np.any(value) for value in stated.values()):
        return G
    columns = np.broadcast_arrays(*(stated.get(name, np.zeros(())) for name in names))
    factors = np.ones((*columns[0].shape, G.shape[1]))
    factors[..., : len(names)] += np.stack(columns, axis=-1)
    return np.asarray(G * factors[..., None, :])


def _quantities(quantities: Quantities, offset: Array, scale: Array) -> Quantities:
    if not quantities.names or not (offset.any() or scale.any()):
        return quantities
    return replace(quantities, A=quantities.A * (1.0 + scale), b=quantities.b + quantities.A @ offset)


def checked(mechanism: Mechanism, name: str, value: object) -> Deviation:
    """A deviation as numbers; ServotwinError names the place and what is accepted."""
    known = places(mechanism)
    if name not in known:
        hint = did_you_mean(str(name), list(known))
        raise ServotwinError(
            f"{mechanism.name}: '{name}' has no deviation; expected one of {', '.join(known)}{hint}"
        )
    fields = vars(value) if isinstance(value, Deviation) else value
    if not isinstance(fields, Mapping) or not set(fields) <= set(FIELDS):
        raise ServotwinError(
            f"{mechanism.name}: deviation of {name} is {value!r}; expected {', '.join(FIELDS)}, such as "
            "{'position': [1e-4, 0, 0]}"
        )
    deviation = Deviation(
        position=_vector(mechanism, name, "position", "m", fields.get("position", (0.0, 0.0, 0.0))),
        rotation=_vector(mechanism, name, "rotation", "rad", fields.get("rotation", (0.0, 0.0, 0.0))),
        offset=_number(mechanism, name, "offset", fields.get("offset", 0.0)),
        scale=_number(mechanism, name, "scale", fields.get("scale", 0.0)),
    )
    if name not in mechanism.joint_names and (deviation.offset or deviation.scale):
        raise ServotwinError(
            f"{mechanism.name}: {name} has no offset and no scale, which belong to joints with an own position "
            f"({', '.join(mechanism.joint_names)}); a joint that follows is displaced by its rotation about z"
        )
    return deviation


def _vector(mechanism: Mechanism, name: str, field: str, unit: str, value: Any) -> tuple[float, float, float]:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError):
        numbers = np.zeros(0)
    if numbers.shape != (3,) or not np.isfinite(numbers).all() or np.abs(numbers).max() > LARGEST:
        raise ServotwinError(
            f"{mechanism.name}: deviation of {name}: {field} is {value!r}; expected three small numbers [{unit}], "
            f"each at most {LARGEST} either way"
        )
    x, y, z = (float(number) for number in numbers)
    return x, y, z


def _number(mechanism: Mechanism, name: str, field: str, value: Any) -> float:
    if not isinstance(value, int | float | np.integer | np.floating) or not abs(float(value)) <= LARGEST:
        raise ServotwinError(
            f"{mechanism.name}: deviation of {name}: {field} is {value!r}; expected one small number, at most "
            f"{LARGEST} either way"
        )
    return float(value)
