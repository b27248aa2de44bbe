r"""Nonlinear programs made of blocks: families of small functions with exact derivatives, compiled from the graph.

.. math:: \min_x \sum_b c_b(x_b), \qquad \underline g \le \sum_b g_b(x_b) \le \overline g              (eq:block-nlp)

A block b sees few of the variables, x_b. All blocks of a family share one function, so the Jacobian of the whole
is that of a block repeated, and so is the Hessian of the Lagrangian. Both are derived once on graph nodes
(``equations.differentiate``), compiled, and kept on disk under the structure of the robot. The triplets that a
sparse solver wants are the blocks' entries one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from servotwin.cache.sources import source_digest
from servotwin.cache.store import read_entry, write_entry
from servotwin.compiled.llvm import abi
from servotwin.equations.derivation import Derivation, Numbers, structure_key
from servotwin.equations.graph import Expr, Number
from servotwin.kernels.kernel_store import Entry, entry_of
from servotwin.mechanism.model import Array
from servotwin.motion.optimal import callbacks as cb

if TYPE_CHECKING:
    from servotwin.equations.programs import Program

Places = NDArray[np.int32]


@dataclass(frozen=True)
class BlockFunction:
    """What a block computes: its variables, numbers of its own (``data``), a cost and rows of constraints."""

    derivation: Derivation
    variables: Sequence[Expr]
    data: Sequence[Expr]
    cost: Expr | Number
    rows: Sequence[Expr | Number]


@dataclass(frozen=True)
class BlockCode:
    """A compiled block function: cost and rows, their slopes, and the Hessian of factor * cost + lambda^T rows.

    Places of the Jacobian (row, variable) and of the Hessian's lower triangle (variable, variable) are local.
    """

    n: int
    n_data: int
    n_rows: int
    value: Entry
    slope: Entry
    curve: Entry | None
    jacobian: tuple[Places, Places]
    hessian: tuple[Places, Places]


@dataclass
class Family:
    """Blocks that share a function: variables (count, n) of each, data (count, d), and where their rows begin.

    ``stride`` 0 lets all blocks add to the same rows, as an integral does.
    """

    code: BlockCode
    index: Places
    data: Array
    row: int
    stride: int


@cache
def version() -> str:
    """Digest of the sources that derive block functions."""
    return source_digest("motion/optimal/point_problem", "motion/optimal/path_problem")


def compile_block(
    name: str, build: Callable[[Derivation], BlockFunction], numbers: Numbers, table: dict[str, float]
) -> BlockCode:
    """The code of a block function, from disk if it was derived before.

    ``name`` says all that decides about the function besides the structure of the robot and of ``table``.
    """
    made: list[tuple[BlockFunction, _Derived]] = []

    def derived() -> tuple[BlockFunction, _Derived]:
        if not made:
            function = build(Derivation(numbers, table))
            made.append((function, _derive(function)))
        return made[0]

    header = _pattern(name, derived, numbers, table)

    def entry(kind: str) -> Entry:
        def program() -> Program:
            return _program(*derived(), kind)

        return entry_of(f"{name}/{kind}", program, numbers, table, version=version())

    def places(key: str) -> tuple[Places, Places]:
        rows, columns = header[key]
        return np.array(rows, dtype=np.int32), np.array(columns, dtype=np.int32)

    return BlockCode(
        n=header["variables"],
        n_data=header["data"],
        n_rows=header["rows"],
        value=entry("value"),
        slope=entry("slope"),
        curve=entry("curve") if header["hessian"][0] else None,
        jacobian=places("jacobian"),
        hessian=places("hessian"),
    )


@dataclass(frozen=True)
class _Derived:
    gradient: list[Expr]
    jacobian: tuple[list[int], list[int], list[Expr]]
    hessian: tuple[list[int], list[int], list[Expr]]
    weights: list[Expr]


def _derive(function: BlockFunction) -> _Derived:
    from servotwin.equations.differentiate import gradient, hessian, jacobian

    graph, x = function.derivation.graph, list(function.variables)
    rows, cost = [graph.lift(row) for row in function.rows], graph.lift(function.cost)
    weights = function.derivation.inputs("weight", 1 + len(rows))
    J = jacobian(rows, x) if rows else None
    H = hessian([cost, *rows], x, weights).lower()
    return _Derived(
        gradient(cost, x),
        ([], [], []) if J is None else (list(J.rows), list(J.columns), list(J.entries)),
        (list(H.rows), list(H.columns), list(H.entries)),
        weights,
    )


_patterns: dict[str, dict[str, Any]] = {}


def _pattern(
    name: str,
    derived: Callable[[], tuple[BlockFunction, _Derived]],
    numbers: Numbers,
    table: dict[str, float],
) -> dict[str, Any]:
    """Sizes and places of a block function, kept beside its code."""
    key = "|".join((structure_key(f"{name}/pattern", numbers, table), abi(), version()))
    if key in _patterns:
        return _patterns[key]
    digest = hashlib.sha256(key.encode()).hexdigest()
    found = read_entry(digest)
    if found is not None:
        return _patterns.setdefault(key, found[0])
    function, d = derived()
    header: dict[str, Any] = {
        "variables": len(function.variables),
        "data": len(function.data),
        "rows": len(function.rows),
        "jacobian": d.jacobian[:2],
        "hessian": d.hessian[:2],
    }
    write_entry(digest, header, b"")
    return _patterns.setdefault(key, header)


def _program(function: BlockFunction, d: _Derived, kind: str) -> Program:
    from servotwin.equations.programs import Program, output, vector

    one = function.derivation
    inputs = [*function.variables, *function.data]
    if kind == "value":
        entries: list[Expr | Number] = [function.cost, *function.rows]
    elif kind == "slope":
        entries = [*d.gradient, *d.jacobian[2]]
    else:
        inputs, entries = [*inputs, *d.weights], list(d.hessian[2])
    return Program(one, [vector(inputs)], [output(one, entries, (len(entries),))])


@dataclass
class BlockNlp:
    """A problem of ``n`` variables: families of blocks, and bounds of the rows in their order."""

    n: int
    families: list[Family] = field(default_factory=list)
    low: list[Array] = field(default_factory=list)
    high: list[Array] = field(default_factory=list)

    @property
    def m(self) -> int:
        """Rows so far."""
        return sum(part.size for part in self.low)

    def add(self, code: BlockCode, index: Array, data: Array, low: Array, high: Array) -> int:
        """A family of blocks with rows of their own, bounds (count, rows) or (rows,); the first row."""
        count = len(index)
        first = self.m
        self.families.append(Family(code, *_arrays(code, index, data), first, code.n_rows))
        for part, bound in ((self.low, low), (self.high, high)):
            part.append(np.broadcast_to(np.asarray(bound, dtype=float), (count, code.n_rows)).ravel())
        return first

    def add_sum(self, code: BlockCode, index: Array, data: Array, low: Array, high: Array) -> int:
        """A family of blocks whose rows add up to one set with bounds (rows,); its first row."""
        first = self.m
        self.families.append(Family(code, *_arrays(code, index, data), first, 0))
        for part, bound in ((self.low, low), (self.high, high)):
            part.append(np.broadcast_to(np.asarray(bound, dtype=float), (code.n_rows,)).copy())
        return first

    def add_to(self, code: BlockCode, index: Array, data: Array, first: int) -> None:
        """A family of blocks that add to the rows from ``first`` on."""
        self.families.append(Family(code, *_arrays(code, index, data), first, 0))

    def jacobian_places(self) -> tuple[Places, Places]:
        """Row and column of every entry of the Jacobian, in the order in which blocks give them."""
        parts = [_jacobian_places(f) for f in self.families]
        return _joined([p[0] for p in parts]), _joined([p[1] for p in parts])

    def hessian_places(self) -> tuple[Places, Places]:
        """The same of the Hessian, in the lower triangle."""
        rows, columns = [], []
        for f in self.families:
            i, j = f.index[:, f.code.hessian[0]].ravel(), f.index[:, f.code.hessian[1]].ravel()
            rows.append(np.maximum(i, j))
            columns.append(np.minimum(i, j))
        return _joined(rows), _joined(columns)


def _arrays(code: BlockCode, index: Array, data: Array) -> tuple[Places, Array]:
    places = np.ascontiguousarray(index, dtype=np.int32)
    numbers = np.ascontiguousarray(data, dtype=np.float64).reshape(len(places), -1)
    if places.shape[1] != code.n or numbers.shape[1] != code.n_data:
        raise ValueError(
            f"blocks of {places.shape[1]} variables and {numbers.shape[1]} data; the code has others"
        )
    return places, numbers


def _jacobian_places(f: Family) -> tuple[Places, Places]:
    first = f.row + f.stride * np.arange(len(f.index), dtype=np.int32)
    rows = (first[:, None] + f.code.jacobian[0][None, :]).ravel()
    return rows.astype(np.int32), f.index[:, f.code.jacobian[1]].ravel()


def _joined(parts: Sequence[Places]) -> Places:
    return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, dtype=np.int32)


@dataclass
class Table:
    """The numbers of a problem for the callbacks; whoever holds its address keeps this object."""

    numbers: NDArray[np.int64]
    watch: Array
    kept: list[object]

    @property
    def address(self) -> int:
        """Where the callbacks find it."""
        return int(self.numbers.ctypes.data)


def make_table(nlp: BlockNlp) -> Table:
    """Everything the callbacks read, in memory that stays where it is."""
    most_in = max(f.code.n + f.code.n_data + 1 + f.code.n_rows for f in nlp.families)
    most_out = max(1 + f.code.n_rows + f.code.n + f.code.jacobian[0].size for f in nlp.families)
    inputs, outputs, watch = np.zeros(most_in), np.zeros(most_out), np.zeros(cb.WATCHED)
    places = [*nlp.jacobian_places(), *nlp.hessian_places()]
    numbers = np.zeros(cb.HEAD + cb.FAMILY * len(nlp.families), dtype=np.int64)
    numbers[cb.FAMILIES] = len(nlp.families)
    slots = (cb.INPUTS, cb.OUTPUTS, cb.JAC_ROWS, cb.JAC_COLUMNS, cb.HESS_ROWS, cb.HESS_COLUMNS, cb.WATCH)
    arrays: tuple[NDArray[Any], ...] = (inputs, outputs, *places, watch)
    for slot, array in zip(slots, arrays, strict=True):
        numbers[slot] = array.ctypes.data
    for k, f in enumerate(nlp.families):
        row = numbers[cb.HEAD + cb.FAMILY * k : cb.HEAD + cb.FAMILY * (k + 1)]
        c, curve = f.code, f.code.curve or f.code.value
        row[: cb.INDEX_AT] = (len(f.index), c.n, c.n_data, c.n_rows, c.jacobian[0].size, c.hessian[0].size)
        row[cb.INDEX_AT], row[cb.DATA_AT] = f.index.ctypes.data, f.data.ctypes.data
        for slot, entry in ((cb.VALUE, c.value), (cb.SLOPE, c.slope), (cb.CURVE, curve)):
            row[slot], row[slot + 3] = entry.address, entry.data.ctypes.data
        row[cb.ROW], row[cb.STRIDE] = f.row, f.stride
    return Table(numbers, watch, [inputs, outputs, places, nlp])
