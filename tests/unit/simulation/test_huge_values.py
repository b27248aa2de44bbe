"""Values beyond all machines: one clear line, refused or with the instant at which the run diverged."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError
from servotwin.simulation.run import simulate
from tests import small_drives as small

MOVE = [{"to": {"A": "0.1 rad"}}]


def run(folder: Path, fault: dict[str, Any], method: str) -> Any:
    scenario = {"move": MOVE, "solver": {"method": method}, "faults": [{"at": "20 ms", **fault}]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return small.run_case(folder, small.robot(), scenario)


@pytest.mark.parametrize("value", ["1e30", "-1e30", "1e18"])
def test_fault_of_more_pulses_than_are_counted_is_refused(tmp_path: Path, value: str) -> None:
    fault = {"axis": "A", "kind": "encoder-loses-pulses", "value": value}
    with pytest.raises(
        InputError, match=r"faults\.0\.value: .* is too (large|small); expected at (most|least)"
    ):
        run(tmp_path, fault, "fast")


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_fault_of_a_huge_voltage_tells_when_the_run_diverged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    fault = "faults=[{at: 0.1 s, kind: supply-voltage, value: 1e30 V}]"
    words = [
        "simulate",
        "scara-a-axis-100deg",
        "--method",
        method,
        "--set",
        fault,
        "--out",
        str(tmp_path / "out"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(words) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("scara-a-axis-100deg: diverged at 0.100")
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_fault_of_no_voltage_lets_the_motor_run_out(tmp_path: Path, method: str) -> None:
    result = run(tmp_path, {"kind": "supply-voltage", "value": "0 V"}, method)
    assert result.complete
    assert result.signals["motor_A_voltage_V"][-1] == 0.0


@pytest.mark.parametrize("method", ["fast", "rk4"])
@pytest.mark.parametrize("value", ["1e30 A", "-1e30 A"])
def test_fault_of_a_huge_offset_drives_the_motor_to_its_limits(
    tmp_path: Path, method: str, value: str
) -> None:
    result = run(tmp_path, {"axis": "A", "kind": "current-sensor-offset", "value": value}, method)
    assert result.summary["axes"][0]["saturation"]


def test_torque_constant_of_an_elastic_axis_beyond_all_machines_diverges_and_is_not_complete() -> None:
    changes = {"set.axes.r2.motor.torque_constant": "1e30 N*m/A"}
    with pytest.raises(
        SimulationError, match=r"diverged at 3e-05 s: a motor or joint left all bounds"
    ) as caught:
        simulate("manutec-r3-axis-move", changes)
    assert not caught.value.partial.complete
