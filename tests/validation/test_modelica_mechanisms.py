"""Published results that are not ours: two passive mechanisms of the Modelica Standard Library.

Figures: Modelica Association, MAP-LIB_ReferenceResults, Modelica.Mechanics.MultiBody.Examples, models
Elementary.DoublePendulum and Loops.PlanarFourbar (Dymola 2020x, DASSL, tolerance 1e-6); parameters: Modelica Standard
Library 4 (BSD-3-Clause).
"""

from __future__ import annotations

import numpy as np

import servotwin as st
from servotwin.simulation.results.result import Result

# time [s], angle [rad] and speed [rad/s] of the first hinge, of the second
DOUBLE_PENDULUM = [
    (0.0198, -0.0049262, -0.497512, 0.0065428, 0.660664),
    (0.18, -0.3858323, -3.925678, 0.4686629, 3.956566),
    (0.3402, -1.0707528, -3.741978, 0.6494599, -3.704106),
    (0.4998, -1.5108031, -4.401335, -0.5521418, -3.429725),
    (0.6402, -2.3689119, -6.778263, -0.0604716, 8.045657),
    (0.7998, -3.0740949, -1.927012, 0.4892071, -1.192782),
    (0.96, -3.0226457, 2.359991, -0.2242135, -7.155683),
    (1.1202, -2.4835527, 4.277888, -1.2646056, -4.771623),
    (1.2798, -1.7191553, 4.154792, -1.3838575, 4.950283),
    (1.44, -1.6601742, 1.017895, 0.8658409, 12.497239),
    (1.5798, -1.0887553, 5.278391, 1.4740437, -1.654859),
    (1.74, -0.3420536, 4.078912, 0.5790805, -8.654060),
    (1.9002, 0.0716020, 0.331305, -0.6435971, -4.473561),
    (2.0598, -0.2370484, -4.263412, -0.8497397, 2.691333),
    (2.22, -1.3336405, -7.506272, 0.5803758, 8.642985),
    (2.3802, -2.1056142, -0.854319, 0.3622159, -12.112281),
    (2.52, -2.2581986, -2.823625, -1.0913507, -4.647230),
    (2.6802, -2.6952252, -1.868678, -1.3722671, -0.427979),
    (2.8398, -2.7561125, 1.188722, -1.5162741, -1.596065),
    (3.0, -2.3179286, 4.094110, -1.7364917, -0.050377),
]
# time [s], angle [rad] and speed [rad/s] of the crank
PLANAR_FOURBAR = [
    (0.025, -0.0084394, -0.675248),
    (0.275, -1.0843255, -8.695193),
    (0.55, -3.4912364, -3.078544),
    (0.8, -3.4693505, 3.289344),
    (1.075, -1.0450455, 8.280646),
    (1.325, -0.0503558, 0.361340),
    (1.6, -1.0270602, -8.137543),
    (1.85, -3.3410849, -4.138025),
    (2.125, -3.4279932, 3.306163),
    (2.375, -1.2480941, 9.231195),
    (2.65, -0.0944475, 0.151561),
    (2.9, -0.9436399, -7.437082),
    (3.175, -3.3597117, -3.603528),
    (3.425, -3.4020389, 3.173365),
    (3.7, -1.0588675, 7.903750),
    (3.95, -0.1384713, 0.073642),
    (4.225, -1.2173983, -8.772147),
    (4.475, -3.3547094, -3.270063),
    (4.75, -3.2056036, 4.696794),
    (5.0, -0.9397834, 6.993490),
]


def at(found: Result, signal: str, times: np.ndarray) -> np.ndarray:
    return np.interp(times, found.signals["time_s"], found.signals[signal])


def test_double_pendulum_swings_as_published() -> None:
    """Small differences grow in such a motion: measured 4.3e-5 rad and 2e-4 rad/s after 3 s, of 21 rad/s."""
    found = st.simulate("double-pendulum-swing")
    t, *columns = np.array(DOUBLE_PENDULUM).T
    signals = [f"joint_phi{k}_{x}" for k in (1, 2) for x in ("position_rad", "velocity_rad_per_s")]
    for signal, published in zip(signals, columns, strict=True):
        most = 1e-4 if "position" in signal else 5e-4
        np.testing.assert_allclose(at(found, signal, t), published, rtol=0.0, atol=most)
    assert abs(found.summary["energy"]["balance_error_J"]) < 1e-9


def test_planar_fourbar_swings_as_published() -> None:
    """The published motion loses 8 mJ of 132 J in 5 s beside its damper, which is all of the difference."""
    found = st.simulate("planar-fourbar-swing")
    t, angle, speed = np.array(PLANAR_FOURBAR).T
    late = np.maximum(t, 1.0)
    assert np.all(np.abs(at(found, "joint_r1_position_rad", t) - angle) < 2e-4 * late)
    assert np.all(np.abs(at(found, "joint_r1_velocity_rad_per_s", t) - speed) < 1e-3 * late)
    robot = st.load_robot("planar-fourbar")
    total = [float(sum(robot.energy([q], [w]))) for q, w in ((0.0, 0.0), (angle[-1], speed[-1]))]
    lost = found.summary["energy"]["friction_J"]
    assert abs(total[1] - total[0] + lost + 8.4e-3) < 1e-3
    assert abs(found.summary["energy"]["balance_error_J"]) < 1e-8
