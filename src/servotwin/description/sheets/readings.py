"""Ways to read the currents and voltages of a data sheet, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """One way to read currents and voltages of a sheet."""

    current: str
    voltage: str
    between: str

    def changes(self, stated: Reading) -> list[str]:
        """What is read otherwise than stated, in words."""
        pairs = (
            (self.current, stated.current, f"currents were {sine(self.current)}"),
            (self.voltage, stated.voltage, f"the voltage were {sine(self.voltage)}"),
            (self.between, stated.between, f"the voltage were {place(self.between)}"),
        )
        return [words for own, other, words in pairs if own != other]


def sine(size: str) -> str:
    """What a current or voltage of a sine is."""
    return "an effective value (rms)" if size == "rms" else "an amplitude"


def place(between: str) -> str:
    """Where a voltage lies."""
    return "between lines" if between == "lines" else "of one star phase"


def off(value: float, other: float) -> float:
    """Relative difference of two positive numbers."""
    return abs(value / other - 1.0)
