"""Random mechanisms as hypothesis strategies, and random states for them.

Most of them contain a chain of at least three turning joints: in smaller ones, or where joints slide, the terms that
couple joints vanish, and a fault in them would not be seen.

The mechanisms themselves are made by ``benchmarks/random_mechanisms.py``, which needs no test tools.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from benchmarks.random_mechanisms import (
    CHAIN,
    MAX_JOINTS,
    build_mechanism,
    random_inertia,
    random_mechanism,
    random_pose,
    random_rotation,
)
from servotwin.mechanism.model import Array, Mechanism

__all__ = [
    "build_mechanism",
    "difference",
    "mechanisms",
    "random_inertia",
    "random_joint_vectors",
    "random_mechanism",
    "random_pose",
    "random_rotation",
    "random_wrenches",
    "trees_with_states",
]


def turning_chain(mechanism: Mechanism) -> int:
    """The most turning joints on the way from a body to the base."""
    count: list[int] = []
    for parent, slides in zip(mechanism.parent, mechanism.prismatic, strict=True):
        count.append((count[parent] if parent >= 0 else 0) + (not slides))
    return max(count, default=0)


@st.composite
def mechanisms(draw: st.DrawFn, max_joints: int = MAX_JOINTS) -> Mechanism:
    """Hypothesis strategy of random mechanisms: four in five begin with a chain of three turning joints.

    The topology shrinks towards that chain. The last fifth is any tree of one joint or more.
    """
    chain = CHAIN if draw(st.sampled_from([True, True, True, True, False])) else 0
    n = draw(st.integers(max(1, min(chain, max_joints)), max_joints))
    # A parent near to the joint makes deep trees; those that shrink are the deepest.
    parent = [i - 1 if i < chain else i - 1 - draw(st.integers(0, i)) for i in range(n)]
    prismatic = [i >= chain and draw(st.booleans()) for i in range(n)]
    massless = [draw(st.integers(0, 7)) == 7 for _ in range(n)]
    return build_mechanism(
        parent, prismatic, massless, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    )


@st.composite
def trees_with_states(draw: st.DrawFn, max_joints: int = MAX_JOINTS) -> tuple[Mechanism, np.random.Generator]:
    """A random mechanism and a generator for its states."""
    mechanism = draw(mechanisms(max_joints))
    return mechanism, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def random_wrenches(rng: np.random.Generator, mechanism: Mechanism) -> Array:
    """External wrenches on all bodies [N, N m]: (n, 6)."""
    return rng.uniform(-10.0, 10.0, (mechanism.n_tree, 6))


def random_joint_vectors(rng: np.random.Generator, mechanism: Mechanism, count: int) -> Array:
    """``count`` joint vectors with entries within +-1 (rad or m and their rates): (count, n)."""
    return rng.uniform(-1.0, 1.0, (count, mechanism.n_tree))


def difference(actual: Array, expected: Array, scale: float = 0.0) -> float:
    """Norm of the difference relative to the norm of ``expected``, or to ``scale`` if that is larger.

    ``scale`` is the size of the terms that cancel in ``expected``.
    """
    size = max(float(np.linalg.norm(expected)), scale)
    gap = float(np.linalg.norm(np.asarray(actual) - expected))
    return gap / size if size > 0.0 else gap
