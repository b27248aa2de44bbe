"""The viewer as an application of the web server, and how it is opened from Python and the command line."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Array
from servotwin.pendant.view.dropped import read_dropped
from servotwin.pendant.view.dropped_files import LIMIT_OF_ALL, sent_files
from servotwin.pendant.view.robot_state import branches_of, state_of, workspace_of
from servotwin.pendant.view.tool_place import position_for
from servotwin.pendant.web import Files, Keys, Limits, Served, check_packages, html_page, serve
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot
from servotwin.scene import describe, looks_of, scene_script
from servotwin.scene.body_shapes import numbers
from servotwin.scene.looks import Looks
from servotwin.scene.reach_surface import reach_box

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

PAGE = Path(__file__).with_name("page")
LIMITS = Limits(body=LIMIT_OF_ALL, message=64_000, sockets=8)
LARGEST = 1e4  # rad, m: more than any position of an arm


class Viewer:
    """A robot that is shown in a browser until it is closed; ``url`` opens the page."""

    def __init__(self, robot: Robot, served: Served) -> None:
        self.robot, self.served = robot, served

    @property
    def url(self) -> str:
        """The address of the page, with the token of this start."""
        return self.served.url()

    def close(self) -> None:
        """End the page; harmless if it has ended."""
        self.served.close()

    def wait(self) -> None:
        """Until the page is closed from elsewhere, or Ctrl-C."""
        self.served.wait()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Robot and state; the address holds a token and is not shown by chance."""
        where = f"served at http://{self.served.host}" if self.served.running else "closed"
        return f"<Viewer of {self.robot.name}: {where}>"


def view(
    robot: Robot | str | Path,
    q: ArrayLike | None = None,
    *,
    browser: bool = True,
    address: str = "127.0.0.1",
    port: int = 0,
) -> Viewer:
    """Show a robot in the browser, at q (n,) or home; returns at once, ``close()`` ends it.

    ``browser=False`` opens none: its ``url`` can be opened by hand. ``address`` beyond loopback is that of one of this
    machine's interfaces; whoever has the token may then look.
    """
    shown = robot if isinstance(robot, Robot) else load_robot(robot)
    at = shown.q_home if q is None else _position(shown, q)
    served = serve(application(shown, at), Keys(("viewer",)), address=address, port=port, limits=LIMITS)
    viewer = Viewer(shown, served)
    if browser:
        served.open_browser()
    return viewer


def teach(robot: Robot, q: ArrayLike | None = None, **options: Any) -> Viewer:
    """Show a robot in the browser with sliders for its joints and its tool; see ``view``."""
    return view(robot, q, **options)


def application(robot: Robot, q: Array) -> Any:
    """The pages and the socket of a viewer."""
    check_packages()
    from starlette.applications import Starlette
    from starlette.routing import Route, WebSocketRoute

    files = Files.of(PAGE, "page.html", "page.js", "page.css", **{"scene.js": scene_script()})
    text = files.texts.pop("page.html")
    shown = _Shown(robot, q)

    async def page(request: Request) -> Response:
        return html_page(request, text)

    routes = [
        Route("/", page),
        Route("/scene", shown.scene),
        Route("/drop", shown.drop, methods=["POST"]),
        WebSocketRoute("/ws", shown.socket),
        files.route(),
    ]
    return Starlette(routes=routes)


class _Shown:
    """The robots of a viewer: the first one, and those that were dropped onto pages, by number."""

    KEPT = 8

    def __init__(self, robot: Robot, q: Array) -> None:
        self.robots: dict[int, tuple[Robot, Array, Looks | None]] = {0: (robot, q, None)}
        self.count = 0
        self.reading = asyncio.Lock()

    async def scene(self, request: Request) -> Response:
        """The description of a robot's scene."""
        from starlette.responses import JSONResponse

        try:
            robot, q, looks = self._robot(request.query_params.get("robot", "0"))
        except ServotwinError as error:
            return JSONResponse({"error": str(error)}, status_code=404)
        meshes = request.query_params.get("meshes") == "1"
        if looks is None and meshes:
            looks = await asyncio.to_thread(looks_of, robot)
        box = reach_box(robot)
        return JSONResponse(
            {
                **describe(robot, q, looks),
                "reach": None if box is None else [numbers(corner) for corner in box],
                "meshes_to_come": bool(robot.source) and not meshes,
                "warnings": list(robot.warnings),
            }
        )

    async def drop(self, request: Request) -> Response:
        """A robot from files that were dropped; one at a time."""
        from starlette.responses import JSONResponse

        data = await request.body()
        try:
            async with self.reading:
                robot, looks = await asyncio.to_thread(read_dropped, sent_files(data))
                await asyncio.to_thread(robot.fkine, robot.q_home)  # what cannot be assembled is said now
        except ServotwinError as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        self.count += 1
        self.robots[self.count] = robot, robot.q_home, looks
        for old in [number for number in self.robots if 0 < number <= self.count - self.KEPT]:
            del self.robots[old]
        return JSONResponse({"robot": self.count})

    async def socket(self, socket: WebSocket) -> None:
        """Questions of a page, one after the other; a page asks again when it has the answer."""
        from starlette.websockets import WebSocketDisconnect

        await socket.accept()
        with suppress(WebSocketDisconnect):
            while (message := await socket.receive())["type"] == "websocket.receive":
                text = message.get("text")
                if text is None:  # bytes, which no page sends
                    await socket.close(1003)
                    return
                answer = await asyncio.to_thread(self.answer, text)
                await socket.send_text(json.dumps(answer, separators=(",", ":"), allow_nan=False))

    def answer(self, text: str) -> dict[str, Any]:
        """The answer to one question; what is wrong with it is one line."""
        number = 0
        try:
            asked = json.loads(text, parse_constant=_no_number)
            if not isinstance(asked, dict):
                raise InputError("expected an object")
            number = int(asked.get("number", 0))
            robot, _, _ = self._robot(str(asked.get("robot", 0)))
            return {"number": number, **_answered(robot, asked)}
        except ServotwinError as error:
            return {"number": number, "error": str(error)}
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            return {"number": number, "error": f"not understood: {' '.join(str(error).split())[:120]}"}

    def _robot(self, number: str) -> tuple[Robot, Array, Looks | None]:
        found = self.robots.get(int(number)) if number.isdecimal() and len(number) < 9 else None
        if found is None:
            raise InputError("this robot is not shown any more; drop its file again")
        return found


def _answered(robot: Robot, asked: dict[str, Any]) -> dict[str, Any]:
    kind = asked.get("ask")
    if kind == "workspace":
        return {"workspace": workspace_of(robot)}
    q, turned = _position(robot, asked.get("q")), 0.0
    if kind == "branches":
        return branches_of(robot, q)
    if kind == "pose":
        q, turned = position_for(robot, _vector(asked.get("xyz")), _vector(asked.get("rpy")), q)
    elif kind != "state":
        raise InputError("expected state, pose, branches or workspace")
    size = asked.get("size")
    scale = float(size) if isinstance(size, int | float) and 0.0 < size < LARGEST else 1.0
    return {"state": state_of(robot, q, scale), "turned": turned}


def _position(robot: Robot, q: Any) -> Array:
    found = np.asarray(q, dtype=np.float64)
    if found.shape != (robot.n,) or not _bounded(found):
        raise InputError(f"q is no position of {robot.name}; expected {robot.n} numbers")
    return found


def _vector(values: Any) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (3,) or not _bounded(found):
        raise InputError("expected three numbers for a place, and three for a turn")
    return found


def _bounded(values: Array) -> bool:
    return bool(np.isfinite(values).all()) and bool((np.abs(values) <= LARGEST).all())


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
