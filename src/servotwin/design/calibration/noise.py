r"""What a measuring device leaves unknown: standard deviations of positions, orientations and distances.

A laser tracker measures a distance and two angles. Along the beam and across it,

.. math:: \sigma_\parallel = a_d + b_d\,l, \qquad \sigma_\perp = a_t + b_t\,l                    (eq:tracker)

at the distance l of the reflector. The defaults are half of the permissible errors that makers of trackers state
(10 um + 0.5 um/m along, 15 um + 6 um/m across): two standard deviations each.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array

POSITION, ANGLE, DISTANCE = 5e-5, 1e-4, 5e-6  # m, rad, m: where nothing is stated
MOST_READINGS = 10_000  # of one pose


@dataclass(frozen=True)
class Noise:
    """Standard deviations [m, rad] of what is measured; ``stated`` if they are known, not only in proportion."""

    position: float = POSITION
    angle: float = ANGLE
    distance: float = DISTANCE
    stated: bool = False

    def position_roots(self, points: Array) -> Array:
        """Matrices W (K, 3, 3) that make residuals at measured points (K, 3) white: W C W^T = 1."""
        return np.tile(np.eye(3) / self.position, (len(points), 1, 1))

    def of_mean(self, readings: int) -> Self:
        """The noise of the mean of so many readings at one pose: each deviation over the root of their number."""
        if not 1 <= readings <= MOST_READINGS:
            raise InputError(
                f"{readings}; expected 1 to {MOST_READINGS} readings at a pose", field="--readings"
            )
        part = 1.0 / float(np.sqrt(readings))
        sizes = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "stated"}
        return replace(self, **{name: part * size for name, size in sizes.items()})

    def drawn(self, points: Array, rng: np.random.Generator) -> Array:
        """Errors (K, 3) of measured points (K, 3), seen from the device."""
        white = rng.standard_normal((len(points), 3, 1))
        return np.asarray(np.linalg.solve(self.position_roots(points), white)[..., 0])


@dataclass(frozen=True)
class Tracker(Noise):
    """A laser tracker in the origin of the frame in which it tells positions (eq:tracker) [m, -]."""

    along: float = 5e-6
    along_per_length: float = 2.5e-7
    across: float = 7.5e-6
    across_per_length: float = 3e-6
    stated: bool = True

    def position_roots(self, points: Array) -> Array:
        """See ``Noise``; points are seen from the tracker."""
        length = np.maximum(np.linalg.norm(points, axis=1), 1e-6)
        beam = points / length[:, None]
        along = self.along + self.along_per_length * length
        across = self.across + self.across_per_length * length
        B = beam[:, :, None] * beam[:, None, :]
        return np.asarray(B / along[:, None, None] + (np.eye(3) - B) / across[:, None, None])
