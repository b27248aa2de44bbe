"""The page of a complete model, and the files beside it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from servotwin.design.hydraulic import hydraulic_axis_of, valve_axes
from servotwin.design.model_study import LOW_DAMPING, ModelStudy
from servotwin.linear.files import mat_bytes, matlab_text
from servotwin.linear.modes import Mode
from servotwin.linear.rank import Reach
from servotwin.mechanism.model import Array
from servotwin.report import model_figures as figures
from servotwin.report.files import write_bytes, write_json, write_page
from servotwin.report.labels import plain_unit
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.robot.model_export import export_model
from servotwin.simulation.results.folder import MODEL_FILES, replaced_folder
from servotwin.version import __version__

LANGUAGES = {
    "model.txt": "text",
    "model.tex": "latex",
    "model_equations.c": "c99",
    "model_equations.py": "python",
    "model_equations.m": "matlab",
}
ROUNDING = 1e-13
LEAST = 1e-20  # SI: below it nothing of a robot has a value
WIDE = 12  # inputs beyond which the gain matrix is not printed
TEXT_OPERATIONS = 20_000  # a model with more is not written as text: nobody reads it


class ModelFiles(NamedTuple):
    """Where the parts of a model are."""

    page: Path
    data: Path
    others: tuple[Path, ...]


def write_model(study: ModelStudy, folder: str | Path, *, overwrite: bool = False) -> ModelFiles:
    """Write ``model.html``, ``.json``, ``.mat``, ``.m`` and the equations as text, LaTeX, C99, Python and MATLAB."""
    with replaced_folder(folder, MODEL_FILES, overwrite=overwrite) as place:
        system = study.linear if study.sampled is None else study.sampled
        write_bytes(place / "model.mat", mat_bytes(system))
        write_bytes(place / "model.m", matlab_text(system).encode())
        names = ["model.mat", "model.m"]
        if short_enough(study):
            for name, language in LANGUAGES.items():
                file = Path(name).stem if language == "matlab" else None
                write_bytes(place / name, export_model(study.model, language, file=file).encode())
                names.append(name)
        write_json(place / "model.json", study.data())
        write_page(place / "model.html", model_page(study))
    folder = Path(folder)
    return ModelFiles(
        folder / "model.html", folder / "model.json", tuple(folder / name for name in sorted(names))
    )


def short_enough(study: ModelStudy) -> bool:
    """Whether A(x) and B(x) are worth writing as text."""
    counts = study.model.kernel("affine").compiled.operations
    return sum(counts.values()) <= TEXT_OPERATIONS


def model_page(study: ModelStudy) -> str:
    """The page as HTML."""
    model = study.model
    page = Page(
        f"{model.robot.name}: complete model and its modes",
        f"{model.robot.title}. x' = A(x) + B(x) u with {model.order} states and {len(model.inputs)} inputs, "
        f"linear about {'an operating point' if study.still else 'a state that is moving'}.",
    )
    _cards(page, study)
    for note in study.notes:
        page.note(note)
    if not study.still:
        page.warning(
            "The state is no operating point: speeds, twists or currents change there by themselves."
        )
    _state(page, study)
    _poles(page, study)
    _reach(page, study)
    _channels(page, study)
    for motor in valve_axes(study):
        _third_order(page, study, motor)
    _matrices(page, study)
    return page.html(
        f"ServoTwin {__version__}. Matrices with all digits are in model.json, model.mat and model.m; the equations in "
        "model.txt, model.tex, model_equations.c, model_equations.py and model_equations.m."
    )


def _cards(page: Page, study: ModelStudy) -> None:
    rising = [m for m in study.modes if m.pole.real > 0.0]
    swinging = [m for m in study.modes if m.oscillates and m.pole.real <= 0.0]
    cards = [Card("States", str(study.model.order), "", f"{len(study.model.inputs)} inputs")]
    fastest = max((m.frequency for m in study.modes), default=0.0)
    cards.append(Card("Fastest pole", f"{fastest:.4g}", "rad/s", "a sampling period must follow it"))
    if rising:
        worst = max(rising, key=lambda m: m.pole.real)
        remark = f"grows by e in {worst.time_constant:.3g} s: {study.main_states(worst, 1)[0][0]}"
        cards.append(Card("Unstable poles", str(len(rising)), "", remark, "warn"))
    else:
        cards.append(Card("Unstable poles", "0", "", "without control nothing grows", "good"))
    if swinging:
        least = min(swinging, key=lambda m: m.damping)
        remark = f"at {least.frequency / (2 * np.pi):.4g} Hz: {study.main_states(least, 1)[0][0]}"
        mark = "warn" if least.damping < LOW_DAMPING else "good"
        cards.append(Card("Least damping", f"{least.damping:.3f}", "", remark, mark))
    for label, reach in (("Controllable", study.controllable), ("Observable", study.observable)):
        mark = "good" if reach.complete else "warn"
        cards.append(
            Card(label, f"{reach.rank} of {reach.order}", "states", _reach_remark(label, study), mark)
        )
    page.cards(cards)


def _reach_remark(label: str, study: ModelStudy) -> str:
    if label == "Controllable":
        return "from the inputs"
    more = " ..." if len(study.linear.outputs) > 4 else ""
    return f"from {', '.join(q.name for q in study.linear.outputs[:4])}{more}"


def _state(page: Page, study: ModelStudy) -> None:
    page.section(
        "The state",
        "A(x) is what the state does by itself (the system matrix of Perez 1987), B(x) what the inputs add: x' = A(x) "
        "+ B(x) u.",
    )
    inputs = study.linear.inputs
    wide = len(inputs) > WIDE
    columns = ["state", "unit", "x", "A(x)", *([] if wide else [f"B: {q.name}" for q in inputs]), "x'"]
    rows = []
    A, x, u, sizes = study.affine.A, study.point.x, study.point.u, study.sizes
    for i, quantity in enumerate(study.linear.states):
        gains = [] if wide else [_number(v) for v in study.affine.B[i]]
        shown = [_number(x[i], _alike(study, i)), _number(A[i], 10.0 * sizes[i])]
        change = _number(study.rates[i], 1e3 * sizes[i])
        rows.append([quantity.name, plain_unit(quantity.unit), *shown, *gains, change])
    page.table(columns, rows, text_columns=2)
    most = float(np.abs(u).max(initial=0.0))
    rows = [[q.name, plain_unit(q.unit), _number(value, most)] for q, value in zip(inputs, u, strict=True)]
    page.table(["input", "unit", "u"], rows, text_columns=2)


def _alike(study: ModelStudy, i: int) -> float:
    """The largest value among the states with the unit of state i."""
    states, x = study.linear.states, study.point.x
    return max(abs(float(v)) for q, v in zip(states, x, strict=True) if q.unit == states[i].unit)


def _number(value: float, size: float = 0.0) -> str:
    """A number; 0 for what rounding left of one beside numbers of this size."""
    return "0" if abs(value) <= ROUNDING * size + LEAST else f"{value:.5g}"


def _poles(page: Page, study: ModelStudy) -> None:
    page.section("Poles and modes")
    page.figures(
        [
            Figure(
                figures.pole_map(study), "Pole map",
                "Crosses: poles of the whole system. Circles: zeros from a motor's input to its own output. The axes "
                "are logarithmic away from zero.",
            ),
            Figure(
                figures.participation(study), "Who takes part",
                "Share of every state in every mode (participation factors); a column adds up to 1.",
            ),
        ],
        columns=2,
    )  # fmt: skip
    columns = ["mode", "main states", "pole [1/s]", "natural frequency [Hz]", "damping", "time constant [ms]"]
    page.table(columns, [_mode_row(study, k, mode) for k, mode in enumerate(study.modes)], text_columns=2)


def _mode_row(study: ModelStudy, k: int, mode: Mode) -> list[str | Cell]:
    label = figures.mode_label(k, mode.pole).partition(": ")[2]
    low = mode.oscillates and mode.damping < LOW_DAMPING
    main = ", ".join(f"{name} {100 * share:.0f} %" for name, share in study.main_states(mode) if share > 0.05)
    time = "-" if not np.isfinite(mode.time_constant) else f"{1e3 * mode.time_constant:.4g}"
    return [
        str(k + 1),
        main,
        Cell(label, "warn" if mode.pole.real > 0.0 else ""),
        f"{mode.frequency / (2 * np.pi):.4g}" if mode.oscillates else "-",
        Cell(f"{mode.damping:.3f}", "warn" if low else "") if mode.oscillates else "-",
        time,
    ]


def _reach(page: Page, study: ModelStudy) -> None:
    page.section(
        "What motors reach and encoders show",
        "Least singular value of the matrices of Popov, Belevitch and Hautus at every pole, in units in which the "
        "system is balanced and of norm 1: zero means that no input reaches the mode, or no output shows it.",
    )
    seen = dict(enumerate(study.observable.margins))
    fastest = max((abs(pole) for pole, _ in study.controllable.margins), default=0.0)
    rows: list[list[str | Cell]] = []
    for k, (pole, value) in enumerate(study.controllable.margins):
        rows.append([_pole(pole, fastest), _margin(value), _margin(seen[k][1]) if k in seen else "-"])
    page.table(["pole [1/s]", "controllability", "observability"], rows)
    hidden = _hidden(study.observable)
    if hidden:
        page.note(
            f"Not observable: {hidden}. At rest the d current of a synchronous motor gives no torque, so that no "
            "encoder sees it; its driver measures it."
            if any(shaft.equations.idle for shaft in study.model.shafts)
            else f"Not observable: {hidden}."
        )


def _pole(pole: complex, fastest: float) -> str:
    """A pole as in the table of modes; 0 for what rounding has left of one."""
    small = 1e-9 * fastest
    return figures.pole_text(
        complex(0.0 if abs(pole.real) < small else pole.real, 0.0 if abs(pole.imag) < small else pole.imag)
    )


def _hidden(reach: Reach) -> str:
    return ", ".join(f"{pole:.4g}" for pole, value in reach.margins if value < 1e-9)


def _margin(value: float) -> Cell:
    return Cell(f"{value:.2e}", "warn" if value < 1e-9 else "")


def _channels(page: Page, study: ModelStudy) -> None:
    page.section(
        "Frequency responses", "From the input of a motor to all outputs; its own output is drawn thick."
    )
    items = []
    for j, shaft in enumerate(study.model.shafts):
        output, source = study.channel(j)
        G = study.transfer(j)
        caption = (
            f"From {study.linear.inputs[source].name} to {study.linear.outputs[output].name}: {len(G.zeros)} zeros and "
            f"{len(G.poles)} poles after cancelling, gain {G.gain:.4g}."
        )
        items.append(Figure(figures.bode(study, j), f"Axis {shaft.name}", caption))
    page.figures(items, columns=2)


def _third_order(page: Page, study: ModelStudy, motor: str) -> None:
    """A hydraulic axis as Perez 1987 has it, reduced from the derivatives of the whole model."""
    axis = hydraulic_axis_of(study, motor)
    page.section(
        f"Axis {motor}: linear model of third order",
        "The model of Perez 1987, section 5, reduced from the derivatives above: the load pressure p_L in the place of "
        "both pressures, a spool without lag. Dashed in the frequency response.",
    )
    A, b, f = axis.third_order()
    structure = [
        ["position'", "0", "1", "0", "0", "0"],
        ["speed'", "0", "-B/m", "S/m", "0", "-1/m"],
        ["p_L'", "0", "-c_h/S", "-c_h (K_c + C)/S^2", "c_h K_q/S^2", "0"],
    ]
    columns = ["", "position", "speed", "p_L", "valve current", "force"]
    page.table(columns, structure)
    rows: list[list[str | Cell]] = [
        [
            row[0],
            *(_number(v, s) for v, s in zip((*A[i], b[i], f[i]), (*_sizes(A, i), 0.0, 0.0), strict=True)),
        ]
        for i, row in enumerate(structure)
    ]
    page.table(columns, rows)
    rotary = axis_unit(study, motor) == "rad"
    mass, stiff, area = ("kg m2", "N m/rad", "m3/rad") if rotary else ("kg", "N/m", "m2")
    page.table(
        ["number", "value", "unit"],
        [
            ["m, what the piston moves", f"{axis.mass:.5g}", mass],
            ["S, mean area", f"{axis.area:.5g}", area],
            ["c_h, stiffness of the oil", f"{axis.stiffness:.5g}", stiff],
            ["K_q, flow per valve current", f"{axis.flow_gain:.5g}", "m3/(s A)"],
            ["K_c + C, flow per load pressure", f"{axis.flow_pressure:.5g}", "m3/(s Pa)"],
            ["natural frequency of mass and oil", f"{axis.natural_frequency:.5g}", "rad/s"],
            ["damping ratio", f"{axis.damping:.3g}", "1"],
        ],
    )


def axis_unit(study: ModelStudy, motor: str) -> str:
    """Unit of a motor's coordinate."""
    return next(shaft.unit for shaft in study.model.shafts if shaft.name == motor)


def _sizes(A: Array, i: int) -> list[float]:
    """Beside which an entry of row i is rounding: the largest of its row."""
    return [float(np.abs(A[i]).max())] * A.shape[1]


def _matrices(page: Page, study: ModelStudy) -> None:
    page.section("Linear system", "Derivatives of x' at the point, exact to rounding; empty cells are zero.")
    names = [q.name for q in study.linear.states]
    for title, matrix, columns in (
        ("A = dx'/dx", study.linear.A, names),
        ("B = dx'/du", study.linear.B, [q.name for q in study.linear.inputs]),
        ("C = dy/dx", study.linear.C, names),
    ):
        heads = names if title[0] != "C" else [q.name for q in study.linear.outputs]
        rows = [
            [head, *("" if v == 0.0 else f"{v:.5g}" for v in row)]
            for head, row in zip(heads, matrix, strict=True)
        ]
        page.details(title, ["", *columns], rows)
