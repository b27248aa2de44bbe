r"""Angles and distances between frames.

.. math:: \varphi = \operatorname{atan2}(|a \times b|,\ a \cdot b), \qquad
          d = \min_{s,t} |p(s) - r(t)| - \varrho                                  (eq:frame-quantity)

a, b: axes of two frames; p(s), r(t): points of two segments, 0 <= s, t <= 1, or single points; rho: radii around them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from servotwin.mechanism.model import Array, FrameQuantities

PARALLEL = 1e-12  # relative: segments with less between their directions are parallel


def frame_quantity_values(quantities: FrameQuantities, poses: Mapping[str, Array]) -> Array:
    """Values (..., k) [rad, m] from the poses (..., 4, 4) of frames by name, eq:frame-quantity."""
    columns = []
    for frames, axes, radius in zip(quantities.frames, quantities.axes, quantities.radius, strict=True):
        if axes:
            columns.append(
                angle(*(poses[name][..., :3, axis] for name, axis in zip(frames, axes, strict=True)))
            )
            continue
        points = [poses[name][..., :3, 3] for name in frames]
        if len(points) == 2:
            columns.append(np.linalg.norm(points[0] - points[1], axis=-1) - radius)
        elif len(points) == 3:
            columns.append(_to_segment(*points) - radius)
        else:
            columns.append(segment_distance(*points) - radius)
    return np.stack(columns, axis=-1)


def angle(a: Array, b: Array) -> Array:
    """Angle between directions (..., 3), 0 to pi."""
    # component by component: a period of jogging has no time for np.cross, which takes four times as long
    (a0, a1, a2), (b0, b1, b2) = ((x[..., 0], x[..., 1], x[..., 2]) for x in (a, b))
    x, y, z = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    across = np.sqrt(x * x + y * y + z * z)
    return np.asarray(np.arctan2(across, a0 * b0 + a1 * b1 + a2 * b2))  # eq:frame-quantity


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Least distance (...) between segments a-b and c-d (..., 3), which may be points.

    Either the common normal meets both segments, or the least distance is that of an end to the other segment.
    """
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = np.sum(u * u, axis=-1), np.sum(u * v, axis=-1), np.sum(v * v, axis=-1)
    uw, vw = np.sum(u * w, axis=-1), np.sum(v * w, axis=-1)
    det = uu * vv - uv**2
    skew = det > PARALLEL * uu * vv
    safe = np.where(skew, det, 1.0)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    inner = skew & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    crossing = np.linalg.norm(w + s[..., None] * u - t[..., None] * v, axis=-1)
    ends = [_to_segment(a, c, d), _to_segment(b, c, d), _to_segment(c, a, b), _to_segment(d, a, b)]
    nearest = np.minimum.reduce(ends)
    return np.asarray(np.where(inner, np.minimum(crossing, nearest), nearest))  # eq:frame-quantity


def _to_segment(p: Array, a: Array, b: Array) -> Array:
    along = b - a
    size = np.sum(along * along, axis=-1)
    part = np.clip(np.sum((p - a) * along, axis=-1) / np.where(size > 0.0, size, 1.0), 0.0, 1.0)
    return np.asarray(np.linalg.norm(p - a - part[..., None] * along, axis=-1))
