"""The modes of the PC controller after Kim (2018), section 4, in terms of the main controller."""

from __future__ import annotations

from enum import IntEnum

from servotwin.control.main.states import Event, Mode


class PcMode(IntEnum):
    """What the operator of the PC controller chooses."""

    DISABLE = -1  # drives without power
    HOME = 0  # to the home position
    JOINT = 1  # by hand, joint by joint
    CARTESIAN = 2  # by hand, along the axes of base or tool
    TRAJECTORY = 3  # a job


# what is pressed for each: the position of the key switch, and the key
KEYS: dict[PcMode, tuple[Mode | None, Event | None]] = {
    PcMode.DISABLE: (None, Event.DISABLE),
    PcMode.HOME: (Mode.TEACH, Event.HOME),
    PcMode.JOINT: (Mode.TEACH, None),
    PcMode.CARTESIAN: (Mode.TEACH, None),
    PcMode.TRAJECTORY: (Mode.PLAY, None),
}
JOG_FRAMES = {PcMode.JOINT: ("joint",), PcMode.CARTESIAN: ("base", "tool")}
