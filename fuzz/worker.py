"""A child that reads case after case within limits: ``worker.py TABLE SEED FOLDER CHANNEL``.

It takes lines ``decoder number`` from its input and answers with one line of JSON on the descriptor CHANNEL.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started with -P, from any folder

from servotwin.errors import ServotwinError

if TYPE_CHECKING:
    from fuzz.decoders import Decoder

MEMORY = 1_000_000_000  # bytes beyond what the process has when it is ready
LONGEST = 2500  # characters of a message


def peak_memory() -> int:
    """Largest memory of this process so far [kB]; ``ru_maxrss`` begins with that of the process that started it."""
    return int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0])


def table_of(place: str) -> Mapping[str, Decoder]:
    """The table at ``module:NAME``."""
    module, _, name = place.partition(":")
    found: Mapping[str, Decoder] = getattr(importlib.import_module(module), name)
    return found


def written(files: Mapping[str, bytes], folder: Path) -> None:
    """Put the files of a case into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def outcome(decoder: Decoder, folder: Path) -> dict[str, Any]:
    """What reading a case gives: accepted, refused with one line, or a defect and where it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decoder.read(folder)
    except ServotwinError as error:
        return {"is": "refused", **_message_defect(str(error))}
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if "servotwin" in f.filename] or frames
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
        what = f"{type(error).__name__}: {error}"[:300]
        lines = traceback.format_exception(error)
        text = "".join(lines if len(lines) < 60 else [*lines[:20], "...\n", *lines[-20:]])
        return {"is": "defect", "kind": f"{type(error).__name__} at {where}", "what": what, "text": text}
    return {"is": "accepted"}


def _message_defect(message: str) -> dict[str, Any]:
    """A message is one printable line of a bounded length."""
    visible = all(c.isprintable() or c == "\u00a0" for c in message)
    if visible and len(message) <= LONGEST:
        return {}
    kind = "message too long" if visible else "message not printable"
    return {"is": "defect", "kind": kind, "what": ascii(message[:300]), "text": ascii(message)}


def limit_memory() -> None:
    """Refuse more than MEMORY beyond what is mapped now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def ready(table: Mapping[str, Decoder], seed: int, folder: Path) -> None:
    """Read one case of every decoder, so that libraries are loaded before memory is limited."""
    for name, decoder in table.items():
        if decoder.weight:
            read_case(decoder, name, seed, 0, folder)


def read_case(decoder: Decoder, name: str, seed: int, number: int, folder: Path) -> dict[str, Any]:
    """Make a case, put it into the folder and read it."""
    from fuzz.decoders import case

    written(case(decoder, name, seed, number), folder)
    return outcome(decoder, folder)


def main(place: str, seed: int, folder: Path, channel: int) -> None:
    """Answer until the input ends."""
    table = table_of(place)
    with os.fdopen(channel, "w", encoding="utf-8") as answers:
        ready(table, seed, folder)
        limit_memory()
        print(json.dumps({"is": "ready"}), file=answers, flush=True)
        for line in sys.stdin:
            name, number = line.split()
            began = time.monotonic()
            found = read_case(table[name], name, seed, int(number), folder)
            found["seconds"] = time.monotonic() - began
            found["peak_MB"] = peak_memory() / 1000
            print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
