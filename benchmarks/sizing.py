"""Sizing: a job of 20 s, and a search over 200 motors and 50 gears on six axes."""

from __future__ import annotations

from itertools import islice

import numpy as np

import servotwin as st
from benchmarks.timing import Row, best_of
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.description.sheets.catalogue import Catalogue, read_catalogue
from servotwin.design.sizing.actuators import actuator_of
from servotwin.design.sizing.duty import Duty, duty_of_job
from servotwin.design.sizing.load import load_of
from servotwin.design.sizing.result import assess
from servotwin.simulation.job_run import rehearse

ROBOT, JOB = "sixaxis-5kg", "sixaxis-frame"
LONG = 20.0  # s
MOTORS, GEARS = 200, 50
SIZING_S, SEARCH_S = 1.0, 10.0


def sizing() -> list[Row]:
    """All rows."""
    return [long_job(), search()]


def long_cycle() -> Duty:
    """The job of the six-axis arm again and again, for 20 s, a sample every millisecond."""
    once = duty_of_job(rehearse(JOB))
    count = int(np.ceil(LONG / once.period))
    t = np.concatenate([once.t + k * (once.period + 1e-3) for k in range(count)])
    keep = t <= LONG
    parts = (np.tile(part, (count, 1))[keep] for part in (once.q, once.qd, once.qdd))
    return Duty(JOB, t[keep], *parts)


def long_job() -> Row:
    """From a planned job of 20 s to demands and margins of all drives, compiled before."""
    description, robot = read_description(ROBOT), st.load_robot(ROBOT)
    drives, duty = drives_of(description), long_cycle()
    actuators = [actuator_of(drive, description.axes.get(drive.owner)) for drive in drives]

    def ours() -> bool:
        load = load_of(robot, drives, duty, description.payload.center)
        return assess(load, actuators, description.power).passes

    times = best_of({"ours": ours}, calls=1, rounds=5)
    return Row(
        f"sizing of a {LONG:.0f} s job, {len(duty.t)} samples", times["ours"], "a second", SIZING_S, 1.0
    )


def search() -> Row:
    """The lightest set of 200 motors and 50 gears for six axes, with its gap to a lower bound."""
    listed = read_catalogue()
    fits = {name: sheet for name, sheet in listed.motors.items() if (sheet.bus_voltage or 0.0) == 280.0}
    others = {
        name: sheet
        for name, sheet in listed.motors.items()
        if name not in fits and (sheet.bus_voltage or 0) > 280
    }
    motors = dict(islice({**fits, **others}.items(), MOTORS))
    turning = [name for name, sheet in listed.gears.items() if sheet.kind in ("strain-wave", "rv")]
    picked = [turning[int(i)] for i in np.linspace(0, len(turning) - 1, GEARS)]
    catalogue = Catalogue("bench", motors=motors, gears={name: listed.gears[name] for name in picked})
    found: list[float] = []

    def ours() -> float:
        sized = st.size(ROBOT, job=JOB, catalogue=catalogue, minimise="mass")
        assert sized.choice is not None
        found.append(sized.choice.gap)
        return sized.choice.cost

    times = best_of({"ours": ours}, calls=1, rounds=2)
    what = f"search: {len(motors)} motors x {len(picked)} gears on 6 axes"
    return Row(what, times["ours"], "ten seconds", SEARCH_S, 1.0, f"gap {100.0 * found[-1]:.2g} %")
