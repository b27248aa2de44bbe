"""Our master and the commands over it on a real wire, beside drives in another process; tshark reads the frames."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVES = Path(__file__).resolve().parents[1] / "bus_drives.py"
COMMAND = f"{sys.executable} -m servotwin"


def run(settings: dict[str, Any], script: str) -> tuple[str, str]:
    """Standard output and errors of commands in a shell beside drives."""
    words = [sys.executable, str(DRIVES), json.dumps(settings), "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if "cannot be made here" in done.stderr:
        pytest.skip("no network namespaces here")
    return done.stdout, done.stderr


def test_tools_scan_read_write_and_watch(tmp_path: Path) -> None:
    pcap = tmp_path / "scan.pcap"
    lines = (
        f"{COMMAND} bus scan --interface stmaster --json --pcap {pcap}",
        f"{COMMAND} bus sdo read 2 1008 --interface stmaster --json",
        f"{COMMAND} bus sdo write 2 6065 5000 --interface stmaster --json",
        f"{COMMAND} bus watch 1 6041 --count 2 --every '1 ms' --interface stmaster --json",
        f"{COMMAND} bus sdo read 9 1008 --interface stmaster || echo refused $?",
    )
    out, err = run({"axes": [1, 1], "seconds": 200}, "; echo ,; ".join(lines))
    scan, read, written, watched, refused = out.split("drives {")[0].split("\n,\n")
    assert [(s["name"], s["outputs_bytes"]) for s in json.loads(scan)] == [("ServoTwin drive", 20)] * 2
    assert json.loads(read)["value"] == "ServoTwin drive"
    assert json.loads(written)["value"] == 5000
    assert watched.count("6041:00") == 2
    assert "refused 2" in refused
    assert "9; there are slaves 1 to 2" in err
    tshark = shutil.which("tshark")
    if tshark is not None:
        bad = [tshark, "-r", str(pcap), "-Y", "_ws.malformed"]
        assert subprocess.run(bad, capture_output=True, text=True, check=True).stdout == ""
