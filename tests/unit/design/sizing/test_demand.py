"""What one actuator needs: hand calculations, SciPy for the temperature, published numbers for the gear."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.description.drive_parts import Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.power_parts import BrakingResistor, Power
from servotwin.description.sheets.motor_sheet import MotorSheet, rated_curve
from servotwin.design.sizing.actuators import Actuator, GearChoice, MotorChoice
from servotwin.design.sizing.choices import motor_choice
from servotwin.design.sizing.duty import Duty
from servotwin.design.sizing.evaluate import Rules, continuous_torques, demand_of
from servotwin.design.sizing.load import Load, Part
from servotwin.design.sizing.supply import supply_demand
from servotwin.design.sizing.temperature import steady_cycle
from servotwin.drives.kind import Winding


def single(t, speed, acceleration, torque, inertia=2.0) -> Load:
    """A load on one turning actuator."""
    t, speed, acceleration, torque = (
        np.asarray(x, dtype=np.float64) for x in (t, speed, acceleration, torque)
    )
    k = len(t)
    column = torque[:, None]
    part = Part(column, column, column, np.full((k, 1), inertia))
    duty = Duty("cycle", t, *(np.zeros((k, 1)) for _ in range(3)))
    return Load(
        ("A",),
        ("rad",),
        duty,
        speed[:, None],
        acceleration[:, None],
        part,
        (None,),
        part * 0.0,
        (FrictionCurve(),),
    )


def test_motor_torque_counts_inertia_losses_by_the_power_flow_and_friction():
    load = single(
        [0.0, 1.0, 2.0, 3.0], [2.0, 2.0, -2.0, 0.0], [3.0, 3.0, 3.0, 0.0], [40.0, -40.0, 40.0, 40.0]
    )
    motor = MotorChoice("m", rotor_inertia=1e-3, friction=FrictionCurve(1e-3, 0.1, (), (0.1, 0.1)))
    gear = GearChoice("g", 100.0, efficiency=0.8, inertia=1e-3)
    found = demand_of(load, 0, Actuator(motor, gear)).torque
    own = 2e-3 * 100.0 * 3.0
    want = [own + 0.4 / 0.8 + 0.3, own - 0.4 * 0.8 + 0.3, own + 0.4 * 0.8 - 0.3, 0.4]
    assert found == pytest.approx(want)


def test_gear_average_torque_of_the_published_cycle_is_89_4():
    """Harmonic Drive engineering data, published as 89 N m: (150, 82, 130 N m; 0.2, 3, 0.3 s; 10, 20, 10 rpm)."""
    edges = np.cumsum([0.0, 0.2, 3.0, 0.3])
    grid = np.unique(np.concatenate([np.linspace(a, b - 1e-9, 400) for a, b in pairwise(edges)]))
    which = np.clip(np.searchsorted(edges, grid, side="right") - 1, 0, 2)
    speed = np.array([10.0, 20.0, 10.0])[which] * 2.0 * math.pi / 60.0
    load = single(grid, speed, 0.0 * grid, np.array([150.0, 82.0, 130.0])[which])
    found = demand_of(load, 0, Actuator(MotorChoice("m", 1e-4), GearChoice("g", 100.0)))
    assert found.gear_average == pytest.approx(89.4, abs=0.05)
    assert found.gear_peak == 150.0


def test_gear_life_follows_speed_and_the_cube_of_torque():
    load = single([0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [60.0, 60.0])
    gear = GearChoice("g", 100.0, rated_torque=30.0, rated_speed=200.0, rated_life=1e8, exponent=3.0)
    found = demand_of(load, 0, Actuator(MotorChoice("m", 1e-4), gear))
    assert found.life_50 == pytest.approx(1e8 * (200.0 / 100.0) * 0.5**3)
    assert found.life_10 == pytest.approx(found.life_50 / 5.0)


def test_stopping_torque_shares_between_the_inertias():
    load = single([0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], inertia=2.0)
    motor = MotorChoice("m", 1e-4, brake_torque=0.5)
    found = demand_of(load, 0, Actuator(motor, GearChoice("g", 100.0)))
    assert found.gear_stop == pytest.approx(50.0 * 2.0 / (2.0 + 1.0))
    assert found.inertia_ratio == pytest.approx(2.0)


THERMAL = Thermal(
    winding_to_housing="0.9 K/W", housing_to_ambient="0.6 K/W", winding_capacity="25 J/K", housing_capacity="180 J/K",
    limit="155 degC",
)  # fmt: skip


def test_steady_cycle_of_the_winding_is_what_many_cycles_lead_to():
    """The network integrated by SciPy over 200 cycles, from cold."""
    t = np.linspace(0.0, 10.0, 2001)
    loss = np.where(t < 3.0, 120.0, 4.0) * (1.0 + 0.5 * np.sin(5.0 * t))
    duty = Duty("x", t, *(np.zeros((len(t), 1)) for _ in range(3)))
    found = steady_cycle(THERMAL, loss, duty.seconds)

    def rates(time, x):
        P = np.interp(time % 10.0, t, loss) * (1.0 + THERMAL.temperature_coefficient * x[0])
        through, away = (x[0] - x[1]) / 0.9, x[1] / 0.6
        return [(P - through) / 25.0, (through - away) / 180.0]

    x = solve_ivp(
        rates, (0.0, 2000.0), [0.0, 0.0], max_step=0.05, rtol=1e-8, t_eval=np.linspace(1990.0, 2000.0, 2001)
    )
    rise = found.winding_peak - THERMAL.reference_temperature
    assert rise == pytest.approx(x.y[0].max(), rel=5e-3)  # losses are gathered in 512 spans
    mean = found.winding_mean - THERMAL.reference_temperature
    assert mean == pytest.approx(np.trapezoid(x.y[0], x.t) / 10.0, rel=1e-3)


@pytest.mark.parametrize(
    ("on", "rest", "power"), [(5.0, 2000.0, 600.0), (0.5, 300.0, 3000.0), (4.0, 9.0, 60.0)]
)
def test_a_long_rest_does_not_smear_the_heat_of_a_short_motion(on, rest, power):
    """SciPy over motion and rest apart, from the steady state that three such runs give by superposition."""
    coefficient = THERMAL.temperature_coefficient

    def run(x):
        peak, area = x[0], np.zeros(2)
        for span, P in ((on, power), (rest, 5.0)):

            def rates(_, x, P=P):
                through, away = (x[0] - x[1]) / 0.9, x[1] / 0.6
                gain = (P * (1.0 + coefficient * x[0]) - through) / 25.0
                return [gain, (through - away) / 180.0, x[0], x[1]]

            y = solve_ivp(rates, (0.0, span), [*x, 0.0, 0.0], rtol=1e-9, atol=1e-9, max_step=span / 50.0).y
            x, peak, area = y[:2, -1], max(peak, y[0].max()), area + y[2:, -1]
        return x, peak, area / (on + rest)

    free = run(np.zeros(2))[0]
    E = np.stack([run(unit)[0] - free for unit in np.eye(2)], axis=1)
    _, peak, means = run(np.linalg.solve(np.eye(2) - E, free))
    seconds = np.append(np.full(1000, on / 1000.0), rest)
    found = steady_cycle(THERMAL, np.append(np.full(1000, power), 5.0), seconds)
    around = THERMAL.reference_temperature
    assert found.winding_peak - around == pytest.approx(peak, rel=1e-6)
    assert (found.winding_mean - around, found.housing_mean - around) == pytest.approx(means, rel=1e-6)
    assert len(found.t) < 1100


def test_a_winding_that_heats_itself_beyond_all_numbers_runs_away():
    """Seconds at a thousand times the rated loss: exp overflows, and that is no steady cycle."""
    seconds = np.append(np.full(1000, 0.02), 20.0)
    found = steady_cycle(THERMAL, np.append(np.full(1000, 1e6), 1e6), seconds)
    assert found.runs_away
    assert found.first == math.inf


def test_a_winding_that_heats_itself_without_end_has_no_steady_cycle():
    seconds = np.full(100, 0.1)
    assert steady_cycle(THERMAL, np.full(100, 1000.0), seconds).runs_away
    steady = steady_cycle(THERMAL, np.full(100, 40.0), seconds)
    R = 1.5  # K/W; closed form with the resistance that grows
    want = 40.0 * R / (1.0 - THERMAL.temperature_coefficient * 40.0 * R)
    assert steady.winding_mean - 25.0 == pytest.approx(want, rel=1e-9)


def test_checks_tell_need_limit_and_share():
    load = single(np.linspace(0.0, 1.0, 101), np.full(101, 3.0), np.zeros(101), np.full(101, 50.0))
    motor = MotorChoice("m", 1e-4, rated_torque=1.0, rated_speed=300.0, peak_torque=2.0, max_speed=600.0)
    gear = GearChoice("g", 100.0, average_torque=40.0, repeated_torque=100.0, max_speed=400.0)
    found = {check.name: check for check in demand_of(load, 0, Actuator(motor, gear)).checks}
    assert found["RMS torque"].share == pytest.approx(0.5)
    assert found["peak torque"].share == pytest.approx(0.25)
    assert found["speed"].share == pytest.approx(0.5)
    assert found["gear average torque"].share == pytest.approx(1.25)
    assert found["gear input speed"].share == pytest.approx(0.75)
    held = {c.name: c for c in demand_of(load, 0, Actuator(motor, gear), rules=Rules(reserve=1.2)).checks}
    assert held["RMS torque"].share == pytest.approx(0.6)


def test_voltage_is_judged_at_the_lowest_bus_with_a_hot_winding():
    load = single(np.linspace(0.0, 1.0, 11), np.full(11, 3.0), np.zeros(11), np.full(11, 50.0))
    winding = Winding(0.5, 1e-3, 1e-3, 1e-3, 0.5, True)  # a DC motor: 1 A per 0.5 N m
    motor = MotorChoice("m", 1e-4, winding=winding, thermal=replace_limit(125.0), peak_torque=5.0)
    power = Power(bus_voltage="200 V")
    found = demand_of(load, 0, Actuator(motor, GearChoice("g", 100.0)), power)
    check = next(c for c in found.checks if c.name == "voltage")
    hot = 0.5 * (1.0 + 0.00393 * 100.0)
    assert check.need == pytest.approx(hot * 1.0 + 0.5 * 300.0)
    assert check.limit == pytest.approx(0.9 * 200.0)


def replace_limit(limit: float) -> Thermal:
    return THERMAL.model_copy(update={"limit": limit})


POWER = Power(
    bus_voltage="300 V", supply_resistance="0.3 ohm", capacitance="1000 uF",
    braking_resistor=BrakingResistor(resistance="20 ohm", on="380 V", off="370 V"),
)  # fmt: skip


def test_braking_energy_fills_the_capacitor_and_then_the_resistor():
    room = 0.5 * 1e-3 * (380.0**2 - 300.0**2)
    electric = np.array([[400.0], [-400.0], [0.0]])
    found = supply_demand(electric, np.array([1.0, 1.0, 1.0]), POWER)
    assert found.capacitor_room == pytest.approx(room)
    assert found.resistor_energy == pytest.approx(400.0 - room)
    assert found.source_energy == pytest.approx(400.0 - room)  # what is stored is used in the next cycle
    assert found.largest_resistance == pytest.approx(380.0**2 / 400.0)


def test_axes_feed_each_other_and_a_stiff_source_takes_energy_back():
    electric = np.array([[300.0, -300.0], [100.0, -200.0]])
    found = supply_demand(electric, np.array([1.0, 1.0]), Power(bus_voltage="75 V"))
    assert found.peak_power == 0.0
    assert found.returned_energy == 100.0
    assert found.resistor_energy == 0.0
    assert found.source_energy == pytest.approx(-100.0)


def test_a_bus_without_resistor_that_overflows_is_told():
    power = Power(bus_voltage="300 V", supply_resistance="0.3 ohm", capacitance="100 uF", max_voltage="400 V")
    assert supply_demand(np.array([[-100.0], [100.0]]), np.array([1.0, 1.0]), power).overflow


def test_replaced_parts_keep_their_names():
    gear = replace(GearChoice("g", 10.0), ratio=20.0)
    assert Actuator(MotorChoice("m"), gear).name == "m + g"


def test_rated_data_alone_give_constant_power_beyond_rated_speed():
    points = rated_curve(1.2, 1.0, 300.0, 600.0)
    assert points[0] == (0.0, 1.2)
    assert points[1] == (300.0, 1.0)
    assert points[-1] == pytest.approx((600.0, 0.5))


def test_sheet_and_sizing_read_the_same_torque_beyond_rated_speed():
    """Constant power up to the largest speed, nothing beyond it."""
    sheet = MotorSheet("m", rated_torque=1.0, rated_speed=300.0, max_speed=600.0, rotor_inertia=1e-4)
    choice = motor_choice(sheet)
    for speed, want in ((200.0, 1.0), (450.0, 300.0 / 450.0), (600.0, 0.5), (601.0, 0.0)):
        assert sheet.continuous_torque(speed) == pytest.approx(want, rel=4e-3)  # chords of the hyperbola
        assert continuous_torques(choice, np.array([speed]))[0] == pytest.approx(
            sheet.continuous_torque(speed), rel=1e-12
        )


def test_a_sheet_with_stall_torque_alone_limits_the_rms_torque():
    sheet = MotorSheet("m", stall_torque=2.0, rotor_inertia=1e-4)
    load = single([0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [300.0, 300.0])
    found = demand_of(load, 0, Actuator(motor_choice(sheet), GearChoice("g", 100.0)))
    (check,) = [check for check in found.checks if check.name == "RMS torque"]
    assert (check.limit, check.share) == pytest.approx((2.0, 1.5))


@pytest.mark.parametrize("max_speed", [None, 400.0])
def test_a_motor_turns_no_faster_than_its_peak_curve_goes(max_speed):
    sheet = MotorSheet("m", peak_torque=3.0, max_speed=max_speed, peak_curve=((0.0, 3.0), (200.0, 2.0)))
    load = single([0.0, 1.0], [3.0, 3.0], [0.0, 0.0], [1.0, 1.0])
    found = demand_of(load, 0, Actuator(motor_choice(sheet), GearChoice("g", 100.0)))
    assert sheet.short_torque(300.0) == 0.0
    assert (found.worst.name, found.worst.share) == ("speed", pytest.approx(1.5))


def test_surroundings_hotter_than_the_winding_may_be_do_not_pass():
    heat = Thermal(
        winding_to_housing="1 K/W", housing_to_ambient="1 K/W", winding_capacity="10 J/K", housing_capacity="90 J/K",
        limit="100 degC",
    )  # fmt: skip
    motor = MotorChoice("m", 1e-4, winding=Winding(1.0, *(1e-3,) * 3, 0.5, True), thermal=heat)
    load = single([0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    found = demand_of(load, 0, Actuator(motor, GearChoice("g", 10.0)), rules=Rules(ambient=110.0))
    assert not found.passes


@pytest.mark.parametrize(("resistance", "overflow"), [("20 ohm", False), ("200 ohm", True)])
def test_a_braking_resistor_that_is_too_weak_is_told(resistance, overflow):
    """On at 400 V, 20 ohm take 8 kW and 200 ohm 0.8 kW; 2 kW come back for longer than the capacitor takes."""
    resistor = BrakingResistor(resistance=resistance, on="400 V", off="380 V")
    power = Power(
        bus_voltage="300 V", supply_resistance="0.1 ohm", capacitance="1 mF", braking_resistor=resistor
    )
    found = supply_demand(np.array([[3000.0], [-2000.0]]), np.array([1.0, 1.0]), power)
    assert found.overflow is overflow
    assert found.resistor_energy == pytest.approx(2000.0 - 0.5e-3 * (400.0**2 - 300.0**2))


def test_a_motor_at_rest_counts_the_most_that_friction_and_gear_loss_may_ask():
    """Two seconds up at no acceleration, then two at rest: the band of a block on a rough slope, by hand."""
    load = single([0.0, 2.0 - 1e-9, 2.0, 4.0], [2.0, 2.0, 0.0, 0.0], [0.0] * 4, [40.0] * 4)
    motor = MotorChoice("m", rotor_inertia=1e-3, friction=FrictionCurve(0.0, 0.1, (), (0.12, 0.12)))
    gear = GearChoice("g", 100.0, efficiency=0.8)
    found = demand_of(load, 0, Actuator(motor, gear))
    moving, most, least = 0.4 / 0.8 + 0.1, 0.4 / 0.8 + 0.12, 0.4 * 0.8 - 0.12
    assert found.rms_torque == pytest.approx(math.sqrt((moving**2 + most**2) / 2.0))
    assert found.rms_least == pytest.approx(math.sqrt((moving**2 + least**2) / 2.0))
    assert found.peak_torque == pytest.approx(moving)


def test_a_brake_must_hold_the_weight_in_every_pose():
    load = single([0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0] * 3, [20.0, 60.0, 30.0])
    for brake, passes in ((0.61, True), (0.59, False)):
        found = demand_of(
            load, 0, Actuator(MotorChoice("m", 1e-4, brake_torque=brake), GearChoice("g", 100.0))
        )
        check = next(check for check in found.checks if check.name == "brake holding torque")
        assert check.need == pytest.approx(0.6)
        assert found.passes is passes
    assert len(repr(found)) < 500
