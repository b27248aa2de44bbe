"""Where every signal stands in a recorded row, resolved from the table before anything runs.

A row holds the signals of the robot, the free coordinates of the arm, the speeds of its joints, then what each
motor has: a column for every signal that exists on its axis, none for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.simulation.plant.signal_table import HEAD, MOTOR, Drive

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

ABSENT = -1  # in place of the column of a signal that an axis does not have


def widest_row(joints: int, passive: int, motors: int, chambers: int = 0) -> int:
    """Columns of a row in which every motor has every signal; so many of them have chambers."""
    oil = sum(signal.of_oil for signal in MOTOR)
    return HEAD + 2 * joints + passive + (len(MOTOR) - oil) * motors + oil * chambers


def drive_of(machine: Machine, j: int) -> Drive:
    """Axis j, to ask which signals it has."""
    return Drive(machine.motors[j], machine.axes[j], bool(machine.world["servo_elsewhere"][0]))


def lay_out_rows(machine: Machine) -> None:
    """Give every signal that exists its column: for calls after law, level or place of the servo change.

    Rows that are there stay as they are: a signal that an axis has lost since loses its column too.
    """
    recorded = [
        [signal.is_recorded(drive_of(machine, j)) for signal in MOTOR] for j in range(len(machine.motors))
    ]
    there = np.array(recorded, dtype=bool).reshape(len(machine.motors), len(MOTOR))
    world = machine.world[0]
    if world["record"]["rows"] > 0:
        machine.columns[~there] = ABSENT
        return
    first = HEAD + int(world["n_x"]) + int(world["n"])
    machine.columns = np.where(there, first - 1 + np.cumsum(there).reshape(there.shape), ABSENT)
    machine.rows = np.zeros((len(machine.rows), first + int(there.sum())))


def positions(machine: Machine, rows: Any) -> Any:
    """Free coordinates of the arm (rows, n_x)."""
    return rows[:, HEAD : HEAD + int(machine.world["n_x"][0])]


def velocities(machine: Machine, rows: Any) -> Any:
    """Speeds of the joints (rows, n)."""
    at = HEAD + int(machine.world["n_x"][0])
    return rows[:, at : at + int(machine.world["n"][0])]
