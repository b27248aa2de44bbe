"""What is replaced inside numba: only in versions that were read, and with the same answers as numba's own methods."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from numba import from_dtype
from numba.core.targetconfig import Option, TargetConfig
from numba.core.types import Record

from servotwin.compiled import numba_quicker

OTHER_VERSION = """
import numba
from numba.core.targetconfig import TargetConfig
from numba.core.types import Record
numba.__version__ = "0.99.0"
before = Record.__repr__, TargetConfig.__eq__, TargetConfig.__hash__
from servotwin.compiled.jit import helper, kernel
assert before == (Record.__repr__, TargetConfig.__eq__, TargetConfig.__hash__)

@helper
def doubled(x):
    return 2.0 * x

@kernel
def total(x):
    return doubled(x) + 1.0

print(total(3.0))
"""


class First(TargetConfig):
    """Options with a default."""

    size = Option(type=int, default=1, doc="")
    shape = Option(type=int, default=2, doc="")


class Second(TargetConfig):
    """The same names, another default."""

    size = Option(type=int, default=5, doc="")
    shape = Option(type=int, default=2, doc="")


def options(kind: Any, **values: int) -> Any:
    made = kind()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def test_other_version_of_numba_works_as_it_comes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path / "cache"))
    program = tmp_path / "program.py"
    program.write_text(OTHER_VERSION)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("7.0\n", "")


@pytest.mark.parametrize("version", ["0.61.2", "0.680.1", "0.6", "1.0", "1.0.68", ""])
def test_methods_of_versions_that_were_not_read_stay(version: str) -> None:
    assert not numba_quicker.replace_methods(version)


def test_options_compare_and_hash_as_by_numbas_own_methods() -> None:
    every = [
        options(kind, **values)
        for kind in (First, Second)
        for values in ({}, {"size": 1}, {"size": 5}, {"shape": 2}, {"size": 1, "shape": 3})
    ]
    for one, other in product(every, every):
        assert numba_quicker._same_options(one, other) == numba_quicker._compare(one, other)
    assert [numba_quicker._hash_of_names(each) for each in every] == list(map(numba_quicker._hash, every))
    assert numba_quicker._same_options(every[0], 3) is NotImplemented


def test_records_are_written_as_by_numbas_own_method() -> None:
    inner = np.dtype([("a", "f8"), ("b", "i4", (3,))], align=True)
    kinds = [inner, np.dtype([("in", inner), ("c", "f8")]), np.dtype([("in", inner, (2,)), ("c", "f8")])]
    for kind in map(from_dtype, kinds):
        assert isinstance(kind, Record)
        for _ in range(2):  # written, and known
            assert numba_quicker._text(kind) == numba_quicker._write_text(kind)
