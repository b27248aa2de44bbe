"""Dry friction of a shaft or joint whose direction is stated, and how it changes with speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from servotwin.description.friction_curve import FrictionCurve
from servotwin.mechanism.model import Array


def sliding_friction(curve: FrictionCurve, s: Array, w: Array) -> tuple[Array, Array]:
    """Size of the dry friction of a shaft that slides in direction s at speed w, and its slope (eq:friction-curve)."""
    size, slope = np.full(w.shape, curve.coulomb), np.zeros(w.shape)
    for excess, w_s in curve.falls:
        part = excess * np.exp(-((w / w_s) ** 2))
        size, slope = size + part, slope - 2.0 * w / w_s**2 * part
    for sign, points in zip((1.0, -1.0), curve.tables, strict=True):
        if points:
            value, rise = _table(points, sign * w)
            size = size + np.where(s == sign, value, 0.0)
            slope = slope + np.where(s == sign, sign * rise, 0.0)
    return size, slope


def _table(points: Sequence[tuple[float, float]], v: Array) -> tuple[Array, Array]:
    """Torque of a table and its slope at speeds along its direction."""
    speeds, torques = np.array(points).T
    if len(points) == 1:
        return np.full(v.shape, torques[0]), np.zeros(v.shape)
    rises = np.diff(torques) / np.diff(speeds)
    k = np.clip(np.searchsorted(speeds, v, side="left") - 1, 0, len(rises) - 1)
    flat = (v <= speeds[0]) | ((v > speeds[-1]) & (rises[-1] < 0.0))
    held = np.where(v <= speeds[0], torques[0], torques[-1])
    value = np.where(flat, held, torques[k] + rises[k] * (v - speeds[k]))
    return value, np.where(flat, 0.0, rises[k])
