"""Results draw, tabulate and show themselves; that leaves them as they are, and asks nothing of the network."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

import servotwin as st
from servotwin.errors import InputError, ServotwinError
from servotwin.report.fragments import fragment, table
from servotwin.report.frames import frame
from tests.synthetic_result import synthetic_result


@pytest.fixture(scope="module")
def run() -> Any:
    return synthetic_result()


def test_showing_a_result_does_not_change_it(run: Any) -> None:
    before = {name: values.copy() for name, values in run.signals.items()}
    summary = repr(run.summary)
    assert isinstance(run.plot(), go.Figure)
    run.plot("error")
    run.to_frame()
    run._repr_html_()
    assert all(np.array_equal(before[name], run.signals[name], equal_nan=True) for name in before)
    assert repr(run.summary) == summary


def test_frame_of_a_run_has_the_signals_that_were_asked_for(run: Any) -> None:
    whole, some = run.to_frame(), run.to_frame("joint_*")
    assert list(whole.columns) == list(run.signals)
    assert some.columns[0] == "time_s"
    assert all(name.startswith("joint_") for name in some.columns[1:])
    assert np.array_equal(whole["time_s"], run.signals["time_s"])


def test_unknown_picture_and_signal_are_refused_with_what_there_is(run: Any) -> None:
    with pytest.raises(InputError, match=r"no picture is called 'errer'.*did you mean 'error'"):
        run.plot("errer")
    with pytest.raises(InputError, match="no signal is called"):
        run.plot("nothing_*")
    with pytest.raises(InputError, match="no signal is called"):
        run.to_frame("nothing_*")


def test_table_without_pandas_and_polars_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ServotwinError, match="needs pandas or polars, which is not installed: pip install pandas"
    ):
        frame({"a": [1]})
    with pytest.raises(ServotwinError, match="needs polars, which is not installed: pip install polars"):
        frame({"a": [1]}, "polars")
    with pytest.raises(InputError, match="'excel' is no library of tables; expected pandas or polars"):
        frame({"a": [1]}, "excel")


def shown_objects() -> dict[str, Any]:
    robot = st.load_robot("met-two-link")
    return {
        "robot": robot,
        "equations": st.derive(robot),
        "scenario": st.read_scenario("scara-a-axis-100deg"),
        "catalogue": st.read_catalogue(),
        "listing": st.list_jobs(),
        "poses": st.fkine(robot, [0.1, 0.2], every=True),
        "torques": st.rne(robot, [0.1, 0.2], qdd=[1.0, 0.0]),
        "statics": st.statics("met-two-link"),
        "step": st.jog("gsis-scara", "A", 0.1),
        "checks": st.check("gsis-scara"),
        "info": st.info("gsis-scara"),
    }


@pytest.mark.parametrize("name", shown_objects())
def test_object_shows_itself_without_scripts_and_without_the_network(name: str) -> None:
    found = shown_objects()[name]
    html = found._repr_html_()
    assert html.count('<div class="servotwin">') == 1
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|<img|<link|@import", html)
    assert len(html) < 300_000
    if hasattr(found, "to_frame"):
        assert len(found.to_frame()) > 0
    if hasattr(found, "plot"):
        assert isinstance(found.plot(), go.Figure)


def test_text_of_files_stays_text() -> None:
    html = fragment("<b>x</b>", "<i>", facts={"<a>": "<c>"}, rows=[{"<k>": "<script>"}], notes=["<n>"])
    for tag in ("<b>x", "<i>", "<a>", "<c>", "<k>", "<script>", "<n>"):
        assert tag not in html


def test_long_table_says_how_many_rows_follow_and_leaves_out_empty_columns() -> None:
    rows = [{"a": float(k), "b": None} for k in range(30)]
    html = table(rows, most=10)
    assert "and 20 more" in html
    assert html.count("<tr>") == 11
    assert ">b<" not in html


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (lambda: st.info("gsis-scara"), "info"),
        (lambda: st.fkine("gsis-scara", [0.1] * 4, every=True), "poses"),
        (lambda: st.ikine("gsis-scara", [0.4, 0.2, -0.05], [0.0] * 3, every=True), "solutions"),
        (lambda: st.rne("gsis-scara", [0.1] * 4), "torques"),
        (lambda: st.plan_job("scara-pick-and-place"), "plan"),
    ],
)
def test_small_result_draws_itself_and_writes_page_and_numbers(
    result: Callable[[], Any], name: str, tmp_path: Path
) -> None:
    found = result()
    assert isinstance(found.plot(), go.Figure)
    assert len(found.to_frame())
    for _ in range(2):  # its own files are replaced
        written = found.report(tmp_path / "out")
    assert set(written) == {"report", "data"}
    html = Path(written["report"]).read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert "<table" in html
    assert name != "info" or "position m<" in html  # axes that slide have columns of their own
    data = json.loads(Path(written["data"]).read_text(encoding="utf-8"))
    assert Path(written["data"]).name == f"{name}.json"
    assert "gsis-scara" in (data.get("robot"), data.get("name"))


def test_every_branch_is_drawn() -> None:
    found = st.ikine("gsis-scara", [0.4, 0.2, -0.05], [0.0] * 3, every=True)
    figure = found.plot()
    names = {trace.name for trace in figure.data}
    low, high = figure.layout.scene.yaxis.range
    for trace in figure.data:  # none is cut off
        assert low <= np.nanmin(np.array(trace.y, dtype=float))
        assert np.nanmax(np.array(trace.y, dtype=float)) <= high
    assert {f"solution {k}" for k in range(1, len(found) + 1)} <= names


def test_table_has_the_limits_of_axes_that_turn_and_of_those_that_slide() -> None:
    table = st.info("gsis-scara").to_frame().set_index("axis")
    assert table.loc["Z", "position_m"] == "0 to 0.15"
    assert table.loc["A", "position_rad"] == "-2.094 to 2.094"


def test_frames_far_from_the_arm_are_inside_the_picture(tmp_path: Path) -> None:
    camera = """<robot name="arm"><link name="base"/>
      <joint name="swing" type="revolute"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/>
        <origin xyz="0.5 0 0"/><limit lower="-2" upper="2" velocity="3" effort="150"/></joint>
      <link name="hand"><inertial><mass value="4"/>
        <inertia ixx="0.09" iyy="0.09" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="stand" type="fixed"><parent link="base"/><child link="camera"/><origin xyz="0 -2 2.5"/></joint>
      <link name="camera"/></robot>"""
    (tmp_path / "arm.urdf").write_text(camera, encoding="utf-8")
    scene = st.fkine(tmp_path / "arm.urdf", [0.3], every=True).plot().layout.scene
    assert scene.yaxis.range[0] < -2.0
    assert scene.zaxis.range[1] > 2.5


def test_solutions_of_the_page_have_the_numbers_of_the_picture(tmp_path: Path) -> None:
    written = st.ikine("gsis-scara", [0.4, 0.2, -0.05], [0.0] * 3, every=True).report(tmp_path / "out")
    html = Path(written["report"]).read_text(encoding="utf-8")
    assert ">solution</th>" in html
    assert [f">{k}</td><td" in html for k in (1, 2, 3, 4, 5)] == [True, True, True, True, False]


def test_refused_form_of_equations_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ServotwinError, match="form is 'x'"):
        st.derive(st.load_robot("met-two-link")).report(tmp_path / "out", form="x")
    assert list(tmp_path.iterdir()) == []


def test_equations_are_a_table_of_entries_and_fill_a_folder(tmp_path: Path) -> None:
    equations = st.derive(st.load_robot("met-two-link"))
    table = equations.to_frame()
    assert list(table["part"]) == ["M"] * 4 + ["C"] * 4 + ["g"] * 2
    assert table["entry"][0] == equations.entry("M", 1, 1)
    assert equations.report(tmp_path / "out") == tmp_path / "out"
    assert (tmp_path / "out" / "equations.html").is_file()
    assert "def mass_matrix" in (tmp_path / "out" / "equations.py").read_text(encoding="utf-8")


def test_results_are_a_line_as_plain_text() -> None:
    run = st.run_job("scara-pick-and-place")
    for result in (
        run, run.result, st.info("gsis-scara"), st.tune("gsis-scara"), st.plan_job("scara-pick-and-place"),
        st.derive(st.load_robot("met-two-link")), st.statics("gsis-scara"), st.workspace("gsis-scara"),
        st.read_catalogue(), st.plan_calibration("gsis-scara", count=5),
    ):  # fmt: skip
        assert len(repr(result)) < 200, type(result)
        assert repr(result).startswith(f"<{type(result).__name__} of ")
    assert repr(run).endswith("s, finished>")


def test_equations_are_written_by_the_ending_of_the_file(tmp_path: Path) -> None:
    equations = st.derive(st.load_robot("met-two-link"))
    assert equations.report(tmp_path / "e.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "def mass_matrix" in equations.report(tmp_path / "e.py").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"'\.doc'; expected a name that ends in one of"):
        equations.report(tmp_path / "e.doc")


def test_compared_run_is_like_itself_and_draws_itself(tmp_path: Path) -> None:
    run = st.simulate("scara-a-axis-100deg", {"solver.pwm": "averaged"})
    run.to_frame()[["time_s", "joint_A_position_rad"]].iloc[::4].to_csv(tmp_path / "m.csv", index=False)
    found = st.compare(run, tmp_path / "m.csv")
    assert found.to_frame()["rms"].max() < 1e-6
    assert isinstance(found.plot(), go.Figure)
    assert found.report(tmp_path / "out").page.exists()


def test_info_in_a_notebook_shows_the_limits_of_joints_that_turn_and_of_those_that_slide() -> None:
    shown = st.info("gsis-scara")._repr_html_()
    units = {
        axis["name"]: "mm" if axis["type"] == "prismatic" else "deg" for axis in st.info("gsis-scara")["axes"]
    }
    for name, unit in units.items():
        row = shown.split(f">{name}</td>")[1].split("</tr>")[0]
        assert f" {unit}</td>" in row, row
        assert f" {unit}/s</td>" in row, row


def test_table_in_a_notebook_has_the_columns_of_all_rows() -> None:
    shown = table([{"a": 1}, {"a": 2, "b": 3}])
    assert '<td class="number">3</td>' in shown


def test_statics_show_their_units() -> None:
    found = st.statics("gsis-scara", q=[0.0, 0.5, 0.05, 0.0])
    rows = found.to_frame().set_index("joint")
    assert rows["position_unit"].tolist() == ["rad", "rad", "m", "rad"]
    assert rows["unit"].tolist() == ["N m", "N m", "N", "N m"]
    shown = found._repr_html_()
    assert all(
        f">{cell}</td>" in shown
        for cell in ("50 mm", "28.65 deg", f"{rows.loc['Z', 'weight']:.4g} N", "0 N m")
    )


def test_statics_of_joints_without_load_are_zero_and_no_rounding() -> None:
    found = st.statics("palletizer-4", q=[0.3, 0.2, 0.1, 0.4])
    noisy = replace(found, tau_gravity=found.tau_gravity + np.array([5e-16, 0.0, 0.0, 0.0]))
    assert noisy.to_frame()["weight"].iloc[0] == 0.0
