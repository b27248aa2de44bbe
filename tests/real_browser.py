"""A real browser for tests of pages: Debian's chromium, driven by playwright, without a way to the outside."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
needs_browser = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="there is no /usr/bin/chromium (apt install chromium)"
)


@contextmanager
def launched() -> Iterator[Any]:
    """A browser; skips the test where playwright is not installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Any, width: int = 900, height: int = 600) -> tuple[Any, list[str]]:
    """An empty page, and the list in which its complaints appear."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    return page, wrong


def pixels(png: bytes) -> np.ndarray:
    """A picture as numbers (h, w, 3)."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def snapshot(page: Any, scene: str) -> np.ndarray:
    """The picture of a scene on a page (h, w, 3)."""
    address = page.evaluate(f"{scene}.snapshot()")
    return pixels(base64.b64decode(address.partition(",")[2]))


def until(page: Any, expression: str, seconds: float = 60.0) -> None:
    """Wait for an expression of a page; asked from outside, for the pages' policy forbids evaluation within."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"Boolean({expression})"):
        assert time.monotonic() < end, f"never so: {expression}"
        page.wait_for_timeout(20)
