"""The robot and the cycle that are sized are those that were given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.description.load import read_description
from servotwin.design.sizing.duty import duty_of_arrays
from servotwin.design.sizing.size import size
from servotwin.design.statics import statics
from servotwin.design.workspace.workspace import workspace
from servotwin.errors import InputError

HEAVIER = "format: servotwin/1\nname: gsis-scara\nextends: gsis-scara\naxes: {A: {link: {mass: 30 kg}}}\n"


def one_move():
    t = np.linspace(0.0, 1.0, 201)
    s = np.stack(
        [
            10 * t**3 - 15 * t**4 + 6 * t**5,
            30 * t**2 - 60 * t**3 + 30 * t**4,
            60 * t - 180 * t**2 + 120 * t**3,
        ]
    )
    return duty_of_arrays(t, *(np.outer(row, [0.5, -0.4, 0.02, 0.3]) for row in s))


def peaks(found):
    return [demand.peak_torque for demand in found.assessment.demands]


def test_a_scenario_moves_the_file_that_is_given_not_one_of_the_same_name(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text(HEAVIER, encoding="utf-8")
    catalogue, mine = (size(robot, scenario="scara-full-range") for robot in ("gsis-scara", own))
    changed = size("gsis-scara", scenario="scara-full-range", overrides={"axes.A.link.mass": "30 kg"})
    assert peaks(mine) == pytest.approx(peaks(changed), rel=1e-12)
    assert peaks(mine)[0] > 1.05 * peaks(catalogue)[0]
    with pytest.raises(InputError, match="moves gsis-scara; expected one of palletizer-4"):
        size("palletizer-4", scenario="scara-full-range")


def test_a_description_rests_as_long_as_a_file_does():
    of_file, of_description = (
        size(robot, duty=one_move(), rest=9.0).assessment
        for robot in ("gsis-scara", read_description("gsis-scara"))
    )
    assert of_description.load.duty.period == of_file.load.duty.period == pytest.approx(10.0)
    assert [d.rms_torque for d in of_description.demands] == [d.rms_torque for d in of_file.demands]


def test_a_description_takes_no_changes():
    description, changes = read_description("gsis-scara"), {"axes.A.link.mass": "30 kg"}
    for call in (
        lambda: size(description, duty=one_move(), overrides=changes),
        lambda: statics(description, changes=changes),
        lambda: workspace(description, changes=changes),
    ):
        with pytest.raises(InputError, match="a description does not change; expected a name or path"):
            call()


@pytest.mark.parametrize("rest", [-1.0, math.nan, math.inf])
def test_a_rest_is_a_time(rest):
    with pytest.raises(InputError, match="expected zero or more"):
        size("gsis-scara", duty=one_move(), rest=rest)
