"""Homing: methods of CiA 402 that search for a limit switch, a home switch or the index pulse of the encoder.

Every method ends on an edge of a switch that is passed in one direction, entering or leaving it, and methods 1 to 14
go on in that direction to the next index pulse. Methods 17 to 30 are the same without it. The way there has phases:

1. search: move until the switch is closed, and turn round at a limit switch; an axis that is too fast to turn round
   on the switch searches again from its far side;
2. back: if the edge is to be entered, leave the switch against its direction;
3. final: pass the edge, slowly;
4. index: go on, slowly, to the index pulse;
5. stop: slow down. What was passed is the home position, not where the axis comes to rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import ceil, floor, isnan
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.cia402.ramps import toward

TURN = 6.283185307179586
NEGATIVE_LIMIT, POSITIVE_LIMIT, HOME = 1, 2, 4  # bits of 60FD
ON_THE_SPOT = (35, 37)  # methods that take the present position


class Phase(IntEnum):
    """Where a search stands."""

    IDLE = 0
    SEARCH = 1
    BACK = 2
    FINAL = 3
    INDEX = 4
    STOP = 5
    GIVE_UP = 6  # slows down, and fails


@dataclass(frozen=True)
class Method:
    """How a method searches: ``switch`` (bit of 60FD, 0: none), where to first, and how its edge is passed."""

    number: int
    switch: int
    first: int
    direction: int
    enters: bool
    index: bool


_EDGES = (
    Method(1, NEGATIVE_LIMIT, -1, 1, False, True),
    Method(2, POSITIVE_LIMIT, 1, -1, False, True),
    Method(3, HOME, 1, -1, False, True),  # a switch that is closed up to the positive end
    Method(4, HOME, 1, 1, True, True),
    Method(5, HOME, -1, 1, False, True),  # up to the negative end
    Method(6, HOME, -1, -1, True, True),
    Method(7, HOME, 1, -1, False, True),  # a cam, searched for in positive direction first
    Method(8, HOME, 1, 1, True, True),
    Method(9, HOME, 1, -1, True, True),
    Method(10, HOME, 1, 1, False, True),
    Method(11, HOME, -1, 1, False, True),  # in negative direction first
    Method(12, HOME, -1, -1, True, True),
    Method(13, HOME, -1, 1, True, True),
    Method(14, HOME, -1, -1, False, True),
)
WITHOUT_INDEX = 16  # so much further stands the same method without index pulse
METHODS: tuple[Method, ...] = (
    *_EDGES,
    *(Method(e.number + WITHOUT_INDEX, e.switch, e.first, e.direction, e.enters, False) for e in _EDGES),
    Method(33, 0, -1, -1, False, True),
    Method(34, 0, 1, 1, False, True),
)
SUPPORTED = frozenset(m.number for m in METHODS) | frozenset(ON_THE_SPOT)
LARGEST = 37
# for compiled code, by number; -1 in the table of switches: no such method
_by_number = {m.number: m for m in METHODS}
SWITCHES = tuple(_by_number[n].switch if n in _by_number else -1 for n in range(LARGEST + 1))
FIRST = tuple(_by_number[n].first if n in _by_number else 0 for n in range(LARGEST + 1))
DIRECTIONS = tuple(_by_number[n].direction if n in _by_number else 0 for n in range(LARGEST + 1))
ENTERS = tuple(int(_by_number[n].enters) if n in _by_number else 0 for n in range(LARGEST + 1))
INDEXED = tuple(int(_by_number[n].index) if n in _by_number else 0 for n in range(LARGEST + 1))


@helper
def index_passed(before: float, now: float, turn: float) -> float:
    """The index pulse that a shaft passed between two positions [rad], the first on its way; NaN: none.

    ``turn``: distance of two pulses.
    """
    if now > before:
        pulse = (floor(before / turn) + 1.0) * turn
        return pulse if pulse <= now else float("nan")
    pulse = (ceil(before / turn) - 1.0) * turn
    return pulse if pulse >= now and now < before else float("nan")


@helper
def _begin(drive: Any, objects: Any) -> None:
    """The first phase of a method; a switch that is closed need not be searched for."""
    method = objects.homing_method
    drive.homed = drive.homing_failed = drive.turns_round = 0
    if not 1 <= method <= LARGEST or SWITCHES[method] < 0:
        drive.homing_failed = 1
        return
    drive.homing_method = method
    drive.homing_direction = FIRST[method]
    if SWITCHES[method] == 0:
        drive.homing_phase = Phase.INDEX
    else:
        drive.homing_phase = Phase.SEARCH
    drive.index_from = drive.feedback.position


@helper
def _found(drive: Any) -> None:
    """The switch is closed: back out of it first where it is to be entered."""
    method = drive.homing_method
    if ENTERS[method] != 0:
        drive.homing_phase, drive.homing_direction = Phase.BACK, -DIRECTIONS[method]
    else:
        drive.homing_phase, drive.homing_direction = Phase.FINAL, DIRECTIONS[method]


@helper
def _shot_through(drive: Any, closed: bool) -> bool:
    """Whether an axis that was to turn round on a switch has passed it on the far side: its edge is the wrong one."""
    leaving = drive.homing_phase == Phase.BACK or (
        drive.homing_phase == Phase.FINAL and ENTERS[drive.homing_method] == 0
    )
    return leaving and not closed and drive.velocity * drive.homing_direction < 0.0


@part
def _look(drive: Any, closed: bool, at_limit: bool) -> None:
    """What switches and index pulse mean in this phase."""
    method, phase = drive.homing_method, drive.homing_phase
    position = drive.feedback.position
    if phase == Phase.SEARCH:
        if closed:
            _found(drive)
        elif at_limit:
            drive.turns_round += 1
            drive.homing_direction = -drive.homing_direction
            if drive.turns_round > 1:
                drive.homing_phase = Phase.GIVE_UP
        return
    if phase == Phase.INDEX:
        pulse = index_passed(drive.index_from, position, TURN)
        drive.index_from = position
        if not isnan(pulse):
            drive.home_latched, drive.homing_phase = pulse, Phase.STOP
            return
    elif _shot_through(drive, closed):
        drive.homing_phase = Phase.SEARCH
        return
    elif phase == Phase.BACK and not closed:
        drive.homing_phase, drive.homing_direction = Phase.FINAL, DIRECTIONS[method]
        return
    elif phase == Phase.FINAL and closed == (ENTERS[method] != 0):
        drive.home_latched, drive.index_from = position, position
        drive.homing_phase = Phase.INDEX if INDEXED[method] != 0 else Phase.STOP
        return
    if at_limit and phase in (Phase.BACK, Phase.FINAL, Phase.INDEX):
        drive.homing_phase = Phase.GIVE_UP


@helper
def _set_home(drive: Any, objects: Any, home: float, scale: float) -> None:
    """The position that was found [rad of the shaft] is called 607C from now on."""
    shift = float(objects.home_offset) - (home * scale + drive.offset)
    drive.offset += shift
    drive.position += shift
    drive.target = drive.position
    drive.homed = 1


@helper
def _travel(drive: Any, objects: Any, halted: bool, dt: float) -> None:
    """One period of the motion of a search."""
    phase = drive.homing_phase
    speed = 0.0
    if phase in (Phase.SEARCH, Phase.BACK):
        speed = float(objects.homing_speed_switch)
    elif phase in (Phase.FINAL, Phase.INDEX):
        speed = float(objects.homing_speed_zero)
    wanted = 0.0 if halted else speed * drive.homing_direction
    before = drive.velocity
    drive.velocity = toward(before, wanted, float(objects.homing_acceleration) * dt)
    drive.position += 0.5 * (before + drive.velocity) * dt


@part
def homing(drive: Any, objects: Any, asked: bool, began: bool, halted: bool, scale: float, dt: float) -> None:
    """One period of homing. ``asked``: the start bit is set; ``began``: it was set in this period."""
    if began:
        drive.homed = drive.homing_failed = 0
        if objects.homing_method in ON_THE_SPOT:
            _set_home(drive, objects, drive.feedback.position, scale)
            drive.homing_phase = Phase.IDLE
        else:
            _begin(drive, objects)
    if not asked and drive.homing_phase != Phase.IDLE:
        drive.homing_phase = Phase.GIVE_UP
    phase = drive.homing_phase
    if phase == Phase.IDLE:
        drive.velocity = toward(drive.velocity, 0.0, float(objects.homing_acceleration) * dt)
        return
    inputs = drive.feedback.digital_inputs
    switch = SWITCHES[drive.homing_method]
    limit = POSITIVE_LIMIT if drive.homing_direction > 0 else NEGATIVE_LIMIT
    at_limit = inputs & limit != 0 and limit != switch
    standing = halted and drive.velocity == 0.0  # an edge that is passed while a halt slows down counts
    if phase not in (Phase.STOP, Phase.GIVE_UP) and not standing:
        _look(drive, inputs & switch != 0, at_limit)
    _travel(drive, objects, halted, dt)
    if drive.velocity == 0.0:
        if drive.homing_phase == Phase.STOP:
            _set_home(drive, objects, drive.home_latched, scale)
            drive.homing_phase = Phase.IDLE
        elif drive.homing_phase == Phase.GIVE_UP:
            drive.homing_failed = 1 if asked else 0
            drive.homing_phase = Phase.IDLE
