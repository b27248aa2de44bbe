"""Who waits for the compiler is told so."""

from __future__ import annotations

import io
import sys
import time

import numba
import pytest

from servotwin.cli import compiling, output, simulate


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let stderr be a terminal from now on."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return found


def compile_something() -> None:
    numba.njit(lambda x: x + 1.0)(1.0)


def test_compiler_is_seen_at_work_and_compiled_code_is_not() -> None:
    seen: list[bool] = []
    compiled = numba.njit(lambda x: x + 2.0)
    with compiling.watch_compiler(seen.append):
        compiled(1.0)
    assert (seen[0], seen[-1]) == (True, False)
    seen.clear()
    with compiling.watch_compiler(seen.append):
        compiled(1.0)
    assert seen == []


def test_progress_bar_says_compiling_until_the_first_part_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = watched(monkeypatch)
    with simulate.progress_bar("simulating [x]") as advance:
        compile_something()
        waiting = shown(terminal)
        advance(0.25)
        going_on = shown(terminal)
    assert "simulating [x]: compiling" in waiting
    assert "compiling" not in going_on
    assert "25%" in going_on


def shown(terminal: Terminal) -> str:
    """What is shown next."""
    terminal.truncate(0)
    time.sleep(0.5)  # the display is refreshed ten times a second
    return terminal.getvalue()


def test_planning_says_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    watched(monkeypatch)
    said: list[str] = []
    monkeypatch.setattr("rich.status.Status.update", lambda self, text: said.append(text))
    with output.working_or_compiling("planning"):
        compile_something()
    assert said[0].startswith("compiling")
    assert said[-1] == "planning ..."


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with simulate.progress_bar("simulating x") as advance, output.working_or_compiling("planning"):
        compile_something()
        advance(0.5)
    assert capsys.readouterr().err == ""
