"""Play a motion that was computed elsewhere on the drive-level simulator: arm, drives and controller together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.as_built import as_built
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.optimal.result import OptimalMotion
from servotwin.motion.trajectory import Trajectory
from servotwin.simulation.preflight.budget import read_budget
from servotwin.simulation.results.result import Result
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.parts import Record, Solver
from servotwin.simulation.scenario.scenario import Scenario

# What lets cascaded loops follow a motion at the limits instead of trailing behind it.
FED_FORWARD = {"controller.feedforward.velocity": "100 %", "controller.feedforward.torque": "100 %"}
REST = 1e-9  # rad/s, m/s


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """A trajectory and the time after it in which the loops settle [s]."""

    trajectory: Trajectory
    settle: float

    @property
    def duration(self) -> float:
        """[s]"""
        return self.trajectory.duration + self.settle

    @property
    def arrivals(self) -> Array:
        """[s]"""
        return np.array([self.trajectory.duration])

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at t (k,) [s]."""
        return self.trajectory.sample(t)


def play_motion(
    motion: OptimalMotion,
    robot: str | PathLike[str],
    overrides: Mapping[str, str] | None = None,
    *,
    feedforward: bool = True,
    settle: float = 0.2,
    progress: Callable[[float], None] | None = None,
    max_memory: float | str | None = None,
    max_time: float | str | None = None,
) -> Result:
    """Simulate arm, drives and controller of a robot that is commanded an optimal motion, and ``settle`` [s] of rest.

    ``robot`` and ``overrides`` as the motion was computed with. With ``feedforward`` the controller commands speeds
    and the torques of its model ahead of the loops, whatever its file says.
    """
    changes = dict(overrides or {}) | (FED_FORWARD if feedforward else {})
    description = read_description(robot, changes)
    for k, does in ((0, "begins"), (-1, "ends")):
        if np.abs(motion.qd[k]).max() > REST:
            raise InputError(
                f"the motion {does} with a speed; expected one from rest to rest", field="motion"
            )
    if description.joint_names != motion.joint_names:
        raise InputError(f"a motion of {motion.robot}; expected one of {description.name}", field="motion")
    if not (np.isfinite(settle) and settle >= 0.0):
        raise InputError(f"{settle:g} s; expected at least 0 s", field="settle")
    scenario = Scenario(
        name=f"{motion.robot}-optimal", title=f"{motion.robot}: an optimal motion", robot=str(robot), set=changes,
        plant_set={}, start=dict(zip(motion.joint_names, motion.q[0].tolist(), strict=True)), moves=(), repeat=1,
        solver=Solver(), seed=1, record=Record(), faults=(), path=None, description=description,
        plant_description=as_built(description),
    )  # fmt: skip
    reference = PlayedMotion(motion.trajectory(), settle)
    run = prepare(scenario, None, read_budget(max_memory, max_time), reference=reference)
    return carry_out(run, progress or (lambda part: None))
