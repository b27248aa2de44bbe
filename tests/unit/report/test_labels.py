"""Units in keys and in text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from servotwin.report.labels import finite, joint_units, plain, plain_unit, unit_key


@pytest.mark.parametrize(
    ("unit", "key"),
    [
        ("N*m/A", "x_N_m_per_A"),
        ("rad/s^2", "x_rad_per_s2"),
        ("kg*m^2", "x_kg_m2"),
        ("m^3/(s*Pa)", "x_m3_per_s_Pa"),
        ("", "x"),
    ],
)
def test_unit_key_spells_the_unit(unit: str, key: str) -> None:
    assert unit_key("x", unit) == key


def test_joint_units_of_turning_and_sliding_joints() -> None:
    assert joint_units("rad").acceleration == "rad/s^2"
    assert joint_units("m").effort == "N"
    assert np.pi * joint_units("rad").factor == pytest.approx(180.0)
    assert plain_unit(joint_units("rad").effort) == "N m"


def test_plain_makes_valid_json() -> None:
    values = plain(np.array([[1.0, -0.0], [np.inf, np.nan]]))
    assert json.dumps(values, allow_nan=False) == "[[1.0, 0.0], [null, null]]"
    assert finite(None) is None
