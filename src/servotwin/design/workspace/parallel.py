"""Workspaces of robots whose tool pose gives the joints, in space and in sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.limits import LimitSet, limit_set
from servotwin.design.workspace.mesh import (
    Mesh,
    labelled,
    lattice_mesh,
    lattice_volume,
    quartered,
)
from servotwin.design.workspace.planar import CHORD
from servotwin.design.workspace.result import PlaneSet, Workspace
from servotwin.design.workspace.section import samples
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
Progress = Callable[[str, float], None]


def in_space(
    robot: Robot,
    drives: tuple[DriveData, ...],
    frame: str,
    payload: float | None,
    tolerance: float,
    show: Progress,
) -> Workspace:
    """The workspace of a robot that is followed from its home pose, with its orientation."""
    limits = limit_set(robot, drives, holding=payload is not None)
    flat = _flat_basis(robot, frame)
    basis = np.eye(3) if flat is None else flat
    show("filling the workspace from home", 0.01)
    space = task_space(robot, limits, frame, basis)
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
    if flat is not None:
        view = _traced(space, spacing, tolerance, "plane view", flat, space.origin)
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
        nodes, spacing, space.margins, show=lambda part: show("measuring the volume", 0.5 + 0.22 * part)
    )
    moved = Mesh(mesh.points + space.origin, mesh.triangles, mesh.labels, mesh.deviation)
    middle = space.target(space.points).mean(axis=0)
    show("following the side view", 0.72)
    side, plane = _view(robot, limits, frame, (0, 2), middle, extent, tolerance)
    show("following the top view", 0.78)
    top, _ = _view(robot, limits, frame, (0, 1), middle, extent, tolerance)
    note = "sections through the middle of the workspace; the tool keeps the orientation of the home pose"
    return Workspace(
        views=(side, top), volume=volume, volume_error=error, mesh=moved, mesh_limits=space.names,
        notes=(note,), plane=plane, space=space, progress=show, **common,
    )  # fmt: skip


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


def _view(
    robot: Robot,
    limits: LimitSet,
    frame: str,
    axes: tuple[int, int],
    middle: Array,
    extent: float,
    tolerance: float,
) -> tuple[PlaneSet, TaskSpace]:
    basis = np.eye(3)[list(axes)]
    home = robot.fkine(robot.q_home, frame)[:3, 3]
    start = home.copy() if axes[1] == 2 else np.array([home[0], home[1], middle[2]])
    plane = task_space(robot, limits, frame, basis, start)
    spacing = extent / ACROSS[2]
    plane.flood(spacing)
    return _traced(
        plane, spacing, tolerance, "side view" if axes[1] == 2 else "top view", basis, start
    ), plane


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
