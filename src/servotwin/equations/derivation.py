"""A mechanism on symbols: the tree as graph nodes, ready for the algorithms in ``dynamics``.

Numbers that are exactly 0, 1 or -1 stay numbers and fold away; every other
number becomes a parameter of the graph. Two robots whose zeros and ones fall
in the same places therefore share one graph, and so one compiled kernel.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from servotwin.dynamics.chain import Chain, Joint, Moments, Turn
from servotwin.dynamics.spin import Spin
from servotwin.dynamics.vector import Scalar
from servotwin.equations.graph import Expr, Graph
from servotwin.errors import UnsupportedError
from servotwin.mechanism.canonical import CanonicalTree, canonical_tree, exact_cos_sin
from servotwin.mechanism.grouping import MOMENTS, moments
from servotwin.mechanism.model import Array, CutKind, Mechanism, Rotors

LITERALS = (0.0, 1.0, -1.0)
JOINT_NUMBERS = ("cg", "sg", "cw", "sw", "ca", "sa", "ct", "st", "b", "d", "r")


@dataclass(frozen=True)
class Cut:
    """Loop closures of an opened tree: cut joints, independent equations, number of actuated joints."""

    loops: tuple[tuple[CutKind, str, str], ...]
    rows: tuple[int, ...]
    n: int


@dataclass(frozen=True)
class SpinNumbers:
    """A rotor on a moving body: its axis in the canonical body frame, inertia and ratios (see dynamics.spin)."""

    body: int
    axis: Array
    J_m: float
    N: Array


@dataclass(frozen=True)
class Numbers:
    """All numbers of a mechanism in canonical frames, in one place."""

    tree: CanonicalTree
    grouped: Array  # (n, 10) moment-form parameters for torques
    ungrouped: Array  # (n, 10) the same before grouping, for energies
    gravity: Array
    G: Array
    q0: Array
    reflected: Array  # (n_q, n_q) inertia of the rotors behind the transmission
    frames: dict[str, tuple[int, Array]]  # body, transform from the canonical body frame
    cut: Cut | None = None
    spins: tuple[SpinNumbers, ...] = ()  # rotors on moving bodies

    @classmethod
    def of(cls, mechanism: Mechanism, cut: Cut | None = None, reflected: Rotors | None = None) -> Numbers:
        """Read a mechanism; ``cut`` says how its loops are closed, ``reflected`` whose rotors count."""
        if mechanism.loops:
            raise UnsupportedError(
                f"{mechanism.name} has loops: take the numbers of the closed chain from Robot.numbers, or those of "
                "its tree, cut open, from mechanism.opened"
            )
        tree = canonical_tree(mechanism)
        frames = {}
        for frame in mechanism.frames:
            X = frame.X_body_frame
            if frame.body >= 0:
                X = snap(np.linalg.inv(tree.X_old_new[frame.body]) @ X)
            frames[frame.name] = (frame.body, X)
        return cls(
            tree=tree,
            grouped=moments(mechanism, tree),
            ungrouped=moments(mechanism, tree, grouped=False),
            gravity=mechanism.gravity,
            G=mechanism.coupling.G,
            q0=mechanism.coupling.q0,
            reflected=(reflected or mechanism.rotors).reflected_inertia,
            frames=frames,
            cut=cut,
            spins=_spins(reflected or mechanism.rotors, tree),
        )

    @cached_property
    def joint_rows(self) -> Array:
        """(n, 11): cos/sin of gamma, twist, alpha and theta, then b, d, r."""
        t = self.tree
        rows = [
            [
                *exact_cos_sin(float(t.gamma[i])),
                *exact_cos_sin(float(t.twist[i])),
                *exact_cos_sin(float(t.alpha[i])),
                *exact_cos_sin(float(t.theta[i])),
                t.b[i],
                t.d[i],
                t.r[i],
            ]
            for i in range(len(t.parent))
        ]
        return np.array(rows, dtype=np.float64).reshape(len(t.parent), 11)

    def table(
        self, *, energy: bool = False, drives: bool = False, frame: str | None = None
    ) -> dict[str, float]:
        """Every number a kernel may ask for, by name, in a fixed order."""
        out: dict[str, float] = {}
        for i, row in enumerate(self.joint_rows):
            out.update(zip((f"{name}{i}" for name in JOINT_NUMBERS), row.tolist(), strict=True))
            out[f"th{i}"] = float(self.tree.theta[i])
        for i, row in enumerate(self.ungrouped if energy else self.grouped):
            out.update(zip((f"{name}{i}" for name in MOMENTS), row.tolist(), strict=True))
        out.update(zip(("gx", "gy", "gz"), self.gravity.tolist(), strict=True))
        _put_matrix(out, "G", self.G)
        out.update((f"q0_{i}", value) for i, value in enumerate(self.q0.tolist()))
        if drives:
            _put_matrix(out, "Jr", self.reflected)
        for k, spin in enumerate(self.spins):
            out[f"SJ{k}"] = spin.J_m
            out.update((f"Sa{k}_{i}", value) for i, value in enumerate(spin.axis.tolist()))
            out.update((f"SN{k}_{j}", value) for j, value in enumerate(spin.N.tolist()))
        # Frames go by their role, not by their name: robots that share a kernel name them differently.
        if frame is not None:
            _put_matrix(out, "X", self.frames[frame][1][:3])
        for k, (_, a, b) in enumerate(self.cut.loops if self.cut else ()):
            _put_matrix(out, f"A{k}_", self.frames[a][1][:3])
            _put_matrix(out, f"B{k}_", self.frames[b][1][:3])
        return out


def _spins(rotors: Rotors, tree: CanonicalTree) -> tuple[SpinNumbers, ...]:
    out = []
    for k in rotors.spinning:
        body = int(rotors.body[k])
        X = np.eye(4)
        X[:3, 0] = tree.X_old_new[body][:3, :3].T @ rotors.axis[k]
        out.append(SpinNumbers(body, snap(X)[:3, 0], float(rotors.J_m[k]), rotors.N[k]))
    return tuple(out)


def _put_matrix(table: dict[str, float], name: str, matrix: Array) -> None:
    for i, row in enumerate(matrix.tolist()):
        table.update((f"{name}{i}_{j}", value) for j, value in enumerate(row))


def snap(X: Array) -> Array:
    """Exact 0 and +-1 in a rotation, exact 0 in a translation, where only rounding speaks against it."""
    out = X.copy()
    for value in (0.0, 1.0, -1.0):
        near = np.abs(X[:3, :3] - value) < 1e-13
        out[:3, :3][near] = value
    out[:3, 3][np.abs(X[:3, 3]) < 1e-15] = 0.0
    return out


@dataclass
class Derivation:
    """A graph under construction, and the numbers of the robot it may ask for."""

    numbers: Numbers
    table: dict[str, float]
    graph: Graph = field(default_factory=Graph)
    _made: dict[str, Expr] = field(default_factory=dict)

    def number(self, name: str) -> Scalar:
        """A literal if the value is exactly 0, 1 or -1; otherwise a parameter of the graph."""
        value = self.table[name]
        if value in LITERALS:
            return value
        if name not in self._made:
            self._made[name] = self.graph.param(name)
        return self._made[name]

    def inputs(self, name: str, count: int) -> list[Expr]:
        """A vector of inputs."""
        return [self.graph.input(f"{name}{i}") for i in range(count)]

    def expand(self, q: Sequence[Scalar], *, offset: bool) -> list[Scalar]:
        """Tree coordinates (or rates) from the independent ones: G q + q0."""
        n, m = self.numbers.G.shape
        out: list[Scalar] = []
        for i in range(n):
            total: Scalar = 0.0
            for j in range(m):
                total = total + self.number(f"G{i}_{j}") * q[j]
            out.append(total + self.number(f"q0_{i}") if offset else total)
        return out

    def reduce(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """Efforts (or a row over tree joints) at the independent joints: G^T tau."""
        n, m = self.numbers.G.shape
        out: list[Scalar] = []
        for j in range(m):
            total: Scalar = 0.0
            for i in range(n):
                total = total + self.number(f"G{i}_{j}") * tau[i]
            out.append(total)
        return out

    def chain(self, q_tree: Sequence[Scalar]) -> Chain:
        """The tree at symbolic coordinates."""
        return Chain(
            joints=[self._joint(i, q) for i, q in enumerate(q_tree)],
            bodies=[self._body(i) for i in range(len(q_tree))],
            gravity=(self.number("gx"), self.number("gy"), self.number("gz")),
        )

    def spins(self) -> list[Spin]:
        """The rotors on moving bodies."""
        out = []
        for k, spin in enumerate(self.numbers.spins):
            axis = (self.number(f"Sa{k}_0"), self.number(f"Sa{k}_1"), self.number(f"Sa{k}_2"))
            ratios = [self.number(f"SN{k}_{j}") for j in range(len(spin.N))]
            out.append(Spin(spin.body, axis, self.number(f"SJ{k}"), ratios))
        return out

    def _joint(self, i: int, q: Scalar) -> Joint:
        cg, sg, cw, sw, ca, sa, ct, st, b, d, r = (f"{name}{i}" for name in JOINT_NUMBERS)
        prismatic = bool(self.numbers.tree.prismatic[i])
        length = self.number(r)
        if prismatic:
            turn: Turn = (self.number(ct), self.number(st))
            length = length + q
        else:
            turn = self._turn(i, q)
        return Joint(
            parent=int(self.numbers.tree.parent[i]),
            prismatic=prismatic,
            gamma=(self.number(cg), self.number(sg)),
            b=self.number(b),
            twist=(self.number(cw), self.number(sw)),
            alpha=(self.number(ca), self.number(sa)),
            d=self.number(d),
            theta=turn,
            r=length,
        )

    def _turn(self, i: int, q: Scalar) -> Turn:
        """Cosine and sine of theta + q; right angles swap and sign them instead of adding."""
        graph = self.graph
        c, s = self.table[f"ct{i}"], self.table[f"st{i}"]
        if c in LITERALS and s in LITERALS:
            angle = graph.lift(q)
            cq, sq = graph.cos(angle), graph.sin(angle)
            return c * cq - s * sq, s * cq + c * sq
        angle = graph.lift(q + self.number(f"th{i}"))
        return graph.cos(angle), graph.sin(angle)

    def _body(self, i: int) -> Moments:
        m, mx, my, mz, *J = (self.number(f"{name}{i}") for name in MOMENTS)
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = J
        return Moments(m, (mx, my, mz), (Jxx, Jxy, Jyy, Jxz, Jyz, Jzz))


def structure_key(kind: str, numbers: Numbers, table: dict[str, float]) -> str:
    """Name of everything that decides the graph of one kernel: robots with equal keys share it."""
    marks = {0.0: "0", 1.0: "+", -1.0: "-"}
    pattern = "".join(marks.get(value, "p") for value in table.values())
    tree = numbers.tree
    parts = [kind, numbers.G.shape, tree.parent.tolist(), tree.prismatic.astype(int).tolist(), pattern]
    if numbers.spins:
        parts.append([spin.body for spin in numbers.spins])
    if numbers.cut is not None:
        bodies = [(k.value, numbers.frames[a][0], numbers.frames[b][0]) for k, a, b in numbers.cut.loops]
        parts += [bodies, numbers.cut.rows, numbers.cut.n]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
