"""What a plan says of itself: blends used or left out, moves that go nowhere, exact paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.dynamics.ik import numeric
from servotwin.motion import follow as following
from servotwin.motion.curves import line
from servotwin.motion.errors import PathError
from servotwin.motion.follow import Tracker, follow
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveC, MoveL, Rest, Speed

Q = np.array([0.3, 0.9, 0.05, 0.2])


@pytest.fixture(scope="module")
def scara():
    return st.load_robot("gsis-scara")


def shifted(robot, *step):
    X = robot.fkine(Q)
    X[:3, 3] += step
    return X


def test_blend_that_is_used_is_reported_with_its_radius(scara) -> None:
    limits = limits_of(scara)
    requests = [MoveL(shifted(scara, 0.0, -0.1, 0.0), blend=0.01), MoveL(shifted(scara, -0.1, -0.1, 0.0))]
    way = plan(scara, Q, requests, limits)
    assert way.blends == pytest.approx((0.01, 0.0))
    assert way.notes == ("", "")


def test_blend_that_does_not_fit_or_has_nothing_to_blend_into_is_mentioned(scara) -> None:
    limits = limits_of(scara)
    corner, end = shifted(scara, 0.0, -0.01, 0.0), shifted(scara, -0.1, -0.01, 0.0)
    slow = Speed("m/s", 0.1)
    way = plan(scara, Q, [MoveL(corner, slow, blend=0.05), MoveL(end, slow)], limits)
    assert way.blends[0] == pytest.approx(0.0049)  # 49 % of the way to the corner
    assert way.notes[0].startswith("a blend of 50 mm was made smaller, 4.9")
    way = plan(scara, Q, [MoveL(corner, blend=0.05), Rest(0.1)], limits)
    assert way.blends[0] == 0.0
    assert way.notes[0] == "a blend of 50 mm was left out: no move follows at once"


def test_blend_does_not_leave_the_range_of_a_joint(scara) -> None:
    """Behind a circle a wide blend swings out further than both moves; it is made smaller until it does not."""
    limits = limits_of(scara)
    via = scara.fkine(Q)
    via[:3, 3] = 0.41638767, 0.32547948, -0.01244603
    corner, end = (
        np.array([0.306065, 1.185085, 0.029501, 0.468772]),
        np.array([0.32563, 0.549048, 0.096497, 0.1]),
    )
    slow = Speed("m/s", 0.2)
    there, away = MoveC(via, scara.fkine(corner), slow), MoveL(scara.fkine(end), slow)
    wide = [replace(there, blend=0.15), away]
    most = {}
    for name, requests in (("stop", [there, away]), ("wide", wide)):
        way = plan(scara, Q, requests, limits, fit=True)
        most[name] = way.sample(np.linspace(0.0, way.duration, 20_001))[0][:, 1].max()
    assert most["wide"] > most["stop"] + 1e-4
    tight = replace(limits, q_max=np.where(np.arange(4) == 1, most["stop"] + 1e-6, limits.q_max))
    held = plan(scara, Q, wide, tight, fit=True)
    assert held.sample(np.linspace(0.0, held.duration, 20_001))[0][:, 1].max() <= tight.q_max[1] + 1e-10
    assert 0.0 < held.blends[0] < way.blends[0]


def test_move_that_goes_nowhere_stays_in_the_plan_and_in_the_blend(scara) -> None:
    limits = limits_of(scara)
    corner, end = shifted(scara, 0.0, -0.1, 0.0), shifted(scara, -0.1, -0.1, 0.0)
    without = plan(scara, Q, [MoveL(corner, blend=0.01), MoveL(end)], limits)
    way = plan(scara, Q, [MoveL(corner, blend=0.01), MoveL(corner, blend=0.01), MoveL(end)], limits)
    assert way.duration == pytest.approx(without.duration, rel=1e-12)
    spans = way.spans()
    assert len(spans) == 3
    assert spans[1][1] == spans[1][0] == pytest.approx(spans[2][0])
    # Without a blend of its own it is where the arm comes to rest.
    stop = plan(scara, Q, [MoveL(corner, blend=0.01), MoveL(corner), MoveL(end)], limits)
    assert [s.kind for s in stop.segments] == ["line", "rest", "line"]
    assert stop.notes[0] == "a blend of 10 mm was left out: no move follows at once"


def test_path_that_is_not_exact_is_refused(scara, monkeypatch) -> None:
    tracker, X = Tracker(scara), shifted(scara, 0.0, -0.2, 0.0)
    curve = line(scara.fkine(Q), X)
    follow(tracker, curve, Q)
    monkeypatch.setattr(following, "ACCURACY", 1e-12)
    monkeypatch.setattr(following, "FINEST", 8)  # far too few points for that
    with pytest.raises(PathError) as caught:
        follow(tracker, curve, Q)
    assert caught.value.what == "singularity"
    assert 0.0 < caught.value.place_m < 0.2


def test_point_that_newton_has_not_settled_on_did_not_arrive(scara, monkeypatch) -> None:
    tracker = Tracker(scara)
    X = scara.fkine(Q)[None]
    _, arrived = tracker.solve(X, Q[None] + 0.1)
    assert arrived.all()
    monkeypatch.setattr(numeric, "NEWTON_STEPS", 1)
    monkeypatch.setattr(numeric, "PLACE", 1.0)
    monkeypatch.setattr(numeric, "TILT", 1.0)
    _, arrived = tracker.solve(X, Q[None] + 0.1)
    assert not arrived.any()
