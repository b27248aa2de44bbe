"""The job editor when answers come late: the job that was chosen last stands there, and nothing typed is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pendant_browser import CHROMIUM, Page, RunningPendant, browser, running

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
WAIT = 60_000  # ms
LATE = 1.0  # s
POINTS = """format: servotwin-points/1
robot: gsis-scara
points:
  P1: {joints: {A: 10 deg, B: 40 deg, Z: 20 mm, W: 0 deg}}
"""
FIRST, SECOND = "MOVEJ P1 SPEED 50%\n", "WAIT 1 s\nWAIT 2 s\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RunningPendant]:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "pendant.points.yaml").write_text(POINTS, encoding="utf-8")
    (jobs / "pendant.job").write_text(FIRST, encoding="utf-8")
    (jobs / "second.job").write_text(SECOND, encoding="utf-8")
    with running("gsis-scara", tmp_path) as found:
        yield found
        assert found.close() == ""


@pytest.fixture
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


class Desk:
    """Holds the answers to chosen questions of a page back for a while, and counts them."""

    def __init__(self, chromium: Any) -> None:
        self.context = chromium.new_context(viewport={"width": 1440, "height": 900})
        self.late: set[tuple[str, str | None]] = set()
        self.held: list[tuple[str, str | None]] = []
        self.context.route("**/desk", self.answer)

    def answer(self, route: Any) -> None:
        asked = route.request.post_data_json
        what = (asked["do"], asked.get("name"))
        if what not in self.late:
            route.continue_()
            return
        self.late.discard(what)
        answer = route.fetch()
        end = time.monotonic() + LATE
        page = route.request.frame.page
        while time.monotonic() < end:
            page.wait_for_timeout(20)
        self.held.append(what)
        route.fulfill(response=answer)


def text(page: Page) -> str:
    return str(page.page.evaluate("document.getElementById('text').value"))


def choose(page: Page, name: str) -> None:
    page.page.evaluate(
        "name => { const e = document.getElementById('jobs'); e.value = name; e.dispatchEvent(new Event('change')); }",
        name,
    )


def opened(page: Page, content: str) -> None:
    page.page.wait_for_function(
        "content => document.getElementById('text').value === content", arg=content, timeout=WAIT
    )


def offered(page: Page, name: str) -> None:
    page.page.wait_for_function(
        "name => [...document.querySelectorAll('#jobs option')].some(e => e.value === name)",
        arg=name,
        timeout=WAIT,
    )


def test_job_chosen_last_is_shown_though_an_earlier_one_answers_later(
    served: RunningPendant, chromium: Any
) -> None:
    desk = Desk(chromium)
    desk.late.add(("read", "pendant.job"))
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    offered(page, "second.job")
    assert page.page.evaluate("document.getElementById('text').readOnly")  # nothing is open yet
    choose(page, "second.job")
    opened(page, SECOND)
    while not desk.held:
        page.page.wait_for_timeout(20)
    page.page.wait_for_timeout(300)
    assert (text(page), page.page.input_value("#jobs")) == (SECOND, "second.job")
    assert desk.held == [("read", "pendant.job")]
    assert page.errors == []


def test_what_is_typed_while_another_job_opens_is_saved_first(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    desk, jobs = Desk(chromium), tmp_path / "jobs"
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    offered(page, "second.job")
    desk.late.add(("read", "second.job"))
    choose(page, "second.job")
    page.page.locator("#text").focus()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type("WAIT 3 s\n")
    opened(page, SECOND)
    assert (jobs / "pendant.job").read_text(encoding="utf-8") == FIRST + "WAIT 3 s\n"
    assert (jobs / "second.job").read_text(encoding="utf-8") == SECOND
    page.page.keyboard.type("# unsaved")
    page.page.click("#new-job")
    opened(page, "")
    assert "# unsaved" in (jobs / "second.job").read_text(encoding="utf-8")
    assert page.page.input_value("#jobs") == "job-1.job"
    assert page.errors == []


def test_typing_on_while_a_save_is_under_way_leaves_the_rest_to_be_saved(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    desk, file = Desk(chromium), tmp_path / "jobs" / "pendant.job"
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    page.page.locator("#text").focus()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type("WAIT 3 s\n")
    desk.late.add(("save", "pendant.job"))
    page.page.evaluate(
        "() => { const e = document.getElementById('text');"
        " e.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true })); setTimeout(() => {"
        " e.value += 'WAIT 4 s\\n'; e.dispatchEvent(new Event('input')); }, 300); }"
    )
    while not desk.held:
        page.page.wait_for_timeout(20)
    choose(page, "second.job")
    opened(page, SECOND)
    assert file.read_text(encoding="utf-8") == FIRST + "WAIT 3 s\nWAIT 4 s\n"


def test_point_that_is_renamed_is_renamed_in_the_text_that_is_shown(
    served: RunningPendant, chromium: Any
) -> None:
    page = Page(chromium, served.url)
    opened(page, FIRST)
    p = page.page
    p.click("[data-tab=points]")
    p.locator("#points").get_by_text("Rename").click(timeout=WAIT)
    p.locator("#points input").fill("drop")
    p.locator("#points input").press("Enter")
    opened(page, "MOVEJ drop SPEED 50%\n")
    assert page.errors == []


def answered(page: Page, desk: Desk) -> None:
    """Until the answer that was held back is on the page."""
    while not desk.held:
        page.page.wait_for_timeout(20)
    page.page.wait_for_timeout(300)


def test_job_loaded_into_the_cell_is_the_one_chosen_last(served: RunningPendant, chromium: Any) -> None:
    desk = Desk(chromium)
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    page.until("p.job === 'pendant.job'")
    desk.late.add(("jobs", None))  # asked between the text and the points of the second one
    choose(page, "second.job")
    opened(page, SECOND)
    choose(page, "pendant.job")
    opened(page, FIRST)
    answered(page, desk)
    assert page.look()["job"] == "pendant.job"
    assert page.errors == []


def test_job_is_not_started_while_another_one_opens(served: RunningPendant, chromium: Any) -> None:
    desk = Desk(chromium)
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    desk.late.add(("read", "second.job"))
    choose(page, "second.job")
    page.page.click("#run")
    page.page.locator("#message.bad", has_text="second.job is not open yet").wait_for(timeout=WAIT)
    opened(page, SECOND)


def test_stop_before_the_job_is_loaded_keeps_it_from_starting(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    desk = Desk(chromium)
    page = Page(chromium, served.url, context=desk.context)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    for key, words in (("[data-mode=AUT]", "p.mode === 'AUT'"), ("#power", "p.state === 'ready'")):
        page.page.click(key)
        page.until(words)
    page.page.locator("#text").focus()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type("WAIT 3 s\n")
    desk.late.add(("save", "pendant.job"))
    page.page.click("#run")
    page.page.click("#stop")
    answered(page, desk)
    page.page.wait_for_timeout(1000)
    assert page.look()["state"] == "ready"
    page.page.click("#run")
    page.until("p.state !== 'ready'")  # paused, where the machine is too busy for the page
    assert page.errors == []


def test_page_that_operates_again_starts_what_it_shows(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    first, second = Page(chromium, served.url), Page(chromium, served.url)
    for page in (first, second):
        page.page.click("[data-tab=job]")
    opened(first, FIRST)
    opened(second, FIRST)  # to be read
    second.page.click("#take")
    offered(second, "second.job")
    choose(second, "second.job")
    opened(second, SECOND)
    second.until("p.job === 'second.job'")
    (tmp_path / "jobs" / "pendant.job").write_text("WAIT 3 s\n", encoding="utf-8")
    first.page.click("#take")
    opened(first, "WAIT 3 s\n")  # as its file is now
    for key, words in (("[data-mode=AUT]", "p.mode === 'AUT'"), ("#power", "p.state === 'ready'")):
        first.page.click(key)
        first.until(words)
    first.page.click("#run")
    first.until("p.state === 'running'")
    assert first.look()["job"] == "pendant.job"
    assert (first.errors, second.errors) == ([], [])


def test_old_answer_takes_nothing_back_that_was_saved_since(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    desk = Desk(chromium)
    page = Page(chromium, served.url, context=desk.context)
    p = page.page
    opened(page, FIRST)
    page.until("p.job === 'pendant.job'")
    p.wait_for_timeout(500)
    desk.late.add(("read", "pendant.job"))
    p.click("[data-tab=points]")
    p.locator("#points").get_by_title("Delete").click(timeout=WAIT)
    p.locator("#points").get_by_title("Delete").click()
    p.click("[data-tab=job]")
    p.locator("#text").focus()
    p.keyboard.press("Control+End")
    p.wait_for_function("() => document.querySelectorAll('#points tr').length === 0", timeout=WAIT)
    p.keyboard.type("WAIT 3 s\n")
    p.keyboard.press("Control+s")
    answered(page, desk)
    assert text(page) == FIRST + "WAIT 3 s\n"
    assert (tmp_path / "jobs" / "pendant.job").read_text(encoding="utf-8") == FIRST + "WAIT 3 s\n"


def test_new_job_has_the_name_of_none_that_was_made_elsewhere(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    page = Page(chromium, served.url)
    page.page.click("[data-tab=job]")
    opened(page, FIRST)
    offered(page, "second.job")
    (tmp_path / "jobs" / "job-1.job").write_text("WAIT 9 s\n", encoding="utf-8")
    page.page.click("#new-job")
    opened(page, "")
    assert page.page.input_value("#jobs") == "job-2.job"


def test_job_that_could_not_be_read_is_read_when_the_page_is_connected_again(
    served: RunningPendant, chromium: Any
) -> None:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    context.route("**/desk", lambda route: route.abort())
    page = Page(chromium, served.url, context=context)
    page.page.locator("#message.bad", has_text="no connection to the server").wait_for(timeout=WAIT)
    assert page.page.evaluate("document.getElementById('text').readOnly")
    context.unroute("**/desk")
    for offline in (True, False):
        context.set_offline(offline)
        page.page.wait_for_timeout(100)
    opened(page, FIRST)
    assert not page.page.evaluate("document.getElementById('text').readOnly")


def type_at_end(page: Page, words: str) -> None:
    page.page.locator("#text").focus()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type(words)


def says(page: Page, words: str) -> None:
    page.page.wait_for_function(
        "words => document.getElementById('message').textContent.includes(words)", arg=words, timeout=WAIT
    )


def test_text_that_was_not_saved_is_back_after_the_tab_is_loaded_again(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    page, file = Page(chromium, served.url), tmp_path / "jobs" / "second.job"
    page.page.click("[data-tab=job]")
    offered(page, "second.job")
    choose(page, "second.job")
    opened(page, SECOND)
    type_at_end(page, "WAIT 3 s\n")
    page.page.reload()
    opened(page, SECOND + "WAIT 3 s\n")
    assert page.page.input_value("#jobs") == "second.job"
    assert file.read_text(encoding="utf-8") == SECOND
    page.page.click("[data-tab=job]")
    page.page.click("#save")
    says(page, "saved second.job")
    assert file.read_text(encoding="utf-8") == SECOND + "WAIT 3 s\n"
    page.page.reload()
    opened(page, FIRST)  # nothing is left to bring back
    assert page.errors == []


def test_what_another_page_has_saved_meanwhile_is_kept(
    served: RunningPendant, chromium: Any, tmp_path: Path
) -> None:
    jobs = tmp_path / "jobs"
    first = Page(chromium, served.url)
    first.page.click("[data-tab=job]")
    opened(first, FIRST)
    type_at_end(first, "# first\n")
    second = Page(chromium, served.url)
    second.page.click("#take")
    second.page.click("[data-tab=job]")
    opened(second, FIRST)
    type_at_end(second, "# second\n")
    second.page.click("#save")
    says(second, "saved pendant.job")
    first.page.click("#take")
    first.page.wait_for_function("() => window.pendant.seat.role === 'operator'", timeout=WAIT)
    first.page.click("#save")
    says(first, "pendant-before-1.job")
    assert (jobs / "pendant.job").read_text(encoding="utf-8") == FIRST + "# first\n"
    assert (jobs / "pendant-before-1.job").read_text(encoding="utf-8") == FIRST + "# second\n"
    first.page.click("#save")  # of what it has saved itself nothing is kept
    offered(first, "pendant-before-1.job")
    assert sorted(path.name for path in jobs.glob("*.job")) == [
        "pendant-before-1.job",
        "pendant.job",
        "second.job",
    ]
    assert (first.errors, second.errors) == ([], [])
