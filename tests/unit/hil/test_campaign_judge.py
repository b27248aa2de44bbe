"""What the campaign of motor substitution lets pass, and what not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from benchmarks.hil_campaign import FAULTS, judged, missed_deadlines, wake_ratio

RATE = {
    "scenario": "a", "rate_Hz": 1000, "compute_p99.9_us": 5.0, "wake_ratio": 1.0, "timer_ratio": 1.2,
    "ended": "complete", "same_bits": True, "overruns": 2, "skipped": 3, "missed": 3,
}  # fmt: skip
FAULT = {
    "asked": 100, "trials": 100, "safe_in_time": 100, "cause_named": 100, "recording_intact": 100, "machine": 4,
    "machine_safe": 4,
}  # fmt: skip
FLOOD = {
    "asked": 9, "packets": 9, "answers_to_strangers": 0, "rig_alive": True, "ended": "complete", "same_bits": True,
}  # fmt: skip


def _found() -> dict[str, Any]:
    faults = [{"fault": kind, **FAULT} for kind in FAULTS]
    return copy.deepcopy({"rates": [RATE], "faults": faults, "flood": FLOOD})


def test_campaign_in_which_all_holds_passes() -> None:
    assert judged(_found()) == []


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("rates", {"compute_p99.9_us": 11.0}, "compute p99.9 11.0 us"),
        ("rates", {"wake_ratio": None}, "wake-up None times"),
        ("rates", {"wake_ratio": 1.21}, "wake-up 1.21 times"),
        ("rates", {"timer_ratio": 1.21}, "wake-up of the thread 1.21 times"),
        ("rates", {"timer_ratio": None}, "wake-up of the thread None times"),
        ("rates", {"ended": "silence"}, "silence"),
        ("rates", {"missed": 50}, "50 deadlines missed, 3 reported"),
        ("rates", {"missed": 1, "overruns": 0, "skipped": 1}, "1 deadlines missed"),
        ("rates", {"same_bits": False}, "other bits"),
        ("rates", {"same_bits": None}, "no run was undisturbed"),
        (
            "faults",
            {"trials": 1, "safe_in_time": 1, "cause_named": 1, "recording_intact": 1},
            "1 of 100 trials",
        ),
        ("faults", {"safe_in_time": 99}, "safe_in_time in 99 of 100"),
        ("faults", {"machine": 5}, "4 of 5 runs in which the machine stood still"),
        ("flood", {"packets": 3}, "3 of 9 packets"),
        ("flood", {"ended": "silence"}, "flood: silence"),
        ("flood", {"same_bits": False}, "flood: other bits"),
        ("flood", {"same_bits": None}, "flood: every run was disturbed"),
        ("flood", {"rig_alive": False}, "the rig ended"),
    ],
)
def test_what_does_not_hold_is_said(part: str, change: dict[str, Any], said: str) -> None:
    found = _found()
    (found[part] if part == "flood" else found[part][0]).update(change)
    assert any(said in text for text in judged(found)), judged(found)


def test_fault_that_was_not_tried_is_said() -> None:
    found = _found()
    found["faults"].pop()
    assert len(judged(found)) == 1


def test_missed_deadlines_are_counted_from_the_instants_of_the_cycles() -> None:
    period, start = 1000, 500
    rng = np.random.default_rng(3)
    slots = np.flatnonzero(rng.random(2000) > 0.1)  # deadlines at which a cycle began
    began = start + period * slots + rng.integers(0, period, slots.size)
    assert missed_deadlines(began, start, period) == slots[-1] + 1 - slots.size > 100
    assert missed_deadlines(began[:0], start, period) == 0


@pytest.mark.parametrize(
    ("own", "bare", "ratio", "measured"),
    [(24.0, 20.0, 1.2, 1.2), (0.9, 0.3, 3.0, 3.0), (0.06, 0.03, 1.0, 2.0), (0.3, 0.03, 3.0, 10.0)],
)
def test_ratio_of_wake_ups_has_a_floor_of_two_readings_of_the_clock(
    own: float, bare: float, ratio: float, measured: float
) -> None:
    times = {"wake_up": {"count": 9, "p99_us": own}, "bare_wake_up": {"count": 9, "p99_us": bare}}
    assert wake_ratio(times, "wake_up") == pytest.approx(ratio)
    assert wake_ratio(times, "wake_up", least=0.0) == pytest.approx(measured)
    times["bare_wake_up"]["count"] = 0
    assert wake_ratio(times, "wake_up") is None
