"""The main controller: what an operator presses, what the arm does, one period at a time.

One object without thread and clock: simulation, real time and a pendant call ``step`` every main period,
``press`` and ``plan_ahead`` in between. All states and transitions stand in ``states.TRANSITIONS``. Handbook:
docs/controller.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from servotwin.control.main.alarms import REACTION, Alarm, AlarmKind, Watch, shown_apart, watch_of
from servotwin.control.main.exchange import (
    Command,
    Entry,
    Feedback,
    PointStore,
    ProgramSource,
    Reply,
    Settings,
    Stretch,
)
from servotwin.control.main.jogging import Jog
from servotwin.control.main.last_measurement import Measured
from servotwin.control.main.playback import Outcome, Playback
from servotwin.control.main.pulses import Pulses
from servotwin.control.main.quick_watch import QuickWatch
from servotwin.control.main.reference import Reference
from servotwin.control.main.states import (
    INTERNAL,
    MAY_MOVE,
    POWERED,
    TRANSITIONS,
    Event,
    Mode,
    State,
    refusal,
)
from servotwin.control.main.time_scaling import FIRM, GENTLE, HARD, Motion
from servotwin.description.frames import Array
from servotwin.errors import InputError, ServotwinError
from servotwin.motion.limits import MotionLimits
from servotwin.motion.requests import MoveJ, Speed
from servotwin.robot.robot import Robot

MOST_ALARMS = 100
NANO = 1e-9


class MainController:
    """Modes teach, program and play back over one table of states.

    ``limits`` of the robot's motion; ``period_ns`` between two calls of ``step``; ``watch``: what measured
    positions are held against; ``pulses``: the encoders, without which commands have no counts. ``points`` keeps
    what is taught. ``finished``: the job that was run last came to its end.

    ``plans_ahead`` is for who has deadlines: ``step`` plans nothing of a job, ``plan_ahead`` does it before every
    period, and an arm whose next motion is not planned yet stands. Otherwise ``step`` plans what it needs.
    """

    def __init__(
        self,
        robot: Robot,
        limits: MotionLimits,
        period_ns: int,
        *,
        watch: Watch | None = None,
        pulses: Pulses | None = None,
        settings: Settings | None = None,
        points: PointStore | None = None,
    ) -> None:
        self.robot, self.limits, self.period_ns = robot, limits, period_ns
        self.watch = watch or watch_of(robot.joint_names, limits, units=tuple(robot.joint_units), robot=robot)
        self.settings = settings or Settings()
        self.pulses, self.points = pulses, points
        self.reference = Reference(robot, limits, period_ns, self.settings)
        self.state, self.mode = State.DISABLED, Mode.TEACH
        self.override = 100
        self.plans_ahead = False
        self.outputs: dict[str, bool] = {}
        self.alarms: list[Alarm] = []
        self.program: ProgramSource | None = None
        self.finished = False
        self.journal: list[Entry] = []  # what was carried out of the job under way, or of the last one
        self.measured = Measured(robot.n)
        named = len(robot.quantities.names) + len(robot.frame_quantities.names)
        self._outside = np.zeros(robot.n + named, dtype=np.bool_)
        self._now_ns: int | None = None  # of the last step
        self._enabled_ns: int | None = None
        self._held_ns = 0
        self._pausing, self._stopping = GENTLE, FIRM
        self._handlers: dict[Event, Callable[..., None]] = {
            Event.ENABLE: self._on_enable,
            Event.MODE: self._on_mode,
            Event.JOG: self._on_jog,
            Event.NUDGE: self._on_nudge,
            Event.HOME: self._on_home,
            Event.GO_TO: self._on_go_to,
            Event.LOAD: self._on_load,
            Event.RUN: self._on_run,
            Event.PAUSE: self._on_pause,
            Event.STOP: self._on_stop,
            Event.SINGLE_STEP: self._on_single_step,
            Event.STEP_BACK: self._on_step_back,
            Event.OVERRIDE: self._on_override,
            Event.RECORD: self._on_record,
            Event.DELETE: self._on_delete,
            Event.RENAME: self._on_rename,
            Event.RESET: self._on_reset,
        }

    # --- the operator -----------------------------------------------------------------------------
    def press(self, event: Event | str, **arguments: Any) -> Reply:
        """Take an event of the operator, or refuse it with a reason; what it changes shows at the next step.

        Arguments: MODE ``mode``; JOG, NUDGE ``jog`` (a ``Jog``); GO_TO ``name``; LOAD ``program``; OVERRIDE
        ``percent``; PAUSE ``firm``, to brake as hard as a stop; PAUSE and STOP ``hard``, with more than a cycle may
        use; RECORD ``name`` and ``replace_old``; DELETE ``name``; RENAME ``name``, ``new_name``.
        """
        try:
            event = Event(event)
        except ValueError:
            return Reply(
                False, self.state, f"{event!r} is no event; expected one of {[e.value for e in Event]}"
            )
        if event in INTERNAL:
            return Reply(False, self.state, f"'{event.value}' is found by the controller; it is not a key")
        reason = refusal(self.state, self.mode, event)
        if reason is None:
            reason = self._handled(event, arguments)
        if reason is not None:
            return Reply(False, self.state, reason)
        playback = self.reference.playback
        if event is Event.RESUME and playback is not None and playback.stepping:
            event = Event.RESUME_STEP
        self._fire(event)
        return Reply(True, self.state)

    def _handled(self, event: Event, arguments: dict[str, Any]) -> str | None:
        """Prepare what an event asks for; why it cannot be done, None if it can."""
        handler = self._handlers.get(event)
        if handler is None:  # nothing to prepare; a stop is never refused for what comes with it
            return None
        try:
            inspect.signature(handler).bind(**arguments)
        except TypeError as error:
            return f"'{event.value}': {error}"
        try:
            handler(**arguments)
        except (ServotwinError, OSError) as error:
            return str(error)
        return None

    def _fire(self, event: Event) -> None:
        """Go where the table says; where nothing moves, nothing that could is left."""
        after = TRANSITIONS.get((self.state, event))
        if after is None:
            return
        self.state = after
        if event is not Event.STOP:
            self._stopping = FIRM
        if after not in POWERED:
            self._enabled_ns = None
            self.reference.hold(self.reference.q)
        if after not in MAY_MOVE and after is not State.PAUSED:
            self.reference.drop()

    def _on_enable(self) -> None:
        if self.measured.feedback is None:
            raise InputError("no measured positions yet; wait for the first period")
        self._all_well()
        for i in self._moving():
            raise InputError(f"axis {self.robot.joint_names[i]} still moves; wait until the arm stands")

    def _moving(self) -> list[int]:
        """Axes that are not at rest by their measured speeds."""
        fast = np.abs(self.measured.qd) > self.settings.rest_share * self.limits.speed
        return [int(i) for i in np.flatnonzero(fast)]

    def _on_reset(self) -> None:
        self._all_well()
        self.alarms.clear()

    def _all_well(self) -> None:
        feedback = self.measured.feedback
        if feedback is not None and not feedback.circuit_closed:
            raise InputError("the safety circuit is open; close it first")
        if feedback is not None and feedback.drive_fault:
            raise InputError(f"a drive reports '{feedback.drive_fault}'; clear its cause first")

    def _on_mode(self, mode: Mode | str) -> None:
        try:
            self.mode = Mode(mode)
        except ValueError:
            raise InputError(f"{mode!r}; expected one of {[m.value for m in Mode]}", field="mode") from None

    def _on_jog(self, jog: Jog) -> None:
        self._check_jog(jog)
        self.reference.start_jog(jog)
        self._held_ns = (self._now_ns or 0) + self.settings.hold_ns

    def _on_nudge(self, jog: Jog) -> None:
        self._check_jog(jog)
        self.reference.start_nudge(jog)

    def _check_jog(self, jog: object) -> None:
        if not isinstance(jog, Jog):
            raise InputError(f"{jog!r}; expected a Jog", field="jog")
        self._check_held()

    def _check_held(self) -> None:
        """Nothing moves in mode teach unless the enabling switch is held."""
        if self.mode is Mode.TEACH and not self.measured.held:
            raise InputError("the enabling switch is not held; hold it for every motion while teaching")

    def _on_home(self) -> None:
        self._move_to(self.robot.q_home)

    def _on_go_to(self, name: str) -> None:
        self._move_to(self._store(name).position(name, self.robot, self.reference.q))

    def _move_to(self, q: Array) -> None:
        """Plan the operator's motion to q (n,) at the speed of jogs."""
        self._check_held()
        self.reference.start_plan(MoveJ(q, Speed("fraction", self.settings.jog_share)))

    def _on_load(self, program: ProgramSource) -> None:
        if not hasattr(program, "next") or not hasattr(program, "start"):
            raise InputError("not a job; expected a program source", field="program")
        self.program = program

    def _on_run(self) -> None:
        if self.program is None:
            raise InputError("no job is loaded; load one first")
        try:
            self.reference.start_job(self.program, self.outputs, ahead=self.plans_ahead)
        except Exception as error:  # noqa: BLE001 - whatever a program source does must not stop the controller
            alarm = _program_error(error, self._now_ns or 0)
            self._raise(alarm)
            raise InputError(alarm.text) from None
        assert self.reference.playback is not None
        self.journal, self.finished = self.reference.playback.journal, False

    def _on_pause(self, *, firm: bool = False, hard: bool = False) -> None:
        """A pause that is under way becomes harder, never gentler."""
        asked = HARD if hard else FIRM if firm else GENTLE
        under_way = self.state is State.PAUSING
        self._pausing = max(asked, self._pausing, key=lambda pace: pace.slope) if under_way else asked

    def _on_stop(self, *, hard: bool = False, **ignored: object) -> None:
        """A stop is never refused for what comes with it."""
        if hard:
            self._stopping = HARD

    def _on_single_step(self) -> None:
        if self.reference.playback is None:
            self._on_run()
        assert self.reference.playback is not None
        self.reference.playback.begin_step()

    def _on_step_back(self) -> None:
        if self.reference.playback is None:
            raise InputError("no job is under way; there is no way back")
        self.reference.playback.begin_back(self.limits)

    def _on_override(self, percent: object) -> None:
        if isinstance(percent, bool) or not isinstance(percent, Integral) or not 1 <= int(percent) <= 100:
            raise InputError(f"{percent!r}; expected a whole number from 1 to 100", field="override")
        self.override = int(percent)

    def _store(self, *names: object) -> PointStore:
        if self.points is None:
            raise InputError("there is no points file; name one")
        for name in names:
            if not isinstance(name, str):
                raise InputError(f"{name!r} is not a name; expected a text", field="name")
        return self.points

    def _on_record(self, name: str, *, replace_old: bool = False) -> None:
        if self.measured.feedback is None:
            raise InputError("no measured positions yet; wait for the first period")
        q = self.reference.commanded if self.state in POWERED else self.measured.q
        self._store(name).record(name, q.copy(), replace_old=bool(replace_old))

    def _on_delete(self, name: str) -> None:
        self._store(name).delete(name)

    def _on_rename(self, name: str, new_name: str) -> None:
        self._store(name, new_name).rename(name, new_name)

    # --- between two periods ----------------------------------------------------------------------
    def plan_ahead(self) -> None:
        """Plan what the job under way may ask for in the next period, if ``plans_ahead``; in any thread."""
        playback, feedback = self.reference.playback, self.measured.feedback
        if playback is not None and self.state in (State.RUNNING, State.STEPPING):
            inputs = {} if feedback is None else feedback.inputs
            playback.plan_ahead(self.reference.q, inputs, single=self.state is State.STEPPING)

    # --- every period -----------------------------------------------------------------------------
    def step(self, now_ns: int, feedback: Feedback) -> Command:
        """What is to be done in the period that begins at ``now_ns``, seen from the measurements at that instant."""
        self.reference.now_ns = now_ns
        first = self.measured.feedback is None
        wrong = self.measured.take(now_ns, feedback)
        if wrong:
            self._raise(Alarm(AlarmKind.FEEDBACK, wrong, now_ns))
        elif first:
            self.reference.hold(self.measured.q)
        if isinstance(feedback, Feedback):
            self._look(now_ns, feedback)
            self._move(now_ns, feedback)
        self._now_ns, self.reference.now_ns = now_ns, now_ns + self.period_ns
        return self._command(now_ns + self.period_ns, self.reference, self.reference.playback)

    def _command(self, time_ns: int, reference: Reference, playback: Playback | None) -> Command:
        label = None if playback is None else playback.label
        motion, motion_time = reference.place if playback is None else playback.place
        return Command(
            time_ns=time_ns,
            counts=None if self.pulses is None else self.pulses.counts(reference.commanded),
            q=reference.commanded,
            qd=reference.qd.copy(),
            qdd=reference.qdd.copy(),
            enable=self.state in POWERED,
            brakes_released=self.state in POWERED,
            outputs=dict(self.outputs),
            state=self.state,
            mode=self.mode,
            alarms=tuple(self.alarms),
            file="" if label is None else label.file,
            line=None if label is None else label.line,
            instruction=0 if playback is None else playback.instruction,
            motion=motion,
            motion_time=motion_time,
            override=self.override,
        )

    # --- many periods at once ---------------------------------------------------------------------
    @cached_property
    def quick_watch(self) -> QuickWatch:
        """Bounds within which a measurement raises no alarm."""
        return QuickWatch(self.watch, self.period_ns * NANO)

    def ahead(self, most: int) -> Stretch | None:
        """The next commands that ``step`` will give, at most so many; None if the next depends on more than the plan.

        They hold as long as no key is pressed, no input changes and every measurement is clear (``quick_watch``);
        ``skip`` carries them out. Nothing is changed by asking.
        """
        reference, playback, feedback = self.reference, self.reference.playback, self.measured.feedback
        if self.state is not State.RUNNING or playback is None or feedback is None or most < 1:
            return None
        if reference.lead.any():  # what a stop has left fades
            return None
        ahead = playback.ahead(reference.q, self._rate, feedback.inputs)
        if ahead is None or not len(ahead.times):
            return None
        ahead = ahead.first(min(most, reference.allowed(ahead)))
        if not len(ahead.times):
            return None
        q = np.clip(ahead.q, self.limits.q_min, self.limits.q_max)
        counts = None if self.pulses is None else self.pulses.counts(q)
        motion, _ = playback.place
        return Stretch(reference.q, self.measured.q, counts, q, ahead.qd, ahead.qdd, motion, ahead.times)

    def skip(self, stretch: Stretch, positions: Sequence[Array]) -> None:
        """Be where ``step`` would be after all commands of a stretch.

        ``positions``: joints (n,) as measured before each of them; the last two are enough.
        """
        reference, playback, feedback = self.reference, self.reference.playback, self.measured.feedback
        assert playback is not None
        assert feedback is not None
        assert self._now_ns is not None
        playback.skip(self._now_ns + self.period_ns, stretch.motion_time, feedback.inputs)
        self._now_ns += len(stretch) * self.period_ns
        self.measured.skip(self._now_ns, self.period_ns, positions)
        reference.now_ns = self._now_ns + self.period_ns
        reference.q, reference.qd, reference.qdd = stretch.q[-1], stretch.qd[-1], stretch.qdd[-1]

    @property
    def _rate(self) -> float:
        return self.override / 100.0

    def _look(self, now_ns: int, feedback: Feedback) -> None:
        """Safety circuit, drives, and the measured positions."""
        if not feedback.circuit_closed and self.state is not State.EMERGENCY:
            self._fire(Event.CIRCUIT_OPEN)
        if feedback.drive_fault and self.state not in (State.FAULT, State.EMERGENCY):
            self._raise(Alarm(feedback.fault_kind, str(feedback.drive_fault), now_ns))
        if self.state in POWERED and self._enabled_ns is not None:
            q, qd = self.measured.q, self.measured.qd
            for alarm in self.watch.look(q, qd, self.reference.q, self._outside, now_ns):
                self._raise(alarm)

    def _raise(self, alarm: Alarm) -> None:
        """Note an alarm and go where it leads."""
        known = any(a.kind is alarm.kind and a.axis == alarm.axis for a in self.alarms)
        if len(self.alarms) < MOST_ALARMS and not known:
            self.alarms.append(alarm)
        self._fire(REACTION[alarm.kind])

    def alarm(self, alarm: Alarm) -> None:
        """An alarm that is found beside the controller, as by a supervision of its operator's panel."""
        self._raise(alarm)

    def _move(self, now_ns: int, feedback: Feedback) -> None:
        """The reference of the next instant: within the limits, or every joint brakes for itself with an alarm."""
        if self.state not in POWERED:
            return
        if self.state is State.ENABLING and self._enabled_ns is None:
            self._take_over(now_ns)
            return
        motion = self._motion(now_ns, feedback)
        fault = self.reference.fault_of(motion)
        if fault is not None:
            axis, how = fault
            what = f"axis {axis}" if axis in self.robot.joint_names else axis
            text = f"the motion would take {what} beyond its limits: to {how}"
            self._raise(Alarm(AlarmKind.REFERENCE, text, now_ns, axis))
            motion = self.reference.braking()
        else:
            motion = self._reduced(motion, now_ns)
        self.reference.become(motion)
        self.reference.lead_on(self.measured.q)

    def _reduced(self, motion: Motion, now_ns: int) -> Motion:
        """The motion, unless it would take a point above its bound of speed: then every joint brakes, with an alarm."""
        speed = self.reference.too_fast(motion)
        if speed is None:
            return motion
        bound = self.reference.fastest.bound if self.reference.fastest is not None else 0.0
        fast, most = shown_apart(speed, bound, "m", "/s")
        self._raise(
            Alarm(
                AlarmKind.REFERENCE, f"a point of the arm would move at {fast}; the limit is {most}", now_ns
            )
        )
        return self.reference.braking()

    def _take_over(self, now_ns: int) -> None:
        """Power has come: the reference is where the arm stands, if it stands."""
        for i in self._moving():
            name = self.robot.joint_names[i]
            self._raise(Alarm(AlarmKind.SPEED, f"axis {name} moved while the power came", now_ns, name))
        if self.state is State.ENABLING:
            self._enabled_ns = now_ns
            self._outside = self.reference.take_over(self.measured.q)

    def _motion(self, now_ns: int, feedback: Feedback) -> Motion:
        """What the state asks for."""
        reference = self.reference
        taught = self.state is State.JOGGING or (self.state is State.MOVING and self.mode is Mode.TEACH)
        held = self.state is not State.JOGGING or now_ns <= self._held_ns
        if taught and not (feedback.dead_man and held):
            self._fire(Event.RELEASE)
        match self.state:
            case State.ENABLING:
                if self._enabled_ns is not None and now_ns - self._enabled_ns >= self.settings.brake_ns:
                    self._fire(Event.BRAKES_OPEN)
            case State.JOGGING:
                motion = reference.jogging(self._rate)
                if motion is not None:
                    return motion
                self._fire(Event.STOP)  # the line ends here
                return reference.braking()
            case State.MOVING:
                motion = reference.planned(self._rate)
                if reference.cursor is not None and reference.cursor.done:
                    self._fire(Event.FINISHED)
                return motion
            case State.RUNNING | State.STEPPING:
                return self._playing(now_ns, feedback)
            case State.PAUSING | State.STOPPING | State.HALTING:
                paces = {State.PAUSING: self._pausing, State.STOPPING: self._stopping}
                pace = paces.get(self.state, FIRM)
                motion, at_rest = reference.slowing(pace, self.measured.q)
                if at_rest:
                    reference.now_ns = now_ns + self.period_ns
                    self._fire(Event.AT_REST)
                return motion
        return reference.resting()

    def _playing(self, now_ns: int, feedback: Feedback) -> Motion:
        playback, single = self.reference.playback, self.state is State.STEPPING
        assert playback is not None
        self.reference.end_leading()
        if self.reference.beside:
            self.reference.fade()
            return self.reference.resting()
        playback.stands = bool(self.reference.lead.any())
        try:
            motion, outcome = playback.advance(
                now_ns, self.reference.q, self._rate, GENTLE, feedback.inputs, self.outputs, single=single
            )
        except Exception as error:  # noqa: BLE001 - whatever a program source does must not stop the controller
            self._raise(_program_error(error, now_ns))
            return self.reference.braking()
        if outcome is Outcome.STEP_DONE:
            self._fire(Event.STEP_DONE)
        elif outcome is Outcome.FINISHED:
            self.finished = True
            self._fire(Event.FINISHED)
        elif outcome is Outcome.ALARM and playback.alarm is not None:
            task = playback.alarm
            self._raise(Alarm(task.kind, task.text, now_ns, line=task.label.line))
        return motion


def _program_error(error: Exception, now_ns: int) -> Alarm:
    return Alarm(AlarmKind.PROGRAM_ERROR, f"the job fails: {type(error).__name__}: {error}", now_ns)
