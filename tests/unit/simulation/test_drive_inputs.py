"""What robot files may say about drives and controllers: limits of what is accepted, and what each field does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_drives as small
from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from servotwin.errors import InputError
from servotwin.report.simulation_view import view
from servotwin.simulation.results.result import Result
from servotwin.simulation.run import carry_out
from small_drives import BUS, DC, PMSM, RATIO

TURN = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}]}


def robot(axis: small.Tree | None = None, **changes: Any) -> small.Tree:
    return small.robot(changes, axes={"A": axis or small.axis()})


def refusal(folder: Path, machine: small.Tree, scenario: dict[str, Any] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        small.run_case(folder, machine, scenario or small.rest(0.01))
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix(f"{folder}/")


# --- jitter -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("periods", "jitter", "said"),
    [
        ({}, "1 ms", "1 ms is not below the axis_period 1 ms"),
        ({}, "5 ms", "5 ms is not below the axis_period 1 ms"),
        ({"axis_period": "2 ms"}, "1.5 ms", "1.5 ms is not below the speed_period 1 ms"),
        ({"speed_period": "0.4 ms"}, "0.4 ms", "400 us is not below the speed_period 400 us"),
    ],
)
def test_jitter_of_the_shortest_late_period_is_refused(
    tmp_path: Path, periods: dict[str, str], jitter: str, said: str
) -> None:
    line = refusal(tmp_path, robot(controller={**periods, "jitter": jitter}))
    assert f"controller.jitter: {said}" in line


@pytest.mark.parametrize("encoder", [{"bits": 24}, {"bits": 12}])
def test_the_largest_jitter_moves_the_arm_to_its_target(tmp_path: Path, encoder: dict[str, int]) -> None:
    """Late by nearly a period, every task still runs once per period and the arm arrives."""
    machine = robot(small.axis(encoder=encoder), controller={"jitter": "999.999 us"})
    run = small.prepared(tmp_path, machine, TURN)
    result = carry_out(run, lambda part: None)
    assert result.complete
    periods = round(result.summary["simulated_s"] / 1e-3)
    assert (np.abs(run.machine.servo.tasks[[1, 2], 3] - periods) <= 1).all()
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(1.0, abs=1e-4)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5


def test_the_largest_jitter_of_the_scara_is_below_its_speed_period(tmp_path: Path) -> None:
    for jitter, accepted in (("0.999999 ms", True), ("1 ms", False), ("5 ms", False)):
        if accepted:
            assert read_description("gsis-scara", {"controller.jitter": jitter}).controller is not None
        else:
            with pytest.raises(InputError, match=r"controller\.jitter: .* speed_period 1 ms.* 999\.999 us"):
                read_description("gsis-scara", {"controller.jitter": jitter})


# --- inductances of synchronous motors --------------------------------------------------------------


@pytest.mark.parametrize(
    ("inductances", "said"),
    [
        ({"inductance_q": "1 mH"}, "axes.A.motor.inductance_d: missing"),
        ({"inductance_d": "1 mH"}, "axes.A.motor.inductance_q: missing"),
        ({"inductance": "0 H"}, "axes.A.motor.inductance: 0 H leaves no current to integrate"),
        ({"inductance": "0 H", "inductance_d": "1 mH"}, "axes.A.motor.inductance: 0 H leaves"),
    ],
)
def test_pmsm_needs_both_inductances(tmp_path: Path, inductances: dict[str, str], said: str) -> None:
    motor = {key: value for key, value in PMSM.items() if not key.startswith("inductance")} | inductances
    assert said in refusal(tmp_path, robot(small.axis(motor=motor)))


@pytest.mark.parametrize(
    "inductances",
    [{"inductance": "1 mH"}, {"inductance": "0 H", "inductance_d": "1 mH", "inductance_q": "1 mH"}],
)
def test_pmsm_runs_with_an_inductance_for_each_axis(tmp_path: Path, inductances: dict[str, str]) -> None:
    motor = {key: value for key, value in PMSM.items() if not key.startswith("inductance")} | inductances
    result = small.run_case(tmp_path, robot(small.axis(motor=motor)), TURN)
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(1.0, abs=1e-3)


# --- bus --------------------------------------------------------------------------------------------


def bus(capacitance: str, resistance: str, **more: Any) -> small.Tree:
    power = {"capacitance": capacitance, "supply_resistance": resistance, **more}
    return robot(small.axis(origin=small.HORIZONTAL), power=power)


def solved(method: str, steps: int = 1) -> small.Tree:
    moves = [{"to": {"A": "1 rad"}}, {"to": {"A": "0 rad"}, "dwell": "0.1 s"}]
    return {"move": moves, "solver": {"method": method, "steps": steps}}


@pytest.mark.parametrize("method", ["rk4", "modified-euler"])
def test_bus_that_settles_within_a_step_is_refused(tmp_path: Path, method: str) -> None:
    line = refusal(tmp_path, bus("1 mF", "1 mohm"), solved(method))
    assert "power.supply_resistance: 0.001 ohm with 1000 uF settle within 1 us" in line
    assert "a step of 200 us can follow; expected at least 0.2 ohm, or more solver.steps" in line


def test_braking_resistor_that_empties_the_bus_within_a_step_is_refused(tmp_path: Path) -> None:
    machine = bus("1 mF", "1 ohm", braking_resistor={"resistance": "0.1 ohm", "on": "80 V", "off": "70 V"})
    assert "power.braking_resistor.resistance: 0.1 ohm with 1000 uF" in refusal(
        tmp_path, machine, solved("rk4")
    )


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_capacitance_that_a_step_of_current_empties_is_refused(tmp_path: Path, method: str) -> None:
    """20 A for 0.2 ms are 4 mC: 400 V in 10 uF; a quarter of 60 V needs 267 uF."""
    line = refusal(tmp_path, bus("10 uF", "100 ohm"), solved(method))
    assert "power.capacitance: 10 uF: the current limits of the motors, 20 A together" in line
    assert "by 400 V within a step of 200 us; expected at least 266.7 uF" in line


@pytest.mark.parametrize(
    ("resistance", "method", "steps", "balance"),
    [
        ("0.2 ohm", "rk4", 1, 1e-5),  # the smallest accepted; 3e-6 is what rk4 leaves with a stiff bus
        ("0.02 ohm", "rk4", 10, 1e-6),
        ("1 mohm", "adaptive", 1, 1e-6),
        ("1 mohm", "fast", 1, 1e-6),
    ],
)
def test_bus_at_the_limit_of_what_is_accepted_keeps_the_balance(
    tmp_path: Path, resistance: str, method: str, steps: int, balance: float
) -> None:
    result = small.run_case(tmp_path, bus("1 mF", resistance), solved(method, steps))
    assert abs(result.summary["energy"]["balance_error_relative"]) < balance


# --- fixed-point arithmetic -------------------------------------------------------------------------


def fixed(axis: small.Tree | None = None, **control: Any) -> small.Tree:
    return robot(axis, controller={"arithmetic": "fixed", **control})


def test_ideal_motor_without_a_limit_has_no_integers(tmp_path: Path) -> None:
    line = refusal(tmp_path, fixed(small.axis(motor={"kind": "ideal"})))
    assert "axes.A.motor.current_limit: missing" in line
    assert "integers count currents in parts of it" in line


def test_ideal_motor_with_a_limit_moves_by_integers(tmp_path: Path) -> None:
    motor = {"kind": "ideal", "peak_torque": "3 N*m", "rotor_inertia": f"{small.J} kg*m^2"}
    result = small.run_case(tmp_path, fixed(small.axis(motor=motor)), TURN)
    assert result.signals["joint_A_position_rad"][-1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("written", [9984, "9984", "9984/256", " 9984 / 256 "])
def test_integer_gains_of_table_4_are_what_the_driver_computes_with(tmp_path: Path, written: Any) -> None:
    """Lee 1989, Table 4, speed loop of the A axis: 9984 and 64."""
    gains = {"A": {"integers": {"speed_proportional": written, "speed_integral": 64, "position": "7680/256"}}}
    run = small.prepared(tmp_path, fixed(small.axis(encoder={"bits": 12}), gains=gains), small.rest(0.01))
    axis = run.machine.axes[0]
    assert (axis["kp_n"], axis["ki_n"], axis["kp_x"]) == (9984, 64, 7680)
    # 39 parts of 1/32768 of 20 A for a count of 2 pi/4096 in 1 ms
    expected = 9984 / 256 * 20.0 / 32768 * (4096 * 1e-3 / (2 * math.pi))
    assert axis["K_n"] == pytest.approx(expected, rel=1e-12)
    assert axis["K_x"] == 30.0


def test_integers_near_the_designed_gains_move_like_them(tmp_path: Path) -> None:
    """The same numbers, once from the bandwidths and once entered."""
    axis = small.axis(encoder={"bits": 12})
    designed = small.prepared(tmp_path, fixed(axis), TURN)
    record = designed.machine.axes[0]
    names = {
        "position": "kp_x",
        "speed_proportional": "kp_n",
        "speed_integral": "ki_n",
        "current_proportional": "kp_i",
        "current_integral": "ki_i",
    }
    integers = {name: int(record[field]) for name, field in names.items()}
    entered = small.run_case(tmp_path, fixed(axis, gains={"A": {"integers": integers}}), TURN)
    reference = carry_out(designed, lambda part: None)
    for name, values in reference.signals.items():
        assert np.array_equal(values, entered.signals[name]), name


@pytest.mark.parametrize(("bits", "beyond"), [(32, 0), (20, 0), (19, 1), (16, 1)])
def test_integer_beyond_its_word_is_warned_of(tmp_path: Path, bits: int, beyond: int) -> None:
    gains = {"A": {"integers": {"speed_proportional": 300_000, "speed_integral": 10_000}}}
    run = small.prepared(
        tmp_path, fixed(small.axis(encoder={"bits": 12}), gains=gains, word_bits=bits), small.rest(0.01)
    )
    found = [line for line in run.warnings if "word_bits" in line]
    assert len(found) == beyond
    if beyond:
        most = 2 ** (bits - 1) - 1
        assert f"axis A: integer gain speed_proportional 300000 is beyond {most}" in found[0]


# --- speed command in volts -------------------------------------------------------------------------


@pytest.mark.parametrize("volts", [10.0, 5.0])
def test_speed_command_is_a_voltage_in_steps_of_the_converters(tmp_path: Path, volts: float) -> None:
    """V_max means 1.2 times the joint's 4 rad/s through the gear; 8 bits have 127 steps to either side."""
    control = {"command_bits": 8, "command_voltage": f"{volts} V"}
    result = small.run_case(tmp_path, robot(controller=control), {**TURN, "record": {"every": "1 ms"}})
    command = result.signals["motor_A_speed_command_V"]
    steps = command / volts * 127
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    w_max = 1.2 * 4.0 * RATIO
    assert command.max() <= volts
    # the joint comes up to its 4 rad/s: 5/6 of the range, within the overshoot of the loop
    assert command.max() / volts == pytest.approx(4.0 * RATIO / w_max, abs=0.05)


def test_commands_past_the_speed_loop_have_no_voltage(tmp_path: Path) -> None:
    law = PythonLaw(lambda _time, _signals: [0.0], 1e-3, "current")
    for result in (
        small.run_case(tmp_path, robot(), small.rest(0.01), law),
        small.run_case(tmp_path, robot(controller={"law": "computed-torque"}), small.rest(0.01)),
    ):
        assert "motor_A_speed_command_V" not in result.signals


def test_tuning_says_what_the_command_voltage_means(tmp_path: Path) -> None:
    small.write_case(tmp_path, robot(controller={"command_bits": 12, "command_voltage": "6 V"}))
    (axis,) = tune(read_description(tmp_path / "robot.yaml")).axes
    assert axis.command.voltage == 6.0
    assert axis.command.speed == pytest.approx(1.2 * 4.0 * RATIO, rel=1e-12)
    assert axis.command.step == pytest.approx(axis.command.speed / 2047, rel=1e-12)


# --- periods of laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [0.0, -1e-3, 1e-10, 4.9e-10, 1.5e-9, math.nan, math.inf])
def test_law_without_a_whole_number_of_nanoseconds_is_refused(period: float) -> None:
    with pytest.raises(
        InputError, match=r"period: .* expected a whole number of nanoseconds, 1e-9 s or more"
    ):
        PythonLaw(lambda _time, _signals: [0.0], period)
    with pytest.raises(InputError, match="whole number of nanoseconds"):
        CompiledLaw(lambda *_: None, period, 1)


@pytest.mark.parametrize("period", [1e-9, 3e-9, 1.6e-3, 62.5e-6, 1])
def test_law_of_whole_nanoseconds_is_accepted(period: float) -> None:
    assert PythonLaw(lambda _time, _signals: [0.0], period).period == period


# --- motors with names of their own -----------------------------------------------------------------

GEAR = {"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad", "efficiency": 0.9}
BRAKE = {"torque": "3 N*m", "delay": "10 ms"}


def named(motor: str, **changes: Any) -> small.Tree:
    """The robot of the gear {ratio: 50}, its ratio written as a transmission."""
    axis = small.merged(small.axis(**changes), {"gear": {"ratio": None}})
    transmission = {"motors": [motor], "matrix": [[RATIO]]}
    return small.robot({"transmission": transmission}, axes={"A": axis})


def tuned(folder: Path, machine: small.Tree) -> Any:
    small.write_case(folder, machine)
    return tune(read_description(folder / "robot.yaml")).axes[0]


@pytest.mark.parametrize("gear", [{}, GEAR])
@pytest.mark.parametrize("motor", ["A", "m1"])
def test_transmission_of_one_ratio_tunes_like_the_gear(
    tmp_path: Path, motor: str, gear: dict[str, Any]
) -> None:
    plain, other = tuned(tmp_path, robot(small.axis(gear=gear))), tuned(tmp_path, named(motor, gear=gear))
    assert other.motor == motor
    assert other.gains == plain.gains
    assert other.integers == plain.integers
    for load in ("lightest", "design", "heaviest"):
        one, two = plain.case(load), other.case(load)
        assert two.model == one.model
        assert two.loops.speed.phase_margin == one.loops.speed.phase_margin
    if gear:
        assert other.case("design").model.stiffness == pytest.approx(4000.0 / RATIO**2, rel=1e-12)


def test_gear_behind_a_transmission_shows_its_resonance(tmp_path: Path) -> None:
    stiff, soft = tuned(tmp_path, named("m1")), tuned(tmp_path, named("m1", gear=GEAR))
    assert soft.case("design").loops.speed.gain_margin != stiff.case("design").loops.speed.gain_margin


def test_transmission_of_one_ratio_runs_like_the_gear(tmp_path: Path) -> None:
    scenario = {**TURN, "faults": [{"at": "0.2 s", "axis": "A", "kind": "brake-closes"}]}
    plain = small.run_case(tmp_path, robot(small.axis(brake=BRAKE)), scenario)
    renamed = {**TURN, "faults": [{"at": "0.2 s", "axis": "m1", "kind": "brake-closes"}]}
    other = small.run_case(tmp_path, named("m1", brake=BRAKE), renamed)
    for name, values in plain.signals.items():
        assert np.array_equal(values, other.signals[name.replace("motor_A_", "motor_m1_")]), name
    speed = other.signals["motor_m1_speed_rad_per_s"]
    assert abs(speed[-1]) < 1e-9 < np.abs(speed).max()  # held, far from its target
    assert abs(other.signals["joint_A_position_rad"][-1] - 1.0) > 0.1
    _check_report(other, plain)


def _check_report(other: Result, plain: Result) -> None:
    """The torque-speed plane of the report needs the data of the motor."""
    assert replace(view(other).motor("m1"), name="A") == view(plain).motor("A")
    assert view(other).motor("m1").torque_constant == small.K
    assert view(other).peak_rating("m1") == view(plain).peak_rating("A")


def test_brake_of_a_motor_without_one_names_the_axis_of_its_data(tmp_path: Path) -> None:
    scenario = {**TURN, "faults": [{"at": "0.2 s", "axis": "m1", "kind": "brake-closes"}]}
    line = refusal(tmp_path, named("m1"), scenario)
    assert "faults.0.axis: motor 'm1' has no brake; expected axes.A.brake in the robot file" in line


def test_supply_is_compared_for_motors_with_names_of_their_own(tmp_path: Path) -> None:
    machine = small.merged(named("m1"), {"power": {"bus_voltage": "20 V"}})
    small.write_case(tmp_path, machine)
    (line,) = read_description(tmp_path / "robot.yaml").warnings
    assert f"axis A needs {small.K * RATIO * 4.0:.4g} V against the back-EMF" in line


# --- one design for tuning and simulation -----------------------------------------------------------

FIELDS = {
    "position": "K_x",
    "position_integral": "K_xi",
    "speed_proportional": "K_n",
    "speed_integral": "K_ni",
    "current_proportional": "K_i",
    "current_integral": "K_ii",
}
PEAK = {key: value for key, value in DC.items() if key not in ("current_limit", "rated_torque")}


@pytest.mark.parametrize(
    "motor",
    [
        DC,
        {**DC, "kind": "dc-reduced"},
        {**DC, "voltage_constant": "0.1 V*s/rad"},
        {**DC, "inductance_q": "7 mH"},
        PMSM,
        {**PEAK, "peak_torque": "2.4 N*m"},
    ],
)
def test_tuning_and_simulation_design_the_same_gains(tmp_path: Path, motor: dict[str, Any]) -> None:
    machine = small.merged(robot(small.axis(motor=motor)), {"controller": {"arithmetic": "fixed"}})
    run = small.prepared(tmp_path, machine, small.rest(0.01))
    axis, record = tuned(tmp_path, machine), run.machine.axes[0]
    for name, field in FIELDS.items():
        assert getattr(axis.gains, name) == record[field], name
    assert axis.integers is not None
    assert axis.integers.speed_proportional == record["kp_n"]
    assert axis.integers.current_integral == record["ki_i"]
    # eq:current-gains and eq:speed-gains, with the inertia of rotor and load
    L = {"dc": small.L, "dc-reduced": 0.0, "pmsm": 1.1e-3}[motor["kind"]]
    assert record["K_i"] == pytest.approx(1200.0 * L, rel=1e-12)
    assert record["K_ii"] == pytest.approx(1200.0 * small.R, rel=1e-12)
    assert record["K_n"] == pytest.approx(150.0 * (small.J + small.LOAD / RATIO**2) / small.K, rel=1e-9)
    assert axis.case("design").model.voltage_constant == (0.0 if motor["kind"] == "pmsm" else small.K)
    assert axis.scaling.current_limit == 20.0
    assert axis.scaling.bus_voltage == BUS
