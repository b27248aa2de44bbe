"""How the loops of a closed chain hold it: assembly, independent equations, mobility.

The equations of a cut joint are often redundant (a planar four-bar cut at a revolute joint gives
five, of which three only say that the plane is a plane). Which ones are independent is decided by rank
at several assembled positions around home, and what was dropped is kept for the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.dynamics.loops import EQUATIONS
from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array, CutKind, Mechanism

CLOSED = 1e-12  # gap, relative to the size of the mechanism, at which loops count as closed
RANK = 1e-8  # singular values below this part of the largest count as zero
FREEDOMS = {CutKind.SPHERICAL: 3, CutKind.REVOLUTE: 1, CutKind.PRISMATIC: 1}
NEARBY = 0.05  # rad or m: how far around home independence is tested


@dataclass(frozen=True)
class Closure:
    """What the loops of a mechanism amount to."""

    x_home: Array  # assembled coordinates at home, actuated joints first
    rows: tuple[int, ...]  # independent equations
    names: tuple[str, ...]  # of all equations
    mobility: int  # freedoms by rank of the assembled loops
    counted: int  # freedoms by counting joints: sum of joint freedoms - 6 per loop (Song 1995, eq 7)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Equations that the others imply."""
        return tuple(name for k, name in enumerate(self.names) if k not in self.rows)

    def text(self) -> str:
        """One paragraph for people."""
        lines = [
            f"mobility {self.mobility} (rank of the assembled loops); counting joints gives {self.counted}",
            f"{len(self.rows)} of {len(self.names)} closure equations are independent",
        ]
        if self.dropped:
            lines.append("redundant, dropped: " + ", ".join(self.dropped))
        if self.mobility != self.counted:
            lines.append("the count differs because the loops are overconstrained: they move by their geometry")
        return "; ".join(lines)


def equation_names(mechanism: Mechanism) -> tuple[str, ...]:
    """``loop.equation`` for all closures in order."""
    return tuple(f"{loop.name}: {equation}" for loop in mechanism.loops for equation in EQUATIONS[loop.kind])


def analyse(mechanism: Mechanism, gap: Callable[[Array], Array], gradient: Callable[[Array], Array]) -> Closure:
    """Assemble at home, find the independent equations and the mobility; raise if the robot cannot work.

    ``gap(x)`` and ``gradient(x)`` are all closures and their Jacobian at the coordinates of the opened tree.
    """
    n = mechanism.n_q
    size = 1.0 + float(np.abs(mechanism.X_tree[:, :3, 3]).sum())
    x = _assemble(mechanism, gap, gradient, size)
    samples = _around(x, n, gap, gradient, size)
    ranks = [_rank(gradient(sample)) for sample in samples]
    rank = max(ranks)
    mobility = len(x) - rank
    counted = len(x) + sum(FREEDOMS[loop.kind] for loop in mechanism.loops) - 6 * len(mechanism.loops)
    names = equation_names(mechanism)
    if mobility != n:
        raise KinematicsError(_wrong_mobility(mechanism, mobility, n))
    rows = _independent_rows([gradient(s)[:, n:] for s in samples], rank)
    if len(rows) < len(x) - n:
        raise KinematicsError(
            f"{mechanism.name}: the actuated joints {', '.join(mechanism.joint_names)} do not move the passive ones; "
            "actuate other joints"
        )
    return Closure(x, rows, names, mobility, counted)


def _wrong_mobility(mechanism: Mechanism, mobility: int, n: int) -> str:
    active = ", ".join(mechanism.joint_names)
    if mobility > n:
        return (
            f"{mechanism.name}: the loops leave {mobility} freedoms but only {n} joints are actuated ({active}); "
            "name more joints in 'active'"
        )
    return (
        f"{mechanism.name}: the loops leave {mobility} freedoms for {n} actuated joints ({active}); "
        f"name only {mobility} in 'active'"
    )


def _assemble(
    mechanism: Mechanism, gap: Callable[[Array], Array], gradient: Callable[[Array], Array], size: float
) -> Array:
    """Passive joints at home, from their stated start and, if need be, from random ones."""
    n = mechanism.n_q
    home = np.append(mechanism.q_home, mechanism.passive_home)
    rng = np.random.default_rng(0)
    best, best_gap = home, np.inf
    for attempt in range(60):
        start = home.copy()
        if attempt:
            start[n:] += rng.uniform(-np.pi, np.pi, len(home) - n) * min(1.0, attempt / 10)
        x = _newton(start, n, gap, gradient)
        left = float(np.abs(gap(x)).max(initial=0.0))
        if left < CLOSED * size:
            return x
        if left < best_gap:
            best, best_gap = x, left
    worst = equation_names(mechanism)[int(np.abs(gap(best)).argmax())]
    raise KinematicsError(
        f"{mechanism.name}: the loops cannot be assembled at home; the best of 60 attempts leaves "
        f"{best_gap:.3g} at '{worst}'; check lengths, or give start values of the passive joints in 'home'"
    )


def _newton(x: Array, fixed: int, gap: Callable[[Array], Array], gradient: Callable[[Array], Array]) -> Array:
    """Least-squares Newton steps of all coordinates but the first ``fixed`` ones."""
    x = x.copy()
    for _ in range(50):
        s = gap(x)
        if not np.isfinite(s).all() or np.abs(s).max(initial=0.0) == 0.0:
            break
        step = np.linalg.lstsq(gradient(x)[:, fixed:], -s, rcond=1e-10)[0]
        x[fixed:] += step * min(1.0, 0.5 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    return x


def _around(
    x: Array, n: int, gap: Callable[[Array], Array], gradient: Callable[[Array], Array], size: float
) -> list[Array]:
    """Assembled positions near home, reached by moving along the loops' own freedoms."""
    rng = np.random.default_rng(1)
    found = [x]
    for _ in range(12):
        S = gradient(x)
        _, values, Vt = np.linalg.svd(S)
        free = Vt[int((values > RANK * values[0]).sum()) :]
        start = x + NEARBY * (rng.uniform(-1, 1, len(free)) @ free)
        sample = _newton(start, 0, gap, gradient)
        if np.abs(gap(sample)).max() < CLOSED * size:
            found.append(sample)
    return found


def _rank(S: Array) -> int:
    values = np.linalg.svd(S, compute_uv=False)
    return int((values > RANK * values[0]).sum()) if values.size else 0


def _independent_rows(blocks: list[Array], rank: int) -> tuple[int, ...]:
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
        bases = [np.vstack([basis, r[row] / np.linalg.norm(r[row])]) for basis, r in zip(bases, left, strict=True)]
    return tuple(sorted(chosen))
