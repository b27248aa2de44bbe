"""The latest state of the cell as text: what pages show. Made by the cell, handed on by the server as it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from servotwin.control.main.alarms import Alarm, AlarmKind
from servotwin.control.main.states import MAY_MOVE, POWERED, State
from servotwin.errors import KinematicsError
from servotwin.jobs.points import Pose
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.panel import Panel
from servotwin.robot.robot import Robot
from servotwin.scene.describe import body_poses_flat

HELP = {
    AlarmKind.FOLLOWING_ERROR: "Something holds the axis, or it is asked for more than its drive can. Free it, lower "
    "the override, then reset and switch the power on.",
    AlarmKind.POSITION_LIMIT: "Reset, switch the power on, and jog the axis back into its range.",
    AlarmKind.SPEED: "The axis moves without being told to. Wait until it stands, then reset.",
    AlarmKind.OVERLOAD: "A drive has switched itself off. Let the motor cool or clear the cause, then reset.",
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


def alarm_data(alarm: Alarm) -> dict[str, Any]:
    """An alarm with what helps."""
    return {"kind": alarm.kind.value, "text": alarm.text[:300], "help": HELP[alarm.kind], "line": alarm.line}


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
        "why": panel.lease.word or panel.refused,
        "hint": STATE_HELP.get(state, ""),
        "q": _short(q, 6),
        "ref": _short(command.q, 6),
        "tool": [
            *_short(np.array([pose.x, pose.y, pose.z]), 6),
            *_short(np.array([pose.roll, pose.pitch, pose.yaw]), 6),
        ],
        "poses": _short(body_poses_flat(robot, q), 5),
        "speed": round(panel.fastest.speed(command.q, command.qd), 4),
        "override": controller.override,
        "alarms": [alarm_data(alarm) for alarm in controller.alarms[-8:]],
        "job": panel.job,
        "file": command.file[-200:],
        "line": command.line,
        "instruction": command.instruction,
        "finished": controller.finished,
        "in": [bool(live.inputs.get(f"IN{i}", False)) for i in range(1, 17)],
        "out": [bool(controller.outputs.get(f"OUT{i}", False)) for i in range(1, 17)],
        **extra,
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
