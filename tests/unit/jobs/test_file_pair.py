"""A rename changes the points file and the job: both or none, whenever the process dies."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from servotwin.cli.main import main
from servotwin.errors import InputError
from servotwin.jobs import file_pair
from servotwin.jobs.language import read_job
from servotwin.jobs.player import TaughtPoints
from servotwin.jobs.points_file import read_points

POINTS = "# mine\nformat: servotwin-points/1\nrobot: gsis-scara\npoints:\n  P1: {x: 1 mm}  # corner\n"
JOB = "# pick\nMOVEJ P1   # go\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "pick.points.yaml").write_text(POINTS, encoding="utf-8")
    (tmp_path / "pick.job").write_text(JOB, encoding="utf-8")
    (tmp_path / "pick.job").chmod(0o640)
    return tmp_path / "pick.job"


def texts(job: Path) -> tuple[str, str]:
    return job.with_name("pick.points.yaml").read_text(encoding="utf-8"), job.read_text(encoding="utf-8")


def renamed(name: str) -> tuple[str, str]:
    return POINTS.replace("P1", name), JOB.replace("P1", name)


def rename(job: Path, new: str = "corner") -> int:
    return main(["teach", str(job.with_name("pick.points.yaml")), "rename", "P1", new])


def killed(monkeypatch: pytest.MonkeyPatch, job: Path, moved: int) -> None:
    """A rename whose process dies after so many files have moved."""
    replace, left = Path.replace, [moved]

    def dying(self: Path, target: Path) -> Path:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        patch.setattr("shutil.rmtree", lambda *_, **__: None)
        rename(job)


def test_names_that_end_like_a_job_leave_other_files_alone(job: Path) -> None:
    """``pick.job.job`` has its points in ``pick.job.points.yaml``, and neither is a file of ``pick.job``."""
    points, other = job.with_name("pick.job.points.yaml"), job.with_name("pick.job.job")
    points.write_text(POINTS, encoding="utf-8")
    other.write_text(JOB, encoding="utf-8")
    assert main(["teach", str(points), "rename", "P1", "corner"]) == 0
    assert (points.read_text(encoding="utf-8"), other.read_text(encoding="utf-8")) == renamed("corner")
    assert texts(job) == (POINTS, JOB)


def test_rename_keeps_comments_and_permissions_of_both(job: Path) -> None:
    assert rename(job) == 0
    assert texts(job) == renamed("corner")
    assert job.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in job.parent.iterdir()) == ["pick.job", "pick.points.yaml"]


@pytest.mark.parametrize("moved", [0, 1, 2])
@pytest.mark.parametrize("first", ["points", "job"])
def test_reader_completes_what_a_killed_process_began(
    job: Path, monkeypatch: pytest.MonkeyPatch, moved: int, first: str
) -> None:
    killed(monkeypatch, job, moved)
    if first == "points":
        assert "corner" in read_points(job.with_name("pick.points.yaml"))
    else:
        assert "corner" in str(read_job(job))
    assert texts(job) == renamed("corner")
    assert sorted(path.name for path in job.parent.iterdir()) == ["pick.job", "pick.points.yaml"]


def test_file_that_a_person_changed_since_is_not_replaced(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(monkeypatch, job, 1)
    job.write_text("WAIT 1 s  # mine\n", encoding="utf-8")
    read_job(job)
    assert texts(job) == (renamed("corner")[0], "WAIT 1 s  # mine\n")


def test_failure_before_the_change_counts_leaves_both(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert rename(job) == 2
    assert texts(job) == (POINTS, JOB)
    assert sorted(path.name for path in job.parent.iterdir()) == ["pick.job", "pick.points.yaml"]


def test_folder_that_never_counted_is_removed(job: Path) -> None:
    left = job.parent / f"{file_pair._committed(job).name}-0123456789ab.new"
    left.mkdir()
    assert rename(job) == 0
    assert not left.exists()


def test_store_of_the_controller_adds_to_what_stands_in_the_file_now(job: Path) -> None:
    file = job.with_name("pick.points.yaml")
    store = TaughtPoints(read_points(file), ("A",), [False], file, stamped=False)
    file.write_text(POINTS + "  P2: {x: 2 mm}  # by hand\n", encoding="utf-8")
    store.record("P3", [0.0], replace_old=False)
    assert list(read_points(file).points) == ["P1", "P2", "P3"]
    assert "# by hand" in file.read_text(encoding="utf-8")
    store.rename("P1", "corner")
    assert "corner" in job.read_text(encoding="utf-8")
    with pytest.raises(InputError):
        store.delete("P1")


def test_reading_a_strangers_job_replaces_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    """A hidden folder that was sent along, and a link to a file of the user's whose content is known."""
    mine = tmp_path / "settings"
    mine.write_text("mine\n", encoding="utf-8")
    folder = tmp_path / "stranger"
    folder.mkdir()
    job = folder / "pick.job"
    job.symlink_to(mine)
    leave(job, {file_pair.JOB: "theirs\n"}, {file_pair.JOB: file_pair._digest(mine)})
    file_pair.finish(job)
    assert mine.read_text(encoding="utf-8") == "mine\n"


def leave(job: Path, new: dict[str, str], before: dict[str, str | None]) -> Path:
    """A hidden folder with new files and a note that bears the user's seal."""
    hidden = file_pair._committed(job)
    hidden.mkdir()
    for ending, text in new.items():
        (hidden / ending[1:]).write_text(text, encoding="utf-8")
    after = {ending: hashlib.sha256(text.encode()).hexdigest() for ending, text in new.items()}
    note = {"before": before, "after": after}
    note_and_seal = {**note, "seal": file_pair._note_seal(job, note)}
    (hidden / file_pair.TO_DO).write_text(json.dumps(note_and_seal), encoding="utf-8")
    return hidden


def leave_job(job: Path) -> Path:
    return leave(job, {file_pair.JOB: "WAIT 9 s\n"}, {file_pair.JOB: file_pair._digest(job)})


def test_leftover_of_this_user_is_completed(job: Path) -> None:
    hidden = leave_job(job)
    file_pair.finish(job)
    assert job.read_text(encoding="utf-8") == "WAIT 9 s\n"
    assert not hidden.exists()


@pytest.mark.parametrize("forged", ["note", "file"])
def test_folder_of_the_right_name_with_a_strangers_content_changes_nothing(job: Path, forged: str) -> None:
    hidden = leave_job(job)
    if forged == "file":
        (hidden / "job").write_text("WAIT 1 s\n", encoding="utf-8")
    else:
        note = json.loads((hidden / file_pair.TO_DO).read_text(encoding="utf-8"))
        (hidden / file_pair.TO_DO).write_text(json.dumps({**note, "seal": "0" * 24}), encoding="utf-8")
    file_pair.finish(job)
    assert texts(job) == (POINTS, JOB)


def test_folder_that_belongs_to_someone_else_is_left_alone(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = leave_job(job)
    left = hidden.with_name(f"{hidden.name}-0123456789ab.new")
    left.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(file_pair.os, "geteuid", lambda: hidden.stat().st_uid + 1)
        file_pair.finish(job)
        file_pair._remove_leftovers(hidden)
    assert texts(job) == (POINTS, JOB)
    assert left.exists()
