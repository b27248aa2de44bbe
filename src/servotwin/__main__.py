"""``python -m servotwin`` is the command ``servotwin``."""

from __future__ import annotations

import sys

from servotwin.cli.main import main

sys.exit(main())
