"""Workers: the same results in the same order in one process and in several, and what is refused."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import pytest

from servotwin.design.studies import workers as module
from servotwin.design.studies.workers import Workers, carry_out
from servotwin.errors import InputError, ServotwinError

TASKS = [{"value": k} for k in range(7)]


def test_tasks_of_this_process_come_in_order_and_tell_their_progress() -> None:
    told: list[float] = []
    assert carry_out(itemgetter("value"), TASKS, Workers(1), told.append) == list(range(7))
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_processes_give_what_one_process_gives() -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    told: list[float] = []
    assert carry_out(itemgetter("value"), TASKS, Workers(2), told.append) == list(range(7))
    assert told[-1] == 1.0
    with pytest.raises(ServotwinError, match="a worker failed: KeyError"):
        carry_out(itemgetter("missing"), TASKS[:2], Workers(2))


def test_quick_tasks_stay_in_this_process_and_long_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "processors", lambda: 2)
    monkeypatch.setattr(module, "dask_is_there", lambda: True)
    assert Workers().stay_here(10, 0)
    assert Workers().after(1.0).stay_here(10, 1)
    assert not Workers().after(10.0).stay_here(10, 1)
    assert not Workers().after(10.0).stay_here(10, 0)  # as expected
    assert not Workers(2).stay_here(10, 0)
    assert Workers(1).stay_here(10, 5)


def test_without_dask_there_is_one_process_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "dask_is_there", lambda: False)
    monkeypatch.setattr(module, "processors", lambda: 8)
    assert "pip install 'servotwin[studies]'" in Workers().note()
    assert carry_out(itemgetter("value"), TASKS, Workers()) == list(range(7))
    with pytest.raises(InputError, match="needs Dask"):
        carry_out(itemgetter("value"), TASKS, Workers(cluster="tcp://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "workers: 0; expected 1 to 1024"),
        ({"cluster": "127.0.0.1"}, "expected the address of a Dask scheduler"),
        ({"cluster": "tcp://h:1", "ca_file": "a"}, "together, with a cluster tls://"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Workers(**arguments)  # type: ignore[arg-type]


def test_a_cluster_over_tls_gives_what_one_process_gives(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    with module.local_cluster(1) as cluster:
        security = cluster.security
        texts = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
        files = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        where = Workers(None, cluster.scheduler_address, *map(str, files))
        assert carry_out(itemgetter("value"), TASKS, where) == list(range(7))
        with pytest.raises(InputError, match="--tls-ca"):
            carry_out(itemgetter("value"), TASKS, Workers(cluster=cluster.scheduler_address))


def test_a_cluster_whose_files_are_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate", encoding="utf-8")
    for files in ([str(tmp_path / "none.pem")] * 3, [str(bad)] * 3):
        with pytest.raises(InputError) as caught:
            carry_out(itemgetter("value"), TASKS, Workers(None, "tls://127.0.0.1:1", *files))
        assert "\n" not in str(caught.value)
        assert files[0] in str(caught.value)
