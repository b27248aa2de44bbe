"""Play-back: the requests of an interpreter as tasks of the main controller, moves planned before they begin.

Moves that are blended into each other are planned together, up to the first that ends at rest. Whatever cannot
be planned becomes an alarm at its line. ``look_ahead`` plans between two periods what the next one may ask for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.exchange import (
    AlarmTask,
    EndTask,
    InputTask,
    Label,
    MotionTask,
    OutputTask,
    Task,
    WaitTask,
)
from servotwin.description.frames import Array
from servotwin.errors import ServotwinError
from servotwin.jobs import requests as r
from servotwin.jobs.edit import renamed_beside
from servotwin.jobs.interpreter import Interpreter
from servotwin.jobs.look_ahead import Answer, Course, ReadInputs, end_of, look_ahead
from servotwin.jobs.planning import joint_target, planner_request, target_problem
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import read_points, write_with_job
from servotwin.jobs.program import Program
from servotwin.jobs.resolve import Resolver
from servotwin.motion import requests as m
from servotwin.motion.errors import PathError
from servotwin.motion.limits import MotionLimits
from servotwin.motion.planner import plan
from servotwin.motion.trajectory import Trajectory
from servotwin.robot.robot import Robot

SUBSTEPS = 10  # axis controller periods in one of the main controller, where none are stated: 16 ms / 1.6 ms
MOST_BLENDED = 200  # moves in one plan: a loop of blends for ever comes to rest after so many


@dataclass(frozen=True)
class Planned:
    """A motion that was planned, for logs and reports: its moves, their requests, the trajectory."""

    moves: tuple[r.Motion, ...]
    requests: tuple[m.Request, ...]
    trajectory: Trajectory


class Player:
    """A program on a robot, ready to be played back; fulfils ``control.main.exchange.PlannedSource``.

    ``fit``: moves that ask too much of an axis are slowed down instead of refused; ``plans`` keeps what was
    planned of the tasks given since the start. ``period`` [s] of the main controller and ``substeps`` of the axis
    controllers in it are kept for reports of the plans.
    """

    def __init__(
        self,
        program: Program,
        robot: Robot,
        limits: MotionLimits,
        *,
        fit: bool = False,
        period: float = 0.016,
        substeps: int = SUBSTEPS,
    ) -> None:
        self.program, self.robot, self.limits = program, robot, limits
        self.fit, self.period, self.substeps = fit, period, substeps
        self.plans: list[Planned] = []
        self._here = self._beginning()

    def _beginning(self, outputs: Mapping[str, bool] | None = None) -> Answer:
        course = Course(Interpreter(self.program, self.robot, outputs))
        return Answer(np.zeros(self.robot.n), False, False, {}, course)

    def start(self, outputs: Mapping[str, bool] | None = None) -> None:
        """Go back to the first instruction; ``outputs`` are switched as they were left."""
        self._here = self._beginning(outputs)
        self.plans = []

    def next(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> Task:
        """The next task of an arm whose reference stands at q (n,), planned now if it is not planned yet."""
        here = self._here
        answer = here.next(q, inputs, single=single, timed_out=timed_out)
        return self._given(answer or self._answer(here.course, q, inputs, single, timed_out))

    # --- planning between periods -------------------------------------------------------------------
    def look_ahead(self, q: Array, inputs: Mapping[str, bool], *, single: bool, span: float) -> None:
        """Plan what may begin within ``span`` [s] after the present task; ``q`` (n,): the reference now."""
        here = self._here
        if here.looked is not single:
            look_ahead(here, end_of(here.task, q), inputs, self._answer, single=single, span=span)

    def prepared(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> Task | None:
        """The next task if it is planned; None: it will be with the next ``look_ahead``, while the arm stands."""
        here = self._here
        looked = here.looked is single  # before the answers are read: another thread may be adding them
        answer = here.next(q, inputs, single=single, timed_out=timed_out)
        if answer is not None:
            return self._given(answer)
        if looked:  # for other circumstances than these
            stands = Answer(q.copy(), single, timed_out, {}, here.course, here.task if timed_out else None)
            self._here = stands
        return None

    def _given(self, answer: Answer) -> Task:
        """Go on to an answer."""
        self._here = answer
        if answer.failure is not None:
            raise answer.failure
        if answer.planned is not None:
            self.plans.append(answer.planned)
        assert answer.task is not None
        return answer.task

    def _answer(
        self, course: Course, q: Array, inputs: Mapping[str, bool], single: bool, timed_out: bool
    ) -> Answer:
        """The next task of a course, its motion planned; whatever goes wrong is told when it is asked for."""
        seen, ahead = ReadInputs(inputs), course.fork()
        answer = Answer(q, single, timed_out, seen.read, ahead)
        try:
            answer.task, answer.planned = self._task(ahead, q, seen, single=single, timed_out=timed_out)
        except Exception as error:  # noqa: BLE001 - planned ahead, it must not stop what is under way
            answer.failure = error
        return answer

    def _task(
        self, course: Course, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool
    ) -> tuple[Task, Planned | None]:
        request = course.advance(inputs, timed_out=timed_out)
        label = label_of(request)
        match request:
            case r.Motion():
                return self._moves(course, request, q, inputs, single=single)
            case r.Wait():
                return WaitTask(request.seconds, label), None
            case r.SetOutput():
                return OutputTask(request.output, request.on, label), None
            case r.WaitInput():
                return InputTask(request.signal, request.on, request.timeout, label), None
            case r.ProgramAlarm():
                kind = AlarmKind.INPUT_TIMEOUT if timed_out else AlarmKind.PROGRAM_ERROR
                return AlarmTask(kind, f"{request.where}: {request.text}", label), None
            case r.End():
                return EndTask(label), None

    def _moves(
        self, course: Course, first: r.Motion, q: Array, inputs: Mapping[str, bool], *, single: bool
    ) -> tuple[Task, Planned | None]:
        """Plan a move, with those that it is blended into."""
        moves = [first]
        while moves[-1].blend > 0.0 and not single and len(moves) < MOST_BLENDED:
            request = course.advance(inputs)
            if not isinstance(request, r.Motion) or request.shaper != first.shaper:
                course.waiting = request
                break
            moves.append(request)
        at = first  # the move that is to blame if it cannot be done
        try:
            asked: list[m.Request] = []
            for move in moves:
                at = move
                stands = self._end(q, asked, move)
                asked.append(planner_request(move, self.robot, stands))
            trajectory = self._plan(q, asked)
        except PathError as error:
            blamed = moves[min(error.index, len(moves) - 1)]
            # a point that cannot be reached says more than the place where the path to it ends
            missed = (
                target_problem(blamed, self.robot, q) if error.what in ("workspace", "singularity") else None
            )
            return self._refusal(blamed, missed or _without_number(error)), None
        except (ServotwinError, ValueError, np.linalg.LinAlgError) as error:
            return self._refusal(at, str(error)), None
        planned = Planned(tuple(moves), tuple(asked), trajectory)
        return MotionTask(trajectory, tuple(label_of(move) for move in moves), first.shaper), planned

    def _plan(self, q: Array, asked: Sequence[m.Request]) -> Trajectory:
        return plan(self.robot, q, asked, self.limits, fit=self.fit)

    def _end(self, q: Array, asked: Sequence[m.Request], then: r.Motion) -> Array:
        """Where the arm stands after the moves before ``then``: only a MOVEJ to a pose asks for it."""
        if not asked or then.kind != "MOVEJ" or then.targets[0].q is not None:
            return q
        before = self._plan(q, asked)
        return np.asarray(before.sample(np.array([before.duration]))[0][0])

    def _refusal(self, move: r.Motion, text: str) -> AlarmTask:
        return AlarmTask(AlarmKind.PROGRAM_ERROR, f"{move.where}: {text}", label_of(move))


def _without_number(error: PathError) -> str:
    """The text of a planning error; the job's line says better which move it is."""
    return str(error).partition(", ")[2] or str(error)


def label_of(request: r.Request) -> Label:
    """Line and a short text of a request."""
    match request:
        case r.Motion():
            text = f"{request.kind} {' '.join(target.name for target in request.targets)}"
        case r.Wait():
            text = f"WAIT {request.seconds:g} s" if request.seconds else "CALL"
        case r.SetOutput():
            text = f"SET {request.output} {'ON' if request.on else 'OFF'}"
        case r.WaitInput():
            text = f"WAITFOR {request.signal} {'ON' if request.on else 'OFF'}"
        case r.ProgramAlarm():
            text = "ALARM"
        case r.End():
            text = "END"
    return Label(request.where.line, text, request.where.file)


class TaughtPoints:
    """Points that are recorded by the controller and written at once; fulfils ``control.exchange.PointStore``."""

    def __init__(
        self,
        points: Points,
        joints: Sequence[str],
        sliding: Sequence[bool],
        path: str | Path | None = None,
        *,
        stamped: bool = True,
    ) -> None:
        self.points, self.joints, self.sliding = points, tuple(joints), tuple(sliding)
        self.path, self.stamped = path, stamped

    def record(self, name: str, q: Array, *, replace_old: bool) -> None:
        """Keep joint positions under a name."""
        at = datetime.now().astimezone() if self.stamped else None
        self._keep(
            self._stored().record(name, self.joints, q, sliding=self.sliding, at=at, replace_old=replace_old)
        )

    def delete(self, name: str) -> None:
        """Forget a point."""
        self._keep(self._stored().without(name))

    def rename(self, old: str, new: str) -> None:
        """Call a point something else, in the job beside it too."""
        points = self._stored().renamed(old, new)
        self._keep(points, None if self.path is None else renamed_beside(self.path, old, new))

    def position(self, name: str, robot: Robot, q: Array) -> Array:
        """The joint positions (n,) of a point, those nearest to q (n,) if it is a pose."""
        taught = Resolver(self.points, robot).taught(name, None, None)
        return joint_target(r.Target(name, taught.X_base_tip, taught.q), robot, q)

    def _stored(self) -> Points:
        """The points as they stand in the file now: another program may have changed it."""
        if self.path is not None and Path(self.path).is_file():
            found = read_points(self.path)
            return found if found.robot else replace(found, robot=self.points.robot)
        return self.points

    def _keep(self, points: Points, job: tuple[Path, str] | None = None) -> None:
        """Write first: what cannot be written was not taught."""
        if self.path is not None:
            write_with_job(points, self.path, job)
        self.points = points
