"""``st.workspace``: what a robot reaches within its limits, in a plane and in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import DEG, MM
from servotwin.description.drive_data import DriveData
from servotwin.description.schema import RobotDescription
from servotwin.design.statics import described, finite_position
from servotwin.design.workspace.limits import Limit, LimitSet, limit_set
from servotwin.design.workspace.parallel import Progress, in_space
from servotwin.design.workspace.planar import CHORD, PlanarRegion, planar_region
from servotwin.design.workspace.result import PlaneSet, Workspace
from servotwin.design.workspace.section import Section, find_section, samples, standing
from servotwin.design.workspace.swept_mesh import drawn, turned
from servotwin.design.workspace.turned import side_of_drawn, top_view, turned_volume
from servotwin.errors import InputError, UnsupportedError
from servotwin.robot.robot import Robot

TOLERANCE = 1e-4  # m: how near the boundary is followed
SWEPT = 64  # positions that tell whether limits change as the plane is swept
SAME = 1e-9  # rad, m, parts of a torque limit: rounding
__all__ = ["PlaneSet", "Workspace", "workspace"]


def workspace(
    robot: Robot | RobotDescription | str | Path,
    *,
    frame: str | None = None,
    joints: Sequence[str] | None = None,
    q: ArrayLike | None = None,
    payload: float | None = None,
    tolerance: float = TOLERANCE,
    changes: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Workspace:
    """What a frame (default: the tool) reaches within the limits of joints and named quantities.

    Two joints that move the frame in a plane are found, or named by ``joints``; the others stand at ``q`` (default:
    home). A vertical axis turns that plane, a slide draws it out. Open arms without such a plane are followed in space
    by three joints and all branches, parallel robots from their home pose with its orientation. With a ``payload``
    [kg], which takes the place of the file's, the torques that hold still count: effort limits of joints, rated
    torques of motors. The boundary is within ``tolerance`` [m].

    >>> import servotwin as st
    >>> st.workspace("palletizer-4").area.__round__(4)
    0.9919
    """
    if not 1e-7 <= tolerance <= 0.1:
        raise InputError(f"{tolerance:g} m; expected 1e-7 m to 0.1 m", field="tolerance")
    machine, drives, notes = described(robot, changes, payload)
    name = machine._frame(frame)
    show = progress or (lambda words, part: None)
    place = None if q is None else finite_position(machine, q)
    pair = None if joints is None else tuple(joints)
    try:
        section = find_section(machine, name, pair, place)
        if machine.closed and not np.isfinite(machine.limits.q_min[list(section.joints)]).all():
            raise UnsupportedError("loops need not close over the whole circle of a joint")
    except UnsupportedError:
        if joints is not None:
            raise
        found = in_space(machine, drives, name, payload, tolerance, show, place)
    else:
        found = _in_plane(section, drives, payload, tolerance, show)
    return replace(found, notes=(*notes, *found.notes))


def _in_plane(
    section: Section, drives: tuple[DriveData, ...], payload: float | None, tolerance: float, show: Progress
) -> Workspace:
    robot = section.robot
    limits = limit_set(robot, drives, moving=section.joints, holding=payload is not None)
    show("following limits", 0.1)
    planar = planar_region(section, limits, tolerance)
    show("turning the plane", 0.6)
    first = PlaneSet(
        f"{section.view} view", section.axis_names, planar.region, planar.limits, section.right, section.up,
        section.origin,
    )  # fmt: skip
    notes = standing(robot, section.frame, (*section.joints, section.turn, section.slide))
    common: dict[str, Any] = {
        "robot": robot, "drives": drives, "frame": section.frame, "limits": limits, "payload": payload,
        "tolerance": tolerance, "section": section, "planar": planar,
    }  # fmt: skip
    section, bent = _even_sweep(section, limits)
    notes, common["section"] = (*notes, *bent, *_beside_base(section)), section
    if section.turn is not None:
        turn, limited = _turn_range(section)
        names = (*planar.limits, *limited)
        labels = (len(planar.limits), len(planar.limits) + 1)
        plan = top_view(planar.region, -section.offset, turn, labels, CHORD * tolerance).shifted(
            section.center
        )
        top = PlaneSet("top view", ("x", "y"), plan, names, np.eye(3)[0], np.eye(3)[1], np.zeros(3))
        volume = turned_volume(planar.region, -section.offset, turn)
        mesh = turned(planar.region, turn, -section.offset, labels).shifted(section.foot)
        return Workspace(
            views=(first, top), volume=volume, volume_error=0.0, mesh=mesh, mesh_limits=names,
            notes=notes, turn=turn, **common,
        )  # fmt: skip
    if section.slide is not None:
        heights, limited = _heights(section)
        count = len(planar.limits)
        mesh = drawn(planar.region, heights, (count, count + 1))
        side = _side_view(planar, heights, limited)
        return Workspace(
            views=(first, side), volume=planar.region.area * (heights[1] - heights[0]), volume_error=0.0, mesh=mesh,
            mesh_limits=(*planar.limits, *limited), notes=notes, heights=heights, **common,
        )  # fmt: skip
    return Workspace(
        views=(first,), volume=None, volume_error=0.0, mesh=None, mesh_limits=(), notes=notes, **common
    )


def _even_sweep(section: Section, limits: LimitSet) -> tuple[Section, tuple[str, ...]]:
    """The section without a turning or sliding joint on which a limit depends, and what must be said of it.

    The plane then changes as it is swept, so that its area and the sweep make no volume. Closed chains are asked for
    their linear limits alone: their loops need not close at every position.
    """
    robot, notes = section.robot, list[str]()
    margins = limits.linear if robot.closed else limits.margins
    rng = np.random.default_rng(1)
    low, high = limits.joints
    for what in ("turn", "slide"):
        k = getattr(section, what)
        if k is None:
            continue
        q = np.tile(section.q, (SWEPT, 1))
        for joint in section.joints:
            q[:, joint] = rng.uniform(low[joint], high[joint], SWEPT)
        swept = q.copy()
        swept[:, k] = rng.uniform(low[k], high[k], SWEPT)
        if np.abs(margins(swept) - margins(q)).max() > SAME:
            notes.append(
                f"a limit depends on {robot.joint_names[k]}, which stands still: the plane has no volume"
            )
            section = replace(section, turn=None) if what == "turn" else replace(section, slide=None)
    return section, tuple(notes)


def _beside_base(section: Section) -> tuple[str, ...]:
    """Where radii begin, if not at the base."""
    if section.turn is None or section.center == (0.0, 0.0):
        return ()
    x, y = (MM * v for v in section.center)
    name = section.robot.joint_names[section.turn]
    return (f"r counts from the axis of {name} at x = {x:.1f} mm, y = {y:.1f} mm",)


def _turn_range(section: Section) -> tuple[tuple[float, float], tuple[Limit, Limit]]:
    """Angles about z that the plane's first coordinate points to, at most a full turn, and the limits at both ends."""
    robot, k = section.robot, section.turn
    assert k is not None
    q = samples(robot, 2)  # at q itself the tool may stand on the axis
    fixed = [i for i in range(robot.n) if i not in (*section.joints, k)]
    q[:, fixed] = section.q[fixed]  # they may move the axis
    v, p = robot.jacob0(q, section.frame)[:, :3, k], robot.fkine(q, section.frame)[:, :3, 3] - section.foot
    sign = 1.0 if float(np.sum(v * np.cross([0.0, 0.0, 1.0], p))) >= 0.0 else -1.0
    angle = float(np.arctan2(section.right[1], section.right[0]))
    low, high = robot.limits.q_min[k] - section.q[k], robot.limits.q_max[k] - section.q[k]
    name = robot.joint_names[k]
    if not np.isfinite(high - low) or high - low >= 2.0 * np.pi:
        limit = Limit("seam", f"{name}: full turn")
        return (angle - np.pi, angle + np.pi), (limit, limit)
    ends = sorted((sign * low, sign * high))
    words = [f"{name} at {DEG * v:.6g} deg" for v in (robot.limits.q_min[k], robot.limits.q_max[k])]
    named = [Limit("joint", word) for word in (words if sign > 0.0 else words[::-1])]
    return (angle + ends[0], angle + ends[1]), (named[0], named[1])


def _heights(section: Section) -> tuple[tuple[float, float], tuple[Limit, Limit]]:
    """Least and largest height of the frame along a slide, and the slide's limit at each."""
    robot, k = section.robot, section.slide
    assert k is not None
    q = np.stack([section.q, section.q])
    q[:, k] = robot.limits.q_min[k], robot.limits.q_max[k]
    if not np.isfinite(q[:, k]).all():
        raise InputError(f"{robot.name}: joint '{robot.joint_names[k]}' slides without limits")
    z = robot.fkine(q, section.frame)[:, 2, 3]
    named = [
        Limit("joint", f"{robot.joint_names[k]} {words} {MM * value:.6g} mm")
        for words, value in zip(("at least", "at most"), q[:, k], strict=True)
    ]
    first, last = (0, 1) if z[0] <= z[1] else (1, 0)
    return (float(z[first]), float(z[last])), (named[first], named[last])


def _side_view(planar: PlanarRegion, heights: tuple[float, float], limited: tuple[Limit, Limit]) -> PlaneSet:
    """The side view (x, z) of a top view that a slide draws along z."""
    count = len(planar.limits)
    region = side_of_drawn(planar.region, heights, (count, count + 1))
    names = (*planar.limits, *limited)
    return PlaneSet("side view", ("x", "z"), region, names, np.eye(3)[0], np.eye(3)[2], np.zeros(3))
