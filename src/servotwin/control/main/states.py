"""States of the main controller, events, and the table of all transitions between them.

The table is the whole state machine: an event that does not stand in the row of a state is refused with a
reason. ``docs/controller.md`` prints it, and a test compares the two.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import Final


class Mode(Enum):
    """What the key switch of the pendant says."""

    TEACH = "teach"
    PROGRAM = "program"
    PLAY = "play back"


class State(Enum):
    """What the controller is doing."""

    DISABLED = "disabled"  # drives without power, brakes closed
    ENABLING = "enabling"  # drives hold the arm where it stands, the brakes are opening
    READY = "ready"  # stands still under power
    JOGGING = "jogging"  # moves as long as a key is held
    MOVING = "moving"  # a planned motion of the operator: a step, or home
    RUNNING = "running"  # plays a job back
    STEPPING = "stepping"  # plays one instruction back
    PAUSING = "pausing"  # slows down on the path
    PAUSED = "paused"  # stands on the path
    STOPPING = "stopping"  # slows down, on the path if there is one, and gives it up
    HALTING = "halting"  # the same because of an alarm
    ALARM = "alarm"  # stands still under power until the alarm is reset
    FAULT = "fault"  # an alarm took the power
    EMERGENCY = "emergency"  # emergency stop or open safety circuit: no power


class Event(Enum):
    """What an operator asks for, and what the controller finds by itself."""

    ENABLE = "enable"
    DISABLE = "disable"
    MODE = "mode"
    JOG = "jog"
    RELEASE = "release"
    NUDGE = "nudge"  # a jog of a given length
    HOME = "home"
    GO_TO = "go to point"
    LOAD = "load"
    RUN = "run"
    PAUSE = "pause"
    RESUME = "resume"
    SINGLE_STEP = "single step"
    STEP_BACK = "step back"  # over the path that was played, to the begin of its last instruction
    STOP = "stop"
    OVERRIDE = "override"
    RECORD = "record point"
    DELETE = "delete point"
    RENAME = "rename point"
    EMERGENCY_STOP = "emergency stop"
    RESET = "reset"
    # found by the controller
    BRAKES_OPEN = "brakes open"
    AT_REST = "at rest"
    STEP_DONE = "step done"
    RESUME_STEP = "resume step"  # a resume of what a single step began
    FINISHED = "finished"
    SOFT_ALARM = "soft alarm"
    HARD_ALARM = "hard alarm"
    CIRCUIT_OPEN = "circuit open"


INTERNAL: Final = frozenset(
    (
        Event.BRAKES_OPEN,
        Event.AT_REST,
        Event.STEP_DONE,
        Event.RESUME_STEP,
        Event.FINISHED,
        Event.SOFT_ALARM,
        Event.HARD_ALARM,
        Event.CIRCUIT_OPEN,
    )
)
POWERED: Final = frozenset(
    (
        State.ENABLING,
        State.READY,
        State.JOGGING,
        State.MOVING,
        State.RUNNING,
        State.STEPPING,
        State.PAUSING,
        State.PAUSED,
        State.STOPPING,
        State.HALTING,
        State.ALARM,
    )
)
# States in which the reference may move; all are reached through ENABLE only.
MAY_MOVE: Final = POWERED - {State.ENABLING, State.READY, State.PAUSED, State.ALARM}

S, E = State, Event
_ROWS: dict[State, dict[Event, State]] = {
    S.DISABLED: {
        E.ENABLE: S.ENABLING,
        E.DISABLE: S.DISABLED,
        E.MODE: S.DISABLED,
        E.LOAD: S.DISABLED,
        E.OVERRIDE: S.DISABLED,
        E.RECORD: S.DISABLED,
        E.DELETE: S.DISABLED,
        E.RENAME: S.DISABLED,
    },
    S.ENABLING: {E.BRAKES_OPEN: S.READY, E.DISABLE: S.DISABLED, E.OVERRIDE: S.ENABLING},
    S.READY: {
        E.DISABLE: S.DISABLED,
        E.MODE: S.READY,
        E.JOG: S.JOGGING,
        E.RELEASE: S.READY,
        E.NUDGE: S.MOVING,
        E.HOME: S.MOVING,
        E.GO_TO: S.MOVING,
        E.LOAD: S.READY,
        E.RUN: S.RUNNING,
        E.SINGLE_STEP: S.STEPPING,
        E.STOP: S.READY,
        E.OVERRIDE: S.READY,
        E.RECORD: S.READY,
        E.DELETE: S.READY,
        E.RENAME: S.READY,
        E.SOFT_ALARM: S.ALARM,
    },
    S.JOGGING: {
        E.JOG: S.JOGGING,
        E.RELEASE: S.STOPPING,
        E.STOP: S.STOPPING,
        E.OVERRIDE: S.JOGGING,
        E.SOFT_ALARM: S.HALTING,
    },
    S.MOVING: {
        E.RELEASE: S.STOPPING,
        E.STOP: S.STOPPING,
        E.OVERRIDE: S.MOVING,
        E.FINISHED: S.READY,
        E.SOFT_ALARM: S.HALTING,
    },
    S.RUNNING: {
        E.PAUSE: S.PAUSING,
        E.STOP: S.STOPPING,
        E.OVERRIDE: S.RUNNING,
        E.FINISHED: S.READY,
        E.SOFT_ALARM: S.HALTING,
    },
    S.STEPPING: {
        E.PAUSE: S.PAUSING,
        E.STOP: S.STOPPING,
        E.OVERRIDE: S.STEPPING,
        E.STEP_DONE: S.PAUSED,
        E.FINISHED: S.READY,
        E.SOFT_ALARM: S.HALTING,
    },
    S.PAUSING: {
        E.PAUSE: S.PAUSING,
        E.RESUME: S.RUNNING,
        E.RESUME_STEP: S.STEPPING,
        E.STOP: S.STOPPING,
        E.OVERRIDE: S.PAUSING,
        E.AT_REST: S.PAUSED,
        E.SOFT_ALARM: S.HALTING,
    },
    S.PAUSED: {
        E.RESUME: S.RUNNING,
        E.RESUME_STEP: S.STEPPING,
        E.SINGLE_STEP: S.STEPPING,
        E.STEP_BACK: S.STEPPING,
        E.STOP: S.READY,
        E.DISABLE: S.DISABLED,
        E.OVERRIDE: S.PAUSED,
        E.SOFT_ALARM: S.ALARM,
    },
    S.STOPPING: {E.STOP: S.STOPPING, E.OVERRIDE: S.STOPPING, E.AT_REST: S.READY, E.SOFT_ALARM: S.HALTING},
    S.HALTING: {E.OVERRIDE: S.HALTING, E.AT_REST: S.ALARM, E.SOFT_ALARM: S.HALTING},
    S.ALARM: {E.RESET: S.READY, E.DISABLE: S.DISABLED, E.OVERRIDE: S.ALARM, E.SOFT_ALARM: S.ALARM},
    S.FAULT: {E.RESET: S.DISABLED, E.OVERRIDE: S.FAULT},
    S.EMERGENCY: {E.RESET: S.DISABLED, E.OVERRIDE: S.EMERGENCY},
}


def _table() -> dict[tuple[State, Event], State]:
    table = {(state, event): after for state, row in _ROWS.items() for event, after in row.items()}
    for state in State:
        table[state, E.EMERGENCY_STOP] = table[state, E.CIRCUIT_OPEN] = S.EMERGENCY
        table[state, E.HARD_ALARM] = S.EMERGENCY if state is S.EMERGENCY else S.FAULT
    return table


TRANSITIONS: Final = MappingProxyType(_table())

# Events that belong to a mode; the others are taken in every mode.
MODES_OF: Final = MappingProxyType(
    {
        Event.JOG: (Mode.TEACH,),
        Event.NUDGE: (Mode.TEACH,),
        Event.GO_TO: (Mode.TEACH,),
        Event.RECORD: (Mode.TEACH,),
        Event.DELETE: (Mode.TEACH, Mode.PROGRAM),
        Event.RENAME: (Mode.TEACH, Mode.PROGRAM),
        Event.HOME: (Mode.TEACH, Mode.PLAY),
        Event.LOAD: (Mode.PROGRAM, Mode.PLAY),
        Event.RUN: (Mode.PLAY,),
        Event.SINGLE_STEP: (Mode.PLAY,),
        Event.STEP_BACK: (Mode.PLAY,),
        Event.RESUME: (Mode.PLAY,),
    }
)

# The controller modes of Kim (2018), in this machinery: number, mode, and the events that move the arm in it.
PALLETIZER_MODES: Final = MappingProxyType(
    {
        -1: ("Disable", None, (Event.DISABLE,)),
        0: ("Home", Mode.TEACH, (Event.HOME,)),
        1: ("Joint", Mode.TEACH, (Event.JOG, Event.NUDGE)),
        2: ("Cartesian", Mode.TEACH, (Event.JOG, Event.NUDGE)),
        3: ("Trajectory", Mode.PLAY, (Event.RUN, Event.SINGLE_STEP, Event.RESUME)),
    }
)


def refusal(state: State, mode: Mode, event: Event) -> str | None:
    """Why an event is not taken in a state and mode; None if it is."""
    if (state, event) not in TRANSITIONS:
        takes = ", ".join(e.value for e in Event if (state, e) in TRANSITIONS and e not in INTERNAL)
        return f"'{event.value}' is not taken while {state.value}; expected one of: {takes}"
    modes = MODES_OF.get(event, tuple(Mode))
    if mode not in modes:
        wanted = " or ".join(m.value for m in modes)
        return f"'{event.value}' is not taken in mode {mode.value}; expected mode {wanted}"
    return None


def table_text() -> str:
    """The transitions as a Markdown table, one line for each pair of states."""
    lines = ["| state | event | next state |", "| --- | --- | --- |"]
    for state in State:
        after: dict[State, list[str]] = {}
        for event in Event:
            if (state, event) in TRANSITIONS:
                after.setdefault(TRANSITIONS[state, event], []).append(event.value)
        lines += [f"| {state.value} | {', '.join(events)} | {then.value} |" for then, events in after.items()]
    return "\n".join(lines)
