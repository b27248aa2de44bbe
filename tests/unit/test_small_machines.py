"""Machines that lack something: a home folder, a known user, a folder to write to, a steady clock."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.compiled.jit import CompiledCache
from servotwin.motion import reachability
from tests import small_drives as small

PACKAGE = Path(st.__file__).parent
# a user whom the system does not know: he may read everything, and write nothing of others
STRANGER = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups",
            "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]  # fmt: skip
USED = """
import sys; sys.path[:0] = PATHS
import servotwin as st
from servotwin.cli.main import main
from servotwin.motion.reachability import _bounds
import numpy as np
code = main(["rne", "double-pendulum", "--q", "30 deg, 0 deg"])
_bounds(0.5, *np.ones((3, 2)))
print(sum(_bounds.stats.cache_misses.values()), sum(_bounds.stats.cache_hits.values()))
sys.exit(code)
"""


def can_be_a_stranger() -> bool:
    try:
        return os.geteuid() == 0 and subprocess.run([*STRANGER, "true"], check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def public() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(not can_be_a_stranger(), reason="needs root and setpriv to become another user")
@pytest.mark.parametrize("home", ["none", "missing", "unwritable"])
def test_an_unknown_user_without_a_home_works_in_a_private_folder_and_is_told(
    public: Path, home: str
) -> None:
    (public / "tmp").mkdir()
    (public / "tmp").chmod(0o777)
    (public / "home").mkdir(mode=0o755)
    homes = {"none": {}, "missing": {"HOME": "/proc/none"}, "unwritable": {"HOME": str(public / "home")}}
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [*STRANGER, sys.executable, "-B", "-c", USED.replace("PATHS", repr(paths))],
        cwd=public, env={"TMPDIR": str(public / "tmp"), "PATH": os.environ["PATH"], **homes[home]},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 0"  # compiled, and no error from where it was to be kept
    (line,) = done.stderr.splitlines()
    assert line.startswith("cache: ")
    assert f"compiled code goes to {public}/tmp/servotwin-" in line
    assert line.endswith(" and will be compiled again next time")
    assert not list((public / "tmp").iterdir())  # nothing is left behind


def test_time_optimal_motion_is_compiled_into_the_cache_of_the_house() -> None:
    kernels = [value for value in vars(reachability).values() if hasattr(value, "py_func")]
    assert len(kernels) >= 4
    assert all(isinstance(kernel._cache, CompiledCache) for kernel in kernels)


def test_no_module_uses_a_cache_of_numba() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert "cache=True" not in path.read_text(encoding="utf-8"), path


def test_a_clock_that_jumps_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small.write_case(tmp_path, small.robot(), {"move": [{"to": {"A": "0.2 rad"}}]})
    wanted = st.simulate(path).signals["joint_A_position_rad"]
    jumps = itertools.cycle([0.0, -2e9, 3e9, -86400.0, 1e6])
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + int(1e9 * next(jumps)))
    found = st.simulate(path)
    np.testing.assert_array_equal(found.signals["joint_A_position_rad"], wanted)
    assert 0.0 < found.summary["wall_s"] < 1e3
    for _ in range(2):
        assert main(["simulate", str(path), "--no-report", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert (tmp_path / "out/summary.json").is_file()
