"""Jogging near the limit of a quantity: it is kept, and axes that do not move it go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.control.main.alarms import shown_apart
from servotwin.control.main.exchange import Settings
from servotwin.control.main.jogging import joint_step
from servotwin.control.main.reference import Reference
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of

ROBOT = st.load_robot("palletizer-4")
LIMITS = limits_of(ROBOT, read_description("palletizer-4"))
JERKY = replace(LIMITS, jerk=10.0 * LIMITS.acceleration)
T = 0.004


def bent():
    """The second and third joint at 60 and -60 degrees, the third 20 degrees before the limit of an angle."""
    q = ROBOT.q_home.copy()
    q[1], q[2] = np.radians([60.0, -60.0])
    return q


def jogged(limits, wanted, q, periods=300):
    """Positions and speeds of a jog towards speeds (n,), with limits of jerk if there are."""
    ref = Reference(ROBOT, limits, 4_000_000, Settings())
    ref.hold(q)
    out = []
    for _ in range(periods):
        motion = ref._joints(wanted)
        assert ref.fault_of(motion) is None
        ref.become(motion)
        out.append((ref.q, ref.qd))
    return [np.array(x) for x in zip(*out, strict=True)]


@pytest.mark.parametrize("limits", [LIMITS, JERKY], ids=["acceleration", "jerk"])
def test_limit_of_a_quantity_stops_only_the_axes_that_move_it(limits) -> None:
    wanted = np.array([0.2, 0.0, 0.5, 0.3]) * LIMITS.speed
    q, qd = jogged(limits, wanted, bent())
    others = np.array([True, False, False, True])
    assert not LIMITS.quantities.A[:, others].any()
    np.testing.assert_allclose(qd[-1], np.where(others, wanted, 0.0), atol=1e-9)
    # The angle stops at its limit, no sooner than the last period of braking demands.
    room = -LIMITS.quantities.beyond(q[-1]).max()
    assert -1e-10 <= room < np.radians(0.5)


def test_slowing_for_one_quantity_does_not_break_another() -> None:
    """Random speeds of all axes with steps of acceleration: every quantity holds in every period."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        q, qd = bent(), np.zeros(4)
        for k in range(200):
            if k % 40 == 0:
                wanted = rng.uniform(-1.0, 1.0, 4) * LIMITS.speed
            q, qd, _ = joint_step(q, qd, wanted, LIMITS, T)
            assert LIMITS.beyond(q).max() <= 1e-10


@pytest.mark.parametrize("factor", [5.0, 20.0])
@pytest.mark.parametrize("period_ns", [4_000_000, 16_000_000])
def test_jerk_limited_jog_of_two_axes_keeps_quantities_whatever_the_keys(factor, period_ns) -> None:
    rng = np.random.default_rng(12)
    limits = replace(LIMITS, jerk=factor * LIMITS.acceleration)
    jogs = 0
    while jogs < 12:
        q = ROBOT.random_q(rng)
        if LIMITS.beyond(q).max() > 0.0:
            continue
        jogs += 1
        ref = Reference(ROBOT, limits, period_ns, Settings())
        ref.hold(q)
        for k in range(int(1.2e9 / period_ns)):
            if k % int(0.2e9 / period_ns) == 0:
                wanted = np.array([0.0, *rng.choice([-1, 1], 2), 0.0]) * limits.speed * (0.25, 1.0)[jogs % 2]
            motion = ref._joints(wanted)
            assert ref.fault_of(motion) is None
            ref.become(motion)


@pytest.mark.parametrize(
    ("factor", "period_ns", "share", "q", "keys"),
    [
        (5.0, 4_000_000, 1.0, (1.976, -2.402), ((-1, 1), (-1, 1), (1, 1), (1, 1), (1, 1), (1, 1))),
        (20.0, 4_000_000, 1.0, (1.24, -2.616), ((-1, 1), (-1, -1))),
        (5.0, 16_000_000, 0.25, (1.127, -2.191), ((-1, 1), (-1, -1), (-1, -1), (-1, 1))),
    ],
)
def test_jerk_limited_jog_whose_keys_change_near_a_limit_keeps_it(factor, period_ns, share, q, keys) -> None:
    """A joint that is turned round runs on outwards while its acceleration is taken away."""
    limits = replace(LIMITS, jerk=factor * LIMITS.acceleration)
    ref = Reference(ROBOT, limits, period_ns, Settings())
    ref.hold(np.array([0.0, *q, 0.0]))
    for key in keys:
        for _ in range(int(0.2e9 / period_ns)):
            motion = ref._joints(np.array([0.0, *key, 0.0]) * limits.speed * share)
            assert limits.beyond(motion[0]).max() <= 1e-10
            ref.become(motion)


def test_value_and_limit_are_told_apart() -> None:
    assert shown_apart(np.radians(30.0) + 1e-8, np.radians(30.0), "rad") == ("30.000001 deg", "30 deg")
    assert shown_apart(0.031, 0.03, "m") == ("31 mm", "30 mm")
