"""Robots of the benchmark, the same model for every contender."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import servotwin as st


def urdf_path(name: str) -> Path:
    """A URDF file of the example-robot-data package."""
    for entry in distribution("example-robot-data").files or []:
        if entry.name == name:
            return Path(str(entry.locate()))
    raise FileNotFoundError(name)


def ur5() -> st.Robot:
    """Universal Robots UR5, in the gravity that Pinocchio assumes."""
    return st.load_robot(urdf_path("ur5_robot.urdf")).with_gravity([0.0, 0.0, -9.81])
