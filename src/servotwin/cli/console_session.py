"""The console without its terminal: keys go in, the controller and its arm are stepped, a state comes out.

The main controller does all the work and refuses what must not be; this is the panel with its keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from servotwin.cli.console_words import refused
from servotwin.control.main.exchange import Reply
from servotwin.control.main.jogging import Frame, Jog
from servotwin.control.main.states import MAY_MOVE, POWERED, Event, Mode, State
from servotwin.errors import ServotwinError

if TYPE_CHECKING:
    from servotwin.jobs.player import Player, TaughtPoints
    from servotwin.jobs.program import Program
    from servotwin.simulation.live_robot import LiveRobot

PLUS, MINUS = "123456789", "qwertyuio"  # the digits, and the keys below them
FRAMES: tuple[Frame, ...] = ("joint", "base", "tool")
STEPS = (None, 0.1, 1.0, 10.0)  # mm and deg; None: as long as the key is held
MODES = (Mode.TEACH, Mode.PROGRAM, Mode.PLAY)
# A terminal tells only presses. The keyboard repeats a held key after about half a second, then about
# thirty times a second; a key that is not repeated in time was let go.
FIRST_HOLD_NS, HOLD_NS = 550_000_000, 150_000_000
BEHIND_NS = 250_000_000  # a process that was asleep for longer does not make up for it
DEGREE = 0.017453292519943295
Item = TypeVar("Item")


@dataclass
class Prompt:
    """A question on the last line: what is asked, what was typed, what is done with it."""

    question: str
    answer: Callable[[str], None]
    text: str = ""


@dataclass
class Held:
    """A jog whose key is held: until when, unless it is pressed again."""

    key: str
    jog: Jog
    until_ns: int


class Session:
    """A controller with its keys. ``load`` makes a player of a job's name or path.

    ``key`` takes a key, ``tick`` the time; ``done`` says that the operator left.
    """

    def __init__(
        self,
        live: LiveRobot,
        *,
        load: Callable[[str], tuple[Program, Player]] | None = None,
        points: TaughtPoints | None = None,
        now_ns: int = 0,
    ) -> None:
        self.live, self.load, self.points = live, load, points
        self.controller, self.robot = live.controller, live.robot
        self.controller.points = points
        self.frame: Frame = "joint"
        self.step = 2  # of STEPS
        self.message = "press p for power"
        self.prompt: Prompt | None = None
        self.program: Program | None = None
        self.sources: dict[str, list[str]] = {}  # lines of the job ('') and of the files it calls
        self.done = self.leaving = False
        self._job = ""
        self._stale = False  # points were taught since the job was loaded
        self._held: Held | None = None
        self._next_ns = now_ns
        self.now_ns = now_ns
        self._keys = self._table()
        self.tick(now_ns)

    # --- time -------------------------------------------------------------------------------------
    def tick(self, now_ns: int) -> None:
        """Step the controller for every period that has begun."""
        self.now_ns = now_ns
        if now_ns - self._next_ns > BEHIND_NS:
            self._next_ns = now_ns
        while self._next_ns <= now_ns:
            self._hold(self._next_ns)
            self.live.step()
            self._next_ns += self.live.period_ns
        if self.leaving and self.controller.state not in MAY_MOVE:
            if self.controller.state in POWERED:
                self._press(Event.DISABLE)
                self.live.step()
            self.done = True

    def _hold(self, now_ns: int) -> None:
        """Keep a jog alive while its key is held, and end it when it is not."""
        held = self._held
        if held is None:
            return
        if now_ns <= held.until_ns and self._try(Event.JOG, jog=held.jog):
            return
        self._held = None
        if self.controller.state is State.JOGGING:
            self.controller.press(Event.RELEASE)

    # --- keys -------------------------------------------------------------------------------------
    def key(self, key: str) -> None:
        """Take a key: a character, or 'esc', 'enter', 'backspace', 'up', 'down'."""
        if key == "esc" or (key == " " and self.controller.state in MAY_MOVE):
            self.prompt = None  # a stop is never taken for something else
            self._keys[key]()
            return
        if self.leaving:
            return
        if self.prompt is not None:
            self._typed(key)
            return
        axes = self.axis_count
        if key in PLUS[:axes]:
            self._jog(key, PLUS.index(key), 1.0)
        elif key in MINUS[:axes]:
            self._jog(key, MINUS.index(key), -1.0)
        elif key in self._keys:
            self._keys[key]()
        else:
            self.message = f"no key {key!r}; the keys stand below"

    def _table(self) -> dict[str, Callable[[], object]]:
        press = self._press
        return {
            "p": lambda: press(Event.ENABLE if self.controller.state is State.DISABLED else Event.DISABLE),
            " ": self._stop,
            "esc": self._emergency_stop,
            "z": lambda: press(Event.RESET),
            "m": lambda: press(Event.MODE, mode=_next(MODES, self.controller.mode)),
            "h": lambda: press(Event.HOME),
            "G": lambda: self._ask("go to point", lambda name: press(Event.GO_TO, name=name)),
            "g": self._run,
            "b": lambda: press(Event.RESUME if self.controller.state is State.PAUSED else Event.PAUSE),
            "k": lambda: press(Event.SINGLE_STEP),
            "+": lambda: self._override(10),
            "-": lambda: self._override(-10),
            "f": self._next_frame,
            "s": self._next_step,
            "a": lambda: self._ask("record as", self._record),
            "A": lambda: self._ask("replace point", lambda name: self._record(name, replace_old=True)),
            "d": lambda: self._ask("delete point", self._delete),
            "n": lambda: self._ask("rename point (old new)", self._rename),
            "l": lambda: self._ask("load job", self.load_job),
            "v": lambda: self._ask("switch input", self._switch),
            "Q": self.leave,
        }

    def _press(self, event: Event, **arguments: object) -> Reply:
        reply = self._try(event, **arguments)
        if reply:
            self.message = ""
        return reply

    def _try(self, event: Event, **arguments: object) -> Reply:
        """Press a key; a refusal is said in the operator's words."""
        state = self.controller.state
        reply = self.controller.press(event, **arguments)
        if not reply:
            self.message = refused(self.controller, event, state, reply.reason, self.frame)
        return reply

    def leave(self) -> None:
        """Stop, take the power and end; ``done`` says when the arm is at rest."""
        self.leaving, self.prompt = True, None
        if self.controller.state in MAY_MOVE:
            self._stop()

    def _stop(self) -> None:
        self._held = None
        self._press(Event.STOP)

    def _emergency_stop(self) -> None:
        self._held = None
        self._press(Event.EMERGENCY_STOP)

    # --- jogging ----------------------------------------------------------------------------------
    @property
    def axis_count(self) -> int:
        """How many keys jog: one for each joint, or six for the tool."""
        return min(self.robot.n, len(PLUS)) if self.frame == "joint" else 6

    def _jog(self, key: str, k: int, sign: float) -> None:
        count = self.robot.n if self.frame == "joint" else 6
        slides = self.robot.joint_units[k] == "m" if self.frame == "joint" else k < 3
        direction = tuple(sign if i == k else 0.0 for i in range(count))
        size = STEPS[self.step]
        if size is not None:
            length = size * (1e-3 if slides else DEGREE)
            self._press(Event.NUDGE, jog=Jog(self.frame, direction, length=length))
            return
        jog = Jog(self.frame, direction)
        again = self._held is not None and self._held.key == key
        if not again and self._held is not None:
            self._held = None
            self._press(Event.RELEASE)
        if self._press(Event.JOG, jog=jog):
            self._held = Held(key, jog, self.now_ns + (HOLD_NS if again else FIRST_HOLD_NS))

    def _next_frame(self) -> None:
        self.frame = _next(FRAMES, self.frame)

    def _next_step(self) -> None:
        self.step = (self.step + 1) % len(STEPS)

    def _override(self, change: int) -> None:
        now = self.controller.override
        percent = now + change if change < 0 or now >= 10 else 10
        self._press(Event.OVERRIDE, percent=min(max(percent, 1), 100))

    # --- points and jobs --------------------------------------------------------------------------
    def _ask(self, question: str, answer: Callable[[str], object]) -> None:
        self.prompt = Prompt(question, lambda text: (answer(text), None)[1])

    def _typed(self, key: str) -> None:
        prompt = self.prompt
        assert prompt is not None
        if key == "enter":
            self.prompt = None
            if prompt.text.strip():
                prompt.answer(prompt.text.strip())
        elif key == "backspace":
            prompt.text = prompt.text[:-1]
        elif len(key) == 1 and key.isprintable() and len(prompt.text) < 200:
            prompt.text += key

    def _record(self, name: str, *, replace_old: bool = False) -> None:
        if self._press(Event.RECORD, name=name, replace_old=replace_old):
            self._stale = True
            self.message = f"recorded {name}"

    def _rename(self, text: str) -> None:
        old, _, new = text.partition(" ")
        if self._press(Event.RENAME, name=old, new_name=new.strip()):
            self._stale = True
            if self._job:
                self.load_job(self._job)  # which names it so from now on
            self.message = f"{old} is now {new.strip()}"

    def _delete(self, name: str) -> None:
        from servotwin.jobs.edit import mentions

        if self._press(Event.DELETE, name=name):
            self._stale = True
            path = None if self.points is None else self.points.path
            used = [] if path is None else mentions(path, name)
            self.message = f"deleted {name}" + (f"; still used: {', '.join(used)}" if used else "")

    def _switch(self, name: str) -> None:
        from servotwin.jobs.check import Signals

        known = {signal.lower(): signal for signal in Signals().inputs}
        if name.lower() not in known:
            self.message = f"no input {name!r}; expected one of {', '.join(known.values())}"
            return
        signal = known[name.lower()]
        self.live.inputs[signal] = not self.live.inputs.get(signal, False)
        self.message = f"{signal} {'ON' if self.live.inputs[signal] else 'OFF'}"

    def load_job(self, name: str) -> None:
        """Load a job, checked; its points are taught from then on."""
        if self.load is None:
            self.message = "no jobs here"
            return
        from servotwin.jobs.program import sources_of

        try:
            program, player = self.load(name)
        except ServotwinError as error:
            self.message = str(error)
            return
        mode = self.controller.mode
        if mode is Mode.TEACH:  # jobs are loaded in the other modes
            self._press(Event.MODE, mode=Mode.PROGRAM)
        if self._press(Event.LOAD, program=player):
            self.program, self._job, self._stale = program, name, False
            file = Path(program.job.file)
            self.sources = {f: text.splitlines() for f, text in sources_of(program).items()}
            if mode is Mode.TEACH:
                self._press(Event.MODE, mode=mode)
            self.message = f"loaded {file.name or name}"

    def _run(self) -> None:
        if self._stale and self._job:
            self.load_job(self._job)
        self._press(Event.RUN)


def _next(items: tuple[Item, ...], item: Item) -> Item:
    return items[(items.index(item) + 1) % len(items)]
