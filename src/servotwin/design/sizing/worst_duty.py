r"""What a motor bears without end in the worst case: in motion for a share of the time, holding the arm otherwise.

.. math:: \tau_{rms}^2 = D\,\tau_w^2 + (1 - D)\,\tau_h^2, \qquad \tau_h = \frac{|T_h|}{\eta\,n} + \tau_s
                                                                                          (eq:worst-duty)

D share of the time in motion, tau_w largest motor torque of the worst case, T_h largest torque at the output against
gravity. No cycle within the stated speed and acceleration asks for more: it would have to be in the worst pose, in the
worst direction, all the time. The winding is that of a steady loss of this size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.friction_curve import FrictionCurve
from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.evaluate import Rules, continuous_torques, copper_factor
from servotwin.design.sizing.temperature import steady_cycle


@dataclass(frozen=True)
class Continuous:
    """A bound of what a motor bears without end; limits are None where nothing is stated."""

    holding_torque: float  # [N m] at the motor, with friction and gear loss against it
    rms_torque: float  # [N m]
    rms_limit: float | None  # continuous curve at the RMS speed [N m]
    winding: float | None  # [degC]
    winding_limit: float | None
    ambient: float | None  # [degC]

    @property
    def shares(self) -> list[float]:
        """Shares of the known limits that it uses."""
        found = [] if self.rms_limit is None else [_share(self.rms_torque, self.rms_limit)]
        if self.winding is not None and self.winding_limit is not None and self.ambient is not None:
            found.append(_share(self.winding - self.ambient, self.winding_limit - self.ambient))
        return found


def continuous_of(
    actuator: Actuator,
    friction: FrictionCurve,
    worst: float,
    held: float,
    speed: float,
    moving: float,
    rules: Rules,
) -> Continuous:
    """The bound for one actuator (eq:worst-duty).

    ``friction`` at the motor; ``worst`` [N m] and ``speed`` [rad/s] of the motor, ``held`` at the output;
    ``moving``: share of the time in motion, 0 to 1.
    """
    motor, gear = actuator.motor, actuator.gear
    hold = held / (gear.ratio * min(gear.efficiency, 1.0)) + max(friction.static)
    rms = math.sqrt(moving * max(worst, hold) ** 2 + (1.0 - moving) * hold**2)  # eq:worst-duty
    limit = float(continuous_torques(motor, np.array([math.sqrt(moving) * speed]))[0])
    winding, thermal = None, motor.thermal
    fed = motor.electric and motor.winding is not None and motor.winding.has_torque_constant
    if thermal is not None and motor.winding is not None and fed:
        R, K = motor.winding.resistance, motor.winding.torque_constant
        loss = np.array([copper_factor(motor) * R * (rms / K) ** 2])
        winding = steady_cycle(thermal, loss, np.ones(1), rules.ambient).winding_peak
    around = None if thermal is None else thermal.reference_temperature
    return Continuous(
        hold,
        rms,
        limit if math.isfinite(limit) else None,
        winding,
        None if thermal is None else thermal.limit,
        around if rules.ambient is None else rules.ambient,
    )


def _share(need: float, limit: float) -> float:
    return need / limit if limit > 0.0 else math.inf
