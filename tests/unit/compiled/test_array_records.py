"""Records of arrays by address: what compiled code reads is what was packed, and its machine code can be kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from servotwin.compiled.array_records import Flags, Packed, Places, Real, Vector, Whole, Wholes, reader_of
from servotwin.compiled.dependencies import dependency_digest
from servotwin.compiled.jit import kernel


class Inner(NamedTuple):
    places: Places
    share: Real


class Outer(NamedTuple):
    count: Whole
    inner: Inner
    values: Vector
    on: Flags
    wholes: Wholes


class Swapped(NamedTuple):
    inner: Inner
    count: Whole
    values: Vector
    on: Flags
    wholes: Wholes


outer_at, swapped_at = reader_of(Outer), reader_of(Swapped)


@kernel
def scaled_sum(at):
    """Sum of chosen values times the share of the inner record; doubles the values where they stand."""
    record = outer_at(at)
    total = 0.0
    for i in range(record.count):
        if record.on[i]:
            total += record.values[record.inner.places[i]] * record.wholes[i]
    for i in range(record.count):
        record.values[i] *= 2.0
    return total * record.inner.share


@kernel
def first_value(at):
    return swapped_at(at).values[0]


def outer() -> Outer:
    inner = Inner(np.array([2, 0, 1], dtype=np.int32), 0.25)
    return Outer(
        3, inner, np.array([1.5, -2.0, 4.0]), np.array([1, 0, 1], dtype=np.uint8), np.array([3, 5, -7])
    )


def test_compiled_code_reads_and_writes_what_was_packed():
    values = outer()
    packed = Packed(values)
    assert scaled_sum(packed.address) == 0.25 * (4.0 * 3 + -2.0 * -7)
    np.testing.assert_array_equal(values.values, [3.0, -4.0, 8.0])


def test_arrays_live_as_long_as_the_record():
    packed = Packed(outer())  # nobody else holds the arrays
    np.zeros(1000)
    assert scaled_sum(packed.address) == 0.25 * (4.0 * 3 + -2.0 * -7)


def test_array_of_another_type_or_order_is_refused():
    """A copy would be written to, and the caller would never see it."""
    good = outer()
    for bad in (good.values.astype(np.float32), np.asfortranarray(np.zeros((3, 2)))):
        with pytest.raises(TypeError, match="values: an array of"):
            Packed(good._replace(values=bad))


def test_digest_of_kept_code_depends_on_the_layout():
    first, second = (dependency_digest(f.py_func, {}) for f in (scaled_sum, first_value))
    assert first != second


def test_all_code_of_the_interior_point_method_can_be_kept():
    """Else every process would compile it again."""
    from servotwin.motion.optimal.interior_point import STEPS, solve

    digests = [dependency_digest(step.function, {}) for step in STEPS]
    assert len({*digests, dependency_digest(solve.py_func, {})}) == len(STEPS) + 1
