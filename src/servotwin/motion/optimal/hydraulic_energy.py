r"""What servovalves take from their supply, as flow, power and energy, on graph nodes and of a finished motion.

Whatever a piston does, the oil that fills it comes out of the supply line at the supply pressure:

.. math:: E_h = \int p_s \sum_j (A_{A,j}\, v_{j+} + A_{B,j}\, v_{j-})\, dt                      (eq:hydraulic-energy)

with v_+, v_- the speed forward and backward, zero the other way; nothing comes back. What throttling, leaks and the
relief valve of a pump make of it is not asked for: the volume counts. Of a motion that never turns back it is the
volume of the stroke, however quick it is; the energy of a mixed robot is decided by its electric axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.equations.derivation import Derivation
from servotwin.mechanism.model import Array
from servotwin.motion.optimal.valve_model import ValveModel

BETWEEN = 8  # parts of an interval, for the energy of a finished motion


def supply_volume(d: Derivation, j: int, w: Any) -> Any:
    """Flow of a valve out of its supply [m3/s] at a speed, smooth about rest and zero there (eq:hydraulic-energy)."""
    eps = d.number(f"oVq{j}")
    size = d.graph.sqrt(d.graph.lift(w * w + eps * eps)) - eps
    a, b = d.number(f"oAa{j}"), d.number(f"oAb{j}")
    return 0.5 * ((a + b) * size + (a - b) * w)


def mean_supply_power(d: Derivation, j: int, speeds: Sequence[Any]) -> Any:
    """Mean power [W] that a valve takes over an interval with these speeds at its begin, middle and end (Simpson)."""
    first, middle, last = (supply_volume(d, j, w) for w in speeds)
    return d.number("oPs") * (first + 4.0 * middle + last) / 6.0  # eq:hydraulic-energy


def supply_flows(valves: ValveModel, w: Array) -> Array:
    """Flows (..., m) [m3/s] that the valves take from the supply at speeds (..., m); zero for other motors."""
    return np.asarray(np.where(w >= 0.0, valves.area_a, valves.area_b) * np.abs(w))


def largest_flows(valves: ValveModel, w: Array, force: Array) -> Array:
    """Flows (..., m) [m3/s] of the valves at their largest opening under these forces (eq:valve-limit)."""
    left = np.where(w >= 0.0, valves.forward - force, valves.backward + force)
    drag = np.where(valves.known, valves.drag, 1.0)
    speed = valves.open * np.sqrt(np.maximum(left, 0.0) / drag)
    return np.where(valves.known, np.where(w >= 0.0, valves.area_a, valves.area_b) * speed, np.nan)


def supply_energy(valves: ValveModel | None, t: Array, w: Array, wd: Array) -> float:
    """Energy [J] of a motion with motor speeds and accelerations (N + 1, m) that are straight lines between nodes."""
    if valves is None:
        return 0.0
    h = np.diff(t)[:, None]
    total = 0.0
    for k in range(BETWEEN):
        s = (k + 0.5) / BETWEEN
        speed = w[:-1] + s * h * (wd[:-1] + 0.5 * s * (wd[1:] - wd[:-1]))
        total += float((supply_flows(valves, speed) * h).sum()) / BETWEEN
    return valves.pressure * total  # eq:hydraulic-energy
