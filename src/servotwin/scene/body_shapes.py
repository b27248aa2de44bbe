"""Links as capsules, plates and boxes: long as their frames say, thick as their masses and inertias say."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

import numpy as np

from servotwin.mechanism.model import BASE, Array, Mechanism
from servotwin.scene.skeleton import Joint, Skeleton

Shape = dict[str, Any]
SAME_PLACE = 1e-6  # m
UPRIGHT = 0.7  # of a direction's z: a rail that stands, and needs no posts
THIN, THICK = 0.62, 1.45  # of the usual half thickness: links without mass, and the heaviest ones


def flat(X: Array) -> list[float]:
    """A pose (4, 4) as the 12 numbers of its first three rows."""
    return [float(value) + 0.0 for value in X[:3].ravel()]


def numbers(values: Array) -> list[float]:
    """Plain numbers for JSON, without negative zeros."""
    return [float(value) + 0.0 for value in values]


def link_shapes(
    mechanism: Mechanism, drawn: Skeleton, points: Array, radius: float, left_out: Container[int] = ()
) -> dict[int, list[Shape]]:
    """The shapes of every body in its own frame, by its number; ``points`` (p, 3): the skeleton at home.

    ``left_out``: bars that are drawn otherwise, by number.
    """
    found: dict[int, list[Shape]] = {body: [] for body in range(BASE, mechanism.n_tree)}
    thick = _thickness(mechanism, radius)
    for k, (a, b) in enumerate(drawn.bars):
        body = drawn.bodies[a]
        if k in left_out or (body == BASE and _on_posts(drawn, b, radius)):
            continue
        ends = numbers(drawn.places[a]), numbers(drawn.places[b])
        ink = "base" if body == BASE else "link"
        found[body].append({"kind": "capsule", "a": ends[0], "b": ends[1], "r": thick[body], "ink": ink})
    for plate in drawn.plates:
        body = drawn.bodies[plate[0]]
        corners = [numbers(drawn.places[i]) for i in plate]
        found[body].append({"kind": "plate", "points": corners, "r": 0.62 * thick[body], "ink": "link"})
    for a, b in drawn.rails:
        found[drawn.bodies[a]] += _rail_shapes(drawn.bodies[a], drawn.places[a], drawn.places[b], radius)
    for body in range(mechanism.n_tree):
        box = None if found[body] else inertia_box(mechanism.phi[body], radius)
        if box is not None:
            found[body].append(box)
    for joint, size in zip(drawn.joints, joint_sizes(drawn, points, radius), strict=True):
        body = drawn.bodies[joint.point]
        held = [thick[drawn.bodies[a]] for a, b in drawn.bars if joint.point in (a, b)]
        if joint.prismatic and body == joint.body:
            size = max(size, 0.75)  # a carriage is larger than its rail
        found[body] += _joint_shapes(mechanism, drawn, joint, size * radius, max(held, default=0.5 * radius))
    return found


def _rail_shapes(body: int, low: Array, high: Array, radius: float) -> list[Shape]:
    """A beam as long as the stroke and the carriage on it; one that lies high above the floor stands on posts."""
    way = high - low
    z = way / float(np.linalg.norm(way))
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= float(np.linalg.norm(x))
    X = np.eye(4)
    X[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    X[:3, 3] = 0.5 * (low + high)
    ink = "base" if body == BASE else "link"
    size = [1.6 * radius, 1.6 * radius, float(np.linalg.norm(way)) + 4.4 * radius]
    shapes: list[Shape] = [{"kind": "box", "pose": flat(X), "size": size, "ink": ink}]
    for end in _posts(low, high, radius) if body == BASE else ():
        foot = [float(end[0]), float(end[1]), 0.0]
        shapes.append({"kind": "cylinder", "a": foot, "b": numbers(end), "r": 0.8 * radius, "ink": ink})
    return shapes


def _posts(low: Array, high: Array, radius: float) -> list[Array]:
    """Tops of the posts of a rail on the base: below both ends of one that lies, where it is above the floor."""
    z = (high - low) / float(np.linalg.norm(high - low))
    ends = low - 1.3 * radius * z, high + 1.3 * radius * z  # posts end before the beam does
    return [end for end in ends if float(end[2]) > 4.0 * radius] if abs(float(z[2])) < UPRIGHT else []


def _on_posts(drawn: Skeleton, point: int, radius: float) -> bool:
    """Whether a point of the base is on a rail that stands on posts, and needs no bar to it."""
    p = drawn.places[point]
    for a, b in drawn.rails:
        low, high = drawn.places[a], drawn.places[b]
        off = np.cross(p - low, high - low) / float(np.linalg.norm(high - low))
        if drawn.bodies[a] == BASE and float(np.linalg.norm(off)) < SAME_PLACE and _posts(low, high, radius):
            return True
    return False


def inertia_box(phi: Array, radius: float) -> Shape | None:
    r"""The cuboid with the mass and inertia of a body whose joints are at one point; None without mass.

    .. math:: a_x^2 = \frac{6}{m} (I_y + I_z - I_x)

    with I the principal moments about the mass centre. Its sides stay between one and five half thicknesses.
    """
    m = float(phi[0])
    if m <= 0.0:
        return None
    c = phi[1:4] / m
    I = np.array([[phi[4], phi[5], phi[7]], [phi[5], phi[6], phi[8]], [phi[7], phi[8], phi[9]]])
    I = I - m * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(0.5 * (I + I.T))
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] = -axes[:, 2]
    sides = np.sqrt(np.maximum(6.0 / m * (moments.sum() - 2.0 * moments), 0.0))
    X = np.eye(4)
    X[:3, :3] = axes
    X[:3, 3] = np.clip(c, -8.0 * radius, 8.0 * radius)
    size = np.clip(sides, 1.2 * radius, 5.0 * radius)
    return {"kind": "box", "pose": flat(X), "size": numbers(size), "ink": "link"}


def joint_sizes(drawn: Skeleton, points: Array, radius: float) -> list[float]:
    """Of the joints in half thicknesses: so small that all are seen where several are at one point or near another."""
    found: list[float] = []
    driven = [points[joint.point] for joint in drawn.joints if joint.driven]
    for k, joint in enumerate(drawn.joints):
        gaps = [float(np.linalg.norm(points[joint.point] - other)) for other in driven]
        near = min((gap for gap in gaps if gap > SAME_PLACE), default=math.inf)
        shared = sum(
            float(np.linalg.norm(points[joint.point] - points[other.point])) < SAME_PLACE
            for other in drawn.joints[:k]
        )
        found.append(0.8**shared * min(1.0, max(0.18 * near / radius, 0.3)))
    return found


def bar_radius(points: Array, drawn: Skeleton) -> float:
    """Half the thickness of a drawn bar [m]: a share of all bars together, so that it suits any robot."""
    bars = [*drawn.bars, *drawn.slides]
    total = sum(float(np.linalg.norm(points[b] - points[a])) for a, b in bars)
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    return max((0.015 if len(bars) > 8 else 0.022) * min(total, 1.6 * extent), 1e-3)


def _thickness(mechanism: Mechanism, radius: float) -> dict[int, float]:
    """Half the thickness of each body's bars [m], with the cube root of its mass."""
    masses = mechanism.phi[:, 0]
    heavy = masses[masses > 0.0]
    usual = float(np.median(heavy)) if len(heavy) else 1.0
    found = {BASE: 1.25 * radius}
    for body, mass in enumerate(masses):
        share = (mass / usual) ** (1.0 / 3.0) if mass > 0.0 else THIN
        found[body] = radius * float(np.clip(share, THIN, THICK))
    if not len(heavy):
        found.update(dict.fromkeys(range(mechanism.n_tree), radius))
    return found


def _joint_shapes(mechanism: Mechanism, drawn: Skeleton, joint: Joint, r: float, thick: float) -> list[Shape]:
    """A drum about the axis of a turning joint, a sleeve around that of a sliding one; passive ones are small.

    ``thick``: half the thickness [m] of what ends there, which the drum holds.
    """
    place, body = drawn.places[joint.point], drawn.bodies[joint.point]
    if not joint.driven:
        return [{"kind": "sphere", "a": numbers(place), "r": 1.12 * thick, "ink": "passive"}]
    if joint.prismatic:
        X = np.eye(4)
        X[:3, 3] = place
        if body == int(mechanism.parent[joint.body]):
            X[:3, :3] = mechanism.X_tree[joint.body][:3, :3]
        size = [3.0 * r, 3.0 * r, 4.4 * r]
        return [{"kind": "box", "pose": flat(X), "size": size, "ink": "sliding"}]
    half = np.array([0.0, 0.0, max(2.0 * r, 1.25 * thick)])
    return [
        {
            "kind": "cylinder",
            "a": numbers(place - half),
            "b": numbers(place + half),
            "r": max(1.75 * r, 1.18 * thick),
            "ink": "driven",
        }
    ]
