"""The report on a job: times, energies and deviations of its instructions, timelines, safe text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from servotwin.report.job_page import carried, job_page
from servotwin.report.job_view import Done, JobStory, by_line, spans
from servotwin.simulation.results.motion_log import MotionLog
from synthetic_result import synthetic_result

SOURCE = "# three moves\nMOVEJ P1 SPEED 50%  # first\nMOVEL P2\nWAIT 0.1 s\nSET OUT1 ON\n"
REACHED = (("speed", "A", 1.0), ("acceleration", "B", 0.7))


def story(samples: int = 701, **changes: object) -> JobStory:
    done = (
        Done(2, "MOVEJ P1", 0.1, 0.5, 0.4, 0.9, None, 12e-6, REACHED),
        Done(3, "MOVEL P2", 0.5, 0.9, 0.2, 0.5, 1e-9, 3e-6, (("tool speed", "", 0.5),)),
        Done(4, "WAIT 0.1 s", 0.9, 1.0),
        Done(5, "SET OUT1 ON", 1.0, 1.0),
        Done(2, "MOVEJ P1", 1.0, 1.4, 0.4, 0.9, None, 15e-6, REACHED, 1.2),
    )
    made = JobStory(
        "pick",
        synthetic_result(samples),
        done,
        {"": SOURCE},
        ((0.0, "disabled"), (0.02, "enabling"), (0.1, "running"), (1.4, "ready")),
        (),
        {"IN1": ((0.0, False), (0.6, True))},
        {"OUT1": ((1.0, True),)},
        gripper="OUT1",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


class Text(HTMLParser):
    """The visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.quiet = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.quiet = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.quiet = False

    def handle_data(self, data: str) -> None:
        if not self.quiet:
            self.parts.append(data)

    @property
    def all(self) -> str:
        return " ".join(" ".join(self.parts).split())


def test_energies_of_instructions_add_up_to_the_cycle() -> None:
    told = story()
    total = sum(step.energy_J or 0.0 for step in told.steps)
    first, last = np.interp([0.1, 1.4], told.t, told.result.signals["bus_energy_J"])
    assert total == pytest.approx(last - first, rel=1e-12)
    assert sum(step.time_s for step in told.steps) == pytest.approx(told.cycle_s)


def test_steps_of_a_line_stand_together_with_the_text_of_the_job() -> None:
    lines = by_line(story().steps, {"": SOURCE})
    assert [(line.line, line.text, len(line.steps)) for line in lines] == [
        (2, "MOVEJ P1 SPEED 50%", 2),
        (3, "MOVEL P2", 1),
        (4, "WAIT 0.1 s", 1),
        (5, "SET OUT1 ON", 1),
    ]
    assert lines[0].time_s == pytest.approx(0.8)
    assert lines[0].largest("chord_error_m") == 15e-6
    assert "A\u00a0speed\u00a0100\u00a0%" in lines[0].limits()
    assert "A voltage limit" in lines[0].limits()  # the synthetic run meets it at 0.40 s
    assert lines[1].limits() == "tool\u00a0speed\u00a050\u00a0%"


def test_steps_of_a_called_file_have_the_text_of_that_file() -> None:
    there = {"file": "/jobs/sub.job", "shown_file": "sub.job"}
    called = (Done(2, "MOVEJ P9", 0.2, 0.3, **there), Done(2, "MOVEJ P1", 0.3, 0.4))
    texts = {"": SOURCE, "/jobs/sub.job": "# part\nMOVEJ P9 SPEED 5%\n"}
    lines = by_line(story(done=called).steps, texts)
    assert [(line.place, line.text) for line in lines] == [
        ("2", "MOVEJ P1 SPEED 50%"),
        ("sub.job:2", "MOVEJ P9 SPEED 5%"),
    ]


def test_interrupted_instruction_is_marked() -> None:
    told = story(
        done=(Done(3, "MOVEL P2", 0.5, 0.9, complete=False),), finished=False, reason="'stop' was pressed"
    )
    assert told.steps[0].numbers()["complete"] is False
    text = Text(job_page(told)).all.replace("\u00a0", " ")
    assert "MOVEL P2 (interrupted)" in text
    assert "'stop' was pressed" in text


def test_a_late_arm_is_not_off_its_path() -> None:
    told = story()
    lag = np.linalg.norm(told.q - told.q_ref, axis=1).max()
    worst = max(step.off_path_m or 0.0 for step in told.steps)
    assert lag > 0.02  # rad: the synthetic arm is late
    assert worst < 1e-3


def test_page_tells_what_matters() -> None:
    text = Text(job_page(story())).all
    for wanted in (
        "Job pick",
        "Cycle time 1.300 s",
        "Energy of a cycle",
        "Off the path",
        "Chord error 15.0 µm",
    ):
        assert wanted in text, wanted
    for section in ("The arm", "Instructions", "Path of the tool", "What happened when", "Motors", "Supply"):
        assert section in text, section
    assert "slowed 1.20 times" in text


def test_alarm_and_early_end_stand_first() -> None:
    text = Text(job_page(story(alarms=((0.7, "following error: axis A"),), finished=False))).all
    assert "did not come to its end" in text
    assert text.index("following error: axis A") < text.index("Cycle time")


def test_page_holds_the_player_of_its_two_motions_once() -> None:
    page = job_page(story())
    assert page.count('<figure class="animation">') == 2
    assert page.count("class Scene ") == 1


def test_job_without_instructions_has_a_page() -> None:
    text = Text(job_page(story(done=(), states=(), outputs={}, inputs={}, gripper=""))).all
    assert "No instruction was carried out" in text


def test_text_of_the_job_is_escaped() -> None:
    evil = "<script>alert('x')</script>"
    told = story(
        sources={"": evil, evil: evil}, name=evil, alarms=((0.5, evil),), outputs={evil: ((0.2, True),)}
    )
    assert "<script>alert" not in job_page(told)


def test_payload_is_carried_while_the_output_is_on() -> None:
    told = story(outputs={"OUT1": ((0.4, True), (0.8, False))})
    held = carried(told)
    assert held is not None
    np.testing.assert_array_equal(held, (told.t >= 0.4) & (told.t < 0.8))
    assert carried(story(gripper="OUT9")) is None


def test_changes_become_intervals() -> None:
    assert spans(((0.0, "a"), (1.0, "b"), (1.0, "c")), 3.0) == [(0.0, 1.0, "a"), (1.0, 3.0, "c")]


def test_page_of_instructions_without_any_recorded_instant() -> None:
    told = story(finished=False, reason="diverged at 0.5 s")
    nothing = {name: values[:0] for name, values in told.result.signals.items()}
    kept = (getattr(told.result.log, name) for name in MotionLog.__dataclass_fields__)
    log = MotionLog(*(None if values is None else values[:0] for values in kept))
    told = replace(told, result=replace(told.result, signals=nothing, complete=False, log=log))
    page = job_page(told)
    assert "The job did not come to its end, but to 1.4 s: diverged at 0.5 s." in page
    assert "No instant was recorded" in page
    assert "MOVEJ" in page
    assert [step.energy_J for step in told.steps] == [None] * len(told.done)


def test_slowed_move_is_told_with_two_decimals_from_one_percent_on() -> None:
    from servotwin.report.job_view import MENTIONED, slowed_text

    assert [slowed_text(x) for x in (1.0139, 1.2, 12.344, 456.7)] == [
        "slowed 1.01 times",
        "slowed 1.20 times",
        "slowed 12.34 times",
        "slowed 457 times",
    ]
    assert MENTIONED > 1.0039


def test_sources_of_one_name_are_headed_with_their_folders() -> None:
    sources = {"": SOURCE, "cell/left/drop.job": "WAIT 1 s\n", "cell/right/drop.job": "WAIT 2 s\n"}
    text = "".join(Text(job_page(story(sources=sources, main="cell/main.job"))).parts)
    assert "The file left/drop.job" in text
    assert "The file right/drop.job" in text
