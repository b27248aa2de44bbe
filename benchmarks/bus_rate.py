"""Frames back to back over a pair of virtual interfaces, with pysoem as the master: ``python -m benchmarks.bus_rate``.

Every frame carries the process data of all slaves, passes them, moves their drives and comes back before the next. The
best of some batches is given: what the machine does besides is not the slaves' time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
TARGET = 16_000  # frames in a second
BATCHES, FRAMES = 20, 2000
MASTER = f"""
import json, time, pysoem
master = pysoem.Master()
master.open("stmaster")
assert any(master.config_init() > 0 for _ in range(10))
master.config_map()
master.state_check(pysoem.SAFEOP_STATE, 200_000)
def exchange():
    master.send_processdata()
    return master.receive_processdata(50_000) == master.expected_wkc
exchange()
master.state = pysoem.OP_STATE
master.write_state()
while master.state_check(pysoem.OP_STATE, 2_000) != pysoem.OP_STATE:
    exchange()
rates, short = [], 0
for _ in range({BATCHES}):
    start = time.perf_counter()
    short += sum(not exchange() for _ in range({FRAMES}))
    rates.append({FRAMES} / (time.perf_counter() - start))
print("master " + json.dumps({{"rates": rates, "short": short}}))
"""


def measured(axes: list[int]) -> tuple[list[float], int]:
    """Frames in a second, of each batch, and frames whose working counter was short."""
    command = [sys.executable, str(TESTS / "bus_drives.py"), json.dumps({"axes": axes})]
    done = subprocess.run(
        [*command, sys.executable, "-c", MASTER], capture_output=True, text=True, check=True
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("master "))
    found = json.loads(line.split(" ", 1)[1])
    return sorted(found["rates"]), found["short"]


def main() -> int:
    """Print a line for each segment; 1 if one is too slow or lost a frame."""
    failed = False
    for axes in ([1] * 4, [1] * 6, [6]):
        rates, short = measured(axes)
        bad = rates[-1] < TARGET or short > 0
        failed |= bad
        print(
            f"{len(axes)} slaves, {sum(axes)} axes: best {rates[-1]:.0f}, median {rates[len(rates) // 2]:.0f} "
            f"frames/s, {short} short counters of {BATCHES * FRAMES}; target {TARGET}{' MISSED' if bad else ''}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
