"""A measured run beside a simulated one: write a log as a robot would, read it back, find the delay and the difference.

The robot of the scenario scara-perturbed-high-speed carries a load that its model does not know, has weaker magnets and
more friction; here it plays the one that was measured. What the model lacks shows in the current, hardly in the
position: the servos see to that.
"""

import tempfile
from pathlib import Path

import numpy as np

import servotwin as st
from servotwin.report.simulation_files import write_result
from servotwin.simulation.comparing.compare import compare
from servotwin.simulation.comparing.measured_signals import read_measured
from servotwin.simulation.results.result_files import read_result

MODEL = """\
format: servotwin-scenario/1
name: model
extends: scara-perturbed-high-speed
plant: null
"""
COUNTS, RATIO = 4000, 100

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    robot = st.simulate("scara-perturbed-high-speed", {"record.every": "1.6 ms"}).signals
    turns = np.rint(robot["motor_A_angle_rad"] * COUNTS / (2 * np.pi)) / COUNTS  # whole counts
    log = {
        "time_ms": 1e3 * robot["time_s"] + 7.3,  # the recorder was started 7.3 ms before the robot
        "joint_A_position_deg": 360 * turns / RATIO,
        "motor_A_current_A": robot["motor_A_current_A"],  # means over 1.6 ms
    }
    rows = np.column_stack(list(log.values()))
    np.savetxt(folder / "robot.csv", rows, "%.6f", ",", header=",".join(log), comments="")

    (folder / "model.yaml").write_text(MODEL, encoding="utf-8")
    write_result(st.simulate(folder / "model.yaml"), folder / "run", report=False)

    run = read_result(folder / "run")
    measured = read_measured(folder / "robot.csv", run.signals, means=["motor_A_current_A"])
    found = compare(run, measured)

print(f"the log lags by {1e3 * found.shift_s:.2f} ms")
for axis in found.axes:
    for part in (axis.position, axis.velocity):
        m = part.metrics
        print(f"{part.signal:27} RMS {m.rms:.3g} {part.unit}, at most {m.max:.3g}, NRMSE {m.nrmse:.4%}")
for part in found.others:
    m = part.metrics
    print(f"{part.signal:27} RMS {m.rms:.3g} {part.unit}, mean {m.mean:.3g}: torque that the model lacks")
print("check:", abs(found.shift_s - 7.3e-3) < 1e-4)
