"""The script that draws scenes: classic JavaScript without imports, for pages of ours and for offline files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("js")
# In the order in which they build on each other.
PARTS = ("kinematics", "shapes", "renderer_gl", "renderer_canvas", "camera", "scene")


@cache
def scene_script() -> str:
    """The whole script; it defines ``window.ServoTwinScene``."""
    return "\n".join((FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in PARTS)


@cache
def sliders_script() -> str:
    """The script that puts sliders below the scene of a page of one robot."""
    return (FOLDER / "sliders.js").read_text(encoding="utf-8")
