"""How long an arm goes on when something happens to its page; the cell's own clock says when it rests.

One cell, one browser, and as many stops on one page as it survives.
"""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pendant_browser import Page, RunningPendant, browser
from pendant_cdp import tab
from servotwin.pendant.cell.shared import SharedState

WAYS = ("killed", "frozen", "offline", "hidden", "stalled")
MODES = ("T1", "AUT")  # a jog, a job at full speed
JOG = "[aria-label='{axis} {sign}']"
SETTLED = 15  # pictures, a period apart or more, after which a reference follows no measured arm
STANDS = 0.01  # m/s: the measured tool is slower
JOB = "MOVEJ P1 SPEED 100%\nMOVEJ P2 SPEED 100%\n" * 100
POINTS = """format: servotwin-points/1
robot: gsis-scara
points:
  P1: {joints: {A: -60 deg, B: -60 deg, Z: 0 mm, W: 0 deg}}
  P2: {joints: {A: 60 deg, B: 60 deg, Z: 50 mm, W: 90 deg}}
"""
ENDS = [(-math.pi / 3, -math.pi / 3, 0.0, 0.0), (math.pi / 3, math.pi / 3, 0.05, math.pi / 2)]  # P1, P2


def open_memory(pid: int) -> int:
    """A descriptor of a cell's shared memory.

    The cell opens and closes other files meanwhile: those that are gone are passed over.
    """
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if "servotwin-cell" in str(path.readlink()):
                return os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
    raise LookupError(f"process {pid} has no memory of a cell")


class CellClock:
    """The latest picture of a cell, read from its own memory: no page and no server in between."""

    def __init__(self, pid: int) -> None:
        descriptor = open_memory(pid)
        self.state = SharedState(descriptor, 1)
        os.close(descriptor)

    def look(self) -> dict[str, Any]:
        while not (text := self.state.picture()):
            time.sleep(0.002)
        found: dict[str, Any] = json.loads(text)
        return found

    def until(self, fits: Callable[[dict[str, Any]], bool], seconds: float = 5.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while not fits(found := self.look()):
            if time.monotonic() > end:
                raise TimeoutError(str(found)[:300])
            time.sleep(0.003)
        return found


def processes_of(chromium: Any, kind: str) -> list[int]:
    """Numbers of the browser's processes of a kind."""
    session = chromium.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return [int(p["id"]) for p in found if p["type"] == kind]


def network_processes() -> list[int]:
    """Processes of browsers that hold sockets to pages, by their command lines."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes() if path.name.isdigit() else b""
        except OSError:
            continue
        if b"network.mojom.NetworkService" in words:
            found.append(int(path.name))
    return found


def descendants(pid: int) -> set[int]:
    """A process and all that it has started."""
    parents: dict[int, int] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


@dataclass(frozen=True)
class Stop:
    """A stop, times in ms after the event.

    ``heard``: when the page sent what the cell heard last; ``lost``: when the cell gave the page up; ``rest`` of the
    reference; ``arm``: when the measured tool stood; ``late``: how late the cell was meanwhile; ``unsure``: how
    long the event itself took; ``speed`` at the event [mm/s].
    """

    way: str
    mode: str
    heard: float
    lost: float
    rest: float
    arm: float
    late: float
    unsure: float
    speed: float

    def data(self) -> dict[str, Any]:
        return asdict(self)


class Watch:
    """Pictures of the cell as they come: how late it was, and when the measured tool was fast the last time."""

    def __init__(self, clock: CellClock) -> None:
        self.clock, self.late, self.fast_ns = clock, 0.0, 0
        self._last: deque[dict[str, Any]] = deque(maxlen=2)

    def look(self) -> dict[str, Any]:
        p = self.clock.look()
        if not self._last or p["n"] != self._last[-1]["n"]:
            self._last.append(p)
            self.late = max(self.late, p["late"])
            if len(self._last) == 2:
                a, b = self._last
                way = sum((x - y) ** 2 for x, y in zip(a["tool"][:3], b["tool"][:3], strict=True)) ** 0.5
                if way > STANDS * (b["at"] - a["at"]) * 1e-9:
                    self.fast_ns = int(b["at"])
        return p

    def until(self, fits: Callable[[dict[str, Any]], bool], seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while not fits(p := self.look()):
            if time.monotonic() > end:
                raise TimeoutError(str(p)[:300])
            time.sleep(0.003)
        return p


def _at_a_point(q: list[float]) -> bool:
    """Whether the arm stands where a motion of the job ends."""
    return any(all(abs(a - b) < 1e-3 for a, b in zip(q, point, strict=True)) for point in ENDS)


class StopBench:
    """A cell, a browser and a page; ``stop`` lets the page be lost in a way and says how the arm came to rest."""

    def __init__(self, served: RunningPendant, folder: Path) -> None:
        (folder / "jobs" / "stop.job").write_text(JOB, encoding="utf-8")
        (folder / "jobs" / "stop.points.yaml").write_text(POINTS, encoding="utf-8")
        self.served, self.clock = served, CellClock(served.cell_pid)
        self._stack, self._tabs = ExitStack(), ExitStack()
        self.chromium: Any = None
        self.page: Any = None
        self._hides = False

    def __enter__(self) -> StopBench:
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()
        self._stack.close()

    # --- pages --------------------------------------------------------------------------------------
    def _leave(self) -> None:
        with suppress(Exception):  # its tab was killed
            if self.page is not None and not self._hides:
                self.page.context.close()
        self._tabs.close()
        self.page = None

    def _open(self, *, hides: bool) -> None:
        """A page that operates; one that can be hidden comes from a browser of its own."""
        if self.page is not None and hides == self._hides:
            return
        self._leave()
        self._hides = hides
        if hides:
            self.page = self._tabs.enter_context(tab(self.served.url))
        else:
            if self.chromium is None:
                self.chromium = self._stack.enter_context(browser())
            self.page = Page(self.chromium, self.served.url, (1024, 768))

    def _click(self, label: str) -> None:
        (self.page if self._hides else self.page.page).click(label)

    def _ready(self, mode: str) -> None:
        self.page.until("window.pendant.seat.role == 'operator'", 60.0)
        if not self.clock.look()["powered"]:
            self._click("#power")
        self.clock.until(lambda p: p["state"] in ("ready", "paused"), 60.0)
        if self.clock.look()["mode"] != mode:
            if self.clock.look()["state"] == "paused":
                self._key("stop")
                self.clock.until(lambda p: p["state"] == "ready", 60.0)
            self._click(f"[data-mode={mode}]")
            self.clock.until(lambda p: p["mode"] == mode, 60.0)

    def _key(self, key: str, **words: Any) -> None:
        """Press a key as the page's own scripts do."""
        ask = f"import('./files/link.js').then(m => m.press({json.dumps(key)}, {json.dumps(words)}))"
        (self.page if self._hides else self.page.page).evaluate(f"void {ask}")

    # --- motion -------------------------------------------------------------------------------------
    def _jog(self) -> None:
        if self.clock.look()["state"] == "paused":
            self._key("stop")
            self.clock.until(lambda p: p["state"] == "ready", 60.0)
        self._click("[data-tab=jog]")
        for k in range(20):
            self.page.enable()
            axis = "AB"[k % 2]
            sign = "minus" if self.clock.look()["q"][k % 2] > 0.0 else "plus"
            self.page.down(JOG.format(axis=axis, sign=sign))
            with suppress(TimeoutError):
                self.clock.until(lambda p: p["state"] == "jogging" and p["speed"] > 0.03, 1.0)
                return
            self._let_go()
        raise AssertionError("the arm cannot be jogged")

    def _let_go(self) -> None:
        with suppress(Exception):  # its tab was killed
            self.page.up()
            self.page.let_go()

    def _play(self) -> None:
        for _ in range(20):
            state = self.clock.look()["state"]
            if state == "paused":
                self._key("resume")
            elif state == "ready":
                if self.clock.look()["job"] != "stop.job":
                    self._key("load", job="stop.job")
                    self.clock.until(lambda p: p["job"] == "stop.job", 60.0)
                self._key("run")
            with suppress(TimeoutError):
                self.clock.until(lambda p: p["state"] == "running" and p["speed"] > 1.0, 3.0)
                return
        raise AssertionError(f"the job does not run: {self.clock.look()}")

    # --- a stop -------------------------------------------------------------------------------------
    def stop(self, way: str, mode: str, pause: float) -> Stop | None:
        """Let the page be lost ``pause`` [s] after motion began; None if the arm did not move then."""
        self._open(hides=way == "hidden")
        self._ready(mode)
        self._jog() if mode == "T1" else self._play()
        time.sleep(pause)
        watch, stopped = Watch(self.clock), list[int]()
        pids = self._processes(way)
        before = watch.look()
        try:
            at_ns = time.monotonic_ns()
            self._happen(way, pids, stopped)
            done_ns = time.monotonic_ns()
            rest = watch.until(lambda p: not p["moving"] and p["speed"] == 0.0, 60.0)
            quiet, settled = time.monotonic() + 0.3, rest["n"] + SETTLED
            watch.until(lambda p: time.monotonic() > quiet and p["n"] >= settled, 60.0)
            found = watch.look()
            where, still = found["ref"], found["rest"]
            self._restore(way, stopped)
            time.sleep(0.25)  # what was held up on its way moves nothing
            assert max(abs(a - b) for a, b in zip(self.clock.look()["ref"], where, strict=True)) < 2e-4, way
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        if (
            not before["moving"]
            or before["speed"] == 0.0
            or still < at_ns
            or (mode == "AUT" and _at_a_point(where))
        ):
            return None  # it stood by itself, at a point of its job, or a busy machine had stopped it before
        times = [
            (t - at_ns) * 1e-6
            for t in (found["heard"], found["lost"], still, max(watch.fast_ns, at_ns), done_ns)
        ]
        return Stop(
            way,
            mode,
            *(round(t, 1) for t in times[:4]),
            watch.late,
            round(times[4], 1),
            1e3 * before["speed"],
        )

    def _processes(self, way: str) -> list[int]:
        if way in ("offline", "hidden"):
            return []
        if way != "stalled":
            return processes_of(self.chromium, "renderer")
        ours = descendants(os.getpid())
        return [p for p in network_processes() if p in ours]

    def _happen(self, way: str, pids: list[int], stopped: list[int]) -> None:
        if way == "offline":
            self.page.context.set_offline(True)
        elif way == "hidden":
            self.page.hide()
        else:
            assert pids, way
            for pid in pids:
                os.kill(pid, signal.SIGKILL if way == "killed" else signal.SIGSTOP)
                if way != "killed":
                    stopped.append(pid)

    def _restore(self, way: str, stopped: list[int]) -> None:
        """Have a page again that operates; whatever was held is let go."""
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        stopped.clear()
        if way == "killed":
            self._leave()
            return
        if way == "offline":
            self.page.context.set_offline(False)
        elif way == "hidden":
            assert self.page.hidden
            self.page.show()
        self._let_go()
