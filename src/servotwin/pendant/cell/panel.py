"""The panel between an operator and the main controller: operating modes, held keys, keys that are pressed once.

The controller refuses what must not be; the panel adds what belongs to a pendant: T1, T2 and AUT, hold-to-run, the
reduced speed of T1, and that nothing goes on when the operator lets go or is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from servotwin.control.main.exchange import Reply
from servotwin.control.main.jogging import Jog
from servotwin.control.main.leading_stop import LATE
from servotwin.control.main.point_speed import FastestPoint
from servotwin.control.main.states import MAY_MOVE, POWERED, Event, Mode, State
from servotwin.control.main.time_scaling import HARD
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.check import Signals
from servotwin.jobs.player import Player, TaughtPoints
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.enabling import STOP_WITHIN, Lease, braking_time, longest_braking, patience
from servotwin.pendant.cell.messages import OperatorState, Request, is_number, operator_state
from servotwin.pendant.cell.outline import outline
from servotwin.pendant.cell.refusals import WHY_NOT, refused_key
from servotwin.simulation.live_robot import LiveRobot

RENEW_NS = 20_000_000  # between two presses of a jog key that is held
REDUCED = 0.25  # m/s at every point of arm and tool in T1
PLAYING = (State.RUNNING, State.STEPPING)
ON_PATH = (*PLAYING, State.PAUSING)
PLANNED = (*ON_PATH, State.MOVING)
CANNOT = "cannot be done in AUT; turn the mode selector to T1 or T2"
HOLD_IT = "hold the enabling switch in its middle position"
SLOW = 0.01  # m/s of a point that stands for all that one sees
MENU = {-1: "Disable", 0: "Home", 1: "Joint", 2: "Cartesian", 3: "Trajectory"}


class OperatingMode(Enum):
    """The mode selector: reduced speed, full speed by hand, automatic."""

    T1 = "T1"
    T2 = "T2"
    AUT = "AUT"


class Panel:
    """What an operator has in hand; ``load``: gives the player of a job by its name."""

    def __init__(
        self,
        live: LiveRobot,
        lease: Lease,
        load: Callable[[str], Player],
        reload_points: Callable[[], None] | None = None,
        stop_ns: int = STOP_WITHIN,
    ) -> None:
        self.stop_ns = stop_ns  # after its page was lost the arm stands
        self.live, self.lease, self.load = live, lease, load
        self.controller = live.controller
        self.mode = OperatingMode.T1
        self.menu = 1
        self.job = ""
        self._outline = outline(live.robot)
        self.fastest = FastestPoint(live.robot, self._outline, REDUCED, self.controller.reference.overshoot)
        late_ns = 0 if self.controller.reference.following is None else round(LATE * 1e9)
        self.controller.reference.braking_time = longest_braking(live.period_ns, stop_ns, late_ns)
        self.controller.reference.bound_points(self.fastest)
        self.reload_points = reload_points
        self._wanted: OperatingMode | None = None  # once the arm stands
        self._by_key = False  # what moves needs a held key besides the switch
        self.measured_speed = 0.0  # m/s, of the fastest point
        self.lost_ns = 0  # when the page was given up the last time
        self._present = False
        self._slowed = False  # a job brakes because its page was not heard of
        self._jogs = False
        self._jogged: tuple[Any, ...] = ()
        self._jogged_ns = 0
        self._keys: dict[str, Callable[..., Reply | None]] = {
            "enable": lambda: live.press(Event.ENABLE),
            "disable": lambda: live.press(Event.DISABLE),
            "reset": lambda: live.press(Event.RESET),
            "stop": lambda: live.press(Event.STOP),
            "pause": lambda: live.press(Event.PAUSE),
            "emergency stop": lambda: live.press(Event.EMERGENCY_STOP),
            "mode": self._on_mode, "menu": self._on_menu, "step": self._on_step, "home": self._on_home,
            "go to": self._on_go_to, "load": self._on_load, "run": self._on_run, "resume": self._on_resume,
            "single step": self._on_single_step, "step back": self._on_step_back, "override": self._on_override,
            "record": self._on_record, "delete": self._on_delete, "rename": self._on_rename,
            "input": self._on_input, "points": self._on_points, "seat": self._on_seat,
        }  # fmt: skip

    def with_tools(self, tips: Array) -> None:
        """Hold the tips (k, 3) of tools below the speed of T1 too, given in the robot's tool frame [m]."""
        tool = self.live.robot.mechanism.tool
        known = self._outline.get(tool, np.zeros((0, 3)))
        points = {**self._outline, tool: np.concatenate([known, tips])} if len(tips) else self._outline
        overshoot = self.controller.reference.overshoot
        self.fastest = FastestPoint(self.live.robot, points, REDUCED, overshoot)
        self.controller.reference.bound_points(self.fastest if self.mode is OperatingMode.T1 else None)

    @property
    def speed(self) -> float:
        """Of the fastest point [m/s]: as measured on drives, of the reference of an arm that follows exactly."""
        if self.live.settling_rate > 0.0:
            return self.measured_speed
        return self.fastest.speed(self.live.command.q, self.live.command.qd)

    # --- every period -----------------------------------------------------------------------------
    def hold(self, now_ns: int) -> None:
        """Carry out what is held, and stop what is not."""
        within_ns = self._patience()
        state = self.lease.look(now_ns, within_ns)
        held = self.lease.held
        self.live.surroundings.dead_man = held
        self._jog(state, held)
        if self._heard(now_ns, within_ns):
            self._go_on()
            self._watch_held(state, held)
        else:
            self._slowed |= self.controller.state in PLAYING
            self._abandon()
        self._note_loss(now_ns, within_ns)
        self._select_at_rest()

    def _heard(self, now_ns: int, within_ns: int) -> bool:
        """Whether the page counts as there; by hand no longer than what is held."""
        by_hand = self.mode is not OperatingMode.AUT
        return self.lease.heard(now_ns, min(within_ns, self.lease.lease_ns) if by_hand else within_ns)

    def _note_loss(self, now_ns: int, within_ns: int) -> None:
        """Note when the page was given up."""
        if self.mode is OperatingMode.AUT:
            present = self.lease.heard(now_ns, within_ns)
        else:
            present = self.lease.present(now_ns, min(within_ns, self.lease.lease_ns))
        if self._present and not present:
            self.lost_ns = now_ns
        self._present = present

    def _patience(self) -> int:
        """For how long the page may be silent now [ns]: the faster the arm, the shorter."""
        state, reference = self.controller.state, self.controller.reference
        jogs = state is State.JOGGING
        hard = state in PLANNED or (jogs and reference.following is not None)
        braking = braking_time(self.live.command.qd, self.live.limits, HARD.share if hard else 1.0)
        if hard:
            braking = max(braking, reference.drive_braking_time(self.controller.measured.q))
        elif jogs:
            braking += self._settling()
        return patience(braking, self.live.period_ns, self.stop_ns)

    def _settling(self) -> float:
        """How long drives move on [s] after the reference of a jog stands, until points are slow (eq:settling)."""
        if self.live.settling_rate <= 0.0:
            return 0.0
        speed = self.fastest.speed(self.live.command.q, self.live.command.qd)
        return math.log(max(speed / SLOW, 1.0)) / self.live.settling_rate

    def _go_on(self) -> None:
        """A page that is heard of again before its job stands was only late; one that stands waits for a key."""
        if self._slowed and self.mode is OperatingMode.AUT and self.controller.state is State.PAUSING:
            self.live.press(Event.RESUME)
        self._slowed = False

    @property
    def slowed(self) -> list[str]:
        """What an operator should know of a job that is slower than its plan."""
        reference, within = self.controller.reference, f"{self.stop_ns * 1e-6:.0f} ms"
        if self.controller.state not in ON_PATH or self.mode is OperatingMode.T1:
            return []
        found = []
        if reference.stoppable < 1.0:
            found.append(
                f"this motion runs at {reference.stoppable:.0%} of its speed: the arm must stand {within} after"
                " its page is lost"
            )
        if reference.unled:
            found.append(
                f"this arm may stand later than {within} after its page is lost: its reference cannot lead it"
                f" ({reference.unled})"
            )
        return found

    def _abandon(self) -> None:
        """Nobody is there: in every mode what moves stops, a gentle pause that is under way becomes hard."""
        doing = self.controller.state
        if doing in ON_PATH:
            self.live.press(Event.PAUSE, hard=True)
        elif doing in MAY_MOVE:
            self.live.press(Event.STOP, hard=True)

    def _jog(self, state: OperatorState, held: bool) -> None:
        asked = bool(state.direction) and any(state.direction) and state.hold
        if not (asked and held and self.mode is not OperatingMode.AUT and self._wanted is None):
            if self._jogs:
                self.live.press(Event.RELEASE)
            self._jogs = False
            self.refused = self._why_not() if asked else ""
            return
        if self.controller.state not in (State.READY, State.JOGGING) or not self._switch(Mode.TEACH):
            self._jogs = False
            self.refused = self._why_not()
            return
        now_ns = self.live.now_ns
        asked_for = (state.frame, state.direction, state.speed, state.user)
        if self._jogs and self._jogged == asked_for and now_ns - self._jogged_ns < RENEW_NS:
            return
        self._jogged, self._jogged_ns = asked_for, now_ns
        try:
            jog = self._jog_of(state)
        except ServotwinError as error:
            self._refuse_jog(str(error))
            return
        reply = self.live.press(Event.JOG, jog=jog)
        if reply:
            self._jogs, self.refused = True, ""
        else:
            self._refuse_jog(reply.reason)

    refused = ""  # why a held jog does not move

    def _why_not(self) -> str:
        """Why nothing is jogged now, for a key that is held; empty while the arm only comes to rest."""
        state = self.controller.state
        if self.mode is OperatingMode.AUT:
            return f"jogging {CANNOT}"
        if self._wanted is not None:
            return f"the mode changes to {self._wanted.value}; wait until the arm stands"
        if state is State.READY and not self.lease.held:
            return HOLD_IT
        return WHY_NOT.get(state, "a job is under way; press Stop first" if state in ON_PATH else "")

    def _refuse_jog(self, reason: str) -> None:
        """What the operator holds now cannot be done; what was held before does not go on instead."""
        self.refused, self._jogs = reason, False
        if self.controller.state is State.JOGGING:
            self.live.press(Event.RELEASE)

    def _jog_of(self, state: OperatorState) -> Jog:
        """The jog of a held key; one in a user frame is one along the base, turned."""
        if state.frame != "user":
            return Jog(state.frame, state.direction, state.speed)  # type: ignore[arg-type]
        return Jog("base", self._turned(state.direction, state.user), state.speed)

    def _turned(self, direction: tuple[float, ...], user: str) -> tuple[float, ...]:
        """A direction along the axes of a user frame as one along those of the base, six numbers up to 1."""
        if len(direction) != 6:
            raise InputError(f"{len(direction)} numbers; expected 6", field="direction")
        store = self.controller.points
        if not isinstance(store, TaughtPoints):
            raise InputError("there is no points file; load a job first")
        R = store.points.frame_matrix(user or None)[:3, :3]
        d = np.asarray(direction)
        turned = np.concatenate([R @ d[:3], R @ d[3:]]) / max(float(np.linalg.norm(d)), 1.0)
        return tuple(float(v) for v in np.clip(turned, -1.0, 1.0))

    def _watch_held(self, state: OperatorState, held: bool) -> None:
        """By hand, motions and jobs stop when the switch or their key is let go."""
        doing = self.controller.state
        if self.mode is OperatingMode.AUT or (held and (state.hold or not self._by_key)):
            return
        if doing in PLAYING:
            self.live.press(Event.PAUSE, firm=True)
        elif doing is State.MOVING:
            self.live.press(Event.RELEASE)

    # --- keys that are pressed once -----------------------------------------------------------------
    def press(self, request: Request) -> Reply:
        """Carry a request out, or refuse it with a reason."""
        key = self._keys.get(request.name)
        self._slowed = False  # whoever presses a key while the arm brakes decides what comes next
        self._select_at_rest()  # before anything is begun in the mode that is being left
        state = self.controller.state
        if key is None:
            return Reply(False, state, "no such key")
        try:
            reply = key(**request.arguments)
        except (ServotwinError, OSError) as error:
            return Reply(False, self.controller.state, str(error))
        except TypeError:
            return Reply(False, self.controller.state, f"'{request.name}' with other words than it takes")
        if reply is None:
            return Reply(True, self.controller.state)
        return reply or Reply(False, reply.state, refused_key(request, state) or reply.reason)

    def _switch(self, mode: Mode) -> bool:
        """Turn the controller's own switch between teaching and play back; whether it stands there."""
        return self.controller.mode is mode or bool(self.live.press(Event.MODE, mode=mode))

    def _by_hand(self) -> None:
        if self.mode is OperatingMode.AUT:
            raise InputError(CANNOT)
        if not self._switch(Mode.TEACH):
            raise InputError(WHY_NOT.get(self.controller.state, "a job is under way; stop it first"))

    def _needs_switch(self) -> None:
        if self._wanted is not None:
            raise InputError(f"the mode changes to {self._wanted.value}; wait until the arm stands")
        if self.mode is not OperatingMode.AUT and not self.lease.held:
            raise InputError(self.lease.word or HOLD_IT)

    def _on_mode(self, mode: str) -> Reply:
        """A change of mode stops; it is made when the arm stands."""
        try:
            wanted = OperatingMode(mode)
        except ValueError:
            raise InputError(f"{mode!r}; expected T1, T2 or AUT", field="mode") from None
        if wanted is self.mode:  # back where the selector stood; what has been stopped stays so
            self._wanted = None
        elif self._stands:
            self._select(wanted)
        else:
            if self.controller.state in MAY_MOVE:
                playing = self.controller.state in ON_PATH
                self.live.press(Event.PAUSE, firm=True) if playing else self.live.press(Event.STOP)
            self._wanted = wanted
        return Reply(True, self.controller.state)

    @property
    def _stands(self) -> bool:
        """Whether the arm stands, as measured too: drives come after a reference that stands, faster than T1 allows."""
        state = self.controller.state
        return state not in MAY_MOVE and (state not in POWERED or self.measured_speed <= SLOW)

    def _select_at_rest(self) -> None:
        if self._wanted is not None and self._stands:
            self._select(self._wanted)

    def _select(self, mode: OperatingMode) -> None:
        self.mode, self._wanted = mode, None
        self.lease.drop()
        self.controller.reference.bound_points(self.fastest if mode is OperatingMode.T1 else None)

    def _on_menu(self, number: int) -> Reply | None:
        """The control menu of Kim (2018): Disable -1, Home 0, Joint 1, Cartesian 2, Trajectory 3."""
        if isinstance(number, bool) or number not in MENU:
            raise InputError(f"{number!r}; expected one of {sorted(MENU)}", field="menu")
        if number == -1:
            reply = self.live.press(Event.DISABLE)
        elif number == 0:
            reply = self._on_home()
        elif number == 3:
            state = self.controller.state
            reply = Reply(
                self._switch(Mode.PLAY), state, WHY_NOT.get(state, "the arm is busy; stop it first")
            )
        else:
            self._by_hand()
            reply = Reply(True, self.controller.state)
        if reply:
            self.menu = number
        return reply

    def _on_step(
        self, frame: str, direction: list[float], length: float, speed: float = 1.0, user: str = ""
    ) -> Reply:
        """An increment: a jog of a given length [rad, m]; it goes to its end while the switch is held."""
        self._by_hand()
        self._needs_switch()
        checked = operator_state(
            {"frame": frame, "direction": direction, "speed": speed, "user": user, "hold": True}, 0
        )
        jog = self._jog_of(checked)
        if not is_number(length):
            raise InputError("expected a number", field="length")
        reply = self.live.press(Event.NUDGE, jog=Jog(jog.frame, jog.direction, jog.speed, float(length)))
        if reply:  # one that is refused leaves a motion under way bound to its key
            self._by_key = False
        return reply

    def _on_home(self) -> Reply:
        self._by_hand()
        self._needs_switch()
        self._by_key = True
        return self.live.press(Event.HOME)

    def _on_go_to(self, name: str) -> Reply:
        self._by_hand()
        self._needs_switch()
        self._by_key = True
        return self.live.press(Event.GO_TO, name=name)

    def _on_load(self, job: str) -> Reply:
        if not isinstance(job, str):
            raise InputError("expected the name of a job", field="job")
        if self.controller.state not in (State.READY, State.DISABLED):
            busy = "the arm is busy; stop it before another job is loaded"
            raise InputError(WHY_NOT.get(self.controller.state, busy))
        if self.controller.mode is Mode.TEACH:
            self._switch(Mode.PROGRAM)
        reply = self.live.press(Event.LOAD, program=self.load(job))
        if reply:
            self.job = job
        return reply

    def _play(self, event: Event, **arguments: Any) -> Reply:
        self._needs_switch()
        if not self._switch(Mode.PLAY):
            raise InputError(WHY_NOT.get(self.controller.state, "the arm is busy; wait until it stands"))
        self._by_key = self.mode is not OperatingMode.AUT
        return self.live.press(event, **arguments)

    def _on_run(self) -> Reply:
        return self._play(Event.RUN)

    def _on_resume(self) -> Reply:
        return self._play(Event.RESUME)

    def _on_single_step(self) -> Reply:
        return self._play(Event.SINGLE_STEP)

    def _on_step_back(self) -> Reply:
        return self._play(Event.STEP_BACK)

    def _on_override(self, percent: int) -> Reply:
        return self.live.press(Event.OVERRIDE, percent=percent)

    def _teaching(self) -> None:
        if self.mode is OperatingMode.AUT:
            raise InputError(CANNOT)
        if not self._switch(Mode.TEACH):
            raise InputError(WHY_NOT.get(self.controller.state, "a job is under way; stop it first"))

    def _on_record(self, name: str, *, replace: bool = False) -> Reply:
        self._teaching()
        return self.live.press(Event.RECORD, name=name, replace_old=replace is True)

    def _on_delete(self, name: str) -> Reply:
        self._teaching()
        return self.live.press(Event.DELETE, name=name)

    def _on_rename(self, name: str, new: str) -> Reply:
        self._teaching()
        return self.live.press(Event.RENAME, name=name, new_name=new)

    def _on_points(self) -> None:
        """The files of points or jobs have changed."""
        if self.reload_points is not None:
            self.reload_points()

    def _on_input(self, name: str, on: bool) -> None:
        if name not in Signals().inputs:
            raise InputError(f"no input {name!r}; expected one of IN1 to IN16", field="input")
        self.live.inputs[name] = on is True

    def _on_seat(self) -> None:
        """Another operator, or none: nothing is held any more."""
        self.lease.drop()
        self._abandon()
