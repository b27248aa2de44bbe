"""A campaign: cases in a child with a watchdog, until the time is over."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from fuzz.worker import table_of

LONGEST = 10.0  # s, of one case
BUSY = 6.0  # times as long on a machine that is busy otherwise
IDLE = 5  # looks in a row at which a child that waits does so for itself
START = 120.0  # s, until a child is ready
LARGEST = 1000.0  # MB resident
CASES = 3000  # of one child; what it keeps does not add up for ever
WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Defect:
    """A case that ended in something else than an answer or a refusal."""

    decoder: str
    number: int
    kind: str
    what: str
    folder: Path


@dataclass
class Tally:
    """What became of the cases of one decoder."""

    accepted: int = 0
    refused: int = 0
    defects: int = 0
    slowest: float = 0.0


@dataclass
class Campaign:
    """``table``: ``module:NAME`` of the decoders; ``out``: where failing inputs go; ``tell``: prints a line."""

    seed: int
    out: Path
    table: str = "fuzz.decoders:DECODERS"
    longest: float = LONGEST
    tell: Callable[[str], None] = print
    tallies: dict[str, Tally] = field(default_factory=dict)
    defects: dict[str, Defect] = field(default_factory=dict)  # the first of each kind
    peak_MB: float = 0.0
    _child: subprocess.Popen[bytes] | None = None
    _answers: Any = None
    _asked: int = 0

    def run(self, seconds: float, cases: int | None = None) -> None:
        """Read cases of all decoders in turn for so long, or so many of each."""
        end = time.monotonic() + seconds
        try:
            for name, number in self._order(cases):
                if time.monotonic() >= end:
                    break
                self.one(name, number)
        finally:
            self._stop()

    def _order(self, cases: int | None) -> Iterator[tuple[str, int]]:
        table = table_of(self.table)
        numbers = {name: count(1) for name in table}
        for _ in count() if cases is None else range(cases):
            for name, decoder in table.items():
                for _ in range(decoder.weight if cases is None else 1):
                    yield name, next(numbers[name])

    def one(self, name: str, number: int) -> dict[str, Any]:
        """Read one case; a child that does not answer in time is killed."""
        if self._child is None or self._asked >= CASES:
            self._start()
        assert self._child is not None
        assert self._child.stdin is not None
        self._asked += 1
        tally = self.tallies.setdefault(name, Tally())
        with contextlib.suppress(BrokenPipeError):  # a child that died is found when it does not answer
            self._child.stdin.write(f"{name} {number}\n".encode())
            self._child.stdin.flush()
        found = self._answer(self.longest)
        tally.slowest = max(tally.slowest, found.get("seconds", self.longest))
        self.peak_MB = max(self.peak_MB, found.get("peak_MB", 0.0))
        if found["is"] != "defect" and found["peak_MB"] > LARGEST:
            found |= {
                "is": "defect",
                "kind": f"{name}: more than 1 GB",
                "what": f"{found['peak_MB']:.0f} MB",
                "text": "",
            }
        if found["is"] == "defect":
            tally.defects += 1
            self._keep(name, number, found)
        else:
            setattr(tally, found["is"], getattr(tally, found["is"]) + 1)
        if found.get("dead") or found.get("peak_MB", 0.0) > LARGEST:
            self._stop()
        return found

    def _answer(self, longest: float) -> dict[str, Any]:
        assert self._child is not None
        if not self._answers_within(longest):
            return {"is": "defect", "kind": f"hang over {longest:g} s", "what": "", "text": "", "dead": True}
        line = self._answers.readline()
        if not line:
            code = self._child.wait()
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return {"is": "defect", "kind": f"the child died: {name}", "what": "", "text": "", "dead": True}
        found: dict[str, Any] = json.loads(line)
        return found

    def _answers_within(self, longest: float) -> bool:
        """Whether the child answers in time, which others on the machine may not use up.

        Time is that of its processor, or on the clock while it waits for something itself; both end at six times the
        longest one.
        """
        assert self._child is not None
        before, patience = processor_time(self._child.pid)[0], longest
        began, idle = time.monotonic(), 0
        while time.monotonic() - began < BUSY * longest and idle < IDLE:
            if select.select([self._answers], [], [], patience)[0]:
                return True
            spent, runs = processor_time(self._child.pid)
            if spent - before >= longest:
                return False
            idle = 0 if runs else idle + 1
            patience = 0.2
        return False

    def _keep(self, name: str, number: int, found: dict[str, Any]) -> None:
        kind = (
            found["kind"] if ":" in found["kind"] and " at " in found["kind"] else f"{name}: {found['kind']}"
        )
        if kind in self.defects:
            return
        folder = self.out / f"{name}-{self.seed}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._folder, folder)
        (folder / "defect.txt").write_text(f"{kind}\n{found['what']}\n\n{found['text']}", encoding="utf-8")
        self.defects[kind] = Defect(name, number, kind, found["what"], folder)
        self.tell(f"defect: {kind}: {ascii(found['what'])[:200]}")
        self.tell(
            f"  python -m fuzz --seed {self.seed} --case {name}:{number}; input and traceback: {folder}"
        )

    @property
    def _folder(self) -> Path:
        return self.out / f"current-{os.getpid()}"

    def _start(self) -> None:
        self._stop()
        self.out.mkdir(parents=True, exist_ok=True)
        read, write = os.pipe()
        words = [
            sys.executable,
            "-P",
            str(WORKER),
            self.table,
            str(self.seed),
            str(self._folder.absolute()),
            str(write),
        ]
        self._child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write,),
        )
        os.close(write)
        self._answers = os.fdopen(read, "r", encoding="utf-8")
        self._asked = 0
        if self._answer(START)["is"] != "ready":
            self._stop()
            raise RuntimeError(
                "the child that reads cases cannot be started; try 'python fuzz/worker.py' by hand"
            )

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            if self._child.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._child.stdin.close()
            self._answers.close()
            self._child = None


def processor_time(pid: int) -> tuple[float, bool]:
    """Seconds that a process has computed, and whether it runs or wants to; (inf, False) if it is gone."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return math.inf, False
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "R"
