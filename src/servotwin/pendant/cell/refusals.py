"""Why a key of the pendant is not taken, in the words that stand on its page."""

from __future__ import annotations

from servotwin.control.main.states import TRANSITIONS, Event, State
from servotwin.pendant.cell.messages import Request

WHY_NOT = {
    State.DISABLED: "the drives have no power; press Power on",
    State.ENABLING: "the brakes are opening; wait until the arm is ready",
    State.PAUSED: "a job is paused; press Stop to give it up",
    State.ALARM: "an alarm is shown; press Reset first",
    State.FAULT: "an alarm took the power; press Reset, then Power on",
    State.EMERGENCY: "emergency stop; press Reset, then Power on",
}
WHEN = {
    State.DISABLED: "without power; press Power on first",
    State.ENABLING: "while the brakes open; wait until the arm is ready",
    State.READY: "while the arm is ready",
    State.HALTING: "while the arm stops because of an alarm; wait until it stands, then press Reset",
    State.PAUSED: "while a job is paused; press Resume, or Stop to give it up",
    State.ALARM: "while an alarm is shown; press Reset first",
    State.FAULT: "after an alarm that took the power; press Reset first",
    State.EMERGENCY: "after an emergency stop; press Reset first",
}
MOVES = "while the arm moves; wait until it stands, or press Stop"
NOTHING = {  # what a key has nothing to do with, if no alarm is shown
    Event.ENABLE: "the drives have power",
    Event.RESET: "no alarm is shown",
    Event.STOP: "nothing moves",
    Event.PAUSE: "no job runs",
    Event.RESUME: "no job is paused",
    Event.STEP_BACK: "no job is paused",
}
ALARMED = (State.HALTING, State.ALARM, State.FAULT, State.EMERGENCY)
KEYS: dict[str, tuple[Event, str]] = {  # what a page asks for: the event, and the name of its key
    "enable": (Event.ENABLE, "Power on"),
    "disable": (Event.DISABLE, "Power off"),
    "reset": (Event.RESET, "Reset"),
    "stop": (Event.STOP, "Stop"),
    "pause": (Event.PAUSE, "Pause"),
    "step": (Event.NUDGE, "A step"),
    "home": (Event.HOME, "Home"),
    "go to": (Event.GO_TO, "Go"),
    "run": (Event.RUN, "Start"),
    "resume": (Event.RESUME, "Resume"),
    "single step": (Event.SINGLE_STEP, "One instruction"),
    "step back": (Event.STEP_BACK, "Back"),
    "record": (Event.RECORD, "Record"),
    "delete": (Event.DELETE, "Delete"),
    "rename": (Event.RENAME, "Rename"),
}
MENU_KEYS = {-1: (Event.DISABLE, "Disable"), 0: (Event.HOME, "Home")}


def refused_key(request: Request, state: State) -> str:
    """Why a key is not taken in a state; empty where the state takes it, and the reason is another one."""
    found = KEYS.get(request.name)
    if request.name == "menu":
        found = MENU_KEYS.get(request.arguments["number"])
    if found is None or (state, found[0]) in TRANSITIONS:
        return ""
    event, name = found
    if event in NOTHING and state not in ALARMED:
        return f"{name} is not taken: {NOTHING[event]}"
    return f"{name} is not taken {WHEN.get(state, MOVES)}"
