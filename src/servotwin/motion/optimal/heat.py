r"""Winding temperatures of a motion that is repeated for ever, exactly: the periodic solution of eq:thermal.

Between two nodes the current is a straight line; its loss is taken by its mean, which is exact for the heat. The
resistance follows the mean temperature of the cycle.
"""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.drive_model import DriveModel

ROUNDS = 30  # of resistance and temperature


def mean_rise(drives: DriveModel, t: Array, i: Array, rest: float, held: Array) -> Array:
    """Mean rises (m,) [K] over the cycle of motion and rest (eq:cycle-heat); infinite where it runs away.

    ``held`` (m,) [A]: the currents that hold the arm during the rest.
    """
    dt = np.diff(t)[:, None]
    square = ((i[1:] ** 2 + i[1:] * i[:-1] + i[:-1] ** 2) / 3.0 * dt).sum(axis=0) + rest * held**2
    cold = (drives.R_wh + drives.R_ha) * drives.phases * drives.R * square / (t[-1] + rest)
    left = 1.0 - drives.alpha * cold
    return np.where(left > 0.0, cold / np.where(left > 0.0, left, 1.0), np.inf)


def winding_temperatures(drives: DriveModel, t: Array, i: Array, rest: float, held: Array) -> Array:
    """Temperatures (N + 1, m) [degC] of the windings over the repeated motion; NaN without a thermal model."""
    out = np.full(i.shape, np.nan)
    rise = mean_rise(drives, t, i, rest, held)
    for j in np.flatnonzero(drives.heated & np.isfinite(rise)):
        out[:, j] = drives.ambient[j] + _rises(
            drives, int(j), t, i[:, j], (rest, float(held[j])), float(rise[j])
        )
    return out


def _rises(drives: DriveModel, j: int, t: Array, i: Array, rest: tuple[float, float], mean: float) -> Array:
    """Rises (N + 1,) of one winding; its housing, whose time constant is far longer, stays at its mean.

    ``rest``: how long [s] it rests, and its current [A] then.
    """
    tau = drives.C_w[j] * drives.R_wh[j]
    share = drives.R_ha[j] / (drives.R_wh[j] + drives.R_ha[j])
    housing = share * mean
    R = drives.phases[j] * drives.R[j] * (1.0 + drives.alpha[j] * mean)
    power = R * (i[1:] ** 2 + i[1:] * i[:-1] + i[:-1] ** 2) / 3.0
    level = housing + drives.R_wh[j] * np.append(power, R * rest[1] ** 2)
    fade = np.exp(-np.append(np.diff(t), rest[0]) / tau)
    particular = np.zeros(t.size + 1)
    for k in range(t.size):
        particular[k + 1] = level[k] + (particular[k] - level[k]) * fade[k]
    first = particular[-1] / (1.0 - fade.prod())
    decay = np.concatenate([[1.0], np.cumprod(fade)[:-1]])
    return np.asarray(particular[:-1] + first * decay)


def ripple(drives: DriveModel, t: Array, i: Array, rest: float, held: Array) -> Array:
    """By how much (m,) [K] windings are hotter at times than the mean of their cycle."""
    peak = (
        np.nanmax(np.nan_to_num(winding_temperatures(drives, t, i, rest, held), nan=-np.inf), axis=0)
        - drives.ambient
    )
    mean = mean_rise(drives, t, i, rest, held)
    known = drives.heated & np.isfinite(mean)
    return np.where(known, np.maximum(np.where(known, peak, 0.0) - np.where(known, mean, 0.0), 0.0), 0.0)
