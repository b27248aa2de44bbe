"""MCAP files: one message for every row of a table, as JSON, which robot tools such as Foxglove open.

Written after the MCAP specification, version 0: magic, header, schema, channel, messages, end of data, footer.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from math import isfinite

import numpy as np

from servotwin.mechanism.model import Array

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, DATA_END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x0F


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def _record(kind: int, body: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(body)) + body


def mcap_bytes(topic: str, columns: Mapping[str, Array], times_ns: Array) -> bytes:
    """A file with one topic; ``times_ns`` (k,) of the rows, from zero on. JSON has no NaN: null stands for it."""
    names = list(columns)
    described = {"type": "object", "properties": {name: {"type": ["number", "null"]} for name in names}}
    schema = json.dumps(described)
    parts = [
        MAGIC,
        _record(HEADER, _text("") + _text("servotwin")),
        _record(SCHEMA, struct.pack("<H", 1) + _text(topic) + _text("jsonschema") + _text(schema)),
        _record(CHANNEL, struct.pack("<HH", 1, 1) + _text(topic) + _text("json") + struct.pack("<I", 0)),
    ]  # fmt: skip
    table = np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names])
    for k, (instant, row) in enumerate(zip(np.asarray(times_ns).tolist(), table.tolist(), strict=True)):
        data = json.dumps(
            {name: value if isfinite(value) else None for name, value in zip(names, row, strict=True)}
        ).encode()
        head = struct.pack("<HIQQ", 1, k & 0xFFFFFFFF, max(int(instant), 0), max(int(instant), 0))
        parts.append(_record(MESSAGE, head + data))
    body = b"".join(parts)
    parts = [body, _record(DATA_END, struct.pack("<I", zlib.crc32(body)))]
    parts += [_record(FOOTER, struct.pack("<QQI", 0, 0, 0)), MAGIC]
    return b"".join(parts)
