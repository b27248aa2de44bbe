"""Energy that an actuator stores."""

from __future__ import annotations

import numpy as np

from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array


def magnetic_energy(motor: np.void, y: Array) -> float:
    """Energy in the windings of one motor [J]."""
    at = int(motor["current_at"])
    if at < 0 or not motor["exact"]:
        return 0.0
    if motor["feed"] == Feed.THREE_PHASE:
        return float(0.75 * (motor["L_d"] * y[at] ** 2 + motor["L_q"] * y[at + 1] ** 2))
    return float(0.5 * motor["L"] * y[at] ** 2)
