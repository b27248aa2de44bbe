"""What the campaign of motor substitution lets pass, and what not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from benchmarks.hil_campaign import collected, missed_deadlines
from benchmarks.hil_judge import CASES, FAULTS, judged
from benchmarks.hil_times import own_percentile, p99_ratio

RATE = {
    "rate_Hz": 1000, "compute_p99.9_us": 15.0, "compute_p99.9_own_us": 5.0, "wake_ratio": 1.0, "timer_ratio": 1.2,
    "wake_interval": [0.9, 1.1], "timer_interval": [1.1, 1.3],
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
    done = {f"{name}@1000": {"scenario": name, **RATE} for name in sorted(CASES)}
    done |= {f"fault:{kind}": {"fault": kind, **FAULT} for kind in FAULTS}
    return copy.deepcopy(collected({**done, "flood": FLOOD}))


def test_campaign_in_which_all_holds_passes() -> None:
    assert judged(_found()) == []


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        (
            "rates",
            {"compute_p99.9_own_us": 11.0},
            "compute p99.9 11.0 us beyond what the machine adds, 15.0 us",
        ),
        ("rates", {"wake_ratio": None}, "wake-up None times"),
        ("rates", {"wake_ratio": 1.21}, "wake-up 1.21 times"),
        (
            "rates",
            {"timer_ratio": 1.21},
            "wake-up of the thread 1.21 times the bare clock's (95 % interval [1.1, 1.3])",
        ),
        ("rates", {"timer_ratio": None}, "wake-up of the thread None times"),
        ("rates", {"ended": "silence"}, "silence"),
        ("rates", {"missed": 50}, "50 deadlines missed, 3 reported"),
        ("rates", {"missed": 1, "overruns": 0, "skipped": 1}, "1 deadlines missed"),
        ("rates", {"same_bits": False}, "other bits"),
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


def test_runs_that_were_all_disturbed_are_said() -> None:
    found = _found()
    for row in found["rates"]:
        row["same_bits"] = None
    assert judged(found) == ["rates: every run was disturbed at once, so that no bits could be compared"]


def test_rates_above_the_judged_one_are_reported_only() -> None:
    found = _found()
    found["rates"].append({**found["rates"][0], "rate_Hz": 2002.0, "wake_ratio": 9.0, "ended": "silence"})
    assert judged(found) == []


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("rates", "delta-two: not tried"),
        ("faults", "fault session: not tried"),
        ("flood", "flood: not tried"),
    ],
)
def test_part_that_was_not_tried_is_said(part: str, said: str) -> None:
    found = _found()
    if part == "flood":
        found["flood"] = None
    else:
        found[part] = [
            row
            for row in found[part]
            if said.split(":", maxsplit=1)[0] not in (row.get("scenario"), f"fault {row.get('fault')}")
        ]
    assert judged(found) == [said]


def test_missed_deadlines_are_counted_from_the_instants_of_the_cycles() -> None:
    period, start = 1000, 500
    rng = np.random.default_rng(3)
    slots = np.flatnonzero(rng.random(2000) > 0.1)  # deadlines at which a cycle began
    began = start + period * slots + rng.integers(0, period, slots.size)
    assert missed_deadlines(began, start, period) == slots[-1] + 1 - slots.size > 100
    assert missed_deadlines(began[:0], start, period) == 0


@pytest.mark.parametrize(
    ("own", "bare", "ratio"), [(24.0, 20.0, 1.2), (0.9, 0.3, 3.0), (0.06, 0.03, 1.0), (0.3, 0.03, 3.0)]
)
def test_ratio_of_wake_ups_has_a_floor_of_two_readings_of_the_clock(
    own: float, bare: float, ratio: float
) -> None:
    found = p99_ratio(np.full(100, own), np.full(100, bare), 10)
    assert found["ratio"] == pytest.approx(ratio)
    assert found["interval"] == pytest.approx([ratio, ratio])  # no spread
    assert p99_ratio(np.full(100, own), np.full(100, np.nan), 10)["ratio"] is None


def test_interval_of_a_ratio_holds_the_ratio_of_the_distributions() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(20):
        own, bare = rng.exponential(1.2, 20_000), rng.exponential(1.0, 20_000)  # p99 of them: 1.2 times
        low, high = p99_ratio(own, bare, 1000)["interval"]
        held += low <= 1.2 <= high
        assert high - low < 0.3
    assert held >= 16  # 19 of 20 are expected


def test_what_the_machine_does_to_the_reference_too_is_no_property_of_the_cycle() -> None:
    rng = np.random.default_rng(6)

    def times(cold: float) -> np.ndarray:
        """Some 2 us, one in 400 interrupted for 20 us; the share ``cold`` without its caches takes 15 us."""
        found = rng.uniform(1.5, 2.5, 40_000) + 20.0 * (rng.random(40_000) < 1.0 / 400.0)
        return np.where(rng.random(40_000) < cold, 15.0, found)

    reference = times(0.0)
    assert np.percentile(times(0.0), 99.9) > 20.0
    assert own_percentile(times(0.0), reference, 0.999) < 3.0
    assert own_percentile(times(5e-3), reference, 0.999) == 15.0  # its own fault shows
    assert (
        own_percentile(times(0.0), np.full(3, np.nan), 0.999) > 20.0
    )  # without a reference nothing is taken off
