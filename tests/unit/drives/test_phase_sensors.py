"""Current sensors of synchronous motors stand in the phases, not in the rotor."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from servotwin.control.servo.tasks import rotor_currents
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.drives.records import SENSOR, zeros
from servotwin.drives.sensors import read_phase_currents
from tests import small_drives as small
from tests.small_drives import PMSM, RATIO, K

POLES = 4
ROUND = {key: value for key, value in PMSM.items() if not key.startswith("inductance")} | {
    "inductance": "0.8 mH"
}


@njit
def _read(sensors: Any, i_alpha: float, i_beta: float, angle: float, random: Any) -> tuple[float, float]:
    i_a, i_b = read_phase_currents(sensors[0], i_alpha, i_beta, random)
    return rotor_currents(i_a, i_b, angle)


def read(i_alpha: float, i_beta: float, angle: float, **sensor: float) -> tuple[float, float]:
    record = zeros(SENSOR, 1)
    for name, value in {"current_range": 10.0, **sensor}.items():
        record[name] = value
    return _read(record, i_alpha, i_beta, angle, np.zeros(1, dtype=np.uint64))


def turned(i_d: float, i_q: float, angle: float) -> complex:
    return complex(i_d, i_q) * np.exp(1j * angle)


@pytest.mark.parametrize("angle", [0.0, 0.7, -2.1, 40.0])
def test_sensors_without_errors_read_the_currents_of_the_rotor(angle: float) -> None:
    current = turned(-1.5, 4.0, angle)
    assert read(current.real, current.imag, angle) == pytest.approx((-1.5, 4.0), rel=1e-13)


def test_bits_round_the_phase_currents() -> None:
    """Clarke's transform of what is read lands on the steps of the converter in phases a, b and c."""
    step = 10.0 / 127.0
    found = turned(*read(3.3, -1.7, 0.9, current_bits=8), 0.9)
    phases = [(found * np.exp(-2j * math.pi * k / 3)).real / step for k in range(3)]
    np.testing.assert_allclose(phases, np.rint(phases), atol=1e-12)
    assert abs(found - complex(3.3, -1.7)) < 2.0 * step


def test_range_limits_each_phase() -> None:
    found = turned(*read(12.0, 0.0, 0.3), 0.3)
    assert found.real == pytest.approx(10.0)
    assert -0.5 * found.real + 0.5 * math.sqrt(3.0) * found.imag == pytest.approx(-6.0)


def test_offset_ripples_the_torque_at_the_electrical_frequency(tmp_path: Path) -> None:
    """The measured vector follows its command, so the true one lacks the offset (o, sqrt 3 o), of length 2 o.

    Along q that is 2 o cos(p theta + 30 deg). At 40 rad/s electrical a current loop of 1200 rad/s lags by
    3 %, in quadrature: the amplitude is right to a fraction of that squared.
    """
    offset = 0.05
    machine = small.robot(
        {"controller": {"current_sensor": {"bits": 0, "offset": f"{offset} A"}}},
        axes={"A": small.axis(motor=ROUND, link={"mass": "50 kg"})},
    )
    law = PythonLaw(lambda _time, signals: 0.05 * (10.0 - signals.speed), 1e-3, "current")
    scenario = {**small.rest(1.2), "solver": {"method": "fast", "pwm": "averaged"}}
    signals = small.run_case(tmp_path, machine, scenario, law).signals
    late = signals["time_s"] > 0.2
    angle = POLES * RATIO * signals["joint_A_position_rad"][late]
    assert angle[-1] - angle[0] > 4 * 2 * math.pi
    ripple = signals["motor_A_torque_N_m"][late] - K * signals["motor_A_current_ref_A"][late]
    waves = np.stack([np.cos(angle + math.pi / 6), np.sin(angle + math.pi / 6), np.ones_like(angle)], axis=1)
    (along, across, mean), _, _, _ = np.linalg.lstsq(waves, ripple, rcond=None)
    assert math.hypot(along, across) == pytest.approx(2.0 * K * offset, rel=5e-3)
    assert along == pytest.approx(-2.0 * K * offset, rel=5e-3)
    assert abs(mean) < 0.02 * 2.0 * K * offset
    assert np.abs(ripple - waves @ [along, across, mean]).max() < 0.03 * 2.0 * K * offset
