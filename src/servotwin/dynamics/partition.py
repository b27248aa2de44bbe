"""Torque given at some joints, acceleration at the others, from M and h."""

from __future__ import annotations

import numpy as np

from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array, BoolArray


def solve_partly(M: Array, h: Array, tau: Array, qdd: Array, given_tau: BoolArray) -> tuple[Array, Array]:
    """Complete (tau, qdd) of ``M qdd + h = tau``; tau is read where ``given_tau``, qdd elsewhere.

    M (..., n, n), the vectors (..., n). With f the joints whose torque is given
    and p the others: M_ff qdd_f = tau_f - h_f - M_fp qdd_p.
    """
    lead = np.broadcast_shapes(M.shape[:-2], h.shape[:-1], tau.shape[:-1], qdd.shape[:-1])
    n = M.shape[-1]
    full_qdd = np.where(given_tau, 0.0, np.broadcast_to(qdd, (*lead, n)))
    f = np.flatnonzero(given_tau)
    if f.size:
        rest = (tau - h - (M @ full_qdd[..., None])[..., 0])[..., f]
        try:
            full_qdd[..., f] = np.linalg.solve(M[..., f[:, None], f], rest[..., None])[..., 0]
        except np.linalg.LinAlgError:
            raise UnsupportedError(
                "the mass matrix is singular: some joint moves no inertia, so a torque does not fix its "
                "acceleration; give its links a mass and an extent, or count the rotors with drives=True"
            ) from None
    full_tau = (M @ full_qdd[..., None])[..., 0] + h
    return np.where(given_tau, tau, full_tau), full_qdd
