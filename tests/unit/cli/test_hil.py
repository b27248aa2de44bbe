"""``servotwin rig`` and ``servotwin hil``: two processes, one link; what is refused; how they end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from servotwin.cli.main import main
from servotwin.realtime.libc import SUPPORTED

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="Linux only")
PATIENCE = 300


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "servotwin.cli", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def rig(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    where = f"udp://127.0.0.1:{free_port()}"
    process = start("rig", "met-rig-noisy", "--transport", where, "--json", *options)
    assert process.stderr is not None
    try:
        assert "waiting for a simulator" in process.stderr.readline()
        yield where, process
    finally:
        process.kill()
        process.communicate()


def wait_until_it_runs(process: subprocess.Popen[str]) -> None:
    """Until the simulator says that its cycles run."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.endswith(": running\n"):
            return
    raise AssertionError("it never ran")


def hil(where: str, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [
        "hil",
        "met-substituted",
        "--transport",
        where,
        "--out",
        str(out),
        "--no-report",
        "--json",
        *options,
    ]
    process = start(*words)
    text, notes = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(words, process.returncode, text, notes)


def test_two_processes_run_a_scenario_and_report_both_sides(tmp_path: Path) -> None:
    with rig("--sessions", "1") as (where, process):
        done = hil(where, tmp_path / "out", "--set", "duration=1 s", "--tolerance", "50")
        text, notes = process.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    link = found["link"]
    assert found["complete"]
    assert link["cycles"] == 102
    assert link["answers_accepted"] + link["disturbed_cycles"] >= 101
    assert link["times"]["wake_up"]["count"] + link["late_starts"] == 102
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["link"]["transport"] == where
    assert process.returncode == 0, notes
    session = json.loads(text)["sessions"][0]
    assert session["end"] == "bye"
    assert session["commands"] >= 102


def test_rig_that_is_killed_leads_to_the_safe_state_and_a_result(tmp_path: Path) -> None:
    with rig("--fault", "die@50") as (where, process):
        done = hil(where, tmp_path / "out", "--set", "duration=1 s", "--tolerance", "20")
        assert process.wait(30) == -signal.SIGKILL
    assert done.returncode == 1
    assert "safe state at 0." in done.stderr
    assert "silence: no feedback arrives" in done.stderr
    found = json.loads(done.stdout)
    assert found["link"]["safe_state"]["cause"] == "silence"
    assert not found["complete"]
    assert (tmp_path / "out" / "signals.parquet").stat().st_size > 1000
    cycles = parquet.read_table(tmp_path / "out" / "link.parquet")
    assert cycles.num_rows == found["link"]["cycles"] + 3  # the safe commands with which a session ends
    safe = cycles["safe"].to_pylist()
    assert safe.index(True) == found["link"]["safe_state"]["cycle"]
    assert cycles["began [s]"].to_pylist() == sorted(cycles["began [s]"].to_pylist())


def test_sigterm_ends_both_in_the_safe_state(tmp_path: Path) -> None:
    with rig() as (where, process):
        words = [
            "hil",
            "met-substituted",
            "--transport",
            where,
            "--out",
            str(tmp_path / "out"),
            "--no-report",
        ]
        simulator = start(*words, "--set", "duration=600 s", "--tolerance", "50", "--json")
        wait_until_it_runs(simulator)
        simulator.send_signal(signal.SIGTERM)
        text, notes = simulator.communicate(timeout=60)
        assert simulator.returncode == 128 + signal.SIGTERM, notes
        assert json.loads(text)["link"]["safe_state"]["cause"] == "ended"
        assert parquet.read_table(tmp_path / "out" / "link.parquet")["safe"].to_pylist()[-3:] == [True] * 3
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert json.loads(said)["sessions"][0]["end"] == "bye"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["hil", "met-substituted", "--transport", "carrier-pigeon"],
            "--transport: 'carrier-pigeon' is not a transport",
        ),
        (["rig", "--transport", "carrier-pigeon"], "--transport: 'carrier-pigeon' is not a transport"),
        (["hil", "met-substituted", "--transport", "udp://192.0.2.7:47010"], "--allow-network"),
        (["rig", "--transport", "udp://0.0.0.0:47010"], "--peer: is missing"),
        (["rig", "--transport", "udp://0.0.0.0:47010", "--peer", "192.0.2.7"], "--allow-network"),
        (["rig", "--transport", "in-process"], "no place for a rig of its own"),
        (["rig", "--fault", "sneeze@5"], "--fault: 'sneeze@5' is not accepted; expected KIND@COMMAND"),
        (["rig", "--seed", "x"], "--seed: 'x' is not accepted"),
        (["rig", "no-such-rig"], "no rig 'no-such-rig'"),
        (["hil", "met-pure"], "no joint is substituted"),
        (
            ["hil", "met-substituted", "--overrun", "panic"],
            "--overrun: 'panic' is not accepted; expected one of hold",
        ),
        (["hil", "met-substituted", "--tolerance", "0"], "--tolerance: 0 is not accepted"),
        (["hil", "met-substituted", "--simulated-time", "--transport", "shm:x"], "--simulated-time"),
        (["hil", "met-substituted", "--transport", "shm:nobody"], "there is no such rig"),
        (["hil", "met-substituted", "--transport", "serial:/dev/null"], "not a serial line"),
        (["hil", "met-substituted", "--key", "/dev/null"], "/dev/null"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.rglob("*.*"))


def test_port_in_use_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        assert main(["rig", "--transport", f"udp://127.0.0.1:{holder.getsockname()[1]}"]) == 2
    assert "the port is in use" in capsys.readouterr().err
