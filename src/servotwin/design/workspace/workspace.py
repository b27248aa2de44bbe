"""``st.workspace``: what a robot reaches within its limits, in a plane and in space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import DEG, MM
from servotwin.description.drive_data import DriveData
from servotwin.description.schema import RobotDescription
from servotwin.design.statics import described
from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.inscribed import (
    Cube,
    Rectangle,
    cube_in_drawn,
    cube_in_mesh,
    cube_in_turned,
    largest_rectangle,
)
from servotwin.design.workspace.limits import Limit, LimitSet, limit_set
from servotwin.design.workspace.maps import Mapper
from servotwin.design.workspace.mesh import (
    Mesh,
    counted_volume,
    drawn,
    labelled,
    lattice_mesh,
    quartered,
    turned,
)
from servotwin.design.workspace.planar import CHORD, PlanarRegion, planar_region
from servotwin.design.workspace.section import Section, find_section, moving_joints
from servotwin.design.workspace.task_space import TaskSpace, task_space
from servotwin.design.workspace.trace import trace
from servotwin.design.workspace.turned import top_view, turned_volume
from servotwin.errors import InputError, KinematicsError, UnsupportedError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.robot.closure import size_of
from servotwin.robot.robot import Robot

TOLERANCE = 1e-4  # m: how near the boundary is followed
COARSE = 24  # lattice steps over the size of a mechanism, to find how large its workspace is
ACROSS = {2: 50, 3: 20}  # lattice steps over the largest extent of a workspace in a plane and in space
MANY = 12  # coordinates beyond which a lattice in space is coarser: Newton's steps cost their cube
COARSER = 14
QUARTERINGS = 1  # of the triangles of a surface
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class PlaneSet:
    """A set of a plane: its name, coordinates, region, and the limits that its labels number."""

    name: str
    axis_names: tuple[str, str]
    region: Region
    limits: tuple[Limit, ...]
    right: Array  # (3,) directions of the two coordinates, and the point where both are zero
    up: Array
    origin: Array

    def in_space(self, p: Array) -> Array:
        """Points (k, 2) in the base (k, 3)."""
        return self.origin + np.asarray(p) @ np.stack([self.right, self.up])

    def binding(self) -> dict[str, float]:
        """Length of the boundary [m] on which each limit binds, the longest first."""
        lengths: dict[str, float] = {}
        for ring, labels in zip(self.region.rings, self.region.labels, strict=True):
            edges = np.linalg.norm(np.roll(ring, -1, axis=0) - ring, axis=1)
            for k in np.unique(labels):
                name = self.limits[k].name
                lengths[name] = lengths.get(name, 0.0) + float(edges[labels == k].sum())
        return dict(sorted(lengths.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class Workspace:
    """The reachable set of a robot's frame within its limits (SI, base axes).

    ``views`` holds the plane that two joints move the frame in first, or sections of a parallel robot; ``region``
    is that of the first. ``volume`` and ``mesh`` are None where no third joint makes a solid of it.
    """

    robot: Robot
    drives: tuple[DriveData, ...]
    frame: str
    limits: LimitSet
    payload: float | None
    tolerance: float
    views: tuple[PlaneSet, ...]
    volume: float | None
    volume_error: float  # estimated [m3]; 0 where it is exact to the tolerance
    mesh: Mesh | None
    mesh_limits: tuple[Limit, ...]
    notes: tuple[str, ...]
    section: Section | None = None
    planar: PlanarRegion | None = None
    plane: TaskSpace | None = None  # of the first view, where joints follow from the pose
    space: TaskSpace | None = None  # the same in space
    turn: tuple[float, float] | None = None  # angles that the plane turns through about z [rad]
    heights: tuple[float, float] | None = None  # z of the frame at both ends of a slide

    @property
    def region(self) -> Region:
        """The set in the first view."""
        return self.views[0].region

    @property
    def area(self) -> float:
        """Area of the first view [m2]."""
        return self.region.area

    def contains(self, points: ArrayLike) -> BoolArray:
        """Which points (k, 2) of the first view are reached."""
        return self.region.contains(np.asarray(points, dtype=np.float64).reshape(-1, 2))

    @cached_property
    def rectangle(self) -> Rectangle:
        """The largest upright rectangle of the first view."""
        return largest_rectangle(self.region)

    @cached_property
    def cube(self) -> Cube | None:
        """The largest cube with edges parallel to the base, after ISO 9283; None without a solid."""
        if self.turn is not None and self.section is not None and abs(self.section.offset) < 1e-9:
            return cube_in_turned(self.region, self.turn)
        if self.heights is not None:
            return cube_in_drawn(self.region, self.heights)
        if self.mesh is None or self.space is None:
            return None
        space = self.space
        assert space is not None

        def inside(p: Array) -> BoolArray:
            return np.asarray(space.margins(p - space.origin).min(axis=1) >= 0.0)

        return cube_in_mesh(self.mesh.points, inside, *self.mesh.extent)

    def _inside_mesh(self, p: Array) -> BoolArray:
        """Points (k, 3) inside the surface, by its solid angle."""
        assert self.mesh is not None
        a, b, c = (self.mesh.points[self.mesh.triangles[:, k]] - p[:, None] for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
        top = np.einsum("kti,kti->kt", a, np.cross(b, c))
        dot = [np.einsum("kti,kti->kt", u, v) for u, v in ((a, b), (b, c), (c, a))]
        angle = 2.0 * np.arctan2(top, la * lb * lc + dot[0] * lc + dot[1] * la + dot[2] * lb)
        return np.asarray(np.abs(angle.sum(axis=1)) > 2.0 * np.pi)

    def require_cube(self, center: ArrayLike, edge: float) -> None:
        """Refuse a cube that is not wholly inside; the message has the largest one."""
        c = np.asarray(center, dtype=np.float64)
        corners = c + 0.5 * edge * np.array(
            [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
        )
        outside = [p for p in corners if not self.reaches(p)]
        if outside:
            best = self.cube
            shown = ", ".join(f"{MM * v:.1f}" for v in outside[0])
            text = f"a cube of {MM * edge:.4g} mm is out of reach at ({shown}) mm"
            if best is not None:
                at = ", ".join(f"{MM * v:.1f}" for v in best.center)
                text += f"; the largest has {MM * best.edge:.4g} mm about ({at}) mm"
            raise InputError(text, field="cube")

    def reaches(self, p: Array) -> bool:
        """True if a point (3,) of the base belongs to the solid."""
        if self.section is not None and self.turn is not None:
            return self._turned_reaches(p)
        if self.heights is not None:
            low, high = self.heights
            return bool(low - 1e-9 <= p[2] <= high + 1e-9 and self.contains(p[:2])[0])
        if self.mesh is not None:
            return bool(self._inside_mesh(p[None])[0])
        raise UnsupportedError(f"{self.robot.name}: there is no solid to ask for a point in space")

    def _turned_reaches(self, p: Array) -> bool:
        assert self.section is not None
        assert self.turn is not None
        d = -self.section.offset
        far = float(np.hypot(p[0], p[1]))
        if far < abs(d):
            return False
        for r in (np.sqrt(far**2 - d**2), -np.sqrt(far**2 - d**2)):
            angle = np.arctan2(p[1], p[0]) - np.arctan2(d, r)
            turns = np.arange(-2, 3) * 2.0 * np.pi + angle
            within = ((turns >= self.turn[0] - 1e-12) & (turns <= self.turn[1] + 1e-12)).any()
            if within and self.contains([r, p[2]])[0]:
                return True
        return False

    # --- positions --------------------------------------------------------------------------------
    def positions(self, count: int, seed: int = 0) -> Array:
        """Joint positions (count, n) within all limits, drawn evenly over the joints' ranges."""
        rng = np.random.default_rng(seed)
        if self.section is None:
            assert self.plane is not None
            return self.plane.x[rng.integers(0, len(self.plane.x), count), : self.robot.n]
        low, high = self.limits.joints
        found: list[Array] = []
        total, tries = 0, 0
        while total < count:
            q = rng.uniform(low, high, (max(4 * count, 1000), self.robot.n))
            fixed = [
                k for k in range(self.robot.n) if k not in self.section.joints and k != self.section.turn
            ]
            q[:, fixed] = self.section.q[fixed]
            good = q[(self.limits.margins(q) >= 0.0).all(axis=1)]
            found.append(good)
            total, tries = total + len(good), tries + 1
            if tries > 1000:
                raise KinematicsError(f"{self.robot.name}: hardly any position is within all limits")
        return np.concatenate(found)[:count]

    def inverse(self, points: ArrayLike) -> Array:
        """Joint positions (k, n) that put the frame at points (k, 2) of the first view; NaN where none does."""
        p = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        if self.plane is not None:
            x, solved = self.plane.reached(p - self._plane_origin())
            return np.where(solved[:, None], x[:, : self.robot.n], np.nan)
        return _inverse_of_section(self, p)

    def _plane_origin(self) -> Array:
        view = self.views[0]
        assert self.plane is not None
        return np.stack([view.right, view.up]) @ (self.plane.origin - view.origin)

    @cached_property
    def mapper(self) -> Mapper:
        """Computes maps at joint positions."""
        if self.section is not None:
            directions = np.stack([self.section.right, self.section.up])
            return Mapper(self.robot, self.drives, self.frame, directions, self.section.joints)
        moving = tuple(moving_joints(self.robot, self.frame))
        directions = (
            np.eye(3)
            if len(self.plane.rows if self.plane else ()) >= 3
            else np.stack([self.views[0].right, self.views[0].up])
        )
        return Mapper(self.robot, self.drives, self.frame, directions, moving)

    def maps(self, points: ArrayLike) -> dict[str, Array]:
        """Maps (k,) at points (k, 2) of the first view, see ``maps.MEASURES``; NaN where a point is not reached."""
        q = self.inverse(points)
        good = np.isfinite(q).all(axis=1)
        if not good.any():
            return {}
        out = {}
        for key, values in self.mapper(q[good]).items():
            full = np.full(len(q), np.nan)
            full[good] = values
            out[key] = full
        return out

    def sampled_maps(self, count: int) -> tuple[Array, dict[str, Array]]:
        """Points (k, 2) of about ``count`` joint positions on a grid within all limits, and the maps there."""
        if self.section is None:
            raise UnsupportedError(
                f"{self.robot.name}: maps over a grid of joints need a plane of two joints"
            )
        side = max(2, round(count**0.5))
        low, high = self.limits.joints[:, self.section.joints]
        grid = [np.linspace(low[k], high[k], side) for k in range(2)]
        s = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
        q = self.section.full(s)
        kept = (self.limits.margins(q) >= 0.0).all(axis=1)
        return self.section.points(s[kept]), self.mapper(q[kept])


def _inverse_of_section(ws: Workspace, p: Array) -> Array:
    """Newton's method in the plane from the nearest of many known positions."""
    from scipy.spatial import cKDTree

    section = ws.section
    assert section is not None
    known, at = _known(ws)
    s = known[np.asarray(cKDTree(at).query(p)[1])]
    low, high = ws.limits.joints[:, section.joints]
    for _ in range(30):
        gap = section.points(s) - p
        if np.abs(gap).max(initial=0.0) < 1e-12:
            break
        J = section.jacobian(s)
        damped = np.swapaxes(J, 1, 2) @ J + 1e-14 * np.eye(2)
        step = np.linalg.solve(damped, np.einsum("kji,kj->ki", J, gap)[..., None])[..., 0]
        s = np.clip(s - step, low - 1e-9, high + 1e-9)
    good = np.linalg.norm(section.points(s) - p, axis=1) < 1e-7
    q = section.full(s)
    good &= (ws.limits.margins(q) >= -1e-6).all(axis=1)
    q[~good] = np.nan
    return q


def _known(ws: Workspace) -> tuple[Array, Array]:
    """Positions of the two joints within all limits on a grid and along the boundary, and their points."""
    assert ws.section is not None
    assert ws.planar is not None
    low, high = ws.limits.joints[:, ws.section.joints]
    grid = [np.linspace(low[k], high[k], 200) for k in range(2)]
    s = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    s = s[(ws.limits.margins(ws.section.full(s)) >= 0.0).all(axis=1)]
    s = np.concatenate([s, *(np.clip(loop.points, low, high) for _, loop in ws.planar.pieces)])
    return s, ws.section.points(s)


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
    home). A vertical first axis turns that plane, a slide draws it out. Parallel robots are followed in space from
    their home pose, with its orientation. With a ``payload`` [kg] at the tool the torques that hold still count:
    effort limits of joints, rated torques of motors. The boundary is within ``tolerance`` [m].

    >>> import servotwin as st
    >>> st.workspace("palletizer-4").area.__round__(4)
    0.9919
    """
    if not 1e-7 <= tolerance <= 0.1:
        raise InputError(f"{tolerance:g} m; expected 1e-7 m to 0.1 m", field="tolerance")
    machine, drives = described(robot, changes)
    if payload is not None:
        if not (np.isfinite(payload) and payload >= 0.0):
            raise InputError(f"{payload:g} kg; expected a mass of at least 0 kg", field="payload")
        machine = machine.with_payload(payload) if payload else machine
    name = machine._frame(frame)
    show = progress or (lambda words, part: None)
    place = None if q is None else machine._joint_array("q", q)
    pair = None if joints is None else tuple(joints)
    try:
        section = find_section(machine, name, pair, place)
        if machine.closed and not np.isfinite(machine.limits.q_min[list(section.joints)]).all():
            raise UnsupportedError("loops need not close over the whole circle of a joint")
    except UnsupportedError:
        if joints is not None:
            raise
        return _in_space(machine, drives, name, payload, tolerance, show)
    return _in_plane(section, drives, payload, tolerance, show)


def _in_plane(
    section: Section, drives: tuple[DriveData, ...], payload: float | None, tolerance: float, show: Progress
) -> Workspace:
    robot = section.robot
    limits = limit_set(robot, drives, moving=section.joints, holding=payload is not None)
    show("following limits", 0.1)
    planar = planar_region(section, limits, tolerance)
    show("turning the plane", 0.6)
    normal = np.cross(section.right, section.up)
    first = PlaneSet(
        f"{section.view} view", section.axis_names, planar.region, planar.limits, section.right, section.up,
        section.offset * normal,
    )  # fmt: skip
    notes = _standing(section)
    common: dict[str, Any] = {
        "robot": robot, "drives": drives, "frame": section.frame, "limits": limits, "payload": payload,
        "tolerance": tolerance, "section": section, "planar": planar,
    }  # fmt: skip
    if section.turn is not None:
        turn, limited = _turn_range(section)
        names = (*planar.limits, *limited)
        labels = (len(planar.limits), len(planar.limits) + 1)
        plan = top_view(planar.region, -section.offset, turn, labels, CHORD * tolerance)
        top = PlaneSet("top view", ("x", "y"), plan, names, np.eye(3)[0], np.eye(3)[1], np.zeros(3))
        volume = turned_volume(planar.region, -section.offset, turn)
        mesh = turned(planar.region, *turn)
        return Workspace(
            views=(first, top), volume=volume, volume_error=0.0, mesh=mesh, mesh_limits=planar.limits,
            notes=notes, turn=turn, **common,
        )  # fmt: skip
    if section.slide is not None:
        heights = _heights(section)
        mesh = drawn(planar.region, *heights)
        return Workspace(
            views=(first,), volume=planar.region.area * (heights[1] - heights[0]), volume_error=0.0, mesh=mesh,
            mesh_limits=planar.limits, notes=notes, heights=heights, **common,
        )  # fmt: skip
    return Workspace(
        views=(first,), volume=None, volume_error=0.0, mesh=None, mesh_limits=(), notes=notes, **common
    )


def _standing(section: Section) -> tuple[str, ...]:
    """What must be said of joints that would move the frame, but stand still."""
    robot = section.robot
    counted = {*section.joints, section.turn, section.slide}
    names = [robot.joint_names[k] for k in moving_joints(robot, section.frame) if k not in counted]
    return (f"{', '.join(names)} stand still; they would move '{section.frame}' too",) if names else ()


def _turn_range(section: Section) -> tuple[tuple[float, float], tuple[Limit, Limit]]:
    """Angles about z that the plane's first coordinate points to, at most a full turn, and the limits at both ends."""
    robot, k = section.robot, section.turn
    assert k is not None
    J, p = robot.jacob0(section.q, section.frame)[:3, k], robot.fkine(section.q, section.frame)[:3, 3]
    sign = 1.0 if float(J @ np.cross([0.0, 0.0, 1.0], p)) >= 0.0 else -1.0
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


def _heights(section: Section) -> tuple[float, float]:
    robot, k = section.robot, section.slide
    assert k is not None
    q = np.stack([section.q, section.q])
    q[:, k] = robot.limits.q_min[k], robot.limits.q_max[k]
    if not np.isfinite(q[:, k]).all():
        raise InputError(f"{robot.name}: joint '{robot.joint_names[k]}' slides without limits")
    z = sorted(float(v) for v in robot.fkine(q, section.frame)[:, 2, 3])
    return z[0], z[1]


# --- parallel robots ------------------------------------------------------------------------------
def _in_space(
    robot: Robot,
    drives: tuple[DriveData, ...],
    frame: str,
    payload: float | None,
    tolerance: float,
    show: Progress,
) -> Workspace:
    limits = limit_set(robot, drives, holding=payload is not None)
    flat = _flat_basis(robot, frame)
    basis = np.eye(3) if flat is None else flat
    show("filling the workspace from home", 0.05)
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
    show("following the surface", 0.15)
    nodes = space.fill(nodes, spacing)
    mesh = lattice_mesh(nodes, spacing, space.margins)
    for _ in range(QUARTERINGS):
        mesh = quartered(mesh, space.margins)
    mesh = labelled(mesh, space.margins)
    show("measuring the volume", 0.45)
    volume, error = counted_volume(nodes, spacing, space.margins)
    moved = Mesh(mesh.points + space.origin, mesh.triangles, mesh.labels, mesh.deviation)
    middle = space.target(space.points).mean(axis=0)
    show("following the side view", 0.6)
    side, plane = _view(robot, limits, frame, (0, 2), middle, extent, tolerance)
    show("following the top view", 0.8)
    top, _ = _view(robot, limits, frame, (0, 1), middle, extent, tolerance)
    note = "sections through the middle of the workspace; the tool keeps the orientation of the home pose"
    return Workspace(
        views=(side, top), volume=volume, volume_error=error, mesh=moved, mesh_limits=space.names,
        notes=(note,), plane=plane, space=space, **common,
    )  # fmt: skip


def _flat_basis(robot: Robot, frame: str) -> Array | None:
    """Two directions of a robot that moves its tool in a plane of the base; None if it moves in space."""
    J = robot.jacob0(robot.q_home, frame)[:3]
    if np.linalg.matrix_rank(J, tol=1e-9) != 2:
        return None
    still = [k for k in range(3) if np.abs(J[k]).max() < 1e-9]
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
