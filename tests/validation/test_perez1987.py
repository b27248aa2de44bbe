"""DAIV-1: the paper's printed numbers follow from its printed formulas; the corrected ones from mechanics.

J. Perez Turiel, R. Grossi Calleja, V. Gutierrez Diez, Dynamic modelling of a SCARA robot, IEEE 1987, section 6.
The paper truncates: a printed number is at most one unit of its last digit below the exact one.
"""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.equations.published import perez1987 as perez


def truncated(value: float, digits: int) -> float:
    return np.trunc(value * 10**digits + 1e-9) / 10**digits


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
