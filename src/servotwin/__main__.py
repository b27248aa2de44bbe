"""``python -m servotwin`` is the command ``servotwin``.

Python looks for modules in the current folder first then; whoever works in a stranger's folder uses the command,
or ``python -P -m servotwin``.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.path and Path(sys.path[0]) == Path.cwd() != Path(__file__).resolve().parents[1]:
    del sys.path[0]  # a numpy.py that lies here is none of ours

from servotwin.cli.main import main

sys.exit(main())
