"""A cycle against the twin of a rig: the same bits on every transport, and the safe state after every fault."""

import contextlib
import errno
import fcntl
import os
import pty
import socket
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError, SimulationError
from servotwin.hil.link.addresses import read_address
from servotwin.hil.link.causes import Cause
from servotwin.hil.link.endpoint import BUDGET, Transport, new_endpoint
from servotwin.hil.link.frames import Kind, Refusal
from servotwin.hil.link.handshake import LONGEST_PERIOD, LONGEST_WATCHDOG, build_frame, read_frame, say_hello
from servotwin.hil.link.injected import Injected
from servotwin.hil.link.opening import SHARED, TYPE_OF_SERVICE, opened
from servotwin.hil.link.rig_loop import SessionEnd
from servotwin.hil.link.rig_server import Fault, RigServer
from servotwin.hil.ports import RigFault
from servotwin.hil.rig_file import read_rig
from servotwin.hil.rig_model import rig_piece
from servotwin.realtime.executive import Ending, Overrun
from servotwin.realtime.libc import SUPPORTED
from tests.stand_in_arm import link_run, rig_thread

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="Linux only")
CYCLES = 300
TRIES = 5  # runs until one is not disturbed by the machine
PATIENT = {"tolerance": 200}  # for runs that shall not fail though the machine is busy


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def between(target, answers):
    """A port on the way to a rig. ``answers(kind, number, frame)``: what is passed on of the rig's frames, by kind."""
    here, there = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    here.bind(("127.0.0.1", 0))
    there.connect(("127.0.0.1", target))
    sent, peer, counts, stop = [], [], {}, threading.Event()

    def up():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                data, source = here.recvfrom(2048)
                peer[:] = [source]
                sent.append(data)
                there.send(data)

    def down():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                data = there.recv(2048)
                counts[data[5]] = counts.get(data[5], 0) + 1
                for each in answers(data[5], counts[data[5]], data):
                    here.sendto(each, peer[0])

    for each in (here, there):
        each.settimeout(0.1)
    threads = [threading.Thread(target=each) for each in (up, down)]
    for thread in threads:
        thread.start()
    try:
        yield here.getsockname()[1], sent
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        here.close()
        there.close()


@contextlib.contextmanager
def crossed_lines():
    """Two pseudo-terminals whose masters are joined: a serial cable."""
    (a, rig), (b, simulator) = pty.openpty(), pty.openpty()
    ends = [os.ttyname(rig), os.ttyname(simulator)]
    stop = threading.Event()

    def carry(source, target):
        os.set_blocking(source, False)
        while not stop.is_set():
            try:
                os.write(target, os.read(source, 4096))
            except OSError:
                time.sleep(1e-4)

    threads = [threading.Thread(target=carry, args=pair) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    try:
        yield ends
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for fd in (a, b, rig, simulator):
            os.close(fd)


def _simulated(cycles=CYCLES):
    record, run = link_run("in-process", cycles, paced=False)
    assert not run.run().safe
    return record


def test_in_process_twin_gives_the_same_bits_in_real_and_in_simulated_time():
    record, run = link_run("in-process", CYCLES)
    report = run.run()
    assert report.ending == Ending.COMPLETE
    assert not report.safe
    reference = _simulated()
    assert np.abs(reference["rates"]).max() > 1.0
    assert record.tobytes() == reference.tobytes()


@pytest.mark.parametrize("transport", ["udp", "udp-key", "udp6", "shm", "serial"])
def test_rig_elsewhere_gives_the_same_bits_on_every_transport(transport):
    key = b"k" * 32 if transport == "udp-key" else None
    cycles, rate = (40, 20) if transport == "serial" else (CYCLES, 200)  # threads of Python are the cable
    with contextlib.ExitStack() as stack:
        if transport == "serial":
            there, here = (f"serial:{path}?baud=1000000" for path in stack.enter_context(crossed_lines()))
        else:
            host = "[::1]" if transport == "udp6" else "127.0.0.1"
            here = f"shm:test-{os.getpid()}" if transport == "shm" else f"udp://{host}:{free_port()}"
            there = here
        sessions = stack.enter_context(rig_thread(there, key=key))
        for _ in range(TRIES):
            record, run = link_run(here, cycles, key=key, rate=rate, **PATIENT)
            report = run.run()
            assert report.ending == Ending.COMPLETE, report.lines()
            assert not report.safe
            if not report.numbers["disturbed_cycles"]:
                break
    if report.numbers["disturbed_cycles"]:  # a late answer shifts the samples
        pytest.skip(f"the machine is too busy: {TRIES} runs were disturbed; the bits are not compared")
    np.testing.assert_array_equal(record["rates"][0], _rates_at(rate, cycles))
    assert sessions[-1].end == SessionEnd.BYE
    assert sessions[-1].answered >= cycles


def _rates_at(rate, cycles=CYCLES):
    record, run = link_run("in-process", cycles, rate=rate, paced=False)
    run.run()
    return record["rates"][0]


FAULTS = {
    Injected.DROP: {Cause.SILENCE},
    Injected.FREEZE: {Cause.SILENCE, Cause.DELAY},  # it wakes up while the safe command is repeated, or later
    Injected.DELAY: {Cause.DELAY},
    Injected.DUPLICATE: {Cause.DUPLICATE},
    Injected.REORDER: {Cause.REORDERED},
    Injected.CORRUPT: {Cause.CHECKSUM, Cause.MAGIC, Cause.VERSION, Cause.KIND},
    Injected.GARBAGE: {Cause.LENGTH, Cause.MAGIC},
    Injected.NAN: {Cause.NOT_FINITE},
    Injected.RANGE: {Cause.NOT_FINITE, Cause.RANGE},
    Injected.STALE: {Cause.STALE},
    Injected.SESSION: {Cause.SESSION},
}


SLOW, SHORT, FAULTY_FROM = 20, 20, 10  # Hz, cycles, command: outages of a busy machine are mostly shorter


def _with_fault(kind):
    """A run against a rig with a fault; again if anything disturbed it before the fault, or deadlines were left out."""
    for _ in range(TRIES):
        where = f"udp://127.0.0.1:{free_port()}"
        with rig_thread(where, Fault(kind, FAULTY_FROM, 400_000_000)) as sessions:
            record, run = link_run(where, SHORT, rate=SLOW)
            report = run.run()
        if report.numbers["skipped_deadlines"] == 0 and not run.rows["cause"][:FAULTY_FROM].any():
            return record, run, report, sessions
        assert report.safe  # whatever else it was
    pytest.skip(f"the machine is too busy: {TRIES} runs were disturbed before the fault")


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_of_the_rig_leads_to_the_safe_state_within_three_cycles_and_is_named(kind):
    record, run, report, sessions = _with_fault(kind)
    rows = run.rows[: int(run.link["rows"][0])]
    safe = int(np.flatnonzero(rows["safe"])[0])
    assert report.cause in FAULTS[kind], report.lines()
    # command 10 is sent in cycle 9; its answer would come in cycle 10
    assert FAULTY_FROM <= safe <= FAULTY_FROM + 2
    assert rows["safe"][safe:].all()
    for name in ("enable", "brake_released", "load_torque", "drive_voltage"):
        assert not run.link["command"][name].any()
    assert (
        record["k"][0] == report.numbers["simulated_cycles"] == safe - 1
    )  # the arm stopped, its record is whole
    good = FAULTY_FROM - 1
    np.testing.assert_array_equal(record["rates"][0, :good], _rates_at(SLOW)[:good])
    assert sessions[0].end in (SessionEnd.BYE, SessionEnd.SILENCE)


def test_counts_of_a_run_fit_each_other_and_those_of_the_rig():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where) as sessions:
        _, run = link_run(where, 50, rate=100, **PATIENT)
        report = run.run()
    n = report.numbers
    assert n["cycles"] >= n["simulated_cycles"] + 1 == 51
    assert n["commands_sent"] == sessions[0].answered == n["cycles"] + 3  # the safe ones at the end
    assert n["clean_cycles"] + n["disturbed_cycles"] == n["cycles"] - 1  # the first one has nothing to judge
    assert n["answers_accepted"] <= n["cycles"] - 1
    assert f": {n['cycles']} cycles, {n['disturbed_cycles']} of them disturbed, " in report.lines()[0]


def test_in_process_nothing_is_sent_and_no_zeros_are_said():
    _, run = link_run("in-process", 50, paced=False)
    report = run.run()
    assert report.lines()[0] == "link in-process: 51 cycles"
    assert "commands_sent" not in report.numbers


def test_cycles_after_a_failure_are_safe_and_not_disturbed():
    _, _, report, _ = _with_fault(Injected.FREEZE)
    n, failed = report.numbers, int(report.numbers["safe_state"]["cycle"])
    assert n["disturbed_cycles"] == sum(n["disturbed_by"].values()) == 3
    assert n["clean_cycles"] + n["disturbed_cycles"] == failed
    assert n["cycles"] == failed + n["safe_cycles"]
    assert f", 3 of them disturbed, the last {n['safe_cycles']} safe, " in report.lines()[0]


def test_rig_that_is_left_alone_goes_to_its_safe_state_by_itself():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where) as sessions:
        _, run = link_run(where, 50, rate=200)
        run.executive["finish_at"] = 0  # the simulator vanishes without a word
        run.run()
        deadline = time.monotonic() + 20
        while not sessions and time.monotonic() < deadline:
            time.sleep(0.05)
    assert sessions[0].watchdog
    assert sessions[0].end == SessionEnd.SILENCE


def test_fault_that_the_rig_reports_stops_the_arm_at_once():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where):
        _, run = link_run(where, 200, rate=100, tolerance=20)

        def look(now):
            # the simulator stalls for longer than the rig's watchdog allows, which is 20.5 cycles
            done = int(now.executive["done"][0])
            if done > 30 and not stalled:
                stalled.append(done)
                now.executive["period"] = 400_000_000
            elif stalled and done >= stalled[0] + 3:  # the rig has spoken; the safe cycles need not stall
                now.executive["period"] = 10_000_000

        stalled: list[int] = []
        report = run.run(look)
    assert report.cause == Cause.RIG_FAULT
    said = "the rig reports a fault: watchdog (no valid command came in time) at shaft 1"
    assert report.words == report.numbers["safe_state"]["words"] == said
    assert report.lines()[-1] == f"safe state: {said}"
    assert (run.link["feedback"]["fault"][0, 0, :1] == RigFault.WATCHDOG).all()


def test_command_that_is_not_finite_is_never_sent():
    record, run = link_run("in-process", CYCLES, paced=False, bad_from=50)
    report = run.run()
    assert report.cause == Cause.COMMAND
    assert report.ending == Ending.CYCLE
    assert record["k"][0] == 51
    assert not run.link["command"]["enable"].any()


def test_overrun_that_ends_a_run_is_its_cause_and_not_complete():
    _, run = link_run("in-process", CYCLES, rate=10_000_000, policy=Overrun.STOP)
    report = run.run()
    assert report.ending == Ending.OVERRUN
    assert (report.cause, report.safe) == (Cause.OVERRUN, True)
    assert report.numbers["safe_state"]["cause"] == "overrun"


def test_rig_is_told_in_bye_that_an_overrun_ended_the_run():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where) as sessions:
        _, run = link_run(where, CYCLES, rate=20_000, policy=Overrun.STOP, tolerance=1000)

        def look(now):
            now.executive["period"] = 1  # from now on every cycle is too long

        assert run.run(look).cause == Cause.OVERRUN
    assert (sessions[0].end, sessions[0].bye) == (SessionEnd.BYE, "overrun")


@pytest.mark.parametrize("paced", [True, False])
def test_interrupt_of_a_run_is_its_cause_and_not_complete(paced):
    def look(now):
        raise KeyboardInterrupt

    _, run = link_run("in-process", 1_000_000, paced=paced)
    with pytest.raises(KeyboardInterrupt):
        run.run(look)
    assert run.report().cause == Cause.ENDED


def _interrupted(where, **settings):
    """A run that is interrupted after thirty cycles, and its report."""

    def look(now):
        if int(now.executive["done"][0]) > 30:
            raise KeyboardInterrupt

    _, run = link_run(where, 1_000_000, **settings)
    with pytest.raises(KeyboardInterrupt):
        run.run(look)
    return run, run.report()


@pytest.mark.parametrize("paced", [True, False])
def test_interrupted_run_is_recorded_to_its_safe_state(paced):
    run, report = _interrupted("in-process", paced=paced)
    columns = report.columns()
    assert columns["safe"][-3:].all()
    assert not columns["safe"][:-3].any()
    assert (columns["cause"][-3:] == Cause.ENDED).all()
    assert {len(column) for column in columns.values()} == {report.numbers["cycles"] + 3}
    assert not run.link["feedback"]["load_current"].any()  # of the twin, after the safe command


def test_interrupted_run_has_a_row_for_every_command_that_the_rig_got():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where) as sessions:
        _, report = _interrupted(where, tolerance=200)
    assert (sessions[0].end, sessions[0].bye) == (SessionEnd.BYE, "ended")
    assert len(report.rows) == sessions[0].answered
    assert (report.rows["safe"] != 0).sum() == 3


def test_interrupt_while_the_rig_is_asked_is_the_cause_and_not_complete():
    def look(now):
        raise KeyboardInterrupt

    _, run = link_run(f"udp://127.0.0.1:{free_port()}", 10)
    with pytest.raises(KeyboardInterrupt):
        run.run(look)
    assert (run.report().cause, run.report().safe) == (Cause.ENDED, True)


def test_loop_that_never_ran_is_not_complete():
    _, run = link_run("in-process", 10)
    assert run.report().cause == Cause.LOOP


def test_arm_waits_on_the_safe_command_until_the_first_sample_has_come():
    port, lost = free_port(), 4
    with (
        rig_thread(f"udp://127.0.0.1:{port}"),
        between(port, lambda kind, k, data: [] if kind == Kind.FEEDBACK and k <= lost else [data]) as (
            way,
            sent,
        ),
    ):
        record, run = link_run(f"udp://127.0.0.1:{way}", 30, rate=50, tolerance=100)
        report = run.run()
    commands = [f for f in (read_frame(data, Kind.COMMAND, None) for data in sent) if f is not None]
    first = commands[:lost]
    for name in ("drive_voltage", "load_torque", "enable", "brake_released"):
        assert not any(command["shaft"][name].any() for command in first)
    assert any(command["shaft"]["enable"].any() for command in commands[lost:])
    assert report.cause == Cause.NONE
    assert record["k"][0] == report.numbers["simulated_cycles"] == 30  # it begins later, and is complete


def test_silence_is_no_delay_because_one_answer_was_late_long_before():
    port = free_port()

    def answers(kind, k, data):
        if kind == Kind.FEEDBACK and k == 5:
            time.sleep(0.15)
        return [] if kind == Kind.FEEDBACK and k >= 20 else [data]

    with rig_thread(f"udp://127.0.0.1:{port}"), between(port, answers) as (way, _):
        _, run = link_run(f"udp://127.0.0.1:{way}", 100, rate=20, tolerance=5)
        report = run.run()
    assert report.numbers["frames_not_accepted"].get("delay", 0) > 0
    assert report.cause == Cause.SILENCE, report.numbers


def test_flood_of_good_frames_that_hides_the_answer_is_named():
    port, numbers = free_port(), iter(range(20, 100_000))

    def answers(kind, k, data):
        if kind != Kind.FEEDBACK or k < 20:
            return [data]
        frame = read_frame(data, Kind.FEEDBACK, None)
        shaft = {name: frame["shaft"][name] for name in frame["shaft"].dtype.names}
        made = []
        for number in (
            next(numbers) for _ in range(BUDGET + 8)
        ):  # each is new, none answers the newest command
            header = {"session": int(frame["session"]), "sequence": number, "echo": 1}
            time = 10**12 + number
            made.append(build_frame(Kind.FEEDBACK, 1, None, header, time=time, applied=time, shaft=shaft))
        return made

    with rig_thread(f"udp://127.0.0.1:{port}"), between(port, answers) as (way, _):
        _, run = link_run(f"udp://127.0.0.1:{way}", 200, rate=50, tolerance=10)
        report = run.run()
    assert report.cause == Cause.FLOOD, report.numbers


def test_line_that_cannot_be_written_is_named_as_the_transport():
    with crossed_lines() as (there, here), rig_thread(f"serial:{there}"):
        _, run = link_run(f"serial:{here}?baud=1000000", 200, rate=50, tolerance=10)

        def look(now):
            if now.executive["done"][0] > 20:
                now.link["endpoint"]["fd"] = -1  # the device is gone

        report = run.run(look)
    assert report.cause == Cause.TRANSPORT, report.numbers


def _spoilt(data, kind, **values):
    """The frame with other numbers of its shafts."""
    frame = read_frame(data, kind, None)
    shaft = {name: frame["shaft"][name] for name in frame["shaft"].dtype.names} | values
    header = {name: int(frame[name]) for name in ("session", "sequence", "echo", "sent", "echo_sent")}
    once = {name[2:]: frame[name] for name in frame.dtype.names if name.startswith("p_")}
    return build_frame(
        kind,
        1,
        None,
        header,
        **(once | {k: v for k, v in values.items() if k in once}),
        shaft={name: value for name, value in shaft.items() if name not in once},
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("voltage_limit", np.nan, "voltage_limit nan for shaft 1; expected a finite number above zero"),
        ("torque_limit", np.inf, "torque_limit inf"),
        ("rate_limit", 0.0, "rate_limit 0"),
        ("current_limit", -1.0, "current_limit -1"),
        ("encoder", 2, "encoder 2 for shaft 1; expected 0 or 1"),
        ("watchdog", 10**12, "watchdog of 1e"),
        ("watchdog", 0, "watchdog of 0 ms"),
    ],
)
def test_welcome_that_would_switch_a_check_off_is_refused(name, value, said):
    port = free_port()

    def answers(kind, k, data):
        return [_spoilt(data, Kind.WELCOME, **{name: value})]

    with rig_thread(f"udp://127.0.0.1:{port}"), between(port, answers) as (way, sent):
        _, run = link_run(f"udp://127.0.0.1:{way}", 10, rate=50)
        with pytest.raises(InputError) as caught:
            run.run()
    assert said in str(caught.value)
    assert all(data[5] == Kind.HELLO for data in sent)


def test_angle_that_jumps_further_than_the_rate_allows_is_beyond_the_limits():
    port = free_port()

    def answers(kind, k, data):
        if kind != Kind.FEEDBACK or k < 20:
            return [data if kind == Kind.FEEDBACK else _spoilt(data, kind, encoder=1, rate_limit=1000.0)]
        return [_spoilt(data, kind, angle=1e6 * k)]

    def shown(kind, k, data):  # the rig has no encoder: its angle is made up
        made = answers(kind, k, data)
        return [
            _spoilt(each, kind, angle=0.01 * k) if kind == Kind.FEEDBACK and k < 20 else each for each in made
        ]

    with rig_thread(f"udp://127.0.0.1:{port}"), between(port, shown) as (way, _):
        _, run = link_run(f"udp://127.0.0.1:{way}", 60, rate=50, tolerance=10)
        report = run.run()
    assert report.cause == Cause.RANGE, report.numbers
    assert run.link["feedback"]["angle"][0, 0, 0] == pytest.approx(0.19)


def test_one_lost_welcome_is_sent_again():
    port = free_port()
    with (
        rig_thread(f"udp://127.0.0.1:{port}") as sessions,
        between(port, lambda kind, k, data: [] if kind == Kind.WELCOME and k <= 2 else [data]) as (way, sent),
    ):
        _, run = link_run(f"udp://127.0.0.1:{way}", 10, rate=50, tolerance=50)
        assert run.run().cause == Cause.NONE
    assert sum(data[5] == Kind.HELLO for data in sent) >= 3
    assert len(sessions) == 1


def test_welcome_that_comes_twice_disturbs_nothing():
    port = free_port()
    with rig_thread(f"udp://127.0.0.1:{port}"), between(port, _welcome_again()) as (way, _):
        _, run = link_run(f"udp://127.0.0.1:{way}", 20, rate=50, tolerance=50)
        report = run.run()
    assert report.cause == Cause.NONE
    assert "kind" not in report.numbers["frames_not_accepted"]


def _welcome_again():
    kept = []

    def answers(kind, k, data):
        if kind == Kind.WELCOME:
            kept.append(data)
        return [data] + (kept if kind == Kind.FEEDBACK and k == 5 else [])

    return answers


def test_rig_has_bounds_of_its_own_for_period_and_watchdog():
    port = free_port()
    with rig_thread(f"udp://127.0.0.1:{port}"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(20)

        def ask(period, watchdog, angle=0.0):
            once = {"nonce": 1, "period": period, "watchdog": watchdog}
            hello = build_frame(Kind.HELLO, 1, None, {"sequence": 1}, **once, shaft={"angle": [angle]})
            peer.sendto(hello, ("127.0.0.1", port))
            return peer.recv(2048)

        refusal = read_frame(ask(10**15, 10**18), Kind.REFUSAL, None)
        assert (refusal["p_reason"], refusal["p_detail"]) == (Refusal.PERIOD, LONGEST_PERIOD)
        assert read_frame(ask(10**7, 10**9, np.nan), Kind.REFUSAL, None)["p_reason"] == Refusal.ANGLE
        assert read_frame(ask(10**7, 10**18), Kind.WELCOME, None)["p_watchdog"] == LONGEST_WATCHDOG


def test_line_that_is_hung_up_ends_the_rig_with_a_message():
    master, slave = pty.openpty()
    until = time.monotonic() + 30

    def look(server):
        assert time.monotonic() < until, "the rig goes on"

    def hang_up():
        os.close(slave)
        os.close(master)

    rig = read_rig("met-rig")
    server = RigServer(
        read_address(f"serial:{os.ttyname(slave)}"), lambda: rig.records(1, 1), rig_piece.address,
        looked=look, ready=hang_up,
    )  # fmt: skip
    with pytest.raises(SimulationError, match="the line was hung up"):
        server.serve()


GET_EXCLUSIVE = 0x80045440  # TIOCGEXCL of Linux


def test_line_is_its_users_alone_while_it_is_open_and_everybodys_afterwards():
    """Root may open it all the same, so the other one is nobody."""
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    os.fchmod(slave, 0o666)
    other = {"user": 65534} if os.getuid() == 0 else {}

    def attempt():
        words = ["/bin/sh", "-c", 'exec 3<>"$0"', name]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}, **other
        )
        busy = "Device or resource busy" in done.stderr
        assert busy or done.returncode == 0, done.stderr
        return "busy" if busy else "opened"

    def exclusive():
        return fcntl.ioctl(slave, GET_EXCLUSIVE, b"\0" * 4)[0]

    try:
        assert (attempt(), exclusive()) == ("opened", 0)
        with opened(read_address(f"serial:{name}"), new_endpoint(1, Transport.SERIAL)[0], rig=True):
            assert (attempt(), exclusive()) == ("busy", 1)
        assert (attempt(), exclusive()) == ("opened", 0)
    finally:
        os.close(slave)
        os.close(master)


def test_line_that_another_process_has_is_said_in_one_line(monkeypatch):
    def busy(*_):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "open", busy)
    address = read_address("serial:/dev/ttyS0")
    with pytest.raises(InputError, match=r"serial:/dev/ttyS0: another process has the line"):  # noqa: SIM117
        with opened(address, new_endpoint(1, Transport.SERIAL)[0], rig=False):
            pass


def test_shared_memory_of_a_rig_that_was_killed_is_taken_over_and_that_of_a_living_one_is_not():
    where = read_address(f"shm:stale-{os.getpid()}")
    left = Path(where.path)
    left.write_bytes(bytes(SHARED))
    left.chmod(0o600)
    end = new_endpoint(1, Transport.SHARED_MEMORY)
    with opened(where, end, rig=True), pytest.raises(InputError, match="another rig may be running"):
        opened(where, new_endpoint(1, Transport.SHARED_MEMORY), rig=True).__enter__()
    assert not left.exists()


def test_shared_memory_that_is_no_rigs_is_left_alone():
    where = read_address(f"shm:other-{os.getpid()}")
    other = Path(where.path)
    other.write_bytes(b"of somebody else's")
    try:
        with pytest.raises(InputError, match="exists"):
            opened(where, new_endpoint(1, Transport.SHARED_MEMORY), rig=True).__enter__()
        assert other.read_bytes() == b"of somebody else's"
    finally:
        other.unlink()


def test_line_that_is_too_slow_for_a_cycle_is_refused_with_the_rate_that_is_needed():
    with crossed_lines() as (_, here):
        _, run = link_run(f"serial:{here}", 10, rate=200)
        with pytest.raises(
            InputError, match=r"at 115200 baud; expected 376000 baud or more for a period of 5 ms"
        ):
            run.run()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cpu": -1}, "--cpu: -1"),
        ({"tolerance": -3}, "--tolerance: -3"),
        ({"tolerance": 10**15}, "--tolerance: 1000"),
    ],
)
def test_settings_that_no_run_can_have_are_refused_in_one_line(settings, said):
    with pytest.raises(InputError) as caught:
        link_run("in-process", 10, **settings)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_frames_of_the_simulator_are_marked_for_expedited_forwarding():
    end = new_endpoint(1, Transport.UDP)
    with opened(read_address(f"udp://127.0.0.1:{free_port()}"), end, rig=False):
        same = socket.socket(fileno=os.dup(int(end["fd"][0])))
        with same:
            assert same.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == TYPE_OF_SERVICE


def test_response_counts_every_cycle_in_which_a_frame_was_read_and_is_longer_than_computing():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where):
        _, run = link_run(where, 100, rate=200, **PATIENT)
        times = run.run().numbers["times"]
    assert 0 < times["response"]["count"] < times["compute"]["count"] == 101
    assert times["response"]["p50_us"] > times["compute"]["p50_us"]


def test_strangers_disturb_nothing_and_get_no_answer():
    port = free_port()
    where = f"udp://127.0.0.1:{port}"
    rng = np.random.default_rng(1)
    with rig_thread(where) as sessions, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.setblocking(False)
        _, run = link_run(where, CYCLES, rate=200, **PATIENT)
        sent = [0]

        def look(now):
            for _ in range(100):
                size = int(rng.integers(0, 600))
                stranger.sendto(rng.bytes(size), ("127.0.0.1", port))
                sent[0] += 1
            mine = _own_port(int(now.link["endpoint"]["fd"][0, 0]))
            for _ in range(100):
                stranger.sendto(rng.bytes(int(rng.integers(0, 600))), ("127.0.0.1", mine))

        report = run.run(look)
        with pytest.raises(BlockingIOError):
            stranger.recv(2048)
    assert not report.safe, report.lines()
    assert "source" not in report.numbers["frames_not_accepted"]  # the kernel drops them
    assert sessions[0].counts.get("source", 0) > 100
    assert sessions[0].answered > CYCLES // 2  # on a busy machine frames are lost


def _own_port(fd):
    with socket.socket(fileno=os.dup(fd)) as same:
        return same.getsockname()[1]


def test_port_in_use_is_said_in_one_line():
    where = f"udp://127.0.0.1:{free_port()}"
    end = new_endpoint(1, Transport.UDP)
    with rig_thread(where), pytest.raises(InputError, match="the port is in use"):
        opened(read_address(where), end, rig=True).__enter__()


def test_rig_that_is_not_there_is_said_in_one_line():
    _, run = link_run(f"udp://127.0.0.1:{free_port()}", 10)
    with pytest.raises(InputError, match="no rig answers within 4 s"):
        run.run()


def test_more_joints_than_shafts_are_refused_with_their_number():
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where):
        _, run = link_run(where, 10, shafts=3)
        with pytest.raises(InputError, match="the rig has 1 shaft; 3 joints are substituted"):
            run.run()


def test_wrong_version_is_refused_with_both_versions(monkeypatch):
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where):
        from servotwin.hil.link import handshake

        plain = handshake.build_frame

        def older(kind, shafts, key, header, **payload):
            return plain(kind, shafts, key, header | ({"version": 9} if kind == 1 else {}), **payload)

        monkeypatch.setattr(handshake, "build_frame", older)
        _, run = link_run(where, 10)
        with pytest.raises(InputError, match="the rig speaks version 2 of the protocol"):
            run.run()


def test_peer_with_another_key_gets_no_answer(monkeypatch):
    # an answer would come within a millisecond
    monkeypatch.setattr("servotwin.hil.link.link_run.say_hello", partial(say_hello, patience=1.0))
    where = f"udp://127.0.0.1:{free_port()}"
    with rig_thread(where, key=b"a" * 32) as sessions:
        for key in (None, b"b" * 32):
            _, run = link_run(where, 10, key=key)
            with pytest.raises(InputError, match="no rig answers"):
                run.run()
    assert sessions == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tcp://127.0.0.1:5", "'tcp://127.0.0.1:5' is not a transport; expected udp://127.0.0.1:PORT"),
        ("udp://127.0.0.1", "is not a transport"),
        ("udp://127.0.0.1:99999", "is not a transport"),
        ("udp://example.org:47010", "does not give an address in numbers"),
        ("serial:notes.txt", "is not a device"),
        ("serial:/dev/ttyS0?baud=fast", "is not a transport"),
        ("serial:/dev/ttyS0?baud=0", "0 baud"),
        ("shm:../x", "is not a transport"),
        ("", "is not a transport"),
    ],
)
def test_transport_that_is_none_is_refused_with_what_is_accepted(text, said):
    with pytest.raises(InputError) as caught:
        read_address(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)


def test_address_of_another_machine_needs_the_option_and_a_key():
    with pytest.raises(InputError, match="--allow-network"):
        link_run("udp://192.0.2.1:47010", 10)
    with pytest.raises(InputError, match="--key FILE"):
        link_run("udp://192.0.2.1:47010", 10, network=True)


def test_key_that_others_can_read_is_refused(tmp_path):
    from servotwin.hil.link.addresses import read_key

    path = tmp_path / "key"
    path.write_bytes(b"k" * 32)
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        read_key(path)
    path.chmod(0o600)
    assert read_key(path) == b"k" * 32
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(InputError, match="16 to 64"):
        read_key(pipe)  # it does not wait for somebody who writes
    path.write_bytes(b"short")
    with pytest.raises(InputError, match="16 to 64"):
        read_key(path)
