"""What can be wrong with a link, frame by frame and cycle by cycle."""

from __future__ import annotations

from enum import IntEnum


class Cause(IntEnum):
    """Why a frame was not accepted, why a cycle was disturbed, why a run went to its safe state."""

    NONE = 0
    SILENCE = 1  # no frame at all
    LENGTH = 2
    MAGIC = 3
    VERSION = 4
    KIND = 5  # a frame that does not belong here, a wrong number of shafts, wrong flags
    CHECKSUM = 6
    AUTHENTICATION = 7
    SESSION = 8
    SOURCE = 9
    DUPLICATE = 10
    REORDERED = 11
    STALE = 12  # an old frame again, or samples that are no newer than the last ones
    DELAY = 13  # answers a command that is not the newest
    LOST = 14  # frames that never came, by their sequence numbers
    NOT_FINITE = 15
    RANGE = 16
    RIG_FAULT = 17
    COMMAND = 18  # the simulated arm stopped, or its command is not finite
    TRANSPORT = 19  # sending or receiving failed
    FLOOD = 20  # more frames in a cycle than are looked at
    ENDED = 21  # the run was ended by its user
    OVERRUN = 22  # a cycle ended after the next deadline, and the policy is to stop
    CLOCK = 23  # the clock could not be waited for
    LOOP = 24  # the loop died before its end


CAUSES = len(Cause)
WORDS = {
    Cause.NONE: "complete",
    Cause.SILENCE: "silence: no feedback arrives",
    Cause.LENGTH: "garbage: frames of a wrong length",
    Cause.MAGIC: "garbage: frames that do not begin with the magic number",
    Cause.VERSION: "frames of another protocol version",
    Cause.KIND: "frames of a wrong kind, number of shafts or flags",
    Cause.CHECKSUM: "garbage: frames with a wrong checksum",
    Cause.AUTHENTICATION: "frames that are not authenticated with the key",
    Cause.SESSION: "frames of another session",
    Cause.SOURCE: "frames from another address",
    Cause.DUPLICATE: "duplicated frames",
    Cause.REORDERED: "reordered frames",
    Cause.STALE: "stale frames: old samples sent again",
    Cause.DELAY: "delay: answers come after the next command",
    Cause.LOST: "lost frames",
    Cause.NOT_FINITE: "numbers that are not finite",
    Cause.RANGE: "numbers beyond the limits of the rig",
    Cause.RIG_FAULT: "the rig reports a fault",
    Cause.COMMAND: "the simulated arm stopped, or gave a command that is not finite",
    Cause.TRANSPORT: "the transport failed",
    Cause.FLOOD: "more frames in a cycle than are looked at",
    Cause.ENDED: "ended by the user",
    Cause.OVERRUN: "overrun: a cycle ended after the next deadline",
    Cause.CLOCK: "the clock could not be waited for",
    Cause.LOOP: "the loop died before its end",
}
