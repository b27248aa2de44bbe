r"""What calibration may find: parameters by name, with units and the sizes that machining leaves.

Deviations of placements (eq:deviation), and what an encoder says against where its joint stands,

.. math:: \delta q = o + s\,q + (1 + s)\,A^{-1} \Bigl( \sum_{k=1}^2 a_k \sin k\varphi + b_k (\cos k\varphi - 1)
          - C A^{-T} \tau_g(q) \Bigr), \qquad \varphi = A q                            (eq:calibration-joint)

with the turn :math:`\varphi` of the gear outputs, eccentricity (first and second harmonic) a, b and compliance C of the
actuators. An eccentricity is zero at zero: its constant part is the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.deviation import places
from servotwin.mechanism.model import Array, Mechanism

FAMILIES = ("geometry", "offsets", "scale", "compliance", "eccentricity")
DEFAULT = ("geometry", "offsets")
AXES = ("x", "y", "z")


class Kind(Enum):
    """What a parameter does."""

    POSITION = "position"
    ROTATION = "rotation"
    OFFSET = "offset"
    SCALE = "scale"
    COMPLIANCE = "compliance"
    SINE = "sine"
    COSINE = "cosine"


# Usual sizes of what is unknown: columns are scaled by them before their rank is judged.
LENGTH, ANGLE, SCALE = 1e-3, 1e-3, 1e-4


@dataclass(frozen=True)
class Parameter:
    """One number that calibration may find: of a place (deviation) or of a joint or actuator, by its name."""

    kind: Kind
    place: str
    index: int  # component of a vector, joint of q or actuator
    unit: str
    typical: float  # what it may well be: its scale, and the standard deviation of a prior
    order: int = 0  # of a harmonic

    @property
    def name(self) -> str:
        """``th2.rotation.x``, ``th3.offset``, ``th1.eccentricity.sin2``."""
        if self.kind in (Kind.POSITION, Kind.ROTATION):
            return f"{self.place}.{self.kind.value}.{AXES[self.index]}"
        if self.kind in (Kind.SINE, Kind.COSINE):
            return f"{self.place}.eccentricity.{'sin' if self.kind is Kind.SINE else 'cos'}{self.order}"
        return f"{self.place}.{self.kind.value}"


@dataclass(frozen=True)
class Actuators:
    """Gear outputs: turns phi = A q, square and invertible; joints themselves where no transmission is known."""

    names: tuple[str, ...]
    A: Array  # (n, n)
    A_inv: Array

    @classmethod
    def of(cls, mechanism: Mechanism) -> Actuators:
        """From the ratios of the rotors, each row scaled to turns of its gear's output."""
        N, names = mechanism.rotors.N, mechanism.rotors.names
        n = mechanism.n_q
        if N.shape == (n, n) and np.all(np.abs(N).max(axis=1) > 0.0):
            A = N / np.abs(N).max(axis=1, keepdims=True)
            if np.linalg.cond(A) < 1e6:
                own = tuple(
                    mechanism.joint_names[i] if np.count_nonzero(A[i]) == 1 and A[i, i] else name
                    for i, name in enumerate(names)
                )
                return cls(own, A, np.linalg.inv(A))
        return cls(mechanism.joint_names, np.eye(n), np.eye(n))


def parameters_of(
    mechanism: Mechanism, families: Sequence[str], stiffness: float, *, base: bool
) -> list[Parameter]:
    """All candidates of the families, in the order in which they are preferred when several do the same.

    Offsets come before turns about the same axis, joints of q before passive ones and sides of loops;
    ``base``: the base may be displaced against the frame of the measurements, and there is no station for it.
    ``stiffness`` [N m/rad, N/m]: that of a joint which is usual for the robot, for the scale of compliances.
    """
    unknown = [name for name in families if name not in FAMILIES]
    if unknown or not families:
        given = ", ".join(families) or "nothing"
        raise InputError(f"parameters: {given}; expected some of {', '.join(FAMILIES)}")
    sliding = dict(zip(mechanism.tree_joint_names, mechanism.prismatic, strict=True))
    joints, actuators = mechanism.joint_names, Actuators.of(mechanism)
    found: list[Parameter] = []
    if "geometry" in families:
        first = [*(["base"] if base else []), "tool"]
        found += [p for place in first for p in _placed(place)]
    if "offsets" in families:
        for i, name in enumerate(joints):
            unit, size = ("m", LENGTH) if sliding[name] else ("rad", ANGLE)
            found.append(Parameter(Kind.OFFSET, name, i, unit, size))
    if "geometry" in families:
        rest = [name for name in places(mechanism) if name not in ("base", "tool")]
        found += [p for place in sorted(rest, key=lambda name: name not in joints) for p in _placed(place)]
    if "scale" in families:
        found += [Parameter(Kind.SCALE, name, i, "", SCALE) for i, name in enumerate(joints)]
    for i, name in enumerate(actuators.names):
        slides = bool(sliding.get(joints[i], False))
        if "compliance" in families:
            unit = "m/N" if slides else "rad/(N*m)"
            found.append(Parameter(Kind.COMPLIANCE, name, i, unit, 1.0 / stiffness))
        if "eccentricity" in families and not slides:
            for order in (1, 2):
                found += [Parameter(kind, name, i, "rad", ANGLE, order) for kind in (Kind.SINE, Kind.COSINE)]
    return found


def _placed(place: str) -> list[Parameter]:
    shifts = [Parameter(Kind.POSITION, place, i, "m", LENGTH) for i in range(3)]
    return shifts + [Parameter(Kind.ROTATION, place, i, "rad", ANGLE) for i in range(3)]
