"""The part of a tuning's page about modes: frequencies and shapes, what motors see, what holds loops down."""

from __future__ import annotations

from typing import Any

from servotwin.control.tuning.arm_modes import ArmMode
from servotwin.design.mode_table import (
    LIMIT_COLUMNS,
    hertz,
    limit_row,
    mode_groups,
    present_bandwidth,
    shape_cells,
)
from servotwin.design.tuning import Tuning
from servotwin.report.page import Figure, Page


def modes_section(page: Page, tuning: Tuning) -> None:
    """Modes of an arm on elastic gears; nothing without them."""
    arm = tuning.arm
    if arm is None:
        return
    from servotwin.report.tune_figures import torque_to_speed

    page.section(
        "Modes",
        "Of the arm on its gears at the design pose: under its servo loops, as motions leave them behind; with the "
        "motors held; and with the motors let go. Shapes by joint, the largest motion 1.",
    )
    rows = [
        [word, f"{mode.hertz:.2f}", f"{mode.damping:.3f}", *shape_cells(mode)]
        for word, modes in mode_groups(arm)
        for mode in modes
    ]
    page.table(["motors", "frequency [Hz]", "damping", *arm.joints], rows, text_columns=1)
    views = [arm.view(j) for j in range(len(arm.motors))]
    page.paragraph(
        "What each motor sees between its torque and its speed, the other motors held: it swings against its load at a "
        "resonance (dashed), and stands still while the load swings at an antiresonance (dotted)."
    )
    page.table(
        ["motor", "resonances [Hz]", "antiresonances [Hz]"],
        [[view.motor, hertz(view.resonances), hertz(view.antiresonances)] for view in views],
        text_columns=1,
    )
    page.figures(
        [Figure(torque_to_speed(arm, j), view.motor) for j, view in enumerate(views) if view.resonances],
        columns=2,
    )
    limited = [(axis, axis.limit) for axis in tuning.axes if axis.limit is not None]
    page.paragraph(
        "The largest bandwidth of each speed loop that keeps the margins at the design pose, and the notch at its "
        "resonance that would allow more."
    )
    page.table(
        [*LIMIT_COLUMNS, "what holds it down"],
        [[*limit_row(axis, limit), limit.cause] for axis, limit in limited],
        text_columns=1,
    )


def modes_data(tuning: Tuning) -> dict[str, Any] | None:
    """The same as plain data in SI units; None without elastic gears."""
    arm = tuning.arm
    if arm is None:
        return None
    views = [arm.view(j) for j in range(len(arm.motors))]
    return {
        **{
            word.replace(" ", "_"): [_mode(mode, arm.joints) for mode in modes]
            for word, modes in mode_groups(arm)
        },
        "motors": [
            {
                "motor": view.motor,
                "resonances": [{"frequency_rad_per_s": w, "damping": z} for w, z in view.resonances],
                "antiresonances": [{"frequency_rad_per_s": w, "damping": z} for w, z in view.antiresonances],
            }
            for view in views
        ],
        "speed_loops": [
            {
                "motor": axis.motor,
                "bandwidth_rad_per_s": present_bandwidth(axis),
                "largest_bandwidth_rad_per_s": axis.limit.bandwidth,
                "cause": axis.limit.cause,
                "notch": None
                if axis.limit.notch is None
                else {
                    "frequency_Hz": axis.limit.notch.hertz,
                    "width": axis.limit.notch.width,
                    "depth": axis.limit.notch.depth,
                    "largest_bandwidth_rad_per_s": axis.limit.with_notch,
                },
            }
            for axis in tuning.axes
            if axis.limit is not None
        ],
    }


def _mode(mode: ArmMode, joints: tuple[str, ...]) -> dict[str, Any]:
    return {
        "frequency_rad_per_s": mode.frequency,
        "damping": mode.damping,
        "joints": dict(zip(joints, (float(v) for v in mode.joints), strict=True)),
    }
