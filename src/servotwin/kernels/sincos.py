r"""Sine and cosine as straight-line LLVM code, for one number or a vector of them.

The argument is reduced by the nearest multiple k of pi/2, with pi/2 in three
parts and fused multiply-adds, so that the reduction is exact to the last bits
for every angle a joint can have (|x| up to 1e9; beyond, the result is NaN and an invalid operation, of which
NumPy warns). On [-pi/4, pi/4] two
polynomials are within 1 unit in the last place. k modulo 4 swaps
and signs the two results. k is read from the low mantissa bits after adding
1.5 * 2^52, which needs no integer conversion and so vectorises.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

TWO_OVER_PI = 0.6366197723675814
PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
MAGIC = 6755399441055744.0
LARGEST = 1e9
# Chebyshev interpolation in r^2 on [0, (1.002 pi/4)^2]; truncation below 2e-17.
SIN = (
    -0.16666666666666666,
    0.008333333333330901,
    -0.00019841269836686008,
    2.7557316064986773e-06,
    -2.505112403138208e-08,
    1.59175674789068e-10,
)
COS = (
    0.041666666666666664,
    -0.0013888888888887367,
    2.480158729872029e-05,
    -2.7557317248229367e-07,
    2.0876141380294955e-09,
    -1.1382280957702634e-11,
)


def literal(value: float) -> str:
    """A double as LLVM writes it."""
    return "0x" + struct.pack(">d", value).hex().upper()


def splat(value: float, width: int) -> str:
    """The same double in every lane."""
    one = literal(value)
    if width == 1:
        return one
    return "<" + ", ".join(f"double {one}" for _ in range(width)) + ">"


def emit_sincos(x: str, width: int, fresh: Callable[[], str], out: list[str]) -> tuple[str, str]:
    """Append code for (sin x, cos x); return the two value names."""
    real = "double" if width == 1 else f"<{width} x double>"
    word = "i64" if width == 1 else f"<{width} x i64>"
    suffix = "f64" if width == 1 else f"v{width}f64"

    def line(text: str) -> str:
        name = fresh()
        out.append(f"  {name} = {text}")
        return name

    def fma(a: str, b: str, c: str) -> str:
        return line(f"call {real} @llvm.fma.{suffix}({real} {a}, {real} {b}, {real} {c})")

    def words(value: int) -> str:
        return str(value) if width == 1 else "<" + ", ".join(f"i64 {value}" for _ in range(width)) + ">"

    # An angle beyond the reduction must not give a number that looks like a cosine: infinity less infinity is NaN,
    # and raises the flag of an invalid operation, which a constant NaN does not.
    size = line(f"call {real} @llvm.fabs.{suffix}({real} {x})")
    flag = "i1" if width == 1 else f"<{width} x i1>"
    inside = line(f"fcmp ole {real} {size}, {splat(LARGEST, width)}")
    x = line(f"select {flag} {inside}, {real} {x}, {real} {splat(math.inf, width)}")
    magic = splat(MAGIC, width)
    shifted = fma(x, splat(TWO_OVER_PI, width), magic)
    k = line(f"fsub {real} {shifted}, {magic}")
    r = x
    for part in PI_2:
        r = fma(k, splat(-part, width), r)
    r2 = line(f"fmul {real} {r}, {r}")
    s = splat(SIN[-1], width)
    for c in reversed(SIN[:-1]):
        s = fma(s, r2, splat(c, width))
    r3 = line(f"fmul {real} {r}, {r2}")
    sine = fma(s, r3, r)
    c_ = splat(COS[-1], width)
    for c in reversed(COS[:-1]):
        c_ = fma(c_, r2, splat(c, width))
    head = fma(r2, splat(-0.5, width), splat(1.0, width))
    r4 = line(f"fmul {real} {r2}, {r2}")
    cosine = fma(c_, r4, head)
    bits = line(f"bitcast {real} {shifted} to {word}")
    odd = line(f"and {word} {bits}, {words(1)}")
    compare = line(f"icmp eq {word} {odd}, {words(0)}")
    s_sel = line(f"select {flag} {compare}, {real} {sine}, {real} {cosine}")
    c_sel = line(f"select {flag} {compare}, {real} {cosine}, {real} {sine}")

    def signed(value: str, quadrant: str) -> str:
        two = line(f"and {word} {quadrant}, {words(2)}")
        sign = line(f"shl {word} {two}, {words(62)}")
        raw = line(f"bitcast {real} {value} to {word}")
        flipped = line(f"xor {word} {raw}, {sign}")
        return line(f"bitcast {word} {flipped} to {real}")

    after = line(f"add {word} {bits}, {words(1)}")
    return signed(s_sel, bits), signed(c_sel, after)
