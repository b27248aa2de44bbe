"""Values and texts that decoders stumble over, and small mutations of text and bytes."""

from __future__ import annotations

import re
from random import Random

NUMBERS = (
    "0", "-0", "1", "-1", "0.1", "1e-300", "5e-324", "1e15", "1e30", "1e31", "-1e30", "1e308", "1e309", "-1e400", "nan",
    "inf", "-inf", "0x10", "1_000", "٣", "1e", ".", "--1", "9" * 400, "1e99999999", "0.0000000001", "2147483648",
    "18446744073709551616", "1/0", "1/3", "true", "null", "~", "", " ",
)  # fmt: skip
UNITS = (
    "", "m", "mm", "deg", "rad", "kg", "kg*m^2", "N*m", "N*m*s/rad", "rad/s", "deg/s^2", "s", "ms", "us", "V", "A",
    "ohm", "mH", "1/s", "%", "degC", "K", "g/cm^3", "kgf*cm/A", "m^99", "m^-99", "m/m/m/m", "(m)", "m**2", "rad^2",
    "furlong", "µm", "Ω", "°", "m2", "kg m", "J", "W", "Hz", "rpm", "bit", "m^0.5", "m^1e9", "*" * 50, "(" * 60,
)  # fmt: skip
TEXTS = (
    "", " ", "\t", "\n", "\x00", "\x1b[31m", "\u202e", "\ud800", "\u2028", "\ufeff", "é", "🤖", "a" * 3000, "../x.yaml",
    "/etc/passwd", "/dev/zero", "= 1/0", "= (((((1)))))", "= a", "= 2^9999", "= 9^9^9^9", "=" , "= " + "1+" * 300 + "1",
    "= sqrt(-1)", "= 1 m + 1 kg", "= " + "(" * 200, "#", "#axes", "gsis-scara", "delta", "base", "tool", "A", "*a",
    "&a", "!!python/object:os.system", "<<", "null", "on", "yes", "servotwin/1", "servotwin/2", "servotwin-scenario/1",
    "__proto__", "{{}}", "%s%n", "</script>", "\\", "'", '"', "`", "$(x)", "${x}",
)  # fmt: skip


def nasty(rng: Random) -> str:
    """A number, a quantity or a text, one that is seldom met."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return f"{rng.choice(NUMBERS)} {rng.choice(UNITS)}".strip()
    return rng.choice(TEXTS)


def changed_quantity(rng: Random, text: str) -> str:
    """``100 mm`` with another number, another unit, or both."""
    found = re.fullmatch(r"\s*([-+0-9.eE]+)\s*(.*)", text, re.DOTALL)
    if found is None:
        return nasty(rng)
    number, unit = found[1], found[2]
    way = rng.random()
    if way < 0.45:
        try:
            value = float(number) * rng.choice(
                (0.5, 0.9, 1.1, 2.0, 0.0, -1.0, 0.1, 10.0, 1e3, 1e-6, 1e9, 1e30, 1e-30, 1.0000001)
            )
            number = repr(value)
        except ValueError:
            number = rng.choice(NUMBERS)
    elif way < 0.7:
        number = rng.choice(NUMBERS)
    else:
        unit = rng.choice(UNITS)
    return f"{number} {unit}".strip()


def changed_text(rng: Random, text: str, marks: tuple[str, ...] = ()) -> str:
    """The text with a few pieces cut out, doubled, moved or put in."""
    for _ in range(rng.randint(1, 4)):
        i = rng.randint(0, len(text))
        j = min(len(text), i + rng.choice((1, 1, 2, 5, 20, 100)))
        way = rng.randrange(5)
        if way == 0:
            text = text[:i] + text[j:]
        elif way == 1:
            text = text[:j] + text[i:j] * rng.choice((1, 2, 50)) + text[j:]
        elif way == 2:
            text = text[:i] + rng.choice(marks or TEXTS) + text[j:]
        elif way == 3:
            k = rng.randint(0, len(text))
            text = text[:k] + text[i:j] + text[k:]
        else:
            lines = text.split("\n")
            rng.shuffle(lines) if rng.random() < 0.2 else lines.insert(
                rng.randint(0, len(lines)), rng.choice(lines)
            )
            text = "\n".join(lines)
    return text


def changed_bytes(rng: Random, data: bytes) -> bytes:
    """The bytes with some changed, cut out or put in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        i = rng.randint(0, len(out))
        way = rng.randrange(5)
        if way == 0 and out:
            out[i % len(out)] ^= 1 << rng.randrange(8)
        elif way == 1 and out:
            out[i % len(out)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif way == 2:
            del out[i : i + rng.choice((1, 4, 64, 1000))]
        elif way == 3:
            out[i:i] = rng.randbytes(rng.choice((1, 4, 64)))
        else:
            size = rng.choice((2, 4, 8))
            number = rng.choice(
                (0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, rng.randrange(2 ** (8 * size)))
            )
            out[i : i + size] = number.to_bytes(size, "little")
    return bytes(out[: rng.randint(0, len(out))] if rng.random() < 0.05 else out)


def encoded(rng: Random, text: str) -> bytes:
    """The text as the bytes of a file, seldom in another encoding or damaged."""
    data = text.encode("utf-8", "surrogatepass")
    way = rng.random()
    if way < 0.02:
        return text.encode("utf-16", "surrogatepass")
    if way < 0.03:
        return b"\xef\xbb\xbf" + data
    return changed_bytes(rng, data) if way < 0.06 else data
