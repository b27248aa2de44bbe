"""``st.workspace``: a workspace that draws itself."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.design.workspace.workspace import Workspace
from servotwin.design.workspace.workspace import workspace as reachable_set

if TYPE_CHECKING:
    import plotly.graph_objects as go


class DrawnWorkspace(Workspace):
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


def workspace(robot: Any, **wishes: Any) -> DrawnWorkspace:
    """What a frame of a robot reaches; see ``servotwin.design.workspace.workspace.workspace`` for the wishes."""
    found = reachable_set(robot, **wishes)
    return DrawnWorkspace(**{item.name: getattr(found, item.name) for item in fields(found)})
