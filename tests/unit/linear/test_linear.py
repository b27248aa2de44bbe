"""Linear systems against SciPy, python-control and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import servotwin as st
from servotwin.errors import InputError, ShapeError
from servotwin.linear.modes import modes
from servotwin.linear.rank import controllability, observability
from servotwin.linear.response import frequency_response, transfer
from servotwin.linear.sampling import delayed, sampled
from servotwin.linear.system import LinearSystem, Quantity

ROBOTS = ["gsis-scara", "manutec-r3-axis", "manutec-r3", "palletizer-4", "puma560", "daiv-1"]


def system(A, B, C, D=None, **options) -> LinearSystem:
    A, B, C = (np.atleast_2d(np.asarray(m, dtype=float)) for m in (A, B, C))
    D = np.zeros((len(C), B.shape[1])) if D is None else np.atleast_2d(D)
    names = lambda letter, count: tuple(Quantity(f"{letter}{k}", "1") for k in range(count))  # noqa: E731
    return LinearSystem(A, B, C, D, names("x", len(A)), names("u", B.shape[1]), names("y", len(C)), **options)


def pendulum(w: float = 3.0, zeta: float = 0.1) -> LinearSystem:
    return system([[0, 1], [-(w**2), -2 * zeta * w]], [[0], [1]], [[1, 0]])


@pytest.fixture(scope="module")
def control():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("control")


def test_modes_of_an_oscillator_have_its_frequency_and_damping():
    (mode,) = modes(pendulum())
    assert mode.frequency == pytest.approx(3.0, rel=1e-12)
    assert mode.damping == pytest.approx(0.1, rel=1e-12)
    assert mode.oscillates
    np.testing.assert_allclose(mode.shape[1] / mode.shape[0], mode.pole, rtol=1e-12)
    assert mode.participation.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mode.participation, 0.5, rtol=1e-9)


def test_modes_of_a_free_mass_are_two_zeros():
    found = modes(system([[0, 1], [0, 0]], [[0], [1]], [[1, 0]]))
    assert [mode.pole for mode in found] == [0j, 0j]
    assert all(mode.time_constant == np.inf for mode in found)


@pytest.mark.parametrize("name", ROBOTS)
def test_poles_of_robots_equal_python_control(name, control):
    linear = st.state_space(name).linear()
    ours, peers = linear.poles, linear.control().poles()
    fastest = np.abs(ours).max()
    for pole in ours:
        assert np.abs(peers - pole).min() < 1e-6 * fastest
    assert linear.control().state_labels[0].endswith("_position")


@pytest.mark.parametrize("name", ROBOTS)
def test_frequency_response_equals_python_control(name, control):
    linear = st.state_space(name).linear()
    w = np.logspace(-1, 4, 25)
    got = frequency_response(linear, w)
    want = np.moveaxis(linear.control()(1j * w, squeeze=False), -1, 0)
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-12 * np.abs(want).max())


@pytest.mark.parametrize("name", ["gsis-scara", "manutec-r3-axis", "daiv-1"])
def test_transfer_function_equals_the_response_and_cancels_what_is_not_seen(name):
    linear = st.state_space(name).linear()
    G = transfer(linear, 0, 0)
    w = np.logspace(0, 4, 20)
    want = frequency_response(linear, w)[:, 0, 0]
    np.testing.assert_allclose(G.at(1j * w), want, rtol=1e-4)
    assert len(G.poles) <= linear.order


def test_zeros_equal_the_locked_motor_of_an_elastic_gear():
    """From voltage to motor angle the zeros are the poles of the joint behind a motor that stands (Spong)."""
    model = st.state_space("manutec-r3-axis")
    linear = model.linear()
    G = transfer(linear, 0, 0)
    shaft = model.shafts[0]
    ratio = shaft.ratios[0]
    M = model.robot.inertia(linear.x0[:1])[0, 0]
    k, d = shaft.stiffness * ratio**2, shaft.damping * ratio**2
    # gravity adds to the stiffness of the joint; its slope is taken from the arm alone
    step = 1e-5
    slope = (model.robot.gravload([linear.x0[0] + step]) - model.robot.gravload([linear.x0[0] - step])) / (
        2 * step
    )
    fq = model.frictions[1].viscous
    want = np.roots([M, d + fq, k + slope[0]])
    for zero in want:
        assert np.abs(G.zeros - zero).min() < 1e-5 * abs(zero)


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_are_controllable_from_their_motors_and_observable_from_their_encoders(name):
    """At rest the d current of a synchronous motor gives no torque: no encoder sees it, and that alone is missed."""
    model = st.state_space(name)
    linear = model.linear()
    assert controllability(linear).complete
    seen = observability(linear)
    hidden = sum(len(shaft.equations.idle) for shaft in model.shafts)
    assert seen.rank == linear.order - hidden
    assert sum(margin < 1e-9 for _, margin in seen.margins) == hidden


def test_a_turning_synchronous_motor_shows_its_d_current():
    model = st.state_space("palletizer-4")
    point = model.operating_point(qd=np.full(4, 0.5))
    assert observability(model.linear(point)).complete


def test_what_rounding_leaves_of_a_zero_decides_no_unit():
    """The roll of delta-4 is coupled to nothing but by residues of 1e-18; it is reached all the same."""
    study = st.study_model("delta-4")
    assert study.controllable.complete
    assert study.controllable.margin > 1e-3


def test_a_motor_without_connection_makes_modes_uncontrollable():
    linear = st.state_space("gsis-scara").linear()
    B = linear.B.copy()
    B[:, 0] = 0.0
    from dataclasses import replace

    reach = controllability(replace(linear, B=B))
    assert reach.rank < linear.order
    assert reach.margin < 1e-9


def test_two_equal_uncoupled_masses_with_one_input_are_not_controllable():
    """Kalman's matrix and PBH agree; a defective pair of zeros is no excuse."""
    A = np.kron(np.eye(2), [[0, 1], [0, 0]])
    one, both = [[0], [1], [0], [1]], [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert controllability(system(A, one, np.eye(4))).rank == 2
    assert controllability(system(A, both, np.eye(4))).rank == 4
    assert observability(system(A, one, [[1, 0, 0, 0]])).rank == 2


@pytest.mark.parametrize("seed", range(5))
def test_rank_equals_the_gramian_of_a_stable_system(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 5)) - 4.0 * np.eye(5)
    T = rng.normal(size=(5, 5))
    A[3:, :3] = 0.0  # the last two states move by themselves
    B = np.vstack([rng.normal(size=(3, 2)), np.zeros((2, 2))])
    Ti = np.linalg.inv(T)
    linear = system(T @ A @ Ti, T @ B, np.eye(5))
    gramian = scipy.linalg.solve_continuous_lyapunov(linear.A, -linear.B @ linear.B.T)
    values = np.linalg.eigvalsh(gramian)
    assert (values > 1e-9 * values.max()).sum() == controllability(linear).rank == 3


@pytest.mark.parametrize("name", ["gsis-scara", "manutec-r3-axis", "sixaxis-5kg"])
def test_sampled_system_equals_the_exponential_and_scipy(name):
    linear = st.state_space(name).linear()
    T = 1e-3
    got = sampled(linear, T)
    n, m = linear.B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = linear.A, linear.B
    want = scipy.linalg.expm(T * block)
    size = np.abs(want).max(axis=1, keepdims=True)
    np.testing.assert_array_less(np.abs(np.hstack([got.A, got.B]) - want[:n]) / size[:n], 1e-9)
    peer = scipy.signal.cont2discrete((linear.A, linear.B, linear.C, linear.D), T)
    np.testing.assert_array_less(np.abs(got.A - peer[0]) / size[:n], 1e-9)
    assert got.scipy().dt == T


def test_delayed_system_gives_the_same_output_one_sample_later():
    plain = sampled(pendulum(), 0.05)
    late = delayed(plain)
    rng = np.random.default_rng(0)
    u = rng.normal(size=30)
    y = scipy.signal.dlsim(plain.scipy(), u)[1][:, 0]
    shifted = scipy.signal.dlsim(late.scipy(), u)[1][:, 0]
    np.testing.assert_allclose(shifted[1:], y[:-1], atol=1e-12)


def test_wrong_shapes_and_periods_are_refused():
    with pytest.raises(ShapeError, match="B has shape"):
        system(np.eye(2), np.zeros((3, 1)), np.zeros((1, 2)))
    with pytest.raises(InputError, match="sample period"):
        sampled(pendulum(), 0.0)
    with pytest.raises(InputError, match="already"):
        sampled(sampled(pendulum(), 1e-3), 1e-3)


def test_zeros_of_a_system_with_feed_through_are_those_of_its_polynomials():
    one = system([[-1.0, 2.0], [0.0, -5.0]], [[0.5], [40.0]], [[3.0, 0.02]], [[0.7]])
    found = transfer(one, 0, 0)
    numerator, denominator = scipy.signal.ss2tf(one.A, one.B, one.C, one.D)
    np.testing.assert_allclose(np.sort(found.zeros.real), np.sort(np.roots(numerator[0]).real), rtol=1e-9)
    for got, wanted in zip(found.polynomials(), (numerator[0], denominator), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_transfer_function_of_a_sampled_system_has_its_gain():
    one = sampled(pendulum(), 0.05)
    numerator, denominator = scipy.signal.ss2tf(one.A, one.B, one.C, one.D)
    top, bottom = transfer(one, 0, 0).polynomials()
    np.testing.assert_allclose(top, numerator[0][-top.size :], rtol=1e-8)
    np.testing.assert_allclose(bottom, denominator, rtol=1e-9)


@pytest.mark.parametrize("q", [[1.0, 2.0], 0.5, [[0.0, 0.0, 0.0, 0.0]]])
def test_operating_point_of_another_shape_is_refused(q):
    with pytest.raises(ShapeError, match=r"q has shape .*; expected \(4,\): A, B, Z, W"):
        st.state_space("gsis-scara").operating_point(q)
