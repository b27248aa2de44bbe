"""Each panel of the pendant's page once, in a real browser: points, user frames, inputs and outputs, scope, fingers."""

from __future__ import annotations

import csv
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pendant_browser import CHROMIUM, Page, RunningPendant, browser, running

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
WAIT = 60_000  # ms
POINTS = """format: servotwin-points/1
robot: gsis-scara
frames:
  table: {yaw: 90 deg}
points:
  P1: {joints: {A: 10 deg, B: 40 deg, Z: 20 mm, W: 0 deg}}
  P2: {joints: {A: -10 deg, B: 60 deg, Z: 20 mm, W: 0 deg}}
"""
JOB = "SET OUT1 ON\nMOVEJ P1 SPEED 50%\nMOVEJ P2 SPEED 50%\nWAITFOR IN3 ON\nSET OUT2 ON\nMOVEJ P1 SPEED 50%\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RunningPendant]:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "pendant.points.yaml").write_text(POINTS, encoding="utf-8")
    (tmp_path / "jobs" / "pendant.job").write_text(JOB, encoding="utf-8")
    with running("gsis-scara", tmp_path) as found:
        yield found
        assert found.close() == ""


@pytest.fixture
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


def powered(page: Page) -> Page:
    page.until("window.pendant.seat.role == 'operator'", 60.0)
    page.page.click("#power")
    page.until("p.state == 'ready'", 60.0)
    return page


def hold(page: Page, label: str, moved: str) -> None:
    """Hold the switch and a key until something is true; both again if a busy machine lost the switch."""
    for _ in range(10):
        page.enable()
        page.down(label)
        try:
            page.until(moved, 8.0)
            return
        except TimeoutError:
            continue
        finally:
            page.up()
            page.let_go()
            page.until("p.state == 'ready'", 60.0)
    raise AssertionError(f"{moved}: {page.look()}")


def job_until(page: Page, words: str, tab: str) -> None:
    """Wait for what a job does; started again whenever a busy machine lost the page, which pauses it."""
    for _ in range(10):
        page.until(f"({words}) || p.state === 'paused'", 60.0)
        if page.look()["state"] != "paused":
            return
        page.page.click("[data-tab=job]")
        page.page.click("#run")
        page.until("p.state !== 'paused'", 60.0)
        page.page.click(f"[data-tab={tab}]")
    raise AssertionError(f"{words}: {page.look()}")


def row(page: Page, name: str) -> Any:
    return page.page.locator("#points tr").filter(has=page.page.locator(f"td:text-is('{name}')"))


def test_both_links_in_one_browser_keep_their_roles_when_they_are_loaded_again(
    served: RunningPendant, chromium: Any
) -> None:
    operator = Page(chromium, served.url)
    viewer = Page(chromium, served.viewer_url, context=operator.context)
    for page in (operator, viewer):
        page.page.reload()
        page.until("p && window.pendant.seat.open", 60.0)
    operator.until("window.pendant.seat.role == 'operator'", 60.0)
    viewer.until("window.pendant.seat.name && window.pendant.seat.mayOperate === false", 60.0)
    assert viewer.page.inner_text("#seat") == "you watch"
    assert "token" not in operator.page.url + viewer.page.url
    assert operator.errors == viewer.errors == []


def test_points_are_gone_to_touched_up_renamed_and_deleted(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    page = powered(Page(chromium, served.url))
    p, file = page.page, tmp_path / "jobs" / "pendant.points.yaml"
    p.click("[data-tab=points]")
    row(page, "P2").wait_for(timeout=WAIT)
    assert row(page, "P2").bounding_box()["height"] < 80  # keys, and below them the position in one line
    assert "token" in served.url
    assert p.url == served.url.partition("?")[0]  # the token stays out of the history
    hold(
        page,
        "[aria-label='go to P1']",
        "Math.abs(p.q[0] - 0.174533) < 1e-4 && Math.abs(p.q[1] - 0.698132) < 1e-4",
    )
    p.click("[data-tab=jog]")
    hold(page, "[aria-label='A minus']", "p.q[0] < 0.05")
    p.click("[data-tab=points]")
    before = row(page, "P1").inner_text()
    row(page, "P1").get_by_text("Touch up").click()
    p.locator("#message", has_text="touched up P1").wait_for(timeout=WAIT)
    p.wait_for_function(
        "old => [...document.querySelectorAll('#points tr')].every(r => r.innerText !== old)",
        arg=before,
        timeout=WAIT,
    )
    page.shot("points-touched-up")
    row(page, "P2").get_by_text("Rename").click()
    p.locator("#points input").fill("never")
    p.locator("#points input").press("Escape")
    p.click("[data-tab=job]")
    p.wait_for_function("() => document.getElementById('text').value.length > 0", timeout=WAIT)
    p.fill("#text", JOB + "MOVEJ P2 SPEED 20%\n")  # not saved yet
    p.click("[data-tab=points]")
    row(page, "P2").get_by_text("Rename").click()
    p.locator("#points input").fill("drop")
    p.locator("#points input").press("Enter")
    row(page, "drop").wait_for(timeout=WAIT)
    p.locator("#message", has_text="P2 is now drop").wait_for(timeout=WAIT)
    time.sleep(0.5)
    assert p.inner_text("#message") == "P2 is now drop"  # and no word of a point that is not there any more
    assert page.look()["state"] == "ready"
    renamed = JOB.replace("P2", "drop") + "MOVEJ drop SPEED 20%\n"
    assert (tmp_path / "jobs" / "pendant.job").read_text(encoding="utf-8") == renamed
    p.wait_for_function("text => document.getElementById('text').value === text", arg=renamed, timeout=WAIT)
    row(page, "P1").get_by_title("Delete").click()
    assert row(page, "P1").count() == 1  # once is a question
    page.shot("points-delete-asks")
    row(page, "P1").get_by_title("Delete").click()
    row(page, "P1").wait_for(state="detached", timeout=WAIT)
    page.shot("points-renamed-and-deleted")
    text = file.read_text(encoding="utf-8")
    assert ("drop" in text, "P1" in text, "P2" in text, "table" in text) == (True, False, False, True)
    assert page.errors == []


def test_disk_that_takes_no_more_is_said_in_one_line(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    """A limit of the size of files stands for a full disk: it is refused where a full disk refuses, at the write."""
    page = powered(Page(chromium, served.url))
    p, folder = page.page, tmp_path / "jobs"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for pid in (served.cell_pid, served.process.pid):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
    p.click("[data-tab=points]")
    p.fill("#point-name", "P9")
    p.click("#record")
    p.locator("#message.bad", has_text="cannot be written").wait_for(timeout=WAIT)
    assert p.inner_text("#message") == "pendant.points.yaml: cannot be written: File too large"
    page.shot("points-disk-full")
    p.click("[data-tab=job]")
    p.wait_for_function("() => document.getElementById('text').value.length > 0", timeout=WAIT)
    p.fill("#text", JOB + "WAIT 1 s\n")
    p.evaluate("document.getElementById('message').textContent = ''")
    p.click("#save")
    p.locator("#message.bad", has_text="cannot be written").wait_for(timeout=WAIT)
    assert p.inner_text("#message") == "pendant.job: cannot be written: File too large"
    page.shot("job-disk-full")
    assert p.input_value("#text").endswith("WAIT 1 s\n")  # what was typed is still there
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for pid in (served.cell_pid, served.process.pid):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    p.click("#save")
    p.locator("#message", has_text="saved pendant.job").wait_for(timeout=WAIT)
    assert (folder / "pendant.job").read_text(encoding="utf-8").endswith("WAIT 1 s\n")


def test_jog_along_a_user_frame_goes_its_way(served: RunningPendant, chromium: Any) -> None:
    page = powered(Page(chromium, served.url))
    p = page.page
    p.click("[data-tab=points]")
    hold(page, "[aria-label='go to P1']", "Math.abs(p.q[1] - 0.698132) < 1e-4")
    p.click("[data-tab=jog]")
    p.click("[data-frame=user]")
    p.select_option("#user-frame", "table")
    x, y = page.look()["tool"][:2]
    hold(page, "[aria-label='x plus']", f"p.tool[1] > {y + 0.03}")  # the frame is turned by 90 deg
    assert abs(page.look()["tool"][0] - x) < 1e-3
    page.shot("jog-user-frame")


def test_frames_are_shown_as_they_are_jogged_and_chosen(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    """The list of user frames has the base where there is no other; the control menu follows the frame."""
    file = tmp_path / "jobs" / "pendant.points.yaml"
    file.write_text(POINTS.replace("frames:\n  table: {yaw: 90 deg}\n", ""), encoding="utf-8")
    page = powered(Page(chromium, served.url))
    p = page.page
    for frame, menu in (("base", 2), ("joint", 1), ("tool", 2), ("user", 2)):
        p.click(f"[data-frame={frame}]")
        page.until(f"p.menu == {menu}")
        p.locator(f"#menu [data-menu='{menu}'].on").wait_for(timeout=WAIT)
        assert p.locator("#menu .on").count() == 1
    assert p.input_value("#user-frame") == "base"
    p.click("[data-tab=points]")
    hold(page, "[aria-label='go to P1']", "Math.abs(p.q[1] - 0.698132) < 1e-4")
    p.click("[data-tab=jog]")
    x = page.look()["tool"][0]
    hold(page, "[aria-label='x minus']", f"p.tool[0] < {x - 0.02}")


WIDE = """ids => ids.map(id => { const e = document.querySelector(id), r = document.createRange();
  r.selectNodeContents(e); return [e.scrollWidth <= e.clientWidth, r.getClientRects().length]; })"""


def test_words_of_the_page_have_room(served: RunningPendant, chromium: Any) -> None:
    page = powered(Page(chromium, served.url))
    p = page.page
    p.set_viewport_size({"width": 1024, "height": 768})
    p.click("[data-tab=scope]")
    page.until("document.querySelectorAll('#legend span').length == 2", 60.0)
    p.set_viewport_size({"width": 1024, "height": 900})
    time.sleep(0.5)
    p.set_viewport_size({"width": 1024, "height": 768})  # the picture gives way again
    time.sleep(0.5)
    tab = "document.getElementById('tab-scope')"
    assert p.evaluate(f"{tab}.scrollHeight <= {tab}.clientHeight")
    for k in range(3, 9):
        p.select_option("#signal", index=k)
        p.click("#add-signal")
    page.until("document.querySelectorAll('#legend span').length == 8", 60.0)
    legend, plot = p.evaluate(
        "[document.getElementById('legend').lastChild.getBoundingClientRect().bottom,"
        " document.getElementById('plot').getBoundingClientRect().top]"
    )
    assert legend <= plot
    p.set_viewport_size({"width": 1440, "height": 900})
    assert p.evaluate(WIDE, ["#title"]) == [[True, 1]]
    p.click("[data-tab=job]")
    p.wait_for_function("() => document.getElementById('text').value.length > 0", timeout=WAIT)
    p.fill("#text", "MOVEJ P1 SPEED 50%\n")
    p.click("#preview")
    p.locator("#plan .bars div").first.wait_for(timeout=WAIT)
    p.evaluate("document.querySelector('#plan .bars div').firstChild.data = 'shoulder 96 %'")
    assert p.evaluate(WIDE, ["#plan .bars div"])[0][1] <= 2  # its words and its bar
    for width in (1440, 1024, 870, 600, 420):
        p.set_viewport_size({"width": width, "height": 900})
        assert p.evaluate("document.querySelector('header').scrollWidth") <= width  # the stop is within reach
    tool, views = (p.locator(name).bounding_box() for name in ("#tool", ".views"))
    assert tool["x"] + tool["width"] <= views["x"]


def test_inputs_are_switched_and_outputs_shown(served: RunningPendant, chromium: Any) -> None:
    page = powered(Page(chromium, served.url))
    p = page.page
    p.click("[data-mode=AUT]")
    page.until("p.mode == 'AUT'")
    p.click("[data-tab=job]")
    p.wait_for_function("() => document.getElementById('text').value.length > 0", timeout=WAIT)
    p.click("#run")
    job_until(page, "p.state == 'running' && p.line == 4", "job")
    p.click("[data-tab=io]")
    assert page.look()["out"][:2] == [True, False]
    page.shot("io-waits-for-input")
    p.locator("#inputs button", has_text="IN3").click()
    job_until(page, "p.in[2] && p.out[1]", "io")
    p.locator("#outputs .lit", has_text="OUT2").wait_for(timeout=WAIT)
    page.shot("io-input-came")
    p.locator("#inputs button", has_text="IN3").click()
    page.until("!p.in[2]", 60.0)


def test_scope_triggers_measures_and_exports(served: RunningPendant, chromium: Any, tmp_path: Path) -> None:
    page = powered(Page(chromium, served.url))
    p = page.page
    p.click("[data-mode=AUT]")
    page.until("p.mode == 'AUT'")
    p.click("[data-tab=scope]")
    page.until("document.querySelectorAll('#legend span').length == 2", 60.0)
    p.select_option("#trigger", "falling")
    p.fill("#level", "5")
    p.select_option("#window", "2")
    p.click("[data-tab=job]")
    p.wait_for_function("() => document.getElementById('text').value.length > 0", timeout=WAIT)
    p.click("#run")
    page.until("p.state == 'running'", 60.0)
    p.click("[data-tab=scope]")
    job_until(page, "p.line == 4", "scope")  # from P1 at 10 deg to P2 at -10 deg
    time.sleep(2.5)  # three quarters of the window come after the crossing
    p.click("#freeze")
    box = p.locator("#plot").bounding_box()
    p.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 50)
    p.mouse.down()
    p.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 50)
    p.mouse.up()
    assert "\u0394t" in p.inner_text("#cursors")
    assert [text.strip() for text in p.locator("#legend small").all_inner_texts()] == ["5 deg/div"] * 2
    page.shot("scope-triggered")
    with p.expect_download(timeout=WAIT) as download:
        p.click("#export")
    download.value.save_as(tmp_path / "scope.csv")
    with (tmp_path / "scope.csv").open(encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head[0] == "time [s]"
    assert len(rows) > 50
    times = [float(r[0]) for r in rows]
    assert max(len(r[0]) for r in rows) <= len("1000.001")  # 0.001, not 0.0010000000000000009
    assert times == sorted(times)
    first = [float(r[1]) for r in rows]
    assert max(first) > 5.0 > min(first)  # the crossing is in it


def test_pages_that_watch_show_the_job_and_have_its_keys_off(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    page = powered(Page(chromium, served.url))
    page.until("p.job == 'pendant.job'", 60.0)
    viewer, second = (Page(chromium, url, context=page.context) for url in (served.viewer_url, served.url))
    for other in (viewer, second):
        other.page.click("[data-tab=job]")
        other.page.wait_for_function(
            "t => document.getElementById('text').value === t", arg=JOB, timeout=WAIT
        )
        assert other.page.input_value("#jobs") == "pendant.job"
        assert other.page.locator("#tab-job button:enabled, #jobs:enabled").count() == 0
        assert not other.page.locator("#text").is_editable()
        assert other.page.inner_text("#problems") == ""
    viewer.shot("viewer-job")
    viewer.page.click("#power")
    viewer.page.locator("#message.bad").wait_for(timeout=WAIT)
    assert viewer.page.inner_text("#message") == "this page only views"
    second.page.click("#take")
    second.page.locator("#problems", has_text="no mistakes found").wait_for(timeout=WAIT)
    assert second.page.locator("#text").is_editable()
    assert second.page.locator("#tab-job button:disabled").count() == 0
    page.page.locator("#run:disabled").wait_for(state="attached", timeout=WAIT)
    assert page.errors == viewer.errors == second.errors == []


SPANS = (
    *((13.19999, 13.20001), (-1e-6, 1e-6), (-1.0, 1.0), (0.0, 5e4), (300.0, 320.0)),
    *((-2e-5, 3e-4), (-3e7, 1e7), (1e4, 1.0001e4)),
)


SCOPE = "import(new URL('files/scope.js', location).href)"


def test_lines_of_the_scope_have_round_labels_that_differ(served: RunningPendant, chromium: Any) -> None:
    """A signal that hardly moves is drawn large: its lines must not all be called 13.20."""
    page = Page(chromium, served.url, context=chromium.new_context(bypass_csp=True))
    for low, high in (*SPANS, (0.025, 0.025), (0.0, 0.0), (139.0, 139.2)):
        axis, labels = page.page.evaluate(
            f"([low, high]) => {SCOPE}.then(m => {{ const a = m.roundAxis(low, high);"
            " return [a, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(k => m.lineLabel(a.low + k * a.step, a.step))]; })",
            [low, high],
        )
        values = [axis["low"] + axis["step"] * k for k in range(9)]
        assert values[0] <= low <= high <= values[-1]
        assert f"{axis['step']:e}"[0] in "125"
        assert high - low < 3e-5 * max(1.0, abs(high)) or high - low > 0.35 * (values[-1] - values[0])
        assert all(len(label) <= 10 for label in labels), labels
        assert [float(label) for label in labels] == pytest.approx(values, abs=0.01 * axis["step"])
    page.context.close()


def test_each_unit_of_the_scope_has_a_scale_of_its_own(served: RunningPendant, chromium: Any) -> None:
    """139 mm and 0.025 V on one scale would be two lines without shape."""
    page = Page(chromium, served.url, context=chromium.new_context(bypass_csp=True))
    signals = [[0.0, 139.0, 60.0], [0.0, 0.01, 0.025], [-20.0, 0.0, 5.0]]
    axes = page.page.evaluate(
        f"values => {SCOPE}.then(m => Object.fromEntries(m.axesOf(['mm', 'V', 'mm'], values, 0, 3)))", signals
    )
    assert {unit: axis["step"] for unit, axis in axes.items()} == {"mm": 20.0, "V": 0.005}
    units = [
        ["A speed", "rad/s", "joints"],
        ["A motor speed", "rad/s", "motors"],
        ["A motor current", "A", "motors"],
    ]
    scales = page.page.evaluate(f"signals => {SCOPE}.then(m => signals.map(s => m.scaleOfSignal(s)))", units)
    assert [scale[1] for scale in scales] == ["deg/s", "rpm", "A"]
    assert scales[1][0] == pytest.approx(60.0 / (2.0 * 3.14159265))
    lost = f"() => {SCOPE}.then(m => m.axesOf(['A'], [[NaN, Infinity, 7, -1e99, 0]], 0, 5).get('A'))"
    assert page.page.evaluate(lost) == {"low": 0.0, "step": 1.0}
    page.context.close()


def test_fingers_hold_a_jog_and_let_it_go(served: RunningPendant, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 1180, "height": 820}, has_touch=True)
    page = powered(Page(chromium, served.url, context=context))
    p, session = page.page, context.new_cdp_session(page.page)
    boxes = [p.locator(label).bounding_box() for label in ("#enabling", "[aria-label='A plus']")]
    fingers = [
        {"x": b["x"] + b["width"] / 2, "y": b["y"] + b["height"] / 2, "id": k} for k, b in enumerate(boxes)
    ]

    def touch(kind: str, *down: dict[str, Any]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(down)})

    def jogging() -> None:
        for _ in range(10):
            touch("touchStart", fingers[0])
            touch("touchStart", *fingers)
            try:
                page.until("p.state == 'jogging' && p.speed > 0.02", 3.0)
                return
            except TimeoutError:  # the lease ran out on a busy machine
                touch("touchEnd")
        raise AssertionError(page.look())

    for way in ("key", "switch", "cancel"):
        jogging()
        page.shot(f"touch-{way}")
        if way == "cancel":  # a notification, a call: the system takes the fingers away
            touch("touchCancel")
        else:
            touch("touchEnd", fingers[0] if way == "key" else fingers[1])
        page.until("p.state == 'ready' && p.speed == 0", 60.0)
        if way != "cancel":
            touch("touchEnd")
        page.until("p.switch == 0 && !window.pendant.held.hold", 60.0)
    assert page.errors == []
