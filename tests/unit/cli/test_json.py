"""``--json``: every command that answers has it, and then nothing else stands on stdout."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import servotwin
from servotwin.cli.app import app
from servotwin.cli.main import main
from servotwin.jobs.program import SHIPPED

WITHOUT = {"console"}  # a screen with keys
JOINTS = "30 deg, 60 deg, 50 mm, 20 deg"
POINTS = "pick.points.yaml"
CATALOGUE = Path(servotwin.__file__).parent / "catalogue" / "gsis-scara.yaml"
# One call of every command that needs no simulation; those have their own tests of --json.
CALLS = {
    "robots": ["robots"],
    "info": ["info", "gsis-scara"],
    "check": ["check", str(CATALOGUE)],
    "schema": ["schema"],
    "catalogue list": ["catalogue", "list", "--kind", "screws"],
    "catalogue show": ["catalogue", "show", "gsw-20-100"],
    "catalogue import": ["catalogue", "import", "list.csv", "--out", "made.yaml"],
    "catalogue export": [
        "catalogue",
        "export",
        "generic-gears.yaml",
        "--kind",
        "screws",
        "--out",
        "screws.csv",
    ],
    "fkine": ["fkine", "gsis-scara", "--q", JOINTS],
    "ikine": ["ikine", "gsis-scara", "--xyz", "400 mm, 200 mm, -50 mm"],
    "rne": ["rne", "gsis-scara", "--q", JOINTS],
    "equations": ["equations", "gsis-scara"],
    "convert": ["convert", "gsis-scara", "out.yaml"],
    "tune": ["tune", "gsis-scara"],
    "model": ["model", "gsis-scara"],
    "design": ["design", "gsis-scara"],
    "size": ["size", "palletizer-4", "--job", "palletizer-line"],
    "linetest": ["linetest", "palletizer-4", "--speed", "1 m/s", "--acc", "4 m/s^2"],
    "statics": ["statics", "gsis-scara", "--q", JOINTS],
    "workspace": ["workspace", "gsis-scara"],
    "calibrate": ["calibrate", "gsis-scara", "--plan", "8"],
    "optimise": ["optimise", "gsis-scara", "--to", JOINTS],
    "jog": ["jog", "gsis-scara", "--joint", "A", "--by", "5 deg"],
    "simulate": ["simulate", "--list"],
    "rig": ["rig", "--firmware", "rig.c"],
    "job list": ["job", "list"],
    "job check": ["job", "check", "pick.job"],
    "job format": ["job", "format", "pick.job"],
    "job plan": ["job", "plan", "pick.job"],
    "teach list": ["teach", POINTS, "list"],
    "teach record": ["teach", POINTS, "record", "P7", "--q", JOINTS],
    "teach rename": ["teach", POINTS, "rename", "ready", "P8"],
    "teach delete": ["teach", POINTS, "delete", "ready"],
    "teach edit": ["teach", POINTS, "edit", "ready", "A=5 deg"],
    "teach frame": ["teach", POINTS, "frame", "F", "x=1 mm"],
    "teach tool": ["teach", POINTS, "tool", "T", "x=1 mm"],
}
SIMULATED = {"job run", "compare", "demo", "hil", "iso9283"}
ON_A_WIRE = {
    "pendant",  # served: tests/unit/pendant reads its --json
    "drives",
    "control",
    "bus scan",
    "bus sdo read",
    "bus sdo write",
    "bus watch",
}  # tests/crosscheck/test_own_master.py

PAGES = {"view"}  # served until they are ended: test_view.py


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands and subcommands by name."""
    below = getattr(command, "commands", None)
    if not below:
        yield " ".join(path), command
        return
    for name, child in below.items():
        yield from commands(child, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))


def test_every_command_but_the_console_has_json() -> None:
    without = {
        name for name, command in ALL.items() if "--json" not in [o for p in command.params for o in p.opts]
    }
    assert without == WITHOUT
    assert set(CALLS) | SIMULATED | ON_A_WIRE | PAGES | WITHOUT == set(
        ALL
    )  # a new command is called here too


@pytest.mark.parametrize("name", CALLS)
def test_stdout_is_json_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(SHIPPED / "scara-line.job", tmp_path / "pick.job")
    shutil.copy(SHIPPED / "scara-line.points.yaml", tmp_path / POINTS)
    (tmp_path / "list.csv").write_text("name,rated_torque [N*m]\nm1,3.5\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([*CALLS[name], "--json"]) == 0

    def no_number(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    assert json.loads(capsys.readouterr().out, parse_constant=no_number)
