"""The description behind a name, a file, a description or a robot; whatever else is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from own_robots import FIVE, written
from servotwin.description.load import CATALOGUE, read_description
from servotwin.errors import InputError, ServotwinError, UnreachableError
from servotwin.robot.described import description_of, source_of

SCARA = CATALOGUE / "gsis-scara.yaml"
DESCRIPTION = partial(read_description, "gsis-scara")
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


@pytest.mark.parametrize("given", [3, "axes.A.gear.ratio=80", ["axes.A.gear.ratio=80"], {3: "80"}])
@pytest.mark.parametrize(
    "call",
    [
        lambda changes: st.load_robot("gsis-scara", changes),
        lambda changes: st.info("gsis-scara", changes),
        lambda changes: st.tune("gsis-scara", overrides=changes),
        lambda changes: st.jog("gsis-scara", "A", "5 deg", overrides=changes),
        lambda changes: st.statics("gsis-scara", changes=changes),
        lambda changes: st.workspace("gsis-scara", changes=changes),
        lambda changes: st.plan_job("scara-line", overrides=changes),
        lambda changes: st.check_job("scara-line", overrides=changes),
        lambda changes: st.size("gsis-scara", job="scara-line", overrides=changes),
        lambda changes: st.teach_pendant("gsis-scara", changes),
        lambda changes: read_description("gsis-scara", changes),
    ],
)
def test_overrides_that_map_nothing_are_refused(
    call: Callable[[Any], Any], given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="overrides must map fields to values"):
        call(given)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: st.plan_job(7), "job: a int is no job; expected"),  # type: ignore[arg-type]
        (lambda: st.run_job(st.load_robot("gsis-scara")), "job: a Robot is no job"),  # type: ignore[arg-type]
        (lambda: st.jog("gsis-scara", shift=3), "shift: expected a direction and its step"),  # type: ignore[arg-type]
        (lambda: st.jog("gsis-scara", shift={"x": None}), "x: no step"),  # type: ignore[dict-item]
        (lambda: st.jog("gsis-scara", 3, 0.1), "joint: no joint '3'"),  # type: ignore[arg-type]
        (lambda: st.jog("gsis-scara", "A", float("inf")), "by: no step"),
        (lambda: st.jog("gsis-scara", "A", 0.1, speed=150.0), "speed: '150.0' is no speed"),
        (lambda: st.jog("gsis-scara", "A", 0.1, speed="50"), "speed: '50' is no speed"),  # type: ignore[arg-type]
        (
            lambda: st.line_test(DESCRIPTION()),
            "robot: the description of 'gsis-scara' is given; expected a cat",
        ),  # type: ignore[arg-type]
        (lambda: st.teach_pendant(7), "robot: a int is no robot"),  # type: ignore[arg-type]
        (
            lambda: st.teach_pendant(st.load_robot("gsis-scara"), {"axes.A.gear.ratio": "80"}),
            "not loaded yet",
        ),
    ],
)
def test_what_a_function_cannot_take_is_refused_by_name(call: Callable[[], Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("q", ["0,0,0,0", [np.nan] * 4, [0.0] * 3, np.zeros((2, 4))])
def test_pose_of_a_tuning_that_is_none_is_refused_in_one_line(q: Any) -> None:
    with pytest.raises(ServotwinError, match=r"^q ") as caught:
        st.tune("gsis-scara", q)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("step", [np.float32(0.25), np.int64(1)])
def test_step_of_a_jog_may_be_a_number_of_numpy(step: Any) -> None:
    moved = st.jog("gsis-scara", "A", step)
    assert moved.after[0] - moved.before[0] == pytest.approx(float(step))


def test_orientation_that_is_not_reached_is_refused_with_the_argument_that_asks_for_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        UnreachableError, match=r"tool is off by .* deg; leave out rpy to ask for the position alone$"
    ):
        st.ikine(written(tmp_path, "five.yaml", FIVE), [0.6, 0.1, 0.3], [0.2, 0.3, 0.5])


def test_description_where_a_name_is_expected_is_refused_in_a_short_line() -> None:
    with pytest.raises(ServotwinError, match="expected a catalogue name") as caught:
        st.fkine(DESCRIPTION(), [0.0] * 4)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


def test_job_is_planned_for_a_robot_that_is_loaded() -> None:
    assert st.plan_job("scara-line", robot=st.load_robot("gsis-scara")).robot == "gsis-scara"


def test_pendant_takes_a_robot_that_is_loaded(tmp_path: Path) -> None:
    with st.teach_pendant(st.load_robot("gsis-scara"), folder=tmp_path) as served:
        assert "gsis-scara" in repr(served)
