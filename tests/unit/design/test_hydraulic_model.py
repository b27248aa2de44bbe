"""The hydraulic axis in the complete model of a robot: its linear model against the axis by itself and the paper's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.description.load import read_description
from servotwin.design.hydraulic import hydraulic_axis_of, hydraulic_model
from servotwin.errors import InputError, UnsupportedError
from tests import hydraulic_axes as hx

POINTS = [(-0.07, 0.0), (-0.03, 0.1), (-0.148, -0.08), (-0.002, -0.05)]  # the last two in a cushion


@pytest.mark.parametrize("point", POINTS)
def test_linear_model_of_daiv_equals_that_of_its_axis_by_itself(point):
    """Two ways to one matrix: derivatives of the graph, and the slopes that are written out in linear.py."""
    x, v = point
    study = st.study_model("daiv-1", [0.2, 0.7, x], [0.0, 0.0, v])
    got = hydraulic_axis_of(study, "q3")
    force = 1.15 * 9.80665 + 60.0 * v
    want = hydraulic_model("daiv-1", "q3", position=x, speed=v, force=force)
    for name in ("A", "b", "f"):
        a, b = getattr(got, name), getattr(want, name)
        size = np.abs(b).max(axis=-1, keepdims=True) if b.ndim == 2 else np.abs(b).max()
        # eq:chamber at a steady speed: phi Q = A v, which linear.py uses
        np.testing.assert_array_less(np.abs(a - b) / size, 1e-8)
    for name in ("stiffness", "mass", "natural_frequency", "flow_gain", "flow_pressure", "damping"):
        assert getattr(got, name) == pytest.approx(getattr(want, name), rel=1e-8)
    for a, b in zip(got.third_order(), want.third_order(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


def test_third_order_model_has_the_structure_that_the_paper_prints():
    """Section 5: rows (0 1 0), (0 -B/m S/m), (0 -4 S b/V -4 b (K_c + C)/V), gain 4 b K_q/V in the last."""
    axis = hydraulic_axis_of(st.study_model("daiv-1", [0.0, 0.0, -0.075]), "q3")
    A, b, f = axis.third_order()
    np.testing.assert_allclose(A[0], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(A[1], [0.0, -60.0 / 1.15, 2e-4 / 1.15], rtol=1e-12)
    volume, bulk = 2 * (2e-4 * 0.0825 + _dead()), axis.stiffness / (4 * axis.area**2)
    np.testing.assert_allclose(A[2, 1], -4 * axis.area * bulk, rtol=1e-9)
    assert bulk * volume == pytest.approx(1.3e9, rel=0.1)  # the oil's with the gas that is in it
    np.testing.assert_allclose(A[2, 2], -4 * bulk * axis.flow_pressure, rtol=1e-9)
    np.testing.assert_allclose(b, [0.0, 0.0, 4 * bulk * axis.flow_gain], rtol=1e-9)
    np.testing.assert_allclose(f, [0.0, -1.0 / 1.15, 0.0], rtol=1e-12)


def _dead() -> float:
    (shaft,) = [s for s in st.state_space("daiv-1").shafts if s.name == "q3"]
    return float(shaft.numbers["volume_a"])


def test_third_order_model_of_an_electric_axis_is_refused():
    with pytest.raises(InputError, match="expected a hydraulic axis that moves one joint by itself: q3"):
        hydraulic_axis_of(st.study_model("daiv-1"), "th1")


def lift(tmp_path, hydraulics=None, **changes):
    path = tmp_path / "lift.yaml"
    path.write_text(json.dumps(hx.lift(hydraulics, **changes)), encoding="utf-8")
    return read_description(path)


def test_state_without_flow_of_a_valve_without_leakage_has_no_linear_model(tmp_path):
    robot = lift(
        tmp_path, motor={"valve": {"null_leakage": "0 L/min"}, "cylinder": {"leakage": "0 m^3/(s*Pa)"}}
    )
    with pytest.raises(
        UnsupportedError, match=r"no linear model at this state: the rate of A.pressure_a.*null"
    ):
        st.study_model(robot, [-0.07])
    moving = st.study_model(robot, [-0.07], [0.05])
    assert moving.controllable.complete


def test_load_beyond_the_supply_is_refused_with_the_axis(tmp_path):
    robot = lift(tmp_path, link={"mass": "200 kg"})
    with pytest.raises(InputError, match=r"small: A: no flow at a force of 1961 N"):
        st.study_model(robot, [-0.07])


@pytest.mark.parametrize("motor", [{"valve": {"overlap": 0.05, "null_leakage": "0 L/min"}}, {}])
@pytest.mark.parametrize("feed", [None, hx.PUMP])
def test_operating_point_of_a_lift_stands_still_and_is_seen_and_reached_as_a_whole(tmp_path, motor, feed):
    study = st.study_model(lift(tmp_path, feed, motor=motor), [-0.07])
    assert study.still
    assert study.controllable.complete
    assert study.observable.complete
    if feed:
        assert 70e5 < study.point.x[-1] < 74e5  # the relief valve takes what the pump gives


def pumped(tmp_path, flow):
    return lift(tmp_path, {**hx.PUMP, "pump": {"flow": flow}})


def test_cavitated_operating_point_says_so(tmp_path, capsys):
    """2.4 L/min for a piston of 2 cm2 at 0.2 m/s, and leakage: with 2.3 L/min it pulls its own oil apart."""
    study = st.study_model(pumped(tmp_path, "2.3 L/min"), [-0.07], [-0.2])
    note = "A: chamber B is cavitated, at -0.962 bar (below -0.813 bar)"
    assert study.point.x[5] < -0.813e5
    assert any(line.startswith(note) for line in study.notes)
    assert study.data()["notes"] == study.notes
    assert main(["model", str(tmp_path / "lift.yaml"), "--q=-70 mm", "--qd=-200 mm/s"]) == 0
    assert note in capsys.readouterr().err
    assert not st.study_model(pumped(tmp_path, "5 L/min"), [-0.07], [-0.2]).model.notes_at(
        study.point.x * 0.0
    )


def test_pump_that_is_too_weak_is_named_with_its_flow(tmp_path):
    with pytest.raises(
        UnsupportedError, match=r"valves would draw 2\.4\d* L/min, and the pump gives 2 L/min"
    ):
        st.study_model(pumped(tmp_path, "2 L/min"), [-0.07], [0.2])


def test_small_step_of_the_valve_current_is_predicted_by_the_transfer_function(tmp_path):
    """Time response of zeros, poles and gain against the nonlinear model; what differs is of second order."""
    from scipy.integrate import solve_ivp
    from scipy.signal import ZerosPolesGain, lsim

    study = st.study_model(lift(tmp_path), [-0.07])
    model, (x, u) = study.model, study.point
    G, t, di = study.transfer(0), np.linspace(0.0, 0.05, 201), 2e-5
    _, straight, _ = lsim(ZerosPolesGain(G.zeros, G.poles, G.gain), np.full(len(t), di), t)
    moved = solve_ivp(
        lambda _, y: model.rates(y, u + di), (0, 0.05), x, t_eval=t, method="LSODA", rtol=1e-10, atol=1e-12
    )
    travel = moved.y[0] - x[0]
    assert np.abs(travel - straight).max() < 0.01 * np.abs(travel).max()
