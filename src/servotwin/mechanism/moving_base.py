"""A base that moves: joints of given acceleration between the inertial frame and the robot's base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from servotwin.mechanism.model import BASE, Array, Coupling, Frame, Limits, Mechanism

# rotations that turn z into the axis of a joint: its z axis is the axis of motion
_ALONG: dict[str, Array] = {
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "z": np.eye(3),
}


def with_moving_base(mechanism: Mechanism, axes: Sequence[str]) -> Mechanism:
    """The mechanism behind joints along x, y, z and about rx, ry, rz, in this order, ahead of its own.

    Its base frame and what hung on it hang on the last of them. The independent joints of the base come last in q.
    Rotors that are mounted on the base stay there: with ``rotor_coupling: full`` what their spin feels of the base's
    angular acceleration, n J_m (axis . alpha), is left out; of rotors on moving links it is there.
    """
    if not axes:
        return mechanism
    k, n = len(axes), mechanism.n_tree
    names = tuple(f"base_{axis}" for axis in axes)
    X = np.tile(np.eye(4), (k, 1, 1))
    before = np.eye(3)
    for i, axis in enumerate(axes):
        turned = _ALONG[axis[-1]]
        X[i, :3, :3] = before.T @ turned
        before = turned
    back = np.eye(4)
    back[:3, :3] = before.T
    X_tree = np.array(
        [back @ M if p == BASE else M for p, M in zip(mechanism.parent, mechanism.X_tree, strict=True)]
    )
    parent = np.where(mechanism.parent == BASE, k - 1, mechanism.parent + k)
    frames = tuple(
        Frame(f.name, k - 1, back @ f.X_body_frame)
        if f.body == BASE
        else Frame(f.name, f.body + k, f.X_body_frame)
        for f in mechanism.frames
    )
    return mechanism.with_(
        tree_joint_names=(*names, *mechanism.tree_joint_names),
        parent=np.concatenate([np.arange(-1, k - 1), parent]),
        prismatic=np.concatenate([[len(axis) == 1 for axis in axes], mechanism.prismatic]),
        X_tree=np.concatenate([X, X_tree.reshape(n, 4, 4)]),
        phi=np.concatenate([np.zeros((k, 10)), mechanism.phi]),
        frames=frames,
        joint_names=(*mechanism.joint_names, *names),
        coupling=_coupling(mechanism, k),
        limits=_limits(mechanism.limits, k),
        rotors=_rotors(mechanism, k),
        q_home=np.append(mechanism.q_home, np.zeros(k)),
        family="",
        nominal=None if mechanism.nominal is None else with_moving_base(mechanism.nominal, axes),
    )


def _coupling(mechanism: Mechanism, k: int) -> Coupling:
    """Independent joints, those of the base, then passive ones; the base's joints are the first of the tree."""
    G, n = mechanism.coupling.G, mechanism.n_q
    wide = np.zeros((len(G) + k, G.shape[1] + k))
    wide[k:, :n], wide[k:, n + k :] = G[:, :n], G[:, n:]
    wide[:k, n : n + k] = np.eye(k)
    return Coupling(wide, np.concatenate([np.zeros(k), mechanism.coupling.q0]))


def _limits(limits: Limits, k: int) -> Limits:
    free = np.full(k, np.inf)
    signs = (-1.0, 1.0, 1.0, 1.0, 1.0)
    return Limits(*(np.append(v, s * free) for v, s in zip(vars(limits).values(), signs, strict=True)))


def _rotors(mechanism: Mechanism, k: int) -> object:
    from dataclasses import replace

    rotors = mechanism.rotors
    body = np.where(rotors.body == BASE, BASE, rotors.body + k) if len(rotors.body) else rotors.body
    return replace(rotors, N=np.hstack([rotors.N, np.zeros((len(rotors.J_m), k))]), body=body)
