"""The report on a simulated run: one page that opens offline."""

from __future__ import annotations

from html import escape
from typing import Any

from servotwin import __version__
from servotwin.report import simulation_figures_drives as drives
from servotwin.report import simulation_figures_energy as supply
from servotwin.report import simulation_figures_motion as motion
from servotwin.report import simulation_figures_zoom as fine
from servotwin.report import simulation_tables as tables
from servotwin.report.page import Card, Figure, Page
from servotwin.report.simulation_view import View, view
from servotwin.simulation.result import Result


def simulation_page(result: Result) -> str:
    """The page as HTML."""
    shown = view(result)
    page = Page(result.scenario.title or result.scenario.name, _subtitle(shown))
    _messages(page, shown)
    page.cards(_cards(shown))
    _joints(page, shown)
    _tip(page, shown)
    _motors(page, shown)
    _supply(page, shown)
    _switching(page, shown)
    _happened(page, shown)
    _origins(page, shown)
    files = "summary.json and signals.parquet" + (", zoom.parquet" if result.zoom else "")
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in {files}, in SI units.")


def _subtitle(shown: View) -> str:
    result, numbers = shown.result, shown.result.summary
    title = result.robot.title or result.robot.name
    drive = {"switched": "with every edge of the PWM", "averaged": "with the mean voltage of the PWM"}
    return (
        f"{title}: {shown.duration:.3g} s, {numbers.get('method', '')} solver "
        f"{drive.get(str(numbers.get('pwm', '')), '')}."
    )


def _messages(page: Page, shown: View) -> None:
    """What a reader must know before anything else."""
    lines = [str(line) for line in shown.result.summary.get("warnings", [])]
    if not shown.result.complete:
        end = float(shown.t[-1])
        lines.insert(0, f"The run did not come to its end: everything here stops at {end:.4g} s.")
    for text in lines:
        page.fragment(f'<p class="note" style="border-left-color: var(--warn)">{escape(text)}</p>')


def _cards(shown: View) -> list[Card]:
    numbers = shown.result.summary
    cards = []
    factor = _number(numbers, "real_time_factor")
    if factor is not None:
        speed = f"{numbers['simulated_s']:.3g} s in {numbers['wall_s']:.2g} s"
        cards.append(Card("Faster than real time", f"{factor:.3g}", "times", speed))
    final, most = _number(numbers, "tip_error_final_m"), _number(numbers, "tip_error_max_m")
    if final is not None:
        remark = "" if most is None else f"{1e3 * most:.3g} mm at most on the way"
        value, unit = _length(final)
        cards.append(Card("Tip error at rest", value, unit, remark))
    cards += _torque_card(numbers)
    if "settling_s" in numbers:
        settled = _number(numbers, "settling_s")
        band = _number(numbers, "settling_band_m")
        within = "" if band is None else f" to {1e3 * band:.3g} mm"
        if settled is None:
            cards.append(Card("Settling", "-", "", f"did not settle{within}", "warn"))
        else:
            cards.append(Card("Settling", f"{1e3 * settled:.0f}", "ms", f"after the command ends{within}"))
    balance = _number(numbers.get("energy", {}), "balance_error_relative")
    if balance is not None:
        mark = "good" if abs(balance) < 1e-6 else "warn"
        cards.append(
            Card("Energy balance", f"{abs(balance):.0e}", "", "of the energy moved is unaccounted for", mark)
        )
    return cards


def _torque_card(numbers: dict[str, Any]) -> list[Card]:
    """The motor that is used most against what it gives at most, or else against its rating."""
    for key, word in (("peak_rating_N_m", "the peak"), ("rated_torque_N_m", "the rated")):
        rated = [axis for axis in numbers.get("axes", []) if axis.get(key)]
        if rated:
            worst = max(rated, key=lambda axis: float(axis["peak_torque_N_m"] / axis[key]))
            share = worst["peak_torque_N_m"] / worst[key]
            mark = "warn" if share > 1.0 + 1e-9 else "good"
            remark = f"motor {worst['motor']}, {100 * share:.0f}\u00a0% of {word} torque"
            return [Card("Highest torque", f"{worst['peak_torque_N_m']:.3g}", "N m", remark, mark)]
    return []


def _number(numbers: dict[str, Any], key: str) -> float | None:
    value = numbers.get(key)
    return float(value) if isinstance(value, int | float) else None


def _length(metres: float) -> tuple[str, str]:
    if abs(metres) < 1e-7:
        return "< 0.1", "µm"
    return (f"{1e6 * metres:.2g}", "µm") if abs(metres) < 1e-5 else (f"{1e3 * metres:.3g}", "mm")


def _joints(page: Page, shown: View) -> None:
    page.section("Joints", "What was commanded (dotted), and what the arm did.")
    moving = set(shown.moving)
    order = sorted(range(shown.joint_count), key=lambda i: i not in moving)
    figures = [_joint_figure(shown, i) for i in order]
    first = 1 if len(moving) == 1 else len(figures) % 2  # so that no place beside a figure stays empty
    if first:
        page.figures(figures[:first])
    if figures[first:]:
        page.figures(figures[first:], columns=3 if len(figures[first:]) % 3 == 0 else 2)
    page.figures(
        [Figure(motion.following_error(shown), "Following error", "Commanded minus actual position")]
    )


def _joint_figure(shown: View, i: int) -> Figure:
    caption = "" if i in shown.moving else "Commanded to stand still"
    return Figure(motion.joint_motion(shown, i), f"Joint {shown.result.joints[i]}", caption)


def _tip(page: Page, shown: View) -> None:
    page.section(
        "Tip",
        "Where the tool is against where the commanded joint positions would put it. Along its path the "
        "error is lateness; across, it is a wrong path.",
    )
    page.figures(
        [
            Figure(motion.tip_path(shown), "Path from above"),
            Figure(motion.tip_error(shown), "Error in base axes"),
            Figure(motion.tip_path_error(shown), "Error along and across the path"),
            Figure(motion.settling(shown), "Settling", "The scale shows the end; larger errors leave it"),
        ],
        columns=2,
    )


def _motors(page: Page, shown: View) -> None:
    page.section(
        "Motors",
        "Torque in the air gap. The shaded band is what a motor gives continuously; coloured columns are "
        "times at a limit.",
    )
    names = shown.result.motors
    order = sorted(range(len(names)), key=lambda i: -_use(shown, names[i]))
    figures = [Figure(drives.motor_torque(shown, i, 340), f"Motor {names[i]}: torque") for i in order[:1]]
    page.figures(figures)
    rest = [Figure(drives.motor_torque(shown, i), f"Motor {names[i]}: torque") for i in order[1:]]
    if rest:
        page.figures(rest, columns=min(3, len(rest)))
    page.table(tables.MOTOR_COLUMNS, [tables.motor_row(shown, name) for name in names])
    page.note(
        "Marked are peaks against what motor and drive give at most, RMS torques and speeds against ratings."
    )
    planes = [Figure(drives.torque_speed(shown, i), f"Motor {names[i]}: torque and speed") for i in order]
    page.figures(planes, columns=2 if len(planes) > 1 else 1)
    page.section("Currents and temperatures")
    known = [i for i in order if f"motor_{names[i]}_current_A" in shown.result.signals]
    figures = [Figure(drives.currents(shown, i), f"Motor {names[i]}: current") for i in known]
    if figures:
        page.figures(figures, columns=2 if len(figures) > 1 else 1)
    page.figures([Figure(drives.temperatures(shown), "Windings")])


def _use(shown: View, name: str) -> float:
    """How much of its rating a motor uses; motors without a rating come last."""
    axis = shown.axis(name)
    rated = axis.get("rated_torque_N_m") or shown.peak_rating(name)
    return float(axis.get("peak_torque_N_m", 0.0) / rated) if rated else 0.0


def _supply(page: Page, shown: View) -> None:
    page.section("Supply", "What the drives take from the source; negative where motors give back.")
    page.figures(
        [
            Figure(supply.power(shown), "Power"),
            Figure(supply.bus_voltage(shown), "Bus voltage"),
            Figure(supply.energy(shown), "Energy"),
        ],
        columns=3,
    )
    numbers = shown.result.summary.get("energy")
    if numbers:
        caption = "From the start to the end of the run: losses in orange, change of what is stored in blue"
        page.figures([Figure(supply.energy_bars(numbers), "Where the energy went", caption)])


def _switching(page: Page, shown: View) -> None:
    if not shown.result.zoom:
        return
    start, end = fine.span(shown)
    page.section(
        "Switching",
        f"{1e6 * (end - start):.0f} µs from t = {start:.6g} s, edge by edge: where command and carrier cross, "
        "the bridge switches, and the current follows the voltage through the inductance.",
    )
    names = shown.result.motors
    motors = fine.zoomed_motors(shown)
    figures = [Figure(fine.switching(shown, i), f"Motor {names[i]}") for i in motors]
    page.figures(figures, columns=2 if len(figures) > 1 else 1)


def _happened(page: Page, shown: View) -> None:
    rows = tables.event_rows(shown)
    page.section("Limits and events")
    if not rows:
        page.paragraph("No limit was met, and nothing else happened.")
        return
    page.table(("from", "to", "axis", "what"), rows[: tables.MOST_EVENTS], text_columns=4)
    if len(rows) > tables.MOST_EVENTS:
        page.note(f"{len(rows) - tables.MOST_EVENTS} more are in summary.json.")


def _origins(page: Page, shown: View) -> None:
    page.section("How it was computed")
    page.table(("what", "value"), tables.run_rows(shown), text_columns=2)
    differences = tables.plant_rows(shown)
    if differences:
        page.details(
            f"{len(differences)} values differ in truth from what the controller believes"
            if len(differences) > 1
            else "One value differs in truth from what the controller believes",
            ("field", "believed", "true"),
            differences,
        )
    assumed = shown.description.assumptions()
    if assumed:
        page.details(
            f"{len(assumed)} values of the robot file are assumed", ("field", "value", "why"), assumed
        )
    for name, citation in shown.description.references.items():
        page.paragraph(f"[{name}] {citation}")
