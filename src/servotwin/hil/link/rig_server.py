"""The rig's twin as a server: it waits for a simulator, serves sessions one after the other, and says what it saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.errors import SimulationError
from servotwin.hil.link.addresses import Address, check_reach
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.endpoint import ROOM, new_endpoint
from servotwin.hil.link.handshake import HUNG_UP, Opening, compile_handshake, hear_hello
from servotwin.hil.link.injected import Injected
from servotwin.hil.link.opening import opened
from servotwin.hil.link.rig_loop import RIG_SERVER, SessionEnd, serve_session
from servotwin.hil.rig_record import ANGLE
from servotwin.realtime.grants import Grants, check_cpu
from servotwin.realtime.histogram import read_times
from servotwin.realtime.thread import run_thread

SHORTEST = 50_000  # ns: 20 kHz
LISTEN = 0.1  # s between two looks while nobody speaks
RATE_MARGIN = 2.0  # a measurement may be beyond what trips the rig, by noise


@dataclass(frozen=True)
class Fault:
    """A fault that the twin shows from the answer to a command on."""

    kind: Injected = Injected.NONE
    first: int = 0
    delay_ns: int = 0


@dataclass(frozen=True)
class RigSession:
    """What a session of the rig was."""

    end: SessionEnd
    bye: str | None  # why the simulator ended it
    answered: int
    watchdog: bool
    counts: dict[str, int]
    service: dict[str, Any]
    interval: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        """For a summary."""
        return {
            "end": self.end.name.lower(),
            "bye": self.bye,
            "commands": self.answered,
            "watchdog": self.watchdog,
            "frames_refused": self.counts,
            "service": self.service,
            "interval": self.interval,
        }


@dataclass
class RigServer:
    """The twin of a rig behind a transport. ``records``: makes its shafts at rest, one RIG record each."""

    address: Address
    records: Callable[[], Any]
    step_at: int  # address of ``rig_piece``
    key: bytes | None = None
    peer: str | None = None
    network: bool = False
    fault: Fault = Fault()
    cpu: int | None = None
    grants: Grants = field(default_factory=Grants)
    looked: Callable[[RigServer], None] | None = None
    ready: Callable[[], None] | None = None  # called when the rig can be reached

    def __post_init__(self) -> None:
        check_reach(self.address, network=self.network, key=self.key)
        check_cpu(self.cpu)
        self.shafts = self.records()
        self.server = np.zeros(1, RIG_SERVER)
        self.server["endpoint"][0] = new_endpoint(len(self.shafts), self.address.transport, self.key)
        compile_handshake()
        serve_session.address  # noqa: B018 -- compiled before anyone waits for it

    @property
    def endpoint(self) -> Any:
        """Its end of the link, (1,)."""
        return self.server["endpoint"][0]

    def serve(self, sessions: int = 0, found: list[RigSession] | None = None) -> list[RigSession]:
        """Serve sessions, a number of them or until an exception such as KeyboardInterrupt ends it.

        They are entered in ``found`` as they end, one that is cut short too.
        """
        found = [] if found is None else found
        with opened(self.address, self.endpoint, rig=True):
            if self.ready is not None:
                self.ready()
            while not sessions or len(found) < sessions:
                self._look()
                limits = rig_limits(self.records())
                if self.endpoint["hung"][0]:
                    raise SimulationError(f"{self.address}: {HUNG_UP}")
                opening = hear_hello(self.endpoint, limits, SHORTEST, self.key, LISTEN, self.peer)
                if opening is not None:
                    try:
                        self._serve_one(opening)
                    finally:
                        found.append(self.session())
        return found

    def _look(self) -> None:
        if self.looked is not None:
            self.looked(self)

    def _serve_one(self, opening: Opening) -> None:
        server = self.server
        self.shafts = self.records()[: opening.shafts].copy()
        self.shafts["x"][:, ANGLE] = self.shafts["angle_last"] = opening.angles
        for name in ("feedback", "command", "injection"):
            server[name] = np.zeros((), server.dtype[name])
        for name in ("tripped", "answered", "end_asked"):
            server[name] = 0
        for name in ("service", "interval"):
            server[name] = np.zeros((), server.dtype[name])
        for name, value in rig_limits(self.shafts).items():
            server["endpoint"][name][0, 0, : len(self.shafts)] = value
        injection = server["injection"]
        injection["kind"], injection["first"] = self.fault.kind, self.fault.first
        injection["delay"], injection["random"] = self.fault.delay_ns, 1 + self.fault.first
        server["rig_step_at"], server["rig_at"] = self.step_at, self.shafts.ctypes.data
        server["hello"], server["hello_size"] = _words(opening.hello), len(opening.hello)
        frame = _words(opening.welcome)
        server["endpoint"]["sending"][0, 0], server["welcome_size"] = frame, len(opening.welcome)
        server["period"], server["watchdog"] = opening.period_ns, opening.watchdog_ns
        run_thread(
            serve_session.address,
            server,
            grants=self.grants,
            cpu=self.cpu,
            answering=True,
            look=self._look,
        )

    def session(self) -> RigSession:
        """The session that is served, or the last one."""
        server = self.server[0]
        counts = server["endpoint"][0]["counts"]
        return RigSession(
            SessionEnd(int(server["end"])),
            _bye(server),
            int(server["answered"]),
            bool(server["tripped"]),
            {cause.name.lower(): int(counts[cause]) for cause in Cause if counts[cause]},
            read_times(server["service"]).plain(),
            read_times(server["interval"]).plain(),
        )


def _words(frame: bytes) -> Any:
    return np.frombuffer(frame.ljust(ROOM, b"\0"), np.int64)


def _bye(server: Any) -> str | None:
    if server["end"] != SessionEnd.BYE:
        return None
    number = int(server["bye"])
    return Cause(number).name.lower() if number in list(Cause) else str(number)


def rig_limits(shafts: Any) -> dict[str, Any]:
    """What the rig tells about its shafts in WELCOME; where a rig knows no limit it gives the largest number."""
    most = np.finfo(np.float64).max

    def finite(values: Any) -> Any:
        return np.minimum(np.asarray(values, np.float64), most)

    current = np.maximum(shafts["i_d_limit"], shafts["i_l_limit"])
    return {
        "voltage_limit": finite(shafts["u_limit"]),
        "torque_limit": finite(shafts["i_l_limit"] * shafts["K_l"]),
        "rate_limit": finite(RATE_MARGIN * shafts["w_trip"]),
        "current_limit": finite(RATE_MARGIN * current),
        "encoder": (shafts["counts_per_rad"] > 0.0).astype(np.int64),
    }


__all__ = ["Fault", "RigServer", "RigSession", "rig_limits"]
