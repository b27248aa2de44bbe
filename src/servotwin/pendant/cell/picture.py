"""The latest state of the cell as text: what pages show. Made by the cell, handed on by the server as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.main.alarms import Alarm, AlarmKind
from servotwin.control.main.states import MAY_MOVE, POWERED, State
from servotwin.errors import KinematicsError
from servotwin.jobs.points import Pose
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.folder import without_folder
from servotwin.pendant.cell.panel import Panel
from servotwin.robot.robot import Robot
from servotwin.scene.describe import body_poses_flat

HELP = {
    AlarmKind.FOLLOWING_ERROR: "Something holds the axis, or it is asked for more than its drive can. Free it, lower "
    "the override, then reset and switch the power on.",
    AlarmKind.POSITION_LIMIT: "Reset, switch the power on, and jog the axis back into its range.",
    AlarmKind.SPEED: "An axis moves without being told to, or a point moves faster than T1 allows. Wait until"
    " it stands, then reset.",
    AlarmKind.OVERLOAD: "A drive has switched itself off. Let the motor cool or clear the cause, then reset.",
    AlarmKind.DRIVE: "A drive reports a fault of its own and has switched itself off. Clear its cause, then reset.",
    AlarmKind.BUS: "The bus does not carry what is sent, or a slave has left it. Check the line, then reset.",
    AlarmKind.FEEDBACK: "Measured positions are missing. Check the encoders, then reset.",
    AlarmKind.PROGRAM_ERROR: "The job cannot go on at its line: mend the line or the point, then reset.",
    AlarmKind.INPUT_TIMEOUT: "An input did not come in time: switch it, or change the TIMEOUT, then reset.",
    AlarmKind.REFERENCE: "The motion would leave a limit. Reset, then jog another way or lower the override.",
}
NEAR = 0.02  # of a joint's range: a warning
SINGULAR = 0.03  # smallest singular value of the Jacobian: a warning
STATE_HELP = {
    State.DISABLED: "Press Power on.",
    State.EMERGENCY: "Emergency stop: press Reset, then Power on.",
    State.FAULT: "An alarm took the power: clear its cause, press Reset, then Power on.",
    State.ALARM: "Press Reset.",
}


def _short(values: Array, digits: int = 5) -> list[float]:
    return [round(float(v), digits) + 0.0 for v in values]


def alarm_data(alarm: Alarm, text: str) -> dict[str, Any]:
    """An alarm with what helps; ``text`` as pages show it."""
    return {"kind": alarm.kind.value, "text": text[:300], "help": HELP[alarm.kind], "line": alarm.line}


def _names_only(panel: Panel) -> Callable[[str], str]:
    """What makes names of the paths in a text: jobs and points lie in one folder, that of the taught points."""
    place = getattr(panel.controller.points, "path", None)
    folder = None if place is None else Path(place).parent
    return lambda text: text if folder is None or os.sep not in text else without_folder(text, folder)


def warnings_of(robot: Robot, q: Array) -> list[str]:
    """What an operator should know of a pose: limits and singular positions that are near."""
    found = []
    low, high = robot.limits.q_min, robot.limits.q_max
    for i, name in enumerate(robot.joint_names):
        span = high[i] - low[i]
        if np.isfinite(span) and min(q[i] - low[i], high[i] - q[i]) < NEAR * span:
            found.append(f"axis {name} is near the end of its range")
    rows = 6 if robot.n >= 6 else 3
    try:
        values = np.linalg.svd(robot.jacob0(q)[:rows], compute_uv=False)
        if values[min(rows, robot.n) - 1] < SINGULAR:
            found.append("near a singular position: the tool follows no line here")
    except (KinematicsError, np.linalg.LinAlgError):
        pass
    return found


def picture(panel: Panel, number: int, now_ns: int, extra: dict[str, Any]) -> bytes:
    """The state now, as JSON; ``number`` counts pictures, ``now_ns`` is of the monotonic clock."""
    live, controller, command = panel.live, panel.controller, panel.live.command
    q, robot = live.q, live.robot
    X = robot.fkine(q)
    pose = Pose.of(X)
    state = controller.state
    named = _names_only(panel)
    data: dict[str, Any] = {
        "n": number,
        "at": now_ns,
        "t": round(live.now_ns * 1e-9, 4),
        "state": state.value,
        "moving": state in MAY_MOVE,
        "powered": state in POWERED,
        "mode": panel.mode.value,
        "menu": panel.menu,
        "switch": panel.lease.state.switch,
        "held": panel.lease.held,
        "why": named(panel.lease.word or panel.refused),
        "hint": STATE_HELP.get(state, ""),
        "q": _short(q, 6),
        "ref": _short(command.q, 6),
        "tool": [
            *_short(np.array([pose.x, pose.y, pose.z]), 6),
            *_short(np.array([pose.roll, pose.pitch, pose.yaw]), 6),
        ],
        "poses": _short(body_poses_flat(robot, q), 5),
        "speed": round(panel.speed, 4),
        "override": controller.override,
        "alarms": [alarm_data(alarm, named(alarm.text)) for alarm in controller.alarms[-8:]],
        "job": panel.job,
        "file": named(command.file)[-200:],
        "line": command.line,
        "instruction": command.instruction,
        "finished": controller.finished,
        "in": [bool(live.inputs.get(f"IN{i}", False)) for i in range(1, 17)],
        "out": [bool(controller.outputs.get(f"OUT{i}", False)) for i in range(1, 17)],
        **extra,
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
