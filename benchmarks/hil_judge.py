"""What of a campaign of motor substitution does not hold."""

from __future__ import annotations

from typing import Any

from servotwin.hil.link.causes import Cause

COMPUTE_US, WAKE_RATIO, CYCLES = 10.0, 1.2, 3
JUDGED_RATE = 1100.0  # Hz; rates above are tried and reported
CASES = {"panda-j2", "panda-j2-j4", "delta-two"}
FAULTS: dict[str, set[Cause]] = {
    "die": {Cause.SILENCE},
    "freeze": {Cause.SILENCE},
    "garbage": {Cause.LENGTH, Cause.MAGIC},
    "corrupt": {Cause.CHECKSUM, Cause.MAGIC, Cause.VERSION, Cause.KIND},
    "nan": {Cause.NOT_FINITE},
    "stale": {Cause.STALE},
    "duplicate": {Cause.DUPLICATE},
    "reorder": {Cause.REORDERED},
    "delay": {Cause.DELAY},
    "drop": {Cause.SILENCE},
    "session": {Cause.SESSION},
}


def judged(found: dict[str, Any]) -> list[str]:
    """What does not hold."""
    wrong = [text for row in found["rates"] for text in _judged_rate(row)]
    wrong += [f"{name}: not tried" for name in sorted(CASES - {row["scenario"] for row in found["rates"]})]
    if not any(row["same_bits"] for row in found["rates"]):
        wrong.append("rates: every run was disturbed at once, so that no bits could be compared")
    wrong += [text for row in found["faults"] for text in _judged_fault(row)]
    missing = set(FAULTS) - {row["fault"] for row in found["faults"]}
    wrong += [f"fault {kind}: not tried" for kind in sorted(missing)]
    return wrong + (_judged_flood(found["flood"]) if found["flood"] else ["flood: not tried"])


def remarks(found: dict[str, Any]) -> list[str]:
    """Compute times that miss the limit as measured, each beside the reference and what is the cycle's own."""
    return [
        f"{row['scenario']} at {row['rate_Hz']:g} Hz: compute p99.9 as measured is {row['compute_p99.9_us']:.3g} us "
        f"and misses {COMPUTE_US:g} us; arithmetic of the same length has {row['reference_p99.9_us']:.3g} us in "
        f"this run. Beyond what the machine adds: {row['compute_p99.9_own_us']:.3g} us; "
        f"{row['own_excess_percent']:.2g} % of "
        f"the cycles (95 % interval {row['own_excess_interval']}) are slower than {COMPUTE_US:g} us on their own, "
        "0.1 % are allowed"
        for row in found["rates"]
        if row["rate_Hz"] < JUDGED_RATE and row["compute_p99.9_us"] > COMPUTE_US
    ]


def _judged_rate(row: dict[str, Any]) -> list[str]:
    name, wrong = f"{row['scenario']} at {row['rate_Hz']:g} Hz", []
    if row["rate_Hz"] < JUDGED_RATE:
        if row["compute_p99.9_own_us"] > COMPUTE_US:
            wrong.append(
                f"{name}: compute p99.9 {row['compute_p99.9_own_us']} us beyond what the machine adds, "
                f"{row['compute_p99.9_us']} us with it"
            )
        for kind, words in (("wake", "wake-up"), ("timer", "wake-up of the thread")):
            ratio = row[f"{kind}_ratio"]
            if ratio is None or ratio > WAKE_RATIO:
                interval = row[f"{kind}_interval"]
                wrong.append(f"{name}: {words} {ratio} times the bare clock's (95 % interval {interval})")
        if row["ended"] != "complete":
            wrong.append(f"{name}: {row['ended']}")
    # the last cycle may have missed deadlines that none came to leave out: its overrun says so
    if row["missed"] > row["skipped"] + row["overruns"] or (row["missed"] and not row["overruns"]):
        wrong.append(f"{name}: {row['missed']} deadlines missed, {row['skipped']} reported")
    if row["same_bits"] is False:
        wrong.append(f"{name}: other bits than in simulated time")
    return wrong


def _judged_fault(row: dict[str, Any]) -> list[str]:
    name, wrong = f"fault {row['fault']}", []
    if row["trials"] != row["asked"] or not row["trials"]:
        wrong.append(f"{name}: {row['trials']} of {row['asked']} trials")
    for kind in ("safe_in_time", "cause_named", "recording_intact"):
        if row[kind] != row["trials"]:
            wrong.append(f"{name}: {kind} in {row[kind]} of {row['trials']} trials")
    if row["machine_safe"] != row["machine"]:
        wrong.append(
            f"{name}: {row['machine_safe']} of {row['machine']} runs in which the machine stood still were safe"
        )
    return wrong


def _judged_flood(row: dict[str, Any]) -> list[str]:
    wrong = []
    if row["answers_to_strangers"] or not row["rig_alive"]:
        wrong.append("flood: a stranger got an answer, or the rig ended")
    if row["packets"] != row["asked"]:
        wrong.append(f"flood: {row['packets']} of {row['asked']} packets")
    if row["ended"] != "complete":
        wrong.append(f"flood: {row['ended']}")
    if row["same_bits"] is None:
        wrong.append("flood: every run was disturbed, so that no bits could be compared")
    if row["same_bits"] is False:
        wrong.append("flood: other bits than in simulated time")
    return wrong
