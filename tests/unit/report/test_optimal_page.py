"""The page of an optimal motion: what it names as the bottleneck, bars, units, and servovalves within their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("casadi")

import servotwin as st
from servotwin.motion.optimal.result import LimitUse, OptimalMotion
from servotwin.report import limit_words
from servotwin.report.optimal_hydraulics import flow_figure, force_figure, opening_figure
from servotwin.report.optimal_page import limit_bars, optimal_page, power_figure, winding_figure

GOAL = [0.8, -0.6, 0.05, 0.4]


@pytest.fixture(scope="module")
def lift() -> OptimalMotion:
    """daiv-1 without its limits of speed: the valve is fully open for most of the time."""
    return st.optimise_motion("daiv-1", [0.2, 0.2, -0.14], [0.4, 0.4, -0.01], speed=False)


def test_motion_that_reaches_no_limit_has_neither_bottleneck_nor_bars() -> None:
    page = optimal_page(
        st.optimise_motion("gsis-scara", [0.0] * 4, GOAL, objective="energy", duration=3.0, jerk=False)
    )
    assert "Bottleneck" not in page
    assert "No limit is reached" in page
    assert "given; from rest to rest" in page


def test_bars_of_neighbouring_nodes_are_one_bar(lift: OptimalMotion) -> None:
    (bar,) = [trace for trace in limit_bars(lift).data if trace.name == "valve flow q3"]
    assert [x is None for x in bar.x] == [False, False, True]
    at = [k for k, names in enumerate(lift.active) if "valve flow q3" in names]
    assert lift.t[at[0] - 1] <= bar.x[0] <= lift.t[at[0]]
    assert lift.t[at[-1]] <= bar.x[1] <= lift.t[at[-1] + 1]


def test_limits_of_joints_are_in_the_units_of_the_drawings() -> None:
    use = LimitUse("speed", "A", math.pi, "rad/s", 1.0, 0.5, 0.18)
    assert limit_words.limit_value(use) == "180 deg/s"
    assert float(limit_words.limit_gain(use)) == pytest.approx(0.18 * math.pi / 180.0, rel=1e-2)
    assert limit_words.unit_word(use) == "deg/s"
    lift = LimitUse("range", "Z", 0.15, "m", 1.0, 0.5, 2.0)
    assert limit_words.limit_value(lift) == "bound at 150 mm"
    assert limit_words.limit_gain(lift) == "0.002"
    motor = LimitUse("motor speed", "A", 300.0, "rad/s", 1.0, 0.5, 0.18)
    assert limit_words.limit_value(motor) == "300 rad/s"
    assert limit_words.limit_name(LimitUse("torque", "Z", 9.0, "N", 1.0, 0.5, 0.1)) == "joint force"


def test_range_at_which_a_motion_only_begins_is_not_reached() -> None:
    assert not limit_words.is_reached(LimitUse("range", "Z", 0.15, "m", 1.0, 0.0, 2.0))
    assert limit_words.is_reached(LimitUse("range", "Z", 0.15, "m", 1.0, 0.1, 2.0))
    assert limit_words.is_reached(LimitUse("speed", "Z", 0.15, "m/s", 0.997, 0.0, 2.0))


def test_servovalve_is_drawn_with_what_it_gives_at_every_instant(lift: OptimalMotion) -> None:
    """Force F_+ - c v^2 forward, F_- against it, flow k A sqrt((F_+ - F)/(A_A^3 + A_B^3)): by the numbers of daiv-1."""
    area, head, k = 2e-4, 69e5, 3.8e-3 / 60.0 / math.sqrt(0.5 * 70e5)
    v, force = lift.qd[1:-1, 2], lift.current[1:-1, 2]
    low, high = (np.asarray(trace.y)[1:-1] for trace in force_figure(lift, 2).data[1:])
    np.testing.assert_allclose(high, area * head - 2.0 * area**3 / k**2 * v**2, rtol=4e-3, atol=4.0)
    np.testing.assert_allclose(low, -area * head, rtol=1e-9)
    flow, most = (np.asarray(trace.y)[1:-1] for trace in flow_figure(lift, 2).data)
    np.testing.assert_allclose(flow, 6e4 * area * v, rtol=1e-6)
    np.testing.assert_allclose(most, 6e4 * k * np.sqrt(0.5 * (head - force / area)), rtol=4e-3)
    assert (flow <= most * 1.001).all()
    opening, *limits = (np.asarray(trace.y) for trace in opening_figure(lift, 2).data)
    assert opening.max() == pytest.approx(100.0, abs=0.1)
    assert sorted({float(x) for limit in limits for x in limit}) == [-100.0, 100.0]


def test_page_of_a_valve_names_its_figures_and_energy(lift: OptimalMotion) -> None:
    page = optimal_page(lift)
    for words in ("q3: valve opening", "q3: force", "q3: flow from the supply", "Hydraulic energy"):
        assert words in page
    assert "Servovalves" not in optimal_page(st.optimise_motion("gsis-scara", [0.0] * 4, GOAL))


def test_limits_of_temperature_and_bus_are_drawn() -> None:
    motion = st.optimise_motion(
        "gsis-scara", [0.0] * 4, GOAL, temperature=True, bus_power="400 W", regeneration="100 W"
    )
    assert {shape.y0 for shape in winding_figure(motion).layout.shapes} == {155.0}
    assert {shape.y0 for shape in power_figure(motion).layout.shapes} == {400.0, -100.0}


@pytest.mark.parametrize("along", [False, True])
def test_voltages_that_are_drawn_are_those_of_the_table(along: bool) -> None:
    """Nothing that is drawn is beyond the table; between two points that has peaks within the first intervals, too."""
    ends = [0.0, 0.3, -0.3, 0.0, 0.3, 0.0], [1.2, -0.6, 0.6, 0.8, -0.6, 0.5]
    motion = st.optimise_motion("puma560", path=ends) if along else st.optimise_motion("puma560", *ends)
    uses = {use.who: use for use in motion.limits if use.what == "voltage"}
    for k, name in enumerate(motion.motor_names):
        drawn = np.abs(motion.voltage[:, k]).max() / uses[name].value
        assert drawn <= 1.005 * uses[name].peak
        assert not along or drawn == pytest.approx(uses[name].peak, rel=5e-3)
    assert max(use.peak for use in uses.values()) == pytest.approx(1.0, abs=2e-3)


def test_speed_along_a_path_is_that_of_the_joint_that_bounds_it() -> None:
    """What a faster joint would buy against the difference of two optima."""
    points = [[0.2, 0.2, -0.05], [0.7, 0.6, -0.07], [1.2, 0.8, -0.14]]
    motion = st.optimise_motion("daiv-1", path=points)
    (use,) = [use for use in motion.limits if (use.what, use.who) == ("speed", "q3")]
    assert (use.value, use.unit) == (0.18, "m/s")
    times = [
        st.optimise_motion("daiv-1", path=points, overrides={"axes.q3.limits.speed": f"{speed} m/s"}).duration
        for speed in (0.178, 0.182)
    ]
    assert use.gain == pytest.approx((times[0] - times[1]) / 0.004, rel=0.05)
    assert any("speed q3" in names for names in motion.active)
