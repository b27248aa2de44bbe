"""Joint 1 of a simulated arm handed to a motor test bed: how well do hardware and simulation agree?

The bed is a twin here (`met-rig`): drive motor and load motor on one shaft. The load motor gives the drive motor the
torque that the arm would; the shaft's rate goes back into the simulation, where joint 2 goes on simulated.
"""

import numpy as np

import servotwin as st

CASES = {
    "no noise, filter 40 Hz": {"substitute.rig": "met-rig"},
    "no noise, observer": {"substitute.rig": "met-rig", "substitute.estimator": "observer"},
    "noisy, filter 40 Hz": {"substitute.rig": "met-rig-noisy"},
    "noisy, observer": {"substitute.rig": "met-rig-noisy", "substitute.estimator": "observer"},
}
for name, changes in CASES.items():
    result = st.substitute("met-substituted", changes)
    gap = {joint: found.largest for joint, found in result.differences.items()}
    late = result.run.time > 2.0
    shaken = np.std(result.run.joint("J2", "qdd")[late])
    print(
        f"{name:24} J1 {gap['J1']:.1e} J2 {gap['J2']:.1e} rad/s from the pure arm; J2 shaken by {shaken:.1e} rad/s2"
    )

# What the motor on the bed feels of the arm: J_eff at the joint, and the torque that the load motor gives.
run = result.run
felt, load = run.joint("J1", "effective_inertia")[5], run.joint("J1", "load_torque")[5]
print(f"J_eff {felt:.2f} kg m2, load {1e3 * load:.2f} mN m")
