"""How numba is loaded: without SciPy, and without the settings that lie in the current folder.

Imported before numba wherever the package uses it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from types import ModuleType
from typing import Any


def _ignore_settings_here() -> None:
    """Keep numba from reading ``.numba_config.yaml`` of the current folder, which may be a stranger's.

    It would choose how code is compiled, and where numba keeps it; a damaged one ends in a traceback. Numba reads
    the file if it can import PyYAML. The variables NUMBA_... of the user's count as ever.
    """
    if "numba" in sys.modules:
        return
    yaml = sys.modules.pop("yaml", None)
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config: Any = importlib.import_module("numba.core.config")
        config._config_fname = os.devnull
    finally:
        del sys.modules["yaml"]
        if yaml is not None:
            sys.modules["yaml"] = yaml


def _spare_scipy() -> None:
    """Let numba load without importing SciPy, a quarter of the start of a process.

    Numba asks only whether SciPy's BLAS can be imported; whoever compiles linear algebra imports it then.
    """
    name = "scipy.linalg.cython_blas"
    if name in sys.modules or importlib.util.find_spec("scipy") is None:
        return
    sys.modules[name] = ModuleType(name)
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[name]


_ignore_settings_here()
_spare_scipy()
