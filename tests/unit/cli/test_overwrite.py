"""Commands never replace or remove what they did not write, unless told to; they say so before they work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from servotwin.cli.main import main
from servotwin.report.simulation_files import write_result
from synthetic_result import synthetic_result

COMMANDS = {
    "simulate": ["simulate", "scara-a-axis-100deg"],
    "job": ["job", "run", "scara-line"],
    "tune": ["tune", "gsis-scara"],
    "demo": ["demo"],
}
NAMES = {"simulate": "report.html", "job": "zoom.parquet", "tune": "tuning.html", "demo": "report.html"}
FILES = {
    "schema": ["schema", "--out", "a.json"],
    "equations": ["equations", "met-two-link", "--out", "a.txt"],
    "numbered": ["equations", "met-two-link", "--numbered", "--out", "a.c"],
    "urdf": ["convert", "met-two-link", "a.urdf"],
    "yaml": ["convert", "met-two-link", "a.yaml"],
    "firmware": ["rig", "--firmware", "a.c"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", list(COMMANDS))
@pytest.mark.parametrize("out", [".", "place"])
@pytest.mark.parametrize("foreign", ["notes.txt", None])
def test_folder_of_the_user_is_refused_before_the_work(
    command: str,
    out: str,
    foreign: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("the work was begun")

    for work in (
        "servotwin.simulation.run.prepare",
        "servotwin.simulation.job_run.run_job",
        "servotwin.design.tuning.tune",
    ):
        monkeypatch.setattr(work, too_late)
    name = foreign or NAMES[command]
    Path(out).mkdir(exist_ok=True)
    (Path(out) / name).write_text("mine", encoding="utf-8")
    assert main([*COMMANDS[command], "--out", out]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert name in printed.err
    assert "--overwrite" in printed.err
    assert [path.name for path in Path(out).iterdir()] == [name]
    assert (Path(out) / name).read_text(encoding="utf-8") == "mine"


def test_comparison_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(synthetic_result(51), "run", report=False)
    for name in ("place/comparison.html", "run/comparison/notes.txt"):
        Path(name).parent.mkdir()
        Path(name).write_text("mine", encoding="utf-8")
    for out in (["--out", "place"], []):  # by default beside the result
        assert main(["compare", "run", "nowhere.csv", *out]) == 2
        assert "--overwrite" in capsys.readouterr().err


def test_tuning_is_written_beside_notes_if_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.txt").write_text("mine", encoding="utf-8")
    assert main(["tune", "gsis-scara", "--out", ".", "--overwrite"]) == 0
    assert main(["tune", "gsis-scara", "--out", "."]) == 0  # now the folder bears our mark
    assert Path("notes.txt").read_text(encoding="utf-8") == "mine"
    Path("tuning.html").write_text("edited", encoding="utf-8")
    capsys.readouterr()
    assert main(["tune", "gsis-scara", "--out", "."]) == 2
    assert "tuning.html: was changed since servotwin wrote it" in capsys.readouterr().err


@pytest.mark.parametrize("command", list(FILES))
def test_existing_file_is_replaced_only_if_told(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = FILES[command]
    target = Path(words[-1])
    target.write_text("mine", encoding="utf-8")
    target.chmod(0o640)
    assert main(words) == 2
    assert capsys.readouterr().err == f"{target}: the file exists; add --overwrite to replace it\n"
    assert target.read_text(encoding="utf-8") == "mine"
    assert main([*words, "--overwrite"]) == 0
    assert target.read_text(encoding="utf-8") != "mine"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("command", list(FILES))
def test_link_is_never_written_through(command: str) -> None:
    words = FILES[command]
    Path("mine").write_text("mine", encoding="utf-8")
    Path(words[-1]).symlink_to("mine")
    assert main(words) == 2
    assert main([*words, "--overwrite"]) == 0
    assert Path("mine").read_text(encoding="utf-8") == "mine"
    assert not Path(words[-1]).is_symlink()


def test_dangling_link_is_a_file_that_exists() -> None:
    Path("a.json").symlink_to("nowhere")
    assert main(["schema", "--out", "a.json"]) == 2
    assert not Path("nowhere").exists()


def test_pipe_or_device_is_never_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("a.json")
    assert main(["schema", "--out", "a.json", "--overwrite"]) == 2
    assert "a device or a pipe" in capsys.readouterr().err
    assert Path("a.json").is_fifo()


def test_force_of_convert_is_still_understood(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text("mine", encoding="utf-8")
    assert main(["convert", "met-two-link", "a.yaml", "--force"]) == 0
    capsys.readouterr()
    assert main(["convert", "--help"]) == 0
    assert "--force" not in capsys.readouterr().out


@pytest.mark.parametrize("out", [".", "place"])
def test_edited_report_of_an_earlier_run_does_not_stay_beside_new_signals(
    out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page, run = Path(out) / "report.html", ["simulate", "scara-a-axis-100deg", "--out", out]
    assert main(run) == 0
    (Path(out) / "notes.txt").write_text("mine", encoding="utf-8")
    page.write_text(page.read_text(encoding="utf-8") + "<p>my remark</p>", encoding="utf-8")
    signals = (Path(out) / "signals.parquet").read_bytes()
    capsys.readouterr()
    changed = [*run, "--no-report", "--set", "record.every=2 ms"]
    assert main(changed) == 2
    told = capsys.readouterr().err
    assert "report.html: was changed since servotwin wrote it; choose another folder with --out, or" in told
    assert told.count("\n") == 1
    assert (Path(out) / "signals.parquet").read_bytes() == signals
    assert page.exists()
    assert main([*changed, "--overwrite"]) == 0
    assert (Path(out) / "signals.parquet").read_bytes() != signals
    assert not page.exists()
    assert (Path(out) / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_report_that_was_never_ours_stays_with_overwrite() -> None:
    Path("report.html").write_text("mine", encoding="utf-8")
    run = ["simulate", "scara-a-axis-100deg", "--out", ".", "--no-report", "--overwrite"]
    assert main(run) == main(run) == 0
    assert Path("report.html").read_text(encoding="utf-8") == "mine"
