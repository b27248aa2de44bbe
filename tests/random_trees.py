"""Random mechanisms as hypothesis strategies, and random states for them.

The mechanisms themselves are made by ``benchmarks/random_mechanisms.py``, which needs no test tools.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from benchmarks.random_mechanisms import (
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


@st.composite
def mechanisms(draw: st.DrawFn, max_joints: int = MAX_JOINTS) -> Mechanism:
    """Hypothesis strategy of random mechanisms; the topology shrinks towards one revolute joint."""
    n = draw(st.integers(1, max_joints))
    parent = [draw(st.integers(-1, i - 1)) for i in range(n)]
    prismatic = [draw(st.booleans()) for _ in range(n)]
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
