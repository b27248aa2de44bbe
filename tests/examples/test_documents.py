"""What the documents show works: commands, and robot files."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import get_args

import pytest

from servotwin.cli.app import app
from servotwin.cli.main import main
from servotwin.description.fields import Part
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial-urdf-to-report.md"  # its commands build on each other
HYDRAULIC = ROOT / "docs" / "tutorial-hydraulic-axis.md"  # and so do these
SUBSTITUTION = ROOT / "docs" / "motor-substitution.md"  # commands of it take files that it shows
START = ROOT / "docs" / "start.md"  # and those of the tutorials for each kind of reader
READERS = {
    START: (
        "out/reach/workspace.html",
        "out/first/report.html",
        "out/sizing/sizing.html",
        "out/chosen/sizing.html",
    ),
    ROOT / "docs" / "tutorial-robot-designer.md": ("out/reach/workspace.html", "out/push/statics.html"),
    ROOT / "docs" / "tutorial-drives-engineer.md": ("out/tune/tuning.html", "out/unknown/report.html"),
    ROOT / "docs" / "tutorial-operator.md": ("out/cell/report.html",),
}
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(set((ROOT / "docs").rglob("*.md")) - {TUTORIAL, HYDRAULIC, *READERS}),
]
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
        if block.startswith("format: servotwin/")
    ]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A robot as URDF."""
    path = tmp_path_factory.mktemp("converted") / "arm.urdf"
    assert main(["convert", "gsis-scara", str(path)]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], converted: str
) -> Path:
    """A folder with the files that the documents speak of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots").mkdir()
    for name in ("my-robot.yaml", "arm.yaml", "robots/one.yaml"):
        (tmp_path / name).write_text(ROBOT, encoding="utf-8")
    for name, text in tutorial_steps(SUBSTITUTION):
        if name != "sh":
            (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("my-robot.urdf", "arm.urdf"):
        (tmp_path / name).write_text(converted, encoding="utf-8")
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


def parts_of(annotation: object) -> list[type[Part]]:
    """The parts of a description inside a type."""
    own = [annotation] if isinstance(annotation, type) and issubclass(annotation, Part) else []
    return own + [part for inner in get_args(annotation) for part in parts_of(inner)]


def all_parts(top: type[Part]) -> list[type[Part]]:
    found: list[type[Part]] = []
    waiting = [top]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.append(part)
            waiting += [p for info in part.model_fields.values() for p in parts_of(info.annotation)]
    return found


@pytest.mark.parametrize("part", all_parts(RobotDescription), ids=lambda part: part.__name__)
def test_every_field_of_a_robot_file_stands_in_the_reference(part: type[Part]) -> None:
    """In a table, or in a list of fields such as `limits: {position, speed}`."""
    text = (ROOT / "docs" / "description.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    lists = re.findall(r"`[^`]*`", text)
    words = set(re.findall(r"\w+", " ".join(rows + lists)))
    assert not set(part.model_fields) - words


def test_command_page_lists_every_command() -> None:
    import typer.main

    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| \[`(\w+)", text, re.MULTILINE))
    headings = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    group = typer.main.get_command(app)
    commands = getattr(group, "commands")  # noqa: B009
    assert listed == set(commands)
    for name, command in commands.items():
        assert any(name in heading.split() for heading in headings), name
        for inner in getattr(command, "commands", {}):
            assert re.search(rf"`{name} (POINTS )?{inner}\b", text), f"{name} {inner}"
        for option in (o for p in command.params for o in p.opts if o.startswith("--")):
            assert option in text, f"{name} {option}"


# --- the tutorial ----------------------------------------------------------------------------------


def tutorial_steps(page: Path) -> list[tuple[str, str]]:
    """What a tutorial does in its order: ('sh', commands), or (file name, text of the file)."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(r"(?:`([\w.-]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    found = []
    for name, language, block in pattern.findall(text):
        if language == "sh":
            found.append(("sh", block))
        elif name:
            found.append((name, block))
    return found


PAGES = {
    TUTORIAL: ("out/swing/report.html", "out/tune/tuning.html", "out/pick/report.html"),
    HYDRAULIC: (
        "out/up/report.html",
        "out/tune/tuning.html",
        "out/design/design.html",
        "out/fastest/optimal.html",
    ),
    **READERS,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tutorial_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # as in a clone
    ran = 0
    for what, block in tutorial_steps(page):
        if what != "sh":
            Path(what).write_text(block, encoding="utf-8")
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["cp"]:
                shutil.copy(words[1], words[2])
            elif words[:1] == ["mkdir"]:
                Path(words[1]).mkdir()
            elif words[:1] == ["cd"]:
                monkeypatch.chdir(Path(words[1]).resolve())
            elif words:
                assert words[0] == "servotwin", line
                assert main(words[1:]) == 0, capsys.readouterr().err
                ran += 1
    assert ran >= (5 if page in READERS else 6)
    for written in PAGES[page]:
        assert Path(written).stat().st_size > 100_000
    shown = "".join(capsys.readouterr())
    assert "warning: played" not in shown  # an optimal motion is played within its limits
    assert "the cycle does not end where it begins" not in shown


def test_numbers_that_the_tutorial_prints_are_those_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks that begin with '$ servotwin' show a command and what it prints."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "six-axis" / "six-axis.urdf", tmp_path)
    shown = re.findall(
        r"^```\n\$ (servotwin .*?)\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.M | re.S
    )
    assert shown
    for command, expected in shown:
        assert main(shlex.split(command)[1:]) in (0, 2)
        printed = capsys.readouterr()
        for line in expected.strip().splitlines():
            assert line.strip() in printed.out + printed.err, line


def test_numbers_that_the_page_on_comparing_prints_are_those_of_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To 0.2 %: the last of four digits may depend on the machine."""
    page = ROOT / "docs" / "compare.md"
    monkeypatch.chdir(tmp_path)
    exec(blocks(page, "python")[0], {})  # noqa: S102 - the lines that write the logs
    model = next(block for block in blocks(page, "yaml") if "model-high" in block)
    for speed in ("low", "high"):
        (tmp_path / f"model-{speed}.yaml").write_text(model.replace("high", speed), encoding="utf-8")
    session = (
        page.read_text(encoding="utf-8").split("```\n$ servotwin simulate model-low", 1)[1].split("```")[0]
    )
    session = f"$ servotwin simulate model-low{session}"
    capsys.readouterr()
    for part in session.split("$ servotwin ")[1:]:
        command, _, printed = part.partition("\n")
        assert main(shlex.split(command)) == 0
        found = capsys.readouterr().out
        if not command.startswith("compare"):
            continue
        for line in printed.splitlines():
            if line.startswith(("joint_", "motor_", "time shift")):
                name = line.split()[0] if "shift" not in line else "time shift"
                now = next(other for other in found.splitlines() if other.startswith(name))
                assert numbers_in(now) == pytest.approx(numbers_in(line), rel=2e-3, abs=1e-3)
                assert numbers_in(now)[:2] == pytest.approx(numbers_in(line)[:2], rel=2e-3)


def numbers_in(line: str) -> list[float]:
    return [float(text) for text in re.findall(r"(?<![\w/])-?\d+\.?\d*(?:e-?\d+)?", line)]


# --- actuators of your own --------------------------------------------------------------------------


def test_page_of_own_actuators_works_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files, which are those of the example, and its commands in their order."""
    page = ROOT / "docs" / "own-actuator.md"
    pattern = re.compile(r"`([\w.-]+)`:\n\n^```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
    files = dict(pattern.findall(page.read_text(encoding="utf-8")))
    assert set(files) == {"slide.py", "robot.yaml", "lift.yaml"}
    for name, text in files.items():
        assert text == (ROOT / "examples" / "own-actuator" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert (tmp_path / "out" / "lift" / "report.html").exists()


# --- Python in the pages for readers --------------------------------------------------------------------

WITH_PYTHON = (
    "python.md",
    "tutorial-drives-engineer.md",
    "tutorial-controller-developer.md",
    "tutorial-notebooks.md",
)


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_of_a_page_for_readers_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / "docs" / name, "python")
    assert found
    for block in found:
        exec(compile(block, name, "exec"), {})  # noqa: S102 - the page's own lines


def test_page_of_functions_says_what_docstrings_say() -> None:
    """``python tools/python_page.py`` writes it; every public name stands on it once."""
    import servotwin as st
    from tools.python_page import GROUPS, PAGE, page_text

    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(set(st.__all__) - {"__version__"})
    assert PAGE.read_text(encoding="utf-8") == page_text()
