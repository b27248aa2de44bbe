"""How a run begins: in balance, whatever gears, loops and arithmetic hold the arm; with speed; wound up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve, minimize

import servotwin as st
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.errors import InputError
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small
from tests.small_drives import ARM, DC, MASS, PMSM, RATIO, VISCOUS, K

G = 9.80665
STIFFNESS = 6000.0
GEAR = {"ratio": RATIO, "stiffness": f"{STIFFNESS} N*m/rad", "damping": "5 N*m*s/rad"}
FINEST = {"bits": 34}  # nothing that is counted shows
LINK = 0.4
B_RATIO = 30.0
POSE = {"A": 0.3, "B": 0.5}


def arm(
    motor: small.Tree = DC, *, encoder: small.Tree = FINEST, gear: Any = GEAR, **control: Any
) -> small.Tree:
    """Two links in a vertical plane behind elastic gears."""
    first = small.axis(origin=small.HORIZONTAL, gear=gear, motor=motor, encoder=encoder)
    second = small.axis(
        origin={"xyz": [f"{LINK} m", "0 m", "0 m"]},
        gear={**gear, "ratio": B_RATIO},
        motor=motor,
        encoder=encoder,
    )
    return small.robot({"controller": control}, axes={"A": first, "B": second})


def standing(folder: Path, machine: small.Tree, law: PythonLaw | None = None, **scenario: Any) -> Result:
    """A run that is not asked to move."""
    rest = {
        "start": {name: f"{q} rad" for name, q in POSE.items()},
        "move": [{"to": {"A": f"{POSE['A']} rad"}, "dwell": "0.5 s"}],
        "solver": {"method": "fast", "pwm": "averaged"},
    }
    return small.run_case(folder, machine, small.merged(rest, scenario), law)


def positions(result: Result, names: str = "AB") -> np.ndarray:
    return np.stack([result.signals[f"joint_{name}_position_rad"] for name in names], axis=-1)


def wandering(result: Result) -> float:
    """Largest distance of the tool from where it stood in the first row [m]."""
    tip = np.stack([result.signals[f"tip_{axis}_m"] for axis in "xyz"], axis=-1)
    return float(np.linalg.norm(tip - tip[0], axis=1).max())


def left_start(result: Result) -> float:
    """Largest distance of a joint from where it began [rad]."""
    q0 = np.array(list(result.summary["start"]["position"].values()))
    return float(np.abs(positions(result) - q0).max())


def height_energy(q: np.ndarray) -> float:
    """Potential energy of the two links [J], the joints' axes along -y."""
    first, both = q[0], q[0] + q[1]
    return MASS * G * (ARM * math.sin(first) + LINK * math.sin(first) + ARM * math.sin(both))


# --- where the arm stands ---------------------------------------------------------------------------


@pytest.mark.parametrize(("play", "at"), [(0.0, 0.4), (2e-3, 0.4), (2e-3, 2.6), (0.0, -1.2)])
def test_joint_behind_elastic_gear_begins_where_spring_and_weight_agree(
    tmp_path: Path, play: float, at: float
) -> None:
    gear = {**GEAR, "backlash": f"{play} rad"}
    machine = small.robot({}, axes={"A": small.axis(origin=small.HORIZONTAL, gear=gear, encoder=FINEST)})
    scenario = {"start": {"A": f"{at} rad"}, **small.rest(0.2, at=f"{at} rad"), "solver": {"pwm": "averaged"}}
    result = small.run_case(tmp_path, machine, scenario)

    def weight(q: float) -> float:
        return MASS * G * ARM * math.cos(q)

    flank = math.copysign(0.5 * play, weight(at))
    hangs = brentq(lambda q: STIFFNESS * (at - q - flank) - weight(q), at - 0.1, at + 0.1, xtol=1e-15)
    assert result.summary["start"]["position"]["A"] == pytest.approx(hangs, abs=1e-13)
    assert np.abs(result.signals["joint_A_position_rad"] - hangs).max() < 1e-12
    assert result.signals["motor_A_angle_rad"][0] == pytest.approx(RATIO * at, rel=1e-12)
    assert result.signals["motor_A_current_A"][0] == pytest.approx(weight(hangs) / RATIO / K, rel=1e-9)


def test_joint_that_hangs_within_its_play_lies_on_no_flank(tmp_path: Path) -> None:
    """The motor holds 1 mrad beside the lowest point, the play is 4 mrad: the link hangs straight down."""
    gear = {**GEAR, "backlash": "4 mrad"}
    machine = small.robot({}, axes={"A": small.axis(origin=small.HORIZONTAL, gear=gear, encoder=FINEST)})
    at = -math.pi / 2 + 1e-3
    scenario = {"start": {"A": f"{at} rad"}, **small.rest(0.2, at=f"{at} rad"), "solver": {"pwm": "averaged"}}
    result = small.run_case(tmp_path, machine, scenario)
    assert result.summary["start"]["position"]["A"] == pytest.approx(-math.pi / 2, abs=1e-9)
    assert np.abs(result.signals["joint_A_position_rad"] + math.pi / 2).max() < 1e-9


def test_coupled_transmission_sags_to_the_least_energy_of_weights_and_springs(tmp_path: Path) -> None:
    matrix = np.array([[RATIO, 0.0], [12.0, B_RATIO]])
    machine = arm(gear={key: value for key, value in GEAR.items() if key != "ratio"})
    for axis in machine["axes"].values():
        axis["gear"].pop("ratio")
    machine["transmission"] = {"motors": ["A", "B"], "matrix": matrix.tolist()}
    result = standing(tmp_path, machine)
    theta = matrix @ np.array(list(POSE.values()))
    k = STIFFNESS / np.abs(matrix).max(axis=1) ** 2

    def unbalanced(q: np.ndarray) -> np.ndarray:
        first, both = math.cos(q[0]), math.cos(q[0] + q[1])
        weight = MASS * G * np.array([(ARM + LINK) * first + ARM * both, ARM * both])
        return np.asarray(matrix.T @ (k * (theta - matrix @ q)) - weight)

    hangs = fsolve(unbalanced, list(POSE.values()), xtol=1e-13)
    np.testing.assert_allclose(list(result.summary["start"]["position"].values()), hangs, atol=1e-12)
    assert wandering(result) < 1e-11


def test_closed_chain_with_elastic_gears_sags_to_the_least_energy(tmp_path: Path) -> None:
    """A five-bar: the passive joints follow; its tip is where two circles meet."""
    axes = {
        name: {"gear": {**GEAR, "stiffness": "600 N*m/rad"}, "motor": DC, "encoder": FINEST}
        for name in ("left", "right")
    }
    for axis in axes.values():
        axis["limits"] = {"speed": "4 rad/s"}
    machine = {
        "extends": "five-bar",
        "axes": axes,
        "power": {"bus_voltage": "60 V"},
        "controller": small.CONTROLLER,
    }
    start = {"left": 1.9, "right": 1.0}
    scenario = {
        "start": {name: f"{q} rad" for name, q in start.items()},
        "move": [{"to": {"left": "1.9 rad"}, "dwell": "0.3 s"}],
        "solver": {"method": "rk4", "pwm": "averaged"},
    }
    path = small.write_case(
        tmp_path,
        machine,
        {"move": scenario["move"], "start": scenario["start"], "solver": scenario["solver"]},
    )
    result = st.simulate(path)
    base, bar, fore, density = 0.2, 0.25, 0.38, 2700 * 0.02**2
    theta = np.array(list(start.values()))

    def energy(q: np.ndarray) -> float:
        elbows = np.array([[-base / 2, 0.0], [base / 2, 0.0]]) + bar * np.stack(
            [np.cos(q), np.sin(q)], axis=-1
        )
        between = elbows[1] - elbows[0]
        half = 0.5 * np.linalg.norm(between)
        up = np.array([-between[1], between[0]]) / (2 * half)
        tip = elbows.mean(axis=0) + math.sqrt(fore**2 - half**2) * up
        weight = density * G * (bar * elbows[:, 1].sum() / 2 + fore * (elbows[:, 1] + tip[1]).sum() / 2)
        return float(weight + 300.0 * ((theta - q) ** 2).sum())

    hangs = minimize(energy, theta, method="Nelder-Mead", options={"xatol": 1e-11, "fatol": 1e-15}).x
    np.testing.assert_allclose(list(result.summary["start"]["position"].values()), hangs, atol=3e-8)
    assert np.abs(hangs - theta).max() > 1e-3
    assert wandering(result) < 1e-9


def test_scara_quill_on_an_elastic_screw_begins_with_its_holding_current() -> None:
    changes = {"set.axes.Z.gear.stiffness": "2e5 N/m", "set.axes.Z.gear.damping": "200 N*s/m"}
    result = st.simulate("scara-a-axis-100deg", changes)
    motor = read_scenario("scara-a-axis-100deg").description.axes["Z"].motor
    assert motor is not None
    assert motor.torque_constant is not None
    weight = (0.3 + 0.97 + 4.0) * G  # quill, wrist and load; q grows downwards
    wanted = -weight / 785.4 / motor.torque_constant
    assert wanted == pytest.approx(-0.81, abs=0.005)
    # a bit of the current sensor is 8 mA
    assert np.abs(result.signals["motor_Z_current_A"][:20] - wanted).max() < 0.01
    assert result.summary["start"]["position"]["Z"] == pytest.approx(weight / 2e5, rel=1e-6)


# --- nothing moves ----------------------------------------------------------------------------------

NO_SPEED_INTEGRAL = {"speed_integral": "0 A/rad"}
LOOPS: dict[str, dict[str, Any]] = {
    "cascade": {},
    "feed-forward": {"feedforward": {"velocity": 1.0, "acceleration": 0.5, "torque": 1.0}},
    "gravity compensation": {"feedforward": {"gravity": 0.7}},
    "computed torque": {"law": "computed-torque"},
    "delays": {"computation_delay": 1, "speed_delay": 1, "axis_delay": 1},
    "inverse-time": {"speed_sensing": "inverse-time"},
    "filtered": {"speed_sensing": "filtered", "speed_filter": "2 ms"},
    "no integrator": {"gains": {"A": NO_SPEED_INTEGRAL, "B": NO_SPEED_INTEGRAL}},
    "position integrator": {
        "gains": {
            "A": {**NO_SPEED_INTEGRAL, "position_integral": "100 1/s^2"},
            "B": {"position_integral": "100 1/s^2"},
        }
    },
}


@pytest.mark.parametrize("motor", [DC, PMSM], ids=["dc", "pmsm"])
@pytest.mark.parametrize("loops", LOOPS)
def test_arm_with_elastic_gears_stands_still_under_every_law(
    tmp_path: Path, loops: str, motor: small.Tree
) -> None:
    result = standing(tmp_path, arm(motor, **LOOPS[loops]))
    assert left_start(result) < 1e-10
    assert wandering(result) < 1e-9


@pytest.mark.parametrize("motor", [DC, PMSM], ids=["dc", "pmsm"])
@pytest.mark.parametrize("method", ["rk4", "adaptive", "modified-euler"])
def test_arm_with_elastic_gears_stands_still_with_every_method(
    tmp_path: Path, method: str, motor: small.Tree
) -> None:
    result = standing(tmp_path, arm(motor), solver={"method": method, "pwm": "averaged"})
    assert left_start(result) < 1e-10
    assert wandering(result) < 1e-9


@pytest.mark.parametrize("motor", [DC, PMSM], ids=["dc", "pmsm"])
@pytest.mark.parametrize("feed", [0.0, 1.0])
def test_fixed_arithmetic_stands_within_two_counts(tmp_path: Path, motor: small.Tree, feed: float) -> None:
    """Integer speeds count in sixteenths of a pulse per millisecond: 30/s times one count is less than half of one.

    So the position loop answers from two counts on. Half a unit of the integer current, 0.3 mA, moves the arm that far.
    """
    machine = arm(motor, encoder={"bits": 17}, arithmetic="fixed", feedforward={"torque": feed})
    result = standing(tmp_path, machine)
    count = 2.0 * math.pi / 2**17 / B_RATIO
    assert left_start(result) < 2.5 * count
    for name in "AB":
        assert np.ptp(result.signals[f"motor_{name}_count"]) <= 2


def test_switched_pulses_shake_the_standing_arm_by_their_ripple_only(tmp_path: Path) -> None:
    result = standing(tmp_path, arm(), solver={"method": "fast", "pwm": "switched"})
    # the current at the instant of its sample is 0.3 mA off its mean over the period
    assert wandering(result) < 2e-7


UNKNOWN = {
    "payload": {"payload.mass": "3 kg"},
    "magnets": {"axes.A.motor.torque_constant": "0.1 N*m/A", "axes.B.motor.torque_constant": "0.13 N*m/A"},
    "bus": {"power.bus_voltage": "48 V"},
    "winding": {"axes.A.motor.resistance": "0.8 ohm"},
    "gear": {"axes.A.gear.ratio": "51"},
    "encoder": {"axes.B.encoder.bits": "33"},
}


@pytest.mark.parametrize("law", ["cascade", "computed-torque"])
@pytest.mark.parametrize("what", UNKNOWN)
def test_arm_stands_still_although_its_controller_knows_it_wrongly(
    tmp_path: Path, what: str, law: str
) -> None:
    result = standing(tmp_path, arm(law=law), plant={"set": UNKNOWN[what]})
    assert not [line for line in result.summary["warnings"] if line.startswith("start:")]
    assert left_start(result) < 1e-10


@pytest.mark.parametrize("motor", [DC, PMSM], ids=["dc", "synchronous"])
@pytest.mark.parametrize(
    "changes",
    [
        {"controller": {"current_sensor": {"offset": "0.4 A"}}},
        {"controller": {"current_sensor": {"offset": "0.4 A", "range": "30 A"}}},
        {"power": {"bridge": {"dead_time": "2 us"}}},
        {
            "power": {"bridge": {"dead_time": "2 us"}},
            "controller": {"current_sensor": {"offset": "0.4 A"}},
        },
    ],
    ids=["offset", "offset and range", "dead time of averaged pulses", "offset and dead time"],
)
def test_arm_stands_still_whatever_its_current_sensors_and_dead_time_take(
    tmp_path: Path, motor: small.Tree, changes: small.Tree
) -> None:
    """A servo that has held the arm for long reads offsets as current and gives the lost voltage besides."""
    result = standing(tmp_path, small.merged(arm(motor), changes))
    assert left_start(result) < (2e-6 if "power" in changes and motor is PMSM else 1e-9)


@pytest.mark.parametrize("motor", [DC, PMSM], ids=["dc", "synchronous"])
@pytest.mark.parametrize("offset", ["0 A", "0.4 A"])
def test_arm_stands_still_although_its_drivers_know_another_range_of_their_sensors(
    tmp_path: Path, motor: small.Tree, offset: str
) -> None:
    """A driver that believes in 30 A takes every ampere of a sensor of 24 A for 1.25 A."""
    sensor = {"offset": offset, "range": "30 A"}
    machine = small.merged(arm(motor), {"controller": {"current_sensor": sensor}})
    result = standing(tmp_path, machine, plant={"set": {"controller.current_sensor.range": "24 A"}})
    assert not [line for line in result.summary["warnings"] if line.startswith("start:")]
    assert left_start(result) < 1e-9


def test_commutation_by_a_wrong_encoder_holds_as_far_as_it_points_the_right_way(tmp_path: Path) -> None:
    """The driver takes the rotor for 1 % further than it is: 0.6 rad electrical at joint A."""
    lines = {"lines": 10**8, "bits": None}
    machine = arm(PMSM, encoder=lines)
    result = standing(
        tmp_path,
        machine,
        start={"A": "0.3 rad", "B": "0.2 rad"},
        plant={"set": {"axes.A.encoder.lines": "101000000"}},
    )
    assert left_start(result) < 1e-9


def test_law_of_the_users_sees_the_holding_current_at_its_first_call(tmp_path: Path) -> None:
    seen = []

    def keep(time: float, signals: Any) -> Any:
        seen.append((time, signals.current.copy(), signals.position.copy(), signals.speed.copy()))
        return seen[0][1]

    result = standing(tmp_path, arm(law="computed-torque"), PythonLaw(keep, 1e-3))
    q = np.array(list(result.summary["start"]["position"].values()))
    weight = MASS * G * ARM * math.cos(q[0] + q[1])
    whole = MASS * G * (ARM + LINK) * math.cos(q[0]) + weight
    np.testing.assert_allclose(seen[0][1], [whole / RATIO / K, weight / B_RATIO / K], rtol=1e-9)
    np.testing.assert_allclose(seen[0][2], [RATIO * 0.3, B_RATIO * 0.5], rtol=1e-9)
    assert seen[0][0] == 0.0
    assert left_start(result) < 1e-9  # held by nothing but that current for half a second


def test_stiff_arm_begins_at_its_pose_exactly(tmp_path: Path) -> None:
    result = standing(tmp_path, arm(gear={"ratio": RATIO}))
    assert result.summary["start"]["position"] == POSE
    assert np.array_equal(positions(result), np.tile(list(POSE.values()), (len(positions(result)), 1)))


def test_motor_too_weak_for_its_arm_is_told(tmp_path: Path) -> None:
    result = standing(tmp_path, arm({**DC, "current_limit": "2 A"}))
    told = [line for line in result.summary["warnings"] if line.startswith("start:")]
    assert len(told) == 1
    assert "motor A needs 2.3" in told[0]


# --- otherwise --------------------------------------------------------------------------------------


def test_wound_up_start_has_the_joints_at_the_pose_and_the_holding_current_at_once(tmp_path: Path) -> None:
    result = standing(tmp_path, arm(), initial={"hold": "joints"}, record={"every": "0.2 ms"})
    assert result.summary["start"]["position"] == POSE
    assert result.summary["start"]["hold"] == "joints"
    weight = MASS * G * ARM * math.cos(sum(POSE.values()))
    whole = MASS * G * (ARM + LINK) * math.cos(POSE["A"]) + weight
    first = [result.signals[f"motor_{name}_current_A"][0] for name in "AB"]
    np.testing.assert_allclose(first, [whole / RATIO / K, weight / B_RATIO / K], rtol=1e-4)
    # the servo takes the motors back to their references, and the joints sag
    sagged = standing(tmp_path, arm()).summary["start"]["position"]
    np.testing.assert_allclose(positions(result)[-1], list(sagged.values()), atol=2e-6)


def moving(folder: Path, machine: small.Tree, speed: float, **scenario: Any) -> Result:
    """A start at a speed with a move that goes on at this speed."""
    run = {
        "start": {"A": "-1 rad"},
        "initial": {"speed": {"A": f"{speed} rad/s"}},
        "move": [{"to": {"A": "1.5 rad"}, "speed": f"{abs(speed)} rad/s", "dwell": "2 s"}],
        "solver": {"method": "fast", "pwm": "averaged"},
        "record": {"every": "0.2 ms"},
    }
    return small.run_case(folder, machine, small.merged(run, scenario))


DRY = {**DC, "coulomb_friction": "0.02 N*m"}
MOVING: dict[str, tuple[small.Tree, dict[str, Any]]] = {
    "stiff dc": (small.axis(encoder=FINEST), {}),
    "stiff pmsm": (small.axis(encoder=FINEST, motor=PMSM), {}),
    "elastic dc": (small.axis(encoder=FINEST, gear=GEAR), {}),
    "elastic pmsm": (small.axis(encoder=FINEST, gear=GEAR, motor=PMSM), {}),
    "dry friction": (small.axis(encoder=FINEST, motor=DRY), {}),
    "velocity fed forward": (small.axis(encoder=FINEST), {"feedforward": {"velocity": 1.0, "torque": 1.0}}),
    "computed torque": (small.axis(encoder=FINEST), {"law": "computed-torque"}),
    "position integrator": (small.axis(encoder=FINEST), {"gains": {"A": {"position_integral": "100 1/s^2"}}}),
    "fixed": (small.axis(encoder={"bits": 22}), {"arithmetic": "fixed"}),
    "delays": (small.axis(encoder=FINEST), {"computation_delay": 1, "speed_delay": 1, "axis_delay": 1}),
    "inverse-time": (
        small.axis(),
        {"speed_sensing": "inverse-time"},
    ),  # a finer one gives pulses faster than its timer
}


@pytest.mark.parametrize("case", MOVING)
def test_start_with_speed_goes_on_evenly(tmp_path: Path, case: str) -> None:
    """The move goes on at the speed of the start: reference, joint and current stay what they are."""
    axis, control = MOVING[case]
    result = moving(tmp_path, small.robot({"controller": control}, axes={"A": axis}), 1.2)
    s = result.signals
    early = s["time_s"] < 0.3
    np.testing.assert_allclose(s["joint_A_velocity_ref_rad_per_s"][early], 1.2, rtol=1e-12)
    np.testing.assert_allclose(s["joint_A_velocity_rad_per_s"][early], 1.2, rtol=1e-4)
    np.testing.assert_allclose(
        s["joint_A_position_ref_rad"][early], -1.0 + 1.2 * s["time_s"][early], atol=1e-12
    )
    dry = 0.02 if case == "dry friction" else 0.0
    current = (VISCOUS * 1.2 * RATIO + dry) / K
    # a unit of the integer current is 0.6 mA
    np.testing.assert_allclose(s["motor_A_current_A"][early], current, rtol=1e-2, atol=1.2e-3)
    assert s["joint_A_position_rad"][-1] == pytest.approx(1.5, abs=1e-3)
    assert result.summary["start"]["velocity"] == {"A": 1.2}
    assert result.summary["start"]["state"].startswith("moving evenly")


def test_reference_of_a_start_with_speed_is_smooth_and_ends_at_its_target(tmp_path: Path) -> None:
    """Against the start: the joint comes to rest on the way, v T / 2 off, and turns round."""
    run = small.prepared(
        tmp_path,
        small.robot(),
        {
            "start": {"A": "0.5 rad"},
            "initial": {"speed": {"A": "-0.5 rad/s"}},
            "move": [{"to": {"A": "1 rad"}, "speed": "1 rad/s", "ramp": "0.4 s"}],
        },
    )
    t = np.linspace(0.0, run.reference.duration, 20001)
    q, qd, qdd = (values[:, 0] for values in run.reference.sample(t))
    assert (q[0], qd[0], qdd[0]) == pytest.approx((0.5, -0.5, 0.0), abs=1e-12)
    assert (q[-1], qd[-1]) == pytest.approx((1.0, 0.0), abs=1e-12)
    np.testing.assert_allclose(np.gradient(q, t)[1:-1], qd[1:-1], atol=1e-5)
    np.testing.assert_allclose(np.gradient(qd, t)[1:-1], qdd[1:-1], atol=2e-3)


@pytest.mark.parametrize(
    ("speed", "words"),
    [
        ({"A": "5 rad/s"}, ["initial.speed.A", "deg/s", "at most"]),
        ({"Q": "1 rad/s"}, ["initial.speed.Q", "not an axis"]),
        ({"A": "1 mm/s"}, ["initial.speed.A", "angular speed"]),
    ],
)
def test_start_speed_that_cannot_be_is_refused(tmp_path: Path, speed: Any, words: list[str]) -> None:
    path = small.write_case(tmp_path, small.robot(), {"initial": {"speed": speed}})
    with pytest.raises(InputError) as refused:
        read_scenario(path)
    assert all(word in str(refused.value) for word in words), str(refused.value)
