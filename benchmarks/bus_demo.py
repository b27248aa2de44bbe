"""Drives and controller as two processes on a wire of their own: Kim's line over EtherCAT, ended by a report.

python -m benchmarks.bus_demo [--lock-step] [--out FOLDER] [--disturb HOW@SECONDS]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from servotwin.fieldbus.namespace import DRIVES_SIDE, MASTER_SIDE, enter_namespace

ROBOT, JOB = "palletizer-4", "palletizer-line"
READY = 120.0  # s that the drives get to be on the wire, compilation included
WAYS = ("kill-drives", "freeze-drives", "unplug", "kill-control", "freeze-control")


def main() -> int:
    """Run both sides; the exit code of the controller."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    enter_namespace()  # before anything that has threads
    command = [sys.executable, "-m", "servotwin"]
    lock_step = ["--lock-step"] if options.lock_step else []
    watchdog = ["--watchdog", str(options.watchdog), "--tolerance", str(options.tolerance)]
    drives = subprocess.Popen(
        [*command, "drives", ROBOT, "--interface", DRIVES_SIDE, *lock_step],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    control: subprocess.Popen[bytes] | None = None
    try:
        if not _on_the_wire(command, drives):
            sys.stderr.write("the drives do not answer\n")
            return 1
        arguments = ["--interface", MASTER_SIDE, "--job", JOB, "--out", options.out, "--overwrite"]
        control = subprocess.Popen(
            [*command, "control", ROBOT, *arguments, "--pcap", f"{options.out}.pcap", *lock_step, *watchdog],
            stderr=subprocess.PIPE,
        )
        return _disturbed(control, drives, options.disturb)
    finally:
        for process in (control, drives):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                try:
                    process.wait(20.0)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock-step", action="store_true", help="every frame is a period")
    parser.add_argument("--out", default="out/bus-demo")
    parser.add_argument("--watchdog", type=int, default=100, help="of the drives, ms")
    parser.add_argument("--tolerance", type=int, default=3, help="cycles in a row without an answer")
    parser.add_argument("--disturb", default="", help=f"one of {', '.join(WAYS)}, and a time: kill-drives@2")
    return parser.parse_args()


def _on_the_wire(command: list[str], drives: subprocess.Popen[bytes]) -> bool:
    """Wait until the slaves answer."""
    end = time.monotonic() + READY
    while time.monotonic() < end and drives.poll() is None:
        asked = [*command, "bus", "scan", "--interface", MASTER_SIDE, "--json"]
        done = subprocess.run(asked, capture_output=True, check=False)
        if done.returncode == 0:
            sys.stdout.write(f"{len(json.loads(done.stdout))} drives on the wire\n")
            sys.stdout.flush()
            return True
        time.sleep(0.2)
    return False


def _disturbed(control: subprocess.Popen[bytes], drives: subprocess.Popen[bytes], disturb: str) -> int:
    """Wait for the controller; do what was asked for, so long after its drives were enabled [s]."""
    assert control.stderr is not None
    for line in control.stderr:
        sys.stderr.write(line.decode(errors="replace"))
        sys.stderr.flush()
        if b"enabled, the job begins" in line and disturb:
            how, _, after = disturb.partition("@")
            time.sleep(float(after))
            _disturb(how, drives if how.endswith("drives") else control)
    return control.wait()


def _disturb(how: str, side: subprocess.Popen[bytes]) -> None:
    if how == "unplug":
        program = shutil.which("ip") or "/usr/sbin/ip"
        subprocess.run([program, "link", "set", DRIVES_SIDE, "down"], check=True)
    elif how in WAYS:
        os.kill(side.pid, signal.SIGKILL if how.startswith("kill") else signal.SIGSTOP)
    if how == "freeze-control":
        time.sleep(1.0)
        os.kill(side.pid, signal.SIGCONT)


if __name__ == "__main__":
    raise SystemExit(main())
