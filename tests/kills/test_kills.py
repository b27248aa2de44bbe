"""A sample of the campaign that kills every command that writes; ``make kills`` runs all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDERS = ("simulate", "simulate here")
FILES = (
    "schema",
    "equations code",
    "convert to yaml",
    "job format",
    "rig firmware",
    "teach edit",
    "teach rename",
    "jog record",
    "pendant rename",
    "pendant save",
)


@pytest.mark.parametrize("names", [FOLDERS, FILES])
def test_killed_command_leaves_the_old_or_the_new_result(names: tuple[str, ...]) -> None:
    script = Path(__file__).with_name("campaign.py")
    command = [sys.executable, str(script), "--kills", "3", "--seed", "5", "--only", ",".join(names)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.count("no mixture") == len(names)
