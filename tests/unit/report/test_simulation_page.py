"""The report on a simulated run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from plotly.offline import get_plotlyjs

from servotwin.report import simulation_figures_drives as drives
from servotwin.report import simulation_figures_motion as motion
from servotwin.report.simulation_figures_energy import energy_bars
from servotwin.report.simulation_page import simulation_page
from servotwin.report.simulation_sections import tip_errors
from servotwin.report.simulation_tables import event_rows
from servotwin.report.simulation_view import View, view
from servotwin.report.traces import BAND_LIMIT, bands, thinned
from servotwin.simulation.results.result import Result, RunEvent
from synthetic_result import synthetic_result


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result()


@pytest.fixture(scope="module")
def shown(result: Result) -> View:
    return view(result)


def own_part(page: str) -> str:
    return page.replace(get_plotlyjs(), "")


def test_page_stands_alone_and_has_every_section(result: Result) -> None:
    page = simulation_page(result)
    own = own_part(page)
    assert "http" not in own.replace("http-equiv", "")
    for word in (
        *("Joint A", "Joint Z", "Following error", "Path from above", "Settling", "Motor A: torque"),
        *("Motor W: torque and speed", "Windings", "Where the energy went", "Switching", "voltage limit"),
        *("fault encoder-stuck", "values of the robot file are assumed", "axes.A.link.mass", "18 kg"),
        *("16.81 kg", "RMS torque 105 % of rated", "Simulated at", "Energy balance"),
    ):
        assert word in own, word
    assert own.count("<figure>") == 4 + 1 + 4 + 4 + 4 + 4 + 1 + 3 + 1 + 4


def test_page_of_a_long_run_stays_small_and_keeps_peaks() -> None:
    result = synthetic_result(140_001)
    spike = result.signals["motor_A_torque_N_m"].copy()
    spike[77_777] = 1.9112  # one sample among many
    result.signals["motor_A_torque_N_m"] = spike
    assert len(simulation_page(result)) < 8e6
    torque = drives.motor_torque(view(result), 0).data[0].y
    assert torque.max() == pytest.approx(spike.max(), rel=1e-6)


def test_partial_run_is_said_at_the_top(result: Result) -> None:
    own = own_part(simulation_page(replace(result, complete=False)))
    assert own.index("did not come to its end") < own.index('class="cards"')


def test_run_that_ended_early_shows_no_settling(result: Result) -> None:
    """Its command did not end, so there is no error after the end of the command."""
    whole, early = (own_part(simulation_page(replace(result, complete=done))) for done in (True, False))
    assert ">Settling</h3>" in whole
    assert ">Settling</h3>" not in early
    assert "no settling to show" in early
    assert "no settling to show" not in whole


@pytest.mark.parametrize("every", [1, 1000])
def test_run_without_rows_after_its_command_shows_no_settling(result: Result, every: int) -> None:
    """It ends with its command, or its rows are too far apart."""
    shown = view(result)
    kept = np.flatnonzero(shown.t <= shown.standstill) if every == 1 else np.arange(0, len(shown.t), every)
    cut = {name: values[kept] for name, values in result.signals.items()}
    assert len(tip_errors(view(replace(result, signals=cut)))) == 1
    assert len(tip_errors(shown)) == 2


def test_shaft_that_rests_often_takes_one_row_and_no_mark(result: Result) -> None:
    rests = [
        {"kind": "stuck", "from_s": 0.1 * k, "to_s": 0.1 * k + 0.05, "active_s": 0.05, "times": 2}
        for k in range(1, 6)
    ]
    axes = [{**axis, "saturation": rests} for axis in result.summary["axes"]]
    names = [axis["motor"] for axis in axes]
    events = tuple(RunEvent(rest["from_s"], name, "stuck") for name in names for rest in rests)
    shown = view(replace(result, summary={**result.summary, "axes": axes}, events=events))
    assert shown.incidents() == shown.incidents(names[0]) == []
    assert [row[-1] for row in event_rows(shown)] == len(names) * ["stuck, 10 times"]


def test_text_of_the_user_is_escaped(result: Result) -> None:
    nasty = "<script>alert(1)</script>"
    bad = replace(
        result, events=(RunEvent(0.1, nasty, nasty),), summary={**result.summary, "warnings": [nasty]}
    )
    assert nasty not in own_part(simulation_page(bad))


def test_summary_without_numbers_makes_a_page(result: Result) -> None:
    bare = replace(result, summary={}, zoom={}, events=(), complete=False)
    own = own_part(simulation_page(bare))
    assert "No limit was met" in own
    assert "Switching" not in own


@given(
    count=some.integers(1, 3000),
    points=some.integers(6, 500),
    seed=some.integers(0, 1000),
    width=some.integers(1, 2),
)
def test_thinned_signals_keep_their_extremes(count: int, points: int, seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    signals = [rng.integers(-5, 5, count).astype(float) for _ in range(width)]
    keep = thinned(signals, points)
    assert len(keep) <= max(points, 4 * width + 2)
    assert (np.diff(keep) > 0).all()
    assert (keep[0], keep[-1]) == (0, count - 1)
    for y in signals:
        assert (y[keep].min(), y[keep].max()) == (y.min(), y.max())


def test_many_bands_are_joined(shown: View) -> None:
    figure = drives.currents(shown, 3)
    before = len(figure.layout.shapes)
    bands(figure, [("current limit", 0.001 * i, 0.001 * i + 1e-4) for i in range(1400)], 1.4)
    assert 1 <= len(figure.layout.shapes) - before <= BAND_LIMIT


def test_envelope_is_that_of_the_circuit(shown: View) -> None:
    winding = shown.motor("A").winding
    assert winding is not None
    assert shown.description.power is not None
    U = shown.description.power.bus_voltage
    limits = drives.envelope(shown, "A", 700.0)
    assert limits is not None
    assert limits.voltage_upper is not None
    # at standstill the voltage drives U / R, and current limits the torque long before
    middle = len(limits.w) // 2
    assert limits.voltage_upper[middle] == pytest.approx(winding.torque_constant * U / winding.resistance)
    assert limits.upper[middle] == pytest.approx(3 * 0.637, rel=2e-3)
    # no torque where the back-EMF is the supply voltage; K is one number (eq:dc-motor)
    at_top = np.interp(U / winding.torque_constant, limits.w, limits.voltage_upper)
    assert at_top == pytest.approx(0.0, abs=1e-9)


def test_energy_bars_end_at_what_was_taken(result: Result) -> None:
    bar = energy_bars(result.summary["energy"]).data[0]
    assert bar.base[-1] + bar.x[-1] == pytest.approx(bar.x[0], rel=1e-3)  # bars too small to see are left out


def test_every_legend_of_axes_follows_the_order_of_the_robot(shown: View) -> None:
    joints = list(shown.result.joints)
    assert joints == ["A", "B", "Z", "W"]  # a sliding joint between turning ones
    figure = motion.following_error(shown)
    assert [trace.name for trace in figure.data] == joints
    assert [trace.yaxis for trace in figure.data] == ["y", "y", "y2", "y"]
    assert [trace.name for trace in drives.temperatures(shown).data][:4] == joints
