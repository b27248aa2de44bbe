"""A job as text: one layout for every job, comments kept.

Keywords in capitals, two spaces for each block, one space between words, at
most one empty line in a row. ``parse(format_job(job)) == job``.
"""

from __future__ import annotations

from functools import singledispatch

from servotwin.jobs import syntax as s

INDENT = "  "


def format_job(job: s.Job) -> str:
    """The text of a job, in the one layout."""
    lines: list[str] = []
    _body(job.body, 0, lines)
    return "".join(line + "\n" for line in lines)


def number_text(number: float) -> str:
    """The shortest text that reads back to the number."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def amount_text(amount: s.Amount) -> str:
    """A number with its unit: ``5 mm``, ``50%``."""
    number = number_text(amount.number)
    return f"{number}{amount.unit}" if amount.unit in ("", "%") else f"{number} {amount.unit}"


def _body(body: tuple[s.Statement, ...], depth: int, lines: list[str]) -> None:
    for statement in body:
        _lines(statement, depth, lines)


def _put(text: str, comment: str, depth: int, lines: list[str]) -> None:
    marked = f"# {comment}" if comment else ""
    line = "  ".join(part for part in (text, marked) if part)
    lines.append(INDENT * depth + line if line else "")


def _lines(statement: s.Statement, depth: int, lines: list[str]) -> None:
    """Add the lines of a statement, its block included."""
    _put(text_of(statement), statement.comment, depth, lines)
    if isinstance(statement, s.If):
        _body(statement.body, depth + 1, lines)
        if statement.otherwise is not None:
            _put("ELSE", statement.else_comment, depth, lines)
            _body(statement.otherwise, depth + 1, lines)
    elif isinstance(statement, s.Repeat | s.Sub):
        _body(statement.body, depth + 1, lines)
    elif isinstance(statement, s.WaitFor) and statement.otherwise is not None:
        _body(statement.otherwise, depth + 1, lines)
    else:
        return
    _put("END", statement.end_comment, depth, lines)


# --- the text of one line --------------------------------------------------------------------------


@singledispatch
def text_of(statement: s.Statement) -> str:
    """The first line of a statement, without its comment."""
    raise TypeError(type(statement).__name__)


def _offset(offset: s.Offset | None) -> str:
    if offset is None:
        return ""
    amounts = ", ".join(amount_text(a) for a in (offset.x, offset.y, offset.z))
    return f" OFFSET {'TOOL ' if offset.tool else ''}{amounts}"


def _target(target: s.Target) -> str:
    if isinstance(target, s.PointTarget):
        return f"{target.point}{_offset(target.offset)}"
    above = "" if target.above is None else f" ABOVE {amount_text(target.above)}"
    return f"PALLET {target.pallet}{above}{_offset(target.offset)}"


def _manner(manner: s.Manner) -> str:
    amounts = {"SPEED": manner.speed, "TIME": manner.time, "ACC": manner.acc, "BLEND": manner.blend}
    text = "".join(f" {word} {amount_text(a)}" for word, a in amounts.items() if a is not None)
    text = text if manner.profile is None else f"{text} PROFILE {manner.profile}"
    text = f"{text} OPTIMAL" if manner.optimal else text
    return text if manner.energy is None else f"{text} ENERGY {amount_text(manner.energy)}"


def _state(on: bool) -> str:
    return "ON" if on else "OFF"


def _condition(condition: s.Condition) -> str:
    if isinstance(condition, s.SignalIs):
        return f"{condition.signal} {_state(condition.on)}"
    if isinstance(condition, s.Compare):
        return f"{condition.variable} {condition.sign} {condition.value}"
    return f"PALLET {condition.pallet} FULL"


@text_of.register
def _(statement: s.Nothing) -> str:
    return ""


@text_of.register
def _(statement: s.MoveJ) -> str:
    return f"MOVEJ {_target(statement.target)}{_manner(statement.manner)}"


@text_of.register
def _(statement: s.MoveL) -> str:
    return f"MOVEL {_target(statement.target)}{_manner(statement.manner)}"


@text_of.register
def _(statement: s.MoveC) -> str:
    via, target = _target(statement.via), _target(statement.target)
    return f"MOVEC VIA {via} TO {target}{_manner(statement.manner)}"


@text_of.register
def _(statement: s.Spline) -> str:
    return f"SPLINE {' '.join(statement.points)}{_manner(statement.manner)}"


@text_of.register
def _(statement: s.SpeedDefault) -> str:
    return f"SPEED {amount_text(statement.speed)}"


@text_of.register
def _(statement: s.ProfileDefault) -> str:
    return f"PROFILE {statement.profile}"


@text_of.register
def _(statement: s.ShaperDefault) -> str:
    return f"SHAPER {statement.shaper or 'NONE'}"


@text_of.register
def _(statement: s.UseTool) -> str:
    return f"TOOL {statement.tool or 'NONE'}"


@text_of.register
def _(statement: s.UseFrame) -> str:
    return f"FRAME {statement.frame or 'BASE'}"


@text_of.register
def _(statement: s.Wait) -> str:
    return f"WAIT {amount_text(statement.time)}"


@text_of.register
def _(statement: s.SetOutput) -> str:
    return f"SET {statement.output} {_state(statement.on)}"


@text_of.register
def _(statement: s.WaitFor) -> str:
    timeout = "" if statement.timeout is None else f" TIMEOUT {amount_text(statement.timeout)}"
    block = "" if statement.otherwise is None else " ELSE"
    return f"WAITFOR {statement.signal} {_state(statement.on)}{timeout}{block}"


@text_of.register
def _(statement: s.Let) -> str:
    return f"LET {statement.variable} = {statement.value}"


@text_of.register
def _(statement: s.Inc) -> str:
    return f"INC {statement.variable}" + ("" if statement.by == 1 else f" BY {statement.by}")


@text_of.register
def _(statement: s.Next) -> str:
    return f"NEXT {statement.pallet}"


@text_of.register
def _(statement: s.Reset) -> str:
    return f"RESET {statement.pallet}"


@text_of.register
def _(statement: s.Call) -> str:
    return f"CALL {statement.name}"


@text_of.register
def _(statement: s.CallFile) -> str:
    return f'CALL "{statement.path}"'


@text_of.register
def _(statement: s.Alarm) -> str:
    return f'ALARM "{statement.text}"'


@text_of.register
def _(statement: s.Break) -> str:
    return "BREAK"


@text_of.register
def _(statement: s.Return) -> str:
    return "RETURN"


@text_of.register
def _(statement: s.Stop) -> str:
    return "STOP"


@text_of.register
def _(statement: s.Repeat) -> str:
    if statement.times is None:
        return "REPEAT FOREVER"
    return f"REPEAT {'PALLET ' if isinstance(statement.times, str) else ''}{statement.times}"


@text_of.register
def _(statement: s.If) -> str:
    return f"IF {_condition(statement.condition)}"


@text_of.register
def _(statement: s.Sub) -> str:
    return f"SUB {statement.name}"


@text_of.register
def _(statement: s.Pallet) -> str:
    words = [f"PALLET {statement.name}"]
    counts = {"ROWS": statement.rows, "COLUMNS": statement.columns, "LAYERS": statement.layers}
    words += [f"{word} {count}" for word, count in counts.items() if count > 1]
    points = {"ORIGIN": statement.origin, "ROW": statement.row, "COLUMN": statement.column}
    words += [f"{word} {point}" for word, point in points.items() if point is not None]
    words += [f"LAYER {amount_text(statement.layer)}"] if statement.layer is not None else []
    return " ".join(words)
