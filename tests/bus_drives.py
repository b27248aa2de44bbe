"""A process of drives in a network of its own, with ideal axes or a robot; it runs a master and says what it saw.

python bus_drives.py '{"axes": [1, 1, 1, 1], "pcap": "x.pcap"}' MASTER ARGUMENT...
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from servotwin.fieldbus.namespace import DRIVES_SIDE, enter_namespace


def main(settings: dict[str, Any], master: list[str]) -> None:
    enter_namespace()  # before NumPy, which has threads
    from servotwin.fieldbus.cia402.application import Drives, ideal_plant
    from servotwin.fieldbus.ethercat.registers import WATCHDOG_PROCESS_DATA
    from servotwin.fieldbus.ethercat.slave.records import ClockKind
    from servotwin.fieldbus.ethercat.slave.segment import Segment
    from servotwin.fieldbus.serving import serve

    lock_step, drifts = bool(settings.get("lock_step")), settings.get("drifts", ())
    if "robot" in settings:
        from servotwin.fieldbus.robot.build import robot_drives

        built = robot_drives(settings["robot"], lock_step=lock_step, drifts=drifts)
        drives, segment = built.drives, built.segment
    else:
        drives = Drives(settings["axes"])
        drives.attach(ideal_plant(drives))
        clock = ClockKind.LOCK_STEP if lock_step else ClockKind.WALL
        segment = Segment(drives.application(), clock=clock, drifts=drifts)
    for (
        device
    ) in segment.devices:  # a loaded machine may keep the master waiting for longer than the usual 100 ms
        device.put(WATCHDOG_PROCESS_DATA, 2, 10 * settings.get("watchdog_ms", 2000))
    # the master needs rights that this process gives away
    child = subprocess.Popen(["sh", "-c", 'read go; exec "$@"', "sh", *master], stdin=subprocess.PIPE)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def ready() -> None:
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.close()

    def look(_: Segment) -> None:
        if child.poll() is not None:
            raise KeyboardInterrupt

    pcap = Path(settings["pcap"]) if "pcap" in settings else None
    served = serve(
        segment, DRIVES_SIDE, pcap=pcap, ready=ready, look=look, seconds=settings.get("seconds", 60.0)
    )
    ended_by_signal = child.poll() is None
    if ended_by_signal:
        child.kill()
    found = {
        "master": child.wait(),
        "ended_by_signal": ended_by_signal,
        "frames": served.frames,
        "refused": served.refused,
        "cycles": served.cycles,
        "states": [int(device.machine.state) for device in segment.devices],
        "codes": [int(device.machine.code) for device in segment.devices],
        "drive_states": drives.drives["state"].tolist(),
        "shafts": drives.drives["feedback"]["position"].tolist(),
        "errors": [int(axes["error_code"][0]) for axes in drives.objects],
    }
    sys.stdout.write("drives " + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
