"""Stated values that contradict each other: worth a line to the user, no reason to refuse."""

from __future__ import annotations

from collections.abc import Iterator

from servotwin.description.checks import inertia_problems
from servotwin.description.nodes import Node, one_line
from servotwin.description.problems import find
from servotwin.description.schema import Motor, RobotDescription

CONSTANTS = 0.05  # torque and voltage constant of one DC motor are the same number in SI
OUTPUT = 0.10  # data sheets round speed, torque and power


def contradictions(description: RobotDescription) -> Iterator[str]:
    """One line for each contradiction, with its place."""
    for path, text in _found(description):
        yield f"{_place(description.tree, path)}{path}: {text}"


def _found(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for path, trouble in inertia_problems(description):
        yield path, f"not the inertia of a real body: {trouble}"
    for name, axis in description.axes.items():
        if axis.motor is not None:
            for field, text in _of_motor(axis.motor):
                yield f"axes.{name}.{field}", text


def _of_motor(motor: Motor) -> Iterator[tuple[str, str]]:
    K_t, K_e = motor.torque_constant, motor.voltage_constant
    # a pmsm's constants depend on whether currents and voltages are peak, rms, phase or line values
    comparable = motor.kind not in ("pmsm", "hydraulic")
    if K_t and K_e and comparable and abs(K_t / K_e - 1.0) > CONSTANTS:
        yield (
            "motor.torque_constant",
            f"{K_t:.4g} N*m/A differs from the voltage_constant {K_e:.4g} V*s/rad"
            f" by {abs(K_t / K_e - 1.0):.0%}; the two are one constant in SI",
        )
    output, torque, speed = motor.rated_output, motor.rated_torque, motor.rated_speed
    if output and torque and speed and abs(torque * speed / output - 1.0) > OUTPUT:
        yield (
            "motor.rated_output",
            f"{output:.4g} W differs from rated_torque times rated_speed, {torque * speed:.4g} W,"
            f" by {abs(torque * speed / output - 1.0):.0%}",
        )


def _place(tree: Node | None, path: str) -> str:
    if tree is None:
        return ""
    origin = find(tree, [path]).origin
    line = f":{origin.line}" if origin.line else ""
    return f"{one_line(origin.file, 200)}{line}: "
