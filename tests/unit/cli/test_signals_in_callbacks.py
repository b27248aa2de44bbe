"""A signal that arrives where Python discards exceptions ends the command all the same."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import weakref
from collections.abc import Callable

import pytest

from servotwin.cli import signals

WAIT = 20.0  # s, never waited for: the signal ends the loop


def busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def terminate() -> None:
    """SIGTERM arrives here, and the function goes on for a while."""
    os.kill(os.getpid(), signal.SIGTERM)
    busy(3 * signals.RETRY)


class Finalized:
    """An object in whose finalizer a signal arrives, twice as `timeout` sends it."""

    def __del__(self) -> None:
        terminate()
        terminate()


def in_finalizer() -> None:
    Finalized()


def in_callback_from_c() -> None:
    ctypes.CFUNCTYPE(None)(terminate)()


def in_weakref_callback() -> None:
    class Plain:
        pass

    plain = Plain()
    kept = weakref.ref(plain, lambda _: terminate())
    del plain
    assert kept() is None


def then_wait(*actions: Callable[[], object]) -> None:
    """Do something, then wait for the signal."""
    for action in actions:
        action()
    busy(WAIT)


PLACES = (in_finalizer, in_callback_from_c, in_weakref_callback)


@pytest.mark.parametrize("place", PLACES)
def test_signal_where_exceptions_are_discarded_ends_the_command(
    place: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ending = signals.Ending()
    alarm, report = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), signals.ending_signals(ending, last=False):
        then_wait(place)
    assert time.monotonic() - began < WAIT / 2
    assert ending.number == signal.SIGTERM
    assert "Exception ignored" not in capsys.readouterr().err
    assert signal.getsignal(signal.SIGALRM) is alarm
    assert sys.unraisablehook is report


def test_finalizer_runs_to_its_end() -> None:
    done = []

    class Noted:
        def __del__(self) -> None:
            terminate()
            done.append(True)

    with pytest.raises(KeyboardInterrupt), signals.ending_signals(signals.Ending(), last=False):
        then_wait(Noted)
    assert done == [True]


def test_signal_that_waits_is_raised_only_once() -> None:
    with signals.ending_signals(signals.Ending(), last=False):
        with pytest.raises(KeyboardInterrupt):
            then_wait(in_finalizer, signals.check)
        busy(5 * signals.RETRY)  # a second KeyboardInterrupt would cut what is written now


def test_signal_that_waits_does_not_cut_what_is_being_written() -> None:
    with signals.ending_signals(signals.Ending(), last=False), signals.finishing():
        Finalized()
        busy(5 * signals.RETRY)


def test_other_unraisable_exceptions_are_still_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    with signals.ending_signals(signals.Ending(), last=False):
        Failing()
    assert seen == [ValueError]
