"""``python -m servotwin.cli`` is the command ``servotwin``, as ``python -m servotwin`` is."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

with suppress(OSError):  # the current folder may be gone
    if sys.path and Path(sys.path[0]) == Path.cwd() != Path(__file__).resolve().parents[2]:
        del sys.path[0]  # a numpy.py that lies here is none of ours

from servotwin.cli.main import main

sys.exit(main())
