"""What breaks during a run, what a run refuses, warns about, and leaves behind when it ends early."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.errors import InputError, ServotwinError, SimulationError, UnsupportedError
from tests import small_drives as small
from tests.small_drives import DC, RATIO, K

FLAT = small.axis(origin=small.HORIZONTAL)
MOVE = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.2 s"}], "solver": {"method": "fast"}}
G = 9.80665


def robot(axis: small.Tree | None = None, **changes: Any) -> small.Tree:
    return small.robot(changes, axes={"A": axis or small.axis()})


def broken(
    folder: Path,
    kind: str,
    machine: small.Tree | None = None,
    law: Any = None,
    *,
    method: str = "fast",
    **fault: Any,
) -> Any:
    """A run of 0.3 s at rest with a fault at 0.1 s."""
    whole = {"at": "0.1 s", "kind": kind, **fault}
    scenario = {**small.rest(0.3), "faults": [whole], "solver": {"method": method}}
    return small.run_case(folder, machine or robot(FLAT), scenario, law)


def before(result: Any) -> np.ndarray:
    return np.asarray(result.signals["time_s"] <= 0.1)


# --- faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("motor", [DC, small.PMSM])
@pytest.mark.parametrize(("kind", "axis"), [("winding-open", {"axis": "A"}), ("power-off", {})])
@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_an_open_winding_lets_the_arm_fall(
    tmp_path: Path, motor: dict[str, Any], kind: str, axis: Any, method: str
) -> None:
    machine = robot(small.axis(origin=small.HORIZONTAL, motor=motor))
    result = broken(tmp_path, kind, machine, method=method, **axis)
    q, i = result.signals["joint_A_position_rad"], result.signals["motor_A_current_A"]
    assert np.abs(q[before(result)]).max() < 1e-4
    assert q[-1] < -0.1
    assert np.abs(i[~before(result)][2:]).max() == 0.0
    assert (result.events[0].time_s, result.events[0].what) == (0.1, f"fault: {kind}")
    # free fall of arm and rotor at first: m g r / (J_load + N^2 J)
    fall = 2.0 * G * 0.2 / (small.LOAD + RATIO**2 * small.J)
    k = np.searchsorted(result.signals["time_s"], 0.12)
    assert q[k] == pytest.approx(-0.5 * fall * (result.signals["time_s"][k] - 0.1) ** 2, rel=0.02)


def test_a_stuck_encoder_leaves_the_loop_blind(tmp_path: Path) -> None:
    scenario = {**MOVE, "faults": [{"at": "0.1 s", "axis": "A", "kind": "encoder-stuck"}]}
    result = small.run_case(tmp_path, robot(), scenario)
    counts = result.signals["motor_A_count"]
    t = result.signals["time_s"]
    assert len(set(counts[t > 0.1005])) == 1
    assert result.signals["joint_A_position_rad"][-1] > 1.2  # it runs away


def test_a_stuck_encoder_shows_the_count_of_that_instant_however_often_it_is_read(tmp_path: Path) -> None:
    scenario = {**MOVE, "faults": [{"at": "0.1 s", "axis": "A", "kind": "encoder-stuck"}]}
    scenario["record"] = {"every": "1 ms"}
    result = small.run_case(tmp_path, robot(small.axis(encoder={"lines": 1000, "bits": None})), scenario)
    here = int(np.argmin(np.abs(result.signals["time_s"] - 0.1)))
    turned = RATIO * result.signals["joint_A_position_rad"][here]
    assert result.signals["motor_A_count"][-1] == math.floor(turned * 4000 / (2 * math.pi) + 0.5)
    assert (
        abs(result.signals["joint_A_velocity_rad_per_s"][here]) * RATIO * 0.2e-3 * 4000 / (2 * math.pi) > 2.0
    )


def test_lost_pulses_shift_the_robot_by_as_much(tmp_path: Path) -> None:
    machine = robot(small.axis(encoder={"lines": 1000, "bits": None}))
    result = broken(tmp_path, "encoder-loses-pulses", machine, axis="A", value="400")
    q = result.signals["joint_A_position_rad"]
    lost = 400 * 2 * math.pi / 4000 / RATIO
    assert q[before(result)][-1] == pytest.approx(0.0, abs=1e-4)
    assert q[-1] == pytest.approx(lost, rel=0.01)


def test_an_offset_of_the_current_sensor_comes_into_the_current(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [1.0], 1e-3, "current")
    machine = robot(small.axis(motor={**DC, "static_friction": "100 N*m"}))
    result = broken(tmp_path, "current-sensor-offset", machine, law, axis="A", value="0.5 A")
    i = result.signals["motor_A_current_A"]
    assert i[before(result)][-1] == pytest.approx(1.0, abs=0.01)
    assert i[-1] == pytest.approx(0.5, abs=0.01)


def test_a_lower_supply_shows_and_the_loops_go_on(tmp_path: Path) -> None:
    result = broken(tmp_path, "supply-voltage", value="30 V")
    u = result.signals["bus_voltage_V"]
    assert set(u[before(result)]) == {60.0}
    assert set(u[~before(result)]) == {30.0}
    assert np.abs(result.signals["joint_A_position_rad"]).max() < 2e-3


def test_a_brake_closes_after_its_delay_and_holds_the_arm(tmp_path: Path) -> None:
    """The power goes at 0.1 s, and with it what keeps the brake open; 20 ms later the brake holds."""
    machine = robot(small.axis(origin=small.HORIZONTAL, brake={"torque": "1 N*m", "delay": "20 ms"}))
    result = broken(tmp_path, "power-off", machine)
    t, q = result.signals["time_s"], result.signals["joint_A_position_rad"]
    assert q[np.searchsorted(t, 0.1195)] < -1e-4  # it falls meanwhile
    assert len(set(q[t > 0.15])) == 1
    faults = [(event.time_s, event.what) for event in result.events if event.what.startswith("fault")]
    assert faults == [(0.1, "fault: power-off"), (pytest.approx(0.12), "fault: brake-closes")]


# --- warnings ---------------------------------------------------------------------------------------


def test_gains_that_are_too_high_are_called_unstable_with_their_margin(tmp_path: Path) -> None:
    machine = robot(controller={"gains": {"A": {"speed_proportional": "3 A*s/rad"}}})
    result = small.run_case(tmp_path, machine, {**small.rest(0.02), "solver": {"method": "fast"}})
    warnings = [line for line in result.summary["warnings"] if "unstable" in line or "margin" in line]
    assert warnings
    assert any("A" in line for line in warnings)
    assert not small.run_case(tmp_path, robot(), small.rest(0.02)).summary["warnings"]


def test_a_supply_too_low_for_the_speed_saturates_and_says_when(tmp_path: Path) -> None:
    """4 rad/s at the joint are 24 V of back-EMF; 20 V cannot follow."""
    result = small.run_case(
        tmp_path, robot(power={"bus_voltage": "20 V"}), {**MOVE, "move": [{"to": {"A": "2 rad"}}]}
    )
    found = [entry for entry in result.summary["axes"][0]["saturation"] if entry["kind"] == "voltage limit"]
    assert found
    assert all(0.0 <= entry["from_s"] < entry["to_s"] <= result.summary["simulated_s"] for entry in found)
    assert any("voltage limit" in line and "A" in line for line in result.summary["warnings"])
    assert result.signals["motor_A_speed_rad_per_s"].max() < 20.0 / K
    assert any(event.what == "voltage limit" for event in result.events)


# --- ends before the end ----------------------------------------------------------------------------


def test_a_run_that_diverges_leaves_what_there_is(tmp_path: Path) -> None:
    """A law that pushes without bound a drive without limit."""
    ideal = {"kind": "ideal", "rotor_inertia": "1e-6 kg*m^2"}
    axis = small.axis(motor=ideal, link={"mass": "1e-6 kg", "center": ["0 m", "0 m", "0 m"]}, limits=None)
    axis["limits"] = {"speed": "4 rad/s"}
    law = PythonLaw(lambda _time, _signals: [1e4], 1e-3, "current")
    with pytest.raises(SimulationError, match=r"diverged at .* s") as caught:
        small.run_case(tmp_path, robot(axis), small.rest(0.5), law)
    partial = caught.value.partial
    assert not partial.complete
    assert 0 < len(partial.signals["time_s"]) < 500
    assert partial.summary["simulated_s"] < 0.5
    assert isinstance(caught.value, ServotwinError)


def test_interruption_gives_the_part_that_was_simulated(tmp_path: Path) -> None:
    path = small.write_case(tmp_path, robot(), {**small.rest(1.0), "solver": {"method": "fast"}})
    parts: list[float] = []

    def stop(part: float) -> None:
        parts.append(part)
        if part >= 0.4:
            raise KeyboardInterrupt

    result = st.simulate(path, progress=stop)
    assert not result.complete
    assert parts == sorted(parts)
    assert result.signals["time_s"][-1] == pytest.approx(parts[-1], abs=1e-3)
    assert result.summary["simulated_s"] == pytest.approx(parts[-1], abs=1e-9)
    assert json.dumps(result.summary)


def test_a_complete_run_reports_all_its_progress(tmp_path: Path) -> None:
    path = small.write_case(tmp_path, robot(), {**small.rest(0.5), "solver": {"method": "fast"}})
    parts: list[float] = []
    result = st.simulate(path, progress=parts.append)
    assert result.complete
    assert parts[-1] == 1.0
    assert len({len(values) for values in result.signals.values()}) == 1
    assert json.dumps(result.summary)


# --- refusals ---------------------------------------------------------------------------------------


def refusal(
    folder: Path, machine: small.Tree, scenario: dict[str, Any] | None = None, law: Any = None
) -> str:
    with pytest.raises(ServotwinError) as caught:
        small.run_case(folder, machine, scenario, law)
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"controller": {"axis_period": "1.5 ms"}}, ["axis_period", "expected"]),
        ({"controller": {"current_period": "0.3 ms"}}, ["period", "expected"]),
        ({"controller": None}, ["controller", "missing", "position_bandwidth"]),
        ({"power": None}, ["power.bus_voltage", "missing", "'75 V'"]),
    ],
)
def test_incomplete_or_inconsistent_electronics(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    line = refusal(tmp_path, robot(**changes))
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("motor", "words"),
    [
        (
            {key: value for key, value in DC.items() if key != "resistance"},
            ["axes.A.motor.resistance", "missing"],
        ),
        ({key: value for key, value in DC.items() if key != "inductance"}, ["axes.A.motor.inductance"]),
        ({**DC, "inductance": "0 H"}, ["axes.A.motor.inductance", "dc-reduced"]),
        (
            {key: value for key, value in DC.items() if key not in ("current_limit", "rated_torque")},
            ["axes.A.motor.current_limit"],
        ),
        (
            {key: value for key, value in small.PMSM.items() if key != "pole_pairs"},
            ["axes.A.motor.pole_pairs"],
        ),
        ({**DC, "kind": "hydraulic"}, ["axes.A.motor.valve", "missing", "hydraulic"]),
    ],
)
def test_motor_data_that_a_simulation_needs(tmp_path: Path, motor: dict[str, Any], words: list[str]) -> None:
    line = refusal(tmp_path, robot(small.axis(motor=motor)))
    assert all(word in line for word in words), line


def test_pmsm_needs_an_inductance(tmp_path: Path) -> None:
    motor = {key: value for key, value in small.PMSM.items() if not key.startswith("inductance")}
    assert "axes.A.motor.inductance" in refusal(tmp_path, robot(small.axis(motor=motor)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encoder": None}, ["axes.A.encoder", "missing"]),
        ({"motor": None}, ["motor"]),
        ({"gear": {"backlash": "1 deg"}}, ["axes.A.gear.backlash", "stiffness"]),
        ({"gear": {"stiffness": "1e9 N*m/rad"}}, ["axes.A.gear.stiffness", "Hz"]),
    ],
)
def test_axes_that_cannot_be_simulated(tmp_path: Path, change: dict[str, Any], words: list[str]) -> None:
    line = refusal(tmp_path, robot(small.axis(**change)))
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({"record": {"every": "0.3 ms"}}, ["record.every", "0.3 ms", "0.2 ms", "expected"]),
        (
            {"record": {"every": "0.2 ms"}, "move": [{"to": {"A": "0 rad"}, "dwell": "10000 s"}]},
            ["record.every"],
        ),
        ({"move": [{"to": {"A": "4 rad"}}]}, ["move.0.to.A", "beyond its limits", "expected"]),
    ],
)
def test_scenarios_that_cannot_be_run(tmp_path: Path, scenario: dict[str, Any], words: list[str]) -> None:
    line = refusal(tmp_path, robot(), scenario)
    assert all(word in line for word in words), line


def test_a_robot_with_more_joints_than_motors_is_unsupported(tmp_path: Path) -> None:
    arm = small.axis(parent="A", origin={"xyz": ["0.4 m", "0 m", "0 m"]})
    axes = {"A": small.axis(), "B": {key: arm[key] for key in ("type", "origin", "axis", "link", "parent")}}
    with pytest.raises((UnsupportedError, InputError), match="motor"):
        small.run_case(tmp_path, small.robot(axes=axes))


def test_laws_that_do_not_fit(tmp_path: Path) -> None:
    def law(time: float, signals: Any, memory: Any, command: Any) -> None:
        command[0] = 0.0

    assert "2 motors; expected 1" in refusal(tmp_path, robot(), small.rest(0.01), CompiledLaw(law, 1e-3, 2))
    wrong = PythonLaw(lambda _time, _signals: [1.0, 2.0], 1e-3, "current")
    assert "expected (1,)" in refusal(tmp_path, robot(), small.rest(0.01), wrong)
    with pytest.raises(InputError, match="level"):
        PythonLaw(lambda _time, _signals: [0.0], 1e-3, "torque")
    with pytest.raises(InputError, match="period"):
        PythonLaw(lambda _time, _signals: [0.0], 0.0)


def test_a_voltage_law_is_obeyed_by_a_dc_motor_and_refused_for_a_synchronous_one(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [2.0], 1e-3, "voltage")
    stuck = {"static_friction": "100 N*m"}
    scenario = {**small.rest(0.05), "solver": {"method": "fast"}}
    held = small.run_case(tmp_path, robot(small.axis(motor={**DC, **stuck})), scenario, law)
    assert held.signals["motor_A_current_A"][-1] == pytest.approx(2.0 / small.R, rel=1e-3)
    line = refusal(tmp_path, robot(small.axis(motor={**small.PMSM, **stuck})), scenario, law)
    assert line.startswith("level: 'voltage' is not there for synchronous motors")
