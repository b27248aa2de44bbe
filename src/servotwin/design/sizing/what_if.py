"""How far payload or speed can go before the first margin breaks, and which it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servotwin.description.power_parts import Power
from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.evaluate import Check, Rules, demand_of
from servotwin.design.sizing.load import Load
from servotwin.errors import InputError

QUESTIONS = ("payload", "speed")
CLOSE = 1e-4  # relative, of the answer
MOST_PAYLOAD = 1e4  # kg
FASTEST, SLOWEST = 64.0, 1.0 / 64.0


@dataclass(frozen=True)
class WhatIf:
    """The largest payload [kg] or speed (factor) that every margin allows; the check that breaks next, and its axis.

    ``value`` None: not even the least is allowed. ``open`` True: nothing breaks within what was tried.
    """

    question: str
    value: float | None
    unit: str
    axis: str
    check: Check | None
    cycle_time: float | None = None  # [s] at that speed
    open: bool = False


def what_if(
    question: str,
    load: Load,
    actuators: Sequence[Actuator],
    power: Power | None,
    rules: Rules,
    payload: float = 0.0,
) -> WhatIf:
    """How far a question can go; ``payload`` [kg] that the load contains."""
    if question not in QUESTIONS:
        raise InputError(f"'{question}' is unknown; expected {' or '.join(QUESTIONS)}", field="--what-if")
    if question == "payload":
        low, high = -payload, MOST_PAYLOAD

        def changed(x: float) -> Load:
            return load.with_payload(x)

        found = _edge(changed, 0.0, low, high, max(payload, 1.0), load, actuators, power, rules)
        value = None if found[0] is None else found[0] + payload
        return WhatIf(question, value, "kg", found[1], found[2], open=found[3])
    found = _edge(load.faster, 1.0, SLOWEST, FASTEST, 1.0, load, actuators, power, rules)
    time = None if found[0] is None else load.faster(found[0]).duty.period
    return WhatIf(question, found[0], "times", found[1], found[2], time, found[3])


Edge = tuple[float | None, str, Check | None, bool]


def _edge(
    changed: Callable[[float], Load],
    start: float,
    low: float,
    high: float,
    step: float,
    load: Load,
    actuators: Sequence[Actuator],
    power: Power | None,
    rules: Rules,
) -> Edge:
    """The last value that passes on the way from ``start`` up, or down if ``start`` does not pass."""

    def worst(x: float) -> tuple[float, str, Check | None]:
        return worst_of(changed(x), actuators, power, rules)

    begin = worst(start)
    if begin[2] is None:
        raise InputError(
            "nothing limits it: the file states no ratings of motors and gears; expected some, or a search of a "
            "catalogue (--minimise price)",
            field="--what-if",
        )
    if begin[0] > 1.0:
        least = worst(low)
        if least[0] > 1.0:
            return None, least[1], least[2], False
        good, bad = low, start
    else:
        good, bad = start, start + step
        while worst(bad)[0] <= 1.0:
            good, bad = bad, start + 2.0 * (bad - start)
            if bad > high:
                at = worst(good)
                return good, at[1], at[2], True
    while abs(bad - good) > CLOSE * max(abs(good), abs(step)):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if worst(middle)[0] <= 1.0 else (good, middle)
    at = worst(bad)
    return good, at[1], at[2], False


def worst_of(
    load: Load, actuators: Sequence[Actuator], power: Power | None, rules: Rules
) -> tuple[float, str, Check | None]:
    """The largest share of a limit that a load uses, its axis and check; zero without any limit."""
    found = (0.0, "", None)
    for j, actuator in enumerate(actuators):
        check = demand_of(load, j, actuator, power, rules).worst
        if check is not None and check.share > found[0]:
            found = (check.share, load.names[j], check)  # type: ignore[assignment]
    return found
