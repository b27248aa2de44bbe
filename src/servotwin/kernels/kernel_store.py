"""From a robot's numbers to a callable kernel: derive, compile, keep.

``kernel(kind, numbers)`` looks in this process, then on disk, and only then
derives and compiles. What is kept is keyed by structure, not by numbers: a
change of payload, mass or length reuses the code and only recomputes the
values of the parameter-only expressions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.cache.sources import source_digest
from servotwin.cache.store import write_entry
from servotwin.compiled import shipped
from servotwin.compiled.llvm import abi, load_object, simd_width
from servotwin.equations.derivation import Numbers, structure_key
from servotwin.equations.graph import Graph, Op, apply
from servotwin.kernels.ufunc import make_ufunc
from servotwin.mechanism.model import Array

if TYPE_CHECKING:
    from servotwin.equations.programs import Program

LOOP = "loop"
ENTRY = "entry"
LONG = (
    25_000  # operations of a program beyond which it is compiled quickly: derivatives of large closed chains
)
ONE, STEP = 0, -1  # forms beside a loop of some SIMD width: one evaluation, a Runge-Kutta step


@dataclass(frozen=True)
class Compiled:
    """Code for one structure: loop address, argument shapes, and how to compute the constants."""

    address: int
    inputs: list[tuple[int, ...]]
    outputs: list[tuple[int, ...]]
    prepare: list[tuple[int, int, int]]  # operations on parameters, in order
    constants: list[float]
    params: list[str]
    consts: list[int]  # which results of ``prepare`` the loop reads
    operations: dict[str, int]

    def parameter_values(self, table: Mapping[str, float]) -> Array:
        """The values of the parameter-only expressions for one robot."""
        values: list[float] = []
        for op, a, b in self.prepare:
            if op == Op.CONST:
                values.append(self.constants[a])
            elif op == Op.PARAM:
                values.append(table[self.params[a]])
            else:
                values.append(apply(op, values[a], values[b] if b >= 0 else 0.0))
        return np.array([values[i] for i in self.consts] or [0.0], dtype=np.float64)


@dataclass(frozen=True)
class Kernel:
    """A compiled function of one robot. ``call`` is a NumPy ufunc over any leading shape."""

    kind: str
    call: np.ufunc
    consts: Array
    compiled: Compiled


@dataclass(frozen=True)
class Entry:
    """A compiled function of one robot for other compiled code: ``void f(double *in, double *out, double *data)``."""

    address: int
    data: Array  # whoever holds the address of ``data`` keeps this object
    inputs: list[tuple[int, ...]]
    outputs: list[tuple[int, ...]]


@cache
def _generator_version() -> str:
    """A changed generator never meets old machine code; numbers and structure of the mechanism are in the key."""
    return source_digest("kernels/kernel_store", given=["mechanism/model"])


_loaded: dict[str, Compiled] = {}


def kernel(
    kind: str, numbers: Numbers, *, frame: str | None = None, drives: bool = False, width: int = 0
) -> Kernel:
    """The kernel of a kind for a robot; ``width`` forces the SIMD width (1: none), default the machine's."""
    compiled, consts = _compiled_for(kind, numbers, frame, drives, width or simd_width())
    call = make_ufunc(
        compiled.address, consts, compiled.inputs, compiled.outputs, kind, f"servotwin kernel {kind}"
    )
    return Kernel(kind, call, consts, compiled)


def entry(kind: str, numbers: Numbers, *, frame: str | None = None, drives: bool = False) -> Entry:
    """The same for one evaluation at a time, callable by address; all arguments packed into two arrays."""
    compiled, consts = _compiled_for(kind, numbers, frame, drives, ONE)
    return Entry(compiled.address, consts, compiled.inputs, compiled.outputs)


def step_entry(numbers: Numbers) -> Entry:
    """A Runge-Kutta step of the arm with its DC motors (``emit_step``), callable by address."""
    compiled, consts = _compiled_for("accel", numbers, None, True, STEP)
    return Entry(compiled.address, consts, compiled.inputs, compiled.outputs)


def kernel_of(
    name: str,
    build: Callable[[], Program],
    numbers: Numbers,
    table: dict[str, float],
    *,
    version: str,
    width: int = 0,
) -> Kernel:
    """The kernel of a program that is not in the list, such as one with derivatives.

    ``name`` and ``table`` decide, with the structure of the robot, what ``build`` derives from a ``Derivation`` of
    the two: it is called only if no kernel of that name and pattern is kept. ``version``: digest of the sources that
    derive it (``cache.sources.source_digest``).
    """
    lanes = width or simd_width()
    compiled, consts = _kept_or_built(f"{name}/{lanes}/{version}", build, numbers, table, lanes)
    call = make_ufunc(
        compiled.address, consts, compiled.inputs, compiled.outputs, name, f"servotwin kernel {name}"
    )
    return Kernel(name, call, consts, compiled)


def entry_of(
    name: str, build: Callable[[], Program], numbers: Numbers, table: dict[str, float], *, version: str
) -> Entry:
    """The same for one evaluation at a time, callable by address."""
    compiled, consts = _kept_or_built(f"{name}/{ONE}/{version}", build, numbers, table, ONE)
    return Entry(compiled.address, consts, compiled.inputs, compiled.outputs)


def _compiled_for(
    kind: str, numbers: Numbers, frame: str | None, drives: bool, width: int
) -> tuple[Compiled, Array]:
    """Code and parameter values; ``width`` is that of a loop, or ONE or STEP."""
    table = numbers.table(energy=kind in {"energy", "closed_energy"}, drives=drives, frame=frame)
    body = "" if frame is None else numbers.frames[frame][0]
    name = f"{kind}/{'drives' if drives else ''}/{body}/{width}"
    return _kept_or_built(
        name, lambda: _listed_program(kind, numbers, table, frame, drives), numbers, table, width
    )


def _kept_or_built(
    name: str, build: Callable[[], Program], numbers: Numbers, table: dict[str, float], width: int
) -> tuple[Compiled, Array]:
    key = structure_key(name, numbers, table)
    compiled = _loaded.get(key)
    if compiled is None:
        compiled = _loaded[key] = _from_disk(key, width) or _build(name, key, build, width)
    return compiled, compiled.parameter_values(table)


def _disk_key(key: str, level: str | None = None) -> str:
    return hashlib.sha256("|".join((key, abi(level), _generator_version())).encode()).hexdigest()


def _from_disk(key: str, width: int) -> Compiled | None:
    entry = shipped.entry_of("kernels", lambda level: _disk_key(key, level))
    if entry is None:
        return None
    header, code = entry
    try:
        (address,) = load_object(code, [LOOP if width > 0 else ENTRY])
        return _compiled(address, header)
    except (KeyError, TypeError, ValueError, RuntimeError, OSError):
        return None


def _compiled(address: int, header: Mapping[str, Any]) -> Compiled:
    return Compiled(
        address=address,
        inputs=[tuple(s) for s in header["inputs"]],
        outputs=[tuple(s) for s in header["outputs"]],
        prepare=[(int(o), int(a), int(b)) for o, a, b in header["prepare"]],
        constants=[float(c) for c in header["constants"]],
        params=[str(p) for p in header["params"]],
        consts=[int(c) for c in header["consts"]],
        operations={str(k): int(v) for k, v in header["operations"].items()},
    )


def _listed_program(
    kind: str, numbers: Numbers, table: dict[str, float], frame: str | None, drives: bool
) -> Program:
    # Deriving is not needed when the kernel comes from disk; neither are its imports.
    from servotwin.equations.closed_programs import CLOSED_PROGRAMS
    from servotwin.equations.derivation import Derivation
    from servotwin.equations.programs import LOOP_PROGRAMS, PROGRAMS

    options: dict[str, Any] = {}
    if frame is not None:
        options["frame"] = frame
    if drives:
        options["drives"] = True
    return {**PROGRAMS, **LOOP_PROGRAMS, **CLOSED_PROGRAMS}[kind](Derivation(numbers, table), **options)


def _build(name: str, key: str, build: Callable[[], Program], width: int) -> Compiled:
    from servotwin.compiled.llvm import compile_object
    from servotwin.kernels.emit import Plan, emit_entry, emit_loop
    from servotwin.kernels.emit_step import emit_step

    program = build()
    plan = Plan.of(program)
    if width > 0:
        text = emit_loop(program, plan, LOOP, width)
    else:
        text = (emit_step if width == STEP else emit_entry)(program, plan, ENTRY)
    # one straight line this long takes minutes to schedule and to allocate registers for
    code = compile_object(text, quick=len(plan.order) > LONG)
    entries = [e for block in program.outputs for e in block.entries]
    header = {
        "kind": name,
        "inputs": [block.shape for block in program.inputs],
        "outputs": [block.shape for block in program.outputs],
        "operations": plan.graph.operations(entries),
        **_parameter_program(plan.graph, plan.consts),
    }
    write_entry(_disk_key(key), header, code)
    (address,) = load_object(code, [LOOP if width > 0 else ENTRY])
    return _compiled(address, header)


def _parameter_program(graph: Graph, consts: list[int]) -> dict[str, Any]:
    """The parameter-only part of the graph, renumbered so that it can be stored and replayed."""
    nodes = graph.reachable(consts)
    place = {node: i for i, node in enumerate(nodes)}
    steps = []
    for node in nodes:
        op, a, b = graph.op[node], graph.a[node], graph.b[node]
        leaf = op in (Op.CONST, Op.PARAM)
        steps.append((op, a if leaf else place[a], -1 if b < 0 else place[b]))
    return {
        "prepare": steps,
        "constants": graph.constants,
        "params": graph.params,
        "consts": [place[c] for c in consts],
    }
