"""Refusals of the console: what, why and which key, in the operator's words."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from servotwin.cli.console import make_session
from servotwin.cli.console_session import Session
from servotwin.cli.console_words import refused
from servotwin.control.main.states import INTERNAL, Event, Mode, State, refusal
from servotwin.jobs.program import SHIPPED

TICK = 8_000_000  # ns


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for name in ("scara-circle.job", "scara-circle.points.yaml"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    return make_session("gsis-scara", str(tmp_path / "scara-circle.job"), None, {})


def press(session: Session, *keys: str, wait: float = 0.05) -> str:
    for key in keys:
        session.key(key)
        for _ in range(round(wait * 1e9 / TICK)):
            session.tick(session.now_ns + TICK)
    return session.message


def test_no_refusal_shows_the_words_of_the_state_machine(session: Session) -> None:
    controller = session.controller
    seen = 0
    for state, mode, event in itertools.product(State, Mode, set(Event) - INTERNAL):
        reason = refusal(state, mode, event)
        if reason is None:
            continue
        controller.mode = mode
        text = refused(controller, event, state, reason, "joint")
        assert text.startswith(("cannot ", "nothing to ")), text
        assert "expected" not in text
        assert "'" not in text
        assert text.startswith("nothing to ") or "; press " in text or "; wait " in text or "; let " in text or (
            "; clear its cause" in text
        ), text  # what to do  # fmt: skip
        seen += 1
    assert seen > 100


def test_power_mode_and_job_are_asked_for_by_their_keys(session: Session) -> None:
    assert press(session, "1") == "cannot jog: the drives have no power; press p for power"
    press(session, "p", "m")
    assert press(session, "1") == "cannot jog in mode program; press m until the mode is teach"
    assert press(session, "g") == "cannot run the job in mode program; press m until the mode is play back"
    session.controller.program = None
    session._stale = False
    assert (
        press(session, "m", "g") == "cannot run the job: no job is loaded; press l and type the name of one"
    )
    assert press(session, " ") == ""  # a stop is taken while the arm stands under power
    assert press(session, "z") == "nothing to reset: there is no alarm"
    press(session, "esc")
    assert press(session, "p").startswith(
        "cannot switch the power on: the emergency stop took the power; press z"
    )


def test_steps_that_lead_nowhere_say_where_and_which_key_helps(session: Session) -> None:
    press(session, "p")
    said = press(session, "e")  # Z stands at its upper end
    assert said.startswith(
        "cannot jog: axis Z would stand at -1 mm, beyond its limits; allowed are 0 to 150 mm;"
    )
    assert "move 1" not in said
    said = press(session, "f", "1")  # the arm is stretched out
    assert "singular position" in said
    assert said.endswith("jog another way, or press f until it says joint")


def test_taken_name_is_answered_with_the_key_that_replaces(session: Session) -> None:
    assert press(session, "a", *"east", "enter", wait=0.0) == (
        "cannot record a point: point 'east' exists; take another name, or press A to replace it"
    )
