"""Unit names, and the reading of quantities such as ``1.21 kgf*cm/A`` or ``12.4 V/krpm``.

The units of machine building are defined here, so that a robot file is read
without loading a unit library; any other name is asked of pint.
"""

from __future__ import annotations

import difflib
import math
from functools import cache
from typing import Any

from servotwin.description.expressions import evaluate
from servotwin.description.nodes import one_line, quoted
from servotwin.description.quantities import (
    BASE_UNITS,
    PLAIN,
    Dimension,
    Quantity,
    dimension_name,
)

# names = value; a trailing '*' lets the SI prefixes stand before the names.
# kgf, inch, lb: exact by definition (BIPM SI brochure; international yard and pound agreement, 1959).
_DEFINITIONS = f"""
g = kg/1000 *
N = kg m/s^2 *
J = N m *
W = J/s *
V = W/A *
ohm Ohm \u2126 \u03a9 = V/A *
H = V s/A *
F = A s/V *
Wb = V s *
T = Wb/m^2 *
C = A s *
Hz = 1/s *
Pa = N/m^2 *
bar = 100000 Pa *
L l = m^3/1000 *
t = 1000 kg
min minute = 60 s
h hour = 3600 s
sec second seconds = s
metre meter = m
gf = 9.80665 N/1000
kgf kp = 9.80665 N
lb lbm = 0.45359237 kg
oz = 0.028349523125 kg
lbf = 4.4482216152605 N
ozf = 0.27801385095378125 N
inch in = 0.0254 m
ft foot = 0.3048 m
psi = lbf/inch^2
atm = 101325 Pa
hp = 745.69987158227022 W
PS = 735.49875 W
deg degree degrees ° = {math.pi / 180!r} rad
arcmin = {math.pi / 180!r} rad/60
arcsec = {math.pi / 180!r} rad/3600
radian radians = rad
rev turn turns = {2 * math.pi!r} rad
rps = rev/s
rpm = rev/min
krpm = 1000 rpm
percent % = 1/100
"""
_PREFIXES = {
    "n": Quantity(1.0, PLAIN, 1e9),
    "u": Quantity(1.0, PLAIN, 1e6),
    "\u00b5": Quantity(1.0, PLAIN, 1e6),  # the micro sign, and the Greek letter it is often taken for
    "\u03bc": Quantity(1.0, PLAIN, 1e6),
    "m": Quantity(1.0, PLAIN, 1e3),
    "c": Quantity(1.0, PLAIN, 1e2),
    "d": Quantity(1.0, PLAIN, 1e1),
    "k": Quantity(1e3),
    "M": Quantity(1e6),
    "G": Quantity(1e9),
}
_PREFIXED_BASE = ("m", "s", "A", "rad")
MOST_NAMES, LONGEST_WORD = 2000, 200  # names and letters that are compared to find a similar name
_SUPERSCRIPTS = str.maketrans("\u00b2\u00b3\u2074", "234")
# Data sheets of AC motors state RMS values of a phase; motor models work with amplitudes.
_RMS = {
    "arms": "A rms is the effective value of a sine; the fields take its amplitude: write a current times sqrt(2)"
    " ('5 A*sqrt(2)'), and a constant per A rms divided by sqrt(2) ('1.2 N*m/A/sqrt(2)'), or state it in a datasheet",
    "vrms": "V rms is the effective value of a sine; the fields take the amplitude of a phase: write a voltage"
    " between phase and neutral times sqrt(2), one between two phases times sqrt(2/3), or state it in a datasheet",
    "rms": "rms is the effective value of a sine; the fields take amplitudes: write a current times sqrt(2)"
    " ('5 A*sqrt(2)'), a constant per A rms divided by sqrt(2) ('1.2 N*m/A/sqrt(2)'), and a voltage between"
    " two phases times sqrt(2/3)",
}
# Products as data sheets write them, without a mark between the factors. They are no names of the table: a
# variable may have them.
_JOINED = {
    "Nm": "N*m",
    "mNm": "mN*m",
    "kNm": "kN*m",
    "Ncm": "N*cm",
    "kgfcm": "kgf*cm",
    "kgfm": "kgf*m",
    "kgm2": "kg*m^2",
    "kgcm2": "kg*cm^2",
    "kgmm2": "kg*mm^2",
    "gcm2": "g*cm^2",
    "gmm2": "g*mm^2",
}
_MEANT = {
    name[:-1]: f"{text} is written with a mark between its units"
    for name, text in _JOINED.items()
    if name[-1] == "2"
}
_MEANT |= dict.fromkeys(("lpm", "LPM", "Lpm"), "did you mean 'L/min'?")
_MEANT |= dict.fromkeys(("gpm", "GPM"), "did you mean 'L/min'? One US gallon per minute is 3.785411784 L/min")
_MEANT["U"] = _MEANT["Umdr"] = "turns per minute are written 'rpm'"


def _base_table() -> dict[str, Quantity]:
    table = {}
    for i, name in enumerate(BASE_UNITS):
        e = [int(i == k) for k in range(6)]
        table[name] = Quantity(1.0, (e[0], e[1], e[2], e[3], e[4], e[5]))
    return table


@cache
def unit_table() -> dict[str, Quantity]:
    """Every unit name known without pint, prefixed ones included, with its SI value."""
    table = _base_table()
    prefixed = list(_PREFIXED_BASE)
    for line in _DEFINITIONS.strip().splitlines():
        names, _, definition = line.partition(" = ")
        value = evaluate(definition.rstrip(" *"), table.__getitem__)
        assert isinstance(value, Quantity)
        for name in names.split():
            table[name] = value
            if definition.endswith("*"):
                prefixed.append(name)
    for name in prefixed:
        for prefix, factor in _PREFIXES.items():
            table.setdefault(prefix + name, factor * table[name])
    return table


def unit(name: str) -> Quantity:
    """One of the named unit in SI; ``m2`` and ``m²`` are read as ``m^2``. ValueError for an unknown name."""
    table = unit_table()
    if name in table:
        return table[name]
    plain = name.translate(_SUPERSCRIPTS)
    if plain[-1:] in ("2", "3", "4") and plain[:-1] in table:
        return table[plain[:-1]] ** Quantity(float(plain[-1]))
    if plain in _JOINED:
        return _unit_quantity(_JOINED[plain])
    if name in _MEANT:
        raise ValueError(f"unknown unit {quoted(name)}; {_MEANT[name]}")
    if name.lower().replace("_", "") in _RMS:
        raise ValueError(_RMS[name.lower().replace("_", "")])
    if name.lower() in ("nan", "inf", "infinity"):
        raise ValueError("not a finite number")
    found = _from_pint(name)
    if found is not None:
        return found
    known = [*_JOINED, *(n for n in table if len(n) > 1 and n.isascii())]  # NM is rather Nm than nm
    raise ValueError(f"unknown unit {quoted(name)}{did_you_mean(name, known)}")


def did_you_mean(word: str, known: list[str]) -> str:
    """``; did you mean 'x'?`` for the nearest of ``known``, or an empty text; capitals count least.

    Long words, and names beyond the first ``MOST_NAMES``, are not compared letter by letter: a hint has to be quick.

    >>> did_you_mean("mh", ["mohm", "mH"])
    "; did you mean 'mH'?"
    """
    nearest = [name for name in known if name.lower() == word.lower()]
    if not nearest and len(word) <= LONGEST_WORD:
        names = [name for name in known[:MOST_NAMES] if len(name) <= LONGEST_WORD]
        nearest = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"; did you mean '{one_line(nearest[0])}'?" if nearest else ""


@cache
def _from_pint(name: str) -> Quantity | None:
    """The unit as pint defines it; None if unknown, dimensionless, or not proportional to its base."""
    if len(name) < 3 or len(name) > 40 or not name.isascii() or not name.replace("_", "").isalpha():
        return None
    import pint  # costs more to import than everything else here together: only for rare units

    registry = _pint_registry()
    try:
        base = registry.Quantity(1.0, name).to_base_units()
        exponents = dict(base.dimensionality)
    except (pint.PintError, AttributeError, ValueError, TypeError, OverflowError):
        return None
    order = ("[length]", "[mass]", "[time]", "[current]", "[temperature]")
    if not exponents or set(exponents) - set(order) or any(e != int(e) for e in exponents.values()):
        return None
    e = [int(exponents.get(k, 0)) for k in order]
    value = float(base.magnitude)
    doubled = float(registry.Quantity(2.0, name).to_base_units().magnitude)
    if not math.isfinite(value) or not math.isclose(doubled, 2 * value):  # degC and the like
        return None
    return Quantity(value, (e[0], e[1], e[2], e[3], e[4], 0))


@cache
def _pint_registry() -> Any:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def dimension_of(unit_text: str) -> Dimension:
    """The dimension of a unit expression such as ``N*m/A``; plain for an empty one."""
    if not unit_text:
        return PLAIN
    return _unit_quantity(unit_text).dimension


@cache
def _unit_quantity(unit_text: str) -> Quantity:
    value = evaluate(unit_text, unit)
    if not isinstance(value, Quantity):
        raise ValueError(f"{quoted(unit_text)} is not a unit")
    return value


@cache
def read_quantity(text: str) -> Quantity:
    """The quantity written in ``text``: arithmetic of numbers and units, no names of variables."""
    value = evaluate(text, unit)
    if not isinstance(value, Quantity):
        raise ValueError(f"{quoted(text)} is not a number")
    if not any(c.isdigit() for c in text):
        raise ValueError(f"{quoted(text)} is a unit without a number")
    return value


def parse_quantity(text: str, unit: str, *, angle_optional: bool = False, example: str = "") -> float:
    """The SI value of ``text``, which must have the dimension of ``unit`` (empty: a plain number).

    ``angle_optional`` also accepts the dimension without its angle, as in
    ``N*m*s`` for ``N*m*s/rad``. ``example``: what a refusal gives as one; else a usual unit is named.

    >>> parse_quantity("350 mm", "m")
    0.35
    """
    wanted = dimension_of(unit)
    if not text.strip():
        raise ValueError(f"no value is given; expected {expectation(unit, example)}")
    try:
        quantity = read_quantity(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)}: {error}; expected {expectation(unit, example)}") from None
    got = quantity.dimension
    if got == wanted or (angle_optional and got[:5] == wanted[:5] and got[5] == 0):
        return quantity.value
    if got == PLAIN:
        usual = example.partition(" ")[2] or EXAMPLES.get(unit, unit)
        fitting = example if example and not quantity.value > 0.0 else f"{text.strip()} {usual}"
        raise ValueError(f"{quoted(text)} has no unit; expected {expectation(unit, fitting)}")
    if (got, wanted) == (_FREQUENCY, _SPEED):  # 3000 1/min: a turn has no name there
        per_minute = "min" in text
        turns = f"{quantity.value * (60.0 if per_minute else 1.0):.6g} {'rpm' if per_minute else 'rps'}"
        raise ValueError(f"{quoted(text)} is a frequency; expected an angular speed, such as '{turns}'")
    raise ValueError(f"{quoted(text)} is {dimension_name(got)}; expected {expectation(unit, example)}")


_FREQUENCY: Dimension = (0, 0, -1, 0, 0, 0)
_SPEED: Dimension = (0, 0, -1, 0, 0, 1)

# the unit people use for a field measured in the SI unit on the left
EXAMPLES = {
    "m": "mm",
    "rad": "deg",
    "rad/s": "deg/s",
    "rad/s^2": "deg/s^2",
    "rad/s^3": "deg/s^3",
    "H": "mH",
    "V*s/rad": "V/krpm",
    "Pa": "bar",
    "m^3/s": "L/min",
    "s": "ms",
    "F": "uF",
}
_NUMBERS = {"N*m/A": "1.21 kgf*cm/A", "V*s/rad": "12.4 V/krpm", "rad/m": "785.4 rad/m", "m": "350 mm"}


def expectation(unit: str, example: str = "") -> str:
    """What a field in ``unit`` accepts, in words: ``a length, such as '350 mm'``."""
    name = dimension_name(dimension_of(unit))
    if not unit:
        return f"{name}, such as '{example or '1.5'}'"
    return f"{name}, such as '{example or _NUMBERS.get(unit) or '1.5 ' + EXAMPLES.get(unit, unit)}'"
