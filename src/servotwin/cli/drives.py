"""``servotwin drives``. Nothing here imports NumPy before the process is in its network namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from servotwin.cli.output import print_json, print_line, print_note, working_or_compiling
from servotwin.errors import InputError
from servotwin.fieldbus.namespace import DRIVES_SIDE, enter_namespace, join_hint

if TYPE_CHECKING:
    from servotwin.fieldbus.robot.build import RobotDrives
    from servotwin.fieldbus.robot.session import ServedDrives

DONE, FAILED = 0, 1


def drives(
    robot: str,
    interface: str | None,
    *,
    namespace: bool = False,
    esi: str | None = None,
    eni: str | None = None,
    axes_per_slave: int = 1,
    lock_step: bool = False,
    pwm: str | None = None,
    position: str | None = None,
    faults: str | None = None,
    watchdog: str | None = None,
    pcap: str | None = None,
    record: str | None = None,
    report: bool = True,
    duration: str | None = None,
    seed: str | None = None,
    overrides: Sequence[str] | None = None,
    overwrite: bool = False,
    allow_code: bool = False,
    json: bool = False,
) -> int:
    """Serve the drives of a robot, or write their ESI or ENI file; the exit code."""
    if esi is not None and eni is not None:
        raise InputError("both are given; expected one of --esi FILE and --eni FILE", field="--eni")
    path = esi if esi is not None else eni
    if path is None and (interface is None) != namespace:
        given = "both are given" if namespace else "neither is given"
        raise InputError(f"{given}; expected one of --interface IF and --namespace", field="--interface")
    if namespace and path is None:
        enter_namespace()
    if path is not None:
        kind = "esi" if esi is not None else "eni"
        return write_xml(kind, robot, path, axes_per_slave, overrides, overwrite=overwrite, json=json)
    seconds, limit = _times(duration, watchdog)
    _check_files(pcap, record, overwrite)
    built = _build(
        robot, axes_per_slave, lock_step, pwm, position, faults, record, seed, overrides, allow_code
    )
    from servotwin.fieldbus.robot.session import set_watchdog

    if limit is not None:
        set_watchdog(built, limit)
    served = _serve(built, robot, interface or DRIVES_SIDE, pcap, record is not None, seconds, namespace)
    if served.pcap_failure:
        print_note(f"{pcap}: {served.pcap_failure}")
    return _finish(served, record, report=report, overwrite=overwrite, json=json)


def write_xml(
    kind: str,
    robot: str,
    path: str,
    axes_per_slave: int,
    overrides: Sequence[str] | None,
    *,
    overwrite: bool,
    json: bool,
) -> int:
    """Write the ESI or ENI file of the drives of a robot."""
    from servotwin.cli.arguments import read_overrides
    from servotwin.description.file_write import export_text, refuse_existing

    refuse_existing(path, overwrite=overwrite)
    with working_or_compiling(f"preparing {robot}"):
        from servotwin.fieldbus.eni import build_eni
        from servotwin.fieldbus.esi import build_esi
        from servotwin.fieldbus.robot.build import robot_drives

        built = robot_drives(robot, read_overrides(overrides), axes_per_slave=axes_per_slave)
        line = [device.objects for device in built.segment.devices]
        text = build_esi(line[0]) if kind == "esi" else build_eni(line, built.segment.step_ns)
    export_text(path, text, overwrite=overwrite)
    if json:
        print_json({kind: path})
    else:
        print_line(f"{kind.upper()}: {path}")
    return DONE


def _times(duration: str | None, watchdog: str | None) -> tuple[float, float | None]:
    from servotwin.cli.arguments import read_quantity

    seconds = float("inf")
    if duration is not None:
        seconds = read_quantity("--for", duration, "s", example="10 s")
        if seconds <= 0.0:
            raise InputError(f"'{duration}' is not accepted; expected more than zero", field="--for")
    if watchdog is None:
        return seconds, None
    limit = read_quantity("--watchdog", watchdog, "s", example="100 ms")
    if not 1e-4 <= limit <= 6.5535:
        raise InputError(f"'{watchdog}' is not accepted; expected 0.1 ms to 6.5535 s", field="--watchdog")
    return seconds, limit


def _check_files(pcap: str | None, record: str | None, overwrite: bool) -> None:
    from servotwin.description.file_write import refuse_existing
    from servotwin.simulation.results.folder import RUN_FILES, claim_folder

    if pcap is not None:
        refuse_existing(pcap, overwrite=overwrite)
    if record is not None:
        claim_folder(record, RUN_FILES, overwrite=overwrite)


def _build(
    robot: str,
    axes_per_slave: int,
    lock_step: bool,
    pwm: str | None,
    position: str | None,
    faults: str | None,
    record: str | None,
    seed: str | None,
    overrides: Sequence[str] | None,
    allow_code: bool,
) -> RobotDrives:
    from servotwin.cli.arguments import read_overrides, read_positions
    from servotwin.cli.rig import read_seed

    if pwm not in (None, "averaged", "switched"):
        raise InputError(f"'{pwm}' is not accepted; expected averaged or switched", field="--pwm")
    number = read_seed(seed)
    with working_or_compiling(f"preparing {robot}"):
        from servotwin.description.checks import motor_names
        from servotwin.description.load import read_description
        from servotwin.fieldbus.robot.build import drives_of_description
        from servotwin.fieldbus.robot.faults import read_fault_plan
        from servotwin.mechanism.build import build_mechanism
        from servotwin.robot.robot import Robot

        description = read_description(robot, read_overrides(overrides))
        q: Any = None
        if position is not None:
            q = read_positions("--q", position, Robot(build_mechanism(description)))
        plan = () if faults is None else read_fault_plan(faults, motor_names(description))
        return drives_of_description(
            description, axes_per_slave=axes_per_slave, lock_step=lock_step, pwm=pwm or "averaged", q=q, faults=plan,
            recording=record is not None, allow_code=allow_code, seed=number,
        )  # fmt: skip


def _serve(
    built: RobotDrives,
    robot: str,
    interface: str,
    pcap: str | None,
    record: bool,
    seconds: float,
    namespace: bool,
) -> ServedDrives:
    from servotwin.cli.live import live_line
    from servotwin.fieldbus.robot.session import serve_built

    def ready(_: RobotDrives) -> None:
        count = len(built.segment.devices)
        slaves = f"{count} slave{'s' if count > 1 else ''}"
        print_note(f"{robot}: {slaves} with {len(built.motors)} axes on {interface}, Ctrl-C ends")
        if built.held:
            print_note(f"no brakes in the file: {', '.join(built.held)} are held while their drives are off")
        if namespace:
            print_note(f"join: {join_hint()}")

    with live_line(f"drives of {robot} on {interface}") as show:
        return serve_built(
            built, interface, pcap=pcap, record=record, seconds=seconds, ready=ready,
            look=lambda each: show(lambda: _words(each)),
        )  # fmt: skip


def _words(built: RobotDrives) -> str:
    from servotwin.fieldbus.cia402.states import State

    states = [State(int(state)).name.lower().replace("_", " ") for state in built.drives.drives["state"]]
    frames = int(built.segment.record["frames"][0])
    return f"{frames} frames, {built.plant.now_ns * 1e-9:.3f} s simulated; {', '.join(states)}"


def _finish(served: ServedDrives, record: str | None, *, report: bool, overwrite: bool, json: bool) -> int:
    files: dict[str, str] = {}
    if record is not None and served.result is not None:
        from servotwin.cli.signals import finishing
        from servotwin.report.simulation_files import write_result

        with finishing(), working_or_compiling("writing the recording"):
            written = write_result(served.result, record, report=report, overwrite=overwrite)
        files = {"signals": str(written.signals), "summary": str(written.summary)}
        if written.page is not None:
            files["report"] = str(written.page)
    if json:
        print_json(
            {
                "frames": served.frames, "refused": served.refused, "unsent": served.unsent, "cycles": served.cycles,
                "simulated_s": served.simulated_s, "wall_s": served.wall_s, "left_out_s": served.left_out_s,
                "grants": dict(served.grants), "errors": dict(served.errors),
                "states": dict(served.states), "failure": served.failure, **files,
            }
        )  # fmt: skip
        return FAILED if served.failure else DONE
    print_line(
        f"{served.frames} frames, {served.refused} refused, {served.cycles} cycles; {served.simulated_s:.3f} s "
        f"simulated in {served.wall_s:.3f} s"
    )
    if served.left_out_s > 0.0:
        print_line(f"{served.left_out_s:.3f} s of the clock left out: the process did not get to run")
    for name, code in served.errors.items():
        print_line(f"{name}: error {code:04X}")
    for name, path in files.items():
        print_line(f"{name}: {path}")
    if served.failure:
        print_note(f"error: {served.failure}")
    return FAILED if served.failure else DONE
