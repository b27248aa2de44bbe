"""What breaks in a hydraulic axis during a run: the supply, the spool, the seals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError
from tests import hydraulic_axes as hx
from tests import small_drives as small

every_method = pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])


def broken(
    folder: Path, kind: str, feed: Any = None, seconds: float = 0.3, method: str = "rk4", **fault: Any
) -> Any:
    """A weight of 40 kg in the middle of its stroke, held; a fault at 0.1 s."""
    machine = small.merged(hx.lift(feed), {"home": {"A": "-70 mm"}})
    scenario = {
        **small.rest(seconds, at="-70 mm"),
        "faults": [{"at": "0.1 s", "kind": kind, **fault}],
        "solver": {"method": method},
    }
    return small.run_case(folder, machine, scenario)


@every_method
def test_supply_below_the_load_lets_it_sink_and_its_energy_is_accounted_for(
    tmp_path: Path, method: str
) -> None:
    result = broken(tmp_path, "supply-pressure", value="10 bar", method=method)
    t, q = result.signals["time_s"], result.signals["joint_A_position_m"]
    assert np.abs(q[t <= 0.1] + 0.07).max() < 1e-6
    assert q[-1] < -0.075
    assert result.signals["motor_A_supply_pressure_Pa"][-1] == pytest.approx(10e5)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-6
    assert abs(result.summary["hydraulics"]["mass_error_relative"]) < 1e-6


@every_method
def test_supply_that_still_carries_the_load_holds_it(tmp_path: Path, method: str) -> None:
    result = broken(tmp_path, "supply-pressure", seconds=1.0, value="50 bar", method=method)
    assert abs(result.signals["joint_A_position_m"][-1] + 0.07) < 1e-5


@every_method
def test_pump_that_stops_leaves_the_axes_the_oil_of_the_accumulator(tmp_path: Path, method: str) -> None:
    result = broken(tmp_path, "pump-stops", hx.PUMP, seconds=0.6, method=method)
    t, p = result.signals["time_s"], result.signals["motor_A_supply_pressure_Pa"]
    assert np.ptp(p[t <= 0.1]) < 1e4
    assert (np.diff(p[t > 0.11]) < 0.0).all()
    assert abs(result.summary["hydraulics"]["mass_error_relative"]) < 1e-6
    # the leakage of the valve at null empties gas and line: V_g / (n_g p) dp = -q dt at the start (eq:supply-pressure)
    supply = hx.PUMPED
    k = int(np.searchsorted(t, 0.1)) + 2
    drawn = result.signals["motor_A_flow_m3_per_s"][k]
    P = p[k] + hx.P0
    gas = 3e-4 * ((45e5 + hx.P0) / P) ** (1 / supply.accumulator_exponent)
    capacity = gas / (supply.accumulator_exponent * P) + (1e-4 + 3e-4 - gas) / 1.35e9
    relieved = 1e-4 / 4e5 * max(0.0, p[k + 1] - 70e5)  # 6 L/min at 4 bar above its pressure (eq:relief)
    slope = (p[k + 2] - p[k]) / (t[k + 2] - t[k])
    assert slope == pytest.approx(-(drawn + relieved) / capacity, rel=0.05)


@every_method
def test_spool_that_sticks_lets_the_piston_run_on_at_its_speed(tmp_path: Path, method: str) -> None:
    machine = small.merged(hx.lift(), {"home": {"A": "-140 mm"}})
    scenario = {
        "move": [{"to": {"A": "-40 mm"}, "speed": "0.1 m/s", "dwell": "0.1 s"}],
        "faults": [{"at": "0.5 s", "kind": "spool-stuck", "axis": "A"}],
        "solver": {"method": method},
    }
    result = small.run_case(tmp_path, machine, scenario)
    t, opening = result.signals["time_s"], result.signals["motor_A_valve_opening"]
    stuck = t > 0.502
    assert np.ptp(opening[stuck]) < 1e-9
    v = result.signals["joint_A_velocity_m_per_s"][(t > 0.55) & (t < 0.8)]
    model = st.state_space(tmp_path / "robot.yaml")
    x, _ = model.operating_point([-0.08], [float(v.mean())])
    assert x[[q.name == "A.spool" for q in model.states]] == pytest.approx(opening[stuck][0], rel=0.02)
    assert result.signals["joint_A_position_m"][-1] > -0.03  # beyond its target


@every_method
def test_leak_that_grows_is_made_up_for_by_the_valve(tmp_path: Path, method: str) -> None:
    """The opening that holds the load afterwards is that of the operating point with the larger leak."""
    result = broken(tmp_path, "oil-leak", seconds=1.5, axis="A", value="5e-12 m^3/(s*Pa)", method=method)
    opening = result.signals["motor_A_valve_opening"]
    machine = small.merged(
        hx.lift(), {"axes": {"A": {"motor": {"cylinder": {"leakage": "5.1e-12 m^3/(s*Pa)"}}}}}
    )
    (tmp_path / "leaks.yaml").write_text(json.dumps(machine), encoding="utf-8")
    model = st.state_space(tmp_path / "leaks.yaml")
    x, _ = model.operating_point([-0.07])
    want = float(x[[q.name == "A.spool" for q in model.states]][0])
    assert want > 1.3 * opening[0]
    assert opening[-1] == pytest.approx(want, rel=0.01)
    assert abs(result.signals["joint_A_position_m"][-1] + 0.07) < 2e-6


@pytest.mark.parametrize(
    ("fault", "feed", "words"),
    [
        ({"kind": "pump-stops"}, None, "has a constant pressure; expected supply-pressure"),
        (
            {"kind": "supply-pressure", "value": "40 bar"},
            hx.PUMP,
            "a pump feeds the supply; expected pump-stops",
        ),
        (
            {"kind": "supply-pressure"},
            None,
            "'value' is missing; expected one for kind supply-pressure, such as '40 bar'",
        ),
        ({"kind": "supply-pressure", "value": "-1 bar"}, None, "value"),
        ({"kind": "oil-leak", "axis": "A", "value": "3 bar"}, None, "pressure"),
        ({"kind": "spool-stuck"}, None, "'axis' is missing; expected one of A"),
    ],
)
def test_fault_that_does_not_fit_is_refused(tmp_path: Path, fault: Any, feed: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        broken(tmp_path, **({"feed": feed} | fault))


def test_spool_of_an_electric_motor_cannot_stick(tmp_path: Path) -> None:
    scenario = {**small.rest(0.2), "faults": [{"at": "0.1 s", "kind": "spool-stuck", "axis": "A"}]}
    with pytest.raises(InputError, match="motor 'A' has no servovalve; expected a hydraulic axis"):
        small.run_case(tmp_path, small.robot(), scenario)
    scenario["faults"] = [{"at": "0.1 s", "kind": "supply-pressure", "value": "40 bar"}]
    with pytest.raises(InputError, match="the robot has no hydraulic axis"):
        small.run_case(tmp_path, small.robot(), scenario)
