"""Large and tangled jobs: every file is read once, and work grows no faster than the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from counted_work import growth
from servotwin.errors import InputError
from servotwin.jobs import check as checking
from servotwin.jobs import program as loading
from servotwin.jobs.check import check
from servotwin.jobs.flow import call_problem
from servotwin.jobs.language import parse
from servotwin.jobs.points import Points
from servotwin.jobs.program import load_program, sources_of

LINEAR = 4.6  # work at four times the size over work at the size; 16 if it grows with the square


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each job file is read and parsed."""
    counted: Counter[str] = Counter()
    read_job = loading.read_job

    def count(path: Path) -> object:
        counted[Path(path).resolve().name] += 1
        return read_job(path)

    monkeypatch.setattr(loading, "read_job", count)
    return counted


def tangled(folder: Path, files: int) -> Path:
    """Files of which each calls the next one under four spellings of its path."""
    for i in range(files):
        name = f"f{i + 1}.job"
        spelled = (name, f"./{name}", f"../{folder.name}/{name}", str(folder / name))
        calls = [f'CALL "{path}"' for path in spelled] if i + 1 < files else ["CALL nowhere", "WAIT 1 s"]
        (folder / f"f{i}.job").write_text("\n".join(calls) + "\n")
    return folder / "f0.job"


def test_load_program_four_spellings_of_each_path_reads_each_file_once(
    tmp_path: Path, reads: Counter[str]
) -> None:
    program = load_program(tangled(tmp_path, 13))
    assert reads == {f"f{i}.job": 1 for i in range(13)}
    assert len(program.all) == 13
    assert len(sources_of(program)) == 13
    assert [problem.message for problem in program.check() if problem.error] == [
        "no subprogram 'nowhere'; there is no subprogram at all"
    ]


def test_load_program_called_under_two_spellings_is_one_program(tmp_path: Path) -> None:
    program = load_program(tangled(tmp_path, 3))
    assert len({id(called) for called in program.called.values()}) == 1


def test_load_program_link_to_a_job_has_the_points_beside_the_link(
    tmp_path: Path, reads: Counter[str]
) -> None:
    (tmp_path / "own.job").write_text("MOVEJ P1\n")
    (tmp_path / "own.points.yaml").write_text("format: servotwin-points/1\npoints: {P1: {x: 1 mm}}\n")
    (tmp_path / "link.job").symlink_to("own.job")
    (tmp_path / "link.points.yaml").write_text("format: servotwin-points/1\npoints: {P1: {x: 2 mm}}\n")
    (tmp_path / "main.job").write_text('CALL "own.job"\nCALL "link.job"\n')
    program = load_program(tmp_path / "main.job")
    places = [called.points["P1"].pose for called in program.called.values()]
    assert [pose.x for pose in places if pose is not None] == [0.001, 0.002]
    assert reads == {"main.job": 1, "own.job": 1}


def test_load_program_file_that_is_known_from_above_counts_its_depth(tmp_path: Path) -> None:
    # c.job is loaded at depth 1 first, with ten files below it, and then called at depth 9
    for i in range(10):
        (tmp_path / f"c{i}.job").write_text(f'CALL "c{i + 1}.job"\n')
        (tmp_path / f"d{i}.job").write_text(f'CALL "d{i + 1}.job"\n')
    (tmp_path / "c10.job").write_text("WAIT 1 s\n")
    (tmp_path / "d10.job").write_text('CALL "c0.job"\n')
    (tmp_path / "main.job").write_text('CALL "c0.job"\nCALL "d0.job"\n')
    with pytest.raises(InputError, match="files within files more than 16 deep"):
        load_program(tmp_path / "main.job")


def test_load_program_many_links_to_a_long_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_LINES", 100)
    (tmp_path / "long.job").write_text("WAIT 1 s\n" * 30)
    for i in range(9):
        (tmp_path / f"l{i}.job").symlink_to("long.job")
    (tmp_path / "main.job").write_text("".join(f'CALL "l{i}.job"\n' for i in range(9)))
    with pytest.raises(InputError, match="more than 100 lines in this job and the files it calls"):
        load_program(tmp_path / "main.job")


def test_check_many_unknown_calls_looks_for_few_similar_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Counter[str]()
    monkeypatch.setattr(checking, "did_you_mean", lambda name, known: asked.update([name]) or "")
    subs = "".join(f"SUB s{i}\nWAIT 1 s\nEND\n" for i in range(50))
    job = parse(subs + "".join(f"CALL u{i}\n" for i in range(200)))
    assert sum(problem.error for problem in check(job, Points())) == 200
    assert len(asked) == checking.MAX_HINTS


SHAPES: dict[str, Callable[[int], str]] = {
    "unknown calls": lambda n: "".join(f"SUB s{i}\nWAIT 1 s\nEND\nCALL u{i}\n" for i in range(n)),
    "one unknown call": lambda n: "SUB one\nWAIT 1 s\nEND\n" + "CALL u\n" * n,
    "a chain of subprograms": lambda n: "".join(f"SUB s{i}\nCALL s{i + 1}\nEND\n" for i in range(n)),
    "nested blocks": lambda n: ("REPEAT 2\n" * 18 + "WAIT 1 s\n" + "END\n" * 18) * max(1, n // 20),
    "unknown points": lambda n: "".join(f"MOVEJ P{i}\n" for i in range(n)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_check_four_times_the_text_is_four_times_the_work(shape: str) -> None:
    def work(n: int) -> Callable[[], object]:
        job = parse(SHAPES[shape](n))
        return lambda: check(job, Points())

    assert growth(work, 100) < LINEAR


def test_call_problem_chain_tells_its_depth_and_a_circle_its_names() -> None:
    chain = parse("".join(f"SUB s{i}\nCALL s{i + 1}\nEND\n" for i in range(30)) + "SUB s30\nWAIT 1 s\nEND\n")
    assert call_problem(chain.subs) == ([], 31)
    circle = parse(
        "SUB a\nCALL b\nEND\nSUB b\nCALL c\nEND\nSUB c\nCALL b\nCALL d\nEND\nSUB d\nWAIT 1 s\nEND\n"
    )
    assert call_problem(circle.subs)[0] == ["b", "c", "b"]
