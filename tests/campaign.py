"""How many cases a test of random cases takes: a sample with every run of the tests, all of them in ``make campaign``.

A test that takes a sample bears the mark, so that the campaign finds it:

    @campaign
    @pytest.mark.parametrize("seed", range(cases(30, 120)))
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "SERVOTWIN_CAMPAIGN"
campaign = pytest.mark.campaign


def cases(sample: int, whole: int) -> int:
    """The number of cases: ``sample`` of them, or the ``whole`` in a campaign."""
    return whole if os.environ.get(VARIABLE) == "1" else sample
