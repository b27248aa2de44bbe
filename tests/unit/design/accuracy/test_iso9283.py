"""Formulas of ISO 9283: the oracles that follow from their definitions, brute force, and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import maxwell

from servotwin.design.accuracy.iso9283 import (
    distance_accuracy,
    distance_repeatability,
    drift,
    mean_rotation,
    multidirectional_turn,
    multidirectional_variation,
    orientation_accuracy,
    orientation_repeatability,
    overshoot,
    posing_time,
    position_accuracy,
    position_repeatability,
    stabilisation_time,
)
from servotwin.design.accuracy.iso9283_path import (
    Planes,
    cornering,
    path_characteristics,
    velocity_characteristics,
)
from servotwin.errors import InputError


def test_an_offset_is_accuracy_and_no_repeatability() -> None:
    p_c, d = np.array([0.3, -0.2, 0.7]), np.array([1e-4, 2e-4, -2e-4])
    p = np.tile(p_c + d, (30, 1))
    assert np.linalg.norm(position_accuracy(p, p_c)) == pytest.approx(3e-4, rel=1e-9)
    assert position_repeatability(p) == pytest.approx(0.0, abs=1e-15)


def test_a_cloud_of_two_points_repeats_to_its_half_distance() -> None:
    e = np.array([3e-5, -4e-5, 0.0])
    p = np.concatenate([np.tile(e, (15, 1)), np.tile(-e, (15, 1))])
    assert position_repeatability(p) == pytest.approx(5e-5, rel=1e-12)


def test_an_isotropic_cloud_repeats_to_3_616_sigma() -> None:
    sigma = 2e-5
    p = np.random.default_rng(1).normal(size=(400_000, 3)) * sigma
    assert position_repeatability(p) == pytest.approx(
        sigma * (maxwell.mean() + 3.0 * maxwell.std()), rel=3e-3
    )
    assert maxwell.mean() + 3.0 * maxwell.std() == pytest.approx(3.616, abs=1e-3)


def test_repeatability_is_that_of_the_plain_sums() -> None:
    p = np.random.default_rng(2).normal(size=(30, 3))
    mean = [sum(row[i] for row in p) / 30 for i in range(3)]
    far = [math.sqrt(sum((row[i] - mean[i]) ** 2 for i in range(3))) for row in p]
    middle = sum(far) / 30
    S = math.sqrt(sum((x - middle) ** 2 for x in far) / 29)
    assert position_repeatability(p) == pytest.approx(middle + 3.0 * S, rel=1e-12)


def test_a_single_cycle_has_no_repeatability() -> None:
    with pytest.raises(InputError, match="1 attained positions; expected at least 2"):
        position_repeatability([[0.0, 0.0, 0.0]])


def test_the_mean_rotation_is_that_of_scipy_for_small_spreads_and_knows_no_wrap() -> None:
    rng = np.random.default_rng(3)
    centre = Rotation.from_euler("z", 180.0, degrees=True)  # where angles jump from 180 to -180 deg
    R = (Rotation.from_rotvec(1e-3 * rng.normal(size=(50, 3))) * centre).as_matrix()
    mean = mean_rotation(R)
    difference = Rotation.from_matrix(mean) * Rotation.from_matrix(R).mean().inv()
    assert difference.magnitude() < 1e-8  # the chordal mean of scipy differs in third order
    turns = Rotation.from_matrix(R @ mean.T).as_rotvec()
    assert np.abs(turns.sum(axis=0)).max() < 1e-12  # eq:mean-rotation
    assert np.linalg.norm(orientation_accuracy(R, centre.as_matrix())) < 1e-3


def test_orientation_accuracy_and_repeatability_give_back_turns_about_one_axis() -> None:
    angles = 1e-3 * np.array([1.0, 2.0, 3.0, 4.0])
    base = Rotation.from_euler("xyz", [0.4, -0.3, 2.9])
    R = (Rotation.from_rotvec(angles[:, None] * [0.0, 0.0, 1.0]) * base).as_matrix()
    np.testing.assert_allclose(orientation_accuracy(R, base.as_matrix()), [0.0, 0.0, 2.5e-3], atol=1e-14)
    np.testing.assert_allclose(orientation_repeatability(R), [0.0, 0.0, 3.0 * angles.std(ddof=1)], atol=1e-14)


def test_multidirectional_variation_is_the_largest_distance_of_means() -> None:
    rng = np.random.default_rng(4)
    middles = np.array([[0.0, 0.0, 0.0], [1e-4, 0.0, 0.0], [0.0, 3e-4, 0.0]])
    noise = rng.normal(size=(30, 3)) * 1e-5
    noise -= noise.mean(axis=0)
    clouds = [middle + noise for middle in middles]
    assert multidirectional_variation(clouds) == pytest.approx(math.hypot(1e-4, 3e-4), rel=1e-9)
    turns = [Rotation.from_rotvec(np.tile([0.0, 0.0, a], (3, 1))).as_matrix() for a in (0.0, 1e-3, -2e-3)]
    assert multidirectional_turn(turns) == pytest.approx(3e-3, rel=1e-9)


def test_distance_accuracy_sees_a_scale_and_not_a_common_offset() -> None:
    one, two = np.zeros((30, 3)), np.tile([0.6, 0.0, 0.8], (30, 1))
    shift = np.random.default_rng(5).normal(size=(30, 3)) * 1e-4
    assert distance_accuracy(one + shift, 1.001 * two + shift, 1.0) == pytest.approx(1e-3, rel=1e-9)
    assert distance_repeatability(one + shift, two + shift) == pytest.approx(0.0, abs=1e-12)
    along = 1e-5 * np.random.default_rng(6).normal(size=(30, 1)) * [0.6, 0.0, 0.8]
    want = 3.0 * np.linalg.norm(along @ [[0.6], [0.0], [0.8]], axis=1, ord=2)
    signed = (along @ np.array([0.6, 0.0, 0.8])).std(ddof=1)
    assert len(want) == 30
    assert distance_repeatability(one, two + along) == pytest.approx(3.0 * signed, rel=1e-6)


def _decaying(damping: float) -> tuple[np.ndarray, np.ndarray]:
    """One axis that settles to zero from 10 mm with 10 Hz."""
    t = np.linspace(0.0, 2.0, 200_001)
    w = 2.0 * math.pi * 10.0
    if damping >= 1.0:
        x = 1e-2 * (1.0 + w * t) * np.exp(-w * t)
    else:
        w_d = w * math.sqrt(1.0 - damping**2)
        x = 1e-2 * np.exp(-damping * w * t) * (np.cos(w_d * t) + damping * w / w_d * np.sin(w_d * t))
    return t, np.stack([x, 0.0 * x, 0.0 * x], axis=1)


def test_overshoot_of_a_second_order_system_is_the_textbook_one() -> None:
    _, p = _decaying(0.2)
    expected = 1e-2 * math.exp(-math.pi * 0.2 / math.sqrt(1.0 - 0.04))
    assert overshoot(p, np.zeros(3), 1e-4) == pytest.approx(expected, rel=1e-6)
    _, p = _decaying(1.0)
    assert overshoot(p, np.zeros(3), 1e-4) == 0.0


def test_stabilisation_time_counts_from_the_first_entry() -> None:
    t, p = _decaying(0.2)
    distance = np.abs(p[:, 0])
    first = next(k for k in range(len(t)) if distance[k] <= 1e-4)
    last = max(k for k in range(len(t)) if distance[k] > 1e-4)
    assert stabilisation_time(t, p, np.zeros(3), 1e-4) == pytest.approx(t[last + 1] - t[first], abs=1e-12)
    assert posing_time(t, p, np.zeros(3), 1e-4, begin=-1.0) == pytest.approx(1.0 + t[last + 1], abs=1e-12)
    t, p = _decaying(1.0)
    assert stabilisation_time(t, p, np.zeros(3), 1e-4) == 0.0


def test_drift_is_the_largest_change_from_cold() -> None:
    assert drift([1.0, 1.5, 0.2, 1.1]) == pytest.approx(0.8)


def _lines(shifts: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], Planes]:
    """Lines along x, each beside the commanded one by a shift (3,)."""
    begin, end = np.eye(4), np.eye(4)
    end[0, 3] = 1.0
    x = np.linspace(-0.01, 1.01, 501)
    ways = [np.stack([x, 0.0 * x, 0.0 * x], axis=1) + shift for shift in shifts]
    turns = [np.tile(np.eye(3), (501, 1, 1))] * len(ways)
    return ways, turns, Planes.of_line(begin, end, 20)


def test_path_accuracy_leaves_the_lag_along_the_path_out() -> None:
    ways, turns, planes = _lines(np.tile([5e-3, 3e-4, 4e-4], (10, 1)))
    found = path_characteristics(ways, turns, planes)
    assert found.accuracy == pytest.approx(5e-4, rel=1e-9)
    assert found.repeatability == pytest.approx(0.0, abs=1e-12)


def test_path_repeatability_is_that_of_the_crossings() -> None:
    shifts = np.random.default_rng(7).normal(size=(10, 3)) * 1e-4
    ways, turns, planes = _lines(shifts)
    found = path_characteristics(ways, turns, planes)
    across = shifts * [0.0, 1.0, 1.0]
    assert found.repeatability == pytest.approx(position_repeatability(across), rel=1e-9)
    assert found.accuracy == pytest.approx(np.linalg.norm(across.mean(axis=0)), rel=1e-9)


def test_path_orientation_is_compared_in_every_plane() -> None:
    ways, _, planes = _lines(np.zeros((10, 3)))
    angles = 1e-3 * np.arange(10)
    turns = [Rotation.from_rotvec(np.tile([a, 0.0, 0.0], (501, 1))).as_matrix() for a in angles]
    found = path_characteristics(ways, turns, planes)
    np.testing.assert_allclose(found.orientation_accuracy, [4.5e-3, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        found.orientation_repeatability, [3.0 * angles.std(ddof=1), 0.0, 0.0], atol=1e-12
    )


def test_a_path_that_ends_early_is_told() -> None:
    ways, turns, planes = _lines(np.zeros((2, 3)))
    with pytest.raises(InputError, match="does not cross a plane"):
        path_characteristics([way[:250] for way in ways], [turn[:250] for turn in turns], planes)


def test_velocity_characteristics_are_the_plain_sums() -> None:
    rows = [np.array([0.9, 1.0, 1.1]), np.array([0.8, 0.9, 1.0]), np.array([1.0, 1.1, 1.4])]
    found = velocity_characteristics(rows, 1.0)
    means = [1.0, 0.9, 3.5 / 3.0]
    assert found.accuracy == pytest.approx(sum(means) / 3.0 - 1.0)
    assert found.repeatability == pytest.approx(3.0 * np.std(means, ddof=1))
    assert found.fluctuation == pytest.approx(0.4)


def test_a_rounded_corner_has_the_distance_of_its_arc() -> None:
    r = 0.01  # an arc from (-r, 0) to (0, r) about (-r, r), corner at the origin
    phi = np.linspace(-0.5 * math.pi, 0.0, 20_001)
    arc = np.stack([-r + r * np.cos(phi), r + r * np.sin(phi), 0.0 * phi], axis=1)
    path = np.concatenate([[[-0.1, 0.0, 0.0]], arc, [[0.0, 0.1, 0.0]]])
    found = cornering(path, [-0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.1, 0.0])
    assert found.round_off == pytest.approx(r * (math.sqrt(2.0) - 1.0), rel=1e-6)
    assert found.overshoot == pytest.approx(0.0, abs=1e-12)


def test_what_goes_beyond_the_second_leg_is_overshoot() -> None:
    path = np.array([[-0.1, 0.0, 0.0], [0.002, 0.001, 0.0], [0.0, 0.02, 0.0], [0.0, 0.1, 0.0]])
    found = cornering(path, [-0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.1, 0.0])
    assert found.overshoot == pytest.approx(0.002)
    with pytest.raises(InputError, match="in line"):
        cornering(path, [-0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.0])
