"""Masters that we did not write bring our drives to OP, enable and move them; tshark reads the recordings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from servotwin.errors import InputError
from servotwin.fieldbus.interface import open_raw
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes

TESTS = Path(__file__).resolve().parents[1]
TSHARK = shutil.which("tshark")
ATTEMPTS = 3
TRAVEL = [20_000, 40_000, 60_000, 80_000]


def has_namespaces() -> bool:
    """Whether a network of our own can be made here, with interfaces and raw sockets."""
    code = "from servotwin.fieldbus.namespace import enter_namespace as e; e()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_namespaces(), reason="no network namespaces here (unshare, iproute2)")


def drives(settings: dict[str, Any], *master: str) -> list[str]:
    return [sys.executable, str(TESTS / "bus_drives.py"), json.dumps(settings), *master]


def lines_of(text: str) -> dict[str, Any]:
    """What drives and master said, each in one line of JSON."""
    found = (line.split(" ", 1) for line in text.splitlines() if line.startswith(("drives ", "master ")))
    return {who: json.loads(said) for who, said in found}


def run(settings: dict[str, Any], script: str) -> dict[str, Any]:
    """What both said; a master whose own time limits a loaded machine broke gets another chance."""
    master = (
        sys.executable,
        str(TESTS / script),
        str(len(settings["axes"])),
        "200",
        str(settings.get("settle", 10)),
    )
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            drives(settings, *master), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        found = lines_of(done.stdout)
        if found["drives"]["master"] == 0:
            return found
    pytest.fail(done.stderr)


def malformed(path: Path) -> list[str]:
    """Frames that tshark cannot dissect; it must have read all of them."""
    assert TSHARK is not None
    command = [TSHARK, "-n", "-r", str(path)]
    broken = subprocess.run(
        [*command, "-Y", "_ws.malformed || !ecat"], capture_output=True, text=True, check=True
    )
    return broken.stdout.splitlines()


def test_pysoem_moves_four_drives_with_distributed_clocks(tmp_path: Path) -> None:
    pytest.importorskip("pysoem")
    pcap = tmp_path / "bus.pcap"
    settings = {"axes": [1, 1, 1, 1], "pcap": str(pcap), "drifts": [0.0, 2e-5, -3e-5, 5e-5]}
    found = run(settings, "bus_master_pysoem.py")
    master = found["master"]
    assert master["slaves"] == 4
    assert master["objects"] == sorted(Dictionary(Identity(), new_axes(1)).lines), "by SDO information"
    assert master["described"][0] == "Software position limit"
    assert master["described"][2:] == ["Min position limit", "Max position limit"]
    assert master["dc"]
    assert master["delays"] == pytest.approx([0, 600, 1200, 1800], abs=5)
    assert master["op"] == [8] * 4
    assert master["enabled"] == [0x27] * 4
    assert master["travel"] == TRAVEL
    assert all(master["follows"])
    assert max(master["differences"][1:]) < 1000, "clocks of the slaves against the first [ns]"
    assert found["drives"]["refused"] == 0
    if TSHARK is None:
        pytest.skip("tshark is not installed")
    assert malformed(pcap) == []


ROBOT = {"axes": [1, 1, 1, 1], "robot": "palletizer-4", "settle": 300}
SAGGED = 400  # counts of 2^20 that a shaft gives way when its brake opens, or sticks before its target


@pytest.mark.parametrize("lock_step", [False, True])
def test_pysoem_moves_the_palletizer(lock_step: bool, tmp_path: Path) -> None:
    pytest.importorskip("pysoem")
    pcap = tmp_path / "bus.pcap"
    found = run({**ROBOT, "lock_step": lock_step, "pcap": str(pcap)}, "bus_master_pysoem.py")
    master = found["master"]
    assert master["dc"]
    assert master["op"] == [8] * 4
    assert master["enabled"] == [0x27] * 4
    assert master["travel"] == pytest.approx(TRAVEL, abs=SAGGED)
    assert all(master["follows"])
    assert found["drives"]["errors"] == [0] * 4
    if TSHARK is None:
        pytest.skip("tshark is not installed")
    assert malformed(pcap) == []


def test_kickcat_moves_the_palletizer() -> None:
    pytest.importorskip("kickcat")
    found = run({**ROBOT, "lock_step": True}, "bus_master_kickcat.py")
    assert found["master"]["op"] == [8] * 4
    assert found["master"]["enabled"] == [0x27] * 4
    assert found["master"]["travel"] == pytest.approx(TRAVEL, abs=SAGGED)
    assert found["drives"]["errors"] == [0] * 4


def test_kickcat_moves_four_drives(tmp_path: Path) -> None:
    pytest.importorskip("kickcat")
    pcap = tmp_path / "bus.pcap"
    found = run({"axes": [1, 1, 1, 1], "pcap": str(pcap)}, "bus_master_kickcat.py")
    master = found["master"]
    assert master["sizes"] == [[20, 24]] * 4
    assert master["name"] == "ServoTwin drive"
    assert master["op"] == [8] * 4
    assert master["enabled"] == [0x27] * 4
    assert master["travel"] == TRAVEL
    if TSHARK is None:
        pytest.skip("tshark is not installed")
    assert malformed(pcap) == []


def test_one_slave_with_four_axes_is_moved_in_lock_step(tmp_path: Path) -> None:
    pytest.importorskip("pysoem")
    code = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import json, pysoem
from bus_master_pysoem import CSP, INPUT, OUTPUT, enable_word
master = pysoem.Master(); master.open("stmaster")
assert any(master.config_init() == 1 for _ in range(10))
master.config_map(); master.state_check(pysoem.SAFEOP_STATE, 200_000)
slave, words, targets = master.slaves[0], [0] * 4, [0] * 4
def exchange():
    slave.output = b"".join(OUTPUT.pack(w, CSP, t, 0, 0, 0, 0) for w, t in zip(words, targets))
    master.send_processdata(); assert master.receive_processdata(100_000) == 3
    return list(INPUT.iter_unpack(slave.input))
exchange(); master.state = pysoem.OP_STATE; master.write_state()
while master.state_check(pysoem.OP_STATE, 2_000) != pysoem.OP_STATE: exchange()
while any(line[0] & 0x6F != 0x27 for line in exchange()):
    words = [enable_word(line[0]) for line in exchange()]
lags = set()
for i in range(500):
    targets = [7 * (k + 1) * (i + 1) for k in range(4)]
    lags |= {{t - line[2] for t, line in zip(targets, exchange())}}
final = exchange()
name = slave.sdo_read(0x1008, 0).decode()
print("master " + json.dumps({{"places": [line[2] for line in final], "lags": sorted(lags), "name": name}}))
"""
    script = tmp_path / "master.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        drives({"axes": [4], "lock_step": True}, sys.executable, str(script)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = lines_of(done.stdout)
    assert found["drives"]["master"] == 0, done.stderr
    assert found["master"]["places"] == [3500, 7000, 10500, 14000]
    assert found["master"]["lags"] == [7, 14, 21, 28], "inputs are those of the cycle before, to the count"
    assert found["master"]["name"] == "ServoTwin drive"


UNPLUGGED = """
import sys; sys.path.insert(0, {tests!r})
import json, os, subprocess, time, pysoem
from bus_master_pysoem import INPUT, OUTPUT, enable_word
os.environ["PATH"] += ":/usr/sbin:/sbin"
master = pysoem.Master(); master.open("stmaster")
assert any(master.config_init() == 2 for _ in range(10))
master.config_map(); master.state_check(pysoem.SAFEOP_STATE, 200_000)
words = [0, 0]
def exchange():
    for slave, word in zip(master.slaves, words): slave.output = OUTPUT.pack(word, 9, 0, 3_000_000, 0, 0, 0)
    master.send_processdata(); master.receive_processdata(20_000)
    return [INPUT.unpack(slave.input) for slave in master.slaves]
exchange(); master.state = pysoem.OP_STATE; master.write_state()
while master.state_check(pysoem.OP_STATE, 2_000) != pysoem.OP_STATE: exchange()
while any(line[0] & 0x6F != 0x27 for line in exchange()):
    words = [enable_word(line[0]) for line in exchange()]
for _ in range(50): moving = exchange(); time.sleep(0.001)
subprocess.run(["ip", "link", "set", "stmaster", "down"], check=True)
time.sleep(0.8)
subprocess.run(["ip", "link", "set", "stmaster", "up"], check=True)
time.sleep(0.3)
master.read_state()
states = [(slave.state, slave.al_status) for slave in master.slaves]
first = exchange(); time.sleep(0.1); second = exchange()
print("master " + json.dumps({{"moving": [line[3] for line in moving], "states": states,
    "codes": [line[5] for line in second], "status": [line[0] & 0x4F for line in second],
    "way": [b[2] - a[2] for a, b in zip(first, second)]}}))
"""


def test_unplugged_drives_stop_and_say_why(tmp_path: Path) -> None:
    pytest.importorskip("pysoem")
    script = tmp_path / "master.py"
    script.write_text(UNPLUGGED.format(tests=str(TESTS)), encoding="utf-8")
    command = drives({"axes": [1, 1], "watchdog_ms": 300}, sys.executable, str(script))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = lines_of(done.stdout)
    assert found["drives"]["master"] == 0, done.stderr
    master = found["master"]
    assert master["moving"] == pytest.approx([3_000_000] * 2, rel=0.01)
    assert master["states"] == [[4 + 0x10, 0x1B]] * 2
    assert master["codes"] == [0x7500] * 2
    assert master["status"] == [0x08] * 2
    assert master["way"] == [0, 0]


def test_drives_end_at_sigterm_and_say_so(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    process = subprocess.Popen(
        drives({"axes": [1]}, "sh", "-c", f"touch {mark}; exec sleep 60"), stdout=subprocess.PIPE, text=True
    )
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert lines_of(said)["drives"]["ended_by_signal"]


CHECKS = """
from servotwin.fieldbus.namespace import enter_namespace
enter_namespace()
import subprocess, socket
from servotwin.errors import InputError
from servotwin.fieldbus.interface import drop_rights, open_raw
def ip(*words): subprocess.run(["ip", *words], check=True)
def refused(name):
    try: open_raw(name).close()
    except InputError as error: return str(error)
    return ""
assert refused("stdrives") == ""
assert "no network interface" in refused("nothing0")
assert "loopback" in refused("lo")
ip("addr", "add", "10.1.2.3/24", "dev", "stmaster")
assert "10.1.2.3" in refused("stmaster"), refused("stmaster")
ip("addr", "del", "10.1.2.3/24", "dev", "stmaster")
ip("route", "add", "default", "dev", "stmaster")
assert "default route" in refused("stmaster"), refused("stmaster")
ip("route", "del", "default", "dev", "stmaster")
ip("link", "set", "stmaster", "addrgenmode", "eui64")
ip("-6", "addr", "add", "2001:db8::1/64", "dev", "stmaster")
assert "2001:db8::1" in refused("stmaster"), refused("stmaster")
kept = open_raw("stdrives")
assert drop_rights() == []
assert "not permitted" in refused("stdrives")
kept.send(bytes(12) + b"\\x88\\xa4" + bytes(46))
done = subprocess.run(["ip", "link", "set", "stdrives", "down"], capture_output=True)
assert done.returncode != 0, "a program that it starts has no rights either"
"""


def test_interface_with_other_uses_is_refused_and_rights_are_given_away() -> None:
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_interface_of_this_machine_is_never_guessed() -> None:
    with pytest.raises(InputError, match="interface: there is no network interface ''"):
        open_raw("")
