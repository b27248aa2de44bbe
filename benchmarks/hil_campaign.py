"""Motor substitution in real time: a seven-joint arm and the DELTA against a rig's process, faults, a flood of packets.

``python -m benchmarks.hil_campaign [seconds] [trials] [packets] [FILE.json]`` (``make hil``; it wants a quiet machine).
``--only panda-j2@1000 fault:nan flood`` runs these parts alone; what FILE.json has of the others is kept.

Judged: compute time p99.9 at most 10 us at 1 kHz, beyond what the machine adds to arithmetic of the same length
(``own_percentile``; the percentile as measured, and that of the arithmetic, stand beside it); wake-up p99 at most 1.2
times that of the bare clock in the same run, both that of the thread (``timer``, the end of its sleep) and that of the
cycle behind the guard, where both poll (there times below 0.1 us count as that: two readings of the clock); no miss
unreported, every fault safe within three cycles and named, its recording intact, as many trials and packets as were
asked for. Compute time is simulation and encoding; the response, which has decoding in it too, is reported beside it.
Misses are counted anew from the instants at which the cycles began, and compared with what the run reported.

Periods are a thousandth shorter than the rate's name says. Ticks of a machine and of its host beat in whole
milliseconds: at a period of whole ones they would meet either the deadlines or the bare clock, always the same one.
So each meets every phase of them once in a second.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hil_judge import COMPUTE_US, CYCLES, FAULTS, JUDGED_RATE, judged, remarks
from benchmarks.hil_rigs import rig_process
from benchmarks.hil_times import time_figures
from benchmarks.robots import urdf_path
from servotwin.errors import SimulationError
from servotwin.hil.link.link_report import LinkReport
from servotwin.hil.link.link_run import LinkRun
from servotwin.hil.real_time import RealTime, run_real_time
from servotwin.hil.result import SubstitutionRun
from servotwin.hil.run import run_substitution
from servotwin.hil.scenario import SubstitutionScenario, read_substitution
from servotwin.hil.substitution import build_substitution

RATES = (1000, 2000, 4000, 8000)  # Hz
SLIDE = 0.999  # of the period of the rate's name
FAULTY_FROM = 100  # command
TRIES = 3  # runs under a flood until one is not disturbed
SCENARIO = """format: servotwin-substitution/1
name: {name}
robot: {robot}
rates: {{servo: {rate} Hz}}
duration: {seconds} s
command: [{{at: 0 s, rates: {{{rates}}}}}]
servo: {{proportional: 0.2 V*s/rad, integral: 4 V/rad, voltage_limit: 20 V, ratio: 800, resistance: 2.05 ohm,
  torque_limit: 0.144 N*m, torque_constant: 0.061 N*m/A, rotor_inertia: 6.38e-5 kg*m^2,
  viscous_friction: 2.58e-5 N*m*s/rad, coulomb_friction: 0.0205 N*m}}
substitute: {{joints: [{joints}], rig: met-rig-three, estimator: observer, observer: {{analog_cut_off: 50 Hz}}}}
"""
OUTAGE_S = 0.1  # outages of the machine up to here are counted, and do not end a run of the rates
SMALL_RATE = "0.002 rad/s"  # so that no joint leaves its range within a minute


def seven_joints(folder: Path) -> str:
    """The Panda of example-robot-data with its fingers fixed to the hand."""
    text = urdf_path("panda.urdf").read_text(encoding="utf-8")
    text = re.sub(r'(<joint name="panda_finger_joint\d" type=)"prismatic"', r'\1"fixed"', text)
    text = re.sub(r"<mimic[^>]*/>", "", text)
    (folder / "panda.urdf").write_text(text, encoding="utf-8")
    return "panda.urdf"


def scenario_file(
    folder: Path, name: str, robot: str, joints: list[str], rate: float, seconds: float
) -> Path:
    """A scenario with these joints on the rig, which alone move."""
    rates = ", ".join(f"{joint}: {SMALL_RATE}" for joint in joints)
    path = folder / f"{name}.yaml"
    path.write_text(
        SCENARIO.format(
            name=name, robot=robot, rate=rate, seconds=seconds, rates=rates, joints=", ".join(joints)
        ),
        encoding="utf-8",
    )
    return path


def run(
    scenario: SubstitutionScenario, where: str, **settings: Any
) -> tuple[SubstitutionRun, LinkReport, LinkRun]:
    """A run in real time, whatever it came to."""
    seen: list[LinkRun] = []
    made = build_substitution(scenario)
    try:
        done, report = run_real_time(made, RealTime(where, **settings), look=seen.append)
    except SimulationError as error:
        done, report = error.partial
    return done, report, seen[-1]


def rate_trial(scenario: SubstitutionScenario) -> dict[str, Any]:
    """One run against a rig's process, and the same in simulated time: figures, and whether they fit."""
    with rig_process() as (where, _):
        tolerance = round(OUTAGE_S * scenario.file.rates.servo)
        done, report, link = run(scenario, where, tolerance=tolerance)
    times, numbers = report.numbers["times"], report.numbers
    found = {
        "scenario": scenario.name,
        "rate_Hz": scenario.file.rates.servo,
        "cycles": numbers["cycles"],
        "compute_p50_us": times["compute"]["p50_us"],
        "compute_p99_us": times["compute"]["p99_us"],
        "compute_p99.9_us": times["compute"]["p99.9_us"],
        "reference_p99.9_us": times["reference"]["p99.9_us"],
        "response_p99.9_us": times["response"]["p99.9_us"],
        "cycle_p99.9_us": times["cycle"]["p99.9_us"],
        "wake_p99_us": times["wake_up"]["p99_us"],
        "bare_p99_us": times["bare_wake_up"]["p99_us"],
        "timer_p99_us": times["timer"]["p99_us"],
        "bare_timer_p99_us": times["bare_timer"]["p99_us"],
        "guard_us": numbers["guard_us"],
        "rehearsals": numbers["rehearsals"],
        "overruns": numbers["overruns"],
        "skipped": numbers["skipped_deadlines"],
        "missed": missed_deadlines(
            report.rows["began"][: numbers["cycles"]],  # not the safe commands behind the last cycle
            int(link.executive["start"][0]),
            int(link.executive["period"][0]),
        ),
        "late": numbers["late_starts"],
        "disturbed": numbers["disturbed_cycles"],
        "thread": numbers["thread"],
        "ended": report.words,
        "not_granted": numbers["system"]["refused"],
    }
    intervals = scenario.file.rates.servo < JUDGED_RATE
    found |= time_figures(report, COMPUTE_US, intervals=intervals)
    compared = rows_before_disturbance(done, report)
    found |= {"compared_rows": compared, "same_bits": same_bits(done, scenario, compared)}
    return found


def missed_deadlines(began: Any, start: int, period_ns: int) -> int:
    """Deadlines up to the last cycle at which none began, counted from the instants at which they began [ns].

    Deadlines are start + k T. A cycle at t takes the deadline floor((t - start) / T); n cycles leave out
    1 + floor((t_n - start) / T) - n of them.
    """
    return int((began[-1] - start) // period_ns) + 1 - len(began) if len(began) else 0


def rows_before_disturbance(done: SubstitutionRun, report: LinkReport) -> int:
    """Rows of the arm up to the first cycle that was disturbed; cycle 0 of a link has no row of the arm."""
    disturbed = np.flatnonzero(report.rows["cause"])
    return min(len(done.rows), max(int(disturbed[0]) - 1, 0)) if len(disturbed) else len(done.rows)


def same_bits(done: SubstitutionRun, scenario: SubstitutionScenario, count: int) -> bool | None:
    """Whether the first rows are those of simulated time with the twin in process, to the last bit; None: no rows."""
    if count == 0:
        return None
    rows = run_substitution(build_substitution(scenario)).rows[:count]
    return bool(np.array_equal(done.rows[:count, :12], rows[:, :12], equal_nan=True))


def rate_cases(folder: Path, seconds: float) -> dict[str, Callable[[], dict[str, Any]]]:
    """The arms at their rates, by name."""
    cases = [("panda-j2", ["panda_joint2"], rate) for rate in RATES]
    cases.append(("panda-j2-j4", ["panda_joint2", "panda_joint4"], RATES[0]))
    cases.append(("delta-two", [], RATES[0]))

    def trial(name: str, joints: list[str], rate: int) -> dict[str, Any]:
        robot, named = (seven_joints(folder), joints) if joints else ("delta", delta_joints())
        path = scenario_file(folder, name, robot, named, 1.0 / (SLIDE / rate), seconds)
        return rate_trial(read_substitution(path))

    return {f"{name}@{rate}": partial(trial, name, joints, rate) for name, joints, rate in cases}


def delta_joints() -> list[str]:
    """Two of the motors of the DELTA."""
    import servotwin as st

    return list(st.load_robot("delta").joint_names[:2])


def fault_trials(folder: Path, kind: str, trials: int) -> dict[str, Any]:
    """Runs against a rig that goes wrong: how many were safe in time, with which cause and a whole recording."""
    path = scenario_file(folder, f"fault-{kind}", seven_joints(folder), ["panda_joint2"], 1000, 0.3)
    scenario = read_substitution(path)
    reference = run_substitution(build_substitution(scenario)).rows
    counts = {"safe_in_time": 0, "cause_named": 0, "recording_intact": 0, "machine": 0, "machine_safe": 0}
    causes: dict[str, int] = {}
    done = 0
    while done < trials:
        with rig_process("--fault", f"{kind}@{FAULTY_FROM}") as (where, process):
            while done < trials and process.poll() is None:
                rows, report, link = run(scenario, where)
                seen = link.rows[: int(link.link["rows"][0])]
                if seen["cause"][:FAULTY_FROM].any() or seen["safe"][:FAULTY_FROM].any():
                    counts["machine"] += (
                        1  # it stood still: no trial of this fault, but safe in time it must be
                    )
                    row = int(link.link["supervision"]["failed_row"][0, 0])
                    counts["machine_safe"] += report.safe and row <= CYCLES
                    if counts["machine"] > 5 * trials + 20:
                        return {"fault": kind, "asked": trials, "trials": done, **counts, "causes": causes}
                    if kind == "die":
                        break
                    continue
                done += 1
                first = int(np.flatnonzero(seen["safe"])[0]) if seen["safe"].any() else len(seen)
                counts["safe_in_time"] += FAULTY_FROM <= first < FAULTY_FROM + CYCLES
                counts["cause_named"] += report.cause in FAULTS[kind]
                kept = rows.rows[: FAULTY_FROM - 1, :12]
                whole = len(rows.rows) == first - 1
                counts["recording_intact"] += whole and np.array_equal(
                    kept, reference[: len(kept), :12], equal_nan=True
                )
                causes[report.cause.name.lower()] = causes.get(report.cause.name.lower(), 0) + 1
                if kind == "die":
                    break
    return {"fault": kind, "asked": trials, "trials": done, **counts, "causes": causes}


def flood(folder: Path, packets: int) -> dict[str, Any]:
    """Packets of strangers at both ends of a running link: random, cut, and copies of good frames."""
    path = scenario_file(
        folder, "flood", seven_joints(folder), ["panda_joint2"], 500, max(packets / 4000, 2.0)
    )
    scenario = read_substitution(path)
    for _ in range(TRIES):
        found = flood_trial(scenario, packets)
        if found["same_bits"] is not None:
            break
    return found


def flood_trial(scenario: SubstitutionScenario, packets: int) -> dict[str, Any]:
    """One run under a flood; ``same_bits`` is None if it was disturbed."""
    from benchmarks.hil_flood import Flood

    with rig_process() as (where, process), Flood(where, packets) as stranger:
        made = build_substitution(scenario)
        try:
            done, report = run_real_time(made, RealTime(where, tolerance=100), look=stranger.look)
        except SimulationError as error:
            done, report = error.partial
        alive = process.poll() is None
        answered = stranger.answers()
    whole = not report.numbers["disturbed_cycles"]
    return {
        "asked": packets,
        "packets": stranger.sent,
        "answers_to_strangers": answered,
        "rig_alive": alive,
        "ended": report.words,
        "not_accepted": report.numbers["frames_not_accepted"],
        "same_bits": same_bits(done, scenario, rows_before_disturbance(done, report)) if whole else None,
    }


def parts(folder: Path, seconds: float, trials: int, packets: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """All that a campaign does, by name."""
    found = rate_cases(folder, seconds)
    found |= {f"fault:{kind}": partial(fault_trials, folder, kind, trials) for kind in FAULTS}
    return found | {"flood": partial(flood, folder, packets)}


def collected(done: dict[str, Any]) -> dict[str, Any]:
    """The results of the parts as ``judged`` takes them."""
    return {
        "rates": [row for name, row in done.items() if "@" in name],
        "faults": [row for name, row in done.items() if name.startswith("fault:")],
        "flood": done.get("flood"),
    }


def main() -> int:
    """Run the campaign; 1 if something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("trials", nargs="?", type=int, default=100)
    parser.add_argument("packets", nargs="?", type=int, default=100_000)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PART")
    asked = parser.parse_args()
    done: dict[str, Any] = {}
    if asked.only and asked.file and asked.file.exists():
        done = json.loads(asked.file.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        all_parts = parts(Path(name), asked.seconds, asked.trials, asked.packets)
        unknown = sorted(set(asked.only or ()) - set(all_parts))
        if unknown:
            parser.error(f"{', '.join(unknown)}: no part; expected some of {', '.join(all_parts)}")
        for part in asked.only or all_parts:
            done[part] = all_parts[part]()
            print(part, json.dumps(done[part]), flush=True)
            if asked.file:
                asked.file.write_text(json.dumps(done, indent=2), encoding="utf-8")
    wrong = judged(collected(done))
    missed = remarks(collected(done))
    print("\n".join(missed))
    holds = (
        "all holds; compute times beyond what the machine adds, not as measured" if missed else "all holds"
    )
    print("\n".join(wrong) or holds)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
