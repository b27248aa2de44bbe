"""``servotwin iso9283``: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.errors import InputError

# two poses without the sources that take long to compute
TABLE = "name,x_mm,y_mm,z_mm,yaw_deg\nA,400,0,-50,90\nB,380,40,-60,90\n"
QUICK = (
    "--cycles",
    "3",
    "--rest",
    "0.2 s",
    "--workers",
    "1",
    "--off",
    "torsion,hysteresis,transmission_error",
)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["iso9283", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def poses(tmp_path: Path) -> str:
    file = tmp_path / "poses.csv"
    file.write_text(TABLE, encoding="utf-8")
    return str(file)


def test_iso9283_writes_page_data_and_tables(capsys, tmp_path, poses):
    folder = tmp_path / "out"
    code, text, error = run(
        capsys, "gsis-scara", "--poses", poses, *QUICK, "--budget", "--budget-cycles", "2", "--monte-carlo", "60",
        "--out", str(folder), "--json",
    )  # fmt: skip
    assert code == 0, error
    printed, stored = json.loads(text), json.loads((folder / "accuracy.json").read_text())
    assert printed["pose"] == stored["pose"]
    assert [row["name"] for row in stored["pose"][0]["poses"]] == ["A", "B"]
    assert stored["payload_kg"] == 4.0  # the largest that the file allows
    with (folder / "attained.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 3
    with (folder / "accuracy.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["RP_m"]) == pytest.approx(stored["pose"][0]["poses"][0]["RP_m"], rel=1e-6)
    budget = stored["budget"]
    total = sum(share["covariance_m2"][0][0] for share in budget["shares"])
    assert total == pytest.approx(budget["covariance_m2"][0][0], rel=1e-9)
    assert stored["tolerances"]["trials"] == 60
    page = (folder / "accuracy.html").read_text(encoding="utf-8")
    assert "after ISO 9283" in page
    assert "conforming" in page  # that it is not
    for word in ("Error budget", "Robots of a series", "Attained positions about their mean"):
        assert word in page


def test_iso9283_prints_poses_and_notes(capsys, poses):
    code, text, _ = run(capsys, "gsis-scara", "--poses", poses, *QUICK, "--trial", "0")
    assert code == 0
    assert "Pose accuracy AP and repeatability RP at 100 %, 3 cycles" in text
    assert "robot 0 of the series" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cycles", "1"), "cycles: 1; expected 2 to 1000"),
        (("--cube", "3 m, 0 m, 0 m, 200 mm"), "cube: a cube of 200 mm is out of reach"),
        (("--cube", "3 m, 0 m"), "--cube: 2 values; expected 4"),
        (("--off", "frction"), "off: 'frction' is no error source"),
        (("--speed", "120 %"), "speed: expected speeds above 0 and up to 100 %"),
        (("--tests", "poses"), "tests: 'poses'; expected one of pose, directions"),
        (("--random", "1"), "random: 1; expected 2 to 1000 poses"),
        (("--random", "5", "--tests", "path"), "'path' needs P1 to P5 of a cube"),
        (("--cluster", "localhost"), "cluster: 'localhost'; expected the address of a Dask scheduler"),
        (("--payload", "-1 kg"), "payload: -1 kg; expected at least 0 kg"),
        (("--budget", "--orders", "0"), "--orders: 0; expected 1 to 100 pairs of orders"),
        (("--budget", "--orders", "101"), "--orders: 101; expected 1 to 100 pairs of orders"),
        (("--payload", "9000 kg", "--cycles", "2"), "payload: gsis-scara cannot move to the next pose at any speed"),
        (("--rest", "0 s"), "rest: 0 s; expected more than 0 s"),
        (("--poses", "nowhere.csv"), "nowhere.csv: no such file"),
        (("--cycles", "2", "--monte-carlo", "5", "--off", "geometry", "--workers", "1"), "monte_carlo: the robot file"),
    ],
)  # fmt: skip
def test_iso9283_refuses_in_one_line(capsys, words, message):
    code, text, error = run(capsys, "gsis-scara", *words)
    assert code == 2
    assert text == ""
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_pose_out_of_reach_is_named(capsys, tmp_path):
    file = tmp_path / "poses.csv"
    file.write_text(TABLE.replace("380", "2380"), encoding="utf-8")
    code, _, error = run(capsys, "gsis-scara", "--poses", str(file))
    assert code == 2
    assert "pose B at (2380.0, 40.0, -60.0) mm is out of reach" in error


def test_one_and_two_workers_give_the_same_numbers(poses):
    pytest.importorskip("distributed")
    off = ("torsion", "hysteresis", "transmission_error")
    settings = st.iso9283  # the function that the command calls
    one, two = (
        settings("gsis-scara", poses=poses, cycles=7, off=off, workers=count).data() for count in (1, 2)
    )
    assert one == two


def test_a_figure_that_was_not_asked_for_is_refused(poses):
    found = st.iso9283("gsis-scara", poses=poses, cycles=2, workers=1, off=("torsion", "hysteresis"))
    assert found.plot().data
    assert found.plot("clouds").data
    with pytest.raises(InputError, match="'tornado' was not asked for"):
        found.plot("tornado")
    with pytest.raises(InputError, match="'pie'; expected one of poses"):
        found.plot("pie")
