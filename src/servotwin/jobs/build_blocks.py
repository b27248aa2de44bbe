"""From the parse tree to a job: lines, blocks and pallets. See ``build`` for the instructions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token

from servotwin.jobs import syntax as s
from servotwin.jobs.build import LENGTH, TIME, Builder, Part, Tail, place
from servotwin.jobs.words import MAX_COUNT, MAX_DEPTH, MAX_PLACES

_NEEDS = {"rows": ("row", "ROW"), "columns": ("column", "COLUMN"), "layers": ("layer", "LAYER")}


class JobBuilder(Builder):
    """The rules that hold lines together."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._depth: dict[int, int] = {}  # of the blocks made so far, by identity

    def line(self, parts: list[Any]) -> s.Statement:
        """An instruction with its comment."""
        made: s.Statement = replace(parts[0], comment=str(parts[1]))
        return made

    def nothing(self, parts: list[Tail]) -> s.Nothing:
        """A line without instruction."""
        return s.Nothing(comment=str(parts[0]))

    def body(self, parts: list[Any], at: s.Place) -> tuple[s.Statement, ...]:
        """The statements among the parts; of empty lines in a row one is kept, none at the ends."""
        found = [p for p in parts if isinstance(p, s.Statement)]
        depth = 1 + max((self._depth.get(id(p), 0) for p in found), default=0)
        if depth > MAX_DEPTH:
            raise self.error(f"blocks nested deeper than {MAX_DEPTH}; expected subprograms instead", at)
        kept = tidy(found)
        for p in found:
            self._depth.pop(id(p), None)
        self._last = depth
        return kept

    def made(self, block: s.Statement) -> s.Statement:
        """The block, its depth remembered."""
        self._depth[id(block)] = self._last
        return block

    def repeat(self, parts: list[Any]) -> s.Statement:
        """REPEAT."""
        word, count = parts[0], parts[1]
        times: int | s.Name | None = None
        if count.type == "NUMBER":
            times = self.whole(count, 1, MAX_COUNT, "a whole number of rounds")
        elif count.type == "PALLET":
            times = self.name(parts[2])
        tails = [str(p) for p in parts if isinstance(p, Tail)]
        at = place(word)
        return self.made(s.Repeat(times, self.body(parts, at), tails[1], comment=tails[0], place=at))

    def condition(self, parts: list[Any]) -> s.Condition:
        """What IF asks."""
        first, second = parts[0], parts[1]
        if first.type == "PALLET":
            return s.PalletFull(self.name(second))
        if second.type in ("ON", "OFF"):
            return s.SignalIs(self.name(first), second.type == "ON")
        return s.Compare(self.name(first), str(second), parts[2])  # type: ignore[arg-type]

    def else_part(self, parts: list[Any]) -> tuple[str, tuple[s.Statement, ...], int]:
        """ELSE with what follows."""
        body = self.body(parts, place(parts[0]))
        return str(parts[1]), body, self._last

    def if_block(self, parts: list[Any]) -> s.Statement:
        """IF."""
        word, condition = parts[0], parts[1]
        tails = [str(p) for p in parts if isinstance(p, Tail)]
        otherwise = next((p for p in parts if type(p) is tuple), None)
        at = place(word)
        body = self.body(parts, at)
        other, comment = None, ""
        if otherwise is not None:
            comment, other, depth = otherwise
            self._last = max(self._last, depth)
        return self.made(s.If(condition, body, other, comment, tails[1], comment=tails[0], place=at))

    def waitfor(self, parts: list[Any]) -> s.Statement:
        """WAITFOR, with or without a block."""
        word = parts[0]
        signal, on, at = self.name(parts[1]), parts[2].type == "ON", place(word)
        amount = next((p for p in parts if isinstance(p, s.Amount)), None)
        if amount is not None:
            amount = self.positive(self.expect(amount, "TIMEOUT", (TIME,)), "TIMEOUT")
        tails = [str(p) for p in parts if isinstance(p, Tail)]
        if len(tails) == 1:
            return s.WaitFor(signal, on, amount, comment=tails[0], place=at)
        body = self.body(parts, at)
        return self.made(s.WaitFor(signal, on, amount, body, tails[1], comment=tails[0], place=at))

    def sub(self, parts: list[Any]) -> s.Statement:
        """SUB."""
        tails = [str(p) for p in parts if isinstance(p, Tail)]
        at = place(parts[0])
        return s.Sub(self.name(parts[1]), self.body(parts, at), tails[1], comment=tails[0], place=at)

    def pallet_part(self, parts: list[Any]) -> Part:
        """One part of a pallet."""
        word, value = parts
        key = str(word.type)
        if isinstance(value, Token):
            if value.type == "NUMBER":
                value = self.whole(value, 1, 1000, f"a whole number of {key.lower()}")
            else:
                value = self.name(value)
        else:
            value = self.positive(self.expect(value, "LAYER", (LENGTH,)), "LAYER")
        return Part((key, value, place(word)))

    def pallet(self, parts: list[Any]) -> s.Statement:
        """PALLET."""
        word, name = parts[0], self.name(parts[1])
        found: dict[str, Any] = {}
        for key, value, at in (p for p in parts if isinstance(p, Part)):
            if key.lower() in found:
                raise self.error(f"{key} is given twice; expected it once", at)
            found[key.lower()] = value
        at = place(word)
        if "origin" not in found:
            raise self.error(f"pallet '{name}' has no ORIGIN; expected the point of its first place", at)
        for count, (needed, keyword) in _NEEDS.items():
            several = found.get(count, 1) > 1
            if several and needed not in found:
                what = "the height of a layer" if needed == "layer" else "the point of the last one"
                message = f"pallet '{name}' has several {count.upper()} but no {keyword}; expected {what}"
                raise self.error(message, at)
            if needed in found and not several:
                message = (
                    f"pallet '{name}' has {keyword} but a single one; expected {count.upper()} of 2 or more"
                )
                raise self.error(message, at)
        pallet = s.Pallet(name, **found, comment=str(parts[-1]), place=at)
        if pallet.places > MAX_PLACES:
            raise self.error(f"{pallet.places} places; expected at most {MAX_PLACES}", at)
        return pallet

    def start(self, parts: list[Any]) -> s.Job:
        """The whole file."""
        return s.Job(tidy(parts), self.file)


def tidy(body: list[s.Statement]) -> tuple[s.Statement, ...]:
    """The body without empty lines at its ends, and with at most one between other lines."""
    kept: list[s.Statement] = []
    for statement in body:
        if is_blank(statement) and (not kept or is_blank(kept[-1])):
            continue
        kept.append(statement)
    if kept and is_blank(kept[-1]):
        kept.pop()
    return tuple(kept)


def is_blank(statement: s.Statement) -> bool:
    """True for an empty line."""
    return isinstance(statement, s.Nothing) and not statement.comment
