"""An actuator of the user's with an endless loop: the second signal ends the command, with a line that names it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import small_drives as small
from tests.unit.drives.test_own_actuator import FILE, own_robot

FIRST = "    dx[0] = "
LOOPS = {"in a run": "theta > 0.5", "in the first call": "theta > -1.0"}
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with it ignored
from servotwin.cli.main import main
sys.exit(main())
"""


def hung(folder: Path, condition: str) -> subprocess.Popen[str]:
    """A simulation that stands in an endless loop of compiled code."""
    loop = f"    if {condition}:\n        print('hung')\n    while {condition}:\n        theta += 1e-300\n"
    (folder / "lagged.py").write_text(FILE.replace(FIRST, loop + FIRST, 1))
    scenario = small.write_case(folder, own_robot(), {"move": [{"to": {"A": "1 rad"}}]})
    words = ["simulate", str(scenario), "--allow-code", "--out", str(folder / "out")]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hung\n"
    return process


@pytest.mark.parametrize("where", LOOPS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_second_signal_ends_compiled_code_that_does_not_return(
    where: str, number: signal.Signals, tmp_path: Path
) -> None:
    with hung(tmp_path, LOOPS[where]) as process:
        try:
            process.send_signal(number)
            time.sleep(1.0)
            assert process.poll() is None
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    (line,) = [text for text in err.splitlines() if text.startswith("ended:")]
    assert f"{tmp_path.resolve()}/lagged.py:LAGGED does not return" in line


def test_two_signals_at_once_are_one_and_a_line_says_what_is_waited_for(tmp_path: Path) -> None:
    with hung(tmp_path, LOOPS["in the first call"]) as process:
        try:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            assert "running the actuator" in process.stderr.readline()
            assert process.stderr.readline().startswith("still in the compiled code of ")
            assert process.poll() is None
        finally:
            process.kill()


def test_signal_that_python_takes_ends_a_run_as_ever(tmp_path: Path) -> None:
    """The process beside ends with the command, and the result so far is written."""
    (tmp_path / "lagged.py").write_text(FILE)
    slow = {
        "move": [{"to": {"A": "1 rad"}, "dwell": "1000 s"}],
        "solver": {"method": "adaptive", "tolerance": 1e-12},
    }
    scenario = small.write_case(tmp_path, own_robot(), slow)
    words = ["simulate", str(scenario), "--allow-code", "--out", str(tmp_path / "out")]
    words += ["--max-time", "10 h", "--record", "1 s", "--no-report"]
    command = [sys.executable, "-c", COMMAND, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "running the actuator" in process.stderr.readline()
        time.sleep(4.0)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (128 + signal.SIGTERM, 130)
    assert "still in" not in err
    assert "ended:" not in err
