"""The complete model as text in other languages: A(x), B(x), and the derivatives, as numbered assignments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from servotwin.equations.differentiate import substitute
from servotwin.equations.export import export_program
from servotwin.equations.programs import Program, output, vector
from servotwin.equations.state_space import CompleteModel
from servotwin.errors import ServotwinError
from servotwin.robot.state_space import StateSpace

What = Literal["affine", "linear"]


def export_model(
    model: StateSpace,
    language: str,
    what: What = "affine",
    *,
    numeric: bool | Collection[str] = False,
    file: str | None = None,
) -> str:
    """The model as source text: python, c99, matlab, mathematica, text, markdown or latex.

    ``affine``: A(x) and B(x) of x' = A(x) + B(x) u. ``linear``: x', dx'/dx and dx'/du at a state and inputs. The state
    comes in parts: q (of a closed chain x, all its coordinates), qd, twist and w of elastic gears, xi of the actuators.
    ``file``: what the file will be called, without its ending: MATLAB finds functions by that name.
    """
    if what not in ("affine", "linear"):
        raise ServotwinError(f"what is '{what}'; expected affine or linear")
    complete = model.complete_model()
    program = affine_text(complete) if what == "affine" else linear_text(complete)
    names = ("A", "B") if what == "affine" else ("f", "A", "B")
    joints = model.robot.mechanism.opened.tree_joint_names
    name = f"{model.robot.name}_{'state_space' if what == 'affine' else 'linearised'}"
    return export_program(
        program,
        language,
        name=name,
        numeric=numeric,
        results=names,
        joints=joints,
        notes=state_notes(model),
        file=file,
        motor_units=[shaft.unit for shaft in model.shafts],
    )


def state_notes(model: StateSpace) -> list[str]:
    """What the parts of the state, the inputs and ``step`` are, one line each."""
    n, e = model.robot.n, sum(shaft.elastic for shaft in model.shafts)
    parts = (
        ("qd", model.states[n : 2 * n]),
        ("twist", model.states[2 * n : 2 * n + e]),
        ("w", model.states[2 * n + e : 2 * n + 2 * e]),
        ("xi", model.states[2 * n + 2 * e :]),
        ("u", model.inputs),
    )
    lines = [
        f"{letters}{k}: {q.name} [{q.unit or '1'}]" for letters, part in parts for k, q in enumerate(part, 1)
    ]
    if any(shaft.equations.supply is not None for shaft in model.shafts):
        lines.append("step(x) is 1 where x > 0, else 0.")
    return lines


def affine_text(model: CompleteModel) -> Program:
    """State in parts -> A(x), B(x)."""
    graph, n, m = model.derivation.graph, model.order, len(model.u)
    off = dict.fromkeys((*model.u, *model.d), graph.zero)
    results: list[tuple[Any, tuple[int, ...]]] = [
        (substitute(model.rates, off), (n,)),
        ([entry for row in model.by_input for entry in row[:m]], (n, m)),
    ]
    return _parts(model, results, inputs=False)


def linear_text(model: CompleteModel) -> Program:
    """State in parts and inputs -> x', dx'/dx, dx'/du."""
    graph, n, m = model.derivation.graph, model.order, len(model.u)
    off = dict.fromkeys(model.d, graph.zero)
    results: list[tuple[Any, tuple[int, ...]]] = [
        (substitute(model.rates, off), (n,)),
        (substitute([entry for row in model.by_state for entry in row], off), (n, n)),
        ([entry for row in model.by_input for entry in row[:m]], (n, m)),
    ]
    return _parts(model, results, inputs=True)


def _parts(model: CompleteModel, results: list[tuple[Any, tuple[int, ...]]], *, inputs: bool) -> Program:
    blocks = [model.coordinates, model.qd, model.twist, model.w, model.xi, *([model.u] if inputs else [])]
    return Program(
        model.derivation,
        [vector(block) for block in blocks if block],
        [output(model.derivation, entries, shape) for entries, shape in results],
    )
