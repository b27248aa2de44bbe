"""What the console says of a refused key: what is refused, why, and which key helps."""

from __future__ import annotations

from servotwin.control.main.jogging import Frame
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import MAY_MOVE, MODES_OF, POWERED, TRANSITIONS, Event, Mode, State

ASKED = {
    Event.ENABLE: "switch the power on",
    Event.DISABLE: "switch the power off",
    Event.MODE: "change the mode",
    Event.JOG: "jog",
    Event.RELEASE: "jog",
    Event.NUDGE: "jog",
    Event.HOME: "go home",
    Event.GO_TO: "go to a point",
    Event.LOAD: "load a job",
    Event.RUN: "run the job",
    Event.PAUSE: "pause",
    Event.RESUME: "go on with the job",
    Event.SINGLE_STEP: "carry out a single step",
    Event.STEP_BACK: "step back",
    Event.STOP: "stop",
    Event.OVERRIDE: "change the override",
    Event.RECORD: "record a point",
    Event.DELETE: "delete a point",
    Event.RENAME: "rename a point",
    Event.EMERGENCY_STOP: "stop",
    Event.RESET: "reset",
}
# Why hardly anything is possible in a state, and what the operator does about it.
BECAUSE = {
    State.DISABLED: ("the drives have no power", "press p for power"),
    State.ENABLING: ("the brakes are still opening", "wait a moment"),
    State.READY: ("the arm stands and waits", "press one of the keys below"),
    State.JOGGING: ("a key still jogs the arm", "let it go, or press space to stop"),
    State.MOVING: ("the arm is on its way", "wait until it stands, or press space to stop"),
    State.RUNNING: ("a job is running", "press b to pause it or space to stop"),
    State.STEPPING: ("an instruction is being carried out", "wait for its end, or press space to stop"),
    State.PAUSING: ("the job is coming to a pause", "wait until the arm stands"),
    State.PAUSED: ("a job is paused", "press b to go on or space to give it up"),
    State.STOPPING: ("the arm is slowing down", "wait until it stands"),
    State.HALTING: ("an alarm is stopping the arm", "wait until it stands, then press z to reset"),
    State.ALARM: ("there is an alarm", "clear its cause, then press z to reset"),
    State.FAULT: ("an alarm took the power", "clear its cause, then press z to reset and p for power"),
    State.EMERGENCY: ("the emergency stop took the power", "press z to reset, then p for power"),
}
PLAYING = (State.RUNNING, State.STEPPING, State.PAUSING, State.PAUSED)
POINT_KEYS = (Event.RECORD, Event.DELETE, Event.RENAME, Event.GO_TO)


def refused(controller: MainController, event: Event, state: State, reason: str, frame: Frame) -> str:
    """A refusal for the operator.

    ``event`` was refused in ``state`` for the controller's ``reason``; jogs are in ``frame``.
    """
    mode = controller.mode
    if (state, event) not in TRANSITIONS:
        return _by_state(state, event)
    modes = MODES_OF.get(event, tuple(Mode))
    asked = ASKED[event]
    if mode not in modes:
        wanted = " or ".join(m.value for m in modes)
        return f"cannot {asked} in mode {mode.value}; press m until the mode is {wanted}"
    if event in (Event.RUN, Event.SINGLE_STEP) and controller.program is None:
        return f"cannot {asked}: no job is loaded; press l and type the name of one"
    if event in POINT_KEYS and controller.points is None:
        return f"cannot {asked}: there is no points file; press Q and start again with --points FILE"
    if event in (Event.JOG, Event.NUDGE):
        other = "press s for another step" if frame == "joint" else "press f until it says joint"
        return f"cannot {asked}: {reason}; jog another way, or {other}"
    if event is Event.RECORD and "exists" in reason:
        return f"cannot {asked}: {reason.partition(';')[0]}; take another name, or press A to replace it"
    return f"cannot {asked}: {reason}"


def _by_state(state: State, event: Event) -> str:
    """A refusal because of what the controller is doing."""
    why, remedy = BECAUSE[state]
    if event is Event.STOP and state not in MAY_MOVE:
        return "nothing to stop: the arm stands still"
    if event is Event.RESET and state is not State.HALTING:
        return "nothing to reset: there is no alarm"
    if event is Event.PAUSE and state not in PLAYING:
        return f"nothing to pause: no job is running{_to_run(state)}"
    asked = ASKED[event]
    if event is Event.DISABLE and state not in POWERED:  # one key switches the power, on or off
        asked = ASKED[Event.ENABLE]
    return f"cannot {asked}: {why}; {remedy}"


def _to_run(state: State) -> str:
    return "; press g to run one" if state is State.READY else ""
