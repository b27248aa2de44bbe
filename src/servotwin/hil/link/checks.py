"""CRC-32 and HMAC-SHA256 for compiled code: fixed buffers, no allocation.

CRC-32 is that of IEEE 802.3 (reflected polynomial 0xEDB88320), SHA-256 that of FIPS 180-4, HMAC that of RFC 2104.
Words of 32 bits are kept in 64-bit integers, where sums and shifts of them cannot overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import numbers_at, records_at

POLYNOMIAL = 0xEDB88320
ONES = 0xFFFFFFFF
BLOCK = 64  # bytes of a block of SHA-256
ROUNDS = 64
STATE_WORDS = 8
INNER, OUTER = 0x36, 0x5C


def _crc_table() -> Any:
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ POLYNOMIAL, table >> 1)
    return table


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _root_bits(number: int, degree: int) -> int:
    """The first 32 bits behind the point of the root of a number, in whole numbers."""
    scaled, low, high = number << (32 * degree), 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= scaled else (low, middle)
    return low & ONES


CRC_TABLE = _crc_table()
FIRST_STATE = np.array([_root_bits(prime, 2) for prime in _primes(STATE_WORDS)], np.int64)
ROUND_CONSTANTS = np.array([_root_bits(prime, 3) for prime in _primes(ROUNDS)], np.int64)

HASHER: np.dtype[Any] = np.dtype(
    [
        ("inner", np.int64, (STATE_WORDS,)),  # state after the block of the key with INNER
        ("outer", np.int64, (STATE_WORDS,)),  # the same with OUTER
        ("state", np.int64, (STATE_WORDS,)),
        ("schedule", np.int64, (ROUNDS,)),
        ("block", np.uint8, (BLOCK,)),
    ]
)


@helper
def crc32(data_at: int, length: int) -> int:
    """CRC-32 of bytes."""
    data = numbers_at(data_at, np.uint8)
    crc = ONES
    for i in range(length):
        crc = CRC_TABLE[(crc ^ data[i]) & 0xFF] ^ (crc >> 8)
    return crc ^ ONES


@helper
def _rotated(x: int, bits: int) -> int:
    return ((x >> bits) | (x << (32 - bits))) & ONES


@part
def _compress(hasher: Any) -> None:
    """One block into the state (FIPS 180-4, 6.2.2)."""
    w, block, state = hasher.schedule, hasher.block, hasher.state
    for t in range(16):
        w[t] = (block[4 * t] << 24) | (block[4 * t + 1] << 16) | (block[4 * t + 2] << 8) | block[4 * t + 3]
    for t in range(16, ROUNDS):
        small_0 = _rotated(w[t - 15], 7) ^ _rotated(w[t - 15], 18) ^ (w[t - 15] >> 3)
        small_1 = _rotated(w[t - 2], 17) ^ _rotated(w[t - 2], 19) ^ (w[t - 2] >> 10)
        w[t] = (w[t - 16] + small_0 + w[t - 7] + small_1) & ONES
    a, b, c, d = state[0], state[1], state[2], state[3]
    e, f, g, h = state[4], state[5], state[6], state[7]
    for t in range(ROUNDS):
        big_1 = _rotated(e, 6) ^ _rotated(e, 11) ^ _rotated(e, 25)
        first = h + big_1 + ((e & f) ^ ((e ^ ONES) & g)) + ROUND_CONSTANTS[t] + w[t]
        big_0 = _rotated(a, 2) ^ _rotated(a, 13) ^ _rotated(a, 22)
        second = big_0 + ((a & b) ^ (a & c) ^ (b & c))
        h, g, f, e = g, f, e, (d + first) & ONES
        d, c, b, a = c, b, a, (first + second) & ONES
    state[0], state[1] = (state[0] + a) & ONES, (state[1] + b) & ONES
    state[2], state[3] = (state[2] + c) & ONES, (state[3] + d) & ONES
    state[4], state[5] = (state[4] + e) & ONES, (state[5] + f) & ONES
    state[6], state[7] = (state[6] + g) & ONES, (state[7] + h) & ONES


@helper
def _finish(hasher: Any, used: int, total: int) -> None:
    """Pad the last block, of which ``used`` bytes are filled; ``total``: bytes that were hashed."""
    block = hasher.block
    block[used] = 0x80
    for i in range(used + 1, BLOCK):
        block[i] = 0
    if used >= BLOCK - 8:
        _compress(hasher)
        for i in range(BLOCK):
            block[i] = 0
    for i in range(8):
        block[BLOCK - 1 - i] = ((8 * total) >> (8 * i)) & 0xFF
    _compress(hasher)


@part
def hmac_sha256(hasher: Any, data_at: int, length: int) -> None:
    """HMAC of bytes with the key of ``new_hasher``; its words are left in ``hasher.state``."""
    data = numbers_at(data_at, np.uint8)
    for i in range(STATE_WORDS):
        hasher.state[i] = hasher.inner[i]
    used = 0
    for i in range(length):
        hasher.block[used] = data[i]
        used += 1
        if used == BLOCK:
            _compress(hasher)
            used = 0
    _finish(hasher, used, BLOCK + length)
    for i in range(4 * STATE_WORDS):
        hasher.block[i] = (hasher.state[i // 4] >> (24 - 8 * (i % 4))) & 0xFF
    for i in range(STATE_WORDS):
        hasher.state[i] = hasher.outer[i]
    _finish(hasher, 4 * STATE_WORDS, BLOCK + 4 * STATE_WORDS)


@helper
def put_mac(hasher: Any, target_at: int) -> None:
    """The HMAC of ``hmac_sha256`` as bytes."""
    target = numbers_at(target_at, np.uint8)
    for i in range(4 * STATE_WORDS):
        target[i] = (hasher.state[i // 4] >> (24 - 8 * (i % 4))) & 0xFF


@helper
def mac_fits(hasher: Any, given_at: int) -> bool:
    """Whether bytes are the HMAC of ``hmac_sha256``; takes the same time wherever they differ."""
    given = numbers_at(given_at, np.uint8)
    difference = 0
    for i in range(4 * STATE_WORDS):
        difference |= given[i] ^ ((hasher.state[i // 4] >> (24 - 8 * (i % 4))) & 0xFF)
    return difference == 0


@callback("int64", "int64", result="void")
def _absorb_key(hasher_at: int, key_at: int) -> None:
    """The states after the key's block with the inner and the outer pad; the key has 64 bytes."""
    hasher = records_at(hasher_at, 1, HASHER)[0]
    key = numbers_at(key_at, np.uint8)
    for turn in range(2):
        pad = INNER if turn == 0 else OUTER
        for i in range(BLOCK):
            hasher.block[i] = key[i] ^ pad
        for i in range(STATE_WORDS):
            hasher.state[i] = FIRST_STATE[i]
        _compress(hasher)
        for i in range(STATE_WORDS):
            if turn == 0:
                hasher.inner[i] = hasher.state[i]
            else:
                hasher.outer[i] = hasher.state[i]


def set_key(hasher: Any, key: bytes) -> None:
    """Prepare a HASHER record, (1,), for a key of at most 64 bytes."""
    import ctypes

    padded = np.frombuffer(key.ljust(BLOCK, b"\0"), np.uint8).copy()
    absorb = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(_absorb_key.address)
    absorb(hasher.ctypes.data, padded.ctypes.data)
