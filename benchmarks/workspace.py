"""Maps over a workspace: a million positions beside roboticstoolbox doing the same sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

import servotwin as st
from benchmarks.timing import EFFORT, Row, best_of
from servotwin.design.workspace.maps import singular_values

POINTS = 1_000_000
PEER_POINTS = 1_000  # one call at a time: a million would take minutes
TARGET = 50.0  # times faster, per point


def workspace() -> list[Row]:
    """Position, translational Jacobian and dexterity of the Puma 560 at random positions within its limits."""
    import roboticstoolbox as rtb

    robot = st.load_robot("puma560")
    peer = rtb.models.DH.Puma560()
    count = 20_000 if EFFORT.short else POINTS
    q = robot.random_q(np.random.default_rng(0), count)
    few = q[:PEER_POINTS]

    def ours() -> tuple[Any, Any]:
        J = robot.jacob0(q)[:, :3]
        values = singular_values(J)
        return robot.fkine(q)[:, :3, 3], values[:, -1] / values[:, 0]

    def theirs() -> tuple[Any, Any]:
        places, ratios = [], []
        for each in few:
            places.append(peer.fkine(each).t)
            values = np.linalg.svd(peer.jacob0(each)[:3], compute_uv=False)
            ratios.append(values[-1] / values[0])
        return np.array(places), np.array(ratios)

    _require_alike(ours(), theirs(), robot, peer)
    times = best_of({"ours": ours, "peer": theirs}, calls=1, rounds=3)
    what = f"Puma 560 map of {count} positions, per point"
    note = f"{times['ours']:.2f} s in all; peer's time from {PEER_POINTS} points"
    rows = [Row(what, times["ours"] / count, "roboticstoolbox", times["peer"] / PEER_POINTS, TARGET, note)]
    return [*rows, _planar(count)]


def _require_alike(ours: tuple[Any, Any], theirs: tuple[Any, Any], robot: st.Robot, peer: Any) -> None:
    """Both models have the same arm; the peer's base may stand elsewhere."""
    shift = ours[0][0] - theirs[0][0]
    np.testing.assert_allclose(ours[0][:PEER_POINTS] - shift, theirs[0], atol=1e-3)
    np.testing.assert_allclose(ours[1][:PEER_POINTS], theirs[1], atol=1e-3)


def _planar(count: int) -> Row:
    """All maps of the palletizer over its side view, limits included; the peer is a second."""
    found = st.workspace("palletizer-4", payload=20.0)
    side = {"ours": lambda: found.sampled_maps(count)}
    time = best_of(side, calls=1, rounds=3)["ours"]
    what = f"palletizer, all maps at {count} positions within its limits"
    return Row(what, time, "10 s", 10.0, 1.0, "within 10 s")
