r"""DAIV-1 of Perez Turiel, Grossi Calleja and Gutierrez Diez (1987): its lumped constants, printed and corrected.

Both models are :math:`P = H(q) \ddot q + h(q, \dot q)` with lumped constants I_3 .. I_18. ``printed=True``
follows the paper, slips included, and reproduces its numbers; ``printed=False`` gives what Lagrange's equations give
for the same bodies (eq:perez-h). docs/papers/perez1987.md goes through the differences one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array


@dataclass(frozen=True)
class Data:
    """Section 6 of the paper; ``d`` is what its program used (0.225 is printed), lengths are both 0.4 m."""

    I_1: float = 1.1
    I_2: float = 0.4
    I_R1: float = 4.5e-4
    I_R2: float = 4.5e-4
    M_2: float = 12.15
    M_R2: float = 1.0  # recovered from 5.9876; the line that should print it reads 'I_R2 = 0.4 m'
    d: float = 0.2254
    l_1: float = 0.4
    l_2: float = 0.4
    n_1: float = 100.0
    n_2: float = 110.0
    I_3p: float = 7.6e-4  # 0.76 is printed; the printed matrices exclude anything from 1e-3 up
    M_p3: float = 1.15
    M_t3: float = 2.15
    M_p3_used: float = 0.15  # what I_8 .. I_12 of the printed numbers contain


SIMPLIFIED = Data()
BASIC = Data(I_2=0.3, M_2=10.0)


def simplified_constants(data: Data = SIMPLIFIED, *, printed: bool = False) -> dict[str, float]:
    """I_3 .. I_6 of the two-link model."""
    steiner = data.M_2 * data.d if printed else data.I_2 + data.M_2 * data.d**2
    rotor = data.n_1 * data.I_R1 if printed else data.n_1**2 * data.I_R1
    return _bars(data, steiner, rotor)


def _bars(data: Data, I_3: float, rotor: float) -> dict[str, float]:
    return {
        "I_3": I_3,
        "I_4": data.I_1 + I_3 + rotor + (data.M_R2 + data.M_2) * data.l_1**2,
        "I_5": data.M_2 * data.l_1 * data.d,
        "I_6": I_3 + data.n_2**2 * data.I_R2,
    }


def basic_constants(data: Data = BASIC, *, printed: bool = False) -> dict[str, float]:
    """I_3 .. I_18 of the three-axis model."""
    c = _bars(data, data.I_2 + data.M_2 * data.d**2, data.n_1**2 * data.I_R1)
    # Corrected: all of element three swings with the end of bar two, term (C) with its radial velocity,
    # and nothing of it is counted a second time in term (A).
    M_p3 = data.M_p3_used if printed else 0.0
    square, product = data.l_1**2 + data.l_2**2, data.l_1 * data.l_2
    c["I_10"] = data.M_t3 * square
    c["I_13"] = data.M_t3 * product
    c["I_12"] = M_p3 * product
    c["I_8"] = M_p3 * square + data.I_3p + c["I_10"]
    c["I_9"] = M_p3 * data.l_2**2 + data.I_3p
    c["I_11"] = 2 * M_p3 * data.l_2**2 + 2 * data.I_3p + c["I_10"]
    c["I_14"] = c["I_4"] + c["I_8"]
    c["I_15"] = c["I_5"] + c["I_13"]
    if printed:
        c["I_16"] = c["I_6"] + c["I_9"] + c["I_10"] / 4
        c["I_17"] = c["I_3"] + c["I_11"]
        c["I_18"] = c["I_5"] + 2 * (c["I_12"] + c["I_13"])
    else:
        c["I_16"] = c["I_6"] + c["I_9"] + data.M_t3 * data.l_2**2
        c["I_17"] = 2 * (c["I_3"] + data.I_3p + data.M_t3 * data.l_2**2)
        c["I_18"] = 2 * (c["I_5"] + c["I_13"])
    return c


def simplified_inertia(q: Array, data: Data = SIMPLIFIED, *, printed: bool = False) -> Array:
    """H (2, 2) at q = (th1, th2) (eq:perez-h)."""
    c = simplified_constants(data, printed=printed)
    cos = float(np.cos(q[1]))
    off = c["I_3"] + c["I_5"] * cos
    return np.array([[c["I_4"] + 2 * c["I_5"] * cos, off], [off, c["I_6"]]])


def basic_inertia(q: Array, data: Data = BASIC, *, printed: bool = False) -> Array:
    """H (3, 3) at q = (th1, th2, q3) (eq:perez-h)."""
    c = basic_constants(data, printed=printed)
    cos = float(np.cos(q[1]))
    off = (c["I_17"] + c["I_18"] * cos) / 2
    H_11 = c["I_14"] + 2 * c["I_15"] * cos
    H_22 = c["I_16"]
    if printed:
        H_11 += 2 * c["I_12"] * float(np.cos(q[0]))
        H_22 += c["I_13"] / 2 * cos
    return np.array([[H_11, off, 0.0], [off, H_22, 0.0], [0.0, 0.0, data.M_p3]])
