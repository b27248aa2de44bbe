"""Write requirements-ci.txt: what CI installs, with the hash of every file of each version.

The versions are those of constraints.txt. The hashes come from the package index that uv is configured for; all
files of a version are listed, so that one list serves every Python and processor.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINNED = "requirements-ci.txt"
HEAD = """\
# Written by `make pins` from pyproject.toml and constraints.txt: what `servotwin[dev,verify]` brings in, with the hash
# of every file of each version. `make hashed`, the first step of CI, installs nothing that is not listed here.
"""


def compiled() -> str:
    """The pins with their hashes, as uv resolves them."""
    command = [
        str(Path(sys.executable).parent / "uv"),
        *("pip", "compile", "pyproject.toml", "--extra", "dev", "--extra", "verify"),
        *("--constraint", "constraints.txt", "--generate-hashes", "--universal", "--python-version", "3.11"),
        *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"),
        "--system-certs",  # a company's mirror has a certificate of its own
    ]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def moved(text: str) -> list[str]:
    """Packages whose version is not that of constraints.txt; colorama is for Windows only."""
    known = set((ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    pins = re.findall(r"^[a-z0-9.-]+==[^\s;\\]+", text, flags=re.MULTILINE)
    return [pin for pin in pins if pin not in known and not pin.startswith("colorama==")]


def main() -> int:
    """Write the file; 1 and a line for every package that constraints.txt does not pin."""
    text = compiled()
    for pin in (missing := moved(text)):
        print(f"constraints.txt lacks {pin}", file=sys.stderr)
    if not missing:
        (ROOT / PINNED).write_text(HEAD + text, encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
