"""A result folder bears a mark; what it does not list belongs to the user and stays, or is refused."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from servotwin.errors import InputError
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results import folder as result_folder
from servotwin.simulation.results.folder import RUN_FILES, claim_folder, recover, replaced_folder
from servotwin.simulation.results.mark import MARK, file_digest, ours, read_mark
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result

OWN = ("report.html", "summary.json", "zoom.parquet", "sub/summary.json")


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(51)


def put(folder: Path, text: str, names: tuple[str, ...] = OWN, *, overwrite: bool = False) -> None:
    with replaced_folder(folder, OWN, overwrite=overwrite) as place:
        for name in names:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")


def texts(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != MARK]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_mark_lists_every_file_with_its_digest(tmp_path: Path) -> None:
    put(tmp_path / "out", "new")
    for place, names in ((".", {"report.html", "summary.json", "zoom.parquet"}), ("sub", {"summary.json"})):
        listed = read_mark(tmp_path / "out" / place)
        assert listed is not None
        assert set(listed) == names
        assert all(file_digest(tmp_path / "out" / place / name) == digest for name, digest in listed.items())


@pytest.mark.parametrize("name", ["report.html", "zoom.parquet", "notes.txt"])
@pytest.mark.parametrize("current", [False, True])
def test_folder_of_the_user_is_refused_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, current: bool
) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    if current:
        monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="--overwrite") as caught:
        put(Path() if current else tmp_path, "new")
    assert name in str(caught.value)
    assert texts(tmp_path) == {name: "mine"}


def test_overwrite_replaces_what_it_writes_and_leaves_the_rest(tmp_path: Path) -> None:
    for name in ("report.html", "zoom.parquet", "notes.txt"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    put(tmp_path, "new", ("report.html", "summary.json"), overwrite=True)
    assert texts(tmp_path) == {
        "report.html": "new",
        "summary.json": "new",
        "zoom.parquet": "mine",
        "notes.txt": "mine",
    }


def test_marked_folder_with_notes_is_used_again(tmp_path: Path) -> None:
    put(tmp_path / "out", "old")
    (tmp_path / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    put(tmp_path / "out", "new", ("summary.json",))
    assert texts(tmp_path / "out") == {"summary.json": "new", "notes.txt": "mine"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.write_text("edited", encoding="utf-8"), "was changed since servotwin wrote it"),
        (lambda file: (file.unlink(), file.symlink_to("notes.txt")), "was changed since servotwin wrote it"),
    ],
)
def test_file_of_ours_that_the_user_changed_is_refused(
    tmp_path: Path, change: Callable[[Path], object], words: str
) -> None:
    out = tmp_path / "out"
    put(out, "old")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    change(out / "report.html")
    before = texts(out)
    with pytest.raises(InputError, match=words):
        put(out, "new")
    assert texts(out) == before
    put(out, "new", overwrite=True)
    assert texts(out) == dict.fromkeys(OWN, "new") | {"notes.txt": "mine"}  # not written through the link
    assert not (out / "report.html").is_symlink()


def test_file_that_the_mark_does_not_list_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "out", "old", ("summary.json",))
    (tmp_path / "out" / "zoom.parquet").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"zoom\.parquet: was not written by servotwin"):
        put(tmp_path / "out", "new", ("summary.json",))


@pytest.mark.parametrize("overwrite", [False, True])
def test_folder_below_that_is_a_link_is_refused(tmp_path: Path, overwrite: bool) -> None:
    put(tmp_path / "out", "old")
    shutil.rmtree(tmp_path / "out" / "sub")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        put(tmp_path / "out", "new", overwrite=overwrite)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_file_that_comes_while_the_result_is_written_is_not_lost(tmp_path: Path) -> None:
    def overtaken() -> None:
        with replaced_folder(tmp_path / "out", OWN) as place:
            (place / "report.html").write_text("new", encoding="utf-8")
            (tmp_path / "out" / "report.html").write_text("mine", encoding="utf-8")

    put(tmp_path / "out", "old", ("summary.json",))
    with pytest.raises(InputError, match=r"report\.html"):
        overtaken()
    assert texts(tmp_path / "out") == {"summary.json": "old", "report.html": "mine"}


@pytest.mark.parametrize(
    "mark", [b"", b"{}", b"[" * 100_000, b'{"format": "servotwin-result/1", "files": 3}', None]
)
def test_mark_that_is_none_does_not_count(tmp_path: Path, mark: bytes | None) -> None:
    if mark is None:
        (tmp_path / MARK).symlink_to("notes.txt")
    else:
        (tmp_path / MARK).write_bytes(mark)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="notes"):
        claim_folder(tmp_path, OWN)


def test_folder_of_an_earlier_version_is_known_by_its_summary(result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_result(result, out)
    (out / MARK).unlink()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    write_result(replace(result, zoom={}), out, report=False)
    assert sorted(path.name for path in out.iterdir()) == [
        MARK,
        "notes.txt",
        "signals.parquet",
        "summary.json",
    ]


@pytest.mark.parametrize(
    ("name", "begins", "ends"), [("signals.parquet", b"PAR1", b""), ("report.html", b"", b"ServoTwin")]
)
def test_large_file_of_an_earlier_version_is_not_read_as_a_whole(
    result: Result, tmp_path: Path, name: str, begins: bytes, ends: bytes
) -> None:
    out = tmp_path / "out"
    write_result(result, out)
    (out / MARK).unlink()
    size = 100_000_000
    with (out / name).open("wb") as file:  # a file with a hole, which takes no room on the disk
        file.write(begins)
        file.seek(size)
        file.write(ends or b"PAR1")
    tracemalloc.start()
    try:
        assert name in ours(out, [name])
        assert tracemalloc.get_traced_memory()[1] < 0.1 * size
    finally:
        tracemalloc.stop()


def test_page_beside_an_earlier_summary_that_is_not_ours_is_refused(result: Result, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out", report=False)
    (tmp_path / "out" / MARK).unlink()
    (tmp_path / "out" / "report.html").write_text("<p>mine</p>", encoding="utf-8")
    with pytest.raises(InputError, match=r"report\.html: was not written by servotwin"):
        write_result(result, tmp_path / "out")
    write_result(result, tmp_path / "out", overwrite=True)


def test_zoom_of_the_user_is_no_part_of_the_result(result: Result, tmp_path: Path) -> None:
    (tmp_path / "zoom.parquet").write_text("mine", encoding="utf-8")
    write_result(replace(result, zoom={}), tmp_path, report=False, overwrite=True)
    assert read_result(tmp_path).zoom == {}


def test_two_kinds_of_result_share_a_folder(tmp_path: Path) -> None:
    for own in (("summary.json",), ("tuning.json",), ("summary.json",), ("tuning.json",)):
        with replaced_folder(tmp_path / "out", own) as place:
            (place / own[0]).write_text("x", encoding="utf-8")
    assert set(texts(tmp_path / "out")) == {"summary.json", "tuning.json"}


@pytest.mark.parametrize("current", [False, True])
def test_permissions_of_existing_files_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: bool
) -> None:
    out = tmp_path / "out"
    put(out, "old")
    out.chmod(0o750)
    (out / "report.html").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(out / "report.html", 1234, 2345)
    if current:
        monkeypatch.chdir(out)
    put(out, "new")
    found = (out / "report.html").stat()
    assert stat.S_IMODE(found.st_mode) == 0o640
    assert stat.S_IMODE(out.stat().st_mode) == 0o750
    if os.geteuid() == 0:
        assert (found.st_uid, found.st_gid) == (1234, 2345)


# --- a folder that stays where it is ----------------------------------------------------------------


@pytest.mark.parametrize("moved", range(6))
def test_move_that_was_killed_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """The process dies after so many files are in their place."""
    put(tmp_path, "old")
    monkeypatch.chdir(tmp_path)
    moving, left = result_folder._move, [moved]

    def killed(source: Path, now: Path) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        moving(source, now)

    with monkeypatch.context() as patch:
        patch.setattr(result_folder, "_move", killed)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with suppress(KeyboardInterrupt):
            put(tmp_path, "new", ("summary.json", "zoom.parquet", "sub/summary.json"))
    recover(tmp_path)
    assert texts(tmp_path) == dict.fromkeys(("summary.json", "zoom.parquet", "sub/summary.json"), "new")
    assert set(read_mark(tmp_path) or {}) == {"summary.json", "zoom.parquet"}
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path.name != "sub"]


def test_move_of_a_stranger_does_not_leave_its_folder(tmp_path: Path) -> None:
    """A folder from elsewhere pretends that a killed run left something to do."""
    out = tmp_path / "stranger" / "out"
    put(out, "old")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    (out / "link").symlink_to(tmp_path)
    hidden = out / result_folder.hidden_name(out, ".moving")
    hidden.mkdir()
    digest = file_digest(tmp_path / "mine.txt")
    names = {"../../mine.txt": digest, str(tmp_path / "mine.txt"): digest, "link/mine.txt": digest}
    (hidden / result_folder.TO_DO).write_text(json.dumps({"replace": {}, "remove": names}), encoding="utf-8")
    claim_folder(out, RUN_FILES)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
