"""The plane that two joints of a robot move its tool in, and the solid that a third makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from servotwin.errors import InputError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

FLAT = 1e-9  # relative: velocities nearer to a plane than this lie in it
POSES = 12  # positions at which the plane is looked for
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Section:
    """Two joints that move a frame in a plane while the others stand still.

    A point of the plane is ``origin + a right + b up``; the origin is the point of the plane nearest to the base, or
    to the vertical axis through ``center`` about which the joint ``turn`` turns the plane. ``slide`` is a joint that
    lifts a level plane.
    """

    robot: Robot
    frame: str
    joints: tuple[int, int]
    q: Array  # (n,) where the other joints stand
    right: Array
    up: Array
    offset: float  # of the plane from the base's origin or the center, along its normal right x up
    turn: int | None = None
    slide: int | None = None
    center: tuple[float, float] = (0.0, 0.0)  # x and y [m] of the axis that turns the plane

    @property
    def foot(self) -> Array:
        """The center (3,) in the base, at the height zero."""
        return np.array([*self.center, 0.0])

    @property
    def origin(self) -> Array:
        """The point (3,) of the plane where both coordinates are zero."""
        return np.asarray(self.foot + self.offset * np.cross(self.right, self.up))

    @property
    def view(self) -> str:
        """'side' or 'top', or 'plane' for an oblique one."""
        normal = np.cross(self.right, self.up)
        return "top" if abs(normal[2]) > 1 - 1e-9 else "side" if abs(self.up[2]) > 1 - 1e-9 else "plane"

    @property
    def axis_names(self) -> tuple[str, str]:
        """What the coordinates are called: r and z in a side view."""
        if self.view == "top":
            return "x", "y"
        across = "y" if abs(self.right[1]) > 1 - 1e-9 else "x"
        return ("r" if self.turn is not None else across), "z"

    def full(self, s: Array) -> Array:
        """Joint positions (k, n) of the two joints' (k, 2)."""
        q = np.broadcast_to(self.q, (len(s), self.robot.n)).copy()
        q[:, self.joints] = s
        return q

    def points(self, s: Array) -> Array:
        """Where the two joints' positions (k, 2) put the frame in the plane (k, 2) [m]."""
        p = self.robot.fkine(self.full(s), self.frame)[..., :3, 3]
        return np.asarray((p - self.foot) @ np.stack([self.right, self.up]).T)

    def jacobian(self, s: Array) -> Array:
        """Velocity in the plane per joint velocity (k, 2, 2)."""
        J = self.robot.jacob0(self.full(s), self.frame)[..., :3, :][..., self.joints]
        return np.asarray(np.einsum("ai,kij->kaj", np.stack([self.right, self.up]), J))

    def in_space(self, p: Array) -> Array:
        """Points (k, 2) of the plane in the base (k, 3)."""
        return np.asarray(p @ np.stack([self.right, self.up]) + self.origin)


def find_section(
    robot: Robot, frame: str | None = None, joints: tuple[str, ...] | None = None, q: Array | None = None
) -> Section:
    """The plane in which the first two joints that can do so move the frame, or the given two.

    Open arms have further pairs, of which a third joint must make a solid: a slide with a wrist behind a swing, say.
    An arm on a track keeps the plane that it has without the track.
    """
    name = robot._frame(frame)
    place = robot.q_home if q is None else np.asarray(q, dtype=np.float64)
    if joints is not None:
        section = _first(robot, name, [_indices(robot, joints)], place)
        if section is None:
            raise UnsupportedError(
                f"{robot.name}: these joints do not move '{name}' in a plane; name two joints that do"
            )
        return section
    moving = moving_joints(robot, name)
    section = None if robot.closed else _beyond_the_track(robot, name, moving, place)
    section = section or _first(robot, name, _pairs(moving), place)
    if section is None and not robot.closed:
        section = _first(robot, name, combinations(moving, 2), place, swept=True)
    if section is None:
        raise UnsupportedError(
            f"{robot.name}: no two of its joints move '{name}' in a plane; name two joints that do"
        )
    return section


def _first(
    robot: Robot, frame: str, pairs: Iterable[tuple[int, int]], place: Array, *, swept: bool = False
) -> Section | None:
    """The section of the first of the pairs that has one; ``swept``: one of which a third joint makes a solid."""
    for pair in pairs:
        section = _section(robot, frame, pair, place)
        if section is not None and (not swept or section.turn is not None or section.slide is not None):
            return section
    return None


def _beyond_the_track(robot: Robot, frame: str, moving: list[int], place: Array) -> Section | None:
    """The plane of an arm on a track by the arm's own joints, if they make a solid of it or turn both.

    Two joints that shift the frame level, each in one direction, are a gantry: its plane is theirs.
    """
    v = robot.jacob0(samples(robot, 4), frame)[..., :3, :]
    tracks = [
        k
        for k in moving
        if robot.joint_units[k] == "m"
        and np.abs(v[:, 2, k]).max() < FLAT
        and np.abs(v[..., k] - v[0, :, k]).max() < FLAT
    ]
    if len(tracks) != 1:
        return None
    section = _first(robot, frame, _pairs([k for k in moving if k not in tracks]), place)
    if section is None or section.turn is not None or section.slide is not None:
        return section
    return section if all(robot.joint_units[k] == "rad" for k in section.joints) else None


def _section(robot: Robot, frame: str, pair: tuple[int, int], place: Array) -> Section | None:
    """The plane of two joints with the joint that makes a solid of it; None if they move the frame in no plane."""
    plane = _plane(robot, frame, pair, place)
    if plane is None:
        return None
    section = Section(robot, frame, pair, place, *plane)
    turn, slide = _sweeping(section)
    section = replace(section, turn=turn, slide=slide)
    return section if turn is not None or robot.closed else _turned_about_an_axis(section)


def _indices(robot: Robot, joints: tuple[str, ...]) -> tuple[int, int]:
    for name in joints:
        if name not in robot.joint_names:
            raise InputError(
                f"{robot.name} has no joint '{name}'; it has: {', '.join(robot.joint_names)}", field="joints"
            )
    if len(set(joints)) != 2 or len(joints) != 2:
        raise InputError(
            f"expected two different joints out of {', '.join(robot.joint_names)}", field="joints"
        )
    return robot.joint_names.index(joints[0]), robot.joint_names.index(joints[1])


def samples(robot: Robot, seed: int) -> Array:
    """A few joint positions (k, n): anywhere within the limits, or near home where loops might not close."""
    rng = np.random.default_rng(seed)
    if not robot.closed:
        wide = np.where(np.array(robot.joint_units) == "m", 1.0, np.pi)
        low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -wide)
        high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, wide)
        return rng.uniform(low, high, (POSES, robot.n))
    spread = np.where(np.array(robot.joint_units) == "m", 0.01, 0.05)
    return np.asarray(robot.q_home + rng.uniform(-1.0, 1.0, (POSES, robot.n)) * spread)


def moving_joints(robot: Robot, frame: str) -> list[int]:
    """Joints that move a frame's origin."""
    q = samples(robot, 0)
    speed = np.linalg.norm(robot.jacob0(q, frame)[..., :3, :], axis=-2).max(axis=0)
    return [int(k) for k in np.flatnonzero(speed > FLAT * max(speed.max(), 1e-300))]


def standing(robot: Robot, frame: str, counted: Iterable[int | None]) -> tuple[str, ...]:
    """What must be said of joints that would move the frame, but stand still."""
    moved = set(counted)
    names = [robot.joint_names[k] for k in moving_joints(robot, frame) if k not in moved]
    if not names:
        return ()
    verb, pronoun = ("stands", "it") if len(names) == 1 else ("stand", "they")
    return (f"{', '.join(names)} {verb} still; {pronoun} would move '{frame}' too",)


def _pairs(moving: list[int]) -> list[tuple[int, int]]:
    """The first two of the moving joints, or the next two."""
    return [(moving[k], moving[k + 1]) for k in range(min(2, len(moving) - 1))]


def _plane(
    robot: Robot, frame: str, pair: tuple[int, int], place: Array
) -> tuple[Array, Array, float] | None:
    """Axes of the plane in which a pair of joints moves the frame, and its offset; None if there is none."""
    q = np.broadcast_to(place, (POSES, robot.n)).copy()
    q[:, pair] = samples(robot, 1)[:, pair]
    speeds = robot.jacob0(q, frame)[..., :3, :][..., pair]
    _, size, axes = np.linalg.svd(np.swapaxes(speeds, 1, 2).reshape(-1, 3))
    if size[2] > FLAT * size[0] or size[1] < 1e-6 * size[0]:
        return None
    if np.linalg.svd(speeds, compute_uv=False)[:, 1].max() < 1e-6 * size[0]:
        return None  # each pose has one direction only: the frame runs along a curve
    normal = axes[2]
    tool = robot.fkine(place, frame)[:3, 3]
    if abs(normal[2]) > 1.0 - 1e-9:
        right, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    else:
        up = UP - normal[2] * normal
        up = up / np.linalg.norm(up)
        right = np.cross(up, normal)
        reach = float(tool @ right)
        right = right if reach > 0.0 or (reach == 0.0 and right.sum() > 0.0) else -right
    up, right = np.where(np.abs(up) < 1e-12, 0.0, up), np.where(np.abs(right) < 1e-12, 0.0, right)
    return right, up, float(tool @ np.cross(right, up))


def _sweeping(section: Section) -> tuple[int | None, int | None]:
    """The joint that turns the plane about the base's z axis, and one that lifts a level plane."""
    robot, normal = section.robot, np.cross(section.right, section.up)
    turn = slide = None
    q = samples(robot, 2)
    J = robot.jacob0(q, section.frame)
    p = robot.fkine(q, section.frame)[..., :3, 3]
    about_z = np.cross(UP, p)
    for k in moving_joints(robot, section.frame):
        if k in section.joints:
            continue
        v = J[..., :3, k]
        for sign in (1.0, -1.0):
            if abs(section.up[2]) > 1 - 1e-9 and np.abs(v - sign * about_z).max() < FLAT:
                turn = k if turn is None else turn
        level = section.view == "top"  # a plane that moves sideways makes a solid too, but none is followed
        if level and robot.joint_units[k] == "m" and np.abs(np.abs(v @ normal) - 1.0).max() < FLAT:
            slide = k if slide is None else slide
    return turn, slide


def _turned_about_an_axis(section: Section) -> Section:
    """The section with the first joint that turns it about a vertical axis beside the base's, coordinates from there.

    A joint with the velocities v = +-z x (p - c) turns the frame about c. The joints that stand still may move c.
    """
    if abs(section.up[2]) <= 1 - 1e-9:
        return section
    robot, spread = section.robot, samples(section.robot, 2)
    for k in moving_joints(robot, section.frame):
        moved = [*section.joints, k]
        q = np.broadcast_to(section.q, spread.shape).copy()
        q[:, moved] = spread[:, moved]
        v, p = robot.jacob0(q, section.frame)[..., :3, k], robot.fkine(q, section.frame)[..., :3, 3]
        for sign in (1.0, -1.0):
            centers = p[:, :2] + sign * np.stack([-v[:, 1], v[:, 0]], axis=1)
            center = centers.mean(axis=0)
            center = np.where(np.abs(center) < FLAT, 0.0, center)
            level = np.abs(v[:, 2]).max() < FLAT and robot.joint_units[k] == "rad"
            if k not in section.joints and level and np.abs(centers - center).max() < FLAT:
                return _centered(section, k, (float(center[0]), float(center[1])))
    return section


def _centered(section: Section, turn: int, center: tuple[float, float]) -> Section:
    """The section turned by a joint about a vertical axis, its first coordinate positive where the frame stands."""
    found = replace(section, turn=turn, center=center)
    tool = section.robot.fkine(section.q, section.frame)[:3, 3] - found.foot
    right = section.right if float(tool @ section.right) >= 0.0 else -section.right
    return replace(found, right=right, offset=float(tool @ np.cross(right, section.up)))
