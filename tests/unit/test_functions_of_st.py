"""Whatever the command line can do is a function of ``st``: a command without one fails here."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
import typer.main

import servotwin as st
from servotwin.cli.app import app

# Command -> the function of st that it calls. A command that is added gets its line here, and its function there.
FUNCTIONS = {
    "robots": "list_robots",
    "info": "info",
    "check": "check",
    "schema": "schema",
    "fkine": "fkine",
    "ikine": "ikine",
    "rne": "rne",
    "equations": "derive",
    "convert": "convert",
    "simulate": "simulate",
    "compare": "compare",
    "tune": "tune",
    "optimise": "optimise_motion",
    "model": "study_model",
    "design": "design_state_feedback",
    "size": "size",
    "linetest": "line_test",
    "statics": "statics",
    "workspace": "workspace",
    "iso9283": "iso9283",
    "calibrate": "calibrate",
    "rig": "serve_rig",
    "hil": "substitute",
    "drives": "serve_drives",
    "control": "control_job",
    "jog": "jog",
    "console": "open_console",
    "demo": "demo",
    "catalogue list": "read_catalogue",
    "catalogue show": "read_catalogue",
    "catalogue import": "import_list",
    "catalogue export": "export_list",
    "bus scan": "scan_bus",
    "bus sdo read": "read_object",
    "bus sdo write": "write_object",
    "bus watch": "watch_objects",
    "job list": "list_jobs",
    "job check": "check_job",
    "job format": "format_job",
    "job plan": "plan_job",
    "job run": "run_job",
    "teach list": "list_points",
    "teach record": "record_point",
    "teach rename": "rename_point",
    "teach delete": "delete_point",
    "teach edit": "edit_point",
    "teach frame": "place_frame",
    "teach tool": "place_tool",
    "view": "view",
    "pendant": "teach_pendant",
}


def commands() -> list[str]:
    """All commands and subcommands, as a user types them."""

    def walk(command: Any, words: tuple[str, ...]) -> list[str]:
        inner = getattr(command, "commands", None)
        if inner is None:
            return [" ".join(words)]
        return [found for name, sub in inner.items() for found in walk(sub, (*words, name))]

    return walk(typer.main.get_command(app), ())


@pytest.mark.parametrize("command", commands())
def test_command_has_a_function_with_words_about_it(command: str) -> None:
    assert command in FUNCTIONS, f"'servotwin {command}' has no function in st: give it one, and a line here"
    function = getattr(st, FUNCTIONS[command])
    assert callable(function)
    assert inspect.getdoc(function)


def test_every_line_belongs_to_a_command() -> None:
    assert not set(FUNCTIONS) - set(commands())


def test_public_names_are_listed_once_and_found() -> None:
    assert len(set(st.__all__)) == len(st.__all__)
    for name in st.__all__:
        assert getattr(st, name) is not None
    assert not {name for name in st.__all__ if not name.startswith("_")} - set(dir(st)) - set(st._HOMES)


def test_public_name_is_not_that_of_a_package() -> None:
    """A package that is imported becomes an attribute of st, in place of a function of that name."""
    root = Path(st.__file__).parent
    packages = {path.stem for path in root.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert not packages & set(st.__all__)


def test_commands_hold_no_code_that_functions_of_st_lack() -> None:
    """Commands that were cut into parsing, a function of st and printing call that function."""
    folder = Path(st.__file__).parent / "cli"
    for module, called in {
        "files.py": {"check", "schema", "convert"},
        "kinematics.py": {"fkine", "ikine"},
        "dynamics.py": {"rne"},
        "compare.py": {"compare"},
        "jog.py": {"jog"},
        "teach.py": {
            "record_point",
            "rename_point",
            "delete_point",
            "edit_point",
            "place_frame",
            "place_tool",
        },
        "job.py": {"list_jobs", "check_job", "format_job"},
        "catalogue.py": {"list_robots"},
        "info.py": {"info"},
    }.items():
        tree = ast.parse((folder / module).read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("servotwin.workbench.")
            for alias in node.names
        }
        assert called <= imported, module
