"""How a run against a rig went: why it ended, frames by cause, times of its loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.hil.link.causes import WORDS, Cause
from servotwin.hil.link.endpoint import Transport
from servotwin.hil.link.session import LAST_COMMANDS
from servotwin.hil.words import counted, fault_words
from servotwin.realtime.cycle_times import UNKNOWN, CycleTime
from servotwin.realtime.executive import MOST_LONG, Ending, Overrun
from servotwin.realtime.histogram import bars, read_times

if TYPE_CHECKING:
    from servotwin.hil.link.link_run import LinkRun

US = 1e-3  # per ns


@dataclass(frozen=True)
class LinkReport:
    """How a run went: why it ended, frames by cause, times of the loop."""

    transport: str
    period_s: float
    cause: Cause
    words: str
    ending: Ending
    numbers: dict[str, Any]
    figures: dict[str, tuple[list[float], list[int]]]
    grants: list[str]
    rows: Any  # LINK_ROW, one for each cycle
    cycle_times: Any  # times of each cycle [ns], ``CycleTime`` by column; UNKNOWN where none was measured

    @property
    def safe(self) -> bool:
        """Whether the run went to its safe state before its end."""
        return self.cause != Cause.NONE

    @classmethod
    def of(cls, run: LinkRun) -> LinkReport:
        """The report of a run."""
        link, executive = run.link[0], run.executive[0]
        supervision, endpoint = link["supervision"][0], link["endpoint"][0]
        ending = Ending(int(executive["ending"]))
        cause = _cause(supervision, executive)
        words = WORDS[cause]
        if cause == Cause.RIG_FAULT:
            words += f": {fault_words(link['faults'], run.cycle.joints)}"
        names = {
            "wake_up": executive["wake_up"],
            "bare_wake_up": executive["bare_wake_up"],
            "timer": executive["timer"],
            "bare_timer": executive["bare_timer"],
            "cycle": executive["compute"],
            "compute": link["compute"],
            "response": link["response"],
            "reference": executive["reference"],
        }
        times = {name: read_times(histogram).plain() for name, histogram in names.items()}
        numbers = {
            "cycles": int(executive["done"]),
            "safe_cycles": int(executive["done"] - supervision["failed_cycle"])
            if supervision["failed"]
            else 0,
            **_frames(link, endpoint),
            "simulated_cycles": int(link["simulated"]),
            "overruns": int(executive["overruns"]),
            "skipped_deadlines": int(executive["skipped"]),
            "made_up_periods": int(link["made_up"]),
            "late_starts": int(executive["late"]),
            "guard_us": int(executive["guard"]) / 1e3,
            "rehearsals": int(executive["rehearsed"]),
            "late_rehearsals": int(executive["rehearsals_late"]),
            "rehearsals_ended": bool(executive["rehearsals_long_now"] >= MOST_LONG),
            "overrun_policy": Overrun(int(executive["policy"])).name.lower(),
            "limited_commands": int(link["limited"]),
            "clean_cycles": int(supervision["clean"]),
            "disturbed_cycles": int(supervision["disturbed"]),
            "longest_disturbance_cycles": int(supervision["longest_row"]),
            "disturbed_by": _by_name(supervision["cycle_causes"]),
            "safe_state": None if cause == Cause.NONE else _safe_state(cause, words, supervision, ending),
            "times": times,
            "thread": run.used.plain(),
            "system": run.grants.plain(),
        }
        figures = {name: bars(histogram) for name, histogram in names.items()}
        return cls(
            str(run.address),
            run.cycle.period_ns * 1e-9,
            cause,
            words,
            ending,
            numbers,
            figures,
            run.grants.lines(),
            run.rows[: int(link["rows"])].copy(),
            run.times[: int(executive["done"])].copy(),
        )

    def columns(self) -> dict[str, Any]:
        """The cycles as columns of a table: when each began, what disturbed it, whether its command was safe, times."""
        first, count = self.rows["began"][:1], len(self.rows)
        unmeasured = np.full(max(count - len(self.cycle_times), 0), np.nan)  # commands after the last cycle
        return {
            "began [s]": (self.rows["began"] - first) * 1e-9 if len(first) else np.zeros(0),
            "cause": self.rows["cause"],
            "safe": self.rows["safe"] != 0,
            "age [cycles]": self.rows["age"],
        } | {
            f"{each.name.lower()} [us]": np.concatenate((self.times_us(each)[:count], unmeasured))
            for each in CycleTime
            if each
        }

    def times_us(self, which: CycleTime) -> Any:
        """A time of every cycle [us]; NaN where it was not measured."""
        values = self.cycle_times[:, which]
        return np.where(values == UNKNOWN, np.nan, values * US)

    def _counts(self) -> str:
        """Cycles, and what went over the link; in process nothing does."""
        n = self.numbers
        said = [counted(n["cycles"], "cycle")]
        if "commands_sent" in n:
            said.append(f"{n['disturbed_cycles']} of them disturbed")
        if n["safe_cycles"]:
            said.append(f"the last {n['safe_cycles']} safe")
        if "commands_sent" in n:
            said.append(f"{counted(n['commands_sent'], 'command')} sent")
            said.append(f"{counted(n['answers_accepted'], 'answer')} accepted")
        return ", ".join(said)

    def lines(self) -> list[str]:
        """In words, for the terminal and the page."""
        n, times = self.numbers, self.numbers["times"]
        lines = [
            f"link {self.transport}: {self._counts()}",
            f"deadlines: {counted(n['overruns'], 'overrun')}, {n['skipped_deadlines']} left out, "
            f"{n['made_up_periods']} made up for, {counted(n['late_starts'], 'late start')} "
            f"(policy {n['overrun_policy']})",
        ]
        for name, text in NAMES.items():
            if times[name]["count"]:
                t = times[name]
                lines.append(
                    f"{text}: p50 {t['p50_us']:.3g} us, p99 {t['p99_us']:.3g} us, p99.9 {t['p99.9_us']:.3g} us, "
                    f"max {t['max_us']:.4g} us"
                )
        if n["thread"]:
            used = n["thread"]
            lines.append(
                f"thread of the loop: {counted(used['page_faults'], 'page fault')}, displaced "
                f"{counted(used['involuntary_switches'], 'time')}"
            )
        if n["rehearsals_ended"]:
            lines.append(
                f"rehearsals ended after {n['rehearsals']}: {n['late_rehearsals']} did not fit into the guard of "
                f"{n['guard_us']:g} us; cycles found their caches cold"
            )
        if self.safe:
            lines.append(f"safe state: {self.words}")
        return lines


NAMES = {
    "compute": "compute time (simulation and encoding)",
    "reference": "arithmetic as long as the compute time, halfway between two cycles",
    "response": "response (decoding, simulation and encoding)",
    "cycle": "cycle with the system's calls",
    "wake_up": "wake-up latency",
    "bare_wake_up": "wake-up latency of the bare clock",
    "timer": "end of the sleep, the guard before the deadline",
    "bare_timer": "end of the sleep of the bare clock",
}


def _frames(link: Any, endpoint: Any) -> dict[str, Any]:
    """Commands and answers; nothing in process, where none travel."""
    if endpoint["transport"] == Transport.IN_PROCESS:
        return {}
    farewells = LAST_COMMANDS if link["finished"] else 0  # BYE is no command
    return {
        "commands_sent": int(endpoint["sent_frames"]) - farewells,
        "answers_accepted": int(endpoint["accepted"]),
        "frames_not_accepted": _by_name(endpoint["counts"]),
    }


def _by_name(counts: Any) -> dict[str, int]:
    return {cause.name.lower(): int(counts[cause]) for cause in Cause if counts[cause]}


ENDINGS = {
    Ending.COMPLETE: Cause.NONE,
    Ending.ASKED: Cause.ENDED,
    Ending.OVERRUN: Cause.OVERRUN,
    Ending.CLOCK: Cause.CLOCK,
}


def _cause(supervision: Any, executive: Any) -> Cause:
    """Why the run ended, NONE only if it is complete; a silence after which late answers came is a delay."""
    cause = Cause(int(supervision["failed"]))
    if cause == Cause.SILENCE and supervision["late"] > supervision["failed_late"]:
        return Cause.DELAY
    if cause != Cause.NONE:
        return cause
    return ENDINGS.get(
        Ending(int(executive["ending"])), Cause.ENDED if executive["end_asked"] else Cause.LOOP
    )


def _safe_state(cause: Cause, words: str, supervision: Any, ending: Ending) -> dict[str, Any]:
    cycle = int(supervision["failed_cycle"]) if supervision["failed"] else None
    return {
        "cause": cause.name.lower(),
        "words": words,
        "cycle": cycle,
        "disturbed_cycles_before": int(supervision["failed_row"]),
        "longest_answer_ms": round(float(supervision["delay"]) * 1e-6, 3),
        "ending": ending.name.lower(),
    }
