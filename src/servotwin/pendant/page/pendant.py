"""``st.teach_pendant``: a teach pendant in the browser for a robot, until it is closed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from servotwin.description.load import read_description
from servotwin.description.placed import override_mapping
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.build import build_mechanism
from servotwin.pendant.cell.link import CellLink
from servotwin.pendant.cell.setup import CellSettings, absolute_robot, check_plant
from servotwin.pendant.page.station import Station
from servotwin.pendant.page.workbench import Workbench
from servotwin.pendant.web import Files, Keys, Served, check_packages, html_page, serve
from servotwin.robot.described import source_of
from servotwin.robot.robot import Robot
from servotwin.scene.describe import describe
from servotwin.scene.script import scene_script

FOLDER = Path(__file__).with_name("static")
SCRIPTS = ("main.js", "link.js", "hold.js", "jog.js", "points.js", "editor.js", "scope.js", "panels.js")
LOOPBACK = "127.0.0.1"
LOOK = 0.2  # s between two looks at the cell


class Pendant:
    """A pendant that is served: ``url`` for the operator, ``viewer_url`` for those who only look."""

    def __init__(self, served: Served, link: CellLink, station: Station) -> None:
        self.served, self.link, self.station = served, link, station

    @property
    def url(self) -> str:
        """Address of the operator's page."""
        return self.served.url("operator")

    @property
    def viewer_url(self) -> str:
        """Address of pages that cannot move anything."""
        return self.served.url("viewer")

    def open_browser(self) -> bool:
        """Show the operator's page in the browser; False if there is none."""
        return self.served.open_browser("operator")

    def wait(self) -> None:
        """Until it is closed; a signal ends the waiting with KeyboardInterrupt.

        A cell that has ended by itself is a ServotwinError that says why.
        """
        while self.served.running:
            if not self.link.running and self.served.running:  # not by close() in another thread
                raise ServotwinError(self.link.ending())
            time.sleep(LOOK)

    def close(self) -> None:
        """Bring the arm to rest, end cell and pages."""
        self.served.close()
        self.link.close()

    def __repr__(self) -> str:
        """Robot, plant and state; the addresses hold tokens and are not shown by chance."""
        state = "served" if self.served.running and self.link.running else "ended"
        start = self.station.start
        return f"<Pendant of {start['robot']}, plant {start['plant']}, {state} at http://{self.served.host}>"

    def __enter__(self) -> Pendant:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def teach_pendant(
    robot: Robot | str | Path,
    overrides: Mapping[str, str] | None = None,
    *,
    plant: str = "ideal",
    folder: str | Path = "jobs",
    address: str = LOOPBACK,
    port: int = 0,
    lease_ms: int = 80,
    stop_ms: int = 200,
    allow_code: bool = False,
) -> Pendant:
    """Serve a teach pendant for a robot; close it, or use it as a context.

    ``plant``: 'ideal', an arm that follows exactly; 'drives', with motors and servo loops; 'bus', the same behind
    EtherCAT. ``folder`` of jobs and points, made if it is missing. The arm stands ``stop_ms`` after
    its page was lost; jobs that it could not brake from so soon run more slowly. Handbook: docs/pendant.md.
    """
    check_packages()
    source = absolute_robot(str(source_of(robot)))
    if isinstance(robot, Robot) and overrides:
        raise InputError("overrides go with a name or file; expected a robot that is not loaded yet")
    place = Path(folder).absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=str(folder)) from None
    settings = CellSettings(
        source,
        plant,
        str(place),
        override_mapping(overrides),
        lease_ms,
        allow_code,
        stop_ms,
    )
    description = read_description(settings.robot, dict(settings.overrides))
    model = Robot(build_mechanism(description), title=description.title)
    check_plant(description, model, plant)
    link = CellLink(settings)
    try:
        start = start_data(model, plant)
        station = Station(link, Workbench(settings, model), start)
        served = serve(application(station), Keys(("operator", "viewer")), address=address, port=port)
    except BaseException:
        link.close()
        raise
    return Pendant(served, link, station)


def start_data(robot: Robot, plant: str) -> dict[str, Any]:
    """What a page must know of the robot."""
    return {
        "robot": robot.name,
        "title": robot.title or robot.name,
        "plant": plant,
        "scene": describe(robot),
        "joints": [
            {"name": name, "unit": unit}
            for name, unit in zip(robot.joint_names, robot.joint_units, strict=True)
        ],
        "cartesian": robot.n > 2,
    }


def application(station: Station) -> Any:
    """The ASGI application of a station."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute

    page = (FOLDER / "pendant.html").read_text(encoding="utf-8")
    data = json.dumps(station.start).replace("<", "\\u003c")
    files = Files.of(FOLDER, "pendant.css", *SCRIPTS, **{"scene.js": scene_script()})

    async def home(request: Request) -> Response:
        return html_page(request, page.replace("{{start}}", data))

    @asynccontextmanager
    async def life(app: Any) -> AsyncIterator[None]:
        sys.setswitchinterval(0.001)  # what is held goes before plans that other threads make
        station.begin()
        yield

    routes = [
        Route("/", home, methods=["GET"]),
        Route("/desk", station.desk, methods=["POST"]),
        WebSocketRoute("/ws", station.socket),
        files.route(),
    ]
    return Starlette(routes=routes, lifespan=life)


__all__ = ["Pendant", "ServotwinError", "teach_pendant"]
