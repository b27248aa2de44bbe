"""An animation of the arm for a page: play, pause, scrub, orbit by mouse; asks nothing of the network."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from servotwin.errors import KinematicsError, ShapeError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.report.labels import joint_units
from servotwin.report.tool_path import nearest_on_path, tip_of
from servotwin.robot.robot import Robot
from servotwin.scene import describe, looks_of, scene_script
from servotwin.scene.body_shapes import flat, numbers
from servotwin.scene.describe import corners, floor, path_scene, tree_data
from servotwin.scene.skeleton import body_poses, skeleton

RATE = 60.0  # frames per second at most: what a screen shows
MOST_FRAMES = 2000
MOST_MARKS = 400
FINE = 20000  # samples of the commanded path that deviations are measured against, at most
FITTED = 60  # frames that the picture is made to hold
MOST_TRIANGLES = 8_000  # of all meshes: a fifth of a megabyte
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "5")
MAGNIFIED = ("1", "10", "100", "1000")
SCRIPT = Path(__file__).with_name("animation.js")

STYLE = """
.animation .stage { position: relative; width: 100%; height: clamp(300px, 46vw, 540px); }
.animation .controls, .animation .readings { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center;
  font-size: 14px; padding: 8px 4px; border-top: 1px solid var(--line); }
.animation .controls input[type=range] { flex: 1 1 200px; min-width: 120px; accent-color: var(--accent); }
.animation button, .animation select { font: inherit; padding: 3px 10px; border: 1px solid var(--line);
  border-radius: 5px; background: #fff; color: var(--ink); cursor: pointer; }
.animation button.play { background: var(--accent); border-color: var(--accent); color: #fff; min-width: 72px; }
.animation .clock { font-variant-numeric: tabular-nums; min-width: 70px; text-align: right; }
.animation .readings { color: var(--soft); font-variant-numeric: tabular-nums; }
.animation .readings b { display: inline-block; min-width: 58px; text-align: right; color: var(--ink); }
.animation .instruction { color: var(--accent); font-weight: 600; min-height: 1.5em; padding: 2px 4px; }
.animation label { white-space: nowrap; }
"""


def animation_fragment(
    robot: Robot,
    t: Array,
    q: Array,
    q_ref: Array | None = None,
    *,
    known: Robot | None = None,
    payload: str = "",
    carried: BoolArray | None = None,
    marks: Sequence[tuple[float, str]] = (),
    tool: Array | None = None,
    heading: str = "The arm",
    caption: str = "",
    arm: bool = True,
) -> str:
    """The arm at joint positions q (k, n) [rad, m] at the instants t (k,) [s], as HTML for ``Page.fragment``
    behind an ``animation_player``.

    ``q_ref`` (k, n): what was commanded, drawn as a path beside the actual one and as a second arm on a
    click, of the robot ``known`` to the controller. ``payload``: a word on what the tool carries, ``carried``
    (k,) when. ``marks``: instants and what begins there, such as instructions. ``tool`` (4, 4): the tool point in
    the robot's tool frame.
    ``arm=False`` draws the path alone, as large as it fits. Rows that are not finite are left out.
    """
    t, q, q_ref, carried = _arguments(robot, t, q, q_ref, carried)
    if len(t) == 0:
        return '<p class="note">There is nothing to animate: no joint position of this run is finite.</p>'
    times = frame_times(t)
    try:
        data = _data(robot, known or robot, t, times, q, q_ref, tool, arm=arm)
    except KinematicsError as error:
        return f'<p class="note">The arm cannot be drawn: {escape(str(error))}</p>'
    data["payload"] = payload
    if carried is not None:
        held = carried[np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 1)]
        data["carried"] = _packed(held.astype(np.uint8))
    kept = [(float(time), str(text)) for time, text in marks if math.isfinite(time)]
    data["marks"] = sorted(kept, key=lambda mark: mark[0])[:MOST_MARKS]
    return _html(data, heading, caption, reference=q_ref is not None)


def frame_times(t: Array) -> Array:
    """Instants (m,) of the frames, evenly over t: at most RATE in a second and MOST_FRAMES in all."""
    duration = float(t[-1] - t[0])
    count = 1 if duration <= 0.0 else min(MOST_FRAMES, math.ceil(RATE * duration) + 1)
    return np.linspace(t[0], t[-1], max(count, 1))


def _arguments(
    robot: Robot, t: Array, q: Array, q_ref: Array | None, carried: BoolArray | None
) -> tuple[Array, Array, Array | None, BoolArray | None]:
    """The arguments as arrays without the rows that are not finite."""
    t, q = np.asarray(t, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if t.ndim != 1 or q.shape != (len(t), robot.n):
        raise ShapeError(f"t has shape {t.shape} and q {q.shape}; expected (k,) and (k, {robot.n})")
    if q_ref is not None and np.shape(q_ref) != q.shape:
        raise ShapeError(f"q_ref has shape {np.shape(q_ref)}; expected that of q, {q.shape}")
    if carried is not None and np.shape(carried) != t.shape:
        raise ShapeError(f"carried has shape {np.shape(carried)}; expected that of t, {t.shape}")
    if len(t) > 1 and not (np.diff(t) >= 0.0).all():
        raise ShapeError("t does not rise; expected instants in the order of time")
    good = np.isfinite(t) & np.isfinite(q).all(axis=1)
    if q_ref is not None:
        q_ref = np.asarray(q_ref, dtype=np.float64)
        good &= np.isfinite(q_ref).all(axis=1)
        q_ref = q_ref[good]
    return t[good], q[good], q_ref, None if carried is None else np.asarray(carried, dtype=bool)[good]


def _data(
    robot: Robot,
    known: Robot,
    t: Array,
    times: Array,
    q: Array,
    q_ref: Array | None,
    tool: Array | None,
    *,
    arm: bool,
) -> dict[str, Any]:
    """All that the script draws, packed."""
    q = _at(times, t, q)
    tip = tip_of(robot, q, tool)
    everything = [tip]
    ghost = wanted = foot = None
    if q_ref is not None:
        commanded = _at(times, t, q_ref)
        wanted = tip_of(known, commanded, tool)
        if arm:
            ghost = {"tree": tree_data(known, commanded[0]), "x": _coordinates(known, commanded)}
        # Against every sample of the path: the chords between frames would look like deviations.
        fine = slice(None, None, math.ceil(len(t) / FINE))
        foot = nearest_on_path(tip, times, tip_of(known, q_ref[fine], tool), t[fine])
        everything.append(wanted)
    if arm:
        few = q[:: math.ceil(len(q) / FITTED)]
        everything.append(skeleton(robot).positions(body_poses(robot, few)).reshape(-1, 3))
    cloud = np.concatenate(everything)
    return {
        "arm": arm,
        "scene": _scene(robot, q[0], tool, cloud, arm=arm),
        "x": _coordinates(robot, q) if arm else "",
        "ghost": ghost,
        "t0": float(times[0]),
        "dt": float(times[1] - times[0]) if len(times) > 1 else 0.0,
        "frames": len(times),
        "tip": _packed(tip.astype("<f4")),
        "wanted": "" if wanted is None else _packed(wanted.astype("<f4")),
        "foot": "" if foot is None else _packed(foot.astype("<f4")),
        "q": _packed(q.astype("<f4")),
        "carried": "",
        "names": list(robot.joint_names),
        "units": [joint_units(unit).shown for unit in robot.joint_units],
    }


def _coordinates(robot: Robot, q: Array) -> str:
    """All free coordinates (k, n_x) for forward kinematics in the page; single precision is a micrometre in 5 m."""
    return _packed(robot.coordinates(q).astype("<f4"))


def _scene(robot: Robot, q: Array, tool: Array | None, cloud: Array, *, arm: bool) -> dict[str, Any]:
    """The scene of the arm, or of the path alone, that holds all points of a cloud (k, 3)."""
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    room = {"size": size, "fit": [numbers(corner) for corner in corners(low, high)]}
    if not arm:
        return {**path_scene(robot.name), **room, "floor": floor(low, high, size, float(low[2]))}
    found = describe(robot, q, looks_of(robot, MOST_TRIANGLES))
    if tool is not None:  # one that the robot file does not know
        frame = robot.mechanism.frame()
        X = frame.X_body_frame @ tool
        ends = numbers(frame.X_body_frame[:3, 3]), numbers(X[:3, 3])
        hand = {"kind": "capsule", "a": ends[0], "b": ends[1], "r": 0.006 * size, "ink": "tool"}
        found["tool"] = {"body": frame.body + 1, "pose": flat(X)}
        found["bodies"][frame.body + 1]["shapes"].append(hand)
    return {**found, **room, "floor": floor(low, high, size, min(float(low[2]), 0.0))}


def _at(times: Array, t: Array, q: Array) -> Array:
    return np.stack([np.interp(times, t, column) for column in q.T], axis=1)


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


@cache
def animation_player() -> str:
    """Style and script that play all animations of a page: the ``shared`` part of ``Page.fragment``."""
    script = f"{scene_script()}\n{SCRIPT.read_text(encoding='utf-8')}"
    return f"<style>{STYLE}</style><script>{script}</script>"


def _html(data: dict[str, Any], heading: str, caption: str, *, reference: bool) -> str:
    # '<' inside the data could end the script element; JSON has another spelling for it.
    packed = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    text = f"<p>{escape(caption)}</p>" if caption else ""
    return (
        f'<figure class="animation"><figcaption><h3>{escape(heading)}</h3>{text}</figcaption>'
        '<div class="stage" data-part="stage"></div>'
        f'<div class="instruction" data-part="label"></div>'
        f'<div class="controls">{_controls(reference=reference, arm=bool(data["arm"]))}</div>'
        '<div class="readings" data-part="readings"></div>'
        f'<script type="application/json">{packed}</script></figure>'
        "<script>servotwinAnimation(document.currentScript.previousElementSibling);</script>"
    )


def _controls(*, reference: bool, arm: bool) -> str:
    views = "".join(
        f'<button type="button" data-view="{view}">{view}</button>'
        for view in ("oblique", "above", "front", "side")
    )
    parts = [
        '<button type="button" class="play" data-part="play">Play</button>',
        '<input type="range" data-part="scrub" min="0" max="1" step="any" value="0" aria-label="time">',
        '<span class="clock" data-part="clock"></span>',
        _select("speed", "speed", SPEEDS, "1"),
        '<label><input type="checkbox" data-part="loop" checked> repeat</label>',
    ]
    if reference and arm:
        parts.append('<label><input type="checkbox" data-part="ghost"> commanded arm</label>')
    if reference:
        parts.append(_select("deviation", "magnify", MAGNIFIED, "1"))
    return "".join([*parts, f"<span>{views}</span>"])


def _select(title: str, part: str, values: Sequence[str], chosen: str) -> str:
    options = "".join(
        f'<option value="{value}"{" selected" if value == chosen else ""}>{value} ×</option>'
        for value in values
    )
    return f'<label>{title} <select data-part="{part}">{options}</select></label>'
