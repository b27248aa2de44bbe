"""Words about rigs for messages: numbers of things, and the faults that a rig reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servotwin.hil.ports import RigFault

_FAULTS = {
    RigFault.WATCHDOG: "watchdog (no valid command came in time)",
    RigFault.OVER_SPEED: "over-speed",
    RigFault.OVER_CURRENT: "over-current",
    RigFault.SENSOR: "sensor",
}


def counted(count: int, word: str) -> str:
    """A number of things: 1 shaft, 2 shafts."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def fault_words(faults: Any, joints: Sequence[str] = ()) -> str:
    """The faults of a rig by shaft, such as 'over-speed at shaft 1 (joint J1)'; empty if there is none."""
    said = []
    for shaft, code in enumerate(int(fault) for fault in faults):
        if code:
            known = code in list(RigFault)
            what = _FAULTS[RigFault(code)] if known else f"fault {code}, of no meaning in the protocol,"
            joint = f" (joint {joints[shaft]})" if shaft < len(joints) else ""
            said.append(f"{what} at shaft {shaft + 1}{joint}")
    return ", ".join(said)
