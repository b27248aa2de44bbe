"""Results of long commands draw, tabulate and report themselves: what is drawn is what was computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from controlled_bus import LOCK_STEP, segment
from servotwin.errors import InputError, ServotwinError
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from tests.synthetic_result import synthetic_result

SINGLE = 1e-6  # lines of pictures are of single precision


def written(folder: Path) -> set[str]:
    """Names of the files of a report; its page is whole and asks nothing of the network."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    (page,) = [path for path in folder.iterdir() if path.suffix == ".html"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")
    assert 'src="http' not in text
    return names


def test_line_test_lags_by_the_position_gain_and_draws_every_motor(tmp_path: Path) -> None:
    test = st.line_test(laws=("cascade",), settle=0.1)
    table = test.to_frame()
    # eq:line-lag: at constant speed the tool is late by 1/K_p of the position loop.
    assert table["delay_s"].tolist() == pytest.approx([test.predicted_delay], rel=0.01)
    lines = {trace.name: trace for trace in test.plot().data if trace.name}
    assert tuple(lines) == test.motors
    (run,) = test.runs
    for k, motor in enumerate(test.motors):
        x, y = (np.asarray(values) for values in (lines[motor].x, lines[motor].y))
        np.testing.assert_allclose(y, np.interp(x, run.time, run.pulses[:, k]), rtol=0, atol=1e-6)
    with pytest.raises(InputError, match="no law 'magic'; expected one of cascade"):
        test.plot("magic")
    test.report(tmp_path / "out")
    assert len(written(tmp_path / "out")) > 1
    assert "cascade" in test._repr_html_()


def test_optimal_motion_is_drawn_from_start_to_goal(tmp_path: Path) -> None:
    pytest.importorskip("casadi")
    goal = [0.8, -0.6, 0.05, 0.4]
    motion = st.optimise_motion("gsis-scara", [0.0] * 4, goal, jerk=False)
    for line, name, q in zip(motion.plot("position").data, motion.joint_names, motion.q.T, strict=True):
        assert line.name.startswith(f"{name}: ")
        np.testing.assert_allclose(line.y, q / np.abs(q).max(), rtol=SINGLE, atol=SINGLE)
    table = motion.to_frame()
    assert len(table) == len(motion.t)
    assert table["t [s]"].iloc[-1] == motion.duration
    ends = table[["q A [rad]", "q B [rad]", "q Z [m]", "q W [rad]"]].iloc[-1]
    assert ends.tolist() == pytest.approx(goal, abs=1e-9)
    for what in ("speed", "acceleration", "limits"):
        assert motion.plot(what).data
    with pytest.raises(InputError, match="no picture is called 'jerk'"):
        motion.plot("jerk")
    motion.report(tmp_path / "out")
    assert len(written(tmp_path / "out")) > 1


def test_state_feedback_is_drawn_by_the_poles_of_its_closed_loop(tmp_path: Path) -> None:
    design = st.design_state_feedback("gsis-scara")
    (poles,) = design.plot().data
    found = np.asarray(poles.customdata) @ [1.0, 1.0j]
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(design.poles), rtol=1e-12)
    assert design.stable == bool((found.real < 0.0).all())
    table = design.to_frame()
    assert list(table.columns) == ["state", "unit", *design.names]
    gains = table[list(design.names)].to_numpy().T
    np.testing.assert_allclose(gains, np.hstack([design.K, design.K_i]), rtol=1e-12)
    design.report(tmp_path / "out")
    assert len(written(tmp_path / "out")) > 1
    assert "<table" in design._repr_html_()


def test_substitution_draws_both_arms_over_each_other(tmp_path: Path) -> None:
    result = st.substitute("met-substituted", {"duration": "0.2 s"}, warn=lambda _: None)
    for joint in result.run.arm_joints:
        lines = {line.name: line for line in result.plot(joint).data}
        np.testing.assert_allclose(lines["substituted"].y, result.run.joint(joint, "qd"), rtol=SINGLE)
        np.testing.assert_allclose(lines["pure"].y, result.pure.joint(joint, "qd"), rtol=SINGLE)
    with pytest.raises(InputError, match="no joint 'J9'; expected one of J1, J2"):
        result.plot("J9")
    assert result.to_frame()["time_s"].tolist() == result.run.time.tolist()
    result.report(tmp_path / "out")
    assert len(written(tmp_path / "out")) > 1
    assert "<table" in result._repr_html_()


@pytest.fixture(scope="module")
def controlled() -> Any:
    line, _ = segment()
    return st.control_job("palletizer-line", SegmentPort(line), settings=LOCK_STEP)


def test_job_over_a_bus_is_drawn_cycle_by_cycle(controlled: Any, tmp_path: Path) -> None:
    run = controlled
    assert len(run.to_frame()) == len(run.log)
    for k, joint in enumerate(run.joints):
        reference, measured = run.plot(joint).data
        factor = 180.0 / np.pi if run.units[k] == "rad" else 1e3
        np.testing.assert_allclose(reference.y, factor * run.log["q_ref"][:, k], rtol=SINGLE)
        np.testing.assert_allclose(measured.y, factor * run.log["q"][:, k], rtol=SINGLE)
    with pytest.raises(InputError, match="no joint 'th9'; expected one of th1"):
        run.plot("th9")
    run.report(tmp_path / "out")
    names = written(tmp_path / "out")
    (summary,) = [name for name in names if name == "summary.json"]
    told = json.loads((tmp_path / "out" / summary).read_text(encoding="utf-8"))
    assert told["job"] == run.name
    assert f"<b>{run.counts['cycles']}</b>" in run._repr_html_()


def test_served_drives_report_what_was_recorded_or_say_that_nothing_was(tmp_path: Path) -> None:
    counted = {
        "frames": 10, "refused": 0, "unsent": 0, "cycles": 5, "simulated_s": 0.1, "wall_s": 0.1,
        "errors": {"A": 0x2310}, "states": {"A": 8},
    }  # fmt: skip
    recorded = synthetic_result()
    served = st.ServedDrives(**counted, result=recorded)
    assert list(served.to_frame().columns) == list(recorded.signals)
    served.report(tmp_path / "out")
    assert "summary.json" in written(tmp_path / "out")
    assert "2310" in served._repr_html_()
    for ask in (
        lambda: st.ServedDrives(**counted).to_frame(),
        lambda: st.ServedDrives(**counted).report("x"),
    ):
        with pytest.raises(ServotwinError, match="nothing was recorded; expected record="):
            ask()
