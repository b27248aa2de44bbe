r"""The common supply over a cycle: power from the mains, energy into the capacitor, what the braking resistor takes.

.. math:: \dot E = P_{source} - P_{drives} - P_{resistor}, \qquad
          0 \le E \le \tfrac12 C\,(U_{on}^2 - U^2)                                        (eq:bus-energy)

The source only feeds: while the drives give back, the capacitor rises from the bus voltage U to the voltage
:math:`U_{on}` that switches the braking resistor on, and what comes then goes into the resistor. Whatever is in the
capacitor is used before the source feeds again. The cycle is taken twice, so that it begins as it ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.power_parts import Power
from servotwin.mechanism.model import Array


@dataclass(frozen=True)
class SupplyDemand:
    """What the supply has to do in a cycle; None where the file has no data of it."""

    peak_power: float  # of all drives together [W]
    mean_power: float  # from the source [W]
    source_energy: float  # in one cycle [J]
    returned_energy: float  # that drives give back to the bus [J], after they have fed each other
    returned_peak: float  # largest power that they give back [W]
    capacitor_room: float | None  # up to the braking resistor, or to the largest voltage [J]
    resistor_energy: float  # in one cycle [J]
    resistor_power: float  # mean [W]
    resistor_peak: float | None  # that the resistor takes while it is on [W]
    largest_resistance: float | None  # that takes what comes back [ohm]
    overflow: bool  # more comes back than capacitor and resistor can take
    lowest_voltage: float | None  # under the peak, behind the supply resistance [V]


def supply_demand(electric: Array, seconds: Array, power: Power | None) -> SupplyDemand:
    """The supply under the power (k, m) [W] that each drive takes from the bus (eq:bus-energy)."""
    total = electric.sum(axis=1)
    resistor = None if power is None else power.braking_resistor
    room = _room(power)
    # a stiff voltage takes back what comes
    source, burnt = (float(total @ seconds), 0.0) if room is None else _account(total, seconds, room)
    period = float(seconds.sum())
    back = np.maximum(-total, 0.0)
    largest = None
    if resistor is not None and back.max() > 0.0:
        largest = resistor.on**2 / float(back.max())
    return SupplyDemand(
        peak_power=float(total.max()),
        mean_power=source / period,
        source_energy=source,
        returned_energy=float(np.sum(back * seconds)),
        returned_peak=float(back.max()),
        capacitor_room=room,
        resistor_energy=burnt,
        resistor_power=burnt / period,
        resistor_peak=None if resistor is None else resistor.on**2 / resistor.resistance,
        largest_resistance=largest,
        overflow=burnt > 1e-9 and (resistor is None or resistor.resistance > (largest or math.inf)),
        lowest_voltage=_sagging(float(total.max()), power),
    )


def _room(power: Power | None) -> float | None:
    """Energy [J] that the capacitor takes; None where the voltage has no limit."""
    if power is None or power.capacitance is None:
        return None
    top = power.braking_resistor.on if power.braking_resistor is not None else power.max_voltage
    if top is None:
        return None
    return 0.5 * power.capacitance * (top**2 - power.bus_voltage**2)


def _account(total: Array, seconds: Array, room: float) -> tuple[float, float]:
    """Energy from the source and into the resistor [J] in the second of two cycles."""
    stored = source = burnt = 0.0
    for _ in range(2):
        source = burnt = 0.0
        for energy in (total * seconds).tolist():
            stored -= energy  # eq:bus-energy
            if stored < 0.0:
                source, stored = source - stored, 0.0
            elif stored > room:
                burnt, stored = burnt + stored - room, room
    return source, burnt


def _sagging(peak: float, power: Power | None) -> float | None:
    """Voltage behind the supply resistance at a power [V]: U_b = U - R P/U_b."""
    if power is None or not power.supply_resistance or power.capacitance is None:
        return None
    square = power.bus_voltage**2 - 4.0 * power.supply_resistance * max(peak, 0.0)
    return 0.0 if square < 0.0 else 0.5 * (power.bus_voltage + square**0.5)
