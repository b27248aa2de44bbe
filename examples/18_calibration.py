"""How a built palletizer deviates from its drawing: plan poses, measure (here: simulated), calibrate, command.

Run it with ``python examples/18_calibration.py``.
"""

from __future__ import annotations

import numpy as np

import servotwin as st


def main() -> None:
    """Print the error before and after, and what is known of the first parameters."""
    plan = st.plan_calibration("palletizer-4", 30)
    measured, truth = plan.simulate(seed=1)
    found = st.calibrate("palletizer-4", measured, noise=st.Tracker())
    before, after = (1e3 * np.sqrt((e**2).mean()) for e in (found.held_out.before, found.held_out.after))
    print(
        f"{len(measured.q)} poses, {len(truth)} numbers deviate; error held out {before:.3f} -> {after:.3f} mm"
    )
    for p in found.found[:4]:
        print(f"  {p.name:<18} {p.value:+.2e} +- {p.sigma:.0e} {p.unit}")

    goal = found.robot.fkine([0.2, 1.4, -1.5, 0.0])
    q = found.ikine(goal, q0=[0.2, 1.4, -1.5, 0.0])
    left = np.linalg.norm(found.poses(q)[0][:3, 3] - goal[:3, 3])
    print(
        f"command for a pose of the drawing: {np.degrees(q).round(3)} deg, the place is met to {left:.0e} m"
    )


if __name__ == "__main__":
    main()
