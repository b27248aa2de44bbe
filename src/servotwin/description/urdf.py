"""URDF in: the raw tree of a robot file, as a YAML description of the same robot would give it.

Read are the tree of links and joints, inertials, limits and mimics; shapes,
``dynamics``, transmissions and simulator settings are left out. Three readings
of the format (https://wiki.ros.org/urdf/XML) are worth knowing:

- The root link becomes ``base``; it does not move, so its inertia is dropped.
- A limit of zero for speed or effort, ``lower`` = ``upper`` = 0, and anything
  from 1e16 on are how URDF files say "not stated", so they are not limits here.
- The tool is the only leaf of the tree; of several, the one named most like a
  tool (see ``_TOOL_WORDS``), otherwise the one behind most moving joints, the
  first in the file if equal. A massless leaf called ``tool`` fixed to a link
  becomes the tool frame itself, which is how ServoTwin writes it.

Real files hold rounded inertias that no body has, so the tree asks for a
warning instead of an error (``inertia_check: warn``).
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from servotwin.description.names import readable_names, robot_name
from servotwin.description.nodes import Node, Origin, one_line, quoted, read_text
from servotwin.errors import InputError
