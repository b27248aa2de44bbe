"""What is said of rigs, refusals and robots that do not fit; what an observer takes from the rig file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.hil.joint_data import joint_drive, joint_records, shaft_observer
from servotwin.hil.link.addresses import read_address
from servotwin.hil.link.endpoint import Transport, new_endpoint
from servotwin.hil.link.handshake import _refusal_words
from servotwin.hil.link.opening import opened
from servotwin.hil.scenario import read_substitution


def test_refusal_for_an_unknown_reason_is_told_as_such() -> None:
    refusal: Any = {"p_reason": 9, "p_detail": 77}
    said = _refusal_words(refusal, np.zeros(1, [("shafts", np.int64)]), 1_000_000)
    assert said == "the rig refuses the session for a reason that this version does not know: 9 (77)"


@pytest.mark.parametrize("rig", [True, False])
def test_serial_line_that_is_not_there_is_not_a_rig_to_be_started(rig: bool) -> None:
    endpoint = new_endpoint(1, Transport.SERIAL, None)
    with (
        pytest.raises(InputError, match="there is no such device; expected that of a serial line"),
        opened(read_address("serial:/dev/no-such-line"), endpoint, rig=rig),
    ):
        pass


def test_observer_takes_the_analog_filter_from_the_rig_file_unless_it_is_stated() -> None:
    changes = {"substitute.estimator": "observer", "substitute.rig": "met-rig"}
    stated = read_substitution("met-substituted", {**changes, "substitute.observer.analog_cut_off": "50 Hz"})
    silent = read_substitution("met-substituted", {**changes, "substitute.observer.analog_cut_off": None})
    other = read_substitution("met-substituted", {**changes, "substitute.observer.analog_cut_off": "80 Hz"})
    assert (joint_records(silent)["L"][0] == joint_records(stated)["L"][0]).all()
    assert stated.file.substitute is not None
    by_hand = shaft_observer(joint_drive(stated, "J1"), stated.file.substitute, stated.period)
    assert joint_records(silent)["L"][0] == pytest.approx(by_hand.L)
    assert not np.allclose(joint_records(other)["L"][0], joint_records(stated)["L"][0])
