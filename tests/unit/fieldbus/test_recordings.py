"""Recordings of frames: whose files they replace, and what a full disk leaves of them and of results."""

from __future__ import annotations

import io
import os
import resource
import socket
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from controlled_bus import LOCK_STEP, ROBOT, segment
from servotwin.errors import InputError, SimulationError
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.ethercat.pcap import PcapWriter, open_recording, read_pcap
from servotwin.fieldbus.robot.build import RobotDrives
from servotwin.fieldbus.robot.session import serve_built
from servotwin.report.control_page import write_control
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.tables import read_table


def test_file_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "letter.txt"
    mine.write_bytes(b"Dear all, this is not a recording at all.")
    with pytest.raises(InputError, match="is there and no recording of ours"):
        open_recording(mine)
    assert mine.read_bytes().startswith(b"Dear all")


def test_pipe_and_folder_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(InputError, match="is no regular file"):
            open_recording(tmp_path / name)


def test_recording_of_ours_and_an_empty_file_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"")
    for frame in (b"first", b"second"):
        with open_recording(path) as file:
            PcapWriter(file).write(frame, 5)
        assert list(read_pcap(path)) == [(5, frame)]


class SmallDisk(io.RawIOBase):
    """A file on a disk with room for so many bytes; the last write may be cut."""

    name = "a.pcap"

    def __init__(self, room: int) -> None:
        self.held, self.room = io.BytesIO(), room

    def write(self, data: bytes) -> int:  # type: ignore[override]
        left = self.room - self.held.tell()
        if left <= 0:
            raise OSError(28, "No space left on device")
        return self.held.write(data[:left])

    def seek(self, at: int, whence: int = 0) -> int:
        return self.held.seek(at, whence)

    def truncate(self, size: int | None = None) -> int:
        return self.held.truncate(size)


@pytest.mark.parametrize("room", [10, 24, 30, 200, 341])
def test_full_disk_leaves_whole_frames_and_a_reason(tmp_path: Path, room: int) -> None:
    disk = SmallDisk(room)
    writer = PcapWriter(disk)  # type: ignore[arg-type]
    for k in range(20):
        writer.write(bytes([k]) * 60, k)
    assert writer.failure == "the recording ends early: No space left on device"
    kept = disk.held.getvalue()
    whole = max((room - 24) // 76, 0)
    assert writer.frames == whole
    assert len(kept) == (24 + 76 * whole if room >= 24 else 0)
    if room >= 24:
        (tmp_path / "a.pcap").write_bytes(kept)
        assert [at for at, _ in read_pcap(tmp_path / "a.pcap")] == list(range(whole))


def test_recording_that_cannot_go_on_does_not_change_the_run(tmp_path: Path) -> None:
    runs = []
    for path in (None, "/dev/full"):
        line, _ = segment()
        writer = None if path is None else PcapWriter(open_recording(Path(path)))
        port = SegmentPort(line, writer)
        runs.append(st.control_job("palletizer-line", port, settings=LOCK_STEP))
        if writer is not None:
            assert writer.failure
            writer.file.close()
    assert runs[1].finished
    assert np.array_equal(runs[0].log["position"], runs[1].log["position"])

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limit[1]))
        with pytest.raises(InputError, match="cannot be written: File too large") as caught:
            write_control(runs[0], tmp_path / "out", report=True, mcap=True, overwrite=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "\n" not in str(caught.value)
    left = [path for path in (tmp_path / "out").rglob("*") if not path.name.startswith(".servotwin")]
    assert left == []


def test_plant_that_fails_leaves_its_recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.setattr("servotwin.fieldbus.serving.open_raw", lambda _: mine.dup())
    monkeypatch.setattr("servotwin.fieldbus.serving.drop_rights", list)

    def fail(drives: RobotDrives) -> None:
        if drives.plant.now_ns > 50_000_000:
            drives.machine.y[:] = np.nan

    with mine, theirs:
        drives = st.robot_drives(ROBOT, recording=True)
        served = serve_built(drives, "any", record=True, seconds=20.0, look=fail)
        assert "diverged at" in served.failure
        assert served.result is not None
        assert not served.result.complete
        written = write_result(served.result, tmp_path / "run", report=False, overwrite=False)
        time = read_table(written.signals.read_bytes(), "signals.parquet")["time_s"]
        assert time[-1] >= 0.05
        with pytest.raises(SimulationError, match="diverged at"):
            serve_built(st.robot_drives(ROBOT), "any", seconds=20.0, look=fail)
