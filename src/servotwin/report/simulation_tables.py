"""Tables of the report on a simulated run."""

from __future__ import annotations

from typing import Any

from servotwin.description.display import BAR, GRAMS, LITRES_PER_MINUTE, MS, PERCENT, RPM
from servotwin.report.page import Cell
from servotwin.report.simulation_view import View
from servotwin.simulation.results.limits_met import excess_size
from servotwin.simulation.results.window_counts import window_words

MOST_EVENTS = 60
SENSIBLE = 1e5  # values and percentages beyond are those of a run that diverged
STUCK = "stuck"  # kind of an interval in which friction holds a shaft
MOTOR_COLUMNS = (
    "motor",
    "peak torque [N\u00a0m]",
    "RMS torque [N\u00a0m]",
    "rated torque [N\u00a0m]",
    "peak\u00a0/ limit",
    "RMS\u00a0/ rated",
    "peak speed [rpm]",
    "speed\u00a0/ limit",
    "peak current [A]",
    "RMS current [A]",
    "winding [°C]",
    "largest following error",
    "settled after [ms]",
    "error at the end",
)


def motor_row(shown: View, name: str) -> list[str | Cell]:
    """What one motor gave and how far its joint was off."""
    axis = shown.axis(name)
    if shown.is_hydraulic(name):  # its force and speed stand with its pressures
        axis = {key: value for key, value in axis.items() if key.startswith("joint")}
    peak = shown.peak_rating(name) if axis.get("motor") else None
    return [
        Cell(name, "strong"),
        _value(axis, "peak_torque_N_m", ".3f"),
        _value(axis, "rms_torque_N_m", ".3f"),
        _value(axis, "rated_torque_N_m", ".3f"),
        _share(axis.get("peak_torque_N_m"), peak),
        _share(axis.get("rms_torque_N_m"), axis.get("rated_torque_N_m")),
        _value(axis, "peak_speed_rad_per_s", ".0f", RPM),
        # the rated speed is where the rated output is stated; what may not be exceeded is the largest one
        _share(
            axis.get("peak_speed_rad_per_s"),
            axis.get("max_speed_rad_per_s") or axis.get("rated_speed_rad_per_s"),
        ),
        _value(axis, "peak_current_A", ".2f"),
        _value(axis, "rms_current_A", ".2f"),
        _value(axis, "peak_winding_temperature_degC", ".1f"),
        _joint_length(shown, axis, "joint_error_max"),
        _value(axis, "joint_settling_s", ".0f", MS),
        _joint_length(shown, axis, "joint_error_final"),
    ]


HYDRAULIC_COLUMNS = (
    "axis",
    "chamber A [bar]",
    "chamber B [bar]",
    "largest force [N, N m]",
    "largest speed [m/s, rad/s]",
    "valve at most [%]",
    "at rated current [ms]",
    "cavitated [ms]",
)


def hydraulic_rows(shown: View) -> list[list[str | Cell]]:
    """Extremes of every hydraulic axis."""
    numbers = shown.result.summary.get("hydraulics") or {"axes": []}
    rows: list[list[str | Cell]] = []
    for one in numbers["axes"]:
        axis = shown.axis(one["motor"])
        cavitated = MS * one["cavitated_s"]
        rows.append(
            [
                Cell(one["motor"], "strong"),
                f"{BAR * one['pressure_a_min_Pa']:.1f} to {BAR * one['pressure_a_max_Pa']:.1f}",
                f"{BAR * one['pressure_b_min_Pa']:.1f} to {BAR * one['pressure_b_max_Pa']:.1f}",
                *_force_and_speed(axis),
                f"{PERCENT * one['valve_opening_max']:.1f}",
                f"{MS * one['valve_at_rated_current_s']:.0f}",
                Cell(f"{cavitated:.1f}" if cavitated else "-", "warn" if cavitated else ""),
            ]
        )
    return rows


def _force_and_speed(axis: dict[str, Any]) -> tuple[str, str]:
    """Largest force and speed of a piston, torque and speed of a hydraulic motor, with their units."""
    if "peak_force_N" in axis:
        return _value(axis, "peak_force_N", ".1f") + " N", _value(axis, "peak_speed_m_per_s", ".4f") + " m/s"
    speed = _value(axis, "peak_speed_rad_per_s", ".3f")
    return _value(axis, "peak_torque_N_m", ".3f") + " N m", f"{speed} rad/s"


def oil_words(shown: View) -> str:
    """What became of the supply and of the oil, in a sentence; empty without hydraulic axes."""
    numbers = shown.result.summary.get("hydraulics")
    if not numbers:
        return ""
    low, high = (BAR * numbers[f"supply_pressure_{end}_Pa"] for end in ("min", "max"))
    supply = (
        f"Supply {low:.1f} to {high:.1f} bar" if high - low > 0.05 else f"Supply constant at {high:.1f} bar"
    )
    relief = LITRES_PER_MINUTE * numbers["relief_flow_max_m3_per_s"]
    text = f"{supply}; {GRAMS * numbers['from_supply_kg']:.1f} g of oil from it"
    text += f", at most {relief:.2f} L/min over the relief valve" if relief else ""
    return f"{text}; {abs(numbers['mass_error_relative']):.0e} of the oil moved is unaccounted for."


def _value(axis: dict[str, Any], key: str, pattern: str, factor: float = 1.0) -> str:
    value = axis.get(key)
    if value is None:
        return "-"
    return format(factor * value, pattern) if abs(factor * value) < SENSIBLE else f"> {SENSIBLE:.0f}"


def _share(value: float | None, limit: float | None) -> Cell:
    if value is None or not limit:
        return Cell("-")
    share = value / limit
    text = f"{100 * share:.0f}" if abs(100 * share) < SENSIBLE else f"> {SENSIBLE:.0f}"
    return Cell(f"{text}\u00a0%", "warn" if share > 1.0 + 1e-9 else "good")


def _joint_length(shown: View, axis: dict[str, Any], key: str) -> str:
    """An error of a joint in the unit people use."""
    value, joint = axis.get(key), axis.get("joint")
    if value is None or joint not in shown.result.joints:
        return "-"
    unit = shown.units(shown.result.joints.index(joint))
    text = f"{unit.factor * value:.4f}"
    return f"{text if text.strip('-0.') else '0.0000'}\u00a0{unit.shown}"


def event_rows(shown: View) -> list[list[str | Cell]]:
    """Times at limits and single events, in the order of time; a shaft at rest, which is neither, has one row."""
    rows: list[tuple[float, list[str | Cell]]] = []
    limits = set()
    for name in shown.result.motors:
        met = shown.limits_met(name)
        sizes = {entry["kind"]: excess_size(entry) for entry in shown.axis(name).get("exceeded", [])}
        stuck = [entry for entry in met if entry[0] == STUCK]
        if stuck:
            whole = (STUCK, stuck[0][1], stuck[-1][2], sum(entry[3] for entry in stuck))
            met = [*(entry for entry in met if entry[0] != STUCK), whole]
        for kind, start, end, times in met:
            limits.add((name, kind))
            what = f"{kind}, {times} times" if times > 1 else kind
            what += f"; at most {sizes[kind]}" if kind in sizes else ""
            rows.append((start, [f"{start:.4f} s", f"{end:.4f} s", Cell(name, "strong"), what]))
    for event in shown.result.events:
        if (event.axis, event.what) not in limits:  # stands there with its end already
            row: list[str | Cell] = [f"{event.time_s:.4f} s", "", Cell(event.axis, "strong"), event.what]
            rows.append((event.time_s, row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def run_rows(shown: View) -> list[list[str | Cell]]:
    """Scenario, solver and its speed."""
    result, numbers = shown.result, shown.result.summary
    scenario = result.scenario
    rows: list[tuple[str, str]] = [
        ("scenario", str(scenario.path or scenario.name)),
        ("robot", result.robot.name),
    ]
    rows += [("changed", f"{field} = {value}") for field, value in scenario.set.items()]
    if numbers.get("start"):
        rows.append(("start", str(numbers["start"]["state"])))
    names = {
        "method": "solver",
        "pwm": "PWM",
        "seed": "seed of the noise",
        "intervals_per_current_period_max": "most intervals in a current period",
    }
    rows += [(label, str(numbers[key])) for key, label in names.items() if numbers.get(key) is not None]
    rows += _window_rows(numbers.get("windows"))
    times = {
        "wall_s": "time to simulate",
        "planning_s": "time to plan the motion",
        "compile_s": "time to compile before it",
    }
    for key, label in times.items():
        if numbers.get(key) is not None:
            rows.append((label, f"{numbers[key]:.3g} s"))
    rows.append(("recorded", f"{len(shown.t)} instants, {len(result.signals)} signals"))
    return [[Cell(label, "strong"), text] for label, text in rows]


def _window_rows(windows: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Windows by what carried them, and those that were left to the steps from edge to edge."""
    if not windows:
        return []
    kinds = ", ".join(f"{name} {count}" for name, count in windows["carried"].items())
    rows = [("windows", kinds)] if kinds else []
    words = window_words(windows)
    return [*rows, ("handed over", words)] if words else rows


def plant_rows(shown: View) -> list[list[str | Cell]]:
    """Fields that are different in truth: what the controller believes, and what is true."""
    tree = shown.description.tree
    known = {path: node.plain() for path, node in tree.walk()} if tree is not None else {}
    changes = shown.result.scenario.plant_set
    return [[field, str(known.get(field, "-")), str(value)] for field, value in changes.items()]
