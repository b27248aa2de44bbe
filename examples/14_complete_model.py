"""The complete model x' = A(x) + B(x) u: the printed example of DAIV-1 beside the correct one; modes."""

import numpy as np

import servotwin as st
from servotwin.equations.published import perez1987_study as paper

# Positions and speeds of the paper's example; the rows of its hydraulic pressure are not physical in SI units.
daiv = st.state_space("daiv-1")
A, B, _ = daiv.affine(daiv.state(paper.STATE[:3], paper.STATE[3:6]))
print("state       A(x) printed   A(x)        B(x) printed, columns 1 and 2    B(x), columns 1 and 2")
for i, quantity in enumerate(daiv.states[:6]):
    printed = f"{paper.PRINTED_B[i, 0]:12.5g}{paper.PRINTED_B[i, 1]:12.5g}"
    print(
        f"{quantity.name:12}{paper.PRINTED_A[i]:12.5g}{A[i]:12.5g}   {printed}         {B[i, 0]:12.5g}{B[i, 1]:12.5g}"
    )
ratios = paper.gain_ratios()
print(f"\nratios in the printed B(x): {np.round(ratios.printed, 2)}")
print(f"rotors counted twice:       {np.round(ratios.twice, 2)}   once: {np.round(ratios.once, 2)}")

# Section 6: torques that both models predict for the same motions. What remains when the slips are gone is physics.
for motion in paper.motions():
    rms = {item.model: item.rms for item in paper.torques(motion)}
    true = rms["basic, corrected"]
    print(f"\n{motion.name}: RMS torques {true.round(1)} N m")
    for model, value in rms.items():
        if model != "basic, corrected":
            print(
                f"  {model:28} {100 * (value[0] / true[0] - 1):+6.1f} % {100 * (value[1] / true[1] - 1):+6.1f} %"
            )

# Poles, modes and ranks of an axis with an elastic gear, at rest at home.
study = st.study_model("manutec-r3-axis")
print(
    f"\n{study.linear.name}: controllable {study.controllable.rank}, observable {study.observable.rank} of 5"
)
for mode in study.modes:
    main = ", ".join(f"{name} {100 * share:.0f} %" for name, share in study.main_states(mode, 2))
    print(f"  {mode.pole:.4g} 1/s, damping {mode.damping:.3f}: {main}")
