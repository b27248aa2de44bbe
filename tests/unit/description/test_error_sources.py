"""Error sources of a robot file: read, switched, drawn, and put into the robot as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servotwin.description.as_built import STIFF, as_built
from servotwin.description.drive_data import FINER, drives_of
from servotwin.description.drive_errors import drive_errors
from servotwin.description.drive_parts import Gear
from servotwin.description.error_parts import SOURCES
from servotwin.description.error_sources import (
    base_compliance,
    link_temperatures,
    only,
    stated_sources,
    with_error_sources,
    with_warmth,
    without,
)
from servotwin.description.geometry_draws import drawn_geometry
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, ServotwinError

ARCMIN, ARCSEC = math.pi / 180 / 60, math.pi / 180 / 3600


def palletizer(**changes: str) -> RobotDescription:
    """The palletizer with its error sources, changed by their names with __ for the dots."""
    return read_description(
        "palletizer-4", {f"error_sources.{key.replace('__', '.')}": text for key, text in changes.items()}
    )


def refusal(**changes: str) -> str:
    with pytest.raises(InputError) as error:
        palletizer(**changes)
    return str(error.value)


# --- the file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"off": "[backlash]"}, "error_sources.off.0: 'backlash' is no error source; expected one of resolution"),
        ({"axes__th9__hysteresis": "1 arcmin"}, "'th9' is not an axis"),
        ({"axes__th1__hysteresis": "1 mm"}, "'1 mm' is a length; expected an angle"),
        ({"axes__th1__eccentricity": "[[1]]"}, "axes.th1.eccentricity.0: 1 values; expected [order per turn"),
        ({"axes__th1__eccentricity": "[[0, 1 arcsec]]"}, "eccentricity.0.0: '0' is too small"),
        ({"axes__th1__eccentricity": "20 arcsec"}, "expected a list of 1 to 6 harmonics"),
        ({"axes__th5__hysteresis": "1 arcmin"}, "th5.stiffness: missing: hysteresis is one of an elastic gear"),
        ({"axes__th4__eccentricity": "[[1, 1 arcsec]]"}, "the axis has no motor and no gear"),
        ({"axes__th1__stiffening": "[[5 N*m, 2e6 N*m/rad]]"}, "play and a stiffness that changes with the torque"),
        ({"axes__th1__heating": "1 K/W", "axes__th1__temperature_rise": "1 K"}, "one of temperature_rise and heating"),
        ({"base__matrix": "[[1, 2], [3, 4]]"}, "beside stiffness or rotational_stiffness"),
        ({"base": "{matrix: [[1, 2], [3, 4]]}"}, "expected six rows of six numbers"),
        ({"thermal": "{temperature_rise: 5 K}"}, "'expansion' is missing"),
        ({"geometry__sigmas": "0"}, "'0' is too small; expected more than 0"),
        ({"trial": "-1"}, "expected a whole number from 0"),
    ],
)  # fmt: skip
def test_bad_section_is_refused_with_one_line(changes: dict[str, str], words: str) -> None:
    line = refusal(**changes)
    assert words in line
    assert "\n" not in line


def test_matrix_of_the_base_that_is_no_stiffness_is_refused() -> None:
    rows = np.eye(6)
    rows[0, 1] = 0.5
    assert "is not symmetric" in refusal(base=f"{{matrix: {rows.tolist()}}}")
    assert "is not positive definite" in refusal(base=f"{{matrix: {(-np.eye(6)).tolist()}}}")


def test_torsion_and_play_that_the_gear_itself_states_go_first() -> None:
    def gear_of(**changes: str) -> Gear:
        stated = {f"axes.th1.gear.{name}": text for name, text in changes.items()}
        found = as_built(with_error_sources(read_description("palletizer-4", stated))).axes["th1"].gear
        assert found is not None
        return found

    assert gear_of(stiffness="2e6 N*m/rad").stiffness == 2e6
    assert gear_of(stiffness="2e6 N*m/rad").damping is None
    assert gear_of(stiffness="2e6 N*m/rad").backlash == pytest.approx(0.2 * ARCMIN)
    assert gear_of(backlash="1 arcmin").backlash == pytest.approx(ARCMIN)
    stiffening = gear_of(stiffness="2e6 N*m/rad", stiffening="[[100 N*m, 3e6 N*m/rad]]")
    assert stiffening.backlash is None


def test_prismatic_joint_has_no_error_per_turn_of_its_own() -> None:
    changes = {"error_sources.axes.Z.output_error": "[[1, 1 arcsec]]"}
    with pytest.raises(InputError, match="a prismatic joint has no turns"):
        read_description("gsis-scara", changes)
    read = read_description("gsis-scara").error_sources
    assert read is not None
    assert read.axes["Z"].transmission_error == ((1.0, 4e-6, None),)


def test_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(
        InputError, match=r"'frition' is no error source; expected one of .* did you mean 'friction'"
    ):
        without(palletizer(), ["frition"])


# --- switches ---------------------------------------------------------------------------------------


def test_section_that_is_not_enabled_leaves_the_robot_as_it_is() -> None:
    robot = palletizer()
    assert as_built(robot) is robot
    assert drive_errors(robot, drives_of(robot)[0]).encoder == ()
    assert stated_sources(robot) == ("resolution", "friction", "servo_lag")


def test_all_sources_of_the_catalogue_are_there_once_asked_for() -> None:
    assert stated_sources(with_error_sources(palletizer())) == SOURCES
    absent = set(SOURCES) - set(stated_sources(with_error_sources(read_description("gsis-scara"))))
    assert absent == {"noise", "play"}


@pytest.mark.parametrize("name", SOURCES)
def test_source_that_is_switched_off_is_not_there_and_the_others_are(name: str) -> None:
    robot = with_error_sources(palletizer())
    assert stated_sources(without(robot, [name])) == tuple(other for other in SOURCES if other != name)
    assert stated_sources(only(robot, [name])) == (name,)


def test_without_adds_up() -> None:
    robot = without(without(palletizer(), ["play"]), ["friction"])
    assert robot.error_sources is not None
    assert robot.error_sources.off == ("play", "friction")


def test_torsion_and_play_of_the_section_are_those_of_the_gear_in_truth() -> None:
    robot = with_error_sources(palletizer())
    gear = as_built(robot).axes["th2"].gear
    assert gear is not None
    assert robot.axes["th2"].gear is not None
    assert robot.axes["th2"].gear.stiffness is None
    assert gear.stiffness == 6.7e5
    assert gear.damping == 150.0
    assert gear.backlash == pytest.approx(0.2 * ARCMIN)


def test_friction_that_is_off_leaves_none_in_truth_and_all_in_belief() -> None:
    robot = without(palletizer(), ["friction"])
    assert all(not drive.friction.some for drive in drives_of(as_built(robot)))
    assert all(drive.friction.some for drive in drives_of(robot))


def test_friction_of_the_section_comes_on_top_of_the_motors_own() -> None:
    robot = with_error_sources(palletizer(axes__th1__coulomb_friction="0.1 N*m"))
    assert drives_of(as_built(robot))[0].friction.coulomb == pytest.approx(0.05 + 0.1)
    table = "[[0 rad/s, 0.02 N*m], [80 rad/s, 0.05 N*m]]"
    changes = {"axes.A.motor.viscous_friction": "", "axes.A.motor.friction_table": table}
    motor = as_built(with_error_sources(read_description("gsis-scara", changes))).axes["A"].motor
    assert motor is not None
    assert np.array(motor.friction_table) == pytest.approx(np.array([[0.0, 0.05], [80.0, 0.08]]))


def test_torsion_that_is_off_makes_stiff_flanks_of_gears_with_play() -> None:
    robot = with_error_sources(palletizer())
    flanks = drives_of(as_built(without(robot, ["torsion"])))[0]
    assert math.sqrt(flanks.gear.stiffness / flanks.rotor_inertia) == pytest.approx(STIFF)  # type: ignore[operator]
    assert flanks.gear.half_play == drives_of(as_built(robot))[0].gear.half_play
    assert not drives_of(as_built(without(robot, ["torsion", "play"])))[0].gear.elastic
    assert drive_errors(as_built(without(robot, ["torsion"])), flanks).hysteresis_limit == 0.0


def test_resolution_that_is_off_is_finer_for_sensor_and_controller_alike() -> None:
    robot = without(palletizer(), ["resolution"])
    for description in (robot, as_built(robot)):
        assert drives_of(description)[0].counts_per_turn == FINER * 2**20


# --- drives -----------------------------------------------------------------------------------------


def test_errors_of_a_gear_are_counted_at_its_motor() -> None:
    changes = {
        "axes__th1__transmission_error": "[[2, 20 arcsec, 30 deg]]",
        "axes__th1__output_error": "[[3, 10 arcsec]]",
    }
    robot = as_built(with_error_sources(palletizer(**changes)))
    drive = drives_of(robot)[0]
    errors, n = drive_errors(robot, drive), 121.119
    assert errors.gear[0] == pytest.approx((2.0, 20 * ARCSEC * n, math.radians(30)))
    assert errors.gear[1] == pytest.approx((3.0 / n, 10 * ARCSEC * n, 0.0))
    assert errors.hysteresis_stiffness == pytest.approx(1.3e6 / n**2)
    assert errors.hysteresis_limit == pytest.approx(0.5 * 0.4 * ARCMIN * n)
    assert errors.encoder[0][:2] == pytest.approx((1.0, 20 * ARCSEC))


def test_hysteresis_and_transmission_error_of_a_data_sheet_act_once_enabled() -> None:
    torsion = "{k1: 1e6 N*m/rad}"
    changes = {
        "axes.th1.gear.datasheet.torsion": torsion,
        "axes.th1.gear.datasheet.hysteresis": "1 arcmin",
        "axes.th1.gear.datasheet.transmission_error": "[[2, 25 arcsec]]",
        "axes.th1.gear.linear_stiffness": "k1",
        "error_sources": "{enabled: true}",
    }
    robot = read_description("palletizer-4", changes)
    errors = drive_errors(as_built(robot), drives_of(as_built(robot))[0])
    assert errors.hysteresis_limit == pytest.approx(0.5 * ARCMIN * 121.119)
    assert errors.gear == (pytest.approx((2.0, 25 * ARCSEC * 121.119, 0.0)),)
    assert {"hysteresis", "transmission_error"} <= set(stated_sources(robot))


# --- draws ------------------------------------------------------------------------------------------


def test_trial_zero_draws_nothing_and_others_differ_by_seed_and_trial() -> None:
    robot = with_error_sources(palletizer())
    assert drawn_geometry(robot) == {}
    one = drawn_geometry(with_error_sources(robot, trial=1))
    assert one == drawn_geometry(with_error_sources(robot, trial=1))
    for other in ({"trial": 2}, {"trial": 1, "seed": 2}):
        assert drawn_geometry(with_error_sources(robot, **other))["th1"] != one["th1"]


def test_draw_is_the_same_whatever_else_is_switched_off() -> None:
    robot = with_error_sources(palletizer(), trial=3)
    less = without(robot, ["friction", "eccentricity"])
    assert drawn_geometry(less) == drawn_geometry(robot)
    drive = drives_of(robot)[0]
    assert drive_errors(less, drive).gear == drive_errors(robot, drive).gear
    assert drawn_geometry(without(robot, ["geometry"])) == {}


def test_draws_have_the_standard_deviation_of_their_tolerance() -> None:
    robot = palletizer(geometry="{length: 0.3 mm, angle: 0.03 deg, joint_offset: 0.06 deg, sigmas: 3}")
    draws = [drawn_geometry(with_error_sources(robot, trial=k)) for k in range(1, 401)]
    shifts = np.array([draw[name].position for draw in draws for name in ("th1", "th2", "th3", "th4", "th5")])
    turns = np.array([draw["th2"].rotation for draw in draws])
    offsets = np.array([draw["th3"].offset for draw in draws])
    # the sampled deviation of k normal numbers scatters by 1 / sqrt(2 k): four such are allowed
    assert shifts.std() == pytest.approx(0.1e-3, rel=4 / math.sqrt(2 * shifts.size))
    assert turns[:, :2].std() == pytest.approx(math.radians(0.01), rel=4 / math.sqrt(2 * 800))
    assert offsets.std() == pytest.approx(math.radians(0.02), rel=4 / math.sqrt(2 * 400))
    assert not turns[:, 2].any()  # that is the offset
    follower = np.array([draw["th4"].rotation[2] for draw in draws])  # which has none of its own
    assert follower.std() == pytest.approx(math.radians(0.02), rel=4 / math.sqrt(2 * 400))


def test_drawn_geometry_is_added_to_a_stated_deviation_in_truth_alone() -> None:
    stated = {"axes.th2.deviation.offset": "1 mrad", "axes.th2.deviation.position": "[1 mm, 0 mm, 0 mm]"}
    robot = with_error_sources(read_description("palletizer-4", stated), trial=1)
    drawn, deviation = drawn_geometry(robot)["th2"], as_built(robot).axes["th2"].deviation
    assert deviation is not None
    assert deviation.offset == pytest.approx(1e-3 + drawn.offset)
    assert deviation.position[0] == pytest.approx(1e-3 + drawn.position[0])
    assert robot.axes["th2"].deviation.offset == 1e-3  # type: ignore[union-attr]
    built = as_built(robot)
    assert as_built(built) is built
    with pytest.raises(
        ServotwinError, match="the robot as it is; expected the description that it was built of"
    ):
        without(built, ["geometry"])


# --- thermal growth and base ------------------------------------------------------------------------


def test_links_warm_up_to_their_rise_with_the_time_constant() -> None:
    robot = with_error_sources(palletizer(axes__th2__heating="0.1 K/W", axes__th3__temperature_rise="4 K"))
    warm = link_temperatures(robot, losses={"th2": 50.0})
    assert warm == {"th1": 8.0, "th2": pytest.approx(5.0), "th3": 4.0, "th4": 8.0, "th5": 8.0}
    hour = link_temperatures(robot, elapsed=1.5 * 3600.0)
    assert hour["th1"] == pytest.approx(8.0 * (1.0 - math.exp(-1.0)))
    assert link_temperatures(robot, elapsed=0.0)["th1"] == 0.0
    fixed = with_warmth(robot, elapsed=1.5 * 3600.0, losses={"th2": 50.0})
    assert link_temperatures(fixed)["th2"] == pytest.approx(5.0 * (1.0 - math.exp(-1.0)))
    assert link_temperatures(without(robot, ["thermal"])) == {}
    assert link_temperatures(palletizer()) == {}


def test_compliance_of_the_base_is_the_inverse_of_its_stiffness() -> None:
    robot = with_error_sources(palletizer())
    assert np.diag(base_compliance(robot)) == pytest.approx([5e-9, 5e-9, 2e-9, 5e-8, 5e-8, 5e-8])
    assert base_compliance(without(robot, ["base"])) is None
    random = np.random.default_rng(1).standard_normal((6, 6))
    K = random @ random.T + 6.0 * np.eye(6)
    coupled = palletizer(enabled="true", base=f"{{matrix: {K.tolist()}}}")
    assert base_compliance(coupled) @ K == pytest.approx(np.eye(6), abs=1e-12)
