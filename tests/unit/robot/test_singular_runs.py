"""Closed chains that are driven into a singular position: the run ends there and keeps what it has."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.errors import SimulationError
from servotwin.simulation.results.result import Result
from tests import small_drives as small

AXIS = {
    "gear": {"ratio": 50},
    "motor": small.DC,
    "encoder": small.FINE,
    "limits": {"position": ["-400 deg", "400 deg"], "speed": "20 rad/s"},
}
ROBOT = {
    "format": "servotwin/1",
    "name": "five-bar-with-drives",
    "extends": "five-bar",
    "axes": {"left": AXIS, "right": AXIS},
    "power": {"bus_voltage": "60 V"},
    "controller": small.CONTROLLER,
}
BASE, ARM = 0.2, 0.25  # m, of the catalogue's five-bar; its forearms are equally long


def elbows_apart(left: float, right: float) -> float:
    """Distance of the elbows: where it is zero, the forearms swing together about one point."""
    a = np.array([-BASE / 2 + ARM * np.cos(left), ARM * np.sin(left)])
    b = np.array([BASE / 2 + ARM * np.cos(right), ARM * np.sin(right)])
    return float(np.linalg.norm(a - b))


def case(folder: Path, method: str, to: tuple[str, str] = ("150 deg", "30 deg")) -> Path:
    scenario = {
        "start": {"left": "120 deg", "right": "60 deg"},
        "move": [{"to": {"left": to[0], "right": to[1]}, "dwell": "0.05 s"}],
        "solver": {"method": method},
    }
    path = small.write_case(folder, ROBOT, None)
    whole = {"format": "servotwin-scenario/1", "name": "through", "robot": "robot.yaml", **scenario}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def check(result: Result) -> None:
    assert not result.complete
    q = np.stack([result.signals[f"joint_{name}_position_rad"] for name in ("left", "right")], axis=1)
    apart = np.array([elbows_apart(*row) for row in q])
    t = result.signals["time_s"]
    assert len(t) == len(q) > 100
    assert apart[-1] < 5e-3 < 0.2 < apart.max()
    assert np.all(np.diff(apart[-50:]) < 0.0)  # on its way there, and not through it
    for values in result.signals.values():
        assert np.isfinite(values).all()
    tip = np.stack([result.signals[f"tip_{a}_m"] for a in "xz"], axis=1)
    elbow = np.stack([-BASE / 2 + ARM * np.cos(q[:, 0]), ARM * np.sin(q[:, 0])], axis=1)
    np.testing.assert_allclose(np.linalg.norm(tip - elbow, axis=1), 0.38, atol=1e-6)  # still on its forearm
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
def test_closed_chain_pushed_into_a_singular_position_ends_there_with_its_result(
    tmp_path: Path, method: str
) -> None:
    law = PythonLaw(lambda _time, _signals: [3.0, -3.0], 1e-3, "current")
    with pytest.raises(
        SimulationError, match=r"came to a singular position \(left [\d.]+ deg, right -?[\d.]+ deg\)"
    ) as caught:
        st.simulate(case(tmp_path, method), controller=law)
    result = caught.value.partial
    assert result is not None
    check(result)
    assert result.summary["failure"] == str(caught.value)


def test_closed_chain_commanded_through_a_singular_position_leaves_files_and_exit_code_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = case(tmp_path, "fast", ("300 deg", "-120 deg"))
    folder = tmp_path / "result"
    assert main(["simulate", str(scenario), "--out", str(folder)]) == 1
    assert "came to a singular position" in capsys.readouterr().err
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert "singular position" in summary["failure"]
    assert any(folder.glob("signals*"))
