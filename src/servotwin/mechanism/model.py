"""The frozen mechanism that every algorithm reads.

A mechanism is a tree of n moving bodies. Body ``i`` hangs on body
``parent[i]`` (-1 is the base) by joint ``i``; bodies are numbered so that
``parent[i] < i``. The frame of body ``i`` has its z axis on the axis of joint
``i``: the joint turns about z (revolute) or slides along z (prismatic)::

    X_parent_body(q_i) = X_tree[i] @ Rz(q_i)    or    X_tree[i] @ Tz(q_i)

Fixed links are merged into the body that carries them; their frames live on
in ``frames``. Inertial parameters are the ten standard ones about the origin
of the body frame, in its axes, in the order of ``PARAMETERS``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from servotwin.drives.table import DEFAULT

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
BASE = -1


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a body: ``X_body_frame`` is 4x4, ``body`` is -1 for the base."""

    name: str
    body: int
    X_body_frame: Array


class CutKind(Enum):
    """The joint that closes a loop and is cut open virtually."""

    SPHERICAL = "spherical"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"


@dataclass(frozen=True)
class LoopClosure:
    """Frames ``frame_a`` and ``frame_b`` (names) coincide up to the cut joint's freedom about/along z."""

    name: str
    kind: CutKind
    frame_a: str
    frame_b: str


@dataclass(frozen=True)
class Coupling:
    """Linear coupling of all tree joints to the free ones: ``q_tree = G @ x + q0``.

    For an open chain x is q. For a closed chain x is q followed by the passive
    joints, which the loop closures tie to q.
    """

    G: Array
    q0: Array


@dataclass(frozen=True)
class Limits:
    """Per independent joint, infinite where the description is silent (SI, joint side)."""

    q_min: Array
    q_max: Array
    qd_max: Array
    qdd_max: Array
    tau_max: Array


@dataclass(frozen=True)
class Quantities:
    """Named angles and lengths that follow from the joints, and their ranges: z = A q + b, low <= z <= high.

    The angle at which the bars of a parallelogram meet is one; limits hold for it as for a joint.
    """

    names: tuple[str, ...] = ()
    A: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (k, n_q)
    b: Array = field(default_factory=lambda: np.zeros(0))
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))
    lengths: tuple[bool, ...] = ()  # measured in m instead of rad

    def values(self, q: Array) -> Array:
        """z (..., k) at q (..., n_q)."""
        return q @ self.A.T + self.b if self.names else np.zeros((*q.shape[:-1], 0))

    def beyond(self, q: Array) -> Array:
        """How far (..., k) every quantity is outside of its range at q (..., n_q); negative inside."""
        z = self.values(q)
        return np.maximum(self.low - z, z - self.high)


@dataclass(frozen=True)
class FrameQuantities:
    """Named angles and distances between frames, and their ranges.

    ``frames``: for an angle two names, for a distance two points (2), a point and a segment (3) or two segments (4);
    ``axes``: for an angle the two axes (0: x, 1: y, 2: z); ``radius`` is subtracted from a distance [m].
    """

    names: tuple[str, ...] = ()
    frames: tuple[tuple[str, ...], ...] = ()
    axes: tuple[tuple[int, ...], ...] = ()
    radius: tuple[float, ...] = ()
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def lengths(self) -> tuple[bool, ...]:
        """Which are measured in m instead of rad."""
        return tuple(not axes for axes in self.axes)


@dataclass(frozen=True)
class Rotors:
    """Rotors behind the transmission: ``theta_m = N @ q``; inertia ``J_m`` [kg m2] each.

    ``f_m`` [N m s/rad] viscous and ``tau_c`` [N m] dry friction at the motor, zero where none is stated.
    ``kinds`` names the electrical models; where the description is silent a motor counts as 'dc'.
    ``body`` and ``axis`` say where a rotor is mounted and about which axis of that body it turns; they are
    there if the coupling of the rotors' spin with the motion of the links counts (eq:rotor-energy).
    """

    names: tuple[str, ...]
    N: Array
    J_m: Array
    f_m: Array = field(default_factory=lambda: np.zeros(0))
    tau_c: Array = field(default_factory=lambda: np.zeros(0))
    kinds: tuple[str, ...] = ()
    body: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (k,), -1 is the base
    axis: Array = field(default_factory=lambda: np.zeros((0, 3)))  # (k, 3) unit vectors in the bodies' frames

    @property
    def spinning(self) -> tuple[int, ...]:
        """Rotors on moving bodies whose spin couples with the motion of these."""
        moving = np.any(self.N != 0.0, axis=1) & (self.J_m > 0.0)
        return tuple(k for k, body in enumerate(self.body.tolist()) if body >= 0 and moving[k])

    def kind(self, k: int) -> str:
        """Electrical model of motor k."""
        return self.kinds[k] if self.kinds else DEFAULT.name

    @property
    def reflected_inertia(self) -> Array:
        r"""Joint-side inertia matrix of the rotors, :math:`N^T \mathrm{diag}(J_m) N` [kg m2, kg]."""
        return np.asarray(self.N.T @ (self.J_m[:, None] * self.N), dtype=np.float64)


@dataclass(frozen=True)
class Mechanism:
    """Rigid-body tree, its named frames, couplings, loop closures and rotors (SI, radians)."""

    name: str
    tree_joint_names: tuple[str, ...]
    parent: IntArray
    prismatic: BoolArray
    X_tree: Array  # (n, 4, 4)
    phi: Array  # (n, 10), see PARAMETERS
    frames: tuple[Frame, ...]
    tool: str
    gravity: Array  # (3,) acceleration of free fall in the base frame
    joint_names: tuple[str, ...]  # independent joints, the order of q
    coupling: Coupling
    limits: Limits
    rotors: Rotors
    loops: tuple[LoopClosure, ...] = ()
    passive_names: tuple[
        str, ...
    ] = ()  # closed chains: joints that the loops move; columns of G after those of q
    passive_home: Array = field(default_factory=lambda: np.zeros(0))  # their start values at q_home
    q_home: Array = field(default_factory=lambda: np.zeros(0))  # (n_q,) a natural pose; start of searches
    quantities: Quantities = field(default_factory=Quantities)
    frame_quantities: FrameQuantities = field(default_factory=FrameQuantities)
    phi_base: Array = field(
        default_factory=lambda: np.zeros(10)
    )  # what does not move, about the base's origin
    family: str = ""  # closed-form kinematics family: '', 'scara', 'palletizer', 'delta', 'spherical-wrist'
    nominal: Mechanism | None = None  # as drawn, if placements deviate from it (see deviation.py)

    @property
    def n_tree(self) -> int:
        """Number of joints of the spanning tree."""
        return len(self.tree_joint_names)

    @property
    def n_q(self) -> int:
        """Number of independent joint coordinates, the length of q."""
        return len(self.joint_names)

    @property
    def coupled(self) -> bool:
        """True if some tree joints depend linearly on others."""
        return not np.array_equal(self.coupling.G, np.eye(self.n_tree))

    @property
    def opened(self) -> Mechanism:
        """The same tree with its loops cut open: passive joints become independent ones."""
        if not self.loops:
            return self
        pad = np.full(len(self.passive_names), np.inf)
        limits = Limits(
            *(
                np.append(values, sign * pad)
                for values, sign in zip(vars(self.limits).values(), (-1, 1, 1, 1, 1), strict=True)
            )
        )
        rotors = replace(
            self.rotors, N=np.hstack([self.rotors.N, np.zeros((len(self.rotors.J_m), len(pad)))])
        )
        wide = np.zeros((len(self.quantities.names), len(pad)))
        A = np.hstack([self.quantities.A, wide]) if self.quantities.names else self.quantities.A
        return replace(
            self,
            quantities=replace(self.quantities, A=A),
            joint_names=self.joint_names + self.passive_names,
            q_home=np.append(self.q_home, self.passive_home),
            limits=limits,
            rotors=rotors,
            loops=(),
            passive_names=(),
            passive_home=np.zeros(0),
        )

    def frame(self, name: str | None = None) -> Frame:
        """The frame called ``name``; the tool frame if ``name`` is None."""
        wanted = self.tool if name is None else name
        for frame in self.frames:
            if frame.name == wanted:
                return frame
        known = ", ".join(f.name for f in self.frames)
        raise KeyError(f"no frame '{wanted}' in {self.name}; there are: {known}")

    def with_(self, **changes: object) -> Mechanism:
        """A copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]
