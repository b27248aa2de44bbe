r"""How quickly the states of a user's actuator can change: a bound for steps of fixed length.

The slopes of its rates by its states are differences; their spectral radius is the limit of Gelfand's formula,

.. math:: \lambda = \lim_{k\to\infty} \|F^k\|^{1/k}, \qquad F = \frac{\partial \dot x}{\partial x}         (eq:own-rate)

which counts states of any units alike. Steps are kept below a share of :math:`1/\lambda`, as those of hydraulic axes.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.records import MOTOR
from servotwin.simulation.plant.actuators import OWN, own_effort
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.general_window import bus_voltage

MOST_RATE = 300.0  # per current period: quicker states would take more than 1000 steps in it
SQUARINGS = 8  # F^128: states whose units differ by 1e6 make the bound 11 % too large
SHARE, LEAST = 1e-3, 1e-6  # of a state, and in its unit: by what it is changed for a difference
LARGEST = 1e300  # beyond it a slope is no number


@piece
def own_bound(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, T: float) -> None:
    """Find the rate of the quickest state of all actuators of the user's; T: current period [s]."""
    world = records_at(world_at, 1, WORLD)[0]
    motors = records_at(motors_at, world.m, MOTOR)
    u, fastest = bus_voltage(world), 0.0
    for j in range(world.m):
        motor = motors[j]
        if motor.kind == OWN and motor.width > 0:
            find_slopes(world, motor, u)
            rate = spectral_radius(world.scratch.own_slopes, world.scratch.own_square, motor.width)
            motor.own_rate = max(motor.own_rate, rate)
            fastest = max(fastest, rate)
    world.state.own_fastest = min(fastest, MOST_RATE / T)


@helper
def find_slopes(world: Any, motor: Any, u: float) -> None:
    """Slopes of the rates of its states by these, as differences."""
    scratch, y, at = world.scratch, world.state.y, motor.current_at
    own_effort(world, motor, u, motor.theta, motor.w, y)
    for i in range(motor.width):
        scratch.own_square[0, i] = scratch.dy[at + i]
    for k in range(motor.width):
        kept = y[at + k]
        change = SHARE * abs(kept) + LEAST
        y[at + k] = kept + change
        own_effort(world, motor, u, motor.theta, motor.w, y)
        y[at + k] = kept
        for i in range(motor.width):
            slope = (scratch.dy[at + i] - scratch.own_square[0, i]) / change
            scratch.own_slopes[i, k] = slope if abs(slope) < LARGEST else 0.0


@helper
def spectral_radius(F: Any, square: Any, n: int) -> float:
    """Largest absolute eigenvalue of F (n, n), which is overwritten, as is ``square`` (eq:own-rate)."""
    total, share = 0.0, 1.0
    for _ in range(SQUARINGS):
        norm = 0.0
        for i in range(n):
            row = 0.0
            for k in range(n):
                row += abs(F[i, k])
            norm = max(norm, row)
        if norm == 0.0:
            return 0.0
        total += share * math.log(norm)  # eq:own-rate
        share *= 0.5
        for i in range(n):
            for k in range(n):
                square[i, k] = 0.0
                for r in range(n):
                    square[i, k] += F[i, r] / norm * (F[r, k] / norm)
        for i in range(n):
            for k in range(n):
                F[i, k] = square[i, k]
    return math.exp(total)
