"""Expression graph -> LLVM assembly of one Runge-Kutta step of an arm with its DC motors.

Forward dynamics stands four times in the step, once per stage, so that states stay in registers and a stage
begins while the one before still divides: twice as fast as calling the dynamics by address. Motors are
computed side by side in vectors as long as the arm has joints.
"""

from __future__ import annotations

from servotwin.equations.programs import Program
from servotwin.kernels.emit import FLAGS, Body, Plan, declarations
from servotwin.kernels.sincos import literal

# blocks of n numbers behind the step length; the first seven are written again, after the step
STATE = ("q", "v", "i", "electric", "square", "torque", "friction")
MOTOR = ("volt", "slope", "decay", "back", "pull", "drag", "emf")
BLOCKS = STATE + MOTOR


def step_buffer_size(n: int) -> int:
    """Numbers before and after a step: its length, states, integrals, motors."""
    return 1 + len(BLOCKS) * n


class _Vectors:
    """Arithmetic on all joints at once."""

    def __init__(self, body: Body, n: int) -> None:
        self.body, self.n = body, n
        self.kind = f"<{n} x double>"

    def load(self, name: str) -> str:
        at = self.body.line(f"getelementptr double, ptr %in, i64 {1 + BLOCKS.index(name) * self.n}")
        return self.body.line(f"load {self.kind}, ptr {at}, align 8")

    def store(self, name: str, value: str) -> None:
        at = self.body.line(f"getelementptr double, ptr %out, i64 {1 + BLOCKS.index(name) * self.n}")
        self.body.lines.append(f"  store {self.kind} {value}, ptr {at}, align 8")

    def spread(self, value: str) -> str:
        first = self.body.line(f"insertelement {self.kind} poison, double {value}, i32 0")
        mask = f"<{self.n} x i32> zeroinitializer"
        return self.body.line(f"shufflevector {self.kind} {first}, {self.kind} poison, {mask}")

    def constant(self, value: float) -> str:
        return "<" + ", ".join([f"double {literal(value)}"] * self.n) + ">"

    def apply(self, op: str, a: str, b: str) -> str:
        return self.body.line(f"{op} {FLAGS} {self.kind} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self.apply("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.apply("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.apply("fmul", a, b)

    def entries(self, value: str) -> list[str]:
        return [self.body.line(f"extractelement {self.kind} {value}, i32 {j}") for j in range(self.n)]

    def gather(self, values: list[str]) -> str:
        vector = "poison"
        for j, value in enumerate(values):
            vector = self.body.line(f"insertelement {self.kind} {vector}, double {value}, i32 {j}")
        return vector

    def weighted(self, stages: list[str]) -> str:
        """k1 + 2 (k2 + k3) + k4."""
        middle = self.mul(self.constant(2.0), self.add(stages[1], stages[2]))
        return self.add(self.add(stages[0], stages[3]), middle)


def emit_step(program: Program, plan: Plan, name: str) -> str:
    """LLVM assembly of ``void name(double *in, double *out, double *data)``, the step of the plain plant.

    ``program`` is the forward dynamics. ``in`` holds the length h of the step and n numbers of each of
    ``BLOCKS``; ``out`` receives those of ``STATE`` after the step. The motors are those of eq:dc-motor with
    speeds counted at the joints.
    """
    (n,) = program.inputs[0].shape
    body = Body(plan, 1)
    v = _Vectors(body, n)
    h = body.line("load double, ptr %in, align 8")
    whole = v.spread(h)
    half = v.mul(whole, v.constant(0.5))
    block = {key: v.load(key) for key in BLOCKS}
    push = v.mul(block["volt"], block["slope"])
    q, speed, current = block["q"], block["v"], block["i"]
    speeds: list[str] = []
    currents: list[str] = []
    accelerations: list[str] = []
    changes: list[str] = []
    for reach in (None, half, half, whole):
        if reach is not None:
            q = v.add(block["q"], v.mul(reach, speeds[-1]))
            speed = v.add(block["v"], v.mul(reach, accelerations[-1]))
            current = v.add(block["i"], v.mul(reach, changes[-1]))
        torque = v.sub(v.mul(block["pull"], current), v.mul(block["drag"], speed))
        speeds.append(speed)
        currents.append(current)
        falling = v.add(v.mul(block["decay"], current), v.mul(block["back"], speed))
        changes.append(v.sub(push, falling))  # eq:dc-motor
        accelerations.append(_dynamics(body, v, (q, speed, torque)))
    sixth = v.mul(whole, v.constant(1.0 / 6.0))
    for key, slopes in (("q", speeds), ("v", accelerations), ("i", changes)):
        v.store(key, v.add(block[key], v.mul(sixth, v.weighted(slopes))))
    charge = v.mul(sixth, v.weighted(currents))
    v.store("electric", v.add(block["electric"], v.mul(block["volt"], charge)))
    v.store("torque", v.add(block["torque"], v.mul(block["emf"], charge)))
    heat = v.mul(sixth, v.weighted([v.mul(i, i) for i in currents]))
    v.store("square", v.add(block["square"], heat))
    lost = v.mul(sixth, v.weighted([v.mul(w, w) for w in speeds]))
    v.store("friction", v.add(block["friction"], v.mul(block["drag"], lost)))
    lines = [
        f"define void @{name}(ptr %in, ptr %out, ptr %data) {{",
        "entry:",
        *body.lines,
        "  ret void",
        "}",
    ]
    lines += declarations()
    return "\n".join(lines) + "\n"


def _dynamics(body: Body, v: _Vectors, given: tuple[str, str, str]) -> str:
    """The accelerations of one stage."""
    kept = {node: body.value(node) for node in body.plan.consts}  # the robot's numbers are read once
    body.names = dict(kept)
    for nodes, value in zip(body.plan.inputs, given, strict=True):
        body.names.update(zip(nodes, v.entries(value), strict=True))
    body.compute()
    return v.gather([body.value(node) for node in body.plan.outputs[0]])
