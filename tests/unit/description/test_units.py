"""Unit names and quantities: every factor against pint, dimensions, messages."""

from __future__ import annotations

import math

import pint
import pytest

from servotwin.description.quantities import PLAIN, Quantity, dimension_name, unit_text
from servotwin.description.units import dimension_of, parse_quantity, read_quantity, unit, unit_table

PINT = pint.UnitRegistry()
# names that pint spells otherwise or gives another meaning (h is Planck's constant there)
PINT_NAMES = {
    "kp": "kgf",
    "PS": "metric_horsepower",
    "gf": "gram_force",
    "ozf": "ounce_force",
    "rps": "turn/s",
}
PINT_NAMES |= {
    "krpm": "kilorpm",
    "h": "hour",
    "%": "percent",
    "in": "inch",
    "hp": "horsepower",
    "turns": "turn",
}
PINT_NAMES |= {"°": "degree", "min": "minute", "oz": "ounce", "t": "metric_ton", "sec": "second"}
PINT_NAMES |= {"rev": "turn", "lbm": "pound"}


@pytest.mark.parametrize("name", sorted(unit_table()))
def test_unit_of_table_agrees_with_pint(name: str) -> None:
    spelled = PINT_NAMES.get(name, name).replace("Ohm", "ohm").replace("\u2126", "ohm")
    theirs = PINT.Quantity(1.0, spelled).to_base_units()
    # pint multiplies the same definitions in another order
    assert unit(name).value == pytest.approx(theirs.magnitude, rel=1e-12)
    powers = {str(k): v for k, v in theirs.dimensionality.items()}
    order = ("[length]", "[mass]", "[time]", "[current]", "[temperature]")
    assert unit(name).dimension[:5] == tuple(powers.get(k, 0) for k in order)


@pytest.mark.parametrize(
    ("text", "unit_name", "value"),
    [
        ("350 mm", "m", 0.35),
        ("-120 deg", "rad", math.radians(-120.0)),
        ("12.4 V/krpm", "V*s/rad", 12.4 / (1000.0 * 2.0 * math.pi / 60.0)),
        ("785.4 rad/m", "rad/m", 785.4),
        ("1.5e-4 kg*m^2", "kg*m^2", 1.5e-4),
        ("1.5e-4 kg m^2", "kg*m^2", 1.5e-4),
        ("1.5e-4 kg m2", "kg*m^2", 1.5e-4),
        ("1.5e-4 kg·m²".replace("²", "**2"), "kg*m^2", 1.5e-4),
        ("3 N*m/(rad*s)", "N*m/(rad*s)", 3.0),
        ("3 N m/rad s", "N*m/(rad*s)", 3.0),
        ("5 L/min", "m^3/s", 5e-3 / 60.0),
        ("100 bar", "Pa", 1e7),
        ("30 psi", "Pa", 30 * 4.4482216152605 / 0.0254**2),
        ("2 inch", "m", 0.0508),
        ("10 lbf", "N", 44.482216152605),
        ("0.6 mH", "H", 0.0006),
        ("45 %", "", 0.45),
        ("1/3", "", 1.0 / 3.0),
        (".5 m", "m", 0.5),
        ("3 furlong", "m", 3 * 660 * 0.3048006096012192),  # US survey feet, as pint defines it
    ],
)
def test_quantity_of_text_has_si_value(text: str, unit_name: str, value: float) -> None:
    # one or two roundings of a product
    assert parse_quantity(text, unit_name) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["350 mm", "0.1 mm", "203 mm", "0.6 mH", "1.5 g", "290 mm"])
def test_quantity_with_decimal_prefix_is_rounded_once(text: str) -> None:
    number, prefixed = text.split()
    assert read_quantity(text).value == float(f"{number}e-3")
    assert prefixed[0] == "m" or prefixed == "g"


@pytest.mark.parametrize("text", ["10e-5 N*m*s", "10e-5 N*m*s/rad"])
def test_quantity_with_optional_angle_accepts_both_forms(text: str) -> None:
    assert parse_quantity(text, "N*m*s/rad", angle_optional=True) == 10e-5


def test_torque_and_voltage_constant_of_lee1989_agree_after_conversion() -> None:
    # Lee, Lee and Lim 1989, Table 3, A axis: 1.21 kgf cm/A and 12.4 V/krpm are one constant within 0.4 %
    K_t = parse_quantity("1.21 kgf*cm/A", "N*m/A")
    K_b = parse_quantity("12.4 V/krpm", "V*s/rad")
    assert K_t == pytest.approx(K_b, rel=4e-3)


@pytest.mark.parametrize(
    ("text", "unit_name", "message"),
    [
        (
            "1.21 kgf*cm",
            "N*m/A",
            "'1.21 kgf*cm' is a torque; expected a torque per current, such as '1.21 kgf*cm/A'",
        ),
        ("350", "m", "'350' has no unit; expected a length, such as '350 mm'"),
        ("100", "rad", "'100' has no unit; expected an angle, such as '100 deg'"),
        ("100 mm", "rad", "'100 mm' is a length; expected an angle, such as '1.5 deg'"),
        ("100 rad", "", "'100 rad' is an angle; expected a plain number, such as '1.5'"),
        ("5 N*m*s", "N*m*s/rad", "'5 N*m*s' is a quantity in m^2*kg/s; expected a torque per angular speed"),
        ("3 parsnip", "m", "unknown unit 'parsnip'"),
        ("3 Mm m", "m", "is an area"),
        ("mm", "m", "a unit without a number"),
        ("", "m", "no value is given"),
        ("nan", "", "not a finite number"),
        ("1e999 m", "m", "not a finite number"),
        ("1 000 mm", "m", "'000' is not expected here"),
        ("1,5 m", "m", "',' is not expected here"),
        ("2 m^99", "m", "an exponent beyond 64"),
        ("(((1 m", "m", "something is missing at the end"),
        ("3 $", "m", "'$' is not understood"),
        ("9" * 2000, "", "longer than 1000 characters"),
        ("(" * 200 + "1" + ")" * 200, "", "nested deeper than 40 levels"),
        ("2^" * 200 + "2", "", "nested deeper than 40 levels"),
        ("1e308^64", "", "not a finite number"),
        ("25 degC", "K", "unknown unit 'degC'"),
        ("1/0 m", "m", "division by zero"),
        ("1 m / (0 s)", "m/s", "division by zero"),
        ("0^-1", "", "not a finite number"),
        ("(-2)^0.5", "", "a root of a negative number"),
        ("(2 m)^0.5", "m", "a length to the power 0.5 is not a quantity"),
    ],
)
def test_quantity_that_cannot_be_accepted_says_why(text: str, unit_name: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_quantity(text, unit_name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["350 mm", "1.21 kgf*cm/A", "12.4 V/krpm", "1/3", "-7.1e-9/(s^2*K)", "3/s"])
def test_quantity_written_as_text_reads_back_exactly(text: str) -> None:
    quantity = read_quantity(text)
    again = read_quantity(quantity.text())
    assert (again.value, again.dimension) == (quantity.value, quantity.dimension)


def test_dimension_names_of_plain_and_derived_quantities() -> None:
    assert dimension_name(PLAIN) == "a plain number"
    assert dimension_name(dimension_of("kg^2*K")) == "a quantity in kg^2*K"
    assert unit_text(dimension_of("1/s")) == "1/s"
    assert Quantity(2.0).text() == "2.0"


def test_common_units_need_no_pint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"pint was asked for {name}")

    monkeypatch.setattr("servotwin.description.units._from_pint", refuse)
    for text in (
        "1 kgf*cm/A",
        "1 V/krpm",
        "1 mH",
        "1 L/min",
        "1 bar",
        "1 N*m*s/rad",
        "1 kg*m^2",
        "1 ohm",
        "1 W",
    ):
        read_quantity.__wrapped__(text)


@pytest.mark.parametrize(
    ("text", "field", "spelled"),
    [
        ("0.37 Nm/A", "N*m/A", "0.37 newton*meter/ampere"),
        ("12 mNm", "N*m", "0.012 newton*meter"),
        ("8 Ncm", "N*m", "8 newton*centimeter"),
        ("2.6e-5 kgm2", "kg*m^2", "2.6e-5 kilogram*meter**2"),
        ("2.6e-5 kgm\u00b2", "kg*m^2", "2.6e-5 kilogram*meter**2"),
        ("260 gcm\u00b2", "kg*m^2", "260 gram*centimeter**2"),
        ("0.5 kgcm2", "kg*m^2", "0.5 kilogram*centimeter**2"),
    ],
)
def test_joined_unit_of_data_sheets_is_the_product(text: str, field: str, spelled: str) -> None:
    assert parse_quantity(text, field) == pytest.approx(PINT(spelled).to_base_units().magnitude, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "field", "remedy"),
    [
        ("2.6e-5 kgm^2", "kg*m^2", r"unknown unit 'kgm'; kg\*m\^2 is written"),  # kgm squared it is not
        ("3000 1/min", "rad/s", "such as '3000 rpm'"),
        ("3000 min^-1", "rad/s", "such as '3000 rpm'"),
        ("50 1/s", "rad/s", "such as '50 rps'"),
        ("5 NM", "N*m", "did you mean 'Nm'"),  # not nanometres
        ("2 mh", "H", "did you mean 'mH'"),
        ("3000 U/min", "rad/s", "written 'rpm'"),
        ("0.37 Nm/Arms", "N*m/A", r"divided by sqrt\(2\)"),
        ("0.37 N*m/A rms", "N*m/A", r"divided by sqrt\(2\)"),
        ("5 A rms", "A", r"times sqrt\(2\)"),
    ],
)
def test_unit_of_data_sheets_that_is_not_read_names_the_one_to_write(
    text: str, field: str, remedy: str
) -> None:
    with pytest.raises(ValueError, match=remedy):
        parse_quantity(text, field)
