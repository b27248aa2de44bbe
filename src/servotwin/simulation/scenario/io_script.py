"""What happens around the robot while a job runs: inputs that change, keys that an operator presses.

.. code-block:: yaml

    format: servotwin-io/1
    inputs: {IN1: on}                                          # at the start; all others are off
    events:
      - {at: 0.5 s, set: {IN2: on}}
      - {when: {OUT1: on}, after: 50 ms, set: {IN3: on}}       # whenever the output becomes so
      - {at: 1.2 s, press: override, percent: 30}
      - {at: 2 s, press: pause}

Handbook: docs/controller.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from servotwin.control.main.states import INTERNAL, Event
from servotwin.description.nodes import Node, parse_yaml, quoted
from servotwin.description.regular_file import IO_SCRIPT, read_text
from servotwin.description.units import did_you_mean, expectation, parse_quantity
from servotwin.errors import InputError
from servotwin.jobs.check import Signals
from servotwin.jobs.points_file import mapping_of

FORMAT = "servotwin-io/1"
KEYS = ("format", "inputs", "events")
SIGNALS = Signals()
EVENT_KEYS = ("at", "when", "after", "set", "press", "percent", "circuit")
WORDS = {"on": True, "off": False, "true": True, "false": False, "1": True, "0": False}
# Keys that make sense without further arguments, and the override.
PRESSABLE = tuple(
    e.value
    for e in (
        Event.PAUSE,
        Event.RESUME,
        Event.SINGLE_STEP,
        Event.STOP,
        Event.OVERRIDE,
        Event.EMERGENCY_STOP,
        Event.RUN,
        Event.RESET,
        Event.DISABLE,
    )
    if e not in INTERNAL
)


@dataclass(frozen=True)
class Action:
    """Inputs that change, a key, or the safety circuit, at the time ``at`` or ``after`` an output became so."""

    at: float | None = None  # s
    when: tuple[str, bool] | None = None
    after: float = 0.0  # s
    inputs: Mapping[str, bool] = field(default_factory=dict)
    press: str | None = None
    percent: int | None = None
    circuit: bool | None = None


@dataclass(frozen=True)
class IoScript:
    """A checked script."""

    inputs: Mapping[str, bool] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()


class Surroundings:
    """What a controller sees besides its arm: ``inputs``, safety ``circuit`` (closed), enabling switch ``dead_man``.

    They change by hand, or by a script that is played: ``due`` gives its actions whose time has come.
    """

    def __init__(self, script: IoScript | None = None) -> None:
        self.script = script or IoScript()
        self.inputs = dict(self.script.inputs)
        self.circuit = self.dead_man = True
        self._outputs: dict[str, bool] = {}
        self._queue: list[tuple[int, int, Action]] = []
        self._count = 0
        for action in self.script.actions:
            if action.at is not None:
                self._push(round(action.at * 1e9), action)

    def _push(self, time_ns: int, action: Action) -> None:
        heapq.heappush(self._queue, (time_ns, self._count, action))
        self._count += 1

    def outputs(self, now_ns: int, outputs: Mapping[str, bool]) -> list[tuple[str, bool]]:
        """See the outputs of the controller; those that have changed."""
        changed = [(name, on) for name, on in outputs.items() if self._outputs.get(name, False) != on]
        self._outputs = dict(outputs)
        for action in self.script.actions:
            if action.when in changed:
                self._push(now_ns + round(action.after * 1e9), action)
        return changed

    @property
    def pending(self) -> bool:
        """Whether something is still to come by itself."""
        return bool(self._queue)

    @property
    def next_ns(self) -> int | None:
        """When the next thing comes by itself; None if nothing does."""
        return self._queue[0][0] if self._queue else None

    def due(self, now_ns: int) -> list[Action]:
        """The actions up to now, in order; their inputs and the circuit have changed."""
        found = []
        while self._queue and self._queue[0][0] <= now_ns:
            action = heapq.heappop(self._queue)[2]
            self.inputs.update(action.inputs)
            if action.circuit is not None:
                self.circuit = action.circuit
            found.append(action)
        return found


def read_io_script(path: str | Path) -> IoScript:
    """The script in a file."""
    return parse_io_script(read_text(path, IO_SCRIPT), str(path))


def parse_io_script(text: str, file: str = "io") -> IoScript:
    """The script in YAML ``text``; ``file`` is the name shown in messages."""
    tree = parse_yaml(text, file)
    fields = mapping_of(tree, "", KEYS)
    stated = fields.get("format")
    if stated is None or stated.value != FORMAT:
        raise (stated or tree).error(f"expected {FORMAT}", "format")
    inputs = _switches(fields["inputs"], "inputs", SIGNALS.inputs) if "inputs" in fields else {}
    events = fields.get("events")
    if events is None or events.value is None:
        return IoScript(inputs)
    if not isinstance(events.value, list):
        raise events.error("expected a list of events", "events")
    return IoScript(inputs, tuple(_action(node, f"events.{i}") for i, node in enumerate(events.value)))


def _action(node: Node, at: str) -> Action:
    fields = mapping_of(node, at, EVENT_KEYS)
    if ("at" in fields) == ("when" in fields):
        raise node.error("expected either 'at' or 'when'", at)
    when = None
    if "when" in fields:
        switches = _switches(fields["when"], f"{at}.when", SIGNALS.outputs)
        if len(switches) != 1:
            raise fields["when"].error("expected one output, such as {OUT1: on}", f"{at}.when")
        when = next(iter(switches.items()))
    press = _key(fields["press"], f"{at}.press") if "press" in fields else None
    percent = _percent(fields["percent"], f"{at}.percent") if "percent" in fields else None
    if (press == Event.OVERRIDE.value) != (percent is not None):
        raise node.error("'percent' goes with press: override, and only with it", at)
    circuit = None
    if "circuit" in fields:
        if fields["circuit"].value not in ("open", "closed"):
            raise fields["circuit"].error("expected open or closed", f"{at}.circuit")
        circuit = fields["circuit"].value == "closed"
    inputs = _switches(fields["set"], f"{at}.set", SIGNALS.inputs) if "set" in fields else {}
    if not inputs and press is None and circuit is None:
        raise node.error("nothing happens; expected set, press or circuit", at)
    return Action(
        _time(fields["at"], f"{at}.at") if "at" in fields else None,
        when,
        _time(fields["after"], f"{at}.after") if "after" in fields else 0.0,
        inputs,
        press,
        percent,
        circuit,
    )


def _switches(node: Node, at: str, known: tuple[str, ...]) -> dict[str, bool]:
    if not isinstance(node.value, dict):
        raise node.error(f"expected names with on or off, such as {{{known[0]}: on}}", at)
    found = {}
    for name, child in node.value.items():
        if name not in known:
            hint = did_you_mean(name, list(known))
            kind = "input" if known == SIGNALS.inputs else "output"
            raise child.error(f"no {kind} {quoted(name)}; expected {known[0]} to {known[-1]}{hint}", at)
        word = WORDS.get(child.value.lower()) if isinstance(child.value, str) else None
        if word is None:
            raise child.error(f"{quoted(child.plain())}; expected on or off", f"{at}.{name}")
        found[name] = word
    return found


def _time(node: Node, at: str) -> float:
    if not isinstance(node.value, str):
        raise node.error(f"expected {expectation('s')}", at)
    try:
        seconds = parse_quantity(node.value, "s")
    except ValueError as error:
        raise node.error(str(error), at) from None
    if not 0.0 <= seconds <= 1e6:
        raise node.error(f"{quoted(node.value)}; expected zero or more", at)
    return seconds


def _key(node: Node, at: str) -> str:
    if node.value not in PRESSABLE:
        raise node.error(f"{quoted(node.plain())} is no key; expected one of {', '.join(PRESSABLE)}", at)
    return str(node.value)


def _percent(node: Node, at: str) -> int:
    text = node.value.removesuffix("%").strip() if isinstance(node.value, str) else ""
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise InputError(
            f"{quoted(node.plain())}; expected a whole number from 1 to 100",
            file=node.origin.file,
            line=node.origin.line or None,
            field=at,
        )
    return int(text)
