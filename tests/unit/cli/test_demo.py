"""``demo``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs

from servotwin.cli import simulate
from servotwin.cli.main import main
from servotwin.simulation.results.folder import replaced_folder
from servotwin.simulation.results.mark import MARK
from servotwin.simulation.results.result_files import read_result
from tests import small_drives as small


def test_demo_writes_report_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1].endswith(str(out / "report.html"))
    runs = ["scara-a-axis-100deg", "scara-full-range"]
    assert sorted(path.name for path in out.iterdir()) == [MARK, "report.html", *runs, "summary.json"]
    page = (out / "report.html").read_text(encoding="utf-8")
    for run in runs:
        assert f'href="{run}/report.html"' in page
        assert (out / run / "signals.parquet").stat().st_size > 0


def test_demo_json_is_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    stored = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert {key: printed[key] for key in stored} == stored
    assert Path(printed["report"]).exists()


def test_demo_applies_overrides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--json", "--set", "variables.load=1 kg"]) == 0
    light = json.loads(capsys.readouterr().out)
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    heavy = json.loads(capsys.readouterr().out)
    assert light["motor_A_peak_torque_N_m"] < 0.95 * heavy["motor_A_peak_torque_N_m"]


def test_demo_into_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert main(["demo", "--out", str(blocked)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_demo_that_is_interrupted_keeps_its_run_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the first run: no second run, no page over both, not even one of an earlier demo."""

    @contextmanager
    def press(text: str) -> Iterator[Callable[[float], None]]:
        def stop(part: float) -> None:
            raise KeyboardInterrupt

        yield stop

    monkeypatch.setattr(simulate, "progress_bar", press)
    with replaced_folder(tmp_path, ["report.html"]) as place:
        (place / "report.html").write_text("earlier", encoding="utf-8")
    assert main(["demo", "--out", str(tmp_path)]) == 130
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("interrupted at 0.2 s; the result up to there is in")
    assert sorted(path.name for path in tmp_path.iterdir()) == [MARK, "scara-a-axis-100deg"]
    assert not read_result(tmp_path / "scara-a-axis-100deg").complete


def test_demo_that_diverges_keeps_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moves of a drive without limits under gains that are far too high."""
    axis = small.axis(motor={"kind": "ideal", "rotor_inertia": "1e-6 kg*m^2", "current_limit": "1e30 A"})
    axis["limits"] = {"speed": "4 rad/s"}
    gains = {"A": {"speed_proportional": "1e6 A*s/rad"}}
    path = small.write_case(
        tmp_path,
        small.robot({"controller": {"gains": gains}}, axes={"A": axis}),
        {"move": [{"to": {"A": "1 rad"}}]},
    )
    monkeypatch.setattr("servotwin.workbench.demonstration.SCENARIOS", (str(path), "scara-full-range"))
    out = tmp_path / "out"
    assert main(["demo", "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("small: diverged at")
    assert printed.err.count("\n") == 1
    assert sorted(path.name for path in out.rglob("*")) == [
        MARK, MARK, "report.html", "signals.parquet", "small", "summary.json",
    ]  # fmt: skip


def test_demo_page_tells_what_was_simulated(tmp_path: Path) -> None:
    changes = {
        "variables.load": "1.5 kg",
        "move.0.speed": "60 %",
        "move.0.ramp": "0.3 s",
        "solver.pwm": "averaged",
    }
    options = [part for field, value in changes.items() for part in ("--set", f"{field}={value}")]
    assert main(["demo", "--out", str(tmp_path), *options]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace(get_plotlyjs(), "")
    for word in (
        "at 60 % speed with a load of 1.5 kg", "A axis, 0 to 100 deg", "ramps of 0.3 s",
        "commanded every 16 ms, interpolated every 1.6 ms", "with the mean voltage of the PWM",
        "between the dashed lines is what a motor gives continuously",
    ):  # fmt: skip
        assert word in page, word
    for wrong in ("4 kg", "maximum payload", "every edge of the PWM", "edge by edge"):
        assert wrong not in page.replace("up to 4 kg", "").replace("with 4 kg (Lee et al.", ""), wrong
