"""Touch probes: an edge of an input, or the index pulse, keeps the position at which it came (60B8 to 60BD).

Probe 1 listens to the home switch (60FD bit 2), probe 2 to bit 16 of 60FD, which object 2005 can set.
"""

from __future__ import annotations

from math import isnan
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.cia402.homing import TURN, index_passed

ENABLED, CONTINUOUS, BY_INDEX, RISING, FALLING = 0x01, 0x02, 0x04, 0x10, 0x20  # of 60B8, for each probe
ACTIVE, RISING_KEPT, FALLING_KEPT = 0x01, 0x02, 0x04  # of 60B9
INPUT_1, INPUT_2 = 0x4, 0x10000  # bits of 60FD


@helper
def _whole(value: float) -> int:
    whole = round(value)
    return ((whole + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@helper
def _probe(word: int, status: int, before: int, now: int, pulse: bool) -> tuple[int, bool, bool]:
    """Status of a probe after a period, and whether it keeps a position now, of a rising and of a falling edge."""
    if word & ENABLED == 0:
        return 0, False, False
    fresh = status & ACTIVE == 0
    status |= ACTIVE
    up = word & RISING != 0 and (pulse if word & BY_INDEX != 0 else before == 0 and now != 0)
    down = word & FALLING != 0 and word & BY_INDEX == 0 and before != 0 and now == 0
    if fresh:
        return status, False, False  # an edge counts from the next period on
    up = up and (word & CONTINUOUS != 0 or status & RISING_KEPT == 0)
    down = down and (word & CONTINUOUS != 0 or status & FALLING_KEPT == 0)
    return status | (RISING_KEPT if up else 0) | (FALLING_KEPT if down else 0), up, down


@part
def watch_probes(drive: Any, objects: Any, scale: float) -> None:
    """One period of both touch probes, from inputs and shaft of the last period to those of this one."""
    inputs, before = drive.feedback.digital_inputs, drive.inputs_before
    position = drive.feedback.position
    pulse = index_passed(drive.shaft_before, position, TURN)
    passed = not isnan(pulse)
    here = _whole(position * scale + drive.offset)
    at_pulse = _whole(pulse * scale + drive.offset) if passed else here
    word, status = int(objects.probe_function), int(objects.probe_status)
    first, up, down = _probe(word & 0xFF, status & 0xFF, before & INPUT_1, inputs & INPUT_1, passed)
    if up:
        objects.probe_1_rising = at_pulse if word & BY_INDEX != 0 else here
    if down:
        objects.probe_1_falling = here
    second, up, down = _probe(word >> 8, status >> 8, before & INPUT_2, inputs & INPUT_2, passed)
    if up:
        objects.probe_2_rising = at_pulse if (word >> 8) & BY_INDEX != 0 else here
    if down:
        objects.probe_2_falling = here
    objects.probe_status = first | (second << 8)
    drive.inputs_before, drive.shaft_before = inputs, position
