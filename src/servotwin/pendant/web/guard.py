"""The guard before every page and socket: host, origin, token, sizes, numbers, and the policy that a browser keeps to.

A page on this machine can be reached by every other page that the same browser shows. So a request must name our own
host (a name that a stranger's server resolves to this machine does not), must come from our own page, and must know the
token of this start, which the browser keeps in a cookie that no other site can send along. Each role has pages and a
cookie of its own, so that one browser can show both: a request has the role of its path, and only with that cookie.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from servotwin.pendant.web.keys import Keys

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ROLE, NONCE = "servotwin.role", "servotwin.nonce"
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
    "connect-src 'self' ws://{host}; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
READING = ("GET", "HEAD")
OWN = ("same-origin", "none")  # where a request began: with our own page, or with the address bar


@dataclass(frozen=True)
class Limits:
    """How much a page may ask for."""

    body: int = 2_000_000  # bytes of a request
    message: int = 64_000  # bytes of a message on a socket
    sockets: int = 16  # open at once
    kept: int = 4  # of these sockets, for the first role
    connections: int = 64  # open at once, sockets among them
    text: int = 4_000  # characters of path and query together


class Guard:
    """An ASGI application around another one that lets through only what may pass."""

    def __init__(self, app: App, keys: Keys, hosts: frozenset[str], port: int, limits: Limits) -> None:
        self.app, self.keys, self.hosts, self.limits = app, keys, hosts, limits
        self.port = port
        self.first = next(iter(keys.tokens))
        self.open_sockets = dict.fromkeys(keys.tokens, 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request or socket."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refused = self._refused(scope, headers)
        if refused is None:
            scope[ROLE], fresh = self._role(scope, headers)
            if scope[ROLE] is None:
                refused = 403, "open this page with the address that the command has printed"
        if refused is not None:
            await _answer(send, *refused)
            return
        nonce = scope[NONCE] = secrets.token_urlsafe(16)
        added = [
            *HEADERS,
            (b"content-security-policy", POLICY.format(nonce=nonce, host=headers["host"]).encode()),
        ]
        if fresh:
            added.append((b"set-cookie", self._cookie(scope[ROLE]).encode()))
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = [(k, v) for k, v in message.get("headers", []) if k.lower() not in _OURS]
                message = {**message, "headers": [*given, *added]}
            await send(message)

        try:
            await self.app(scope, self._bounded(receive), send_guarded)
        except Exception as error:  # noqa: BLE001 -- whatever a page asks for, the server goes on
            if "after shutdown" not in str(error):  # a page may still ask while the server ends
                sys.stderr.write(
                    f"page: {type(error).__name__}: {error} at {scope.get('path', '')!r}\n".replace(
                        "\x1b", ""
                    )
                )
            if not begun:
                await _answer(send, 500, "the page could not be made; the terminal says why")

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refused = self._refused(scope, headers)
        if refused is None:
            scope[ROLE], _ = self._role(scope, headers)
            if scope[ROLE] is None or self._crowded(scope[ROLE]):
                refused = 403, "refused"
        if refused is not None:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        self.open_sockets[scope[ROLE]] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.open_sockets[scope[ROLE]] -= 1

    def _crowded(self, role: str) -> bool:
        """Whether a role gets no further socket; some are kept for the first one, whoever else looks."""
        count, most = sum(self.open_sockets.values()), self.limits.sockets
        others = count - self.open_sockets[self.first]
        return count >= most or (role != self.first and others >= most - self.limits.kept)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is none of ours, whatever token it has."""
        if headers.get("host", "").lower() not in self.hosts:
            return 421, "this server has another name"
        if len(scope.get("path", "")) + len(scope.get("query_string", b"")) > self.limits.text:
            return 414, "the address is too long"
        origin = headers.get("origin")
        reading = scope["type"] == "http" and scope["method"] in READING
        if origin is None:
            # A page that is opened or loads its parts sends none; whoever changes something must.
            if not reading:
                return 403, "a page of this server must ask"
            # Another port of this machine is the same site to a browser, which sends our cookie along.
            site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
            if site not in OWN and mode != "navigate":
                return 403, "a page of this server must ask"
        elif origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, "a page of this server must ask"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body:
            return 413, f"more than {self.limits.body} bytes; send a smaller file"
        return None

    def _role(self, scope: Scope, headers: dict[str, str]) -> tuple[str | None, bool]:
        """The role behind a request, and whether its browser does not have the cookie yet.

        It is the role that the path names; the application sees the path without this name.
        """
        homes = {role: self.keys.home(role) for role in self.keys.tokens if role != self.first}
        role = next((role for role, home in homes.items() if scope["path"].startswith(home)), self.first)
        scope["path"] = "/" + scope["path"].removeprefix(self.keys.home(role))
        if scope["type"] == "http" and scope["path"] == "/":
            asked = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=20)
            for name, check in (("token", self.keys.role), ("code", self.keys.redeem)):
                if name in asked and check(asked[name][0]) == role:
                    return role, True
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self._cookie_name(role):
                return (role if self.keys.role(value) == role else None), False
        return None, False

    def _cookie_name(self, role: str) -> str:
        return f"servotwin-{self.port}-{role}"  # ports share their cookies

    def _cookie(self, role: str) -> str:
        """What the browser keeps for the pages of a role."""
        text = f"{self._cookie_name(role)}={self.keys.tokens[role]}"
        return f"{text}; Path={self.keys.home(role)}; HttpOnly; SameSite=Strict"

    def _bounded(self, receive: Receive) -> Receive:
        """The body of a request, up to the limit."""
        count = 0

        async def bounded() -> Message:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            if count > self.limits.body:
                from starlette.exceptions import HTTPException

                raise HTTPException(413, f"more than {self.limits.body} bytes; send a smaller file")
            return message

        return bounded


_OURS = {name for name, _ in HEADERS} | {b"content-security-policy"}


def _headers(scope: Scope) -> dict[str, str]:
    """The headers of a request; of one that is there twice the parts are joined, which no check accepts."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        joint = "; " if key == "cookie" else ", "
        found[key] = found[key] + joint + text if key in found else text
    return found


async def _answer(send: Send, status: int, text: str) -> None:
    """A plain line."""
    body = f"{text}\n".encode()
    headers = [
        *HEADERS,
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
