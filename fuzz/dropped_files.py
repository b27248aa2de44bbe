"""Requests with dropped files, for the fuzzer: good ones, those with strange paths and sizes, and bytes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from fuzz import values

PATHS = (
    *(
        "a.yaml",
        "A.yaml",
        "robot/a.yaml",
        "robot\\a.yaml",
        "/etc/passwd",
        "../a.yaml",
        "C:\\a.yaml",
        "a/../b.yaml",
    ),
    *(
        "a\x00.yaml",
        "\ud800.yaml",
        "",
        ".",
        "..",
        "/",
        "//",
        "a.yaml/b.yaml",
        "x" * 300,
        "/".join("abcdefghijkl"),
    ),
    *(
        "loose/in/here/a.yaml",
        "in",
        "here",
        "loose",
        "meshes/link.stl",
        "link.stl",
        "package.xml",
        "é ü.yaml",
        "~",
    ),
)
SIZES = (0, 1, -1, 2**70, True, None, 1.5, "1")


def request(rng: Random, files: dict[str, bytes]) -> bytes:
    """The bytes that a page sends, with one thing or another that no page sends."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.choice((0, 3, 4, 200)))
    entries: list[Any] = [[path, len(data)] for path, data in files.items()]
    data = b"".join(files.values())
    if kind < 0.6:
        entry = rng.choice(entries)
        if rng.random() < 0.7:
            entry[0] = rng.choice(PATHS) if rng.random() < 0.8 else values.nasty(rng)
        else:
            entry[1] = rng.choice(SIZES)
    elif kind < 0.7:
        extra = rng.choice(PATHS)
        entries.append(rng.choice(([extra, 0], [extra], extra, None, [extra, 0, 0])))
    listed = json.dumps(entries).encode()
    if rng.random() < 0.1:
        listed = values.changed_bytes(rng, listed)
    length = len(listed) if rng.random() < 0.95 else rng.choice((0, 1, 2**32 - 1))
    return length.to_bytes(4, "little") + listed + data


def read_request(body: bytes, folder: Path) -> object:
    """The files are told apart, one robot is read from them, and its scene has finite numbers; or one line says why.

    Nothing is written but below the folder, and no message names it.
    """
    from servotwin.errors import InputError
    from servotwin.mechanism.store import unpack
    from servotwin.pendant.view.dropped import answer_to
    from servotwin.pendant.view.dropped_files import sent_files
    from servotwin.robot.robot import Robot
    from servotwin.scene import describe
    from servotwin.scene.looks import Looks
    from servotwin.scene.reach_surface import reach_box

    place = folder / "place" / "of" / "files"
    place.mkdir(parents=True)
    before = sorted(folder.rglob("*"))
    header, numbers = answer_to(sent_files(body), place)
    assert all(path in before or place in path.parents for path in folder.rglob("*"))
    header = json.loads(json.dumps(header))
    said = [header["error"]] if "error" in header else [*header["warnings"], *header["looks"]["notes"]]
    assert not any("\n" in line or str(place) in line for line in said), said
    if "error" in header:
        raise InputError(header["error"])
    robot = Robot(unpack(header["mechanism"], numbers))
    shapes = {int(body): own for body, own in header["looks"]["shapes"].items()}
    reach_box(robot)
    looks = Looks(shapes, header["looks"]["meshes"], header["looks"]["notes"])
    return json.dumps(describe(robot, looks=looks), allow_nan=False)
