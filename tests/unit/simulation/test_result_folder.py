"""A result folder is replaced as one: whoever is killed or fails on the way leaves the earlier or the new one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results import folder as result_folder
from servotwin.simulation.results.folder import replaced_folder
from servotwin.simulation.results.mark import HIDDEN, MARK
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result

OWN = ("a", "b", "sub/c")


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(51)


def put(folder: Path, text: str, names: tuple[str, ...] = OWN) -> None:
    with replaced_folder(folder, OWN) as place:
        for name in names:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")


def texts(folder: Path) -> dict[str, str]:
    """Every file below a folder, hidden ones too but for the marks."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != MARK]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def hidden(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob(f"{HIDDEN}*") if path.name != MARK)


@pytest.mark.parametrize("way", ["exchange", "two renames", "no renames", "one by one"])
def test_folder_holds_the_new_files_and_those_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    out = tmp_path / "out"
    put(out, "old")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    (out / "sub" / "deep" / "er").mkdir(parents=True)
    (out / "sub" / "deep" / "own.csv").write_text("mine", encoding="utf-8")
    (out / "link").symlink_to("notes.txt")
    (out / "gone").symlink_to("nowhere")
    (out / "empty").mkdir()
    inode = (out / "notes.txt").stat().st_ino
    if way != "exchange":
        monkeypatch.setattr(result_folder, "_exchange", lambda a, b: False)  # as on a network drive
    if way == "no renames":
        monkeypatch.setattr(result_folder, "_two_renames", lambda a, b: False)
    if way == "one by one":
        monkeypatch.chdir(out)
    put(out, "new", ("a", "sub/c"))
    expected = {"a": "new", "sub/c": "new", "notes.txt": "mine", "sub/deep/own.csv": "mine", "link": "mine"}
    assert texts(out) == expected
    assert (out / "notes.txt").stat().st_ino == inode  # the file itself, not a copy
    assert (out / "gone").is_symlink()
    assert (out / "empty").is_dir()
    assert (out / "sub" / "deep" / "er").is_dir()
    assert hidden(tmp_path) == hidden(out) == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_current_folder_stays_the_one_that_shells_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "out" / "inner"
    put(tmp_path / "out", "old")
    inner.mkdir()
    monkeypatch.chdir(inner)
    before = (tmp_path / "out").stat().st_ino
    put(tmp_path / "out", "new")
    assert (tmp_path / "out").stat().st_ino == before
    assert Path.cwd() == inner
    assert texts(tmp_path / "out") == dict.fromkeys(OWN, "new")


def test_workplace_with_many_files_is_not_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_folder, "MOST_FOREIGN", 5)
    out = tmp_path / "out"
    put(out, "old")
    for i in range(9):
        (out / f"{i}.txt").write_text("mine", encoding="utf-8")
    before = out.stat().st_ino
    put(out, "new", ("a",))
    assert out.stat().st_ino == before
    assert texts(out) == {"a": "new"} | {f"{i}.txt": "mine" for i in range(9)}
    assert hidden(tmp_path) == []


def test_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real", "old")
    (tmp_path / "out").symlink_to("real")
    put(tmp_path / "out", "new")
    assert (tmp_path / "out").is_symlink()
    assert texts(tmp_path / "real") == dict.fromkeys(OWN, "new")


def test_failure_while_writing_keeps_the_earlier_result(tmp_path: Path) -> None:
    def fails() -> None:
        with replaced_folder(tmp_path / "out", OWN) as place:
            (place / "a").write_text("new", encoding="utf-8")
            raise ZeroDivisionError

    put(tmp_path / "out", "old")
    with pytest.raises(ZeroDivisionError):
        fails()
    assert texts(tmp_path / "out") == dict.fromkeys(OWN, "old")
    assert hidden(tmp_path) == []


def test_error_names_the_place_that_the_user_gave(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError) as caught,
        replaced_folder(tmp_path / "out", OWN) as place,
    ):
        raise InputError("cannot be written: No space left on device", file=str(place / "a"))
    assert str(caught.value) == f"{tmp_path / 'out' / 'a'}: cannot be written: No space left on device"


def test_file_that_came_in_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note that is written after the others were carried over, before the folders are exchanged."""
    out, exchange = tmp_path / "out", result_folder._exchange
    put(out, "old")
    (out / "notes.txt").write_text("first", encoding="utf-8")

    def late(a: Path, b: Path) -> bool:
        (out / "more.txt").write_text("late", encoding="utf-8")
        (out / "notes.new").write_text("second", encoding="utf-8")
        os.utime(out / "notes.new", ns=(2**62, 2**62))
        (out / "notes.new").replace(out / "notes.txt")
        return exchange(a, b)

    monkeypatch.setattr(result_folder, "_exchange", late)
    put(out, "new", ("a",))
    assert texts(out) == {"a": "new", "notes.txt": "second", "more.txt": "late"}


def test_two_living_processes_do_not_remove_each_others_folders(tmp_path: Path) -> None:
    with replaced_folder(tmp_path / "out", OWN) as first:
        (first / "a").write_text("first", encoding="utf-8")
        with replaced_folder(tmp_path / "out", OWN) as second:
            assert first.exists()
            (second / "a").write_text("second", encoding="utf-8")
        assert texts(tmp_path / "out") == {"a": "second"}
        assert first.exists()
    assert texts(tmp_path / "out") == {"a": "first"}
    assert hidden(tmp_path) == []


def test_file_system_without_locks_is_written_and_old_leftovers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on network drives, which lock files and not folders."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr("fcntl.flock", refuse)
    young, old = (tmp_path / result_folder.hidden_name(tmp_path / "out", ".new") for _ in range(2))
    young.mkdir()
    old.mkdir()
    os.utime(old, (0.0, 0.0))
    put(tmp_path / "out", "new")
    assert texts(tmp_path / "out") == dict.fromkeys(OWN, "new")
    assert hidden(tmp_path) == [young]  # may belong to a living process


def test_run_of_another_kind_leaves_nothing_of_the_earlier_one(result: Result, tmp_path: Path) -> None:
    """The instructions of a job do not stay beside the signals of a scenario."""
    out = tmp_path / "out"
    with replaced_folder(out, result_folder.RUN_FILES) as place:
        for name in ("summary.json", "instructions.json", "zoom.parquet"):
            (place / name).write_text("[]", encoding="utf-8")
    write_result(replace(result, zoom={}), out, report=False)
    assert sorted(texts_of(tmp_path / "out")) == ["signals.parquet", "summary.json"]


def texts_of(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != MARK]


def test_reader_never_sees_two_runs(result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is replaced between the reading of the signals and that of the summary."""
    from servotwin.simulation.results import result_files as stored

    out, reading = tmp_path / "out", stored._read_summary
    later = replace(result, summary={**result.summary, "scenario": "later"}, signals=moved(result, 1.0))
    write_result(result, out, report=False)
    left = [later]

    def overtaken(path: Path, max_memory: float) -> dict[str, object]:
        if left:
            write_result(left.pop(), out, report=False)
        return reading(path, max_memory)

    monkeypatch.setattr(stored, "_read_summary", overtaken)
    saved = read_result(out)
    assert saved.summary["scenario"] == "later"
    assert saved.signals["bus_power_W"][0] == result.signals["bus_power_W"][0] + 1.0


def moved(result: Result, by: float) -> dict[str, np.ndarray]:
    return {**result.signals, "bus_power_W": result.signals["bus_power_W"] + by}


def test_result_that_lost_its_name_between_two_renames_is_found_again(result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_result(result, out, report=False)
    aside = tmp_path / result_folder.hidden_name(out, ".old")
    out.rename(aside)
    assert read_result(out).summary["scenario"] == result.summary["scenario"]
    assert not aside.exists()


def test_note_in_a_folder_that_a_kill_left_behind_is_not_removed_with_it(tmp_path: Path) -> None:
    put(tmp_path / "out", "new")
    left = tmp_path / result_folder.hidden_name(tmp_path / "out", ".old")
    left.mkdir()
    for name in ("notes.txt", "report.html"):
        (left / name).write_text("old", encoding="utf-8")
    put(tmp_path / "out", "newer")
    assert texts(tmp_path / "out") == dict.fromkeys(OWN, "newer") | {"notes.txt": "old"}
    assert hidden(tmp_path) == []


# --- killed ----------------------------------------------------------------------------------------

KILLED = """
import json, os, random, signal, sys, time
from dataclasses import replace
from pathlib import Path
from servotwin.report import simulation_page  # read before the forks, as all below
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results import folder as result_folder
from servotwin.simulation.results.folder import replaced_folder
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result

out, kind, count, longest, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
rng = random.Random(int(seed))
if kind == "renames":
    result_folder._exchange = lambda a, b: False
real = kind == "report"
base = synthetic_result(51)
runs = {}
for word, by in (("AAAA", 1.0), ("BBBB", 2.0)):
    signals = {**base.signals, "bus_power_W": base.signals["bus_power_W"] * 0.0 + by}
    scenario = replace(base.scenario, title=f"title {word}")
    runs[word] = replace(base, signals=signals, scenario=scenario, summary={**base.summary, "scenario": word})


def write(word):
    if real:
        write_result(runs[word], out)
        return
    with replaced_folder(out, ("summary.json", "signals.parquet", "report.html")) as place:
        for name in ("summary.json", "signals.parquet", "report.html"):
            (place / name).write_text(word)


def seen():
    if real:
        saved = read_result(out)
        page = (out / "report.html").read_text(encoding="utf-8")
        power = "AAAA" if saved.signals["bus_power_W"][0] == 1.0 else "BBBB"
        return {saved.summary["scenario"], power, "AAAA" if "title AAAA" in page else "BBBB"}
    result_folder.recover(out) if not out.exists() else None
    return {(out / name).read_text() for name in ("summary.json", "signals.parquet", "report.html")}


write("BBBB")  # what the first writing costs more is over
began = time.perf_counter()
write("AAAA")
longest *= time.perf_counter() - began
(out / "notes.txt").write_text("mine")
found, mixed, now, other = [], 0, "AAAA", {"AAAA": "BBBB", "BBBB": "AAAA"}
for _ in range(count):
    child = os.fork()
    if child == 0:
        while True:  # always another result than the one that is there
            write(other[now])
            write(now)
    time.sleep(rng.uniform(0.0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    words = seen()
    mixed += len(words) != 1 or (out / "notes.txt").read_text() != "mine"
    found += words
    now = words.pop()
write("AAAA")
left = [path.name for path in out.parent.iterdir() if path.name != out.name]
print(json.dumps({"mixed": mixed, "A": found.count("AAAA"), "B": found.count("BBBB"), "left": left}))
"""


@pytest.mark.parametrize(
    ("kind", "count", "longest"), [("report", 15, 2.5), ("exchange", 60, 3.0), ("renames", 60, 3.0)]
)
def test_process_killed_at_any_instant_leaves_one_of_both_results(
    tmp_path: Path, kind: str, count: int, longest: float
) -> None:
    """Children that overwrite a result again and again are killed within ``longest`` times what one writing takes."""
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED), encoding="utf-8")
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    (tmp_path / "place").mkdir()
    words = [str(script), str(tmp_path / "place" / "out"), kind, str(count), str(longest), "7"]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=600, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["mixed"] == 0
    assert found["left"] == []  # the next run has removed what the killed ones left behind
    assert found["A"] + found["B"] == count


def test_hidden_folder_that_is_a_link_does_not_become_the_result(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = tmp_path / "result"
    left = tmp_path / result_folder.hidden_name(target, result_folder.OLD)
    left.symlink_to(elsewhere)
    result_folder.recover(target)
    assert not os.path.lexists(target)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_hidden_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "result"
    left = tmp_path / result_folder.hidden_name(target, result_folder.OLD)
    left.mkdir()
    os.chown(left, 65534, 65534)
    result_folder.recover(target)
    assert left.is_dir()
    assert not target.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes into folders of others")
@pytest.mark.parametrize("current", [False, True])
def test_folder_of_another_user_stays_theirs_and_is_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: bool
) -> None:
    out = tmp_path / "out"
    put(out, "old")
    os.chown(out, 1234, 2345)
    left = tmp_path / result_folder.hidden_name(tmp_path / "out", result_folder.NEW)
    left.mkdir()
    os.chown(left, 1234, 2345)  # the earlier folder, killed after the exchange
    if current:
        monkeypatch.chdir(out)
    put(out, "new")
    assert (out.stat().st_uid, out.stat().st_gid) == (1234, 2345)
    assert texts(out) == dict.fromkeys(OWN, "new")
    assert hidden(tmp_path) == hidden(out) == []


@pytest.mark.parametrize("ending", [result_folder.OLD, result_folder.MOVING])
def test_leftovers_that_a_stranger_sent_along_are_left_alone(tmp_path: Path, ending: str) -> None:
    """They look like ours in all but the part of the name that needs the user's key; a link leads to a file of mine."""
    mine = tmp_path / "home"
    mine.mkdir()
    (mine / ".profile").write_text("mine", encoding="utf-8")
    run = tmp_path / "run"
    put(run, "theirs")
    (run / "x").symlink_to(mine)
    left = run / f"{result_folder.hidden_stem('run')}0123456789ab-{'0' * 24}{ending}"
    (left / "x").mkdir(parents=True)
    (left / "x" / ".profile").write_text("evil", encoding="utf-8")
    (left / result_folder.TO_DO).write_text(json.dumps({"replace": {"x/.profile": None}}), encoding="utf-8")
    os.utime(left / "x" / ".profile", (4e9, 4e9))
    result_folder.recover(run)
    assert (mine / ".profile").read_text(encoding="utf-8") == "mine"
    assert left.is_dir()


@pytest.mark.parametrize("ending", [result_folder.OLD, result_folder.MOVING])
def test_hidden_folder_that_was_given_another_purpose_is_left_alone(tmp_path: Path, ending: str) -> None:
    """The ending decides what is done with a folder; whoever changes it has no key to seal it again."""
    run = tmp_path / "run"
    put(run, "old")
    left = (run / result_folder.hidden_name(run, result_folder.NEW)).with_suffix(ending)
    put(left, "theirs")
    to_do = {"replace": {name: result_folder.file_digest(run / name) for name in OWN}}
    (left / result_folder.TO_DO).write_text(json.dumps(to_do), encoding="utf-8")
    result_folder.recover(run)
    assert {name: (run / name).read_text(encoding="utf-8") for name in OWN} == dict.fromkeys(OWN, "old")
    assert left.is_dir()


def test_what_is_rescued_goes_through_no_link(tmp_path: Path) -> None:
    mine = tmp_path / "home"
    mine.mkdir()
    run = tmp_path / "run"
    put(run, "old")
    (run / "x").symlink_to(mine)
    left = tmp_path / result_folder.hidden_name(run, result_folder.OLD)
    (left / "x").mkdir(parents=True)
    (left / "x" / "note").write_text("note", encoding="utf-8")
    result_folder.recover(run)
    assert list(mine.iterdir()) == []
