"""What the report draws is what ran: the plant's limits, a carrier that meets its commands at the edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.report import simulation_figures_drives as drives
from servotwin.report.page import Cell
from servotwin.report.simulation_figures_zoom import carrier, switching
from servotwin.report.simulation_page import simulation_page
from servotwin.report.simulation_tables import MOTOR_COLUMNS, motor_row
from servotwin.report.simulation_view import View, view
from synthetic_result import synthetic_result


def differing(**true: str) -> View:
    """A run whose plant differs from what the controller knows."""
    result = synthetic_result(51)
    changes = {key.replace("__", "."): value for key, value in true.items()}
    truth = read_description("gsis-scara", changes)
    return view(replace(result, scenario=replace(result.scenario, plant_description=truth)))


def test_envelope_is_that_of_the_plant_and_the_current_limit_that_of_the_controller() -> None:
    shown = differing(
        power__bus_voltage="60 V",
        axes__A__motor__resistance="1.6 ohm",
        axes__A__motor__current_limit="5 A",
    )
    assert shown.drive("A").voltage[0] == 60.0
    limits = drives.envelope(shown, "A", 700.0)
    assert limits is not None
    assert limits.voltage_upper is not None
    K_t = shown.description.axes["A"].motor.torque_constant  # type: ignore[union-attr]
    assert K_t is not None
    standstill = limits.voltage_upper[len(limits.w) // 2]
    assert standstill == pytest.approx(K_t * 60.0 / 1.6)
    assert shown.current_limit("A") == pytest.approx(16.1, abs=0.1)


def test_the_whole_envelope_is_in_the_picture() -> None:
    shown = differing()
    for i, name in enumerate(shown.result.motors):
        figure = drives.torque_speed(shown, i)
        w_top = figure.layout.xaxis.range[1] * np.pi / 30.0
        limits = drives.envelope(shown, name, w_top)
        assert limits is not None
        assert limits.upper[-1] < -0.999 * (shown.peak_rating(name) or 0.0), name  # nothing is cut off


def test_envelope_and_picture_end_at_the_largest_speed_of_the_motor() -> None:
    """Within it the edges are those of the circuit, beyond it there are none; the edge itself is drawn."""
    shown = differing(axes__A__motor__max_speed="3500 rpm")
    most = 3500.0 * np.pi / 30.0
    limits, free = drives.envelope(shown, "A", 700.0), drives.envelope(differing(), "A", 700.0)
    assert limits is not None
    assert free is not None
    there = np.isfinite(limits.upper)
    assert limits.w[there].max() == pytest.approx(most, rel=1e-12)
    assert limits.w[there].min() == pytest.approx(-most, rel=1e-12)
    inside = np.abs(limits.w) < most
    np.testing.assert_allclose(
        limits.upper[inside], np.interp(limits.w[inside], free.w, free.upper), rtol=1e-12, atol=1e-12
    )
    figure = drives.torque_speed(shown, 0)
    [line] = [trace for trace in figure.data if trace.name == "largest speed"]
    assert {round(float(x)) for x in line.x if np.isfinite(x)} == {-3500, 3500}
    [area] = [trace for trace in figure.data if trace.name == "peak"]
    assert float(np.max(area.x)) == pytest.approx(3500.0, rel=1e-6)
    assert not [trace for trace in drives.torque_speed(differing(), 0).data if trace.name == "largest speed"]


@pytest.mark.parametrize(
    ("most", "peak", "shown", "tone"),
    [
        (500.0, 400.0, "80", "good"),  # above the rated 314 rad/s, as the data sheet allows
        (500.0, 600.0, "120", "warn"),
        (None, 400.0, "127", "warn"),  # nothing beyond the rated speed is stated
        (None, 157.0, "50", "good"),
    ],
)
def test_speed_is_judged_by_the_largest_speed_that_is_stated(
    most: float | None, peak: float, shown: str, tone: str
) -> None:
    result = synthetic_result(51)
    axis = {**result.summary["axes"][0], "peak_speed_rad_per_s": peak, "rated_speed_rad_per_s": 314.16}
    axis["max_speed_rad_per_s"] = most
    summary = {**result.summary, "axes": [axis, *result.summary["axes"][1:]]}
    cell = motor_row(view(replace(result, summary=summary)), "A")[MOTOR_COLUMNS.index("speed\u00a0/ limit")]
    assert isinstance(cell, Cell)
    assert cell == Cell(f"{shown}\u00a0%", tone)


def test_the_bridge_switches_where_carrier_and_command_meet() -> None:
    result = st.simulate("scara-a-axis-100deg", {"move.0.dwell": "0 s"})
    shown = view(result)
    us, triangle = carrier(shown)
    assert set(triangle) == {1.0, -1.0}
    t = 1e6 * (result.zoom["time_s"] - result.zoom["time_s"][0])
    volts, command = result.zoom["motor_A_voltage_V"], result.zoom["motor_A_modulation"]
    edges = np.flatnonzero(np.diff(volts) != 0.0)
    assert len(edges) == 20  # four in each of five periods
    at = np.interp(t[edges + 1], us, triangle)
    np.testing.assert_allclose(np.abs(at), np.abs(command[edges + 1]), atol=1e-6)
    drawn = next(trace for trace in switching(shown, 0).data if trace.name == "carrier")
    assert (min(drawn.y), max(drawn.y)) == (-1.0, 1.0)


def test_a_limit_that_chatters_is_one_row_with_its_count() -> None:
    result = synthetic_result(51)
    axes = result.summary["axes"]
    axes[0]["saturation"] = [
        {"kind": "speed command limit", "from_s": 0.2, "to_s": 0.9, "times": 37, "active_s": 0.1}
    ]
    page = simulation_page(replace(result, summary={**result.summary, "axes": axes}))
    assert "speed command limit, 37 times" in page


def test_torque_and_speed_of_a_picture_are_means_over_the_same_rows() -> None:
    """Rows of 20 ms against means of the speed at every 0.2 ms; at its end the speed of a ramp is 9 % ahead."""
    short = {"move.0.dwell": "0 s", "solver.pwm": "averaged", "record.zoom": None}
    fine = st.simulate("scara-a-axis-100deg", {**short, "record.every": "0.2 ms"}).signals
    shown = view(st.simulate("scara-a-axis-100deg", {**short, "record.every": "20 ms"}))
    (run,) = [trace for trace in drives.torque_speed(shown, 0).data if trace.name == "run"]
    w = np.asarray(fine["motor_A_speed_rad_per_s"])
    halves = 0.5 * (np.append(0.0, w[:-1]) + w)  # trapezoidal rule
    count = len(run.x) - 1  # without the last row, which may be shorter
    wanted = 30.0 / np.pi * halves[: 100 * count].reshape(count, 100).mean(axis=1)
    np.testing.assert_allclose(run.x[1:count], wanted[1:], atol=1e-5 * np.abs(wanted).max())
    torque = np.asarray(fine["motor_A_torque_N_m"])[: 100 * count].reshape(count, 100).mean(axis=1)
    np.testing.assert_allclose(run.y[:count], torque, atol=1e-6)
    late = 30.0 / np.pi * w[99 : 100 * count : 100]
    assert np.abs(late - wanted).max() > 0.03 * np.abs(wanted).max()
