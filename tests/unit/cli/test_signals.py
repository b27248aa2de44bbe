"""SIGTERM and SIGHUP end a command as Ctrl-C does; a stream that is closed is no reason for a traceback."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from servotwin.cli import signals
from servotwin.cli.main import main
from servotwin.control.main.quick_watch import QuickWatch
from servotwin.simulation.job_plant import IdealPlant
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
# A command that takes signals while it "works"; the words on stdout tell how far it came.
WORKING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with it ignored
if "nohup" in sys.argv:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
import servotwin.cli.catalogue

def work(**_):
    try:
        print("working", flush=True)
        time.sleep(SECONDS)
        print("done", flush=True)
    except KeyboardInterrupt:
        print("writing", flush=True)
        time.sleep(SECONDS)
        print("written", flush=True)
        raise

servotwin.cli.catalogue.robots = work
sys.argv[1:] = ["robots"]
from servotwin.cli.main import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Signals as a terminal starts a command with: `nohup` and background jobs begin with some ignored."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def working(*words: str, seconds: float = 60.0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKING.replace("SECONDS", str(seconds)), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    return process


@pytest.mark.parametrize("number", ENDING)
def test_signal_ends_a_command_with_its_code_and_without_a_word(number: signal.Signals) -> None:
    with working(seconds=1.0) as process:
        time.sleep(0.05)
        process.send_signal(number)
        process.send_signal(number)  # as a terminal that closes, or `timeout`, does: one and the same
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (CODES[number], "writing\nwritten\n")
    assert "Traceback" not in err


def test_second_signal_ends_at_once() -> None:
    with working() as process:
        assert process.stdout is not None
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "writing\n"
        time.sleep(1.2 * signals.ONE)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, "")
    assert "Traceback" not in err
    assert time.monotonic() - began < 20.0


def test_signal_that_nohup_ignores_stays_ignored() -> None:
    with working("nohup", seconds=1.0) as process:
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n")


def test_handlers_belong_to_the_command_line_alone() -> None:
    def found() -> list[object]:
        return [signal.getsignal(number) for number in ENDING]

    before = found()
    assert main(["--version"]) == 0
    assert found() == before
    code = (
        "import signal, servotwin as st, servotwin.cli.main, servotwin.cli.console\n"
        "st.load_robot('met-two-link')\n"
        f"for number in {[int(number) for number in ENDING]}:\n"
        "    print(signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        restore_signals=True,
    )
    assert done.stdout.split() == ["True"] * 3


def test_command_runs_in_a_thread_too(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["--version"])))
    thread.start()
    thread.join()
    assert codes == [0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_run_that_is_ended_writes_the_result_so_far(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dataclasses import replace

    from servotwin.simulation import run

    def carry_out(*_: object) -> object:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10.0)
        except KeyboardInterrupt:
            return replace(synthetic_result(51), complete=False)
        raise AssertionError

    monkeypatch.setattr(run, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(run, "carry_out", carry_out)
    out = tmp_path / "out"
    assert main(["simulate", "scara-a-axis-100deg", "--out", str(out), "--no-report"]) == CODES[number]
    assert "the result up to there is in" in capsys.readouterr().err
    assert not read_result(out).complete


def test_result_that_is_being_written_is_written_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from servotwin.report import simulation_files
    from servotwin.simulation import run

    put_run = simulation_files.put_run

    def interrupted(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        put_run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation_files, "put_run", interrupted)
    monkeypatch.setattr(run, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(run, "carry_out", lambda *_: synthetic_result(51))
    words = ["simulate", "scara-a-axis-100deg", "--out", str(tmp_path / "out"), "--no-report"]
    assert main(words) == CODES[signal.SIGTERM]
    assert read_result(tmp_path / "out").complete


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["tune", "gsis-scara"], ("tuning.html", "tuning.json")),
        (["job", "run", "scara-line", "--no-report"], ("summary.json", "instructions.json")),
        (["compare", "result", "log.csv", "--shift", "0"], ("comparison.html", "comparison.json")),
    ],
)
def test_files_that_are_being_written_are_written_to_their_end(
    words: list[str], files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from servotwin.report.simulation_files import write_result
    from servotwin.simulation.results import folder as result_folder

    monkeypatch.chdir(tmp_path)
    write_result(synthetic_result(51, zoom=False), tmp_path / "result", report=False)
    rows = "".join(f"{0.01 * i},{i}\n" for i in range(50))
    (tmp_path / "log.csv").write_text(f"time_s,joint_A_position_rad\n{rows}")
    publish = result_folder._publish

    def interrupted(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        publish(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(result_folder, "_publish", interrupted)
    assert main([*words, "--out", "out"]) == CODES[signal.SIGTERM]
    assert all((tmp_path / "out" / name).exists() for name in files)


@pytest.mark.parametrize("words", [["run", "scara-line", "--no-report"], ["plan", "scara-line"]])
@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [(IdealPlant, "feedback", 1), (IdealPlant, "feedback", 5), (QuickWatch, "clear", 20)],
)
def test_interrupt_during_the_rehearsal_ends_the_job(
    words: list[str], owner: type, name: str, call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was simulated yet, so nothing is written; the earlier cause: the rehearsal was taken for finished."""
    measure, calls = getattr(owner, name), [0]

    def interrupted(*arguments: object) -> object:
        calls[0] += 1
        if calls[0] == call:
            raise KeyboardInterrupt
        return measure(*arguments)

    def not_reached(*_: object, **__: object) -> None:
        raise AssertionError("the simulation was begun")

    monkeypatch.setattr(owner, name, interrupted)
    monkeypatch.setattr("servotwin.simulation.job_run.machine_of", not_reached)
    monkeypatch.chdir(tmp_path)
    assert main(["job", *words]) == 130
    assert list(tmp_path.rglob("*.json")) == []


def test_process_that_compiles_beside_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from servotwin.simulation.plant import pieces

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(pieces, "start_compiler", lambda names: child)
    monkeypatch.setattr(type(pieces.compiled_piece("dc")), "on_disk", False)
    monkeypatch.setattr(pieces, "processors", lambda: 2)

    def interrupted() -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pieces.addresses(["dc", "event_steps"], interrupted)  # one for each process
    assert child.poll() is not None
    assert time.monotonic() - began < 30.0


# --- the console's terminal -------------------------------------------------------------------------


def _until(fd: int, word: str, limit: float = 60.0) -> str:
    seen, end = "", time.monotonic() + limit
    while word not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536).decode(errors="ignore")
    return seen


@pytest.mark.parametrize("number", ENDING)
def test_signal_restores_the_terminal_of_the_console(number: signal.Signals) -> None:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "40"}
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "sys.argv[1:] = ['console', 'gsis-scara']\nfrom servotwin.cli.main import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment
    )
    try:
        assert "DISABLED" in _until(master, "DISABLED")
        os.write(master, b"p")
        assert "READY" in _until(master, "READY")
        assert termios.tcgetattr(slave)[3] != before[3]
        process.send_signal(number)
        assert "\x1b[?1049l" in _until(master, "\x1b[?1049l")  # the screen of before
        _, said = process.communicate(timeout=30)
        assert process.returncode == CODES[number]
        assert b"Traceback" not in said
        assert termios.tcgetattr(slave)[3] == before[3]
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


# --- streams ----------------------------------------------------------------------------------------

SHELL = f"{sys.executable} -m servotwin.cli"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/bash", "-c", line.replace("servotwin", SHELL)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("servotwin robots >&-", 0),
        ("servotwin robots 2>&-", 0),
        ("servotwin robots <&- >&- 2>&-", 0),
        ("servotwin --help >&-", 0),
        ("servotwin info nowhere 2>&-", 2),
        ("servotwin info nowhere >&- 2>&-", 2),
        ("servotwin info nowhere 2>/dev/full", 2),
        ("servotwin robots >/dev/full 2>/dev/full", 2),
        ("servotwin console gsis-scara <&-", 2),
        ("servotwin schema 2>&1 | head -1; exit ${PIPESTATUS[0]}", 141),
        ("servotwin check no.yaml nor.yaml 2>&1 >&- | true; exit ${PIPESTATUS[0]}", 2),
    ],
)
def test_closed_or_full_stream_gives_no_traceback(line: str, code: int) -> None:
    done = shell(line)
    assert "Traceback" not in done.stderr + done.stdout
    assert "Exception ignored" not in done.stderr
    assert done.returncode == code or (code == 141 and done.returncode == 0)  # all fitted into the pipe


def test_file_never_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """What is printed to a closed stdout must not end up in the file that was opened next."""
    out = tmp_path / "a.json"
    assert shell(f"servotwin schema --out {out} >&- 2>&-").returncode == 0
    assert out.read_text(encoding="utf-8").startswith("{")
    assert "wrote" not in out.read_text(encoding="utf-8")
