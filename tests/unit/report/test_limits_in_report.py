"""What the report tells of limits that were exceeded, of the bus, and of motors without thermal data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from servotwin.report.simulation_page import simulation_page
from servotwin.report.simulation_tables import event_rows, motor_row
from servotwin.report.simulation_view import view
from servotwin.report.traces import BAND_COLOURS, band_key
from servotwin.simulation.results.result import SATURATION, Result, RunEvent
from synthetic_result import synthetic_result

FAST = {
    "kind": "joint speed exceeded", "from_s": 0.3, "to_s": 0.4, "times": 1, "active_s": 0.1,
}  # fmt: skip
SIZE = {"value": 3.7, "limit": 3.49, "unit": "rad/s"}
BUS = {
    "voltage_min_V": 36.51,
    "voltage_max_V": 73.48,
    "voltage_limit_V": 60.5,
    "overvoltage": None,
    "brake_resistor_peak_W": 540.0,
    "brake_resistor_mean_W": 57.0,
}


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(401)


def changed(result: Result, **first: Any) -> Result:
    axes = [dict(axis) for axis in result.summary["axes"]]
    axes[0] |= first
    return replace(result, summary={**result.summary, "axes": axes})


def test_every_kind_of_limit_has_a_colour_of_its_own() -> None:
    keys = [band_key(kind) for kind in SATURATION.values()]
    assert sorted(keys) == sorted(BAND_COLOURS)
    assert len(set(BAND_COLOURS.values())) == len(BAND_COLOURS)


def test_an_exceeded_limit_is_a_row_with_its_size_and_no_incident(result: Result) -> None:
    odd = replace(
        changed(result, saturation=[FAST], exceeded=[FAST | SIZE]),
        events=(RunEvent(0.3, "A", "joint speed exceeded"),),
    )
    shown = view(odd)
    (row,) = event_rows(shown)
    assert row[0] == "0.3000 s"
    assert row[-1] == "joint speed exceeded; at most 212 deg/s, 106 % of limits.speed (200 deg/s)"
    assert shown.incidents() == []


def test_motors_without_thermal_data_have_no_picture_of_their_windings(result: Result) -> None:
    cold = {name: values for name, values in result.signals.items() if "temperature" not in name}
    own = simulation_page(replace(result, signals=cold))
    assert "Windings" not in own
    assert "Currents and temperatures" not in own
    one = replace(result, signals={**cold, **{k: v for k, v in result.signals.items() if "A_winding" in k}})
    assert "Windings" in simulation_page(one)
    row = motor_row(view(changed(result, peak_winding_temperature_degC=None)), "A")
    assert row[10] == "-"


def test_the_supply_section_has_the_extremes_of_the_bus(result: Result) -> None:
    page = simulation_page(replace(result, summary={**result.summary, "bus": BUS}))
    assert "bus voltage: 36.51 V to 73.48 V; braking resistor 540 W at most, 57 W in the mean." in page
    stiff = BUS | {"voltage_min_V": 73.4}
    assert "bus voltage: " not in simulation_page(replace(result, summary={**result.summary, "bus": stiff}))


def test_a_run_that_diverged_shows_no_absurd_numbers(result: Result) -> None:
    wild = changed(result, peak_torque_N_m=2.4e12, peak_speed_rad_per_s=1e7, peak_current_A=4e13)
    wild.summary["energy"] = {**wild.summary["energy"], "balance_error_relative": 9.8e16}
    row = [getattr(cell, "text", cell) for cell in motor_row(view(wild), "A")]
    assert row[1] == row[6] == row[8] == "> 100000"
    assert row[4] == "> 100000\u00a0%"
    own = simulation_page(wild).replace(get_plotlyjs(), "")
    assert "Tip error at rest" in own
    assert "Highest torque" not in own
    assert "Energy balance" not in own
