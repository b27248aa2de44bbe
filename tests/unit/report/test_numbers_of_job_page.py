"""Every number, table and curve of the report on a job, against its steps and signals; units are converted here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seen import Seen, numbers, rounds_to
from servotwin.report.job_page import job_page
from servotwin.report.job_view import Done, JobStory
from synthetic_result import synthetic_result

MM, UM = 1e3, 1e6
MOVES = {2: "MOVEJ P1", 3: "MOVEL P2"}


def done() -> tuple[Done, ...]:
    near = (("speed", "A", 0.8612), ("acceleration", "B", 0.7))
    first = Done(2, "MOVEJ P1", 0.1, 0.51, 0.4123, 0.9, None, 12.4e-6, near, pulse_deviation_m=2.2e-6)
    again = replace(
        first, begin_s=1.03, end_s=1.33, length_m=0.3, top_speed=1.234, chord_error_m=15.6e-6, slowed=1.25
    )
    return (
        first,
        Done(
            3,
            "MOVEL P2",
            0.51,
            0.9,
            0.21,
            0.55,
            1e-9,
            3.3e-6,
            (("speed", "", 0.5),),
            pulse_deviation_m=7.7e-6,
        ),
        Done(4, "WAIT 0.1 s", 0.9, 1.0),
        Done(5, "SET OUT1 ON", 1.0, 1.03),
        again,
    )


@pytest.fixture(scope="module")
def story() -> JobStory:
    result = synthetic_result(1401)
    axes = [dict(axis) for axis in result.summary["axes"]]
    axes[0]["saturation"] = [{"kind": "voltage limit", "from_s": 0.55, "to_s": 0.6}]
    summary = {**result.summary, "axes": axes, "tip_error_final_m": 4.27e-5, "simulated_s": 1.4}
    return JobStory(
        "pick",
        replace(result, summary=summary),
        done(),
        {},
        ((0.0, "disabled"), (0.02, "enabling"), (0.1, "running"), (1.33, "ready")),
        (),
        {"IN1": ((0.0, False), (0.6, True), (0.8, False))},
        {"OUT1": ((1.0, True),)},
        gripper="OUT1",
    )


@pytest.fixture(scope="module")
def page(story: JobStory) -> Seen:
    return Seen(job_page(story))


def energy(story: JobStory, begin: float, end: float) -> float:
    a, b = np.interp([begin, end], story.t, story.result.signals["bus_energy_J"])
    return float(b - a)


def off_path(story: JobStory, begin: float, end: float) -> float:
    """Largest distance [m] of the tool from the polygon of the commanded points within half a second, by force."""
    t = story.t
    actual, wanted = (
        np.stack([story.result.signals[f"tip_{word}{a}_m"] for a in "xyz"], axis=1) for word in ("", "ref_")
    )
    worst = 0.0
    for i in np.flatnonzero((t >= begin - 1e-9) & (t <= end + 1e-9))[::7]:
        near = np.abs(t - t[i]) <= 0.5
        p = wanted[near]
        a, b = p[:-1], p[1:]
        edge = b - a
        size = np.maximum((edge**2).sum(axis=1), 1e-300)
        share = np.clip(((actual[i] - a) * edge).sum(axis=1) / size, 0.0, 1.0)
        worst = max(worst, float(np.linalg.norm(actual[i] - a - share[:, None] * edge, axis=1).min()))
    return worst


def test_line_rows_are_sums_and_largest_values_of_their_steps(story: JobStory, page: Seen) -> None:
    table = page.table("energy [J]", "chord error", "share")
    rows = {int(row[0].text): i for i, row in enumerate(table.rows)}
    assert sorted(rows) == [2, 3, 4, 5]
    cycle = 1.33 - 0.1
    for line, i in rows.items():
        steps = [step for step in story.done if step.line == line]
        time = sum(step.end_s - step.begin_s for step in steps)
        taken = sum(energy(story, step.begin_s, step.end_s) for step in steps)
        assert rounds_to(table.cell(i, "times").text, len(steps))
        assert rounds_to(table.rows[i][table.columns.index("time [s]")].text, time)
        assert rounds_to(table.cell(i, "share").text, 100.0 * time / cycle)
        assert rounds_to(table.cell(i, "energy", "[J]").text, taken)
        if line not in MOVES:
            continue
        assert rounds_to(table.cell(i, "way", "[mm]").text, MM * max(step.length_m or 0.0 for step in steps))
        assert rounds_to(
            table.cell(i, "top speed", "[m/s]").text, max(step.top_speed or 0.0 for step in steps)
        )
        assert rounds_to(
            table.cell(i, "chord error", "[µm]").text, UM * max(step.chord_error_m or 0.0 for step in steps)
        )
        assert rounds_to(
            table.cell(i, "pulses", "[µm]").text, UM * max(step.pulse_deviation_m or 0.0 for step in steps)
        )
        off = max(off_path(story, step.begin_s, step.end_s) for step in steps)
        shown = float(table.cell(i, "off the path", "[mm]").text)
        assert shown == pytest.approx(MM * off, rel=0.02, abs=1e-3)  # every seventh row was looked at here
    limits = table.cell(rows[2], "limits").text
    assert 86.0 in numbers(limits.replace("%", ""))
    assert 1.25 in numbers(limits)
    assert "voltage limit" in table.cell(rows[3], "limits").text
    assert "voltage limit" not in limits


def test_step_rows_are_the_steps_in_their_order(story: JobStory, page: Seen) -> None:
    table = next(t for t in page.tables if t.columns[:2] == ["from", "to"] and "energy [J]" in t.columns)
    assert len(table.rows) == 5
    for i, step in enumerate(story.done):
        row = table.rows[i]
        assert rounds_to(row[0].text, step.begin_s)
        assert rounds_to(row[1].text, step.end_s)
        assert row[2].text == str(step.line)
        assert rounds_to(table.cell(i, "energy", "[J]").text, energy(story, step.begin_s, step.end_s))
        if step.line in MOVES:
            assert rounds_to(table.cell(i, "chord error", "[µm]").text, UM * (step.chord_error_m or 0.0))
            off = MM * off_path(story, step.begin_s, step.end_s)
            assert float(table.cell(i, "off the path", "[mm]").text) == pytest.approx(off, rel=0.02, abs=1e-3)


def test_cards_show_the_cycle(story: JobStory, page: Seen) -> None:
    page.card("s", 1.23)
    page.card("J", energy(story, 0.1, 1.33))
    page.card("mm", 0.0427)
    page.card("µm", 15.6)
    page.card("µm", 7.7)
    moving = 0.41 + 0.39 + 0.30
    card = page.card("%", 100.0 * moving / 1.23)
    assert rounds_to(card.remark, moving)
    offs = {step.line: off_path(story, step.begin_s, step.end_s) for step in story.done if step.line in MOVES}
    worst = max(offs, key=lambda line: offs[line])
    card = next(c for c in page.cards if c.unit == "mm" and f"line {worst}" in c.remark)
    assert float(card.value) == pytest.approx(MM * offs[worst], rel=0.02)


def test_tool_speed_is_the_rate_of_its_position_in_space(story: JobStory, page: Seen) -> None:
    t = story.t
    for word, dash in (("", None), ("ref_", "dot")):
        squares = sum(np.gradient(story.result.signals[f"tip_{word}{a}_m"], t) ** 2 for a in "xyz")
        assert page.drawn("s", "m/s", t, np.sqrt(squares), dash=dash) == 1


def blocks(page: Seen, row: str) -> list[tuple[float, float]]:
    """Begin and end of the bars in a row of the timeline."""
    found = []
    for figure in page.figures:
        for trace in figure.data:
            if trace["type"] == "bar" and "base" in trace and len(trace["y"]) and trace["y"][0] == row:
                found += [(a, a + b) for a, b in zip(trace["base"], trace["x"], strict=True) if b > 0.0]
    return sorted((float(a), float(b)) for a, b in found)


def test_timeline_has_every_instruction_state_and_signal_from_begin_to_end(
    story: JobStory, page: Seen
) -> None:
    end = float(story.t[-1])
    np.testing.assert_allclose(blocks(page, "instruction"), [(s.begin_s, s.end_s) for s in story.done])
    np.testing.assert_allclose(blocks(page, "state"), [(0.0, 0.02), (0.02, 0.1), (0.1, 1.33), (1.33, end)])
    np.testing.assert_allclose(blocks(page, "IN1"), [(0.6, 0.8)])
    np.testing.assert_allclose(blocks(page, "OUT1"), [(1.0, end)])


def test_shares_of_time_and_energy_are_those_of_the_lines(story: JobStory, page: Seen) -> None:
    (figure,) = [item for item in page.figures if item.unit({"xaxis": "x2"}, "x") == "J"]
    assert figure.unit({}, "x") == "s"
    for trace in figure.data:
        joules = trace.get("xaxis") == "x2"
        for label, value in zip(trace["y"], trace["x"], strict=True):
            steps = [step for step in story.done if step.line == int(label.partition(":")[0])]
            wanted = [
                energy(story, step.begin_s, step.end_s) if joules else step.end_s - step.begin_s
                for step in steps
            ]
            assert value == pytest.approx(sum(wanted), abs=1e-9)


def test_states_are_listed_with_their_instants(story: JobStory, page: Seen) -> None:
    rows = [row for table in page.tables for row in table.rows if len(row) == 3 and row[1].text == "state"]
    assert [(numbers(row[0].text)[0], row[2].text) for row in rows] == list(story.states)
