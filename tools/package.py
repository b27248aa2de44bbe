"""Build sdist and wheel, look into them, install the wheel far from the checkout and work with it as another user.

What a user does who has no checkout: an environment of its own with the core only, by hash; a folder that is empty;
a user who may not write where the package lies. Run by root, that user is ``nobody``; run by anyone else, the
installed files are made read-only instead.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import objects  # beside this file
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65534
MOST_MEGABYTES = 600  # of the whole environment with the core; see docs/dependencies.md
COMMANDS = {
    "demo": ["demo", "--out", "demo"],
    "simulate": ["simulate", "scara-a-axis-100deg", "--out", "move"],
    "job run": ["job", "run", "scara-line", "--out", "line"],
}
REPORTS = ("demo/report.html", "move/report.html", "line/report.html")


class PackageError(Exception):
    """The package is not as it should be."""


def run(command: Sequence[str | Path], seconds: float = 300, **options: object) -> str:
    """Run a command to its end; PackageError with what it said if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False, **options)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        raise PackageError(f"{' '.join(words)}: not done after {seconds:.0f} s") from None
    if done.returncode != 0:
        raise PackageError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


# ------------------------------------------------------------------------------------------- contents
def tracked() -> set[str]:
    """Files under version control; none known in an unpacked sdist."""
    if not (ROOT / ".git").exists():
        return set()
    return set(run(["git", "ls-files", "-z"], cwd=ROOT).split("\0")) - {""}


def package_files() -> set[str]:
    """What the wheel has to hold: the package's files, without what machines leave there."""
    source = ROOT / "src"
    files = (path for path in (source / "servotwin").rglob("*") if path.is_file())
    return {
        path.relative_to(source).as_posix()
        for path in files
        if "__pycache__" not in path.parts
        and path.suffix not in (".pyc", ".nbi", ".nbc")
        and path.parent != source / objects.PLACE
    }


def check_sdist(path: Path) -> None:
    """Everything under version control is in the sdist, and little else."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if not archive.getmember(name).isdir()}
    if known := tracked():
        made = {name for name in names if re.match(r"PKG-INFO$|setup\.cfg$|src/servotwin\.egg-info/", name)}
        complain("sdist lacks", known - names)
        complain("sdist holds beyond version control", names - known - made)
    complain("sdist lacks", {"tests/conftest.py", "docs/index.md", "Makefile", "constraints.txt"} - names)


def check_wheel(path: Path) -> None:
    """The wheel holds the package with its data and nothing else."""
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    inside = {name for name in names if not re.match(rf"servotwin-[^/]+\.dist-info/|{objects.PLACE}/", name)}
    if objects.levels() and f"{objects.PLACE}/index.json" not in names:
        raise PackageError("wheel lacks the machine code of a first run")
    complain("wheel lacks", package_files() - inside)
    complain("wheel holds beyond the package", inside - package_files())


def build_wheel(sdist: Path, place: Path) -> Path:
    """The wheel of what the sdist holds, with the machine code of a first run, made from those sources."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked", filter="data")
    (project,) = (place / "unpacked").iterdir()
    try:
        objects.make(project / "src")
    except objects.ObjectsError as error:
        raise PackageError(str(error)) from None
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", place / "dist", project])
    (wheel,) = (place / "dist").glob("*.whl")
    return wheel


def complain(what: str, names: set[str]) -> None:
    """PackageError with the first few names, if there are any."""
    if names:
        raise PackageError(f"{what}: {', '.join(sorted(names)[:5])}{' ...' if len(names) > 5 else ''}")


# -------------------------------------------------------------------------------------- environment
def core_packages() -> set[str]:
    """Names of all packages that the core needs, directly or through others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: set[str] = set()
    waiting = [Requirement(line) for line in project["dependencies"]]
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        if name in found or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(line) for line in importlib.metadata.requires(name) or []]
    return found


def core_pins() -> str:
    """The part of requirements-ci.txt that the core needs."""
    text = (ROOT / "requirements-ci.txt").read_text(encoding="utf-8")
    blocks = {
        found[1]: found[0]
        for found in re.finditer(r"^([a-z0-9.-]+)==(?:.*\\\n)*.*\n", text, flags=re.MULTILINE)
    }
    wanted = core_packages()
    complain("requirements-ci.txt lacks", wanted - set(blocks))
    return "".join(blocks[name] for name in sorted(wanted))


def as_nobody(command: Sequence[str | Path]) -> list[str | Path]:
    """The command as user ``nobody``, who is in no group."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def python_for_all() -> Path | None:
    """A Python of our version that ``nobody`` may start; None if there is none, or we are not root."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    homes = [Path(sys._base_executable).resolve().parent, *map(Path, ("/usr/local/bin", "/usr/bin"))]  # type: ignore[attr-defined]
    for python in (home / version for home in homes):
        try:
            run(as_nobody([python, "-c", "import venv, ctypes, zlib"]), cwd="/")
        except (PackageError, OSError):
            continue
        return python
    return None


def install(wheel: Path, python: Path, place: Path) -> Path:
    """An environment with the core and the wheel; its folder of programs."""
    run([python, "-m", "venv", "--without-pip", place])
    pins = place.parent / "core.txt"
    pins.write_text(core_pins(), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", "--no-deps", "--require-hashes", "-r", pins], seconds=600)
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel])
    run([*pip, "check"])
    return place / "bin"


def megabytes(folder: Path) -> float:
    """Space on the disk [MB], as ``du -sm`` counts."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 2**20


# ---------------------------------------------------------------------------------------------- work
def work(programs: Path, home: Path, other_user: bool) -> None:
    """Demo, simulation and job from an empty folder."""
    empty = home / "empty"
    empty.mkdir(parents=True)
    home.chmod(0o700)
    if other_user:
        os.chown(home, NOBODY, NOBODY)
        os.chown(empty, NOBODY, NOBODY)
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    for name, arguments in COMMANDS.items():
        start = time.monotonic()
        command: list[str | Path] = [programs / "servotwin", *arguments]
        run(as_nobody(command) if other_user else command, cwd=empty, env=environment)
        print(f"{name}: {time.monotonic() - start:.1f} s")
    complain("not written:", {name for name in REPORTS if not (empty / name).is_file()})


def package(place: Path) -> None:
    """All of it, in a folder that is removed afterwards."""
    place.chmod(0o755)
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", place / "dist", ROOT])
    (sdist,) = (place / "dist").glob("*.tar.gz")
    check_sdist(sdist)
    wheel = build_wheel(sdist, place)
    check_wheel(wheel)
    print(
        f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, {wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB"
    )
    python = python_for_all()
    programs = install(wheel, python or Path(sys.executable), place / "environment")
    size = megabytes(place / "environment")
    print(f"core in a fresh environment: {size:.0f} MB")
    if size > MOST_MEGABYTES:
        raise PackageError(f"the core takes {size:.0f} MB; at most {MOST_MEGABYTES} MB are meant")
    if python is None:
        run(["chmod", "-R", "a-w", place / "environment"])
    print(f"as {'another user' if python else 'this user, the package read-only'}, from an empty folder:")
    try:
        work(programs, place / "home", python is not None)
    finally:
        run(["chmod", "-R", "u+w", place / "environment"])


def main() -> int:
    """Exit code 1 and the reason if something is not as it should be."""
    with tempfile.TemporaryDirectory(prefix="servotwin-package-") as folder:
        try:
            package(Path(folder))
        except PackageError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
