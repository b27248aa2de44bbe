"""A pendant in a process of its own, and a real browser that does on its page what an operator does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *(
        "--disable-sync",
        "--no-first-run",
        "--disable-quic",
        "--enable-unsafe-swiftshader",
        "--disable-extensions",
    ),
]
PICTURES = Path(
    os.environ.get("SERVOTWIN_SCREENSHOTS", Path(__file__).resolve().parents[1] / "out" / "screenshots")
)


class RunningPendant:
    """``servotwin pendant`` that runs; ``stderr``: the file of its words."""

    def __init__(self, robot: str, folder: Path, *options: str) -> None:
        self.errors = folder / "stderr.txt"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "servotwin", "pendant", robot, "--folder", str(folder / "jobs"),
                 "--no-browser", "--json", *options],
                stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        assert lines, self.errors.read_text()
        told = json.loads("".join(lines))
        self.url, self.viewer_url, self.cell_pid = told["operator"], told["viewer"], int(told["cell_pid"])

    def close(self) -> str:
        """End it as a terminal does; what it said on stderr."""
        self.process.terminate()
        self.process.wait(15)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.errors.read_text()


@contextmanager
def running(robot: str, folder: Path, *options: str) -> Iterator[RunningPendant]:
    """A pendant, ended whatever happens."""
    served = RunningPendant(robot, folder, *options)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.close()


@contextmanager
def browser() -> Iterator[Any]:
    """Debian's chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield chromium
        finally:
            chromium.close()


class Page:
    """A page of the pendant, with an operator's hands."""

    def __init__(
        self, chromium: Any, url: str, size: tuple[int, int] = (1440, 900), context: Any = None
    ) -> None:
        self.context = context or chromium.new_context(viewport={"width": size[0], "height": size[1]})
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.goto(url)
        self.until("p", 60.0)

    def look(self) -> dict[str, Any]:
        """The picture that the page shows."""
        found: dict[str, Any] = self.page.evaluate("window.pendant.picture")
        return found

    def until(self, words: str, seconds: float = 20.0) -> None:
        """Wait until something is true of the picture ``p``."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(
            f"(() => {{ const p = window.pendant && window.pendant.picture; return Boolean({words}); }})()"
        ):
            if time.monotonic() > end:
                raise TimeoutError(f"{words}: not in {seconds} s; {self.look()}")
            time.sleep(0.02)

    def enable(self) -> None:
        """Hold the enabling switch with the space bar; again if the machine was too busy to hear it."""
        for _ in range(10):
            self.page.keyboard.down(" ")
            try:
                self.until("p.held", 1.0)
                return
            except TimeoutError:  # the lease ran out on a busy machine
                self.page.keyboard.up(" ")
                time.sleep(0.1)
        raise AssertionError("the enabling switch is not heard")

    def let_go(self) -> None:
        """Release the enabling switch."""
        self.page.keyboard.up(" ")

    def down(self, label: str) -> None:
        """Press the mouse on a button and hold it."""
        self.page.locator(label).hover()
        self.page.mouse.down()

    def up(self) -> None:
        """Let the mouse go."""
        self.page.mouse.up()

    def shot(self, name: str) -> None:
        """Keep a picture of the page."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(PICTURES / f"{name}.png"))
