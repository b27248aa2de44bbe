"""Joint positions in the pulses of the encoders: what the axis controllers are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from servotwin.description.frames import Array

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Pulses:
    """The encoders behind a transmission: the motors stand at ``N`` (m, n) q, ``per_rad`` (m,) pulses per rad."""

    N: Array
    per_rad: Array

    def counts(self, q: Array) -> IntArray:
        """The nearest pulses (..., m) of joint positions q (..., n), halves upwards (eq:encoder)."""
        # row by row: a product of matrices may round otherwise than that of a vector
        turned = q[..., None, :] @ self.N.T
        return np.floor(turned[..., 0, :] * self.per_rad + 0.5).astype(np.int64)

    def joints(self, counts: IntArray) -> Array:
        """The joint positions (..., n) of pulses (..., m)."""
        return np.asarray(counts / self.per_rad @ np.linalg.inv(self.N).T, dtype=np.float64)
