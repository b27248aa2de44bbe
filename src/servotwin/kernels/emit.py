"""Expression graph -> LLVM assembly of a NumPy inner loop.

The emitted function has the signature of a generalised ufunc loop,
``void loop(char **args, intp *dimensions, intp *steps, void *data)``: NumPy
broadcasts, converts and allocates, and calls it once for a whole batch. The
body is emitted twice, for one evaluation and for ``width`` evaluations side by
side in SIMD registers; batches take the wide one. ``data`` points to the values
of all sub-expressions that depend on the robot's parameters only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.equations.graph import Graph, Op
from servotwin.equations.programs import Program
from servotwin.kernels.sincos import emit_sincos, splat

FLAGS = "nsz arcp contract"
CALLS = {Op.EXP: "exp", Op.LOG: "log"}
BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}


def declarations(width: int = 1) -> list[str]:
    """The functions of LLVM that bodies of a width call."""
    real, suffix = ("double", "f64") if width == 1 else (f"<{width} x double>", f"v{width}f64")
    lines = [f"declare {real} @llvm.{f}.{suffix}({real})" for f in ("sqrt", "fabs", "exp", "log")]
    return [*lines, f"declare {real} @llvm.fma.{suffix}({real}, {real}, {real})"]


@dataclass(frozen=True)
class Plan:
    """A program cut in two: values per robot (``consts``) and work per evaluation (``order``)."""

    graph: Graph
    inputs: list[list[int]]  # node numbers, one list per argument
    outputs: list[list[int]]
    order: list[int]
    consts: list[int]  # parameter-only nodes that the work needs

    @classmethod
    def of(cls, program: Program) -> Plan:
        """Decide what is computed when."""
        graph = program.derivation.graph
        outputs = [[e.id for e in block.entries] for block in program.outputs]
        needed = graph.reachable(i for block in outputs for i in block)
        order = [i for i in needed if not graph.of_params[i]]
        used = {x for i in order if graph.op[i] >= Op.ADD for x in (graph.a[i], graph.b[i]) if x >= 0}
        used.update(i for block in outputs for i in block)
        consts = sorted(i for i in used if graph.of_params[i] and graph.op[i] != Op.CONST)
        inputs = [[e.id for e in block.entries] for block in program.inputs]
        return cls(graph, inputs, outputs, order, consts)


class Body:
    """Writes the straight-line part for one lane width."""

    def __init__(self, plan: Plan, width: int) -> None:
        self.plan = plan
        self.width = width
        self.real = "double" if width == 1 else f"<{width} x double>"
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.count = 0
        self.slots = {node: slot for slot, node in enumerate(plan.consts)}

    def fresh(self) -> str:
        """A new value name."""
        self.count += 1
        return f"%w{self.width}v{self.count}"

    def line(self, text: str) -> str:
        """Append an instruction; the name of its value."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def load_inputs(self, rows: Sequence[Sequence[str]]) -> None:
        """``rows[k][lane]``: pointer to the first entry of argument k for one lane."""
        used = set(self.plan.order)
        for k, nodes in enumerate(self.plan.inputs):
            walks = [self._walk(pointer, f"in{k}", (len(nodes),)) for pointer in rows[k]]
            for node, lanes in zip(nodes, zip(*walks, strict=True), strict=True):
                if node in used:
                    self.names[node] = self._gather(lanes)

    def _walk(self, pointer: str, tag: str, shape: tuple[int, ...]) -> list[str]:
        """Pointers to all entries of one array in row-major order, each a step from the one before."""
        places = [pointer]
        for axis, size in enumerate(shape):
            spread = []
            for at in places:
                spread.append(at)
                for _ in range(size - 1):
                    spread.append(self.line(f"getelementptr i8, ptr {spread[-1]}, i64 %{tag}c{axis}"))
            places = spread
        return places

    def _gather(self, lanes: Sequence[str]) -> str:
        values = [self.line(f"load double, ptr {at}, align 8") for at in lanes]
        if self.width == 1:
            return values[0]
        vector = "poison"
        for lane, value in enumerate(values):
            vector = self.line(f"insertelement {self.real} {vector}, double {value}, i32 {lane}")
        return vector

    def value(self, node: int) -> str:
        """The value of a node of the graph."""
        name = self.names.get(node)
        if name is None:
            graph = self.plan.graph
            if graph.op[node] == Op.CONST:
                return splat(graph.constants[graph.a[node]], self.width)
            name = self.names[node] = self._load_const(self.slots[node])
        return name

    def _load_const(self, slot: int) -> str:
        at = self.line(f"getelementptr double, ptr %data, i64 {slot}")
        value = self.line(f"load double, ptr {at}, align 8")
        return value if self.width == 1 else self.broadcast(value)

    def broadcast(self, value: str) -> str:
        """The same number in every lane."""
        first = self.line(f"insertelement {self.real} poison, double {value}, i32 0")
        mask = f"<{self.width} x i32> zeroinitializer"
        return self.line(f"shufflevector {self.real} {first}, {self.real} poison, {mask}")

    def compute(self) -> None:
        """All nodes in order."""
        graph = self.plan.graph
        pairs: dict[int, tuple[str, str]] = {}
        for node in self.plan.order:
            op = graph.op[node]
            if op == Op.INPUT:
                continue
            x = self.value(graph.a[node])
            if op in BINARY:
                y = self.value(graph.b[node])
                self.names[node] = self.line(f"{BINARY[Op(op)]} {FLAGS} {self.real} {x}, {y}")
            elif op == Op.NEG:
                self.names[node] = self.line(f"fneg {FLAGS} {self.real} {x}")
            elif op == Op.SQRT:
                self.names[node] = self.call("sqrt", x)
            elif op in CALLS:
                self.names[node] = self.call(CALLS[Op(op)], x)
            elif op == Op.STEP:
                above = self.line(f"fcmp ogt {self.real} {x}, {splat(0.0, self.width)}")
                bits = "i1" if self.width == 1 else f"<{self.width} x i1>"
                self.names[node] = self.line(f"uitofp {bits} {above} to {self.real}")
            else:
                angle = graph.a[node]
                if angle not in pairs:
                    pairs[angle] = emit_sincos(x, self.width, self.fresh, self.lines)
                self.names[node] = pairs[angle][0 if op == Op.SIN else 1]

    def call(self, function: str, x: str) -> str:
        """A function of LLVM's own."""
        suffix = "f64" if self.width == 1 else f"v{self.width}f64"
        return self.line(f"call {self.real} @llvm.{function}.{suffix}({self.real} {x})")

    def store_outputs(self, rows: Sequence[Sequence[str]], shapes: Sequence[tuple[int, ...]]) -> None:
        """Write the results; ``rows`` as for the inputs."""
        for k, nodes in enumerate(self.plan.outputs):
            walks = [self._walk(pointer, f"out{k}", shapes[k]) for pointer in rows[k]]
            for node, lanes in zip(nodes, zip(*walks, strict=True), strict=True):
                value = self.value(node)
                for lane, at in enumerate(lanes):
                    one = value
                    if self.width > 1:
                        one = self.line(f"extractelement {self.real} {value}, i32 {lane}")
                    self.lines.append(f"  store double {one}, ptr {at}, align 8")


def _strides(program: Program, lines: list[str]) -> None:
    """Pointer, outer step and core steps of every argument, in bytes."""
    blocks = [("in", k, b.shape) for k, b in enumerate(program.inputs)]
    blocks += [("out", k, b.shape) for k, b in enumerate(program.outputs)]
    core = len(blocks)
    for index, (kind, k, shape) in enumerate(blocks):
        tag = f"{kind}{k}"
        lines.append(f"  %{tag}pp = getelementptr ptr, ptr %args, i64 {index}")
        lines.append(f"  %{tag}p = load ptr, ptr %{tag}pp")
        lines.append(f"  %{tag}sp = getelementptr i64, ptr %steps, i64 {index}")
        lines.append(f"  %{tag}s = load i64, ptr %{tag}sp")
        for axis in range(len(shape)):
            lines.append(f"  %{tag}c{axis}p = getelementptr i64, ptr %steps, i64 {core + axis}")
            lines.append(f"  %{tag}c{axis} = load i64, ptr %{tag}c{axis}p")
        core += len(shape)


def _loop(program: Program, plan: Plan, width: int, label: str) -> list[str]:
    """One loop over the batch; the last wide step repeats the last row in its spare lanes."""
    w = f"w{width}"
    body = Body(plan, width)
    head = [f"{label}:", f"  %{w}i = phi i64 [ 0, %entry ], [ %{w}next, %{label} ]"]
    rows: dict[str, list[list[str]]] = {"in": [], "out": []}
    indices = []
    for lane in range(width):
        at = f"%{w}i"
        if lane:
            head.append(f"  %{w}r{lane} = add i64 %{w}i, {lane}")
            head.append(f"  %{w}k{lane} = call i64 @llvm.smin.i64(i64 %{w}r{lane}, i64 %last)")
            at = f"%{w}k{lane}"
        indices.append(at)
    for kind, blocks in (("in", program.inputs), ("out", program.outputs)):
        for k in range(len(blocks)):
            lanes = []
            for lane, at in enumerate(indices):
                head.append(f"  %{w}{kind}{k}m{lane} = mul i64 {at}, %{kind}{k}s")
                head.append(
                    f"  %{w}{kind}{k}l{lane} = getelementptr i8, ptr %{kind}{k}p, i64 %{w}{kind}{k}m{lane}"
                )
                lanes.append(f"%{w}{kind}{k}l{lane}")
            rows[kind].append(lanes)
    body.load_inputs(rows["in"])
    body.compute()
    body.store_outputs(rows["out"], [block.shape for block in program.outputs])
    tail = [
        f"  %{w}next = add i64 %{w}i, {width}",
        f"  %{w}more = icmp slt i64 %{w}next, %n",
        f"  br i1 %{w}more, label %{label}, label %done",
    ]
    return head + body.lines + tail


def emit_entry(program: Program, plan: Plan, name: str) -> str:
    """LLVM assembly of ``void name(double *in, double *out, double *data)`` for one evaluation.

    All inputs stand one after the other in ``in``, all outputs in ``out``, each in row-major order: what
    compiled loops call by address.
    """
    lines = [f"define void @{name}(ptr %in, ptr %out, ptr %data) {{", "entry:"]
    body = Body(plan, 1)
    for kind, blocks in (("in", program.inputs), ("out", program.outputs)):
        at = 0
        for k, block in enumerate(blocks):
            lines.append(f"  %{kind}{k}p = getelementptr double, ptr %{kind}, i64 {at}")
            stride = 8
            for axis in reversed(range(len(block.shape))):
                lines.append(f"  %{kind}{k}c{axis} = add i64 0, {stride}")
                stride *= block.shape[axis]
            at += stride // 8
    body.load_inputs([[f"%in{k}p"] for k in range(len(program.inputs))])
    body.compute()
    body.store_outputs(
        [[f"%out{k}p"] for k in range(len(program.outputs))], [block.shape for block in program.outputs]
    )
    lines += [*body.lines, "  ret void", "}"]
    lines += declarations()
    return "\n".join(lines) + "\n"


def emit_loop(program: Program, plan: Plan, name: str, width: int) -> str:
    """LLVM assembly of the ufunc loop ``name``; ``width`` 1 leaves the SIMD version out."""
    lines = [f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{", "entry:"]
    lines += ["  %n = load i64, ptr %dims", "  %last = sub i64 %n, 1"]
    _strides(program, lines)
    if width > 1:
        lines += [f"  %few = icmp slt i64 %n, {width}", "  br i1 %few, label %one, label %wide"]
    else:
        lines += ["  br label %one"]
    lines += _loop(program, plan, 1, "one")
    if width > 1:
        lines += _loop(program, plan, width, "wide")
    lines += ["done:", "  ret void", "}"]
    declare = ["declare i64 @llvm.smin.i64(i64, i64)"]
    for w in sorted({1, width}):
        declare += declarations(w)
    return "\n".join(lines + declare) + "\n"
