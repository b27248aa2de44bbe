"""``servotwin model`` and ``servotwin design``: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import servotwin as st
from servotwin.cli.main import main


def run(*arguments: str) -> int:
    return main(list(arguments))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(*arguments) == 2
    out, error = capsys.readouterr()
    assert not out
    assert len(error.strip().splitlines()) == 1
    return error


def test_model_json_has_the_matrices_of_the_python_call(capsys):
    assert run("model", "manutec-r3-axis", "--q", "30 deg", "--sample", "1 ms", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    study = st.study_model("manutec-r3-axis", [np.radians(30.0)], period=1e-3)
    np.testing.assert_allclose(found["linear"]["A"], study.linear.A)
    np.testing.assert_allclose(found["sampled"]["A"], study.sampled.A)
    assert found["controllable"]["rank"] == 5
    assert found["still"] is True


def test_model_at_a_state_takes_values_pairs_and_files(tmp_path: Path, capsys):
    pairs = ("--state", "r2.current=2 A, r2.twist=0.01 rad", "--input", "r2.voltage=10 V")
    file = tmp_path / "state.json"
    file.write_text(
        json.dumps({"r2.current": 2, "r2.twist": "0.01 rad", "r2.voltage": "10 V"}), encoding="utf-8"
    )
    found = []
    for options in (pairs, ("--state", str(file))):
        assert run("model", "manutec-r3-axis", *options, "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["still"] is False
    names = [q["name"] for q in found[0]["linear"]["states"]]
    assert found[0]["linear"]["x0"][names.index("r2.current")] == 2.0
    model = st.state_space("manutec-r3-axis")
    np.testing.assert_allclose(found[0]["drift"], model.affine(found[0]["linear"]["x0"]).A)


def test_model_out_writes_page_and_files_that_other_programs_read(tmp_path: Path, capsys):
    folder = tmp_path / "model"
    assert run("model", "gsis-scara", "--out", str(folder)) == 0
    study = st.study_model("gsis-scara")
    mat = loadmat(folder / "model.mat")
    np.testing.assert_array_equal(mat["A"], study.linear.A)
    np.testing.assert_array_equal(mat["B"], study.linear.B)
    assert mat["state_names"][0, 0][0] == "A.position"
    text = (folder / "model.m").read_text(encoding="utf-8")
    rows = text[text.index("A = [") + 5 : text.index("];")].replace("\n", "").split(";")
    np.testing.assert_array_equal([[float(v) for v in row.split(",")] for row in rows], study.linear.A)
    page = (folder / "model.html").read_text(encoding="utf-8")
    for word in ("Pole map", "Who takes part", "Axis W", "A.current", "12 of 12"):
        assert word in page
    assert "http-equiv" in page
    assert 'src="http' not in page
    for name in ("model.txt", "model.tex", "model_equations.c", "model_equations.py", "model.json"):
        assert (folder / name).stat().st_size > 500
    # the folder is ours now; a foreign file in the way is not replaced
    assert run("model", "gsis-scara", "--out", str(folder)) == 0
    (folder / "model.txt").write_text("mine", encoding="utf-8")
    assert run("model", "gsis-scara", "--out", str(folder)) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--state", "1 A"), "--state: 1 values; expected 12"),
        (("--state", "A.curent=1 A"), "did you mean 'A.current'"),
        (("--state", "A.current=1 V"), "A.current: '1 V'"),
        (("--input", "A.voltage=24"), "has no unit"),
        (("--state", "nowhere.json"), "nowhere.json"),
        (("--outputs", "wheels"), "expected one of encoders, joints, tool, states"),
        (("--motors", "steam"), "expected one of described, ideal"),
        (("--gears", "both"), "expected one of lossless, driving, braking"),
        (("--sample", "0 s"), "more than zero"),
        (("--q", "1 rad"), "1 value; expected 4"),
    ],
)
def test_model_refuses_in_one_line(capsys, arguments, words):
    assert words in refused(capsys, "model", "gsis-scara", *arguments)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", "expected names and values"),
        ("{", "is not JSON"),
        ('{"A.wheel": 1}', "none of the model's"),
        ('{"A.current": true}', "expected a number in A"),
        ('{"A.current": NaN}', "expected a number in A"),
        ('{"A.current": "3 V"}', "A.current"),
    ],
)
def test_model_refuses_a_wrong_state_file_in_one_line(tmp_path: Path, capsys, text, words):
    file = tmp_path / "state.json"
    file.write_text(text, encoding="utf-8")
    error = refused(capsys, "model", "gsis-scara", "--state", str(file))
    assert words in error
    assert "state.json" in error


def test_model_of_a_motor_without_data_names_the_way_out(capsys):
    assert "--motors ideal" in refused(capsys, "model", "met-two-link")
    assert run("model", "met-two-link", "--motors", "ideal") == 0


def test_design_prints_gains_and_writes_them(tmp_path: Path, capsys):
    folder = tmp_path / "design"
    assert (
        run("design", "gsis-scara", "--bandwidth", "50 rad/s", "--plant", "separate", "--out", str(folder))
        == 0
    )
    found = json.loads((folder / "design.json").read_text(encoding="utf-8"))["state_feedback"]
    want = st.design_state_feedback("gsis-scara", bandwidth=50.0, separate=True)
    np.testing.assert_allclose(found["K"], want.K, rtol=1e-9)
    assert found["stable"] is True
    assert "Closed-loop poles" in (folder / "design.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "magic"), "expected one of lqr, poles"),
        (("--plant", "both"), "expected one of coupled, separate"),
        (("--bandwidth", "-3 rad/s"), "not above zero"),
        (("--scenario", "manutec-r3-move"), "expected a scenario of gsis-scara"),
    ],
)
def test_design_refuses_in_one_line(capsys, arguments, words):
    assert words in refused(capsys, "design", "gsis-scara", *arguments)


def test_design_compares_the_laws_on_a_scenario(tmp_path: Path, capsys):
    folder = tmp_path / "design"
    options = ("--scenario", "scara-a-axis-100deg", "--out", str(folder), "--json")
    assert run("design", "gsis-scara", *options) == 0
    found = json.loads(capsys.readouterr().out)["comparison"]
    tips = {item["law"]: item["tip_error_max_m"] for item in found}
    assert len(tips) == 6
    assert tips["state feedback, coupled"] < 0.05 * tips["cascade"]
    assert "Laws compared" in (folder / "design.html").read_text(encoding="utf-8")


def test_design_for_a_pose_is_not_compared_with_runs_that_design_at_home(capsys):
    text = refused(
        capsys, "design", "gsis-scara", "--q", "0 deg, 0 deg, 0 mm, 0 deg", "--scenario", "any.yaml"
    )
    assert text.startswith("--q: a run designs its law for the home pose")


def test_pressure_below_vacuum_is_refused(tmp_path: Path, capsys):
    file = tmp_path / "lift.yaml"
    file.write_text(
        """\
format: servotwin/1
name: lift
axes:
  z:
    type: prismatic
    origin: {}
    axis: [0, 0, 1]
    limits: {position: [0 mm, 400 mm], speed: 1 m/s}
    link: {mass: 60 kg}
    motor:
      kind: hydraulic
      valve:
        {rated_flow: 19 L/min, rated_drop: 70 bar, rated_current: 40 mA, natural_frequency: 100 Hz, damping: 0.8,
         null_leakage: 0.6 L/min, overlap: 3 %}
      cylinder: {area: 8 cm^2, rod_side_area: 5 cm^2, dead_volume: 30 cm^3}
hydraulics:
  supply_pressure: 100 bar
  tank_pressure: 2 bar
  oil: {bulk_modulus: 1.4 GPa, entrained_gas: 0.8 %}
"""
    )
    error = refused(capsys, "model", str(file), "--state", "z.pressure_a=-5 bar")
    assert "z.pressure_a = -500000 Pa is below vacuum" in error
    assert run("model", str(file), "--state", "z.pressure_a=-0.5 bar") == 0
