"""Valve, cylinder and supply: against a second version, closed forms, and the balances of energy and oil."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.drives.hydraulic.data import Axis, Supply, valve_clearance
from servotwin.drives.hydraulic.laws import edge_opening, gas_energy, gas_volume, oil
from servotwin.drives.hydraulic.linear import linear_axis
from servotwin.drives.hydraulic.records import (
    CUSHIONED,
    DRAINED,
    FROM_SUPPLY,
    LEAKED,
    PUMP_ENERGY,
    PUMP_LOSS,
    PUMPED,
    RELIEF_LOSS,
    RELIEVED,
    SUPPLIED,
    THROTTLED,
    TO_TANK,
)
from servotwin.drives.hydraulic.steady import operating_point
from servotwin.errors import InputError
from tests import hydraulic_axes as hx
from tests.hydraulic_axes import BAR, SUPPLY_70
from tests.hydraulic_axes import PUMPED as PUMPED_SUPPLY

CUSHIONED_AXIS = hx.cylinder(cushion_length=0.02, cushion_resistance=5e15)
AXES = {
    "equal": hx.cylinder(),
    "unequal": hx.cylinder(area_b=1.2e-4),
    "underlap": hx.cylinder(**hx.valve(0.03, 0.1)),
    "overlap": hx.cylinder(**hx.valve(-0.04, 0.02)),
    "cushion": CUSHIONED_AXIS,
    "rotary": hx.cylinder(rotary=1),
}
TANK = replace(SUPPLY_70, tank=2 * BAR)
STATES = [  # current, position, speed, spool, spool speed, pressures
    (0.02, -0.08, 0.1, 0.4, 3.0, 40 * BAR, 25 * BAR),
    (-0.01, -0.002, 0.2, -0.3, -20.0, 1 * BAR, 90 * BAR),
    (0.09, -0.145, -0.3, 0.9, 100.0, 30 * BAR, -0.9 * BAR),
    (0.0, -0.01, 0.05, 0.0, 0.0, 75 * BAR, 20 * BAR),
]


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("case", STATES)
def test_compiled_rates_of_an_axis_are_those_of_the_theory_page(name: str, case: tuple[float, ...]) -> None:
    """A second version in plain Python; its bulk modulus is a central difference over 200 Pa, good to 1e-6 here."""
    i, x, v, *y = case
    for supply in (SUPPLY_70, TANK, replace(SUPPLY_70, exponent=1.0, gas=0.02)):
        found = hx.compiled_rates(AXES[name], supply, i, x, v, 70 * BAR, y)[0]
        assert found == pytest.approx(hx.plain_rates(AXES[name], supply, i, x, v, 70 * BAR, y), rel=1e-5)


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("case", STATES)
def test_power_from_the_supply_is_work_losses_and_stored_energy(name: str, case: tuple[float, ...]) -> None:
    """eq:supply-power at an instant, exactly: only the derivatives of the stored amounts are differences."""
    i, x, v, *y = case
    axis, supply = AXES[name], TANK
    dy, dz, (force, _, _) = hx.compiled_rates(axis, supply, i, x, v, 70 * BAR, y)
    h = 1e-7

    def at(sign: float) -> tuple[float, float, float]:
        return x + sign * h * v, y[2] + sign * h * dy[2], y[3] + sign * h * dy[3]

    stored = (axis.energy(supply, *at(1)) - axis.energy(supply, *at(-1))) / (2 * h)
    spent = dz[THROTTLED] + dz[LEAKED] + dz[CUSHIONED]
    assert dz[[THROTTLED, CUSHIONED, LEAKED]].min() >= 0.0
    assert dz[SUPPLIED] == pytest.approx(force * v + spent + stored, rel=1e-6, abs=1e-4)
    kept = (axis.content(supply, *at(1)) - axis.content(supply, *at(-1))) / (2 * h)
    assert dz[FROM_SUPPLY] - dz[TO_TANK] - dz[DRAINED] == pytest.approx(kept, rel=1e-6, abs=1e-11)


@pytest.mark.parametrize("p_s", [30 * BAR, 60 * BAR, 80 * BAR])
def test_pump_energy_is_what_leaves_is_relieved_and_stored(p_s: float) -> None:
    supply = replace(PUMPED_SUPPLY, tank=1.5 * BAR)
    drawn, h = 5e-5, 1e-6
    (rate, _), dz = hx.compiled_supply(supply, p_s, drawn)
    stored = (supply.energy(p_s + h * rate) - supply.energy(p_s - h * rate)) / (2 * h)
    h_s, h_t = supply.oil(p_s)[2], supply.oil(supply.tank)[2]
    tank = (dz[RELIEVED] - dz[PUMPED]) * h_t
    total = dz[PUMP_LOSS] + dz[RELIEF_LOSS] + stored + drawn * h_s + tank
    assert dz[PUMP_ENERGY] == pytest.approx(total, rel=1e-6)
    kept = (supply.content(p_s + h * rate) - supply.content(p_s - h * rate)) / (2 * h)
    assert dz[PUMPED] - dz[RELIEVED] - drawn == pytest.approx(kept, rel=1e-6, abs=1e-11)


def test_oil_is_the_derivative_of_its_enthalpy_and_never_below_vacuum() -> None:
    for n in (1.0, 1.2, 1.4):
        for p in (-1.0 * BAR, -0.5 * BAR, 0.0, 10 * BAR, 200 * BAR):
            volume, bulk, _ = oil(p, 1.4e9, 0.01, n)
            d = 1e-4 * (p + hx.P0)
            up, down = oil(p + d, 1.4e9, 0.01, n), oil(p - d, 1.4e9, 0.01, n)
            assert (up[2] - down[2]) / (2 * d) == pytest.approx(volume, rel=1e-6)
            assert -volume / ((up[0] - down[0]) / (2 * d)) == pytest.approx(bulk, rel=1e-6)
        assert oil(0.0, 1.4e9, 0.01, n)[::2] == pytest.approx((1.0, 0.0), abs=1e-9)
    volumes = [oil(p, 1.4e9, 0.01, 1.4)[0] for p in (-1.0e5, -1.01e5, -1.0132e5)]
    assert volumes[0] < volumes[1] < volumes[2]


def test_gas_of_an_accumulator_takes_the_work_of_the_oil() -> None:
    V, precharge, n = 1e-3, 45 * BAR, 1.25
    steps = np.linspace(precharge, 90 * BAR, 20001)
    volumes = np.array([gas_volume(p, V, precharge, n) for p in steps])
    work = -np.trapezoid(steps, volumes)
    assert gas_energy(90 * BAR, V, precharge, n) == pytest.approx(work, rel=1e-7)
    assert (steps[-1] + hx.P0) * volumes[-1] ** n == pytest.approx((precharge + hx.P0) * V**n, rel=1e-12)


# --- data sheets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("underlap", [-0.05, 0.0, 0.02])
def test_valve_gives_the_flow_and_the_leakage_of_its_data_sheet(underlap: float) -> None:
    """Both at 70 bar: 3.8 L/min with the spool at rated current, 5 % of it in the middle with blocked ports."""
    axis = hx.cylinder(**hx.valve(underlap, 0.05), leakage=0.0, drain=0.0)
    y = [1.0, 0.0, 35 * BAR, 35 * BAR]
    dz = hx.compiled_rates(axis, SUPPLY_70, 0.04, -0.07, 0.0, 70 * BAR, y)[1]
    leak = axis.k * edge_opening(-1.0 + underlap, axis.clearance) * math.sqrt(35 * BAR)
    assert dz[FROM_SUPPLY] - leak == pytest.approx(hx.Q_RATED, rel=1e-6)
    blocked = [0.0, 0.0, 35 * BAR, 35 * BAR]
    dz = hx.compiled_rates(axis, SUPPLY_70, 0.0, -0.07, 0.0, 70 * BAR, blocked)[1]
    assert dz[FROM_SUPPLY] == pytest.approx(0.05 * hx.Q_RATED, rel=1e-9)


def test_underlap_that_leaks_more_than_the_data_sheet_is_no_valve() -> None:
    assert valve_clearance(0.1, 0.05) is None
    assert valve_clearance(0.0, 0.0) == 0.0


# --- linear models ---------------------------------------------------------------------------------------

POINTS = [(-0.075, 0.0, 11.3), (-0.03, 0.1, 300.0), (-0.148, -0.05, -500.0), (-0.01, 0.15, 200.0)]


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("point", POINTS)
def test_linear_model_is_the_numeric_derivative_of_the_nonlinear_one(
    name: str, point: tuple[float, float, float]
) -> None:
    x, v, force = point
    axis, mass, viscous = AXES[name], 1.15, 20.0
    found = operating_point(axis, TANK, x, v, force)
    linear = linear_axis(axis, TANK, found, mass, viscous)
    current = found.opening * axis.rated_current

    def rhs(z: np.ndarray, i: float, load: float) -> np.ndarray:
        dy, _, (effort, _, _) = hx.compiled_rates(axis, TANK, i, z[0], z[1], 70 * BAR, z[2:])
        return np.array([z[1], (effort - viscous * z[1] - load) / mass, *dy])

    z = np.array([x, v, found.opening, 0.0, found.p_a, found.p_b])
    rest = rhs(z, current, force - viscous * v)
    assert rest[0] == v
    assert np.abs(rest[2:] / np.array([1.0, 1.0, 1e9, 1e9])).max() < 1e-9
    steps = np.array([1e-7, 1e-5, 1e-6, 1e-3, 20.0, 20.0])
    columns = [
        (rhs(z + d, current, force) - rhs(z - d, current, force)) / (2 * d.max()) for d in np.diag(steps)
    ]
    A = np.column_stack(columns)
    size = np.abs(A).max(axis=1, keepdims=True)
    assert np.abs((linear.A - A) / size).max() < 1e-6  # differences of rates that are themselves 1e9 Pa/s
    b = (rhs(z, current + 1e-6, force) - rhs(z, current - 1e-6, force)) / 2e-6
    f = (rhs(z, current, force + 1.0) - rhs(z, current, force - 1.0)) / 2.0
    assert linear.b == pytest.approx(b, rel=1e-6)
    assert linear.f == pytest.approx(f, rel=1e-9)
    A_3, b_3, f_3 = linear.third_order()
    watch = np.array([axis.area_a, -axis.area_b]) / axis.mean_area
    along = np.array([0, 0, 0, 0, *linear.direction])
    numeric = watch @ ((rhs(z + 20 * along, current, force) - rhs(z - 20 * along, current, force)) / 40.0)[4:]
    assert A_3[2, 2] == pytest.approx(numeric, rel=1e-5)
    assert A_3[1] == pytest.approx([0.0, -viscous / mass, axis.mean_area / mass])
    assert A_3[2, 1] == pytest.approx(watch @ A[4:, 1], rel=1e-6)
    assert b_3[2] * axis.rated_current == pytest.approx(watch @ A[4:, 2], rel=1e-6)
    assert f_3.tolist() == [0.0, -1.0 / mass, 0.0]


def test_third_order_model_in_the_middle_is_that_of_the_paper() -> None:
    """Perez et al. 1987, section 5: 4 S b / V, 4 b K_q / V, 4 b (K_c + C) / V, for a zero-lap valve at an opening.

    K_q and K_c are the textbook derivatives of Q_L = k s sqrt((p_s - p_L) / 2); the oil's own volume is 1 to 0.5 %.
    """
    axis = hx.cylinder(**hx.valve(0.0, 0.0, 1e-3 * BAR), drain=0.0, leakage=2e-12)
    supply = replace(SUPPLY_70, gas=1e-6)
    x, v, force = -0.075, 0.1, 400.0
    point = operating_point(axis, supply, x, v, force)
    linear = linear_axis(axis, supply, point, 1.15, 20.0)
    A, b, _ = linear.third_order()
    S, V, beta, p_L = 2e-4, 2 * (5e-6 + 2e-4 * 0.075), 1.4e9, force / 2e-4
    K_q = axis.k * math.sqrt((70 * BAR - p_L) / 2) / axis.rated_current
    K_c = axis.k * point.opening / (4 * math.sqrt((70 * BAR - p_L) / 2))
    assert A[2, 1] == pytest.approx(-4 * S * beta / V, rel=1e-3)
    assert b[2] == pytest.approx(4 * beta * K_q / V, rel=6e-3)
    assert A[2, 2] == pytest.approx(-4 * beta * (K_c + 2e-12) / V, rel=6e-3)
    assert linear.flow_gain == pytest.approx(K_q, rel=6e-3)
    assert linear.flow_pressure == pytest.approx(K_c + 2e-12, rel=6e-3)
    assert linear.natural_frequency == pytest.approx(math.sqrt(4 * beta * S**2 / (V * 1.15)), rel=1e-3)


def test_small_steps_of_the_current_agree_in_both_models() -> None:
    """A step of 0.1 % of the rated current at rest; what differs is of second order."""
    axis, mass, viscous, force, x, v = AXES["unequal"], 20.0, 100.0, 200.0, -0.1, 0.0
    point = operating_point(axis, SUPPLY_70, x, v, force)
    linear = linear_axis(axis, SUPPLY_70, point, mass, viscous)
    start = np.array([x, v, point.opening, 0.0, point.p_a, point.p_b])
    step, rest = 0.001 * axis.rated_current, point.opening * axis.rated_current

    def rhs(_t: float, z: np.ndarray, i: float) -> np.ndarray:
        dy, _, (effort, _, _) = hx.compiled_rates(axis, SUPPLY_70, i, z[0], z[1], 70 * BAR, z[2:])
        return np.array([z[1], (effort - viscous * (z[1] - v) - force) / mass, *dy])

    options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12, "t_eval": np.linspace(0, 0.05, 200)}
    moved = solve_ivp(rhs, (0, 0.05), start, args=(rest + step,), **options).y
    still = solve_ivp(rhs, (0, 0.05), start, args=(rest,), **options).y
    straight = solve_ivp(lambda _t, z: linear.A @ z + linear.b * step, (0, 0.05), np.zeros(6), **options).y
    for k in (1, 4, 5):
        assert np.abs((moved - still)[k] - straight[k]).max() < 0.005 * np.abs(straight[k]).max()


@pytest.mark.parametrize(
    ("x", "v", "force", "words"),
    [
        (-0.2, 0.0, 0.0, "outside the stroke"),
        (-0.1, 0.0, 1500.0, "no flow at a force of 1500 N"),
        (-0.1, 0.5, 0.0, "the valve would have to open"),
    ],
)
def test_operating_point_outside_limits_is_refused_in_one_line(
    x: float, v: float, force: float, words: str
) -> None:
    with pytest.raises(InputError, match=words) as error:
        operating_point(hx.cylinder(), SUPPLY_70, x, v, force)
    assert "\n" not in str(error.value)


# --- closed forms ----------------------------------------------------------------------------------------


def test_locked_cylinder_swings_against_a_spring_at_the_frequency_of_both_springs() -> None:
    """Closed valve without leaks: the oil is a spring c_h beside k; 1 % of a millimetre, good to the gas's bend."""
    axis = hx.cylinder(**hx.valve(0.0, 0.0), leakage=0.0, drain=0.0)
    mass, spring, x = 20.0, 4e6, -0.075
    supply = replace(SUPPLY_70, gas=1e-6)
    point = operating_point(axis, supply, x, 0.0, 0.0)
    c_h = linear_axis(axis, supply, point, mass).stiffness

    def rhs(_t: float, z: np.ndarray) -> np.ndarray:
        dy, _, (force, _, _) = hx.compiled_rates(axis, supply, 0.0, z[0], z[1], 70 * BAR, z[2:])
        return np.array([z[1], (force - spring * (z[0] - x)) / mass, *dy])

    period = 2 * math.pi / math.sqrt((c_h + spring) / mass)
    start = [x + 1e-6, 0.0, 0.0, 0.0, point.p_a - 1e-6 * c_h / 2 / 2e-4, point.p_b + 1e-6 * c_h / 2 / 2e-4]
    found = solve_ivp(rhs, (0, 10 * period), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    assert found[0] - x == pytest.approx(1e-6, rel=1e-4)


def test_spring_stops_the_piston_where_the_supply_is_used_up() -> None:
    """Fully open valve: k x = p_s S at rest, behind the valve nothing flows any more."""
    axis: Axis = hx.cylinder(**hx.valve(0.0, 0.0), leakage=0.0, drain=0.0)
    supply: Supply = SUPPLY_70
    spring, mass, viscous = 2e4, 20.0, 2000.0

    def rhs(_t: float, z: np.ndarray) -> np.ndarray:
        dy, _, (force, _, _) = hx.compiled_rates(axis, supply, 0.04, z[0], z[1], 70 * BAR, z[2:])
        return np.array([z[1], (force - viscous * z[1] - spring * (z[0] + 0.12)) / mass, *dy])

    start = [-0.12, 0.0, 0.0, 0.0, 35 * BAR, 35 * BAR]
    found = solve_ivp(rhs, (0, 3.0), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    assert found[0] + 0.12 == pytest.approx(70 * BAR * 2e-4 / spring, rel=1e-5)
