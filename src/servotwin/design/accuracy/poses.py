"""Where accuracy is measured: poses in the diagonal plane of a cube, random ones within it, or those of a file.

After ISO 9283: P1 in the middle of a cube, P2 to P5 on the diagonals of its diagonal plane, a tenth of a diagonal from
its ends. The joints reach all poses on one branch, that of the least travel over a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from servotwin.description.display import MM
from servotwin.description.frames import rot_z
from servotwin.description.schema import RobotDescription
from servotwin.design.workspace.inscribed import Cube
from servotwin.errors import InputError, KinematicsError, UnreachableError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

MARGIN = 0.1  # of a diagonal, between its end and a pose
PLANES = {  # corners of the diagonal planes, in the order of P2 to P5
    1: ((1, 1, 1), (1, -1, 1), (-1, -1, -1), (-1, 1, -1)),
    2: ((1, 1, -1), (1, -1, -1), (-1, -1, 1), (-1, 1, 1)),
    3: ((1, 1, 1), (-1, 1, 1), (-1, -1, -1), (1, -1, -1)),
    4: ((1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1)),
}
SMALLEST = 0.02  # m: edge below which no cube is looked for
SHRUNK = 0.9  # of the edge, where the orientation does not let the tool reach a corner


@dataclass(frozen=True)
class MeasuredPoses:
    """Poses (m, 4, 4) of the tool with their names, the joints (m, n) that reach them, and the cube, if there is one.

    ``notes``: what was changed to find them; ``turned``: the orientation is that of home turned about z of the base
    with the azimuth of the point, as an arm of five joints carries its tool.
    """

    names: tuple[str, ...]
    poses: Array
    joints: Array
    cube: Cube | None = None
    notes: tuple[str, ...] = ()
    turned: bool = False


def cube_points(cube: Cube, plane: int = 1, margin: float = MARGIN) -> Array:
    """P1 to P5 (5, 3) of a cube; ``margin``: distance from the corners as a part of the diagonal."""
    if plane not in PLANES:
        raise InputError(f"{plane}; expected one of the diagonal planes 1 to 4", field="plane")
    if not 0.0 <= margin < 0.5:
        raise InputError(f"{margin:g}; expected 0 to less than 0.5 of the diagonal", field="margin")
    corners = 0.5 * cube.edge * np.array(PLANES[plane], dtype=np.float64)
    return np.asarray(
        np.concatenate([cube.center[None], cube.center + (1.0 - 2.0 * margin) * corners]), dtype=np.float64
    )


def random_points(cube: Cube, count: int, seed: int) -> Array:
    """Points (count, 3), drawn evenly within a cube."""
    rng = np.random.default_rng(seed)
    return np.asarray(cube.center + cube.edge * rng.uniform(-0.5, 0.5, (count, 3)))


def find_cube(
    description: RobotDescription, cube: Sequence[float] | None, show: Callable[[str, float], None]
) -> Cube:
    """The largest cube that the tool reaches, or the given one (x, y, z of its centre and its edge [m]), checked."""
    from servotwin.design.workspace.workspace import workspace

    if cube is not None and not (len(cube) == 4 and all(map(math.isfinite, cube)) and cube[3] > 0.0):
        raise InputError("expected x, y, z of its centre and an edge above 0 m", field="cube")
    reach = workspace(description, progress=show)
    if cube is not None:
        with suppress(UnsupportedError):  # without a solid the poses themselves are asked for
            reach.require_cube(cube[:3], cube[3])
        return Cube(np.array(cube[:3], dtype=np.float64), float(cube[3]))
    found = reach.cube
    if found is None or found.edge < SMALLEST:
        raise InputError(
            f"no cube of {MM * SMALLEST:g} mm was found in the reach of {description.name}; expected a given cube, "
            "or poses of a file",
            field="cube",
        )
    return found


def cube_poses(robot: Robot, cube: Cube, *, plane: int = 1, given: bool = False) -> MeasuredPoses:
    """The five poses of a cube with the orientation of the home pose, and the joints that reach them.

    A cube that was not ``given`` is made smaller about its middle until all five are reached with that orientation.
    Where that does not help, the orientation turns about z of the base with the azimuth of the points.
    """
    try:
        return _shrunk(robot, cube, plane, given, turned=False)
    except InputError:
        with suppress(InputError):
            return _shrunk(robot, cube, plane, given, turned=True)
        raise


def _shrunk(robot: Robot, cube: Cube, plane: int, given: bool, turned: bool) -> MeasuredPoses:
    edge, names = cube.edge, tuple(f"P{k}" for k in range(1, 6))
    branch(robot, oriented(robot, cube.center[None], turned), names[:1])  # no smaller cube has another middle
    while True:
        tried = Cube(cube.center, edge)
        poses = oriented(robot, cube_points(tried, plane), turned)
        try:
            joints = branch(robot, poses, names)
        except InputError:
            edge *= SHRUNK
            if given or edge < SMALLEST:
                raise
            continue
        kept = "turns with the arm" if turned else "keeps the orientation of home"
        smaller = f"the cube was made smaller, {MM * edge:.1f} mm: the tool {kept}"
        notes = (*_turn_notes(turned), *(() if edge == cube.edge else (smaller,)))
        return MeasuredPoses(names, poses, joints, tried, notes, turned)


def random_poses(robot: Robot, cube: Cube, count: int, seed: int) -> MeasuredPoses:
    """Random poses within a cube, with the orientation of the home pose; turned as of cube_poses where that fails."""
    if not 2 <= count <= 1000:
        raise InputError(f"{count}; expected 2 to 1000 poses", field="random")
    points = random_points(cube, count, seed)
    names = tuple(f"R{k}" for k in range(1, count + 1))

    def drawn(turned: bool) -> MeasuredPoses:
        poses = oriented(robot, points, turned)
        return MeasuredPoses(names, poses, branch(robot, poses, names), cube, _turn_notes(turned), turned)

    try:
        return drawn(turned=False)
    except InputError:
        with suppress(InputError):
            return drawn(turned=True)
        raise


def _turn_notes(turned: bool) -> tuple[str, ...]:
    if not turned:
        return ()
    return (
        "the arm does not reach the poses with the orientation of home: the tool turns about z of the base with them",
    )


def given_poses(robot: Robot, poses: Array, names: Sequence[str] = ()) -> MeasuredPoses:
    """Poses (m, 4, 4) that a user gives, and the joints that reach them."""
    if len(poses) < 2:
        raise InputError(f"{len(poses)} pose; expected at least 2", field="poses")
    called = tuple(names) or tuple(f"P{k}" for k in range(1, len(poses) + 1))
    return MeasuredPoses(called, poses, branch(robot, poses, called))


def oriented(robot: Robot, points: Array, turned: bool) -> Array:
    """Poses (m, 4, 4) at points (m, 3) with the orientation of home, or with it turned about z by their azimuth."""
    home = robot.fkine(robot.q_home)
    poses = np.tile(home, (len(points), 1, 1))
    poses[:, :3, 3] = points
    if turned:
        azimuth = np.arctan2(points[:, 1], points[:, 0]) - math.atan2(home[1, 3], home[0, 3])
        poses[:, :3, :3] = np.array([rot_z(float(angle)) for angle in azimuth]) @ home[:3, :3]
    return poses


def branch(robot: Robot, poses: Array, names: Sequence[str]) -> Array:
    """Joints (m, n) that reach the poses, each nearest to the one before, on the branch of the least travel."""
    try:
        starts = _starts(robot, poses[0])
    except UnreachableError as error:
        raise _unreachable(names[0], poses[0], error) from None
    best, least, problem = None, math.inf, None
    for start in starts:
        q = [start]
        try:
            for name, pose in zip(names[1:], poses[1:], strict=True):
                q.append(reach_from(robot, pose, q[-1], name))
        except InputError as error:
            problem = error
            continue
        joints = np.array(q)
        travel = float(np.abs(np.diff(joints, axis=0, append=joints[:1])).sum())
        home = float(np.abs(joints[0] - robot.q_home).sum())
        if travel + 1e-6 * home < least:  # of mirrored branches the one nearer to home
            best, least = joints, travel + 1e-6 * home
    if best is None:
        raise problem or InputError("no pose is reached")
    return best


def _starts(robot: Robot, pose: Array) -> Array:
    """Joints (k, n) of the branches of a pose; the one nearest to home where infinitely many positions reach it."""
    try:
        return robot.ikine_all(pose)
    except UnsupportedError:
        return robot.ikine(pose)[np.newaxis]


def reach_from(robot: Robot, pose: Array, q: Array, name: str) -> Array:
    """Joints (n,) of a pose (4, 4) nearest to q (n,); InputError with the name of the pose where there are none."""
    try:
        return robot.ikine(pose, q0=q)
    except (UnreachableError, KinematicsError) as error:
        raise _unreachable(name, pose, error) from None


def _unreachable(name: str, pose: Array, error: Exception) -> InputError:
    place = ", ".join(f"{MM * v:.1f}" for v in pose[:3, 3])
    return InputError(f"pose {name} at ({place}) mm is out of reach: {error}", field="poses")


def read_poses(path: str | Path, orientation: Array | None = None) -> tuple[tuple[str, ...], Array]:
    """Names and poses (m, 4, 4) of a CSV file with the columns x, y, z (_m or _mm) and roll, pitch, yaw (_deg or _rad).

    The angles are about the fixed axes x, y, z of the base in this order; without them the orientation is the given
    one (3, 3), or that of the base. A column ``name`` is optional.
    """
    from servotwin.design.accuracy.pose_table import parse_poses

    return parse_poses(path, orientation)
