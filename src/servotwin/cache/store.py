"""Entries on disk: one authenticated file each, safe to share between processes of one user.

A file is ``magic, HMAC-SHA256 of kind, name and data, data``. Whatever does not check out (truncated, altered,
of another user or key) counts as absent and is written again. Files appear by rename, so that a reader
sees a whole file or none.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any, Literal

from servotwin.cache.key import key_of
from servotwin.cache.limit import make_room, mark_used, size_limit
from servotwin.cache.place import place
from servotwin.cache.trust import folder_fault, make_folder, read_trusted, say_once, write_private

Kind = Literal["kernels", "loops", "robots"]
MAGIC = b"servotwin-cache-2\n"
MAC_SIZE = 32


def read(kind: Kind, name: str) -> bytes | None:
    """The data kept under a name (64 hexadecimal digits), or None."""
    for root in place().to_read():
        path = root / kind / name
        data = _authentic(root, path, _label(kind, name))
        if data is not None:
            mark_used(path)
            return data
    return None


def write(kind: Kind, name: str, data: bytes) -> None:
    """Keep data under a name; a folder that cannot be written to is no error, only slower next time."""
    if len(data) > size_limit():
        return
    root = place().to_write()
    if root is None or make_folder(root / kind) is not None:
        return
    key = key_of(root, make=True)
    if key is None:
        return
    path = root / kind / name
    try:
        write_private(path, MAGIC + _mac(key, _label(kind, name), data) + data)
    except OSError:
        return
    make_room(root, path, len(data))


def read_entry(key: str, kind: Kind = "kernels") -> tuple[dict[str, Any], bytes] | None:
    """Header and code stored under a key, or None."""
    return parse_entry(read(kind, key))


def parse_entry(data: bytes | None) -> tuple[dict[str, Any], bytes] | None:
    """Header and code of an entry's data; None if there are none."""
    if data is None:
        return None
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError:
        return None
    return (header, data[8 + length :]) if isinstance(header, dict) else None


def write_entry(key: str, header: dict[str, Any], code: bytes, kind: Kind = "kernels") -> None:
    """Store header and code under a key."""
    text = json.dumps(header).encode()
    write(kind, key, len(text).to_bytes(8, "little") + text + code)


def _authentic(root: Path, path: Path, label: bytes) -> bytes | None:
    """The data of a file that holds what this user wrote under this label; None for any other."""
    if folder_fault(path.parent) is not None:
        _say_kind(path.parent)
        return None
    raw = read_trusted(path)
    if raw is None or not raw.startswith(MAGIC):
        return None
    start = len(MAGIC) + MAC_SIZE
    data, key = raw[start:], key_of(root)
    if key is None or not hmac.compare_digest(raw[len(MAGIC) : start], _mac(key, label, data)):
        say_once("entry", f"{path} is damaged or was not written with your key; it is ignored and made again")
        return None
    return data


def _say_kind(folder: Path) -> None:
    """A folder of entries that is there and not trusted is worth a line."""
    if folder.exists():
        say_once("folder", f"{folder} {folder_fault(folder)}; it is ignored")


def _label(kind: Kind, name: str) -> bytes:
    return f"{kind}/{name}\0".encode()


def _mac(key: bytes, label: bytes, data: bytes) -> bytes:
    code = hmac.new(key, label, hashlib.sha256)
    code.update(data)
    return code.digest()
