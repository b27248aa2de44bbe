"""Motion ends when the page of a jog or a job is killed, frozen, offline, hidden or cut off, and stays ended after it.

How soon is for the campaign to say (``make pendant-campaign PART=stops``), on a machine that is not busy; the time
itself is tested on a counted clock (``test_cell``, ``test_stalled_connection``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pendant_browser import CHROMIUM, running
from pendant_stops import MODES, WAYS, Stop, StopBench

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


@pytest.mark.parametrize("way", WAYS)
def test_arm_stops_after_its_page_is(way: str, tmp_path: Path) -> None:
    found: list[Stop] = []
    with running("gsis-scara", tmp_path) as served, StopBench(served, tmp_path) as bench:
        for mode in MODES:
            for k in range(10):
                stop = bench.stop(way, mode, 0.1 + 0.05 * k)
                if stop is not None:
                    found.append(stop)
                    break
        assert "Traceback" not in served.errors.read_text()
    print(found)
    assert [stop.mode for stop in found] == list(MODES)
