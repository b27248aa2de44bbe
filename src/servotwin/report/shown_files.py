"""``result.report(folder)``: the files that the command of the same kind writes; where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.errors import InputError, ServotwinError

if TYPE_CHECKING:
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
    from servotwin.design.law_comparison import LawRun
    from servotwin.design.tuning import Tuning
    from servotwin.equations.readable.document import FormName
    from servotwin.fieldbus.robot.session import ServedDrives
    from servotwin.hil.result import SubstitutionResult
    from servotwin.report.compare_page import ComparisonFiles
    from servotwin.report.job_files import JobFiles
    from servotwin.report.simulation_files import ResultFiles
    from servotwin.report.substitution_page import SubstitutionFiles
    from servotwin.report.tune_page import TuneFiles
    from servotwin.robot.derive import RobotEquations
    from servotwin.simulation.job_run import JobRun

EQUATION_FILES = ("equations.html", "equations.py")
ENDINGS = (".html", ".txt", ".md", ".tex", ".m", ".wl", ".py")


def of_job(run: JobRun, folder: str | Path, *, overwrite: bool = False, gripper: str = "") -> JobFiles:
    """Write page, summary, instructions and signals; ``gripper``: the output that holds the payload."""
    from servotwin.jobs.program import sources_of
    from servotwin.report.job_files import write_job_result
    from servotwin.report.job_story import story_of

    story = story_of(run, sources=sources_of(run.player.program), gripper=gripper)
    return write_job_result(story, folder, overwrite=overwrite)


def of_design(
    design: StateFeedbackDesign, folder: str | Path, runs: Sequence[LawRun] = (), *, overwrite: bool = False
) -> dict[str, str]:
    """Write page and JSON; ``runs``: laws that were compared by ``st.compare_laws``."""
    from servotwin.report.design_page import write_design

    return write_design(design, list(runs), str(folder), overwrite=overwrite)


def of_substitution(
    result: SubstitutionResult, folder: str | Path, *, report: bool = True, overwrite: bool = False
) -> SubstitutionFiles:
    """Write page, summary and signals, of a run in real time with its link."""
    from servotwin.report.link_figures import link_histograms, link_numbers, link_rows
    from servotwin.report.substitution_page import write_substitution

    link = result.link
    if link is None:
        return write_substitution(result, folder, report=report, overwrite=overwrite)
    return write_substitution(
        result, folder, report=report, overwrite=overwrite, link=link_rows(link), link_numbers=link_numbers(link),
        histograms=link_histograms(link),
    )  # fmt: skip


def of_tuning(tuning: Tuning, folder: str | Path, *, overwrite: bool = False) -> TuneFiles:
    """Write page and JSON."""
    from servotwin.report.tune_page import write_tune_report

    return write_tune_report(tuning, folder, overwrite=overwrite)


def of_served(served: ServedDrives, folder: str | Path, *, overwrite: bool = False) -> ResultFiles:
    """Write what was recorded of served drives."""
    from servotwin.report.simulation_files import write_result

    if served.result is None:
        raise ServotwinError("nothing was recorded; expected record=... of st.serve_drives")
    return write_result(served.result, folder, overwrite=overwrite)


def of_compared(compared: Any, folder: str | Path, *, overwrite: bool = False) -> ComparisonFiles:
    """Write page, summary and both signals over one time."""
    from servotwin.report.compare_page import write_comparison

    return write_comparison(
        compared.comparison, compared.saved, compared.measured, folder, overwrite=overwrite
    )


def of_equations(
    equations: RobotEquations, file: str | Path, form: FormName = "MCg", *, overwrite: bool = False
) -> Path:
    """Write the equations; the ending decides: .html, .txt, .md, .tex, .m or .wl (Mathematica), .py.

    A name without an ending is a folder, which gets ``equations.html`` and ``equations.py``.
    """
    from servotwin.description.file_write import export_text
    from servotwin.simulation.results.folder import replaced_folder

    if not Path(file).suffix or Path(file).is_dir():
        texts = {name: equations_text(equations, Path(name).suffix, form) for name in EQUATION_FILES}
        with replaced_folder(file, frozenset(EQUATION_FILES), overwrite=overwrite) as place:
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")
        return Path(file)
    export_text(file, equations_text(equations, Path(file).suffix.lower(), form), overwrite=overwrite)
    return Path(file)


def equations_text(equations: RobotEquations, ending: str, form: FormName = "MCg") -> str:
    """The equations as a file with this ending has them."""
    from servotwin.report.equations_page import equations_html

    writers = {
        ".html": lambda: equations_html(equations, form),
        ".txt": lambda: equations.text(form),
        ".md": lambda: equations.markdown(form),
        ".tex": lambda: equations.latex(form),
        ".m": lambda: equations.mathematica(form),
        ".wl": lambda: equations.mathematica(form),
        ".py": equations.python,
    }
    if ending not in writers:
        raise InputError(
            f"'{ending}'; expected a name that ends in one of {', '.join(ENDINGS)}", field="file"
        )
    return writers[ending]()
