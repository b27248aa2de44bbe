"""What a run takes is known before it begins: rows exactly, memory within a factor, refused beyond a limit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError
from servotwin.jobs.language import parse
from servotwin.jobs.points_file import parse_points
from servotwin.jobs.program import Program
from servotwin.simulation import run as running
from servotwin.simulation.job_run import rehearse, run_job
from servotwin.simulation.preflight.budget import Budget, read_budget
from servotwin.simulation.preflight.estimate import Estimate, check_budget, estimate, longest_within
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.job_settings import JobSettings
from servotwin.simulation.scenario.scenario import Scenario, read_scenario
from tests import small_drives as small

POINTS = parse_points(
    "format: servotwin-points/1\nrobot: gsis-scara\n"
    "points:\n"
    "  P1: {joints: {A: 0 deg, B: 0 deg, Z: 0 mm, W: 0 deg}}\n"
    "  P2: {joints: {A: 5 deg, B: 0 deg, Z: 0 mm, W: 0 deg}}\n"
)


def job(text: str) -> Program:
    return Program(parse(text), POINTS)


def scenario(tmp_path: Path, **parts: Any) -> Scenario:
    move = [{"to": {"A": "0.1 rad"}, "dwell": parts.pop("dwell", "0 s")}]
    return read_scenario(small.write_case(tmp_path, small.robot(), {"move": move, **parts}))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"record": {"every": "0.2 ms"}},
        {"record": {"every": "7 ms"}},
        {"record": {"every": "100 s"}},
        {"dwell": "1.0003 s", "record": {"every": "1.4 ms"}},
        {"repeat": 3},
    ],
)
def test_estimate_rows_are_those_of_the_run(tmp_path: Path, parts: dict[str, Any]) -> None:
    chosen = scenario(tmp_path, **parts)
    run = prepare(chosen)
    found = estimate(chosen.plant_description, run.duration_ns * 1e-9, chosen.record.every, chosen.solver)
    result = carry_out(run, lambda part: None)
    assert len(result.signals["time_s"]) == found.rows
    assert len(result.signals) <= found.columns


@pytest.mark.parametrize(
    ("text", "record"), [("WAIT 0.5 s\n", "1 ms"), ("REPEAT 2\nMOVEJ P2\nMOVEJ P1\nEND\n", "7 ms")]
)
def test_estimate_rows_of_a_job_are_those_of_its_run(text: str, record: str) -> None:
    run = run_job(job(text), record=record)
    chosen = run.result.scenario
    found = estimate(
        chosen.plant_description,
        run.result.summary["simulated_s"],
        chosen.record.every,
        chosen.solver,
        stepped=True,
    )
    assert len(run.result.signals["time_s"]) == found.rows


MEASURE = """
import resource, sys
from pathlib import Path
from servotwin.report.simulation_files import write_result
from servotwin.simulation.preflight.estimate import estimate
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario

def run(changes):
    scenario = read_scenario(sys.argv[1], changes)
    made = prepare(scenario)
    found = estimate(scenario.plant_description, made.duration_ns * 1e-9, scenario.record.every, scenario.solver)
    write_result(carry_out(made, lambda part: None), sys.argv[2], report=False)
    return found

run({})  # what is loaded once
before = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
found = run(dict(pair.split("=") for pair in sys.argv[3:]))
# ru_maxrss would begin with that of the process which started this one
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(found.memory, 1024 * peak - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("changes", [["record.every=0.2ms", "repeat=4"], ["record.every=1s", "repeat=60"]])
def test_estimate_memory_is_that_of_the_run_within_a_factor_of_two_and_a_half(
    tmp_path: Path, changes: list[str]
) -> None:
    words = [sys.executable, "-c", MEASURE, "scara-full-range", str(tmp_path / "out"), *changes]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    told, taken = map(float, run.stdout.split())
    assert told / 2.5 < taken < told * 2.5


@pytest.mark.parametrize(
    ("parts", "limits", "words"),
    [
        ({"dwell": "10000 s", "record": {"every": "0.2 ms"}}, {},
         r"record\.every: 5e\+07 rows of 30 signals take .* GB"),
        ({"dwell": "10000 s", "record": {"every": "0.2 ms"}}, {}, r"record less often .*or raise --max-memory"),
        ({"dwell": "100000 s", "repeat": 100, "record": {"every": "1000 s"}}, {"max_memory": "100 GB"}, "years|days"),
        ({"dwell": "100000 s", "record": {"every": "1000 s"}}, {"max_time": "1 s"}, "of simulated time take roughly"),
        ({"dwell": "100000 s", "repeat": 10000, "record": {"every": "1000 s"}}, {"max_memory": 1e30, "max_time": 1e30},
         r"the run lasts 31\.7 years; expected at most 31\.7 years"),
        ({"record": {"zoom": {"at": "0 s", "span": "10 s"}}, "dwell": "20 s"}, {"max_memory": "100 MB"},
         r"record\.zoom\.span: 10 s in every detail take .*--max-memory"),
    ],
)  # fmt: skip
def test_simulate_beyond_its_limits_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, Any], limits: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(running, "machine_of", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(InputError, match=words):
        st.simulate(scenario(tmp_path, **parts), **limits)


def test_simulate_with_raised_limits_gets_as_far_as_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BuiltError(Exception):
        pass

    def build(*_: object, **__: object) -> None:
        raise BuiltError

    monkeypatch.setattr(running, "machine_of", build)
    long = scenario(tmp_path, dwell="10000 s", record={"every": "0.2 ms"})
    with pytest.raises(BuiltError):
        st.simulate(long, max_memory="100 GB", max_time="10 h")


def test_simulate_that_computes_longer_than_it_may_gives_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "check_budget", lambda *_, **__: None)  # an estimate that was too low
    with pytest.raises(
        SimulationError, match=r"stopped at 0\.2 s: it has computed for .*; raise --max-time"
    ) as caught:
        st.simulate(scenario(tmp_path, dwell="5 s"), max_time=1e-9)
    assert caught.value.partial.signals["time_s"][-1] == pytest.approx(0.2)
    assert not caught.value.partial.complete


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("REPEAT 1000000\nREPEAT 1000000\nMOVEJ P1\nEND\nEND\n", {},
         r"takes 7\.92 years at least \(1e\+12 moves\); expected at most 600 s: .*--time-limit"),
        ("WAIT 1000000 s\n", {}, r"takes 11\.6 days at least; expected at most 600 s"),
        ("WAIT 1000000 s\n", {"time_limit": 2e6}, r"take .* of memory; expected at most 2 GB: .*--max-memory"),
        ("WAIT 1000000 s\n", {"time_limit": 2e6, "budget": Budget(1e15, 3600.0)},
         "roughly .* to compute; .*--max-time"),
    ],
)  # fmt: skip
def test_job_that_takes_too_much_for_certain_is_refused_before_it_is_played(
    monkeypatch: pytest.MonkeyPatch, text: str, settings: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr("servotwin.simulation.job_run.play", lambda *_, **__: pytest.fail("played"))
    for start in (rehearse, run_job):
        with pytest.raises(InputError, match=words):
            start(job(text), settings=JobSettings(**settings))


def test_job_without_end_is_stopped_where_its_memory_ends() -> None:
    run = run_job(job("REPEAT FOREVER\nWAIT 1 s\nEND\n"), max_memory="1 MB", record="100 ms", pwm="averaged")
    assert not run.log.finished
    assert "the most that its memory allows; raise --max-memory to let it go on" in run.log.reason
    assert 1.0 < run.result.summary["simulated_s"] < 100.0


def test_job_of_endless_moves_without_way_is_stopped_by_its_journal() -> None:
    began = time.monotonic()
    log = rehearse(
        job("REPEAT FOREVER\nMOVEJ P1\nEND\n"), settings=JobSettings(budget=Budget(memory=2e6))
    ).log
    assert "instructions take 2 MB of memory; raise --max-memory" in log.reason
    assert len(log.entries) < 1000
    assert time.monotonic() - began < 60.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--max-memory", "4"], "--max-memory: '4' is not an amount of memory; expected such as '4 GB'"),
        (["--max-memory", "0 GB"], "--max-memory: 0 byte; expected more than zero"),
        (["--max-time", "4 GB"], "--max-time: "),
        (["--max-time", "-1 s"], "--max-time: -1 s; expected more than zero"),
    ],
)
def test_limits_that_are_none_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    for command in (
        ["simulate", "scara-full-range"],
        ["job", "run", "scara-line"],
        ["job", "plan", "scara-line"],
    ):
        assert main([*command, *options]) == 2
        captured = capsys.readouterr().err
        assert words in captured
        assert captured.count("\n") == 1


def test_simulate_command_names_number_and_remedy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [
        "simulate",
        "scara-full-range",
        "--set",
        "repeat=5000",
        "--record",
        "0.2 ms",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(words) == 2
    line = capsys.readouterr().err
    assert "rows of 84 signals take" in line
    assert "raise --max-memory" in line


def test_read_budget_reads_units() -> None:
    assert read_budget("500 MiB", "90 min") == Budget(500 * 2.0**20, 5400.0)
    assert read_budget() == Budget()
    assert read_budget(3e9, 10) == Budget(3e9, 10.0)


def test_longest_within_finds_the_limit_and_its_option() -> None:
    def cost(seconds: float) -> Estimate:
        return Estimate(seconds, 0, 0, memory=1e6 * seconds, time=0.01 * seconds)

    assert longest_within(cost, Budget(1e9, 1e9), 600.0) == (600.0, "")
    assert longest_within(cost, Budget(1e8, 1e9), 600.0) == (pytest.approx(100.0), "--max-memory")
    assert longest_within(cost, Budget(1e9, 1.0), 600.0) == (pytest.approx(100.0), "--max-time")
    check_budget(cost(99.0), Budget(1e8, 1.0))


@pytest.mark.parametrize("every", ["1e-10 s", "1 ns", "1e-300 s"])
def test_rows_more_often_than_the_current_loop_are_refused(every: str) -> None:
    with pytest.raises(InputError, match=r"record\.every: .* is not a multiple of the current period"):
        read_scenario("scara-full-range", {"record.every": every})


def test_move_so_slow_that_it_never_ends_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="the run lasts"):
        st.simulate("scara-a-axis-100deg", {"move": "[{to: {A: 5 deg}, speed: 1e-300 deg/s}]"})
