"""A MOVEJ planned quickly is the MOVEJ planned as a leg."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import ShapeError
from servotwin.motion import planner
from servotwin.motion.errors import PathError
from servotwin.motion.joint_moves import quick_move
from servotwin.motion.limits import limits_of
from servotwin.motion.requests import MoveJ, MoveL, Rest, Speed


@pytest.fixture(scope="module")
def puma():
    return st.load_robot("puma560")


@pytest.mark.parametrize("profile", ["cubic-ramp", "trapezoid", "s-curve"])
@pytest.mark.parametrize("jerk", [np.inf, 40.0])
def test_quick_move_and_leg_agree(puma, profile, jerk, monkeypatch) -> None:
    rng = np.random.default_rng(4)
    limits = replace(limits_of(puma), jerk=np.full(6, jerk))
    requests = [
        MoveJ(
            np.where(rng.random(6) < 0.3, puma.q_home, puma.random_q(rng)),
            Speed("fraction", float(rng.uniform(0.05, 1.0))),
            None if k % 2 else float(rng.uniform(0.1, 1.0)),
            profile=profile,
        )
        for k in range(20)
    ]
    assert quick_move(requests[0], puma.q_home, limits) is not None
    quick = planner.plan(puma, puma.q_home, requests, limits)
    monkeypatch.setattr(planner, "quick_move", lambda *_: None)
    leg = planner.plan(puma, puma.q_home, requests, limits)
    assert quick.duration == pytest.approx(leg.duration, rel=1e-12)
    t = np.linspace(0.0, leg.duration, 2001)
    for one, two in zip(quick.sample(t), leg.sample(t), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(two).max())
    assert quick.owners == leg.owners


def test_quick_move_leaves_everything_else_to_legs(puma) -> None:
    limits, q = limits_of(puma), puma.q_home
    move = MoveJ(q + 0.2)
    others = [
        replace(move, blend=0.01),
        replace(move, tool=np.eye(4)),
        replace(move, profile="quintic"),
        replace(move, speed=Speed("s", 2.0)),
        replace(move, speed=Speed("m/s", 0.2)),
        MoveJ(q),
        MoveL(puma.fkine(q + 0.1)),
        Rest(1.0),
    ]
    assert all(quick_move(request, q, limits) is None for request in others)
    assert quick_move(move, q, replace(limits, tool_speed=1.0)) is None
    assert quick_move(move, q, limits_of(puma, torque=True)) is None


def test_wrong_targets_are_still_refused(puma) -> None:
    limits, q = limits_of(puma), puma.q_home
    with pytest.raises(PathError, match="beyond its limits"):
        planner.plan(puma, q, [MoveJ(q + np.array([9.0, 0, 0, 0, 0, 0]))], limits)
    with pytest.raises(ShapeError):
        planner.plan(puma, q, [MoveJ(np.full(6, np.nan))], limits)
