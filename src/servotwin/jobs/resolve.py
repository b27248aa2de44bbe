"""From names to poses: points, offsets, pallet places, under the selected frame and tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from servotwin.description.frames import Array, transform
from servotwin.errors import InputError
from servotwin.jobs import syntax as s
from servotwin.jobs.points import Points
from servotwin.jobs.requests import Target


class Kinematics(Protocol):
    """What is asked of a robot: its axes in order, and the pose of its tool frame."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The axes in the order of q."""
        ...

    def fkine(self, q: Array) -> Array:
        """The pose (4, 4) of the tool frame in the base at q (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Taught:
    """A point under the selected frame and tool: X_base_tip, the axes of its frame, joints if taught so."""

    X_base_tip: Array
    R_frame: Array
    q: Array | None


@dataclass(frozen=True)
class Resolver:
    """Resolves the targets of one file for one robot."""

    points: Points
    robot: Kinematics

    def taught(self, name: str, frame: str | None, tool: str | None) -> Taught:
        """A point as taught."""
        point = self.points[name]
        if point.pose is not None:
            X_base_frame = self.points.frame_matrix(point.frame or frame)
            return Taught(X_base_frame @ point.pose.matrix, X_base_frame[:3, :3], None)
        try:
            q = point.vector(self.robot.joint_names)
        except KeyError as error:
            raise InputError(
                f"point '{name}' lacks axis {error.args[0]}", file=self.points.file or None
            ) from None
        X_base_tip = self.robot.fkine(q) @ self.points.tool_matrix(tool)
        return Taught(X_base_tip, self.points.frame_matrix(frame)[:3, :3], q)

    def point(self, target: s.PointTarget, frame: str | None, tool: str | None) -> Target:
        """The target of a point, shifted or not."""
        taught = self.taught(target.point, frame, tool)
        X = self._shifted(taught.X_base_tip, taught.R_frame, target.offset)
        q = taught.q if target.offset is None else None
        return Target(target.point, self._without_tool(X, tool), q)

    def pallet(
        self, pallet: s.Pallet, index: int, target: s.PalletTarget, frame: str | None, tool: str | None
    ) -> Target:
        """The target at a place of a pallet: columns count first, then rows, then layers.

        The first place has the orientation of all; up is the z axis of its frame.
        """
        origin = self.taught(pallet.origin, frame, tool)
        column = index % pallet.columns
        row = index // pallet.columns % pallet.rows
        layer = index // (pallet.columns * pallet.rows)
        p = origin.X_base_tip[:3, 3].copy()
        for corner, step, count in ((pallet.row, row, pallet.rows), (pallet.column, column, pallet.columns)):
            if corner is not None:
                far = self.taught(corner, frame, tool).X_base_tip[:3, 3]
                p += (far - origin.X_base_tip[:3, 3]) * (step / (count - 1))
        height = 0.0 if pallet.layer is None else layer * pallet.layer.si
        height += 0.0 if target.above is None else target.above.si
        p += origin.R_frame[:, 2] * height
        X = transform(origin.X_base_tip[:3, :3], p)
        X = self._shifted(X, origin.R_frame, target.offset)
        return Target(f"{pallet.name} {index + 1}", self._without_tool(X, tool))

    @staticmethod
    def _shifted(X: Array, R_frame: Array, offset: s.Offset | None) -> Array:
        if offset is None:
            return X
        R = X[:3, :3] if offset.tool else R_frame
        return transform(X[:3, :3], X[:3, 3] + R @ np.array(offset.xyz))

    def _without_tool(self, X_base_tip: Array, tool: str | None) -> Array:
        if tool is None:
            return X_base_tip
        return np.asarray(X_base_tip @ np.linalg.inv(self.points.tool_matrix(tool)))
