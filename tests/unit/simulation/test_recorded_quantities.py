"""Recorded quantities are what their names say: currents, voltages, peaks, end stops, and why a run stopped."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.control.tuning.gains import FULL_SCALE
from servotwin.errors import SimulationError
from servotwin.report.simulation_files import write_result
from servotwin.simulation.run import carry_out
from tests import small_drives as small
from tests.small_drives import BUS, DC, RATIO, K, R

LOCKED = {**DC, "static_friction": "100 N*m", "current_limit": "200 A"}
LOCKED_PMSM = {**small.PMSM, "static_friction": "100 N*m"}
REDUCED = {key: value for key, value in LOCKED.items() if key != "inductance"} | {"kind": "dc-reduced"}
IDEAL = {"kind": "ideal", "rotor_inertia": "1e-4 kg*m^2"}
ELECTRICAL = 0.3  # rad: no phase of a locked synchronous motor is without current
AT = f"{ELECTRICAL / (4 * RATIO)} rad"
PERIOD = 2e-4


def constant(value: float, level: str, period: float = 0.01) -> PythonLaw:
    return PythonLaw(lambda _time, signals: np.full(len(signals.current), value), period, level)


def robot(motor: dict[str, Any], **changes: Any) -> small.Tree:
    return small.robot(changes, axes={"A": small.axis(motor=motor)})


def locked(seconds: float, **solver: Any) -> small.Tree:
    return {**small.rest(seconds, at=AT), "start": {"A": AT}, "solver": solver}


# --- synchronous motors: q components ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_current_of_a_synchronous_motor_is_its_q_current(tmp_path: Path, method: str) -> None:
    """Sensor offsets of 0.5 A in the phases a and b leave a current along d: the torque is not K i_q any more.

    What is measured follows the command, so (0.5, sqrt 3 / 2) A, turned to the rotor, are missing. Half a
    count of the encoder, 0.7 urad electrical, turns 5 A by 4 uA.
    """
    machine = robot(LOCKED_PMSM, controller={"current_sensor": {"bits": 0, "offset": "0.5 A"}})
    scenario = locked(0.06, method=method, pwm="averaged")
    run = small.prepared(tmp_path, machine, scenario, constant(5.0, "current"))
    result = carry_out(run, lambda part: None)
    at = run.machine.motors["current_at"][0]
    i_d, i_q = run.machine.y[at], run.machine.y[at + 1]
    wrong = complex(0.5, 0.5 * math.sqrt(3.0)) * np.exp(-4j * run.machine.motors["theta"][0])
    assert (i_d, i_q) == (pytest.approx(-wrong.real, abs=5e-6), pytest.approx(5.0 - wrong.imag, abs=5e-6))
    assert abs(i_d) > 0.1
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(i_q, rel=1e-9)
    torque = K * i_q + 1.5 * 4 * (0.8e-3 - 1.1e-3) * i_d * i_q  # eq:pmsm
    assert result.signals["motor_A_torque_N_m"][-1] == pytest.approx(torque, rel=1e-9)
    axis = result.summary["axes"][0]
    assert axis["peak_current_A"] >= math.hypot(i_d, i_q)


@pytest.mark.parametrize("method", ["rk4", "fast"])
@pytest.mark.parametrize("pwm", ["averaged", "switched"])
def test_voltage_of_a_synchronous_motor_is_the_mean_that_its_legs_leave(
    tmp_path: Path, pwm: str, method: str
) -> None:
    """At rest u_q = R i_q; the driver asks for what three legs lose on top of it (eq:pwm-mean)."""
    dead, storage = 4e-6, 1e-6
    bridge = {"dead_time": f"{dead} s", "storage_time": f"{storage} s"}
    scenario = locked(0.05, method=method, pwm=pwm)
    run = small.prepared(
        tmp_path, robot(LOCKED_PMSM, power={"bridge": bridge}), scenario, constant(5.0, "current")
    )
    signals = carry_out(run, lambda part: None).signals
    u, i = signals["motor_A_voltage_V"][-1], signals["motor_A_current_A"][-1]
    assert u == pytest.approx(R * i, rel=1e-4)
    angle = ELECTRICAL + math.pi / 2  # of the current
    signs = np.sign([math.cos(angle - k * 2 * math.pi / 3) for k in range(3)])
    lost = sum(s * math.cos(angle - k * 2 * math.pi / 3) for k, s in enumerate(signs)) * 2 / 3
    wanted = lost * (dead - storage) / PERIOD * BUS
    # the voltage is turned by the counted angle, good to 1e-6
    assert run.machine.axes["u_ref"][0] - u == pytest.approx(wanted, rel=1e-3)


def test_equal_dead_and_storage_time_leave_a_synchronous_motor_its_voltage(tmp_path: Path) -> None:
    bridge = {"dead_time": "4 us", "storage_time": "4 us"}
    scenario = locked(0.05, method="fast")
    run = small.prepared(
        tmp_path, robot(LOCKED_PMSM, power={"bridge": bridge}), scenario, constant(5.0, "current")
    )
    u = carry_out(run, lambda part: None).signals["motor_A_voltage_V"][-1]
    assert u == pytest.approx(run.machine.axes["u_ref"][0], rel=1e-5)


def test_zoom_of_a_synchronous_motor_shows_one_phase(tmp_path: Path) -> None:
    """Over a settled period the mean of the phase voltage is R times the mean of the phase current."""
    zoom = {"record": {"every": "1 ms", "zoom": {"at": "0.05 s", "span": "0.2 ms"}}}
    scenario = {**locked(0.06, method="rk4", steps=4), **zoom}
    result = small.run_case(tmp_path, robot(LOCKED_PMSM), scenario, constant(5.0, "current"))
    t, u = result.zoom["time_s"], result.zoom["motor_A_voltage_V"]
    i, m = result.zoom["motor_A_current_A"], result.zoom["motor_A_modulation"]
    assert set(np.round(u / BUS, 9)) <= {0.0, *np.round(np.array([-2, -1, 1, 2]) / 3, 9)}
    mean_u = np.sum(u[:-1] * np.diff(t)) / PERIOD  # rows stand at both ends of every interval
    mean_i = np.trapezoid(i, t) / PERIOD
    assert mean_u == pytest.approx(R * mean_i, rel=1e-3)
    assert mean_i == pytest.approx(-5.0 * math.sin(ELECTRICAL), rel=0.02)
    # the leg switches where the carrier passes its modulation
    edges = np.flatnonzero(np.diff(u) != 0.0)
    assert np.abs(result.zoom["carrier"][edges] - m[edges]).min() < 1e-9


@pytest.mark.parametrize("pwm", ["averaged", "switched"])
def test_peaks_of_a_synchronous_motor_are_instantaneous(tmp_path: Path, pwm: str) -> None:
    found = {}
    for method in ("rk4", "fast"):
        result = small.run_case(
            tmp_path, robot(LOCKED_PMSM), locked(0.05, method=method, pwm=pwm), constant(5.0, "current")
        )
        axis = result.summary["axes"][0]
        found[method] = (axis["peak_torque_N_m"], axis["peak_current_A"])
        assert axis["peak_torque_N_m"] >= axis["peak_torque_mean_N_m"]
        if pwm == "switched":  # ripple of a few per cent of 5 A
            assert axis["peak_torque_N_m"] > 1.01 * axis["peak_torque_mean_N_m"]
    assert found["fast"] == pytest.approx(found["rk4"], rel=1e-3)


# --- motors without inductance, ideal motors --------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_peaks_without_inductance_are_those_of_the_pulses(tmp_path: Path, method: str) -> None:
    result = small.run_case(
        tmp_path, robot(REDUCED), {**small.rest(0.02), "solver": {"method": method}}, constant(6.0, "voltage")
    )
    axis = result.summary["axes"][0]
    assert axis["peak_current_A"] == pytest.approx(BUS / R, rel=1e-12)
    assert axis["peak_torque_N_m"] == pytest.approx(K * BUS / R, rel=1e-12)
    assert axis["peak_torque_mean_N_m"] == pytest.approx(K * 6.0 / R, rel=1e-9)
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(6.0 / R, rel=1e-9)


def test_zoom_without_inductance_shows_the_current_of_the_pulses(tmp_path: Path) -> None:
    scenario = {
        **small.rest(0.02),
        "record": {"every": "1 ms", "zoom": {"at": "0.01 s", "span": "0.2 ms"}},
    }
    zoom = small.run_case(tmp_path, robot(REDUCED), scenario, constant(6.0, "voltage")).zoom
    np.testing.assert_allclose(zoom["motor_A_current_A"], zoom["motor_A_voltage_V"] / R, rtol=1e-12)


def test_an_ideal_motor_without_a_constant_has_no_current_to_record(tmp_path: Path) -> None:
    scenario = {
        "move": [{"to": {"A": "1 rad"}}],
        "solver": {"method": "fast"},
        "record": {"every": "1 ms", "zoom": {"at": "0.01 s", "span": "0.2 ms"}},
    }
    result = small.run_case(tmp_path, robot(IDEAL), scenario)
    electric = [
        name for name in result.signals if name.startswith("motor_A_") and name.endswith(("_A", "_V"))
    ]
    assert electric == ["motor_A_speed_command_V"]  # the command has its voltage whatever the motor is
    assert set(result.zoom) == {"time_s", "carrier"}
    axis = result.summary["axes"][0]
    assert (axis["peak_current_A"], axis["rms_current_A"]) == (None, None)
    assert axis["peak_torque_N_m"] == pytest.approx(
        np.abs(result.signals["motor_A_torque_N_m"]).max(), rel=0.1
    )
    write_result(result, tmp_path / "out")  # the report does without


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_an_ideal_motor_with_a_constant_has_the_current_of_its_torque(tmp_path: Path, method: str) -> None:
    motor = {**IDEAL, "torque_constant": "0.2 N*m/A"}
    scenario = {"move": [{"to": {"A": "1 rad"}}], "solver": {"method": method}}
    result = small.run_case(tmp_path, robot(motor), scenario)
    np.testing.assert_allclose(
        0.2 * result.signals["motor_A_current_A"], result.signals["motor_A_torque_N_m"], rtol=1e-12
    )
    axis = result.summary["axes"][0]
    assert 0.2 * axis["peak_current_A"] == pytest.approx(axis["peak_torque_N_m"], rel=1e-12)
    assert 0.2 * axis["rms_current_A"] == pytest.approx(axis["rms_torque_N_m"], rel=1e-12)


# --- voltage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pwm", ["averaged", "switched"])
@pytest.mark.parametrize("m", [0.3, -0.3, 1.0])
def test_voltage_is_the_mean_that_the_bridge_applies(tmp_path: Path, m: float, pwm: str) -> None:
    """R i of a locked motor at rest: less than commanded, save at full command, where nothing switches."""
    power = {"bridge": {"dead_time": "4 us"}}
    scenario = {**small.rest(0.06), "solver": {"method": "fast", "pwm": pwm}}
    result = small.run_case(tmp_path, robot(LOCKED, power=power), scenario, constant(m * BUS, "voltage"))
    lost = 0.0 if m == 1.0 else 2 * 4e-6 / PERIOD * math.copysign(1.0, m)
    u = result.signals["motor_A_voltage_V"][-1]
    assert u == pytest.approx((m - lost) * BUS, rel=1e-12)
    assert R * result.signals["motor_A_current_A"][-1] == pytest.approx(u, rel=1e-7)


def test_voltage_is_the_mean_since_the_row_before(tmp_path: Path) -> None:
    law = PythonLaw(lambda time, _signals: [1e3 * time], PERIOD, "voltage")
    rows = {}
    for every in ("0.2 ms", "1 ms"):
        scenario = {**small.rest(0.02, every=every), "solver": {"method": "fast"}}
        rows[every] = small.run_case(tmp_path, robot(DC), scenario, law).signals["motor_A_voltage_V"]
    np.testing.assert_allclose(rows["1 ms"], rows["0.2 ms"].reshape(-1, 5).mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("motor", [DC, small.PMSM])
@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_an_open_winding_has_no_voltage(tmp_path: Path, motor: dict[str, Any], method: str) -> None:
    machine = small.robot(axes={"A": small.axis(origin=small.HORIZONTAL, motor=motor)})
    scenario = {
        **small.rest(0.2), "faults": [{"at": "0.1 s", "kind": "power-off"}], "solver": {"method": method},
    }  # fmt: skip
    signals = small.run_case(tmp_path, machine, scenario).signals
    after = signals["time_s"] > 0.1001
    assert np.abs(signals["motor_A_voltage_V"][~after][-1]) > 0.1  # it held the arm
    assert not signals["motor_A_voltage_V"][after].any()
    assert not signals["motor_A_current_A"][after].any()
    # free fall of arm and rotor for 0.1 s
    fall = small.MASS * 9.80665 * small.ARM / (small.LOAD + RATIO**2 * small.J)
    assert signals["joint_A_position_rad"][-1] == pytest.approx(-0.5 * fall * 0.1**2, rel=0.02)


# --- loops in the machine ---------------------------------------------------------------------------


@pytest.mark.parametrize("arithmetic", ["float", "fixed"])
@pytest.mark.parametrize("motor", [REDUCED, LOCKED_PMSM])
def test_a_current_loop_held_at_the_voltage_limit_lets_go_at_once(
    tmp_path: Path, motor: dict[str, Any], arithmetic: str
) -> None:
    """0.6 s of a current that the bus cannot give; the integrator has not run beyond the bus."""
    law = PythonLaw(lambda time, _signals: [15.0 if time < 0.6 else 1.0], 1e-3, "current")
    machine = robot(
        {**motor, "current_limit": "20 A"},
        power={"bus_voltage": "5 V"},
        controller={"arithmetic": arithmetic},
    )
    scenario = {**small.rest(0.7), "solver": {"method": "fast", "pwm": "averaged"}}
    result = small.run_case(tmp_path, machine, scenario, law)
    t, i = result.signals["time_s"], result.signals["motor_A_current_A"]
    most = 5.0 / R / (math.sqrt(3.0) if motor["kind"] == "pmsm" else 1.0)
    assert i[np.searchsorted(t, 0.59)] == pytest.approx(most, rel=1e-3)
    # the loop of 1200 rad/s is back within a few of its time constants
    assert i[np.searchsorted(t, 0.61)] == pytest.approx(1.0, abs=0.05)
    (limited,) = [e for e in result.summary["axes"][0]["saturation"] if e["kind"] == "voltage limit"]
    assert limited["to_s"] == pytest.approx(0.601, abs=0.002)


def test_fixed_point_synchronous_robot_stays_close_to_floating_point(tmp_path: Path) -> None:
    axis = small.axis(motor=small.PMSM, encoder={"lines": 1000, "bits": None})
    move = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}], "solver": {"method": "fast"}}
    runs = {}
    for arithmetic in ("float", "fixed"):
        machine = small.robot({"controller": {"arithmetic": arithmetic}}, axes={"A": axis})
        run = small.prepared(tmp_path, machine, move)
        runs[arithmetic] = carry_out(run, lambda part: None).signals
        if arithmetic == "fixed":
            assert run.machine.axes["sum_i"][0] == run.machine.axes["sum_d"][0] == 0.0
            assert run.machine.axes["acc_i"][0] != 0
    pulse = 2 * math.pi / 4000 / RATIO
    q, q_fixed = (runs[name]["joint_A_position_rad"] for name in ("float", "fixed"))
    assert np.abs(q - q_fixed).max() < 100 * pulse  # of 32000 pulses, as for DC motors
    assert abs(q[-1] - q_fixed[-1]) < 3 * pulse


@pytest.mark.parametrize("arithmetic", ["float", "fixed"])
@pytest.mark.parametrize("at", ["0.0 rad", "0.4 rad", "-1.1 rad"])
def test_a_synchronous_robot_with_delay_rests_against_gravity(
    tmp_path: Path, at: str, arithmetic: str
) -> None:
    """The voltage of the first period is that of the rotor's angle: the current that holds stays."""
    axis = small.axis(motor=small.PMSM, origin=small.HORIZONTAL)
    machine = small.robot(
        {"controller": {"computation_delay": 1, "arithmetic": arithmetic}}, axes={"A": axis}
    )
    scenario = {
        **small.rest(0.02, every="0.2 ms", at=at), "start": {"A": at},
        "solver": {"method": "fast", "pwm": "averaged"},
    }  # fmt: skip
    result = small.run_case(tmp_path, machine, scenario)
    hold = small.MASS * 9.80665 * small.ARM * math.cos(float(at.split(maxsplit=1)[0])) / RATIO / K
    counts = 3 * 20.0 / FULL_SCALE if arithmetic == "fixed" else 0.0
    np.testing.assert_allclose(result.signals["motor_A_current_A"], hold, rtol=2e-3, atol=counts)


# --- end stops --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("motors", "matrix", "told"),
    [
        (["A", "B"], [[50, 0], [30, 50]], {"A", "B"}),  # the belt to B turns with A
        (["A", "B"], [[50, 0], [0, 50]], {"A"}),
        (["B", "A"], [[0, 50], [50, 0]], {"A"}),
    ],
)
@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_every_motor_that_turns_a_joint_reports_its_end_stop(
    tmp_path: Path, motors: list[str], matrix: list[list[int]], told: set[str], method: str
) -> None:
    narrow = {"position": ["-1.2 rad", "1.2 rad"]}
    above = {"xyz": ["0.4 m", "0 m", "0 m"]}
    axes = {
        "A": small.axis(gear=None, limits=narrow),
        "B": small.axis(gear=None, origin=above, parent="A", link={"mass": "0.2 kg"}),
    }
    machine = small.robot({"transmission": {"motors": motors, "matrix": matrix}}, axes=axes)
    scenario = {
        "move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}],
        "faults": [{"at": "0.1 s", "axis": "A", "kind": "encoder-stuck"}],
        "solver": {"method": method},
    }
    result = small.run_case(tmp_path, machine, scenario)
    assert result.summary["energy"]["impact_J"] > 0.0
    assert result.signals["joint_A_position_rad"].max() == pytest.approx(1.2 + 0.05 * 2.4, rel=1e-9)
    assert {event.axis for event in result.events if event.what == "end stop"} == told
    warned = {line.split(":")[0] for line in result.summary["warnings"] if "end stop" in line}
    assert warned == {f"motor {name}" for name in told}


# --- laws -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["speed", "current", "voltage"])
def test_a_compiled_law_that_gives_no_number_ends_the_run(tmp_path: Path, level: str) -> None:
    def law(time: float, signals: Any, memory: Any, command: Any) -> None:
        command[0] = 0.5 if time < 0.0495 else np.nan

    with pytest.raises(
        SimulationError, match="the control law returned a value that is not a number"
    ) as caught:
        small.run_case(tmp_path, robot(DC), small.rest(0.1), CompiledLaw(law, 1e-3, 1, level))
    partial = caught.value.partial
    assert "0.05 s" in str(caught.value)
    assert not partial.complete
    assert len(partial.signals["time_s"]) == 50
    assert all(np.isfinite(values).all() for values in partial.signals.values())
