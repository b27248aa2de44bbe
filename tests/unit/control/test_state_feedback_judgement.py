"""State feedback of mixed arms: weights in commensurate units, feed-forward of valves, an honest judgement."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

import servotwin as st
from servotwin.cli.main import main
from servotwin.control.servo.valve_loop import head_factor
from servotwin.errors import InputError
from servotwin.robot.regular import regular_poses
from tests import hydraulic_axes as hydraulic
from tests import small_drives as small


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Folder and runs of a hydraulic shoulder with a DC elbow under every law."""
    path = small.write_case(tmp_path_factory.mktemp("mixed"), hydraulic.MIXED, hydraulic.SWING)
    return path.parent, {run.law: run for run in st.compare_laws(path)}


def test_coupled_law_of_a_mixed_arm_tracks_at_least_as_well_as_separate_ones(mixed):
    """A radian of an encoder behind a gear of 100 and one of a hydraulic motor do not cost alike: else 189 mm."""
    tip = {law: run.tip_error for law, run in mixed[1].items()}
    assert tip["state feedback, coupled"] < tip["state feedback, separate"]
    assert tip["state feedback, coupled"] < 1.3e-2
    assert tip["state feedback with feed-forward"] < tip["cascade with feed-forward"]
    assert not any(run.failure for run in mixed[1].values())


def test_law_does_not_depend_on_where_the_encoder_stands(mixed, tmp_path):
    """Behind the gear or before it, by weights in what an axis can answer: the same valve current per joint error."""
    design = st.design_state_feedback(mixed[0] / "robot.yaml")
    motor = {"torque_constant": "0.24 N*m/A", "rotor_inertia": "6e-4 kg*m^2"}
    fewer = small.merged(hydraulic.MIXED, {"axes": {"elbow": {"gear": {"ratio": 50}, "motor": motor}}})
    small.write_case(tmp_path, fewer)
    other = st.design_state_feedback(tmp_path / "robot.yaml")
    names = [q.name for q in design.plant.states]
    k = [names.index(name) for name in ("shoulder.position", "elbow.position", "elbow.speed")]
    np.testing.assert_allclose(design.K[0, k], other.K[0, k], rtol=1e-6)
    np.testing.assert_allclose(100.0 * design.K[1, k], 50.0 * other.K[1, k], rtol=1e-6)


def unequal():
    cylinder = {"cylinder": {"area": "4 cm^2", "rod_side_area": "2 cm^2"}}
    machine = hydraulic.lift(motor=cylinder, link={"mass": "2 kg"})
    return small.merged(machine, {"home": {"A": "-75 mm"}, "gravity": "0 m/s^2"})


def test_current_per_speed_of_unequal_areas_differs_by_direction_as_the_square_root_law_says(tmp_path):
    r"""Without load, v = k s sqrt(A_A p_s / (A_A^3 + A_B^3)) forward and sqrt(A_B ...) backward."""
    tight = {"axes": {"A": {"motor": {"valve": {"null_leakage": "0.01 L/min"}}}}}
    machine = small.merged(unequal(), {**tight, "controller": {"valve": {"linearised": False}}})
    small.write_case(tmp_path, machine)
    design = st.design_state_feedback(tmp_path / "robot.yaml")
    forward, backward = design.ahead.F[:, 0]
    assert backward / forward == pytest.approx(math.sqrt(2.0), rel=0.02)  # laminar part and compression
    k = 3.8e-3 / 60.0 / math.sqrt(35e5)
    speed = k / 0.04 * math.sqrt(4e-4 * 70e5 / (4e-4**3 + 2e-4**3))
    assert forward == pytest.approx(1.0 / speed, rel=0.02)


@pytest.mark.parametrize("law", ["state-feedback", "cascade"])
def test_unequal_areas_follow_alike_in_both_directions(tmp_path, law):
    """One current per speed for both directions leaves errors of 17 % of it either way."""
    slow = {"speed_integral_time": "10 s", "state_feedback": {"integral_time": "10 s"}}  # which would hide it
    blind = {"valve": {"linearised": False}}  # no pressure is needed for that
    control = {"law": law, "feedforward": {"velocity": 1}, **slow, **blind}
    machine = small.merged(unequal(), {"controller": control})
    move = [{"to": {"A": "-45 mm"}, "speed": "0.1 m/s"}, {"to": {"A": "-75 mm"}, "speed": "0.1 m/s"}]
    signals = small.run_case(tmp_path, machine, {"start": {"A": "-75 mm"}, "move": move}).signals
    error = signals["joint_A_position_ref_m"] - signals["joint_A_position_m"]
    assert np.abs(error).max() < 1.5e-4


def test_load_pressure_is_counted_by_the_head_that_is_left():
    assert head_factor(50e5, 50e5, 50e5, 1.0, 25e5) == pytest.approx(math.sqrt(2.0))


def test_law_that_holds_everywhere_is_called_usable(mixed):
    design = st.design_state_feedback(mixed[0] / "robot.yaml")
    assert design.usable
    assert design.warnings == ()
    assert design.judgement.poses > 10


@pytest.mark.parametrize("name", ["manutec-r3", "sixaxis-5kg"])
def test_laws_of_the_catalogue_with_elastic_gears_hold_at_all_poses(name):
    """Poles composed here from the linearised arm, its current loops, the hold and the law, at poses of its own."""
    design = st.design_state_feedback(name)
    assert design.usable
    model, control = design.arm.model, design.arm.control
    T, w_c, m, s = control.axis_period, control.current_bandwidth, len(design.names), design.plant.order
    assert control.axis_delay == 0
    hat = np.hstack([-design.L @ model.angles, np.zeros((s, m)), np.eye(s) - design.L @ design.plant.C])
    u = np.hstack([design.K @ hat, design.K_i])
    for q in regular_poses(model.robot, np.random.default_rng(7), 10):
        A, B = model.linearise(*model.operating_point(q))[1:3]
        n = len(A)
        rates = np.zeros((n + 2 * m, n + 2 * m))
        rates[:n, : n + m] = np.hstack([A, B])
        rates[n : n + m, n:] = w_c * np.hstack([-np.eye(m), np.eye(m)])
        held = expm(T * rates)[: n + m]
        loop = np.zeros((n + m + s + m,) * 2)
        loop[: n + m, : n + m] = held[:, : n + m]
        loop[: n + m] += held[:, n + m :] @ u
        loop[n + m : -m] = -design.plant.B @ u
        loop[n + m : -m, :-m] += design.plant.A @ hat
        loop[-m:, :n], loop[-m:, -m:] = -T * model.angles, np.eye(m)
        assert np.abs(np.linalg.eigvals(loop)).max() < 1.0


FAR = {
    "format": "servotwin-scenario/1",
    "name": "far",
    "robot": "daiv-1",
    "start": {"th1": "172 deg", "th2": "152 deg", "q3": "-143 mm"},
    "move": [{"to": {"th1": "170 deg", "th2": "150 deg", "q3": "-140 mm"}, "dwell": "0.2 s"}],
    "solver": {"pwm": "averaged"},
    "set": {"controller.law": "state-feedback"},
}


@pytest.mark.parametrize(("bandwidth", "holds"), [(200.0, True), (900.0, False)])
def test_judgement_of_other_poses_is_that_of_the_simulator(tmp_path, bandwidth, holds):
    """Stable about home at 900 rad/s; with the arm folded the simulated drives go from limit to limit."""
    design = st.design_state_feedback("daiv-1", bandwidth=bandwidth)
    assert design.stable
    assert design.usable == holds
    path = tmp_path / "far.yaml"
    path.write_text(small.json.dumps(FAR))
    wish = {"set.controller.state_feedback.bandwidth": f"{bandwidth} rad/s"}
    signals = st.simulate(path, wish).signals
    swing = np.ptp(signals["motor_th1_current_ref_A"][-50:])
    assert (swing < 2.0) if holds else (swing > 40.0)


def test_nonlinear_arm_that_does_not_settle_is_not_usable():
    judged = st.design_state_feedback("daiv-1", bandwidth=3000.0).judgement
    assert judged.settled is None
    assert judged.limited
    assert "does not settle" in judged.lines[1]


@pytest.mark.parametrize("wish", [{"bandwidth": 5e4}, {"observer_bandwidth": 3142.0}])
def test_bandwidth_beyond_half_of_the_sampling_is_refused(wish):
    name = next(iter(wish))
    with pytest.raises(
        InputError, match=f"{name}: .* rad/s is beyond half of the sampling frequency, 3142 rad/s"
    ):
        st.design_state_feedback("daiv-1", **wish)


def test_few_samples_and_unusable_laws_are_warned_of_at_the_command_line(capsys):
    assert main(["design", "daiv-1", "--bandwidth", "900 rad/s"]) == 0
    out, err = capsys.readouterr()
    assert "usable: no" in out
    assert "7 samples in a period of the bandwidth; expected 10 or more, 628.3 rad/s" in " ".join(err.split())
    assert "poses of the joint ranges" in err
    assert main(["design", "daiv-1", "--bandwidth", "50000 rad/s"]) == 2
    assert "half of the sampling frequency" in capsys.readouterr().err
