"""Tests of random examples take a sample with every run, and all in a campaign, which finds them by their mark."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import VARIABLE, cases

EXAMPLES = 30, 100  # of ``conftest``: with every run, and in a campaign


@given(st.integers())
def test_tests_of_random_examples_bear_the_mark(request: pytest.FixtureRequest, number: int) -> None:
    assert request.node.get_closest_marker("campaign") is not None, number


def test_other_tests_do_not_bear_the_mark(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("campaign") is None


def test_sample_of_examples_is_smaller_than_the_campaigns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.default is not None
    assert settings.default.max_examples == cases(*EXAMPLES)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert cases(*EXAMPLES) == 30
    monkeypatch.setenv(VARIABLE, "1")
    assert cases(*EXAMPLES) == 100
