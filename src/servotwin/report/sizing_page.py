"""The page of a sizing: margins, ratings side by side, torque-speed planes, choice, what if, Pareto front."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from servotwin.description.display import RPM
from servotwin.design.sizing.evaluate import HOURS, ActuatorDemand, Check
from servotwin.design.sizing.pareto import gap_words
from servotwin.design.sizing.ratings import RatingRow, rating_rows
from servotwin.design.sizing.result import Assessment, Sizing
from servotwin.design.sizing.sized_robot import sized_text
from servotwin.report import sizing_figures as draw
from servotwin.report.files import write_bytes, write_json, write_page
from servotwin.report.labels import joint_units
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.sizing_data import csv_text, sizing_data
from servotwin.simulation.results.folder import SIZING_FILES, replaced_folder
from servotwin.version import __version__

TIGHT = 0.9  # share of a limit that is worth a colour
YEAR = 8766.0  # h
NOISE = 1e-9  # N m, N


class SizingFiles(NamedTuple):
    """Where the parts of a sizing are."""

    page: Path
    data: Path
    table: Path
    robot: Path | None = None  # with the chosen set


def write_sizing(sizing: Sizing, folder: str | Path, *, overwrite: bool = False) -> SizingFiles:
    """Write ``sizing.html``, ``sizing.json``, ``sizing.csv``, and ``sized-robot.yaml`` if a set was chosen."""
    robot = sized_text(sizing)
    with replaced_folder(folder, SIZING_FILES, overwrite=overwrite) as place:
        write_json(place / "sizing.json", sizing_data(sizing))
        write_bytes(place / "sizing.csv", csv_text(sizing).encode())
        write_page(place / "sizing.html", sizing_page(sizing))
        if robot is not None:
            write_bytes(place / "sized-robot.yaml", robot.encode())
    at = Path(folder)
    sized = None if robot is None else at / "sized-robot.yaml"
    return SizingFiles(at / "sizing.html", at / "sizing.json", at / "sizing.csv", sized)


def sizing_page(sizing: Sizing) -> str:
    """The page as HTML."""
    found = sizing.assessment
    page = Page(f"{sizing.description.name}: sizing of motors and gears", _subtitle(sizing))
    if found is not None:
        _overview(page, sizing, found)
    for note in sizing.notes:
        page.note(note)
    if sizing.worst is not None:
        _worst(page, sizing)
    if found is not None:
        _choice(page, sizing)
        _needs(page, found)
        _margins(page, found)
        _ratings(page, found)
        _planes(page, sizing, found)
        _supply(page, found)
    _questions(page, sizing)
    _front(page, sizing)
    _method(page)
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in sizing.json and sizing.csv.")


def _subtitle(sizing: Sizing) -> str:
    load = f"payload {sizing.payload:g} kg"
    if sizing.worst is not None:
        worst = sizing.worst
        return (
            f"{sizing.robot.title}. Worst case over the joint ranges: tool at up to {worst.speed:g} m/s, "
            f"{worst.acceleration:g} m/s2 in any direction, {load}."
        )
    found = sizing.assessment
    cycle = "" if found is None else f"Cycle {found.load.duty.name}, {found.load.duty.period:.4g} s, {load}. "
    what = "Drives of the robot file."
    if sizing.minimised is not None:
        what = f"Set of the catalogue with the least {sizing.minimised}."
    return f"{sizing.robot.title}. {cycle}{what}"


def _overview(page: Page, sizing: Sizing, found: Assessment) -> None:
    worst = found.worst
    cards = []
    if worst is not None:
        demand, check = worst
        cards.append(
            Card(
                "Tightest margin", _share(check.share), "", f"{demand.name}: {check.name}", _mark(check.share)
            )
        )
    hot = [d for d in found.demands if d.heating is not None]
    if hot:
        most = max(hot, key=lambda d: d.heating.winding_peak if d.heating is not None else 0.0)
        peak = most.heating.winding_peak if most.heating is not None else math.nan
        value = f"{peak:.0f}" if math.isfinite(peak) else "runs away"
        cards.append(
            Card(
                "Hottest winding", value, "degC" if math.isfinite(peak) else "", f"{most.name}, steady cycle"
            )
        )
    cards.append(
        Card("Supply", f"{found.supply.peak_power:.0f}", "W peak", f"mean {found.supply.mean_power:.0f} W")
    )
    if sizing.choice is not None:
        gap = (
            "the best for certain"
            if sizing.choice.gap == 0.0
            else f"at most {100 * sizing.choice.gap:.2g} % above the best"
        )
        cards.append(
            Card("Price", f"{found.price:.4g}", "", gap if sizing.minimised == "price" else "of the set")
        )
        cards.append(
            Card(
                "Motors and gears",
                f"{found.mass:.3g}",
                "kg",
                gap if sizing.minimised == "mass" else "of the set",
            )
        )
    lives = [d for d in found.demands if d.life_10 is not None]
    if lives:
        least = min(lives, key=lambda d: d.life_10 or math.inf)
        cards.append(Card("Shortest gear life", _hours(least.life_10), "", f"{least.name}, L10"))
    page.cards(cards)


def _hours(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    hours = seconds / HOURS
    if hours > 100.0 * YEAR:
        return "> 100 years"
    return f"{hours:,.0f} h".replace(",", " ")


def _share(share: float) -> str:
    return f"{100.0 * share:.0f} %" if share < 10.0 else "> 1000 %"


def _mark(share: float) -> str:
    return "warn" if share > 1.0 else "strong" if share > TIGHT else "good"


def _needs(page: Page, found: Assessment) -> None:
    page.section(
        "What the cycle asks",
        "At the motor shaft: torque with the inertia of rotor and gear, losses and friction; RMS over the whole cycle.",
    )
    columns = [
        "axis",
        "ratio",
        "peak [N m]",
        "RMS [N m]",
        "speed max / mean / RMS [rpm]",
        "power peak / mean [W]",
    ]
    columns += ["given back [J]", "copper [W]", "inertia ratio", "winding [degC]"]
    page.table(columns, [_need_row(d) for d in found.demands])
    columns = ["axis", "peak", "average", "held", "stop", "unit", "mean input speed [rpm]", "L10", "L50"]
    page.paragraph(
        "At the output of the gear; a stop is that by the brake, or by the motor where there is none."
    )
    page.table(columns, [_gear_row(d) for d in found.demands])
    figures = [Figure(draw.torques(found), "Torque at the outputs")]
    if any(d.heating is not None and not d.heating.runs_away for d in found.demands):
        figures.append(Figure(draw.temperatures(found), "Winding temperature in the steady cycle"))
    page.figures(figures, columns=len(figures))


def _need_row(d: ActuatorDemand) -> list[str | Cell]:
    heat = (
        "-" if d.heating is None else "runs away" if d.heating.runs_away else f"{d.heating.winding_peak:.1f}"
    )
    return [
        d.name, f"{d.actuator.gear.ratio:.4g}", f"{d.peak_torque:.3g}", f"{d.rms_torque:.3g}",
        f"{RPM * d.peak_speed:.0f} / {RPM * d.mean_speed:.0f} / {RPM * d.rms_speed:.0f}",
        f"{d.peak_power:.0f} / {d.mean_power:.1f}", f"{d.regenerated:.3g}",
        "-" if d.copper_loss is None else f"{d.copper_loss:.3g}", f"{d.inertia_ratio:.3g}", heat,
    ]  # fmt: skip


def _gear_row(d: ActuatorDemand) -> list[str | Cell]:
    stop = "-" if d.gear_stop is None else f"{d.gear_stop:.4g}"
    return [
        d.name, _effort(d.gear_peak), _effort(d.gear_average), _effort(d.gear_holding), stop,
        "N m" if d.unit == "rad" else "N", f"{RPM * d.gear_average_speed:.0f}", _hours(d.life_10), _hours(d.life_50),
    ]  # fmt: skip


def _effort(value: float) -> str:
    """A torque or force without what rounding leaves of zero."""
    return f"{value if value > NOISE else 0.0:.4g}"


def _margins(page: Page, found: Assessment) -> None:
    page.section(
        "Margins",
        f"Need over limit. Peaks are judged at {100 * found.rules.low_voltage:.0f} % of the bus voltage with a winding "
        "at its temperature limit, RMS torque by the continuous curve at the RMS speed.",
    )
    rows = [
        _check_row(d, check) for d in found.demands for check in sorted(d.checks, key=lambda c: -c.share)[:4]
    ]
    page.table(("axis", "check", "need", "limit", "unit", "share"), rows, text_columns=2)
    page.figures([Figure(draw.margins(found), "All checks")])


def _check_row(d: ActuatorDemand, check: Check) -> list[str | Cell]:
    return [
        d.name, check.name, f"{check.need:.4g}", f"{check.limit:.4g}", check.unit,
        Cell(_share(check.share), _mark(check.share)),
    ]  # fmt: skip


def _ratings(page: Page, found: Assessment) -> None:
    page.section(
        "Ratings side by side",
        "Motor shaft and gear output as their data state them; the load shaft is the motor behind a gear without loss. "
        "Speeds in turns per second.",
    )
    columns = [
        "axis",
        "item",
        "motor rated",
        "motor max",
        "load shaft rated",
        "load shaft max",
        "gear rated",
        "gear max",
    ]
    columns += ["cycle RMS", "cycle max"]
    rows = []
    for d in found.demands:
        for row in rating_rows(d.name, d.actuator):
            rows.append(_rating_cells(row, d))
    page.table(columns, rows, text_columns=2)


def _rating_cells(row: RatingRow, d: ActuatorDemand) -> list[str | Cell]:
    turning = row.item == "speed"
    sliding = d.unit == "m"
    factor = 1.0 / (2.0 * math.pi) if turning else 1.0
    outer = 1.0 if turning and sliding else factor
    n = d.actuator.gear.ratio
    duty = (d.rms_speed / n, d.peak_speed / n) if turning else (d.rms_torque * n, d.peak_torque * n)
    unit = ("turns/s, m/s" if sliding else "turns/s") if turning else ("N m, N" if sliding else "N m")
    cells = [_number(x, factor) for x in row.motor]
    cells += [_number(x, outer) for x in (*row.load, *row.gear, *duty)]
    return [row.axis, f"{row.item} [{unit}]", *cells]


def _number(value: float | None, factor: float) -> str:
    return "-" if value is None else f"{factor * value:.4g}"


def _planes(page: Page, sizing: Sizing, found: Assessment) -> None:
    page.section(
        "Torque and speed",
        "Every instant of the cycle within what the motor gives: driving above the axis, braking below. The diamond is "
        "RMS torque at RMS speed.",
    )
    figures = [
        Figure(draw.torque_speed(d, sizing.description.power, found.rules, i), f"{d.name}: {d.actuator.name}")
        for i, d in enumerate(found.demands)
    ]
    page.figures(figures, columns=2)


def _supply(page: Page, found: Assessment) -> None:
    s = found.supply
    page.section(
        "Supply and braking", "All axes on one intermediate circuit; braking axes feed driving ones first."
    )
    rows = [
        ["power of all drives, peak", f"{s.peak_power:.4g}", "W"],
        ["power from the source, mean", f"{s.mean_power:.4g}", "W"],
        ["given back to the bus in a cycle", f"{s.returned_energy:.4g}", "J"],
        ["given back, peak", f"{s.returned_peak:.4g}", "W"],
        ["room in the capacitor", "-" if s.capacitor_room is None else f"{s.capacitor_room:.4g}", "J"],
        ["into the braking resistor in a cycle", f"{s.resistor_energy:.4g}", "J"],
        ["braking resistor, mean", f"{s.resistor_power:.4g}", "W"],
        ["largest resistance that takes the peak", _number(s.largest_resistance, 1.0), "ohm"],
        ["bus voltage under the peak", "-" if s.lowest_voltage is None else f"{s.lowest_voltage:.4g}", "V"],
    ]  # fmt: skip
    page.table(("what", "value", "unit"), rows)
    if s.overflow:
        page.warning(
            "More comes back than capacitor and braking resistor can take: the bus voltage rises too far."
        )


def _choice(page: Page, sizing: Sizing) -> None:
    if sizing.choice is None or sizing.chosen is None:
        return
    page.section(
        "The set", f"Least {sizing.minimised} of all sets that keep every margin, all axes together."
    )
    rows = []
    for d in sizing.chosen.demands:
        worst = d.worst
        rows.append(
            [
                d.name, d.actuator.motor.name, d.actuator.gear.name, f"{d.actuator.gear.ratio:.4g}",
                f"{d.actuator.price:.4g}", f"{d.actuator.mass:.3g}",
                "-" if worst is None else Cell(f"{worst.name} {_share(worst.share)}", _mark(worst.share)),
            ]
        )  # fmt: skip
    page.table(("axis", "motor", "gear", "ratio", "price", "mass [kg]", "tightest"), rows, text_columns=3)
    if sizing.rejected:
        page.paragraph("What would have been better on an axis by itself, and why it is not in the set:")
        rows = [
            [r.axis, r.actuator.name, f"{r.cost:.4g}", _reason(r.check), _share(r.check.share)]
            for r in sizing.rejected
        ]
        page.table(("axis", "entry", sizing.minimised or "cost", "reason", "share"), rows, text_columns=2)


def _reason(check: Check) -> str:
    if check.share <= 1.0:
        return "fits by itself; its mass costs more elsewhere"
    return f"{check.name}: {check.need:.4g} of {check.limit:.4g} {check.unit}".rstrip()


def _questions(page: Page, sizing: Sizing) -> None:
    if not sizing.what_if:
        return
    page.section("What if")
    rows = []
    for w in sizing.what_if:
        words = (
            "nothing breaks up to there"
            if w.open
            else f"{w.axis}: {w.check.name}"
            if w.check is not None
            else "-"
        )
        value = "not even the least" if w.value is None else f"{w.value:.4g} {w.unit}"
        rows.append([w.question, value, words, "-" if w.cycle_time is None else f"{w.cycle_time:.4g} s"])
    page.table(("what", "goes up to", "breaks next", "cycle time"), rows, text_columns=3)


def _front(page: Page, sizing: Sizing) -> None:
    if not sizing.pareto:
        return
    page.section(
        "Price, mass and cycle time",
        "Sets that no other beats in all three, at six speeds from 0.7 to 1.5 times that of the cycle.",
    )
    page.figures([Figure(draw.front(sizing.pareto), "Pareto front")])
    rows = [
        [
            "; ".join(p.names),
            "yes" if p.gap == 0.0 else f"others better by {gap_words(p.gap)} at most",
            f"{p.cycle_time:.4g}",
            f"{p.price:.4g}",
            f"{p.mass:.3g}",
        ]
        for p in sorted(sizing.pareto, key=lambda p: (p.cycle_time, p.price))
    ]
    page.table(("set", "all sets found", "cycle time [s]", "price", "mass [kg]"), rows, text_columns=2)


def _worst(page: Page, sizing: Sizing) -> None:
    worst = sizing.worst
    if worst is None:
        return
    page.section("Worst case")
    rows = []
    for load in worst.loads:
        unit = "N m" if load.unit == "rad" else "N"
        pose = ", ".join(
            f"{name} {joint_units(kind).factor * x:.0f} {joint_units(kind).shown}"
            for name, kind, x in zip(
                sizing.robot.joint_names, sizing.robot.joint_units, load.output_pose, strict=True
            )
        )
        rows.append(
            [
                load.name, pose, f"{load.output_torque:.4g} {unit}", f"{load.holding_torque:.4g} {unit}",
                f"{load.motor_torque:.4g}", f"{RPM * load.motor_speed:.0f}",
                "-" if load.rms_torque is None else f"{load.rms_torque:.4g}",
                "-" if load.winding is None else f"{load.winding:.0f}",
                "-" if load.share is None else Cell(_share(load.share), _mark(load.share)),
            ]
        )  # fmt: skip
    page.table(
        (
            "axis",
            "pose",
            "gear output",
            "held against gravity",
            "motor [N m]",
            "motor [rpm]",
            "RMS [N m]",
            "winding [degC]",
            "largest share",
        ),
        rows,
        text_columns=2,
    )
    page.paragraph(
        f"RMS torque and winding temperature: in motion for {100 * worst.moving:g} % of the time, each time as hard as "
        "it can be, and holding the heaviest pose otherwise. No cycle asks for more in the poses that count. A winding "
        "gets hotter where a single motion lasts as long as its thermal time constant."
    )
    page.paragraph(
        f"{worst.poses} poses; at {100 * worst.left_out:.2g} % of them a joint would be faster than it may, so that "
        "the tool cannot have this speed in every direction. They are left out."
    )


def _method(page: Page) -> None:
    page.section("How it is computed")
    page.paragraph(
        "Torques are those of the inverse dynamics along the planned cycle, in actuator coordinates. Gears are stiff, "
        "and the controller follows exactly, as one with velocity and torque feedforward does on profiles without "
        "steps of acceleration: there the drive-level simulation agrees to 2 %. Steps of acceleration (trapezoid), "
        "or a cascade without feedforward, change its peaks by up to 25 % and RMS torques by up to 9 %: keep a reserve "
        "of 1.25, or simulate. "
        "Motors that the arm carries load the axes before them. Theory: docs/theory/sizing.md."
    )
