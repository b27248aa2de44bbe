"""One 3D scene of a robot for viewer, pendant, reports and notebooks: a description of plain data, and its script."""

from __future__ import annotations

from servotwin.scene.describe import body_poses_flat, describe
from servotwin.scene.looks import Looks, looks_of
from servotwin.scene.script import scene_script

__all__ = ["Looks", "body_poses_flat", "describe", "looks_of", "scene_script"]
