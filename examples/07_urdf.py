"""URDF in and out: the exported robot moves and weighs the same."""

import tempfile
from pathlib import Path

import numpy as np

import servotwin as st
from servotwin.mechanism.urdf_export import urdf_text

rng = np.random.default_rng(0)
puma = st.load_robot("puma560")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "puma560.urdf"
    path.write_text(urdf_text(puma.mechanism), encoding="utf-8")
    print(f"{len(path.read_text(encoding='utf-8').splitlines())} lines of URDF")
    twin = st.load_robot(path)

# URDF has no place for gravity, motors and gears: they stay in the YAML description.
twin = twin.with_gravity(puma.mechanism.gravity)

q = puma.random_q(rng, 100)
qd, qdd = rng.normal(size=(2, 100, puma.n))
print("joints:", ", ".join(twin.joint_names))
print("largest difference of the poses:  ", np.abs(twin.fkine(q) - puma.fkine(q)).max())
print("largest difference of the torques:", np.abs(twin.rne(q, qd, qdd) - puma.rne(q, qd, qdd)).max(), "N m")

print("rotors:", len(puma.mechanism.rotors.names), "before,", len(twin.mechanism.rotors.names), "after")
