"""The report on a simulated run: one page that opens offline."""

from __future__ import annotations

from typing import Any

from servotwin.description.display import MM, MS, UM
from servotwin.report.page import Card, Page
from servotwin.report.simulation_sections import LEAST_ROWS, drive_sections, pwm_words, say_if_empty
from servotwin.report.simulation_tables import SENSIBLE
from servotwin.report.simulation_view import View, view
from servotwin.simulation.results.result import Result
from servotwin.version import __version__


def simulation_page(result: Result) -> str:
    """The page as HTML."""
    shown = view(result)
    page = Page(result.scenario.title or result.scenario.name, _subtitle(shown))
    _messages(page, shown)
    if len(shown.t) >= LEAST_ROWS:
        page.cards(_cards(shown))
    drive_sections(page, shown)
    files = "summary.json and signals.parquet" + (", zoom.parquet" if result.zoom else "")
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in {files}, in SI units.")


def _subtitle(shown: View) -> str:
    result, numbers = shown.result, shown.result.summary
    title = result.robot.title or result.robot.name
    return f"{title}: {shown.duration:.3g} s, {numbers.get('method', '')} solver {pwm_words(shown)}."


def _messages(page: Page, shown: View) -> None:
    """What a reader must know before anything else."""
    if not shown.result.complete:
        why = shown.result.summary.get("failure")
        page.warning(
            f"The run did not come to its end: everything here stops at {shown.duration:.4g} s"
            f"{f' ({why})' if why else ''}."
        )
    say_if_empty(page, shown)
    for line in shown.result.summary.get("warnings", []):
        page.warning(str(line))
    for line in shown.result.summary.get("notes", []):
        page.note(str(line))


def _cards(shown: View) -> list[Card]:
    numbers, complete = shown.result.summary, shown.result.complete
    cards = []
    factor = _number(numbers, "real_time_factor")
    if factor is not None:
        speed = f"{numbers['simulated_s']:.3g} s in {numbers['wall_s']:.2g} s"
        cards.append(Card("Simulated at", f"{factor:.3g}", "times real time", speed))
    final, most = _number(numbers, "tip_error_final_m"), _number(numbers, "tip_error_max_m")
    if final is not None:
        remark = "" if most is None else f"{MM * most:.3g} mm at most on the way"
        value, unit = _length(final)
        cards.append(Card("Tip error at rest" if complete else "Tip error at last", value, unit, remark))
    cards += _torque_card(numbers)
    if "settling_s" in numbers and complete:
        settled = _number(numbers, "settling_s")
        band = _number(numbers, "settling_band_m")
        within = "" if band is None else f" to {MM * band:.3g} mm"
        if settled is None:
            cards.append(Card("Settling", "-", "", f"did not settle{within}", "warn"))
        else:
            cards.append(Card("Settling", f"{MS * settled:.0f}", "ms", f"after the command ends{within}"))
    balance = _number(numbers.get("energy", {}), "balance_error_relative")
    if balance is not None and abs(balance) < 1.0:  # a run that diverged has none
        mark = "good" if abs(balance) < 1e-6 else "warn"
        cards.append(
            Card("Energy balance", f"{abs(balance):.0e}", "", "of the energy moved is unaccounted for", mark)
        )
    return cards


def _torque_card(numbers: dict[str, Any]) -> list[Card]:
    """The motor that is used most against what it gives at most, or else against its rating."""
    for key, word in (("peak_rating_N_m", "the peak"), ("rated_torque_N_m", "the rated")):
        rated = [axis for axis in numbers.get("axes", []) if axis.get(key)]
        if rated:
            worst = max(rated, key=lambda axis: float(axis["peak_torque_N_m"] / axis[key]))
            share = worst["peak_torque_N_m"] / worst[key]
            if not 100.0 * share < SENSIBLE:
                return []
            mark = "warn" if share > 1.0 + 1e-9 else "good"
            remark = f"motor {worst['motor']}, {100 * share:.0f}\u00a0% of {word} torque"
            return [Card("Highest torque", f"{worst['peak_torque_N_m']:.3g}", "N m", remark, mark)]
    return []


def _number(numbers: dict[str, Any], key: str) -> float | None:
    value = numbers.get(key)
    return float(value) if isinstance(value, int | float) else None


def _length(metres: float) -> tuple[str, str]:
    if abs(metres) < 1e-7:
        return "< 0.1", "µm"
    return (f"{UM * metres:.2g}", "µm") if abs(metres) < 1e-5 else (f"{MM * metres:.3g}", "mm")
