"""``servotwin iso9283``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from servotwin.cli.arguments import read_overrides, read_quantities, read_quantity
from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import progress_bar
from servotwin.description.display import MM, UM
from servotwin.description.nodes import one_line
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.design.accuracy.budget import ErrorBudget
    from servotwin.report.drawn_accuracy import DrawnAccuracy

PERCENT = 100.0
MOST_ROWS = 12  # of poses that are printed


def iso9283(
    name: str,
    overrides: Sequence[str] | None,
    *,
    payload: str | None,
    speed: str,
    cycles: int,
    tests: str,
    cube: str | None,
    poses: str | None,
    random: int | None,
    off: str | None,
    trial: int,
    seed: int,
    budget: bool,
    orders: int,
    budget_cycles: int,
    monte_carlo: int,
    pwm: str | None,
    rest: str,
    band: str,
    workers: int | None,
    cluster: str | None,
    tls: tuple[str | None, str | None, str | None],
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Print a prediction after ISO 9283, or write it with its pictures."""
    changes = read_overrides(overrides)
    mass = None if payload is None else read_quantity("--payload", payload, "kg", example="20 kg")
    speeds = [read_quantity("--speed", part.strip(), "", example="50 %") for part in speed.split(",")]
    box = None if cube is None else read_quantities("--cube", cube, ("x", "y", "z", "edge"), ("m",) * 4)
    pause = read_quantity("--rest", rest, "s", example="0.5 s")
    near = read_quantity("--band", band, "m", example="0.1 mm")
    for option, value in (("--trial", trial), ("--seed", seed), ("--monte-carlo", monte_carlo)):
        if not 0 <= value <= 10**9:
            raise InputError(f"{value}; expected 0 to 1000000000", field=option)
    from servotwin.design.accuracy.contributions import check_orders

    check_orders("--orders", orders)
    with ExitStack() as claimed:
        if out is not None:  # a folder that is refused comes before the work is done
            from servotwin.simulation.results.folder import ACCURACY_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, ACCURACY_FILES, overwrite=overwrite))
        with progress_bar(f"accuracy of {one_line(name)}") as advance:
            from servotwin.design.accuracy.other_tests import Settings
            from servotwin.report.drawn_accuracy import iso9283 as compute

            found = compute(
                name, payload=mass, speeds=speeds, cycles=cycles, tests=_words(tests),
                cube=None if box is None else box.tolist(), poses=poses, random=random, off=_words(off or ""),
                trial=trial, seed=seed, budget=orders if budget else 0,
                budget_cycles=budget_cycles, monte_carlo=monte_carlo, pwm=pwm or "switched",
                settings=Settings(rest=pause, band=near), overrides=changes, workers=workers, cluster=cluster,
                tls=None if not any(tls) else (tls[0] or "", tls[1] or "", tls[2] or ""),
                progress=lambda words, part: advance(part),
            )  # fmt: skip
    places = {}
    if out is not None:
        with working("drawing"), finishing():
            places = found.report(out, overwrite=overwrite)
    if json:
        print_json({**places, **found.data()})
    else:
        _print(found)
        for what, where in places.items():
            print_line(f"{what + ':':<10}{where}")
    for note in found.notes:
        print_note(f"note: {note}")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _print(found: DrawnAccuracy) -> None:
    cube = found.poses.cube
    where = ""
    if cube is not None:
        at = ", ".join(f"{MM * v:.1f}" for v in cube.center)
        where = f", cube of {MM * cube.edge:.1f} mm about ({at}) mm"
    print_line(
        f"{found.description.name}: after ISO 9283, payload {found.payload:g} kg{where}, "
        f"robot {found.trial} of the series"
    )
    print_line(f"error sources: {', '.join(found.sources)}")
    for result in found.pose:
        _print_poses(found, result.speed)
    _print_others(found)
    if found.budget is not None:
        _print_budget(found.budget)
    if found.tolerances is not None:
        worst = found.tolerances.percentiles(found.tolerances.worst_accuracy)
        print_line(
            f"{len(found.tolerances.accuracy)} robots of the series: AP at the worst pose below "
            f"{UM * worst['p50']:.4g} um "
            f"for half of them, below {UM * worst['p95']:.4g} um for 95 %"
        )


def _print_poses(found: DrawnAccuracy, speed: float) -> None:
    result = next(one for one in found.pose if one.speed == speed)
    print_heading(
        f"Pose accuracy AP and repeatability RP at {PERCENT * speed:g} %, {len(result.attained)} cycles"
    )
    turn = np.linalg.norm(result.orientation_accuracy, axis=1)
    spread = result.orientation_repeatability.max(axis=1)
    rows = [
        (
            name, *(f"{MM * v:.1f}" for v in X[:3, 3]), f"{UM * AP:.2f}", f"{UM * RP:.2f}", f"{1e6 * a:.1f}",
            f"{1e6 * s:.1f}",
        )
        for name, X, AP, RP, a, s in zip(
            result.poses.names, result.poses.poses, result.accuracy, result.repeatability, turn, spread, strict=True
        )
    ]  # fmt: skip
    columns = ("pose", "x [mm]", "y [mm]", "z [mm]", "AP [um]", "RP [um]", "AP [urad]", "RP [urad]")
    print_table(columns, rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        print_line(
            f"... {len(rows)} poses in all: AP up to {UM * result.accuracy.max():.2f} um, RP up to "
            f"{UM * result.repeatability.max():.2f} um"
        )
    if result.distance is not None:
        AD, RD = result.distance
        print_line(f"distance P2 to P4: AD {UM * AD:.2f} um, RD +-{UM * RD:.2f} um")
    if result.settled:
        t = np.mean([t for t, _ in result.settled])
        over = max(o for _, o in result.settled)
        print_line(
            f"P1: stabilisation time {t:.4f} s (band {MM * result.band:g} mm), overshoot {UM * over:.2f} um"
        )


def _print_others(found: DrawnAccuracy) -> None:
    if found.directions:
        text = ", ".join(f"{row['name']} {UM * row['vAP_m']:.2f} um" for row in found.directions)
        print_line(f"approach from three directions: vAP {text}")
    if found.drift is not None:
        hours = found.drift["times_s"][-1] / 3600.0
        print_line(
            f"drift over {hours:g} h: dAP {UM * found.drift['dAP_m']:.2f} um, dRP {UM * found.drift['dRP_m']:.2f} um"
        )
    for result in found.path:
        print_line(
            f"path at {PERCENT * result.speed:g} %, {result.commanded_speed:.4g} m/s: "
            f"AT {UM * result.path.accuracy:.1f} um, "
            f"RT {UM * result.path.repeatability:.2f} um, AV {PERCENT * result.velocity.accuracy:.2f} %, RV "
            f"{PERCENT * result.velocity.repeatability:.3f} %, FV {result.velocity.fluctuation:.3g} m/s"
        )
    if found.corner is not None:
        c = found.corner
        print_line(
            f"corner with a blend of {MM * c['blend_m']:g} mm: CR {MM * c['CR_m']:.3f} mm (commanded "
            f"{MM * c['commanded_CR_m']:.3f}), CO {MM * c['CO_m']:.4f} mm"
        )
    if found.posing_time:
        text = ", ".join(
            f"{MM * row['distance_m']:g} mm in {row['time_s']:.3f} s" for row in found.posing_time
        )
        print_line(f"posing time (band {MM * found.settings.band:g} mm): {text}")
    if found.compliance:
        text = ", ".join(
            f"{row['direction']} {UM * float(np.linalg.norm(row['m_per_N'])):.4f}" for row in found.compliance
        )
        print_line(f"static compliance at P1 [um/N]: {text}")


def _print_budget(budget: ErrorBudget) -> None:
    total, square = float(np.trace(budget.covariance)), float(np.trace(budget.mean_square))
    size = float(np.sqrt(square))
    print_heading("Error budget: variances add up, and lengths along the whole mean error")
    rows = [
        (
            row.name.replace("_", " "), f"{UM**2 * row.variance:.4g}", f"{UM**2 * row.error:.2g}",
            _share(row.variance, total), f"{UM * row.size:.4g}", f"{UM * row.along:.4g}", _share(row.along, size),
        )
        for row in budget.rows
    ]  # fmt: skip
    rows.append(
        (
            "all together", f"{UM**2 * total:.4g}", f"{UM**2 * budget.whole.error:.2g}", "100.0", f"{UM * size:.4g}",
            f"{UM * size:.4g}", "100.0",
        )
    )  # fmt: skip
    heads = (
        "source",
        "variance [um2]",
        "+-",
        "share [%]",
        "mean error [um]",
        "along the whole [um]",
        "share [%]",
    )
    print_table(heads, rows)


def _share(value: float, total: float) -> str:
    text = f"{PERCENT * value / total:.1f}" if total > 0.0 else "-"
    return "0.0" if text == "-0.0" else text
