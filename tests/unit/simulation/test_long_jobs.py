"""What is told of long jobs: work grows with their length, not with instructions times rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from counted_work import growth
from servotwin.control.main.exchange import Entry
from servotwin.motion.limits import MotionLimits
from servotwin.simulation.results import motion_log
from servotwin.simulation.results.job_log import Commands, log_entries
from servotwin.simulation.results.motion_log import MotionLog
from servotwin.simulation.results.repeatability import visits_of

LINEAR = 5.0  # work at four times the size over work at the size; 16 if it grows with the square


class Counted(np.ndarray):
    """An array that counts how many of its elements arithmetic and comparisons look at."""

    seen = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Count, then compute with plain arrays."""
        plain = [np.asarray(item) if isinstance(item, Counted) else item for item in inputs]
        Counted.seen += max(np.size(item) for item in plain)
        return getattr(ufunc, method)(*plain, **options)


def counted(values: np.ndarray) -> Counted:
    return np.ascontiguousarray(values).view(Counted)


def long_job(count: int) -> tuple[list[Entry], Commands, MotionLog]:
    """Instructions of 10 ms each, with ten commands and rows of the log in each."""
    t = 1e-3 * np.arange(10 * count + 1)
    q = np.stack([np.sin(t), t], axis=1)
    zero = np.zeros(len(t), dtype=np.int64)
    commands = Commands(counted(t), q, np.ones_like(q), np.ones_like(q), None, zero, t)
    tip = np.stack([np.cos(t), np.sin(t), np.where(np.arange(len(t)) % 10 < 5, t, np.floor(100 * t))], axis=1)
    log = MotionLog(counted(t), q, q, tip, tip, t)
    journal = [Entry(i, "WAIT 0.01 s", i * 10_000_000, (i + 1) * 10_000_000) for i in range(count)]
    return journal, commands, log


def test_log_entries_look_at_every_row_a_few_times_however_many_instructions_there_are() -> None:
    limits = cast(MotionLimits, type("Limits", (), {"speed": np.ones(2), "acceleration": np.ones(2)}))

    def work(count: int) -> int:
        journal, commands, log = long_job(count)
        Counted.seen = 0
        assert len(log_entries(journal, commands, limits, ("A", "B"), log)) == count
        return Counted.seen

    assert work(400) <= LINEAR * max(work(100), 1000)


def test_log_entries_have_energy_deviation_and_shares_of_their_time() -> None:
    journal, commands, log = long_job(5)
    limits = cast(
        MotionLimits, type("Limits", (), {"speed": np.full(2, 2.0), "acceleration": np.full(2, 4.0)})
    )
    found = log_entries(journal, commands, limits, ("A", "B"), log)
    assert [entry.energy_J for entry in found] == pytest.approx([0.01] * 5)
    assert found[2].limits == (("A", 0.5, 0.25), ("B", 0.5, 0.25))
    assert all(entry.path_deviation_m is not None for entry in found)
    assert log_entries(journal, commands, limits, ("A", "B"))[0].energy_J is None
    assert log_entries([], commands, limits, ("A", "B"), log) == ()


def strokes(count: int) -> MotionLog:
    """Strokes of four steps with rests of four steps between them."""
    way = np.cumsum(np.tile([1.0] * 4 + [0.0] * 4, count)) * 1e-3
    tip = np.stack([way, 0.0 * way, 0.0 * way], axis=1)
    t = 1e-3 * np.arange(len(way))
    return MotionLog(t, tip, tip, tip + np.array([0.0, 1e-4, 0.0]), tip, t)


def test_distances_of_many_strokes_look_at_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    path = motion_log.distance_to_path
    monkeypatch.setattr(
        motion_log,
        "distance_to_path",
        lambda points, corners: asked.append(len(points)) or path(points, corners),
    )
    log = strokes(50)
    assert log.across == pytest.approx(np.full(400, 1e-4))
    assert sum(asked) == 400
    assert len(asked) == 50


def test_distances_work_grows_with_the_strokes() -> None:
    def looked(count: int) -> int:
        log = strokes(count)
        object.__setattr__(log, "stroke", counted(log.stroke))
        Counted.seen = 0
        assert len(log.across) == 8 * count
        return Counted.seen

    assert looked(400) <= LINEAR * max(looked(100), 1000)


def visited(count: int) -> dict[str, np.ndarray]:
    """As many targets, each approached five times and rested at for a row."""
    places = np.repeat(np.tile(np.arange(count), 5), 2) * 1e-3
    zero = np.zeros(len(places))
    names = [f"tip_{word}{axis}_m" for word in ("", "ref_") for axis in "xyz"]
    return {
        "time_s": np.arange(len(places)) * 1e-3,
        **dict.fromkeys(names, zero),
        "tip_ref_x_m": places,
        "tip_x_m": places,
    }


def test_visits_of_many_targets_are_found_with_work_that_grows_with_them() -> None:
    def work(n: int) -> Callable[[], object]:
        signals = visited(n)
        return lambda: visits_of(signals)

    assert growth(work, 40) < LINEAR
    found = visits_of(visited(40))
    assert {len(one.places) for one in found} <= {4, 5}
    assert len(found) >= 38
