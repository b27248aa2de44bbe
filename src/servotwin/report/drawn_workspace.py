"""``st.workspace``: a workspace that draws itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.schema import RobotDescription
from servotwin.design.workspace.parallel import Progress
from servotwin.design.workspace.workspace import TOLERANCE, Workspace
from servotwin.design.workspace.workspace import workspace as reachable_set
from servotwin.errors import ShapeError
from servotwin.presentation import ShowsItself, Tabulates
from servotwin.robot.robot import Robot

if TYPE_CHECKING:
    import plotly.graph_objects as go


class DrawnWorkspace(Workspace, Tabulates, ShowsItself):
    """A workspace with its pictures and files."""

    def summary(self) -> dict[str, Any]:
        """Its numbers as plain data (SI)."""
        from servotwin.report.workspace_page import workspace_data

        return workspace_data(self)

    def plot(self, view: int = 0) -> go.Figure:
        """A view with the arm and the limits that bind, as a plotly figure."""
        from servotwin.report.workspace_figures import view_figure

        return view_figure(self, self.views[view])

    def report(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
        """Write page, JSON and CSV to a folder; where they are."""
        from servotwin.report.workspace_page import write_workspace

        return write_workspace(self, folder, overwrite=overwrite)


def workspace(
    robot: Robot | RobotDescription | str | Path,
    *,
    frame: str | None = None,
    joints: Sequence[str] | None = None,
    q: ArrayLike | None = None,
    payload: float | None = None,
    cube: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    changes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> DrawnWorkspace:
    """What a frame (default: the tool) reaches within the limits of joints and named quantities, with its pictures.

    Two joints that move the frame in a plane are found, or named by ``joints``; the others stand at ``q`` (n,),
    default home. ``payload`` [kg] takes the place of the file's, and torques at rest count then. ``cube`` (4,): centre
    and edge [m] of a cube that must be inside. The boundary is within ``tolerance`` [m]; ``changes`` as ``--set``.

    >>> import servotwin as st
    >>> st.workspace("palletizer-4", cube=(1.0, 0.0, 0.3, 0.2)).area.__round__(4)
    0.9919
    """
    box = None if cube is None else np.asarray(cube, dtype=np.float64)
    if box is not None and (box.shape != (4,) or not np.isfinite(box).all()):
        raise ShapeError(f"cube has shape {box.shape}; expected x, y, z of its centre and its edge [m]")
    found = reachable_set(
        robot, frame=frame, joints=joints, q=q, payload=payload, tolerance=tolerance, changes=changes,
        progress=progress,
    )  # fmt: skip
    drawn = DrawnWorkspace(**{item.name: getattr(found, item.name) for item in fields(found)})
    if box is not None:
        drawn.require_cube(box[:3], float(box[3]))
    return drawn
