"""The resolved data of a motor: one place, the motor's side, SI; what is missing has no effect."""

from __future__ import annotations

import json
import math
import re
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin
from servotwin.control.servo.axis_data import axis_models
from servotwin.description.drive_data import DriveData, drive_of, drives_of
from servotwin.description.load import catalogue_names, read_description
from servotwin.description.motors import required_drives
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.motor_limits import drive_limits
from servotwin.simulation.plant.drive_records import motor_records
from servotwin.simulation.preflight.advice import coarse_steps
from tests import small_drives as small

PACKAGE = Path(servotwin.__file__).parent
ELASTIC = {"ratio": 50, "stiffness": "1e4 N*m/rad", "damping": "2 N*m*s/rad", "backlash": "0.001 rad"}
RUBS = {"viscous": "0.5 N*m*s/rad", "coulomb": "2 N*m"}


def described(folder: Path, axes: small.Tree, **changes: Any) -> RobotDescription:
    path = folder / "robot.yaml"
    path.write_text(json.dumps(small.robot(changes, axes=axes)), encoding="utf-8")
    return read_description(path)


def only(folder: Path, **changes: Any) -> DriveData:
    """The motor of a robot of one joint."""
    (drive,) = drives_of(described(folder, {"A": small.axis(**changes)}))
    return drive


# --- the motor's side ---------------------------------------------------------------------------------


def test_gear_is_counted_at_the_motor(tmp_path: Path) -> None:
    gear = only(tmp_path, gear=ELASTIC).gear
    assert astuple(gear)[:5] == pytest.approx((50.0, 1.0, 1e4 / 2500, 2.0 / 2500, 0.5e-3 * 50))
    assert gear.stiffening == ()
    assert gear.elastic
    assert not gear.lossy


def test_gear_of_a_sliding_joint_is_counted_at_the_motor(tmp_path: Path) -> None:
    lift = small.merged(small.LIFT, {"gear": {"stiffness": "3.6e6 N/m"}, "friction": {"viscous": "72 N*s/m"}})
    (drive,) = drives_of(described(tmp_path, {"A": lift}))
    assert (drive.ratios, drive.joints, drive.alone) == ((600.0,), ("A",), True)
    assert drive.gear.stiffness == pytest.approx(3.6e6 / 600**2)  # N m/rad
    assert drive.joint_friction.viscous == pytest.approx(72.0 / 600**2)


@pytest.mark.parametrize(("gear", "at_shaft"), [({"ratio": -50}, "A"), (ELASTIC, None)])
def test_friction_of_a_joint_is_that_of_the_shaft_behind_a_stiff_gear(
    tmp_path: Path, gear: small.Tree, at_shaft: str | None
) -> None:
    drive = only(tmp_path, gear=gear, friction=RUBS)
    assert drive.stiff_joint == at_shaft
    assert drive.friction.viscous == small.VISCOUS
    assert drive.shaft_friction.viscous == pytest.approx(small.VISCOUS + 0.5 / 50**2)
    assert drive.shaft_friction.coulomb == pytest.approx(2.0 / 50)
    assert drive.viscous_friction == drive.shaft_friction.viscous


def test_motors_of_a_matrix_know_which_joints_they_move_and_which_alone() -> None:
    drives = drives_of(read_description("palletizer-4"))
    assert [drive.joints for drive in drives] == [("th1",), ("th2",), ("th2", "th3"), ("th5",)]
    assert [drive.alone for drive in drives] == [True, False, False, True]
    assert [drive.stiff_joint for drive in drives] == ["th1", None, None, "th5"]


@pytest.mark.parametrize("name", catalogue_names())
def test_mechanism_has_the_same_motors(name: str) -> None:
    description = read_description(name)
    drives = [drive for drive in drives_of(description) if drive.driven]
    rotors = build_mechanism(description).rotors
    assert rotors.names == tuple(drive.name for drive in drives)
    assert [tuple(row) for row in rotors.N.tolist()] == [drive.ratios for drive in drives]
    assert rotors.J_m.tolist() == [drive.rotor_inertia for drive in drives]


# --- the winding --------------------------------------------------------------------------------------


def test_constants_of_a_synchronous_motor_belong_together(tmp_path: Path) -> None:
    winding = only(tmp_path, motor=small.PMSM).winding
    assert winding is not None
    assert (winding.phases, winding.pole_pairs) == (3, 4)
    assert 1.5 * winding.pole_pairs * winding.flux == pytest.approx(small.K)
    assert winding.voltage_constant == pytest.approx(winding.pole_pairs * winding.flux)
    assert (winding.inductance_d, winding.inductance_q) == pytest.approx((0.8e-3, 1.1e-3))


@pytest.mark.parametrize("kind", ["ideal", "dc-reduced"])
def test_winding_without_a_state_has_no_inductance(tmp_path: Path, kind: str) -> None:
    winding = only(tmp_path, motor={**small.DC, "kind": kind}).winding
    assert winding is not None
    assert (winding.inductance, winding.inductance_q) == (0.0, 0.0)
    assert winding.resistance == (small.R if kind == "dc-reduced" else 0.0)


def test_reduced_motor_has_no_current_that_steps_could_be_too_long_for(tmp_path: Path) -> None:
    motor = {**small.DC, "kind": "dc-reduced", "inductance": "1 uH"}
    run = small.prepared(tmp_path, small.robot(axes={"A": small.axis(motor=motor)}))
    assert coarse_steps(run.machine, run.scenario.solver, ["A"]) == ""


def test_command_of_an_ideal_motor_without_torque_constant_is_its_torque(tmp_path: Path) -> None:
    description = described(tmp_path, {"A": small.axis(motor={"kind": "ideal", "peak_torque": "3 N*m"})})
    (drive,) = drives_of(description)
    assert drive.winding is not None
    assert not drive.winding.has_torque_constant
    assert (drive.torque_constant, drive.ratings.current_limit) == (1.0, 3.0)
    # all who read it
    assert motor_records(description)["K"].tolist() == [1.0]
    assert axis_models(description, np.ones(1))[0].torque_constant == 1.0
    assert drive_limits([drive], description.power).torque_constant.tolist() == [1.0]


def test_current_limit_is_stated_or_of_the_peak_torque_or_three_times_the_rated_one(tmp_path: Path) -> None:
    motor = {**small.DC, "current_limit": None, "peak_torque": "1.2 N*m", "rated_torque": "0.6 N*m"}
    steps = (
        {"current_limit": "20 A"},
        {},
        {"peak_torque": None},
        {"rated_current": "4 A", "peak_torque": None},
    )
    found = []
    for step in steps:
        stated = {key: value for key, value in {**motor, **step}.items() if value is not None}
        found.append(only(tmp_path, motor=stated).ratings.current_limit)
    assert found == pytest.approx([20.0, 1.2 / small.K, 3.0 * 0.6 / small.K, 12.0])


def test_kind_that_no_current_drives_has_no_winding(tmp_path: Path) -> None:
    drive = only(tmp_path, motor={"kind": "hydraulic", "peak_torque": "30 N*m"}, brake={"torque": "5 N*m"})
    assert drive.winding is None
    assert drive.ratings.torque_limit == 30.0
    assert drive.brake is not None  # shaft, gear, encoder and brake are those of every kind
    assert drive.counts_per_rad == 2**24 / (2.0 * math.pi)


# --- what is missing ----------------------------------------------------------------------------------


def test_joint_without_motor_limits_nothing_and_is_refused_where_data_is_needed(tmp_path: Path) -> None:
    description = described(tmp_path, {"A": small.axis(motor=None, gear=None, encoder=None)})
    (drive,) = drives_of(description)
    assert (drive.kind, drive.driven, drive.winding, drive.counts_per_rad) == (None, False, None, None)
    limits = drive_limits([drive], description.power)
    assert np.isinf([limits.torque, limits.speed, limits.voltage]).all()
    with pytest.raises(InputError, match=r"robot\.yaml:1: axes\.A\.motor: missing: the loops need"):
        required_drives(description)


def test_motor_that_there_is_not_has_no_data() -> None:
    assert drive_of(read_description("gsis-scara"), "X") == DriveData("X", "X")


def test_rotors_with_their_spin_may_stand_beside_a_joint_without_motor(tmp_path: Path) -> None:
    second = {"type": "revolute", "origin": {}, "axis": [0, 0, 1], "link": {"mass": "1 kg"}}
    mounted = {"motor": {**small.DC, "mount": {"link": "base", "axis": [0, 0, 1]}}}
    axes = {"A": small.axis(**mounted), "B": second}
    rotors = build_mechanism(described(tmp_path, axes, rotor_coupling="full")).rotors
    assert (rotors.names, rotors.axis.tolist()) == (("A",), [[0.0, 0.0, 1.0]])


# --- once ---------------------------------------------------------------------------------------------


def test_data_is_built_once_and_anew_for_a_copy_with_other_axes() -> None:
    description = read_description("gsis-scara")
    drives = drives_of(description)
    assert drives_of(description) is drives
    assert drives_of(description.model_copy(update={"title": "another"})) is drives
    motor = description.axes["B"].motor
    assert motor is not None
    heavy = description.axes["B"].model_copy(
        update={"motor": motor.model_copy(update={"rotor_inertia": 1.0})}
    )
    copy = description.model_copy(update={"axes": {**description.axes, "B": heavy}})
    assert [drive.rotor_inertia for drive in drives_of(copy)][1] == 1.0
    assert drives_of(copy)[0] == drives[0]
    assert drives_of(description) is drives


def test_nobody_above_the_description_goes_to_the_motors_by_himself() -> None:
    walk = re.compile(r"\.axes\[[^]]*\]\.(motor|gear|brake|encoder)\b|torque_constant or\b")
    sources = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "description"]
    assert len(sources) > 200
    found = [path.name for path in sources if walk.search(path.read_text(encoding="utf-8"))]
    assert found == []
