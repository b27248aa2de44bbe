"""From the parse tree to the parts of a job, from the leaves up and without recursion.

What the grammar cannot say is checked here: dimensions of amounts, ranges,
what is given twice, the depth of blocks.
"""

from __future__ import annotations

from typing import Any

from lark import Token
from lark.visitors import Transformer_NonRecursive

from servotwin.description.nodes import quoted
from servotwin.description.quantities import dimension_name
from servotwin.description.units import did_you_mean, dimension_of
from servotwin.jobs import syntax as s
from servotwin.jobs.problems import JobError
from servotwin.jobs.words import MAX_WHOLE, PROFILES, SHAPERS

LENGTH, TIME, SPEED, ACCELERATION, ENERGY = (dimension_of(u) for u in ("m", "s", "m/s", "m/s^2", "s/J"))
_EXAMPLES = {LENGTH: "5 mm", TIME: "0.2 s", SPEED: "0.5 m/s", ACCELERATION: "1 m/s2", ENERGY: "0.02 s/J"}
_LARGEST = 1e6  # in SI units, of any amount
_SHARE = "a share such as 50%"


class Tail(str):
    """The comment at the end of a line, without its mark."""

    __slots__ = ()


class Part(tuple[str, Any, s.Place]):
    """A modifier of a move or a part of a pallet: its keyword, its value, its place."""

    __slots__ = ()


def place(token: Token) -> s.Place:
    """Where a token stands."""
    return s.Place(token.line or 0, token.column or 0)


class Builder(Transformer_NonRecursive[Token, s.Job]):
    """One method for each rule of ``job.lark``, with the parts of the rule as a list."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file

    # --- words ------------------------------------------------------------------------------------
    def error(self, message: str, at: s.Place) -> JobError:
        """An error at a place of this file."""
        return JobError(message, file=self.file, place=at)

    def name(self, token: Token) -> s.Name:
        """The name in a token."""
        if len(token) > 60:
            raise self.error(f"{quoted(token)} is too long a name; expected at most 60 letters", place(token))
        return s.Name(str(token), place(token))

    def whole(self, token: Token, low: int, high: int, what: str) -> int:
        """The whole number in a token, within a range."""
        number = float(token)
        if not (number.is_integer() and low <= number <= high):
            raise self.error(f"{quoted(token)}; expected {what} from {low} to {high}", place(token))
        return int(number)

    def amount(self, parts: list[Any]) -> s.Amount:
        """A number with or without unit."""
        number, unit = parts
        text = str(unit or "").replace("^", "")
        made = s.Amount(float(number) + 0.0, text, place(number))
        if abs(made.si) > _LARGEST:
            raise self.error(f"{quoted(number)} is too large; expected at most 1e6 in SI units", made.place)
        return made

    def expect(
        self, amount: s.Amount, what: str, dimensions: tuple[Any, ...], share: bool = False
    ) -> s.Amount:
        """The amount, if it has one of the dimensions, or is a share of at most 100 % where one may stand."""
        expected = [f"{dimension_name(d)} such as {_EXAMPLES[d]}" for d in dimensions] + [_SHARE] * share
        words = " or ".join(expected)
        if amount.is_share and share:
            if not 0 < amount.si <= 1:
                raise self.error(
                    f"{what} {_text(amount)} is out of range; expected above 0% to 100%", amount.place
                )
            return amount
        if not amount.is_share and amount.dimension in dimensions:
            return amount
        stands = "has no unit" if not amount.unit else f"is {_dimension(amount)}"
        raise self.error(f"{what} {_text(amount)} {stands}; expected {words}", amount.place)

    def positive(self, amount: s.Amount, what: str) -> s.Amount:
        """The amount, if it is above zero."""
        if amount.si <= 0:
            raise self.error(f"{what} {_text(amount)}; expected more than zero", amount.place)
        return amount

    def operand(self, parts: list[Token]) -> int | s.Name:
        """A whole number or the name of a variable."""
        (token,) = parts
        if token.type == "NAME":
            return self.name(token)
        return self.whole(token, -MAX_WHOLE, MAX_WHOLE, "a whole number")

    def tail(self, parts: list[Token | None]) -> Tail:
        """The comment of a line."""
        comment = parts[0]
        return Tail("" if comment is None else str(comment)[1:].strip())

    # --- moves ------------------------------------------------------------------------------------
    def above(self, parts: list[Any]) -> s.Amount:
        """A height above a pallet place."""
        return self.expect(parts[1], "ABOVE", (LENGTH,))

    def offset(self, parts: list[Any]) -> s.Offset:
        """A shift."""
        x, y, z = (self.expect(p, "OFFSET", (LENGTH,)) for p in parts if isinstance(p, s.Amount))
        return s.Offset(x, y, z, tool=parts[1] is not None)

    def point_target(self, parts: list[Any]) -> s.PointTarget:
        """A point."""
        return s.PointTarget(self.name(parts[0]), parts[1])

    def pallet_target(self, parts: list[Any]) -> s.PalletTarget:
        """A place of a pallet."""
        return s.PalletTarget(self.name(parts[1]), parts[2], parts[3])

    def profile(self, token: Token) -> s.Name:
        """The name of a velocity profile."""
        name = s.Name(str(token).lower(), place(token))
        if name not in PROFILES:
            hint = did_you_mean(name, list(PROFILES))
            raise self.error(
                f"no profile {quoted(token)}; expected one of {', '.join(PROFILES)}{hint}", place(token)
            )
        return name

    def modifier(self, parts: list[Any]) -> Part:
        """SPEED, TIME, ACC, BLEND, PROFILE or ENERGY with its value, or OPTIMAL."""
        word, value = parts[0], parts[-1]
        key = str(word.type)
        if key == "PROFILE":
            value = self.profile(value)
        return Part((key, value, place(word)))

    def manner(self, kind: str, parts: list[Any]) -> s.Manner:
        """The modifiers of a move, each once, with the dimensions that fit this kind of move."""
        joints = kind == "MOVEJ"
        found: dict[str, Any] = {}
        for key, value, at in (p for p in parts if isinstance(p, Part)):
            if key in found:
                raise self.error(f"{key} is given twice; expected it once", at)
            if {key, *found} >= {"SPEED", "TIME"}:
                raise self.error("SPEED and TIME are both given; expected one of them", at)
            if key == "SPEED":
                value = self.expect(value, f"{kind} SPEED", () if joints else (SPEED,), share=True)
            elif key == "ACC":
                value = self.expect(value, f"{kind} ACC", () if joints else (ACCELERATION,), share=True)
            elif key == "TIME":
                value = self.expect(value, "TIME", (TIME,))
            elif key == "ENERGY":
                value = self.expect(value, "ENERGY", (ENERGY,))
            elif key == "BLEND":
                value = self.expect(value, "BLEND", (LENGTH,))
                if value.si < 0:
                    raise self.error(f"BLEND {_text(value)}; expected zero or more", value.place)
            keep = key in ("PROFILE", "BLEND", "OPTIMAL")
            found[key] = value if keep else self.positive(value, key)
            self._check_optimal(kind, key, found, at)
        energy = found.get("ENERGY")
        if energy is not None and "OPTIMAL" not in found:
            raise self.error(
                "ENERGY without OPTIMAL; expected both, such as OPTIMAL ENERGY 0.02 s/J", energy.place
            )
        speed, time, acc, blend, profile = map(found.get, ("SPEED", "TIME", "ACC", "BLEND", "PROFILE"))
        return s.Manner(speed, time, acc, blend, profile, "OPTIMAL" in found, energy)

    def _check_optimal(self, kind: str, key: str, found: dict[str, Any], at: s.Place) -> None:
        """OPTIMAL goes with MOVEJ and MOVEL, and leaves only ENERGY to say or, for MOVEJ, the TIME."""
        if "OPTIMAL" not in found:
            return
        if kind not in ("MOVEJ", "MOVEL"):
            raise self.error(f"OPTIMAL does not go with {kind}; expected it behind MOVEJ or MOVEL", at)
        allowed = ("TIME", "ENERGY") if kind == "MOVEJ" else ("ENERGY",)
        others = [word for word in found if word not in ("OPTIMAL", *allowed)]
        if {"TIME", "ENERGY"} <= found.keys():
            raise self.error("TIME and ENERGY are both given; expected one of them beside OPTIMAL", at)
        if others:
            raise self.error(
                f"OPTIMAL and {others[0]} are both given; expected {', '.join(allowed)} or nothing beside OPTIMAL",
                at,
            )

    def movej(self, parts: list[Any]) -> s.MoveJ:
        """MOVEJ."""
        return s.MoveJ(parts[1], self.manner("MOVEJ", parts), place=place(parts[0]))

    def movel(self, parts: list[Any]) -> s.MoveL:
        """MOVEL."""
        return s.MoveL(parts[1], self.manner("MOVEL", parts), place=place(parts[0]))

    def movec(self, parts: list[Any]) -> s.MoveC:
        """MOVEC."""
        return s.MoveC(parts[2], parts[4], self.manner("MOVEC", parts), place=place(parts[0]))

    def spline(self, parts: list[Any]) -> s.Spline:
        """SPLINE."""
        points = tuple(self.name(p) for p in parts[1:] if isinstance(p, Token))
        return s.Spline(points, self.manner("SPLINE", parts), place=place(parts[0]))

    # --- other instructions -----------------------------------------------------------------------
    def speed_default(self, parts: list[Any]) -> s.SpeedDefault:
        """SPEED as a line of its own."""
        return s.SpeedDefault(self.expect(parts[1], "SPEED", (), share=True), place=place(parts[0]))

    def profile_default(self, parts: list[Token]) -> s.ProfileDefault:
        """PROFILE as a line of its own."""
        return s.ProfileDefault(self.profile(parts[1]), place=place(parts[0]))

    def shaper_default(self, parts: list[Token]) -> s.ShaperDefault:
        """SHAPER."""
        token = parts[1]
        name = None if token.type == "NONE" else s.Name(str(token).lower(), place(token))
        if name is not None and name not in SHAPERS:
            hint = did_you_mean(name, list(SHAPERS))
            raise self.error(
                f"no shaper {quoted(token)}; expected one of {', '.join(SHAPERS)}, or NONE{hint}",
                place(token),
            )
        return s.ShaperDefault(name, place=place(parts[0]))

    def tool(self, parts: list[Token]) -> s.UseTool:
        """TOOL."""
        return s.UseTool(None if parts[1].type == "NONE" else self.name(parts[1]), place=place(parts[0]))

    def frame(self, parts: list[Token]) -> s.UseFrame:
        """FRAME."""
        return s.UseFrame(None if parts[1].type == "BASE" else self.name(parts[1]), place=place(parts[0]))

    def wait(self, parts: list[Any]) -> s.Wait:
        """WAIT."""
        time = self.positive(self.expect(parts[1], "WAIT", (TIME,)), "WAIT")
        return s.Wait(time, place=place(parts[0]))

    def set(self, parts: list[Token]) -> s.SetOutput:
        """SET."""
        return s.SetOutput(self.name(parts[1]), parts[2].type == "ON", place=place(parts[0]))

    def let(self, parts: list[Any]) -> s.Let:
        """LET."""
        return s.Let(self.name(parts[1]), parts[3], place=place(parts[0]))

    def inc(self, parts: list[Any]) -> s.Inc:
        """INC."""
        by = 1 if parts[3] is None else parts[3]
        return s.Inc(self.name(parts[1]), by, place=place(parts[0]))

    def next(self, parts: list[Token]) -> s.Next:
        """NEXT."""
        return s.Next(self.name(parts[1]), place=place(parts[0]))

    def reset(self, parts: list[Token]) -> s.Reset:
        """RESET."""
        return s.Reset(self.name(parts[1]), place=place(parts[0]))

    def call(self, parts: list[Token]) -> s.Call | s.CallFile:
        """CALL of a subprogram or a file."""
        word, target = parts
        if target.type == "NAME":
            return s.Call(self.name(target), place=place(word))
        path = str(target)[1:-1]
        if not path.lower().endswith(".job"):
            raise self.error(
                f'{quoted(path)} is not a job file; expected a name such as "grip.job"', place(target)
            )
        return s.CallFile(s.Name(path, place(target)), place=place(word))

    def alarm(self, parts: list[Token]) -> s.Alarm:
        """ALARM."""
        return s.Alarm(" ".join(str(parts[1])[1:-1].split()), place=place(parts[0]))

    def break_loop(self, parts: list[Token]) -> s.Break:
        """BREAK."""
        return s.Break(place=place(parts[0]))

    def return_sub(self, parts: list[Token]) -> s.Return:
        """RETURN."""
        return s.Return(place=place(parts[0]))

    def stop(self, parts: list[Token]) -> s.Stop:
        """STOP."""
        return s.Stop(place=place(parts[0]))


def _dimension(amount: s.Amount) -> str:
    return "a share" if amount.is_share else dimension_name(amount.dimension)


def _text(amount: s.Amount) -> str:
    from servotwin.jobs.layout import amount_text

    return quoted(amount_text(amount))
