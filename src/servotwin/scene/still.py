"""A robot as a small page of its own: the scene with sliders, for notebooks and files; needs no network."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.file_write import export_text
from servotwin.errors import ShapeError
from servotwin.robot.robot import Robot
from servotwin.scene.describe import describe
from servotwin.scene.looks import looks_of
from servotwin.scene.script import scene_script, sliders_script

MOST_TRIANGLES = 20_000  # of all meshes: the page stays below a megabyte
HEIGHT = 460  # px in a notebook
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
* { box-sizing: border-box; }
html, body { height: 100%; }
body { margin: 0; color: #1b2430; background: #fff; font: 14px/1.4 system-ui, -apple-system, 'Segoe UI', Roboto,
  'Noto Sans', 'Liberation Sans', Arial, sans-serif; display: flex; flex-direction: column; }
.scene { position: relative; flex: 1; min-height: 200px; }
.views { position: absolute; right: 10px; top: 10px; }
.views button { font: inherit; font-size: 12px; padding: 2px 8px; border: 1px solid #dde2e8; border-radius: 5px;
  background: #fff; color: #1b2430; cursor: pointer; margin-left: 4px; }
.joints { display: grid; grid-template-columns: repeat(auto-fill, minmax(calc(174px + var(--name, 56px)), 1fr));
  gap: 2px 18px; padding: 8px 12px; border-top: 1px solid #dde2e8; }
.joints label { display: grid; grid-template-columns: var(--name, 56px) minmax(0, 1fr) 78px; gap: 8px;
  align-items: center; }
.joints span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.joints output { text-align: right; font-variant-numeric: tabular-nums; color: #5a6675; white-space: nowrap; }
.joints input { width: 100%; accent-color: #0072b2; }
.tip { color: #5a6675; padding: 0 12px 8px; font-variant-numeric: tabular-nums; }
"""


class RobotPicture:
    """A robot drawn in space with sliders for its joints; notebooks show it, ``save`` writes it as a page."""

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        at = robot.q_home if q is None else np.asarray(q, dtype=np.float64)
        if at.shape != (robot.n,) or not np.isfinite(at).all():
            raise ShapeError(f"q has shape {at.shape}; expected {robot.n} finite numbers")
        self.name = robot.name
        self.description: dict[str, Any] = describe(robot, at, looks_of(robot, MOST_TRIANGLES))

    def html(self) -> str:
        """The whole page."""
        # '<' inside the data could end the script element; JSON has another spelling for it.
        data = json.dumps(self.description, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        name = escape(self.name)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            '<div class="scene"></div><div class="joints"></div><div class="tip"></div>\n'
            f'<script type="application/json" id="robot">{data}</script>\n'
            f"<script>{scene_script()}</script>\n<script>{sliders_script()}</script>\n</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        # A frame of its own: neither styles nor names of the notebook reach it.
        page = escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.name)}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #dde2e8; border-radius: 6px;"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<RobotPicture of {self.name}>"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it as one HTML file; an existing file is replaced only with ``overwrite``."""
        export_text(path, self.html(), overwrite=overwrite)
        return Path(path)


def show(robot: Robot, q: ArrayLike | None = None) -> RobotPicture:
    """A robot at q (n,), default home, as a picture that turns and moves; see ``RobotPicture``."""
    return RobotPicture(robot, q)
