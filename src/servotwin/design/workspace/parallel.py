"""Workspaces in space and their sections: parallel robots, and open arms of which no two joints have a plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from servotwin.description.display import MM
from servotwin.description.drive_data import DriveData
from servotwin.design.workspace.arm_space import ArmSpace, arm_space, spatial_joints
from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.limits import limit_set
from servotwin.design.workspace.mesh import (
    Mesh,
    labelled,
    lattice_mesh,
    lattice_volume,
    quartered,
)
from servotwin.design.workspace.planar import CHORD, require_fixed
from servotwin.design.workspace.result import PlaneSet, Workspace
from servotwin.design.workspace.section import samples, standing
from servotwin.design.workspace.task_space import TaskSpace, task_space
from servotwin.design.workspace.trace import trace
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.closure import size_of
from servotwin.robot.robot import Robot

COARSE = 24  # lattice steps over the size of a mechanism, to find how large its workspace is
ACROSS = {2: 50, 3: 20}  # lattice steps over the largest extent of a workspace in a plane and in space
MANY = 12  # coordinates beyond which a lattice in space is coarser: Newton's steps cost their cube
COARSER = 18
QUARTERINGS = 1  # of the triangles of a surface
EFFORT = 75  # points looked at for each corner of the first surface, measured with Stewart and DELTA robots
UNTURNED = 1e-6  # of a rotation matrix: rounding
SHOWN = 0.9  # of the volume: a surface that encloses less has left out thin parts
Progress = Callable[[str, float], None]


def in_space(
    robot: Robot,
    drives: tuple[DriveData, ...],
    frame: str,
    payload: float | None,
    tolerance: float,
    show: Progress,
    q: Array | None = None,
) -> Workspace:
    """The workspace in space: of a parallel robot from its home pose on, of an open arm by three of its joints.

    The other joints of an open arm stand at ``q`` (default: home).
    """
    show("filling the workspace", 0.01)
    if robot.closed:
        space: TaskSpace = _parallel_space(robot, drives, frame, payload)
        notes: tuple[str, ...] = ()
    else:
        space, notes = _arm_space(robot, drives, frame, payload, robot.q_home if q is None else q)
    basis, limits = space.basis, space.limits
    rough = size_of(robot.mechanism) / COARSE
    space.flood(rough)
    extent = float(np.ptp(space.points, axis=0).max()) + rough
    across = COARSER if len(basis) == 3 and len(space.x_home) > MANY else ACROSS[len(basis)]
    spacing = extent / across
    nodes = space.flood(spacing)
    common: dict[str, Any] = {
        "robot": robot,
        "drives": drives,
        "frame": frame,
        "limits": limits,
        "payload": payload,
        "tolerance": tolerance,
    }
    if len(basis) == 2:
        view = _traced(space, spacing, tolerance, "plane view", basis, space.origin)
        return Workspace(
            views=(view,),
            volume=None,
            volume_error=0.0,
            mesh=None,
            mesh_limits=(),
            notes=(),
            plane=space,
            **common,
        )
    show("following the surface", 0.05)
    nodes = space.fill(nodes, spacing)
    mesh = _surface(space, nodes, spacing, lambda part: show("following the surface", 0.05 + 0.45 * part))
    show("measuring the volume", 0.5)
    volume, error = lattice_volume(
        nodes, spacing, space.margins, show=lambda part: show("measuring the volume", 0.5 + 0.22 * part),
        also=space.start_nodes(spacing) if isinstance(space, ArmSpace) else None,
    )  # fmt: skip
    if mesh.volume < SHOWN * volume:
        share = f"the surface encloses {100 * mesh.volume / volume:.0f} % of the volume"
        notes = (*notes, f"{share}: it leaves out parts thinner than {MM * spacing:.0f} mm")
    middle = space.target(space.points).mean(axis=0)
    show("following the side view", 0.72)
    side, plane = section_view(space, (0, 2), space.origin, extent, tolerance)
    show("following the top view", 0.78)
    start = np.array([*space.origin[:2], middle[2]])
    top, _ = section_view(space, (0, 1), start, extent, tolerance)
    places = f"side view at y = {MM * side.origin[1]:.1f} mm, top view at z = {MM * top.origin[2]:.1f} mm"
    return Workspace(
        views=(side, top), volume=volume, volume_error=error, mesh=mesh.shifted(space.origin), mesh_limits=space.names,
        notes=(*notes, f"{places}; {_orientation(space)}"), plane=plane, space=space, progress=show, **common,
    )  # fmt: skip


def _parallel_space(
    robot: Robot, drives: tuple[DriveData, ...], frame: str, payload: float | None
) -> TaskSpace:
    """Poses of a parallel robot about its home pose, in a plane or in space."""
    limits = limit_set(robot, drives, holding=payload is not None)
    flat = _flat_basis(robot, frame)
    return task_space(robot, limits, frame, np.eye(3) if flat is None else flat)


def _arm_space(
    robot: Robot, drives: tuple[DriveData, ...], frame: str, payload: float | None, q: Array
) -> tuple[ArmSpace, tuple[str, ...]]:
    """Places of an open arm by three of its joints, and what must be said of the others, which stand at ``q``."""
    joints = spatial_joints(robot, frame)
    limits = limit_set(robot, drives, moving=joints, holding=payload is not None)
    require_fixed(robot, limits, joints, q)
    return arm_space(robot, limits, frame, joints, q), standing(robot, frame, joints)


def _orientation(space: TaskSpace) -> str:
    """What is true of the tool's orientation in a filled space."""
    if isinstance(space, ArmSpace):
        return "the tool turns with the arm, and all branches count"
    engine: Any = space.robot._engine
    R = engine.tree.fkine(space.x, space.frame)[:, :3, :3]
    if np.abs(R - space.rotation).max() < UNTURNED:
        return "the tool keeps the orientation of the home pose"
    return "the tool turns with the robot, which stays on the branch of its home pose"


def _surface(
    space: TaskSpace, nodes: dict[tuple[int, ...], int], spacing: float, show: Callable[[float], None]
) -> Mesh:
    """The surface of a filled set, with progress by the points that are looked at."""
    done = corners = 0

    def watched(p: Array) -> Array:
        nonlocal done, corners
        corners = corners or len(p)  # the first look is at all corners
        done += len(p)
        show(min(done / (EFFORT * corners), 1.0))
        return space.margins(p)

    mesh = lattice_mesh(nodes, spacing, watched)
    for _ in range(QUARTERINGS):
        mesh = quartered(mesh, watched)
    return labelled(mesh, watched)


def _flat_basis(robot: Robot, frame: str) -> Array | None:
    """Two directions of a robot that moves its tool in a plane of the base; None if it moves in space."""
    if np.linalg.matrix_rank(robot.jacob0(robot.q_home, frame)[:3], tol=1e-9) != 2:
        return None
    J = robot.jacob0(samples(robot, 3), frame)  # a tool on a sphere moves in a plane at home alone
    still = [k for k in range(3) if np.abs(J[:, k]).max() < 1e-9]
    return None if not still else np.delete(np.eye(3), still[0], axis=0)


def section_view(
    space: TaskSpace, axes: tuple[int, int], wanted: Array, extent: float, tolerance: float
) -> tuple[PlaneSet, TaskSpace]:
    """The section of a filled space through a place, or through one nearby that is reached."""
    start, x = _reached_near(space, wanted)
    plane = replace(
        space, basis=np.eye(3)[list(axes)], origin=start, x_home=x, points=np.zeros((0, 2)), _nearest=None
    )
    spacing = extent / ACROSS[2]
    plane.flood(spacing)
    name = "side view" if axes[1] == 2 else "top view"
    return _traced(plane, spacing, tolerance, name, plane.basis, start), plane


def _reached_near(space: TaskSpace, wanted: Array) -> tuple[Array, Array]:
    """A place in the base and the coordinates there: the wanted one, or a known one, as near in height as can be."""
    p = (wanted - space.origin)[None]
    x, solved = space.reached(p)
    if solved[0] and space.margins_at(p, x).min() >= 0.0:
        return wanted, x[0]
    away = np.abs(space.target(space.points) - wanted).round(9)  # nodes of a level are as far as each other
    k = int(np.lexsort((np.hypot(away[:, 0], away[:, 1]), away[:, 2]))[0])
    return space.target(space.points[k]), space.x[k]


def _traced(
    plane: TaskSpace, spacing: float, tolerance: float, name: str, basis: Array, start: Array
) -> PlaneSet:
    """The boundary of a flooded plane, in coordinates of the base."""
    low, high = plane.points.min(axis=0) - 2.0 * spacing, plane.points.max(axis=0) + 2.0 * spacing
    cells = tuple(round(float(v)) for v in (high - low) / spacing)
    loops = trace(plane.margins, low, high, cells, lambda p: p, CHORD * tolerance, 0.1 * CHORD * tolerance)  # type: ignore[arg-type]
    if not loops:
        raise InputError(f"{plane.robot.name}: the workspace is empty: home is not within all limits")
    shift = basis @ start
    names = tuple("xyz"[int(np.argmax(np.abs(row)))] for row in basis)
    region = Region(tuple(loop.points + shift for loop in loops), tuple(loop.labels for loop in loops))
    origin = start - shift @ basis
    return PlaneSet(name, (names[0], names[1]), region, plane.names, basis[0], basis[1], origin)
