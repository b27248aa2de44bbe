"""Expressions: arithmetic with units, names, conditions, and nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.description.expressions import Value, evaluate
from servotwin.description.quantities import Quantity
from servotwin.description.units import read_quantity, unit

NAMES: dict[str, Value] = {"a1": read_quantity("400 mm"), "n": Quantity(3.0), "reading": "joint"}


def lookup(name: str) -> Value:
    return NAMES[name] if name in NAMES else unit(name)


def value(text: str) -> float:
    result = evaluate(text, lookup)
    assert isinstance(result, Quantity)
    return result.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1/2", 0.2),
        ("a1 + 100 mm", 0.5),
        ("2 a1", 0.8),
        ("2 (a1 + 1 m)", 2.8),
        ("350 mm / 2 mm", 175.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("2**3", 8.0),
        ("2^3^2", 512.0),
        ("- -3", 3.0),
        ("1 - 2 - 3", -4.0),
        ("12 / 3 / 2", 2.0),
        ("sqrt(a1^2 + (300 mm)^2)", 0.5),
        ("sin(30 deg) + cos(60 deg)", 1.0),
        ("tan(45 deg)", 1.0),
        ("atan2(1 m, 1 m) / (45 deg)", 1.0),
        ("asin(1) / (90 deg) + acos(1) / (1 rad) + atan(1) / (45 deg)", 2.0),
        ("max(1 mm, a1, 2 mm) - min(a1, 1 mm)", 0.399),
        ("abs(-3)", 3.0),
        ("2 pi", 2.0 * math.pi),
        ("1.5e1 n", 45.0),
    ],
)
def test_expression_has_value(text: str, expected: float) -> None:
    # a handful of roundings
    assert value(text) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('reading == "joint"', True),
        ("reading != 'joint'", False),
        ("a1 > 399 mm and a1 <= 400 mm", True),
        ("n == 4 or not n < 3", True),
        ("not not n == 3", True),
        ("(n >= 4) == (n < 3)", True),
    ],
)
def test_condition_has_truth(text: str, expected: bool) -> None:
    assert evaluate(text, lookup) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a1 + n", "a plain number cannot be added to a length"),
        ("a1 - 3 deg", "an angle cannot be subtracted from a length"),
        ("a1 < 3", "a length cannot be compared with a plain number"),
        ("reading < 'x'", "'<' compares numbers only"),
        ("reading == n", "cannot be compared with each other"),
        ("reading + 1", "the text 'joint' stands where a number is expected"),
        ("(n == 3) + 1", "a condition stands where a number is expected"),
        ("a1 and n == 3", "a length stands where a condition is expected"),
        ("sin(3)", "sin() takes an angle, not a plain number"),
        ("asin(2)", "asin() takes a number from -1 to 1, not 2"),
        ("asin(a1)", "asin() takes a plain number, not a length"),
        ("atan2(a1, 1)", "a plain number cannot be subtracted from a length"),
        ("sin(1 rad, 2 rad)", "sin() does not take 2 values"),
        ("max(a1, 1)", "cannot be subtracted"),
        ("sqrt(-1)", "a root of a negative number"),
        ("a1 ^ a1", "an exponent must be a plain number"),
        ("1 +", "something is missing at the end"),
        ("1 ) 2", "')' is not expected here"),
        ("sin", "unknown unit 'sin'"),
        ("__import__('os')", "unknown unit '__import__'"),
        ("a1.real", "'.' is not understood"),
        ("(1).__class__", "'.' is not understood"),
        ("n if n else n", "unknown unit 'if'"),
        ("[1]", "'[' is not understood"),
        ("n = 3", "'=' is not understood"),
    ],
)
def test_expression_that_makes_no_sense_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        evaluate(text, lookup)
    assert message in str(caught.value)


@given(st.text(alphabet="0123456789.e+-*/^() am=<>!'\"nrdgor,", max_size=60))
def test_expression_of_any_text_gives_value_or_value_error(text: str) -> None:
    try:
        result = evaluate(text, lookup)
    except ValueError:
        return
    assert isinstance(result, Quantity | str | bool)


numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@given(numbers, numbers, numbers)
def test_expression_of_numbers_agrees_with_python(a: float, b: float, c: float) -> None:
    # the same operations in the same order give the same bits
    assert value(f"({a}) + ({b}) * ({c}) - ({a}) * ({a})") == a + b * c - a * a
