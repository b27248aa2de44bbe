"""Words of messages about rigs."""

from __future__ import annotations

from pathlib import Path

import pytest

import servotwin as st
from servotwin.errors import SimulationError
from servotwin.hil.words import counted, fault_words
from servotwin.realtime.libc import SUPPORTED


def test_faults_are_named_with_shaft_and_joint() -> None:
    assert fault_words([0, 0]) == ""
    assert fault_words([0, 3, 0], ["a1", "a4"]) == "over-current at shaft 2 (joint a4)"
    assert fault_words([2, 9]) == "over-speed at shaft 1, fault 9, of no meaning in the protocol, at shaft 2"


def test_one_thing_is_no_plural() -> None:
    assert (counted(1, "shaft"), counted(2, "shaft"), counted(0, "shaft")) == (
        "1 shaft",
        "2 shafts",
        "0 shafts",
    )


RIG = """format: servotwin-rig/1
name: slow-rig
extends: met-rig
shafts: {S1: {over_speed: 5 rad/s}}
"""


@pytest.mark.parametrize(
    "transport",
    [None, pytest.param("in-process", marks=pytest.mark.skipif(not SUPPORTED, reason="Linux only"))],
)
def test_rig_that_trips_is_said_with_its_fault_and_joint(tmp_path: Path, transport: str | None) -> None:
    (tmp_path / "slow.yaml").write_text(RIG, encoding="utf-8")
    (tmp_path / "case.yaml").write_text(
        "extends: met-substituted\nname: case\nsubstitute: {rig: slow.yaml}\n", encoding="utf-8"
    )
    with pytest.raises(SimulationError, match=r"over-speed at shaft 1 \(joint J1\)"):
        st.substitute(tmp_path / "case.yaml", transport=transport, compare=False)
