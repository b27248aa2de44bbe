"""``servotwin equations``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from servotwin.cli.arguments import load
from servotwin.cli.output import print_json, print_line, working
from servotwin.description.file_write import export_text, refuse_existing
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.equations.readable.document import FormName
    from servotwin.robot.derive import RobotEquations

FORMS = ("MCg", "ABCG", "DHG")
ENDINGS = (".html", ".txt", ".md", ".tex", ".m", ".wl", ".py", ".c")
LANGUAGES = {
    ".txt": "text",
    ".md": "markdown",
    ".tex": "latex",
    ".m": "mathematica",
    ".wl": "mathematica",
    ".py": "python",
    ".c": "c99",
}


def equations(
    name: str,
    form: str,
    out: str | None,
    overrides: Sequence[str] | None,
    *,
    drives: bool,
    general: bool,
    numeric: Sequence[str],
    generated: bool,
    overwrite: bool = False,
    json: bool,
) -> None:
    """Derive, and print or write."""
    if form not in FORMS:
        raise InputError(f"'{form}'; expected one of {', '.join(FORMS)}", field="--form")
    ending = Path(out).suffix.lower() if out else ".txt"
    if ending not in ENDINGS:
        raise InputError(f"'{out}'; expected a name that ends in one of {', '.join(ENDINGS)}", field="--out")
    if out:
        refuse_existing(out, overwrite=overwrite)
    robot = load(name, overrides)
    from servotwin.robot.derive import derive, numbered

    if (general or form != "MCg") and (generated or ending in (".c", ".py")):
        what = "--general" if general else "--form"
        raise InputError(f"has no effect on generated code and on '{ending}'; leave it out", field=what)
    numeric = [word.strip() for item in numeric for word in item.split(",")]
    if generated or ending == ".c":
        if ending not in LANGUAGES:
            raise InputError(f"'{out}'; numbered variables are not drawn as a page", field="--out")
        with working("generating code ..."):
            text = numbered(robot, LANGUAGES[ending], drives=drives, numeric=tuple(numeric))
        data = {"robot": robot.name, "language": LANGUAGES[ending], **({} if out else {"source": text})}
        _deliver(text, out, data, overwrite=overwrite, json=json)
        return
    with working("deriving the equations ..."):
        from servotwin.report.shown_files import equations_text

        derived = derive(robot, drives=drives, general=general, numeric=numeric)
        text = equations_text(derived, ending, cast("FormName", form)) if out or not json else ""
    _deliver(text, out, _summary(derived) if json else {}, overwrite=overwrite, json=json)


def _deliver(text: str, out: str | None, data: dict[str, Any], *, overwrite: bool, json: bool) -> None:
    if out:
        export_text(out, text, overwrite=overwrite)
    if json:
        print_json({**data, **({"output": out} if out else {})})
    else:
        print_line(f"wrote {out}" if out else text.rstrip())


def _summary(derived: RobotEquations) -> dict[str, Any]:
    """Everything as data: entries as text, constants with definition and value."""
    from servotwin.equations.readable.dialects import DIALECTS
    from servotwin.equations.readable.writer import Writer

    e = derived.closed_form
    w = Writer(e, DIALECTS["sympy"])
    n = range(e.n)
    constants = {
        name: {"definition": w.form(form), "value": e.constants.value(name)}
        for name, form in e.constants.forms.items()
    }
    symbols = [*e.symbols.geometry, *e.inertial.values()]
    return {
        "robot": derived.robot.name,
        "coordinates": dict(zip(e.coordinates, derived.about.joints, strict=True)),
        "symbols": {s.name: {"meaning": s.meaning, "unit": s.unit, "value": s.value} for s in symbols},
        "constants": constants,
        "M": [[w.entry(e.M[i][j]) for j in n] for i in n],
        "C": [[w.coriolis_entry(i, j) for j in n] for i in n],
        "g": [w.entry(entry) for entry in e.gravity],
        "tau": [w.torque(i) for i in n],
        "base_parameters": list(derived.base_parameters.names),
        "operations": {name: mul + add for name, mul, add, _ in derived.about.operations},
    }
