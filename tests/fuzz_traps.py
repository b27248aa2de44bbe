"""Decoders that misbehave, to see that a campaign notices."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

from fuzz.decoders import Decoder
from servotwin.errors import InputError


def refuse(_: Path) -> object:
    raise InputError("not this one")


def chatter(_: Path) -> object:
    raise InputError("first line\nsecond line")


def hang(folder: Path) -> object:
    if (folder / "a").read_bytes() != b"0":
        time.sleep(60)
    return None


def spin(folder: Path) -> object:
    while (folder / "a").read_bytes() != b"0":
        pass
    return None


def swell(folder: Path) -> object:
    return len(bytearray(2_000_000_000)) if (folder / "a").read_bytes() != b"0" else None


def crash(folder: Path) -> object:
    return ctypes.string_at(0) if (folder / "a").read_bytes() != b"0" else None


def stumble(_: Path) -> object:
    return {}["missing"]


def made(read: object) -> Decoder:
    # the first case, number 0, is read while the child gets ready and must be harmless
    counter = iter([b"0"])
    return Decoder(lambda _: {"a": next(counter, b"1")}, read)  # type: ignore[arg-type]


TRAPS = {f.__name__: made(f) for f in (refuse, chatter, hang, spin, swell, crash, stumble)}


def slow(_: Path) -> object:
    time.sleep(2.0)
    return None


SLOW = {"slow": Decoder(lambda _: {"a": b"0"}, slow)}
