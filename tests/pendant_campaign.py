"""The pendant's campaign, each part by itself or all of them: stops, jogs, nonsense, pictures.

    python tests/pendant_campaign.py stops [--count 100] [--ways killed,hidden] [--modes T1,AUT] [--plants ideal,drives]
    python tests/pendant_campaign.py jogs [--count 10000]
    python tests/pendant_campaign.py soak [--seconds 1200]
    python tests/pendant_campaign.py ages [--seconds 120] [--viewers 4]
    python tests/pendant_campaign.py nonsense [--count 5000]
    python tests/pendant_campaign.py all

Every part prints a table, writes ``out/pendant-campaign/PART.json`` as it goes, ends by itself, and its exit code says
whether all that must hold was held.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pendant_browser import running  # noqa: E402
from pendant_pictures import Pictures, ages, soak  # noqa: E402
from pendant_stops import MODES, WAYS, Stop, StopBench  # noqa: E402
from servotwin.pendant.cell.setup import PLANTS  # noqa: E402

LIMIT = 200.0  # ms
SLOWEST = 8.0  # s that a stop may take in the mean, with all around it
OUT = HERE.parent / "out" / "pendant-campaign"
JOGGED = (("gsis-scara", "ideal"), ("gsis-scara", "drives"), ("puma560", "ideal"))


def keep(out: Path, part: str, data: object) -> None:
    """Write what was found so far."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{part}.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


def stops(asked: argparse.Namespace) -> bool:
    """So many stops of each way on a cell of each plant, an equal part in each mode."""
    fine = [_stops_on(plant, asked) for plant in asked.plants]
    return all(fine)


def _stops_on(plant: str, asked: argparse.Namespace) -> bool:
    """Stops on one cell, judged by the measured tool; an ideal arm is where its reference is."""
    found: list[Stop] = []
    rng, ways, modes = random.Random(asked.seed), asked.ways.split(","), asked.modes.split(",")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with running("gsis-scara", place, "--plant", plant) as served, StopBench(served, place) as bench:
            for way in ways:
                _stops_of(bench, way, modes, asked.count, rng, found)
                keep(asked.out, f"stops-{plant}", [stop.data() for stop in found])
                for mode in modes:
                    print(
                        plant,
                        _row(way, mode, [s for s in found if (s.way, s.mode) == (way, mode)]),
                        flush=True,
                    )
    wanted = asked.count * len(ways)
    told, stood = (sum(getattr(stop, what) <= LIMIT for stop in found) for what in ("rest", "arm"))
    judged = "reference" if plant == "ideal" else "tool"
    print(
        f"{plant}: of {wanted} within {LIMIT:.0f} ms: reference {told}, tool below 10 mm/s {stood}; judged by the"
        f" {judged}\n{asked.out}/stops-{plant}.json"
    )
    return (told if judged == "reference" else stood) == wanted


def _stops_of(
    bench: StopBench, way: str, modes: list[str], count: int, rng: random.Random, found: list[Stop]
) -> None:
    """So many stops of a way, an equal part in each mode, one mode after the other."""
    end, done = time.monotonic() + SLOWEST * count + 60.0, 0
    while done < count and time.monotonic() < end:
        mode = modes[done * len(modes) // count]
        stop = bench.stop(way, mode, rng.uniform(0.05, 0.4))
        if stop is not None:
            found.append(stop)
            done += 1
            if sys.stderr.isatty():
                print(f"\r{way} {mode} {done}/{count} ", end="", file=sys.stderr)


def _row(way: str, mode: str, found: list[Stop]) -> str:
    if not found:
        return f"{way:8} {mode:4} none"
    rest, arm = sorted(s.rest for s in found), sorted(s.arm for s in found)
    worst = max(found, key=lambda s: max(s.rest, s.arm))
    return (
        f"{way:8} {mode:4} of {len(found):4} <= {LIMIT:.0f} ms: reference {sum(r <= LIMIT for r in rest):4}, "
        f"median {rest[len(rest) // 2]:4.0f} max {rest[-1]:4.0f}; tool {sum(r <= LIMIT for r in arm):4}, "
        f"median {arm[len(arm) // 2]:4.0f} max {arm[-1]:4.0f}; "
        f"worst: heard {worst.heard:.0f} lost {worst.lost:.0f} late {worst.late:.0f} unsure {worst.unsure:.0f} ms, "
        f"{worst.speed:.0f} mm/s"
    )


def jogs(asked: argparse.Namespace) -> bool:
    """Random jogs in T1, a third on each robot: no point faster than 250 mm/s. Time is counted, so two run at once."""
    rows, count = [], -(-asked.count // len(JOGGED))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for row in pool.map(
            _jogs_of, JOGGED, [count] * len(JOGGED), range(asked.seed, asked.seed + len(JOGGED))
        ):
            rows.append(row)
            keep(asked.out, "jogs", rows)
            print(
                "{robot:12} {plant:7} {jogs:5} jogs, {m:8.3f} m, fastest {fastest_mm_s:.3f} mm/s".format(
                    **row
                )
            )
    return all(row["fastest_mm_s"] <= 250.0 for row in rows)


def _jogs_of(which: tuple[str, str], count: int, seed: int) -> dict[str, Any]:
    from tests.unit.pendant.test_cell import random_jogs

    robot, plant = which
    with tempfile.TemporaryDirectory() as folder:
        worst, moved = random_jogs(Path(folder), robot, plant, count, seed)
    return {"robot": robot, "plant": plant, "jogs": count, "m": moved, "fastest_mm_s": 1e3 * worst}


def nonsense(asked: argparse.Namespace) -> bool:
    """Ten pages that send nonsense at once: nothing moves, nothing breaks."""
    from tests.unit.pendant.test_sockets import talk_nonsense

    with tempfile.TemporaryDirectory() as folder:
        moved, sent = talk_nonsense(Path(folder), asked.count, asked.seed)
    keep(asked.out, "nonsense", {"messages": sent, "moved": len(moved)})
    print(f"{sent} messages of ten pages, the arm moved {len(moved)} times")
    return not moved


def pictures(part: str, run: Callable[..., Pictures], asked: argparse.Namespace, **words: Any) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), asked.seconds, **words)
    keep(asked.out, part, found.data())
    print(found.text())
    return found.fine


def all_parts(asked: argparse.Namespace) -> bool:
    """All parts one after the other, as far as 45 minutes go."""
    began, fine = time.monotonic(), True
    for words in (["stops"], ["jogs"], ["nonsense"], ["ages"], ["soak"]):
        print(f"--- {' '.join(words)}, after {time.monotonic() - began:.0f} s", flush=True)
        fine &= main_of([*words, "--out", str(asked.out)])
    print(f"--- {time.monotonic() - began:.0f} s in all")
    return fine


def plants_of(text: str) -> list[str]:
    """Plants between commas."""
    found = text.split(",")
    for plant in found:
        if plant not in PLANTS:
            raise argparse.ArgumentTypeError(f"{plant!r}; expected one of {', '.join(PLANTS)}")
    return found


def main_of(words: list[str]) -> bool:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("stops", "jogs", "nonsense", "ages", "soak", "all"))
    parser.add_argument("--count", type=int, help="stops of each way, jogs, or messages of each page")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--plants", type=plants_of, default="ideal,drives", help="of stops")
    parser.add_argument("--viewers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(words)
    asked.count = asked.count or {"stops": 100, "jogs": 10_000}.get(asked.part, 1500)
    asked.seconds = asked.seconds or {"soak": 1200.0}.get(asked.part, 60.0)
    if asked.part == "ages":
        return pictures("ages", ages, asked, viewers=asked.viewers)
    if asked.part == "soak":
        return pictures("soak", soak, asked)
    run: Callable[[argparse.Namespace], bool] = {
        "stops": stops,
        "jogs": jogs,
        "nonsense": nonsense,
        "all": all_parts,
    }[asked.part]
    return run(asked)


if __name__ == "__main__":
    sys.exit(0 if main_of(sys.argv[1:]) else 1)
