"""Small numeric functions for compiled code of all layers: converters and random numbers."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper

UNIT = 2.0**-53


class Stream(IntEnum):
    """Random numbers of a run that are independent of each other, all from its one seed."""

    JITTER = 0  # of the servo's tasks
    NOISE = 1  # of the sensors


def random_stream(seed: int, stream: Stream) -> Any:
    """The state of a stream for ``uniform`` and ``normal``: an array of one uint64, spawned from the seed."""
    child = np.random.SeedSequence(seed).spawn(len(Stream))[stream]
    return child.generate_state(1, np.uint64)


@helper
def uniform(state: Any) -> float:
    """A number in [0, 1) from a counter hashed by splitmix64; ``state`` is an array of one uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float(x >> np.uint64(11)) * UNIT


@helper
def normal(state: Any) -> float:
    """A number of the standard normal distribution (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
    return radius * math.cos(2.0 * math.pi * uniform(state))


@helper
def quantise(value: float, span: float, bits: int) -> float:
    """A converter with ``bits`` over -span..span; 0 bits: only the range counts, 1 bit: only the sign."""
    value = min(max(value, -span), span)
    if bits <= 0:
        return value
    if bits == 1:
        return span if value >= 0.0 else -span
    steps = 2.0 ** (bits - 1) - 1.0
    return math.floor(value / span * steps + 0.5) * span / steps
