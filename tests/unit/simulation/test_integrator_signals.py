"""Integrators of the loops among the signals, in SI whatever the loops compute with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.control.servo.user_laws import PythonLaw
from tests import small_drives as small
from tests.small_drives import RATIO, K, R

HOLD = small.MASS * 9.80665 * small.ARM / RATIO / K  # A


def integrators(signals: dict[str, Any]) -> set[str]:
    return {name.removeprefix("motor_A_") for name in signals if "integrator" in name}


@pytest.mark.parametrize("arithmetic", ["float", "fixed"])
@pytest.mark.parametrize("motor", [small.DC, small.PMSM])
def test_integrators_hold_what_gravity_asks_for(
    tmp_path: Path, motor: dict[str, Any], arithmetic: str
) -> None:
    """At rest the speed integrator is the current m g r / (n K), that of the current loop R times it."""
    axis = small.axis(motor=motor, origin=small.HORIZONTAL)
    machine = small.robot({"controller": {"arithmetic": arithmetic}}, axes={"A": axis})
    scenario = {**small.rest(0.2), "solver": {"method": "fast", "pwm": "averaged"}}
    signals = small.run_case(tmp_path, machine, scenario).signals
    d = {"d_current_integrator_V"} if motor["kind"] == "pmsm" else set()
    assert integrators(signals) == {"speed_integrator_A", "current_integrator_V", *d}
    words = 20.0 / 2**11 if arithmetic == "fixed" else 1e-3  # of the current; coarser than its integers
    assert signals["motor_A_speed_integrator_A"][-1] == pytest.approx(HOLD, abs=words)
    volts = 60.0 / 2**11 if arithmetic == "fixed" else 1e-3
    assert signals["motor_A_current_integrator_V"][-1] == pytest.approx(R * HOLD, abs=volts + R * words)
    for name in d:
        assert np.abs(signals[f"motor_A_{name}"]).max() < 0.1


def test_speed_integrator_is_the_sum_of_the_speed_errors(tmp_path: Path) -> None:
    """x(t) = K_ni T sum of w_ref - w_meas while nothing is limited; recomputed from the speed command."""
    machine = small.robot({"controller": {"feedforward": {"velocity": "100 %"}}})
    scenario = {
        "move": [{"to": {"A": "0.3 rad"}, "speed": "30 %"}],
        "solver": {"method": "fast", "pwm": "averaged"},
    }
    run = small.prepared(tmp_path, machine, scenario)
    from servotwin.simulation.run import carry_out

    result = carry_out(run, lambda part: None)
    axis, volts = run.machine.axes[0], result.signals["motor_A_speed_command_V"]
    w_ref = volts / axis["command_voltage"] * axis["w_max"]
    angle = result.signals["motor_A_angle_rad"]  # 24 bits: counted speeds are differences of the angle
    whole = len(angle) - 1  # the last row may be a part of a period
    before = np.concatenate([[0.0, 0.0], angle])[:whole]
    w_meas = (np.concatenate([[0.0], angle])[:whole] - before) / 1e-3
    wanted = axis["K_ni"] * 1e-3 * np.cumsum(w_ref[:whole] - w_meas)
    found = result.signals["motor_A_speed_integrator_A"][:whole]
    assert not result.summary["axes"][0]["saturation"]
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(found).max())


def test_loops_that_do_not_run_have_no_integrators(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [1.0], 1e-3, "voltage")
    scenario = small.rest(0.01)
    assert integrators(small.run_case(tmp_path, small.robot(), scenario, law).signals) == set()
    law = PythonLaw(lambda _time, _signals: [1.0], 1e-3, "current")
    found = integrators(small.run_case(tmp_path, small.robot(), scenario, law).signals)
    assert found == {"current_integrator_V"}
    assert math.isfinite(HOLD)
