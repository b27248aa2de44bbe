"""Functions of the C library for compiled code: clock, sleep, sockets, bytes of a file; no Python between.

Each is found by its symbol when the machine code is loaded, so that code which calls them can be kept on disk.
Pointers are integers. A result of -1 has its reason in ``errno``.
"""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
import errno as codes
import sys
from typing import Any

from numba import types
from numba.extending import intrinsic

WIDTHS = {"i32": 32, "i64": 64}
MONOTONIC = 1  # clock of Linux that no one sets
ABSOLUTE = 1  # TIMER_ABSTIME
DO_NOT_WAIT = 0x40  # MSG_DONTWAIT
READABLE = 1  # POLLIN
ERROR, HUNG_UP, INVALID = 8, 16, 32  # POLLERR, POLLHUP, POLLNVAL
INTERRUPTED = codes.EINTR
WOULD_BLOCK = codes.EAGAIN
REFUSED = codes.ECONNREFUSED
SUPPORTED = sys.platform == "linux"


def native(name: str, result: str, *arguments: str) -> Any:
    """A function of the process by its symbol, for compiled code; ``arguments`` and ``result``: 'i32' or 'i64'.

    Compiled code sees 64-bit integers only; a narrow argument is cut, a narrow result is extended with its sign.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        from llvmlite import ir

        kinds = [ir.IntType(WIDTHS[kind]) for kind in arguments]
        kind = ir.FunctionType(ir.IntType(WIDTHS[result]), kinds)
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        given = [builder.trunc(v, k) if k.width < 64 else v for v, k in zip(values, kinds, strict=True)]
        found = builder.call(function, given)
        return found if WIDTHS[result] == 64 else builder.sext(found, ir.IntType(64))

    # numba counts the arguments of the function that gives the types
    def typed_0(typing: Any) -> Any:
        return types.int64(), generate

    def typed_2(typing: Any, a: Any, b: Any) -> Any:
        return types.int64(types.int64, types.int64), generate

    def typed_3(typing: Any, a: Any, b: Any, c: Any) -> Any:
        return types.int64(types.int64, types.int64, types.int64), generate

    def typed_4(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return types.int64(types.int64, types.int64, types.int64, types.int64), generate

    def typed_6(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        whole = types.int64
        return whole(whole, whole, whole, whole, whole, whole), generate

    return intrinsic((typed_0, None, typed_2, typed_3, typed_4, None, typed_6)[len(arguments)])


clock_gettime = native("clock_gettime", "i32", "i32", "i64")
clock_nanosleep = native("clock_nanosleep", "i32", "i32", "i32", "i64", "i64")
sendto = native("sendto", "i64", "i32", "i64", "i64", "i32", "i64", "i32")
recvfrom = native("recvfrom", "i64", "i32", "i64", "i64", "i32", "i64", "i64")
read_bytes = native("read", "i64", "i32", "i64", "i64")
write_bytes = native("write", "i64", "i32", "i64", "i64")
ppoll = native("ppoll", "i32", "i64", "i64", "i64", "i64")
copy_bytes = native("memcpy", "i64", "i64", "i64", "i64")
getpid = native("getpid", "i32")
kill = native("kill", "i32", "i32", "i32")
errno_at = native("__errno_location", "i64")


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def whole_32_at(typing: Any, address: Any) -> Any:
    """The 32-bit integer at an address, with its sign."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        found = builder.load(builder.inttoptr(arguments[0], ir.IntType(32).as_pointer()))
        return builder.sext(found, ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def load_acquire(typing: Any, address: Any) -> Any:
    """The 64-bit integer at an address; what is read later in the code is read after it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def store_release(typing: Any, address: Any, value: Any) -> Any:
    """Write the 64-bit integer at an address; what was written earlier in the code is written before it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store_atomic(arguments[1], place, "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def memory_fence(typing: Any) -> Any:
    """Keep reads and writes before it from moving behind it, and the other way round."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
