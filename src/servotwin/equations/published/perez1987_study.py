r"""DAIV-1: what the simplified and the basic model of Perez 1987 say about the same motions (section 6 of the paper).

The paper compares two models that differ by a body, and finds less coupling with the third element than without. Here
the same motions go through both models as printed, as corrected, and with the slips one at a time, so that physics
and slips can be told apart. And the printed example of A(x) and B(x) is taken to pieces: two ratios inside it show that
the rotor inertia was counted twice,

.. math:: \frac{B_{52}}{B_{42}} = -\frac{n_1^2 J + H_{11}}{H_{12}}, \qquad
          \frac{B_{41} - A_4}{B_{51} - A_5} = -\frac{n_2^2 J + H_{22}}{H_{12}}               (eq:perez-gain)

with H that contains n^2 J already, and A(x) subtracted from the first column, to which it was added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.equations.published import perez1987 as perez
from servotwin.mechanism.model import Array

# Section 6, as printed: state, A(x) and B(x); three times the velocities in the first three rows of A(x).
STATE = np.array([0.25, 0.40, -0.08, 0.20, 0.20, 0.15, 0.70e7])
PRINTED_A = np.array([0.6, 0.6, 0.45, -12.78295, -15.77155, 0.1624270e6, 3738.0])
PRINTED_B = np.array(
    [
        [0.6, 0.0, 0.0],
        [0.6, 0.0, 0.0],
        [0.45, 0.0, 0.0],
        [-10.77502, -0.2767705, 0.0],
        [-16.02565, 2.864963, 0.0],
        [0.1624270e6, 0.0, 0.0],
        [3738.0, 0.0, 0.1916400e6],
    ]
)


# What is behind the difference of a model from the corrected basic one.
REASONS = {
    "simplified, corrected": "physics: element three lumped into bar two",
    "simplified, printed": "that physics and both slips of the simplified model",
    "simplified, rotor ratio": "that physics and one slip: n_1 for n_1^2",
    "simplified, steiner": "that physics and one slip: M_2 d for I_2 + M_2 d^2",
    "basic, corrected": "the reference",
    "basic, printed": "slips alone: the bodies are the same",
    "basic, counted twice": "slip: the sliding mass in the terms (A) and (C)",
    "basic, base angle": "slip: cos th1 for cos th2, in what is counted twice",
    "basic, radial velocity": "slip: the rate of the distance D is left out",
    "basic, halved coupling": "slip: I_3 and I_5 lose a factor 2",
}


@dataclass(frozen=True)
class Motion:
    """A motion of th1 and th2: name, times (k,), positions, velocities and accelerations (k, 2)."""

    name: str
    t: Array
    q: Array
    qd: Array
    qdd: Array


def motions(duration: float = 1.0, count: int = 401) -> list[Motion]:
    """Moves over most of the ranges with continuous acceleration: both axes, and each alone."""
    t = np.linspace(0.0, duration, count)
    s = t / duration
    # 10 s^3 - 15 s^4 + 6 s^5 and its derivatives
    p, v, a = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
        (60 * s - 180 * s**2 + 120 * s**3) / duration**2,
    )
    out = []
    for name, start, stroke in (
        ("both axes", (0.2, 0.1), (2.4, 2.2)),
        ("axis 1 alone", (0.2, 1.2), (2.4, 0.0)),
        ("axis 2 alone", (0.2, 0.1), (0.0, 2.4)),
    ):
        way = np.array(stroke)
        out.append(Motion(name, t, np.array(start) + p[:, None] * way, v[:, None] * way, a[:, None] * way))
    return out


@dataclass(frozen=True)
class Torques:
    """Torques of one model along a motion."""

    model: str  # such as "basic, printed"
    motion: str
    P: Array  # (k, 2) [N m]

    @property
    def reason(self) -> str:
        """Whether physics or a slip of the paper tells it from the corrected basic model."""
        return REASONS[self.model]

    @property
    def rms(self) -> Array:
        """Of both axes [N m]."""
        return np.asarray(np.sqrt((self.P**2).mean(axis=0)))

    @property
    def peak(self) -> Array:
        """Of both axes [N m]."""
        return np.asarray(np.abs(self.P).max(axis=0))


def torques(motion: Motion) -> list[Torques]:
    """All models along a motion: corrected and printed, and the corrected ones with one slip each."""
    cases: list[tuple[str, dict[str, Any]]] = [("corrected", {}), ("printed", {"printed": True})]
    out = []
    for name, slips, inertia, bias in (
        ("simplified", perez.SIMPLIFIED_SLIPS, perez.simplified_inertia, perez.simplified_bias),
        ("basic", perez.BASIC_SLIPS, perez.basic_inertia, perez.basic_bias),
    ):
        # the wrong angle alone is that of a term which exists only where mass is counted twice
        single = [(s, {"slips": ("counted twice", s) if s == "base angle" else (s,)}) for s in slips]
        for label, options in [*cases, *single]:
            H = inertia(motion.q, **options)[..., :2, :2]
            h = bias(motion.q, motion.qd, **options)[..., :2]
            P = np.einsum("kij,kj->ki", H, motion.qdd) + h
            out.append(Torques(f"{name}, {label}", motion.name, P))
    return out


@dataclass(frozen=True)
class GainRatios:
    """The two ratios of eq:perez-gain: in the printed example, and for the rotor counted once or twice."""

    printed: tuple[float, float]
    twice: tuple[float, float]
    once: tuple[float, float]


def gain_ratios(data: perez.Data = perez.BASIC) -> GainRatios:
    """What the printed gain matrix tells about the rotor inertia, whatever K and R were (eq:perez-gain)."""
    B, A = PRINTED_B, PRINTED_A
    first = -B[4, 1] / B[3, 1]
    second = -(B[3, 0] - A[3]) / (B[4, 0] - A[4])
    H = perez.basic_inertia(STATE[:3], data, printed=True)
    rotors = np.array([data.n_1**2 * data.I_R1, data.n_2**2 * data.I_R2])

    def of(H_11: float, H_22: float) -> tuple[float, float]:
        return float(H_11 / H[0, 1]), float(H_22 / H[0, 1])

    return GainRatios(
        (float(first), float(second)),
        of(rotors[0] + H[0, 0], rotors[1] + H[1, 1]),
        of(H[0, 0], H[1, 1]),
    )
