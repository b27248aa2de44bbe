"""From where a path is looked at, and that the picture holds all of it."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.report.view_plane import view_plane

WAVE = np.sin(np.linspace(0.0, 6.0, 50))
LINE = np.linspace(-100.0, 300.0, 50)
ZERO = np.zeros(50)


@pytest.mark.parametrize(
    ("points", "name", "axes"),
    [
        ((LINE, 200.0 * WAVE, 0.2 * LINE), "above", (0, 1)),
        ((LINE, ZERO, 200.0 * WAVE), "the front", (0, 2)),  # a five-bar in the x-z plane
        ((ZERO, LINE, 200.0 * WAVE), "the side", (1, 2)),
        ((ZERO, ZERO, LINE), "the front", (0, 2)),  # a quill that only goes up and down
        ((LINE, ZERO, ZERO), "above", (0, 1)),
    ],
)
def test_path_is_seen_from_where_most_of_it_shows(
    points: tuple[np.ndarray, ...], name: str, axes: tuple[int, int]
) -> None:
    path = np.stack(points, axis=1)
    plane = view_plane(path, 1.0)
    assert plane.name == name
    assert (plane.right, plane.up) == axes
    for values, low, high in zip(plane.of(path), plane.low, plane.high, strict=True):
        assert low < values.min() - 1.0
        assert high > values.max() + 1.0
    width, height = plane.high - plane.low
    assert min(width, height) > 0.3 * max(width, height)  # a line is no strip at the edge of the picture


def test_point_has_a_picture_of_the_least_size() -> None:
    plane = view_plane(np.zeros((3, 3)), 2.0)
    assert (plane.high - plane.low).min() >= 0.3 * 2.0
