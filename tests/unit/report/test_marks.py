"""Marks of events in figures: no label covers another one, and the supply's events stand in figures of pressures."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from hypothesis import given, settings
from hypothesis import strategies as s

from servotwin.report.simulation_figures_hydraulic import flow, pressures
from servotwin.report.simulation_view import View
from servotwin.report.traces import LETTER, marks, spans_where, stacked
from tests import hydraulic_axes as hx
from tests import small_drives as small

LABELS = s.lists(s.tuples(s.floats(0.0, 3.0), s.text("abc: ", min_size=1, max_size=30)), max_size=8)


@settings(max_examples=200, deadline=None)
@given(LABELS)
def test_no_two_labels_cover_each_other(labels):
    labels = sorted(labels)
    boxes = []
    for (time, text), (row, right) in zip(labels, stacked(labels, 0.0, 3.0), strict=True):
        width = LETTER * 3.0 * len(text)
        start = time if right else time - width
        assert all(row != r or start >= end or start + width <= begin for r, begin, end in boxes)
        assert start + width <= 3.0 + 1e-9 or start - width < 0.0 or right
        boxes.append((row, start, start + width))


def test_what_happens_at_one_instant_has_one_line_and_one_label():
    figure = go.Figure(go.Scatter(x=[0.0, 1.0], y=[0.0, 1.0]))
    marks(figure, [(0.5, "b"), (0.2, "a"), (0.5, "c"), (0.5, "b")])
    assert [note.text for note in figure.layout.annotations] == ["a", "b, c"]
    assert len(figure.layout.shapes) == 2


def test_intervals_are_those_of_the_samples():
    t = np.arange(6.0)
    assert spans_where(t, np.array([True, True, False, True, False, True])) == [
        (0.0, 1.0),
        (3.0, 3.0),
        (5.0, 5.0),
    ]
    assert spans_where(t, np.zeros(6, dtype=bool)) == []


def test_pump_that_stops_and_relief_valve_stand_in_the_figures_of_pressures(tmp_path):
    scenario = {
        "start": {"A": "-120 mm"},
        "move": [{"to": {"A": "-60 mm"}, "dwell": "0.2 s"}],
        "faults": [
            {"at": "0.2 s", "kind": "pump-stops"},
            {"at": "0.21 s", "kind": "spool-stuck", "axis": "A"},
        ],
    }
    result = small.run_case(tmp_path, hx.lift(hx.PUMP), scenario)
    view = View(result, result.scenario.description)
    for draw in (pressures, flow):
        words = [note.text for note in draw(view, "A").layout.annotations]
        assert any("pump-stops" in word for word in words)
    figure = pressures(view, "A")
    assert "relief valve open" in [trace.name for trace in figure.data]
    spans = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    supply = result.signals["motor_A_supply_pressure_Pa"]
    opened = supply > 70e5
    assert opened.any()
    assert not opened.all()
    assert spans[0].x0 <= 0.01
    assert max(span.x1 for span in spans) < 0.3  # the pump feeds it no longer
    heights = {note.text: note.y for note in figure.layout.annotations}
    assert len(set(heights.values())) == 2
