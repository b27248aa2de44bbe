r"""Winding temperature: two nodes, winding and housing.

.. math::

    C_w \dot T_w = P_{cu} - (T_w - T_h)/R_{wh}, \qquad
    C_h \dot T_h = (T_w - T_h)/R_{wh} - (T_h - T_\infty)/R_{ha}                        (eq:thermal)

    R(T_w) = R_\mathrm{ref}\,(1 + \alpha (T_w - T_\mathrm{ref}))                         (eq:resistance-drift)
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def heat(motor: Any, copper: float, dt: float) -> None:
    """Put the copper loss [J] of a time dt [s], short beside the time constants, into the winding."""
    if motor.C_w <= 0.0:
        return
    through = (motor.T_w - motor.T_h) / motor.R_wh * dt
    away = (motor.T_h - motor.T_ambient) / motor.R_ha * dt
    motor.T_w += (copper - through) / motor.C_w  # eq:thermal
    motor.T_h += (through - away) / motor.C_h
    motor.R = motor.R_ref * (1.0 + motor.alpha * (motor.T_w - motor.T_ref))  # eq:resistance-drift
    motor.T_peak = max(motor.T_peak, motor.T_w)
