"""Periods that a loop left out: the rig went on, so the arm is carried over them, and limits that were met are said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.compiled.jit import kernel
from servotwin.compiled.native_calls import records_at
from servotwin.hil.cycle import cycle
from servotwin.hil.link.session import LINK, _count_missed
from servotwin.hil.rig_file import read_rig
from servotwin.hil.rig_model import rig_step
from servotwin.hil.run import _begin_rig
from servotwin.hil.run_warnings import deadline_warnings
from servotwin.hil.scenario import read_substitution
from servotwin.hil.substitution import build_substitution
from servotwin.realtime.executive import EXECUTIVE

PERIOD_NS = 10_000_000


def angle_lost(estimator: str, missed: int, made_up: bool) -> float:
    """Joint angle of the rig less that of the arm after deadlines were left out three times [rad]."""
    changes = {
        "substitute.rig": "met-rig",
        "substitute.estimator": estimator,
        "substitute.filter.cut_off": "40 Hz",
    }
    made = build_substitution(read_substitution("met-substituted", changes))
    rig, T = read_rig("met-rig").records(1, 1), made.scenario.period
    _begin_rig(rig, made)
    rig_step(rig, made.command, made.feedback, 0.0)
    late = 0
    for tick in range(300):
        before = made.command.copy()
        cycle(made.arm, made.feedback, made.command, late * T if made_up else 0.0)
        lost = float(rig["x"][0, 0] / 1570.0 - made.joints["q"][0])
        late = missed if tick in (100, 150, 200) else 0
        # this cycle came so much too late: the rig held the command before it for longer
        for _ in range(late):
            rig_step(rig, before, made.feedback, T)
        rig_step(rig, made.command, made.feedback, T)
    if made_up:
        assert int(made.arm["tick"][0]) == 300 + 3 * missed
    return lost


@pytest.mark.parametrize("estimator", ["filter", "observer"])
@pytest.mark.parametrize("missed", [1, 3])
def test_no_angle_is_lost_over_periods_that_were_left_out(estimator: str, missed: int) -> None:
    before = angle_lost(estimator, 0, True)
    assert abs(angle_lost(estimator, missed, True) - before) < 2e-5
    lost = 3 * missed * 0.01 * 0.027  # what it would be otherwise, at nearly the commanded rate
    assert angle_lost(estimator, missed, False) - before == pytest.approx(lost, rel=0.1)


@kernel
def count_missed(link: Any, index: int) -> None:
    _count_missed(records_at(link.ctypes.data, 1, LINK)[0], index)


def missed_by(clock: list[int], skipped: list[int]) -> list[int]:
    """Periods made up for in each cycle, by the rig's clock [periods] and all deadlines left out up to it."""
    link, executive = np.zeros(1, LINK), np.zeros(1, EXECUTIVE)
    executive["cycles"], link["period"], link["executive_at"] = 1000, PERIOD_NS, executive.ctypes.data
    found = []
    for index, (time, left_out) in enumerate(zip(clock, skipped, strict=True)):
        link["feedback"]["time"], executive["skipped"] = 5 + time * PERIOD_NS + 1000 * (index % 3), left_out
        if index and clock[index] == clock[index - 1]:
            link["feedback"]["time"] = link["sampled"]
        count_missed(link, index)
        link["simulated"] += 1
        found.append(int(link["missed"][0]))
    assert executive["cycles"][0] == 1000 - sum(found)
    assert link["made_up"][0] == sum(found)
    return found


def test_missed_periods_are_those_that_went_by_on_the_clock_of_the_rig() -> None:
    # two deadlines left out before the fourth cycle: the rig's clock shows them one answer later
    assert missed_by([0, 1, 2, 3, 6, 7, 8], [0, 0, 0, 2, 2, 2, 2]) == [0, 0, 0, 0, 2, 0, 0]
    # a twin that goes on by a period for each command has missed nothing
    assert missed_by([0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 2, 2, 2, 2]) == [0] * 7
    # an answer that was lost is no period that was left out
    assert missed_by([0, 1, 1, 3, 4, 5, 6], [0] * 7) == [0] * 7
    # both at once
    assert missed_by([0, 1, 2, 2, 6, 7, 8], [0, 0, 0, 2, 2, 2, 2]) == [0, 0, 0, 0, 2, 0, 0]
    # a clock that runs off without a deadline left out is not followed
    assert missed_by([0, 1, 2, 5, 6, 7, 8], [0] * 7) == [0] * 7


def test_deadlines_left_out_are_warned_of() -> None:
    def warned(skipped: int, made_up: int) -> str:
        report: Any = SimpleNamespace(numbers={"skipped_deadlines": skipped, "made_up_periods": made_up})
        (said,) = deadline_warnings(report)
        return said

    some = warned(4, 3)
    assert some.startswith(
        "4 deadlines were left out because the machine was late. The rig went on meanwhile"
    )
    assert "by its clock for 3 periods, and the arm was carried over as much." in some
    assert "for 1 period, and" in warned(1, 1)
    none = warned(1, 0)
    assert none.startswith("1 deadline was left out")
    assert "The rig's clock shows no gap" in none


def test_commands_beyond_the_limits_of_the_rig_are_warned_of(tmp_path: Path) -> None:
    rig = tmp_path / "weak.yaml"
    rig.write_text("extends: met-rig\nname: weak\nshafts: {S1: {load: {current_limit: 0.02 A}}}\n")
    said: list[str] = []
    run = st.substitute("met-substituted", {"substitute.rig": str(rig)}, compare=False, warn=said.append).run
    torque = np.abs(run.joint("J1", "load_torque"))
    limit = 0.02 * float(read_rig(str(rig)).records(1, 1)["K_l"][0])
    beyond = int((torque > limit).sum())
    assert beyond > 0
    assert said == list(run.warnings)
    assert said[0].startswith(
        f"{beyond} of {len(torque)} load torques for joint J1 are beyond the {limit:.4g} N m"
    )
    st.substitute("met-substituted", {"substitute.rig": "met-rig"}, compare=False, warn=said.append)
    assert len(said) == 1
