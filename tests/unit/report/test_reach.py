"""Reach and outlines."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.report.reach import reach, two_link_outlines


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        ("gsis-scara", 0.35 + 0.30),  # Table 1 of its paper
        ("daiv-1", 0.4 + 0.4),
        ("met-two-link", 0.89 + 0.64),
    ],
)
def test_reach_of_planar_arm_is_the_sum_of_its_links(name: str, radius: float) -> None:
    found = reach(st.load_robot(name))
    assert found is not None
    assert found.radius == pytest.approx(radius, rel=1e-6)  # the radius is flat at the stretched arm


def test_reach_is_not_below_any_sample() -> None:
    robot = st.load_robot("puma560")
    found = reach(robot)
    assert found is not None
    p = robot.fkine(robot.random_q(np.random.default_rng(7), 20_000))[:, :3, 3]
    assert np.hypot(p[:, 0], p[:, 1]).max() <= found.radius
    assert p[:, 2].max() <= found.z_max
    assert p[:, 2].min() >= found.z_min


def test_reach_of_closed_chain_is_unknown() -> None:
    assert reach(st.load_robot("delta")) is None


def test_outlines_enclose_what_the_tool_reaches() -> None:
    robot = st.load_robot("gsis-scara")
    outlines = two_link_outlines(robot)
    assert len(outlines) == 2
    radii = np.concatenate([np.hypot(*outline.T) for outline in outlines])
    # Law of cosines at the elbow limit of 140 degrees.
    inner = np.sqrt(0.35**2 + 0.30**2 + 2 * 0.35 * 0.30 * np.cos(np.radians(140)))
    assert radii.max() == pytest.approx(0.65, rel=1e-12)
    assert radii.min() == pytest.approx(inner, rel=1e-9)
    for outline in outlines:
        assert outline[0] == pytest.approx(outline[-1], abs=1e-12)
