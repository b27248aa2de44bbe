"""``st.fkine`` and ``st.ikine``: where frames are, and which joint positions bring them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.dynamics.ik.pose import POSITION_ALONE
from servotwin.errors import InputError, UnreachableError
from servotwin.mechanism.model import Array
from servotwin.mechanism.spatial import rot_rpy, transform
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.report.labels import plain, unit_key
from servotwin.robot.arguments import real_array
from servotwin.robot.robot import Robot
from servotwin.workbench.quantities import outside_limits, positions_of, robot_of


@dataclass(frozen=True)
class Poses(Plots, Tabulates, Reports, ShowsItself):
    """Poses of frames in the base, each (4, 4) with lengths in m, at joint positions ``q`` (n,) [rad, m]."""

    robot: Robot
    q: Array
    frames: dict[str, Array]

    @property
    def pose(self) -> Array:
        """The pose (4, 4) of the first frame: the one that was asked for."""
        return next(iter(self.frames.values()))

    @property
    def outside_limits(self) -> list[str]:
        """Joints and quantities beyond their limits."""
        return outside_limits(self.robot, self.q)

    def rows(self) -> list[dict[str, Any]]:
        """Position [m] and roll, pitch, yaw [rad] of every frame."""
        return [
            {
                "frame": name,
                **dict(zip(("x_m", "y_m", "z_m"), plain(X[:3, 3]), strict=True)),
                **dict(
                    zip(("roll_rad", "pitch_rad", "yaw_rad"), plain(roll_pitch_yaw(X[:3, :3])), strict=True)
                ),
            }
            for name, X in self.frames.items()
        ]

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "robot": self.robot.name,
            "joints": joint_data(self.robot, self.q),
            "outside_limits": self.outside_limits,
            "frames": [{"name": name, **pose_data(X)} for name, X in self.frames.items()],
        }


@dataclass(frozen=True)
class Solutions(Plots, Tabulates, Reports, ShowsItself):
    """Joint positions ``q`` (k, n) [rad, m] that bring a frame to ``pose`` (4, 4), a row for each branch."""

    robot: Robot
    pose: Array
    q: Array

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.q)

    def __getitem__(self, k: int) -> Array:
        row: Array = self.q[k]
        return row

    def rows(self) -> list[dict[str, Any]]:
        """Joint positions of every solution, and what stands beyond its limits."""
        return [
            {**joint_data(self.robot, q), "outside_limits": ", ".join(outside_limits(self.robot, q))}
            for q in self.q
        ]

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        found = [
            {"joints": joint_data(self.robot, q), "outside_limits": outside_limits(self.robot, q)}
            for q in self.q
        ]
        return {"robot": self.robot.name, "pose": plain(self.pose), "solutions": found}


def pose_data(X: Array) -> dict[str, Any]:
    """A pose (4, 4) as position, angles and matrix."""
    return {"xyz_m": plain(X[:3, 3]), "rpy_rad": plain(roll_pitch_yaw(X[:3, :3])), "pose": plain(X)}


def joint_data(robot: Robot, q: Array) -> dict[str, float]:
    """Joint positions by name, the unit in the key."""
    keys = [unit_key(name, unit) for name, unit in zip(robot.joint_names, robot.joint_units, strict=True)]
    return dict(zip(keys, plain(q), strict=True))


def fkine(
    robot: Robot | str | Path,
    q: ArrayLike | str,
    *,
    frame: str | None = None,
    every: bool = False,
    overrides: Mapping[str, str] | None = None,
) -> Poses:
    """The pose of the tool, of another frame, or of ``every`` frame, at joint positions q (n,) [rad, m].

    ``q`` may be text with units. ``robot``: a robot, a name of the catalogue or a file; ``overrides`` change its file.

    >>> import servotwin as st
    >>> st.fkine("met-two-link", "0 deg, 90 deg").pose[:3, 3].round(3).tolist()
    [0.89, 0.64, 0.0]
    """
    if frame is not None and every:
        raise InputError("one frame and every frame exclude each other; give one of them", field="frame")
    model = robot_of(robot, overrides)
    at = positions_of(q, model)
    found = model.fkine_all(at) if every else {frame or model.mechanism.tool: model.fkine(at, frame)}
    return Poses(model, at, found)


def ikine(
    robot: Robot | str | Path,
    xyz: ArrayLike,
    rpy: ArrayLike | None = None,
    *,
    frame: str | None = None,
    near: ArrayLike | str | None = None,
    every: bool = False,
    ignore_limits: bool = False,
    overrides: Mapping[str, str] | None = None,
) -> Solutions:
    """Joint positions that bring the tool to ``xyz`` (3,) [m], turned by ``rpy`` (3,) [rad] or as it comes.

    R = Rz(yaw) Ry(pitch) Rx(roll). The solution nearest to ``near`` (default home), or ``every`` one.

    >>> import servotwin as st
    >>> len(st.ikine("gsis-scara", [0.4, 0.2, -0.05], [0.0, 0.0, 0.0], every=True))
    4
    """
    if every and near is not None:
        raise InputError(
            "the nearest solution and every one exclude each other; give one of them", field="near"
        )
    model = robot_of(robot, overrides)
    angles = None if rpy is None else _triple("rpy", rpy)
    turn = np.eye(3) if angles is None else rot_rpy((angles[0], angles[1], angles[2]))
    X = transform(turn, np.array(_triple("xyz", xyz)))
    mask = None if angles is not None else (1, 1, 1, 0, 0, 0)
    start = None if near is None else positions_of(near, model, "near")
    try:
        if every:
            found = model.ikine_all(X, frame=frame, mask=mask, respect_limits=not ignore_limits)
        else:
            found = model.ikine(X, start, frame=frame, mask=mask, respect_limits=not ignore_limits)[
                np.newaxis
            ]
    except UnreachableError as error:
        if not str(error).endswith(POSITION_ALONE):
            raise
        reason = str(error).removesuffix(POSITION_ALONE)
        raise UnreachableError(f"{reason}; leave out rpy to ask for the position alone") from None
    return Solutions(model, X, found)


def _triple(name: str, given: ArrayLike) -> list[float]:
    """Three finite numbers."""
    values = real_array(name, given)
    if values.shape != (3,) or not np.isfinite(values).all():
        raise InputError("expected three finite numbers", field=name)
    return [float(value) for value in values]
