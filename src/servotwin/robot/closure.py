"""How the loops of a closed chain hold it: assembly, independent equations, mobility.

The equations of a cut joint are often redundant (a planar four-bar cut at a revolute joint gives
five, of which three only say that the plane is a plane). Which ones are independent is decided by rank
at several assembled positions around home, and what was dropped is kept for the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from servotwin.dynamics.loops import EQUATIONS, last_common
from servotwin.errors import KinematicsError
from servotwin.mechanism.canonical import canonical_tree
from servotwin.mechanism.model import Array, CutKind, LoopClosure, Mechanism

CLOSED = 1e-12  # gap, relative to the size of the mechanism, at which loops count as closed
RANK = 1e-8  # singular values below this part of the largest count as zero
FREEDOMS = {CutKind.SPHERICAL: 3, CutKind.REVOLUTE: 1, CutKind.PRISMATIC: 1}
NEARBY = 0.05  # rad or m: how far around home independence is tested
SAMPLES = 12
ATTEMPTS = 60


@dataclass(frozen=True)
class Closure:
    """What the loops of a mechanism amount to."""

    x_home: Array  # assembled coordinates at home, actuated joints first
    rows: tuple[int, ...]  # independent equations
    names: tuple[str, ...]  # of all equations
    mobility: int  # freedoms by rank of the assembled loops
    counted: int  # freedoms by counting joints: sum of joint freedoms - 6 per loop (Song 1995, eq 7)
    searched: bool  # the stated home did not close; the branch was found from a random start

    @property
    def dropped(self) -> tuple[str, ...]:
        """Equations that the others imply."""
        return tuple(name for k, name in enumerate(self.names) if k not in self.rows)

    @property
    def overconstrained(self) -> bool:
        """True if the loops move only because of special lengths and directions."""
        return self.mobility > self.counted

    def text(self) -> str:
        """One paragraph for people."""
        lines = [
            f"mobility {self.mobility} (rank of the assembled loops); "
            f"counting joints, freedoms - 6 per loop, gives {self.counted}",
            f"{len(self.rows)} of {len(self.names)} closure equations are independent",
        ]
        if self.dropped:
            lines.append("redundant, dropped: " + ", ".join(self.dropped))
        if self.overconstrained:
            lines.append(
                "the count differs because the loops are overconstrained: they move by their geometry"
            )
        if self.searched:
            lines.append(
                "the branch was found by a search; start values of the passive joints in 'home' choose it"
            )
        return "; ".join(lines)


@dataclass(frozen=True)
class Loops:
    """The closures of a mechanism as functions of the coordinates x of the opened tree, one point at a time."""

    mechanism: Mechanism
    gap: Callable[[Array], Array]  # all closures
    gradient: Callable[[Array], Array]  # their derivative
    poses: Callable[[Array], dict[str, Array]]  # of all frames

    @property
    def size(self) -> float:
        """Length that gaps are compared with [m]."""
        return size_of(self.mechanism)

    def closed(self, x: Array) -> bool:
        """True if every gap is zero up to rounding."""
        gap = self.gap(x)
        return bool(np.isfinite(gap).all() and np.abs(gap).max(initial=0.0) < CLOSED * self.size)

    def reversed_cut(self, x: Array) -> LoopClosure | None:
        """A cut whose frames fulfil the equations the wrong way round (turned by half a turn), if any."""
        directed = [loop for loop in self.mechanism.loops if loop.kind is not CutKind.SPHERICAL]
        poses = self.poses(x) if directed else {}
        for loop in directed:
            turn = poses[loop.frame_a][:3, :3].T @ poses[loop.frame_b][:3, :3]
            wrong_z = loop.kind is CutKind.REVOLUTE and turn[2, 2] < 0
            if wrong_z or (loop.kind is CutKind.PRISMATIC and np.trace(turn) < 2):
                return loop
        return None

    def newton(self, x: Array, fixed: int) -> Array:
        """Least-squares Newton steps of all coordinates but the first ``fixed`` ones."""
        x = x.copy()
        for _ in range(50):
            s = self.gap(x)
            if not np.isfinite(s).all() or np.abs(s).max(initial=0.0) == 0.0:
                break
            step = np.linalg.lstsq(self.gradient(x)[:, fixed:], -s, rcond=1e-10)[0]
            x[fixed:] += step * min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
            if np.abs(step).max(initial=0.0) < 1e-15:
                break
        return x


def size_of(mechanism: Mechanism) -> float:
    """Length that gaps are compared with: 1 m and all distances between joints."""
    return 1.0 + float(np.abs(mechanism.X_tree[:, :3, 3]).sum())


def equation_names(mechanism: Mechanism) -> tuple[str, ...]:
    """``loop: equation`` for all closures in order; x, y, z are axes of the last link that carries the loop."""
    names = []
    for loop in mechanism.loops:
        axes = dict(zip("xyz", _position_axes(mechanism, loop), strict=True))
        names += [f"{loop.name}: {axes.get(equation, equation)}" for equation in EQUATIONS[loop.kind]]
    return tuple(names)


def _position_axes(mechanism: Mechanism, loop: LoopClosure) -> list[str]:
    """What the axes of the position equations are called on the link that carries the loop."""
    sides = [mechanism.frame(name).body for name in (loop.frame_a, loop.frame_b)]
    body = last_common(mechanism.parent.tolist(), *sides)
    if body < 0:
        return ["x", "y", "z"]
    link = next(frame for frame in mechanism.frames if frame.body == body)
    turn = link.X_body_frame[:3, :3].T @ canonical_tree(mechanism).X_old_new[body][:3, :3]
    best = np.abs(turn).argmax(axis=0)
    aligned = (
        np.abs(turn).max() > 1 - 1e-9 and len(set(best)) == 3 and np.abs(turn).max(axis=0).min() > 1 - 1e-9
    )
    return [
        f"{'xyz'[k]} of {link.name}" if aligned else f"{i + 1} of {link.name}" for i, k in enumerate(best)
    ]


def analyse(loops: Loops) -> Closure:
    """Assemble at home, find the independent equations and the mobility; raise if the robot cannot work."""
    mechanism = loops.mechanism
    n = mechanism.n_q
    x, searched = _assemble(loops)
    samples = _around(loops, x)
    rank = max(_rank(loops.gradient(sample)) for sample in samples)
    mobility = len(x) - rank
    if mobility and len(samples) == 1:
        mobility = 0  # free to first order only: no position nearby is assembled
    counted = len(x) + sum(FREEDOMS[loop.kind] for loop in mechanism.loops) - 6 * len(mechanism.loops)
    if mobility != n:
        raise KinematicsError(_wrong_mobility(mechanism, mobility, n))
    blocks = [loops.gradient(sample)[:, n:] for sample in samples]
    held = [_rank(block) == len(x) - n for block in blocks]
    if not any(held):
        raise KinematicsError(
            f"{mechanism.name}: the actuated joints {', '.join(mechanism.joint_names)} "
            "do not move the passive ones; actuate other joints"
        )
    if not held[0]:
        raise KinematicsError(
            f"{mechanism.name}: home is a singular position: the loops can leave it in several ways; "
            "choose another one in 'home'"
        )
    rows = independent_rows([block for block, good in zip(blocks, held, strict=True) if good], rank)
    return Closure(x, rows, equation_names(mechanism), mobility, counted, searched)


def displaced(loops: Loops, nominal: Closure) -> Closure:
    """The closure of a robot as built: the equations that are independent in its drawing, closed again.

    What the other equations of an overconstrained loop ask for, bent bars and play in the bearings give.
    """
    n, x = loops.mechanism.n_q, nominal.x_home.copy()
    x[:n] = loops.mechanism.q_home
    rows = list(nominal.rows)
    for _ in range(50):
        s = loops.gap(x)[rows]
        step = np.linalg.lstsq(loops.gradient(x)[rows, n:], -s, rcond=1e-10)[0]
        x[n:] += step * min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    left = float(np.abs(loops.gap(x)[rows]).max(initial=0.0))
    if not left < CLOSED * loops.size:
        raise KinematicsError(
            f"{loops.mechanism.name}: with these deviations the loops cannot be assembled at home; {left:.3g} is left"
        )
    return replace(nominal, x_home=x)


def _wrong_mobility(mechanism: Mechanism, mobility: int, n: int) -> str:
    active = ", ".join(mechanism.joint_names)
    if mobility > n:
        return (
            f"{mechanism.name}: the loops leave {mobility} freedoms but only {n} joints are actuated ({active}); "
            "name more joints in 'active'"
        )
    if mobility == 0:
        return (
            f"{mechanism.name}: the loops lock the mechanism: it can be assembled at home but not move from there; "
            "check that axes meant to be parallel are exactly so, and the types of the cuts"
        )
    return (
        f"{mechanism.name}: the loops leave {mobility} freedoms for {n} actuated joints ({active}); "
        f"name only {mobility} in 'active'"
    )


def _assemble(loops: Loops) -> tuple[Array, bool]:
    """Passive joints at home, from their stated start and, if need be, from random ones."""
    mechanism = loops.mechanism
    n = mechanism.n_q
    home = np.append(mechanism.q_home, mechanism.passive_home)
    spread = start_spread(mechanism)
    rng = np.random.default_rng(0)
    best, best_gap, reversed_cut = home, np.inf, None
    for attempt in range(ATTEMPTS):
        start = home.copy()
        if attempt:
            start[n:] += rng.uniform(-spread, spread) * min(1.0, attempt / 10)
        x = loops.newton(start, n)
        if loops.closed(x):
            wrong = loops.reversed_cut(x)
            if wrong is None:
                return x, attempt > 0
            reversed_cut = reversed_cut or wrong
        left = float(np.abs(loops.gap(x)).max(initial=0.0))
        if left < best_gap:
            best, best_gap = x, left
    if reversed_cut is not None:
        raise KinematicsError(
            f"{mechanism.name}: loop '{reversed_cut.name}' closes only with its two frames turned against each other; "
            "turn one of them, for example by rpy: [180 deg, 0 deg, 0 deg]"
        )
    _refuse_surplus_actuators(loops, home)
    worst = equation_names(mechanism)[int(np.abs(loops.gap(best)).argmax())]
    raise KinematicsError(
        f"{mechanism.name}: the loops cannot be assembled at home; the best of {ATTEMPTS} attempts leaves "
        f"{best_gap:.3g} at '{worst}'; check lengths, or give start values of the passive joints in 'home'"
    )


def _refuse_surplus_actuators(loops: Loops, home: Array) -> None:
    """Loops that close only when actuated joints give way have too many of them, or are asked too much at home."""
    x = loops.newton(home, 0)
    mobility = len(x) - _rank(loops.gradient(x))
    if loops.closed(x) and 0 < mobility < loops.mechanism.n_q:
        raise KinematicsError(_wrong_mobility(loops.mechanism, mobility, loops.mechanism.n_q))


def start_spread(mechanism: Mechanism) -> Array:
    """How far random starts lie from home: half a turn, or a part of the size for sliding joints (n_passive,)."""
    sliding = dict(zip(mechanism.tree_joint_names, mechanism.prismatic, strict=True))
    size = size_of(mechanism)
    return np.array([0.5 * size if sliding[name] else np.pi for name in mechanism.passive_names])


def _around(loops: Loops, x: Array) -> list[Array]:
    """x and assembled positions near it, reached by moving along the loops' own freedoms."""
    rng = np.random.default_rng(1)
    found = [x]
    _, values, Vt = np.linalg.svd(loops.gradient(x))
    free = Vt[int((values > RANK * values[0]).sum()) :]
    for _ in range(SAMPLES):
        away = rng.uniform(-1, 1, len(free)) @ free
        away *= NEARBY / max(float(np.abs(away).max(initial=0.0)), 1e-300)
        sample = loops.newton(x + away, 0)
        if loops.closed(sample) and np.abs(sample - x).max() > 0.3 * NEARBY:
            found.append(sample)
    return found


def _rank(S: Array) -> int:
    values = np.linalg.svd(S, compute_uv=False)
    return int((values > RANK * values[0]).sum()) if values.size else 0


def independent_rows(blocks: list[Array], rank: int) -> tuple[int, ...]:
    """Rows that stay independent at every sample: greedily the one that adds most to the weakest sample."""
    chosen: list[int] = []
    bases = [np.zeros((0, block.shape[1])) for block in blocks]
    for _ in range(rank):
        left = [b - (b @ basis.T) @ basis for b, basis in zip(blocks, bases, strict=True)]
        scores = np.min([np.linalg.norm(rest, axis=1) for rest in left], axis=0)
        scores[chosen] = -1.0
        # prefer the earlier of equations that are equally good, so that reports read in order
        row = int(np.flatnonzero(scores > 0.5 * scores.max())[0])
        if scores[row] < RANK:
            break
        chosen.append(row)
        bases = [
            np.vstack([basis, r[row] / np.linalg.norm(r[row])]) for basis, r in zip(bases, left, strict=True)
        ]
    return tuple(sorted(chosen))
