r"""DAIV-1 of Perez Turiel, Grossi Calleja and Gutierrez Diez (1987): its lumped constants, printed and corrected.

Both models are :math:`P = H(q) \ddot q + h(q, \dot q)` with lumped constants I_3 .. I_18. ``printed=True``
follows the paper, slips included, and reproduces its numbers; ``printed=False`` gives what Lagrange's equations give
for the same bodies (eq:perez-h). In between, ``slips`` names some of the paper's slips, so that the effect of each can
be told. docs/papers/perez1987.md goes through them one by one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.mechanism.model import Array

G = 9.80665  # m/s2: on q3, which is vertical; the paper neglects it

# Of the simplified model: n_1 I_R1 for n_1^2 I_R1; I_3 = M_2 d for I_2 + M_2 d^2.
SIMPLIFIED_SLIPS = ("rotor ratio", "steiner")
# Of the basic model: 0.15 kg of element three counted in term (A) besides (C); cos th1 for cos th2; term (C) without
# the radial velocity; I_3 and I_5 halved in H_12.
BASIC_SLIPS = ("counted twice", "base angle", "radial velocity", "halved coupling")


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


def _slips(printed: bool, slips: Collection[str], known: tuple[str, ...]) -> frozenset[str]:
    chosen = frozenset(known if printed else slips)
    if not chosen <= set(known):
        raise ServotwinError(f"slips are {sorted(chosen)}; expected some of {', '.join(known)}")
    return chosen


# --- simplified model ------------------------------------------------------------------------------
def simplified_constants(
    data: Data = SIMPLIFIED, *, printed: bool = False, slips: Collection[str] = ()
) -> dict[str, float]:
    """I_3 .. I_6 of the two-link model."""
    made = _slips(printed, slips, SIMPLIFIED_SLIPS)
    steiner = data.M_2 * data.d if "steiner" in made else data.I_2 + data.M_2 * data.d**2
    rotor = (data.n_1 if "rotor ratio" in made else data.n_1**2) * data.I_R1
    return _bars(data, steiner, rotor)


def _bars(data: Data, I_3: float, rotor: float) -> dict[str, float]:
    return {
        "I_3": I_3,
        "I_4": data.I_1 + I_3 + rotor + (data.M_R2 + data.M_2) * data.l_1**2,
        "I_5": data.M_2 * data.l_1 * data.d,
        "I_6": I_3 + data.n_2**2 * data.I_R2,
    }


def simplified_inertia(
    q: Array, data: Data = SIMPLIFIED, *, printed: bool = False, slips: Collection[str] = ()
) -> Array:
    """H (..., 2, 2) at q = (th1, th2) (eq:perez-h)."""
    c = simplified_constants(data, printed=printed, slips=slips)
    cos = np.cos(np.asarray(q)[..., 1])
    off = c["I_3"] + c["I_5"] * cos
    return _matrix([[c["I_4"] + 2 * c["I_5"] * cos, off], [off, c["I_6"] + 0.0 * cos]])


def simplified_bias(
    q: Array, qd: Array, data: Data = SIMPLIFIED, *, printed: bool = False, slips: Collection[str] = ()
) -> Array:
    """h (..., 2): what the paper prints is what Lagrange's equations give for its constants (eq:perez-h)."""
    c = simplified_constants(data, printed=printed, slips=slips)
    w_1, w_2 = np.moveaxis(np.asarray(qd)[..., :2], -1, 0)
    sin = np.sin(np.asarray(q)[..., 1])
    h_1 = -2 * c["I_5"] * sin * w_1 * w_2 - c["I_5"] * sin * w_2**2
    return np.stack([h_1, c["I_5"] * sin * w_1**2], axis=-1)


# --- basic model -----------------------------------------------------------------------------------
def basic_constants(
    data: Data = BASIC, *, printed: bool = False, slips: Collection[str] = ()
) -> dict[str, float]:
    """I_3 .. I_18 of the three-axis model."""
    made = _slips(printed, slips, BASIC_SLIPS)
    c = _bars(data, data.I_2 + data.M_2 * data.d**2, data.n_1**2 * data.I_R1)
    # Corrected: all of element three swings with the end of bar two, term (C) with its radial velocity,
    # and nothing of it is counted a second time in term (A).
    M_p3 = data.M_p3_used if "counted twice" in made else 0.0
    square, product = data.l_1**2 + data.l_2**2, data.l_1 * data.l_2
    c["I_10"] = data.M_t3 * square
    c["I_13"] = data.M_t3 * product
    c["I_12"] = M_p3 * product
    c["I_8"] = M_p3 * square + data.I_3p + c["I_10"]
    c["I_9"] = M_p3 * data.l_2**2 + data.I_3p
    radial = "radial velocity" in made
    swing = c["I_10"] if radial else 2 * data.M_t3 * data.l_2**2
    c["I_11"] = 2 * M_p3 * data.l_2**2 + 2 * data.I_3p + swing
    share = 1.0 if "halved coupling" in made else 2.0
    c["I_14"] = c["I_4"] + c["I_8"]
    c["I_15"] = c["I_5"] + c["I_13"]
    c["I_16"] = c["I_6"] + c["I_9"] + (c["I_10"] / 4 if radial else data.M_t3 * data.l_2**2)
    c["I_17"] = share * c["I_3"] + c["I_11"]
    c["I_18"] = share * c["I_5"] + 2 * (c["I_12"] + c["I_13"])
    return c


def basic_inertia(
    q: Array, data: Data = BASIC, *, printed: bool = False, slips: Collection[str] = ()
) -> Array:
    """H (..., 3, 3) at q = (th1, th2, q3) (eq:perez-h)."""
    made = _slips(printed, slips, BASIC_SLIPS)
    c = basic_constants(data, slips=made)
    q = np.asarray(q)
    cos_1, cos_2 = np.cos(q[..., 0]), np.cos(q[..., 1])
    off = (c["I_17"] + c["I_18"] * cos_2) / 2
    H_11 = c["I_14"] + 2 * c["I_15"] * cos_2 + 2 * c["I_12"] * (cos_1 if "base angle" in made else cos_2)
    H_22 = c["I_16"] + (c["I_13"] / 2 * cos_2 if "radial velocity" in made else 0.0 * cos_2)
    zero = 0.0 * cos_2
    return _matrix([[H_11, off, zero], [off, H_22, zero], [zero, zero, zero + data.M_p3]])


def basic_bias(
    q: Array,
    qd: Array,
    data: Data = BASIC,
    *,
    printed: bool = False,
    slips: Collection[str] = (),
    gravity: bool | None = None,
) -> Array:
    """h (..., 3) (eq:perez-h).

    ``printed``: as the paper has it, which leaves out what its own term in cos th1 gives, and gravity on q3. Otherwise
    what Lagrange's equations give for H with these slips, with gravity unless it is switched off.
    """
    made = _slips(printed, slips, BASIC_SLIPS)
    c = basic_constants(data, slips=made)
    q, qd = np.asarray(q), np.asarray(qd)
    w_1, w_2 = qd[..., 0], qd[..., 1]
    sin_1, sin_2 = np.sin(q[..., 0]), np.sin(q[..., 1])
    I_13 = c["I_13"] if "radial velocity" in made else 0.0
    I_15 = c["I_15"]
    own = 0.0 if printed else c["I_12"]  # of the term 2 I_12 cos(...) in H_11
    if "base angle" not in made:
        I_15, own = I_15 + own, 0.0
    h_1 = -2 * I_15 * sin_2 * w_1 * w_2 - c["I_18"] / 2 * sin_2 * w_2**2 - own * sin_1 * w_1**2
    h_2 = I_15 * sin_2 * w_1**2 - I_13 / 4 * sin_2 * w_2**2
    pull = data.M_p3 * G if (not printed if gravity is None else gravity) else 0.0
    return np.stack([h_1, h_2, 0.0 * h_1 + pull], axis=-1)


def _matrix(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
