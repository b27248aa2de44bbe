"""DAIV-1: the paper's printed numbers follow from its printed formulas; the corrected ones from mechanics.

J. Perez Turiel, R. Grossi Calleja, V. Gutierrez Diez, Dynamic modelling of a SCARA robot, IEEE 1987, section 6.
The paper truncates: a printed number is at most one unit of its last digit below the exact one.
"""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.equations.published import perez1987 as perez
from servotwin.equations.published import perez1987_study as study


def truncated(value: float, digits: int) -> float:
    return np.sign(value) * np.floor(abs(value) * 10**digits + 1e-9) / 10**digits


def test_perez_simplified_as_printed_gives_the_printed_numbers():
    c = perez.simplified_constants(printed=True)
    assert truncated(c["I_4"], 4) == 5.9876
    assert truncated(c["I_3"], 4) == 2.7386
    assert truncated(c["I_5"], 3) == 1.095
    assert truncated(c["I_6"], 4) == 8.1836


def test_perez_basic_as_printed_gives_the_printed_numbers():
    c = perez.basic_constants(printed=True)
    assert truncated(c["I_14"], 3) == 8.904
    assert truncated(2 * c["I_12"], 3) == 0.048
    assert truncated(2 * c["I_15"], 3) == 2.491
    assert truncated(c["I_17"] / 2, 3) == 0.772
    assert truncated(c["I_18"] / 2, 3) == 0.818
    assert truncated(c["I_16"], 3) == 6.449
    assert truncated(c["I_13"] / 2, 3) == 0.172


@pytest.mark.parametrize("th2", [0.0, 0.7, 2.0])
def test_perez_corrected_constants_equal_the_derived_mass_matrix(th2):
    """Rotor of motor two: the paper counts n^2 I_R at its own joint, as does the reflected inertia here."""
    basic, simplified = st.load_robot("daiv-1"), st.load_robot("daiv-1-simplified")
    own = perez.Data(d=0.225)
    np.testing.assert_allclose(
        perez.simplified_inertia(np.array([0.3, th2]), own),
        simplified.inertia([0.3, th2], drives=True),
        rtol=1e-9,
    )
    own_basic = perez.Data(I_2=0.3, M_2=10.0, d=0.225)
    np.testing.assert_allclose(
        perez.basic_inertia(np.array([0.3, th2, -0.05]), own_basic),
        basic.inertia([0.3, th2, -0.05], drives=True),
        rtol=1e-9,
        atol=1e-12,
    )


def test_perez_printed_inertia_depends_on_the_base_rotation_and_so_cannot_be_right():
    turned = [perez.basic_inertia(np.array([th1, 0.5, 0.0]), printed=True)[0, 0] for th1 in (0.0, 1.5)]
    assert abs(turned[0] - turned[1]) > 0.04
    corrected = [perez.basic_inertia(np.array([th1, 0.5, 0.0]))[0, 0] for th1 in (0.0, 1.5)]
    assert corrected[0] == corrected[1]


def test_perez_coupling_grows_with_element_three_and_does_not_drop():
    """The paper concludes that H_12 falls from 2.7386 to 0.772; with the slips removed it rises."""
    simplified, basic = perez.simplified_inertia(np.zeros(2)), perez.basic_inertia(np.zeros(3))
    printed = (
        perez.simplified_inertia(np.zeros(2), printed=True),
        perez.basic_inertia(np.zeros(3), printed=True),
    )
    assert printed[1][0, 1] < printed[0][0, 1]
    assert basic[0, 1] > simplified[0, 1]


def test_perez_printed_kinetic_energy_of_element_three_misses_its_radial_velocity():
    """A point mass at the end of bar two moves with J^T J; psi = th1 + th2/2 with constant D gives less."""
    l_1, l_2, th2 = 0.4, 0.4, 1.0
    c, s = np.cos(th2), np.sin(th2)
    J = np.array([[-l_2 * s, -l_2 * s], [l_1 + l_2 * c, l_2 * c]])
    exact = J.T @ J
    D2 = l_1**2 + l_2**2 + 2 * l_1 * l_2 * c
    paper = D2 * np.array([[1.0, 0.5], [0.5, 0.25]])
    assert np.linalg.det(exact) > 1e-3
    assert abs(np.linalg.det(paper)) < 1e-12  # singular: a straight radial motion would cost nothing
    np.testing.assert_allclose(exact[0], paper[0], rtol=1e-12)  # only valid because l_1 = l_2
    assert exact[1, 1] > paper[1, 1]


# --- every printed coefficient ---------------------------------------------------------------------


def bias_coefficient(bias, row: int, speeds: tuple[float, float]) -> float:
    """Coefficient of sin(th2) in a row of h; pairs of speeds (1, 1), (1, 0), (0, 1) tell the products apart."""
    q = np.array([0.0, np.pi / 2, 0.0])
    return float(bias(q, np.array([*speeds, 0.0]))[row])


def products(bias, row: int) -> tuple[float, float, float]:
    """Coefficients of th1' th2', th1'^2 and th2'^2 in a row of h at sin(th2) = 1."""
    first, second = (bias_coefficient(bias, row, pair) for pair in ((1.0, 0.0), (0.0, 1.0)))
    return bias_coefficient(bias, row, (1.0, 1.0)) - first - second, first, second


def test_perez_simplified_as_printed_gives_every_printed_coefficient():
    H_0, H_90 = (perez.simplified_inertia(np.array([0.0, a]), printed=True) for a in (0.0, np.pi / 2))
    constant, cosine = H_90, H_0 - H_90
    assert truncated(constant[0, 0], 4) == 5.9876
    assert truncated(cosine[0, 0], 2) == 2.19
    assert truncated(constant[0, 1], 4) == truncated(constant[1, 0], 4) == 2.7386
    assert truncated(cosine[0, 1], 3) == truncated(cosine[1, 0], 3) == 1.095
    assert truncated(constant[1, 1], 4) == 8.1836
    assert abs(cosine[1, 1]) < 1e-12

    def bias(q, qd):
        return perez.simplified_bias(q[:2], qd[:2], printed=True)

    both, first, second = products(bias, 0)
    assert (truncated(both, 2), first, truncated(second, 3)) == (-2.19, 0.0, -1.095)
    assert [truncated(c, 3) for c in products(bias, 1)] == [0.0, 1.095, 0.0]


def test_perez_basic_as_printed_gives_every_printed_coefficient():
    def H(a, b):
        return perez.basic_inertia(np.array([a, b, 0.0]), printed=True)

    right = np.pi / 2
    constant, by_1, by_2 = H(right, right), H(0.0, right) - H(right, right), H(right, 0.0) - H(right, right)
    for got, want in (
        (constant[0, 0], 8.904), (by_1[0, 0], 0.048), (by_2[0, 0], 2.491),
        (constant[0, 1], 0.772), (by_2[0, 1], 0.818), (constant[1, 0], 0.772), (by_2[1, 0], 0.818),
        (constant[1, 1], 6.449), (by_2[1, 1], 0.172), (constant[2, 2], 1.15),
    ):  # fmt: skip
        assert truncated(got, 3) == want
    assert not constant[2, :2].any()

    def bias(q, qd):
        return perez.basic_bias(q, qd, printed=True)

    assert [truncated(c, 3) for c in products(bias, 0)] == [-2.491, 0.0, -0.818]
    assert [truncated(c, 3) for c in products(bias, 1)] == [0.0, 1.245, -0.086]
    assert bias(np.ones(3), np.ones(3))[2] == 0.0


# --- corrected: the engine's dynamics, and what any mechanism obeys ----------------------------------
OWN = perez.Data(d=0.225)
OWN_BASIC = perez.Data(I_2=0.3, M_2=10.0, d=0.225)


@pytest.mark.parametrize("seed", range(4))
def test_perez_corrected_models_equal_the_engine_to_rounding(seed):
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, 3))
    robot = st.load_robot("daiv-1")
    got = perez.basic_inertia(q, OWN_BASIC) @ qdd + perez.basic_bias(q, qd, OWN_BASIC)
    np.testing.assert_allclose(got, robot.rne(q, qd, qdd, drives=True), rtol=1e-10, atol=1e-10)
    small = st.load_robot("daiv-1-simplified")
    got = perez.simplified_inertia(q[:2], OWN) @ qdd[:2] + perez.simplified_bias(q[:2], qd[:2], OWN)
    np.testing.assert_allclose(got, small.rne(q[:2], qd[:2], qdd[:2], drives=True), rtol=1e-10, atol=1e-10)


def imbalance(q, qd, **options) -> float:
    """d/dt (qd^T H qd / 2) less the power of the inertial torques: zero for any mechanism (without gravity)."""
    h = 1e-6

    def energy_rate(t):
        return qd @ perez.basic_inertia(q + t * qd, **options) @ qd / 2

    change = (energy_rate(h) - energy_rate(-h)) / (2 * h)
    return change - qd @ perez.basic_bias(q, qd, gravity=False, **options)


def test_perez_kinetic_energy_is_balanced_by_the_corrected_model_and_not_by_the_printed_one():
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, qd = rng.uniform(-1.5, 1.5, (2, 3))
        assert abs(imbalance(q, qd)) < 1e-8
        assert abs(imbalance(q, qd, slips=("counted twice", "base angle"))) < 1e-8  # its own h would do
    assert abs(imbalance(np.array([1.0, 0.7, 0.0]), np.array([2.0, -1.0, 0.0]), printed=True)) > 0.05


def test_perez_turning_the_base_changes_the_printed_inertia_and_not_the_corrected_one():
    q = np.array([0.3, 0.9, -0.05])
    for th1 in np.linspace(0.0, 3.0, 5):
        turned = q + np.array([th1, 0.0, 0.0])
        np.testing.assert_array_equal(perez.basic_inertia(turned), perez.basic_inertia(q))
    there = perez.basic_inertia(q + np.array([2.0, 0.0, 0.0]), printed=True)
    assert np.abs(there - perez.basic_inertia(q, printed=True)).max() > 0.03


def test_perez_mass_at_the_tip_enters_the_corrected_inertia_as_its_jacobian_says():
    """Element three as a point mass: dH = m J^T J; the printed model gives it no inertia in the radial direction."""
    q, m = np.array([0.2, 1.1, 0.0]), 0.7
    c, s = np.cos(q[1]), np.sin(q[1])
    J = np.array([[-0.4 * s, -0.4 * s], [0.4 + 0.4 * c, 0.4 * c]])
    heavier = perez.Data(I_2=0.3, M_2=10.0, M_t3=perez.BASIC.M_t3 + m)

    def change(**options):
        return (perez.basic_inertia(q, heavier, **options) - perez.basic_inertia(q, **options))[:2, :2]

    np.testing.assert_allclose(change(), m * J.T @ J, rtol=1e-12)
    assert abs(np.linalg.det(change(printed=True))) < 1e-12 < np.linalg.det(change())


def test_perez_printed_gain_matrix_counts_the_rotors_twice():
    """Two ratios in the printed example, which K and R do not enter (eq:perez-gain)."""
    found = study.gain_ratios()
    np.testing.assert_allclose(found.printed, found.twice, rtol=5e-3)
    assert (np.abs(np.array(found.printed) / found.once - 1.0) > 0.25).all()
    # the first rows of A(x) are three times the velocities; the first column of B(x) contains A(x)
    np.testing.assert_allclose(study.PRINTED_A[:3], 3 * study.STATE[3:6], rtol=1e-12)
    np.testing.assert_array_equal(study.PRINTED_B[[0, 1, 2, 5, 6], 0], study.PRINTED_A[[0, 1, 2, 5, 6]])


def test_perez_complete_model_of_the_catalogue_has_velocities_and_nothing_else_in_its_first_rows():
    model = st.state_space("daiv-1")
    x = model.state(study.STATE[:3], study.STATE[3:6])
    A, B, _ = model.affine(x)
    np.testing.assert_array_equal(A[:3], x[3:6])
    assert not B[:3].any()
    # rotor once: the same ratio with the corrected inertia
    H = perez.basic_inertia(x[:3], OWN_BASIC)
    assert B[4, 1] / B[3, 1] == pytest.approx(-H[0, 0] / H[0, 1], rel=1e-10)


def test_perez_study_separates_physics_from_slips():
    """Corrected, both models agree within 12 %; the printed ones differ threefold in the torque of coupling."""
    for motion in study.motions():
        rms = {item.model: item.rms for item in study.torques(motion)}
        true = rms["basic, corrected"]
        assert (np.abs(rms["simplified, corrected"] / true - 1.0) < 0.12).all()
        worst = max(np.abs(rms[f"{name}, printed"] / true - 1.0).max() for name in ("simplified", "basic"))
        assert worst > 0.2
        # the robot of the catalogue gives the corrected torques
        q, qd, qdd = (np.hstack([a, np.zeros((len(a), 1))]) for a in (motion.q, motion.qd, motion.qdd))
        want = st.load_robot("daiv-1").rne(q, qd, qdd, drives=True)[:, :2]
        got = next(item for item in study.torques(motion) if item.model == "basic, corrected").P
        np.testing.assert_allclose(got, want, atol=5e-3 * np.abs(want).max())  # d = 0.2254 against 0.225
