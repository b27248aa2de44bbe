"""The cache: where it lies, whom it trusts, how large it grows, what two processes do to it at once."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servotwin.cache import key, limit, place, seal, store, trust
from servotwin.errors import InputError

ONE, TWO, THREE = "1" * 64, "2" * 64, "3" * 64
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files to another user")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of a user without a key, and a process that said nothing yet."""
    monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(trust, "_said", set())
    monkeypatch.setattr(limit, "_totals", {})
    place._place.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can write to."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("allowed", [0o000, 0o022, 0o077])
def test_make_folder_parents_are_this_users_alone_whatever_the_umask_allows(
    tmp_path: Path, allowed: int
) -> None:
    before = os.umask(allowed)
    try:
        assert trust.make_folder(tmp_path / "a" / "b" / "c") is None
    finally:
        os.umask(before)
    assert [mode(tmp_path / path) for path in ("a", "a/b", "a/b/c")] == 3 * [0o700]


# --- where ------------------------------------------------------------------------------------------


def test_cache_what_is_written_comes_back_and_only_this_user_can_read_it(folder: Path) -> None:
    assert store.read("loops", ONE) is None
    store.write("loops", ONE, b"code")
    assert store.read("loops", ONE) == b"code"
    assert [mode(path) for path in (folder, folder / "loops", folder / "loops" / ONE)] == [
        0o700,
        0o700,
        0o600,
    ]
    secret = folder.parent / "state/servotwin/cache-key"
    assert (mode(secret), mode(secret.parent), len(secret.read_bytes())) == (0o600, 0o700, 32)


def test_cache_lies_where_the_user_says_or_below_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVOTWIN_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert place.place().chosen == tmp_path / "xdg/servotwin"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says: ignore it
    assert place.place().chosen == tmp_path / "home/.cache/servotwin"


@pytest.mark.parametrize("home", ["missing", "a file", "unknown"])
def test_cache_without_a_home_is_a_private_temporary_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    for variable in ("SERVOTWIN_CACHE", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", {"missing": "/proc/none", "a file": f"{tmp_path}/file", "unknown": ""}[home])
    if home == "unknown":
        monkeypatch.setattr("pathlib.Path.home", no_home)
    for name in (ONE, TWO):
        store.write("loops", name, b"code")
        assert store.read("loops", name) == b"code"
    private = place.place().private
    assert private is not None
    assert (mode(private), private.parent) == (0o700, tmp_path)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"compiled code goes to {private} and will be compiled again next time")
    place._remove(private, os.getpid())
    assert not private.exists()


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_cache_without_any_folder_keeps_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(prefix: str) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setenv("SERVOTWIN_CACHE", "/proc/none")
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    store.write("loops", ONE, b"code")
    assert store.read("loops", ONE) is None
    assert "compiled code is not kept and will be compiled again next time" in capsys.readouterr().err


@AS_ROOT
def test_cache_of_the_user_that_cannot_be_written_is_still_read(public: Path) -> None:
    code = (
        "import os, sys; from servotwin.cache import place, store\n"
        "store.write('loops', '1' * 64, b'code'); os.chmod(sys.argv[1], 0o500)\n"
        "store.write('loops', '2' * 64, b'more')\n"
        "print(store.read('loops', '1' * 64), store.read('loops', '2' * 64), place.place().private is not None)"
    )
    root = public / "read-only"
    environment = {"SERVOTWIN_CACHE": str(root), "XDG_STATE_HOME": str(public / "s"), "TMPDIR": str(public)}
    done = as_stranger(code, str(root), env=environment)
    assert done.stdout == "b'code' b'more' True\n", done.stderr
    assert done.stderr.startswith(f"cache: {root} cannot be written to; compiled code goes to ")


def as_stranger(code: str, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run code under a user id that the system does not know."""
    become = "import os; os.setgroups([]); os.setgid(54321); os.setuid(54321)\n"
    paths = f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}\n"
    return subprocess.run(
        [sys.executable, "-c", f"{paths}import servotwin.cache.store\n{become}{code}", *arguments],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


# --- trust ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rights", [0o770, 0o707, 0o777])
def test_cache_folder_that_others_can_write_is_ignored_with_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], rights: int
) -> None:
    for name in (ONE, TWO):
        store.write("loops", name, b"code")
    folder.chmod(rights)
    assert [store.read("loops", name) for name in (ONE, TWO)] == [None, None]
    store.write("loops", ONE, b"again")
    assert store.read("loops", ONE) == b"again"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"cache: {folder} can be written by others (mode {rights:04o}; expected 'chmod go-w'); compiled code goes"
    )
    folder.chmod(0o700)
    place._place.cache_clear()
    assert store.read("loops", ONE) == b"code"


def test_cache_entries_that_others_can_write_are_ignored_with_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (ONE, TWO):
        store.write("loops", name, b"code")
        (folder / "loops" / name).chmod(0o622)
    assert [store.read("loops", name) for name in (ONE, TWO)] == [None, None]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cache: {folder}/loops/{ONE} can be written by others (mode 0622")


def test_cache_folder_of_entries_that_others_can_write_is_ignored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.write("loops", ONE, b"code")
    (folder / "loops").chmod(0o777)
    assert store.read("loops", ONE) is None
    assert f"{folder}/loops can be written by others (mode 0777" in capsys.readouterr().err


def test_cache_links_and_pipes_are_ignored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.write("loops", ONE, b"code")
    (folder / "loops" / ONE).rename(folder / "moved")
    (folder / "loops" / ONE).symlink_to(folder / "moved")
    os.mkfifo(folder / "loops" / TWO)
    assert [store.read("loops", name) for name in (ONE, TWO)] == [None, None]
    assert capsys.readouterr().err == f"cache: {folder}/loops/{ONE} is a link; it is ignored\n"


@AS_ROOT
@pytest.mark.parametrize("what", [".", "loops", f"loops/{ONE}"])
def test_cache_of_another_user_is_ignored(
    folder: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    store.write("loops", ONE, b"code")
    os.chown(folder / what, 54321, 54321)
    assert store.read("loops", ONE) is None
    assert "belongs to user id 54321, not to 0" in capsys.readouterr().err


# --- authenticity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["data", "mac", "cut", "name", "kind", "key"])
def test_cache_entry_that_this_user_did_not_write_is_ignored(
    folder: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    store.write("loops", ONE, b"code of mine")
    path = folder / "loops" / ONE
    raw = path.read_bytes()
    start = len(store.MAGIC)
    if change == "data":
        path.write_bytes(raw[:-1] + b"!")
    elif change == "mac":
        path.write_bytes(raw[:start] + bytes(32) + raw[start + 32 :])
    elif change == "cut":
        path.write_bytes(raw[: start + 10])
    elif change == "name":
        path.rename(folder / "loops" / TWO)
    elif change == "kind":
        (folder / "robots").mkdir(mode=0o700)
        path.rename(folder / "robots" / ONE)
    else:
        (folder.parent / "state/servotwin/cache-key").write_bytes(bytes(32))
        key._found.cache_clear()
    found = store.read("robots" if change == "kind" else "loops", TWO if change == "name" else ONE)
    assert found is None
    assert "is damaged or was not written with your key; it is ignored" in capsys.readouterr().err


def test_cache_that_comes_with_a_key_of_its_own_is_not_believed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as stranger:  # who has no other folder for a key
        stranger.setenv("XDG_STATE_HOME", "/proc/none")
        store.write("loops", ONE, b"code")
        assert store.read("loops", ONE) == b"code"
        assert mode(folder / "cache-key") == 0o600
    store.write("loops", TWO, b"mine")
    assert [store.read("loops", name) for name in (ONE, TWO)] == [None, b"mine"]


def test_cache_key_that_others_can_read_is_replaced(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.write("loops", ONE, b"code")
    secret = tmp_path / "state/servotwin/cache-key"
    before = secret.read_bytes()
    secret.chmod(0o644)
    key._found.cache_clear()
    assert store.read("loops", ONE) is None
    store.write("loops", ONE, b"again")
    assert store.read("loops", ONE) == b"again"
    assert secret.read_bytes() != before
    assert mode(secret) == 0o600
    assert "can be read by others; another key is made" in capsys.readouterr().err


def test_cache_key_that_cannot_be_opened_just_now_is_not_replaced(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too many open files, say: all that the key authenticates would be lost."""
    store.write("loops", ONE, b"code")
    before = seal.seal("name")
    secret, opened = tmp_path / "state/servotwin/cache-key", os.open

    def refusing(path: Any, *flags: int, **more: Any) -> int:
        if Path(path) == secret:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, *flags, **more)

    key._found.cache_clear()
    with monkeypatch.context() as busy:
        busy.setattr(os, "open", refusing)
        assert seal.seal("name") != before
    assert seal.seal("name") == before
    assert store.read("loops", ONE) == b"code"


def test_cache_processes_that_begin_at_once_agree_on_a_key(folder: Path) -> None:
    code = (
        "import sys; from servotwin.cache import store\n"
        "store.write('loops', sys.argv[1] * 64, b'code')\n"
        "sys.stdin.readline()\n"
        "print(all(store.read('loops', c * 64) == b'code' for c in 'abcd'))\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, c], stdin=-1, stdout=-1, stderr=-1, text=True)
        for c in "abcd"
    ]
    for _ in range(600):
        if folder.exists() and len(list(folder.glob("loops/[a-d]*"))) == len(runs):
            break
        time.sleep(0.05)
    assert [run.communicate("go\n", timeout=60) for run in runs] == [("True\n", "")] * len(runs)
    assert len(list(folder.parent.glob("state/servotwin/*"))) == 1


# --- size -------------------------------------------------------------------------------------------


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch, ages: dict[str, float]) -> list[str]:
    """The entries that are left once one more is written into a cache with entries that were used so long ago."""
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", "3.5 kB")
    now = time.time()
    for name, age in ages.items():
        store.write("loops", name, bytes(900))
        os.utime(folder / "loops" / name, (now - age, now - age))
    store.write("kernels", "f" * 64, bytes(900))
    return sorted(path.name[0] for path in folder.glob("*/*"))


DAY = limit.DAY


def test_cache_beyond_its_limit_loses_what_was_not_used_for_longest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled(folder, monkeypatch, {ONE: 3 * DAY, TWO: 5 * DAY, THREE: 4 * DAY}) == ["1", "3", "f"]


def test_cache_reading_an_entry_keeps_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("loops", TWO, bytes(900))
    os.utime(folder / "loops" / TWO, (1.0, 1.0))
    assert store.read("loops", TWO) is not None
    used = (folder / "loops" / TWO).stat().st_mtime
    assert filled(folder, monkeypatch, {ONE: 3 * DAY, THREE: 4 * DAY}) == ["1", "2", "f"]
    assert abs(used - time.time()) < DAY


def test_cache_entry_of_a_clock_that_was_ahead_goes_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled(folder, monkeypatch, {ONE: -900 * DAY, TWO: 5 * DAY, THREE: 4 * DAY}) == ["2", "3", "f"]


@pytest.mark.parametrize("jump", [-1e9, 1e9, -3600.0, 3600.0])
def test_cache_clock_that_jumps_loses_nothing_that_was_just_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    moved = time.time() + jump
    monkeypatch.setattr(time, "time", lambda: moved)
    assert "f" in filled(folder, monkeypatch, {ONE: 0.0, TWO: 0.0, THREE: 0.0, "4" * 64: 0.0})
    assert store.read("kernels", "f" * 64) == bytes(900)


def test_cache_files_of_others_in_its_folder_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in (folder / "notes.txt", folder / "loops/notes.txt", folder / "papers/thesis.pdf"):
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(bytes(9000))
        os.utime(other, (1.0, 1.0))
    folder.chmod(0o700)
    (folder / "loops").chmod(0o700)
    left = filled(folder, monkeypatch, {ONE: 3 * DAY, TWO: 5 * DAY, THREE: 4 * DAY})
    assert left == ["1", "3", "f", "n", "t"]
    assert (folder / "notes.txt").exists()


def test_cache_entry_beyond_the_limit_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", "0")
    store.write("loops", ONE, b"code")
    assert store.read("loops", ONE) is None


def test_cache_entry_that_another_process_removes_meanwhile_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [limit.Kept(folder / "loops" / name, 2000, 1.0) for name in (ONE, TWO)]
    monkeypatch.setattr(limit, "_entries", lambda root: gone)
    assert limit._evict(folder, 1000.0, folder / "other") == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("1 kB", 1000), ("500 MB", 500_000_000), ("1.5GB", 1_500_000_000), ("2 MiB", 2_097_152)],
)
def test_cache_limit_is_a_size(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", text)
    assert limit.size_limit() == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1 TBB", "1e9", "nan", "\N{DIGIT ONE}\x1b[31m"])
def test_cache_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", text)
    with pytest.raises(InputError, match=r"^SERVOTWIN_CACHE_LIMIT: .* is not a size; expected") as caught:
        limit.size_limit()
    assert str(caught.value).isprintable()


# --- in the way -------------------------------------------------------------------------------------


def test_cache_folder_in_the_place_of_an_entry_or_key_is_ignored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "loops" / ONE).mkdir(parents=True)
    folder.chmod(0o700)
    (folder / "loops").chmod(0o700)
    store.write("loops", TWO, b"code")
    assert store.read("loops", ONE) is None
    assert store.read("loops", TWO) == b"code"
    assert "is not a file; it is ignored" in capsys.readouterr().err


def test_cache_limit_removes_nothing_outside_of_its_own_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of 64 digits is what other stores of files give, too."""
    photo = folder / "photos" / THREE
    store.write("loops", ONE, b"x" * 900)
    photo.parent.mkdir()
    photo.write_bytes(b"x" * 5000)
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", "1000 B")
    monkeypatch.setattr(limit, "_totals", {})
    store.write("loops", TWO, b"x" * 900)
    assert photo.exists()
    assert not (folder / "loops" / ONE).exists()


def test_cache_limit_beyond_all_numbers_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVOTWIN_CACHE_LIMIT", "9" * 400)
    assert limit.size_limit() == limit.MOST


def test_cache_empty_home_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    assert place.user_folder("UNSTATED_HOME", ".cache") is None


def test_seal_outlives_its_process_where_no_cache_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key lies apart from the cache; without it a killed process's leftovers would stay for good."""
    monkeypatch.setenv("SERVOTWIN_CACHE", "/proc/none")
    monkeypatch.setenv("TMPDIR", "/proc/none")
    monkeypatch.setattr(place, "_private", lambda _why: None)
    found = seal.seal("result", "here")
    seal._passing.cache_clear()
    key._found.cache_clear()
    assert seal.sealed(found, "result", "here")
    assert mode(tmp_path / "state/servotwin/cache-key") == 0o600
