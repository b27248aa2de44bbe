"""The fuzz target: cases that can be made again, a watchdog that notices, and a short campaign of fixed cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.campaign import Campaign
from fuzz.decoders import DECODERS, case
from fuzz.worker import read_case

SEED, CASES = 12, 25


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_answers_or_refuses_in_one_line(name: str, tmp_path: Path) -> None:
    """The same cases in every run; ``make fuzz`` reads others, for longer, and with limits."""
    for number in range(1, CASES + 1):
        found = read_case(DECODERS[name], name, SEED, number, tmp_path / "case")
        assert found["is"] in ("accepted", "refused"), (
            f"python -m fuzz --seed {SEED} --case {name}:{number}: {found}"
        )


@pytest.mark.parametrize("name", DECODERS)
def test_case_is_the_same_for_the_same_seed_and_number_only(name: str) -> None:
    first = case(DECODERS[name], name, 1, 7)
    assert first == case(DECODERS[name], name, 1, 7)
    assert any(first != case(DECODERS[name], name, seed, 8) for seed in (1, 2, 3))


def test_folder_cases_reach_what_a_killed_run_left(tmp_path: Path) -> None:
    moved = 0
    for number in range(1, CASES + 1):
        read_case(DECODERS["folder"], "folder", SEED, number, tmp_path / "case")
        left = [path for path in (tmp_path / "case").rglob(".servotwin-*") if path.is_dir()]
        assert not left, f"case {number}: {left} was not completed"
        moved += (tmp_path / "case/out/a/b").exists()
    assert 0 < moved < CASES


def test_campaign_notices_hangs_memory_crashes_tracebacks_and_long_messages(tmp_path: Path) -> None:
    told: list[str] = []
    campaign = Campaign(5, tmp_path, table="tests.fuzz_traps:TRAPS", longest=3.0, tell=told.append)
    campaign.run(seconds=300.0, cases=1)
    assert campaign.tallies["refuse"].refused == 1
    kinds = {defect.decoder: defect for defect in campaign.defects.values()}
    assert set(kinds) == {"chatter", "hang", "spin", "swell", "crash", "stumble"}
    assert kinds["chatter"].kind == "chatter: message not printable"
    assert kinds["hang"].kind == "hang: hang over 3 s"
    assert kinds["spin"].kind == "spin: hang over 3 s"
    assert "MemoryError" in kinds["swell"].kind
    assert kinds["crash"].kind == "crash: the child died: SIGSEGV"
    assert "KeyError" in kinds["stumble"].kind
    assert "KeyError: 'missing'" in (kinds["stumble"].folder / "defect.txt").read_text(encoding="utf-8")
    assert (kinds["hang"].folder / "a").read_bytes() == b"1"
    assert any("python -m fuzz --seed 5 --case hang:1" in line for line in told)


def test_campaign_on_a_busy_machine_waits_for_a_case_that_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that takes two seconds on the clock, of which others used up all but a little."""
    monkeypatch.setattr("fuzz.campaign.processor_time", lambda pid: (0.1, True))
    campaign = Campaign(5, tmp_path, table="tests.fuzz_traps:SLOW", longest=1.0, tell=lambda line: None)
    campaign.run(seconds=60.0, cases=1)
    assert not campaign.defects
    assert campaign.tallies["slow"].accepted == 1


@pytest.mark.parametrize("name", DECODERS)
def test_names_are_one_word_by_which_a_child_is_asked_for_a_case(name: str) -> None:
    assert name.split() == [name]
