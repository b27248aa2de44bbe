"""The enabling switch with three positions, and the lease of what an operator holds.

A simulated enabling device and no safety function. Motion is allowed in the middle position only, reached from
released: squeezed through, and whenever the lease has run out, it must be released first. What the operator holds
counts for ``LEASE`` after the page sent it, and for less while the arm is fast (``patience``); nothing that stays
away, comes late or comes twice keeps the arm moving.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.pendant.cell.messages import POSITIONS, STILL, OperatorState

LEASE = 80_000_000  # ns that what is held counts, at most
STOP_WITHIN = 200_000_000  # ns after its page was lost the arm stands, unless another time is chosen
LEAST = 50_000_000  # ns: two messages of a page may be lost on their way
SPARE = 20_000_000  # ns for a process that wakes up late, and for a path that still speeds up while the arm brakes
RELEASED, MIDDLE, SQUEEZED = range(len(POSITIONS))


class Lease:
    """The operator's state as it counts now."""

    def __init__(self, lease_ns: int = LEASE) -> None:
        self.lease_ns = lease_ns
        self.state = OperatorState()
        self._armed = False  # the switch came from released
        self._lost = False
        self._given_up_ns: int | None = None  # date of the last word before the page was given up

    def take(self, state: OperatorState) -> None:
        """The latest state; one that is older than what is known does not count."""
        if state.at_ns < self.state.at_ns:
            return
        if state.switch == RELEASED:
            self._armed, self._lost = True, False
        elif state.switch == SQUEEZED:
            self._armed = False
        self.state = state

    def drop(self) -> None:
        """Nothing is held any more, as after a change of seat or mode; the switch must be released first."""
        self._armed = False
        self.state = replace(self.state, switch=RELEASED, hold=False, direction=STILL)

    def present(self, now_ns: int, within_ns: int) -> bool:
        """Whether the operator's page was heard of within a time."""
        return now_ns - self.state.at_ns <= within_ns

    def heard(self, now_ns: int, within_ns: int) -> bool:
        """Whether the page counts as there; once it was given up, only a newer word of it brings it back."""
        if not self.present(now_ns, within_ns):
            self._given_up_ns = self.state.at_ns
        return self.state.at_ns != self._given_up_ns

    def look(self, now_ns: int, within_ns: int = STOP_WITHIN) -> OperatorState:
        """The state that counts at an instant: nothing is held once the lease has run out, or ``within_ns`` if less.

        It runs from when the cell got the state at the latest, whatever date that bears.
        """
        if self.state.at_ns > now_ns:
            self.state = replace(self.state, at_ns=now_ns)
        if not self.present(now_ns, min(self.lease_ns, within_ns)):
            if self.state.switch != RELEASED:
                self._lost = True
            self.drop()
        return self.state

    @property
    def held(self) -> bool:
        """Whether the switch allows motion."""
        return self._armed and self.state.switch == MIDDLE

    @property
    def word(self) -> str:
        """What keeps the switch from allowing motion, in words; empty if nothing does."""
        if self.held:
            return ""
        if self.state.switch == SQUEEZED:
            return "squeezed through: release it, then hold it lightly"
        if self.state.switch == MIDDLE:
            return "release the enabling switch once, then hold it"
        return "contact with the page was lost; hold the enabling switch again" if self._lost else ""


def braking_time(qd: Array, limits: MotionLimits, share: float = 1.0) -> float:
    """How long joints take at most to come to rest from speeds qd (n,) with a share of their acceleration [s].

    Where the jerk is limited, as long as that takes as well.
    """
    v, a = np.abs(qd), share * limits.acceleration
    ramp = np.where(np.isfinite(limits.jerk), a / limits.jerk, 0.0) if share == 1.0 else np.zeros_like(v)
    gentle = 2.0 * np.sqrt(v / limits.jerk)  # the limit of acceleration is not reached
    return float(np.where(v >= a * ramp, v / a + np.where(v > 0.0, ramp, 0.0), gentle).max(initial=0.0))


def patience(braking: float, period_ns: int, stop_ns: int = STOP_WITHIN) -> int:
    """For how long a page may be silent [ns] if the arm takes ``braking`` [s] to come to rest, within ``stop_ns``.

    Of two periods one passes until the silence is seen; braking ends at the end of another.
    """
    return max(stop_ns - round(braking * 1e9) - 2 * period_ns - SPARE, LEAST)


def longest_braking(period_ns: int, stop_ns: int = STOP_WITHIN, late_ns: int = 0) -> float:
    """The braking time [s] up to which the arm stands within ``stop_ns`` though pages are given ``LEAST``.

    ``late_ns`` of it pass before an arm that follows late brakes. InputError for a controller whose periods leave no
    time to brake.
    """
    used = LEAST + 2 * period_ns + SPARE + late_ns
    if used >= stop_ns:
        raise InputError(
            f"{stop_ns * 1e-6:.0f} ms is too short for a main period of {period_ns * 1e-6:g} ms;"
            f" expected more than {used * 1e-6:g} ms",
            field="stop-within",
        )
    return (stop_ns - used + late_ns) * 1e-9
