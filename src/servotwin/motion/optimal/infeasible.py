"""Which limit could not be met: what is violated most where the solver gave up."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.block_nlp import BlockNlp
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.transcription import Rows
from servotwin.robot.robot import Robot


class RowProgram(Protocol):
    """A program whose rows have names."""

    @property
    def nlp(self) -> BlockNlp:
        """The program."""

    @property
    def rows(self) -> Rows:
        """Where groups of rows stand."""

    @property
    def table(self) -> dict[str, float]:
        """Numbers by name."""

    def row_values(self, name: str, values: Array) -> Array:
        """The values of a group."""


MET = 1e-5  # violations below it are rounding
WORDS = {
    "dynamics": "the torque that its current gives",
    "voltage": "its voltage",
    "voltage between": "its voltage",
    "valve forward": "the flow of its valve",
    "valve backward": "the flow of its valve",
    "valve forward between": "the flow of its valve",
    "valve backward between": "the flow of its valve",
    "position defect": "its motion from node to node",
    "speed defect": "its motion from node to node",
    "speed between": "its speed",
    "motor speed between": "its speed",
    "bus power between": "its power",
}


def blame(robot: Robot, drives: DriveModel, program: RowProgram, solution: Solution) -> tuple[str, str, str]:
    """What and who of the limit that is violated most, and a sentence about it."""
    low, high = np.concatenate(program.nlp.low), np.concatenate(program.nlp.high)
    excess = np.maximum(np.maximum(low - solution.g, solution.g - high), 0.0)
    worst = ("", "", 0.0)
    for what, (_, _, _, owners) in program.rows.items():
        values: Array = program.row_values(what, excess).max(axis=0)
        k = int(np.argmax(values))
        if values[k] > worst[2]:
            worst = (what, owners[k], float(values[k]))
    what, who, size = worst
    if size <= MET:
        return (
            "convergence",
            "",
            "all limits hold there, but it is not the optimum yet; try more or fewer intervals",
        )
    if what == "heat":
        return what, who, _too_hot(drives, program, who)
    words = WORDS.get(what, f"its {what}")
    return what, who, f"{who}: {words} cannot be met, by {100.0 * size:.3g} % at best"


def power_missing(program: RowProgram, solution: Solution) -> float:
    """By how much [W] the power of the bus is beyond its limits where the solver gave up; zero if it is not."""
    low, high = np.concatenate(program.nlp.low), np.concatenate(program.nlp.high)
    excess = np.maximum(np.maximum(low - solution.g, solution.g - high), 0.0)
    rows = [name for name in ("bus power", "bus power between") if name in program.rows]
    worst = max((float(program.row_values(name, excess).max()) for name in rows), default=0.0)
    return worst * program.table["oP"] if worst > MET else 0.0


def _too_hot(drives: DriveModel, program: RowProgram, who: str) -> str:
    """That a winding gets too hot, and whether it does by holding the arm at the goal alone."""
    j = drives.names.index(who)
    most = f"its limit leaves {drives.rise[j]:.4g} K over the surroundings"
    cold = (
        (drives.R_wh[j] + drives.R_ha[j]) * drives.phases[j] * drives.R[j] * program.table[f"oHold{j}"] ** 2
    )
    left = 1.0 - drives.alpha[j] * cold
    if left <= 0.0 or cold / left > drives.rise[j]:
        rise = "beyond all bounds" if left <= 0.0 else f"by {cold / left:.4g} K"
        return f"{who}: holding the arm at the goal alone heats its winding {rise} in the long run; {most}"
    return f"{who}: its winding cannot be kept cool enough; {most}"
