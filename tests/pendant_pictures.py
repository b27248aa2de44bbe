"""How old pictures are on pages, how many come, and what the page's server takes for them."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pendant_browser import Page, browser, running
from pendant_socket import PlainPage
from pendant_stops import CellClock

OLDEST, SHARE, GROWTH = 0.1, 0.25, 20_000  # s at p99, of a core, kB: what must hold
EVERY = 10.0  # s between two looks at the memory
# When a frame shows a picture for the first time, less when the cell made it.
AGES = """() => { window.ages = []; let last = 0;
  const look = () => { const p = window.pendant?.picture;
    if (p && p.n !== last) { last = p.n; window.ages.push(performance.timeOrigin + performance.now() - p.at / 1e6); }
    requestAnimationFrame(look); };
  requestAnimationFrame(look); }"""


@dataclass
class Pictures:
    """Ages [s] by page, pictures a second by page, share of a core of the server, its memory [kB] over time."""

    seconds: float
    ages: list[list[float]] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    share: float = 0.0
    memory: list[int] = field(default_factory=list)

    def p(self, part: float) -> float:
        every = sorted(age for page in self.ages for age in page)
        return every[min(int(part * len(every)), len(every) - 1)] if every else float("inf")

    @property
    def grown_kb(self) -> int:
        """From the first third to the end: what comes at the begin is no growth."""
        return self.memory[-1] - self.memory[len(self.memory) // 3] if self.memory else 0

    @property
    def fine(self) -> bool:
        return self.p(0.99) <= OLDEST and self.share <= SHARE and self.grown_kb < GROWTH

    def data(self) -> dict[str, Any]:
        found = asdict(self)
        del found["ages"]
        shares = {f"age_p{round(100 * p)}_ms": round(1e3 * self.p(p), 1) for p in (0.5, 0.9, 0.99, 1.0)}
        return {**found, **shares, "pictures": sum(map(len, self.ages)), "fine": self.fine}

    def text(self) -> str:
        return (
            f"{self.seconds:.0f} s, {len(self.rates)} pages, {min(self.rates):.1f} to {max(self.rates):.1f} a second, "
            f"age p50 {1e3 * self.p(0.5):.0f} p90 {1e3 * self.p(0.9):.0f} p99 {1e3 * self.p(0.99):.0f} "
            f"max {1e3 * self.p(1.0):.0f} ms, server {100 * self.share:.1f} % of a core, {self.grown_kb} kB more"
        )


def soak(folder: Path, seconds: float, viewers: int = 4) -> Pictures:
    """An operator and viewers at plain sockets."""
    with running("gsis-scara", folder) as served, ExitStack() as stack:
        clock = CellClock(served.cell_pid)
        pages = [PlainPage(served.url), *(PlainPage(served.viewer_url) for _ in range(viewers))]
        for page in pages:
            stack.callback(page.close)
        pages[0].press("enable")
        clock.until(lambda p: p["state"] == "ready", 60.0)
        time.sleep(1.0)
        for page in pages:
            page.ages, page.pictures = [], 0
        found = _watched(served.process.pid, seconds, lambda: pages[0].hold(switch=0))
        found.ages = [page.ages for page in pages]
        found.rates = [page.pictures / found.seconds for page in pages]
    return found


def ages(folder: Path, seconds: float, viewers: int = 4) -> Pictures:
    """An operator and viewers in a real browser: from the cell's clock to the frame that shows the picture."""
    with running("gsis-scara", folder) as served, browser() as chromium:
        pages = [Page(chromium, served.url, (1024, 768))]
        pages += [Page(chromium, served.viewer_url, (800, 600)) for _ in range(viewers)]
        pages[0].page.click("#power")
        pages[0].until("p.state == 'ready'", 60.0)
        time.sleep(2.0)
        shift = time.time() * 1e3 - time.monotonic() * 1e3  # ms from the cell's clock to the page's
        for page in pages:
            page.page.evaluate(AGES)
        found = _watched(served.process.pid, seconds, lambda: None)
        rows = [page.page.evaluate("window.ages") for page in pages]
        found.ages = [[(age - shift) * 1e-3 for age in row] for row in rows]
        found.rates = [len(row) / found.seconds for row in rows]
    return found


def _watched(pid: int, seconds: float, each: Any) -> Pictures:
    """Let time pass, and look at the server meanwhile."""
    before, began, looked, memory = _cpu(pid), time.monotonic(), 0.0, []
    while (now := time.monotonic()) - began < seconds:
        each()
        if now - looked >= EVERY:
            looked = now
            memory.append(_memory(pid))
        time.sleep(0.02)
    span = time.monotonic() - began
    memory.append(_memory(pid))
    return Pictures(span, share=(_cpu(pid) - before) / span, memory=memory)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> int:
    """kB that are resident."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])
