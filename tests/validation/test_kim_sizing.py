"""Kim 2018, Table 3 and section 3.2: ratings of the palletizer's drives, and its torques at 1 m/s and 5 m/s2.

Table 3 prints the products with 3 to 5 digits, some of them cut off instead of rounded: half a unit of the last digit,
or a whole one where the paper cuts.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import servotwin as st
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.design.sizing.actuators import actuator_of
from servotwin.design.sizing.ratings import rating_rows
from tests.sizing_choices import job_load

TURN = 2.0 * math.pi
# axis: motor torque rated, max; motor speed; load shaft torque; load shaft speed; ratio (speeds in turns per second)
TABLE_3 = {
    "th1": ((6.37, 19.1), (50.0, 83.3), (771.5, 2313.4), (0.413, 0.688), 121.119),
    "th2": ((6.37, 19.1), (50.0, 83.3), (726.5, 2178.4), (0.438, 0.730), 114.050),
    "th3": ((4.77, 14.3), (50.0, 83.3), (577.0, 1729.8), (0.413, 0.689), 120.965),
    "th5": ((1.3, 3.8), (50.0, 100.0), (65.0, 190.0), (1.0, 2.0), 50.0),
}


@pytest.mark.parametrize("axis", TABLE_3)
def test_every_product_of_table_3(axis):
    torque, speed, load_torque, load_speed, ratio = TABLE_3[axis]
    description = read_description("palletizer-4")
    drive = next(drive for drive in drives_of(description) if drive.name == axis)
    assert drive.gear.ratio == pytest.approx(ratio)
    torques, speeds = rating_rows(axis, actuator_of(drive))
    assert torques.motor == pytest.approx(torque)
    assert np.array(speeds.motor) / TURN == pytest.approx(speed, rel=1e-3)
    assert torques.load == pytest.approx(load_torque, rel=2e-4)
    assert np.array(speeds.load) / TURN == pytest.approx(load_speed, abs=1.01e-3)


GEARS = {  # rated and max torque, rated and max speed at the gear's output
    "th1": ((1376.0, 1680.0), (0.413, 0.669)),
    "th2": ((649.0, 800.0), (0.438, 1.070)),
    "th3": ((453.0, 545.0), (0.413, 1.240)),
    "th5": ((44.0, 73.0), (1.166, 2.166)),
}


@pytest.mark.parametrize("axis", GEARS)
def test_gear_columns_of_table_3_stand_beside_the_load_shaft(axis):
    description = read_description("palletizer-4")
    drive = next(drive for drive in drives_of(description) if drive.name == axis)
    torques, speeds = rating_rows(axis, actuator_of(drive, description.axes[axis]))
    assert torques.gear == pytest.approx(GEARS[axis][0])
    assert np.array(speeds.gear) / TURN == pytest.approx(GEARS[axis][1])


def test_726_5_is_the_rated_load_shaft_and_no_torque_of_the_stated_motion():
    """20 kg, 1 m/s and 5 m/s2 in any direction ask for 579 N m at gear 2; with its rotor the motor gives 669 N m."""
    found = st.size(
        "palletizer-4", tool_speed=1.0, tool_acceleration=5.0, overrides={"variables.load": "20 kg"}
    )
    at = {load.name: load for load in found.worst.loads}
    assert at["th2"].output_torque == pytest.approx(579.1, abs=0.5)
    assert at["th2"].motor_torque * 114.050 == pytest.approx(668.6, abs=1.0)
    assert at["th1"].output_torque == pytest.approx(315.3, abs=0.5)
    assert at["th3"].output_torque == pytest.approx(339.9, abs=0.5)
    assert pytest.approx(726.5, abs=0.01) == 6.37 * 114.050  # what the paper prints as the result
    assert at["th2"].output_torque < 649.0  # the gear of Table 3 bears it


def test_the_linkage_with_its_loops_asks_for_the_same_torques():
    open_chain, loops = (
        st.size(
            name, tool_speed=1.0, tool_acceleration=5.0, overrides={"variables.load": "20 kg"}
        ).worst.loads
        for name in ("palletizer-4", "palletizer-4-loops")
    )
    for one, other in zip(open_chain, loops, strict=True):
        assert one.output_torque == pytest.approx(other.output_torque, rel=1e-9, abs=1e-9)


def test_motors_of_kim_carry_the_line_of_the_paper():
    load = job_load("palletizer-4", "palletizer-line")
    assert np.abs(load.arm.torque[:, 1]).max() < 649.0
