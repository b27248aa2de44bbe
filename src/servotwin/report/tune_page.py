"""The page of a tuning: gains, margins, frequency and step responses; and the same as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.tuning.gains import Gains, float_gains
from servotwin.control.tuning.loop_warnings import RUNNING
from servotwin.control.tuning.loops import Loop
from servotwin.description.controller_parts import Margins
from servotwin.description.display import DEG, MS
from servotwin.design.tuning import AxisTuning, Case, Tuning
from servotwin.report.files import write_json, write_page
from servotwin.report.labels import finite, joint_units, plain_unit, titled, unit_key
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.tune_modes import modes_data, modes_section
from servotwin.simulation.results.folder import TUNE_FILES, replaced_folder
from servotwin.version import __version__

GAIN_UNITS = {
    "position": "1/s",
    "position_integral": "1/s^2",
    "speed_proportional": "A*s/rad",
    "speed_integral": "A/rad",
    "current_proportional": "V/A",
    "current_integral": "V/(A*s)",
}
_SHOWN = ("position", "speed_proportional", "speed_integral", "current_proportional", "current_integral")
_ROUNDING = 0.05  # an integer gain further from the float one than this is worth a colour


class TuneFiles(NamedTuple):
    """Where the parts of a tuning are."""

    page: Path
    summary: Path


def write_tune_report(
    tuning: Tuning,
    folder: str | Path,
    progress: Callable[[str], None] = lambda step: None,
    *,
    overwrite: bool = False,
) -> TuneFiles:
    """Write ``tuning.html`` and ``tuning.json``; ``progress`` hears of every step.

    ``overwrite``: as in ``write_result``.
    """
    with replaced_folder(folder, TUNE_FILES, overwrite=overwrite) as place:
        progress("drawing the figures")
        page = tune_page(tuning)
        progress("writing the files")
        write_page(place / "tuning.html", page)
        write_json(place / "tuning.json", tuning_data(tuning))
    return TuneFiles(Path(folder) / "tuning.html", Path(folder) / "tuning.json")


def tuning_data(tuning: Tuning) -> dict[str, Any]:
    """The tuning as plain data in SI units, units in the names of the keys."""
    joints = zip(tuning.robot.joint_names, tuning.robot.joint_units, strict=True)
    keys = [unit_key(name, unit) for name, unit in joints]
    return {
        "robot": tuning.robot.name,
        "pose": dict(zip(keys, tuning.q.tolist(), strict=True)),
        "payload_kg": tuning.payload,
        "payload_max_kg": tuning.payload_max,
        "current_bandwidth_rad_per_s": tuning.current_bandwidth,
        "speed_bandwidth_rad_per_s": tuning.speed_bandwidth,
        "position_bandwidth_1_per_s": tuning.position_bandwidth,
        "speed_integral_time_s": tuning.integral_time,
        "axis_period_s": tuning.timing.T_axis,
        "speed_period_s": tuning.timing.T_speed,
        "current_period_s": tuning.timing.T_current,
        "axes": [_axis_data(axis, keys) for axis in tuning.axes],
        "modes": modes_data(tuning),
        "poses_left_out": tuning.poses.left_out,
        "remarks": list(tuning.remarks),
        "warnings": list(tuning.warnings),
    }


def _axis_data(axis: AxisTuning, keys: list[str]) -> dict[str, Any]:
    return {
        "motor": axis.motor,
        "gains": {unit_key(name, GAIN_UNITS[name]): value for name, value in asdict(axis.gains).items()},
        "valve": _valve_data(axis),
        "integers_over_256": asdict(axis.integers) if axis.integers is not None else None,
        "level": axis.level,
        "speed_period_s": axis.timing.T_speed,
        "speed_command": None
        if axis.command is None
        else {
            "voltage_V": axis.command.voltage,
            "speed_rad_per_s": axis.command.speed,
            "step_rad_per_s": axis.command.step,
        },
        "loads": [
            {
                "load": case.load,
                "inertia_kg_m2": case.at.J,
                "payload_kg": case.at.payload,
                "regularity": case.at.regularity,
                "pose": dict(zip(keys, case.at.q.tolist(), strict=True)),
                "loops": [_loop_data(loop) for loop in case.loops.all],
            }
            for case in axis.cases
        ],
    }


def _valve_data(axis: AxisTuning) -> dict[str, Any] | None:
    valve = axis.valve
    if valve is None:
        return None
    return {
        "current_per_speed_A_s_per_m": valve.flow_share,
        "pressure_gain_A_per_Pa": valve.pressure_gain,
        "pressure_corner_rad_per_s": valve.pressure_corner,
        "natural_frequency_rad_per_s": valve.natural_frequency,
        "damping": valve.damping,
        "flow_gain_m3_per_s_A": valve.flow_gain,
        "stroke": [
            {
                "load": case.load,
                "position_m": case.position,
                "natural_frequency_rad_per_s": case.model.natural_frequency,
                "damping": case.model.damping,
                "pressure_gain_A_per_Pa": case.model.pressure_gain,
                "loops": [_loop_data(loop) for loop in case.loops.all],
            }
            for case in axis.stroke
        ],
    }


def _loop_data(loop: Loop) -> dict[str, Any]:
    return {
        "loop": loop.name,
        "stable": loop.stable,
        "phase_margin_rad": finite(loop.phase_margin),
        "gain_margin": finite(loop.gain_margin),
        "crossover_rad_per_s": finite(loop.crossover),
        "bandwidth_rad_per_s": finite(loop.bandwidth),
    }


def tune_page(tuning: Tuning) -> str:
    """The page as HTML."""
    page = Page(
        f"{tuning.robot.name}: gains and margins of the servo loops",
        f"{tuning.robot.title}. Current loop {tuning.current_bandwidth:g} rad/s, speed loop "
        f"{tuning.speed_bandwidth:g} rad/s with an integral time of {MS * tuning.integral_time:.3g} ms, "
        f"position loop {tuning.position_bandwidth:g} 1/s; designed at {_pose(tuning)} with "
        f"{tuning.payload:g} kg, checked up to {tuning.payload_max:g} kg.",
    )
    _overview(page, tuning)
    if tuning.warnings:
        page.section("Warnings")
        page.table(("what is wrong",), [[Cell(line, "warn")] for line in tuning.warnings])
    _gains(page, tuning)
    _margins(page, tuning)
    modes_section(page, tuning)
    for axis in tuning.axes:
        _axis(page, axis)
    _method(page, tuning)
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in tuning.json.")


def _pose(tuning: Tuning) -> str:
    units = [joint_units(unit) for unit in tuning.robot.joint_units]
    parts = zip(tuning.robot.joint_names, units, tuning.q, strict=True)
    return ", ".join(f"{name} {unit.factor * value:.4g} {unit.shown}" for name, unit, value in parts)


def _overview(page: Page, tuning: Tuning) -> None:
    loops = [
        (axis, case.load, loop) for axis in tuning.axes for case in axis.cases for loop in case.loops.all
    ]
    loops += [
        (axis, f"{case.load}, piston at {1e3 * case.position:.4g} mm", loop)
        for axis in tuning.axes
        for case in axis.stroke
        for loop in case.loops.all
    ]
    cards = []
    for name in (name for name in RUNNING if any(item[2].name == name for item in loops)):
        axis, load, loop = min(
            (item for item in loops if item[2].name == name),
            key=lambda item: (item[2].stable, _or_infinite(item[2].phase_margin)),
        )
        if loop.stable and loop.phase_margin is None:
            continue  # its gain never reaches one: a pressure feedback of zero
        remark = f"least of the {name} loops: {axis.motor}, {load}"
        value, unit = (_degrees(loop), "deg") if loop.stable else ("unstable", "")
        cards.append(Card(f"Phase margin, {name}", value, unit, remark, _mark(loop, _limits(tuning))))
    axis = max(tuning.axes, key=_spread)
    remark = f"heaviest over lightest inertia: {axis.motor}"
    cards.append(Card("Change of the load", f"{_spread(axis):.2f}", "", remark))
    page.cards(cards)


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def _spread(axis: AxisTuning) -> float:
    return axis.case("heaviest").at.J / axis.case("lightest").at.J


def _degrees(loop: Loop) -> str:
    return "-" if loop.phase_margin is None else f"{DEG * loop.phase_margin:.0f}"


def _mark(loop: Loop, margins: Margins) -> str:
    low = loop.phase_margin is not None and loop.phase_margin < margins.phase
    return "warn" if low or not loop.stable else "good"


def _gain_cell(loop: Loop, margins: Margins) -> str | Cell:
    if loop.gain_margin is None:
        return "-"
    return Cell(f"{loop.gain_margin:.2f}", "warn" if loop.gain_margin < margins.gain else "")


def _gains(page: Page, tuning: Tuning) -> None:
    page.section("Gains", "At the motor side: motor angle and speed, motor current, voltage at the winding.")
    columns = ["axis", *(f"{name.replace('_', ' ')} [{plain_unit(GAIN_UNITS[name])}]" for name in _SHOWN)]
    units = {"speed_proportional": " A s/m", "speed_integral": " A/m"}
    rows = [
        [
            axis.motor,
            *(
                f"{getattr(axis.gains, name):.4g}{units.get(name, '') if axis.motor in tuning.cylinders else ''}"
                for name in _SHOWN
            ),
        ]
        for axis in tuning.axes
    ]
    page.table(columns, rows)
    _valves(page, tuning)
    _commands(page, tuning)
    fixed = [axis for axis in tuning.axes if axis.integers is not None]
    if not fixed:
        return
    page.paragraph(
        "As integers over 256: position error in encoder counts, speed error in counts per speed period, current "
        "in 1/32768 of the driver's limit, voltage in 1/32768 of the bus. Integral parts add up once per period; the "
        "speed loop itself computes in sixteenths of a count. "
        "An integer that is more than 5 % away from its gain is marked."
    )
    page.table(["axis", *(name.replace("_", " ") for name in _SHOWN)], [_integer_row(axis) for axis in fixed])


def _valves(page: Page, tuning: Tuning) -> None:
    """The linear model of every hydraulic axis, and what its driver does besides the loops."""
    valves = [(axis.motor, axis.valve) for axis in tuning.axes if axis.valve is not None]
    if not valves:
        return
    page.paragraph(
        "Servovalves: the innermost loop is that of the pressure feedback; without one "
        "it has no margins. The commanded speed goes to the valve at once; what the gains above add is a correction."
    )
    columns = [
        "axis", "current per speed", "pressure feedback [mA/bar]", "corner [rad/s]",
        "oil and load [rad/s]", "damping", "flow gain K_q [L/(min mA)]", "valve [rad/s]",
    ]  # fmt: skip
    rows = [
        [
            motor, f"{valve.flow_share:.4g} A s/{'m' if motor in tuning.cylinders else 'rad'}",
            f"{1e8 * valve.pressure_gain:.4g}", f"{valve.pressure_corner:.4g}",
            f"{valve.natural_frequency:.4g}", f"{valve.damping:.3g}", f"{60.0 * valve.flow_gain:.4g}",
            f"{valve.valve_frequency:.4g}",
        ]
        for motor, valve in valves
    ]  # fmt: skip
    page.table(columns, rows)


def _commands(page: Page, tuning: Tuning) -> None:
    currents = [axis.motor for axis in tuning.axes if axis.command is None]
    if currents:
        page.paragraph(
            f"The servo drivers of {', '.join(currents)} take a current: the axis controller closes their speed loops, "
            "with the position loops."
        )
    commands = [(axis.motor, axis.command) for axis in tuning.axes if axis.command is not None]
    if not commands:
        return
    page.paragraph(
        "The axis controller hands its speed command to the servo driver as a voltage: the largest voltage means the "
        "largest speed, and the converters round it to steps."
    )
    columns = ["axis", "range [V]", "largest speed [rad/s]", "one step [rad/s]"]
    rows = []
    for motor, c in commands:
        unit = " m/s" if motor in tuning.cylinders else ""
        step = "-" if c.step is None else f"{c.step:.4g}{unit}"
        rows.append([motor, f"{c.voltage:g}", f"{c.speed:.4g}{unit}", step])
    page.table(columns, rows)


def _integer_row(axis: AxisTuning) -> list[str | Cell]:
    if axis.integers is None or axis.scaling is None:
        return [axis.motor]
    back: Gains = float_gains(axis.integers, axis.scaling)
    cells: list[str | Cell] = [axis.motor]
    for name in _SHOWN:
        wanted, got = getattr(axis.gains, name), getattr(back, name)
        coarse = abs(got - wanted) > _ROUNDING * abs(wanted)
        cells.append(Cell(str(getattr(axis.integers, name)), "warn" if coarse else ""))
    return cells


def _margins(page: Page, tuning: Tuning) -> None:
    page.section(
        "Margins",
        "Lightest: empty, in the pose of least inertia, the other motors let go. Heaviest: full payload, in the "
        "pose of largest inertia, the other motors held. A gain margin is the factor on the loop's gain at which "
        "it starts to oscillate.",
    )
    names = ("current", "speed", "position")
    columns = ["axis", "load", "inertia at the motor [kg m2]"]
    columns += [f"phase margin, {name} [deg]" for name in names]
    columns += [f"gain margin, {name}" for name in names]
    columns += [f"crossover, {name} [rad/s]" for name in names]
    rows = [_margin_row(axis, case, tuning) for axis in tuning.axes for case in axis.cases]
    page.table(columns, rows, text_columns=2)
    _over_stroke(page, tuning)
    for line in tuning.remarks:
        page.paragraph(line)


def _limits(tuning: Tuning) -> Margins:
    return controller_of(tuning.description).margins


def _over_stroke(page: Page, tuning: Tuning) -> None:
    """Where the piston stands decides about the oil: least margins of all loads at every position."""
    for axis in tuning.axes:
        if not axis.stroke:
            continue
        page.paragraph(
            f"{axis.motor} over its stroke: the oil is softest about mid stroke and stiffest at the ends. Least "
            "margins of all three loads; frequency and damping of oil and load with the design load, without feedback."
        )
        columns = ["piston [mm]", "oil and load [rad/s]", "damping", "pressure feedback [mA/bar]"]
        columns += [f"{what} margin, {name}" for name in RUNNING[1:] for what in ("phase", "gain")]
        rows: list[list[str | Cell]] = []
        for design in (case for case in axis.stroke if case.load == "design"):
            there = [case.loops for case in axis.stroke if case.position == design.position]
            row: list[str | Cell] = [
                f"{1e3 * design.position:.4g}", f"{design.model.natural_frequency:.4g}",
                f"{design.model.damping:.3g}", f"{1e8 * design.model.pressure_gain:.4g}",
            ]  # fmt: skip
            for k in range(3):
                least = min((loops.all[k] for loops in there), key=_least_phase)
                row.append(
                    Cell(_degrees(least) if least.stable else "unstable", _mark(least, _limits(tuning)))
                )
                least = min(
                    (loops.all[k] for loops in there), key=lambda loop: _or_infinite(loop.gain_margin)
                )
                row.append(_gain_cell(least, _limits(tuning)))
            rows.append(row)
        page.table(columns, rows)


def _least_phase(loop: Loop) -> tuple[bool, float]:
    return loop.stable, _or_infinite(loop.phase_margin)


def _margin_row(axis: AxisTuning, case: Case, tuning: Tuning) -> list[str | Cell]:
    loops, cylinders, limits = case.loops.all, tuning.cylinders, _limits(tuning)
    phases = [Cell(_degrees(loop) if loop.stable else "unstable", _mark(loop, limits)) for loop in loops]
    gains = [_gain_cell(loop, limits) for loop in loops]
    crossovers = ["-" if loop.crossover is None else f"{loop.crossover:.0f}" for loop in loops]
    inertia = f"{case.at.J:.3g}{' kg' if axis.motor in cylinders else ''}"
    return [axis.motor, case.load, inertia, *phases, *gains, *crossovers]


def _axis(page: Page, axis: AxisTuning) -> None:
    from servotwin.report import tune_figures as draw

    page.section(titled("Axis", axis.motor))
    figure = Figure(
        draw.bode(axis),
        "Open loops",
        "Each with the ones inside it closed. Dotted: lightest load; dashed: heaviest. Dots: gain one, where "
        "the phase is closest to -180 deg.",
    )
    page.figures([figure])
    page.figures(
        [
            Figure(draw.steps(axis, name), f"Step of the {name} reference")
            for name in (
                ("speed", "position") if axis.valve is not None else ("current", "speed", "position")
            )
        ],
        columns=2 if axis.valve is not None else 3,
    )


def _method(page: Page, tuning: Tuning) -> None:
    timing = tuning.timing
    page.section("How it is computed")
    page.paragraph(
        f"Sampling is part of it: current loop every {MS * timing.T_current:g} ms with the voltage held and "
        f"{timing.current_delay} periods of computation, speed loop every {MS * timing.T_speed:g} ms on pulses "
        f"counted over one period, position loop every {MS * timing.T_axis:g} ms; where a driver takes a current, the "
        "speed loop runs with the position loop. Current and speed loop are exact; "
        "the position loop keeps the fundamental of the changing age of its command, and whether it is stable is "
        "decided by the exact map over one beat of all clocks. No friction but the viscous one, no limits, "
        "no quantisation."
    )
