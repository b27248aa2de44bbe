"""How much work a call does, counted instead of timed: the same number on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(call: Callable[[], object]) -> int:
    """Bytecode operations that the package executes in ``call``, its own errors included."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "servotwin" not in frame.f_globals.get("__name__", ""):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], object]], n: int) -> float:
    """Work at 4 n over work at n: 4 if it grows with the size, 16 if with its square."""
    return operations(work(4 * n)) / operations(work(n))
