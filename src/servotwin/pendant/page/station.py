"""The server between pages and cell: sockets with the latest picture, held keys on their way to the cell, jobs.

Pictures go to a page as quickly as it draws them, never more than two ahead: a page that is slow skips some.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.pendant.cell.folder import without_folder
from servotwin.pendant.cell.link import STOP, CellLink
from servotwin.pendant.page.seats import Seat, Seats
from servotwin.pendant.page.workbench import Workbench
from servotwin.pendant.web import role_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

PICTURES = 30.0  # a second
AHEAD = 2  # pictures on their way to a page
ROUND = 500_000_000  # ns after the picture that a page has drawn last: what it sends counts as sent by then
PATIENCE = 1.0  # s after which a picture goes to a page that has not drawn the last one
MOST_LEVELS = 4  # of lists within lists in what a page sends on to the cell
MOST_WORDS = 8000  # characters of it
MOST_COLUMNS, MOST_ROWS = 8, 2000
KEPT_AGES, KEPT_STAMPS = 40_000, 300
HEAD = struct.Struct("<4I")  # 'SCOP', first row, rows, columns
MAGIC = 0x504F4353
FOR_ALL = (STOP, "take seat", "seen", "scope")  # what a viewer may ask for too
Answer = Callable[[dict[str, Any]], Any]


class Station:
    """All pages and the one cell."""

    def __init__(self, link: CellLink, workbench: Workbench, start: dict[str, Any]) -> None:
        self.link, self.workbench, self.start = link, workbench, start
        self.seats = Seats()
        self._sockets: dict[int, WebSocket] = {}
        self._tick = asyncio.Event()
        self._text, self._number, self._moving = "", 0, False
        self._stamps: dict[int, int] = {}  # of the last pictures, by their numbers [ns]
        self._working = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- life -------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Hear the cell, and look for pictures."""
        loop = asyncio.get_running_loop()
        self.link.attach(loop)
        self.link.on_change = self._tell_all
        self._spawn(self._look())

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        """Read the latest picture at the rate of the pages, once for all of them."""
        while not self.link.ended:
            await asyncio.sleep(1.0 / PICTURES)
            if not self._sockets:
                continue
            text = self.link.picture()
            if not text:
                continue
            self._text = text.decode()
            head = json.loads(text[: text.index(b',"state"')] + b"}")
            self._number = int(head["n"])
            self._stamps[self._number] = int(head["at"])
            while len(self._stamps) > KEPT_STAMPS:
                del self._stamps[next(iter(self._stamps))]
            self._moving = b'"moving":true' in text
            tick, self._tick = self._tick, asyncio.Event()
            tick.set()

    # --- pages ------------------------------------------------------------------------------------
    async def socket(self, socket: WebSocket) -> None:
        """A page, until it is gone."""
        await socket.accept()
        seat = self.seats.join(may_operate=role_of(socket) == "operator")
        self._sockets[id(seat)] = socket
        sender = asyncio.ensure_future(self._send(socket, seat))
        try:
            self._tell_all()
            while True:
                message = await socket.receive()
                if message["type"] != "websocket.receive":
                    break
                if message.get("text") is not None:
                    await self._take(socket, seat, message["text"])
        except (RuntimeError, OSError):  # the page is gone
            pass
        finally:
            sender.cancel()
            del self._sockets[id(seat)]
            if self.seats.leave(seat):
                await self._vacate()
            self._tell_all()

    async def _vacate(self) -> None:
        """Nobody operates: what moves stops at once."""
        if self.link.ready and not self.link.ended:
            await self.link.press("seat", {})

    def seat_words(self, seat: Seat) -> dict[str, Any]:
        """What a page is told of its seat and of the cell."""
        operates = self.seats.operator is seat
        return {
            "seat": "operator" if operates else "viewer",
            "token": seat.token if operates else "",
            "name": seat.name,
            "may_operate": seat.may_operate,
            "operator": "" if self.seats.operator is None else self.seats.operator.name,
            "pages": len(self.seats.all),
            "ready": self.link.ready,
            "signals": self.link.signals,
            "failure": self._failure(),
        }

    def _failure(self) -> str:
        """Why the cell has ended, with names of files."""
        text = without_folder(self.link.failure, self.workbench.folder)
        robot = Path(self.workbench.settings.robot)
        return without_folder(text, robot.parent) if robot.suffix else text

    def _tell_all(self) -> None:
        """Tell every page beside all else: one that does not read holds up nobody."""
        for seat in self.seats.all:
            seat.untold = True
            if not seat.telling:
                seat.telling = True
                self._spawn(self._tell(seat))

    async def _tell(self, seat: Seat) -> None:
        while seat.untold and id(seat) in self._sockets:
            seat.untold = False
            await _send(self._sockets[id(seat)], json.dumps(self.seat_words(seat)))
        seat.telling = False

    async def _send(self, socket: WebSocket, seat: Seat) -> None:
        """The latest picture, and rows of the scope, whenever the page is not behind."""
        last = 0.0
        while True:
            await self._tick.wait()
            now = time.monotonic()
            if self._number == seat.sent or (seat.sent - seat.seen > AHEAD and now - last < PATIENCE):
                await asyncio.sleep(0.004)
                continue
            seat.sent, last = self._number, now
            if not await _send(socket, self._text):
                return
            rows = self._scope(seat)
            if rows is not None and not await _send(socket, rows):
                return

    def _scope(self, seat: Seat) -> bytes | None:
        """Rows of the chosen columns since the last ones, the time first."""
        if not seat.columns or self.link.state is None:
            return None
        first, rows = self.link.rows(seat.scope_at, MOST_ROWS)
        seat.scope_at = first + len(rows)
        if not len(rows):
            return None
        chosen = np.ascontiguousarray(rows[:, (0, *seat.columns)], dtype=np.float64)
        return HEAD.pack(MAGIC, first & 0xFFFFFFFF, *chosen.shape) + chosen.tobytes()

    async def _take(self, socket: WebSocket, seat: Seat, text: str) -> None:
        """A message of a page; what is none is left alone."""
        now_ns = time.monotonic_ns()
        if not seat.allowed():
            return
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(data, dict):
            return
        if "seen" in data:
            self._saw(seat, data["seen"], now_ns)
        if "switch" in data and self.seats.holder(data.get("token")) is seat:
            self._held(seat, data, now_ns)
        key = data.get("key")
        if isinstance(key, str):
            # keys are answered beside the stream of what is held, so that no answer delays a release
            self._spawn(self._press(socket, seat, key, data))

    def _saw(self, seat: Seat, number: object, now_ns: int) -> None:
        """Note that a page has drawn a picture, and how old that was then, at most."""
        if isinstance(number, int) and not isinstance(number, bool) and seat.seen < number <= seat.sent:
            seat.seen = number
            if number in self._stamps:
                seat.ages.append((now_ns - self._stamps[number]) * 1e-9)
                del seat.ages[:-KEPT_AGES]

    def _held(self, seat: Seat, data: dict[str, Any], now_ns: int) -> None:
        """Hand on what the operator holds: only the latest counts, dated back to when it was sent."""
        sequence, page_ms = data.get("sequence"), data.get("ms")
        if not isinstance(sequence, int) or sequence <= seat.sequence or sequence > 1 << 52:
            return
        if isinstance(page_ms, bool) or not isinstance(page_ms, int | float) or not abs(page_ms) < 1e15:
            return
        seat.sequence = sequence
        # The page's clock says how late a message is, but not how late the first one was; the last picture, dated by
        # the cell, bounds that whatever the page says.
        at_ns = min(seat.delay.sent_ns(float(page_ms), now_ns), self._stamps.get(seat.seen, -ROUND) + ROUND)
        held: dict[str, Any] = {
            k: data[k] for k in ("switch", "hold", "frame", "direction", "speed", "user") if k in data
        }
        if _is_small(held):
            self.link.hold(held, at_ns)

    async def _press(self, socket: WebSocket, seat: Seat, key: str, data: dict[str, Any]) -> None:
        number = data.get("number", 0)
        ok, text = await self._pressed(seat, key, data)
        await _send(
            socket, json.dumps({"answer": number if isinstance(number, int) else 0, "ok": ok, "text": text})
        )

    async def _pressed(self, seat: Seat, key: str, data: dict[str, Any]) -> tuple[bool, str]:
        if key == "take seat":
            return await self._take_seat(seat)
        if key == "scope":
            return self._choose(seat, data.get("columns"))
        if key not in FOR_ALL and self.seats.holder(data.get("token")) is not seat:
            return False, "this page only views" + ("; take control first" if seat.may_operate else "")
        if key == "seat":
            return False, "no such key"
        arguments = {} if key == STOP else data.get("with", {})  # what comes with a stop does not delay it
        if not isinstance(arguments, dict) or not _is_small({key: arguments}):
            return False, "expected words and numbers"
        return await self.link.press(key, {str(k): v for k, v in arguments.items()})

    async def _take_seat(self, seat: Seat) -> tuple[bool, str]:
        why = self.seats.take(seat, moving=self._moving)
        if not why:
            await self._vacate()
            self._tell_all()
        return not why, why

    def _choose(self, seat: Seat, columns: object) -> tuple[bool, str]:
        """The signals that a page wants to see."""
        known = len(self.link.signals)
        fine = isinstance(columns, list) and len(columns) <= MOST_COLUMNS
        if not fine or not all(isinstance(c, int) and 1 <= c <= known for c in columns):  # type: ignore[attr-defined]
            return False, f"expected at most {MOST_COLUMNS} numbers of signals"
        seat.columns = tuple(columns)  # type: ignore[arg-type]
        seat.scope_at = max(seat.scope_at, (self.link.state.written - 200) if self.link.state else 0)
        return True, ""

    # --- jobs and points --------------------------------------------------------------------------
    async def desk(self, request: Request) -> Response:
        """What the workbench does for a page: ``POST /desk`` with ``{do, ...}``."""
        from starlette.responses import JSONResponse

        try:
            data = json.loads(await request.body())
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return JSONResponse({"ok": False, "text": "expected an object"}, status_code=400)
        try:
            return JSONResponse({"ok": True, **await self._desk(data)})
        except ServotwinError as error:
            text = without_folder(str(error), self.workbench.folder)
            return JSONResponse({"ok": False, "text": text})

    async def _desk(self, data: dict[str, Any]) -> dict[str, Any]:
        bench, do = self.workbench, data.get("do")
        name, text = data.get("name"), data.get("text")
        reading: dict[str, Callable[[], dict[str, Any]]] = {
            "jobs": lambda: {"jobs": bench.jobs()},
            "read": lambda: {"content": bench.read(name)},
            "points": lambda: bench.point_list(name),
        }
        changing: dict[str, Callable[[], dict[str, Any]]] = {
            "check": lambda: {"problems": bench.check(name, text)},
            "layout": lambda: {"content": bench.layout(text)},
            "preview": lambda: {"plan": bench.preview(name, text, self._positions())},
            "save": partial(_saved, bench, name, text, data.get("known")),
        }
        if not isinstance(do, str):
            raise ServotwinError("no such work")
        if do in reading:
            return await asyncio.to_thread(reading[do])
        if do not in changing:
            raise ServotwinError("no such work")
        if self.seats.holder(data.get("token")) is None:
            raise ServotwinError("this page only views; take control first")
        async with self._working:  # one plan at a time
            return await asyncio.to_thread(changing[do])

    def _positions(self) -> list[float]:
        """Where the arm stands, in the latest picture."""
        if not self._text:
            raise ServotwinError("there is no picture of the arm yet; a preview begins where it stands")
        found: list[float] = json.loads(self._text)["q"]
        return found


def _is_small(words: dict[str, Any]) -> bool:
    """Whether what a page sends on to the cell fits into one of its messages."""
    return _shallow(words) and len(json.dumps(words)) <= MOST_WORDS


def _shallow(value: object, levels: int = MOST_LEVELS) -> bool:
    """Whether lists and objects within each other are few."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(_shallow(part, levels - 1) for part in inner))


def _saved(bench: Workbench, name: object, text: object, known: object) -> dict[str, Any]:
    kept = bench.save(name, text, known)
    return {"jobs": bench.jobs(), "kept": kept}


async def _send(socket: WebSocket, message: str | bytes) -> bool:
    """Send to a page; False if it is gone."""
    from starlette.websockets import WebSocketDisconnect

    try:
        if isinstance(message, str):
            await socket.send_text(message)
        else:
            await socket.send_bytes(message)
    except (WebSocketDisconnect, RuntimeError, OSError):
        return False
    return True
