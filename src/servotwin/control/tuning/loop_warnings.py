"""What is wrong with the loops of axes: unstable, nearly so, or not nested; equal complaints become one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.loops import AxisLoops, Loop, axis_loops
from servotwin.control.tuning.sampled import AxisModel, Timing
from servotwin.control.tuning.valve import ValveModel
from servotwin.description.controller_parts import Margins
from servotwin.description.display import DEG

USUAL = Margins()
NESTING = 3.0  # an inner loop should cross over this many times faster than the one around it
SHOWN = 12  # axes that a line names
RUNNING = ("current", "pressure", "speed", "position")


@dataclass(frozen=True)
class LoopWarning:
    """One loop of one axis with one load: ``kind`` says what is wrong in general, ``text`` here, with numbers.

    The larger ``size`` [-], the worse; it compares warnings of one kind.
    """

    kind: str
    axis: str
    text: str
    size: float


def check_loops(
    axis: str,
    model: AxisModel | ValveModel,
    gains: Gains,
    timing: Timing,
    where: str = "",
    running: Sequence[str] = RUNNING,
    margins: Margins = USUAL,
) -> list[LoopWarning]:
    """Warnings about loops that oscillate, nearly do, or do not nest; [] if all is well.

    ``where`` says which load the model stands for, such as 'lightest load'; ``running`` names the loops
    that are closed.
    """
    return loop_warnings(axis, axis_loops(model, gains, timing), where, running, margins)


def loop_warnings(
    axis: str,
    loops: AxisLoops,
    where: str = "",
    running: Sequence[str] = RUNNING,
    margins: Margins = USUAL,
) -> list[LoopWarning]:
    """The warnings of ``check_loops`` for loops that are at hand."""
    place = f"axis {axis}, {where}, " if where else f"axis {axis}, "
    found = []
    judged = [loop for loop in loops.all if loop.name in running]
    for loop in judged:
        margin, phase = _margin_text(loop, margins), loop.phase_margin
        if not loop.stable:
            text = f"{place}{loop.name} loop: unstable ({margin})"
            found.append(LoopWarning(f"{loop.name} loop unstable", axis, text, -(loop.gain_margin or 0.0)))
            break  # the loops around it cannot be judged
        if phase is not None and phase < margins.phase:
            wanted = f"{DEG * margins.phase:.4g} deg"
            text = f"{place}{loop.name} loop: {margin}; expected at least {wanted}"
            found.append(LoopWarning(f"{loop.name} loop: phase margin below {wanted}", axis, text, -phase))
        gain = loop.gain_margin
        if gain is not None and gain < margins.gain:
            wanted = f"{margins.gain:.4g}"
            text = f"{place}{loop.name} loop: {margin}; expected a gain margin of at least {wanted}"
            found.append(LoopWarning(f"{loop.name} loop: gain margin below {wanted}", axis, text, -gain))
    valve = (
        loops.current.name == "pressure"
    )  # what is commanded goes to a valve at once, past the loops inside
    for inner, outer in pairwise(() if valve else judged):
        if not inner.stable or inner.crossover is None or outer.crossover is None:
            continue
        times = inner.crossover / outer.crossover
        if times >= NESTING:
            continue
        kind = f"{inner.name} loop crosses over less than {NESTING:g} times as fast as the {outer.name} loop"
        text = (
            f"{place}{inner.name} loop crosses over at {inner.crossover:.0f} rad/s, only "
            f"{times:.2f} times the {outer.name} loop's "
            f"{outer.crossover:.0f} rad/s; expected at least {NESTING:g} times"
        )
        found.append(LoopWarning(kind, axis, text, -times))
    return found


def summarised(warnings: Iterable[LoopWarning]) -> list[str]:
    """One line for each kind of warning: the worst one whole, and the axes it concerns."""
    kinds: dict[str, list[LoopWarning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, []).append(warning)
    lines = []
    for kind, group in kinds.items():
        worst = max(group, key=lambda warning: warning.size)
        axes = list(dict.fromkeys(warning.axis for warning in group))
        if len(group) == 1:
            lines.append(worst.text)
            continue
        named = f"ax{'i' if len(axes) == 1 else 'e'}s {', '.join(axes[:SHOWN])}{', ...' if len(axes) > SHOWN else ''}"
        lines.append(f"{kind}: {named}; worst: {worst.text}")
    return lines


def _margin_text(loop: Loop, margins: Margins = USUAL) -> str:
    parts = []
    if loop.phase_margin is not None:
        parts.append(f"phase margin {_below(DEG * loop.phase_margin, DEG * margins.phase, 0)} deg")
    if loop.gain_margin is not None:
        parts.append(f"gain margin {_below(loop.gain_margin, margins.gain, 2)}")
    return ", ".join(parts) or "no margin"


def _below(value: float, least: float, digits: int) -> str:
    """The value with as many digits as show that it is below what is expected: 29.6, not 30."""
    wanted = round(least, 9)
    tried = range(digits, digits + (4 if value < wanted else 1))
    texts = [f"{value:.{n}f}" for n in tried]
    return next((text for text in texts if float(text) != wanted), texts[-1])
