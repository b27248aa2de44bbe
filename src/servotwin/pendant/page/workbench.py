"""Jobs as one writes them: checked as one types, laid out, previewed, saved; points as a page lists them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.display import of_unit
from servotwin.description.file_write import atomic_write_text
from servotwin.description.regular_file import JOB, is_there, read_text
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.check import check, sliding_of
from servotwin.jobs.language import format_job, parse
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import points_path, read_points
from servotwin.jobs.problems import JobError
from servotwin.jobs.program import Program
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.folder import inside, jobs_in
from servotwin.pendant.cell.setup import CellSettings
from servotwin.robot.robot import Robot

LONGEST_TEXT = 200_000  # characters of a job that a page edits
LONGEST_PREVIEW = 300.0  # s of a job
PATIENCE = 20.0  # s of planning
PAUSE = 0.5  # s: a longer pause between two looks at a plan is the compiler's, and counts as this
MOST_TRACE = 1500  # points of a drawn path
MOST_PROBLEMS = 50


class Workbench:
    """What a page does with jobs and points; ``robot`` as the controller knows it."""

    def __init__(self, settings: CellSettings, robot: Robot) -> None:
        self.settings, self.robot, self.folder = settings, robot, Path(settings.folder)
        self.ranges = {
            name: (float(low), float(high))
            for name, low, high in zip(robot.joint_names, robot.limits.q_min, robot.limits.q_max, strict=True)
        }

    # --- files ------------------------------------------------------------------------------------
    def jobs(self) -> list[str]:
        """Names of the jobs of the folder."""
        return jobs_in(self.folder)

    def read(self, name: object) -> str:
        """The text of a job; empty for one that is not there yet."""
        path = inside(self.folder, name)
        return read_text(path, JOB) if is_there(path) else ""

    def save(self, name: object, text: object) -> None:
        """Write a job, whole or not at all; one with mistakes is kept too, but does not run."""
        atomic_write_text(inside(self.folder, name), _text(text))

    def points(self, name: object) -> Points:
        """The points beside a job; none if the file is not there yet."""
        path = points_path(inside(self.folder, name))
        return read_points(path) if is_there(path) else Points(file=str(path), absent=True)

    def point_list(self, name: object) -> dict[str, Any]:
        """Points with their joints and poses, and the names of frames and tools."""
        from servotwin.jobs.player import TaughtPoints

        points, robot = self.points(name), self.robot
        store = TaughtPoints(points, robot.joint_names, sliding_of(robot.joint_units))
        listed = []
        for label, point in points.points.items():
            pose = None
            with suppress(ServotwinError, KeyError, ValueError):  # it may belong to another robot
                pose = [float(v) for v in robot.fkine(store.position(label, robot, robot.q_home))[:3].ravel()]
            joints = point.joints or {}
            shown = ", ".join(
                f"{of_unit('m' if axis in point.sliding else 'rad').text(value)}"
                for axis, value in joints.items()
            )
            listed.append({"name": label, "pose": pose, "text": shown or "pose", "note": point.note})
        return {"points": listed, "frames": list(points.frames), "tools": list(points.tools)}

    # --- language ---------------------------------------------------------------------------------
    def check(self, name: object, text: object) -> list[dict[str, Any]]:
        """Problems of a text: line, column, message, error or warning."""
        inside(self.folder, name)
        try:
            job = parse(_text(text), str(name))
        except JobError as error:
            return [_problem(error.line or 1, error.column or 1, error.message, error=True)]
        robot = self.robot
        found = check(
            job,
            self.points(name),
            robot.joint_names,
            sliding=sliding_of(robot.joint_units),
            ranges=self.ranges,
        )
        return [_problem(p.line, p.column, p.message, error=p.error) for p in found[:MOST_PROBLEMS]]

    def layout(self, text: object) -> str:
        """The text in the one layout; JobError if it cannot be read."""
        return format_job(parse(_text(text)))

    def preview(self, name: object, text: object, q: list[float]) -> dict[str, Any]:
        """The path of the tool, the duration, and which limits bound it, from where the arm stands."""
        from servotwin.simulation.job_run import rehearse
        from servotwin.simulation.scenario.job_settings import JobSettings

        inside(self.folder, name)
        robot = self.robot
        program = Program(parse(_text(text), str(name)), self.points(name))
        start = {axis: float(v) for axis, v in zip(robot.joint_names, q, strict=True)}
        settings = JobSettings(start=start, time_limit=LONGEST_PREVIEW)
        log, commands, player = rehearse(
            program,
            None,
            self.settings.robot,
            self.settings.overrides,
            settings=settings,
            look=_Patience().look,
        )
        step = max(1, len(commands.q) // MOST_TRACE)
        path = robot.fkine(commands.q[::step])[:, :3, 3]
        return {
            "finished": log.finished,
            "reason": log.reason,
            "alarms": list(log.alarms),
            "duration": log.cycle_time_s,
            "motions": len(player.plans),
            "trace": np.round(path, 5).ravel().tolist(),
            "q": np.round(commands.q[::step], 5).tolist(),
            "limits": self._limits(commands.qd, commands.qdd),
            "fastest": _fastest(path, commands.t[::step]),
        }

    def _limits(self, qd: Array, qdd: Array) -> list[dict[str, Any]]:
        """Largest shares of the limits of speed and acceleration, by axis."""
        limits, found = self.robot.limits, []
        for i, axis in enumerate(self.robot.joint_names):
            shares = [
                float(np.abs(values[:, i]).max(initial=0.0) / most)
                if np.isfinite(most) and most > 0.0
                else None
                for values, most in ((qd, limits.qd_max[i]), (qdd, limits.qdd_max[i]))
            ]
            found.append({"axis": axis, "speed": shares[0], "acceleration": shares[1]})
        return found


class _Patience:
    """Gives a preview up that plans for too long; what is compiled on the way, once, does not count."""

    def __init__(self) -> None:
        self.spent, self.last = 0.0, time.monotonic()

    def look(self, now: float, most: float) -> None:
        """``now``: time of the job [s]."""
        here = time.monotonic()
        self.spent, self.last = self.spent + min(here - self.last, PAUSE), here
        if self.spent > PATIENCE:
            raise InputError(f"the preview was given up at {now:.0f} s of the job; it takes too long")


def _fastest(path: Array, times: Array) -> float:
    """Largest speed of the tool along a path [m/s]."""
    if len(path) < 2:
        return 0.0
    span = np.maximum(np.diff(times), 1e-9)
    return float((np.linalg.norm(np.diff(path, axis=0), axis=1) / span).max())


def _text(text: object) -> str:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InputError(f"expected a text of at most {LONGEST_TEXT} characters", field="job")
    return text


def _problem(line: int, column: int, text: str, *, error: bool) -> dict[str, Any]:
    return {"line": line, "column": column, "text": text[:400], "error": error}
