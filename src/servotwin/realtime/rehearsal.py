"""Memory that a rehearsal of a cycle may write to: kept before it and put back after it, byte for byte.

A loop that slept for a millisecond finds its caches, translation tables and branch predictors cold. A rehearsal runs
the same machine code on the same memory shortly before the deadline, so that the cycle itself finds them warm; nothing
of it remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.compiled.native_calls import records_at
from servotwin.realtime.libc import copy_bytes

REGION: np.dtype[Any] = np.dtype([("at", np.int64), ("size", np.int64), ("kept_at", np.int64)])


@dataclass(frozen=True)
class KeptMemory:
    """Regions of memory with room for a copy of each: ``regions``, an array of REGION."""

    regions: Any
    room: Any
    arrays: tuple[Any, ...]

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> KeptMemory:
        """Room for whole arrays, which must be contiguous."""
        held = tuple(array for array in arrays if array.nbytes)
        assert all(array.flags.c_contiguous for array in held)
        regions = np.zeros(len(held), REGION)
        regions["at"] = [array.ctypes.data for array in held]
        regions["size"] = [array.nbytes for array in held]
        room = np.zeros(int(regions["size"].sum()), np.uint8)
        regions["kept_at"] = room.ctypes.data + np.cumsum(regions["size"]) - regions["size"]
        room[:] = 0  # touched before the run
        return cls(regions, room, held)


@helper
def keep_memory(regions_at: int, count: int) -> None:
    """Copy all regions."""
    regions = records_at(regions_at, count, REGION)
    for i in range(count):
        copy_bytes(regions[i].kept_at, regions[i].at, regions[i].size)


@helper
def put_back(regions_at: int, count: int) -> None:
    """Write the copies back."""
    regions = records_at(regions_at, count, REGION)
    for i in range(count):
        copy_bytes(regions[i].at, regions[i].kept_at, regions[i].size)
