"""Limits that the motion without them keeps leave it as it is; voltages while currents build up; prices of limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.motion.errors import PathError
from servotwin.motion.optimal.task import Region
from tests.unit.motion.optimal.test_one_axis import AXIS, CURRENT, RATIO, THERMAL, J, K, R, U, axis

START, GOAL = np.radians([-60.0, 80.0, 0.0, 0.0]), np.radians([70.0, -60.0, 0.0, 0.0])


def test_region_that_the_free_motion_passes_by_costs_nothing():
    free = st.optimise_motion("gsis-scara", START, GOAL)
    p = free.tool
    beside = Region(
        x=(p[:, 0].max() + 0.001, 1.0), y=(-0.0005, 0.0005)
    )  # a thin wall that ends beside the way
    motion = st.optimise_motion("gsis-scara", START, GOAL, keep_out=(beside,))
    assert motion.duration == pytest.approx(free.duration, rel=1e-9)


@pytest.mark.parametrize("intervals", [50, 100])
def test_current_that_jumps_feeds_nothing_back(tmp_path, intervals):
    """So slow that R I > K w: braked with I or driven with it, power flows in; T = 2 sqrt(D J/(N K I))."""
    way = 0.005
    motion = axis(tmp_path, way=way, regeneration=5.0, intervals=intervals)
    T = 2.0 * math.sqrt(way * J / (RATIO * K * CURRENT))
    assert K * RATIO * motion.qd.max() < R * CURRENT
    assert motion.duration == pytest.approx(T, rel=1e-3)
    (use,) = [use for use in motion.limits if use.what == "regeneration"]
    assert use.peak < 1.0
    assert use.gain == 0.0


def test_voltage_is_kept_while_the_current_builds_up(tmp_path):
    """By R i + K w + L di/dt of the played motion, in the outermost intervals as well."""
    inductance = 2e-3
    motion = axis(tmp_path, kind="dc", more=f"inductance: {inductance} H", bus=U)
    for first in (0.0, motion.t[-2]):
        t = np.linspace(first, first + motion.t[1], 4001)
        _, qd, qdd = motion.sample(t[:-1] + 0.5 * np.diff(t))
        i = J * qdd[:, 0] / (RATIO * K)
        jerk = np.diff(motion.sample(t)[2][:, 0]) / np.diff(t)
        u = R * i + K * RATIO * qd[:, 0] + inductance * J * jerk / (RATIO * K)
        smooth = np.abs(np.diff(u, prepend=u[0])) < 0.01 * U  # but for samples about a node
        assert np.abs(u[smooth]).max() < 1.001 * U
        assert np.abs(u).max() > 0.95 * U


def test_price_of_an_acceleration_is_what_a_little_more_of_it_buys():
    """The weight that decides about idle joints takes a few percent of it."""

    def solved(limit: float):
        limits = {"axes.A.limits.acceleration": f"{limit} rad/s^2"}
        return st.optimise_motion("gsis-scara", START, GOAL, overrides=limits)

    gain = solved(20.0).gains()["acceleration", "A"]
    slope = (solved(19.9).duration - solved(20.1).duration) / 0.2
    assert gain == pytest.approx(slope, rel=0.06)


def test_winding_that_holding_alone_overheats_is_said_in_kelvin(tmp_path):
    """m g r/(N K) = 0.654 A and 0.214 W through 3 K/W are 0.64 K."""
    thermal = THERMAL.replace("85 degC", "25.5 degC")
    text = AXIS.format(kind="dc-reduced", more=thermal, speed=1000.0, current=CURRENT, bus=1e4)
    path = tmp_path / "hanging.yaml"
    path.write_text(text.replace("axis: [0, 0, 1]", "axis: [0, 1, 0]"))
    with pytest.raises(PathError, match=r"alone heats its winding by 0\.64\d* K .*leaves 0\.5 K"):
        st.optimise_motion(path, [0.5], [0.0], temperature=True, rest=1e3)


def test_speed_that_is_far_from_its_limit_has_no_price():
    """Bounds that keep motors from turning against the sign of their friction price nothing."""
    start = [1.69881558, 0.71706209, -1.44451712, -1.5535521, 0.67708324, 0.71587101]
    goal = [2.76132721, 0.22787685, 0.70573232, -1.44905961, 0.90313349, 0.0095452]
    motion = st.optimise_motion("puma560", start, goal)
    slow = [use for use in motion.limits if use.what == "speed" and use.peak < 0.9]
    assert slow
    assert max(use.gain * use.value for use in slow) < 1e-4 * motion.duration
