"""MCAP files as their specification says: read back record by record, and by the library of the format."""

from __future__ import annotations

import io
import json
import struct
import zlib

import numpy as np
import pytest

from servotwin.report.mcap import MAGIC, mcap_bytes

COLUMNS = {"time_s": np.array([0.0, 0.001]), "q_th1_rad": np.array([0.5, -0.25])}


def records(data: bytes) -> list[tuple[int, bytes]]:
    assert data.startswith(MAGIC)
    assert data.endswith(MAGIC)
    found, at = [], len(MAGIC)
    while at < len(data) - len(MAGIC):
        kind, size = struct.unpack_from("<BQ", data, at)
        found.append((kind, data[at + 9 : at + 9 + size]))
        at += 9 + size
    return found


def test_file_has_the_records_of_the_specification() -> None:
    data = mcap_bytes("/servotwin/control", COLUMNS, np.array([0, 1_000_000]))
    found = records(data)
    assert [kind for kind, _ in found] == [1, 3, 4, 5, 5, 15, 2]
    messages = [body for kind, body in found if kind == 5]
    assert struct.unpack_from("<HIQQ", messages[1]) == (1, 1, 1_000_000, 1_000_000)
    assert json.loads(messages[1][22:]) == {"time_s": 0.001, "q_th1_rad": -0.25}
    end = data.index(struct.pack("<BQ", 15, 4))
    assert struct.unpack("<I", found[5][1])[0] == zlib.crc32(data[:end])


def test_library_of_the_format_reads_it() -> None:
    reader = pytest.importorskip("mcap.reader")
    data = mcap_bytes("/servotwin/control", COLUMNS, np.array([0, 1_000_000]))
    rows = [json.loads(m.data) for _, _, m in reader.NonSeekingReader(io.BytesIO(data)).iter_messages()]
    assert [row["q_th1_rad"] for row in rows] == [0.5, -0.25]
