"""What holds an arm at its ends: refusals by name, and its heat while it rests."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("casadi")

from servotwin.errors import InputError
from servotwin.motion.optimal.optimise import optimise_motion

# A pendulum of 4 kg at 150 mm behind a gear of 50: 5.886 N m hold it level, 1.1772 A, 1.1772 V, 1.3858 W.
AXIS = """\
format: servotwin/1
name: pendulum
gravity: [0 m/s^2, -9.81 m/s^2, 0 m/s^2]
axes:
  A:
    type: revolute
    origin: {{}}
    axis: [0, 0, 1]
    limits: {{position: [-200 deg, 200 deg], speed: 20 rad/s{limits}}}
    link:
      mass: 4 kg
      center: [150 mm, 0 mm, 0 mm]
    gear: {{ratio: 50}}
    motor:
      kind: dc-reduced
      torque_constant: 0.1 N*m/A
      resistance: 1 ohm
      rotor_inertia: 1e-4 kg*m^2
      current_limit: 15 A
      {more}
power: {{bus_voltage: {bus} V}}
"""
THERMAL = (
    "thermal: {winding_to_housing: 1 K/W, housing_to_ambient: 2 K/W, winding_capacity: 5 J/K, "
    "housing_capacity: 900 J/K, limit: 32 degC}"
)
HELD = 4 * 0.15 * 9.81 / (50 * 0.1)


def pendulum(tmp_path, *, limits="", more="", bus=40.0, goal=0.1, **options):
    path = tmp_path / "pendulum.yaml"
    path.write_text(AXIS.format(limits=limits, more=more, bus=bus))
    return optimise_motion(path, [0.0], [goal], **options)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"bus": 1.0}, r"motor A needs 1\.177 V to hold the arm there; its bridge has a voltage of 1 V"),
        ({"limits": ", effort: 5 N*m"}, r"joint A needs 5\.886 N m .*; limits\.effort allows 5 N m"),
        ({"bus_power": (-math.inf, 1.0)}, r"motors need 1\.386 W .*; the bus power allows 1 W"),
        ({"more": "coulomb_friction: 2 N*m"}, r"motor A cannot turn: .* 2 N m; it gives 1\.5 N m"),
        ({"temperature": True}, r"no motor has thermal data"),
    ],
)
def test_what_cannot_hold_or_move_the_arm_is_refused_by_name(tmp_path, given, text):
    with pytest.raises(InputError, match=text):
        pendulum(tmp_path, **given)


@pytest.mark.parametrize("rest", [0.5, 5.0, 500.0])
def test_current_that_holds_the_arm_heats_during_the_rest(tmp_path, rest):
    """Mean rise of the cycle from the dense inverse dynamics of the pendulum: at most the 7 K that are allowed."""
    motion = pendulum(tmp_path, more=THERMAL, temperature=True, rest=rest)
    t = np.linspace(0.0, motion.duration, 20001)
    q, _, qdd = (x[:, 0] for x in motion.sample(t))
    i = ((4 * 0.15**2 + 50**2 * 1e-4) * qdd + 4 * 0.15 * 9.81 * np.cos(q)) / (50 * 0.1)
    square = np.trapezoid(i**2, t) + rest * (HELD * math.cos(0.1)) ** 2
    cold = 3.0 * square / (motion.duration + rest)
    rise = cold / (1.0 - 0.00393 * cold)
    assert rise < 7.0 * 1.005
    ((use),) = [x for x in motion.limits if x.what == "temperature"]
    assert use.peak * 7.0 == pytest.approx(rise, rel=0.3)
