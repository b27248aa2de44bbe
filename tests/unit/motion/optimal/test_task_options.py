"""Options of an optimal motion: text and numbers are read alike, what is wrong is refused by its name."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.app import optimise as command
from servotwin.cli.optimise import option_name
from servotwin.errors import InputError
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.task_options import ACCEPTED, read_task

START, GOAL = [0.0, 0.0, 0.0, 0.0], [0.8, -0.6, 0.05, 0.4]


def test_text_and_numbers_give_the_same_task():
    text = {
        "duration": "800 ms", "objective": "energy", "rest": "0.5 s", "bus_power": "2 kW", "regeneration": "200 W",
        "keep_out": "x: 200 mm to 400 mm, z: to 100 mm", "within": "y: -1 m to 1 m, z: 50 mm to", "reserve": "0.1",
        "without": "jerk", "intervals": 50,
    }  # fmt: skip
    numbers = {
        "duration": 0.8, "objective": "energy", "rest": 0.5, "bus_power": (-200.0, 2000.0), "reserve": np.float64(0.1),
        "keep_out": (st.Region(x=(0.2, 0.4), z=(None, 0.1)),), "within": {"y": (-1.0, 1.0), "z": (0.05, None)},
        "jerk": False, "intervals": np.int64(50),
    }  # fmt: skip
    assert read_task(text) == read_task(numbers)
    assert read_task(text).within["z"] == (0.05, math.inf)


def test_none_stands_for_the_default():
    assert read_task(dict.fromkeys(ACCEPTED)) == Task()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"speeed": 3.0},
            "no option 'speeed' of an optimal motion; expected objective, energy_weight, duration",
        ),
        (
            {"keep_out": "nowhere"},
            "keep_out: 'nowhere' is not a region; expected intervals such as 'x: 200 mm",
        ),
        ({"keep_out": 3.0}, "keep_out: a float is not a region; expected st.Region"),
        ({"keep_out": "x: 400 mm to 200 mm"}, "keep_out: a region with x from 0.4 to 0.2 m"),
        ({"duration": "3 kg"}, "duration: '3 kg' is a mass"),
        ({"duration": [1.0]}, "duration: a list; expected a number in SI or text such as '0.8 s'"),
        ({"duration": True}, "duration: a bool; expected a number"),
        ({"intervals": "many"}, "intervals: 'many'; expected a whole number"),
        ({"intervals": 20.5}, "intervals: '20.5'; expected a whole number"),
        ({"temperature": "yes"}, "temperature: 'yes'; expected True or False"),
        ({"bus_power": (1.0, 2.0, 3.0)}, "bus_power: 3 powers; expected least and largest"),
        ({"bus_power": (-1.0, 2.0), "regeneration": 3.0}, "bus_power: 2 powers beside a regeneration"),
        ({"within": {"w": (0.0, 1.0)}}, "within: 'w: (0.0, 1.0)'; expected x, y or z"),
        ({"within": 3.0}, "within: '3.0'; expected ranges by axis"),
        ({"without": "gravity"}, "without: no limit 'gravity'; expected one of current, voltage"),
        ({"objective": "fun\n"}, "objective: 'fun"),
        ({"without": 3}, "without: no limit '3'"),
        ({"keep_out": st.Region(x=("a", 0.4))}, "keep_out: 'Region(x=('a', 0.4)"),
        ({"within": {"z": np.eye(3)}}, "within: 'z: "),
        ({"bus_power": np.array(5)}, "bus_power: a ndarray; expected a number"),
        ({"duration": "1e12 s"}, "duration: '1e12 s' is beyond all machines"),
    ],
)
def test_wrong_option_is_one_clear_line(options, text):
    with pytest.raises(InputError) as refused:
        st.optimise_motion("gsis-scara", START, GOAL, **options)
    assert str(refused.value).startswith(text)
    assert "\n" not in str(refused.value)


def test_refusal_names_an_option_as_the_command_line_does():
    with pytest.raises(InputError, match=r"^--keep-out: 'x' is not a region"):
        read_task({"keep_out": ["x: 400 mm to", "x"]}, option_name)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"duration": "-1 s"}, "--duration: a duration of -1 s"),
        ({"within": "z: 2 m to 1 m"}, "--within: tool z from 2 to 1 m"),
        ({"bus_power": "-5 W"}, "--bus-power: a bus power from"),
    ],
)
def test_value_that_a_task_refuses_is_named_so_too(options, text):
    with pytest.raises(InputError) as refused:
        read_task(options, option_name)
    assert str(refused.value).startswith(text)


def test_arrays_are_taken_as_lists_are():
    arrays = {"bus_power": np.array([-200.0, 2000.0]), "within": {"z": np.array([0.1, 0.5])}}
    assert read_task(arrays) == read_task({"bus_power": (-200.0, 2000.0), "within": {"z": (0.1, 0.5)}})


def test_python_takes_a_region_as_the_command_line_does():
    pytest.importorskip("casadi")
    home = st.load_robot("gsis-scara").fkine([0.4, -0.3, 0.0, 0.0])[:3, 3]
    wall = f"x: {home[0] - 0.01} m to {home[0] + 0.01} m, y: {home[1] - 0.01} m to {home[1] + 0.01} m"
    one = st.optimise_motion("gsis-scara", START, GOAL, keep_out=wall)
    box = st.Region(x=(home[0] - 0.01, home[0] + 0.01), y=(home[1] - 0.01, home[1] + 0.01))
    assert one.duration == st.optimise_motion("gsis-scara", START, GOAL, keep_out=(box,)).duration


def test_command_line_has_an_option_for_every_field_of_a_task():
    """Limits that do not count are given by --without; all else by a name of its own."""
    have = set(inspect.signature(command).parameters) | set(read_task.__globals__["UNLIMITED"])
    assert {field.name for field in fields(Task)} <= have


@pytest.mark.parametrize(
    "goal", ["70 deg, 0 deg, 0 mm, 0 deg", [0.1, "x", 0.0, 0.0], [None] * 4, [[0.1], [0.2, 0.3]]]
)
def test_goal_that_is_no_numbers_is_one_clear_line(goal):
    pytest.importorskip("casadi")
    with pytest.raises(InputError, match=r"^goal: .* expected 4 finite numbers \(A, B, Z, W\)"):
        st.optimise_motion("gsis-scara", START, goal)
    with pytest.raises(InputError, match=r"^path: .* expected at least two rows of 4 joint positions"):
        st.optimise_motion("gsis-scara", path=[START, goal])
