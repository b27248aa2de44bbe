"""Conventions of data sheets against sampled sines, power balances and resistor networks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from servotwin.description.sheets.conventions import (
    amplitude_per,
    copper_coefficient,
    copper_factor,
    ideal_constants_ratio,
    torque_constant_factor,
    voltage_constant_factor,
    winding_factor,
)

ANGLES = np.linspace(0.0, 2.0 * math.pi, 3600, endpoint=False)
PHASES = np.array([0.0, -2.0 * math.pi / 3.0, 2.0 * math.pi / 3.0])


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def measured(flux: float, pole_pairs: int, speed: float, delta: bool) -> dict[tuple[str, str], float]:
    """Back-EMF over speed of a motor whose equivalent star has this flux, as four meters would show it.

    The coils of a delta lie between the lines: their voltage is that between two lines.
    """
    phases = pole_pairs * flux * speed * np.sin(ANGLES[:, None] + PHASES)
    lines = phases[:, 0] - phases[:, 1]
    coil = lines if delta else phases[:, 0]
    found = {("lines", "rms"): rms(lines), ("lines", "amplitude"): float(np.max(np.abs(lines)))}
    found |= {("phase", "rms"): rms(coil), ("phase", "amplitude"): float(np.max(np.abs(coil)))}
    return {key: value / speed for key, value in found.items()}


@pytest.mark.parametrize("connection", ["star", "delta"])
@pytest.mark.parametrize("between", ["lines", "phase"])
@pytest.mark.parametrize("size", ["rms", "amplitude"])
def test_voltage_constant_of_sampled_sines_becomes_that_of_a_star_phase(connection, between, size) -> None:
    flux, pole_pairs, speed = 0.07, 4, 250.0
    printed = measured(flux, pole_pairs, speed, connection == "delta")[between, size]
    found = printed * voltage_constant_factor(size, between, connection)
    assert found == pytest.approx(pole_pairs * flux, rel=1e-5)  # samples of a sine miss its peak by 1e-6


@given(flux=some.floats(1e-3, 1.0), pole_pairs=some.integers(1, 20), current=some.floats(0.1, 100.0))
def test_torque_constant_of_a_power_balance_is_sqrt_3_times_the_line_constant(
    flux, pole_pairs, current
) -> None:
    """Power of back-EMF and current in phase is torque times speed: K_t,rms = sqrt(3) K_e,rms,lines."""
    speed = 100.0
    voltages = pole_pairs * flux * speed * np.sin(ANGLES[:, None] + PHASES)
    currents = current * np.sin(ANGLES[:, None] + PHASES)
    torque = float(np.mean(np.sum(voltages * currents, axis=1))) / speed
    per_rms = torque / rms(currents[:, 0])
    lines = rms(voltages[:, 0] - voltages[:, 1]) / speed
    assert per_rms / lines == pytest.approx(math.sqrt(3.0), rel=1e-12)
    assert ideal_constants_ratio("rms", "rms", "lines") == pytest.approx(math.sqrt(3.0), rel=1e-15)
    assert per_rms * torque_constant_factor("rms") == pytest.approx(torque / current, rel=1e-12)


def between_terminals(edges: list[tuple[int, int, float]], nodes: int) -> float:
    """Resistance between the nodes 0 and 1 of a network, by its conductance matrix."""
    G = np.zeros((nodes, nodes))
    for a, b, R in edges:
        G[a, a] += 1.0 / R
        G[b, b] += 1.0 / R
        G[a, b] -= 1.0 / R
        G[b, a] -= 1.0 / R
    inverse = np.linalg.pinv(G)
    e = np.zeros(nodes)
    e[0], e[1] = 1.0, -1.0
    return float(e @ inverse @ e)


@given(R=some.floats(1e-3, 1e3))
def test_winding_of_star_and_delta_has_the_resistance_of_its_network(R) -> None:
    star = between_terminals([(0, 3, R), (1, 3, R), (2, 3, R)], 4)
    delta = between_terminals([(0, 1, R), (1, 2, R), (2, 0, R)], 3)
    assert winding_factor("lines", "star") * star == pytest.approx(R, rel=1e-9)
    # half of what two lines show of a delta is its equivalent star, a third of one coil
    assert winding_factor("lines", "delta") * delta == pytest.approx(
        winding_factor("phase", "delta") * R, rel=1e-9
    )
    assert winding_factor("phase", "star") / winding_factor("phase", "delta") == pytest.approx(3.0)


def test_copper_grows_as_annealed_copper_of_iec_60028() -> None:
    """0.00393 1/K at 20 degC is 1/254.45 K; 234.5 degC is the rounded zero of IEC 60034-1."""
    assert copper_coefficient(20.0) == pytest.approx(0.00393, rel=1e-3)
    assert copper_factor(20.0, 120.0) == pytest.approx(1.0 + 100.0 * copper_coefficient(20.0), rel=1e-15)
    assert copper_factor(20.0, 80.0) * copper_factor(80.0, 20.0) == pytest.approx(1.0, rel=1e-15)


def test_amplitude_of_an_effective_value() -> None:
    assert amplitude_per("rms") * rms(np.sin(ANGLES)) == pytest.approx(1.0, rel=1e-12)
