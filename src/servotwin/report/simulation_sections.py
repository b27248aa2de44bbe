"""The sections that every report on a simulated run has: joints, tip, motors, supply, switching, events, origins."""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.description.display import MM, MS, US
from servotwin.report import simulation_figures_drives as drives
from servotwin.report import simulation_figures_energy as supplies
from servotwin.report import simulation_figures_hydraulic as oil
from servotwin.report import simulation_figures_motion as motion
from servotwin.report import simulation_figures_zoom as fine
from servotwin.report import simulation_tables as tables
from servotwin.report.labels import titled
from servotwin.report.page import Figure, Page
from servotwin.report.simulation_view import View
from servotwin.simulation.results.limits_met import bus_words
from servotwin.simulation.results.repeatability import visits_of
from servotwin.simulation.results.summary import mixed_commands

LEAST_ROWS = 2  # fewer are no line
PWM = {"switched": "with every edge of the PWM", "averaged": "with the mean voltage of the PWM"}


def drive_sections(page: Page, shown: View) -> None:
    """Everything about arm and drives; without figures if there is nothing that one could show."""
    if len(shown.t) >= LEAST_ROWS:
        joints(page, shown)
        tip(page, shown)
        repeatability(page, shown)
        motors(page, shown)
        hydraulics(page, shown)
        supply(page, shown)
        switching(page, shown)
    happened(page, shown)
    origins(page, shown)


def say_if_empty(page: Page, shown: View) -> None:
    """A warning if too little was recorded for figures."""
    if len(shown.t) < LEAST_ROWS:
        rows = "Only one" if len(shown.t) else "No"
        every = MS * shown.result.scenario.record.every
        page.warning(f"{rows} instant was recorded (record.every: {every:g} ms): there is nothing to draw.")


def pwm_words(shown: View) -> str:
    """How the pulses were simulated, after 'with'."""
    return PWM.get(str(shown.result.summary.get("pwm", "")), "")


def joints(page: Page, shown: View) -> None:
    """Commanded and actual positions and speeds, those that move first."""
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
    return Figure(motion.joint_motion(shown, i), titled("Joint", shown.result.joints[i]), caption)


def tip(page: Page, shown: View) -> None:
    """The tool against its path, on the way and at the end."""
    page.section(
        "Tip",
        "Where the tool is against where the commanded joint positions would put it. Along its path the "
        "error is lateness; across, it is a wrong path.",
    )
    error, *rest = tip_errors(shown)
    page.figures(
        [
            Figure(motion.tip_path(shown), f"Path from {motion.tip_plane(shown).name}"),
            error,
            Figure(motion.tip_path_error(shown), "Error along and across the path"),
            *rest,
        ],
        columns=2,
    )
    if not rest:
        page.note(
            "The run ended before its command did, or has no rows after it: there is no settling to show."
        )


def tip_errors(shown: View) -> list[Figure]:
    """The error of the tool over the whole run and, if the run goes on after it, around the end of the command."""
    figures = [Figure(motion.tip_error(shown), "Error in base axes")]
    rest = motion.settling(shown)
    if shown.result.complete and rest.data:
        figures.append(Figure(rest, "Settling", "The scale shows the end; larger errors leave it"))
    return figures


def repeatability(page: Page, shown: View) -> None:
    """Where the tool came to rest at targets that were visited often; nothing if there are none."""
    found = visits_of(shown.result.log.tip_signals())
    if not found:
        return
    page.section(
        "Repeatability",
        "Where the tool stood each time it left a target again, after ISO 9283: accuracy AP is the distance of the "
        "mean from the target, repeatability RP the mean distance from the mean plus three standard deviations.",
    )
    rows = [
        (
            ", ".join(f"{MM * x:.1f}" for x in one.target),
            f"{len(one.places)}",
            f"{one.rest:.2f}",
            f"{MM * one.accuracy:.4f}",
            f"{MM * one.repeatability:.4f}",
        )
        for one in found
    ]
    page.table(("target x, y, z [mm]", "visits", "rest [s]", "AP [mm]", "RP [mm]"), rows)
    page.figures(
        [
            Figure(
                motion.visits(found[0]), "The most visited target", "Circle: RP about the mean of all visits"
            )
        ]
    )


def hydraulics(page: Page, shown: View) -> None:
    """Pressures, valves, flow and power of hydraulic axes; nothing without any."""
    names = [name for name in shown.result.motors if shown.is_hydraulic(name)]
    if not names:
        return
    page.section(
        "Hydraulic axes",
        "Pressures are counted from the surroundings, flows are volumes there. Flow, power and force are means over "
        f"{MS * shown.result.scenario.record.every:g} ms; the extremes of the table are those of every step.",
    )
    page.table(tables.HYDRAULIC_COLUMNS, tables.hydraulic_rows(shown))
    words = tables.oil_words(shown)
    if words:
        page.note(words)
    for name in names:
        page.figures(
            [
                Figure(oil.pressures(shown, name), f"{titled('Axis', name)}: pressures"),
                Figure(oil.valve(shown, name), f"{titled('Axis', name)}: valve"),
                Figure(oil.flow(shown, name), f"{titled('Axis', name)}: flow from the supply"),
                Figure(oil.power(shown, name), f"{titled('Axis', name)}: power"),
            ],
            columns=2,
        )
        caption = "Shaded: what the fully open valve gives at the supply pressure of the file"
        page.figures(
            [Figure(oil.force_speed(shown, name), f"{titled('Axis', name)}: force and speed", caption)]
        )


def motors(page: Page, shown: View) -> None:
    """Torques against ratings, the plane of torque and speed, currents and temperatures."""
    if all(shown.is_hydraulic(name) for name in shown.result.motors):
        page.section("Axes")
        page.table(tables.MOTOR_COLUMNS, [tables.motor_row(shown, name) for name in shown.result.motors])
        return
    page.section(
        "Motors",
        f"Torque in the air gap, means over {MS * shown.result.scenario.record.every:g} ms; the peaks of the table "
        "are instantaneous, with the ripple of the current. The shaded band between the dashed lines is what a motor "
        "gives continuously, solid lines are its peak; coloured columns are times at a limit, those less than 50 ms "
        "apart as one.",
    )
    names = shown.result.motors
    electric = [i for i, name in enumerate(names) if not shown.is_hydraulic(name)]
    order = sorted(electric, key=lambda i: -_use(shown, names[i]))
    torques(page, shown, order)
    page.note(
        "Marked are peaks against what motor and drive give at most, RMS torques against the rated torque, speeds "
        "against the largest speed of the motor, or the rated one where none is stated."
    )
    planes = [torque_speed(shown, i) for i in order]
    page.figures(planes, columns=2 if len(planes) > 1 else 1)
    warm = any(shown.has_temperature(name) for name in names)
    page.section("Currents and temperatures" if warm else "Currents")
    known = [i for i in order if f"motor_{names[i]}_current_A" in shown.result.signals]
    figures = [Figure(drives.currents(shown, i), f"{titled('Motor', names[i])}: current") for i in known]
    if figures:
        page.figures(figures, columns=2 if len(figures) > 1 else 1)
    if warm:
        page.figures([Figure(drives.temperatures(shown), "Windings")])


def torques(page: Page, shown: View, order: Sequence[int]) -> None:
    """Torque of every motor over time, the first one large, and the table of all motors."""
    names = shown.result.motors
    heights = [340, *(drives.HEIGHT for _ in order[1:])]
    figures = [
        Figure(drives.motor_torque(shown, i, height), f"{titled('Motor', names[i])}: torque")
        for i, height in zip(order, heights, strict=True)
    ]
    page.figures(figures[:1])
    if figures[1:]:
        page.figures(figures[1:], columns=min(3, len(figures) - 1))
    page.table(tables.MOTOR_COLUMNS, [tables.motor_row(shown, name) for name in names])
    commands = mixed_commands([axis for axis in map(shown.axis, names) if axis])
    if commands:
        page.paragraph(f"Servo drivers: {commands}.")


def torque_speed(shown: View, i: int) -> Figure:
    """The run of a motor in the plane of torque and speed."""
    return Figure(
        drives.torque_speed(shown, i), f"{titled('Motor', shown.result.motors[i])}: torque and speed"
    )


def _use(shown: View, name: str) -> float:
    """How much of its rating a motor uses; motors without a rating come last."""
    axis = shown.axis(name)
    rated = axis.get("rated_torque_N_m") or shown.peak_rating(name)
    return float(axis.get("peak_torque_N_m", 0.0) / rated) if rated else 0.0


def supply(page: Page, shown: View) -> None:
    """What the source gave, and where it went."""
    words = "What the drives take from the source; negative where motors give back."
    if any(shown.is_hydraulic(name) for name in shown.result.motors):
        words += " Power and energy over time are those of the electric circuit; the account counts the oil as well."
    page.section("Supply", words)
    page.figures(
        [
            Figure(supplies.power(shown), "Power"),
            Figure(supplies.bus_voltage(shown), "Bus voltage"),
            Figure(supplies.energy(shown), "Energy"),
        ],
        columns=3,
    )
    words = bus_words(shown.result.summary.get("bus"))
    if words:
        page.note(f"{words}.")
    numbers = shown.result.summary.get("energy")
    if numbers:
        caption = "From the start to the end of the run: losses in orange, change of what is stored in blue"
        page.figures([Figure(supplies.energy_bars(numbers), "Where the energy went", caption)])


def switching(page: Page, shown: View) -> None:
    """Single pulse periods of every motor, if the run has recorded them."""
    if not shown.result.zoom:
        return
    page.section("Switching", switching_text(shown))
    names = shown.result.motors
    figures = [Figure(fine.switching(shown, i), titled("Motor", names[i])) for i in fine.zoomed_motors(shown)]
    page.figures(figures, columns=2 if len(figures) > 1 else 1)


def switching_text(shown: View) -> str:
    """What the zoom shows, in words."""
    start, end = fine.span(shown)
    when = f"{US * (end - start):.0f} µs from t = {start:.6g} s"
    if shown.result.summary.get("pwm") == "averaged":
        return f"{when}: the run has the mean voltage of the pulses, not their edges."
    vectors = [fine.three_phase(shown, i) for i in fine.zoomed_motors(shown)]
    text = f"{when}, edge by edge"
    if not all(vectors):
        text += ": where command and carrier cross, the bridge switches, and the current follows the voltage"
    if any(vectors):
        text += (
            ". Bridges of three phases switch vectors: shown are their components alpha, along the axis of the first "
            "phase, and the current q, which makes the torque"
        )
    return f"{text}."


def happened(page: Page, shown: View) -> None:
    """Limits that were met, faults, and other events."""
    rows = tables.event_rows(shown)
    page.section("Limits and events")
    if not rows:
        page.paragraph("No limit was met, and no fault happened.")
        return
    page.table(("from", "to", "axis", "what"), rows[: tables.MOST_EVENTS], text_columns=4)
    if len(rows) > tables.MOST_EVENTS:
        page.note(f"{len(rows) - tables.MOST_EVENTS} more are in summary.json.")


def origins(page: Page, shown: View) -> None:
    """Scenario and solver, what differs in truth, what is assumed."""
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
