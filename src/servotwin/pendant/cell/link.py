"""The server's end of the cell: starts its process, sends what is held and pressed, reads the latest picture."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from typing import Any

from servotwin.errors import ServotwinError
from servotwin.pendant.cell.messages import Channel
from servotwin.pendant.cell.setup import CellSettings
from servotwin.pendant.cell.shared import Samples, SharedState, make_memory
from servotwin.processes import start_partner

CODE = "from servotwin.pendant.cell.run import main; main()"
MOST_PENDING = 256  # keys without an answer yet
MOST_UNSENT = 1 << 16  # bytes on their way to the cell beyond which nothing but a stop follows
STOP = "emergency stop"
ANSWER = 10.0  # s
GONE = "the cell has ended"
LAST_WORDS = 1.0  # s that a failure may take from the cell to here
ENDING = 4.0  # s that a cell may take to bring its arm to rest


class CellLink:
    """A cell that runs; ``signals``: name, unit, group of the scope's columns once it is ``ready``."""

    def __init__(self, settings: CellSettings) -> None:
        here, there = socket.socketpair()
        self._memory = make_memory()
        try:
            self.process = start_partner(
                CODE,
                [settings.text(), str(there.fileno()), str(self._memory)],
                [there.fileno(), self._memory],
            )
        except OSError as error:
            raise ServotwinError(f"the process of the cell cannot be started: {error}") from None
        finally:
            there.close()
        self.channel = Channel(here)
        self.state: SharedState | None = None
        self.signals: list[list[str]] = []
        self.period_ns = 0
        self.failure = ""
        self.on_change: Callable[[], None] = lambda: None
        self._number = 0
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def ready(self) -> bool:
        """Whether the arm is there."""
        return self.state is not None

    @property
    def ended(self) -> bool:
        """Whether the cell is gone."""
        return self.channel.closed or bool(self.failure)

    @property
    def running(self) -> bool:
        """Whether the cell is there and has not complained; False once it was closed."""
        return not self.ended and self.process.running

    def ending(self) -> str:
        """Why a cell that does not run any more has ended, in one line."""
        until = time.monotonic() + LAST_WORDS
        while not self.failure and time.monotonic() < until:  # the loop still hears what it said
            time.sleep(0.01)
        if self.failure and self.failure != GONE:
            return f"{GONE}: {self.failure}"
        code = self.process.await_end(ENDING)
        return f"{GONE}: {f'signal {-code} killed it' if code < 0 else f'its exit code is {code}'}"

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hear the cell from a loop."""
        self._loop = loop
        loop.add_reader(self.channel.end.fileno(), self._read)

    def _read(self) -> None:
        for message in self.channel.receive():
            self._take(message)
        if self.channel.closed:
            if self._loop is not None:
                self._loop.remove_reader(self.channel.end.fileno())
            self.failure = self.failure or GONE
            for future in self._asked.values():
                if not future.done():
                    future.set_result({"ok": False, "text": self.failure})
            self.on_change()

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self.signals, self.period_ns = message["signals"], int(message["period_ns"])
            self.state = SharedState(self._memory, int(message["columns"]))
            self.on_change()
        elif "failed" in message:
            self.failure = str(message["failed"])
            self.on_change()
        else:
            future = self._asked.pop(int(message.get("number", -1)), None)
            if future is not None and not future.done():
                future.set_result(message)

    def hold(self, state: dict[str, Any], at_ns: int) -> None:
        """Tell what the operator holds; a cell that is behind with its messages is not told, and lets go."""
        if self.ready and not self.ended and self.channel.unsent() <= MOST_UNSENT:
            self.channel.send({**state, "at": at_ns})

    async def press(self, key: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Press a key once; whether it was taken, and why not."""
        if self.ended or not self.ready:
            return False, self.failure or "the arm is not there yet"
        crowded = self.channel.unsent() > MOST_UNSENT and key != STOP
        if crowded or len(self._asked) >= MOST_PENDING:
            return False, "too many keys at once"
        self._number += 1
        future = asyncio.get_running_loop().create_future()
        self._asked[self._number] = future
        self.channel.send({"key": key, "with": arguments, "number": self._number})
        try:
            answer = await asyncio.wait_for(future, ANSWER)
        except TimeoutError:
            self._asked.pop(self._number, None)
            return False, "the cell does not answer"
        return bool(answer.get("ok")), str(answer.get("text", ""))

    def picture(self) -> bytes:
        """The latest picture; empty if there is none."""
        return b"" if self.state is None else self.state.picture()

    def rows(self, since: int, most: int) -> tuple[int, Samples]:
        """See ``SharedState.since``."""
        assert self.state is not None
        return self.state.since(since, most)

    def close(self) -> None:
        """Let the cell bring its arm to rest and end."""
        self.channel.end.close()
        self.process.await_end(ENDING)
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
