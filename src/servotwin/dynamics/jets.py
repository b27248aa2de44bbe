"""A scalar with its first and second time derivative, over any scalar.

The kinematics of ``dynamics.kinematics`` run on jets as on numbers. With the rates of the joints given and
their accelerations zero, the second part of what comes out is the acceleration that velocity alone causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from servotwin.dynamics.chain import Chain, Joint, Turn
from servotwin.dynamics.vector import Scalar


@dataclass(frozen=True)
class Jet:
    """Value, rate and acceleration of a quantity."""

    v: Scalar
    d: Scalar = 0.0
    dd: Scalar = 0.0

    def __add__(self, other: Jet | float) -> Jet:
        o = lift(other)
        return Jet(self.v + o.v, self.d + o.d, self.dd + o.dd)

    __radd__ = __add__

    def __sub__(self, other: Jet | float) -> Jet:
        o = lift(other)
        return Jet(self.v - o.v, self.d - o.d, self.dd - o.dd)

    def __rsub__(self, other: Jet | float) -> Jet:
        return lift(other) - self

    def __mul__(self, other: Jet | float) -> Jet:
        o = lift(other)
        return Jet(
            self.v * o.v, self.d * o.v + self.v * o.d, self.dd * o.v + 2.0 * (self.d * o.d) + self.v * o.dd
        )

    __rmul__ = __mul__

    def __neg__(self) -> Jet:
        return Jet(-self.v, -self.d, -self.dd)


def lift(value: Jet | Scalar) -> Jet:
    """A jet as it is, anything else as a constant."""
    return value if isinstance(value, Jet) else Jet(value)


def moving_chain(chain: Chain, rates: Sequence[Scalar]) -> Chain:
    """The tree with every joint moving at a constant rate [rad/s, m/s]."""
    return replace(chain, joints=[_moving(joint, w) for joint, w in zip(chain.joints, rates, strict=True)])


def _moving(joint: Joint, w: Scalar) -> Joint:
    def still(turn: Turn) -> Turn:
        return Jet(turn[0]), Jet(turn[1])

    theta, r = still(joint.theta), Jet(joint.r)
    if joint.prismatic:
        r = Jet(joint.r, w)
    else:
        c, s = joint.theta
        theta = (Jet(c, -(s * w), -(c * (w * w))), Jet(s, c * w, -(s * (w * w))))
    return replace(
        joint, gamma=still(joint.gamma), b=Jet(joint.b), twist=still(joint.twist), alpha=still(joint.alpha),
        d=Jet(joint.d), theta=theta, r=r,
    )  # fmt: skip
