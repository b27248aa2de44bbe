"""What an operator does, in a real browser: from power on to a job on simulated drives, and the emergency stop."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pendant_browser import CHROMIUM, Page, browser, running

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


def jog(page: Page, label: str, moved: str, seconds: float = 15.0) -> None:
    """Hold a jog key until something is true of the picture; the switch is taken again if a busy machine lost it."""
    end = time.monotonic() + seconds
    while True:
        page.enable()
        page.down(label)
        try:
            page.until(moved, 3.0)
            return
        except TimeoutError:
            assert time.monotonic() < end, page.look()
        finally:
            page.up()
            page.let_go()


def record(page: Page, name: str) -> None:
    page.page.click("[data-tab=points]")
    page.page.fill("#point-name", name)
    page.page.click("#record")
    page.page.locator("#points tr", has_text=name).wait_for(timeout=10_000)
    page.page.click("[data-tab=jog]")


def formatted(page: Page, first: str) -> None:
    """Wait until the formatter has put the text in order."""
    end = time.monotonic() + 15.0
    while not page.page.input_value("#text").startswith(first):
        assert time.monotonic() < end, page.page.input_value("#text")
        time.sleep(0.05)


def test_operator_teaches_three_points_and_runs_a_job_on_simulated_drives(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path, "--plant", "drives") as served, browser() as chromium:
        page = Page(chromium, served.url)
        p = page.page
        assert "no safety functions" in p.inner_text(".notice")
        assert "no emergency stop" in p.inner_text(".notice")
        page.until("p.state == 'disabled'")
        page.shot("1-start")
        p.click("#power")
        page.until("p.state == 'ready'")

        # without the enabling switch nothing moves
        page.down("[aria-label='A plus']")
        time.sleep(0.5)
        page.up()
        assert abs(page.look()["q"][0]) < 1e-4

        jog(page, "[aria-label='A plus']", "p.q[0] > 0.25")
        page.shot("2-jogged")
        record(page, "P1")
        jog(page, "[aria-label='B plus']", "p.q[1] > 0.6")
        record(page, "P2")
        p.click("[data-frame=tool]")
        before = page.look()["tool"]
        jog(
            page,
            "[aria-label='x plus']",
            f"Math.hypot(p.tool[0] - {before[0]}, p.tool[1] - {before[1]}) > 0.05",
        )
        record(page, "P3")

        p.click("[data-tab=job]")
        p.fill(
            "#text",
            "MOVEJ P1 SPEED 60%\nMOVEJ P2 SPED 60%\nMOVEL P3 SPEED 100 mm/s\nWAIT 3 s\nMOVEJ P1 SPEED 40%\n",
        )
        p.locator("#problems div", has_text="line 2").wait_for(timeout=15_000)
        assert p.locator("#gutter b").inner_text() == "2"
        page.shot("3-mistake")
        p.fill(
            "#text",
            "movej P1 speed 60%\nMOVEJ P2 SPEED 60%\nMOVEL P3 SPEED 100 mm/s\nWAIT 3 s\nMOVEJ P1 SPEED 40%\n",
        )
        p.locator("#problems .good").wait_for(timeout=15_000)
        p.click("#layout")
        formatted(page, "MOVEJ P1 SPEED 60%")
        p.click("#preview")
        p.locator("#plan", has_text="motions").wait_for(timeout=60_000)
        page.shot("4-preview")

        p.click("[data-mode=AUT]")
        page.until("p.mode == 'AUT'")
        p.click("#run")
        page.until("p.state == 'running' && p.line >= 2", 30.0)
        p.click("#pause")
        page.until("p.state == 'paused'")
        page.shot("5-paused")
        p.click("#run")
        page.until("p.state == 'running' || p.finished")
        page.until("p.line == 4", 30.0)
        p.click("#pause")  # in the wait behind the third point
        page.until("p.state == 'paused'")
        stood = page.look()["tool"]
        p.click("#back")  # to the second
        page.until(
            f"p.state == 'paused' && Math.hypot(p.tool[0] - {stood[0]}, p.tool[1] - {stood[1]}) > 0.03"
        )
        p.click("#run")
        page.until("p.finished && p.state == 'ready'", 40.0)

        p.click("#run")
        page.until("p.state == 'running'")
        p.locator("#estop").dispatch_event("pointerdown")
        page.until("p.state == 'emergency' && !p.powered")
        p.click("[data-tab=alarms]")
        page.shot("6-emergency-stop")
        p.click("#reset")
        page.until("p.state == 'disabled'")
        p.click("#power")
        page.until("p.state == 'ready'")
        assert page.errors == []
        assert sorted(path.name for path in (tmp_path / "jobs").iterdir()) == [
            "pendant.job",
            "pendant.points.yaml",
        ]
        assert served.close() == ""
