"""The compiled part of ``motor_limits``: how much of their drives the joint torques of a motion use."""

from __future__ import annotations

import math

from servotwin.compiled.jit import kernel
from servotwin.mechanism.model import Array


@kernel
def drive_shares(
    tau: Array, qd: Array, qdd: Array, N: Array, N_inverse: Array, drives: Array, out: Array
) -> None:
    """Shares (k, m) that joint torques (k, n) in motions (k, n) take of drives with Coulomb and viscous friction.

    ``drives`` (11, m): torque, speed, voltage, resistance, K_t, K_b and reactance of ``DriveLimits``, Coulomb and
    viscous friction, efficiency of the gear, inertia of the rotor.
    """
    n = tau.shape[1]
    for k in range(len(tau)):
        for j in range(n):
            w = wd = needed = 0.0
            for i in range(n):
                w += N[j, i] * qd[k, i]
                wd += N[j, i] * qdd[k, i]
                needed += tau[k, i] * N_inverse[i, j]
            way = 1.0 if w > 0.0 else -1.0 if w < 0.0 else 0.0
            if drives[9, j] < 1.0 and way != 0.0:
                own = drives[10, j] * wd
                passed = needed - own
                loss = 1.0 / drives[9, j] if passed * way > 0.0 else drives[9, j]
                needed = loss * passed + own  # eq:motor-torque
            needed += drives[8, j] * w + way * drives[7, j]
            i_a = needed / drives[4, j]
            u = math.hypot(drives[3, j] * i_a + drives[5, j] * w, drives[6, j] * w * i_a)
            share = max(abs(needed) / drives[0, j], u / drives[2, j], abs(w) / drives[1, j])
            out[k, j] = share  # eq:drive-share
