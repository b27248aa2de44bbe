"""What the commands of a job say of its moves, whatever the pace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from operators import points
from servotwin.jobs.language import parse
from servotwin.jobs.program import Program, load_program, shown_file, sources_of
from servotwin.report.job_story import instructions
from servotwin.simulation.job_run import JobSettings, rehearse
from servotwin.simulation.results.job_log import JobLog
from servotwin.simulation.scenario.io_script import parse_io_script

LINE = "PROFILE trapezoid\nMOVEJ P1\nMOVEL P2 SPEED 0.4 m/s ACC 2 m/s2\nWAIT 0.1 s\nMOVEJ P1"


def program(text: str) -> Program:
    return Program(parse(text, "test.job"), points())


def test_line_is_told_as_the_geometry_of_its_commands_has_it() -> None:
    """Of a straight line all is known: its length, and how far interpolated joints leave it."""
    log, commands, player = rehearse(program(LINE))
    done = {step.text: step for step in instructions(log, commands, player)}
    line, robot = done["MOVEL P2"], player.robot
    begin, end = robot.fkine(player.plans[1].trajectory.sample([0.0, 1e9])[0])[:, :3, 3]
    assert line.length_m == pytest.approx(float(np.linalg.norm(end - begin)), rel=1e-6)
    assert line.top_speed == pytest.approx(0.4, rel=1e-6)
    assert line.deviation_m is not None
    assert line.deviation_m < 1e-8
    within = commands.motion[:-1] == commands.motion[1:]
    k = np.flatnonzero(within & (commands.motion[:-1] == line_motion(log)))
    share = np.linspace(0.0, 1.0, player.substeps + 1)[:, None, None]
    between = commands.q[k] + share * (commands.q[k + 1] - commands.q[k])
    tip = robot.fkine(between.reshape(-1, robot.n))[:, :3, 3] - begin
    along = (end - begin) / np.linalg.norm(end - begin)
    across = tip - (tip @ along)[:, None] * along
    assert line.chord_error_m == pytest.approx(
        np.linalg.norm(across, axis=1).max(), rel=1e-3
    )  # 1e-8 m of 20 um
    assert done["WAIT 0.1 s"].length_m is None
    assert done["MOVEJ P1"].deviation_m is None


def line_motion(log: JobLog) -> int:
    """The number of the line's motion among the commands."""
    return next(entry.motion for entry in log.entries if entry.text == "MOVEL P2")


def chord(period: str = "16 ms", substeps: int | None = None, text: str = "MOVEL P2") -> float:
    """Chord error [m] of an instruction."""
    log, commands, player = rehearse(program(LINE), overrides={"controller.main_period": period})
    player.substeps = substeps or player.substeps
    done = {step.text: step for step in instructions(log, commands, player)}
    error = done[text].chord_error_m
    assert error is not None
    return error


def test_chord_error_falls_with_the_square_of_the_period() -> None:
    assert chord("16 ms") / chord("8 ms") == pytest.approx(4.0, rel=0.1)


def test_chord_error_is_taken_at_the_periods_of_the_axis_controller() -> None:
    """With one axis period in a main period every point is a commanded one."""
    assert chord(substeps=1) < 1e-8
    assert chord(substeps=2) == pytest.approx(
        chord(), rel=0.02
    )  # half-way between two commands it is largest


def test_joint_move_has_no_chord_error_to_speak_of() -> None:
    assert chord(text="MOVEJ P1") < 1e-2 * chord()  # joints that are interpolated linearly are on its path


def test_at_half_the_pace_speed_is_half_and_chord_error_a_quarter() -> None:
    facts = []
    for percent in (100, 50):
        log, commands, player = rehearse(program(LINE), settings=JobSettings(override=percent))
        facts.append({step.text: step for step in instructions(log, commands, player)}["MOVEL P2"])
    full, half = facts
    assert half.top_speed == pytest.approx(0.5 * full.top_speed, rel=1e-6)
    assert half.length_m == pytest.approx(full.length_m, rel=1e-6)
    assert half.chord_error_m == pytest.approx(0.25 * full.chord_error_m, rel=0.2)


@pytest.mark.parametrize("name", ["scara-line", "puma-line"])
def test_pulses_are_off_the_path_by_what_rounding_can_move_the_tool(name: str) -> None:
    log, commands, player = rehearse(name)
    lines = [step for step in instructions(log, commands, player) if step.word == "MOVEL"]
    exact = max(step.deviation_m or 0.0 for step in lines)
    rounded = max(step.pulse_deviation_m or 0.0 for step in lines)
    assert exact < 1e-8
    assert commands.q_pulses is not None
    gap = np.abs(commands.q_pulses - commands.q)
    reach = np.abs(player.robot.jacob0(commands.q))[:, :3] @ gap[..., None]
    assert 1e-6 < rounded <= float(np.linalg.norm(reach[..., 0], axis=1).max()) + exact + 1e-9


def test_move_that_stands_still_has_no_speed() -> None:
    """Beside a move of 0.2 m/s that follows within the same period."""
    log, commands, player = rehearse(
        program("MOVEJ P1\nMOVEJ P1\nMOVEL P2 SPEED 0.2 m/s\nMOVEL P2\nMOVEL P1")
    )
    done = list(instructions(log, commands, player))
    assert [step.length_m for step in done[1::2]] == [0.0, 0.0]
    assert [step.top_speed for step in done[1::2]] == [0.0, 0.0]
    assert done[2].top_speed == pytest.approx(0.2, rel=1e-6)


def test_interrupted_move_is_told_up_to_where_it_came() -> None:
    script = parse_io_script("format: servotwin-io/1\nevents: [{at: 0.6 s, press: stop}]")
    log, commands, player = rehearse(
        program("MOVEL P2 SPEED 0.1 m/s"), settings=JobSettings(start=START), io_script=script
    )
    (step,) = instructions(log, commands, player)
    tip = player.robot.fkine(commands.q)[:, :3, 3]
    assert not step.complete
    assert step.said == "MOVEL P2 (interrupted)"
    assert step.length_m == pytest.approx(float(np.linalg.norm(tip[-1] - tip[0])), rel=1e-6)


START = dict(zip(("A", "B", "Z", "W"), [0.35, 0.7, 0.05, 0.17], strict=True))


def test_instructions_of_a_called_file_name_it(tmp_path: Path) -> None:
    from servotwin.jobs.points_file import write_points

    (tmp_path / "main.job").write_text('MOVEJ P1\nCALL "sub.job"\nMOVEJ P1\n')
    (tmp_path / "sub.job").write_text("MOVEJ P2\n")
    for name in ("main", "sub"):
        write_points(points(), tmp_path / f"{name}.points.yaml")
    log, commands, player = rehearse(load_program(tmp_path / "main.job"), settings=JobSettings(start=START))
    done = instructions(log, commands, player)
    assert [(step.place, step.text) for step in done] == [
        ("1", "MOVEJ P1"),
        ("2", "CALL"),
        ("sub.job:1", "MOVEJ P2"),
        ("3", "MOVEJ P1"),
    ]


def test_called_files_of_one_name_are_shown_with_their_folders(tmp_path: Path) -> None:
    from servotwin.jobs.points_file import write_points
    from servotwin.report.job_view import Step, by_line

    (tmp_path / "main.job").write_text('CALL "left/drop.job"\nCALL "right/drop.job"\n')
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "drop.job").write_text("MOVEJ P2\n")
        write_points(points(), tmp_path / name / "drop.points.yaml")
    write_points(points(), tmp_path / "main.points.yaml")
    program = load_program(tmp_path / "main.job")
    log, commands, player = rehearse(program, settings=JobSettings(start=START))
    done = instructions(log, commands, player)
    places = ["1", "left/drop.job:1", "2", "right/drop.job:1"]
    assert [step.place for step in done] == places
    assert sorted(line.place for line in by_line([Step(item, None, None, ()) for item in done])) == sorted(
        places
    )
    assert [shown_file(file, program.job.file) for file in list(sources_of(program))[1:]] == [
        "left/drop.job",
        "right/drop.job",
    ]
