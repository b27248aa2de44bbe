"""Actuators that users write themselves: they run mixed with others, their energy closes, bad ones get one line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.control.main.jogging import Jog
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.description.load import read_description
from servotwin.drives.own import MOST_STATES
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.plant.own_rate import spectral_radius
from servotwin.simulation.plant.records import MAX_FREE, MAX_JOINTS, MAX_STATES
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "own-actuator"
LAG, CONSTANT = 5e-3, 0.3  # s, N m/A
FILE = """
import servotwin as st

def rates(x, theta, w, command, supply, p, dx, out):
    dx[0] = (p[0] * command - x[0]) / p[1]
    out[st.EFFORT] = x[0]
    out[st.POWER] = x[0] * w

LAGGED = st.Actuator(rates=rates, states={"torque": "N*m"}, parameters={"constant": "N*m/A", "lag": "s"})
"""
MOTOR: dict[str, Any] = {
    "kind": "lagged.py:LAGGED",
    "parameters": {"constant": f"{CONSTANT} N*m/A", "lag": f"{LAG} s"},
    "torque_constant": f"{CONSTANT} N*m/A",
    "rotor_inertia": f"{small.J} kg*m^2",
    "current_limit": "20 A",
}


def own_robot(**motor: Any) -> small.Tree:
    axis = small.axis()
    axis["motor"] = {**MOTOR, **motor}
    return small.robot(axes={"A": axis})


def put(folder: Path, text: str = FILE) -> Path:
    (folder / "lagged.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive", "modified-euler"])
def test_torque_follows_its_command_with_the_lag_and_turns_the_joint(method: str, tmp_path: Path) -> None:
    """A constant current from rest: torque K i (1 - exp(-t/T)), and its double integral over the inertia."""
    current = 0.5
    law = PythonLaw(lambda time, signals: np.array([current]), period=1e-3, level="current")
    solver = {"method": method, "steps": 12 if method == "modified-euler" else 4}
    scenario = {
        "solver": solver,
        "move": [{"to": {"A": "0 deg"}, "dwell": "0.1 s"}],
        "record": {"every": "1 ms"},
    }
    run = small.prepared(put(tmp_path), own_robot(), scenario, law, allow_code=True)
    result = carry_out(run, lambda part: None)
    t, inertia = result.signals["time_s"], small.J * small.RATIO**2 + small.LOAD
    gone = np.exp(-t / LAG)
    speed = CONSTANT * current * small.RATIO / inertia * (t - LAG * (1.0 - gone))
    np.testing.assert_allclose(result.signals["joint_A_velocity_rad_per_s"], speed, rtol=2e-5, atol=1e-9)
    mean = CONSTANT * current * (1.0 - LAG * (np.exp(-(t - 1e-3) / LAG) - gone) / 1e-3)
    np.testing.assert_allclose(result.signals["motor_A_torque_N_m"], mean, rtol=2e-5)


@pytest.mark.parametrize(
    ("method", "steps"), [("fast", 1), ("rk4", 2), ("adaptive", 1), ("modified-euler", 12)]
)
def test_example_runs_mixed_with_dc_motors_and_its_energy_closes(method: str, steps: int) -> None:
    changes = {"solver.method": method, "solver.steps": str(steps)}
    result = st.simulate(EXAMPLE / "lift.yaml", changes, allow_code=True)
    energy = result.summary["energy"]
    assert energy["actuator_loss_J"] > 0.1
    assert abs(energy["balance_error_relative"]) < 1e-6
    assert np.ptp(result.signals["joint_Z_position_m"]) > 0.09
    said = [line for line in result.summary["warnings"] if "no exact window" in line]
    assert len(said) == (method == "fast")


def test_neighbours_keep_their_exact_windows() -> None:
    run = prepare(
        read_scenario(EXAMPLE / "lift.yaml", {"set.axes.Z.motor.coulomb_friction": "0 N*m"}), allow_code=True
    )
    result = carry_out(run, lambda part: None)
    fine = st.simulate(
        EXAMPLE / "lift.yaml",
        {
            "set.axes.Z.motor.coulomb_friction": "0 N*m",
            "solver.method": "adaptive",
            "solver.tolerance": "1e-11",
        },
        allow_code=True,
    )
    world = run.machine.world[0]
    assert world["runge_kutta"] == 1
    assert world["choice"]["window"] == world["choice"]["moving"]
    for name in ("joint_A_position_rad", "joint_Z_position_m"):
        np.testing.assert_allclose(result.signals[name], fine.signals[name], atol=2e-7)


def test_at_the_start_it_is_in_balance(tmp_path: Path) -> None:
    robot = own_robot()
    robot["axes"]["A"]["origin"] = small.HORIZONTAL
    robot["axes"]["A"]["link"] = {"mass": "2 kg", "center": ["0.2 m", "0 m", "0 m"]}
    scenario = {"move": [{"to": {"A": "0 deg"}, "dwell": "0.05 s"}]}
    run = small.prepared(put(tmp_path), robot, scenario, allow_code=True)
    held = 2.0 * 9.80665 * 0.2 / small.RATIO
    assert abs(run.machine.y[int(run.machine.motors["current_at"][0])]) == pytest.approx(held, rel=1e-6)
    result = carry_out(run, lambda part: None)
    assert np.ptp(result.signals["joint_A_position_rad"]) < 2e-7


def test_without_power_it_takes_no_current(tmp_path: Path) -> None:
    """Its command and its supply are zero then; a driver that asks on sees nothing flow."""
    seen: list[float] = []

    def ask(time: float, signals: Any) -> Any:
        seen.append(float(signals.current[0]))
        return np.array([0.5])

    scenario = {
        "faults": [{"at": "20 ms", "kind": "power-off"}],
        "move": [{"to": {"A": "0 deg"}, "dwell": "0.1 s"}],
    }
    law = PythonLaw(ask, period=1e-3, level="current")
    result = carry_out(
        small.prepared(put(tmp_path), own_robot(), scenario, law, allow_code=True), lambda part: None
    )
    assert seen[15] == pytest.approx(0.5)
    assert seen[-1] == 0.0
    assert abs(result.signals["motor_A_torque_N_m"][-1]) < 1e-6


NO_BALANCE = """
import math
import servotwin as st

def rates(x, theta, w, command, supply, p, dx, out):
    out[st.EFFORT] = math.sqrt(command - 3.0) if abs(command) > 0.01 else command

LAGGED = st.Actuator(rates=rates)
"""


def test_effort_that_is_no_number_is_no_balance(tmp_path: Path) -> None:
    robot = own_robot(parameters={})
    robot["axes"]["A"]["origin"] = small.HORIZONTAL
    robot["axes"]["A"]["link"] = {"mass": "2 kg", "center": ["0.2 m", "0 m", "0 m"]}
    with pytest.raises(st.InputError, match="no command holds"):
        small.prepared(put(tmp_path, NO_BALANCE), robot, {}, allow_code=True)


def test_state_has_room_for_the_largest_robot() -> None:
    """Free coordinates, joint speeds, angles and speeds behind elastic gears, states of actuators, bus."""
    needed = MAX_FREE + MAX_JOINTS * (1 + 2 + MOST_STATES) + 1
    assert needed <= MAX_STATES


def with_energy(function: str) -> str:
    return FILE.replace("LAGGED =", f"{function}\n\nLAGGED =").replace("rates=rates", "rates=rates, energy=e")


BAD = {
    "no such name": (FILE.replace("LAGGED =", "LAGED ="), {}, "lagged.py has no Actuator 'LAGGED'"),
    "not an actuator": ("LAGGED = 3", {}, "lagged.py has no Actuator 'LAGGED'"),
    "syntax": ("def (", {}, "not Python"),
    "unit of a declaration": (FILE.replace('"lag": "s"', '"lag": "sec0nds"'), {}, "sec0nds"),
    "too many states": (
        FILE.replace('{"torque": "N*m"}', '{name: "1" for name in "abcd"}'), {}, "4 states; expected at most 3",
    ),
    "states without units": (FILE.replace('{"torque": "N*m"}', '["torque"]'), {}, "['torque']'; expected names"),
    "no parameters": (FILE.replace('{"constant": "N*m/A", "lag": "s"}', "None"), {}, "are 'None'; expected"),
    "unit that is no text": (FILE.replace('"lag": "s"', '"lag": 3'), {}, "expected names with units"),
    "numba": (FILE.replace("dx[0] =", "dx[0] = open('x') or"), {}, "it cannot be computed"),
    "no number": (FILE.replace("x[0] * w", "x[0] / (w - w)"), {}, "no finite numbers"),
    "state beyond its own": (FILE.replace("dx[0]", "dx[1]"), {}, "an index is out of bounds"),
    "parameter beyond its own": (FILE.replace("p[1]", "p[2]"), {}, "an index is out of bounds"),
    "state of an actuator without": (FILE.replace('{"torque": "N*m"}', "{}"), {}, "an index is out of bounds"),
    "states in a list": (FILE.replace('{"torque": "N*m"}', '["torque"]'), {}, "its states are"),
    "no states": (FILE.replace('{"torque": "N*m"}', "None"), {}, "its states are 'None'; expected names with units"),
    "unit that is a number": (FILE.replace('"lag": "s"', '"lag": 3'), {}, "its parameters are"),
    "rates that are a text": (FILE.replace("rates=rates", "rates='rates'"), {}, "its rates is no plain function"),
    "rates that yield": (FILE.replace("out[st.POWER] = x[0] * w", "yield 1"), {}, "its rates is no plain function"),
    "rates that return": (FILE.replace("out[st.POWER] =", "return"), {}, "its rates return a value"),
    "rates with few arguments": (FILE.replace("supply, p, dx, out", "supply, p, dx"), {}, "it cannot be computed"),
    "rates of an object": (FILE.replace("out[st.POWER] = x[0] * w", "print(st.Actuator)"), {}, "it cannot be computed"),
    "states that are written": (FILE.replace("out[st.POWER] =", "x[0] ="), {}, "it changes its states x"),
    "energy of one argument": (
        with_energy("def e(x):\n    return 0.0"),
        {}, "its energy cannot be computed: TypeError",
    ),
    "energy that is no number": (
        with_energy("def e(x, p):\n    return 'a'"),
        {}, "its energy cannot be computed: ValueError",
    ),
    "an unknown declaration": (FILE.replace("states=", "statez="), {}, "the actuator cannot be loaded: TypeError"),
    "an exit": ("raise SystemExit(3)", {}, "the actuator cannot be loaded: SystemExit"),
    "missing parameter": (FILE, {"parameters": {"lag": "5 ms"}}, "'constant' is missing; expected a number in N*m/A"),
    "unknown parameter": (
        FILE, {"parameters": {**MOTOR["parameters"], "lagg": "1 ms"}}, "no such parameter; expected constant, lag",
    ),
    "unit of a parameter": (FILE, {"parameters": {"constant": "3 kg", "lag": "5 ms"}}, "parameters.constant"),
    "no torque constant": (FILE, {"torque_constant": None}, "torque_constant: missing: 'lagged.py:LAGGED' needs it"),
    "effort that is not filled": (FILE.replace("out[st.EFFORT]", "out[st.LOSS]"), {}, "do not fill out[EFFORT]"),
    "rate that is not filled": (FILE.replace("dx[0] =", "y ="), {}, "do not fill dx[0], the rate of 'torque'"),
    "outside": (FILE, {"kind": "../lagged.py:LAGGED"}, "leads out of the folder of the robot file"),
    "no file": (FILE, {"kind": "other.py:LAGGED"}, "no file 'other.py' beside the robot file"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_actuator_gets_one_line(what: str, tmp_path: Path) -> None:
    text, motor, words = BAD[what]
    with pytest.raises(st.InputError) as caught:
        small.prepared(put(tmp_path, text), own_robot(**motor), {}, allow_code=True)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise ValueError('boom')", "the actuator of motor A: it raises: ValueError: boom, at theta 0.1"),
        ("dx[int(theta * 1e6)] = 1.0", "it raises: IndexError: index is out of bounds"),
        ("out[st.EFFORT] = x[0] / (w - w)", "it gives no finite effort"),
    ],
)
def test_actuator_that_fails_on_the_way_ends_the_run_in_one_line(
    line: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = FILE.replace("    out[st.POWER] = x[0] * w\n", f"    if theta > 0.1:\n        {line}\n")
    move = {"move": [{"to": {"A": "0.3 rad"}, "dwell": "0.05 s"}]}
    run = small.prepared(put(tmp_path, text), own_robot(), move, allow_code=True)
    with pytest.raises(st.SimulationError) as caught:
        carry_out(run, lambda part: None)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "Exception ignored" not in capfd.readouterr().err


def test_example_has_nothing_of_the_motor_it_replaces() -> None:
    description = read_description(EXAMPLE / "robot.yaml")
    assert not description.warnings
    motor = description.axes["Z"].motor
    assert motor is not None
    assert motor.resistance is None
    assert motor.rated_output is None


def test_arm_with_an_own_actuator_is_driven_by_hand_where_code_is_allowed() -> None:
    with pytest.raises(st.InputError, match="is Python code, which is not run"):
        LiveRobot(EXAMPLE / "robot.yaml", drives=True)
    live = LiveRobot(EXAMPLE / "robot.yaml", drives=True, allow_code=True)
    live.step()
    live.press("enable")
    live.step()
    begun = live.q[2]
    for _ in range(20):
        live.press("jog", jog=Jog("joint", (0.0, 0.0, 1.0, 0.0)))
        live.step()
    assert live.q[2] > begun + 1e-3


def test_code_is_not_run_unless_it_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in EXAMPLE.iterdir():
        if path.is_file():
            (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    marker = folder / "ran"
    script = folder / "slide.py"
    script.write_text(f"open({str(marker)!r}, 'w')\n" + script.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["check", str(folder / "robot.yaml")]) == 0
    assert main(["check", str(folder / "lift.yaml")]) == 0
    capsys.readouterr()
    assert main(["simulate", str(folder / "lift.yaml"), "--no-report", "--out", str(tmp_path / "out")]) == 2
    assert "is Python code, which is not run" in capsys.readouterr().err
    assert not marker.exists()
    assert math.isfinite(st.load_robot(folder / "robot.yaml").rne(np.zeros(4), np.zeros(4), np.zeros(4))[2])
    assert not marker.exists()


def test_job_on_a_robot_with_an_own_actuator(tmp_path: Path) -> None:
    for name in ("slide.py", "robot.yaml"):
        (tmp_path / name).write_text((EXAMPLE / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "up.job").write_text("MOVEJ P1\n", encoding="utf-8")
    target = "{joints: {A: 0 deg, B: 0 deg, Z: 60 mm, W: 0 deg}}"
    points = f"format: servotwin-points/1\nrobot: robot.yaml\npoints:\n  P1: {target}\n"
    (tmp_path / "up.points.yaml").write_text(points, encoding="utf-8")
    with pytest.raises(st.InputError, match="is Python code, which is not run"):
        st.run_job(tmp_path / "up.job", robot=tmp_path / "robot.yaml")
    result = st.run_job(tmp_path / "up.job", robot=tmp_path / "robot.yaml", allow_code=True).result
    assert result.signals["joint_Z_position_m"][-1] == pytest.approx(0.06, abs=1e-4)


UNFILLED = """
import servotwin as st

def slips(x, theta, w, command, supply, p, dx, out):
    {zero}
    if abs(w) > p[1]:
        return
    dx[0] = (p[0] * command - x[0]) / 0.002
    out[st.EFFORT] = x[0]
    out[st.POWER] = x[0] * w

def lossy(x, theta, w, command, supply, p, dx, out):
    dx[0] = (p[0] * command - x[0]) / 0.002
    out[st.EFFORT] = x[0]
    out[st.LOSS] = 0.1 * x[0] * x[0]
    out[st.POWER] = x[0] * w + out[st.LOSS]

STATES, NUMBERS = {{"torque": "N*m"}}, {{"constant": "N*m/A", "most": "rad/s"}}
SLIPS = st.Actuator(rates=slips, states=STATES, parameters=NUMBERS)
LOSSY = st.Actuator(rates=lossy, states=STATES, parameters=NUMBERS)
"""


@pytest.mark.parametrize("method", ["fast", "adaptive"])
def test_what_an_actuator_does_not_fill_is_zero_whatever_its_neighbour_fills(
    method: str, tmp_path: Path
) -> None:
    """Early return beyond a speed: no effort, no loss, no rate; as if the function had begun by filling in zeros."""
    positions = []
    for name, zero in (("left", "pass"), ("zero", "dx[0] = out[0] = out[1] = out[2] = 0.0")):
        (tmp_path / name).mkdir()
        axes = {"A": small.axis(), "B": small.axis()}
        for axis, kind in zip(axes.values(), ("LOSSY", "SLIPS"), strict=True):
            numbers = {"constant": f"{CONSTANT} N*m/A", "most": "5 rad/s"}
            axis["motor"] = {**MOTOR, "kind": f"lagged.py:{kind}", "parameters": numbers}
        scenario = {
            "solver": {"method": method},
            "move": [{"to": {"A": "40 deg", "B": "-30 deg"}, "ramp": "0.1 s"}],
        }
        folder = put(tmp_path / name, UNFILLED.format(zero=zero))
        run = small.prepared(folder, small.robot(axes=axes), scenario, allow_code=True)
        result = carry_out(run, lambda part: None)
        positions.append(np.array([result.signals[f"joint_{axis}_position_rad"] for axis in "AB"]))
    np.testing.assert_array_equal(positions[0], positions[1])


def coil_run(folder: Path, method: str, lag: float, **motor: Any) -> Any:
    """A step of the current of 0.5 A, under pulses of a period of 0.1 ms."""
    law = PythonLaw(lambda time, signals: np.array([0.5]), period=1e-3, level="current")
    parameters = {"constant": f"{CONSTANT} N*m/A", "lag": f"{lag} s"}
    scenario = {"solver": {"method": method}, "move": [{"to": {"A": "0 deg"}, "dwell": "0.02 s"}]}
    robot = own_robot(parameters=parameters, **motor)
    return carry_out(small.prepared(put(folder), robot, scenario, law, allow_code=True), lambda part: None)


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive", "modified-euler"])
@pytest.mark.parametrize("lag", [2e-6, 20e-6, 100e-6])
def test_lag_shorter_than_a_step_neither_diverges_nor_spoils_the_peak(
    method: str, lag: float, tmp_path: Path
) -> None:
    """The torque rises to K i and never beyond; its mean over the first millisecond is K i (1 - lag / 1 ms)."""
    result = coil_run(tmp_path, method, lag)
    axis = result.summary["axes"][0]
    assert axis["peak_torque_N_m"] == pytest.approx(0.5 * CONSTANT, rel=1e-4)
    assert result.signals["motor_A_torque_N_m"][-1] == pytest.approx(0.5 * CONSTANT, rel=1e-6)
    assert abs(result.summary["energy"]["balance_error_relative"]) < 1e-5


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
def test_actuator_too_quick_for_any_step_is_named(method: str, tmp_path: Path) -> None:
    with pytest.raises(st.SimulationError) as caught:
        coil_run(tmp_path, method, 1e-9)
    assert "motor A: the states of its actuator 'lagged.py:LAGGED' change within 0.001 us" in str(
        caught.value
    )
    assert "friction" not in str(caught.value)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_spectral_radius_is_that_of_the_eigenvalues(size: int) -> None:
    """Against NumPy, for states of one scale and of scales that differ by 1e6, and for F^n = 0."""
    generator = np.random.default_rng(5)
    find = getattr(spectral_radius, "py_func", spectral_radius)
    for _ in range(50):
        F = generator.normal(size=(size, size))
        scale = 10.0 ** generator.uniform(-3, 3, size)
        for slopes, above in ((F, 1.05), (F * scale[:, None] / scale, 1.2)):
            exact = np.abs(np.linalg.eigvals(slopes)).max()
            assert 0.999 * exact < find(slopes.copy(), np.zeros((3, 3)), size) < above * exact
    assert find(np.triu(np.ones((size, size)), 1), np.zeros((3, 3)), size) == 0.0


def test_winding_is_heated_by_the_loss(tmp_path: Path) -> None:
    """With a large capacity all heat stays in the winding: T = 25 degC + loss / C."""
    thermal = {
        "winding_to_housing": "1e9 K/W", "housing_to_ambient": "1 K/W", "winding_capacity": "2 J/K",
        "housing_capacity": "100 J/K",
    }  # fmt: skip
    text = FILE.replace("x[0] * w\n", "x[0] * w + 3.0\n    out[st.LOSS] = 3.0\n")
    scenario = {"move": [{"to": {"A": "0 deg"}, "dwell": "0.1 s"}]}
    run = small.prepared(put(tmp_path, text), own_robot(thermal=thermal), scenario, allow_code=True)
    result = carry_out(run, lambda part: None)
    lost = result.summary["energy"]["actuator_loss_J"]
    assert lost == pytest.approx(3.0 * result.summary["simulated_s"], rel=1e-9)
    assert result.signals["motor_A_winding_temperature_degC"][-1] == pytest.approx(
        25.0 + lost / 2.0, abs=1e-6
    )


def test_account_that_does_not_close_names_the_actuator(tmp_path: Path) -> None:
    text = FILE.replace("x[0] * w\n", "x[0] * w + 3.0\n")
    scenario = {"move": [{"to": {"A": "0.1 rad"}}]}
    run = small.prepared(put(tmp_path, text), own_robot(), scenario, allow_code=True)
    result = carry_out(run, lambda part: None)
    (said,) = [line for line in result.summary["warnings"] if "energy balance" in line]
    missing = 3.0 * result.summary["simulated_s"]
    assert f"the actuator of motor A leaves {missing:.3g} J out" in said


def test_loss_that_is_not_stated_is_zero_beside_an_actuator_that_states_one(tmp_path: Path) -> None:
    lossy = FILE.replace("x[0] * w\n", "x[0] * w + 3.0\n    out[st.LOSS] = 3.0\n")
    (tmp_path / "lossy.py").write_text(lossy, encoding="utf-8")
    axes = {"A": small.axis(), "B": small.axis()}
    axes["A"]["motor"], axes["B"]["motor"] = {**MOTOR, "kind": "lossy.py:LAGGED"}, dict(MOTOR)
    scenario = {"start": {"A": "0 deg", "B": "0 deg"}, "move": [{"to": {"A": "0 deg"}, "dwell": "0.05 s"}]}
    run = small.prepared(put(tmp_path), small.robot(axes=axes), scenario, allow_code=True)
    energy = carry_out(run, lambda part: None).summary["energy"]
    assert energy["actuator_loss_J"] == pytest.approx(3.0 * run.now_s, rel=1e-9)


def test_fault_of_a_current_sensor_that_is_not_there_is_refused(tmp_path: Path) -> None:
    faults = [{"at": "1 ms", "axis": "A", "kind": "current-sensor-offset", "value": "0.5 A"}]
    with pytest.raises(st.InputError, match="'A' has no current sensor") as caught:
        small.prepared(put(tmp_path), own_robot(), {"faults": faults}, allow_code=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_current_is_the_command_in_peak_rms_and_signal(method: str, tmp_path: Path) -> None:
    """An effort of twice what ``torque_constant`` says; a constant current for half of the run: i sqrt(1/2)."""
    law = PythonLaw(lambda time, signals: np.array([0.5]), period=1e-3, level="current")
    scenario = {
        "solver": {"method": method},
        "faults": [{"at": "50 ms", "kind": "power-off"}],
        "move": [{"to": {"A": "0 deg"}, "dwell": "0.1 s"}],
        "record": {"every": "1 ms"},
    }
    strong = own_robot(parameters={"constant": f"{2 * CONSTANT} N*m/A", "lag": f"{LAG} s"})
    result = carry_out(
        small.prepared(put(tmp_path), strong, scenario, law, allow_code=True), lambda part: None
    )
    (axis,) = result.summary["axes"]
    assert axis["peak_current_A"] == pytest.approx(0.5, rel=1e-12)
    assert axis["rms_current_A"] == pytest.approx(0.5 * math.sqrt(0.5), rel=1e-9)
    current, t = result.signals["motor_A_current_A"], result.signals["time_s"]
    np.testing.assert_allclose(current, np.where(t < 50.5e-3, 0.5, 0.0), atol=1e-9)
    assert axis["rms_torque_N_m"] > 1.5 * CONSTANT * axis["rms_current_A"]


def test_tune_says_why_an_own_axis_is_left_out_and_what_decides_its_gains(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tune", str(EXAMPLE / "robot.yaml")]) == 0
    (line,) = [text for text in capsys.readouterr().err.splitlines() if "motor Z" in text]
    assert "left out: 'slide.py:LAGGED_FORCE' closes its current loop itself" in line
    assert "controller.gains.Z" in line
