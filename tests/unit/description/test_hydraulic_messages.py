"""What a reader of hydraulic data sheets is told of mistakes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.files import check
from servotwin.cli.simulate import simulate
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.simulation.plant.hydraulic_account import hydraulic_warnings
from servotwin.simulation.scenario.parts import Solver
from tests import hydraulic_axes as hx
from tests import small_drives as small


def message(tmp_path: Path, machine: small.Tree) -> str:
    file = tmp_path / "robot.yaml"
    file.write_text(json.dumps(machine, indent=1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_description(str(file))
    return str(caught.value)


def with_valve(**fields: Any) -> small.Tree:
    return hx.lift(motor=small.merged(hx.LIFT["motor"], {"valve": fields}))


def test_valve_damping_in_percent_is_refused(tmp_path: Path) -> None:
    assert "valve.damping: '80' is too large; expected at most 5" in message(
        tmp_path, with_valve(damping="80")
    )


ROTARY = small.axis(
    gear=None,
    motor=small.merged(
        hx.LIFT["motor"],
        {"cylinder": None, "hydraulic_motor": {"displacement": "250 cm3/rev", "dead_volume": "60 cm3"}},
    ),
)


def rotary(**changes: Any) -> small.Tree:
    axis = small.merged(ROTARY, {"motor": small.merged(ROTARY["motor"], {"hydraulic_motor": changes})})
    return small.robot({"hydraulics": hx.FEED, "power": None}, axes={"A": axis})


def test_displacement_says_per_turn_or_per_radian(tmp_path: Path) -> None:
    text = message(tmp_path, rotary(displacement="250 cm3"))
    assert "'250 cm3' is a volume; expected one per turn, '250 cm3/rev', as data sheets mean it, or" in text
    assert "'250 cm3/rad'" in text
    for written, SI in (("250 cm3/rev", 250e-6 / (2 * math.pi)), ("250 cm3/rad", 250e-6)):
        file = tmp_path / "robot.yaml"
        file.write_text(json.dumps(rotary(displacement=written)), encoding="utf-8")
        motor = read_description(str(file)).axes["A"].motor
        assert motor is not None
        assert motor.hydraulic_motor is not None
        assert motor.hydraulic_motor.displacement == pytest.approx(SI, rel=1e-14)


@pytest.mark.parametrize("unit", ["lpm", "gpm", "LPM"])
def test_other_names_of_flows_lead_to_litres_per_minute(tmp_path: Path, unit: str) -> None:
    assert "'L/min'" in message(tmp_path, with_valve(rated_flow=f"19 {unit}"))


def test_negative_area_is_told_as_such(tmp_path: Path) -> None:
    cylinder = {"area": "-8.04 cm2"}
    text = message(tmp_path, hx.lift(motor=small.merged(hx.LIFT["motor"], {"cylinder": cylinder})))
    assert text.endswith("'-8.04 cm2' is too small; expected a positive area")


CYLINDER = hx.LIFT["motor"]
TURNING = small.merged(CYLINDER, {"cylinder": None, "hydraulic_motor": ROTARY["motor"]["hydraulic_motor"]})
LOSSY = small.axis(gear={"efficiency": 0.8}, friction={"coulomb": "1 N*m"})


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (with_valve(null_leakage="60 L/min"), "valve.null_leakage: 60 L/min do not fit the edges"),
        (
            hx.lift(motor=small.merged(CYLINDER, {"hydraulic_motor": TURNING["hydraulic_motor"]})),
            "motor.cylinder: stated beside a hydraulic_motor",
        ),
        (
            small.robot(
                {"hydraulics": hx.FEED}, axes={"A": small.axis(gear=None, motor=CYLINDER, encoder=None)}
            ),
            "axes.A.encoder: missing: the axis controller counts its pulses; expected '{resolution: 5 um}'",
        ),
        (
            small.robot(
                {"hydraulics": hx.FEED, "controller": None},
                axes={"A": small.axis(motor=CYLINDER, encoder=None)},
            ),
            "motor.cylinder: a cylinder moves one sliding joint",
        ),
        (hx.lift(encoder=None), "axes.A.encoder: missing"),
        (small.robot(axes={"A": LOSSY}), "axes.A.friction: not modelled behind a stiff gear with an efficiency"),
        (hx.lift(motor=TURNING, encoder={"resolution": None, "bits": 20}), "the motor turns and the joint slides"),
        (hx.lift(gear={"lead": "10 mm"}), "axes.A.gear.lead: a cylinder does not turn; expected no gear"),
        (hx.lift(encoder={"resolution": None, "bits": 20}), "axes.A.encoder.bits: counts turns, and a cylinder slides"),
        (
            small.robot(axes={"A": small.axis(encoder={"bits": None, "resolution": "5 um"})}),
            "axes.A.encoder.resolution: is of a linear scale at a cylinder",
        ),
    ],
)  # fmt: skip
def test_check_refuses_drives_that_no_run_accepts(
    tmp_path: Path, machine: small.Tree, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(json.dumps(machine, indent=1), encoding="utf-8")
    assert check([str(file)], None, json=False) == 2
    assert expected in capsys.readouterr().err


def test_a_refused_first_run_leaves_no_folder(tmp_path: Path) -> None:
    move = [{"to": {"A": "-50 mm"}}]
    scenario = small.write_case(tmp_path, with_valve(null_leakage="60 L/min"), {"move": move})
    out = tmp_path / "out" / "run"
    with pytest.raises(InputError, match="do not fit the edges"):
        simulate(str(scenario), str(out), None, None)
    assert not out.parent.exists()
    out.mkdir(parents=True)
    with pytest.raises(InputError, match="do not fit the edges"):
        simulate(str(scenario), str(out), None, None)
    assert out.exists()  # which was there before


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"relief": {"pressure": "50 bar"}}, "hydraulics.relief.pressure: 50 bar: the pump reaches 53.33 bar at most"),
        ({"accumulator": {"precharge": "200 bar"}}, "hydraulics.accumulator.precharge: 200 bar is not below the"),
        ({"pump": {"flow": "0.1 L/min"}}, "hydraulics.pump.flow: 0.1 L/min is not above what the valves leak"),
        ({}, None),
    ],
)  # fmt: skip
def test_supply_that_does_not_fit_is_warned_of(
    tmp_path: Path, changes: dict[str, Any], expected: str | None
) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(json.dumps(hx.lift(small.merged(hx.PUMP, changes))), encoding="utf-8")
    lines = [line for line in read_description(str(file)).warnings if "hydraulics" in line]
    assert len(lines) == (expected is not None)
    assert expected is None or expected in lines[0]


@pytest.mark.parametrize(
    ("hydraulics", "area"),
    [(hx.PUMP, "0.4 cm^2"), (hx.FEED, "0.4 cm^2"), ({"supply_pressure": "15 bar"}, "2 cm^2")],
)
def test_cylinder_that_cannot_hold_its_load_at_the_start_is_refused(
    tmp_path: Path, hydraulics: dict[str, Any], area: str
) -> None:
    machine = hx.lift(hydraulics, motor=small.merged(hx.LIFT["motor"], {"cylinder": {"area": area}}))
    scenario = small.write_case(tmp_path, machine, {"move": [{"to": {"A": "-50 mm"}}]})
    with pytest.raises(InputError, match="at the start"):
        simulate(str(scenario), str(tmp_path / "out"), None, None)


def test_how_hydraulic_axes_are_integrated_is_a_note(tmp_path: Path) -> None:
    scenario = {"move": [{"to": {"A": "-1 mm"}}], "solver": {"method": "fast"}}
    told = small.run_case(tmp_path, hx.lift(), scenario).summary
    assert [line for line in told["notes"] if "no exact window" in line]
    assert not [line for line in told["warnings"] if "no exact window" in line]


def test_missing_oil_asks_for_what_the_run_does_not_do_yet() -> None:
    summary = {"axes": [], "mass_error_relative": 1e-3, "mass_error_kg": 1e-3}
    assert hydraulic_warnings(summary, Solver(method="fast"))[0].endswith("take solver.method adaptive")
    (line,) = hydraulic_warnings(summary, Solver(method="adaptive"))
    assert line.endswith("take a smaller solver.tolerance than 1e-08")
