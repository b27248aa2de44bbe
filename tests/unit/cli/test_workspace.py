"""``servotwin workspace`` and ``servotwin statics``: what they print, write and refuse."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main

OFFSET = """format: servotwin/1
name: offset
axes:
  A: {type: revolute, origin: {}, axis: [0, 0, 1], limits: {position: [-30 deg, 80 deg]}, link: {mass: 1 kg}}
  B: {type: revolute, origin: {xyz: [0 mm, OFFSET, 300 mm]}, axis: [0, 1, 0],
      limits: {position: [20 deg, 60 deg]}, link: {mass: 1 kg}}
  C: {type: revolute, origin: {xyz: [0 mm, 0 mm, 400 mm]}, axis: [0, 1, 0],
      limits: {position: [20 deg, 60 deg]}, link: {mass: 1 kg}}
tool: {xyz: [0 mm, 0 mm, 300 mm]}
home: {A: 0 deg, B: 40 deg, C: 40 deg}
"""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_workspace_writes_page_data_and_tables(capsys, tmp_path):
    folder = tmp_path / "ws"
    code, text, _ = run(capsys, "workspace", "palletizer-4", "--out", str(folder), "--json")
    assert code == 0
    data = json.loads(text)
    assert data["area_m2"] == pytest.approx(0.99191, abs=2e-5)
    stored = json.loads((folder / "workspace.json").read_text())
    ring = np.array(stored["boundary"]["side view"][0]["points_m"])
    assert len(ring) == len(stored["boundary"]["side view"][0]["limits"])
    after = np.roll(ring, -1, axis=0)
    area = 0.5 * float(np.sum(ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1]))
    assert area == pytest.approx(data["area_m2"], rel=1e-6)
    with (folder / "boundary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["view"] for row in rows} == {"side view", "top view"}
    assert float(rows[0]["x_m"]) == pytest.approx(ring[0, 0], abs=1e-8)
    with (folder / "map.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    robot = st.load_robot("palletizer-4")
    assert all(0.0 < float(row["dexterity"]) <= 1.0 for row in cells[::50])
    assert "speed" in cells[0]
    assert robot.name in (folder / "workspace.html").read_text()


def test_height_of_zero_has_no_sign(capsys):
    code, text, _ = run(capsys, "workspace", "gsis-scara")
    assert code == 0
    assert "z -150.0 .. 0.0" in text


@pytest.mark.parametrize(
    ("offset", "words"),
    [("0 mm", "volume and cube come from the view"), ("80 mm", "volume comes from the view")],
)
def test_page_names_a_cube_where_there_is_one(offset, words, tmp_path):
    path = tmp_path / "offset.yaml"
    path.write_text(OFFSET.replace("OFFSET", offset))
    st.workspace(path, tolerance=1e-3).report(tmp_path / "ws")
    assert words in (tmp_path / "ws" / "workspace.html").read_text()


def test_workspace_prints_limits(capsys):
    code, text, _ = run(capsys, "workspace", "gsis-scara")
    assert code == 0
    for words in ("top view", "stretched or folded arm", "A at most 120 deg", "largest cube", "volume"):
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("palletizer-4", "--cube", "2 m, 0 m, 0 m, 300 mm"), "a cube of 300 mm is out of reach at"),
        (
            ("palletizer-4", "--set", "quantities.incidence-1.limits=[10 deg, 11 deg]"),
            "the workspace is empty: no position of th2 and th3 is within all limits",
        ),
        (("palletizer-4", "--joints", "th2,th9"), "has no joint 'th9'; it has: th1, th2, th3, th5"),
        (("palletizer-4", "--joints", "th2"), "expected two different joints"),
        (("palletizer-4", "--joints", "th1,th5"), "these joints do not move 'tool' in a plane"),
        (("gsis-scara", "--joints", "A,W"), "these joints do not move 'tool' in a plane"),
        (("palletizer-4", "--cube", "1 m, 0 m, 0 m, -100 mm"), "edge -0.1 m; expected more than 0 m"),
        (("palletizer-4", "--tolerance", "2 m"), "expected 1e-7 m to 0.1 m"),
        (("palletizer-4", "--payload=-1 kg"), "expected a mass of at least 0 kg"),
        (("palletizer-4", "--set", "quantities.incidence-9.limits=[10 deg, 11 deg]"), "incidence-9"),
        (("delta", "--payload", "1 kg"), "a payload bounds nothing"),
    ],
)
def test_workspace_refuses_in_one_line(capsys, arguments, message):
    code, text, error = run(capsys, "workspace", *arguments)
    assert (code, text) == (2, "")
    assert message in error
    assert error.count("\n") == 1


def test_statics_prints_and_writes(capsys, tmp_path):
    folder = tmp_path / "st"
    code, text, _ = run(
        capsys, "statics", "palletizer-4", "--force", "0 N, 0 N, -100 N", "--stiffness", "th2=2e5 N*m/rad",
        "--out", str(folder),
    )  # fmt: skip
    assert code == 0
    for words in ("Actuators, behind their gears", "incidence-1", "singular values", "stiffness"):
        assert words in text
    data = json.loads((folder / "statics.json").read_text())
    assert data["tau_force"]["th2"] == pytest.approx(-65.0)
    assert data["tau_actuator"]["th2"] == pytest.approx(0.0, abs=1e-9)


def test_statics_at_a_place_is_that_of_its_joints(capsys):
    code, text, _ = run(capsys, "statics", "palletizer-4", "--xyz", "965 mm, 0 mm, 700 mm", "--json")
    assert code == 0
    q = json.loads(text)["q"]
    assert list(q.values()) == pytest.approx(np.radians([0.0, 90.0, -90.0, 0.0]), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stiffness", "th2"), "is not name=value"),
        (("--stiffness", "x=3 N*m/rad"), "no actuator 'x'"),
        (("--force", "1 N, 2 N"), "expected 3"),
        (("--xyz", "5 m, 0 m, 0 m"), "the arm reaches"),
        (("--q", "0 deg, 90 deg, -90 deg, 0 deg", "--xyz", "1 m, 0 m, 0 m"), "exclude each other"),
    ],
)
def test_statics_refuses_in_one_line(capsys, arguments, message):
    code, _, error = run(capsys, "statics", "palletizer-4", *arguments)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_statics_of_a_stretched_arm_prints_and_writes_json(capsys, tmp_path):
    """The SCARA stands stretched at home: forces along the arm have no bound, which JSON has no number for."""
    arguments = ("statics", "gsis-scara", "--stiffness", "A=1e5 N*m/rad", "--stiffness", "B=1e5 N*m/rad")
    code, text, _ = run(capsys, *arguments, "--out", str(tmp_path / "st"), "--json")
    assert code == 0
    for data in (json.loads(text), json.loads((tmp_path / "st" / "statics.json").read_text())):
        assert data["singular"]
        assert None in data["force_ellipsoid"]["lengths"]


def test_payload_is_the_whole_one_in_both_commands(capsys):
    """30 kg in the file and 30 kg on the command line are 30 kg; another mass takes their place, with a note."""
    loaded = ("palletizer-4", "--set", "variables.load=30 kg")
    _, text, _ = run(capsys, "statics", *loaded, "--json")
    _, again, _ = run(capsys, "statics", *loaded, "--payload", "30 kg", "--json")
    assert json.loads(again)["tau_gravity"] == pytest.approx(json.loads(text)["tau_gravity"])
    code, text, notes = run(capsys, "workspace", *loaded, "--payload", "20 kg", "--tolerance", "1 mm")
    assert code == 0
    assert "payload 20 kg in all" in text
    assert "payload 20 kg in place of the file's 30 kg" in notes
