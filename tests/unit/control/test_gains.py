"""Gains from motor data and bandwidths, floats and integers."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.control.tuning import gains as g

SCALING = g.Scaling(4000.0, 16.0, 75.0, 1.6e-3, 1e-3, 0.2e-3)
EXACT = 1e-12


def test_current_gains_cancel_the_pole_of_the_winding():
    K_p, K_i = g.current_gains(R=0.4, L=0.6e-3, bandwidth=1200.0)
    assert K_p / K_i == pytest.approx(0.6e-3 / 0.4, rel=EXACT)
    assert K_i / 0.4 == pytest.approx(1200.0, rel=EXACT)


def test_current_gains_without_inductance_are_an_integrator():
    assert g.current_gains(R=2.0, L=0.0, bandwidth=1000.0) == (0.0, 2000.0)


def test_speed_gain_makes_torque_over_inertia_the_bandwidth():
    K_p, K_i = g.speed_gains(J=5e-4, K_t=0.12, bandwidth=150.0)
    assert K_p * 0.12 / 5e-4 == pytest.approx(150.0, rel=EXACT)
    assert K_p / K_i == pytest.approx(g.INTEGRAL_TIME_FACTOR / 150.0, rel=EXACT)


def test_speed_gains_with_infinite_integral_time_have_no_integral_part():
    assert g.speed_gains(5e-4, 0.12, 150.0, math.inf)[1] == 0.0


def test_integer_speed_gain_computes_the_same_current():
    gains = g.Gains(30.0, 0.0, 0.6, 18.0, 0.72, 480.0)
    K = g.fixed_gains(gains, SCALING).speed_proportional
    counts = 10  # per speed period
    w = counts * 2.0 * math.pi / 4000.0 / 1e-3
    current = counts * K / 256 / 2**15 * 16.0
    assert current == pytest.approx(0.6 * w, rel=1e-5)  # half a unit of 494130


def test_integer_current_gain_computes_the_same_voltage():
    gains = g.Gains(30.0, 0.0, 0.6, 18.0, 0.72, 480.0)
    K = g.fixed_gains(gains, SCALING).current_proportional
    error = 2.0  # A
    voltage = round(error / 16.0 * 2**15) * K / 256 / 2**15 * 75.0
    assert voltage == pytest.approx(0.72 * error, rel=0.5 / 39)  # half a unit of 39


positive = st.floats(1e-3, 1e3)


@given(st.builds(g.Gains, positive, positive, positive, positive, positive, positive))
def test_float_gains_of_integers_differ_by_half_a_unit(gains):
    back = asdict(g.float_gains(g.fixed_gains(gains, SCALING), SCALING))
    units = asdict(g.gain_units(SCALING))
    for name, value in asdict(gains).items():
        assert abs(back[name] - value) <= 0.5 * units[name] / 256 * (1.0 + 1e-6) + 1e-12 * value
