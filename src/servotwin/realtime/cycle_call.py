"""Calls of cycles by address: a loop that is compiled once serves every cycle."""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_cycle(typing: Any, address: Any, context_at: Any, index: Any, now: Any) -> Any:
    """``((int64 (*)(int64, int64, int64)) address)(context_at, index, now)``."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate
