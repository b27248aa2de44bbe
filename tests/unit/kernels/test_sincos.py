"""The generated sine and cosine against extended precision."""

from __future__ import annotations

import ctypes

import mpmath
import numpy as np
import pytest

from servotwin.compiled.llvm import compile_object, load_object, simd_width
from servotwin.kernels.sincos import emit_sincos

COUNT = 8  # a multiple of every SIMD width


def _compiled(width: int):
    real = "double" if width == 1 else f"<{width} x double>"
    suffix = "f64" if width == 1 else f"v{width}f64"
    counter = iter(range(10_000))
    lines: list[str] = []
    s, c = emit_sincos("%x", width, lambda: f"%v{next(counter)}", lines)
    text = "\n".join(
        [
            "define void @f(ptr %in, ptr %s, ptr %c) {",
            f"  %x = load {real}, ptr %in, align 8",
            *lines,
            f"  store {real} {s}, ptr %s, align 8",
            f"  store {real} {c}, ptr %c, align 8",
            "  ret void",
            "}",
            f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})",
            f"declare {real} @llvm.fabs.{suffix}({real})",
        ]
    )
    (address,) = load_object(compile_object(text), ["f"])
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)


def _run(function, width: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, c = np.empty_like(x), np.empty_like(x)
    for at in range(0, len(x), width):
        function(*(a.ctypes.data + 8 * at for a in (x, s, c)))
    return s, c


@pytest.mark.parametrize("width", sorted({1, simd_width()}))
def test_sincos_is_within_two_units_in_the_last_place(width):
    rng = np.random.default_rng(1)
    special = np.arange(-16, 16) * np.pi / 4
    x = np.concatenate(
        [special, rng.uniform(-4, 4, 400), rng.uniform(-1e3, 1e3, 400), rng.uniform(-1e6, 1e6, 200)]
    )
    x = x[: len(x) // COUNT * COUNT]
    s, c = _run(_compiled(width), width, x)
    with mpmath.workdps(60):
        for got, exact in ((s, mpmath.sin), (c, mpmath.cos)):
            want = np.array([float(exact(mpmath.mpf(float(value)))) for value in x])
            # near a zero the reduced argument carries the accuracy: relative all the same
            assert np.all(np.abs(got - want) <= 2 * np.spacing(np.abs(want)))


@pytest.mark.parametrize("width", sorted({1, simd_width()}))
def test_sincos_of_nan_infinity_and_angles_beyond_reduction_is_nan(width):
    x = np.array([np.nan, np.inf, -np.inf, 1.1e9, -1e16, 1e300, 0.0, 9.9e8])
    s, c = _run(_compiled(width), width, x)
    assert np.isnan(s[:6]).all()
    assert np.isnan(c[:6]).all()
    assert (s[6], c[6]) == (0.0, 1.0)
    assert s[7] == pytest.approx(float(mpmath.sin(9.9e8)), rel=1e-14)


@pytest.mark.parametrize("many", [1, 8])
def test_joint_angle_beyond_reduction_warns_of_an_invalid_value(many: int) -> None:
    """NaN comes with a word: the flag that NumPy looks at is raised, in scalar and in vector code."""
    import servotwin

    robot = servotwin.load_robot("puma560")
    q = np.zeros((many, 6))
    assert np.isfinite(robot.fkine(q + 9e8)).all()
    q[-1, 1] = 1.1e9
    with pytest.warns(RuntimeWarning, match="invalid value encountered in fkine"):
        X = robot.fkine(q)
    assert np.isnan(X[-1, :3, 0]).any()
    with pytest.warns(RuntimeWarning, match="invalid value encountered in rne"):
        robot.rne(q, 0.0 * q, 0.0 * q)
