"""``servotwin pendant``: what it refuses before it serves, and how it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra 'pendant' is not installed")

import servotwin as st
from pendant_browser import running
from servotwin.cli.main import main
from servotwin.description.nodes import Origin
from servotwin.description.placed import Placed
from servotwin.errors import ServotwinError
from servotwin.pendant.cell.setup import CellSettings
from servotwin.pendant.page.station import Station
from servotwin.pendant.page.workbench import Workbench

PLAIN = """<robot name="crane">
  <link name="base"/>
  <joint name="slew" type="revolute"><parent link="base"/><child link="mast"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="200"/></joint>
  <link name="mast"><inertial><mass value="8"/>
    <inertia ixx="0.5" iyy="0.5" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


def test_overrides_of_the_command_line_reach_the_cell_as_plain_text() -> None:
    settings = CellSettings("x", overrides={"variables.load": Placed("2 kg", Origin("--set variables.load"))})
    assert CellSettings.of(settings.text()).overrides == {"variables.load": "2 kg"}


def test_override_of_the_command_line_is_served_and_a_killed_cell_ends_the_command(tmp_path: Path) -> None:
    with running("gsis-scara", tmp_path, "--set", "variables.load=2 kg") as served:
        os.kill(served.cell_pid, signal.SIGKILL)
        assert served.process.wait(15) == 2
        assert served.errors.read_text() == "the cell has ended: signal 9 killed it\n"
        served.close()


@pytest.mark.parametrize("plant", ["ideal", "drives", "bus"])
def test_robot_that_lacks_what_the_plant_needs_is_refused_before_it_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: str
) -> None:
    file = tmp_path / "crane.urdf"
    file.write_text(PLAIN, encoding="utf-8")
    words = ["pendant", str(file), "--plant", plant, "--folder", str(tmp_path / "jobs"), "--no-browser"]
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "controller: missing" in told.err
    assert told.err.count("\n") == 1


def test_robot_without_motors_is_refused_for_simulated_drives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pendant", "gsis-scara", "--set", "axes.A.motor=", "--folder", str(tmp_path), "--no-browser"]
    assert main([*words, "--plant", "drives"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "axes.A.motor" in told.err


class Silent:
    """A cell that has said nothing yet."""

    failure, ended, ready = "", False, False


def test_preview_without_a_picture_is_refused_in_one_line(tmp_path: Path) -> None:
    bench = Workbench(CellSettings("gsis-scara", folder=str(tmp_path)), st.load_robot("gsis-scara"))
    station = Station(Silent(), bench, {})  # type: ignore[arg-type]
    with pytest.raises(ServotwinError, match="no picture of the arm yet"):
        station._positions()


def test_failure_of_the_cell_reaches_pages_without_folders(tmp_path: Path) -> None:
    robot = tmp_path / "arm.yaml"
    bench = Workbench(CellSettings(str(robot), folder=str(tmp_path / "jobs")), st.load_robot("gsis-scara"))
    silent = Silent()
    silent.failure = f"{robot}:3: axes: missing; {tmp_path}/jobs/a.points.yaml:1: wrong"
    station = Station(silent, bench, {})  # type: ignore[arg-type]
    assert station._failure() == "arm.yaml:3: axes: missing; a.points.yaml:1: wrong"


def test_pendant_says_what_it_is_without_its_token(tmp_path: Path) -> None:
    with st.teach_pendant("gsis-scara", folder=tmp_path) as pendant:
        text = repr(pendant)
        assert text.startswith("<Pendant of gsis-scara, plant ideal, served at http://127.0.0.1:")
        assert "token" not in text
    assert "ended" in repr(pendant)


@pytest.mark.parametrize(("option", "value"), [("--plant", "x"), ("--stop-within", "1 ms")])
def test_option_of_the_pendant_is_refused_by_its_name(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pendant", "gsis-scara", option, value, "--folder", str(tmp_path), "--no-browser"]) == 2
    assert capsys.readouterr().err.startswith(f"{option}: ")
