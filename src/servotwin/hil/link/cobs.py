"""Frames on a serial line: consistent overhead byte stuffing (Cheshire and Baker 1999), a zero byte ends a frame."""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import numbers_at

LONGEST_RUN = 254  # bytes without a zero that one code byte covers


@part
def encode_cobs(data_at: int, length: int, target_at: int) -> int:
    """Bytes without zeros, and a zero at the end; how many. ``target`` has room for length + length/254 + 2."""
    data, target = numbers_at(data_at, np.uint8), numbers_at(target_at, np.uint8)
    code_at, filled, run = 0, 1, 1
    for i in range(length):
        if data[i] != 0:
            target[filled] = data[i]
            filled, run = filled + 1, run + 1
        if data[i] == 0 or run == LONGEST_RUN + 1:
            target[code_at] = run
            code_at, filled, run = filled, filled + 1, 1
    target[code_at] = run
    target[filled] = 0
    return filled + 1


@part
def decode_cobs(data_at: int, length: int, target_at: int, room: int) -> int:
    """The bytes behind ``length`` coded ones, which stand without their zero; -1 if they are not coded so."""
    data, target = numbers_at(data_at, np.uint8), numbers_at(target_at, np.uint8)
    at, filled = 0, 0
    while at < length:
        run = int(data[at])
        if run == 0 or at + run > length or filled + run > room:
            return -1
        for i in range(1, run):
            if data[at + i] == 0:
                return -1
            target[filled] = data[at + i]
            filled += 1
        at += run
        if run <= LONGEST_RUN and at < length:
            target[filled] = 0
            filled += 1
    return filled
