"""Jobs as one writes them: checked as one types, laid out, previewed, saved; points as a page lists them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.display import of_unit
from servotwin.description.file_write import atomic_write_text
from servotwin.description.regular_file import JOB, is_there, read_text
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.check import sliding_of
from servotwin.jobs.flow import walk
from servotwin.jobs.language import format_job, parse
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import points_path, read_points
from servotwin.jobs.problems import JobError, Problem
from servotwin.jobs.program import SUFFIX, load_program, shown_file
from servotwin.jobs.syntax import CallFile, Job, Place, place_of
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.folder import inside, jobs_in, without_folder
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
        """The text of a job with the line ends of a page; empty for one that is not there yet."""
        path = inside(self.folder, name)
        text = read_text(path, JOB) if is_there(path) else ""
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def save(self, name: object, text: object, known: object = None) -> str:
        """Write a job, whole or not at all; one with mistakes is kept too, but does not run.

        ``known``: what the page has read or saved there. A file that somebody else has changed since is kept under the
        name that is returned.
        """
        path, written, kept = inside(self.folder, name), _text(text), ""
        before = self.read(name) if isinstance(known, str) else ""
        if before and before not in (known, written):
            kept = self._free_name(path.stem)
            atomic_write_text(self.folder / kept, before)
        atomic_write_text(path, written)
        return kept

    def _free_name(self, stem: str) -> str:
        """The name of a job that is not there yet."""
        names = (f"{stem[:40]}-before-{k}{SUFFIX}" for k in count(1))
        return next(name for name in names if not os.path.lexists(self.folder / name))

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
        path, robot = inside(self.folder, name), self.robot
        try:
            program = load_program(path, text=_text(text))
        except JobError as error:
            place = Place(error.line or 1, error.column or 1)
            return [self._problem(path, text, Problem(error.file or str(path), place, error.message))]
        found = program.check(robot.joint_names, None, sliding_of(robot.joint_units), ranges=self.ranges)[
            :MOST_PROBLEMS
        ]
        return [self._problem(path, text, problem) for problem in found]

    def _problem(self, path: Path, text: object, problem: Problem) -> dict[str, Any]:
        """A problem as the page shows it: one of a called file stands at the CALL that leads there."""
        place, message = problem.place, problem.message
        if problem.file not in (str(path), str(points_path(path))):
            message = f"{shown_file(problem.file, str(path))}:{place.line}: {message}"
            place = _call_of(parse(_text(text)), path.parent, problem.file)
        shown = without_folder(message, self.folder)[:400]
        return {"line": place.line, "column": place.column, "text": shown, "error": problem.error}

    def layout(self, text: object) -> str:
        """The text in the one layout; JobError if it cannot be read."""
        return format_job(parse(_text(text)))

    def preview(self, name: object, text: object, q: list[float]) -> dict[str, Any]:
        """The path of the tool, the duration, and which limits bound it, from where the arm stands."""
        from servotwin.simulation.job_run import rehearse
        from servotwin.simulation.scenario.job_settings import JobSettings

        robot = self.robot
        program = load_program(inside(self.folder, name), text=_text(text))
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
            "reason": without_folder(log.reason, self.folder),
            "alarms": [without_folder(alarm, self.folder) for alarm in log.alarms],
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


def _call_of(job: Job, folder: Path, file: str) -> Place:
    """The first CALL of a file in a job; of a file that called ones call, the first CALL of any."""
    calls = [statement for statement in walk(job.body) if isinstance(statement, CallFile)]
    own = [call for call in calls if os.path.realpath(folder / call.path) == os.path.realpath(file)]
    return next((place_of(call.path, call.place) for call in own or calls), Place(1, 1))
