"""Jogging and alarms near the limits of angles and distances between frames: as near those of joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.control.main.alarms import AlarmKind, watch_of
from servotwin.control.main.exchange import Settings
from servotwin.control.main.jogging import Jog
from servotwin.control.main.quick_watch import QuickWatch
from servotwin.control.main.reference import Reference
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of

# the elbow's angle is -th3; the distance of the tool from the axis z of the base falls as the arm folds
FIELD = {
    "frame_quantities": "{elbow: {angle: [th2.x, th3.x], limits: [70 deg, 110 deg]}, "
    "folded: {distance: [base, tool], limits: [900 mm, 3 m]}}"
}
ROBOT = st.load_robot("palletizer-4", FIELD)
LIMITS = limits_of(ROBOT, read_description("palletizer-4", FIELD))
JERKY = replace(LIMITS, jerk=10.0 * LIMITS.acceleration)
BOTH = pytest.mark.parametrize("limits", [LIMITS, JERKY], ids=["acceleration", "jerk"])


def reference(limits, q=None, period_ns=8_000_000):
    ref = Reference(ROBOT, limits, period_ns, Settings())
    ref.hold(ROBOT.q_home if q is None else q)
    return ref


@BOTH
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_jog_stops_before_the_limit_of_an_angle_and_leaves_other_axes_alone(limits, way) -> None:
    ref, wanted = reference(limits), np.array([0.2, 0.0, 0.5 * way, 0.3]) * LIMITS.speed
    for _ in range(150):
        motion = ref._joints(wanted)
        assert ref.fault_of(motion) is None
        ref.become(motion)
        assert ROBOT.frame_quantities_beyond(ref.q)[0] <= 1e-12
    np.testing.assert_allclose(ref.qd, np.where([True, False, False, True], wanted, 0.0), atol=1e-9)
    # th3 itself at its limit is the closed form: elbow = -th3
    assert np.degrees(ref.q[2]) == pytest.approx(-90.0 + 20.0 * way, abs=0.1)
    for _ in range(20):  # and away from the limit again
        ref.become(ref._joints(-wanted))
    assert ref.qd[2] * way < 0.0


@BOTH
@pytest.mark.parametrize("period_ns", [5_000_000, 20_000_000])
def test_jog_of_all_axes_keeps_the_limits_whatever_the_keys(limits, period_ns) -> None:
    rng = np.random.default_rng(3)
    for _ in range(2):
        ref = reference(limits, ROBOT.random_q(rng), period_ns)
        for k in range(int(1.2e9 / period_ns)):
            if k % int(0.3e9 / period_ns) == 0:
                wanted = rng.uniform(-1.0, 1.0, 4) * LIMITS.speed
            motion = ref._joints(wanted)
            assert ref.fault_of(motion) is None
            ref.become(motion)
            assert ROBOT.frame_quantities_beyond(ref.q).max() <= 1e-10


def test_jog_along_a_line_stops_before_the_distance_is_too_small() -> None:
    ref = reference(LIMITS)
    ref.start_jog(Jog("base", (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    for _ in range(400):
        motion = ref.jogging(1.0)
        if motion is None:
            motion = ref.braking()
            assert ref.fault_of(motion) is None
            break
        assert ref.fault_of(motion) is None
        ref.become(motion)
    elbow = 180.0 - np.degrees(_elbow(ref.q))
    assert 109.0 < elbow <= 110.0  # it binds before the distance does


def _elbow(q):
    """Angle at the elbow by the law of cosines, from the places of shoulder, elbow and wrist."""
    places = [ROBOT.fkine(q, name)[:3, 3] for name in ("th1-link", "th2-link", "th3-link")]
    a, b, c = (np.linalg.norm(places[i] - places[j]) for i, j in ((0, 1), (1, 2), (0, 2)))
    return np.arccos((a**2 + b**2 - c**2) / (2.0 * a * b))


def test_arm_that_stands_outside_may_come_back_but_not_go_further() -> None:
    q = ROBOT.q_home.copy()
    q[2] = np.radians(-60.0)
    ref = reference(LIMITS, q)
    assert ref.take_over(q).tolist()[-2:] == [True, False]
    out = np.array([0.0, 0.0, 0.3, 0.0]) * LIMITS.speed
    for _ in range(20):
        ref.become(ref._joints(out))
    assert ref.q[2] == pytest.approx(q[2], abs=1e-9)
    for _ in range(100):
        ref.become(ref._joints(-out))
    assert ROBOT.frame_quantities_beyond(ref.q).max() < 0.0


def test_measured_position_beyond_the_limit_raises_an_alarm() -> None:
    watch = watch_of(ROBOT.joint_names, LIMITS, units=ROBOT.joint_units, robot=ROBOT)
    quick, none = QuickWatch(watch, 0.004), np.zeros(20, dtype=np.bool_)
    q = ROBOT.q_home.copy()
    for angle, alarmed in (
        (-70.1, False),
        (-69.9, False),
        (-69.7, True),
    ):  # half a percent of 40 deg is 0.2 deg
        q[2] = np.radians(angle)
        found = watch.look(q, np.zeros(4), q, none, 0)
        assert [alarm.kind for alarm in found] == [AlarmKind.POSITION_LIMIT] * alarmed
        assert quick.clear(q, q, q) is not alarmed
        assert all(
            str(alarm) == "position limit: elbow is 69.7 deg; expected 70 deg to 110 deg" for alarm in found
        )
