"""Settings of every test."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from campaign import cases

# The same examples in every run, so that a failure on one machine is a failure on all; no deadline, because
# the first call of a kernel includes its compilation. A sample of the examples; ``make campaign`` takes all.
settings.register_profile(
    "servotwin",
    derandomize=True,
    max_examples=cases(30, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("servotwin")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of random examples take more of them in a campaign."""
    if is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.campaign)


def pytest_collection_finish() -> None:
    """The tests themselves are no garbage: a collector that looks through all of them takes half a second."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Loops in real time thaw all that is frozen when they end; to count what is frozen takes long."""
    if {"realtime", "hil"} & set(item.path.parts):
        gc.freeze()
