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
    """Write ``report.html``, ``summary.json`` and ``signals.parquet``; ``progress`` hears of every step."""
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
    _motion(page, study, numbers)
    _joints(page, study)
    _origins(page, study)
    return page.html(
        f"ServoTwin {__version__}. The numbers of this page are in summary.json and signals.parquet."
    )


def _overview(page: Page, numbers: dict[str, Any]) -> None:
    def worst(key: str) -> dict[str, Any]:
        return max(numbers["motors"], key=lambda motor: motor[f"{key}_over_rated"] or 0.0)

    hardest, warmest, fastest = worst("peak_torque"), worst("rms_torque"), worst("peak_speed")
    page.cards(
        [
            _share_card("Highest torque", hardest, "peak_torque", "peak", _peak_mark(hardest)),
            _share_card(
                "Highest mean load", warmest, "rms_torque", "RMS", _rated_mark(warmest, "rms_torque")
            ),
            _share_card(
                "Highest motor speed", fastest, "peak_speed", "peak", _rated_mark(fastest, "peak_speed")
            ),
            Card("Tool speed", f"{numbers['peak_tool_speed_m_per_s']:.2f}", "m/s", "largest along the way"),
        ]
    )


def _share_card(label: str, motor: dict[str, Any], key: str, what: str, mark: str) -> Card:
    turning = key == "peak_speed"
    value = f"{motor[f'{key}_rad_per_s'] * RPM:.0f}" if turning else f"{motor[f'{key}_N_m']:.2f}"
    share = motor[f"{key}_over_rated"]
    remark = f"motor {motor['name']}, {what}" + ("" if share is None else f", {_percent(share)} of rated")
    return Card(label, value, "rpm" if turning else "N m", remark, mark)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"


def _rated_mark(motor: dict[str, Any], key: str) -> str:
    """How a value that should stay within its rating does."""
    share = motor[f"{key}_over_rated"]
    return "" if share is None else "warn" if share > 1.0 else "good"


def _peak_mark(motor: dict[str, Any]) -> str:
    """How the peak torque does against what motor and drive give at most."""
    limit = motor["torque_limit_N_m"]
    return "" if limit is None else "warn" if motor["peak_torque_N_m"] > limit else "good"


def _motors(page: Page, study: TorqueStudy, numbers: dict[str, Any]) -> None:
    page.section(
        "Motors against their ratings",
        "Torque at the motor shaft, load and rotor together. The shaded band is what the motor gives "
        "continuously; short peaks may exceed it as long as the root mean square stays inside and the drive "
        "supplies the current.",
    )
    names = study.motor_names
    page.figures(
        [Figure(draw.motor_torque(study, 0, 360), f"Motor {names[0]}", "Required torque over the move")]
    )
    rest = [Figure(draw.motor_torque(study, i), f"Motor {names[i]}") for i in range(1, len(names))]
    page.figures(rest, columns=3)
    page.table(TABLE, [_motor_row(motor) for motor in numbers["motors"]])
    page.note(
        "Marked are peaks against the torque at the current limit of the drive, RMS torques and speeds "
        "against the ratings. Friction and losses of the gears are not included: real motors need more."
    )


TABLE = (
    "motor",
    "peak torque [N\u00a0m]",
    "RMS torque [N\u00a0m]",
    "rated torque [N\u00a0m]",
    "peak / rated",
    "RMS / rated",
    "peak speed [rpm]",
    "rated speed [rpm]",
    "speed / rated",
    "peak power [W]",
    "rated output [W]",
)


def _motor_row(motor: dict[str, Any]) -> list[str | Cell]:
    def value(key: str, pattern: str, factor: float = 1.0) -> str:
        return "-" if motor[key] is None else format(factor * motor[key], pattern)

    def share(key: str, mark: str) -> Cell:
        ratio = motor[f"{key}_over_rated"]
        return Cell("-" if ratio is None else _percent(ratio), mark)

    return [
        Cell(motor["name"], "strong"),
        value("peak_torque_N_m", ".3f"),
        value("rms_torque_N_m", ".3f"),
        value("rated_torque_N_m", ".3f"),
        share("peak_torque", _peak_mark(motor)),
        share("rms_torque", _rated_mark(motor, "rms_torque")),
        value("peak_speed_rad_per_s", ".0f", RPM),
        value("rated_speed_rad_per_s", ".0f", RPM),
        share("peak_speed", _rated_mark(motor, "peak_speed")),
        value("peak_power_W", ".0f"),
        value("rated_output_W", ".0f"),
    ]


def _joints(page: Page, study: TorqueStudy) -> None:
    page.section(
        "Joints",
        "What the links ask for, and what the rotors add: through a gear of ratio n a rotor counts n squared "
        "times its own inertia.",
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
                "Entries of the first two axes over time; dotted: what the rotors add at the joint",
            )
        ]
    )


def _motion(page: Page, study: TorqueStudy, numbers: dict[str, Any]) -> None:
    page.section(
        "Motion",
        f"{numbers['duration_s']:.2f} s, sampled at {numbers['samples']} instants. Speeds rise and fall like "
        "a cosine, so that accelerations are continuous.",
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
                "Light to dark in the course of time; height drawn larger; drag to turn",
            ),
            Figure(draw.tool_speed(study), "Tool speed"),
            Figure(draw.power(study), "Power at the motor shafts", "Negative: the load drives the motor"),
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
