"""KickCAT brings drives to OP, enables them and moves them along a ramp; prints what it saw.

Its Python interface has no distributed clocks.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from typing import Any

import kickcat

from bus_master_pysoem import CSP, INPUT, OUTPUT, enable_word

DEVICE_NAME = 0x1008


PATIENCE = (5, 10, 20, 40, 80, 120, 160, 200, 200, 200)  # ms


def initialised(expected: int) -> tuple[Any, Any]:
    """Link and bus. Each of its 215 first frames takes as long as an answer may take, whenever the answer comes.

    A loaded machine may keep this process waiting for longer, so every attempt has more time and a socket of its own,
    in which no late answer of the one before is read.
    """
    for patience in PATIENCE:
        link = kickcat.create_link("stmaster", "")
        link.set_timeout(timedelta(milliseconds=patience))
        bus = kickcat.Bus(link)
        try:
            bus.init(timedelta(seconds=1))
            if len(bus.slaves()) == expected:
                break
        except RuntimeError:
            time.sleep(0.1)
    return link, bus


def main(expected: int, cycles: int, settle: int = 10) -> None:
    link, bus = initialised(expected)
    link.set_timeout(timedelta(milliseconds=200))
    found: dict[str, Any] = {"slaves": len(bus.slaves())}
    bus.create_mapping(4096)
    slaves = bus.slaves()
    found["sizes"] = [(slave.output_size, slave.input_size) for slave in slaves]
    second = timedelta(seconds=1)
    name = bus.read_sdo(slaves[0], DEVICE_NAME, 0, kickcat.Access.PARTIAL, 64, second)
    found["name"] = bytes(name).rstrip(b"\0").decode()
    targets, words = [0] * len(slaves), [0] * len(slaves)

    def exchange() -> list[tuple[Any, ...]]:
        for k, slave in enumerate(slaves):
            slave.set_output_bytes(OUTPUT.pack(words[k], CSP, targets[k], 0, 0, 0, 0))
        bus.process_data()
        return [INPUT.unpack(slave.input_data) for slave in slaves]

    bus.request_state(kickcat.State.SAFE_OP)
    bus.wait_for_state(kickcat.State.SAFE_OP, second)
    exchange()
    bus.request_state(kickcat.State.OPERATIONAL)
    bus.wait_for_state(kickcat.State.OPERATIONAL, second, bus.process_data)
    found["op"] = [int(bus.get_state(slave).value) for slave in slaves]
    for _ in range(300):
        seen = exchange()
        words = [enable_word(line[0]) for line in seen]
        targets = [line[2] for line in seen]
        if all(line[0] & 0x6F == 0x27 for line in seen):
            break
        time.sleep(0.001)
    found["enabled"] = [line[0] & 0x6F for line in seen]
    start = list(targets)
    due = time.perf_counter()
    for i in range(cycles):
        targets = [s + (k + 1) * 100 * (i + 1) for k, s in enumerate(start)]
        exchange()
        due += 0.001
        time.sleep(max(due - time.perf_counter(), 0.0))
    for _ in range(settle):
        seen = exchange()
        time.sleep(0.001)
    found["travel"] = [line[2] - s for line, s in zip(seen, start, strict=True)]
    found["follows"] = [bool(line[0] & 0x1000) for line in seen]
    sys.stdout.write("master " + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
