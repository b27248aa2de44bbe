"""``servotwin simulate`` and ``check`` with substitution scenarios and rigs, and their pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.description.fields import Part
from servotwin.hil.result import steady_part
from servotwin.hil.rig_file import RigFile
from servotwin.hil.scenario import FOLDER, is_substitution, substitution_names
from servotwin.hil.scenario_parts import SubstitutionFile
from servotwin.report.substitution_page import Histogram, felt_figure, substitution_page
from servotwin.simulation.results.result_files import read_result

HANDBOOK = Path(__file__).resolve().parents[3] / "docs" / "motor-substitution.md"


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_simulate_runs_met_pure_and_writes_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "met-pure", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["substituted"] == []
    assert said["final_rates"]["J1"] == pytest.approx(0.03, rel=1e-3)
    assert all(Path(said[name]).is_file() for name in ("report", "summary", "signals"))


def test_simulate_of_a_substituted_joint_stores_both_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "met-substituted", "--seed", "3", "--no-report"]) == 0
    assert re.search(r"J1 +substituted", capsys.readouterr().out)
    saved = read_result("out/met-substituted")
    result = st.substitute("met-substituted", {"seed": "3"})
    assert (saved.signals["joint_J2_velocity_rad_per_s"] == result.run.joint("J2", "qd")).all()
    assert result.pure is not None
    assert (saved.signals["pure_joint_J1_velocity_rad_per_s"] == result.pure.joint("J1", "qd")).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["met-substituted", "--set", "substitute.filter.cut_off=50 Hz"], "half of the servo's rate, 50 Hz"),
        (
            ["met-substituted", "--set", "substitute.joints=[J9]"],
            "'J9' is not an axis; expected one of J1, J2",
        ),
        (["met-pure", "--method", "rk4"], "--method: a substitution scenario does not have it"),
        (["met-puree"], "did you mean 'met-pure'"),
    ],
)
def test_simulate_refuses_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_diverging_run_keeps_what_there_is_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["integration.at=arm", "integration.rotor_inertia=false", "servo.torque_limit=1e9 N*m"]
    assert (
        main(["simulate", "met-pure", *(word for c in changes for word in ("--set", c)), "--no-report"]) == 1
    )
    assert "diverged" in capsys.readouterr().err
    assert Path("out/met-pure/signals.parquet").is_file()


def test_list_names_every_scenario_that_ships(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--list", "--json"]) == 0
    names = {line["name"] for line in json.loads(capsys.readouterr().out)}
    assert set(substitution_names()) <= names


def test_check_knows_rigs_and_substitution_scenarios(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rig = tmp_path / "my-rig.yaml"
    rig.write_text("extends: met-rig\nname: my-rig\n")
    assert main(["check", str(FOLDER / "met-substituted.yaml"), str(rig)]) == 0
    said = capsys.readouterr().out
    assert "substitution scenario of met-two-link, on the rig: J1, 5 s" in said
    assert "rig my-rig, 1 shaft" in said


def test_file_that_extends_itself_is_no_substitution_scenario(tmp_path: Path) -> None:
    file = tmp_path / "loop.yaml"
    file.write_text("extends: loop.yaml\n")
    assert not is_substitution(file)


def test_simulate_of_python_leads_to_substitute() -> None:
    with pytest.raises(st.InputError, match=r"substitute\('met-pure'\)"):
        st.simulate("met-pure")


def test_page_has_both_runs_noise_link_and_histograms_and_asks_nothing_of_the_network() -> None:
    result = st.substitute("met-substituted", {"duration": "1 s"})
    edges = np.array([1.0, 2.0, 5.0])
    times = Histogram("compute time", edges, np.array([90.0, 10.0]), {"p50": 1.5, "p99.9": 4.0})
    page = substitution_page(result, link={"lost": 3, "round_trip_us": 40.25}, histograms=[times])
    for word in (
        "Difference of the rates",
        "Spectrum of the joint rates",
        "compute time",
        "round_trip_us",
        "p99.9",
    ):
        assert word in page
    text = page[: page.index("<script>")] + page[page.rindex("</script>") :]
    assert "http" not in re.sub(r"Content-Security-Policy|http-equiv", "", text)


def parts_of(annotation: object) -> list[type[Part]]:
    """The parts inside a type."""
    own = [annotation] if isinstance(annotation, type) and issubclass(annotation, Part) else []
    return own + [part for inner in get_args(annotation) for part in parts_of(inner)]


def all_parts(top: type[Part]) -> list[type[Part]]:
    """The parts of a file."""
    found: list[type[Part]] = []
    waiting: list[Any] = [top]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.append(part)
            waiting += [p for info in part.model_fields.values() for p in parts_of(info.annotation)]
    return found


@pytest.mark.parametrize(
    "part", [*all_parts(SubstitutionFile), *all_parts(RigFile)], ids=lambda part: part.__name__
)
def test_every_field_stands_in_the_handbook(part: type[Part]) -> None:
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", HANDBOOK.read_text(encoding="utf-8")))))
    assert not set(part.model_fields) - words


def test_interrupt_before_the_first_row_leaves_no_result_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from servotwin.hil import run

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_ticks", interrupted)
    assert main(["simulate", "met-substituted", "--out", "out"]) == 130
    assert not list(tmp_path.rglob("summary.json"))


def test_interrupt_of_the_pure_arm_keeps_the_substituted_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from servotwin.hil import run

    plain, calls = run.run_substitution, []

    def second_interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(run, "run_substitution", second_interrupted)
    result = st.substitute("met-substituted", {"duration": "0.2 s"}, warn=lambda text: None)
    assert result.pure is None
    assert result.run.complete
    assert "interrupted before its first row" in result.run.warnings[-1]


MOVED = """extends: met-substituted
name: moved
duration: 2 s
command:
  - {at: 0 s, rates: {J1: 0.03 rad/s}}
  - {at: 1.5 s, rates: {J1: 0.01 rad/s}}
environment: {base: {x: [[0.2 s, 0.01 m/s^2], [0.4 s, 0 m/s^2]]}}
"""


def test_base_is_no_joint_of_the_page_and_spectra_hold_no_step(tmp_path: Path) -> None:
    (tmp_path / "moved.yaml").write_text(MOVED, encoding="utf-8")
    result = st.substitute(tmp_path / "moved.yaml")
    assert result.run.joint_names == ("J1", "J2", "base_x")
    assert list(result.differences) == list(result.summary()["final_rates"]) == ["J1", "J2"]
    assert {name for name in result.signals if name.startswith("base")} == {
        "base_x_q",
        "base_x_qd",
        "base_x_qdd",
    }
    shown = result.run.time[steady_part(result.run)]
    assert (shown[0], shown[-1]) == pytest.approx((0.75, 1.49))
    page = substitution_page(result)
    assert "Spectra from 0.75 to 1.49 s" in page
    assert "base_x" not in page
    felt = felt_figure(result.run, "J1", 0)
    assert [trace.yaxis for trace in felt.data] == [None, "y2"]
