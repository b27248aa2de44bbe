"""A job ready to run: the file, its points, and the files it calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from servotwin.description.nodes import one_line, quoted
from servotwin.description.reach import Reach, outside
from servotwin.description.regular_file import JOB, is_there, read_text
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.jobs.check import MAX_CALLS, Signals, check
from servotwin.jobs.flow import walk
from servotwin.jobs.language import read_job
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import points_path, read_points, robot_path, robot_within
from servotwin.jobs.problems import JobError, Problem
from servotwin.jobs.syntax import CallFile, Job, Place, place_of

SHIPPED = Path(__file__).with_name("examples")
SUFFIX = ".job"


@dataclass(frozen=True)
class Program:
    """A job with its points; ``called`` holds the programs of CALL "file.job" by the text in quotes."""

    job: Job
    points: Points
    called: Mapping[str, Program] = field(default_factory=dict)
    reach: Reach = field(default=Reach(None), compare=False)  # how far the files may reach

    @property
    def robot(self) -> str:
        """Name or path of the robot that the points were taught with, empty if the file does not say.

        A path out of the reach of the job is an InputError.
        """
        return robot_within(self.points, self.reach)

    def check(
        self,
        joints: Sequence[str] | None = None,
        signals: Signals | None = None,
        sliding: Sequence[bool] | None = None,
        *,
        robot: Sequence[str] = (),
    ) -> list[Problem]:
        """The problems of this job and of the files it calls; ``robot``: names of the robot that is to run it."""
        found = check(self.job, self.points, joints, signals, sliding=sliding)
        taught = robot_path(self.points)
        if taught and robot and not any(_same(taught, name) for name in robot):
            text = f"the points were taught with {quoted(self.points.robot)}; this is {quoted(robot[-1])}"
            found.append(Problem(self.points.file or self.job.file, Place(1, 1), text, error=False))
        for program in self.called.values():
            found += [p for p in program.check(joints, signals, sliding, robot=robot) if p not in found]
        return found


def load_program(name_or_path: str | os.PathLike[str], *, allow_outside: bool = False) -> Program:
    """The program of a job file, or of a job that ships with the package.

    The points stand next to the job (``pick.job``, ``pick.points.yaml``); a job
    without moves needs none. What the files name lies below the folder of the job unless ``allow_outside``.
    """
    path = locate(name_or_path)
    with outside(allow_outside):
        return _load(path, (), Reach.of(path))


def job_names() -> list[str]:
    """The names of the jobs that ship with the package."""
    return sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}"))


def locate(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a job name or path."""
    text = os.fspath(name_or_path)
    if text.lower().endswith(SUFFIX):
        return Path(text)
    names = job_names()
    if text in names:
        return SHIPPED / f"{text}{SUFFIX}"
    listed = f"{', '.join(names)}{did_you_mean(text, names)}"
    raise InputError(f"no job {quoted(text)}; expected a {SUFFIX} file or one of {listed}")


def _load(path: Path, above: tuple[Path, ...], reach: Reach) -> Program:
    job = read_job(path)
    called: dict[str, Program] = {}
    here = _real(path)
    for statement in walk(job.body):
        if not isinstance(statement, CallFile) or statement.path in called:
            continue
        target = path.parent / statement.path
        at = place_of(statement.path, statement.place)
        if _real(target) in (*above, here):
            raise JobError(f"{quoted(statement.path)} calls this file again", file=str(path), place=at)
        if len(above) >= MAX_CALLS:
            message = f"files within files more than {MAX_CALLS} deep; expected fewer"
            raise JobError(message, file=str(path), place=at)
        problem = reach.problem(target, statement.path)
        if problem is not None:
            raise JobError(problem, file=str(path), place=at)
        if not is_there(target):
            message = f"no such file {quoted(statement.path)}; expected a job file beside this one"
            raise JobError(message, file=str(path), place=at)
        called[statement.path] = _load(target, (*above, here), reach)
    return Program(job, _points(path, reach), called, reach)


def sources_of(program: Program) -> dict[str, str]:
    """The texts of a job and of the files it calls, by file; the job itself is ''."""
    found = {"": _text(program.job.file)}
    for called in _called(program):
        found[called.job.file] = _text(called.job.file)
    return found


def _called(program: Program) -> list[Program]:
    direct = list(program.called.values())
    return direct + [inner for called in direct for inner in _called(called)]


def _text(file: str) -> str:
    return read_text(file, JOB) if file and is_there(file) else ""


def _points(path: Path, reach: Reach) -> Points:
    taught = points_path(path)
    if not is_there(taught):
        return Points(file=str(taught), absent=True)
    problem = reach.problem(taught, taught.name)  # it may be a link
    if problem is not None:
        raise InputError(problem, file=str(path))
    return read_points(taught)


def _same(robot: str, other: str) -> bool:
    """True for one name, or two paths of one file."""
    return robot == other or (os.sep in robot + other and _real(Path(robot)) == _real(Path(other)))


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {one_line(error, 120)}", file=one_line(path, 200)) from None
