"""Axes on the bus as their controller sees them: where their objects stand, their units, the words they exchange."""

from __future__ import annotations

import math
from dataclasses import dataclass

from servotwin.errors import InputError
from servotwin.fieldbus.cia402.states import AXIS_ERRORS, ErrorCode, Mode, State
from servotwin.fieldbus.ethercat.master.image import Image
from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError
from servotwin.fieldbus.ethercat.master.slaves import Slave
from servotwin.fieldbus.objects.tables import AXIS_STEP

CONTROLWORD, STATUSWORD, ERROR_CODE = 0x6040, 0x6041, 0x603F
MODE, MODE_DISPLAY = 0x6060, 0x6061
TARGET, TARGET_SPEED, SPEED_OFFSET = 0x607A, 0x60FF, 0x60B1
POSITION, SPEED, TORQUE = 0x6064, 0x606C, 0x6077
SHUTDOWN, SWITCH_ON, ENABLE, QUICK_STOP, VOLTAGE_OFF, RESET = 0x06, 0x07, 0x0F, 0x02, 0x00, 0x80
LARGEST = 2**31 - 1
_FORMATS = {
    (1, True): "<b",
    (2, True): "<h",
    (4, True): "<i",
    (1, False): "<B",
    (2, False): "<H",
    (4, False): "<I",
}
ERROR_TEXTS = {
    **{code: text for text, code in AXIS_ERRORS.items()},
    int(ErrorCode.COMMUNICATION): "communication: no outputs in time",
    int(ErrorCode.FOLLOWING_ERROR): "following error",
}
KINDS = {
    0x1: "generic error", 0x2: "current", 0x3: "voltage", 0x4: "temperature", 0x5: "hardware of the drive",
    0x6: "software of the drive", 0x7: "additional module", 0x8: "monitoring", 0x9: "external error",
}  # fmt: skip


def error_text(code: int) -> str:
    """A code of 603F in words.

    >>> error_text(0x8611), error_text(0x4999)
    ('following error (8611)', 'temperature (4999)')
    """
    return f"{ERROR_TEXTS.get(code) or KINDS.get(code >> 12, 'error')} ({code:04X})"


WORDS = {  # on the way to operation enabled
    State.SWITCH_ON_DISABLED: SHUTDOWN,
    State.READY: SWITCH_ON,
    State.SWITCHED_ON: ENABLE,
    State.ENABLED: ENABLE,
}


def next_word(state: State | None, *, enable: bool) -> int:
    """The controlword on the way to operation enabled, or out of it: an enabled drive stops by its ramp.

    >>> [next_word(s, enable=True) for s in (State.SWITCH_ON_DISABLED, State.READY, State.SWITCHED_ON)]
    [6, 7, 15]
    >>> next_word(State.ENABLED, enable=False)
    2
    """
    if not enable:
        return QUICK_STOP if state in (State.ENABLED, State.QUICK_STOP) else VOLTAGE_OFF
    return WORDS.get(state, VOLTAGE_OFF) if state is not None else VOLTAGE_OFF


@dataclass(frozen=True)
class Field:
    """A number in the process image."""

    at: int
    format: str  # of ``struct``

    @property
    def signed(self) -> bool:
        """Whether it may be negative."""
        return self.format.islower()


@dataclass
class BusAxis:
    """One axis: ``name`` of its motor, the slave and the axis number there, ``per_rad`` user units."""

    name: str
    slave: Slave
    number: int
    per_rad: float
    outputs: dict[int, Field]
    inputs: dict[int, Field]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"axis {self.name} ({self.slave.label})"


NEEDED_OUTPUTS, NEEDED_INPUTS = (CONTROLWORD, TARGET), (STATUSWORD, POSITION)
SIGNED = {MODE, MODE_DISPLAY, TARGET, TARGET_SPEED, SPEED_OFFSET, POSITION, SPEED, TORQUE}
OUTPUTS = (CONTROLWORD, MODE, TARGET, TARGET_SPEED, SPEED_OFFSET)
SIZES = {
    CONTROLWORD: 2, MODE: 1, TARGET: 4, TARGET_SPEED: 4, SPEED_OFFSET: 4,
    STATUSWORD: 2, MODE_DISPLAY: 1, POSITION: 4, SPEED: 4, TORQUE: 2, ERROR_CODE: 2,
}  # bytes  # fmt: skip
INPUTS = (STATUSWORD, MODE_DISPLAY, POSITION, SPEED, TORQUE, ERROR_CODE)


def axes_on(slave: Slave) -> list[int]:
    """Numbers of the axes of a slave: those whose controlword is among its outputs."""
    found = [
        (e.index - CONTROLWORD) // AXIS_STEP
        for e in slave.outputs
        if (e.index - CONTROLWORD) % AXIS_STEP == 0
    ]
    return sorted(n for n in found if 0 <= n < 8)


def units_per_rad(slave: Slave, number: int) -> float:
    """User units for a radian of the motor's shaft, by 6091 and 6092, or by 608F where they are missing."""
    base = number * AXIS_STEP

    def ratio(index: int) -> float | None:
        try:
            above, below = (slave.sdo.number(index + base, k) for k in (1, 2))
        except SdoRefusedError:
            return None
        if not above or not below:
            raise slave.fail(f"object {index + base:04X} is {above}/{below}; both must be above zero")
        return above / below

    feed, gear = ratio(0x6092), ratio(0x6091)
    if feed is not None:
        return feed / (gear or 1.0) / (2.0 * math.pi)
    increments = ratio(0x608F)
    if increments is None:
        raise slave.fail("neither 6092 nor 608F tells its units")
    return increments / (2.0 * math.pi)


def place_axes(slaves: list[Slave], image: Image, names: tuple[str, ...]) -> list[BusAxis]:
    """The axes of a line in the order of the slaves, for the motors of a robot."""
    places = [(slave, number) for slave in slaves for number in axes_on(slave)]
    if len(places) != len(names):
        raise InputError(
            f"{len(places)} axes on the bus; the robot has {len(names)} motors: {', '.join(names)}",
            field="interface",
        )
    return [_axis(name, slave, number, image) for name, (slave, number) in zip(names, places, strict=True)]


def _axis(name: str, slave: Slave, number: int, image: Image) -> BusAxis:
    base = number * AXIS_STEP
    tables: list[dict[int, Field]] = []
    for output, indices in ((True, OUTPUTS), (False, INPUTS)):
        found = {}
        for index in indices:
            place = image.place(slave, index + base, output=output)
            if place is None:
                continue
            if place[1] != SIZES[index]:
                raise slave.fail(
                    f"object {index + base:04X} has {place[1]} bytes in its process data; expected {SIZES[index]}"
                )
            found[index] = Field(place[0], _FORMATS[place[1], index in SIGNED])
        tables.append(found)
    for needed, table in zip((NEEDED_OUTPUTS, NEEDED_INPUTS), tables, strict=True):
        for index in needed:
            if index not in table:
                raise slave.fail(f"object {index + base:04X} is not among its process data")
    if MODE not in tables[0]:
        slave.sdo.write(MODE + base, 0, bytes([Mode.CSP]))
    return BusAxis(name, slave, number, units_per_rad(slave, number), tables[0], tables[1])
