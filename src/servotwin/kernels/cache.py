"""Compiled kernels on disk: one checked file each, safe to share between processes.

A file is ``magic, sha256 of the rest, length of the header, header (JSON), object code``.
Whatever does not check out (truncated, altered, other format) counts as absent
and is written again. Files appear by rename, so that a reader sees a whole file or none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

MAGIC = b"servotwin-kernel-1\n"


def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SERVOTWIN_CACHE``, or the user's cache folder."""
    chosen = os.environ.get("SERVOTWIN_CACHE")
    if chosen:
        return Path(chosen)
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(root) if root else Path.home() / ".cache") / "servotwin"


def source_digest(*globs: str) -> str:
    """Digest of the package's own sources: what they wrote before they changed is not read again."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for glob in globs:
        for path in sorted(root.glob(glob)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def read_entry(key: str, kind: str = "kernels") -> tuple[dict[str, Any], bytes] | None:
    """Header and code stored under a key, or None."""
    try:
        raw = (cache_folder() / kind / key).read_bytes()
        start = len(MAGIC)
        digest, rest = raw[start : start + 32], raw[start + 32 :]
        if raw[:start] != MAGIC or hashlib.sha256(rest).digest() != digest:
            return None
        length = int.from_bytes(rest[:8], "little")
        header = json.loads(rest[8 : 8 + length])
        return (header, rest[8 + length :]) if header.get("key") == key else None
    except (OSError, ValueError, AttributeError):
        return None


def write_entry(key: str, header: dict[str, Any], code: bytes, kind: str = "kernels") -> None:
    """Store an entry; a folder that cannot be written to is no error, only slower next time."""
    text = json.dumps({**header, "key": key}).encode()
    rest = len(text).to_bytes(8, "little") + text + code
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".part-")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(rest).digest() + rest)
        Path(temporary).replace(folder / key)
    except OSError:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
