"""Which windows carried a run, and why some of them were left to the steps from edge to edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from servotwin.simulation.windows.choice import Rejection, Window

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

WORTH_A_LINE = 0.01  # of the windows from edge to edge
REASONS = {
    Rejection.END_STOP: "end stop",
    Rejection.EVENT: "event",
    Rejection.FORCE_JUMP: "jump of a force",
    Rejection.COARSE_STEP: "step too coarse",
    Rejection.MANY_EVENTS: "too many events",
    Rejection.BUS_CHANGE: "change of the bus voltage",
    Rejection.BENT_LOAD: "bent path of a load",
    Rejection.JOINT_FRICTION: "joint sticks or lets go",
}


def window_summary(machine: Machine) -> dict[str, Any]:
    """Number of windows, how many each kind carried, those that were left to steps by reason, and their share."""
    counts = machine.world[0]["counts"]
    carried = {window.name.lower(): int(counts["carried"][window]) for window in Window}
    rejected = {reason.name.lower(): int(counts["rejected"][reason]) for reason in REASONS}
    number = sum(carried.values())
    steps = carried[Window.EVENT_STEPS.name.lower()]
    return {
        "number": number,
        "carried": {name: count for name, count in carried.items() if count},
        "rejected": {name: count for name, count in rejected.items() if count},
        "edge_to_edge_share": steps / number if number else 0.0,
    }


def window_words(windows: Mapping[str, Any] | None) -> str:
    """What a reader should know: the share of windows that `fast` left to the steps from edge to edge, and why.

    Empty where that share is small, and for methods that take all windows from edge to edge.

    >>> window_words({"number": 200, "rejected": {"end_stop": 4, "event": 46}, "edge_to_edge_share": 0.25})
    '25 % of 200 windows were carried from edge to edge: event 46, end stop 4'
    >>> window_words({"number": 200, "rejected": {"bent_load": 200}, "edge_to_edge_share": 1.0})
    '100 % of 200 windows were carried from edge to edge: bent path of a load 200'
    """
    if not windows or not windows["rejected"] or windows["edge_to_edge_share"] < WORTH_A_LINE:
        return ""
    often = sorted(windows["rejected"].items(), key=lambda item: -item[1])
    why = ", ".join(f"{REASONS[Rejection[name.upper()]]} {count}" for name, count in often)
    percent = 100.0 * windows["edge_to_edge_share"]
    share = f"{percent:.2g}" if percent < 10.0 else f"{percent:.0f}"
    return f"{share} % of {windows['number']} windows were carried from edge to edge: {why}"
