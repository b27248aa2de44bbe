"""True for every motion: limits hold at every sample, paths are met, blends stay within, time is not wasted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import servotwin
from measured_plans import deviation
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveC, MoveJ, MoveL, Speed, Spline

PERIODS = {"gsis-scara": 0.016, "palletizer-4": 0.001, "puma560": 0.016}
KINDS = ("cubic-ramp", "trapezoid", "s-curve", "quintic")
SPEEDS = st.one_of(
    st.floats(0.05, 1.0).map(lambda v: Speed("fraction", v)),
    st.floats(0.01, 2.0).map(lambda v: Speed("m/s", v)),
)
TIMES = st.floats(0.5, 5.0).map(lambda v: Speed("s", v))
# Plans of many moves shrink slowly and tell little when small.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
HOLDS = 1.0 + 1e-9  # rounding


@cache
def loaded(name):
    robot = servotwin.load_robot(name)
    return robot, limits_of(robot)


def stricter(limits, which):
    """The same with limits of jerk, or of the tool."""
    if which == "jerk":
        return replace(limits, jerk=2.0 * limits.acceleration**2 / limits.speed)
    return replace(limits, tool_speed=0.7, tool_acceleration=3.0) if which == "tool" else limits


@st.composite
def poses(draw, robot, spread=0.35):
    """A joint position around the middle of the ranges, away from stretched arms."""
    low, high = np.maximum(robot.limits.q_min, -3.0), np.minimum(robot.limits.q_max, 3.0)
    share = np.array(draw(st.lists(st.floats(-1, 1), min_size=robot.n, max_size=robot.n)))
    middle = np.array({"gsis-scara": [0.2, 1.2, 0.07, 0.0], "palletizer-4": [0.0, 1.3, -1.5, 0.0]}.get(
        robot.name, [0.0, 0.8, -2.6, 0.2, 0.9, 0.0]
    ))  # fmt: skip
    return np.clip(middle + spread * 0.3 * (high - low) * share, low, high)


@st.composite
def jobs(draw):
    robot, limits = loaded(draw(st.sampled_from(sorted(PERIODS))))
    limits = stricter(limits, draw(st.sampled_from(["", "jerk", "tool"])))
    start = draw(poses(robot))
    requests = []
    blended = draw(st.booleans())  # a duration and a blend exclude each other
    for _ in range(draw(st.integers(1, 4))):
        options = {
            "speed": draw(SPEEDS if blended else SPEEDS | TIMES),
            "blend": draw(st.sampled_from([0.0, 0.002, 0.02, 0.1])) if blended else 0.0,
            "profile": draw(st.none() | st.sampled_from(KINDS)),
        }
        kind = draw(st.sampled_from(["joint", "line", "circle", "spline"]))
        X = [robot.fkine(draw(poses(robot))) for _ in range(3)]
        if kind == "joint":
            requests.append(MoveJ(draw(poses(robot)), **options))
        elif kind == "line":
            acceleration = draw(st.none() | st.floats(0.1, 10.0))
            requests.append(MoveL(X[0], acceleration=acceleration, **options))
        elif kind == "circle":
            requests.append(MoveC(X[0], X[1], **options))
        else:
            requests.append(Spline(X, **options))
    return robot, limits, start, requests


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(jobs())
def test_any_plan_that_fits_holds_every_limit_at_every_sample(job) -> None:
    robot, limits, start, requests = job
    period = PERIODS[robot.name]
    try:
        way = plan(robot, start, requests, limits, fit=True)
    except servotwin.InputError:  # three points in a row, for instance
        assume(False)
    except PathError as error:
        if error.what not in ("workspace", "singularity", "position"):  # which no speed can cure
            raise
        assume(False)
    assume(way.duration > 1e-3)
    for step in (period, way.duration / 5000 + 1e-9):
        q, qd, qdd = way.sample(np.arange(0.0, way.duration + step, step))
        assert np.all(q >= limits.q_min - 1e-10)
        assert np.all(q <= limits.q_max + 1e-10)
        assert (np.abs(qd) / limits.speed).max() <= HOLDS
        assert (np.abs(qdd) / limits.acceleration).max() <= HOLDS
        # an acceleration that does not jump changes by no more than the largest jerk times the step
        assert (np.abs(np.diff(qdd, axis=0)) / step / limits.jerk).max() <= 1.0 + 1e-6
        J = robot.jacob0(q)
        v = np.einsum("kij,kj->ki", J, qd)[:, :3]
        a = np.einsum("kij,kj->ki", J, qdd) + np.einsum("kij,kj->ki", robot.jacob0_dot(q, qd), qd)
        assert np.linalg.norm(v, axis=1).max() <= limits.tool_speed * HOLDS
        assert np.linalg.norm(a[:, :3], axis=1).max() <= limits.tool_acceleration * HOLDS
    # continuous: position is the integral of the velocity, which does not jump
    gaps = np.abs(np.diff(q, axis=0) - 0.5 * step * (qd[1:] + qd[:-1]))
    assert np.all(gaps < 0.3 * step**2 * limits.acceleration + 1e-7)
    assert np.all(np.abs(np.diff(qd, axis=0)) <= 1.01 * step * limits.acceleration + 1e-5)
    assert deviation(way, robot, period) < 1e-6


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(jobs())
def test_blends_stay_within_their_radius(job) -> None:
    robot, limits, start, requests = job
    try:
        way = plan(robot, start, requests, limits, fit=True)
    except (PathError, servotwin.InputError):
        assume(False)
    for segment, owner in zip(way.segments, way.owners, strict=True):
        if segment.kind != "blend":
            continue
        request = requests[owner]
        if isinstance(request, MoveJ):
            corner = robot.fkine(request.target)
        else:
            corner = request.targets[-1] if isinstance(request, Spline) else request.target
        q, _, _ = segment.sample(np.linspace(0.0, segment.duration, 101))
        away = np.linalg.norm(robot.fkine(q)[:, :3, 3] - corner[:3, 3], axis=1)
        assert away.max() <= request.blend * (1 + 1e-6)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(st.data(), st.sampled_from(sorted(PERIODS)), st.sampled_from(KINDS), st.floats(0.05, 1.0))
def test_time_scaling_of_joint_moves_is_tight(data, name, profile, share) -> None:
    robot, limits = loaded(name)
    start, target = data.draw(poses(robot)), data.draw(poses(robot))
    assume(np.abs(target - start).max() > 1e-4)
    way = plan(robot, start, [MoveJ(target, Speed("fraction", share), profile=profile)], limits)
    law = way.segments[0].law
    fine = np.linspace(0.0, way.duration, 5001)
    ramps = np.cumsum([0.0, *getattr(law, "times", ())])
    t = np.unique(np.concatenate([fine, *(np.linspace(a, b, 501) for a, b in pairwise(ramps))]))
    _, qd, qdd = way.sample(t)
    speed, acceleration = (np.abs(qd) / limits.speed).max(), (np.abs(qdd) / limits.acceleration).max()
    assert speed <= share * (1 + 1e-9)
    assert acceleration <= 1 + 1e-9
    used = [speed / share, acceleration]
    if (
        profile == "s-curve"
    ):  # a stroke may also be too short for either; its jerk is 2 a^2 / V of the whole move
        pace, push = (
            float(1.0 / np.max(np.abs(target - start) / x)) for x in (limits.speed, limits.acceleration)
        )
        _, _, sdd = law.sample(t)
        jerk = np.abs(np.diff(sdd) / np.diff(t))[np.diff(t) > 1e-7 * way.duration].max()
        used.append(jerk / (2.0 * push**2 / (share * pace)))
    assert max(used) > 0.99
