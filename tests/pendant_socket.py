"""Pages without a browser: a socket that says what a page says."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect


class PlainPage:
    """A connected page; ``draws``: a thread says of every picture that it is drawn, as browsers do."""

    def __init__(self, url: str, *, draws: bool = True) -> None:
        parts = urlsplit(url)
        self.host, self.home = f"{parts.hostname}:{parts.port}", parts.path
        link = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
        link.request("GET", f"{self.home}?{parts.query}")
        answer = link.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        link.close()
        self._stack = ExitStack()
        self.socket: ClientConnection = self._stack.enter_context(
            connect(
                f"ws://{self.host}{self.home}ws",
                origin=f"http://{self.host}",
                additional_headers={"Cookie": self.cookie},  # type: ignore[arg-type]
            )
        )
        self.seat: dict[str, Any] = {}
        self.picture: dict[str, Any] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.ages: list[float] = []
        self.pictures = 0
        self.draws, self._number, self._sequence = draws, 0, 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self.until(lambda: bool(self.seat.get("ready") and self.picture))

    def _read(self) -> None:
        try:
            for message in self.socket:
                if isinstance(message, bytes):
                    continue
                data = json.loads(message)
                if "n" in data:
                    self.picture, self.pictures = data, self.pictures + 1
                    self.ages.append((time.monotonic_ns() - data["at"]) * 1e-9)
                    if self.draws:
                        self.send({"seen": data["n"]})
                elif "seat" in data:
                    self.seat = data
                elif "answer" in data:
                    self.answers[data["answer"]] = data
        except ConnectionClosed:
            pass

    def send(self, data: object) -> None:
        with suppress(ConnectionClosed):
            self.socket.send(data if isinstance(data, str | bytes) else json.dumps(data))

    def until(self, fits: Any, seconds: float = 15.0) -> None:
        end = time.monotonic() + seconds
        while not fits():
            assert time.monotonic() < end, (self.seat, str(self.picture)[:300])
            time.sleep(0.005)

    def press(
        self, key: str, words: dict[str, Any] | None = None, token: str | None = None, **more: Any
    ) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self.send(
            {
                "key": key,
                "with": words or {},
                "number": number,
                "token": self.seat["token"] if token is None else token,
                **more,
            }
        )
        self.until(lambda: number in self.answers)
        return self.answers[number]

    def hold(self, token: str | None = None, **state: Any) -> None:
        self._sequence += 1
        self.send(
            {
                "switch": 1,
                **state,
                "sequence": self._sequence,
                "ms": time.monotonic() * 1e3,
                "token": self.seat["token"] if token is None else token,
            }
        )

    def close(self) -> None:
        self._stack.close()
        self._thread.join(2.0)
