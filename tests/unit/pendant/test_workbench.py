"""Jobs as one writes them: previews that are given up, and those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import servotwin as st
from pendant_browser import CHROMIUM, Page, browser, running
from servotwin.errors import InputError
from servotwin.pendant.cell.setup import CellSettings
from servotwin.pendant.page import workbench
from servotwin.pendant.page.workbench import Workbench

POINTS = """format: servotwin-points/1
robot: gsis-scara
points:
  P1: {joints: {A: 0.3 rad, B: 0.1 rad, Z: 50 mm, W: 0 rad}}
  P2: {joints: {A: 0.3 rad, B: 0.7 rad, Z: 50 mm, W: 0 rad}}
"""
JOB = "MOVEJ P1 SPEED 60%\nMOVEJ P2 SPEED 60%\n"


def bench(folder: Path) -> Workbench:
    (folder / "pendant.points.yaml").write_text(POINTS, encoding="utf-8")
    return Workbench(CellSettings("gsis-scara", "ideal", str(folder)), st.load_robot("gsis-scara"))


def clock(monkeypatch: pytest.MonkeyPatch, *steps: float) -> None:
    """A clock of the workbench that goes on by these steps [s], the last one again and again."""

    def times() -> Iterator[float]:
        now, k = 0.0, 0
        while True:
            yield now
            now, k = now + steps[min(k, len(steps) - 1)], k + 1

    told = times()
    monkeypatch.setattr("servotwin.pendant.page.workbench.time.monotonic", lambda: next(told))


def test_what_is_compiled_on_the_way_does_not_use_up_the_patience(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patched:
        clock(patched, 90.0, 40.0, 1e-3)
        patience = workbench._Patience()
        for _ in range(1000):
            patience.look(0.0, 300.0)
        assert patience.spent < 2.1
    plan = bench(tmp_path).preview("pendant.job", JOB, [0.0] * 4)
    assert plan["finished"]
    assert plan["motions"] == 2


def test_a_preview_that_plans_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock(monkeypatch, 0.3)
    patience = workbench._Patience()
    for _ in range(66):
        patience.look(7.0, 300.0)
    with pytest.raises(InputError, match="given up at 7 s of the job"):
        patience.look(7.0, 300.0)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_plan_and_layout_of_a_text_that_is_no_more_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    bench(tmp_path / "jobs")
    with running("gsis-scara", tmp_path) as served, browser() as chromium:
        page = Page(chromium, served.url)
        p = page.page
        waiting: list[object] = []
        p.route("**/desk", lambda route: late(route, waiting))
        p.click("[data-tab=job]")
        p.fill("#text", JOB.lower())
        p.click("#preview")
        p.click("#layout")
        p.wait_for_timeout(500)
        assert len(waiting) == 2
        p.fill("#text", JOB + "WAIT 1 s\n")
        for route in waiting:
            route.continue_()  # type: ignore[attr-defined]
        waiting.clear()
        p.locator("#problems .good").wait_for(timeout=60_000)
        p.wait_for_timeout(1500)
        assert p.inner_text("#plan") == ""
        assert p.input_value("#text") == JOB + "WAIT 1 s\n"
        p.unroute("**/desk")
        p.click("#preview")
        p.locator("#plan", has_text="2 motions").wait_for(timeout=120_000)
        assert page.errors == []


def late(route: object, waiting: list[object]) -> None:
    """Keep a preview or a layout back; let the rest through."""
    work = route.request.post_data_json["do"]  # type: ignore[attr-defined]
    waiting.append(route) if work in ("preview", "layout") else route.continue_()  # type: ignore[attr-defined]


CALLED = 'MOVEJ P1 SPEED 60%\nCALL "inner.job"\n'


def test_preview_and_check_follow_called_files_as_the_player_does(tmp_path: Path) -> None:
    own = bench(tmp_path)
    (tmp_path / "inner.points.yaml").write_text(POINTS, encoding="utf-8")
    (tmp_path / "inner.job").write_text("MOVEJ P2 SPEED 60%\n", encoding="utf-8")
    (tmp_path / "pendant.job").write_text("an older text", encoding="utf-8")  # the page's text counts
    assert own.check("pendant.job", CALLED) == []
    plan = own.preview("pendant.job", CALLED, [0.0] * 4)
    assert (plan["finished"], plan["motions"]) == (True, 2)
    (tmp_path / "inner.job").write_text("WAIT 1 s\nMOVEJ P9 SPEED 60%\n", encoding="utf-8")
    (found,) = own.check("pendant.job", CALLED)
    assert (found["line"], found["column"], found["error"]) == (2, 6, True)
    assert found["text"].startswith("inner.job:2: ")
    (tmp_path / "inner.job").write_text("MOVEJ\n", encoding="utf-8")
    (found,) = own.check("pendant.job", CALLED)
    assert (found["line"], found["error"]) == (2, True)
    assert found["text"].startswith("inner.job:1: ")
    (tmp_path / "inner.job").unlink()
    (found,) = own.check("pendant.job", CALLED)
    assert (found["line"], found["column"], found["error"]) == (2, 6, True)
    assert "no such file 'inner.job'" in found["text"]


def test_pages_see_neither_the_folder_nor_options_of_the_command(tmp_path: Path) -> None:
    own = bench(tmp_path)
    (tmp_path.parent / "outer.job").write_text("WAIT 1 s\n", encoding="utf-8")
    (tmp_path / "pendant.points.yaml").unlink()
    found = [
        *own.check("pendant.job", 'CALL "../outer.job"\n'),
        *own.check("pendant.job", "MOVEJ P1 SPEED 60%\n"),
        *own.check("pendant.job", "WAIT 1 s\nMOVE\n"),
    ]
    assert len(found) >= 3
    for problem in found:
        assert str(tmp_path.parent) not in problem["text"], problem
        assert "--" not in problem["text"]
    assert "leads out of the folder" in found[0]["text"]


def test_links_that_lead_outward_are_not_listed(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    own = bench(folder)
    (tmp_path / "outer.job").write_text("WAIT 1 s\n", encoding="utf-8")
    (folder / "link.job").symlink_to(tmp_path / "outer.job")
    own.save("own.job", "WAIT 1 s\n")
    assert own.jobs() == ["own.job"]


def test_text_of_a_job_has_the_line_ends_that_a_page_shows(tmp_path: Path) -> None:
    own = bench(tmp_path)
    (tmp_path / "own.job").write_bytes(b"WAIT 1 s\r\nWAIT 2 s\rWAIT 3 s\n")
    assert own.read("own.job") == "WAIT 1 s\nWAIT 2 s\nWAIT 3 s\n"  # else it counts as changed for ever
