"""What a file of a stranger can be: only regular files of a bounded size are opened, whatever their name says."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servotwin.cli.main import main
from servotwin.description import regular_file
from servotwin.description.load import read_description
from servotwin.description.regular_file import CSV, ROBOT, Kind, open_regular, read_bytes, read_text
from servotwin.errors import InputError
from servotwin.jobs.language import read_job
from servotwin.jobs.points_file import read_points
from servotwin.jobs.program import load_program
from servotwin.simulation.comparing.measured_signals import read_measured
from servotwin.simulation.results.result_files import read_result
from servotwin.simulation.scenario.io_script import read_io_script
from servotwin.simulation.scenario.scenario import read_scenario

SOURCE = Path(regular_file.__file__).resolve().parents[1]


def read_csv(path: Path) -> Any:
    return read_measured(path, ["joint_A_position_rad"])


def result_of(path: Path) -> Any:
    return read_result(path.parent)


# every reader of a file that a stranger may have made, and the name that it expects
READERS: list[tuple[Callable[[Path], Any], str]] = [
    (read_description, "arm.yaml"),
    (read_description, "arm.urdf"),
    (read_scenario, "run.yaml"),
    (read_job, "a.job"),
    (load_program, "a.job"),
    (read_points, "a.points.yaml"),
    (read_io_script, "io.yaml"),
    (read_csv, "m.csv"),
    (result_of, "signals.parquet"),
]
IDS = [f"{reader.__name__}-{name}" for reader, name in READERS]


@pytest.mark.parametrize(("reader", "name"), READERS, ids=IDS)
def test_fifo_is_refused_by_every_reader_without_waiting(
    reader: Callable[[Path], Any], name: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(
        InputError, match=rf"{re.escape(name)}: is a FIFO \(a named pipe\); expected .*regular"
    ):
        reader(tmp_path / name)


@pytest.mark.parametrize(("reader", "name"), READERS, ids=IDS)
@pytest.mark.parametrize(
    "target", ["/dev/zero", "/proc/self/environ", "/sys/kernel/mm/transparent_hugepage/enabled"]
)
def test_link_to_a_device_or_a_file_of_the_kernel_is_refused_by_every_reader(
    reader: Callable[[Path], Any], name: str, target: str, tmp_path: Path
) -> None:
    if not Path(target).exists():
        pytest.skip(f"no {target} here")
    (tmp_path / name).symlink_to(target)
    with pytest.raises(InputError, match=r"is a device|is made by the kernel") as caught:
        reader(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_folder_and_socket_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; expected a robot file, a regular file"):
        read_text(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(InputError, match="is a socket"):
            read_text(tmp_path / "s")


def test_file_that_becomes_a_fifo_between_the_look_and_the_opening_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text("a: 1\n")
    opened = os.open

    def exchange(name: Any, flags: int, *more: Any) -> int:
        path.unlink()
        os.mkfifo(path)
        return opened(name, flags, *more)

    monkeypatch.setattr(regular_file.os, "open", exchange)
    with pytest.raises(InputError, match="is a FIFO"):
        read_text(path)


def test_size_beyond_the_limit_is_one_line_with_size_limit_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "big.bin"
    with path.open("wb") as stream:
        stream.truncate(3_000_000_000)  # a hole: no room on the disk
    small = Kind("a note", 1_500, "write less")
    with pytest.raises(
        InputError, match=r"big\.bin: 3 GB, larger than a note may be \(1\.5 kB\); write less$"
    ):
        read_bytes(path, small)
    with pytest.raises(InputError, match=r"3 GB, larger than a CSV file may be \(1 GB\); cut it to"):
        open_regular(path, CSV)


def test_file_that_grows_while_it_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"x" * 2_000)
    monkeypatch.setattr(regular_file, "_check", lambda *_: None)
    with pytest.raises(InputError, match="larger than a note may be"):
        read_bytes(path, Kind("a note", 1_000))


@pytest.mark.parametrize("trap", ["fifo", "nested", "pipe-left", "points"])
def test_hidden_folder_that_a_stranger_left_beside_a_job_neither_hangs_nor_fails(
    trap: str, tmp_path: Path
) -> None:
    """Reading a job completes what a killed process began; what lies there may be of someone else."""
    from servotwin.jobs.file_pair import TO_DO, _committed, _note_seal, write_together

    job, points = tmp_path / "a.job", tmp_path / "a.points.yaml"
    job.write_text("WAIT 1 s\n")
    committed = _committed(job)
    committed.mkdir()
    if trap == "fifo":
        os.mkfifo(committed / TO_DO)
    elif trap == "nested":
        (committed / TO_DO).write_text("[" * 10_000)
    elif trap == "pipe-left":
        os.mkfifo(committed.with_name(f"{committed.name}-x.new"))
    else:
        os.mkfifo(points)
        digest = hashlib.sha256(b"x").hexdigest()
        note = {"before": {".points.yaml": None}, "after": {".points.yaml": digest}}
        (committed / TO_DO).write_text(json.dumps({**note, "seal": _note_seal(job, note)}))
        (committed / "points.yaml").write_text("x")
    assert len(read_job(job).body) == 1
    if trap != "points":
        write_together({points: "format: servotwin-points/1\n", job: "WAIT 2 s\n"})
        assert "2 s" in job.read_text()


def test_ordinary_file_in_memory_is_read() -> None:
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK):
        pytest.skip("no /dev/shm here")
    path = place / f"servotwin-{os.getpid()}.yaml"
    try:
        path.write_text("a: 1\n")
        assert read_text(path) == "a: 1\n"
    finally:
        path.unlink()


def test_descriptor_is_not_inherited_and_closed_on_refusal(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with open_regular(tmp_path / "a", ROBOT) as stream:
        assert not os.get_inheritable(stream.fileno())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(InputError):
            read_text("/proc/self/environ")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_terminal_escape_in_the_name_of_a_file_is_shown_not_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path / "a\x1b[31m\u202eb.yaml")]) == 2
    said = capsys.readouterr().err
    assert r"a\x1b[31m\u202eb.yaml: no such file" in said
    assert "\x1b" not in said


# Reading what is ours: grammar, script, caches, sources of the package; writing, with locks and marks.
OWN = {
    "cli/main.py",
    "cli/streams.py",
    "description/file_write.py",
    "jobs/file_pair.py",  # opens what it writes; what it finds goes through ``regular_file``
    "simulation/results/mark.py",  # regular files only, without following links
    "compiled/jit.py",
    "compiled/shipped.py",  # machine code that comes with the package
    "jobs/language.py",  # the grammar
    "jobs/words.py",  # the grammar
    "kernels/cache.py",
    "report/animation.py",  # the script of the page
    "report/files.py",
    "scene/script.py",  # the script of the page
    "pendant/view/dropped.py",  # writes what was dropped into a folder of its own
    "pendant/page/pendant.py",  # the page itself
    "pendant/web/pages.py",  # files of the package that pages load
    "description/write.py",
    "description/regular_file.py",
    "simulation/results/folder.py",
    "hil/link/addresses.py",  # a key: owner and mode are looked at once it is open
    "hil/link/firmware.py",  # our own text of the firmware
    "hil/link/opening.py",  # serial lines and shared memory that the user names
    "fieldbus/ethercat/pcap.py",  # recordings: only its own are replaced
    "fieldbus/interface.py",  # tables of the kernel
    "fieldbus/namespace.py",  # the same
    "realtime/grants.py",  # the device that keeps processors awake
}


def test_no_other_module_opens_files() -> None:
    """A new reader goes through ``regular_file``, or stands in the list with what it opens."""
    opening = re.compile(
        r"(?<![\w.])open\(|\.open\(|\.read_text\(|\.read_bytes\(|fdopen\(|parquet\.read_table\((?!py)"
    )
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if opening.search(path.read_text(encoding="utf-8"))
    }
    assert {name for name in found if not name.startswith("cache/")} <= OWN
