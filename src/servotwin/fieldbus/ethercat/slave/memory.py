"""Numbers in the memory of a slave, for compiled code."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def get_half(memory: Any, at: int) -> int:
    """16 bits, little-endian."""
    return int(memory[at]) | (int(memory[at + 1]) << 8)


@helper
def get_word(memory: Any, at: int) -> int:
    """32 bits without sign."""
    return get_half(memory, at) | (get_half(memory, at + 2) << 16)


@helper
def get_long(memory: Any, at: int) -> int:
    """64 bits; from 2^63 on negative."""
    return get_word(memory, at) | (get_word(memory, at + 4) << 32)


@helper
def put_number(memory: Any, at: int, size: int, value: int) -> None:
    """The low ``size`` bytes of a number."""
    for k in range(size):
        memory[at + k] = (value >> (8 * k)) & 0xFF


@helper
def touches(first: int, size: int, other: int, other_size: int) -> bool:
    """Whether two ranges of addresses have a byte in common."""
    return first < other + other_size and other < first + size
