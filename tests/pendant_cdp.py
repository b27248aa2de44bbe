"""A browser over the devtools protocol alone: its tabs are truly hidden when another one is in front.

The driver that other tests use tells every page to behave as if it had the focus, and such a page is never hidden. A
window without a display has tabs like any other: activating one hides the one before, and throttles its timers.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from pendant_browser import ARGUMENTS, CHROMIUM

WAIT = 60.0  # s


class Tab:
    """A page in a tab, with an operator's hands; ``until`` as of ``pendant_browser.Page``."""

    def __init__(self, socket: ClientConnection, url: str) -> None:
        self.socket, self._numbers = socket, itertools.count(1)
        pages = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self.target = pages[0]["targetId"]
        self.session = self.send("Target.attachToTarget", {"targetId": self.target, "flatten": True})[
            "sessionId"
        ]
        self.ask("Page.navigate", {"url": url})
        self.other = self.send("Target.createTarget", {"url": "about:blank", "background": True})["targetId"]
        self.show()
        self.until("p", WAIT)

    def send(self, method: str, words: dict[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": words or {}}
        self.socket.send(json.dumps({**message, "sessionId": session} if session else message))
        while True:
            answer = json.loads(self.socket.recv(WAIT))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    def ask(self, method: str, words: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.send(method, words, self.session)

    def evaluate(self, words: str) -> Any:
        return self.ask("Runtime.evaluate", {"expression": words, "returnByValue": True})["result"].get(
            "value"
        )

    def until(self, words: str, seconds: float = WAIT) -> None:
        end = time.monotonic() + seconds
        while not self.evaluate(
            f"(() => {{ const p = window.pendant?.picture; return Boolean({words}); }})()"
        ):
            if time.monotonic() > end:
                raise TimeoutError(words)
            time.sleep(0.02)

    def hide(self) -> None:
        """Put the other tab in front."""
        self.send("Target.activateTarget", {"targetId": self.other})

    def show(self) -> None:
        self.send("Target.activateTarget", {"targetId": self.target})

    @property
    def hidden(self) -> bool:
        return bool(self.evaluate("document.visibilityState === 'hidden'"))

    def key(self, kind: str) -> None:
        space = {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32}
        self.ask("Input.dispatchKeyEvent", {"type": kind, **space})

    def mouse(self, kind: str, label: str) -> None:
        box = f"(() => {{ const b = document.querySelector({json.dumps(label)}).getBoundingClientRect();"
        x, y = self.evaluate(f"{box} return [b.x + b.width / 2, b.y + b.height / 2]; }})()")
        press = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", press)

    # --- as a page of the other driver ---------------------------------------------------------------
    def click(self, label: str) -> None:
        self.mouse("mousePressed", label)
        self.mouse("mouseReleased", label)

    def enable(self) -> None:
        for _ in range(10):
            self.key("rawKeyDown")
            try:
                self.until("p.held", 1.0)
                return
            except TimeoutError:
                self.key("keyUp")
                time.sleep(0.1)
        raise AssertionError("the enabling switch is not heard")

    def down(self, label: str) -> None:
        self._pressed = label
        self.mouse("mousePressed", label)

    def up(self) -> None:
        self.mouse("mouseReleased", self._pressed)

    def let_go(self) -> None:
        self.key("keyUp")


@contextmanager
def tab(url: str) -> Iterator[Tab]:
    """A page in the first of two tabs of a browser of its own."""
    with tempfile.TemporaryDirectory(prefix="servotwin-tab-", ignore_cleanup_errors=True) as folder:
        words = [
            "--headless=new",
            "--window-size=1280,900",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        assert CHROMIUM is not None
        process = subprocess.Popen([CHROMIUM, *ARGUMENTS, *words], stderr=subprocess.DEVNULL)
        try:
            with connect(_address(Path(folder) / "DevToolsActivePort"), max_size=None) as socket:
                yield Tab(socket, url)
        finally:
            process.terminate()
            process.wait(WAIT)


def _address(file: Path) -> str:
    end = time.monotonic() + WAIT
    while True:
        lines = file.read_text(encoding="utf-8").split() if file.is_file() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        assert time.monotonic() < end, "the browser does not start"
        time.sleep(0.05)
