"""Sensors of the simulated robot: from the true state of the motors to the FEEDBACK of its servo."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.control.servo.ports import DriveFault, Sample
from servotwin.drives.sensors import (
    draw_jitter,
    edge_time,
    read_count,
    read_current,
    read_phase_currents,
    read_pressure,
)
from servotwin.simulation.plant.actuators import THREE_PHASE, true_currents
from servotwin.simulation.windows.general_window import bus_voltage

NANO = 1e-9
WELL, OVER_TEMPERATURE = int(DriveFault.NONE), int(DriveFault.OVER_TEMPERATURE)
COUNT, EDGE, CURRENT = int(Sample.COUNT), int(Sample.EDGE), int(Sample.CURRENT)


@helper
def sense(world: Any, motors: Any, sensors: Any, feedback: Any, samples: int, noise: Any) -> None:
    """Sample what the servo wants to read now (bits of ``Sample``)."""
    feedback.time = world.state.now
    feedback.bus_voltage = bus_voltage(world)
    for j in range(world.m):
        motor, sensor = motors[j], sensors[j]
        if samples & (COUNT | EDGE):
            draw_jitter(sensor, noise)
        if samples & COUNT:
            feedback.count[j] = read_count(sensor, motor.theta)
        if samples & EDGE:
            feedback.edge_time[j] = edge_time(sensor, motor.theta, motor.w, world.state.now * NANO)
        if samples & CURRENT:
            sense_currents(world, motor, sensor, feedback, j, noise)
            if motor.chambers_at >= 0:
                p = motor.chambers_at
                feedback.pressure_a[j] = read_pressure(sensor, world.state.y[p], noise)
                feedback.pressure_b[j] = read_pressure(sensor, world.state.y[p + 1], noise)
    report_faults(world, motors, feedback)


@helper
def report_faults(world: Any, motors: Any, feedback: Any) -> None:
    """What each drive reports about itself (``DriveFault``)."""
    for j in range(world.m):
        feedback.fault[j] = OVER_TEMPERATURE if motors[j].T_w > motors[j].T_limit else WELL


@helper
def sense_currents(world: Any, motor: Any, sensor: Any, feedback: Any, j: int, noise: Any) -> None:
    """Sensors of one drive: in the winding, or in the phases a and b of three."""
    i_a, i_b = true_currents(world, motor)
    if motor.feed == THREE_PHASE:
        feedback.current_a[j], feedback.current_b[j] = read_phase_currents(sensor, i_a, i_b, noise)
    else:
        feedback.current_a[j] = read_current(sensor, i_a, noise)
    if sensor.current_full_scale > 0.0:
        feedback.per_unit[j] = 1
        feedback.current_a[j] /= sensor.current_full_scale
        feedback.current_b[j] /= sensor.current_full_scale
