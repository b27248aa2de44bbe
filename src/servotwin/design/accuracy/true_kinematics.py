"""Where the tool of a robot truly is for given coordinates: geometry as built, warm links, a base that gives way.

These three sources act on the tool for given joints; what they change of the motion itself is smaller by the ratio of
the deviations to the robot's size. A study of them therefore needs no further run of the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.as_built import as_built
from servotwin.description.error_sources import base_compliance
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.model import Array
from servotwin.mechanism.thermal_growth import true_mechanism
from servotwin.robot.base_deflection import base_deflection
from servotwin.robot.robot import Robot
from servotwin.simulation.results.motion_log import base_motion, tool_poses

KINEMATIC = ("geometry", "thermal", "base")  # sources that act on the tool for given joints


@dataclass(frozen=True)
class TrueKinematics:
    """A robot as it is built, the compliance of its base (6, 6) or None, and a force (3,) [N] at its tool, if any."""

    robot: Robot
    compliance: Array | None = None
    force: Sequence[float] = ()

    @classmethod
    def of(cls, known: RobotDescription) -> TrueKinematics:
        """Of a robot with the error sources that act."""
        truth = as_built(known)
        return cls(Robot(true_mechanism(truth), title=truth.title), base_compliance(truth))

    def poses(self, x: Array, t: Array | None = None) -> Array:
        """Poses (k, 4, 4) of the tool at the coordinates x (k, n_x), at rest, or moving at the instants t (k,) [s]."""
        return tool_poses(self.robot, x, self.deflection(x, t))

    def deflection(self, x: Array, t: Array | None = None) -> Array | None:
        """Shift and turn (k, 6) of the base; None if it is stiff."""
        if self.compliance is None:
            return None
        q = x[:, : self.robot.n]
        found = (
            base_deflection(self.robot, self.compliance, q)
            if t is None
            else base_motion(self.robot, self.compliance, t, q)
        )
        if len(self.force):
            p = self.robot.fkine_at(x)[:, :3, 3]
            pushed = np.concatenate([np.broadcast_to(self.force, p.shape), np.cross(p, self.force)], axis=1)
            found = found + pushed @ self.compliance.T
        return found
