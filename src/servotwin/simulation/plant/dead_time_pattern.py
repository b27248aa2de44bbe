"""Edges and levels of bridges with dead or storage time, which most runs do not need: compiled apart."""

from __future__ import annotations

from servotwin.compiled.jit import piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.dead_time import h_bridge_with_diodes, mean_level, three_phase_with_diodes
from servotwin.drives.dead_time_three_phase import three_phase_with_dead_time
from servotwin.drives.records import MOTOR, POWER
from servotwin.simulation.plant.actuators import THREE_PHASE, phase_emf
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.general_window import bus_voltage


@piece
def dead_time_pattern(world_at: int, power_at: int, motors_at: int, j: int, start: float, T: float) -> None:
    """Pattern of motor j with the current and the back-EMF of now; modulation and current stand in ``asked``."""
    world = records_at(world_at, 1, WORLD)[0]
    pattern = world.pattern
    bridge, motor = records_at(power_at, 1, POWER)[0], records_at(motors_at, world.m, MOTOR)[j]
    m_a, m_b, i_a, i_b = pattern.asked[0], pattern.asked[1], pattern.asked[2], pattern.asked[3]
    u, R = bus_voltage(world), motor.R + motor.R_bridge
    dead, storage = bridge.dead_time, bridge.storage_time
    if motor.feed == THREE_PHASE:
        emf = motor.pole_pairs * motor.psi * motor.w / u
        e_a, e_b = phase_emf(motor, 0.5 * T * motor.w, emf)
        slow = 0.5 * (motor.L_d + motor.L_q) / R
        edges = -1
        if storage <= 0.0:
            edges, pattern.mean_a[j], pattern.mean_b[j] = three_phase_with_dead_time(
                m_a, m_b, T, i_a * R / u, i_b * R / u, e_a, e_b, slow, dead,
                pattern.times, pattern.level_a, pattern.level_b, j,
            )  # fmt: skip
        if edges < 0:
            edges = three_phase_with_diodes(
                m_a, m_b, T, i_a * R / u, i_b * R / u, e_a, e_b, slow, dead, storage,
                pattern.times, pattern.level_a, pattern.level_b, j,
            )  # fmt: skip
            pattern.mean_a[j] = mean_level(pattern.times, pattern.level_a, j, edges, T)
            pattern.mean_b[j] = mean_level(pattern.times, pattern.level_b, j, edges, T)
    else:
        slow = motor.L / R if motor.width > 0 else 0.0
        edges = h_bridge_with_diodes(
            m_a, T, i_a * R / u, motor.K * motor.w / u, slow, dead, storage, bridge.two_level,
            pattern.times, pattern.level_a, j,
        )  # fmt: skip
        pattern.mean_a[j] = mean_level(pattern.times, pattern.level_a, j, edges, T)
    pattern.edges[j] = edges
