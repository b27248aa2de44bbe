"""How often rows are recorded changes no number of a run and no bit of its end; rows agree with each other."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from operators import SCARA, points
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.jobs.language import parse
from servotwin.jobs.program import Program
from servotwin.report.job_story import story_of
from servotwin.report.simulation_files import stored_summary
from servotwin.simulation.job_run import JobSettings, run_job
from servotwin.simulation.plant import machine as machines
from servotwin.simulation.plant.pieces import attach_pieces
from servotwin.simulation.results.result import Result, sampling
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.io_script import parse_io_script
from servotwin.simulation.scenario.parts import Solver
from servotwin.simulation.scenario.scenario import read_scenario
from tests import small_drives as small

EVERY = ("0.2 ms", "1 ms", "7 ms", "50 ms", "100 s")  # the last is longer than all runs
CLOCKS = ("wall_s", "compile_s", "planning_s", "real_time_factor")
IDEAL = {"kind": "ideal", "rotor_inertia": "1e-4 kg*m^2", "rated_torque": "0.3 N*m"}
WORLD = {  # whatever is drawn, counted, or in a state of its own
    "controller": {
        "jitter": "0.05 ms",
        "current_sensor": {"bits": 10, "noise": "0.05 A"},
        "speed_sensing": "inverse-time",
    },
    "power": {
        "capacitance": "2 mF",
        "supply_resistance": "0.1 ohm",
        "braking_resistor": {"resistance": "5 ohm", "on": "64 V", "off": "62 V"},
        "bridge": {"dead_time": "2 us"},
    },
}
RUBBING = {
    **small.DC,
    "coulomb_friction": "0.02 N*m",
    "static_friction": "0.03 N*m",
    "stribeck_speed": "2 rad/s",
}
TOOL = {"tool": {"parent": "A", "xyz": ["0.4 m", "0 m", "0 m"]}}
MOVE = {"move": [{"to": {"A": "1.2345 rad"}, "ramp": "0.1003 s", "dwell": "0.2701 s"}]}
STUCK = {**MOVE, "faults": [{"at": "0.15037 s", "axis": "A", "kind": "encoder-stuck"}]}
SMALL = {
    "plain": ({}, {"motor": small.DC}, {**MOVE, "solver": {"method": "fast"}}),
    "ideal": ({}, {"motor": IDEAL}, {**MOVE, "solver": {"method": "rk4"}}),
    "elastic": (
        WORLD,
        {"motor": RUBBING, "gear": {"ratio": 50, "stiffness": "3000 N*m/rad", "damping": "2 N*m*s/rad"}},
        {**MOVE, "solver": {"method": "fast"}},
    ),
    "synchronous": ({}, {"motor": small.PMSM}, {**MOVE, "solver": {"method": "fast", "pwm": "averaged"}}),
    "stuck encoder": ({}, {"motor": small.DC}, {**STUCK, "solver": {"method": "rk4"}}),
    "zoom": (
        {},
        {"motor": small.DC},
        {**MOVE, "solver": {"method": "fast"}, "record": {"zoom": {"at": "0.1501 s", "span": "1 ms"}}},
    ),
}


def numbers(result: Result) -> str:
    """All that a summary file has, save how long it took."""
    found = stored_summary(result)
    return json.dumps({key: value for key, value in found.items() if key not in CLOCKS}, sort_keys=True)


def end_state(run: Any) -> list[Any]:
    machine = run.machine
    world = machine.world[0]
    kept = ("now", "y", "z", "heat", "error", "impact_J", "events", "intervals_max")
    loops = ("sum_x", "sum_n", "sum_i", "sum_d", "i_ref", "w_meas", "count")
    return [
        *(np.array(world["state"][name]).tobytes() for name in kept),
        *(machine.axes[name].tobytes() for name in loops),
        *(machine.motors[name].tobytes() for name in ("theta", "w", "T_w", "i_peak", "w_peak", "mode")),
        *(machine.logs[name].tobytes() for name in ("spans", "span_count")),
        machine.noise.tobytes(), machine.servo.random.tobytes(), machine.servo.tasks.tobytes(),
        machine.sensors.tobytes(),
    ]  # fmt: skip


def small_case(folder: Path, name: str, every: str) -> tuple[Any, Result]:
    changes, axis, scenario = SMALL[name]
    scenario = small.merged(scenario, {"record": {"every": every}})
    run = small.prepared(folder, small.robot({**TOOL, **changes}, axes={"A": small.axis(**axis)}), scenario)
    return run, carry_out(run, lambda part: None)


def check_alike(runs: dict[str, tuple[Any, Result]]) -> None:
    first_run, first = runs[EVERY[0]]
    assert first.summary["tip_error_max_m"] > 0.0
    for every, (run, result) in runs.items():
        assert numbers(result) == numbers(first), every
        assert end_state(run) == end_state(first_run), every
        assert {k: v.tobytes() for k, v in result.zoom.items()} == {
            k: v.tobytes() for k, v in first.zoom.items()
        }
        assert result.signals["time_s"][-1] == result.summary["simulated_s"]
        spacing = float(every.split()[0]) * (1.0 if every.endswith(" s") else 1e-3)
        assert len(result.signals["time_s"]) == math.ceil(result.summary["simulated_s"] / spacing - 1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_numbers_and_end_of_a_run_are_the_same_however_often_rows_are_recorded(
    tmp_path: Path, name: str
) -> None:
    check_alike({every: small_case(tmp_path, name, every) for every in EVERY})


def test_numbers_and_end_of_a_shipped_scenario_are_the_same_however_often_rows_are_recorded() -> None:
    runs = {}
    for every in EVERY:
        run = prepare(read_scenario("scara-a-axis-100deg", {"record.every": every}))
        runs[every] = (run, carry_out(run, lambda part: None))
    check_alike(runs)


def test_repeatability_is_the_same_however_often_rows_are_recorded(tmp_path: Path) -> None:
    there = [{"to": {"A": f"{a} rad"}, "ramp": "0.03 s", "dwell": "0.06 s"} for a in (0.1, 0.0)]
    found = []
    for every in EVERY:
        scenario = {"move": there, "repeat": 6, "record": {"every": every}, "solver": {"pwm": "averaged"}}
        found.append(small.run_case(tmp_path, small.robot(TOOL), scenario).summary["repeatability"])
    assert [one["visits"] for one in found[0]] == [6, 6]
    assert all(one == found[0] for one in found)


def test_numbers_of_a_job_are_the_same_however_often_rows_are_recorded() -> None:
    job = Program(
        parse("MOVEJ P1\nSET OUT1 ON\nMOVEL P2 SPEED 0.4 m/s\nWAITFOR IN1 ON", "test.job"), points()
    )
    script = parse_io_script(
        "format: servotwin-io/1\nevents: [{when: {OUT1: on}, after: 0.6 s, set: {IN1: on}}]"
    )
    start = dict(zip(SCARA.joint_names, [0.35, 0.7, 0.05, 0.17], strict=True))
    settings = JobSettings(solver=Solver(pwm="averaged"), start=start, settle=0.0331)
    found = {}
    for every in EVERY:
        run = run_job(job, settings=settings, io_script=script, record=every)
        steps = [step.numbers() for step in story_of(run).steps]
        found[every] = numbers(run.result), json.dumps(steps, sort_keys=True)
        assert run.result.signals["time_s"][-1] == run.result.summary["simulated_s"]
    assert len(set(found.values())) == 1
    assert run.log.energy_J is not None
    assert run.log.entries[2].path_deviation_m


# --- the numbers themselves -------------------------------------------------------------------------


@pytest.mark.parametrize("every", ["0.2 ms", "50 ms"])
def test_rms_torque_of_an_ideal_motor_is_that_of_its_commands(tmp_path: Path, every: str) -> None:
    """Without a torque constant the level 'current' commands N m: A sin(w t), held for a current period each."""
    law = PythonLaw(lambda time, _signals: [0.8 * math.sin(40.0 * time)], 2e-4, "current")
    scenario = {**small.rest(0.1, every=every), "solver": {"method": "fast"}}
    machine = small.robot(axes={"A": small.axis(motor=IDEAL)})
    axis = small.run_case(tmp_path, machine, scenario, law).summary["axes"][0]
    held = 0.8 * np.sin(40.0 * 2e-4 * np.arange(500))
    assert axis["rms_torque_N_m"] == pytest.approx(math.sqrt(np.mean(held**2)), rel=1e-12)
    (excess,) = [entry for entry in axis["exceeded"] if entry["kind"].startswith("rated")]
    assert excess["value"] == axis["rms_torque_N_m"]


def test_errors_are_those_of_the_rows_of_every_millisecond(tmp_path: Path) -> None:
    """Recomputed from the signals of a run whose rows lie where the errors are judged."""
    _, fine = small_case(tmp_path, "elastic", "1 ms")
    _, coarse = small_case(tmp_path, "elastic", "50 ms")
    s, axis, summary = fine.signals, coarse.summary["axes"][0], coarse.summary
    error = s["joint_A_position_rad"] - s["joint_A_position_ref_rad"]
    assert axis["joint_error_max"] == np.abs(error).max()
    assert axis["joint_error_final"] == error[-1]
    tip = sum((s[f"tip_{a}_m"] - s[f"tip_ref_{a}_m"]) ** 2 for a in "xyz") ** 0.5
    assert summary["tip_error_max_m"] == pytest.approx(tip.max(), rel=1e-12)
    assert summary["tip_error_across_max_m"] == pytest.approx(s["tip_error_across_m"].max(), rel=1e-9)


def test_settling_is_found_between_the_rows_of_the_log(tmp_path: Path) -> None:
    """Against rows of every current period, whose first one within the band is up to a period later."""
    run, fine = small_case(tmp_path, "elastic", "0.2 ms")
    _, coarse = small_case(tmp_path, "elastic", "50 ms")
    axis, arrival = coarse.summary["axes"][0], float(run.reference.arrivals[-1])
    error = np.abs(fine.signals["joint_A_position_rad"] - fine.signals["joint_A_position_ref_rad"])
    late = fine.signals["time_s"][np.flatnonzero(error > axis["joint_settling_band"])[-1] + 1]
    assert axis["joint_settling_s"] > 0.01
    assert axis["joint_settling_s"] == pytest.approx(late - arrival - 1e-4, abs=1.2e-4)


def test_a_run_ends_with_the_current_period_in_which_its_command_ends(tmp_path: Path) -> None:
    run, result = small_case(tmp_path, "plain", "50 ms")
    wanted = math.ceil(run.reference.duration / 2e-4) * 2e-4
    assert result.summary["simulated_s"] == pytest.approx(wanted, abs=1e-12)
    assert result.summary["simulated_s"] - run.reference.duration < 2e-4
    assert result.signals["time_s"][-1] - result.signals["time_s"][-2] < 0.0499  # a row of its own


def test_a_log_that_is_full_goes_on_half_as_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = small_case(tmp_path, "plain", "1 ms")
    monkeypatch.setattr(machines, "FIRST_LOG", 16)
    monkeypatch.setattr(machines, "LONGEST_LOG", 64)
    _, halved = small_case(tmp_path, "plain", "1 ms")
    t, every = halved.log.time, 1e-3 * 2 ** math.ceil(math.log2(len(whole.log.time) / 63))
    assert len(t) <= 64
    np.testing.assert_allclose(t[:-1], every * np.arange(1, len(t)), rtol=1e-12)
    assert t[-1] == whole.log.time[-1]
    there = np.searchsorted(whole.log.time, t - 1e-9)
    assert halved.log.q.tobytes() == whole.log.q[there].tobytes()
    assert halved.log.energy.tobytes() == whole.log.energy[there].tobytes()


# --- rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elastic", "synchronous"])
def test_rows_are_instants_means_or_bits_of_the_finest_rows(tmp_path: Path, name: str) -> None:
    """As ``sampling`` says of every signal, in the last and shorter row too."""
    fine, coarse = (small_case(tmp_path, name, every)[1].signals for every in ("0.2 ms", "7 ms"))
    last = np.rint(coarse["time_s"] / 2e-4).astype(int) - 1
    assert last[-1] - last[-2] < 35
    groups = np.split(np.arange(last[-1] + 1), last[:-1] + 1)
    kinds = set()
    for signal, values in coarse.items():
        kind = sampling(signal)
        kinds.add(kind)
        if kind == "any":
            wanted = [np.bitwise_or.reduce(fine[signal][rows]) for rows in groups]
            assert values.tolist() == wanted
        elif kind == "mean":
            wanted = np.array([fine[signal][rows].mean() for rows in groups])
            np.testing.assert_allclose(
                values, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max(), err_msg=signal
            )
        else:
            np.testing.assert_allclose(values, fine[signal][last], rtol=1e-9, atol=1e-12, err_msg=signal)
    assert kinds == {"any", "mean", "instant"}


def test_reference_of_the_current_is_a_mean_like_the_current(tmp_path: Path) -> None:
    """A reference of 2 A with a swing of 1 A at 100 Hz: rows of 10 ms that were instants would all say 3 A."""
    law = PythonLaw(lambda time, _signals: [2.0 + math.cos(2.0 * math.pi * 100.0 * time)], 2e-4, "current")
    scenario = {**small.rest(0.1, every="10 ms"), "solver": {"method": "fast", "pwm": "averaged"}}
    locked = small.robot(axes={"A": small.axis(motor={**small.DC, "static_friction": "100 N*m"})})
    signals = small.run_case(tmp_path, locked, scenario, law).signals
    np.testing.assert_allclose(signals["motor_A_current_ref_A"], 2.0, rtol=1e-12)
    np.testing.assert_allclose(signals["motor_A_current_A"][1:], 2.0, rtol=1e-3)


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
@pytest.mark.parametrize("motor", [small.DC, RUBBING, small.PMSM], ids=["dc", "dry friction", "synchronous"])
def test_zoom_changes_no_bit_of_a_run(tmp_path: Path, method: str, motor: Any) -> None:
    machine = small.robot(TOOL, axes={"A": small.axis(motor=motor)})
    ends = []
    for record in ({}, {"zoom": {"at": "0.1501 s", "span": "2 ms"}}):
        run = small.prepared(tmp_path, machine, {**MOVE, "solver": {"method": method}, "record": record})
        result = carry_out(run, lambda part: None)
        ends.append((end_state(run), {name: x.tobytes() for name, x in result.signals.items()}))
    assert ends[0] == ends[1]
    assert result.zoom


PLAY = {"ratio": 50, "stiffness": "3000 N*m/rad", "damping": "2 N*m*s/rad", "backlash": "0.002 rad"}
EVENTS: dict[str, tuple[Any, Any, str]] = {  # axis, truth, when something happens within 40 ms
    "shaft lets go": ({"motor": RUBBING}, {}, "0 s"),
    "joint lets go": (
        {"gear": {**PLAY, "backlash": None}, "friction": {"coulomb": "3 N*m", "static": "4 N*m"}},
        {},
        "0 s",
    ),
    "flank touches": ({"gear": PLAY}, {}, "0 s"),
    "end stop": ({}, {"axes.A.limits.position": "[-3 rad, 0.5 rad]"}, "0.24 s"),
}


@pytest.mark.parametrize("method", ["fast", "rk4", "adaptive"])
@pytest.mark.parametrize("what", EVENTS)
def test_zoom_changes_no_bit_of_a_run_whatever_happens_in_it(tmp_path: Path, method: str, what: str) -> None:
    axis, truth, at = EVENTS[what]
    machine = small.robot({**TOOL, **WORLD}, axes={"A": small.axis(**axis)})
    ends = []
    for record in ({}, {"zoom": {"at": at, "span": "40 ms"}}):
        scenario = {**MOVE, "solver": {"method": method}, "record": record, "plant": {"set": truth}}
        run = small.prepared(tmp_path, machine, scenario)
        result = carry_out(run, lambda part: None)
        ends.append((end_state(run), {name: x.tobytes() for name, x in result.signals.items()}))
    assert run.machine.world["state"]["events"][0] > 0
    assert ends[0] == ends[1]
    assert result.zoom


def test_zoom_changes_no_bit_where_the_window_of_elastic_gears_is_left_under_way(tmp_path: Path) -> None:
    """Its steps from edge to edge are there from the start with a zoom; without, they come when they are needed."""
    gear = {"stiffness": "46000 N*m/rad", "damping": "1 N*m*s/rad"}
    inertia = {"tensor": dict.fromkeys(("xx", "yy", "zz"), "0.001 kg*m^2")}
    link = {"mass": "0.4 kg", "center": ["0.05 m", "0 m", "0 m"], "inertia": inertia}
    motor = {**small.PMSM, "coulomb_friction": "0.03 N*m"}
    axis = small.axis(origin=small.HORIZONTAL, encoder={"bits": 36}, motor=motor, gear=gear, link=link)
    move = [{"to": {"A": "0.13 rad"}, "dwell": "0.01 s"}]
    ends = []
    for zoom in ({}, {"zoom": {"at": "0 s", "span": "1 ms"}}):
        record = {"every": "1 ms", **zoom}
        scenario = {"start": {"A": "0.1 rad"}, "move": move, "record": record, "solver": {"method": "fast"}}
        run = small.prepared(tmp_path, small.robot(axes={"A": axis}), scenario)
        result = carry_out(run, lambda part: None)
        ends.append(end_state(run))
        assert result.summary["windows"]["rejected"].keys() == {"bent_load"}
        assert result.summary["windows"]["carried"]["elastic"] > 1000
    assert ends[0] == ends[1]


@pytest.mark.parametrize("method", ["fast", "rk4"])
def test_zoom_is_the_same_whether_code_for_events_was_there_or_came_later(
    tmp_path: Path, method: str
) -> None:
    axis, truth, at = EVENTS["end stop"]
    machine = small.robot(TOOL, axes={"A": small.axis(**axis)})
    zoom = {"zoom": {"at": at, "span": "40 ms"}}
    scenario = {**MOVE, "solver": {"method": method}, "record": zoom, "plant": {"set": truth}}
    zooms = []
    for every in (True, False):
        run = small.prepared(tmp_path, machine, scenario)
        assert run.machine.world["code"]["change_modes"][0] == 0  # the arm moves freely
        if every:
            attach_pieces(run.machine, every=True)
        zooms.append(carry_out(run, lambda part: None).zoom)
        assert run.machine.world["code"]["change_modes"][0] != 0
    assert zooms[0].keys() == zooms[1].keys()
    assert all(np.array_equal(zooms[0][name], zooms[1][name]) for name in zooms[0])
