"""Dead time and a motor that stands: the diodes end its current, as in a real bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.control.servo.user_laws import PythonLaw
from tests import small_drives as small
from tests.small_drives import DC, PMSM

# RMS current [A] of the swing at half the PWM frequency that a sign taken once per period makes of this motor's rest
ONCE = {
    ("dc", 1): 0.0596,
    ("dc", 3): 0.178,
    ("dc", 5): 0.296,
    ("pmsm", 1): 0.0418,
    ("pmsm", 3): 0.125,
    ("pmsm", 5): 0.208,
}


def rms(zoom: dict[str, Any], signal: str) -> float:
    """Root mean square of a signal that is a straight line between the rows of a zoom."""
    h, a, b = np.diff(zoom["time_s"]), zoom[signal][:-1], zoom[signal][1:]
    return float(np.sqrt(np.sum(h * (a * a + a * b + b * b)) / 3.0 / np.sum(h)))


@pytest.mark.parametrize("dead", [1, 3, 5])
@pytest.mark.parametrize(("kind", "motor"), [("dc", DC), ("pmsm", PMSM)])
@pytest.mark.parametrize("solver", [{}, {"method": "rk4", "steps": 4}, {"pwm": "averaged"}])
def test_current_of_a_standing_motor_ends(
    tmp_path: Path, solver: dict[str, Any], kind: str, motor: dict[str, Any], dead: int
) -> None:
    """0.3 A for 2 ms, then none: it must not go on swinging."""
    law = PythonLaw(lambda time, _signals: [0.3 if time < 0.002 else 0.0], 2e-4, "current")
    machine = small.robot(
        {"power": {"bridge": {"dead_time": f"{dead} us"}}},
        axes={"A": small.axis(motor={**motor, "static_friction": "100 N*m"})},
    )
    record = {"every": "1 ms", "zoom": {"at": "0.04 s", "span": "10 ms"}}
    result = small.run_case(tmp_path, machine, {**small.rest(0.06), "solver": solver, "record": record}, law)
    assert rms(result.zoom, "motor_A_current_A") < 0.1 * ONCE[kind, dead]
    assert abs(result.signals["motor_A_current_A"][-1]) < 1e-9


@pytest.mark.parametrize("pwm", ["switched", "averaged"])
def test_an_axis_that_holds_its_place_does_not_chatter(pwm: str) -> None:
    """W of the SCARA after A has moved: what is left follows the encoder's counts (0.44 A with one sign per period)."""
    result = st.simulate(
        "scara-a-axis-100deg",
        {
            "set.power.bridge.dead_time": "3 us",
            "record.zoom.at": "0.9 s",
            "record.zoom.span": "20 ms",
            "solver.pwm": pwm,
        },
    )
    assert rms(result.zoom, "motor_W_current_A") < 0.06
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-8
    assert result.summary["energy"]["copper_J"] == pytest.approx(
        22.95 if pwm == "switched" else 22.77, abs=0.02
    )
