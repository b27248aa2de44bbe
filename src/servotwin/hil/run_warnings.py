"""What was doubtful about a run once it is over: commands beyond the rig's limits, deadlines that were left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.hil.result import SubstitutionRun

if TYPE_CHECKING:
    from servotwin.hil.link.link_report import LinkReport

ROUNDING = 1e-9


def twin_limits(rig: Any) -> tuple[Any, Any]:
    """Largest voltage [V] and load torque [N m] of every shaft of a rig's twin, its converters' ranges included."""
    u, tau = np.array(rig["u_limit"]), rig["K_l"] * rig["i_l_limit"]
    u = np.where(rig["voltage_bits"] > 0, np.minimum(u, rig["voltage_range"]), u)
    in_range = np.minimum(tau, rig["K_l"] * rig["load_range"])
    return u, np.where(rig["load_bits"] > 0, in_range, tau)


def limit_warnings(run: SubstitutionRun, voltages: Any, torques: Any) -> list[str]:
    """A line for every substituted joint whose commands the rig could not carry out."""
    said = []
    for shaft, name in enumerate(run.scenario.substituted):
        for signal, limit, unit, words in (
            ("voltage", voltages[shaft], "V", "voltages"),
            ("load_torque", torques[shaft], "N m", "load torques"),
        ):
            values = np.abs(run.joint(name, signal))
            beyond = int(np.count_nonzero(values > limit * (1.0 + ROUNDING)))
            if beyond:
                said.append(
                    f"{beyond} of {len(values)} {words} for joint {name} are beyond the {limit:.4g} {unit} of the rig, "
                    f"the largest {values.max():.4g} {unit}: its shaft does not feel the arm then; expected a larger "
                    "rig, or a slower motion"
                )
    return said


def deadline_warnings(report: LinkReport) -> list[str]:
    """A line where deadlines were left out."""
    skipped, made_up = report.numbers["skipped_deadlines"], report.numbers["made_up_periods"]
    if not skipped:
        return []
    how = "they went by for the rig too, with its command held, and the arm was carried over them"
    if made_up < skipped:
        how = f"by the rig's clock {made_up} of them went by for the rig too, over which the arm was carried"
    return [f"{skipped} deadlines were left out: {how}; expected fewer, by a lower rate or an idle machine"]


def with_warnings(run: SubstitutionRun, more: list[str]) -> SubstitutionRun:
    """The run with more warnings."""
    return replace(run, warnings=(*run.warnings, *more)) if more else run
