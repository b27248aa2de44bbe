"""A hydraulic axis in the plant: balances under every method, limits of the oil, closed forms, SciPy as witness."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.cli.main import main
from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.simulation.plant.hydraulic_account import oil_account
from servotwin.simulation.results.energy import account, stored_energies
from servotwin.simulation.run import Run
from tests import hydraulic_axes as hx
from tests import small_drives as small
from tests.hydraulic_axes import BAR

METHODS = ["fast", "rk4", "adaptive", "modified-euler"]
CUSHION = {"length": "15 mm", "flow": "0.5 L/min"}
STIFF = {**hx.FEED, "oil": {"bulk_modulus": "20 GPa", "entrained_gas": 1e-6}}
TIGHT: dict[str, Any] = {
    "valve": {"null_leakage": "0 L/min", "laminar_drop": "0.01 bar"},
    "cylinder": {"leakage": "0 m^3/(s*Pa)"},
}


@pytest.mark.parametrize("feed", ["constant", "pump"])
def test_oil_and_energy_of_a_loaded_hydraulic_motor_close(tmp_path: Path, feed: str) -> None:
    """It carries oil between two pressures: what leaves one side enters the other."""
    motor = {"kind": "hydraulic", "valve": hx.LIFT["motor"]["valve"]}
    motor["hydraulic_motor"] = {"displacement": "8e-6 m^3/rad", "dead_volume": "20 cm^3"}
    axis = small.axis(motor=motor, gear={"ratio": 1}, limits={"position": None}, origin=small.HORIZONTAL)
    oil = {**(hx.PUMP if feed == "pump" else hx.FEED)}
    run = prepared(tmp_path, small.robot({"hydraulics": oil}, axes={"A": axis}), "adaptive", start="0 rad")
    machine = hx.open_loop(run, lambda t: [0.02 if t < 0.3 else -0.03])
    before = stored_energies(machine, run.plant)
    machine.advance(800_000_000)
    assert abs(state_of(machine)[2] - state_of(machine)[3]) > 5e4
    assert abs(account(machine, run.plant, before)["balance_error_relative"]) < 1e-6
    assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < 1e-6


SEALS = {"coulomb": "60 N", "static": "90 N", "stribeck_speed": "10 mm/s", "viscous": "200 N*s/m"}


def prepared(
    folder: Path, robot: small.Tree, method: str = "fast", start: str = "-75 mm", **solver: Any
) -> Run:
    scenario = {"start": {"A": start}, "move": [{"to": {"A": start}, "dwell": "1 s"}]}
    return small.prepared(folder, robot, {**scenario, "solver": {"method": method, **solver}})


def state_of(machine: Any, j: int = 0) -> Any:
    at = int(machine.motors["current_at"][j])
    return machine.y[at : at + 4]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("feed", ["constant", "pump"])
def test_energy_and_oil_close_under_every_method(tmp_path: Path, method: str, feed: str) -> None:
    """Full strokes with stick and slip, cushions, end stops, and a supply that sags: to 1e-6, and 5e-6 by Heun."""
    motor = small.merged(hx.LIFT["motor"], {"cylinder": {"cushion": CUSHION}})
    robot = hx.lift(hx.PUMP if feed == "pump" else hx.FEED, friction=SEALS, motor=motor)
    run = prepared(tmp_path, robot, method)
    machine = hx.open_loop(run, lambda t: [0.04 if t < 0.35 else -0.04])
    before = stored_energies(machine, run.plant)
    machine.advance(1_000_000_000)
    assert machine.world["state"]["status"][0] == 0
    assert machine.world["state"]["events"][0] > 3
    numbers = account(machine, run.plant, before)
    assert numbers["valve_J"] > 10.0
    assert numbers["cushion_J"] > 0.1
    least = 5e-6 if method == "modified-euler" else 1e-6
    assert abs(numbers["balance_error_relative"]) < least
    assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < least


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_peak_force_is_that_of_the_pressures_at_the_ends_of_windows(tmp_path: Path, method: str) -> None:
    """A_A p_A - A_B p_B of accepted states, whatever the last stage of a rejected step left in the record."""
    run = prepared(tmp_path, hx.lift(), method)
    machine = hx.open_loop(run, lambda t: [0.03 * math.sin(25 * t)])
    area_a, area_b = (float(machine.motors["hydraulic"][f"area_{side}"][0]) for side in "ab")
    forces = []
    for window in range(400):
        p_a, p_b = state_of(machine)[2:]
        forces.append(abs(area_a * p_a - area_b * p_b))
        machine.motors["tau"] = 1e9
        machine.advance((window + 1) * 200_000)
    p_a, p_b = state_of(machine)[2:]
    forces.append(abs(area_a * p_a - area_b * p_b))
    at_end = forces if method == "rk4" else forces[:-1]  # the fast window looks at its beginning
    assert machine.motors["tau_peak"][0] == pytest.approx(max(at_end), rel=1e-12)


def test_methods_agree_within_their_tolerances(tmp_path: Path) -> None:
    ends = {}
    for method in METHODS:
        folder = tmp_path / method
        folder.mkdir()
        machine = hx.open_loop(
            prepared(folder, hx.lift(hx.PUMP), method, tolerance=1e-10), lambda t: [0.03 * math.sin(25 * t)]
        )
        machine.advance(400_000_000)
        ends[method] = machine.y[: int(machine.world["n_y"][0])].copy()
    for method, rel in (("fast", 1e-5), ("rk4", 1e-5), ("modified-euler", 5e-3)):
        assert ends[method] == pytest.approx(ends["adaptive"], rel=rel)


@pytest.mark.parametrize("feed", [hx.FEED, hx.PUMP])
def test_loaded_vertical_cylinder_stands_still_when_a_run_begins(
    tmp_path: Path, feed: dict[str, Any]
) -> None:
    run = prepared(tmp_path, hx.lift(feed))
    opening, _, p_a, p_b = state_of(run.machine)
    assert (p_a - p_b) * 2e-4 == pytest.approx(40.0 * 9.80665, rel=1e-9)
    machine = hx.open_loop(run, lambda _t: [0.04 * opening])
    machine.advance(500_000_000)
    assert machine.x[0] == pytest.approx(-0.075, abs=1e-9)
    assert state_of(machine)[2:] == pytest.approx([p_a, p_b], rel=1e-9)


def test_locked_cylinder_without_leaks_holds_its_load(tmp_path: Path) -> None:
    """Valve closed without clearance, tight piston: not a nanometre in a second, whatever hangs on it."""
    motor = small.merged(hx.LIFT["motor"], TIGHT)
    machine = hx.open_loop(prepared(tmp_path, hx.lift(motor=motor)), lambda _t: [0.0])
    machine.advance(1_000_000_000)
    assert machine.x[0] == pytest.approx(-0.075, abs=1e-12)
    assert machine.qd[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("current", [-0.01, 0.008, 0.02])
def test_free_running_piston_moves_with_the_flow_over_its_area(tmp_path: Path, current: float) -> None:
    """Square-root law: q = q_r (i / i_r) sqrt((p_s - p_L) / p_r), v = q / A, for oil that hardly gives way."""
    motor = small.merged(hx.LIFT["motor"], TIGHT)
    machine = hx.open_loop(prepared(tmp_path, hx.lift(STIFF, motor=motor)), lambda _t: [current])
    machine.advance(250_000_000)
    p_L = 40.0 * 9.80665 / 2e-4
    q = hx.Q_RATED * abs(current) / 0.04 * math.sqrt((70 * BAR - math.copysign(p_L, current)) / (70 * BAR))
    assert machine.qd[0] == pytest.approx(math.copysign(q / 2e-4, current), rel=1e-3)


def test_hydraulic_motor_turns_with_the_flow_over_its_displacement(tmp_path: Path) -> None:
    """The same equations with a volume per angle in the place of the area."""
    motor = {
        "kind": "hydraulic",
        "valve": {**hx.LIFT["motor"]["valve"], "null_leakage": "0 L/min", "laminar_drop": "0.01 bar"},
        "hydraulic_motor": {"displacement": "2e-6 m^3/rad", "dead_volume": "10 cm^3"},
    }
    axis = small.axis(motor=motor, gear={"ratio": 10}, limits={"position": None})
    run = prepared(tmp_path, small.robot({"hydraulics": STIFF}, axes={"A": axis}), start="0 rad")
    machine = hx.open_loop(run, lambda _t: [0.01])
    before = stored_energies(machine, run.plant)
    machine.advance(500_000_000)
    assert 10 * machine.qd[0] == pytest.approx(hx.Q_RATED / 4 / 2e-6, rel=1e-3)
    assert abs(account(machine, run.plant, before)["balance_error_relative"]) < 1e-6
    assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < 1e-6


def test_pressures_stay_above_vacuum_and_cavitation_is_told(tmp_path: Path) -> None:
    """A heavy load thrown up and the valve closed: the lower chamber is torn, and the run goes on and says so."""
    robot = hx.lift(
        motor=small.merged(hx.LIFT["motor"], {"valve": {"rated_flow": "20 L/min", "null_leakage": "0 L/min"}})
    )
    for method in ("fast", "rk4", "adaptive"):
        folder = tmp_path / method
        folder.mkdir()
        run = prepared(folder, robot, method, start="-149 mm")
        machine = hx.open_loop(run, lambda t: [0.04 if t < 0.06 else 0.0], 100_000)
        before = stored_energies(machine, run.plant)
        lowest = math.inf
        for k in range(1, 120):
            machine.advance(k * 1_000_000)
            lowest = min(lowest, *state_of(machine)[2:])
        assert machine.world["state"]["status"][0] == 0
        assert -1.01325 * BAR < lowest < -0.8 * BAR
        record = machine.motors[0]["hydraulic"]
        assert record["cavitated_ns"] > 0
        assert min(record["p_a_low"], record["p_b_low"]) <= lowest
        assert abs(account(machine, run.plant, before)["balance_error_relative"]) < 1e-6
        assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < 1e-6


def test_relief_valve_limits_the_supply(tmp_path: Path) -> None:
    """A blocked valve lets all of the pump's flow over the relief valve: 5 of 6 L/min take 5/6 of its override."""
    machine = hx.open_loop(prepared(tmp_path, hx.lift(hx.PUMP)), lambda t: [0.04 if 0.1 < t < 0.2 else 0.0])
    highest = 0.0
    for k in range(1, 80):
        machine.advance(k * 10_000_000)
        highest = max(highest, machine.y[int(machine.world["at_supply"][0])])
    assert highest <= (70 + 4 * 5 / 6) * BAR
    assert highest > 70 * BAR
    assert machine.world["supply"]["p_low"][0] < highest - 0.5 * BAR


@pytest.mark.parametrize(
    "relief",
    [
        {"pressure": "70 bar", "flow": "0.001 L/min", "override": "4 bar"},
        {"pressure": "5000 bar", "flow": "6 L/min"},
    ],
)
def test_relief_valve_that_does_not_let_the_flow_pass_is_refused(
    tmp_path: Path, relief: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Linear from its opening pressure on: 5 of 0.001 L/min would take 5000 times its override."""
    small.write_case(tmp_path, hx.lift({**hx.PUMP, "relief": relief}))
    assert main(["check", str(tmp_path / "robot.yaml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    passing = 70 + 4 * 5000 if "override" in relief else 5000 + 5 * 5 / 6
    assert "hydraulics.relief: " in line
    assert f"lets the 5 L/min of the pump pass at {passing:.4g} bar; expected at most 1000 bar" in line


def test_axes_share_one_supply(tmp_path: Path) -> None:
    """Two cylinders on one pump: what the first one draws, the second one feels; energy and oil close for both."""
    slide = {**hx.LIFT, "axis": [1, 0, 0], "link": {"mass": "20 kg"}}
    robot = small.robot({"hydraulics": hx.PUMP, "power": None}, axes={"A": hx.LIFT, "B": slide})
    begin = {"A": "-140 mm", "B": "-75 mm"}
    scenario = {"start": begin, "move": [{"to": begin, "dwell": "1 s"}], "solver": {"method": "fast"}}
    run = small.prepared(tmp_path, robot, scenario)
    machine, at = run.machine, int(run.machine.world["at_supply"][0])
    begun, before = float(machine.y[at]), stored_energies(machine, run.plant)
    held = float(state_of(machine, 1)[0])
    hx.open_loop(run, lambda t: [0.04, 0.04 * held])
    machine.advance(400_000_000)
    assert machine.y[at] < begun - 1.0 * BAR
    assert abs(account(machine, run.plant, before)["balance_error_relative"]) < 1e-6
    assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < 1e-6


def test_stiff_oil_takes_the_steps_it_needs(tmp_path: Path) -> None:
    """0.5 cm3 and edges that are laminar below 0.05 bar: rates of 1/(2.4 us) in periods of 0.2 ms."""
    motor = small.merged(
        hx.LIFT["motor"], {"valve": {"laminar_drop": "0.05 bar"}, "cylinder": {"dead_volume": "0.5 cm^3"}}
    )
    run = prepared(tmp_path, hx.lift(motor=motor), "rk4")
    machine = hx.open_loop(run, lambda t: [0.04 if t < 0.35 else -0.04])
    before, fastest = stored_energies(machine, run.plant), 0.0
    for k in range(1, 1001):
        machine.advance(k * 1_000_000)
        fastest = max(fastest, float(machine.world["scratch"]["fastest"][0]))
    assert fastest * 2e-4 > 50.0
    assert machine.world["state"]["status"][0] == 0
    assert abs(account(machine, run.plant, before)["balance_error_relative"]) < 1e-6
    assert abs(oil_account(machine.groups[0], machine)["mass_error_relative"]) < 1e-6


# --- the whole plant against SciPy ------------------------------------------------------------------------


def polar_arm() -> small.Tree:
    """A pivot in a vertical plane with a torque, and a cylinder that pushes 12 kg along the arm."""
    pivot = small.axis(motor={"kind": "ideal"}, gear={"ratio": 1}, origin=small.HORIZONTAL)
    pivot["link"] = {
        "mass": "0 kg",
        "inertia": {"tensor": {"xx": "1 kg*m^2", "yy": "1 kg*m^2", "zz": "2 kg*m^2"}},
    }
    slide = {**hx.LIFT, "axis": [1, 0, 0], "link": {"mass": "12 kg"}, "friction": {"viscous": "300 N*s/m"}}
    slide["origin"] = {"xyz": ["0.6 m", "0 m", "0 m"]}
    slide["motor"] = small.merged(
        hx.LIFT["motor"], {"cylinder": {"rod_side_area": "1.4 cm^2", "cushion": CUSHION}}
    )
    return small.robot({"hydraulics": hx.PUMP, "power": None}, axes={"A": pivot, "B": slide})


def test_coupled_plant_is_what_scipy_integrates(tmp_path: Path) -> None:
    """Polar arm on a sagging supply: equations written here, LSODA at 1e-11; fixed steps know the spool to 1e-5."""
    description_of: dict[str, Any] = {}
    ends = {}
    for method in ("fast", "rk4", "adaptive"):
        folder = tmp_path / method
        folder.mkdir()
        begin = {"A": "0.3 rad", "B": "-100 mm"}
        scenario: dict[str, Any] = {"start": begin, "move": [{"to": begin, "dwell": "1 s"}]}
        scenario["solver"] = {"method": method, "tolerance": 1e-10}
        run = small.prepared(folder, polar_arm(), scenario)
        machine = run.machine
        start = machine.y[: int(machine.world["n_y"][0])].copy()
        torque = float(machine.motors["tau"][0])
        driven = hx.open_loop(run, lambda t: [0.0, 0.025 * math.sin(20 * math.floor(t / 2e-4 + 0.5) * 2e-4)])
        give = driven.exchange

        def exchange(unit: Any, give: Any = give, torque: float = torque) -> None:
            give(unit)
            unit.command["current"][0, 0] = torque + 20.0

        driven.exchange = exchange
        machine.advance(200_000_000)
        ends[method] = machine.y[: len(start)].copy()
        description_of["truth"] = run.scenario.plant_description
    truth = description_of["truth"]
    axis, supply = hydraulic_axis(truth, drives_of(truth)[1]), hydraulic_supply(truth)
    wanted = scipy_end(axis, supply, start, torque + 20.0)
    for method, rel in (("adaptive", 1e-7), ("fast", 1e-5), ("rk4", 1e-5)):
        assert ends[method] == pytest.approx(wanted, rel=rel, abs=1e-9), method


def scipy_end(axis: Any, supply: Any, start: np.ndarray, torque: float) -> np.ndarray:
    """The state after 0.2 s: theta, r, their speeds, spool, spool speed, p_A, p_B, p_s, period by period."""
    m, I_0, g = 12.0, 2.0, 9.80665

    def rhs(_t: float, y: np.ndarray, i: float) -> np.ndarray:
        theta, slid, w, v, *hydraulic, p_s = y
        r = 0.6 + slid
        force = axis.area_a * hydraulic[2] - axis.area_b * hydraulic[3] - 300.0 * v
        dw = (torque - m * g * r * math.cos(theta) - 2 * m * r * v * w) / (I_0 + m * r * r)
        dv = force / m + r * w * w - g * math.sin(theta)
        rates = hx.plain_rates(axis, supply, i, slid, v, p_s, hydraulic)
        drawn = hx.plain_drawn(axis, supply, slid, p_s, hydraulic)
        return np.array([w, v, dw, dv, *rates, hx.plain_supply(supply, p_s, drawn)])

    y = start
    for k in range(1000):
        i = 0.025 * math.sin(20 * k * 2e-4)
        found = solve_ivp(rhs, (0, 2e-4), y, args=(i,), method="LSODA", rtol=1e-11, atol=1e-13)
        y = found.y[:, -1]
    return y
