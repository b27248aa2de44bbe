"""The requests that a job gives, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from servotwin.description.frames import rot_z
from servotwin.jobs import requests as r
from servotwin.jobs.interpreter import MAX_SILENT, Interpreter
from servotwin.jobs.language import parse
from servotwin.jobs.points import Point, Points, Pose
from servotwin.jobs.program import Program


class Slides:
    """A robot of three slides: the joint positions are the position of the tool."""

    joint_names = ("x", "y", "z")

    def fkine(self, q: Any) -> Any:
        X = np.eye(4)
        X[:3, 3] = q
        return X


POINTS = (
    Points({f"P{i}": Point(pose=Pose(x=i / 10)) for i in range(1, 5)})
    .with_point("C1", Point(pose=Pose(x=0.2)))
    .with_point("C2", Point(pose=Pose(y=0.4)))
    .with_point("C0", Point(pose=Pose()))
    .with_point("F1", Point(pose=Pose(x=0.1), frame="table"))
    .with_point("B1", Point(pose=Pose(x=0.1), frame="base"))
    .with_point("J1", Point({"x": 0.1, "y": 0.2, "z": 0.3}, frozenset("xyz")))
    .with_frame("table", Pose(x=1.0, yaw=np.pi / 2))
    .with_tool("gripper", Pose(z=0.05, yaw=np.pi / 2))
)


def program(text: str, **called: str) -> Program:
    others = {f"{name}.job": Program(parse(body, f"{name}.job"), POINTS) for name, body in called.items()}
    return Program(parse(text, "a.job"), POINTS, others)


def run(text: str, inputs: dict[str, bool] | None = None, limit: int = 200, **called: str) -> list[r.Request]:
    """The requests of a job, waits for inputs given up when they are not fulfilled."""
    interpreter = Interpreter(program(text, **called), Slides())
    found: list[r.Request] = []
    late = False
    for _ in range(limit):
        request = interpreter.advance(inputs, timed_out=late)
        found.append(request)
        late = isinstance(request, r.WaitInput) and (inputs or {}).get(request.signal, False) != request.on
        if isinstance(request, r.End | r.ProgramAlarm):
            break
    return found


def lines(requests: list[r.Request]) -> list[int]:
    return [request.where.line for request in requests]


def motions(text: str) -> list[r.Motion]:
    return [m for m in run(text) if isinstance(m, r.Motion)]


def position(motion: r.Motion, k: int = -1) -> list[float]:
    return [float(v) for v in np.round(motion.targets[k].X[:3, 3], 12) + 0.0]


def test_requests_come_in_order_with_their_lines() -> None:
    found = run("# x\nMOVEJ P1\nWAIT 0.2 s\nSET OUT1 ON\nWAITFOR IN1 ON TIMEOUT 2 s\n", {"IN1": True})
    assert [type(x) for x in found] == [r.Motion, r.Wait, r.SetOutput, r.WaitInput, r.End]
    assert lines(found)[:4] == [2, 3, 4, 5]
    assert found[1] == r.Wait(r.Where("a.job", 3, 1), 0.2)
    assert found[2] == r.SetOutput(r.Where("a.job", 4, 1), "OUT1", True)
    assert found[3] == r.WaitInput(r.Where("a.job", 5, 1), "IN1", True, 2.0)


def test_manner_of_moves_and_its_defaults() -> None:
    text = "MOVEJ P1\nSPEED 40%\nPROFILE quintic\nMOVEL P1\n"
    text += "MOVEL P2 SPEED 0.5 m/s ACC 1 m/s2 BLEND 5 mm PROFILE trapezoid"
    first, second, third = motions(text)
    assert (first.speed, first.profile, first.blend, first.acceleration) == (
        r.Rate("share", 1.0),
        None,
        0.0,
        None,
    )
    assert (second.kind, second.speed, second.profile) == ("MOVEL", r.Rate("share", 0.4), "quintic")
    assert (third.speed, third.profile, third.blend) == (r.Rate("tool", 0.5), "trapezoid", 0.005)
    assert third.acceleration == r.Rate("tool", 1.0)
    (timed,) = motions("MOVEC VIA P1 TO P2 TIME 2 s ACC 50%")
    assert (timed.speed, timed.acceleration) == (r.Rate("time", 2.0), r.Rate("share", 0.5))
    assert [t.name for t in timed.targets] == ["P1", "P2"]
    (spline,) = motions("SPLINE P1 P2 P3")
    assert [t.name for t in spline.targets] == ["P1", "P2", "P3"]


def test_frames_move_points_that_have_none() -> None:
    found = motions(
        "MOVEL P1\nFRAME table\nMOVEL P1\nMOVEL F1\nMOVEL B1\nMOVEL J1\nFRAME BASE\nMOVEL P1\nMOVEL F1"
    )
    assert [position(m) for m in found] == [
        [0.1, 0.0, 0.0],
        [1.0, 0.1, 0.0],
        [1.0, 0.1, 0.0],
        [0.1, 0.0, 0.0],
        [0.1, 0.2, 0.3],
        [0.1, 0.0, 0.0],
        [1.0, 0.1, 0.0],
    ]
    np.testing.assert_array_equal(found[1].targets[0].X[:3, :3], rot_z(np.pi / 2))


def test_offsets_go_along_the_frame_or_the_tool() -> None:
    text = "MOVEL P1 OFFSET 10 mm, 0 mm, 50 mm\nFRAME table\n"
    text += "MOVEL P1 OFFSET 10 mm, 0 mm, 0 mm\nMOVEL J1 OFFSET 10 mm, 0 mm, 0 mm"
    found = motions(text)
    assert [position(m) for m in found] == [[0.11, 0.0, 0.05], [1.0, 0.11, 0.0], [0.1, 0.21, 0.3]]
    assert found[2].targets[0].q is None
    (tool,) = motions("FRAME table\nMOVEL B1 OFFSET TOOL 10 mm, 0 mm, 0 mm")
    assert position(tool) == [0.11, 0.0, 0.0]
    (turned,) = motions("TOOL gripper\nMOVEL J1 OFFSET TOOL 10 mm, 0 mm, 0 mm")
    assert position(turned) == [0.1, 0.21, 0.3]


def test_tool_is_taken_off_poses_but_not_off_joint_positions() -> None:
    bare, joints, pose = motions("MOVEL J1\nTOOL gripper\nMOVEL J1\nMOVEL P1")
    assert position(joints) == position(bare) == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(joints.targets[0].q, [0.1, 0.2, 0.3])  # type: ignore[arg-type]
    assert position(pose) == [0.1, 0.0, -0.05]
    assert pose.tool == "gripper"
    np.testing.assert_allclose(pose.targets[0].X @ pose.X_tool, Pose(x=0.1).matrix, atol=1e-15)


PALLET = "PALLET box ROWS 2 COLUMNS 3 LAYERS 2 ORIGIN C0 ROW C1 COLUMN C2 LAYER 50 mm\n"


def test_pallet_counts_columns_then_rows_then_layers() -> None:
    found = motions(PALLET + "REPEAT PALLET box\nMOVEL PALLET box\nNEXT box\nEND")
    expected = [[r_, c, z] for z in (0.0, 0.05) for r_ in (0.0, 0.2) for c in (0.0, 0.2, 0.4)]
    assert [position(m) for m in found] == expected
    assert found[3].targets[0].name == "box 4"


def test_pallet_above_goes_up_in_its_frame() -> None:
    found = motions(PALLET + "FRAME table\nNEXT box\nMOVEL PALLET box ABOVE 100 mm OFFSET 1 mm, 0 mm, 0 mm")
    assert [position(m) for m in found] == [[0.8, 0.001, 0.1]]


def test_full_pallet_is_an_alarm_until_it_is_reset() -> None:
    full = "REPEAT 12\nNEXT box\nEND\n"
    alarm = run(PALLET + full + "MOVEL PALLET box")[-1]
    assert isinstance(alarm, r.ProgramAlarm)
    assert "pallet 'box' is full" in alarm.text
    found = run(PALLET + full + "IF PALLET box FULL\nSET OUT1 ON\nRESET box\nEND\nMOVEL PALLET box")
    assert [type(x) for x in found] == [r.SetOutput, r.Motion, r.End]


def test_loops_conditions_and_variables() -> None:
    text = """
    LET n = 0
    LET k = 3
    REPEAT 10
      INC n BY 2
      IF n >= 6
        BREAK
      ELSE
        WAIT 1 s
      END
    END
    IF n = 6
      SET OUT1 ON
    END
    IF n <> k
      SET OUT2 ON
    END
    IF OUT2 ON
      SET OUT3 ON
    END
    """
    found = run(text)
    assert [getattr(x, "output", type(x).__name__) for x in found] == [
        "Wait",
        "Wait",
        "OUT1",
        "OUT2",
        "OUT3",
        "End",
    ]


@pytest.mark.parametrize(
    ("sign", "holds"),
    [
        ("=", [0, 1, 0]),
        ("<>", [1, 0, 1]),
        ("<", [1, 0, 0]),
        ("<=", [1, 1, 0]),
        (">", [0, 0, 1]),
        (">=", [0, 1, 1]),
    ],
)
def test_comparisons(sign: str, holds: list[int]) -> None:
    for value, expected in zip((1, 2, 3), holds, strict=True):
        found = run(f"LET n = {value}\nIF n {sign} 2\nSET OUT1 ON\nEND")
        assert len(found) == 1 + expected


def test_inputs_decide_at_the_time_of_the_question() -> None:
    text = "IF IN1 ON\nSET OUT1 ON\nELSE\nSET OUT2 ON\nEND"
    assert run(text, {"IN1": True})[0] == r.SetOutput(r.Where("a.job", 2, 1), "OUT1", True)
    assert run(text)[0] == r.SetOutput(r.Where("a.job", 4, 1), "OUT2", True)


def test_timeout_is_an_alarm_or_the_else_block() -> None:
    alarm = run("WAITFOR IN1 ON TIMEOUT 1 s\nMOVEJ P1")[-1]
    assert alarm == r.ProgramAlarm(r.Where("a.job", 1, 1), "IN1 was not ON in time")
    text = "WAITFOR IN1 ON TIMEOUT 1 s ELSE\nSET OUT1 ON\nEND\nSET OUT2 ON"
    assert lines(run(text)) == [1, 2, 4, 4]
    assert lines(run(text, {"IN1": True})) == [1, 4, 4]


def test_timeout_without_a_wait_is_nothing() -> None:
    interpreter = Interpreter(program("WAIT 1 s\nWAIT 2 s"), Slides())
    interpreter.advance(timed_out=True)
    assert isinstance(interpreter.advance(timed_out=True), r.Wait)


def test_subprograms_return_and_break_leaves_only_the_loop() -> None:
    text = """CALL a
SET OUT9 ON
SUB a
  REPEAT 3
    SET OUT1 ON
    IF OUT1 ON
      BREAK
    END
  END
  SET OUT2 ON
  REPEAT 2
    RETURN
  END
END"""
    assert lines(run(text)) == [5, 10, 2, 2]


def test_files_have_their_own_frames_but_share_variables() -> None:
    found = run(
        'LET n = 1\nFRAME table\nCALL "b.job"\nMOVEL P1\nIF n = 5\nSET OUT1 ON\nEND',
        b="MOVEL P1\nTOOL gripper\nLET n = 5\nCALL t\nSUB t\nSET OUT2 ON\nEND",
    )
    assert [(x.where.file, x.where.line) for x in found[:5]] == [
        ("a.job", 3),
        ("b.job", 1),
        ("b.job", 6),
        ("a.job", 4),
        ("a.job", 6),
    ]
    assert found[0] == r.Wait(r.Where("a.job", 3, 1), 0.0)
    inner, outer = (m for m in found if isinstance(m, r.Motion))
    assert position(inner) == [0.1, 0.0, 0.0]
    assert position(outer) == [1.0, 0.1, 0.0]
    assert outer.tool is None


def test_stop_in_a_file_ends_the_whole_job() -> None:
    found = run('CALL "b.job"\nMOVEL P1', b="STOP")
    assert [type(x) for x in found] == [r.Wait, r.End]


def test_alarm_ends_the_job_for_good() -> None:
    interpreter = Interpreter(program('ALARM "no part"\nMOVEJ P1'), Slides())
    assert interpreter.advance() == r.ProgramAlarm(r.Where("a.job", 1, 1), "no part")
    assert isinstance(interpreter.advance(), r.End)
    assert interpreter.ended


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("REPEAT FOREVER\nLET n = 1\nEND", f"{MAX_SILENT} instructions without a move or wait"),
        ("CALL a\nSUB a\nCALL a\nEND", "calls within calls"),
        ("LET n = 2147483647\nINC n", "variable 'n' would become 2147483648"),
        ("MOVEJ P99", "no point 'P99'"),
        ("FRAME nowhere", "no frame 'nowhere'"),
        ("TOOL nothing", "no tool 'nothing'"),
        ("CALL nobody", "no subprogram 'nobody'"),
        ('CALL "c.job"', "no job file 'c.job'"),
        ("NEXT none-such", "no pallet 'none-such'"),
    ],
)
def test_what_the_checker_would_refuse_is_an_alarm(text: str, said: str) -> None:
    alarm = run(text)[-1]
    assert isinstance(alarm, r.ProgramAlarm)
    assert said in alarm.text


def test_empty_loops_end() -> None:
    assert [type(x) for x in run("REPEAT FOREVER\n# nothing\nEND\nREPEAT 1000000\nEND")] == [r.End]


def test_point_without_an_axis_is_an_alarm() -> None:
    points = POINTS.with_point("J2", Point({"x": 0.0}))
    interpreter = Interpreter(Program(parse("MOVEJ J2"), points), Slides())
    request = interpreter.advance()
    assert isinstance(request, r.ProgramAlarm)
    assert "lacks axis y" in request.text


def test_single_steps_show_where_the_job_is() -> None:
    interpreter = Interpreter(program("LET n = 1\nCALL a\nMOVEJ P1\nSUB a\n\nSET OUT1 ON\nEND"), Slides())
    assert interpreter.upcoming == r.Where("a.job", 1, 1)
    assert interpreter.step() is None
    assert (interpreter.current.line, interpreter.upcoming.line) == (1, 2)  # type: ignore[union-attr]
    assert interpreter.step() is None
    assert interpreter.calls == ("a.job", "a")
    assert interpreter.upcoming == r.Where("a.job", 6, 1)
    assert isinstance(interpreter.step(), r.SetOutput)
    assert isinstance(interpreter.step(), r.Motion)
    assert interpreter.upcoming is None
    assert isinstance(interpreter.step(), r.End)
    assert isinstance(interpreter.step(), r.End)


def test_fork_looks_ahead_without_moving_the_original() -> None:
    interpreter = Interpreter(
        program(PALLET + "FRAME table\nREPEAT 5\nMOVEL PALLET box\nNEXT box\nEND"), Slides()
    )
    interpreter.advance()
    fork = interpreter.fork()
    ahead = [fork.advance() for _ in range(5)]
    again = [interpreter.advance() for _ in range(5)]
    assert [type(x) for x in ahead] == [type(x) for x in again]
    for one, other in zip(ahead[:4], again[:4], strict=True):
        assert isinstance(one, r.Motion)
        assert isinstance(other, r.Motion)
        np.testing.assert_array_equal(one.targets[0].X, other.targets[0].X)
