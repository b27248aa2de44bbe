"""Random mechanisms: every tree of 1..12 joints, both joint types, any placement, physical inertias.

Most of them contain a chain of at least three turning joints: in smaller ones, or where joints slide, the terms that
couple joints vanish, and a fault in them would not be seen.

Lengths, masses and radii of gyration stay within a decade of each other, so
that mass matrices are well enough conditioned for tight tolerances.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from servotwin.mechanism.model import Array, Coupling, Frame, Limits, Mechanism, Rotors

MAX_JOINTS = 12


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix, uniform over all orientations (QR of a Gaussian matrix)."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def random_pose(rng: np.random.Generator, reach: float = 0.5) -> Array:
    """A 4x4 pose with translation components up to ``reach`` [m]."""
    X = np.eye(4)
    X[:3, :3] = random_rotation(rng)
    X[:3, 3] = rng.uniform(-reach, reach, 3)
    return X


def random_inertia(rng: np.random.Generator) -> Array:
    """Ten standard parameters of a physical body: second moments of mass are positive definite."""
    mass = rng.uniform(1.0, 5.0)
    center = rng.uniform(-0.2, 0.2, 3)
    R = random_rotation(rng)
    second_moment = mass * (R @ np.diag(rng.uniform(0.1, 0.3, 3) ** 2) @ R.T + np.outer(center, center))
    tensor = np.trace(second_moment) * np.eye(3) - second_moment
    rows, columns = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
    return np.concatenate(([mass], mass * center, tensor[rows, columns]))


def build_mechanism(
    parent: list[int], prismatic: list[bool], massless: list[bool], rng: np.random.Generator
) -> Mechanism:
    """A mechanism of the given topology with random placements, inertias, gravity and frames.

    A body is left massless only if it carries a body that has mass and does not
    hang on a massless one: generic placements then keep the mass matrix positive definite.
    """
    n = len(parent)
    phi = np.array([random_inertia(rng) for _ in range(n)]).reshape(n, 10)
    light = np.zeros(n, dtype=bool)
    for i in range(n):
        if massless[i] and i in parent and not (parent[i] >= 0 and light[parent[i]]):
            light[i] = True
    phi[light] = 0.0
    names = tuple(f"j{i + 1}" for i in range(n))
    bodies = tuple(Frame(f"link{i + 1}", i, random_pose(rng, 0.2)) for i in range(n))
    unlimited = np.full(n, np.inf)
    return Mechanism(
        name=f"random-tree-{n}",
        tree_joint_names=names,
        parent=np.array(parent, dtype=np.int64),
        prismatic=np.array(prismatic, dtype=np.bool_),
        X_tree=np.array([random_pose(rng) for _ in range(n)]).reshape(n, 4, 4),
        phi=phi,
        frames=(Frame("base", -1, np.eye(4)), *bodies, Frame("tool", n - 1, random_pose(rng, 0.2))),
        tool="tool",
        gravity=rng.uniform(-10.0, 10.0, 3),
        joint_names=names,
        coupling=Coupling(np.eye(n), np.zeros(n)),
        limits=Limits(-unlimited, unlimited, unlimited, unlimited, unlimited),
        rotors=Rotors((), np.zeros((0, n)), np.zeros(0)),
        q_home=np.zeros(n),
    )


CHAIN = 3  # turning joints one behind the other, with which every term of the dynamics is there


def random_mechanism(rng: np.random.Generator, n: int | None = None, *, serial: bool = False) -> Mechanism:
    """A tree of n joints (3..12 if None) that begins with a chain of turning ones; of the others one in three slides.

    Some bodies are massless.
    """
    count = int(rng.integers(CHAIN, MAX_JOINTS + 1)) if n is None else n
    parent = [i - 1 if serial or i < CHAIN else int(rng.integers(-1, i)) for i in range(count)]
    prismatic = [i >= CHAIN and bool(slides) for i, slides in enumerate(rng.random(count) < 1 / 3)]
    massless = [bool(light) for light in rng.random(count) < 0.1]
    return build_mechanism(parent, prismatic, massless, rng)


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
