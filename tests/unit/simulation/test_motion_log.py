"""Errors of the tool along and across the path that is being followed."""

from __future__ import annotations

import numpy as np

from servotwin.simulation.results.motion_log import MotionLog


def strokes() -> tuple[np.ndarray, np.ndarray]:
    """Along x from 0.1 to 0.4 s, down from 0.6 to 0.8 s, in rows of 1 ms."""
    t = np.arange(1, 1001) * 1e-3
    wanted = np.zeros((1000, 3))
    wanted[:, 0] = 0.2 * np.clip((t - 0.1) / 0.3, 0.0, 1.0)
    wanted[:, 2] = -0.1 * np.clip((t - 0.6) / 0.2, 0.0, 1.0)
    return t, wanted


def test_sag_is_across_a_level_stroke_and_along_a_falling_one_also_at_rest() -> None:
    """A tool 1.5 mm too low and 2 mm too far: the stroke that is still to come explains nothing of it."""
    t, wanted = strokes()
    tip = wanted + np.array([2e-3, 0.0, -1.5e-3])
    log = MotionLog(t, wanted, wanted, tip, wanted, t)
    along, across = log.path_errors(t, tip, wanted)
    level = t < 0.6005
    np.testing.assert_allclose(along, np.where(level, 2e-3, 1.5e-3), atol=1e-12)
    np.testing.assert_allclose(across, np.where(level, 1.5e-3, 2e-3), atol=1e-12)
    np.testing.assert_allclose(log.across, across, atol=1e-15)


def test_lag_on_a_bent_path_is_no_distance_from_it() -> None:
    t = np.arange(1, 501) * 1e-3
    angle = 2.0 * t
    wanted = np.stack([np.cos(angle), np.sin(angle), 0.0 * t], axis=-1)
    late = np.stack([np.cos(angle - 0.03), np.sin(angle - 0.03), 0.0 * t], axis=-1)
    log = MotionLog(t, angle[:, None], angle[:, None], late, wanted, t)
    assert log.across[50:].max() < 1e-6  # the sagitta of a step of 2 mm
    assert log.path_errors(t, late, wanted)[0][50:].max() < -0.029
