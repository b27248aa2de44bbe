"""Kill every command that writes, again and again at random instants: what is left is the old or the new result.

    python tests/kills/campaign.py --kills 100 --seed 7 [--only simulate,tune]

A process that has everything loaded forks a child for each try, so that the instants fall into the work and not into
Python's start. A third of them fall into the time in which the child writes: its first hidden file shows when that
begins; another third into the milliseconds in which the new result takes the place of the old one.
One in four children gets SIGTERM, which it answers; the others SIGKILL, which it cannot.
"""

from __future__ import annotations

import argparse
import os
import pty
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, MARK, Case, Mixture

ANSWERED = (0, 128 + signal.SIGTERM)  # exit codes of a child that got SIGTERM
PATIENCE = 120.0  # s
POLL = 0.0002  # s
INSTANTS = ("any", "writing", "exchange")
EXCHANGE = 0.01  # s after the mark of a new result is written: the time in which it takes its place


def campaign(case: Case, kills: int, seed: int, place: Path) -> Counter[str]:
    """Kill a command so many times; how often the old and the new result were found."""
    rng = random.Random(f"{seed} {case.name}")
    place.mkdir()
    with quiet():
        case.prepare(place)
    load(case, place)
    known, times = {}, {}
    for k in (1, 0, 1):
        back(case, place)
        times[k] = watched(case, k, place)
        known[k] = case.state(place)
    if case.reset is not None:
        back(case, place)
        known[0] = case.state(place)
    assert known[0] != known[1], f"{case.name}: its two versions do not differ"
    state, version = known[1], 1
    found: Counter[str] = Counter()
    for i in range(kills):
        if case.reset is not None:
            back(case, place)
            state, version = known[0], 0
        number = signal.SIGTERM if i % 4 == 3 else signal.SIGKILL
        code = killed(case, 1 - version, place, number, INSTANTS[i % 3], rng, times[1 - version])
        if number == signal.SIGTERM and os.WIFEXITED(code) and os.WEXITSTATUS(code) not in ANSWERED:
            raise Mixture(f"{case.name}: exit code {os.WEXITSTATUS(code)} after SIGTERM")
        now = case.state(place)
        if case.fixed and now not in known.values():
            raise Mixture(f"{case.name}: neither the old nor the new state")
        found["old" if now == state else "new"] += 1
        found["ended by itself"] += os.WIFEXITED(code) and os.WEXITSTATUS(code) == 0
        if now != state:
            state, version = now, 1 - version
    back(case, place)
    watched(case, 1 - version, place)
    left = [path for path in place.parent.rglob(".servotwin-*") if path.name != ".servotwin-result"]
    assert not left, f"{case.name}: the next run leaves {left}"
    return found


def load(case: Case, place: Path) -> None:
    """Run a command's first version in this process, so that everything is loaded."""
    if case.keys is not None:
        watched(case, 0, place)
        return
    with inside(place), quiet():
        assert run(case, 0) == 0, case.name


def back(case: Case, place: Path) -> None:
    """Put the first version back, where the command leads one way only."""
    if case.reset is not None:
        case.reset(place)


def watched(case: Case, k: int, place: Path) -> tuple[float, float]:
    """Run a command to its end; its time, and the part of it in which it writes [s]."""
    began = time.perf_counter()
    child = start(case, k, place)
    first = until_it_writes(place, child)
    status = wait(child)
    assert status == 0, f"{case.name}: exit code {os.waitstatus_to_exitcode(status)}"
    ended = time.perf_counter()
    return ended - began, ended - (first or ended)


def killed(
    case: Case, k: int, place: Path, number: int, instant: str, rng: random.Random, times: tuple[float, float]
) -> int:
    """Start a command and kill it; its status."""
    child = start(case, k, place)
    seconds, writing = times
    match instant:
        case "any":
            time.sleep(rng.uniform(0.0, 1.1 * seconds))
        case "writing":
            until_it_writes(place, child)
            time.sleep(rng.uniform(0.0, 1.2 * writing))
        case "exchange":
            until_it_writes(place, child, inside=MARK if case.folder else "")
            time.sleep(rng.uniform(0.0, EXCHANGE))
    os.kill(child, number)
    return wait(child)


def start(case: Case, k: int, place: Path) -> int:
    """A child that runs the command; its process id."""
    if case.keys is not None:
        child, terminal = pty.fork()
        if child:
            drained.append(terminal)
            seen = b""
            while b"DISABLED" not in seen:  # keys that come before the console reads them are dropped
                seen += os.read(terminal, 65536)
            os.write(terminal, case.keys(k).encode())
            return child
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "r" if n == 0 else "w") for n in range(3))
    else:
        child = os.fork()
        if child:
            return child
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    code = 99
    try:
        os.chdir(place)
        code = run(case, k)
    finally:
        os._exit(code)


drained: list[int] = []  # terminals of children, which would stop if nobody read what they draw


def drain() -> None:
    for terminal in drained:
        with suppress(OSError):
            os.set_blocking(terminal, False)
            while os.read(terminal, 65536):
                pass


def wait(child: int) -> int:
    """The status of a child that ends."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        drain()
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            for terminal in drained:
                os.close(terminal)
            drained.clear()
            return status
        time.sleep(POLL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Mixture(f"no end within {PATIENCE:g} s")


def until_it_writes(place: Path, child: int, inside: str = "") -> float | None:
    """Wait for the child's first hidden file, or the one that lies ``inside`` a hidden folder; when that was."""
    before = hidden(place)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        new = hidden(place) - before
        if any(not inside or Path(path, inside).exists() for path in new):
            return time.perf_counter()
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return None
        drain()
        time.sleep(POLL)
    return None


def hidden(place: Path) -> set[str]:
    return {
        e.path
        for folder in (place, place.parent)
        for e in os.scandir(folder)
        if e.name.startswith(".servotwin-")
    }


def run(case: Case, k: int) -> int:
    from servotwin.cli.main import main

    case.in_child()
    return main(case.words(k))


@contextmanager
def inside(place: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing of what the command prints."""
    sys.stdout.flush()
    kept = [os.dup(number) for number in (1, 2)]
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)


def main() -> int:
    """Run the campaign of the command line; 1 if a mixture was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", default="", help="names of commands, separated by commas")
    chosen = parser.parse_args()
    only = [name.strip() for name in chosen.only.split(",") if name.strip()]
    print(f"seed {chosen.seed}, {chosen.kills} kills of each command", flush=True)
    failed = 0
    for case in CASES:
        if only and case.name not in only:
            continue
        place = Path(tempfile.mkdtemp(prefix="servotwin-kills-"))
        began = time.monotonic()
        try:
            found = campaign(case, chosen.kills, chosen.seed, place / "place")
            text = f"old {found['old']}, new {found['new']}, ended by itself {found['ended by itself']}, no mixture"
        except AssertionError as error:
            failed, text = failed + 1, f"FAILED: {error} (kept: {place})"
        else:
            shutil.rmtree(place)
        print(f"{case.name:22s} {text} [{time.monotonic() - began:.0f} s]", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
