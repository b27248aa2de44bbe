"""State feedback: gains against python-control, the compiled law against NumPy, and the law in the loop."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy.linalg import expm

import servotwin as st
from servotwin.control.servo.records import AXIS, SERVO, zeros
from servotwin.control.servo.state_feedback import state_feedback
from servotwin.errors import InputError, UnsupportedError
from servotwin.linear.feedback import closed_loop, kalman, lqr, place, with_integrators
from servotwin.linear.sampling import sampled, sampled_cost, sampled_noise
from servotwin.linear.system import LinearSystem, Quantity
from tests import hydraulic_axes as hydraulic
from tests import small_drives as small


@pytest.fixture(scope="module")
def control():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("control")


def plant(seed: int = 0, n: int = 4, m: int = 2) -> LinearSystem:
    rng = np.random.default_rng(seed)
    names = lambda letter, count: tuple(Quantity(f"{letter}{k}", "1") for k in range(count))  # noqa: E731
    A, B, C = rng.normal(size=(n, n)), rng.normal(size=(n, m)), rng.normal(size=(m, n))
    whole = LinearSystem(A, B, C, np.zeros((m, m)), names("x", n), names("u", m), names("y", m))
    return sampled(whole, 0.05)


def test_lqr_equals_python_control(control):
    system = plant()
    Q, R = np.diag([1.0, 2.0, 0.5, 3.0]), np.diag([0.1, 5.0])
    want = control.dlqr(system.A, system.B, Q, R)[0]
    np.testing.assert_allclose(lqr(system.A, system.B, Q, R), want, rtol=1e-9)


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan")])
def test_input_without_a_cost_is_refused_without_a_warning(cost):
    system = plant()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnsupportedError, match="on its diagonal; expected more than zero"):
            lqr(system.A, system.B, np.eye(4), np.diag([1.0, cost]))


def test_kalman_gain_equals_python_control(control):
    system = plant(1)
    W, V = np.diag([1.0, 0.2, 0.3, 0.4]), np.diag([0.1, 0.3])
    L, _, _ = control.dlqe(system.A, np.eye(4), system.C, W, V)
    want = np.linalg.solve(system.A, L)  # theirs is the gain of the prediction
    np.testing.assert_allclose(kalman(system.A, system.C, W, V), want, rtol=1e-8)


def test_placed_poles_are_where_they_were_wanted():
    system = plant(2)
    poles = np.array([0.9, 0.8, 0.5 + 0.2j, 0.5 - 0.2j])
    K = place(system.A, system.B, poles)
    got = np.sort_complex(np.linalg.eigvals(system.A - system.B @ K))
    np.testing.assert_allclose(got, np.sort_complex(poles), atol=1e-9)
    with pytest.raises(UnsupportedError, match="cannot be placed"):
        place(system.A, system.B, np.full(4, 0.5 + 0j))  # more often than there are inputs


def test_closed_loop_with_the_right_model_separates_into_feedback_and_observer():
    system = plant(3)
    A, B = with_integrators(system)
    gain = lqr(A, B, np.eye(6), np.eye(2))
    L = kalman(system.A, system.C, np.eye(4), np.eye(2))
    got = np.linalg.eigvals(closed_loop(system, system, gain[:, :4], gain[:, 4:], L))
    want = [
        *np.linalg.eigvals(A - B @ gain),
        *np.linalg.eigvals(system.A @ (np.eye(4) - L @ system.C)),
    ]
    np.testing.assert_allclose(np.sort_complex(got), np.sort_complex(np.array(want)), atol=1e-9)


ROBOTS = ["gsis-scara", "manutec-r3-axis", "palletizer-4", "puma560"]


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("separate", [False, True])
def test_designs_for_the_catalogue_hold_the_coupled_arm(name, method, separate):
    design = st.design_state_feedback(name, method=method, separate=separate)
    assert design.stable
    assert design.poles.real.max() < -0.1 * design.bandwidth


def test_bandwidth_of_a_rigid_axis_is_what_was_asked_for():
    """Butterworth's pattern without the integral part: two poles of size w_b, whatever the inertia."""
    design = st.design_state_feedback("gsis-scara", separate=True, bandwidth=40.0, integral_time=1e3)
    A, B = with_integrators(design.plant)
    s = np.log(np.linalg.eigvals(A - B @ np.hstack([design.K, design.K_i]))) / design.plant.period
    s = s[np.argsort(np.abs(s))][4:12]  # behind the four slow ones of the integrators
    np.testing.assert_allclose(np.abs(s), 40.0, rtol=0.1)
    np.testing.assert_allclose(-s.real / np.abs(s), np.sqrt(0.5), rtol=0.1)


@njit
def _step(servos, axes):
    state_feedback(servos[0], axes)


def test_compiled_law_equals_its_equations_with_limits_and_feed_forward():
    design = st.design_state_feedback("gsis-scara")
    m, s = 4, design.plant.order
    record, servo, axes = design.record(), zeros(SERVO, 1), zeros(AXIS, m)
    servo["feedback_at"] = record.ctypes.data
    axes["counts_per_rad"], axes["K_hat"], axes["i_max"] = (
        5000.0,
        [0.1, 0.1, 0.08, 0.06],
        [5.0, 20.0, 20.0, 20.0],
    )
    rng = np.random.default_rng(0)
    bar, sigma = np.zeros(s), np.zeros(m)
    limited = 0
    for _ in range(200):
        axes["counts_ref"], axes["count"] = rng.integers(-4000, 4000, (2, m))
        axes["w_path"], axes["a_path"] = rng.normal(size=(2, m))
        _step(servo, axes)
        e = (axes["counts_ref"] - axes["count"]) / 5000.0
        hat = bar + design.L @ (e - design.plant.C @ bar)
        torque = design.K @ hat + design.K_i @ sigma
        wanted = (torque + design.M @ axes["a_path"] + design.f * axes["w_path"]) / axes["K_hat"]
        given = np.clip(wanted, -axes["i_max"], axes["i_max"])
        np.testing.assert_allclose(axes["i_ref"], given, rtol=1e-9, atol=1e-12)
        limited += int((given != wanted).sum())
        torque = torque + (given - wanted) * axes["K_hat"]
        sigma = sigma + np.where((wanted - given) * e <= 0.0, design.plant.period * e, 0.0)
        bar = design.plant.A @ hat - design.plant.B @ torque
    assert limited > 10


def feedback(**more):
    return {"controller": {"law": "state-feedback", "state_feedback": {"bandwidth": "60 rad/s", **more}}}


@pytest.mark.parametrize("delay", [0, 1])
def test_run_under_state_feedback_begins_in_balance_and_stays_there(tmp_path, delay):
    """A hanging weight: nothing moves when the run begins, the integrators hold the load."""
    machine = small.merged(small.robot(axes={"A": small.LIFT}), feedback())
    machine["controller"]["axis_delay"] = delay
    result = small.run_case(tmp_path, machine, small.rest(0.3, at="0 m"))
    error = result.signals["joint_A_position_m"] - result.signals["joint_A_position_ref_m"]
    assert np.abs(error).max() < 1e-6
    current = result.signals["motor_A_current_ref_A"]
    assert np.ptp(current) < 0.05 * abs(current.mean())
    assert abs(current.mean()) > 1.0


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("plant", ["coupled", "separate"])
def test_move_under_state_feedback_follows_the_path_and_meets_its_end(tmp_path, method, plant):
    machine = small.merged(small.robot(), feedback(method=method, plant=plant))
    scenario = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.4 s"}]}
    result = small.run_case(tmp_path, machine, scenario)
    error = result.signals["joint_A_position_rad"] - result.signals["joint_A_position_ref_rad"]
    assert np.abs(error).max() < 3e-3
    assert abs(error[-1]) < 2e-5


def test_integral_action_removes_an_unknown_load(tmp_path):
    """The robot in truth carries 2 kg more than its controller knows: gone after the integral time."""
    arm = small.axis(origin=small.HORIZONTAL)
    machine = small.merged(small.robot(axes={"A": arm}), feedback())
    scenario = {
        "plant": {"set": {"axes.A.link.mass": "4 kg"}},
        "move": [{"to": {"A": "0.8 rad"}, "dwell": "1 s"}],
    }
    result = small.run_case(tmp_path, machine, scenario)
    error = result.signals["joint_A_position_rad"] - result.signals["joint_A_position_ref_rad"]
    assert np.abs(error).max() > 1e-4
    assert np.abs(error[-50:]).max() < 3e-5


def test_error_of_a_run_is_that_of_the_linear_closed_loop(tmp_path):
    """More viscous friction in truth: its torque on the path is a disturbance, and the plant is linear."""
    more = 2e-3
    machine = small.merged(small.robot(), feedback())
    move = {"move": [{"to": {"A": "1 rad"}, "dwell": "0.3 s"}]}
    truth = {"plant": {"set": {"axes.A.motor.viscous_friction": f"{small.VISCOUS + more} N*m*s/rad"}}}
    alike, result = (small.run_case(tmp_path, machine, {**move, **other}) for other in ({}, truth))
    # the difference of two runs of a linear system: what both have in common, such as late feed-forward, drops out
    got = alike.signals["joint_A_position_rad"] - result.signals["joint_A_position_rad"]
    w_ref = small.RATIO * result.signals["joint_A_velocity_ref_rad_per_s"]
    design = st.design_state_feedback(tmp_path / "robot.yaml")
    J, f, w_c = design.M[0, 0], small.VISCOUS + more, 1200.0
    # error of angle, of speed, and of the torque behind the current loop; inputs: torque of the law, of friction
    A = np.array([[0.0, 1.0, 0.0], [0.0, -f / J, 1.0 / J], [0.0, 0.0, -w_c]])
    B = np.array([[0.0, 0.0], [0.0, 1.0 / J], [w_c, 0.0]])
    step = expm(1e-3 * np.block([[A, B], [np.zeros((2, 5))]]))
    Phi, Gamma = step[:3, :3], step[:3, 3:]
    x, bar, sigma, errors = np.zeros(3), np.zeros(design.plant.order), 0.0, []
    for w in w_ref:
        errors.append(x[0] / small.RATIO)
        hat = bar + design.L[:, 0] * (x[0] - design.plant.C[0] @ bar)
        torque = design.K[0] @ hat + design.K_i[0, 0] * sigma
        sigma += 1e-3 * x[0]
        bar = design.plant.A @ hat - design.plant.B[:, 0] * torque
        x = Phi @ x - Gamma[:, 0] * torque + Gamma[:, 1] * more * w
    want = np.array(errors)
    assert np.abs(want).max() > 3e-4
    assert (
        np.abs(got - want).max() < 0.06 * np.abs(want).max()
    )  # the current loop is no first-order lag exactly


def test_comparison_of_laws_gives_the_numbers_of_the_runs(tmp_path):
    machine = small.robot()
    path = small.write_case(
        tmp_path, machine, {"move": [{"to": {"A": "1 rad"}, "dwell": "0.1 s"}], "solver": {"method": "fast"}}
    )
    runs = {run.law: run for run in st.compare_laws(path)}
    assert len(runs) == 6
    assert not any(run.failure for run in runs.values())
    plain, fed = runs["cascade"], runs["cascade with feed-forward"]
    assert fed.axes[0].error_rms < 0.1 * plain.axes[0].error_rms
    assert runs["state feedback, coupled"].axes[0].error_rms < 0.1 * plain.axes[0].error_rms
    again = st.simulate(path, {"set.controller.law": "computed-torque"})
    assert runs["computed torque"].source_energy == again.summary["energy"]["source_J"]


def test_more_states_than_there_is_room_for_are_refused():
    design = st.design_state_feedback("gsis-scara")
    wide = replace(design.plant, A=np.eye(120), B=np.zeros((120, 4)), C=np.zeros((4, 120)),
                   states=tuple(Quantity(f"x{k}", "1") for k in range(120)))  # fmt: skip
    with pytest.raises(UnsupportedError, match="room for"):
        replace(design, plant=wide).record()


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"method": "h-infinity"}, "method: 'h-infinity'; expected lqr or poles"),
        ({"bandwidth": -5.0}, "bandwidth: -5 rad/s; expected more than zero"),
        ({"bandwidth": 0.0}, "bandwidth: 0 rad/s; expected more than zero"),
        ({"integral_time": float("nan")}, "integral_time: nan s; expected more than zero"),
    ],
)
def test_design_that_makes_no_sense_is_refused(wish, text):
    with pytest.raises(InputError, match=text):
        st.design_state_feedback("gsis-scara", **wish)


def lift(**more):
    """A weight of 40 kg on a vertical cylinder under state feedback."""
    return small.merged(hydraulic.lift(), feedback(**more))


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("plant", ["coupled", "separate"])
@pytest.mark.parametrize("delay", [0, 1])
def test_valve_under_state_feedback_begins_in_balance_and_follows_its_path(tmp_path, method, plant, delay):
    """Valve current as input; spool, pressures and speed are estimated from the position alone."""
    machine = lift(method=method, plant=plant)
    machine["controller"]["axis_delay"] = delay
    scenario = {
        "start": {"A": "-120 mm"},
        "move": [{"to": {"A": "-60 mm"}, "dwell": "0.3 s"}],
    }
    result = small.run_case(tmp_path, machine, scenario)
    error = result.signals["joint_A_position_m"] - result.signals["joint_A_position_ref_m"]
    assert np.abs(error).max() < 4e-4
    assert np.abs(error[-20:]).max() < 1e-6
    rest = small.run_case(tmp_path, machine, small.rest(0.1, at="0 mm"))
    moved = rest.signals["joint_A_position_m"] - rest.signals["joint_A_position_ref_m"]
    assert np.abs(moved).max() < 3e-7  # three counts
    assert np.ptp(rest.signals["motor_A_valve_command_A"]) < 1e-4


@pytest.mark.parametrize(
    ("mass", "overlap"), [("40 kg", 0.0), ("120 kg", 0.0), ("40 kg", 0.02), ("40 kg", -0.03)]
)
@pytest.mark.parametrize("speed", [50, -50])
def test_valve_that_begins_in_motion_goes_on_evenly(tmp_path, mass, overlap, speed):
    """Integrals and observer give the current that moves the piston, beside what the law itself feeds forward."""
    valve = {"overlap": overlap, "null_leakage": "0.3 L/min"}
    machine = hydraulic.lift(motor={"valve": valve}, link={"mass": mass})
    machine = small.merged(machine, {"home": {"A": "-70 mm"}, "controller": {"law": "state-feedback"}})
    scenario = {
        "start": {"A": "-75 mm"},
        "initial": {"speed": {"A": f"{speed} mm/s"}},
        "move": [{"to": {"A": f"{-75 + speed} mm"}, "speed": "50 mm/s"}],
    }
    signals = small.run_case(tmp_path, machine, scenario).signals
    error = signals["joint_A_position_m"] - signals["joint_A_position_ref_m"]
    early = signals["time_s"] < 0.1
    assert np.abs(error[early]).max() < 1e-7  # a count
    assert np.ptp(signals["motor_A_valve_command_A"][early]) < 5e-5


def test_integral_action_of_a_valve_removes_a_load_that_its_controller_does_not_know(tmp_path):
    scenario = {
        "start": {"A": "-120 mm"},
        "plant": {"set": {"axes.A.link.mass": "60 kg"}},
        "move": [{"to": {"A": "-60 mm"}, "dwell": "1 s"}],
    }
    result = small.run_case(tmp_path, lift(), scenario)
    error = result.signals["joint_A_position_m"] - result.signals["joint_A_position_ref_m"]
    assert np.abs(error).max() > 1e-5
    assert np.abs(error[-50:]).max() < 1e-6


def test_bandwidth_of_a_valve_is_what_was_asked_for(tmp_path):
    """Without integral part a pole at w_b: the oil and the spool are faster, the pressures' sum does not move it."""
    path = small.write_case(tmp_path, hydraulic.lift(), small.rest(0.1, at="-50 mm"))
    design = st.design_state_feedback(path.parent / "robot.yaml", bandwidth=20.0, integral_time=1e3)
    A, B = with_integrators(design.plant)
    s = (
        np.log(np.linalg.eigvals(A - B @ np.hstack([design.K, design.K_i])).astype(complex))
        / design.plant.period
    )
    assert np.abs(s + 20.0).min() < 0.5


def test_observer_finds_the_pressures_from_the_position(tmp_path):
    """The record of a run: estimated deviations of pressures against those of the plant."""
    path = small.write_case(tmp_path, hydraulic.lift(), small.rest(0.1, at="-50 mm"))
    design = st.design_state_feedback(path.parent / "robot.yaml", [-0.05])
    model = st.state_space(path.parent / "robot.yaml")
    x0, u0 = model.operating_point([-0.05])
    T, x, bar = design.plant.period, x0.copy(), np.zeros(design.plant.order)
    from scipy.integrate import solve_ivp

    i, seen = 0.0, []
    for k in range(400):
        e = x0[0] - x[0]
        hat = bar + design.L[:, 0] * (e - design.plant.C[0] @ bar)
        seen.append((hat[4:6], x0[4:6] - x[4:6]))
        i = 1e-4 * np.sin(0.05 * k)
        bar = design.plant.A @ hat - design.plant.B[:, 0] * i
        x = solve_ivp(
            lambda _, y, u=u0 + i: model.rates(y, u), (0, T), x, method="LSODA", rtol=1e-9, atol=1e-12
        ).y[:, -1]
    got, want = (np.array(part)[200:] for part in zip(*seen, strict=True))
    assert np.abs(got - want).max() < 0.05 * np.abs(want).max()


def raised(folder, mass, data, **controller):
    """Largest error of a lift by 60 mm under state feedback with the driver's defaults, and that at its end [m]."""
    machine = small.merged(
        hydraulic.lift(motor={"valve": data}, link={"mass": mass}), {"home": {"A": "-70 mm"}}
    )
    machine = small.merged(machine, {"controller": {"law": "state-feedback", **controller}})
    move = {"to": {"A": "-60 mm"}, "speed": "0.08 m/s", "dwell": "0.6 s"}
    result = small.run_case(folder, machine, {"start": {"A": "-120 mm"}, "move": [move]})
    error = np.abs(result.signals["joint_A_position_m"] - result.signals["joint_A_position_ref_m"])
    return error.max(), error[-len(error) // 6 :].max()


@pytest.mark.parametrize(
    ("mass", "valve", "largest", "last"),
    [
        ("40 kg", {}, 4e-5, 2e-7),
        ("120 kg", {}, 4e-4, 2e-6),  # 59 of 70 bar
        ("40 kg", {"overlap": 0.02, "null_leakage": "0.05 L/min"}, 9e-5, 5e-7),
        ("120 kg", {"overlap": 0.02, "null_leakage": "0.05 L/min"}, 6e-4, 2e-6),
        ("40 kg", {"overlap": 0.05, "null_leakage": "0.05 L/min"}, 9e-5, 5e-7),
        ("40 kg", {"overlap": 0.05, "null_leakage": "0 L/min"}, 1e-4, 3e-6),
        ("40 kg", {"overlap": -0.03, "null_leakage": "0.3 L/min"}, 2e-4, 5e-6),
    ],
)
def test_valve_under_load_and_with_overlap_stands_still_at_the_end(tmp_path, mass, valve, largest, last):
    """The driver does what the law was designed for: no square root undone, the jump over an overlap counted with."""
    got = raised(tmp_path, mass, valve)
    assert got[0] < largest
    assert got[1] < last


def test_load_that_is_fed_forward_leaves_the_moving_valve_its_damping(tmp_path):
    """Counted as fast as the loop, the load pressure of 59 of 70 bar would leave a swing of 43 rad/s undamped."""
    machine = small.merged(hydraulic.lift(link={"mass": "120 kg"}), {"home": {"A": "-70 mm"}})
    machine = small.merged(machine, {"controller": {"law": "state-feedback"}})
    move = {"to": {"A": "-60 mm"}, "speed": "0.08 m/s"}
    signals = small.run_case(tmp_path, machine, {"start": {"A": "-120 mm"}, "move": [move]}).signals
    error, t = signals["joint_A_position_m"] - signals["joint_A_position_ref_m"], signals["time_s"]
    first, last = (np.ptp(error[(t > begin) & (t < begin + 0.2)]) for begin in (0.26, 0.54))  # at even speed
    assert last < 0.4 * first


def test_current_fed_forward_is_that_of_a_working_valve(tmp_path):
    """Both edges of an underlapped valve give flow at null; at speed one does, without load i/i_r = v / (k sqrt..)."""
    machine = hydraulic.lift(motor={"valve": {"overlap": -0.03, "null_leakage": "0.3 L/min"}})
    path = small.write_case(tmp_path, machine, small.rest(0.1, at="-50 mm"))
    design = st.design_state_feedback(path.parent / "robot.yaml", [-0.05])
    # eq:valve-speed by hand, with p_L = 392 N / 2 cm2: the mean of both ways
    Q, drop, A, p_s, p_L = 3.8e-3 / 60, 70e5, 2e-4, 70e5, 40 * 9.80665 / 2e-4
    per_current = Q / 0.04 / A / np.sqrt(drop)  # the rated flow is that of both edges in series
    want = 0.5 * (1 / np.sqrt(p_s - p_L) + 1 / np.sqrt(p_s + p_L)) / per_current
    assert design.f[0] == pytest.approx(want, rel=0.05)


def test_overlap_that_nobody_compensates_is_refused(tmp_path):
    valve = {"overlap": 0.05, "null_leakage": "0.05 L/min"}
    with pytest.raises(
        UnsupportedError, match=r"takes 3\.75 times the current .* expected overlap_compensation"
    ):
        raised(tmp_path, "40 kg", valve, valve={"overlap_compensation": 0.0})


def test_valve_that_no_current_moves_at_rest_is_refused(tmp_path):
    valve = {"valve": {"overlap": 0.05, "null_leakage": "0 L/min"}, "cylinder": {"leakage": "0 m^3/(s*Pa)"}}
    machine = small.merged(
        hydraulic.lift(motor=valve), {"controller": {"valve": {"overlap_compensation": 0.0}}}
    )
    path = small.write_case(tmp_path, machine, small.rest(0.1, at="-50 mm"))
    with pytest.raises(UnsupportedError, match="no current of the valve of A moves it at rest"):
        st.design_state_feedback(path.parent / "robot.yaml", [-0.05])


# --- exactly sampled costs ------------------------------------------------------------------------------
def stiff_plant() -> LinearSystem:
    """A double integrator behind a fast lag and a swing: what a period of 5 ms does not resolve."""
    A = np.array(
        [[0.0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, -900, 0, 0], [0, 0, 0, 0, 1], [0, 0, 300, -4e5, -30]]
    )
    names = lambda letter, count: tuple(Quantity(f"{letter}{k}", "1") for k in range(count))  # noqa: E731
    B, C = np.array([[0.0], [0], [900], [0], [0]]), np.array([[1.0, 0, 0, 1, 0]])
    return LinearSystem(A, B, C, np.zeros((1, 1)), names("x", 5), names("u", 1), names("y", 1))


def test_sampled_cost_is_the_integral_of_the_cost_between_samples():
    """Against quadrature of the solution, at a period in which the fastest pole decays by e^-4.5."""
    from scipy.integrate import quad

    system, T = stiff_plant(), 0.005
    Q = np.diag([3.0, 0.1, 1e-6, 2.0, 1e-4])
    got = sampled_cost(system, Q, T)
    F = np.zeros((6, 6))
    F[:5, :5], F[:5, 5:] = system.A, system.B
    weights = np.zeros((6, 6))
    weights[:5, :5] = Q
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = rng.normal(size=6)
        want = quad(
            lambda t, z=z: (v := expm(F * t) @ z) @ weights @ v, 0.0, T, epsabs=0.0, epsrel=1e-12, limit=400
        )[0]
        assert z @ got @ z == pytest.approx(want, rel=1e-9)


def test_sampled_noise_is_the_integral_of_its_covariance():
    from scipy.integrate import quad_vec

    system, T = stiff_plant(), 0.005
    got = sampled_noise(system, np.array([[2.5]]), T)

    def spread(t):
        v = expm(system.A * t) @ system.B
        return v @ (2.5 * v.T)

    want = quad_vec(spread, 0.0, T, epsrel=1e-12)[0]
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-12 * np.abs(want).max())


def test_lqr_of_an_exactly_sampled_cost_equals_scipy_and_python_control_and_is_optimal(control):
    """The cost of the closed loop, integrated in time without any sampling of ours, has its minimum there."""
    from scipy.linalg import solve_discrete_are, solve_discrete_lyapunov

    system, T, R = stiff_plant(), 0.005, 1e-4
    S = sampled_cost(system, system.C.T @ system.C, T)
    held = sampled(system, T)
    Phi, Gamma = held.A, held.B
    Q, N, Rd = S[:5, :5], S[:5, 5:], S[5:, 5:] + T * R
    K = lqr(Phi, Gamma, Q, Rd, N)
    P = solve_discrete_are(Phi, Gamma, Q, Rd, s=N)
    np.testing.assert_allclose(
        K, np.linalg.solve(Rd + Gamma.T @ P @ Gamma, Gamma.T @ P @ Phi + N.T), rtol=1e-7
    )
    want = control.dlqr(Phi, Gamma, Q, Rd, N)[0]
    np.testing.assert_allclose(K, want, rtol=1e-6, atol=1e-6 * np.abs(K).max())

    fine = np.linspace(0.0, T, 401)
    steps = [expm(np.block([[system.A, system.B], [np.zeros((1, 6))]]) * t) for t in fine]
    weights = np.array([1.0, *([4.0, 2.0] * 200)[:-1], 1.0]) * T / 1200  # Simpson

    def cost(K):
        """x' Q x + R u^2 from a start of unit position, by Simpson's rule over every period."""
        held = np.vstack([np.eye(5), -K])
        one = (
            sum(w * (v := system.C @ s[:5] @ held).T @ v for w, s in zip(weights, steps, strict=True))
            + T * R * K.T @ K
        )
        return solve_discrete_lyapunov((Phi - Gamma @ K).T, one)[0, 0]

    best = cost(K)
    rough = lqr(Phi, Gamma, T * system.C.T @ system.C, np.array([[T * R]]))
    assert best < cost(rough) * (1.0 - 1e-6)
    for k in range(5):
        for sign in (-1.0, 1.0):
            assert best < cost(K + sign * 3e-2 * K * np.eye(5)[k])
    slope = [(cost(K + d * K) - cost(K - d * K)) for d in (1e-3,)]
    assert abs(slope[0]) < 1e-5 * best
