"""Extremes of a motor so far."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def update_peaks(motor: Any, i: float, tau: float) -> None:
    """Keep the largest current [A] and torque [N m] so far."""
    motor.i_peak = max(motor.i_peak, abs(i))
    motor.tau_peak = max(motor.tau_peak, abs(tau))
