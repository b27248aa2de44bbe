"""Error sources in the plant against closed forms: encoders, gears, warm links, a base that gives way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.description.as_built import as_built
from servotwin.description.error_sources import base_compliance, with_error_sources, without
from servotwin.description.load import read_description
from servotwin.mechanism.thermal_growth import grown, true_mechanism
from servotwin.robot.base_deflection import base_deflection, base_wrench, displaced
from servotwin.robot.robot import Robot
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.results.result import Result
from tests import small_drives as small

ARCMIN = math.pi / 180 / 60
PER_RAD = 2**24 / (2.0 * math.pi)
TORSION = {"stiffness": "6000 N*m/rad", "damping": "2 N*m*s/rad"}
K = 6000.0


def with_errors(errors: small.Tree, *, hangs: bool = False, **section: Any) -> small.Tree:
    """One joint with error sources; ``hangs``: gravity pulls at it."""
    axis = small.axis(origin=small.HORIZONTAL) if hangs else small.axis()
    return small.robot({"error_sources": {"enabled": "true", "axes": {"A": errors}, **section}}, {"A": axis})


def slow_turn(folder: Path, machine: small.Tree, **more: str) -> Result:
    """A slow move and a rest."""
    move = {"to": {"A": "0.5 rad"}, "speed": "10 %", "ramp": "0.3 s", "dwell": "0.4 s", **more}
    return small.run_case(folder, machine, {"move": [move], "solver": {"method": "fast"}})


def waves(angle: Any, *harmonics: tuple[float, float, float]) -> Any:
    """Sum of a (sin(o angle + phi) - sin(phi)), written down once more."""
    return sum(a * (np.sin(o * angle + phi) - math.sin(phi)) for o, a, phi in harmonics)


# --- encoders ---------------------------------------------------------------------------------------

ECCENTRIC = {"eccentricity": [[1, "2 arcmin", "40 deg"], [2, "0.5 arcmin"]]}
ECCENTRIC_WAVES = ((1.0, 2 * ARCMIN, math.radians(40)), (2.0, 0.5 * ARCMIN, 0.0))


def test_eccentric_encoder_counts_the_angle_with_its_harmonics(tmp_path: Path) -> None:
    seen = slow_turn(tmp_path, with_errors(ECCENTRIC)).signals
    theta = seen["motor_A_angle_rad"]
    counts = np.floor((theta + waves(theta, *ECCENTRIC_WAVES)) * PER_RAD + 0.5)
    assert np.array_equal(seen["motor_A_count"], counts)


def test_joint_stands_off_by_what_an_eccentric_encoder_shows_too_much(tmp_path: Path) -> None:
    result = slow_turn(tmp_path, with_errors(ECCENTRIC))
    plain = slow_turn(tmp_path, with_errors({}))
    theta = result.signals["motor_A_angle_rad"][-1]
    off = result.log.q[-1, 0] - plain.log.q[-1, 0]
    # the loop still creeps to its rest: a hundredth of the error
    assert off == pytest.approx(-waves(theta, *ECCENTRIC_WAVES) / small.RATIO, rel=0.01)


def test_run_begins_where_the_encoder_shows_its_pose(tmp_path: Path) -> None:
    run = small.prepared(
        tmp_path, with_errors(ECCENTRIC), small.rest(0.1, at="1 rad") | {"start": {"A": "1 rad"}}
    )
    theta = run.machine.motors["theta"][0]
    assert theta + waves(theta, *ECCENTRIC_WAVES) == pytest.approx(50.0, abs=1e-12)
    assert run.machine.axes["count"][0] == math.floor(50.0 * PER_RAD + 0.5)


def test_run_that_holds_its_joints_begins_with_them_at_the_pose_and_motors_wound_up(tmp_path: Path) -> None:
    machine = with_errors({**ECCENTRIC, **TORSION, **TEETH}, hangs=True)
    scenario = small.rest(0.1, at="1 rad") | {"start": {"A": "1 rad"}, "initial": {"hold": "joints"}}
    state = small.prepared(tmp_path, machine, scenario).machine
    q, theta = state.x[0], state.motors["theta"][0]
    twist = theta / small.RATIO + tooth_error(theta) - q
    assert q == pytest.approx(1.0, abs=1e-12)
    assert K * twist == pytest.approx(small.MASS * 9.80665 * small.ARM * math.cos(1.0), rel=1e-9)


@pytest.mark.parametrize("sensing", ["counted", "inverse-time"])
def test_speed_is_sensed_from_the_angle_that_the_encoder_shows(tmp_path: Path, sensing: str) -> None:
    machine = small.merged(with_errors(ECCENTRIC), {"controller": {"speed_sensing": sensing}})
    result = slow_turn(tmp_path, machine)
    # a loop that took true speeds beside false angles would not settle there
    theta = result.signals["motor_A_angle_rad"][-1]
    shown = theta + waves(theta, *ECCENTRIC_WAVES)
    assert shown == pytest.approx(25.0, abs=2e-3)
    assert result.complete


def test_noise_of_an_encoder_has_its_standard_deviation_and_comes_again(tmp_path: Path) -> None:
    sigma = 20.0 / PER_RAD
    machine = with_errors({"encoder_noise": f"{sigma} rad"})
    scenario = small.rest(1.0)
    result = small.run_case(tmp_path, machine, scenario, solver__method="fast")
    noise = result.signals["motor_A_count"][100:] - result.signals["motor_A_angle_rad"][100:] * PER_RAD
    assert noise.std() == pytest.approx(20.0, rel=4 / math.sqrt(2 * len(noise)))
    again = small.run_case(tmp_path, machine, scenario, solver__method="fast")
    assert np.array_equal(again.signals["motor_A_count"], result.signals["motor_A_count"])


def test_resolution_that_is_off_leaves_no_count_to_be_seen(tmp_path: Path) -> None:
    coarse = small.axis(encoder={"bits": 10})
    ends = [
        slow_turn(tmp_path, small.robot(section, {"A": coarse}), dwell="1 s").log.q[-1, 0]
        for section in ({}, {"error_sources": {"off": ["resolution"]}})
    ]
    count = 2.0 * math.pi / 2**10 / small.RATIO
    assert abs(ends[1] - 0.5) < 0.02 * count < abs(ends[0] - 0.5)


# --- gears ------------------------------------------------------------------------------------------

TEETH = {"transmission_error": [[2, "1 arcmin", "30 deg"]], "output_error": [[1, "3 arcmin"]]}


def tooth_error(theta: Any) -> Any:
    """By how much the joint leads, behind a motor at theta."""
    return waves(theta, (2.0, ARCMIN, math.radians(30)), (1.0 / small.RATIO, 3 * ARCMIN, 0.0))


def test_joint_behind_an_elastic_gear_leads_by_the_transmission_error(tmp_path: Path) -> None:
    seen = slow_turn(tmp_path, with_errors({**TORSION, **TEETH}), speed="2 %").signals
    theta = seen["motor_A_angle_rad"]
    lead = seen["joint_A_position_rad"] - theta / small.RATIO
    # what its own acceleration twists the gear by: 0.08 kg m2 at some rad/s2 against 6000 N m/rad
    assert np.abs(lead - tooth_error(theta)).max() < 0.02 * np.ptp(tooth_error(theta))
    assert np.ptp(lead) > 3.0 * ARCMIN


def test_joint_behind_a_stiff_gear_leads_its_encoder_by_the_transmission_error(tmp_path: Path) -> None:
    seen = slow_turn(tmp_path, with_errors(TEETH)).signals
    shown = seen["motor_A_count"] / PER_RAD
    lead = seen["joint_A_position_rad"] - shown / small.RATIO
    assert np.abs(lead - tooth_error(shown)).max() < 1.0 / PER_RAD / small.RATIO


def swing_to_and_fro(folder: Path, machine: small.Tree, repeat: int) -> Result:
    """The arm goes over its highest point and back, slowly: the torque of its weight is the same both ways."""
    moves = [{"to": {"A": to}, "speed": "25 %", "ramp": "0.5 s"} for to in ("2.95 rad", "0.2 rad")]
    scenario = {"move": moves, "start": {"A": "0.2 rad"}, "repeat": repeat, "solver": {"method": "fast"}}
    return small.run_case(folder, machine, scenario)


def twist_at_the_top(result: Result) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Twist of the gear at the joint, and what it is whenever the weight needs no torque."""
    q, theta = result.signals["joint_A_position_rad"], result.signals["motor_A_angle_rad"]
    twist = theta / small.RATIO - q
    passes = np.flatnonzero(np.diff(np.sign(q - math.pi / 2)))
    part = (math.pi / 2 - q[passes]) / (q[passes + 1] - q[passes])
    return twist, twist[passes] + part * (twist[passes + 1] - twist[passes])


def test_lost_motion_of_a_hysteresis_is_its_width_and_its_loss_the_area_of_the_loop(tmp_path: Path) -> None:
    width = 1e-4
    machine = with_errors({**TORSION, "hysteresis": f"{width} rad"}, hangs=True)
    once, twice = (swing_to_and_fro(tmp_path, machine, repeat) for repeat in (1, 2))
    twist, at_top = twist_at_the_top(twice)
    # what the damper and the acceleration add at 1 rad/s
    assert np.abs(np.diff(at_top)) == pytest.approx(np.full(3, width), rel=0.01)
    lost = twice.summary["energy"]["hysteresis_J"] - once.summary["energy"]["hysteresis_J"]
    torque, length = K * width / 2, width / 2
    # two sweeps over the whole range; each begins with the exponential of eq:hysteresis
    assert lost == pytest.approx(2.0 * torque * (np.ptp(twist) - 2.0 * length), rel=0.01)


def test_lost_motion_of_play_and_hysteresis_is_their_sum(tmp_path: Path) -> None:
    width, play = 1e-4, 2e-4
    machine = with_errors({**TORSION, "hysteresis": f"{width} rad", "backlash": f"{play} rad"}, hangs=True)
    _, at_top = twist_at_the_top(swing_to_and_fro(tmp_path, machine, 1))
    # within its play the arm is carried by the hysteresis alone, and passes the top there
    assert np.abs(np.diff(at_top)) == pytest.approx([width + play], rel=0.2)


def test_torsion_without_hysteresis_loses_nothing_and_has_no_lost_motion(tmp_path: Path) -> None:
    result = swing_to_and_fro(tmp_path, with_errors(TORSION, hangs=True), 1)
    assert "hysteresis_J" not in result.summary["energy"]
    _, at_top = twist_at_the_top(result)
    assert np.abs(np.diff(at_top)).max() < 1e-6


# --- where the tool truly is ------------------------------------------------------------------------


def test_warm_link_is_longer_by_its_expansion_and_the_others_are_not() -> None:
    robot = st.load_robot("palletizer-4")
    q = np.array([0.3, 1.4, -1.2, 0.1])
    a2, growth = 0.7, 23e-6 * 10.0
    warm = Robot(grown(robot.mechanism, 23e-6, {"th2": 10.0}))
    out, up = a2 * math.cos(q[1]), a2 * math.sin(q[1])
    moved = warm.fkine(q)[:3, 3] - robot.fkine(q)[:3, 3]
    assert moved == pytest.approx(
        growth * np.array([out * math.cos(q[0]), out * math.sin(q[0]), up]), rel=1e-9
    )
    everything = Robot(grown(robot.mechanism, 23e-6, dict.fromkeys(robot.mechanism.tree_joint_names, 10.0)))
    assert everything.fkine(q)[:3, 3] == pytest.approx((1.0 + growth) * robot.fkine(q)[:3, 3], rel=1e-12)


def test_true_mechanism_has_the_drawn_geometry_and_the_warmth_of_its_time() -> None:
    robot = with_error_sources(read_description("palletizer-4"), trial=4)
    q = np.array([0.3, 1.4, -1.2, 0.1])
    nominal = st.load_robot("palletizer-4").fkine(q)[:3, 3]
    warm = as_built(without(robot, ["geometry"]))
    for hours in (0.0, 1.5, 100.0):
        tip = Robot(true_mechanism(warm, elapsed=3600.0 * hours)).fkine(q)[:3, 3]
        growth = 23e-6 * 8.0 * -math.expm1(-hours / 1.5)
        assert tip == pytest.approx((1.0 + growth) * nominal, rel=1e-12)
    off = Robot(true_mechanism(as_built(without(robot, ["thermal"])))).fkine(q)[:3, 3] - nominal
    assert 1e-5 < np.linalg.norm(off) < 2e-3


def test_base_holds_the_weight_at_the_mass_centre_and_what_accelerates_it() -> None:
    robot = st.load_robot("palletizer-4").with_payload(20.0)
    g = 9.80665
    mass = 17.26 + 31.32 + 19.26 + 6.53 + 20.0

    def centre(q: Any) -> Any:
        """Mass centre, by the energy of position in three fields of gravity."""
        found = []
        for axis in np.eye(3):
            turned = Robot(robot.mechanism.with_(gravity=-axis))
            found.append(turned.energy_at(q, np.zeros(4))[1] / mass)
        return np.array(found)

    q0, qd, qdd = (
        np.array([0.3, 1.4, -1.2, 0.1]),
        np.array([0.5, -0.4, 0.7, 1.0]),
        np.array([1.0, 2.0, -1.5, 0.3]),
    )
    still = base_wrench(robot, q0)
    weight = np.array([0.0, 0.0, mass * g])
    assert still[:3] == pytest.approx(weight, abs=1e-9 * mass * g)
    assert still[3:] == pytest.approx(np.cross(centre(q0), weight), abs=1e-9 * mass * g)
    h = 1e-4
    path = [centre(q0 + qd * t + 0.5 * qdd * t * t) for t in (-h, 0.0, h)]
    push = mass * (path[0] - 2.0 * path[1] + path[2]) / h**2
    assert base_wrench(robot, q0, qd, qdd)[:3] == pytest.approx(
        weight + push, abs=1e-4 * np.linalg.norm(push)
    )


def test_base_gives_way_by_its_compliance_and_takes_the_tool_along() -> None:
    description = with_error_sources(read_description("palletizer-4"))
    robot, C = st.load_robot("palletizer-4"), base_compliance(description)
    q = np.array([[0.3, 1.4, -1.2, 0.1], [0.0, 1.5, -1.5, 0.0]])
    u = base_deflection(robot, C, q)
    for row, angles in zip(u, q, strict=True):
        assert np.linalg.solve(C, row) == pytest.approx(-base_wrench(robot, angles), rel=1e-9, abs=1e-9)
    X = robot.fkine(q)
    moved = displaced(X, u)[:, :3, 3] - X[:, :3, 3]
    assert moved == pytest.approx(u[:, :3] + np.cross(u[:, 3:], X[:, :3, 3]), rel=1e-3)  # to first order
    assert (moved[:, 2] < 0.0).all()  # it sags


def test_run_on_a_soft_base_moves_alike_and_its_tool_is_where_the_base_takes_it(tmp_path: Path) -> None:
    base = {"stiffness": ["1e5 N/m"] * 3, "rotational_stiffness": ["1e4 N*m/rad"] * 3}
    machine = with_errors({}, hangs=True, base=base)
    soft = slow_turn(tmp_path, machine)
    stiff = slow_turn(tmp_path, small.merged(machine, {"error_sources": {"off": ["base"]}}))
    assert np.array_equal(soft.log.q, stiff.log.q)
    weight, q = small.MASS * 9.80665, soft.log.q[-1, 0]
    # the joint's axis lies along -y; its arm points along x at q = 0; the tool frame is at the joint
    assert soft.log.tip[-1] - stiff.log.tip[-1] == pytest.approx([0.0, 0.0, -weight / 1e5], abs=1e-9)
    assert soft.log.deflection is not None
    turn = weight * small.ARM * math.cos(q) / 1e4
    assert soft.log.deflection[-1, 4] == pytest.approx(turn, rel=1e-6)
    assert soft.signals["tip_z_m"][-1] == pytest.approx(soft.log.tip[-1, 2], abs=1e-12)


# --- what a run says, and what it refuses -----------------------------------------------------------


def test_result_names_the_sources_that_acted(tmp_path: Path) -> None:
    machine = with_errors(ECCENTRIC, geometry={"length": "0.1 mm"}, trial=2, off=["noise"])
    notes = slow_turn(tmp_path, machine).summary["notes"]
    assert notes == [
        "error sources of trial 2 that nobody tells the controller: resolution, eccentricity, friction, geometry",
        "error sources switched off: noise",
    ]


def test_elastic_gear_in_front_of_a_joint_without_inertia_is_refused_by_name() -> None:
    changes = {"error_sources.enabled": "true", "error_sources.axes.th5.stiffness": "1e4 N*m/rad"}
    with pytest.raises(st.ServotwinError, match="joint th5 moves no inertia of its own; expected an inertia"):
        LiveRobot("palletizer-4", changes, drives=True)


def test_live_robot_has_the_error_sources_of_its_file() -> None:
    robot = LiveRobot("gsis-scara", {"error_sources.enabled": "true"}, drives=True)
    machine = robot.plant.machine  # type: ignore[attr-defined]
    assert (machine.motors["flexible"] >= 0).tolist() == [True, True, False, False]
    assert (machine.sensors["encoder_waves"] == 2).all()
