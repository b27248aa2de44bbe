"""What a workspace is asked for: points, joint positions, maps, rectangle and cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import MM
from servotwin.description.drive_data import DriveData
from servotwin.design.workspace.arm_space import ArmSpace
from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.cube_in_space import cube_in_space, face_points
from servotwin.design.workspace.inscribed import (
    Cube,
    Rectangle,
    cube_in_drawn,
    cube_in_turned,
    largest_rectangle,
)
from servotwin.design.workspace.limits import Limit, LimitSet
from servotwin.design.workspace.maps import Mapper
from servotwin.design.workspace.mesh import (
    Mesh,
)
from servotwin.design.workspace.planar import PlanarRegion
from servotwin.design.workspace.section import Section, moving_joints
from servotwin.design.workspace.task_space import TaskSpace
from servotwin.errors import InputError, KinematicsError, UnsupportedError
from servotwin.mechanism.model import Array, BoolArray, IntArray
from servotwin.robot.robot import Robot

NEAREST = 3  # known positions from which a point is tried
STEP = 0.3  # rad or m: most that a joint changes in an iteration
ON_FACE = 49  # samples of a cube along its edges, on its faces
WITHIN = 13  # and within it


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

    ``views`` holds the plane that two joints move the frame in first, or sections of a solid; ``region``
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
    progress: Callable[[str, float], None] | None = None  # told while the cube is searched

    def __repr__(self) -> str:
        """The frame and the area of the first view, on one line."""
        return f"<{type(self).__name__} of {self.robot.name}: {self.frame} within {self.area:.4g} m2>"

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
            cube = cube_in_turned(self.region, self.turn)
            return Cube(cube.center + self.section.foot, cube.edge)
        if self.heights is not None and self.section is not None:
            home = self.section.points(self.section.q[None, list(self.section.joints)])[0]
            return cube_in_drawn(self.region, self.heights, home)
        if self.mesh is None or self.space is None:
            return None
        show = self.progress
        tell = None if show is None else lambda part: show("searching the largest cube", 0.85 + 0.15 * part)
        return cube_in_space(self.mesh.points, self.space.target(self.space.points), self.reaches, tell)

    def require_cube(self, center: ArrayLike, edge: float) -> None:
        """Refuse a cube that is not wholly inside; the message has the largest one."""
        if not (np.isfinite(edge) and edge > 0.0):
            raise InputError(f"edge {edge:g} m; expected more than 0 m", field="cube")
        c = np.asarray(center, dtype=np.float64)
        t = np.linspace(-0.5, 0.5, WITHIN)
        grid = c + edge * np.stack(np.meshgrid(t, t, t, indexing="ij"), axis=-1).reshape(-1, 3)
        samples = np.concatenate([grid, face_points(Cube(c, edge), ON_FACE)])
        outside = samples[~self.reaches(samples)]
        if len(outside):
            best = self.cube
            worst = outside[np.argmax(np.abs(outside - c).sum(axis=1))]
            shown = ", ".join(f"{MM * v:.1f}" for v in worst)
            text = f"a cube of {MM * edge:.4g} mm is out of reach at ({shown}) mm"
            if best is not None:
                at = ", ".join(f"{MM * v:.1f}" for v in best.center)
                text += f"; the largest has {MM * best.edge:.4g} mm about ({at}) mm"
            raise InputError(text, field="cube")

    def reaches(self, points: ArrayLike) -> BoolArray:
        """Which points (k, 3) of the base belong to the solid."""
        p = np.asarray(points, dtype=np.float64).reshape(-1, 3)
        if self.section is not None and self.turn is not None:
            return self._turned_reaches(p)
        if self.heights is not None:
            low, high = self.heights
            return np.asarray(
                (low - 1e-9 <= p[:, 2]) & (p[:, 2] <= high + 1e-9) & self.contains(p[:, :2]), dtype=bool
            )
        if self.space is not None:
            return np.asarray(self.space.margins(p - self.space.origin).min(axis=1) >= 0.0)
        raise UnsupportedError(f"{self.robot.name}: there is no solid to ask for a point in space")

    def _turned_reaches(self, p: Array) -> BoolArray:
        assert self.section is not None
        assert self.turn is not None
        d, p = -self.section.offset, p - self.section.foot
        far = np.hypot(p[:, 0], p[:, 1])
        r = np.sqrt(np.maximum(far**2 - d**2, 0.0))
        found = np.zeros(len(p), dtype=bool)
        for side in (r, -r):
            angle = np.arctan2(p[:, 1], p[:, 0]) - np.arctan2(d, side)
            turns = angle[:, None] + np.arange(-2, 3) * 2.0 * np.pi
            within = ((turns >= self.turn[0] - 1e-12) & (turns <= self.turn[1] + 1e-12)).any(axis=1)
            found |= within & (far >= abs(d)) & self.contains(np.stack([side, p[:, 2]], axis=1))
        return found

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
        plane = self.plane
        moving = plane.joints if isinstance(plane, ArmSpace) else tuple(moving_joints(self.robot, self.frame))
        directions = (
            np.eye(3)
            if len(self.plane.rows if self.plane else ()) >= 3
            else np.stack([self.views[0].right, self.views[0].up])
        )
        return Mapper(self.robot, self.drives, self.frame, directions, moving)

    def maps(self, points: ArrayLike) -> dict[str, Array]:
        """Maps (k,) at points (k, 2) of the first view, see ``maps.MEASURES``; NaN where a point is not reached."""
        q = self.inverse(points)
        out: dict[str, Array] = {}
        for rows, found in self._mapped(q, np.flatnonzero(np.isfinite(q).all(axis=1))):
            for key, values in found.items():
                out.setdefault(key, np.full(len(q), np.nan))[rows] = values
        return out

    def _mapped(self, q: Array, rows: IntArray) -> list[tuple[IntArray, dict[str, Array]]]:
        """Maps of some rows of q; positions at which a closed chain is singular are left out, found by halving."""
        if not len(rows):
            return []
        try:
            return [(rows, self.mapper(q[rows]))]
        except KinematicsError:
            half = len(rows) // 2
            return self._mapped(q, rows[:half]) + self._mapped(q, rows[half:]) if half else []

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
    """Newton's method in the plane from the nearest known positions, those on the side of det J of home first."""
    from scipy.spatial import cKDTree

    section = ws.section
    assert section is not None
    q = np.full((len(p), ws.robot.n), np.nan)
    left = np.arange(len(p))
    for known, at in _known(ws, section):
        tree, tries = cKDTree(at), min(NEAREST, len(at))
        for k in range(tries):
            if not len(left):
                return q
            found = np.asarray(tree.query(p[left], k=[k + 1])[1])[:, 0]
            solved = _newton_in_plane(ws, section, p[left], known[found])
            good = np.isfinite(solved).all(axis=1)
            q[left[good]] = solved[good]
            left = left[~good]
    return q


def _newton_in_plane(ws: Workspace, section: Section, p: Array, s: Array) -> Array:
    """Joint positions (k, n) from those of the two joints (k, 2); NaN where there is none within all limits."""
    low, high = ws.limits.joints[:, section.joints]
    for _ in range(30):
        gap = section.points(s) - p
        if np.abs(gap).max(initial=0.0) < 1e-12:
            break
        J = section.jacobian(s)
        damped = np.swapaxes(J, 1, 2) @ J + 1e-14 * np.eye(2)
        step = np.linalg.solve(damped, np.einsum("kji,kj->ki", J, gap)[..., None])[..., 0]
        s = np.clip(s - np.clip(step, -STEP, STEP), low - 1e-9, high + 1e-9)
    q = section.full(s)
    good = np.linalg.norm(section.points(s) - p, axis=1) < 1e-7
    good &= (ws.limits.margins(q) >= -1e-6).all(axis=1)
    q[~good] = np.nan
    return q


def _known(ws: Workspace, section: Section) -> list[tuple[Array, Array]]:
    """Positions of the two joints within all limits and their points, apart by the sign of det J."""
    assert ws.planar is not None
    low, high = ws.limits.joints[:, section.joints]
    grid = [np.linspace(low[k], high[k], 200) for k in range(2)]
    s = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    s = s[(ws.limits.linear(section.full(s)) >= 0.0).all(axis=1)]
    s = s[(ws.limits.other(section.full(s)) >= 0.0).all(axis=1)]
    s = np.concatenate([s, *(np.clip(loop.points, low, high) for _, loop in ws.planar.pieces)])
    positive = np.linalg.det(section.jacobian(s)) > 0.0
    first = bool(np.linalg.det(section.jacobian(section.q[None, list(section.joints)]))[0] > 0.0)
    sides = [s[positive == first], s[positive != first]]
    return [(side, section.points(side)) for side in sides if len(side)]
