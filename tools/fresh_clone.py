"""Run the targets that a newcomer tries first, each as the first command in a clone of its own.

A clone has no environment and nothing installed, so a target that relies on what another one installed fails here.
Two run at a time. ``make test`` imports all tests and runs those of the project itself; ``make bench`` measures
everything once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {
    "demo": ["demo"],
    "test": ["test", "PYTEST_ARGS=-n 0 -k test_project"],
    "bench": ["bench", "BENCH=short"],
}
LIMIT_S = 900.0
FROM_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "VIRTUAL_ENV")
SHOWN = 40  # last lines of a target that failed


def first_command(name: str, folder: Path) -> str | None:
    """Clone, run the target, remove the clone; what it said if it failed."""
    clone = folder / name
    environment = {key: value for key, value in os.environ.items() if key not in FROM_MAKE}
    start = time.monotonic()
    try:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        done = subprocess.run(
            ["make", f"PYTHON={sys.executable}", *TARGETS[name]],
            cwd=clone, env=environment, timeout=LIMIT_S, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"make {name}: not done after {LIMIT_S:.0f} s"
    finally:
        shutil.rmtree(clone, ignore_errors=True)
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-SHOWN:])
        return f"make {name}: exit code {done.returncode}\n{last}"
    print(f"make {name} as the first command in a fresh clone: {time.monotonic() - start:.0f} s", flush=True)
    return None


def main() -> int:
    """All targets; 1 if one fails."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        failures = list(pool.map(lambda name: first_command(name, Path(folder)), TARGETS))
    for failure in filter(None, failures):
        print(failure, file=sys.stderr)
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
