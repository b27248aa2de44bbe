"""Jobs made from the grammar: sentences of its rules, and mutations of jobs that ship, token by token."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Any

from fuzz.values import NUMBERS, changed_text, encoded
from servotwin.jobs.language import _parser
from servotwin.jobs.words import KEYWORDS

NAMES = ("P1", "P2", "pick", "place", "IN1", "OUT1", "a", "b", "sub1", "box", "above-box", "S", "T")
UNITS = ("", "s", "ms", "mm", "m", "deg", "%", "mm/s", "deg/s", "m/s2", "rad", "x")
STRINGS = (
    '"first.job"',
    '"./first.job"',
    '"second.job"',
    '"../x.job"',
    '"no.job"',
    '"/dev/zero"',
    '"a"',
    '""',
    '"',
    '"\\"',
)
SMALL = ("0", "1", "2", "3", "10", "0.5", "100", "50")
TOKENS = re.compile(r'"[^"\n]*"|#[^\n]*|[A-Za-z_][\w-]*|[0-9.]+|\n|[^\sA-Za-z0-9]+| +')


@cache
def _rules() -> dict[str, list[list[Any]]]:
    """Expansions by the name of the rule, as the compiled grammar has them."""
    rules: dict[str, list[list[Any]]] = {}
    for rule in _parser().rules:
        rules.setdefault(rule.origin.name, []).append(list(rule.expansion))
    return rules


def sentence(rng: Random, start: str = "start", depth: int = 60) -> str:
    """A sentence of the grammar."""
    words: list[str] = []
    _expand(rng, start, words, [2000], depth)
    return " ".join(words).replace("\n ", "\n").replace(" \n", "\n")


def _expand(rng: Random, rule: str, words: list[str], budget: list[int], depth: int) -> None:
    options = _rules()[rule]
    budget[0] -= 1
    if depth <= 0 or budget[0] <= 0:
        options = sorted(options, key=len)[:1]
    for symbol in rng.choice(options):
        if budget[0] < -2000:
            return
        if symbol.is_term:
            words.append(_token(rng, symbol.name))
        else:
            _expand(rng, symbol.name, words, budget, depth - 1)


def _token(rng: Random, name: str) -> str:
    table = {"NAME": NAMES, "UNIT": UNITS[1:], "STRING": STRINGS, "NEWLINE": ("\n",), "COMMENT": ("# a", "#", "# é"),
             "COMMA": (",",), "EQUAL": ("=",), "COMPARE": ("<", ">", "<=", ">=", "<>"), "NUMBER": SMALL}  # fmt: skip
    if name == "NUMBER" and rng.random() < 0.1:
        return rng.choice(NUMBERS)
    return rng.choice(table.get(name, (name, name.lower())))


def mutated_job(rng: Random, text: str) -> bytes:
    """A sentence of the grammar, or a job with some of its tokens changed."""
    if rng.random() < 0.4:
        text = sentence(rng)
    tokens = TOKENS.findall(text)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        if not tokens:
            break
        i = rng.randrange(len(tokens))
        way = rng.randrange(7)
        if way == 0:
            del tokens[i]
        elif way == 1:
            tokens.insert(i, rng.choice((*KEYWORDS, *NAMES, *SMALL, *STRINGS, "\n")) + " ")
        elif way == 2:
            tokens[i] = rng.choice((rng.choice(NUMBERS), rng.choice(UNITS), rng.choice(NAMES)))
        elif way == 3:
            tokens[i:i] = ["REPEAT 1000\n"] * rng.choice((1, 5, 60, 400))
        elif way == 4:
            tokens[i:i] = tokens[i : i + 30] * rng.choice((1, 3, 40))
        elif way == 5:
            tokens[i:i] = ["\n", f"CALL {rng.choice(STRINGS)}", "\n"] * rng.choice((1, 2, 300))
        else:
            j = rng.randrange(len(tokens))
            tokens[i], tokens[j] = tokens[j], tokens[i]
    text = "".join(tokens)
    return encoded(rng, changed_text(rng, text) if rng.random() < 0.15 else text)
