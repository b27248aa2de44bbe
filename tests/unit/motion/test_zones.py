"""Paths in zones: continuous, within their speeds, quick where a spline is straight and slow where it is tight."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servotwin
from measured_plans import deviation
from servotwin.motion.extremes import cells_of_law
from servotwin.motion.laws import breaks, ramped, times_at
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.ramps import RampLimits
from servotwin.motion.requests import MoveL, Speed, Spline
from servotwin.motion.zones import Zone, reachable_end, reversed_zones, zoned_law, zones_between

Q = np.array([0.0, 0.8, -2.6, 0.2, 0.9, 0.0])
SHAPES = st.sampled_from(["linear", "cubic", "jerk-limited"])


@st.composite
def zones(draw):
    """Zones of any lengths, speeds and ramps."""
    count, end, out = draw(st.integers(1, 6)), 0.0, []
    for _ in range(count):
        end += draw(st.floats(0.01, 2.0))
        ramp = RampLimits(draw(SHAPES), draw(st.floats(0.1, 20.0)), draw(st.floats(1.0, 500.0)))
        out.append(Zone(end, draw(st.floats(0.01, 3.0)), ramp))
    shape = out[0].ramp.shape
    return tuple(zone._replace(ramp=zone.ramp._replace(shape=shape)) for zone in out)


@given(zones())
def test_law_of_zones_keeps_each_zone_and_its_speed_does_not_jump(given_zones) -> None:
    law = zoned_law(given_zones, 0.0, 0.0)
    assert law.length == pytest.approx(given_zones[-1].end)
    t = np.linspace(0.0, law.duration, 4001)
    s, v, a = law.sample(t)
    ends = np.array([zone.end for zone in given_zones])
    inner = np.abs(s[:, None] - ends[None, :-1]).min(axis=1, initial=np.inf) > 1e-9
    which = np.minimum(np.searchsorted(ends, s), len(ends) - 1)
    speeds = np.array([zone.speed for zone in given_zones])[which]
    growths = np.array([zone.ramp.acceleration for zone in given_zones])[which]
    assert np.all(v[inner] <= speeds[inner] * (1 + 1e-9))
    assert np.all(np.abs(a[inner]) <= growths[inner] * (1 + 1e-9))
    steepest = max(zone.ramp.acceleration for zone in given_zones)
    assert np.abs(np.diff(v)).max() <= 1.001 * t[1] * steepest + 1e-12
    np.testing.assert_allclose(
        np.diff(s), 0.5 * t[1] * (v[1:] + v[:-1]), atol=0.3 * t[1] ** 2 * steepest + 1e-12
    )
    assert (v[0], s[-1]) == (0.0, pytest.approx(law.length))
    assert v[-1] == pytest.approx(0.0, abs=1e-9)


@given(zones(), st.floats(0.05, 0.95), st.floats(0.0, 1.0))
def test_instants_of_a_law_are_found_and_a_part_of_zones_is_reached(given_zones, share, cap) -> None:
    law = zoned_law(given_zones, 0.0, 0.0)
    s = np.linspace(0.01, 0.99, 97) * law.length
    np.testing.assert_allclose(law.sample(times_at(law, s))[0], s, rtol=0.0, atol=1e-12 * law.length)
    edges = breaks(law)
    assert edges[0] == 0.0
    assert edges[-1] == pytest.approx(law.duration)
    cut = zones_between(given_zones, 0.0, share * law.length)
    assert cut[-1].end == pytest.approx(share * law.length)
    most = reachable_end(cut, 0.0, cap * cut[-1].speed)
    half = zoned_law(cut, 0.0, most)
    assert half.sample(np.array([half.duration]))[1][0] == pytest.approx(most, abs=1e-9)
    back = zoned_law(reversed_zones(cut), most, 0.0)
    assert back.duration == pytest.approx(half.duration, rel=1e-9)


@pytest.mark.parametrize("shape", ["linear", "cubic", "jerk-limited"])
def test_instants_beside_a_zone_that_is_much_slower_are_found(shape) -> None:
    ramp = RampLimits(shape, 0.1, 1.0)
    law = zoned_law((Zone(3.65625, 0.25, ramp), Zone(3.90625, 0.015625, ramp)), 0.0, 0.0)
    s = np.concatenate([[1e-9, 1e-6, 1e-3], np.linspace(0.01, 0.99, 97), 1.0 - np.array([1e-3, 1e-6, 1e-9])])
    found = law.sample(times_at(law, s * law.length))[0]
    np.testing.assert_allclose(found, s * law.length, rtol=0.0, atol=1e-12 * law.length)


@pytest.mark.parametrize("shape", ["linear", "cubic", "jerk-limited"])
def test_compiled_instants_of_a_law_are_found_from_a_slow_end_on(shape) -> None:
    for ends in ((0.0, 0.0), (0.0, 0.01), (0.01, 0.0)):
        law = ramped(1.0, *ends, 0.5, RampLimits(shape, 0.1, 1.0))
        s = np.concatenate(
            [[1e-9, 1e-6, 1e-3], np.linspace(0.01, 0.99, 33), 1.0 - np.array([1e-3, 1e-6, 1e-9])]
        )
        edges = law.sample(cells_of_law(law.numbers, s).edges)[0]
        for place in s:
            assert np.abs(edges - place).min() <= 1e-12


# --- splines ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def puma():
    return servotwin.load_robot("puma560")


def shifted(robot, *step):
    X = robot.fkine(Q)
    X[:3, 3] += step
    return X


def hairpin(robot, width):
    """Out and back again, the two ways ``width`` [m] apart."""
    places = ((0.05, 0.0), (0.1, 0.0), (0.05, width), (0.0, 2 * width))
    return [shifted(robot, x, y, 0.0) for x, y in places]


def limits_with(robot, which):
    limits = limits_of(robot)
    if which == "jerk":
        return replace(limits, jerk=2.0 * limits.acceleration**2 / limits.speed)
    return replace(limits, tool_speed=0.7, tool_acceleration=3.0) if which == "tool" else limits


def rates(way, robot, step):
    t = np.arange(0.0, way.duration + step, step)
    q, qd, qdd = way.sample(t)
    v = np.einsum("kij,kj->ki", robot.jacob0(q)[:, :3], qd)
    a = np.einsum("kij,kj->ki", robot.jacob0(q)[:, :3], qdd)
    a += np.einsum("kij,kj->ki", robot.jacob0_dot(q, qd)[:, :3], qd)
    return qd, qdd, np.linalg.norm(v, axis=1), np.linalg.norm(a, axis=1)


@pytest.mark.parametrize("which", ["", "jerk", "tool"])
@pytest.mark.parametrize("width", [0.001, 0.005])
@pytest.mark.parametrize("profile", [None, "trapezoid", "s-curve", "quintic"])
def test_spline_is_slow_at_its_bend_only_and_holds_every_limit(puma, which, width, profile) -> None:
    limits = limits_with(puma, which)
    way = plan(puma, Q, [Spline(hairpin(puma, width), profile=profile)], limits)
    step = way.duration / 40_000
    qd, qdd, v, a = rates(way, puma, step)
    assert (np.abs(qd) / limits.speed).max() <= 1.0 + 1e-9
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-9
    assert (np.abs(np.diff(qdd, axis=0)) / step / limits.jerk).max() <= 1.0 + 1e-6
    assert v.max() <= limits.tool_speed * (1 + 1e-9)
    assert a.max() <= limits.tool_acceleration * (1 + 1e-9)
    # no jump of a speed: it changes by no more than the acceleration allows
    assert np.all(np.abs(np.diff(qd, axis=0)) <= 1.01 * step * limits.acceleration)
    assert deviation(way, puma, 0.001) < 1e-6
    # The tightest radius of the curve bounds a constant speed; zones are several times quicker.
    segment = way.segments[0]
    s = np.linspace(0.0, segment.curve.length, 20_001)
    _, _, ddq = segment.path.at(s)
    slowest = np.min(limits.acceleration / np.abs(ddq).max(axis=0)) ** 0.5
    constant = segment.curve.length / slowest
    assert way.duration < constant / 4
    bend = int(np.argmin(v[len(v) // 10 : -len(v) // 10])) + len(v) // 10
    assert v.max() > 5 * v[bend] > 0.0


@pytest.mark.parametrize("which", ["", "jerk", "tool"])
def test_acceleration_of_a_quintic_spline_does_not_jump(puma, which) -> None:
    way = plan(puma, Q, [Spline(hairpin(puma, 0.005), profile="quintic")], limits_with(puma, which))
    jumps = []
    for parts in (40_000, 80_000):
        qdd = rates(way, puma, way.duration / parts)[1]
        jumps.append(float(np.abs(np.diff(qdd, axis=0)).max()))
    assert jumps[1] == pytest.approx(0.5 * jumps[0], rel=0.1)


@pytest.mark.parametrize("which", ["", "jerk", "tool"])
def test_spline_with_more_acceleration_in_mps2_than_there_is_takes_no_longer(puma, which) -> None:
    limits = limits_with(puma, which)
    targets = hairpin(puma, 0.005)
    free = plan(puma, Q, [Spline(targets)], limits).duration
    ways = [plan(puma, Q, [Spline(targets, acceleration=a)], limits) for a in (0.5, 2.0, 50.0, 5000.0)]
    times = [way.duration for way in ways]
    assert all(b <= 1.003 * a for a, b in pairwise(times))
    assert times[-1] <= 1.01 * free
    assert ways[-1].notes[0].startswith("an acceleration of 5000 m/s2 was lowered to ")
    timed = plan(puma, Q, [Spline(targets, Speed("s", 3.0 * free), acceleration=5000.0)], limits)
    assert timed.duration == pytest.approx(3.0 * free)


def test_spline_of_gentle_bends_is_not_slower_than_at_one_speed(puma) -> None:
    targets = [shifted(puma, 0.03, 0.02, 0.0), shifted(puma, 0.06, 0.02, 0.01), shifted(puma, 0.09, 0.0, 0.0)]
    limits = limits_of(puma)
    way = plan(puma, Q, [Spline(targets)], limits)
    law = way.segments[0].law
    same = plan(
        puma, Q, [Spline(targets, profile="quintic")], limits
    )  # which has one law over its whole length
    assert way.duration <= same.duration
    assert law.length == pytest.approx(way.segments[0].curve.length)


def test_spline_with_a_speed_in_mps_is_refused_or_made_to_fit_where_it_is_tight(puma) -> None:
    limits, pace = limits_of(puma), Speed("m/s", 0.1)
    tight = Spline(hairpin(puma, 0.005), pace)
    with pytest.raises(servotwin.motion.errors.PathError, match="slow the move down or plan it with --fit"):
        plan(puma, Q, [tight], limits)
    way = plan(puma, Q, [tight], limits, fit=True)
    _, _, v, _ = rates(way, puma, 1e-3)
    assert v.max() == pytest.approx(0.1, rel=1e-6)
    length = way.segments[0].curve.length
    assert length / 0.1 < way.duration < 3 * length / 0.1
    assert way.slowed[0] == pytest.approx(way.duration / (length / 0.1), rel=0.2)


def test_spline_in_zones_is_blended_into_its_neighbours_at_speed(puma) -> None:
    limits = limits_of(puma)
    before, after = shifted(puma, 0.0, -0.06, 0.0), shifted(puma, -0.08, 0.01, 0.0)
    start = puma.ikine(before, Q)
    requests = [MoveL(puma.fkine(Q), blend=0.01), Spline(hairpin(puma, 0.005), blend=0.01), MoveL(after)]
    way = plan(puma, start, requests, limits)
    assert [segment.kind for segment in way.segments] == ["line", "blend", "spline", "blend", "line"]
    step = way.duration / 40_000
    qd, qdd, _, _ = rates(way, puma, step)
    assert (np.abs(qd) / limits.speed).max() <= 1.0 + 1e-9
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-9
    assert np.all(np.abs(np.diff(qd, axis=0)) <= 1.01 * step * limits.acceleration)
    for k in (1, 3):
        inside = way.sample(way.starts[k] + np.linspace(0.0, way.segments[k].duration, 50))
        assert np.abs(inside[1]).max(axis=1).min() > 0.01
    assert way.duration < 4.0


@pytest.mark.parametrize("robot_name", ["puma560", "sixaxis-5kg"])
def test_acceleration_does_not_jump_between_spline_and_blend_of_a_six_axis_arm(robot_name) -> None:
    """Where a leg meets its blend the pace is constant, and the bends of both are the same: qdd = q'' sd^2."""
    robot = servotwin.load_robot(robot_name)
    q = Q if robot_name == "puma560" else np.array([0.1, 0.3, 0.1, 0.2, 1.0, -0.2])
    X = robot.fkine(q)

    def place(*step):
        Y = X.copy()
        Y[:3, 3] += step
        return Y

    curve = Spline([place(0.04, 0.05, 0.0), place(0.02, 0.1, 0.03), place(-0.04, 0.12, 0.02)], blend=0.02)
    moves = [curve, MoveL(place(-0.1, 0.0, 0.05), blend=0.02), replace(curve, blend=0.0)]
    limits = replace(limits_of(robot), jerk=np.full(6, np.inf))
    way = plan(robot, q, moves, limits)
    assert [segment.kind for segment in way.segments] == ["spline", "blend", "line", "blend", "spline"]
    for t in way.starts[1:]:
        _, qd, qdd = way.sample([t - 1e-9, t + 1e-9])
        assert np.abs(qdd).max() > 0.01 * limits.acceleration.min()
        np.testing.assert_allclose(qdd[1], qdd[0], atol=1e-4 * np.abs(qdd).max())
        np.testing.assert_allclose(qd[1], qd[0], atol=1e-6 * np.abs(qd).max())
        # and it is the rate of the speed on both sides
        for side in (-1.0, 1.0):
            _, near, slope = way.sample(t + side * np.array([1e-5, 2e-5, 3e-5]))
            np.testing.assert_allclose(
                side * (near[2] - near[0]) / 2e-5, slope[1], atol=1e-2 * np.abs(slope).max()
            )
