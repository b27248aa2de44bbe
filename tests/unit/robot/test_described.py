"""The description behind a name, a file, a description or a robot; whatever else is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import CATALOGUE, read_description
from servotwin.errors import InputError, ServotwinError
from servotwin.robot.described import description_of, source_of

SCARA = CATALOGUE / "gsis-scara.yaml"
GIVEN: tuple[Callable[[], Any], ...] = (
    lambda: "gsis-scara",
    lambda: SCARA,
    lambda: read_description("gsis-scara"),
    lambda: st.load_robot("gsis-scara"),
    lambda: st.load_robot(SCARA),
)


@pytest.mark.parametrize("given", GIVEN)
def test_whatever_stands_for_a_robot_leads_to_its_description(given: Callable[[], Any]) -> None:
    assert description_of(given()) == read_description("gsis-scara")


@pytest.mark.parametrize("given", GIVEN)
def test_functions_take_every_form_of_a_robot(given: Callable[[], Any]) -> None:
    assert len(st.tune(given()).axes) == 4
    assert st.info(given())["dof"] == 4
    assert st.jog(given(), "A", "5 deg").duration > 0.0
    assert st.design_state_feedback(given()).stable


def test_elastic_arm_and_overrides() -> None:
    assert len(st.arm_modes(st.load_robot("palletizer-4-elastic")).held()) == 3
    heavier = st.tune("gsis-scara", overrides={"variables.load": "6 kg"})
    assert heavier.payload_max == pytest.approx(6.0)


def test_robot_that_is_not_what_its_file_says_is_refused() -> None:
    robot = st.load_robot("gsis-scara")
    for changed in (robot.with_payload(1.0), st.load_robot("gsis-scara", {"variables.load": "2 kg"})):
        with pytest.raises(InputError, match="not as its file describes it") as caught:
            st.tune(changed)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="overrides go with a name or file"):
        st.info(robot, {"variables.load": "2 kg"})


def test_robot_of_no_file_is_refused() -> None:
    robot = st.load_robot("gsis-scara")
    with pytest.raises(InputError, match="comes from no file"):
        source_of(st.Robot(robot.mechanism.with_(name="own")))


@pytest.mark.parametrize(
    "call",
    [st.tune, st.info, st.arm_modes, st.iso9283, st.line_test, st.size, st.datasheets, st.simulate, st.jog],
)
@pytest.mark.parametrize("thing", [7, None, [1.0]])
def test_what_is_no_robot_is_refused_in_one_line(call: Callable[[Any], Any], thing: Any) -> None:
    with pytest.raises(InputError) as caught:
        call(thing)
    assert "expected" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scenario_is_asked_for_where_a_robot_is_given() -> None:
    with pytest.raises(InputError, match="a Robot is no scenario"):
        st.simulate(st.load_robot("gsis-scara"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        lambda: st.fkine("gsis-scara", [0.0, np.nan, 0.0, 0.0]),
        lambda: st.fkine("gsis-scara", [0.0, 0.0]),
        lambda: st.fkine("gsis-scara", "1 deg"),
        lambda: st.fkine("gsis-scara", ["1 deg"] * 4),
        lambda: st.fkine("gsis-scara", [0.0] * 4, frame="tool", every=True),
        lambda: st.ikine("gsis-scara", [np.nan, 0.0, 0.0]),
        lambda: st.ikine("gsis-scara", [0.4, 0.2]),
        lambda: st.ikine("gsis-scara", ["0.4", "a", 0.0]),
        lambda: st.ikine("gsis-scara", [0.4, 0.2, 0.0], []),
        lambda: st.ikine("gsis-scara", [0.4, 0.2, 0.0], 0.1),
        lambda: st.ikine("gsis-scara", [0.4, 0.2, 0.0], near="1 deg", every=True),
        lambda: st.rne("gsis-scara", [0.0, np.inf, 0.0, 0.0]),
        lambda: st.jog("gsis-scara", "A"),
        lambda: st.jog("gsis-scara"),
        lambda: st.jog("gsis-scara", "A", "5 deg", start="P1"),
        lambda: st.jog("gsis-scara", "A", "5 deg", q="1 deg"),
    ],
)
def test_refusals_in_python_name_arguments_and_no_options(call: Callable[[], Any]) -> None:
    with pytest.raises(ServotwinError) as caught:
        call()
    assert "--" not in str(caught.value)
    assert "\n" not in str(caught.value)
