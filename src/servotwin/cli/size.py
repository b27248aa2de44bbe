"""``servotwin size``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.output import (
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
    working_in_steps,
)
from servotwin.cli.signals import finishing
from servotwin.description.display import RPM
from servotwin.description.nodes import one_line
from servotwin.errors import InputError

NOISE = 1e-9  # N m, N

if TYPE_CHECKING:
    from servotwin.design.sizing.evaluate import Rules
    from servotwin.design.sizing.result import Assessment, Sizing
    from servotwin.design.sizing.what_if import WhatIf
    from servotwin.report.drawn_sizing import DrawnSizing


def size(
    name: str,
    overrides: Sequence[str] | None,
    *,
    job: str | None,
    scenario: str | None,
    tool_speed: str | None,
    tool_acceleration: str | None,
    moving: str | None,
    catalogue: Sequence[str] | None,
    minimise: str | None,
    what_if: Sequence[str] | None,
    pareto: bool,
    rest: str | None,
    low_voltage: str | None,
    reserve: float,
    life: str | None,
    inertia_ratio: float | None,
    time_limit: str | None,
    out: str | None,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Size the drives of a robot; 0, or 1 if a limit is exceeded."""
    changes = read_overrides(overrides)
    rules = _rules(low_voltage, reserve, life, inertia_ratio)
    with ExitStack() as claimed:
        if out is not None:
            from servotwin.simulation.results.folder import SIZING_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, SIZING_FILES, overwrite=overwrite))
        with working_in_steps(f"sizing {one_line(name)}") as tell:
            from servotwin.design.sizing.search import TIME_LIMIT
            from servotwin.report.drawn_sizing import size as compute

            found = compute(
                name,
                job=job,
                scenario=scenario,
                tool_speed=_optional("--tool-speed", tool_speed, "m/s", "1 m/s"),
                tool_acceleration=_optional("--tool-acceleration", tool_acceleration, "m/s^2", "5 m/s^2"),
                moving=_optional("--moving", moving, "", "60 %"),
                catalogue=catalogue or None,
                minimise=minimise,
                what_if=tuple(what_if or ()),
                pareto=pareto,
                rest=_optional("--rest", rest, "s", "2 s") or 0.0,
                rules=rules,
                overrides=changes,
                time_limit=_optional("--time-limit", time_limit, "s", "8 s") or TIME_LIMIT,
                progress=tell,
            )
    places = _written(found, out, overwrite=overwrite)
    if json:
        print_json({**places, **found.data()})
    else:
        _print(found)
        for what, where in places.items():
            print_line(f"{what + ':':<9}{where}")
    for note in found.notes:
        print_note(f"note: {note}")
    shown = found.worst if found.worst is not None else found.assessment
    return 1 if shown is not None and not shown.passes else 0


def _rules(low_voltage: str | None, reserve: float, life: str | None, inertia_ratio: float | None) -> Rules:
    from servotwin.design.sizing.evaluate import LOW_VOLTAGE, Rules

    low = (
        LOW_VOLTAGE
        if low_voltage is None
        else read_quantity("--low-voltage", low_voltage, "", example="90 %")
    )
    for option, value, wanted in (
        ("--low-voltage", low, "a share of the bus voltage above 0 and up to 1, such as '90 %'"),
        ("--reserve", reserve, "a factor of 1 or more, such as 1.2"),
    ):
        if not (0.0 < value <= 1.0 if option == "--low-voltage" else 1.0 <= value < 100.0):
            raise InputError(f"{value:g}; expected {wanted}", field=option)
    if inertia_ratio is not None and not inertia_ratio > 0.0:
        raise InputError(
            f"{inertia_ratio:g}; expected a ratio above zero, such as 10", field="--inertia-ratio"
        )
    hours = _optional("--life", life, "s", "20000 h")
    if hours == 0.0:
        raise InputError("0; expected a time above zero, such as '20000 h'", field="--life")
    return Rules(low, reserve, hours, inertia_ratio)


def _optional(option: str, text: str | None, unit: str, example: str) -> float | None:
    if text is None:
        return None
    value = read_quantity(option, text, unit, example=example)
    if value < 0.0:
        raise InputError(f"'{one_line(text)}' is negative; expected such as '{example}'", field=option)
    return value


def _written(found: DrawnSizing, out: str | None, *, overwrite: bool) -> dict[str, str]:
    if out is None:
        return {}
    with working("drawing"), finishing():
        files = found.report(out, overwrite=overwrite)
    places = {"report": str(files.page), "data": str(files.data), "table": str(files.table)}
    return places if files.robot is None else {**places, "robot": str(files.robot)}


def _print(found: Sizing) -> None:
    if found.worst is not None:
        _print_worst(found)
        return
    shown = found.assessment
    if shown is None:
        return
    duty = shown.load.duty
    print_line(f"{found.description.name}: {duty.name}, cycle of {duty.period:.4g} s, {len(duty.t)} samples")
    if found.choice is not None:
        _print_choice(found)
    _print_demands(shown)
    s = shown.supply
    print_line(
        f"supply: {s.peak_power:.4g} W peak, {s.mean_power:.4g} W mean; {s.returned_energy:.4g} J come back, "
        f"{s.resistor_energy:.4g} J of them into the braking resistor"
    )
    for w in found.what_if:
        print_line(what_if_line(w))
    if found.pareto:
        print_heading("Price, mass and cycle time")
        rows = [
            (f"{p.cycle_time:.4g}", f"{p.price:.4g}", f"{p.mass:.4g}")
            for p in sorted(found.pareto, key=lambda p: (p.cycle_time, p.price))
        ]
        print_table(("cycle time [s]", "price", "mass [kg]"), rows, text_columns=0)


def what_if_line(w: WhatIf) -> str:
    """How far a question goes, and what breaks then."""
    why = "nothing breaks before" if w.open or w.check is None else f"{w.axis}: {w.check.name}"
    if w.value is None:
        return f"{w.question}: not even the least is allowed; {why}"
    then = "" if w.open or w.check is None else "then "
    return f"{w.question}: up to {w.value:.4g} {w.unit}, {then}{why}"


def _print_demands(shown: Assessment) -> None:
    print_heading("What the cycle asks of the motors, and of the gears at their outputs")
    columns = (
        "axis", "peak [N m]", "RMS [N m]", "max [rpm]", "RMS [rpm]", "power [W]", "back [J]", "inertia ratio",
        "winding [degC]", "gear peak", "average", "stop", "tightest", "share [%]",
    )  # fmt: skip
    rows = []
    for d in shown.demands:
        worst = d.worst
        heat = (
            "-"
            if d.heating is None
            else "runs away"
            if d.heating.runs_away
            else f"{d.heating.winding_peak:.1f}"
        )
        rows.append(
            (
                d.name, f"{d.peak_torque:.4g}", f"{d.rms_torque:.4g}", f"{RPM * d.peak_speed:.0f}",
                f"{RPM * d.rms_speed:.0f}", f"{d.peak_power:.4g}", f"{d.regenerated:.3g}",
                f"{d.inertia_ratio:.3g}" if math.isfinite(d.inertia_ratio) else "-",
                heat, f"{_clean(d.gear_peak):.4g}", f"{_clean(d.gear_average):.4g}",
                "-" if d.gear_stop is None else f"{d.gear_stop:.4g}",
                "-" if worst is None else worst.name, "-" if worst is None else percent(worst.share),
            )
        )  # fmt: skip
    print_table(columns, rows)


def percent(share: float) -> str:
    """A share in percent; near the limit with the digit that tells on which side it is.

    >>> percent(0.5), percent(0.998), percent(1.0004)
    ('50', '99.8', '100.1')
    """
    value = 100.0 * share
    if abs(value - 100.0) >= 1.0:
        return f"{value:.0f}"
    return f"{math.ceil(10.0 * value - 1e-6) / 10.0 if value > 100.0 else math.floor(10.0 * value + 1e-6) / 10.0:.1f}"


def _clean(torque: float) -> float:
    """A torque without what rounding leaves of zero."""
    return torque if torque > NOISE else 0.0


def _print_choice(found: Sizing) -> None:
    choice, shown = found.choice, found.chosen
    if choice is None or shown is None:
        return
    sure = (
        "no set is better" if choice.gap == 0.0 else f"the best is at most {100.0 * choice.gap:.2g} % better"
    )
    print_heading(f"Set of the least {found.minimised}: {choice.cost:.4g} ({sure})")
    rows = [
        (
            d.name,
            d.actuator.motor.name,
            d.actuator.gear.name,
            f"{d.actuator.price:.4g}",
            f"{d.actuator.mass:.4g}",
        )
        for d in shown.demands
    ]
    rows.append(("all", "", "", f"{shown.price:.4g}", f"{shown.mass:.4g}"))
    print_table(("axis", "motor", "gear", "price", "mass [kg]"), rows, text_columns=3)
    refused = [r for r in found.rejected if r.check.share > 1.0]
    if refused:
        print_heading("Better by themselves, but")
        reasons = [
            (
                r.axis,
                r.actuator.name,
                f"{r.check.name}: {r.check.need:.4g} of {r.check.limit:.4g} {r.check.unit}",
            )
            for r in refused
        ]
        print_table(("axis", "entry", "reason"), reasons, text_columns=3)


def _print_worst(found: Sizing) -> None:
    worst = found.worst
    if worst is None:
        return
    print_line(
        f"{found.description.name}: tool at up to {worst.speed:g} m/s, {worst.acceleration:g} m/s2 in any direction, "
        f"{worst.poses} poses, {100.0 * worst.left_out:.2g} % left out"
    )
    rows = [
        (
            load.name, f"{load.output_torque:.4g}", "N m" if load.unit == "rad" else "N", f"{load.holding_torque:.4g}",
            f"{load.motor_torque:.4g}", f"{RPM * load.motor_speed:.0f}",
            "-" if load.rms_torque is None else f"{load.rms_torque:.4g}",
            "-" if load.winding is None else f"{load.winding:.0f}",
            "-" if load.share is None else percent(load.share),
        )
        for load in worst.loads
    ]  # fmt: skip
    print_table(
        (
            "axis",
            "gear output",
            "unit",
            "held",
            "motor [N m]",
            "motor [rpm]",
            "RMS [N m]",
            "winding [degC]",
            "share [%]",
        ),
        rows,
    )
    print_line(
        f"RMS torque and winding: in motion for {100.0 * worst.moving:g} % of the time, held otherwise"
    )
