"""The report on a run of a job: one page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from servotwin.description.display import MM, UM
from servotwin.jobs.program import shown_file
from servotwin.mechanism.model import BoolArray
from servotwin.report import job_figures as figures
from servotwin.report.animation import animation_fragment, animation_player
from servotwin.report.job_view import MENTIONED, MOVES, JobStory, Line, Step, by_line, slowed_text
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.simulation_sections import LEAST_ROWS, drive_sections, say_if_empty
from servotwin.report.simulation_view import view
from servotwin.version import __version__

MOST_STEPS = 400  # rows of the table of every step
COLUMNS = (
    "line",
    "instruction",
    "limits reached",
    "times",
    "time [s]",
    "share",
    "energy [J]",
    "way of the tool [mm]",
    "top speed [m/s]",
    "off the path [mm]",
    "chord error [µm]",
    "by pulses [µm]",
)
STEP_COLUMNS = (
    "from",
    "to",
    "line",
    "instruction",
    "energy [J]",
    "off the path [mm]",
    "chord error [µm]",
    "limits reached",
)


def job_page(story: JobStory, payload: str = "") -> str:
    """The page as HTML; ``payload``: a word on what the tool carries."""
    page = Page(f"Job {story.name}", _subtitle(story))
    _messages(page, story)
    lines = by_line(story.steps, story.sources)
    drawn = len(story.t) >= LEAST_ROWS
    if drawn:
        page.cards(_cards(story, lines))
        _arm(page, story, payload)
    _instructions(page, story, lines)
    if drawn:
        _path(page, story)
        _times(page, story)
    drive_sections(page, view(story.result))
    for file, text in story.sources.items():
        if text:
            page.section(f"The file {shown_file(file, story.main)}" if file else "The job")
            page.fragment(f'<pre class="table" style="padding: 12px 16px">{escape(text)}</pre>')
    return page.html(
        f"ServoTwin {__version__}. The numbers of this page are in summary.json, instructions.json and "
        "signals.parquet, in SI units."
    )


def _subtitle(story: JobStory) -> str:
    title = story.result.robot.title or story.result.robot.name
    return f"{title}: played back and simulated with its drives, {len(story.done)} instructions carried out."


def _messages(page: Page, story: JobStory) -> None:
    """What a reader must know before anything else."""
    lines = [f"{time:.3f} s: {text}" for time, text in story.alarms]
    if not story.finished:
        why = f": {story.reason}" if story.reason else ""
        lines.insert(0, f"The job did not come to its end, but to {story.end_s:.4g} s{why}.")
    lines += [str(line) for line in story.result.summary.get("warnings", [])]
    for text in lines:
        page.warning(text)
    say_if_empty(page, view(story.result))


def _cards(story: JobStory, lines: Sequence[Line]) -> list[Card]:
    numbers = story.result.summary
    cards = [
        Card(
            "Cycle time",
            f"{story.cycle_s:.3f}",
            "s",
            "first to last instruction" if story.finished else "up to where it stopped",
            "good" if story.finished else "warn",
        )
    ]
    energy = [line.energy_J for line in lines if line.energy_J is not None]
    if energy:
        cards.append(Card("Energy of a cycle", f"{sum(energy):.1f}", "J", "taken from the source"))
    off = [(step.off_path_m, step) for step in story.steps if step.off_path_m is not None]
    if off:
        worst, step = max(off, key=lambda pair: pair[0])
        cards.append(
            Card(
                "Off the path",
                f"{MM * worst:.3f}",
                "mm",
                f"at most, in line {step.done.place}; lateness aside",
            )
        )
    chords = [step.done.chord_error_m for step in story.steps if step.done.chord_error_m is not None]
    if chords:
        cards.append(
            Card(
                "Chord error",
                f"{UM * max(chords):.1f}",
                "µm",
                "of the commands between their samples, at most",
            )
        )
    rounded = [step.done.pulse_deviation_m for step in story.steps]
    known = [value for value in rounded if value is not None]
    if known:
        cards.append(
            Card("By pulses", f"{UM * max(known):.1f}", "µm", "of whole pulses from the path, at most")
        )
    shaped = numbers.get("job", {}).get("shaped", 0)
    if shaped:
        longer = numbers["job"]["shaping_s"]
        cards.append(Card("Input shaping", f"{longer:.3f}", "s", f"longer, {shaped} motions in all"))
    moving = sum(step.time_s for step in story.steps if step.done.word in MOVES)
    if story.cycle_s > 0.0:
        cards.append(
            Card("In motion", f"{100 * moving / story.cycle_s:.0f}", "%", f"{moving:.3f} s of the cycle")
        )
    final = numbers.get("tip_error_final_m")
    if isinstance(final, float):
        cards.append(Card("Tip error at the end", f"{MM * final:.3f}", "mm", "after the last instruction"))
    return cards


def carried(story: JobStory) -> BoolArray | None:
    """When the gripper's output was on (k,); None if no output is named."""
    changes = story.outputs.get(story.gripper)
    if changes is None:
        return None
    times = np.array([time for time, _ in changes])
    on = np.array([False, *(state for _, state in changes)])
    return np.asarray(on[np.searchsorted(times, story.t, side="right")])


def _arm(page: Page, story: JobStory, payload: str) -> None:
    page.section(
        "The arm",
        "Drag to look from elsewhere, click and turn the wheel to come nearer. Orange is the way of the tool, "
        "dotted what was commanded.",
    )
    marks = [(done.begin_s, f"line {done.place}: {done.said}") for done in story.done]
    held = carried(story)
    word = payload or ("part" if held is not None else "")
    page.fragment(
        animation_fragment(
            story.result.true_robot, story.t, story.q, story.q_ref, known=story.result.robot, tool=story.X_tool,
            marks=marks, payload=word, carried=held, heading=story.result.robot.title or story.result.robot.name,
        ),
        animation_player(),
    )  # fmt: skip


def _instructions(page: Page, story: JobStory, lines: Sequence[Line]) -> None:
    page.section(
        "Instructions",
        "What every line of the job took, all its times together. Off the path is the largest distance of the tool "
        "from the commanded path, whatever its lateness; the chord error is what the commands leave out between their "
        "samples; by pulses is how far rounding to whole pulses takes them from the path. The limits are those of the "
        "commands, then those that the drives met.",
    )
    if not lines:
        page.paragraph("No instruction was carried out.")
        return
    page.table(COLUMNS, [_line_row(line, story.cycle_s) for line in lines], text_columns=3)
    page.figures([Figure(figures.shares(lines), "Where time and energy go")])
    steps = story.steps
    if len(steps) > len(lines):
        more = "" if len(steps) <= MOST_STEPS else f", the first {MOST_STEPS}"
        page.details(
            f"All {len(steps)} instructions in the order of time{more}",
            STEP_COLUMNS,
            [_step_row(step) for step in steps[:MOST_STEPS]],
        )


def _line_row(line: Line, cycle: float) -> list[str | Cell]:
    moves = line.steps[0].done.word in MOVES
    slowed = max(step.done.slowed for step in line.steps)
    limits = line.limits() + (f", {slowed_text(slowed)}" if slowed >= MENTIONED else "")
    return [
        Cell(line.place, "strong"),
        _whole(line.said),
        limits,
        str(len(line.steps)),
        f"{line.time_s:.3f}",
        f"{100 * line.time_s / cycle:.0f}\u00a0%" if cycle > 0 else "-",
        _number(line.energy_J, 1.0, 1),
        _number(line.largest("length_m"), MM, 1) if moves else "",
        _number(line.largest("top_speed"), 1.0, 3) if moves else "",
        _number(line.largest("off_path_m"), MM, 3) if moves else "",
        _number(line.largest("chord_error_m"), 1e6, 1) if moves else "",
        _number(line.largest("pulse_deviation_m"), 1e6, 1) if moves else "",
    ]


def _whole(text: str) -> str:
    """Short text that a narrow column does not break."""
    return text.replace(" ", "\u00a0") if len(text) <= 32 else text


def _step_row(step: Step) -> list[str | Cell]:
    done = step.done
    return [
        f"{done.begin_s:.3f} s",
        f"{done.end_s:.3f} s",
        Cell(done.place, "strong"),
        _whole(done.said),
        _number(step.energy_J, 1.0, 2),
        _number(step.off_path_m, MM, 3),
        _number(done.chord_error_m, 1e6, 1),
        step.limits(),
    ]


def _number(value: float | None, factor: float, places: int) -> str:
    if value is None:
        return "-"
    text = f"{factor * value:.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def _path(page: Page, story: JobStory) -> None:
    page.section("Path of the tool", "Dotted what was commanded. The deviation across it can be magnified.")
    page.fragment(
        animation_fragment(
            story.result.true_robot, story.t, story.q, story.q_ref, known=story.result.robot, tool=story.X_tool,
            arm=False, heading="Path in space",
            marks=[(done.begin_s, f"line {done.place}: {done.said}") for done in story.done],
        ),
        animation_player(),
    )  # fmt: skip
    page.figures([Figure(figures.tool_speed(story), "Speed of the tool")])


def _times(page: Page, story: JobStory) -> None:
    page.section("What happened when")
    page.figures([Figure(figures.timeline(story), "Instructions, states, inputs and outputs")])
    if story.states or story.alarms:
        rows = [(time, "state", text) for time, text in story.states]
        rows += [(time, "alarm", text) for time, text in story.alarms]
        page.details(
            "States and alarms",
            ("at", "what", ""),
            [[f"{time:.3f} s", Cell(kind, "strong"), text] for time, kind, text in sorted(rows)],
        )
