"""What the console shows, as text for a terminal of any kind."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from servotwin.cli.console_session import STEPS, Session
from servotwin.cli.jog import joint_values, tool_values
from servotwin.cli.output import fixed
from servotwin.control.main.states import MAY_MOVE, POWERED, State
from servotwin.description.plain_text import visible
from servotwin.report.labels import joint_units

BAR = 20  # characters for the range of a joint
AROUND = 3  # lines of a job before and after the one under way
MOST_POINTS = 12
HELP = (
    "1..{n} and {minus} jog +/-   f frame   s step   space stop   esc EMERGENCY STOP   z reset   p power   m mode",
    "a record   A replace   d delete   n rename   G go to point   h home   l load   g run   b pause/resume   "
    "k single step   + - override   v input   Q stop and leave",
)


def screen(session: Session) -> RenderableType:
    """The whole screen."""
    # What must be seen stands first: a small terminal cuts the end.
    parts: list[RenderableType] = [_title(session), _last_line(session)]
    parts += [Text(f"ALARM  {alarm}", style="bold red") for alarm in session.controller.alarms]
    parts += [Text(), _positions(session)]
    if session.points is not None:
        parts.append(_points(session))
    if session.sources:
        parts += [Text(), _job(session)]
    signals = _signals(session)
    if signals:
        parts.append(Text(f"signals  {signals}"))
    parts += [Text(), *_help(session)]
    return Group(*parts)


def screen_text(session: Session, width: int = 110) -> str:
    """The screen as plain text."""
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(screen(session))
    return captured.get()


def _title(session: Session) -> Text:
    controller = session.controller
    state = controller.state
    style = "bold green" if state in POWERED else "bold"
    if state in MAY_MOVE:
        style = "bold yellow"
    if state in (State.ALARM, State.FAULT, State.EMERGENCY):
        style = "bold red"
    size = STEPS[session.step]
    step = "held" if size is None else f"{size:g} deg/mm"
    return Text.assemble(
        (f"{session.robot.name}  ", "bold"),
        (state.value.upper(), style),
        f"   mode {controller.mode.value}   override {controller.override} %   jog in {session.frame}, {step}",
    )


def _positions(session: Session) -> Table:
    q = session.controller.reference.q if session.controller.state in POWERED else session.live.q
    limits = session.robot.limits
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title, justify in (("joint", "left"), ("position", "right"), ("", "left"), ("range", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for title, justify in (("tool", "left"), ("position", "right"), ("", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    joints, tool = joint_values(session.robot, q), tool_values(session.robot, q)
    for i in range(max(len(joints), len(tool))):
        row = ["", "", "", ""]
        if i < len(joints):
            name, value, unit = joints[i]
            factor = joint_units(session.robot.joint_units[i]).factor
            bar = _bar(value, factor * limits.q_min[i], factor * limits.q_max[i])
            row = [f"{i + 1} {name}", fixed(value, 3), unit, bar]
        if i < len(tool):
            name, value, unit = tool[i]
            row += [f"{i + 1} {name}", fixed(value, 3), unit]
        table.add_row(*(Text(cell) for cell in row))
    return table


def _bar(value: float, low: float, high: float) -> str:
    """Where a joint stands in its range; empty if it has none."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return ""
    place = round((BAR - 1) * min(max((value - low) / (high - low), 0.0), 1.0))
    return f"{low:g} " + "".join("#" if k == place else "-" for k in range(BAR)) + f" {high:g}"


def _points(session: Session) -> Text:
    assert session.points is not None
    names = list(session.points.points.points)
    more = f" and {len(names) - MOST_POINTS} more" if len(names) > MOST_POINTS else ""
    return Text(f"points  {' '.join(names[-MOST_POINTS:]) or 'none yet'}{more}")


def _job(session: Session) -> Group:
    """The lines around the one under way, of the job or of the file that it calls."""
    line, file = session.live.command.line, session.live.command.file
    called = file if file in session.sources else ""
    source = session.sources[called]
    middle = (line or 1) - 1
    first = max(0, min(middle - AROUND, len(source) - 2 * AROUND - 1))
    shown: list[RenderableType] = (
        [Text(visible(_called_file(session, called)), style="dim")] if called else []
    )
    for i, text in enumerate(source[first : first + 2 * AROUND + 1], first + 1):
        here = i == line
        mark = ">" if here else " "
        line_text = Text(f"{mark}{i:4d}  {text}", style="bold" if here else "dim")
        line_text.no_wrap, line_text.overflow = True, "ellipsis"
        shown.append(line_text)
    return Group(*shown)


def _called_file(session: Session, file: str) -> str:
    """A file that the job calls, as the job names it."""
    from servotwin.jobs.program import shown_file

    return shown_file(file, session.program.job.file if session.program is not None else "")


def _signals(session: Session) -> str:
    found = {**session.live.inputs, **session.controller.outputs}
    return "  ".join(f"{name} {'ON' if on else 'OFF'}" for name, on in sorted(found.items()))


def _last_line(session: Session) -> Text:
    if session.prompt is not None:
        return Text(f"{session.prompt.question}: {session.prompt.text}_", style="bold")
    return Text(visible(session.message))


def _help(session: Session) -> list[Text]:
    from servotwin.cli.console_session import MINUS

    n = session.axis_count
    return [Text(line.format(n=n, minus=f"{MINUS[0]}..{MINUS[n - 1]}"), style="dim") for line in HELP]
