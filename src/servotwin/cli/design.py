"""``servotwin design``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides, read_positions, read_quantity
from servotwin.cli.output import (
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
    working_or_compiling,
)
from servotwin.cli.signals import finishing
from servotwin.description.nodes import one_line, quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
    from servotwin.design.law_comparison import LawRun


def design(
    name: str,
    q: str | None,
    method: str | None,
    plant: str | None,
    bandwidth: str | None,
    integral: str | None,
    observer: str | None,
    scenario: str | None,
    out: str | None,
    overrides: Sequence[str] | None,
    *,
    overwrite: bool = False,
    json: bool,
) -> None:
    """Design state feedback, compare it on a scenario, print or write it."""
    asked = _asked(method, plant, bandwidth, integral, observer)
    if q is not None and scenario is not None:
        raise InputError(
            "a run designs its law for the home pose; expected no --scenario beside it", field="--q"
        )
    changes = read_overrides(overrides)
    changes |= {f"controller.state_feedback.{field}": value for field, value in asked.items()}
    with ExitStack() as claimed:  # a folder that is refused comes before the work is done
        with working(f"designing for {one_line(name)}"):
            from servotwin.control.servo.state_feedback_design import design_state_feedback
            from servotwin.description.load import read_description
            from servotwin.robot.complete_model import robot_of
            from servotwin.simulation.results.folder import DESIGN_FILES, claimed_folder

            description = read_description(name, changes)
            pose = None if q is None else read_positions("--q", q, robot_of(description))
            if out is not None:
                claimed.enter_context(claimed_folder(out, DESIGN_FILES, overwrite=overwrite))
            found = design_state_feedback(description, pose)
        with working("judging it on the nonlinear arm"):
            found.judgement  # noqa: B018
        try:
            runs = [] if scenario is None else _compared(scenario, description.name, changes, asked)
        except KeyboardInterrupt:
            print_note(
                "interrupted while the laws were simulated: they are not compared, and nothing is written"
            )
            raise
    places = {}
    if out is not None:
        from servotwin.report.design_page import write_design

        with working("drawing"), finishing():
            places = write_design(found, runs, out, overwrite=overwrite)
    if json:
        from servotwin.report.design_page import design_data

        print_json({**places, **design_data(found, runs)})
    else:
        _print(found, runs)
        for what, where in places.items():
            print_line(f"{what + ':':<9}{where}")
    for line in found.warnings:
        print_note(f"warning: {line}")


def _asked(
    method: str | None, plant: str | None, bandwidth: str | None, integral: str | None, observer: str | None
) -> dict[str, str]:
    """Fields of controller.state_feedback as the options state them."""
    for option, value, accepted in (
        ("--method", method, ("lqr", "poles")),
        ("--plant", plant, ("coupled", "separate")),
    ):
        if value is not None and value not in accepted:
            raise InputError(f"'{one_line(value)}'; expected one of {', '.join(accepted)}", field=option)
    for option, value, unit, example in (
        ("--bandwidth", bandwidth, "rad/s", "60 rad/s"),
        ("--integral-time", integral, "s", "50 ms"),
        ("--observer", observer, "rad/s", "240 rad/s"),
    ):
        if value is not None and not read_quantity(option, value, unit, example=example) > 0.0:
            raise InputError(f"{quoted(value)} is not above zero; expected such as '{example}'", field=option)
    fields = {
        "method": method,
        "plant": plant,
        "bandwidth": bandwidth,
        "integral_time": integral,
        "observer_bandwidth": observer,
    }
    return {field: value for field, value in fields.items() if value is not None}


def _compared(scenario: str, robot: str, changes: dict[str, str], asked: dict[str, str]) -> list[LawRun]:
    from servotwin.design.law_comparison import compare_laws
    from servotwin.simulation.scenario.scenario import read_scenario

    found = read_scenario(scenario).description.name
    if found != robot:
        raise InputError(f"moves {found}; expected a scenario of {robot}", field="--scenario")
    fields: dict[str, str | None] = {f"set.{field}": value for field, value in changes.items()}
    own = {field: value for field, value in asked.items() if field != "plant"}
    with working_or_compiling("simulating the laws"):
        return compare_laws(scenario, fields, feedback=own)


def _print(found: StateFeedbackDesign, runs: Sequence[LawRun]) -> None:
    print_line(
        f"{found.coupled.name}: {found.method}, {'separate axes' if found.separate else 'coupled arm'}, loop "
        f"{found.bandwidth:.4g} rad/s, integral time {1e3 * found.integral_time:.4g} ms, observer "
        f"{found.observer_bandwidth:.4g} rad/s"
    )
    print_heading(f"Gains: {found.output_words} per deviation")
    rows = [(q.name, q.unit, *(f"{v:.4g}" for v in found.K[:, k])) for k, q in enumerate(found.plant.states)]
    rows += [
        (f"integral of {q.name}", f"{q.unit}*s", *(f"{v:.4g}" for v in found.K_i[:, k]))
        for k, q in enumerate(found.plant.outputs)
    ]
    print_table(("state", "unit", *found.names), rows, text_columns=2)
    state = "stable" if found.stable else "unstable"
    print_line(f"coupled arm about the pose: {state}, slowest pole {abs(found.poles[0]):.4g} rad/s")
    for line in found.judgement.lines:
        print_line(line)
    print_line(f"usable: {'yes' if found.usable else 'no'}")
    if not runs:
        return
    print_heading("Laws compared")
    columns = ("law", "axis", "RMS error", "largest error", "unit", "peak current [A]")
    table = []
    for run in runs:
        if run.failure:
            print_note(f"warning: {run.law}: {run.failure}")
        for axis in run.axes:
            peak = "-" if axis.current_peak is None else f"{axis.current_peak:.4g}"
            table.append(
                (run.law, axis.joint, f"{axis.error_rms:.3g}", f"{axis.error_max:.3g}", axis.unit, peak)
            )
    print_table(columns, table, text_columns=2)
    rows = [
        (run.law, f"{1e3 * run.tip_error:.4g}", f"{run.source_energy:.5g}", f"{run.copper_energy:.5g}")
        for run in runs
        if not run.failure
    ]
    print_table(("law", "largest tip error [mm]", "source [J]", "copper [J]"), rows)
