"""A job that goes on and on tells how far it is while it is planned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rich.console import Console

import servotwin as st
from servotwin.cli import live
from servotwin.cli.main import main
from servotwin.jobs.program import SHIPPED

FOREVER = "REPEAT FOREVER\n  MOVEJ ready\n  MOVEJ ready OFFSET 0 mm, 0 mm, 10 mm\nEND\n"


class Line(Console):
    """A console whose status line keeps what it was told."""

    told: ClassVar[list[str]] = []

    def status(self, text: str, **options: Any) -> Line:  # type: ignore[override]
        self.told.append(text)
        return self

    def update(self, text: str) -> None:
        self.told.append(text)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def endless(folder: Path) -> Path:
    points = (SHIPPED / "scara-pick-and-place.points.yaml").read_text(encoding="utf-8")
    (folder / "f.points.yaml").write_text(points, encoding="utf-8")
    (folder / "f.job").write_text(FOREVER, encoding="utf-8")
    return folder / "f.job"


@pytest.mark.parametrize("more", [[], ["--time-optimal"]])
def test_endless_job_tells_how_far_it_is(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.console.Console", Line)
    monkeypatch.setattr(live, "OFTEN", 0.0)
    monkeypatch.setattr(Line, "told", [])
    assert main(["job", "plan", str(endless(tmp_path)), "--time-limit", "5 s", *more]) != 0
    shown = [text for text in Line.told if text.startswith("planning: ") and "at most 5 s" in text]
    assert len(shown) > 3
    times = [float(text.split()[1]) for text in shown]
    assert times == sorted(times)
    assert times[-1] > 4.0


def test_check_says_which_job_it_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("servotwin.cli.output.Console", Line)
    monkeypatch.setattr(Line, "told", [])
    job = str(endless(tmp_path))
    assert main(["job", "check", job, "scara-line"]) == 0
    assert any("(1 of 2)" in text for text in Line.told)
    assert any("checking scara-line (2 of 2)" in text for text in Line.told)


def test_python_is_told_the_same(tmp_path: Path) -> None:
    seen: list[tuple[float, float]] = []
    settings = st.JobSettings(time_limit=3.0)
    plan = st.plan_job(endless(tmp_path), settings=settings, look=lambda *told: seen.append(told))
    assert plan.duration is None
    assert seen[-1] == (pytest.approx(3.0, abs=0.1), 3.0)
