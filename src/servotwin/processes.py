"""Processes that the package starts: Python that sees the package and its libraries, never the current folder.

Every process of ours starts here. It runs isolated (``python -I``: no current folder, no PYTHONPATH, no other
variable of Python's), in the root folder, with the package that this process runs and the cache that it uses. Programs
of the system are taken from its own folders.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.cache.place import place

if TYPE_CHECKING:
    from asyncio.subprocess import Process

PACKAGE = Path(__file__).resolve().parent
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"  # never a folder that the user's PATH names
BROWSERS = ("xdg-open", "sensible-browser", "x-www-browser", "open")  # what shows a page on a desktop
LIBRARIES = ("numpy", "llvmlite", "numba")  # what compiling needs, wherever this process found it
START = """
import importlib.util, sys
sys.path += {libraries!r}
spec = importlib.util.spec_from_file_location("servotwin", {init!r}, submodule_search_locations=[{package!r}])
sys.modules["servotwin"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
{code}
"""


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):  # not on every system
        return os.cpu_count() or 1


def start_python(code: str) -> subprocess.Popen[bytes] | None:
    """Start a process that runs lines of Python of the package's own; None if the system lets us start none.

    It reads and writes nothing but files; its output is lost.
    """
    try:
        return subprocess.Popen(
            isolated(code),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env=environment(),
        )
    except (OSError, ValueError):
        return None


async def start_awaited(code: str, arguments: Sequence[str], variables: Mapping[str, str]) -> Process:
    """Start a process as ``start_python`` does, from a loop of asyncio, with arguments and further variables.

    OSError if the system lets us start none.
    """
    import asyncio

    return await asyncio.create_subprocess_exec(
        *isolated(code), *arguments, cwd=os.sep, env={**environment(), **variables},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def isolated(code: str) -> list[str]:
    """The command line of a Python that sees the package and its libraries, and runs lines of the package's own."""
    text = START.format(
        libraries=library_folders(), init=str(PACKAGE / "__init__.py"), package=str(PACKAGE), code=code
    )
    return [sys.executable, *(["-I", "-B"] if sys.dont_write_bytecode else ["-I"]), "-c", text]


def start_beside(code: str, stdin: int) -> subprocess.Popen[bytes] | None:
    """Start lines of Python that need no library, beside this process; None if the system lets us start none.

    It reads ``stdin``, an open file, and gets the number of this process; its words go to stderr. A Ctrl-C at the
    terminal does not reach it.
    """
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code, str(os.getpid())],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            cwd=os.sep,
            env=environment(),
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None


def run_limited(code: str, data: bytes, *, seconds: float, memory: int, answer: int) -> bytes | None:
    """What lines of Python write after reading ``data``; None if they fail, or need more time or memory [bytes].

    For data of strangers: the process ends whatever they make of it. More than ``answer`` bytes count as failure.
    """
    bound = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))\n"
    bound += f"resource.setrlimit(resource.RLIMIT_CPU, ({int(seconds) + 1}, {int(seconds) + 1}))\n"
    try:
        done = subprocess.run(
            isolated(bound + code),
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env=environment(),
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and len(done.stdout) <= answer else None


class Partner:
    """A process that goes on beside this one until it is told to end, by whatever means its code has."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def await_end(self, seconds: float) -> int:
        """Its exit code; one that has not ended in time is killed."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def start_partner(code: str, arguments: Sequence[str], kept: Sequence[int]) -> Partner:
    """Start lines of Python of the package's own that go on beside this process, with open files that both have.

    Its words go to stderr; a Ctrl-C at the terminal does not reach it. OSError if the system lets us start none.
    """
    return Partner(
        subprocess.Popen(
            [*isolated(code), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=os.sep,
            env=environment(),
            pass_fds=tuple(kept),
            start_new_session=True,
        )
    )


def run_program(name: str, *words: str) -> str | None:
    """Run a program of the system to its end; what it complains about, empty if it is content, None without it."""
    program = shutil.which(name, path=SYSTEM)
    if program is None:
        return None
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False, cwd=os.sep)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def show_in_browser(address: str) -> bool:
    """Hand an address to the browser of this user's desktop, which runs on by itself; False if there is none."""
    found = (shutil.which(name, path=SYSTEM) for name in BROWSERS)
    program = next((path for path in found if path is not None), None)
    if program is None:
        return False
    try:
        started = subprocess.Popen(
            [program, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env=environment(),
            start_new_session=True,
        )
    except (OSError, ValueError):
        return False
    threading.Thread(target=started.wait, name="servotwin browser", daemon=True).start()  # else a zombie
    return True


def library_folders() -> list[str]:
    """The folders that this process has its libraries from, but the current one; looked into last."""
    found = []
    for name in LIBRARIES:
        file = getattr(sys.modules.get(name), "__file__", None)
        folder = Path(file).resolve().parents[1] if file else None
        if folder is not None and not _is_here(folder) and str(folder) not in found:
            found.append(str(folder))
    return found


def environment() -> dict[str, str]:
    """The variables of a process of ours: none of Python's, and the cache that this process writes to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    cache = place().to_write()
    return kept if cache is None else {**kept, "SERVOTWIN_CACHE": str(cache)}


def _is_here(folder: Path) -> bool:
    try:
        return folder == Path.cwd().resolve()
    except OSError:  # the current folder was removed
        return False
