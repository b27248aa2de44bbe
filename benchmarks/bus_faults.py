"""Kill, freeze or unplug one side of a controller and drives on a wire, or damage their frames, while the arm moves.

python -m benchmarks.bus_faults [--each COUNT] [--seed NUMBER] [--only WAY,...]

After each the drives must have brought the arm to rest by themselves or with the controller, the controller must have
ended with an alarm that names a slave, and what both recorded must be whole. In real time, drives that are left alone
must have reacted when their watchdog says so; how long after the last outputs they did is told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from servotwin.fieldbus.namespace import DRIVES_SIDE, MASTER_SIDE, enter_namespace

ROBOT, JOB = "palletizer-4", "palletizer-line"
WAYS = ("kill-drives", "freeze-drives", "unplug", "kill-control", "freeze-control", "damage")
CONTROL_ENDS = ("kill-drives", "freeze-drives", "unplug", "freeze-control")  # by an alarm
MOVING = (1.6, 3.0)  # s after the job's begin in which the tool is on its line
READY, ENDING = 120.0, 90.0  # s
WATCHDOG, TOLERANCE = 300, 10  # ms, cycles: a busy machine is no fault
FROZEN = 1.5  # s
NEAR, FAR = "stnear", "stfar"  # ends of the second wire
LOSE, CHANGE = 0.06, 0.04  # shares of the frames of a bad cable
DAMAGED, SLOWED = (
    1000,
    50,
)  # frames lost or changed in one run, at least; %: a run that is long enough for them
LATE = 30  # ms that a busy machine may be late for a watchdog
ALONE = ("kill-control", "freeze-control", "unplug")  # ways in which the watchdog of the drives comes first
STILL = 0.02  # rad/s, m/s: a joint that stands
HERE = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the campaign, or one of its cases in a network of its own; 1 if a case failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--each", type=int, default=3, help="cases of each way, in lock-step and in real time"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", default=",".join(WAYS), help="ways, separated by commas")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    parser.add_argument("--relay", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.relay:
        return relay(*json.loads(chosen.relay))
    if chosen.one:
        return one(*json.loads(chosen.one))
    rng, failed = random.Random(chosen.seed), 0
    print(f"seed {chosen.seed}, {chosen.each} of each", flush=True)
    for way in chosen.only.split(","):
        for lock_step in (
            (False,) if way == "damage" else (True, False)
        ):  # in lock-step a lost frame takes 2 s
            for _ in range(chosen.each):
                failed += not judged(way, lock_step, rng.uniform(*MOVING), rng.randrange(10**6))
    return 1 if failed else 0


def judged(way: str, lock_step: bool, after: float, seed: int) -> bool:
    """Run one case in a process of its own, and say what became of it."""
    place = Path(tempfile.mkdtemp(prefix="servotwin-bus-faults-"))
    asked = json.dumps([way, lock_step, after / 6.0 if lock_step else after, seed, str(place)])
    command = [sys.executable, "-m", "benchmarks.bus_faults", "--one", asked]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE, check=False)
    kind = "lock-step" if lock_step else "real time"
    said = (done.stdout.strip().splitlines() or [done.stderr.strip()[-500:]])[-1]
    print(f"{way:15s} {kind} {time.monotonic() - began:4.0f} s  {said}", flush=True)
    if done.returncode == 0:
        shutil.rmtree(place)
    else:
        print(f"  kept: {place}", flush=True)
    return done.returncode == 0


def one(way: str, lock_step: bool, after: float, seed: int, folder: str) -> int:
    """One case; 0 if all that must hold does."""
    enter_namespace()  # before anything that has threads
    place = Path(folder)
    step = ["--lock-step"] if lock_step else []
    command = [sys.executable, "-m", "servotwin"]
    with (place / "drives.err").open("wb") as errors, (place / "drives.out").open("wb") as out:
        drives = subprocess.Popen(
            [*command, "drives", ROBOT, "--interface", DRIVES_SIDE, *step, "--json", "--no-report",
             "--record", str(place / "drives"), "--pcap", str(place / "drives.pcap")],
            stdout=out, stderr=errors,
        )  # fmt: skip
    wait_for(place / "drives.err", b"Ctrl-C ends", drives)
    cable = second_wire(seed, place) if way == "damage" else None
    side = MASTER_SIDE if cable is None else FAR
    limits = ["--watchdog", str(WATCHDOG), "--tolerance", str(TOLERANCE)]
    if cable is not None:
        limits += ["--override", str(SLOWED)]
    with (place / "control.err").open("wb") as errors, (place / "control.out").open("wb") as out:
        control = subprocess.Popen(
            [*command, "control", ROBOT, "--interface", side, "--job", JOB, *step, *limits, "--no-report",
             "--out", str(place / "control"), "--pcap", str(place / "control.pcap")],
            stdout=out, stderr=errors,
        )  # fmt: skip
    wait_for(place / "control.err", b"the job begins", control)
    time.sleep(0.0 if cable is not None else after)
    if cable is not None:
        (place / "damaged").touch()
    disturb(way, drives, control)
    ended = control.wait(ENDING)
    if cable is not None:
        cable.terminate()
        cable.wait()
    if way in ("kill-control", "freeze-control"):
        time.sleep(1.0)  # the drives are alone with their watchdogs
    if drives.poll() is None:
        drives.send_signal(signal.SIGCONT)
        if way == "freeze-drives":
            time.sleep(1.0)  # frames that waited are followed, or refused
        drives.send_signal(signal.SIGTERM)
        drives.wait(ENDING)
    found = problems(way, lock_step, place, ended)
    print("; ".join(found) if found else well(way, place))
    return 1 if found else 0


def wait_for(log: Path, words: bytes, process: subprocess.Popen[bytes]) -> None:
    """Until a process has said something."""
    end = time.monotonic() + READY
    while words not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"{log.name}: {log.read_text(errors='replace')[-300:]}")
        time.sleep(0.01)


def program(name: str) -> str:
    """Where a program of the system is."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or name


def relay(seed: int, place: str) -> int:
    """Carry frames between two wires; some are lost, some arrive with a bit of their head changed. Until a signal."""
    import select

    from servotwin.fieldbus.interface import open_raw

    rng, counts = random.Random(seed), {"carried": 0, "lost": 0, "changed": 0}
    ends = [open_raw(name) for name in (MASTER_SIDE, NEAR)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Path(place, "relay.json").write_text("{}", encoding="utf-8")
    try:
        while True:
            for ready in select.select(ends, [], [])[0]:
                frame, origin = bytearray(ready.recv(2000)), rng.random()
                if not Path(place, "damaged").exists():
                    origin = 1.0
                if origin < LOSE:
                    counts["lost"] += 1
                    continue
                if origin < LOSE + CHANGE:
                    counts["changed"] += 1
                    frame[rng.randrange(12, 26)] ^= 1 << rng.randrange(8)
                counts["carried"] += 1
                ends[1 - ends.index(ready)].send(frame)
    except KeyboardInterrupt:
        Path(place, "relay.json").write_text(json.dumps(counts), encoding="utf-8")
    return 0


def second_wire(seed: int, place: Path) -> subprocess.Popen[bytes]:
    """A second pair of interfaces, and the process that carries frames between it and the first."""
    subprocess.run([program("ip"), "link", "add", NEAR, "type", "veth", "peer", "name", FAR], check=True)
    for name in (NEAR, FAR):
        subprocess.run([program("ip"), "link", "set", name, "addrgenmode", "none"], check=True)
        subprocess.run([program("ip"), "link", "set", name, "up"], check=True)
    command = [sys.executable, "-m", "benchmarks.bus_faults", "--relay", json.dumps([seed, str(place)])]
    started = subprocess.Popen(command, cwd=HERE)
    while not (place / "relay.json").exists():
        time.sleep(0.01)
    return started


def disturb(way: str, drives: subprocess.Popen[bytes], control: subprocess.Popen[bytes]) -> None:
    """Do what the case is about."""
    side = drives if way.endswith("drives") else control
    if way == "unplug":
        subprocess.run([program("ip"), "link", "set", DRIVES_SIDE, "down"], check=True)
    elif way.startswith("kill"):
        side.kill()
    elif way.startswith("freeze"):
        side.send_signal(signal.SIGSTOP)
        if side is control:
            time.sleep(FROZEN)
            side.send_signal(signal.SIGCONT)


def problems(way: str, lock_step: bool, place: Path, ended: int) -> list[str]:
    """What does not hold."""
    found = []
    if way in CONTROL_ENDS and not (lock_step and way == "freeze-control"):
        summary = read_summary(place / "control")
        alarms = [] if summary is None else summary["alarms"]
        if ended != 1 or not alarms:
            found.append(f"the controller ended with {ended}, alarms {alarms}")
        elif not any("slave" in text or "interface" in text for text in alarms):
            found.append(f"no alarm names a slave: {alarms}")
    for name in ("drives.pcap", "control.pcap"):
        if not frames_of(place / name):
            found.append(f"{name} cannot be read")
    if way == "damage":
        counts = json.loads((place / "relay.json").read_text(encoding="utf-8"))
        if counts["lost"] + counts["changed"] < DAMAGED:
            found.append(f"too few damaged frames: {counts}")
    if way in ALONE and not lock_step:
        late = reaction(place / "drives")
        if late is None or not WATCHDOG <= late <= WATCHDOG + LATE:
            found.append(f"drives reacted {late} ms after the last outputs; their watchdog is {WATCHDOG} ms")
    if way != "kill-drives":
        found += moves_on(place / "drives", lock_step and way in ("kill-control", "unplug"))
    return found


def moves_on(folder: Path, in_lock_step: bool) -> list[str]:
    """Whether the recording of the drives is whole and ends at rest; in lock-step no time passes without a master."""
    import numpy as np

    from servotwin.simulation.results.tables import read_table

    if read_summary(folder) is None:
        return ["the drives left no recording"]
    table = read_table((folder / "signals.parquet").read_bytes(), "signals.parquet")
    if in_lock_step:
        return []
    names = [n for n in table if n.startswith("joint_") and "_velocity_" in n and "ref" not in n]
    last = np.array([np.abs(table[name][-20:]).max() for name in names])
    return [f"still moving at {last.max():.3g}"] if last.max() > STILL else []


def reaction(folder: Path) -> float | None:
    """The longest time from the last outputs to the reaction of a drive [ms]; None if none reacted."""
    events = [event["what"] for event in (read_summary(folder) or {"events": []})["events"]]
    late = [float(text.split()[2]) for text in events if text.endswith("ms after the last outputs")]
    return max(late, default=None)


def read_summary(folder: Path) -> dict[str, Any] | None:
    """The summary of a result; None if there is none."""
    try:
        found: dict[str, Any] = json.loads((folder / "summary.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found


def frames_of(path: Path) -> int:
    """Frames of a recording."""
    from servotwin.fieldbus.ethercat.pcap import read_pcap

    return sum(1 for _ in read_pcap(path))


def well(way: str, place: Path) -> str:
    """A line about a case in which all holds."""
    summary = read_summary(place / "control")
    alarms = "" if summary is None else "; ".join(summary["alarms"]) or "no alarm"
    if (place / "relay.json").exists():
        alarms += f"; {(place / 'relay.json').read_text(encoding='utf-8')}"
    late = reaction(place / "drives")
    if late is not None:
        alarms += f"; drives reacted {late:.1f} ms after the last outputs, watchdog {WATCHDOG} ms"
    return f"well: {frames_of(place / 'control.pcap')} frames recorded; {alarms}"


if __name__ == "__main__":
    raise SystemExit(main())
