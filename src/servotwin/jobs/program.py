"""A job ready to run: the file, its points, and the files it calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from servotwin.description.nodes import one_line, quoted
from servotwin.description.reach import Reach, outside
from servotwin.description.regular_file import JOB, is_there, read_text
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.jobs.check import MAX_CALLS, Signals, check
from servotwin.jobs.flow import walk
from servotwin.jobs.language import parse, read_job
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import points_path, read_points, robot_path, robot_within
from servotwin.jobs.problems import JobError, Problem
from servotwin.jobs.syntax import CallFile, Job, Place, place_of

SHIPPED = Path(__file__).with_name("examples")
SUFFIX = ".job"
MAX_LINES = 200_000  # of a job and the files it calls; the largest jobs have a few thousand


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
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> list[Problem]:
        """The problems of this job and of the files it calls; ``robot``: names of the robot that is to run it.

        ``ranges``: lowest and highest position [rad, m] of its axes, by their names.
        """
        found: list[Problem] = []
        for program in self.all:
            found += check(program.job, program.points, joints, signals, sliding=sliding, ranges=ranges)
            taught, points = robot_path(program.points), program.points
            if taught and robot and not any(_same(taught, name) for name in robot):
                text = f"the points were taught with {quoted(points.robot)}; this is {quoted(robot[-1])}"
                found.append(Problem(points.file or program.job.file, Place(1, 1), text, error=False))
        return list(dict.fromkeys(found))

    @property
    def all(self) -> list[Program]:
        """This program and those that it calls, each once, the caller first."""
        found: dict[int, Program] = {}
        waiting = [self]
        while waiting:
            program = waiting.pop()
            if id(program) not in found:
                found[id(program)] = program
                waiting += reversed(list(program.called.values()))
        return list(found.values())


def load_program(
    name_or_path: str | os.PathLike[str], *, allow_outside: bool = False, text: str | None = None
) -> Program:
    """The program of a job file, or of a job that ships with the package.

    The points stand next to the job (``pick.job``, ``pick.points.yaml``); a job
    without moves needs none. What the files name lies below the folder of the job unless ``allow_outside``.
    ``text`` stands for what the file itself says, which need not be there yet.
    """
    path = locate(name_or_path)
    with outside(allow_outside):
        return _Loader(Reach.of(path), {} if text is None else {_real(path): parse(text, str(path))}).load(
            path
        )


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


class _Loader:
    """Reads the files of a job, each once, however its path is spelled.

    A file is its name in a folder: one that is reached by a link has the points and the called files beside the
    link, so links of one file are programs of their own, which share its text.
    """

    def __init__(self, reach: Reach, jobs: dict[Path, Job]) -> None:
        self.reach = reach
        self.jobs = jobs  # by the file itself
        self.programs: dict[Path, Program] = {}  # by its name in its folder
        self.heights: dict[Path, int] = {}  # files within files, itself included
        self.lines = 0

    def load(self, path: Path, above: tuple[Path, ...] = ()) -> Program:
        """The program of a file; ``above``: the files that are being loaded because they lead here."""
        place, here = _real(path.parent) / path.name, _real(path)
        if place in self.programs:
            return self.programs[place]
        job = self._job(path, here)
        called: dict[str, Program] = {}
        height = 1
        for statement in walk(job.body):
            self._count(path)
            if isinstance(statement, CallFile) and statement.path not in called:
                target = path.parent / statement.path
                called[statement.path] = self._called(path, target, statement, (*above, here))
                height = max(height, 1 + self.heights[_real(target.parent) / target.name])
        self.heights[place] = height
        self.programs[place] = Program(job, _points(path, self.reach), called, self.reach)
        return self.programs[place]

    def _called(self, path: Path, target: Path, statement: CallFile, above: tuple[Path, ...]) -> Program:
        at = place_of(statement.path, statement.place)
        if _real(target) in above:
            raise JobError(f"{quoted(statement.path)} calls this file again", file=str(path), place=at)
        height = self.heights.get(_real(target.parent) / target.name, 1)
        if len(above) - 1 + height > MAX_CALLS:
            message = f"files within files more than {MAX_CALLS} deep; expected fewer"
            raise JobError(message, file=str(path), place=at)
        problem = self.reach.problem(target, statement.path)
        if problem is not None:
            raise JobError(problem, file=str(path), place=at)
        if not is_there(target):
            message = f"no such file {quoted(statement.path)}; expected a job file beside this one"
            raise JobError(message, file=str(path), place=at)
        return self.load(target, above)

    def _job(self, path: Path, here: Path) -> Job:
        if here not in self.jobs:
            self.jobs[here] = read_job(path)
        return replace(self.jobs[here], file=str(path))

    def _count(self, path: Path) -> None:
        self.lines += 1
        if self.lines > MAX_LINES:
            message = f"more than {MAX_LINES} lines in this job and the files it calls; expected fewer"
            raise InputError(message, file=one_line(path, 200))


def sources_of(program: Program) -> dict[str, str]:
    """The texts of a job and of the files it calls, by file; the job itself is ''."""
    first, *called = program.all
    return {"": _text(first.job.file), **{other.job.file: _text(other.job.file) for other in called}}


def shown_file(file: str, main: str) -> str:
    """A file that the job ``main`` calls as it names it: relative to its folder; files of one name may lie in two.

    >>> shown_file("cell/left/drop.job", "cell/main.job"), shown_file("cell/drop.job", "")
    ('left/drop.job', 'cell/drop.job')
    """
    folder = Path(main).parent
    return str(Path(file).relative_to(folder)) if main and Path(file).is_relative_to(folder) else file


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
