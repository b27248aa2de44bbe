"""``servotwin optimise``: numbers, files, refusals in one line."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("casadi")

from servotwin.cli import optimise
from servotwin.cli.main import main
from servotwin.motion.optimal.result import LimitUse

GOAL = "70 deg, -60 deg, 100 mm, 90 deg"
Capture = pytest.CaptureFixture[str]


def test_optimum_is_printed_with_its_limits_and_the_s_curve(capsys: Capture) -> None:
    assert main(["optimise", "gsis-scara", "--to", GOAL]) == 0
    out = capsys.readouterr().out
    assert "the best S-curve takes" in out
    assert "one more unit saves" in out


def test_report_summary_and_signals_are_written(tmp_path: Path, capsys: Capture) -> None:
    import servotwin as st

    folder = tmp_path / "out"
    assert (
        main(["optimise", "gsis-scara", "--to", GOAL, "--temperature", "--out", str(folder), "--json"]) == 0
    )
    printed = json.loads(capsys.readouterr().out)
    summary = json.loads((folder / "optimal.json").read_text(encoding="utf-8"))
    assert summary["duration_s"] == printed["duration_s"] > 0.1
    assert len(summary["active"]) == 101
    page = (folder / "optimal.html").read_text(encoding="utf-8")
    assert "What limits it" in page
    assert 'src="http' not in page
    pyarrow = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.read_table(folder / "optimal.parquet")
    q = [
        table[f"q {name} [{unit}]"].to_pylist()[-1]
        for name, unit in zip("ABZW", ("rad", "rad", "m", "rad"), strict=True)
    ]
    assert st.load_robot("gsis-scara").fkine(q)[0, 3] == pytest.approx(0.4151, abs=1e-3)


def test_second_run_into_the_same_folder_needs_overwrite_only_for_foreign_files(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "optimal.json").write_text("mine", encoding="utf-8")
    assert main(["optimise", "gsis-scara", "--to", GOAL, "--out", str(folder)]) == 2
    assert (folder / "optimal.json").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--duration", "0.1 s"], "too short; the quickest is"),
        (["--objective", "fun"], "objective: "),
        (["--keep-out", "nowhere"], "is not a region"),
        (["--without", "gravity"], "no limit 'gravity'"),
        (["--bus-power", "3 kg"], "--bus-power"),
        (["--from", "170 deg, 0 deg, 0 mm, 0 deg"], "axis A would stand at 170 deg"),
    ],
)
def test_refusal_is_one_line_and_exit_code_2(more: list[str], text: str, capsys: Capture) -> None:
    assert main(["optimise", "gsis-scara", "--to", GOAL, *more]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert "Traceback" not in error


def test_path_through_points_and_energy_mixture(capsys: Capture) -> None:
    via = ["--via", "10 deg, 20 deg, 20 mm, 0 deg"]
    assert main(["optimise", "gsis-scara", "--to", GOAL, *via, "--json"]) == 0
    quick = json.loads(capsys.readouterr().out)
    assert main(["optimise", "gsis-scara", "--to", GOAL, *via, "--energy-weight", "0.05 s/J", "--json"]) == 0
    cheap = json.loads(capsys.readouterr().out)
    assert cheap["duration_s"] > quick["duration_s"]
    assert cheap["copper_loss_J"] < 0.7 * quick["copper_loss_J"]


def test_optimum_is_played_on_the_drive_level_simulator(tmp_path: Path, capsys: Capture) -> None:
    """With speeds and torques fed forward the tool stays within millimetres of a motion at the limits."""
    run = tmp_path / "run"
    arguments = ["optimise", "gsis-scara", "--to", GOAL, "--reserve", "0.1", "--play", str(run), "--json"]
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert summary["tip_error_max_m"] == printed["played"]["tip_error_max_m"] < 8e-3
    assert printed["played"]["tip_error_final_m"] < 1e-4
    assert Path(printed["played"]["report"]).is_file()
    assert printed["played"]["warnings"] == summary["warnings"]


def test_warnings_of_the_played_run_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    uses = (
        LimitUse("valve flow", "Z", 1.0, "strokes", 1.0, 0.5, 0.403),
        LimitUse("range", "X", 0.0, "m", 1.0, 0.1, 0.0),
    )
    motion = SimpleNamespace(
        robot="gantry", duration=1.0, objective="time", objective_unit="s", baseline=None, electric=False,
        iterations=9, seconds=0.1, limits=uses, notes=(), valves=(),
    )  # fmt: skip
    played = {
        "tip_error_max_m": 1e-3,
        "tip_error_final_m": 0.0,
        "report": "r.html",
        "warnings": ["Z cavitated"],
    }
    monkeypatch.setattr(optimise, "_solved", lambda *_, **__: motion)
    monkeypatch.setattr(optimise, "_play", lambda *_, **__: played)
    optimise.optimise("gantry", None, None, None, None, play="run")
    printed = capsys.readouterr()
    assert "warning: played: Z cavitated" in printed.err
    assert "1 stroke " in printed.out
    assert "bound at 0 m" in printed.out
