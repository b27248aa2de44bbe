"""A page is served in a thread of its own: on this machine unless told otherwise, until it is closed."""

from __future__ import annotations

import importlib.util
import ipaddress
import socket
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from servotwin.errors import InputError, ServotwinError
from servotwin.pendant.web.guard import Guard, Limits
from servotwin.pendant.web.keys import Keys
from servotwin.processes import show_in_browser

if TYPE_CHECKING:
    import uvicorn

LOOPBACK = "127.0.0.1"
START = 10.0  # s that a server may take to begin
END = 5.0  # s that it may take to end; connections are cut after a second
GRACE = 1
PACKAGES = ("starlette", "uvicorn", "websockets")  # of the extra "pendant"


class Served:
    """A page that is served: its addresses, and how it ends."""

    def __init__(self, server: uvicorn.Server, sock: socket.socket, keys: Keys, guard: Guard) -> None:
        self.keys, self.guard = keys, guard
        self.address, self.port = sock.getsockname()[:2]
        self._server = server
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(sock,), name="servotwin page", daemon=True)
        self._thread.start()
        until = time.monotonic() + START
        while not server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.005)
        if not server.started:
            self.close()
            raise ServotwinError(f"the page could not be served: {self._failure}")

    def _run(self, sock: socket.socket) -> None:
        try:
            self._server.run(sockets=[sock])
        except BaseException as error:  # noqa: BLE001 -- said by whoever started it
            self._failure = error

    @property
    def host(self) -> str:
        """Address and port as they stand in a URL."""
        shown = f"[{self.address}]" if ":" in self.address else self.address
        return f"{shown}:{self.port}"

    def url(self, role: str | None = None) -> str:
        """The address with the token of a role, by default the first."""
        role = next(iter(self.keys.tokens)) if role is None else role
        return f"http://{self.host}{self.keys.home(role)}?token={self.keys.tokens[role]}"

    def open_browser(self, role: str | None = None) -> bool:
        """Show the page in the user's browser; False if there is none."""
        role = next(iter(self.keys.tokens)) if role is None else role
        return show_in_browser(f"http://{self.host}{self.keys.home(role)}?code={self.keys.code(role)}")

    @property
    def running(self) -> bool:
        """Whether the page is served."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Until somebody closes it; a signal or Ctrl-C ends the waiting with KeyboardInterrupt."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """End the server and its connections; harmless if it has ended."""
        self._server.should_exit = True
        self._thread.join(END)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(END)

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_packages() -> None:
    """Refuse in one line, before anything is begun, where the extra ``pendant`` is missing."""
    if any(importlib.util.find_spec(name) is None for name in PACKAGES):
        raise ServotwinError("pages in the browser need further packages: pip install 'servotwin[pendant]'")


def serve(
    app: Any,
    keys: Keys,
    *,
    address: str = LOOPBACK,
    port: int = 0,
    limits: Limits | None = None,
    names: tuple[str, ...] = (),
) -> Served:
    """Serve an ASGI application behind the guard; port 0 takes a free one.

    ``address`` beyond loopback must be that of one interface; ``names``: further names under which browsers reach it.
    """
    check_packages()
    import uvicorn

    limits = limits or Limits()
    sock = _bound(address, port)
    number = sock.getsockname()[1]
    guard = Guard(app, keys, _hosts(sock.getsockname()[0], number, names), number, limits)
    config = uvicorn.Config(
        guard, http="h11", ws="websockets-sansio", loop="asyncio", interface="asgi3", lifespan="on",
        log_config=None, log_level="critical", access_log=False, server_header=False, proxy_headers=False,
        ws_max_size=limits.message, ws_per_message_deflate=False, ws_ping_interval=5.0, ws_ping_timeout=10.0,
        limit_concurrency=limits.connections, h11_max_incomplete_event_size=32_768, backlog=64,
        timeout_keep_alive=30, timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    return Served(uvicorn.Server(config), sock, keys, guard)


def _bound(address: str, port: int) -> socket.socket:
    """A socket at an address of this machine."""
    try:
        found = ipaddress.ip_address("127.0.0.1" if address == "localhost" else address)
    except ValueError:
        raise InputError(
            f"{address!r} is no address; expected one of this machine's, such as 192.168.1.20",
            file="--address",
        ) from None
    if found.is_unspecified or found.is_multicast:
        raise InputError(
            f"{address} stands for all interfaces; expected the address of one, such as 192.168.1.20",
            file="--address",
        )
    family = socket.AF_INET6 if found.version == 6 else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((str(found), port))
    except (OSError, OverflowError) as error:
        sock.close()
        why = error.strerror if isinstance(error, OSError) else "expected 0 to 65535"
        raise InputError(f"{address} port {port} cannot be served: {why}", file="--port") from None
    return sock


def _hosts(address: str, port: int, names: tuple[str, ...]) -> frozenset[str]:
    """What the Host header of a request may say."""
    known = {f"[{address}]" if ":" in address else address, *names}
    if ipaddress.ip_address(address).is_loopback:
        known.add("localhost")
    return frozenset(f"{name.lower()}:{port}" for name in known)
