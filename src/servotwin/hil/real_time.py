"""Substitution against a rig behind a transport, or its twin in process, by the wall's clock or in simulated time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from servotwin.description.nodes import quoted
from servotwin.errors import InputError, SimulationError
from servotwin.hil.cycle import cycle_piece
from servotwin.hil.link.addresses import Address, check_reach, read_address, read_key
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.endpoint import Transport
from servotwin.hil.link.link_report import LinkReport
from servotwin.hil.link.link_run import GUARD_NS, Cycle, LinkRun
from servotwin.hil.link.supervision import TOLERANCE, check_tolerance
from servotwin.hil.recorded_cycle import RECORDED, recorded_cycle, rehearsed_cycle
from servotwin.hil.records import CycleStatus, Role
from servotwin.hil.result import COLUMNS, SubstitutionResult, SubstitutionRun
from servotwin.hil.rig_model import rig_piece
from servotwin.hil.rig_record import RIG
from servotwin.hil.run import MOST_NUMBERS, _begin_rig, tell_new_warnings, tell_warnings, with_pure
from servotwin.hil.run_warnings import deadline_warnings, limit_warnings, twin_limits, with_warnings
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.hil.substitution import Substitution, build_substitution
from servotwin.realtime.executive import Overrun
from servotwin.realtime.grants import check_cpu
from servotwin.realtime.libc import SUPPORTED

MOST_GUARD = 0.01  # s


@dataclass(frozen=True)
class RealTime:
    """How an arm meets its rig. ``transport``: see docs/rig-protocol.md; ``wall``: by the wall's clock."""

    transport: str = "in-process"
    wall: bool = True
    overrun: str | None = None  # hold, skip or stop; default skip, or hold in process
    tolerance: int = TOLERANCE
    key_file: str | PathLike[str] | None = None
    allow_network: bool = False
    cpu: int | None = None
    bare: bool = True
    guard: float = (
        GUARD_NS * 1e-9
    )  # s before a deadline from which the clock is polled; at most a quarter of a period
    rehearse: bool = True  # the cycle is rehearsed within the guard

    def check(self) -> None:
        """InputError if something of it cannot be used; nothing is opened yet."""
        self.policy()
        check_tolerance(self.tolerance)
        check_cpu(self.cpu)
        if not 0.0 <= self.guard <= MOST_GUARD:
            raise InputError(
                f"{self.guard * 1e6:g} us is not accepted; expected 0 to {MOST_GUARD * 1e6:g} us",
                field="--guard",
            )
        if not self.wall and self.address().transport != Transport.IN_PROCESS:
            raise InputError(
                "a rig elsewhere has its own clock; expected --transport in-process", field="--simulated-time"
            )
        check_reach(self.address(), network=self.allow_network, key=self.key())

    def key(self) -> bytes | None:
        """The key that frames are authenticated with."""
        return None if self.key_file is None else read_key(self.key_file)

    def address(self) -> Address:
        """The transport, checked."""
        if not SUPPORTED:
            raise InputError("real time needs Linux", field="--transport")
        return read_address(self.transport)

    def policy(self) -> Overrun | None:
        """What happens after an overrun; None: the default of the transport."""
        if self.overrun is None:
            return None
        names = [each.name.lower() for each in Overrun]
        if self.overrun not in names:
            raise InputError(
                f"{quoted(self.overrun)} is not accepted; expected one of {', '.join(names)}",
                field="--overrun",
            )
        return Overrun[self.overrun.upper()]


def run_real_time(
    made: Substitution, how: RealTime, look: Callable[[LinkRun], None] | None = None
) -> tuple[SubstitutionRun, LinkReport]:
    """Run an arm that was built against its rig; rows as ``run_substitution`` gives them, and how the link behaved.

    SimulationError with the rows so far if the run went to its safe state.
    """
    scenario, n = made.scenario, len(made.joints)
    count, shafts = scenario.ticks + 1, len(scenario.substituted)
    if not shafts:
        raise scenario.error("no joint is substituted; expected one at least for a rig", "substitute")
    if count * len(COLUMNS) * n > MOST_NUMBERS:
        raise scenario.error(
            f"{count} servo periods are more than are recorded; expected a shorter run", "duration"
        )
    how.check()
    address = how.address()
    rig = _twin(made) if address.transport == Transport.IN_PROCESS else np.zeros(0, RIG)
    rows = np.full((count, len(COLUMNS), n), np.nan)
    record = _record(made, rig, rows)
    run = _link_run(made, how, address, record, rig, count)
    try:
        report = run.run(look)
    except KeyboardInterrupt:
        report = run.report()
        if not record["done"][0]:
            raise  # nothing has been simulated: there is no result
    endpoint = run.link["endpoint"][0, 0]
    limits = twin_limits(rig) if len(rig) else (endpoint["voltage_limit"], endpoint["torque_limit"])
    return _result(made, rows[: int(record["done"][0])], report, count, limits), report


def substitute_real_time(
    scenario: SubstitutionScenario,
    how: RealTime,
    *,
    compare: bool = True,
    allow_code: bool = False,
    look: Callable[[LinkRun], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> SubstitutionResult:
    """``substitute`` against a rig; SimulationError with the result so far if it went to its safe state."""
    how.check()
    failure = None
    made = build_substitution(scenario, allow_code=allow_code)
    tell_warnings(made, warn)  # before the rig is enabled
    try:
        run, report = run_real_time(made, how, look)
    except SimulationError as error:
        failure = error
        run, report = error.partial
    if not len(run.rows):
        raise SimulationError(f"{scenario.name}: {report.words}, before the first instant of the arm")
    tell_new_warnings(made, run, warn)
    result = SubstitutionResult(run, None, report)
    if compare:
        result = with_pure(run, report, allow_code=allow_code, warn=warn)
    if failure is not None:
        raise SimulationError(str(failure), partial=result)
    return result


def _twin(made: Substitution) -> Any:
    scenario = made.scenario
    assert scenario.rig is not None
    rig = scenario.rig.records(scenario.file.seed, len(scenario.substituted))
    _begin_rig(rig, made)
    return rig


def _record(made: Substitution, rig: Any, rows: Any) -> Any:
    record, spare = np.zeros(1, RECORDED), np.zeros(rows.shape[1:])
    made.kept.append(spare)
    record["recorded_at"], record["spare_row_at"] = recorded_cycle.address, spare.ctypes.data
    record["cycle_at"], record["arm_at"] = cycle_piece.address, made.arm.ctypes.data
    record["rig_at"], record["rig_shafts"] = rig.ctypes.data, len(rig)
    record["rows_at"], record["room"], record["columns"] = rows.ctypes.data, len(rows), rows.shape[1]
    return record


def _link_run(
    made: Substitution, how: RealTime, address: Address, record: Any, rig: Any, count: int
) -> LinkRun:
    period_ns = made.scenario.period_ns
    substituted = made.joints[made.joints["role"] == Role.SUBSTITUTED]
    angles = substituted["theta"][np.argsort(substituted["shaft"])]
    cycle = Cycle(
        recorded_cycle.address,
        record,
        len(substituted),
        period_ns,
        tuple(float(angle) for angle in angles),
        record["status"],
        rehearsed_cycle.address if how.rehearse else 0,
        (record, made.arm, made.joints, made.forces, *_rehearsed_arrays(made)),
        bool(substituted["stamped"].any()),
        tuple(made.scenario.substituted),
    )
    return LinkRun(
        cycle, address, count,
        key=how.key(), network=how.allow_network,
        policy=how.policy(), paced=how.wall, bare=how.bare, guard_ns=round(how.guard * 1e9),
        rehearse=how.rehearse, tolerance=how.tolerance, cpu=how.cpu,
        rig=rig, step_at=rig_piece.address,
    )  # fmt: skip


def _rehearsed_arrays(made: Substitution) -> list[Any]:
    """Arrays that a rehearsal writes to; functions of the user's are muted in it, their memory stays as it is."""
    muted = set(made.forces["memory"].tolist())
    return [a for a in made.kept if isinstance(a, np.ndarray) and a.ctypes.data not in muted]


def _result(
    made: Substitution, rows: Any, report: LinkReport, count: int, limits: tuple[Any, Any]
) -> SubstitutionRun:
    status = CycleStatus(int(made.arm["status"][0]))
    complete = len(rows) + report.numbers["made_up_periods"] == count and not report.safe
    run = SubstitutionRun(made.scenario, made.joint_names, rows, status, complete, made.warnings)
    if len(rows):
        run = with_warnings(run, [*deadline_warnings(report), *limit_warnings(run, *limits)])
    if report.safe and report.cause != Cause.ENDED:
        at = float(run.time[-1]) if len(rows) else 0.0
        said = "" if status == CycleStatus.RUNNING else f" ({status.name.lower().replace('_', ' ')})"
        raise SimulationError(
            f"{made.scenario.name}: safe state at {at:.6g} s: {report.words}{said}", partial=(run, report)
        )
    return run
