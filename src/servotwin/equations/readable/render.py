"""Documents as plain text, Markdown, LaTeX and HTML; closed forms as Mathematica, Python and SymPy."""

from __future__ import annotations

from html import escape
from typing import Any

from servotwin.equations.export.latex import ESCAPED
from servotwin.equations.export.names import comment_text
from servotwin.equations.export.to_sympy import the_sympy
from servotwin.equations.readable import kinematics
from servotwin.equations.readable.dialects import DIALECTS
from servotwin.equations.readable.document import About, Document, FormName, Section
from servotwin.equations.readable.laurent import Poly
from servotwin.equations.readable.model import Equations
from servotwin.equations.readable.writer import Writer


def text(equations: Equations, about: About, form: FormName = "MCg") -> str:
    """For a terminal."""
    lines = [about.title, "=" * len(about.title)]
    for section in Document(equations, about, DIALECTS["text"], form).sections():
        lines += ["", section.heading, "-" * len(section.heading), *section.text]
        lines += [f"  {left} = {right}" for left, right in section.equations]
        lines += _columns(section)
    return "\n".join(lines) + "\n"


def _columns(section: Section) -> list[str]:
    if not section.rows:
        return []
    table = [section.columns, *section.rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(section.columns))]
    padded = [[cell.ljust(w) for cell, w in zip(row, widths, strict=True)] for row in table]
    return ["  " + "  ".join(row).rstrip() for row in padded]


def markdown(equations: Equations, about: About, form: FormName = "MCg") -> str:
    """Markdown with LaTeX formulas between dollar signs."""
    lines = [f"# {_markdown(about.title)}"]
    for section in Document(equations, about, DIALECTS["latex"], form).sections():
        lines += ["", f"## {section.heading}", *([""] if section.text else []), *map(_markdown, section.text)]
        for left, right in section.equations:
            lines += ["", f"$${left} = {right}$$"]
        if section.rows:
            lines += ["", "| " + " | ".join(section.columns) + " |", "|" + " --- |" * len(section.columns)]
            lines += [f"| ${row[0]}$ | " + " | ".join(row[1:]) + " |" for row in _markdown_rows(section)]
    return "\n".join(lines) + "\n"


def _markdown_rows(section: Section) -> list[list[str]]:
    return [[row[0].replace("|", r"\|"), *map(_markdown, row[1:])] for row in section.rows]


def _markdown(words: str) -> str:
    """Text in which nothing is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}<#|$[]" else c for c in words)


def latex(equations: Equations, about: About, form: FormName = "MCg") -> str:
    """A complete LaTeX document (article, amsmath, breqn-free: long sums break at their signs)."""
    lines = [
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{amsmath}",
        r"\usepackage[a4paper,margin=20mm]{geometry}",
        r"\allowdisplaybreaks",
        rf"\title{{{_tex(about.title)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
    ]
    for section in Document(equations, about, DIALECTS["latex"], form).sections():
        lines += [rf"\section*{{{_tex(section.heading)}}}", *(_tex(line) for line in section.text)]
        for left, right in section.equations:
            lines += [r"\begin{align*}", f"{left} ={_broken(right)}", r"\end{align*}"]
        if section.rows:
            lines += [rf"\begin{{tabular}}{{{'l' * len(section.columns)}}}"]
            lines += [" & ".join(_tex(c) for c in section.columns) + r" \\ \hline"]
            cells = [[f"${row[0]}$", *(_tex(cell) for cell in row[1:])] for row in section.rows]
            lines += [" & ".join(row) + r" \\" for row in cells]
            lines += [r"\end{tabular}"]
    return "\n".join([*lines, r"\end{document}", ""])


def _tex(words: str) -> str:
    """Text in which nothing is a command."""
    return "".join(ESCAPED.get(c) or c for c in words)


def _broken(right: str, width: int = 110) -> str:
    """Break a long sum at its outer signs."""
    lines, line, depth = [], "", 0
    words = right.replace(" + ", "\0+ ").replace(" - ", "\0- ").split("\0")
    for word in words:
        if line and depth == 0 and len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
        depth += word.count("(") - word.count(")")
    return "{}&" + " \\\\\n&\\quad ".join([*lines, line])


def mathematica(equations: Equations, about: About, form: FormName = "MCg") -> str:
    """Assignments for Mathematica, meaning and unit of all symbols as remarks, and their values as rules."""
    d = DIALECTS["mathematica"]
    lines = [f"(* {comment_text(about.title)} *)"]
    symbols = [*equations.symbols.geometry, *equations.inertial.values()]
    rules = ", ".join(f"{d.symbol(s.name)} -> {d.number(s.value)}" for s in symbols)
    lines += ["", "(* Symbols *)"]
    lines += [f"(* {d.symbol(s.name)}: {comment_text(s.meaning)} [{s.unit}] *)" for s in symbols]
    lines += ["", "(* Values: expression /. values *)", f"values = {{{rules}}};"]
    for section in Document(equations, about, DIALECTS["mathematica"], form).sections():
        named = [(left, right) for left, right in section.equations if left.replace("$", "").isalnum()]
        if len(named) == len(section.equations) > 0:  # differential equations are no assignments
            lines += ["", f"(* {section.heading} *)"]
            lines += [f"{left} = {right};" for left, right in named]
    return "\n".join(lines) + "\n"


def sympy_objects(equations: Equations) -> dict[str, Any]:
    """M, C, g, tau, closures s and S = ds/dq as SymPy matrices, ``constants`` with their definitions."""
    sp = the_sympy()
    writer = Writer(equations, DIALECTS["sympy"])
    names: dict[str, Any] = {}

    def read(line: str) -> Any:
        return sp.sympify(line, locals=names)

    for name in _all_names(equations):
        names[name] = sp.Symbol(name)
    n = range(equations.n)
    s = [read(writer.plain(equations.reader.plain(poly))) for _, poly in kinematics.closures(equations)]
    S = [
        [read(writer.plain(equations.reader.plain(entry))) for entry in row]
        for row in kinematics.closure_jacobian(equations)
    ]
    for symbol in equations.symbols.geometry:
        names.setdefault(symbol.name, sp.Symbol(symbol.name))
    return {
        "s": sp.Matrix(s),
        "S": sp.Matrix(S),
        "M": sp.Matrix([[read(writer.entry(equations.M[i][j])) for j in n] for i in n]),
        "C": sp.Matrix([[read(writer.coriolis_entry(i, j)) for j in n] for i in n]),
        "g": sp.Matrix([read(writer.entry(g)) for g in equations.gravity]),
        "tau": sp.Matrix([read(writer.torque(i)) for i in n]),
        "T": read(writer.kinetic_energy()),
        "V": read(writer.potential_energy()),
        "constants": {names[k]: read(writer.form(f)) for k, f in equations.constants.forms.items()},
        "values": {
            names[s.name]: s.value for s in [*equations.symbols.geometry, *equations.inertial.values()]
        },
    }


def _all_names(equations: Equations) -> list[str]:
    rates = [f"{q}{'d' * order}" for q in equations.coordinates for order in (0, 1, 2)]
    symbols = [s.name for s in [*equations.symbols.geometry, *equations.inertial.values()]]
    return [*rates, *symbols, *equations.constants.forms]


def python(equations: Equations, about: About) -> str:
    """A module with the closed forms as functions over numpy arrays; needs numpy only."""
    w = Writer(equations, DIALECTS["python"])
    n = equations.n
    lines = [
        f'"""{comment_text(about.title)}: equations of motion in closed form.',
        "",
        *map(comment_text, about.notes),
        '"""',
        "",
        "import numpy as np",
        "",
    ]
    for symbol in [*equations.symbols.geometry, *equations.inertial.values()]:
        lines.append(f"{symbol.name} = {symbol.value!r}  # {symbol.meaning} [{symbol.unit}]")
    lines += [f"{name} = {w.form(form)}" for name, form in equations.constants.forms.items()]

    def function(name: str, arguments: list[str], shape: str, entries: list[tuple[str, str]]) -> None:
        lines.extend(["", "", f"def {name}({', '.join(arguments)}):"])
        for argument in arguments:
            rate = argument[1:]
            targets = ", ".join(f"{q}{rate}" for q in equations.coordinates)
            comma = "," if n == 1 else ""
            lines.append(f"    {targets}{comma} = np.moveaxis(np.asarray({argument}, dtype=float), -1, 0)")
        lines.append(f"    out = np.zeros(q1.shape + {shape})")
        lines.extend(f"    out[..., {place}] = {value}" for place, value in entries)
        lines.append("    return out")

    both = [(i, j) for i in range(n) for j in range(n)]
    mass = [(f"{i}, {j}", w.entry(equations.M[i][j])) for i, j in both if equations.M[i][j]]
    function("mass_matrix", ["q"], f"({n}, {n})", mass)
    coriolis = [(f"{i}, {j}", w.coriolis_entry(i, j)) for i, j in both if equations.coriolis[i][j]]
    function("coriolis_matrix", ["q", "qd"], f"({n}, {n})", coriolis)
    gravity = [(f"{i}", w.entry(g)) for i, g in enumerate(equations.gravity) if g]
    function("gravity_torque", ["q"], f"({n},)", gravity)
    if about.actuated:
        lines += _closed_functions(equations, w, about.actuated)
    return "\n".join(lines) + "\n"


CLOSED = '''
def close(actuated, start):
    """All coordinates (n,) with the loops closed, by Newton's method from the passive ones in ``start`` (n,).

    ValueError if the method does not find them.
    """
    q = np.array(start, dtype=float)
    q[:ACTUATED] = actuated
    for _ in range(50):
        step = np.linalg.lstsq(closure_jacobian(q)[:, ACTUATED:], -closures(q), rcond=None)[0]
        q[ACTUATED:] += step
        if np.abs(step).max(initial=0.0) < 1e-14:
            break
    if not np.abs(closures(q)).max() < 1e-9:
        raise ValueError("the loops do not close from this start")
    return q


def projection(q):
    """T (n, ACTUATED) with qd = T (rates of the actuated joints), at closed coordinates q (n,)."""
    S = closure_jacobian(q)
    return np.vstack([np.eye(ACTUATED), -np.linalg.lstsq(S[:, ACTUATED:], S[:, :ACTUATED], rcond=None)[0]])


def closed_mass_matrix(q):
    """Mass matrix (ACTUATED, ACTUATED) at the actuated joints, at closed coordinates q (n,)."""
    T = projection(q)
    return T.T @ mass_matrix(q) @ T


def closed_torque(q, qd, qdd):
    """Torques (ACTUATED,) of a motion: closed coordinates q (n,), rates and accelerations of the actuated joints."""
    T = projection(q)
    rates = T @ qd
    # the imaginary part of S a tiny step along i qd is its derivative, exact to rounding
    drift = closure_jacobian(q + 1e-30j * rates).imag / 1e-30 @ rates
    accelerations = T @ qdd
    accelerations[ACTUATED:] -= np.linalg.lstsq(closure_jacobian(q)[:, ACTUATED:], drift, rcond=None)[0]
    return T.T @ (mass_matrix(q) @ accelerations + coriolis_matrix(q, rates) @ rates + gravity_torque(q))
'''


def _closed_functions(equations: Equations, w: Writer, actuated: int) -> list[str]:
    """Functions of the loops, and of the chain that they close (eq:closed)."""
    names = ", ".join(equations.coordinates)
    S = kinematics.closure_jacobian(equations)
    s = [poly for _, poly in kinematics.closures(equations)]

    def written(poly: Poly) -> str:
        return w.plain(equations.reader.plain(poly))

    lines = ["", "", f"ACTUATED = {actuated}  # so many of the coordinates, the first, have motors", "", ""]
    lines += ["def closures(q):", f"    {names} = q", f"    out = np.zeros({len(s)})"]
    lines += [f"    out[{k}] = {written(poly)}" for k, poly in enumerate(s) if poly]
    lines += ["    return out", "", "", "def closure_jacobian(q):", f"    {names} = q"]
    lines += [f"    out = np.zeros(({len(s)}, {equations.n}), dtype=np.result_type(q, float))"]
    places = [(k, j) for k in range(len(s)) for j in range(equations.n) if S[k][j]]
    lines += [f"    out[{k}, {j}] = {written(S[k][j])}" for k, j in places]
    return [*lines, "    return out", "", *CLOSED.rstrip().splitlines()]


def html_sections(equations: Equations, about: About, form: FormName = "MCg") -> str:
    """Sections as HTML with MathML formulas, to be placed in a page."""
    parts = []
    for section in Document(equations, about, DIALECTS["mathml"], form).sections():
        parts.append(f"<section><h2>{escape(section.heading)}</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in section.text]
        if section.equations:
            parts.append('<div class="formulas">')
            for left, right in section.equations:
                row = f"<mrow>{left}<mo>=</mo>{right}</mrow>"
                parts.append(f'<div class="formula"><math displaystyle="true">{row}</math></div>')
            parts.append("</div>")
        if section.rows:
            head = "".join(f"<th>{escape(c)}</th>" for c in section.columns)
            parts.append(f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>')
            for row_cells in section.rows:
                first = f"<td><math><mrow>{row_cells[0]}</mrow></math></td>"
                parts.append(
                    f"<tr>{first}" + "".join(f"<td>{escape(c)}</td>" for c in row_cells[1:]) + "</tr>"
                )
            parts.append("</tbody></table></div>")
        parts.append("</section>")
    return "\n".join(parts)
