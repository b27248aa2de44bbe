"""The viewer: a robot in the browser with its joints, tool, branches, limits, ellipsoids and torques."""

from __future__ import annotations

from servotwin.pendant.view.viewer import Viewer, teach, view

__all__ = ["Viewer", "teach", "view"]
