"""The frame of the command line: help, version, exit codes, one-line errors."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from servotwin import __version__
from servotwin.cli.main import main

COMMANDS = (
    "pendant",
    "robots",
    "info",
    "check",
    "schema",
    "fkine",
    "ikine",
    "rne",
    "convert",
    "model",
    "design",
    "size",
    "simulate",
    "hil",
    "rig",
    "compare",
    "tune",
    "demo",
)
HEAVY = ("numpy", "scipy", "numba", "llvmlite", "pint", "plotly", "pyarrow", "rich", "ruamel")
Q = ("--q", "30 deg, 60 deg, 50 mm, 20 deg")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "servotwin.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def loaded_by(arguments: list[str]) -> set[str]:
    """The heavy libraries that a command line loads, run in a process of its own."""
    code = (
        "import sys\n"
        "from servotwin.cli.main import main\n"
        f"assert main({arguments!r}) == 0\n"
        "sys.stderr.write(' '.join({name.split('.')[0] for name in sys.modules}))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_answers_without_heavy_imports(arguments: list[str]) -> None:
    assert not loaded_by(arguments) & {*HEAVY, "pydantic"}


@pytest.mark.parametrize("arguments", [["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_of_command_answers_without_heavy_imports(arguments: list[str]) -> None:
    # typer itself reads option values with pydantic
    assert not loaded_by(arguments) & set(HEAVY)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)
    assert "..." not in out.replace("[ARGS]...", "")  # no summary is cut


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_offers_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"servotwin {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], ["nonsense", "--help"]),
        (["info"], ["ROBOT", "servotwin info --help"]),
        (["teach", "a.points.yaml", "record", "P1"], ["--q", "'servotwin teach POINTS record --help'"]),
        (["fkine", "gsis-scara"], ["--q"]),
        (["fkine", "gsis-scara", "--bogus"], ["--bogus"]),
        (["info", "gsis-scra"], ["gsis-scra", "did you mean 'gsis-scara'"]),
        (["info", "missing.yaml"], ["missing.yaml", "no such file"]),
        (["info", "gsis-scara", "--set", "foo"], ["--set", "'foo'", "axes.A.gear.ratio=80"]),
        (["info", "gsis-scara", "--set", "axes.Q.gear.ratio=80"], ["'Q'", "A, B, Z, W"]),
        (["info", "gsis-scara", "--set", "axes.A.gear.ratio=80 mm"], ["axes.A.gear.ratio", "80 mm"]),
        (["fkine", "gsis-scara", "--q", "30, 60 deg, 50 mm, 20 deg"], ["--q", "A", "'30'", "no unit"]),
        (["fkine", "gsis-scara", "--q", "30 deg, 60 deg, 50 deg, 20 deg"], ["Z", "'50 deg'", "length"]),
        (["fkine", "gsis-scara", "--q", "30 deg, 60 deg"], ["2 values", "expected 4", "Z (a length)"]),
        (["fkine", "gsis-scara", "--q", "1e999 deg, 0 deg, 0 mm, 0 deg"], ["--q", "A"]),
        (["fkine", "gsis-scara", "--q", "__import__('os'), 0 deg, 0 mm, 0 deg"], ["--q", "A"]),
        (["fkine", "gsis-scara", *Q, "--frame", "nowhere"], ["nowhere", "A-link"]),
        (["fkine", "gsis-scara", *Q, "--frame", "tool", "--all"], ["--frame", "--all"]),
        (["rne", "gsis-scara", *Q, "--qd", "1 rad, 0 rad/s, 0 m/s, 0 rad/s"], ["--qd", "A", "'1 rad'"]),
        (["rne", "gsis-scara", *Q, "--payload", "4"], ["--payload", "mass", "no unit"]),
        (["rne", "gsis-scara", *Q, "--payload", "-4 kg"], ["--payload", "negative"]),
        (["rne", "gsis-scara", *Q, "--payload", "4 kg, 1 mm"], ["--payload", "centre"]),
        (["rne", "gsis-scara", *Q, "--wrench", "1 N"], ["--wrench", "expected 6"]),
        (["ikine", "gsis-scara", "--xyz", "2 m, 0 m, 0 m", "--rpy", "0 deg, 0 deg, 0 deg"], ["gsis-scara"]),
        (["ikine", "gsis-scara", "--xyz", "1 m, 0 m"], ["--xyz", "expected 3"]),
        (["convert", "gsis-scara", "robot.txt"], ["robot.txt", ".urdf"]),
        (["check", "a\nb.yaml"], ["b.yaml"]),
    ],
)  # fmt: skip
def test_bad_input_gives_one_line_and_exit_code_2(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    assert all(word in captured.err for word in words), captured.err


def test_process_exit_code_is_that_of_main() -> None:
    done = run("info", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert run("--version").returncode == 0


def test_interrupt_gives_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("servotwin.cli.catalogue.robots", interrupted)
    assert main(["robots"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_interrupt_of_process_is_quiet() -> None:
    command = [sys.executable, "-c", _WAITING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == ""


_WAITING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with it ignored
import servotwin.cli.catalogue

def wait(**_):
    print("ready", flush=True)
    time.sleep(60)

servotwin.cli.catalogue.robots = wait
from servotwin.cli.main import main
sys.exit(main(["robots"]))
"""


def test_reader_that_leaves_gives_no_message() -> None:
    command = [sys.executable, "-m", "servotwin.cli", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(timeout=60)
    assert err == b""
    assert code in (0, 141)  # 0 if everything had fitted into the pipe before it broke


def test_broken_pipe_gives_exit_code_141(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("servotwin.cli.catalogue.robots", broken)
    assert main(["robots"]) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["robots"], ["robots", "--json"]])
def test_full_disk_gives_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "servotwin.cli", *arguments]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_internal_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(**_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("servotwin.cli.catalogue.robots", wrong)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        main(["robots"])


def test_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "servotwin", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, __version__ in done.stdout) == (0, True)


@pytest.mark.parametrize("module", ["servotwin", "servotwin.cli"])
def test_module_works_in_a_folder_that_is_gone(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", module, "--version"]
    code = f"import os; os.rmdir(os.getcwd()); os.execv({sys.executable!r}, {command!r})"
    gone = tmp_path / "gone"
    gone.mkdir()
    ran = subprocess.run([sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
