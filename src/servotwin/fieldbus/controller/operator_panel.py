"""Hand operation over the bus by lines of text: modes, steps along joints and axes, jobs, stop and reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from queue import Empty, Queue

from servotwin.control.main.exchange import Reply
from servotwin.control.main.jogging import Jog
from servotwin.control.main.states import MAY_MOVE, Event
from servotwin.description.display import of_unit
from servotwin.description.units import parse_quantity
from servotwin.errors import InputError, ServotwinError
from servotwin.fieldbus.controller.modes import PcMode
from servotwin.fieldbus.controller.robot import BusRobot
from servotwin.jobs.player import Player
from servotwin.jobs.program import load_program

HELP = (
    "mode -1|0|1|2|3 (disable, home, joint, cartesian, trajectory), jog AXIS LENGTH (mode 1: a joint, '10 deg'; "
    "mode 2: x, y or z, '10 mm'), run JOB (mode 3), stop, reset, state, quit"
)
AXES = ("x", "y", "z")


class OperatorPanel:
    """Takes lines of an operator, one at a time; ``step`` the robot in between, every period."""

    def __init__(self, robot: BusRobot) -> None:
        self.robot, self.mode = robot, PcMode.DISABLE
        self.ended = False

    def take(self, line: str) -> str:
        """Carry a line out; what is to be said about it."""
        words = line.split(maxsplit=2)
        if not words:
            return ""
        keys: dict[str, Callable[[list[str]], str]] = {
            "mode": self._mode, "jog": self._jog, "run": self._run, "stop": self._stop, "reset": self._reset,
            "state": self._state, "quit": self._quit, "help": lambda _: HELP,
        }  # fmt: skip
        if words[0] not in keys:
            return f"'{words[0]}' is not known; expected {HELP}"
        try:
            return keys[words[0]](words[1:])
        except ServotwinError as error:
            return str(error)

    def _said(self, reply: Reply) -> str:
        if not reply:
            return f"refused: {reply.reason}"
        return self._state([])

    def _mode(self, words: list[str]) -> str:
        try:
            chosen = PcMode(int(words[0]))
        except (IndexError, ValueError):
            raise InputError(f"expected one of {[int(m) for m in PcMode]}", field="mode") from None
        reply = self.robot.choose(chosen)
        if reply:
            self.mode = chosen
        return self._said(reply)

    def _jog(self, words: list[str]) -> str:
        if len(words) != 2:
            raise InputError("expected an axis and a length, such as 'jog th1 10 deg'", field="jog")
        names, units = self.robot.robot.joint_names, self.robot.robot.joint_units
        if self.mode is PcMode.JOINT and words[0] in names:
            k = names.index(words[0])
            length = parse_quantity(words[1], units[k], example="10 deg")
            direction = [0.0] * len(names)
            frame = "joint"
        elif self.mode is PcMode.CARTESIAN and words[0] in AXES:
            k, length = AXES.index(words[0]), parse_quantity(words[1], "m", example="10 mm")
            direction, frame = [0.0] * 6, "base"
        else:
            known = {PcMode.JOINT: names, PcMode.CARTESIAN: AXES}.get(self.mode)
            if known is None:
                return "refused: choose mode 1 or 2 first"
            raise InputError(f"no axis '{words[0]}'; expected {', '.join(known)}", field="jog")
        direction[k] = 1.0 if length > 0.0 else -1.0
        jog = Jog(frame, tuple(direction), length=abs(length))  # type: ignore[arg-type]
        return self._said(self.robot.press(Event.NUDGE, jog=jog))

    def _run(self, words: list[str]) -> str:
        if self.mode is not PcMode.TRAJECTORY:
            return "refused: choose mode 3 first"
        if not words:
            raise InputError("expected a job", field="run")
        robot = self.robot
        player = Player(
            load_program(" ".join(words)), robot.robot, robot.limits, period=robot.period_ns * 1e-9
        )
        reply = robot.press(Event.LOAD, program=player)
        return self._said(robot.press(Event.RUN) if reply else reply)

    def _stop(self, _: list[str]) -> str:
        return self._said(self.robot.press(Event.STOP))

    def _reset(self, _: list[str]) -> str:
        return self._said(self.robot.press(Event.RESET))

    def _state(self, _: list[str]) -> str:
        robot = self.robot
        pairs = zip(robot.robot.joint_names, robot.q, robot.robot.joint_units, strict=True)
        places = ", ".join(f"{name} {of_unit(unit).text(float(q))}" for name, q, unit in pairs)
        alarms = "; ".join(str(a) for a in robot.controller.alarms)
        return f"{robot.controller.state.value}: {places}" + (f"; alarm: {alarms}" if alarms else "")

    def _quit(self, _: list[str]) -> str:
        self.ended = True
        return ""


def operate(
    robot: BusRobot, lines: Queue[str | None], say: Callable[[str], None], *, wait_for_motion: bool = False
) -> None:
    """Step the robot every period and carry lines out until one says 'quit' or the lines end (None).

    ``wait_for_motion``: the next line is taken when nothing moves any more, for lines from a file.
    """
    panel, told = OperatorPanel(robot), 0
    while not panel.ended:
        robot.step()
        for alarm in robot.controller.alarms[told:]:
            say(f"alarm: {alarm}")
        told = len(robot.controller.alarms)
        if wait_for_motion and robot.controller.state in MAY_MOVE:
            continue
        try:
            line = lines.get_nowait()
        except Empty:
            continue
        if line is None:
            return
        answer = panel.take(line)
        if answer:
            say(answer)


def queued(lines: Iterable[str]) -> Queue[str | None]:
    """Lines that are all there already."""
    found: Queue[str | None] = Queue()
    for line in (*lines, None):
        found.put(line)
    return found
