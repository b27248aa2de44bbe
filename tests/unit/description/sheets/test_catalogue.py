"""Catalogues: the generic series, files of one's own, and what is refused."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest

import servotwin as st
from servotwin.description.drive_parts import Gear, Motor
from servotwin.description.json_schema import file_schema
from servotwin.description.load import read_description
from servotwin.description.sheets import catalogue as module
from servotwin.description.sheets.catalogue import CatalogueFile, read_catalogue
from servotwin.description.sheets.description_fields import gear_fields, motor_fields, screw_fields
from tests.json_schema_fits import fits

ROOT = Path(__file__).resolve().parents[4]
OWN = """\
format: servotwin-catalogue/1
name: own
motors:
  m1:
    conventions: {voltage_between: lines}
    torque_constant: 0.71 N*m/Arms
    voltage_constant: 42.93 Vrms/krpm
gears:
  g1: {kind: planetary, ratio: 10, rated_torque: 20 N*m}
"""


@pytest.fixture(scope="module")
def generic() -> st.Catalogue:
    return st.read_catalogue()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    return path


# --- the generic series -----------------------------------------------------------------------------


def test_generic_files_are_what_their_laws_give() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "generic_catalogue.py"), run_name="laws")
    for name, text in made["FILES"].items():
        assert (made["FOLDER"] / name).read_text(encoding="utf-8") == text(), name


def test_generic_series_is_large_enough_and_free_of_contradictions(generic) -> None:
    assert len(generic.motors) >= 200
    assert len(generic.gears) >= 50
    assert {gear.kind for gear in generic.gears.values()} == {"strain-wave", "rv", "planetary", "belt"}
    assert generic.screws
    assert generic.generic
    assert generic.warnings == ()
    powers = [motor.rated_output for motor in generic.motors.values()]
    assert (min(powers), max(powers)) == (50.0, 7500.0)


def test_generic_entries_have_mass_price_and_all_that_sizing_needs(generic) -> None:
    needed = (
        *("rated_torque", "peak_torque", "rated_speed", "max_speed", "torque_constant", "voltage_constant"),
        *(
            "resistance",
            "inductance",
            "pole_pairs",
            "rotor_inertia",
            "thermal",
            "continuous_curve",
            "peak_curve",
        ),
        *("mass", "price_index", "bus_voltage", "frame", "brake_torque"),
    )
    for name, motor in generic.motors.items():
        assert [field for field in needed if getattr(motor, field) is None] == [], name
    for name, gear in generic.gears.items():
        wanted = (
            "rated_torque",
            "repeated_peak_torque",
            "momentary_torque",
            "max_speed",
            "mass",
            "price_index",
            "inertia",
        )
        assert [field for field in wanted if getattr(gear, field) is None] == [], name


def test_generic_motors_keep_the_physics_of_a_sinusoidal_motor(generic) -> None:
    """Printed with three digits: every relation holds to a percent."""
    for name, motor in generic.motors.items():
        assert motor.voltage_constant / motor.torque_constant == pytest.approx(2.0 / 3.0, rel=0.01), name
        power = motor.rated_torque * motor.rated_speed
        assert power == pytest.approx(motor.rated_output, rel=0.01), name
        hot = motor.copper_loss(motor.stall_torque, 140.0)
        rise = motor.thermal.resistance * hot
        assert rise == pytest.approx(100.0, rel=0.05), name  # three digits of current, resistance and loss
        # voltage at the last point of the peak curve, hot winding: within the bus
        w, torque = motor.peak_curve[-1]
        i, R = torque / motor.torque_constant, motor.resistance_at(140.0)
        u = math.hypot(R * i + motor.voltage_constant * w, motor.pole_pairs * w * motor.inductance * i)
        assert u == pytest.approx(0.95 * motor.bus_voltage / math.sqrt(3.0), rel=0.03), name


def test_generic_motors_grow_with_their_torque(generic) -> None:
    for speed in (1500, 3000, 4500):
        for kind in ("low", "medium", "high"):
            series = [m for n, m in generic.motors.items() if n.endswith(f"-{speed}-{kind}-280")]
            series.sort(key=lambda m: m.rated_torque)
            for field in ("mass", "rotor_inertia", "price_index"):
                values = [getattr(m, field) for m in series]
                assert values == sorted(values), (speed, kind, field)
    low, high = (generic.motors[f"gm-400-3000-{kind}-280"].rotor_inertia for kind in ("low", "high"))
    # at one rotor volume J goes with (length/diameter)^(-2/3)
    assert high / low == pytest.approx((2.0 / 0.6) ** (2.0 / 3.0), rel=0.01)


def test_every_generic_entry_becomes_a_drive(generic) -> None:
    for sheet in generic.motors.values():
        motor = Motor.model_validate(motor_fields(sheet))
        assert motor.thermal is not None
        assert motor.current_limit == pytest.approx(
            3.0 * sheet.rated_torque / sheet.torque_constant, rel=0.01
        )
    for gear in generic.gears.values():
        assert 0.0 < Gear.model_validate(gear_fields(gear, "k1")).efficiency <= 1.0  # type: ignore[operator]
    for screw in generic.screws.values():
        assert Gear.model_validate(screw_fields(screw)).motor_per_joint == pytest.approx(screw.ratio)


def test_robot_file_includes_generic_entries(tmp_path: Path) -> None:
    text = """\
format: servotwin/1
name: arm
axes:
  A:
    dh: {a: 300 mm}
    link: {mass: 5 kg}
    gear: {datasheet: {include: "generic-gears.yaml#gears.gsw-20-100"}}
    motor: {datasheet: {include: "generic-motors.yaml#motors.gm-400-3000-low-280"}}
"""
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8")
    description = read_description(path)
    assert description.warnings == []
    assert description.axes["A"].gear.ratio == 100.0  # type: ignore[union-attr]


# --- files of one's own -----------------------------------------------------------------------------


def test_own_catalogue_is_read_and_added(own: Path, generic) -> None:
    both = read_catalogue(own, "generic")
    assert both.motors["m1"].torque_constant == pytest.approx(0.71 / math.sqrt(2.0))
    assert len(both.motors) == len(generic.motors) + 1
    assert not both.generic


def test_catalogue_kept_on_disk_is_the_one_that_was_read(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_catalogue(own)
    monkeypatch.setattr(module, "_resolved", None)  # a second reading must not need the file's tree
    assert read_catalogue(own) == first


def test_changed_catalogue_is_read_again(own: Path) -> None:
    first = read_catalogue(own).gears["g1"].ratio
    own.write_text(OWN.replace("ratio: 10", "ratio: 7"), encoding="utf-8")
    assert (first, read_catalogue(own).gears["g1"].ratio) == (10.0, 7.0)


def test_name_in_two_catalogues_is_refused(own: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(OWN.replace("name: own", "name: other"), encoding="utf-8")
    with pytest.raises(st.InputError, match=r"motors: 'm1' stands in own and in other"):
        read_catalogue(own, other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.71 N*m/Arms", "0.71 N*m", r"own.yaml:6: motors.m1.torque_constant: '0.71 N\*m' is a torque"),
        (
            "voltage_between: lines",
            "current: rms",
            r"own.yaml:5: motors.m1.conventions.voltage_between: missing",
        ),
        ("kind: planetary", "kind: worm", r"own.yaml:9: gears.g1.kind: 'worm' is not accepted"),
        ("servotwin-catalogue/1", "servotwin/1", r"own.yaml:1: format: 'servotwin/1': not a catalogue"),
        ("ratio: 10", "ratio: 0", r"own.yaml:9: gears.g1.ratio: '0' is too small"),
        ("  m1:", "  m.1:", r"'m.1' is not accepted; expected a name"),
    ],
)
def test_catalogue_with_a_mistake_is_refused_with_its_line(
    own: Path, old: str, new: str, message: str
) -> None:
    own.write_text(OWN.replace(old, new), encoding="utf-8")
    with pytest.raises(st.InputError, match=message):
        read_catalogue(own)


def test_contradiction_in_a_catalogue_is_a_warning_with_its_line(own: Path) -> None:
    own.write_text(OWN.replace("42.93", "24.79"), encoding="utf-8")
    (warning,) = read_catalogue(own).warnings
    assert warning.startswith(f"{own}:6: motors.m1.torque_constant: 0.71 N*m/A (rms) does not fit")
    assert warning.endswith("they fit if the voltage were of one star phase")


def test_missing_catalogue_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(st.InputError, match="no such file"):
        read_catalogue(tmp_path / "none.yaml")
    with pytest.raises(st.InputError, match=r"expected a \.yaml or .yml file, or 'generic'"):
        read_catalogue("generix")


def test_schema_of_catalogues_accepts_the_generic_files() -> None:
    from ruamel.yaml import YAML

    schema = file_schema(CatalogueFile, "catalogue")
    text = (ROOT / "src/servotwin/catalogue/parts/generic-gears.yaml").read_text(encoding="utf-8")
    tree = YAML(typ="safe", pure=True).load(text)
    assert fits(schema, schema, tree)
    tree["gears"]["gsw-20-100"]["ration"] = 100
    assert not fits(schema, schema, tree)
