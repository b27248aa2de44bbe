"""Speed of the working tree beside that of another commit: both in one run, in turn, each in processes of its own.

``python -m benchmarks.against REV [ROW ...] [rounds=5] [seconds=1]`` unpacks REV into a temporary folder and measures
every row there and here with this Python and these libraries, a cache for each. Rounds alternate (old new, new old,
...), so that a machine that becomes slower does so for both.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.against_rows import ONCE, ROWS, Sample

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "benchmarks" / "against_rows.py"
LEFT_OUT = ONCE  # measured only when they are named: each sample takes as long as compiling does
USAGE = "expected: python -m benchmarks.against REV [ROW ...] [rounds=5] [seconds=1]"


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for: a commit, rows, rounds, and seconds per row, round and side."""

    rev: str
    rows: tuple[str, ...]
    rounds: int = 5
    seconds: float = 1.0


@dataclass
class Compared:
    """A row on both sides: wall and processor times [s] of all rounds, or why a side has none."""

    what: str
    old: list[Sample] = field(default_factory=list)
    new: list[Sample] = field(default_factory=list)
    missing: str = ""


class WrongWordsError(Exception):
    """The command line cannot be read; one line says why."""


def wanted(words: list[str]) -> Wanted:
    """The command line; a word that is no option and no row is refused."""
    if not words or not words[0]:
        raise WrongWordsError(f"no commit to compare with; {USAGE}")
    rows: list[str] = []
    rounds, seconds = 5, 1.0
    for word in words[1:]:
        name, _, value = word.partition("=")
        try:
            if name == "rounds" and int(value) > 0:
                rounds = int(value)
                continue
            if name == "seconds" and float(value) >= 0.0:
                seconds = float(value)
                continue
        except ValueError:
            raise WrongWordsError(f"'{word}' is no number above zero; {USAGE}") from None
        if word not in ROWS:
            raise WrongWordsError(f"there is no row '{word}'; expected some of: {', '.join(ROWS)}")
        rows.append(word)
    return Wanted(words[0], tuple(rows) or tuple(row for row in ROWS if row not in LEFT_OUT), rounds, seconds)


def unpacked(rev: str, folder: Path) -> str:
    """The sources of a commit in ``folder``; its short name. Nothing is written to the repository."""
    asked = [
        "git",
        "-C",
        str(ROOT),
        "rev-parse",
        "--short",
        "--verify",
        "--end-of-options",
        rev + "^{commit}",
    ]
    name = subprocess.run(asked, check=False, capture_output=True, text=True)
    if name.returncode:
        raise WrongWordsError(f"there is no commit '{rev}' in this repository")
    short = name.stdout.strip()
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", short, "src"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return short


def measured(row: str, tree: Path, own: Path, seconds: float) -> tuple[list[Sample], str]:
    """Samples of a row with the package of ``tree``, its cache in ``own``; or why there are none."""
    cache = tempfile.mkdtemp(dir=own) if row in ONCE else own
    environment = {
        **os.environ, "PYTHONPATH": str(tree / "src"), "SERVOTWIN_CACHE": f"{cache}/cache",
        "XDG_STATE_HOME": f"{own}/state", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-P", str(SCRIPT), row, str(seconds)]
    done = subprocess.run(command, check=False, env=environment, cwd=own, capture_output=True, text=True)
    if done.returncode:
        return [], (done.stderr.strip().splitlines() or ["the process ended without a word"])[-1]
    answer = json.loads(done.stdout.splitlines()[-1])
    if not Path(answer["package"]).is_relative_to(tree.resolve()):
        return [], f"the package that was measured is {answer['package']}"
    return [(wall, processor) for wall, processor in answer.get("samples", [])], answer.get("missing", "")


def compare(asked: Wanted, trees: dict[str, Path], folder: Path, console: Console) -> list[Compared]:
    """All rows on both sides, in turn."""
    found = []
    for what in asked.rows:
        row = Compared(what)
        for turn in range(asked.rounds):
            for side in (("old", "new"), ("new", "old"))[turn % 2]:
                with console.status(f"{what}: round {turn + 1} of {asked.rounds}, {side} ..."):
                    samples, missing = measured(what, trees[side], folder / side, asked.seconds)
                getattr(row, side).extend(samples)
                if missing and not samples:
                    row.missing = (
                        row.missing or f"not in {asked.rev if side == 'old' else 'the tree'}: {missing}"
                    )
            if row.missing:
                break
        found.append(row)
    return found


def readable(seconds: float, what: str) -> str:
    """A time in its natural unit; a plain number for the row that is a ratio."""
    if "over" in what:
        return f"{seconds:.3g}"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def table(rows: list[Compared], name: str) -> Table:
    """The comparison for people: times, and how many times faster the tree is."""
    out = Table(title=f"The working tree beside {name} (above 1: the tree is faster)")
    for heading in ("what", name, "tree", "best", "median", "processor", ""):
        out.add_column(heading, justify="right" if heading in {"best", "median", "processor"} else "left")
    for row in rows:
        if row.missing:
            out.add_row(row.what, *5 * [""], row.missing)
            continue
        walls = [[wall for wall, _ in side] for side in (row.old, row.new)]
        processors = [min(processor for _, processor in side) for side in (row.old, row.new)]
        out.add_row(
            row.what, *(readable(min(side), row.what) for side in walls), f"{min(walls[0]) / min(walls[1]):.3g} x",
            f"{median(walls[0]) / median(walls[1]):.3g} x", f"{processors[0] / processors[1]:.3g} x",
            f"{len(row.old)} and {len(row.new)} samples",
        )  # fmt: skip
    return out


def main(words: list[str]) -> int:
    """Measure, print, write ``out/bench-against.json``; 2 if the words cannot be read."""
    try:
        asked = wanted(words)
        with tempfile.TemporaryDirectory(prefix="servotwin-against-") as at:
            folder = Path(at)
            for name in ("tree", "old", "new"):
                (folder / name).mkdir()
            name = unpacked(asked.rev, folder / "tree")
            trees = {"old": folder / "tree", "new": ROOT}
            rows = compare(asked, trees, folder, Console(stderr=True))
    except WrongWordsError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    Console(width=150).print(table(rows, name))
    out = Path("out/bench-against.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"old": name, "rows": [asdict(row) for row in rows]}, indent=1))
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
