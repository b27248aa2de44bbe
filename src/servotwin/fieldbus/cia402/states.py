"""The state machine of a drive after CiA 402 (IEC 61800-7-201): states, commands and transitions 0 to 16 as tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class State(IntEnum):
    """States of a drive."""

    START = 0
    NOT_READY = 1
    SWITCH_ON_DISABLED = 2
    READY = 3  # ready to switch on
    SWITCHED_ON = 4
    ENABLED = 5  # operation enabled
    QUICK_STOP = 6  # quick stop active
    FAULT_REACTION = 7  # fault reaction active
    FAULT = 8


class Command(IntEnum):
    """What a controlword asks for, and what happens without one."""

    NONE = 0
    SHUTDOWN = 1
    SWITCH_ON = 2  # in ENABLED it disables operation
    ENABLE = 3
    DISABLE_VOLTAGE = 4
    QUICK_STOP = 5
    FAULT_RESET = 6
    AUTOMATIC = 7
    FAULT = 8


class Mode(IntEnum):
    """Modes of operation (6060), of those that exist here."""

    NONE = 0
    PP = 1  # profile position
    PV = 3  # profile velocity
    TQ = 4  # profile torque
    HM = 6  # homing
    CSP = 8  # cyclic synchronous position
    CSV = 9
    CST = 10


# 6502: bit (mode - 1)
SUPPORTED_MODES = sum(1 << (mode - 1) for mode in Mode if mode)


@dataclass(frozen=True)
class Transition:
    """One line of the standard's table."""

    number: int
    source: State
    target: State
    commands: tuple[Command, ...]


_S, _C = State, Command
TRANSITIONS: tuple[Transition, ...] = (
    Transition(0, _S.START, _S.NOT_READY, (_C.AUTOMATIC,)),
    Transition(1, _S.NOT_READY, _S.SWITCH_ON_DISABLED, (_C.AUTOMATIC,)),
    Transition(2, _S.SWITCH_ON_DISABLED, _S.READY, (_C.SHUTDOWN,)),
    Transition(3, _S.READY, _S.SWITCHED_ON, (_C.SWITCH_ON, _C.ENABLE)),  # ENABLE goes on with 4
    Transition(4, _S.SWITCHED_ON, _S.ENABLED, (_C.ENABLE,)),
    Transition(5, _S.ENABLED, _S.SWITCHED_ON, (_C.SWITCH_ON,)),
    Transition(6, _S.SWITCHED_ON, _S.READY, (_C.SHUTDOWN,)),
    Transition(7, _S.READY, _S.SWITCH_ON_DISABLED, (_C.DISABLE_VOLTAGE, _C.QUICK_STOP)),
    Transition(8, _S.ENABLED, _S.READY, (_C.SHUTDOWN,)),
    Transition(9, _S.ENABLED, _S.SWITCH_ON_DISABLED, (_C.DISABLE_VOLTAGE,)),
    Transition(10, _S.SWITCHED_ON, _S.SWITCH_ON_DISABLED, (_C.DISABLE_VOLTAGE, _C.QUICK_STOP)),
    Transition(11, _S.ENABLED, _S.QUICK_STOP, (_C.QUICK_STOP,)),
    # the end of the stop comes here too, with options 605A of 1 to 3
    Transition(12, _S.QUICK_STOP, _S.SWITCH_ON_DISABLED, (_C.DISABLE_VOLTAGE, _C.AUTOMATIC)),
    *(Transition(13, s, _S.FAULT_REACTION, (_C.FAULT,)) for s in _S if s < _S.FAULT_REACTION),
    Transition(14, _S.FAULT_REACTION, _S.FAULT, (_C.AUTOMATIC,)),
    Transition(15, _S.FAULT, _S.SWITCH_ON_DISABLED, (_C.FAULT_RESET,)),
    Transition(16, _S.QUICK_STOP, _S.ENABLED, (_C.ENABLE,)),  # with options 605A of 5 to 7
)

# bits 0 to 3, 5 and 6 of the statusword
STATUS = {
    State.START: 0x0000,
    State.NOT_READY: 0x0000,
    State.SWITCH_ON_DISABLED: 0x0040,
    State.READY: 0x0021,
    State.SWITCHED_ON: 0x0023,
    State.ENABLED: 0x0027,
    State.QUICK_STOP: 0x0007,
    State.FAULT_REACTION: 0x000F,
    State.FAULT: 0x0008,
}
VOLTAGE_ENABLED, REMOTE, TARGET_REACHED, INTERNAL_LIMIT = 0x0010, 0x0200, 0x0400, 0x0800
FOLLOWS, MODE_ERROR = 0x1000, 0x2000  # bits 12 and 13, whose meaning depends on the mode
HALT = 0x0100  # of the controlword


def state_of(statusword: int) -> State | None:
    """The state that a statusword tells; None if it is none.

    >>> state_of(0x0637).name, state_of(0x0218).name
    ('ENABLED', 'FAULT')
    """
    if statusword & 0x4F in (0x00, 0x40, 0x0F, 0x08):
        low = {0x00: State.NOT_READY, 0x40: State.SWITCH_ON_DISABLED, 0x0F: State.FAULT_REACTION}
        return low.get(statusword & 0x4F, State.FAULT)
    high = {0x21: State.READY, 0x23: State.SWITCHED_ON, 0x27: State.ENABLED, 0x07: State.QUICK_STOP}
    return high.get(statusword & 0x6F)


COMMANDS = len(Command)
# for compiled code: the next state by state and command, the same one where there is no transition
_next = {(t.source, c): t.target for t in TRANSITIONS for c in t.commands}
NEXT_STATE: tuple[int, ...] = tuple(int(_next.get((s, c), s)) for s in State for c in Command)
STATUS_BITS: tuple[int, ...] = tuple(STATUS[s] for s in State)


class ErrorCode(IntEnum):
    """Codes of 603F that the drive itself raises; the axis behind it has its own."""

    NONE = 0x0000
    COMMUNICATION = 0x7500
    FOLLOWING_ERROR = 0x8611


# codes that an axis reports, with the standard's numbers
AXIS_ERRORS = {
    "over-current": 0x2310,
    "short circuit": 0x2320,
    "earth leakage": 0x2330,
    "overload of the drive": 0x2350,
    "mains phase": 0x3130,
    "overvoltage": 0x3210,
    "undervoltage": 0x3220,
    "over-temperature of the surroundings": 0x4110,
    "over-temperature of the drive": 0x4210,
    "over-temperature of the motor": 0x4310,
    "control supply": 0x5110,
    "processor": 0x5220,
    "output stage": 0x5410,
    "fuse": 0x5450,
    "memory": 0x5530,
    "software": 0x6010,
    "parameters": 0x6320,
    "braking resistor": 0x7110,
    "motor blocked": 0x7121,
    "winding without current": 0x7122,
    "current measurement": 0x7200,
    "encoder": 0x7305,
    "speed sensor": 0x7310,
    "overspeed": 0x8400,
}


def error_register(code: int) -> int:
    """Object 1001 for a code of 603F: generic, current, voltage, temperature, communication, profile.

    >>> [error_register(c) for c in (0, 0x2310, 0x3210, 0x4210, 0x8611, 0x7500)]
    [0, 3, 5, 9, 33, 17]
    """
    if code == 0:
        return 0
    if code == ErrorCode.COMMUNICATION:
        return 0x11
    kinds = {0x2: 0x02, 0x3: 0x04, 0x4: 0x08, 0x8: 0x20}
    return 0x01 | kinds.get(code >> 12, 0)
