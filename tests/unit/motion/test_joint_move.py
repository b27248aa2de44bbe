"""The short way of a joint move gives what the long way gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import ShapeError
from servotwin.motion import planner
from servotwin.motion.errors import PathError
from servotwin.motion.joint_move import simple_move
from servotwin.motion.limits import limits_of
from servotwin.motion.requests import MoveJ, MoveL, Rest, Speed


@pytest.fixture(scope="module")
def puma():
    return st.load_robot("puma560")


@pytest.mark.parametrize("profile", ["cubic-ramp", "trapezoid", "s-curve"])
@pytest.mark.parametrize("jerk", [np.inf, 40.0])
def test_short_and_long_way_agree(puma, profile, jerk, monkeypatch) -> None:
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
    assert simple_move(requests[0], puma.q_home, limits) is not None
    short = planner.plan(puma, puma.q_home, requests, limits)
    monkeypatch.setattr(planner, "simple_move", lambda *_: None)
    long = planner.plan(puma, puma.q_home, requests, limits)
    assert short.duration == pytest.approx(long.duration, rel=1e-12)
    t = np.linspace(0.0, long.duration, 2001)
    for one, two in zip(short.sample(t), long.sample(t), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(two).max())
    assert short.owners == long.owners


def test_everything_else_takes_the_long_way(puma) -> None:
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
    assert all(simple_move(request, q, limits) is None for request in others)
    assert simple_move(move, q, replace(limits, tool_speed=1.0)) is None
    assert simple_move(move, q, limits_of(puma, torque=True)) is None


def test_wrong_targets_are_still_refused(puma) -> None:
    limits, q = limits_of(puma), puma.q_home
    with pytest.raises(PathError, match="beyond its limits"):
        planner.plan(puma, q, [MoveJ(q + np.array([9.0, 0, 0, 0, 0, 0]))], limits)
    with pytest.raises(ShapeError):
        planner.plan(puma, q, [MoveJ(np.full(6, np.nan))], limits)
