"""Rotations and inertial parameters against clouds of point masses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.mechanism.spatial import (
    add_payload,
    chain,
    inertia_tensor,
    inverse,
    mass_center_inertia,
    phi_from,
    rot_rpy,
    rot_x,
    rot_y,
    rot_z,
    rotation_from_z,
    snapped,
    transform,
    transform_phi,
)

seeds = st.integers(0, 2**32 - 1)


def cloud(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Masses (20,) and places (20, 3) of a body."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, 20), rng.normal(size=(20, 3))


def cloud_phi(masses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The ten parameters, summed over the points."""
    I = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, places, strict=True))
    entries = [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    return np.array([masses.sum(), *(masses @ places), *entries])


def pose(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed + 1)
    return transform(rot_rpy(tuple(rng.uniform(-3, 3, 3))), rng.normal(size=3))


@given(seeds)
def test_parameters_moved_to_another_frame_are_those_of_the_moved_points(seed: int) -> None:
    masses, places = cloud(seed)
    X = pose(seed)
    moved = places @ X[:3, :3].T + X[:3, 3]
    # sums of some hundred terms
    np.testing.assert_allclose(
        transform_phi(X, cloud_phi(masses, places)), cloud_phi(masses, moved), rtol=1e-12, atol=1e-11
    )


@given(seeds)
def test_parameters_split_and_joined_stay_the_same(seed: int) -> None:
    phi = cloud_phi(*cloud(seed))
    np.testing.assert_allclose(phi_from(*mass_center_inertia(phi)), phi, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(inertia_tensor(phi), inertia_tensor(phi).T)


def test_parameters_of_massless_body_have_no_centre() -> None:
    mass, center, inertia = mass_center_inertia(np.zeros(10))
    assert mass == 0.0
    assert not center.any()
    assert not inertia.any()


@given(seeds)
def test_payload_adds_its_points(seed: int) -> None:
    masses, places = cloud(seed)
    X = pose(seed)
    load = mass_center_inertia(cloud_phi(masses, places))
    both = add_payload(np.ones(10), X, *load)
    np.testing.assert_allclose(
        both - 1.0, cloud_phi(masses, places @ X[:3, :3].T + X[:3, 3]), rtol=1e-12, atol=1e-11
    )


@given(seeds)
def test_inverse_undoes_a_placement(seed: int) -> None:
    X = pose(seed)
    np.testing.assert_allclose(inverse(X) @ X, np.eye(4), atol=1e-14)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rotation_to_a_coordinate_axis_is_an_exact_signed_permutation(axis: int, sign: float) -> None:
    direction = np.zeros(3)
    direction[axis] = sign
    R = rotation_from_z(direction)
    assert set(np.unique(R)) <= {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(R[:, 2], direction)
    np.testing.assert_array_equal(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == 1.0


@given(seeds)
def test_rotation_to_any_direction_is_a_rotation(seed: int) -> None:
    direction = np.random.default_rng(seed).normal(size=3) * [1.0, 1.0, 10.0 ** (seed % 12)]
    direction /= np.linalg.norm(direction)
    R = rotation_from_z(direction)
    np.testing.assert_allclose(R[:, 2], direction, atol=1e-11)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-11)
    assert np.linalg.det(R) == pytest.approx(1.0, rel=1e-10)


@pytest.mark.parametrize("rotation", [rot_x, rot_y, rot_z])
@pytest.mark.parametrize("quarter", range(-8, 9))
def test_rotation_by_quarter_turns_is_exact(rotation: object, quarter: int) -> None:
    R = rotation(quarter * np.pi / 2)  # type: ignore[operator]
    assert set(np.unique(R)) <= {-1.0, 0.0, 1.0}


def test_rotation_by_a_small_angle_stays_orthogonal() -> None:
    # cos(3e-6) differs from 1 by less than the snapping distance, but the sine must not be lost
    R = snapped(rot_z(3e-6))
    np.testing.assert_array_equal(R, rot_z(3e-6))
    assert R[0, 1] != 0.0


def test_chain_snaps_rotations_that_cancel() -> None:
    X = chain(transform(rot_x(0.3)), transform(rot_x(-0.3)))
    np.testing.assert_array_equal(X, np.eye(4))
