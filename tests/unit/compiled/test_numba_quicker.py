"""What is replaced inside numba: only in versions that were read, and with the same answers as numba's own methods."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from llvmlite import binding as llvm
from numba import from_dtype, njit
from numba.core import errors
from numba.core.codegen import CPUCodegen
from numba.core.compiler import run_frontend
from numba.core.registry import cpu_target
from numba.core.targetconfig import Option, TargetConfig
from numba.core.types import Record

from servotwin.compiled import numba_quicker

OTHER_VERSION = """
import numba
from numba.core.targetconfig import TargetConfig
from numba.core.types import Record
numba.__version__ = "0.99.0"
from numba.core.ir import Inst
from numba.core.postproc import PostProcessor
from numba.core.types import Function

def methods():
    return (
        Record.__repr__, TargetConfig.__eq__, TargetConfig.__hash__, Inst._rec_list_vars, Function.get_call_type,
        PostProcessor.run,
    )

before = methods()
from servotwin.compiled.jit import helper, kernel
assert before == methods()

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


# Overloads (min, abs), closures, records, tuples, generators, and functions called with written numbers.
COMPILED = """
import sys
import numba
import numpy as np
from servotwin.compiled import jit, numba_quicker as quicker
if sys.argv[1] == "numba":
    quicker.Inst._rec_list_vars = quicker._write_variables
    quicker.Function.get_call_type = quicker._find_call_type
    quicker.PostProcessor.run = quicker._process
    quicker.CPUCodeLibrary._optimize_functions = quicker._optimize_all
kind = np.dtype([("a", "f8"), ("b", "f8", (3,)), ("n", "i8")])

@jit.helper
def share(record, x, way):
    return min(abs(x), record.a) if way == 0 else max(x * record.b[way], 0.5)

def loop(records, out):
    total = 0.0
    for k in range(len(records)):
        record = records[k]
        lower, upper = share(record, out[k], 0), share(record, out[k] - 1, 1)
        while upper > lower and record.n > 0:
            record.n -= 1
            upper -= 0.25 * abs(record.b[2]) ** 0.5
        total += upper if upper > 0 and not lower < 0.1 else lower / (1 + record.n)
        out[k] = total % 3.0
    return total

def squares(n):
    for i in range(n):
        yield i * i

def sums(n):
    return sum([x for x in squares_compiled(n)])

records, out = np.zeros(5, kind), np.linspace(-1.0, 2.0, 5)
records["a"], records["b"], records["n"] = 0.7, 0.3, 4
kept, plain = jit.kernel(loop), numba.njit(loop)
squares_compiled = numba.njit(squares)
print(kept(records.copy(), out.copy()), plain(records.copy(), out.copy()), numba.njit(sums)(5))
for compiled in (kept, plain):
    for text in compiled.inspect_asm().values():
        print("\\n".join(line for line in text.splitlines() if line.startswith("\\t") and not line.startswith("\\t.")))
"""


def test_machine_code_is_that_of_numbas_own_methods(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text(COMPILED)
    texts = []
    for whose in ("ours", "numba"):
        monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path / whose))
        done = subprocess.run([sys.executable, program, whose], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        texts.append(done.stdout)
    assert texts[0].count("\n") > 300
    assert without_names(texts[0]) == without_names(texts[1])


def without_names(assembly: str) -> list[str]:
    """Instructions without the names and numbers that numba and LLVM count up in a process."""
    return [re.sub(r"[.$_A-Za-z]*[_$.][\w.$@]*|\d+", "", line) for line in assembly.splitlines()]


def test_variables_of_instructions_are_listed_as_by_numbas_own_method() -> None:
    code = run_frontend(lambda a, b: [a[k + 1] * b for k in range(3) if a[k] > b or b is None])
    listed = [inst for block in code.blocks.values() for inst in block.body]
    assert len(listed) > 5
    for inst in listed:
        assert numba_quicker._variables(inst, inst.__dict__) == numba_quicker._write_variables(
            inst, inst.__dict__
        )


@pytest.mark.skipif(numba_quicker._scheme is None, reason="numba marks messages where there is colorama")
def test_messages_are_marked_as_by_numbas_own_method() -> None:
    scheme = errors.HighlightColorScheme(errors.themes["dark_bg"])
    for words in (
        ("no such field",),
        ("no such field", scheme._errmsg),
        ("", None, None),
        ("Größe", "", "x"),
    ):
        assert scheme._markup(*words) == numba_quicker._set_up_and_mark(scheme, *words)
    assert type(scheme)._markup is numba_quicker._mark_up


def test_nothing_is_optimised_in_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    optimised = []
    asked = CPUCodegen._function_pass_manager

    def counted(self: Any, **options: Any) -> Any:
        optimised.append(self)
        return asked(self, **options)

    monkeypatch.setattr(CPUCodegen, "_function_pass_manager", counted)
    library = cpu_target.target_context.codegen().create_library("declarations")
    twice = "define double @twice(double %x) {\n %y = fadd double %x, %x\n ret double %y\n}"
    library.add_llvm_module(llvm.parse_assembly("declare double @sin(double)\n" + twice))
    assert len(optimised) == 1


def test_helper_is_compiled_once_for_all_written_numbers() -> None:
    from servotwin.compiled.jit import helper

    @helper
    def choose(x: float, way: int) -> float:
        return x if way == 0 else -x

    @njit  # not kept on disk, so that it is compiled here
    def both(x: float) -> float:
        return choose(x, 0) + 2.0 * choose(x, 1) + 4.0 * choose(x, 2)

    assert both(1.0) == -5.0
    assert len(choose.signatures) == 1  # type: ignore[attr-defined]
