"""Kernels: shapes, strides, widths, the cache on disk."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from servotwin.cache import store as cache
from servotwin.equations.derivation import Derivation, Numbers
from servotwin.equations.programs import PROGRAMS
from servotwin.kernels import kernel_store
from tests.random_trees import random_mechanism


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOTWIN_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel_store, "_loaded", {})
    return tmp_path / "kernels"


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    return Numbers.of(random_mechanism(np.random.default_rng(3), 5))


def _reference(numbers: Numbers, q, qd, qdd) -> np.ndarray:
    program = PROGRAMS["rne"](Derivation(numbers, numbers.table()))
    graph = program.derivation.graph
    values = {}
    for name, vector in (("q", q), ("qd", qd), ("qdd", qdd)):
        values.update({f"{name}{i}": float(v) for i, v in enumerate(vector)})
    params = [numbers.table()[name] for name in graph.params]
    return np.array(graph.evaluate(program.outputs[0].entries, values, params))


def test_kernel_equals_the_graph_evaluated_by_python(fresh_cache, numbers):
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 5))
    got = kernel_store.kernel("rne", numbers).call(q, qd, qdd)
    np.testing.assert_allclose(got, _reference(numbers, q, qd, qdd), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 31])
def test_kernel_wide_and_narrow_agree_for_every_batch_size(fresh_cache, numbers, count):
    q, qd, qdd = np.random.default_rng(count).uniform(-1, 1, (3, count, 5))
    wide, narrow = (kernel_store.kernel("rne", numbers, width=w).call(q, qd, qdd) for w in (0, 1))
    np.testing.assert_allclose(wide, narrow, rtol=1e-12, atol=1e-12)


def test_kernel_accepts_any_strides_and_leading_shapes(fresh_cache, numbers):
    call = kernel_store.kernel("rne", numbers).call
    block = np.random.default_rng(5).uniform(-1, 1, (5, 6, 4, 3))
    q, qd, qdd = np.moveaxis(block, (0, 3), (2, 0))  # core axis neither last nor contiguous
    q, qd, qdd = (np.swapaxes(a, -1, -2) for a in (q, qd, qdd))
    want = call(*(np.ascontiguousarray(a) for a in (q, qd, qdd)))
    assert want.shape == (6, 4, 5)
    np.testing.assert_array_equal(call(q, qd, qdd), want)
    np.testing.assert_array_equal(call(q[:, ::-1], qd[:, ::-1], qdd[:, ::-1]), want[:, ::-1])


def test_kernel_robots_of_one_structure_share_the_code(fresh_cache):
    rng = np.random.default_rng(8)
    first = random_mechanism(rng, 4, serial=True)
    second = first.with_(phi=1.5 * first.phi)
    a, b = (kernel_store.kernel("rne", Numbers.of(m)) for m in (first, second))
    assert a.compiled is b.compiled
    q, qd, qdd = rng.uniform(-1, 1, (3, 4))
    np.testing.assert_allclose(b.call(q, qd, qdd), 1.5 * a.call(q, qd, qdd), rtol=1e-12)


def test_cache_second_process_gets_the_same_kernel_from_disk(fresh_cache, numbers, monkeypatch):
    want = kernel_store.kernel("rne", numbers).call(*np.ones((3, 5)))
    monkeypatch.setattr(kernel_store, "_loaded", {})
    monkeypatch.setattr(kernel_store, "_build", None)  # a build would fail
    np.testing.assert_array_equal(kernel_store.kernel("rne", numbers).call(*np.ones((3, 5))), want)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage", "other-key"])
def test_cache_damaged_entry_is_ignored_and_rebuilt(fresh_cache, numbers, monkeypatch, damage):
    want = kernel_store.kernel("rne", numbers).call(*np.ones((3, 5)))
    (entry,) = fresh_cache.iterdir()
    good = entry.read_bytes()
    bad = {
        "truncate": good[: len(good) // 2],
        "flip": good[:-100] + bytes([good[-100] ^ 1]) + good[-99:],
        "empty": b"",
        "garbage": b"\x00\xff" * 5000,
        "other-key": good,
    }[damage]
    entry.write_bytes(bad)
    if damage == "other-key":
        header, code = cache.read_entry(entry.name)
        cache.write_entry("0" * 64, {**header}, code)
        entry.write_bytes((fresh_cache / ("0" * 64)).read_bytes())
        (fresh_cache / ("0" * 64)).unlink()
    monkeypatch.setattr(kernel_store, "_loaded", {})
    np.testing.assert_array_equal(kernel_store.kernel("rne", numbers).call(*np.ones((3, 5))), want)
    assert entry.read_bytes()[:64] == good[:64]


def test_cache_object_that_does_not_load_is_rebuilt(fresh_cache, numbers, monkeypatch):
    want = kernel_store.kernel("rne", numbers).call(*np.ones((3, 5)))
    (entry,) = fresh_cache.iterdir()
    header, _ = cache.read_entry(entry.name)
    cache.write_entry(entry.name, header, b"not an object file")
    monkeypatch.setattr(kernel_store, "_loaded", {})
    np.testing.assert_array_equal(kernel_store.kernel("rne", numbers).call(*np.ones((3, 5))), want)


def test_cache_folder_that_cannot_be_written_only_costs_time(tmp_path, numbers, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("SERVOTWIN_CACHE", str(blocked))
    monkeypatch.setattr(kernel_store, "_loaded", {})
    assert kernel_store.kernel("gravload", numbers).call(np.zeros(5)).shape == (5,)


def test_cache_two_processes_filling_it_at_once_both_succeed(fresh_cache):
    code = (
        "import numpy as np\n"
        "from servotwin.equations.derivation import Numbers\n"
        "from servotwin.kernels import kernel_store\n"
        "from tests.random_trees import random_mechanism\n"
        "numbers = Numbers.of(random_mechanism(np.random.default_rng(3), 5))\n"
        "for kind in ('rne', 'inertia', 'accel', 'gravload'):\n"
        "    kernel_store.kernel(kind, numbers)\n"
        "print(kernel_store.kernel('gravload', numbers).call(np.ones(5)).tolist())\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert all(run.returncode == 0 for run in runs)
    assert outputs[0] == outputs[1] != ""
    assert len(list(fresh_cache.iterdir())) == 4
