"""Every number, table and curve of the report on a run, against signals and summary; units are converted here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from seen import Figure, Seen, numbers, rounds_to
from servotwin.description.load import read_description
from servotwin.report.simulation_page import simulation_page
from servotwin.report.traces import thinned
from servotwin.simulation.results.result import Result
from synthetic_result import RATED, T, synthetic_result

DEG, MM, RPM, UM, US = 180.0 / math.pi, 1e3, 60.0 / (2.0 * math.pi), 1e6, 1e6
TURNING, SLIDING = "ABW", "Z"
LIMITS = {"A": 140.0, "B": 29.0, "Z": 155.0, "W": None}  # degC; that of B is near


@pytest.fixture(scope="module")
def result() -> Result:
    """A run with settling times, temperatures near a limit and one limit met, beside what all made-up runs have."""
    made = synthetic_result(1001)
    axes = []
    for i, axis in enumerate(made.summary["axes"]):
        axes.append(
            {
                **axis,
                "joint_settling_s": 0.0625 + 0.03 * i,
                "joint_settling_band": 5e-4,
                "joint_error_unit": "m" if axis["joint"] == SLIDING else "rad",
                "peak_winding_temperature_degC": 27.3 + i,
                "rated_speed_rad_per_s": 314.0 / (1 + i),
            }
        )
    summary = {**made.summary, "axes": axes, "settling_s": 0.0942, "settling_band_m": 5e-5, "wall_s": 0.073}
    signals = dict(made.signals)
    for axis in "xy":  # the first and the last row are like no other
        signals[f"tip_{axis}_m"] = made.signals[f"tip_{axis}_m"].copy()
        signals[f"tip_{axis}_m"][[0, -1]] += [2e-4, 1e-7]
    gap = np.sqrt(sum((signals[f"tip_{a}_m"] - signals[f"tip_ref_{a}_m"]) ** 2 for a in "xyz"))
    summary |= {"tip_error_final_m": float(gap[-1]), "tip_error_max_m": float(gap.max())}
    return replace(made, summary=summary, signals=signals)


@pytest.fixture(scope="module")
def page(result: Result) -> Seen:
    return Seen(simulation_page(result))


def signal(result: Result, name: str) -> np.ndarray:
    return result.signals[name]


# --- joints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", [*TURNING, SLIDING])
def test_joint_curves_are_positions_and_speeds_in_degrees_or_millimetres(
    result: Result, page: Seen, joint: str
) -> None:
    unit, shown, factor = ("m", "mm", MM) if joint == SLIDING else ("rad", "deg", DEG)
    t = signal(result, "time_s")
    for quantity, rate, per in (("position", "", ""), ("velocity", "_per_s", "/s")):
        for word, dash in (("", None), ("ref_", "dot")):
            y = factor * signal(result, f"joint_{joint}_{quantity}_{word}{unit}{rate}")
            assert page.drawn("s", f"{shown}{per}", t, y, dash=dash) >= 1, (quantity, word)
    error = factor * (
        signal(result, f"joint_{joint}_position_ref_{unit}")
        - signal(result, f"joint_{joint}_position_{unit}")
    )
    assert page.drawn("s", shown, t, error) >= 1


# --- tip -------------------------------------------------------------------------------------------


def tip(result: Result, word: str = "") -> np.ndarray:
    return np.stack([signal(result, f"tip_{word}{a}_m") for a in "xyz"], axis=1)


def test_path_from_above_has_x_to_the_right_in_millimetres(result: Result, page: Seen) -> None:
    actual, wanted = MM * tip(result), MM * tip(result, "ref_")
    figure = page.figure("mm", "mm", actual[:, 0], actual[:, 1])
    assert figure.traces("mm", "mm", wanted[:, 0], wanted[:, 1], dash="dot")
    for row in (0, -1):  # start and end
        assert figure.traces("mm", "mm", actual[[row], 0], actual[[row], 1])
    for name, column in (("xaxis", 0), ("yaxis", 1)):
        low, high = figure.layout[name]["range"]
        assert low < min(actual[:, column].min(), wanted[:, column].min())
        assert high > max(actual[:, column].max(), wanted[:, column].max())


def test_tip_errors_are_actual_minus_commanded_in_millimetres(result: Result, page: Seen) -> None:
    t, error = signal(result, "time_s"), MM * (tip(result) - tip(result, "ref_"))
    for k in range(3):
        assert page.drawn("s", "mm", t, error[:, k]) >= 1
    for name in ("along", "across"):
        assert page.drawn("s", "mm", t, MM * signal(result, f"tip_error_{name}_m")) == 1


def test_settling_is_drawn_from_the_end_of_the_command_in_milliseconds(result: Result, page: Seen) -> None:
    t = signal(result, "time_s")
    moving = np.zeros(len(t) - 1, dtype=bool)
    for joint in (*TURNING, SLIDING):
        unit = "m" if joint == SLIDING else "rad"
        moving |= np.abs(np.diff(signal(result, f"joint_{joint}_position_ref_{unit}"))) > 1e-12
    stands = float(t[np.flatnonzero(moving)[-1] + 1])
    error = MM * (tip(result) - tip(result, "ref_"))
    (figure,) = [item for item in page.figures if item.unit({}, "x") == "ms"]
    ms = np.asarray(figure.data[0]["x"])
    here = np.flatnonzero((t >= stands + ms[0] / 1e3 - 1e-6) & (t <= stands + ms[-1] / 1e3 + 1e-6))
    assert ms[0] < 0.0 < ms[-1]
    for k in range(3):
        assert figure.traces("ms", "mm", 1e3 * (t[here] - stands), error[here, k], tolerance=1e-5)
    size = np.sqrt((error[here] ** 2).sum(axis=1))
    assert figure.traces("ms", "mm", 1e3 * (t[here] - stands), size, dash="dot", tolerance=1e-5)
    shapes = figure.layout["shapes"]
    band = next(shape for shape in shapes if shape["type"] == "rect")
    assert (band["y0"], band["y1"]) == (pytest.approx(-0.05), pytest.approx(0.05))
    line = next(shape for shape in shapes if shape["type"] == "line")
    assert line["x0"] == line["x1"] == pytest.approx(94.2)
    (note,) = figure.layout["annotations"]
    assert note["x"] == pytest.approx(94.2)
    assert rounds_to(note["text"], 94.2)


# --- motors ----------------------------------------------------------------------------------------


def mean_speed(result: Result, motor: str) -> np.ndarray:
    """Mean speed since the row before [rad/s], as torques are recorded; the first row has none before it."""
    angle, t = signal(result, f"motor_{motor}_angle_rad"), signal(result, "time_s")
    return np.append(signal(result, f"motor_{motor}_speed_rad_per_s")[0], np.diff(angle) / np.diff(t))


def levels(figure: Figure) -> list[float]:
    """Heights of the horizontal lines, in order."""
    lines = [shape for shape in figure.layout.get("shapes", []) if shape["type"] == "line"]
    return sorted(shape["y0"] for shape in lines if shape["y0"] == shape["y1"])


def bands(figure: Figure) -> list[tuple[float, float]]:
    """Spans of time that are shaded over the whole height."""
    shapes = [shape for shape in figure.layout.get("shapes", []) if shape["type"] == "rect"]
    return [(shape["x0"], shape["x1"]) for shape in shapes if shape.get("yref") == "paper"]


@pytest.mark.parametrize("motor", list(RATED))
def test_torque_is_drawn_between_its_ratings(result: Result, page: Seen, motor: str) -> None:
    figure = page.figure("s", "N m", signal(result, "time_s"), signal(result, f"motor_{motor}_torque_N_m"))
    rated = RATED[motor]
    found = levels(figure)
    assert found[:: len(found) - 1] == [-found[-1], found[-1]]
    assert [level for level in found if abs(level) < 2 * rated] == pytest.approx([-rated, rated])
    assert all(abs(abs(level) - 3 * rated) < 1e-9 for level in found if abs(level) > 2 * rated)
    rect = next(s for s in figure.layout["shapes"] if s["type"] == "rect" and s.get("yref") != "paper")
    assert (rect["y0"], rect["y1"]) == pytest.approx((-rated, rated))
    texts = [note["text"] for note in figure.layout["annotations"] if note.get("y") == rated]
    assert any(rounds_to(text, rated) for text in texts)
    met = [(0.40, 0.46)] if motor == "A" else []
    assert bands(figure) == met


@pytest.mark.parametrize("motor", list(RATED))
def test_torque_speed_plane_is_in_turns_per_minute(result: Result, page: Seen, motor: str) -> None:
    w, torque = mean_speed(result, motor), signal(result, f"motor_{motor}_torque_N_m")
    figure = page.figure("rpm", "N m", RPM * w, torque)
    edge = RPM * next(a for a in result.summary["axes"] if a["motor"] == motor)["rated_speed_rad_per_s"]
    corners = {(s * edge, z * RATED[motor]) for s in (-1, 1) for z in (-1, 1)}
    areas = [
        {(float(a), float(b)) for a, b in zip(trace["x"], trace["y"], strict=True)}
        for trace in figure.data
        if trace.get("fill") == "toself" and len(trace["x"]) == 5
    ]
    assert any(
        all(any(math.dist(c, p) < 1e-5 * edge for p in area) for c in corners) and len(area) == 4
        for area in areas
    )


def test_envelope_is_current_and_supply_voltage_of_the_drive(result: Result, page: Seen) -> None:
    """Of a DC motor: tau <= K i_max and tau <= K (U - K w) / R, drawn against turns per minute."""
    motor = "A"
    w, torque = mean_speed(result, motor), signal(result, f"motor_{motor}_torque_N_m")
    figure = page.figure("rpm", "N m", RPM * w, torque)
    data = result.scenario.plant_description.axes[motor].motor
    power = result.scenario.plant_description.power
    assert data is not None
    assert power is not None
    K, R, most = data.torque_constant, data.resistance, data.current_limit
    assert K is not None
    assert R is not None
    assert most is not None
    (area,) = [trace for trace in figure.data if trace.get("fill") == "toself" and len(trace["x"]) > 20]
    x, y = np.asarray(area["x"]) / RPM, np.asarray(area["y"])
    top = K * most
    inner = (np.abs(x) < 0.99 * power.bus_voltage / K) & (np.abs(y) < 0.999 * top)
    assert inner.sum() > 5
    by_voltage = K * (power.bus_voltage * np.sign(y) - K * x) / R
    np.testing.assert_allclose(y[inner], by_voltage[inner], rtol=1e-4)
    assert np.abs(y).max() == pytest.approx(top, rel=1e-4)
    lines = [trace for trace in figure.data if trace.get("line", {}).get("dash") == "dash"]
    assert len(lines) == 2
    drawn = [trace for trace in lines if np.isfinite(np.asarray(trace["y"], dtype=float)).any()]
    for trace in drawn:
        x, y = np.asarray(trace["x"]) / RPM, np.asarray(trace["y"])
        ends = K * (np.array([[1.0], [-1.0]]) * power.bus_voltage - K * x) / R
        there = np.isfinite(y)
        assert min(np.abs(end[there] - y[there]).max() for end in ends) < 1e-3 * top


@pytest.mark.parametrize("motor", list(RATED))
def test_currents_are_drawn_with_their_reference_dotted(result: Result, page: Seen, motor: str) -> None:
    t = signal(result, "time_s")
    figure = page.figure("s", "A", t, signal(result, f"motor_{motor}_current_A"))
    assert figure.traces("s", "A", t, signal(result, f"motor_{motor}_current_ref_A"), dash="dot")
    motor_data = result.scenario.description.axes[motor].motor
    assert motor_data is not None
    limit = motor_data.current_limit
    assert limit is not None
    near = max(np.abs(signal(result, f"motor_{motor}_current_{word}A")).max() for word in ("", "ref_"))
    assert levels(figure) == (pytest.approx([-limit, limit]) if limit < 1.8 * near else [])


def test_temperatures_are_drawn_and_only_near_limits_beside_them(result: Result) -> None:
    scenario = result.scenario
    axes = dict(scenario.plant_description.axes)
    for name, limit in LIMITS.items():
        motor = axes[name].motor
        assert motor is not None
        assert motor.thermal is not None
        thermal = motor.thermal.model_copy(update={"limit": limit}) if limit else motor.thermal
        axes[name] = axes[name].model_copy(update={"motor": motor.model_copy(update={"thermal": thermal})})
    truth = scenario.plant_description.model_copy(update={"axes": axes})
    page = Seen(simulation_page(replace(result, scenario=replace(scenario, plant_description=truth))))
    t = signal(result, "time_s")
    columns = [signal(result, f"motor_{name}_winding_temperature_degC") for name in RATED]
    figure = page.figure("s", "°C", t, columns[0])
    assert all(figure.traces("s", "°C", t, column) for column in columns)
    assert columns[1].max() > 0.8 * 29.0
    assert levels(figure) == [29.0]


def shares(value: float, limit: float) -> tuple[float, str]:
    return 100.0 * value / limit, "warn" if value > limit else "good"


@pytest.mark.parametrize("row", range(4))
def test_motor_table_is_the_summary_in_the_units_of_its_headings(
    result: Result, page: Seen, row: int
) -> None:
    table = page.table("peak torque", "winding")
    axis = result.summary["axes"][row]
    name = axis["motor"]
    torque, w, i = (
        signal(result, f"motor_{name}_{key}") for key in ("torque_N_m", "speed_rad_per_s", "current_A")
    )
    unit, factor = ("mm", MM) if name == SLIDING else ("deg", DEG)
    si = "m" if name == SLIDING else "rad"
    error = signal(result, f"joint_{name}_position_{si}") - signal(result, f"joint_{name}_position_ref_{si}")
    rms = math.sqrt(float(np.mean(torque**2)))
    expected: dict[tuple[str, ...], float] = {
        ("peak torque", "[N m]"): float(np.abs(torque).max()),
        ("rms torque", "[N m]"): rms,
        ("rated torque", "[N m]"): RATED[name],
        ("peak speed", "[rpm]"): RPM * float(np.abs(w).max()),
        ("peak current", "[A]"): float(np.abs(i).max()),
        ("rms current", "[A]"): math.sqrt(float(np.mean(i**2))),
        ("winding", "[°C]"): 27.3 + row,
        ("following error",): factor * float(np.abs(error).max()),
        ("settled", "[ms]"): 1e3 * (0.0625 + 0.03 * row),
        ("error at the end",): factor * float(error[-1]),
    }
    assert table.rows[row][0].text == name
    for words, value in expected.items():
        assert rounds_to(table.cell(row, *words).text, value), (words, value, table.cell(row, *words))
    for words in (("following error",), ("error at the end",)):
        assert table.cell(row, *words).text.endswith(unit)
    for words, (share, mark) in {
        ("peak / ",): shares(float(np.abs(torque).max()), 3 * RATED[name]),
        ("rms / rated",): shares(rms, RATED[name]),
        ("speed / ",): shares(float(np.abs(w).max()), 314.0 / (1 + row)),
    }.items():
        cell = table.cell(row, *words)
        assert rounds_to(cell.text, share), words
        assert cell.mark == mark, words


def test_limit_that_was_met_has_a_row_with_its_times(page: Seen) -> None:
    table = page.table("from", "to", "axis")
    row = next(row for row in table.rows if row[2].text == "A")
    assert (numbers(row[0].text), numbers(row[1].text)) == ([0.40], [0.46])


# --- supply ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "unit"), [("bus_power_W", "W"), ("bus_voltage_V", "V"), ("bus_energy_J", "J")]
)
def test_supply_is_drawn_as_recorded(result: Result, page: Seen, name: str, unit: str) -> None:
    assert page.drawn("s", unit, signal(result, "time_s"), signal(result, name)) == 1


def test_thresholds_of_the_braking_resistor_stand_beside_the_bus_voltage(result: Result) -> None:
    scenario = result.scenario
    power = {
        "power.capacitance": "1 mF", "power.supply_resistance": "0.5 ohm",
        "power.braking_resistor.resistance": "10 ohm",
        "power.braking_resistor.on": "75.5 V", "power.braking_resistor.off": "75.2 V",
    }  # fmt: skip
    truth = read_description("gsis-scara", power)
    shown = Seen(simulation_page(replace(result, scenario=replace(scenario, plant_description=truth))))
    figure = shown.figure("s", "V", signal(result, "time_s"), signal(result, "bus_voltage_V"))
    assert levels(figure) == [75.2, 75.5]


def test_energy_bars_begin_where_the_last_one_ended_and_reach_the_source(result: Result, page: Seen) -> None:
    energy: dict[str, Any] = result.summary["energy"]
    (bars,) = [trace for figure in page.figures for trace in figure.data if trace["type"] == "bar"]
    values, starts = np.asarray(bars["x"]), np.asarray(bars["base"])
    taken = energy["source_J"]
    assert (starts[0], values[0]) == (0.0, pytest.approx(taken))
    np.testing.assert_allclose(starts[1:], np.concatenate([[0.0], np.cumsum(values[1:])[:-1]]), atol=1e-9)
    assert starts[-1] + values[-1] == pytest.approx(taken, rel=1e-3)
    kept = {"source_J", "balance_error_J", "balance_error_relative", "moved_J"}
    parts = [value for key, value in energy.items() if key not in kept]
    assert all(min(abs(value - part) for part in parts) < 1e-9 for value in values[1:])
    large = sorted(part for part in parts if abs(part) > 1e-3 * taken)
    assert sorted(value for value in values[1:] if abs(value) > 1e-3 * taken) == pytest.approx(large)
    for text, value in zip(bars["text"], values, strict=True):
        amount, share = text.split(",")
        assert rounds_to(amount, value)
        assert rounds_to(share, 100.0 * value / taken), text


def test_switching_is_drawn_in_microseconds_of_its_window(result: Result, page: Seen) -> None:
    zoom = result.zoom
    us = US * (zoom["time_s"] - zoom["time_s"][0])
    assert us[-1] == pytest.approx(5 * T * US)
    for motor in RATED:
        figure = page.figure("µs", "V", us, zoom[f"motor_{motor}_voltage_V"])
        assert figure.traces("µs", "A", us, zoom[f"motor_{motor}_current_A"])
        assert figure.traces("µs", "", us, zoom[f"motor_{motor}_modulation"])
        assert figure.layout["xaxis"]["range"] == pytest.approx([0.0, 1000.0])
        corners = np.arange(11)  # of the triangle, two in each of five periods; a zoom begins with a period
        first = float(zoom["carrier"][0])
        assert figure.traces("µs", "", 0.5 * US * T * corners, first * (-1.0) ** corners)


# --- cards -----------------------------------------------------------------------------------------


def test_cards_show_the_summary(result: Result, page: Seen) -> None:
    error = np.linalg.norm(tip(result) - tip(result, "ref_"), axis=1)
    final = float(error[-1])
    small = f"{UM * final:.2g}" if final >= 1e-7 else ""
    shown = [card for card in page.cards if card.unit in ("mm", "µm")]
    assert len(shown) == 1
    if final < 1e-7:
        assert (shown[0].value, shown[0].unit) == ("< 0.1", "µm")
    elif final < 1e-5:
        assert (shown[0].value, shown[0].unit) == (small, "µm")
    else:
        assert rounds_to(shown[0].value, MM * final)
    assert rounds_to(shown[0].remark, MM * float(error.max()))
    fast = page.card("times real time", 20.0)
    assert numbers(fast.remark) == [1.4, 0.073]
    assert rounds_to(page.card("ms", 94.2).remark.rpartition(" to ")[2], 0.05)
    shares = {
        name: float(np.abs(signal(result, f"motor_{name}_torque_N_m")).max()) / (3 * rated)
        for name, rated in RATED.items()
    }
    worst = max(shares, key=lambda name: shares[name])
    card = page.card("N m", 3 * RATED[worst] * shares[worst])
    assert f"motor {worst}" in card.remark
    assert rounds_to(card.remark.partition(",")[2], 100.0 * shares[worst])
    assert any(card.unit == "" and numbers(card.value) == [3e-11] for card in page.cards)


@pytest.mark.parametrize(
    ("metres", "value", "unit"),
    [(9.99e-8, "< 0.1", "µm"), (4.26e-6, "4.3", "µm"), (1.1e-5, "0.011", "mm"), (4.2e-4, "0.42", "mm")],
)
def test_error_of_the_tip_has_a_unit_that_suits_its_size(
    result: Result, metres: float, value: str, unit: str
) -> None:
    page = Seen(simulation_page(replace(result, summary={**result.summary, "tip_error_final_m": metres})))
    assert (value, unit) in [(card.value, card.unit) for card in page.cards]


def test_motor_that_uses_most_of_its_rating_is_named_though_another_gives_more_torque(result: Result) -> None:
    axes = [
        {**axis, "peak_torque_N_m": torque, "peak_rating_N_m": most}
        for axis, torque, most in zip(
            result.summary["axes"], (1.5, 1.0, 0.2, 0.1), (2.0, 0.8, 0.5, 0.5), strict=True
        )
    ]
    page = Seen(simulation_page(replace(result, summary={**result.summary, "axes": axes})))
    card = page.card("N m", 1.0)
    assert "motor B" in card.remark
    assert rounds_to(card.remark.partition(",")[2], 125.0)
    assert card.mark == "warn"
    row = page.table("peak torque", "winding").rows[1]
    assert any(cell.mark == "warn" and rounds_to(cell.text, 125.0) for cell in row)


# --- repeatability ---------------------------------------------------------------------------------


def repeated(result: Result, rng: np.random.Generator) -> tuple[Result, np.ndarray, np.ndarray]:
    """The run with a tool that goes to two targets six times each and rests a little beside them."""
    rows, rest, way = len(result.signals["time_s"]), 50, 20
    ends = np.array([[0.1, 0.2, 0.3], [0.15, 0.25, 0.28]])
    wanted, actual, stops = np.empty((rows, 3)), np.empty((rows, 3)), []
    wanted[:] = actual[:] = ends[1]
    k = 10
    for visit in range(12):
        a, b = ends[(visit + 1) % 2], ends[visit % 2]
        off = np.array([3e-5, -2e-5, 1e-5]) + 1e-5 * rng.standard_normal(3)
        share = np.linspace(0.0, 1.0, way + 1)[1:, None]
        wanted[k : k + way] = a + share * (b - a)
        actual[k : k + way] = wanted[k : k + way]
        wanted[k + way :], actual[k + way :] = b, b + off
        stops.append(b + off)
        k += way + rest
    signals = dict(result.signals)
    for i, axis in enumerate("xyz"):
        signals[f"tip_{axis}_m"], signals[f"tip_ref_{axis}_m"] = actual[:, i].copy(), wanted[:, i].copy()
    log = replace(result.log, tip=actual, tip_ref=wanted)
    return replace(result, signals=signals, log=log), ends, np.array(stops)


def test_repeatability_is_that_of_iso_9283_in_millimetres(result: Result) -> None:
    run, ends, stops = repeated(result, np.random.default_rng(3))
    page = Seen(simulation_page(run))
    table = page.table("AP", "RP", "visits")
    assert len(table.rows) == 2
    step = float(np.diff(result.signals["time_s"])[0])
    for target, places in ((ends[0], stops[0::2]), (ends[1], stops[1::2])):
        (row,) = [i for i, cells in enumerate(table.rows) if np.allclose(numbers(cells[0].text), MM * target)]
        mean = places.mean(axis=0)
        gaps = np.sqrt(((places - mean) ** 2).sum(axis=1))
        spread = math.sqrt(float(((gaps - gaps.mean()) ** 2).sum()) / (len(gaps) - 1))
        assert rounds_to(table.cell(row, "visits").text, 6)
        assert rounds_to(table.cell(row, "AP", "[mm]").text, MM * math.dist(mean, target))
        assert rounds_to(table.cell(row, "RP", "[mm]").text, MM * (gaps.mean() + 3.0 * spread))
        assert rounds_to(table.cell(row, "rest", "[s]").text, 50 * step)
    target, places = ends[0], stops[0::2]
    offsets = UM * (places - target)
    (figure,) = [item for item in page.figures if item.unit({}, "x") == "µm"]
    assert figure.traces("µm", "µm", offsets[:, 0], offsets[:, 1], tolerance=1e-6)
    mean = offsets.mean(axis=0)
    assert figure.traces("µm", "µm", mean[[0]], mean[[1]])
    assert figure.traces("µm", "µm", [0.0], [0.0])
    (circle,) = [trace for trace in figure.data if len(trace["x"]) > 20]
    gaps = np.sqrt(((offsets - mean) ** 2).sum(axis=1))
    radius = gaps.mean() + 3.0 * gaps.std(ddof=1)
    around = np.hypot(np.asarray(circle["x"]) - mean[0], np.asarray(circle["y"]) - mean[1])
    np.testing.assert_allclose(around, radius, rtol=1e-6)


def test_chatter_of_a_standing_axis_is_not_magnified(result: Result, page: Seen) -> None:
    """Axis W trembles by 2 urad; its picture shows at least 0.05 deg to either side."""
    t, y = signal(result, "time_s"), DEG * signal(result, "joint_W_position_rad")
    figure = next(
        item for item in page.figures if item.traces("s", "deg", t, y) and "range" in item.layout["yaxis"]
    )
    low, high = figure.layout["yaxis"]["range"]
    assert high - low == pytest.approx(0.1)
    assert 0.5 * (low + high) == pytest.approx(0.5 * (min(y.min(), 0.0) + max(y.max(), 0.0)), abs=1e-9)


def test_thinned_curve_keeps_its_first_and_last_instant_and_every_peak() -> None:
    y = np.zeros(10_001)
    y[[3000, 7000]] = 1.0, -2.0  # single samples; the ends are like all others
    y[[1, -2]] = 0.5
    keep = thinned([y], 200)
    assert len(keep) <= 200
    assert {0, 10_000, 3000, 7000, 1, 9_999} <= set(keep.tolist())
    assert np.array_equal(keep, np.sort(keep))
