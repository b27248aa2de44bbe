"""Messages to the pendant's cell, for the fuzzer: what makes them, and a cell that takes them."""

from __future__ import annotations

import json
import math
import socket
from pathlib import Path
from random import Random
from typing import Any

from fuzz import values

PERIODS = 40
KEYS = (
    *(
        "enable",
        "disable",
        "reset",
        "stop",
        "pause",
        "emergency stop",
        "mode",
        "menu",
        "step",
        "home",
        "go to",
    ),
    *("load", "run", "resume", "single step", "step back", "override", "record", "delete", "rename", "input"),
    *("points", "seat", "no such key"),
)
WORDS = (
    "name",
    "new",
    "mode",
    "number",
    "percent",
    "job",
    "frame",
    "direction",
    "length",
    "speed",
    "user",
    "on",
    "replace",
)
GOOD: dict[str, tuple[object, ...]] = {
    "name": ("P1", "IN1"), "new": ("P2",), "mode": ("T1", "T2", "AUT"), "number": (-1, 0, 1, 2, 3),
    "percent": (1, 50, 100), "job": ("a.job",), "frame": ("joint", "base", "tool", "user"),
    "direction": ([1.0, 0.0, 0.0, 0.0], [0, 0, 1.0, 0, 0, 0]),
    "length": (0.1, 0.001), "speed": (0.5, 1.0), "user": ("", "table"), "on": (True, False), "replace": (True, False),
}  # fmt: skip
STRANGE = (
    *(
        None,
        True,
        False,
        0,
        -1,
        3,
        2**70,
        1e308,
        -1e308,
        1e-320,
        math.nan,
        math.inf,
        "",
        "..",
        "../x.job",
        "\x00",
        "\ud800",
    ),
    *("x" * 5000, [], [[]], {}, {"a": []}, [0.0] * 40, [math.nan] * 4, [1e308] * 6),
)


def messages(rng: Random) -> bytes:
    """Lines for the socket of a cell: good ones, those with strange values, and bytes."""
    return b"".join(_line(rng) for _ in range(rng.randint(1, 40)))


def _value(rng: Random, word: str) -> object:
    kind = rng.random()
    if kind < 0.7 and word in GOOD:
        return rng.choice(GOOD[word])
    return rng.choice(STRANGE) if kind < 0.95 else values.nasty(rng)


def _line(rng: Random) -> bytes:
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.choice((1, 10, 300))) + b"\n"
    if kind < 0.15:
        return b"[" * rng.choice((10, 5000)) + b"\n"
    message: dict[str, Any]
    if kind < 0.5:
        message = {
            "switch": rng.choice((0, 1, 1, 2)),
            "hold": True,
            "at": rng.choice((0, 10**9, 10**9 + 10**8, 2**63, -1)),
        }
        message |= {
            word: _value(rng, word) for word in ("frame", "direction", "speed", "user") if rng.random() < 0.7
        }
        if rng.random() < 0.3:
            message[rng.choice(("switch", "hold", "at"))] = rng.choice(STRANGE)
    else:
        words = {word: _value(rng, word) for word in rng.sample(WORDS, rng.randint(0, 3))}
        message = {"key": rng.choice(KEYS), "with": words, "number": rng.randint(0, 99)}
        if rng.random() < 0.3:
            message[rng.choice(("key", "with", "number"))] = rng.choice(STRANGE)
    line = json.dumps(message).encode()
    return (values.changed_bytes(rng, line) if rng.random() < 0.2 else line) + b"\n"


def take_all(data: bytes, folder: Path) -> object:
    """A cell under power takes them through its socket, period by period: it answers, and keeps the speed of T1."""
    from servotwin.pendant.cell.messages import Channel
    from servotwin.pendant.cell.panel import REDUCED, OperatingMode
    from servotwin.pendant.cell.picture import picture
    from servotwin.pendant.cell.run import Cell
    from servotwin.pendant.cell.setup import CellSettings

    answers: list[dict[str, Any]] = []
    cell = Cell(CellSettings("gsis-scara", "ideal", str(folder)), answers.append)
    here, there = socket.socketpair()
    with here, there:
        channel, now = Channel(there), 10**9
        here.setblocking(False)
        cell.period(now)
        cell.take({"key": "enable", "number": 0})
        for _ in range(PERIODS):
            data = data[here.send(data[:4000]) :] if data else data
            for message in channel.receive():
                cell.take(message)
            now += cell.period_ns
            cell.period(now)
            _judge(cell, json.loads(picture(cell.panel, 1, now, {})), REDUCED, OperatingMode.T1)
    cell.live.stepper.planning.close()  # type: ignore[attr-defined]
    return [json.dumps(answer, allow_nan=False) for answer in answers]


def _judge(cell: Any, shown: dict[str, Any], reduced: float, slow: object) -> None:
    if cell.panel.mode is slow and shown["speed"] > reduced:
        raise AssertionError(f"{shown['speed']} m/s in T1")
    if shown["moving"] and shown["state"] == "jogging" and not cell.panel.lease.held:
        raise AssertionError("a jog without the enabling switch")
