"""pysoem brings drives to OP with distributed clocks, enables them and moves them along a ramp; prints what it saw."""

from __future__ import annotations

import json
import struct
import sys
import time
from typing import Any

import pysoem

CYCLE = 1_000_000  # ns
OUTPUT = struct.Struct("<HbxiihhI")  # the default RxPDO
INPUT = struct.Struct("<HbxiihHiI")
CSP = 8


def enable_word(statusword: int) -> int:
    """The next controlword on the way to operation enabled."""
    if statusword & 0x4F == 0x08:
        return 0x80
    if statusword & 0x4F == 0x40:
        return 0x06
    return 0x07 if statusword & 0x6F == 0x21 else 0x0F


def main(expected: int, cycles: int, settle: int = 10) -> None:
    master = pysoem.Master()
    master.open("stmaster")
    found: dict[str, Any] = {}
    for _ in range(10):  # a loaded machine may keep this process waiting for longer than the library does
        found["slaves"] = master.config_init()
        if found["slaves"] == expected:
            break
        time.sleep(0.1)
    found["names"] = [slave.name for slave in master.slaves]
    described = {each.index: each for each in master.slaves[0].od}
    found["objects"] = sorted(described)
    limits = described[0x607D]
    found["described"] = [text.decode() for text in (limits.name, *(entry.name for entry in limits.entries))]
    for slave in master.slaves:
        slave.sdo_write(0x1C32, 1, struct.pack("<H", 2))
        slave.sdo_write(0x1C32, 2, struct.pack("<I", CYCLE))
        slave.dc_sync(True, CYCLE)
    found["dc"] = bool(master.config_dc())
    found["mapped"] = master.config_map()
    found["delays"] = [int.from_bytes(slave._fprd(0x0928, 4), "little") for slave in master.slaves]
    found["safeop"] = master.state_check(pysoem.SAFEOP_STATE, 200_000)
    targets = [0] * len(master.slaves)
    words = [0] * len(master.slaves)
    short = 0

    def exchange() -> list[tuple[Any, ...]]:
        nonlocal short
        for k, slave in enumerate(master.slaves):
            slave.output = OUTPUT.pack(words[k], CSP, targets[k], 0, 0, 0, 0)
        master.send_processdata()
        short += master.receive_processdata(200_000) != master.expected_wkc
        return [INPUT.unpack(slave.input) for slave in master.slaves]

    exchange()
    master.state = pysoem.OP_STATE
    master.write_state()
    for _ in range(200):
        exchange()
        if master.state_check(pysoem.OP_STATE, 2_000) == pysoem.OP_STATE:
            break
    master.read_state()
    found["op"] = [slave.state for slave in master.slaves]
    for _ in range(300):
        seen = exchange()
        words = [enable_word(line[0]) for line in seen]
        targets = [line[2] for line in seen]
        if all(line[0] & 0x6F == 0x27 for line in seen):
            break
        time.sleep(0.001)
    found["enabled"] = [line[0] & 0x6F for line in seen]
    start, worst = list(targets), 0
    due = time.perf_counter()
    for i in range(cycles):
        targets = [s + (k + 1) * 100 * (i + 1) for k, s in enumerate(start)]
        seen = exchange()
        worst = max(worst, *(abs(t - line[2]) for t, line in zip(targets, seen, strict=True)))
        due += 0.001
        time.sleep(max(due - time.perf_counter(), 0.0))
    for _ in range(settle):
        seen = exchange()
        time.sleep(0.001)
    found["travel"] = [line[2] - s for line, s in zip(seen, start, strict=True)]
    found["follows"] = [bool(line[0] & 0x1000) for line in seen]
    found["worst_lag"], found["short_counters"] = worst, short
    found["differences"] = [
        int.from_bytes(slave._fprd(0x092C, 4), "little") & 0x7FFFFFFF for slave in master.slaves
    ]
    sys.stdout.write("master " + json.dumps(found) + "\n")
    master.close()


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
