"""The numbers of a tuning, on its page and in the terminal, against its gains and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seen import Figure, Seen, numbers, printed_rows, rounds_to
from servotwin.cli.tune import tune as command
from servotwin.control.tuning.gains import float_gains
from servotwin.description.load import read_description
from servotwin.design.tuning import AxisTuning, Tuning, tune
from servotwin.report.tune_page import tune_page

LOOPS = ("current", "speed", "position")
GAINS = ("position", "speed_proportional", "speed_integral", "current_proportional", "current_integral")
DASHES = {"lightest": "dot", "design": "solid", "heaviest": "dash"}


@pytest.fixture(scope="module")
def tuning() -> Tuning:
    return tune(read_description("gsis-scara"), payload_max=4.0)


@pytest.fixture(scope="module")
def page(tuning: Tuning) -> Seen:
    return Seen(tune_page(tuning))


def test_gains_of_the_page_are_those_of_the_tuning(tuning: Tuning, page: Seen) -> None:
    table = page.table("[1/s]", "[A s/rad]", "[V/(A s)]")
    for row, axis in enumerate(tuning.axes):
        assert table.rows[row][0].text == axis.motor
        for column, name in enumerate(GAINS, start=1):
            assert rounds_to(table.rows[row][column].text, getattr(axis.gains, name)), name


def test_integer_gains_that_round_too_far_are_marked(tuning: Tuning, page: Seen) -> None:
    tables = [t for t in page.tables if len(t.columns) == 6 and not any("[" in word for word in t.columns)]
    (table,) = tables
    for row, axis in enumerate(tuning.axes):
        assert axis.integers is not None
        assert axis.scaling is not None
        back = float_gains(axis.integers, axis.scaling)
        for column, name in enumerate(GAINS, start=1):
            cell, wanted = table.rows[row][column], getattr(axis.gains, name)
            assert int(cell.text) == getattr(axis.integers, name)
            assert (cell.mark == "warn") == (abs(getattr(back, name) / wanted - 1.0) > 0.05), name


def test_speed_commands_are_the_range_of_the_converters(tuning: Tuning, page: Seen) -> None:
    table = page.table("[V]", "largest speed [rad/s]", "one step [rad/s]")
    controller = tuning.description.controller
    assert controller is not None
    for row, axis in enumerate(tuning.axes):
        assert float(table.rows[row][1].text) == controller.command_voltage
        assert rounds_to(table.rows[row][2].text, axis.command.speed)
        # a signed word of b bits has 2^(b-1) - 1 steps to either side
        step = axis.command.speed / (2 ** (controller.command_bits - 1) - 1)
        assert rounds_to(table.rows[row][3].text, step)


def test_margins_of_the_page_are_those_of_the_open_loops(tuning: Tuning, page: Seen) -> None:
    table = page.table("[kg m2]", "phase margin, current [deg]")
    rows = iter(table.rows)
    for axis in tuning.axes:
        for case in axis.cases:
            row = next(rows)
            assert [row[0].text, row[1].text] == [axis.motor, case.load]
            assert rounds_to(row[2].text, case.at.J)
            for k, name in enumerate(LOOPS):
                loop = getattr(case.loops, name)
                assert loop.crossover is not None
                at = np.interp(math.log(loop.crossover), np.log(loop.w), np.log(np.abs(loop.open)))
                assert at == pytest.approx(0.0, abs=0.02)  # gain one, between two points of the grid
                assert rounds_to(row[9 + k].text, loop.crossover)
                angle = np.unwrap(np.angle(loop.open))
                angle -= 2.0 * math.pi * round(float(angle[0]) / (2.0 * math.pi) - 1e-9) * (angle[0] > 2.0)
                margin = math.pi + float(np.interp(math.log(loop.margin_at), np.log(loop.w), angle))
                assert float(row[3 + k].text) == pytest.approx(math.degrees(margin), abs=1.0)
                assert rounds_to(row[6 + k].text, loop.gain_margin)
    assert next(rows, None) is None


def test_cards_show_the_least_margins_and_the_widest_load(tuning: Tuning, page: Seen) -> None:
    for name in LOOPS:
        least = min(
            math.degrees(getattr(case.loops, name).phase_margin)
            for axis in tuning.axes
            for case in axis.cases
        )
        assert any(
            card.unit == "deg" and name in card.label and rounds_to(card.value, least) for card in page.cards
        )
    widest = max(axis.case("heaviest").at.J / axis.case("lightest").at.J for axis in tuning.axes)
    assert any(card.unit == "" and rounds_to(card.value, widest) for card in page.cards)


def of_axis(page: Seen, k: int) -> list[Figure]:
    """The open loops and the three steps of an axis."""
    return page.figures[4 * k : 4 * k + 4]


def test_open_loops_are_drawn_in_decibels_and_degrees(tuning: Tuning, page: Seen) -> None:
    for k, axis in enumerate(tuning.axes):
        figure = of_axis(page, k)[0]
        lines = [trace for trace in figure.data if trace["mode"] == "lines"]
        assert len(lines) == 12
        for trace in lines:
            loop, sign = matching(axis, trace, figure)
            x, y = np.asarray(trace["x"]), np.asarray(trace["y"])
            pick = np.array([int(np.argmin(np.abs(np.log(loop.w) - math.log(w)))) for w in x])
            np.testing.assert_allclose(loop.w[pick], x, rtol=1e-5)
            if sign == "dB":
                np.testing.assert_allclose(y, 20.0 * np.log10(np.abs(loop.open[pick])), atol=1e-3)
            else:
                turn = np.exp(1j * np.radians(y)) * np.abs(loop.open[pick]) / loop.open[pick]
                np.testing.assert_allclose(turn, 1.0, atol=1e-3)
                assert -280.0 < y[0] < 91.0


def matching(axis: AxisTuning, trace: dict, figure: Figure):
    """The loop that a line says it shows, and the unit of its axis."""
    (load,) = [load for load in ("lightest", "heaviest") if load in trace["name"]]
    (name,) = [name for name in LOOPS if name in trace["name"]]
    assert trace["line"]["dash"] == DASHES[load]
    assert figure.unit(trace, "x") == "rad/s"
    return getattr(axis.case(load).loops, name), figure.unit(trace, "y")


def test_margins_are_marked_where_the_gain_is_one(tuning: Tuning, page: Seen) -> None:
    for k, axis in enumerate(tuning.axes):
        figure = of_axis(page, k)[0]
        dots = [trace for trace in figure.data if trace["mode"] == "markers"]
        loops = [getattr(axis.case(load).loops, name) for name in LOOPS for load in ("lightest", "heaviest")]
        assert len(dots) == 2 * len(loops)
        for i, loop in enumerate(loops):
            gain, phase = dots[2 * i], dots[2 * i + 1]
            assert gain["x"] == phase["x"] == pytest.approx([loop.margin_at])
            assert list(gain["y"]) == [0.0]
            assert phase["y"][0] + 180.0 == pytest.approx(math.degrees(loop.phase_margin), abs=1.0)


def test_lines_of_stability_are_at_gain_one_and_half_a_turn(tuning: Tuning, page: Seen) -> None:
    for k in range(len(tuning.axes)):
        bode, *steps = of_axis(page, k)
        lines = {shape["yref"].partition(" ")[0]: shape["y0"] for shape in bode.layout["shapes"]}
        assert lines == {"y": 0.0, "y2": -180.0}
        assert all([shape["y0"] for shape in figure.layout["shapes"]] == [1.0] for figure in steps)


def test_steps_are_drawn_in_milliseconds(tuning: Tuning, page: Seen) -> None:
    axis = tuning.axes[1]
    for figure, level in zip(of_axis(page, 1)[1:], LOOPS, strict=True):
        assert len(figure.data) == 3
        for trace, case in zip(figure.data, axis.cases, strict=True):
            assert trace["line"]["dash"] == DASHES[case.load]
            assert figure.unit(trace, "x") == "ms"
            x, y = np.asarray(trace["x"]), np.asarray(trace["y"])
            t, values = case.step_response(axis.gains, tuning.timing, level, 1e-3 * float(x[-1]) * 1.001)
            at = np.searchsorted(t, 1e-3 * x - 1e-7)
            np.testing.assert_allclose(1e3 * t[at], x, atol=1e-3)
            np.testing.assert_allclose(values[at], y, atol=1e-4)


def test_printed_tables_are_the_tuning(tuning: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    command("gsis-scara", None, "4 kg", None, None, None, None, None, json=False)
    text = capsys.readouterr().out
    for axis in tuning.axes:
        rows = printed_rows(text, axis.motor)
        gains, integers, speed, *margins = rows
        assert all(
            rounds_to(cell, getattr(axis.gains, name)) for cell, name in zip(gains[1:], GAINS, strict=True)
        )
        assert [int(cell) for cell in integers[1:]] == [getattr(axis.integers, name) for name in GAINS]
        assert numbers(" ".join(speed[1:])) == pytest.approx(
            [axis.command.voltage, axis.command.speed, axis.command.step], rel=1e-3
        )
        expected = [(case, loop) for case in axis.cases for loop in case.loops.all]
        for row, (case, loop) in zip(margins, expected, strict=True):
            assert row[1:3] == [case.load, loop.name]
            values = (
                case.at.J,
                math.degrees(loop.phase_margin),
                loop.gain_margin,
                loop.crossover,
                loop.bandwidth,
            )
            for cell, value in zip(row[3:], values, strict=True):
                assert rounds_to(cell, value), (row, value)
    first = text.splitlines()[0]
    assert numbers(first.replace("1/s", ""))[-4:] == pytest.approx(
        [
            tuning.current_bandwidth,
            tuning.speed_bandwidth,
            1e3 * tuning.integral_time,
            tuning.position_bandwidth,
        ],
        rel=5e-3,
    )
