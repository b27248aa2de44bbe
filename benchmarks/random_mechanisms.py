"""Random mechanisms: every tree of 1..12 joints, both joint types, any placement, physical inertias.

Lengths, masses and radii of gyration stay within a decade of each other, so
that mass matrices are well enough conditioned for tight tolerances.
"""

from __future__ import annotations

import numpy as np

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
