"""Make the machine code that a wheel brings along (``servotwin/compiled/objects``): what a first run would compile.

The package works with an empty cache, once for each level of processors that this machine reaches; what it has kept
there then comes along. Nothing is listed by hand but the commands: every piece of the simulation, and whatever else
these commands compile and derive.

    python tools/objects.py [folder with the package]
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = "servotwin/compiled/objects"
PIECES = "from servotwin.simulation.plant.pieces import PIECES, compile_pieces; compile_pieces(list(PIECES))"
COMMANDS = (
    ["-c", PIECES],
    ["-m", "servotwin", "demo", "--out", "demo"],
    ["-m", "servotwin", "simulate", "scara-a-axis-100deg", "--out", "move"],
    ["-m", "servotwin", "job", "run", "scara-line", "--out", "line"],
)
KINDS = ("kernels", "loops")  # of the cache's entries: machine code
SECONDS = 900.0


class ObjectsError(Exception):
    """The code cannot be made."""


def levels() -> list[str]:
    """Levels whose code this machine can make and run."""
    from servotwin.compiled.llvm import LEVELS, reached

    return [level for level in LEVELS if reached(level)]


def environment(package: Path, level: str, place: Path) -> dict[str, str]:
    """Variables of a process that compiles for a level, with a cache and a key of its own in a folder."""
    own = {
        "SERVOTWIN_CACHE": str(place / "cache"),
        "XDG_STATE_HOME": str(place / "state"),
        "SERVOTWIN_CACHE_LIMIT": "1 GB",
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "PYTHONPATH": str(package),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    return kept | own


def compile_for(
    package: Path, level: str, place: Path, commands: Sequence[Sequence[str]] = COMMANDS
) -> dict[str, str]:
    """Let the commands compile what they need on a processor of a level; the variables that name their cache."""
    variables = environment(package, level, place)
    place.mkdir(parents=True)
    for command in commands:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=place,
            env=variables,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise ObjectsError(f"{level}: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return variables


def entries(variables: dict[str, str]) -> dict[str, bytes]:
    """The code in a cache by kind and name, read as the package reads it: whole and authentic."""
    from servotwin.cache import store

    found = {}
    before = dict(os.environ)
    os.environ.update({name: variables[name] for name in ("SERVOTWIN_CACHE", "XDG_STATE_HOME")})
    try:
        for kind in KINDS:
            for path in sorted(Path(variables["SERVOTWIN_CACHE"], kind).glob("*")):
                data = store.read(kind, path.name)  # type: ignore[arg-type]
                if data is None:
                    raise ObjectsError(f"{path} cannot be read back")
                found[f"{kind}/{path.name}"] = data
    finally:
        os.environ.clear()
        os.environ.update(before)
    return found


def write(folder: Path, made: dict[str, dict[str, bytes]]) -> None:
    """Put the code of all levels into a folder, with the list of its digests."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for found in made.values():
        for name, data in found.items():
            (folder / name.replace("/", "-")).write_bytes(data)
    index = {
        level: {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}
        for level, found in made.items()
    }
    (folder / "index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")


def make(package: Path) -> None:
    """Make the code of all levels for a folder with the package, from the package's own sources."""
    write(package / PLACE, {})  # so that nothing is found there
    with tempfile.TemporaryDirectory(prefix="servotwin-objects-") as place:
        with ThreadPoolExecutor() as pool:  # each waits for processes of its own
            every = {
                level: pool.submit(compile_for, package, level, Path(place) / level) for level in levels()
            }
        made = {level: entries(waiting.result()) for level, waiting in every.items()}
    write(package / PLACE, made)
    for level, found in made.items():
        print(f"{level}: {len(found)} objects, {sum(map(len, found.values())) / 1e6:.1f} MB")


def main() -> int:
    """Exit code 1 and the reason if it fails."""
    package = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "src").resolve()
    try:
        make(package)
    except ObjectsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
