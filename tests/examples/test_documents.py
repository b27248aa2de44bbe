"""What the documents show works: commands, and robot files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from servotwin.cli.main import main
from servotwin.description.load import read_description

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROBOT = "format: servotwin/1\nname: my-robot\nextends: gsis-scara\n"


def blocks(document: Path, language: str) -> list[str]:
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return pattern.findall(document.read_text(encoding="utf-8"))


def commands() -> list[str]:
    """The servotwin commands of all documents, without comments, pipes and redirections."""
    found = []
    for document in DOCUMENTS:
        for block in blocks(document, "sh"):
            lines = block.replace("\\\n", " ").splitlines()
            found += [re.split(r"\s(?:#|\||>)\s", line)[0].strip() for line in lines]
    return sorted({line for line in found if line.startswith("servotwin ")})


def robot_files() -> list[tuple[str, str]]:
    return [
        (f"{document.stem}-{i}", block)
        for document in DOCUMENTS
        for i, block in enumerate(blocks(document, "yaml"))
        if block.startswith("format:")
    ]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the files that the documents speak of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots").mkdir()
    for name in ("my-robot.yaml", "arm.yaml", "robots/one.yaml"):
        (tmp_path / name).write_text(ROBOT, encoding="utf-8")
    for name in ("my-robot.urdf", "arm.urdf"):
        assert main(["convert", "gsis-scara", name]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("command", commands())
def test_command_of_documents_runs(command: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, *words = shlex.split(command.replace("robots/*.yaml", "robots/one.yaml"))
    if words[0] == "convert":
        (desk / words[2]).unlink(missing_ok=True)
    assert main(words) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_documents_show_every_command() -> None:
    shown = {shlex.split(command)[1] for command in commands()}
    assert {"robots", "info", "check", "schema", "fkine", "ikine", "rne", "convert", "demo"} <= shown


@pytest.mark.parametrize(("name", "text"), robot_files(), ids=[name for name, _ in robot_files()])
def test_robot_file_of_documents_is_accepted(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    assert read_description(path).axes
