"""``servotwin fkine`` and ``servotwin ikine``."""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.cli.arguments import load, outside_limits, read_positions, read_quantities
from servotwin.cli.output import (
    fixed,
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.description.display import DEG, MM
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.report.labels import joint_units
from servotwin.robot.robot import Robot


def fkine(
    name: str,
    q_text: str,
    frame: str | None,
    all_frames: bool,
    overrides: Sequence[str] | None,
    *,
    json: bool,
) -> None:
    """Print the pose of the tool, of one frame or of all frames."""
    if frame is not None and all_frames:
        raise InputError("--frame and --all exclude each other; give one of them", field="--frame")
    robot = load(name, overrides)
    q = read_positions("--q", q_text, robot)
    with working("computing"):
        from servotwin.workbench.poses import fkine as run

        found = run(robot, q, frame=frame, every=all_frames)
    if json:
        data = found.data()
        frames = data.pop("frames")
        print_json({**data, "frames": frames} if all_frames else {**data, "frame": frames[0]})
        return
    if all_frames:
        rows = [(name, *_pose_cells(T)) for name, T in found.frames.items()]
        print_table(("frame", *_POSE_COLUMNS), rows)
    else:
        for frame_name, T in found.frames.items():
            _print_pose(robot, frame_name, T)
    if found.outside_limits:
        print_note(f"note: outside the limits: {', '.join(found.outside_limits)}")


_POSE_COLUMNS = ("x [mm]", "y [mm]", "z [mm]", "roll [deg]", "pitch [deg]", "yaw [deg]")


def _pose_cells(T: Array) -> list[str]:
    angles = [DEG * angle for angle in roll_pitch_yaw(T[:3, :3])]
    return [fixed(MM * x, 3) for x in T[:3, 3]] + [fixed(angle, 4) for angle in angles]


def _print_pose(robot: Robot, frame: str, T: Array) -> None:
    print_line(f"{robot.name}: {frame} in the base")
    print_table(_POSE_COLUMNS, [_pose_cells(T)], text_columns=0)
    print_heading("Pose matrix (lengths in m)")
    print_line("\n".join("  ".join(f"{fixed(x, 9):>13}" for x in row) for row in T))


def ikine(
    name: str,
    xyz: str,
    rpy: str | None,
    frame: str | None,
    near: str | None,
    overrides: Sequence[str] | None,
    *,
    every: bool,
    ignore_limits: bool,
    json: bool,
) -> None:
    """Print one or all joint positions that reach a pose."""
    if every and near is not None:
        raise InputError("--near and --all exclude each other; give one of them", field="--near")
    robot = load(name, overrides)
    p = read_quantities("--xyz", xyz, ("x", "y", "z"), ("m",) * 3)
    angles = None if rpy is None else read_quantities("--rpy", rpy, ("roll", "pitch", "yaw"), ("rad",) * 3)
    q0 = None if near is None else read_positions("--near", near, robot)
    with working("solving"):
        from servotwin.workbench.poses import ikine as run

        found = run(robot, p, angles, frame=frame, near=q0, every=every, ignore_limits=ignore_limits)
    if json:
        print_json(found.data())
        return
    _print_solutions(robot, found.q)


def _print_solutions(robot: Robot, found: Array) -> None:
    units = [joint_units(unit) for unit in robot.joint_units]
    columns = [f"{name} [{unit.shown}]" for name, unit in zip(robot.joint_names, units, strict=True)]
    rows = []
    for i, q in enumerate(found):
        cells = [fixed(unit.factor * value, 4) for unit, value in zip(units, q, strict=True)]
        beyond = outside_limits(robot, q)
        rows.append((str(i + 1), *cells, f"outside the limits: {', '.join(beyond)}" if beyond else ""))
    remark = ["remark"] if any(row[-1] for row in rows) else []
    print_table(("", *columns, *remark), [row if remark else row[:-1] for row in rows])
