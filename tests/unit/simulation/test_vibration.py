"""Vibration and deflection on the drive-level palletizer with elastic gears; laws of the model for closed chains."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.control.tuning.shaper_choice import ShaperChoice
from servotwin.errors import InputError
from servotwin.simulation.assembly import robots_of
from servotwin.simulation.run import prepare
from servotwin.simulation.scenario.scenario import read_scenario

SWING = """
format: servotwin-scenario/1
name: swing
robot: {robot}
set: {{variables.load: 20 kg, controller.feedforward.velocity: 100 %, controller.feedforward.torque: 100 %}}
start: {{th1: {a[0]} deg, th2: {a[1]} deg, th3: {a[2]} deg}}
move:
  - to: {{th1: {b[0]} deg, th2: {b[1]} deg, th3: {b[2]} deg}}
    speed: 50 %
    ramp: {ramp} s
    dwell: 0.5 s
    profile: trapezoid
record: {{every: 1 ms}}
"""
SHAPING = "set.controller.shaping."
AROUND = ((-30.0, 60.0, -40.0), (30.0, 60.0, -40.0), 0.15)
FULL_RANGE = ((-60.0, 110.0, -130.0), (60.0, 50.0, -40.0), 0.25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("swing")


def scenario(folder: Path, case: tuple[Any, Any, float], robot: str = "palletizer-4-elastic") -> Path:
    a, b, ramp = case
    place = folder / f"{robot}-{abs(hash(case))}.yaml"
    place.write_text(SWING.format(robot=robot, a=a, b=b, ramp=ramp))
    return place


@cache
def left(place: Path, **shaping: str) -> float:
    """Largest way of the tool after the last command, from where it comes to rest [m]."""
    result = st.simulate(place, {f"{SHAPING}{name}": value for name, value in shaping.items()})
    log = result.log
    moved = np.abs(np.diff(log.q_ref, axis=0)).max(axis=1) > 1e-12
    end = int(np.flatnonzero(moved)[-1]) + 1
    return float(np.linalg.norm(log.tip[end + 1 :] - log.tip[-50:].mean(axis=0), axis=1).max())


def test_zvd_leaves_a_twentieth_at_its_frequency_and_a_fifteenth_ten_percent_beside_it(folder: Path) -> None:
    place = scenario(folder, AROUND)
    read = read_scenario(place, {f"{SHAPING}shaper": "zvd"})
    model, _ = robots_of(read)
    choice = ShaperChoice.of(read.description, model)
    assert choice is not None
    mode = choice.modes(np.radians([[-30.0, 60.0, -40.0, 0.0], [30.0, 60.0, -40.0, 0.0]]))[0].shaper
    without = left(place)
    assert without > 1e-3  # a millimetre of the tool: there is something to suppress
    assert 20.0 * left(place, shaper="zvd") < without
    for share in (0.9, 1.1):
        hertz = share * mode.frequency / (2.0 * np.pi)
        beside = left(place, shaper="zvd", frequency=f"{hertz} Hz", damping=f"{mode.damping}")
        assert 15.0 * beside < without


def test_following_shaper_leaves_a_third_of_those_for_home_and_for_the_middle_of_a_full_range_move(
    folder: Path,
) -> None:
    place = scenario(folder, FULL_RANGE)
    follows, fixed = (left(place, shaper="zvd", pose=pose) for pose in ("path", "home"))
    assert 3.0 * follows < fixed
    assert 20.0 * follows < left(place)
    read = read_scenario(place, {f"{SHAPING}shaper": "zvd"})
    choice = ShaperChoice.of(read.description, robots_of(read)[0])
    assert choice is not None
    begin, end = (np.radians([*pose, 0.0]) for pose in FULL_RANGE[:2])
    middle = 0.5 * (begin + end)
    mode = choice.modes(np.stack([middle - 1e-3 * (end - begin), middle]))[0].shaper
    hertz = mode.frequency / (2.0 * np.pi)
    assert 3.0 * follows < left(place, shaper="zvd", frequency=f"{hertz} Hz", damping=f"{mode.damping}")


def test_summary_tells_how_much_longer_shaping_makes_a_motion(folder: Path) -> None:
    place = scenario(folder, AROUND)
    plain = st.simulate(place).summary
    shaped = st.simulate(place, {f"{SHAPING}shaper": "zvd", f"{SHAPING}frequency": "10 Hz"}).summary
    assert "shaping_s" not in plain
    assert shaped["shaping_s"] == pytest.approx(0.1, abs=2e-3)
    assert shaped["simulated_s"] == pytest.approx(plain["simulated_s"] + shaped["shaping_s"], abs=2e-3)


def test_shaped_scenario_refuses_a_start_with_a_speed(folder: Path) -> None:
    place = scenario(folder, AROUND)
    changes = {f"{SHAPING}shaper": "zv", "initial.speed.th1": "0.1 rad/s"}
    with pytest.raises(InputError, match=r"initial\.speed: a motion that begins with a speed"):
        st.simulate(place, changes)


# --- deflection -------------------------------------------------------------------------------------


def joint_errors(place: Path, **feedforward: str) -> tuple[float, float]:
    """Largest joint error at rest before the move and on the move [rad], joints as they are."""
    changes = {f"set.controller.feedforward.{name}": value for name, value in feedforward.items()}
    result = st.simulate(place, changes)
    away = np.abs(result.log.q - result.log.q_ref)[:, 1:3]
    return float(away[0].max()), float(away.max())


def test_turning_references_ahead_takes_sag_and_torsion_from_the_joints(folder: Path) -> None:
    place = scenario(folder, ((0.0, 60.0, -40.0), (0.0, 80.0, -60.0), 0.4))
    sag, moving = joint_errors(place)
    assert sag > 5e-4  # links and 20 kg at 1.2 m on a gear of 340 kN m/rad
    ahead, moving_ahead = joint_errors(place, twist="100 %")
    assert ahead < 0.01 * sag
    assert moving_ahead < 0.2 * moving
    still, moving_still = joint_errors(place, gravity_twist="100 %")
    assert still < 0.01 * sag
    assert moving_still < 0.8 * moving


def test_twist_is_the_models_own_and_stays_with_the_plant_as_it_is(folder: Path) -> None:
    """A plant whose gears are half as stiff as believed: half of its sag is left."""
    place = scenario(folder, ((0.0, 60.0, -40.0), (0.0, 80.0, -60.0), 0.4))
    soft = {
        "plant.set.axes.th2.gear.stiffness": "170 kN*m/rad",
        "plant.set.axes.th3.gear.stiffness": "92.5 kN*m/rad",
    }
    result = st.simulate(place, {"set.controller.feedforward.gravity_twist": "100 %", **soft})
    plain = st.simulate(place, soft)
    errors = [np.abs(r.log.q - r.log.q_ref)[0, 1:3] for r in (result, plain)]
    np.testing.assert_allclose(errors[0] / errors[1], 0.5, atol=0.02)


# --- filters in a run -------------------------------------------------------------------------------


def test_notch_and_low_pass_run_in_the_loops_and_begin_settled(folder: Path) -> None:
    place = scenario(folder, ((0.0, 60.0, -40.0), (0.0, 60.0, -40.5), 0.4))
    filters = {
        "set.controller.axes.th2.notches": "[{frequency: 600 Hz, width: 0.5}]",
        "set.controller.axes.th2.torque_filter.frequency": "1500 Hz",
    }
    run = prepare(read_scenario(place, filters))
    axis = run.machine.axes[1]
    assert axis["filters"] == 2
    assert run.machine.axes[0]["filters"] == 0
    plain, made = st.simulate(place), st.simulate(place, filters)
    assert plain.summary["tip_error_max_m"] != made.summary["tip_error_max_m"]
    assert made.summary["tip_error_final_m"] == pytest.approx(plain.summary["tip_error_final_m"], abs=5e-5)
    # at rest nothing happens at the begin: what holds the arm has passed the filters long ago
    steps = [np.abs(np.diff(r.signals["motor_th2_current_A"][:20])).max() for r in (plain, made)]
    assert steps[1] < 1.5 * steps[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"controller.axes.th2.notches": "[{frequency: 2500 Hz}]"},
            "half of the speed loop's sampling frequency",
        ),
        (
            {"controller.law": "computed-torque", "controller.axes.th2.notches": "[{frequency: 50 Hz}]"},
            "does not have",
        ),
        (
            {"controller.arithmetic": "fixed", "controller.axes.th2.notches": "[{frequency: 50 Hz}]"},
            "floating-point",
        ),
        ({"controller.axes.th2.notches": "[{frequency: 50 rad/s}]"}, "Hz"),
        (
            {"controller.law": "computed-torque", "controller.axes.th2.speed_bandwidth": "90 rad/s"},
            "does not have",
        ),
        (
            {"controller.feedforward.twist": "1", "controller.feedforward.gravity_twist": "1"},
            "expected one of them",
        ),
    ],
)
def test_filters_that_loops_do_not_have_are_refused(changes: dict[str, str], said: str) -> None:
    from servotwin.description.load import read_description

    with pytest.raises(InputError, match=said):
        read_description("palletizer-4-elastic", changes)


def test_bandwidths_by_axis_are_those_of_its_gains() -> None:
    from servotwin.control.servo.axis_data import robot_gains
    from servotwin.description.load import read_description

    J = np.full(4, 1e-3)
    changes = {
        "controller.axes.th2.speed_bandwidth": "125 rad/s",
        "controller.axes.th2.position_bandwidth": "20 1/s",
    }
    plain, own = (robot_gains(read_description("palletizer-4", c), J) for c in ({}, changes))
    assert own[1][1].speed_proportional == pytest.approx(0.5 * plain[1][1].speed_proportional)
    assert own[1][1].position == 20.0
    assert own[0][1] == plain[0][1]


# --- closed chains ----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["torque", "computed"])
def test_model_laws_of_a_closed_chain_compute_its_inverse_dynamics(folder: Path, law: str) -> None:
    """The current fed forward at the reference is that of the recursive equations with the loops closed in Python."""
    place = scenario(folder, ((0.0, 80.0, -70.0), (20.0, 95.0, -90.0), 0.3), "palletizer-4-loops")
    changes = {"set.controller.law": "computed-torque"} if law == "computed" else {}
    run = prepare(read_scenario(place, changes))
    machine, model = run.machine, run.model
    machine.reserve(run.duration_ns)
    machine.advance(400_000_000)
    axes = machine.axes
    counted = axes["count"] if law == "computed" else axes["counts_ref"]
    q = machine.inverse @ (counted / axes["counts_per_rad"])
    if law == "torque":
        qd, qdd = machine.inverse @ axes["w_path"], machine.inverse @ axes["a_path"]
        tau = machine.inverse.T @ model.rne(q, qd, qdd, drives=True) + axes["f_hat"] * axes["w_path"]
        np.testing.assert_allclose(axes["i_feedforward"], tau / axes["K_hat"], rtol=1e-9, atol=1e-9)
    else:
        reference = machine.inverse @ (axes["counts_ref"] / axes["counts_per_rad"])
        assert np.abs(reference - q).max() < 1e-3  # what dry friction leaves
    result = st.simulate(place, changes)
    assert result.summary["tip_error_max_m"] < 1e-3  # without them, 25 ms behind


def test_harmonics_that_the_file_states_are_corrected_and_others_displace_the_joint(folder: Path) -> None:
    """Amplitude (sin(phi + phase) - sin(phase)) is what a joint leads by if its controller does not know it."""
    pose = (30.0, 60.0, -40.0)
    place = scenario(folder, (pose, (31.0, 60.0, -40.0), 0.2))
    waves = "{harmonics: [[1, 1 mrad, 20 deg], [2, 0.5 mrad, -70 deg]]}"
    phi = np.radians(30.0)
    led = 1e-3 * (np.sin(phi + np.radians(20.0)) - np.sin(np.radians(20.0))) + 0.5e-3 * (
        np.sin(2.0 * phi - np.radians(70.0)) + np.sin(np.radians(70.0))
    )
    known = st.simulate(place, {"set.axes.th1.deviation": waves}).log
    unknown = st.simulate(place, {"plant.set.axes.th1.deviation": waves}).log
    assert unknown.q[0, 0] - phi == pytest.approx(led, abs=1e-7)
    assert abs(known.q[0, 0] - phi) < 1e-7
    # at the end of the run the loops still settle, in the same way as without harmonics
    plain = st.simulate(place).log
    assert abs(known.q[-1, 0] - plain.q[-1, 0]) < 5e-6
