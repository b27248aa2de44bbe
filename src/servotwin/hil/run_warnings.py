"""What was doubtful about a run once it is over: commands beyond the rig's limits, deadlines that were left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.hil.result import SubstitutionRun
from servotwin.hil.words import counted

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
    said = f"{counted(skipped, 'deadline')} {'was' if skipped == 1 else 'were'} left out because the machine was late. "
    if made_up == 0:
        said += "The rig's clock shows no gap, so the arm had nothing to make up for. "
    else:
        said += (
            f"The rig went on meanwhile with its last command, by its clock for {counted(made_up, 'period')}, "
            "and the arm was carried over as much. "
        )
    return [said + "A lower rate, or a machine with nothing else to do, leaves out fewer."]


def with_warnings(run: SubstitutionRun, more: list[str]) -> SubstitutionRun:
    """The run with more warnings."""
    return replace(run, warnings=(*run.warnings, *more)) if more else run
