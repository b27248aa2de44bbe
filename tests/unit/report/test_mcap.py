"""MCAP files as their specification says, read back record by record."""

from __future__ import annotations

import io
import json
import struct
import zlib

import numpy as np
from mcap.reader import NonSeekingReader, make_reader

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


def text_at(body: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from("<I", body, at)
    return body[at + 4 : at + 4 + size].decode(), at + 4 + size


def test_messages_belong_to_a_channel_whose_schema_describes_them() -> None:
    """As a reader finds its way after the specification: message, channel, schema, encoding."""
    found = records(mcap_bytes("/servotwin/control", COLUMNS, np.array([0, 1_000_000])))
    schema = next(body for kind, body in found if kind == 3)
    name, at = text_at(schema, 2)
    encoding, at = text_at(schema, at)
    described, at = text_at(schema, at)
    assert (name, encoding, at) == ("/servotwin/control", "jsonschema", len(schema))
    channel = next(body for kind, body in found if kind == 4)
    number, of_schema = struct.unpack_from("<HH", channel)
    topic, at = text_at(channel, 4)
    form, at = text_at(channel, at)
    assert (topic, form) == ("/servotwin/control", "json")
    assert of_schema == struct.unpack_from("<H", schema)[0]
    assert channel[at:] == bytes(4)  # no metadata
    for kind, body in found:
        if kind == 5:
            assert struct.unpack_from("<H", body)[0] == number
            row = json.loads(body[22:])
            assert set(row) == set(json.loads(described)["properties"]) == set(COLUMNS)
    assert found[-1] == (2, bytes(20))  # no summary section


def test_foreign_reader_finds_every_row() -> None:
    """The library of the format's authors, with its check sums on."""
    times = np.arange(3) * 1_000_000
    columns = {"time_s": times * 1e-9, "q_th1_rad": np.array([0.5, -0.25, np.nan])}
    data = mcap_bytes("/servotwin/control", columns, times)
    for reader in (
        make_reader(io.BytesIO(data), validate_crcs=True),
        NonSeekingReader(io.BytesIO(data), validate_crcs=True),
    ):
        found = list(reader.iter_messages(topics="/servotwin/control"))
        assert [message.log_time for _, _, message in found] == times.tolist()
        assert [message.sequence for _, _, message in found] == [0, 1, 2]
        schema, channel, _ = found[0]
        assert schema is not None
        assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
        assert set(json.loads(schema.data)["properties"]) == set(columns)
        rows = [json.loads(message.data, parse_constant=_refuse) for _, _, message in found]
        assert [row["q_th1_rad"] for row in rows] == [0.5, -0.25, None], "JSON has no NaN"
    assert make_reader(io.BytesIO(data)).get_header().library == "servotwin"


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")
