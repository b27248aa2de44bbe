"""What the compiler says about a function of the user's, in one line."""

from __future__ import annotations

import re
from pathlib import Path

MOST = 200  # characters
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # numba's, where colorama is installed


def complaint(error: BaseException) -> str:
    """The first line of a message that says something, with file and line of the code where they are known."""
    text = COLOURS.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = next((line for line in lines if "non-precise" not in line and "pipeline" not in line), "")
    said = " ".join(f"{type(error).__name__}: {told}".split())[:MOST].rstrip(": ")
    place = re.search(r'File "([^"]+)", line (\d+)', text)
    where = f", {Path(place[1]).name}:{place[2]}" if place else ""
    return f"{where}: {said}"
