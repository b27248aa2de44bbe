"""Whatever a page sends, the cell goes on: numbers beyond all floats, words where numbers belong, lists of nothing."""

from __future__ import annotations

import inspect
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.pendant.cell.run import Cell
from servotwin.pendant.cell.setup import CellSettings
from tests.campaign import campaign, cases

HUGE = 10**400
ODD: tuple[Any, ...] = (
    *(
        HUGE,
        -HUGE,
        1e308,
        float("nan"),
        float("inf"),
        1.0,
        0.5,
        -1,
        0,
        2**63,
        True,
        None,
        "",
        "\u00e9" * 2000,
        "\ud800",
    ),
    *(
        [],
        [[]],
        {},
        {"a": 1},
        [HUGE] * 6,
        [float("nan")] * 4,
        [0.0] * 4,
        [1.0] * 40,
        ["x"],
        "P1",
        "base",
        "../x.job",
    ),
)
HELD = ("switch", "hold", "frame", "direction", "speed", "user", "at")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    answers: list[dict[str, Any]] = []
    found = Cell(CellSettings("gsis-scara", "ideal", str(tmp_path)), answers.append)
    for k in range(1, 4):
        found.period(k * found.period_ns)
    return found


def words_of(cell: Cell, key: str) -> list[str]:
    return list(inspect.signature(cell.panel._keys[key]).parameters)


@pytest.mark.parametrize("value", [HUGE, -HUGE], ids=["huge", "minus-huge"])
def test_numbers_beyond_all_floats_are_refused_everywhere(cell: Cell, value: int) -> None:
    for name in HELD:
        cell.take({"switch": 1, "hold": True, "at": 1, name: [value] * 4 if name == "direction" else value})
    for key in cell.panel._keys:
        cell.take({"key": key, "with": dict.fromkeys(words_of(cell, key), value), "number": 1})
    cell.take({"key": "step", "with": {"frame": "joint", "direction": [1.0, 0, 0, 0], "length": value}})
    cell.take({"key": "mode", "with": {"mode": "T1"}, "number": value})
    before = cell.live.q
    for k in range(10, 40):
        cell.period(k * cell.period_ns)
    np.testing.assert_array_equal(cell.live.q, before)


@campaign
def test_no_nonsense_ends_the_cell(cell: Cell) -> None:
    draw = random.Random(3)
    for k in range(cases(1500, 60_000)):
        key = draw.choice([*cell.panel._keys, "nothing", 7])
        known = words_of(cell, key) if isinstance(key, str) and key in cell.panel._keys else ["x"]
        words = {word: draw.choice(ODD) for word in draw.sample(known, draw.randint(0, len(known)))}
        message = {"key": key, "with": draw.choice([words, words, words, []]), "number": draw.choice(ODD)}
        if draw.random() < 0.5:
            message = {name: draw.choice(ODD) for name in draw.sample(HELD, 4)} | {"switch": draw.choice(ODD)}
        line = json.dumps(message, default=str)
        cell.take(json.loads(line))
        cell.period((k + 10) * cell.period_ns)
        assert np.isfinite(cell.live.q).all()
