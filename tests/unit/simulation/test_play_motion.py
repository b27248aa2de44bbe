"""Optimal motions on the drive-level simulator: they arrive, and feed-forward is what lets the loops follow."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.errors import InputError

START, GOAL = [-1.0, 1.4, 0.0, 0.0], [1.2, -1.0, 0.1, 1.5]


def test_motion_is_followed_by_what_is_fed_forward():
    motion = st.optimise_motion("gsis-scara", START, GOAL, reserve=0.1)
    with_it = st.play_motion(motion, "gsis-scara")
    without = st.play_motion(motion, "gsis-scara", feedforward=False)
    assert with_it.summary["tip_error_max_m"] < 0.2 * without.summary["tip_error_max_m"]
    assert with_it.summary["tip_error_final_m"] < 1e-4
    last = [with_it.signals[f"joint_{name}_position_rad"][-1] for name in "AB"]
    np.testing.assert_allclose(last, GOAL[:2], atol=1e-3)


def test_cylinder_follows_a_motion_at_the_limit_of_its_valve():
    """A faster joint than its file says, so that the valve alone limits it; 3 % of its flow are left to leaks."""
    changes = {"axes.q3.motor.valve.rated_flow": "3.7 L/min", "axes.q3.limits.speed": "1 m/s"}
    motion = st.optimise_motion("daiv-1", [0.1, 0.1, -0.14], [0.1, 0.1, -0.01], overrides=changes)
    assert np.nanmax(np.abs(motion.opening[:, 2])) > 0.999
    played = st.play_motion(motion, "daiv-1", {"axes.q3.limits.speed": "1 m/s"})
    assert played.summary["tip_error_max_m"] < 3e-3
    assert played.summary["tip_error_final_m"] < 2e-4


def test_motion_of_another_robot_is_refused():
    motion = st.optimise_motion("gsis-scara", START, GOAL, intervals=20)
    with pytest.raises(InputError, match="a motion of gsis-scara; expected one of palletizer-4"):
        st.play_motion(motion, "palletizer-4")


def test_motion_that_does_not_end_at_rest_is_refused():
    motion = st.optimise_motion("gsis-scara", START, GOAL, intervals=20, free_end=True)
    with pytest.raises(InputError, match="the motion ends with a speed; expected one from rest to rest"):
        st.play_motion(motion, "gsis-scara")
