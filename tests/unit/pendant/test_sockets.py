"""Pages at the socket: one operates, the others look; nonsense from many pages at once moves nothing."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from pendant_browser import running
from pendant_pictures import soak
from pendant_socket import PlainPage
from pendant_stops import CellClock
from servotwin.pendant.page import station
from tests.campaign import campaign, cases

JOG = {"hold": True, "frame": "joint", "direction": [1.0, 0.0, 0.0, 0.0]}


def jog(page: PlainPage, seconds: float, token: str | None = None) -> None:
    """Hold switch and key, renewed as a page does it."""
    page.hold(token, switch=0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.hold(token, switch=1, **JOG)
        time.sleep(0.025)


class GonePage:
    """A socket whose page has closed it, as Starlette tells."""

    async def send_text(self, _: str) -> None:
        raise WebSocketDisconnect(1006)

    send_bytes = send_text


@pytest.mark.parametrize("message", ["{}", b"rows"])
def test_page_that_closes_before_its_answer_is_gone_and_no_fault(message: str | bytes) -> None:
    """An exception here would end as a traceback of a task that nobody awaits."""
    assert asyncio.run(station._send(GonePage(), message)) is False  # type: ignore[arg-type]


def test_words_of_any_size_end_no_cell(tmp_path: Path) -> None:
    """Neither a burst of a viewer's stops with words that they do not take, nor what an operator's page makes up."""
    with running("gsis-scara", tmp_path) as served:
        clock = CellClock(served.cell_pid)
        viewer, page = PlainPage(served.viewer_url), PlainPage(served.url)
        assert page.press("enable")["ok"]
        clock.until(lambda p: p["state"] == "ready")
        for _ in range(230):
            viewer.send({"key": "emergency stop", "with": {"x": "y" * 7900}, "number": 0})
        clock.until(lambda p: p["state"] == "emergency")  # a stop, whatever comes with it
        long: list[dict[str, Any]] = [
            {"user": "x" * 60_000}, {"direction": [0.1] * 10_000}, {"frame": [[[[[[]]]]]]},
            {"key": "k" * 60_000}, {"key": "\U0001f600" * 5000}, {"key": "load", "with": {"job": "j" * 7900}},
        ]  # fmt: skip
        for number, words in enumerate(long * 15):
            page.hold(hold=True, **words, number=-number)
        time.sleep(1.5)
        begun = clock.look()["n"]
        clock.until(lambda p: p["n"] > begun + 5)
        assert page.press("reset")["ok"]
        assert served.close() == ""


def test_second_page_cannot_move_the_arm_and_takes_over_only_while_it_stands(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path) as served:
        clock = CellClock(served.cell_pid)
        first, second = PlainPage(served.url), PlainPage(served.url)
        viewer = PlainPage(served.viewer_url)
        assert first.seat["seat"] == "operator"
        assert (second.seat["seat"], second.seat["token"]) == ("viewer", "")
        assert first.press("enable")["ok"]
        clock.until(lambda p: p["state"] == "ready")
        for other in (second, viewer):
            for token in ("", "guess", first.seat["token"]):  # not even with the token of another seat
                jog(other, 0.3, token)
                assert not other.press("home", token=token)["ok"]
                assert not other.press("disable", token=token)["ok"]
        assert clock.look()["q"] == [0.0, 0.0, 0.0, 0.0]
        assert not viewer.press("take seat")["ok"]
        thread = threading.Thread(target=jog, args=(first, 2.5))
        thread.start()
        clock.until(lambda p: p["state"] == "jogging")
        second.until(lambda: second.picture.get("moving") is True)
        assert "stands" in second.press("take seat")["text"]
        thread.join()
        clock.until(lambda p: p["state"] == "ready")
        second.until(lambda: second.picture["moving"] is False)
        time.sleep(0.1)
        assert second.press("take seat")["ok"]
        second.until(lambda: second.seat["seat"] == "operator")
        first.until(lambda: first.seat["seat"] == "viewer")
        before = clock.look()["q"]
        jog(first, 0.3, "")
        assert clock.look()["q"] == before
        jog(second, 0.4)
        assert clock.look()["q"][0] > before[0]
        assert viewer.press("emergency stop")["ok"]  # whoever sees something wrong may stop
        clock.until(lambda p: p["state"] == "emergency")
        for page in (first, second, viewer):
            page.close()
        assert served.close() == ""


def test_cell_stops_and_ends_when_its_server_is_killed(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path) as served:
        clock = CellClock(served.cell_pid)
        page = PlainPage(served.url)
        page.press("enable")
        clock.until(lambda p: p["state"] == "ready")
        thread = threading.Thread(target=jog, args=(page, 1.5))
        thread.start()
        clock.until(lambda p: p["state"] == "jogging")
        at = time.monotonic_ns()
        served.process.kill()
        served.process.wait()
        thread.join()
        end = time.monotonic() + 5.0
        while Path(f"/proc/{served.cell_pid}").exists() and "Z" not in _state(served.cell_pid):
            assert time.monotonic() < end
            time.sleep(0.02)
        last = clock.look()
        assert last["at"] - at < 500_000_000  # it made no more pictures, and came to rest on its way out
        assert served.process.stdout is not None
        served.process.stdout.close()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


KEYS = (
    *(
        "enable",
        "disable",
        "reset",
        "stop",
        "pause",
        "emergency stop",
        "mode",
        "menu",
        "step",
        "home",
        "go to",
    ),
    *("load", "run", "resume", "single step", "step back", "override", "record", "delete", "rename", "input"),
    *("points", "seat", "take seat", "scope", "x"),
)


def _value(rng: random.Random, depth: int = 0) -> object:
    plain = [
        None,
        True,
        False,
        0,
        1,
        -1,
        3,
        1e308,
        "T1",
        "AUT",
        "P1",
        "",
        "../../x",
        "\x00",
        "a" * 200,
        [1.0, 0, 0, 0],
        [],
        {},
    ]
    if depth < 2 and rng.random() < 0.2:
        return {str(_value(rng, 3)): _value(rng, depth + 1) for _ in range(3)}
    return rng.choice(plain)


def _nonsense(rng: random.Random, token: str) -> object:
    """A message that a page might send, or that nobody would."""
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(
            [
                "",
                "{",
                "[]",
                "nan",
                '{"switch":NaN}',
                "\u2028",
                "[" * 500,
                '{"key":' + "9" * 400 + "}",
                os.urandom(30),
            ]
        )
    if kind < 0.5:
        held = {
            "sequence": rng.choice([rng.randrange(10**6), -1, "x", 2**60]),
            "ms": rng.choice([time.monotonic() * 1e3, None, 1e300, "x"]),
        }
        return {
            **held,
            "switch": rng.choice([0, 2, 0, "1", None, True, 9]),
            "hold": True,
            "token": token,
            "direction": _value(rng),
            "frame": _value(rng),
            "speed": _value(rng),
        }
    words = {
        rng.choice(
            ["name", "mode", "number", "percent", "job", "direction", "length", "frame", "on", "new", "x"]
        ): _value(rng)
        for _ in range(rng.randrange(4))
    }
    return {
        "key": rng.choice(KEYS),
        "with": rng.choice([words, words, _value(rng)]),
        "token": rng.choice([token, "", _value(rng)]),
        "number": _value(rng),
        "columns": _value(rng),
        "seen": _value(rng),
    }


@campaign
def test_nonsense_of_ten_pages_moves_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    moved, _ = talk_nonsense(tmp_path, cases(150, 5000), 0)
    assert moved == []


def talk_nonsense(folder: Path, count: int, seed: int) -> tuple[list[dict[str, Any]], int]:
    """Ten pages that send so many messages each: pictures of an arm that moved, and how many were sent.

    The switch is never held in its middle, whatever else is sent: so nothing may move.
    """
    moved: list[dict[str, Any]] = []
    with running("gsis-scara", folder) as served:
        clock = CellClock(served.cell_pid)
        pages = [PlainPage(served.url if k % 3 else served.viewer_url) for k in range(10)]
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                p = clock.look()
                if p["speed"] > 0.0 or any(abs(v) > 1e-5 for v in p["q"]):
                    moved.append(p)
                time.sleep(0.01)

        def talk(page: PlainPage, seed: int) -> None:
            rng = random.Random(seed)
            for _ in range(count):
                page.send(
                    _nonsense(rng, page.seat.get("token", ""))
                    if rng.random() < 0.98
                    else {"key": "mode", "with": {"mode": "T1"}, "token": page.seat.get("token", "")}
                )
                time.sleep(0.004)

        watcher = threading.Thread(target=watch)
        watcher.start()
        talkers = [threading.Thread(target=talk, args=(page, 100 * seed + k)) for k, page in enumerate(pages)]
        for thread in talkers:
            thread.start()
        for thread in talkers:
            thread.join()
        done.set()
        watcher.join()
        for page in pages:
            page.close()
        last = PlainPage(served.url)
        last.until(lambda: last.seat["seat"] == "operator")
        last.press("reset")
        assert last.press("mode", {"mode": "T1"})["ok"]
        last.close()
        assert served.close() == ""
    return moved, count * len(pages)


BODIES = (
    *(b"", b"[]", b"{", b'{"do":"x"}', b'{"do":["save"]}', b'{"do":"points","name":7}'),
    b'{"do":"save","name":"../x.job","text":""}',
    b'{"do":"save","name":"x.job","text":"WAIT 1 s"}',
    b'{"do":"read","name":"../../etc/passwd"}',
    b'{"do":"preview","name":"x.job"}',
    b'{"do":"save","name":"x.job","text":"","token":"\\u00e9"}',
    b'{"do":"save","name":"x.job","text":"","token":"\\ud800"}',
)


def test_desk_refuses_what_is_none_and_writes_nothing_for_viewers(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path) as served:
        page, operator = PlainPage(served.viewer_url), PlainPage(served.url)
        headers = {"Cookie": page.cookie, "Origin": f"http://{page.host}", "Content-Type": "application/json"}
        for body in BODIES:
            link = http.client.HTTPConnection(page.host, timeout=10)
            link.request("POST", f"{page.home}desk", body, headers)
            assert json.loads(link.getresponse().read())["ok"] is False, body
            link.close()
        page.close()
        operator.close()
        assert list((tmp_path / "jobs").iterdir()) == []
        assert served.close() == ""


@campaign
def test_pictures_are_fresh_with_four_viewers(tmp_path: Path) -> None:
    found = soak(tmp_path, float(cases(4, 1200)), viewers=4)
    print(found.text())
    assert min(found.rates) >= 1.0  # every page is shown pictures, none is forgotten
    assert found.grown_kb < 20_000


def test_page_that_has_drawn_no_picture_for_long_moves_nothing(tmp_path: Path) -> None:
    """Messages whose way began late: their own clock cannot tell, the last picture that the page has drawn does."""
    with running("gsis-scara", tmp_path) as served:
        clock = CellClock(served.cell_pid)
        page = PlainPage(served.url)
        assert page.press("enable")["ok"]
        clock.until(lambda p: p["state"] == "ready")
        page.draws = False
        time.sleep(0.8)
        before = clock.look()["q"]
        jog(page, 0.4)
        assert clock.look()["q"] == before
        page.draws = True
        page.until(lambda: page.picture.get("state") == "ready")
        time.sleep(1.2)  # pictures come again
        jog(page, 0.4)
        assert clock.look()["q"][0] > before[0]
        page.close()
        assert served.close() == ""


def test_key_whose_arguments_nest_deep_is_answered(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path) as served:
        page = PlainPage(served.url)
        nested: Any = []
        for _ in range(900):
            nested = [nested]
        assert page.press("override", {"percent": nested}) | {"answer": 0} == {
            "answer": 0,
            "ok": False,
            "text": "expected words and numbers",
        }
        page.close()
        assert served.close() == ""
