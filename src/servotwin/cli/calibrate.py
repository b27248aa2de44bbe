"""``servotwin calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides, read_quantity
from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import progress_bar
from servotwin.description.display import MM
from servotwin.description.nodes import one_line
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.report.drawn_calibration import DrawnCalibration, DrawnPlan


def calibrate(
    name: str,
    overrides: Sequence[str] | None,
    *,
    measured: str | None,
    plan: int | None,
    parameters: str,
    sigma: str | None,
    sigma_angle: str | None,
    tracker: bool,
    prior: bool,
    held_out: float,
    validate: str | None,
    base: bool,
    orientation: bool,
    criterion: str,
    readings: int,
    payload: str | None,
    seed: int,
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Print or write a calibration, or plan one."""
    if (measured is None) == (plan is None):
        raise InputError("expected one of --measured FILE and --plan COUNT", field="calibrate")
    families = tuple(part.strip() for part in parameters.split(",") if part.strip())
    options: dict[str, Any] = {
        "parameters": families,
        "readings": readings,
        "noise": _noise(sigma, sigma_angle, tracker),
        "payload": None if payload is None else read_quantity("--payload", payload, "kg", example="20 kg"),
        "seed": seed,
        "changes": read_overrides(overrides),
    }
    if plan is not None:
        if criterion not in ("D", "prediction"):
            raise InputError(f"'{one_line(criterion)}'; expected D or prediction", field="--criterion")
        _plan(
            name, plan, {**options, "orientation": orientation, "criterion": criterion}, out, overwrite, json
        )
        return
    with ExitStack() as claimed:
        if out is not None:
            from servotwin.simulation.results.folder import CALIBRATION_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, CALIBRATION_FILES, overwrite=overwrite))
        with progress_bar(f"calibrating {one_line(name)}") as advance:
            from servotwin.report.drawn_calibration import calibrate as run

            assert measured is not None
            found = run(
                name,
                measured,
                prior=prior,
                held_out=held_out,
                validate=validate,
                base=base,
                progress=advance,
                **options,
            )
            advance(1.0)
    places = {}
    if out is not None:
        with working("drawing"), finishing():
            places = found.report(out, overwrite=overwrite)
    if json:
        print_json({**places, **found.summary()})
        return
    _print(found)
    for what, where in places.items():
        print_line(f"{what + ':':<11}{where}")


def _noise(sigma: str | None, sigma_angle: str | None, tracker: bool) -> Any:
    from servotwin.design.calibration.noise import ANGLE, Noise, Tracker

    angle = (
        ANGLE
        if sigma_angle is None
        else read_quantity("--sigma-angle", sigma_angle, "rad", example="0.1 mrad")
    )
    if angle <= 0.0:
        raise InputError("expected a standard deviation above zero", field="--sigma-angle")
    if tracker:
        if sigma is not None:
            raise InputError("--tracker states the noise; expected one of them", field="--sigma")
        return Tracker(angle=angle)
    if sigma is None:
        return None if sigma_angle is None else Noise(angle=angle)
    size = read_quantity("--sigma", sigma, "m", example="0.05 mm")
    if size <= 0.0:
        raise InputError("expected a standard deviation above zero", field="--sigma")
    return Noise(position=size, angle=angle, distance=size, stated=True)


def _plan(
    name: str, count: int, options: dict[str, Any], out: str | None, overwrite: bool, json: bool
) -> None:
    with progress_bar(f"choosing poses of {one_line(name)}") as advance:
        from servotwin.report.drawn_calibration import plan_calibration

        made = plan_calibration(name, count, progress=advance, **options)
        advance(1.0)
    if out is not None:
        with finishing():
            made.write(out, overwrite=overwrite)
    if json:
        print_json(_plan_data(made, out))
        return
    p = made.plan
    print_line(f"{made.model.robot.name}: {len(made.q)} poses tell {len(p.told.chosen)} parameters")
    print_line(
        f"the tool's place would be known to {MM * p.prediction:.4f} mm (root mean square over the workspace) with "
        f"{'one reading' if made.readings == 1 else f'the mean of {made.readings} readings'} at each pose; from "
        f"{p.random_count} random poses, read once, to {MM * made.random_prediction:.4f} mm"
    )
    if out is None:
        print_line(made.csv().rstrip())
    else:
        print_line(f"poses:    {out}")


def _plan_data(made: DrawnPlan, out: str | None) -> dict[str, Any]:
    p = made.plan
    names = [made.model.parameters[k].name for k in p.told.chosen]
    return {
        "robot": made.model.robot.name,
        "poses": out,
        "q": made.q.tolist(),
        "parameters": dict(zip(names, p.sigma.tolist(), strict=True)),
        "prediction_m": p.prediction,
        "readings": made.readings,
        "random_poses": p.random_count,
        "random_prediction_m": made.random_prediction,
    }


def _print(found: DrawnCalibration) -> None:
    data = found.summary()
    print_line(
        f"{data['robot']}: {len(found.found)} parameters from {data['poses']} measured {data['measured']}, "
        f"{data['poses_held_out']} held out"
    )
    rows = [("fitted", data["error_before_m"], data["error_after_m"])]
    if data["poses_held_out"]:
        rows.append(("held out", data["held_out_before_m"], data["held_out_after_m"]))
    print_table(
        ("poses", "before [mm]", "after [mm]"),
        [(what, f"{MM * a:.4f}", f"{MM * b:.4f}") for what, a, b in rows],
    )
    if data["poses_held_out"]:
        print_line(f"error held out over the prediction of the noise bound: {found.ratio:.3f}")
    print_heading("Parameters")
    print_table(
        ("parameter", "value", "sigma", "unit"),
        [(p.name, f"{p.value:.4e}", f"{p.sigma:.1e}", p.unit or "-") for p in found.found],
    )
    if found.not_identified:
        print_note(f"not identified by themselves: {', '.join(found.not_identified)}")
    for note in found.notes:
        print_note(f"note: {note}")
