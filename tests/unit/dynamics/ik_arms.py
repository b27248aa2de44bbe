"""Arms for the tests of inverse kinematics, built without descriptions, and their forward kinematics."""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array, Coupling, Frame, Limits, Mechanism, Rotors


def rot(axis: str, angle: float) -> Array:
    """Turn about x, y or z, 4x4."""
    c, s = np.cos(angle), np.sin(angle)
    X = np.eye(4)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    X[i, i] = X[j, j] = c
    X[i, j], X[j, i] = -s, s
    return X


def shift(x: float, y: float, z: float) -> Array:
    """Shift, 4x4."""
    X = np.eye(4)
    X[:3, 3] = (x, y, z)
    return X


def random_pose(rng: np.random.Generator, spread: float = 1.0) -> Array:
    """A random rigid transform."""
    quaternion = rng.normal(size=4)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    X = np.eye(4)
    X[:3, :3] = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    X[:3, 3] = spread * rng.uniform(-1.0, 1.0, 3)
    return X


def mechanism_of(
    X_tree: list[Array],
    kinds: str,
    *,
    tool: Array | None = None,
    G: Array | None = None,
    q0: Array | None = None,
    limits: list[tuple[float, float]] | None = None,
    family: str = "",
    parent: list[int] | None = None,
    tool_body: int | None = None,
    home: list[float] | None = None,
) -> Mechanism:
    """A massless mechanism of placements and joint kinds such as "RRPR"; a chain unless parents are given."""
    n = len(kinds)
    gains = np.eye(n) if G is None else np.asarray(G, dtype=np.float64)
    n_q = gains.shape[1]
    low, high = np.array(limits or [(-np.inf, np.inf)] * n_q, dtype=np.float64).T
    unlimited = np.full(n_q, np.inf)
    end = Frame("tool", n - 1 if tool_body is None else tool_body, np.eye(4) if tool is None else tool)
    return Mechanism(
        name="arm",
        tree_joint_names=tuple(f"t{i}" for i in range(n)),
        parent=np.array(range(-1, n - 1) if parent is None else parent, dtype=np.int64),
        prismatic=np.array([kind == "P" for kind in kinds]),
        X_tree=np.array(X_tree),
        phi=np.zeros((n, 10)),
        frames=(Frame("base", -1, np.eye(4)), end),
        tool="tool",
        gravity=np.zeros(3),
        joint_names=tuple(f"j{i}" for i in range(n_q)),
        coupling=Coupling(gains, np.zeros(n) if q0 is None else np.asarray(q0, dtype=np.float64)),
        limits=Limits(low, high, unlimited, unlimited, unlimited),
        rotors=Rotors((), np.zeros((0, n_q)), np.zeros(0)),
        q_home=np.zeros(n_q) if home is None else np.array(home, dtype=np.float64),
        family=family,
    )


def dh_chain(
    rows: list[tuple[float, float, float, float]],
    kinds: str,
    *,
    base: Array | None = None,
    tool: Array | None = None,
    **options: object,
) -> Mechanism:
    """Standard DH rows (theta, d, a, alpha) as a mechanism; ``base`` places the robot, ``tool`` its tool."""
    placements, carry = [], np.eye(4) if base is None else base
    for theta, d, a, alpha in rows:
        placements.append(carry @ rot("z", theta) @ shift(0, 0, d))
        carry = shift(a, 0, 0) @ rot("x", alpha)
    end = carry if tool is None else carry @ tool
    return mechanism_of(placements, kinds, tool=end, **options)  # type: ignore[arg-type]


def fkine(mechanism: Mechanism, q: Array) -> Array:
    """Pose of the tool: product of the placements and joint motions up the tree."""
    q_tree = mechanism.coupling.G @ q + mechanism.coupling.q0
    end = mechanism.frame()
    X, body = end.X_body_frame, end.body
    while body >= 0:
        value = float(q_tree[body])
        motion = shift(0, 0, value) if mechanism.prismatic[body] else rot("z", value)
        X = mechanism.X_tree[body] @ motion @ X
        body = int(mechanism.parent[body])
    return X


def pose_distance(A: Array, B: Array) -> float:
    """Largest entry of the difference of two poses."""
    return float(np.max(np.abs(A - B)))


def contains(branches: Array, q: Array, tolerance: float = 1e-7) -> bool:
    """q is one of the branches, up to full turns."""
    difference = np.angle(np.exp(1j * (branches - q)))
    return bool(np.any(np.max(np.abs(difference), axis=-1) < tolerance))


HALF = np.pi / 2
PUMA = [
    (0.0, 0.67183, 0.0, HALF),
    (0.0, 0.0, 0.4318, 0.0),
    (0.0, 0.15005, 0.0203, -HALF),
    (0.0, 0.4318, 0.0, HALF),
    (0.0, 0.0, 0.0, -HALF),
    (0.0, 0.0, 0.0, 0.0),
]


def puma(**options: object) -> Mechanism:
    """PUMA 560 geometry."""
    return dh_chain(PUMA, "RRRRRR", **options)  # type: ignore[arg-type]


def general_wrist_arm(
    rng: np.random.Generator, *, crossing: bool = False, parallel: bool = False
) -> Mechanism:
    """A random 6R arm whose last three axes meet; axes 1 and 2 cross or are parallel if asked for."""
    rows = [tuple(rng.uniform(-1.0, 1.0, 4)) for _ in range(6)]
    theta, d, a, alpha = rows[0]
    rows[0] = (
        theta,
        d,
        0.0 if crossing else a + np.sign(a) * 0.2,
        0.0 if parallel else alpha + np.sign(alpha) * 0.3,
    )
    twist = rows[3][3] + np.sign(rows[3][3]) * 0.3, rows[4][3] + np.sign(rows[4][3]) * 0.3
    rows[3] = (rows[3][0], rows[3][1], 0.0, twist[0])
    rows[4] = (rows[4][0], 0.0, 0.0, twist[1])
    return dh_chain(rows, "RRRRRR", base=random_pose(rng), tool=random_pose(rng))


def scara(*, tool: Array | None = None, base: Array | None = None, **options: object) -> Mechanism:
    """R R P R with the lengths of the GSIS SCARA; the third joint points down."""
    down = rot("x", np.pi)
    placements = [
        np.eye(4) if base is None else base,
        shift(0.35, 0, 0),
        shift(0.3, 0, 0) @ down,
        down @ rot("z", HALF),
    ]
    return mechanism_of(placements, "RRPR", tool=tool, **options)  # type: ignore[arg-type]
