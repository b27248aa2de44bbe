"""The guard of the pages: foreign hosts, origins and tokens are refused, sizes are bounded, scripts need a nonce."""

from __future__ import annotations

import asyncio
import http.client
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra 'pendant' is not installed")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from servotwin.errors import InputError
from servotwin.pendant.web import Files, Keys, Limits, Served, html_page, role_of, serve

LIMITS = Limits(body=10_000, message=1_000, sockets=2, kept=0, connections=30)


async def page(request: Request) -> Response:
    return html_page(request, '<script nonce="{{nonce}}">1</script>')


async def take(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def broken(request: Request) -> Response:
    raise RuntimeError("a mistake of ours")


async def ended(request: Request) -> Response:
    workers = ThreadPoolExecutor()
    workers.shutdown()
    await asyncio.get_running_loop().run_in_executor(workers, time.monotonic)
    raise AssertionError("threads that have ended take nothing")


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text(role_of(socket))
    while True:
        await socket.send_text(await socket.receive_text())


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    files = Files({"a.js": "let a = 1;"})
    routes = [
        Route("/", page),
        Route("/take", take, methods=["POST"]),
        Route("/broken", broken),
        Route("/ended", ended),
        WebSocketRoute("/ws", echo),
        files.route(),
    ]
    with serve(Starlette(routes=routes), Keys(("operator", "viewer")), limits=LIMITS) as found:
        yield found


def ask(
    served: Served, path: str = "/", method: str = "GET", body: Any = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    line = http.client.HTTPConnection(served.address, served.port, timeout=10)
    try:
        given = {"Host": served.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        line.request(method, path, body=body, headers=given)
        answer = line.getresponse()
        return (
            answer.status,
            {k.lower(): v for k, v in answer.getheaders()},
            answer.read().decode(),
        )
    finally:
        line.close()


def cookie(served: Served, role: str = "operator") -> str:
    return f"servotwin-{served.port}-{role}={served.keys.tokens[role]}"


def test_page_needs_the_token_and_gives_a_cookie_for_it(served: Served) -> None:
    assert ask(served)[0] == 403
    assert ask(served, "/?token=wrong")[0] == 403
    status, headers, _ = ask(served, f"/?token={served.keys.tokens['operator']}")
    assert status == 200
    assert headers["set-cookie"].startswith(f"{cookie(served)}; Path=/;")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    assert ask(served, Cookie=cookie(served))[0] == 200
    assert ask(served, Cookie=f"bad name=1; {cookie(served)}")[0] == 200
    assert ask(served, Cookie=f"servotwin-{served.port}-operator=wrong")[0] == 403
    assert ask(served, "/files/a.js", Cookie=cookie(served))[2] == "let a = 1;"
    assert ask(served, "/files/a.js")[0] == 403


def test_each_role_has_pages_and_a_cookie_of_its_own(served: Served) -> None:
    """One browser that has opened both links shows both: neither cookie replaces the other."""
    operator, viewer = cookie(served), cookie(served, "viewer")
    assert served.url("viewer").startswith(f"http://{served.host}/viewer/?token=")
    status, headers, _ = ask(served, served.url("viewer").partition(served.host)[2])
    assert status == 200
    assert headers["set-cookie"].startswith(f"{viewer}; Path=/viewer/;")
    both = f"{operator}; {viewer}"
    assert asyncio.run(spoken(served, cookie=both)) == ["operator", "hello"]
    assert asyncio.run(spoken(served, cookie=both, path="/viewer/ws")) == ["viewer", "hello"]
    assert ask(served, "/viewer/files/a.js", Cookie=viewer)[2] == "let a = 1;"


def test_no_role_is_gained_with_the_cookie_or_token_of_another(served: Served) -> None:
    token = served.keys.tokens["viewer"]
    operator, viewer = cookie(served), cookie(served, "viewer")
    renamed = f"servotwin-{served.port}-operator={token}"
    for path, given in (
        *(("/", viewer), ("/", renamed), ("/files/a.js", viewer), ("/viewer/", operator)),
        *(("//viewer/", viewer), ("/x/viewer/", viewer), ("/viewer", viewer)),
    ):
        assert ask(served, path, Cookie=given)[0] == 403, (path, given)
    assert ask(served, f"/?token={token}")[0] == 403
    assert ask(served, f"/?code={served.keys.code('viewer')}", Cookie=viewer)[0] == 403
    assert ask(served, f"/viewer/?token={served.keys.tokens['operator']}")[0] == 403
    assert asyncio.run(spoken(served, cookie=viewer, path="/viewer/ws")) == ["viewer", "hello"]
    for given in (viewer, renamed):
        with pytest.raises(InvalidHandshake):
            asyncio.run(spoken(served, cookie=given))


def test_a_code_opens_the_page_once(served: Served) -> None:
    code = served.keys.code("operator")
    assert ask(served, f"/?code={code}")[0] == 200
    assert ask(served, f"/?code={code}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_foreign_host_is_refused_with_the_right_token(served: Served, host: str) -> None:
    assert ask(served, Cookie=cookie(served), Host=host)[0] in {400, 421}


def test_localhost_is_this_host(served: Served) -> None:
    assert ask(served, Cookie=cookie(served), Host=f"localhost:{served.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused_with_the_right_token(served: Served, origin: str) -> None:
    assert ask(served, Cookie=cookie(served), Origin=origin)[0] == 403
    assert ask(served, "/take", "POST", b"x", Cookie=cookie(served), Origin=origin)[0] == 403


def test_a_change_needs_an_origin(served: Served) -> None:
    assert ask(served, "/take", "POST", b"xyz", Cookie=cookie(served))[0] == 403
    own = f"http://{served.host}"
    assert ask(served, "/take", "POST", b"xyz", Cookie=cookie(served), Origin=own)[2] == "3"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])  # a page of another port is of the same site
def test_a_part_asked_for_by_another_site_is_refused(served: Served, site: str) -> None:
    told = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "no-cors"}
    assert ask(served, "/files/a.js", Cookie=cookie(served), **told)[0] == 403


def test_policy_allows_no_inline_script_and_no_evaluation(served: Served) -> None:
    _, headers, text = ask(served, Cookie=cookie(served))
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    found = re.search(r"script-src 'nonce-([\w-]+)'", policy)
    assert found is not None
    assert f'nonce="{found.group(1)}"' in text
    assert headers["x-content-type-options"] == "nosniff"
    again = ask(served, Cookie=cookie(served))[1]["content-security-policy"]
    assert again != policy


@pytest.mark.parametrize(
    "name",
    [
        "../guard.py",
        "..%2fguard.py",
        "%2e%2e/guard.py",
        "/etc/passwd",
        "a.js/..",
        "a.js%00",
        "..%5c..%5ca.js",
        ".",
    ],
)
def test_names_of_files_never_become_paths(served: Served, name: str) -> None:
    assert ask(served, f"/files/{name}", Cookie=cookie(served))[0] in {400, 404}


def test_a_large_body_is_refused_before_and_while_it_comes(served: Served) -> None:
    own = {"Cookie": cookie(served), "Origin": f"http://{served.host}"}
    assert ask(served, "/take", "POST", b"x" * 10_000, **own)[0] == 200
    assert ask(served, "/take", "POST", b"x" * 10_001, **own)[0] == 413
    pieces = iter([b"x" * 4_000] * 4)  # chunks without a length
    assert ask(served, "/take", "POST", pieces, **own)[0] == 413


def test_a_long_address_is_refused(served: Served) -> None:
    assert ask(served, "/?" + "x" * 5_000, Cookie=cookie(served))[0] == 414


def test_a_mistake_of_ours_is_one_line(served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, text = ask(served, "/broken", Cookie=cookie(served))
    assert status == 500
    assert "Traceback" not in text
    told, end = "", time.monotonic() + 10.0
    while not told and time.monotonic() < end:  # the server tells it after it has answered
        told += capfd.readouterr().err
        time.sleep(0.02)
    assert told.count("\n") == 1


def test_what_a_page_asks_while_the_server_ends_is_not_told(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(served, "/ended", Cookie=cookie(served))[0] == 500
    ask(served, "/broken", Cookie=cookie(served))
    told, end = "", time.monotonic() + 10.0
    while "mistake" not in told and time.monotonic() < end:
        told += capfd.readouterr().err
        time.sleep(0.02)
    assert told.count("\n") == 1


async def spoken(served: Served, text: str = "hello", **options: Any) -> list[str]:
    given = options.pop("cookie", cookie(served))
    headers = {"Cookie": given} if options.pop("token", True) else {}
    origin = options.pop("origin", f"http://{served.host}")
    address = f"ws://{served.host}{options.pop('path', '/ws')}"
    async with connect(address, additional_headers=headers, origin=origin, **options) as line:
        first = await line.recv()
        await line.send(text)
        return [str(first), str(await line.recv())]


def test_a_socket_needs_token_and_origin(served: Served) -> None:
    assert asyncio.run(spoken(served)) == ["operator", "hello"]
    for options in ({"token": False}, {"origin": "http://evil.example"}, {"origin": None}):
        with pytest.raises(InvalidHandshake):
            asyncio.run(spoken(served, **options))


def test_a_socket_takes_bounded_messages(served: Served) -> None:
    with pytest.raises(ConnectionClosed):
        asyncio.run(spoken(served, "x" * 1_001))


def test_sockets_are_few(served: Served) -> None:
    async def three() -> None:
        options = {
            "additional_headers": {"Cookie": cookie(served)},
            "origin": f"http://{served.host}",
        }
        address = f"ws://{served.host}/ws"
        async with connect(address, **options), connect(address, **options):
            with pytest.raises(InvalidHandshake):
                async with connect(address, **options):
                    pass

    asyncio.run(three())


def test_server_ends_with_open_connections() -> None:
    async def held() -> float:
        with serve(Starlette(routes=[WebSocketRoute("/ws", echo)]), Keys()) as own:
            options = {"additional_headers": {"Cookie": cookie(own)}, "origin": f"http://{own.host}"}
            async with connect(f"ws://{own.host}/ws", **options) as line:
                await line.recv()
                begun = time.monotonic()
                await asyncio.to_thread(own.close)
                assert not own.running
                return time.monotonic() - begun

    assert asyncio.run(held()) < 5.0


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "here", "224.0.0.1"])
def test_address_is_that_of_one_interface(address: str) -> None:
    with pytest.raises(InputError, match="expected"):
        serve(Starlette(), Keys(), address=address)


def test_port_in_use_is_one_line(served: Served) -> None:
    with pytest.raises(InputError, match="cannot be served"):
        serve(Starlette(), Keys(), port=served.port)


def test_files_come_from_the_package(tmp_path: Path) -> None:
    (tmp_path / "page.css").write_text("p {}")
    files = Files.of(tmp_path, "page.css", **{"made.js": "1"})
    assert set(files.texts) == {"page.css", "made.js"}


def test_viewers_leave_sockets_for_the_operator() -> None:
    async def crowd() -> None:
        app, keys = Starlette(routes=[WebSocketRoute("/ws", echo)]), Keys(("operator", "viewer"))
        with serve(app, keys, limits=Limits(sockets=3, kept=1)) as own:

            def line(role: str) -> Any:
                headers = {"Cookie": cookie(own, role)}
                address = f"ws://{own.host}{own.keys.home(role)}ws"
                return connect(address, additional_headers=headers, origin=f"http://{own.host}")

            async with line("viewer"), line("viewer"):
                with pytest.raises(InvalidHandshake):
                    async with line("viewer"):
                        pass
                async with line("operator") as found:
                    assert await found.recv() == "operator"

    asyncio.run(crowd())
