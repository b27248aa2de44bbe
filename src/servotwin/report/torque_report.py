"""The report on a move: which torques the motors need, against what they are rated for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from servotwin import __version__
from servotwin.report import torque_figures as draw
from servotwin.report.files import make_folder, write_bytes, write_json, write_parquet
from servotwin.report.labels import joint_units
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.torque_study import TorqueStudy, signals, summary

RPM = 9.549296585513721  # turns per minute in one rad/s


class ReportFiles(NamedTuple):
    """Where the parts of a report are."""

    page: Path
    summary: Path
    signals: Path


def write_torque_report(
    study: TorqueStudy, folder: str | Path, progress: Callable[[str], None] = lambda step: None
) -> ReportFiles:
    """Write ``report.html``, ``summary.json`` and ``signals.parquet``; ``progress`` hears what is being done."""
    target = make_folder(folder)
    numbers = summary(study)
    progress("drawing the figures")
    page = torque_page(study, numbers)
    progress("writing the files")
    return ReportFiles(
        write_bytes(target / "report.html", page.encode()),
        write_json(target / "summary.json", numbers),
        write_parquet(target / "signals.parquet", signals(study)),
    )


def torque_page(study: TorqueStudy, numbers: dict[str, Any]) -> str:
    """The page as HTML."""
    payload = numbers["payload_kg"]
    page = Page(
        f"{study.robot.name}: full range at full speed with {payload:g} kg",
        f"{study.robot.title}. All axes move from one end of their range to the other and back, "
        f"each at its maximum speed.",
    )
    _overview(page, numbers)
    _motors(page, study, numbers)
    _joints(page, study)
    _motion(page, study, numbers)
    _origins(page, study)
    return page.html(
        f"ServoTwin {__version__}. The numbers of this page are in summary.json and signals.parquet."
    )


def _overview(page: Page, numbers: dict[str, Any]) -> None:
    hardest = max(numbers["motors"], key=lambda motor: motor["peak_torque_over_rated"] or 0.0)
    warmest = max(numbers["motors"], key=lambda motor: motor["rms_torque_over_rated"] or 0.0)
    fastest = max(numbers["motors"], key=lambda motor: motor["peak_speed_over_rated"] or 0.0)
    page.cards(
        [
            _share_card("Highest torque", hardest, "peak_torque", "N m", "its peak", limit=3.0),
            _share_card(
                "Highest load over time", warmest, "rms_torque", "N m", "root mean square", limit=1.0
            ),
            _share_card("Highest motor speed", fastest, "peak_speed", "rpm", "its peak", limit=1.0),
            Card("Tool speed", f"{numbers['peak_tool_speed_m_per_s']:.2f}", "m/s", "largest along the way"),
        ]
    )


def _share_card(label: str, motor: dict[str, Any], key: str, unit: str, what: str, limit: float) -> Card:
    share = motor[f"{key}_over_rated"]
    value = motor[f"{key}_rad_per_s"] * RPM if unit == "rpm" else motor[f"{key}_N_m"]
    remark = f"motor {motor['name']}, {what}"
    if share is not None:
        remark += f": {100 * share:.0f} % of rated"
    mark = "" if share is None else "warn" if share > limit else "good"
    return Card(label, f"{value:.0f}" if unit == "rpm" else f"{value:.2f}", unit, remark, mark)


def _motors(page: Page, study: TorqueStudy, numbers: dict[str, Any]) -> None:
    page.section(
        "Motors against their ratings",
        "Torque at the motor shaft, load and rotor together. The shaded band is what the motor may give for ever; "
        "short peaks may exceed it as long as the root mean square stays inside and the drive supplies the current.",
    )
    names = study.motor_names
    page.figures(
        [Figure(draw.motor_torque(study, 0, 360), f"Motor {names[0]}", "Required torque over the move")]
    )
    rest = [Figure(draw.motor_torque(study, i), f"Motor {names[i]}") for i in range(1, len(names))]
    page.figures(rest, columns=3)
    page.table(
        ("motor", "peak torque [N m]", "RMS torque [N m]", "rated torque [N m]", "peak / rated", "RMS / rated",
         "peak speed [rpm]", "rated speed [rpm]", "speed / rated", "peak power [W]", "rated output [W]"),
        [_motor_row(motor) for motor in numbers["motors"]],
    )  # fmt: skip
    page.note("Friction and losses of the gears are not included: real motors need a little more.")


def _motor_row(motor: dict[str, Any]) -> list[str | Cell]:
    def value(number: float | None, pattern: str, factor: float = 1.0) -> str:
        return "-" if number is None else format(factor * number, pattern)

    def share(number: float | None, limit: float) -> Cell:
        if number is None:
            return Cell("-")
        return Cell(f"{100 * number:.0f} %", "warn" if number > limit else "good")

    return [
        Cell(motor["name"], "strong"),
        value(motor["peak_torque_N_m"], ".3f"),
        value(motor["rms_torque_N_m"], ".3f"),
        value(motor["rated_torque_N_m"], ".3f"),
        Cell(value(motor["peak_torque_over_rated"], ".0f", 100.0) + " %", "strong"),
        share(motor["rms_torque_over_rated"], 1.0),
        value(motor["peak_speed_rad_per_s"], ".0f", RPM),
        value(motor["rated_speed_rad_per_s"], ".0f", RPM),
        share(motor["peak_speed_over_rated"], 1.0),
        value(motor["peak_power_W"], ".0f"),
        value(motor["rated_output_W"], ".0f"),
    ]


def _joints(page: Page, study: TorqueStudy) -> None:
    page.section(
        "Joints",
        "What the links ask for, and what the rotors add: through a gear of ratio n a rotor weighs n squared times "
        "its own inertia.",
    )
    figures = []
    for i, name in enumerate(study.robot.joint_names):
        quantity = "force" if joint_units(study.robot.joint_units[i]).effort == "N" else "torque"
        figures.append(Figure(draw.joint_torque(study, i), f"Joint {name}: {quantity}"))
    page.figures(figures, columns=2)
    page.figures(
        [
            Figure(
                draw.mass_matrix(study),
                "Mass matrix",
                "Entries of the first two axes; dotted: rotors at the joint",
            ),
            Figure(
                draw.power(study), "Power", "Mechanical power at the motor shafts; negative: the load drives"
            ),
        ],
        columns=2,
    )


def _motion(page: Page, study: TorqueStudy, numbers: dict[str, Any]) -> None:
    page.section(
        "Motion",
        f"{numbers['duration_s']:.2f} s, sampled at {numbers['samples']} instants. Speeds rise and fall like a cosine, "
        "so that accelerations are continuous.",
    )
    move = study.move
    page.figures(
        [
            Figure(draw.motion(study, move.q, "position", ""), "Joint positions"),
            Figure(draw.motion(study, move.qd, "velocity", "/s"), "Joint velocities"),
            Figure(draw.tool_path(study), "Tool from above", "Darker: both sides of the elbow reach it"),
            Figure(
                draw.arm_poses(study),
                "The arm on its way out",
                "Light to dark in the course of time; drag to turn",
            ),
            Figure(draw.tool_speed(study), "Tool speed"),
        ],
        columns=2,
    )


def _origins(page: Page, study: TorqueStudy) -> None:
    description = study.description
    page.section("Where the numbers come from")
    for name, citation in description.references.items():
        page.paragraph(f"[{name}] {citation}")
    assumed = description.assumptions()
    if assumed:
        page.details(f"{len(assumed)} values are assumed", ("field", "value", "why"), assumed)
