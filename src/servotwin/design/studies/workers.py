"""Tasks of plain data carried out by workers: in this process, in processes of this machine, or on a cluster.

The processes and the cluster are Dask's. A task is a function that a worker can import by its name and a mapping of
plain data; results come in the order of the tasks. Nothing in a result depends on which worker computed it. Processes
of this machine talk over TLS on the loopback interface, with a certificate of their own that exists in memory alone:
whoever may talk to a Dask worker may run code in it. The dashboard is off.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from servotwin.errors import InputError, ServotwinError
from servotwin.processes import processors, start_awaited

Task = Mapping[str, Any]
Function = Callable[[Mapping[str, Any]], Any]
Progress = Callable[[float], None]
ADDRESSES = ("tcp://", "tls://")
STARTING = 6.0  # s until processes of this machine have begun to work
PATIENCE = 20.0  # s to reach a scheduler
QUIET = "127.0.0.1:0"  # where Dask's HTTP server, which always runs, answers no question
LIBRARIES = ("dask", "distributed", "cryptography")
MISSING = "one process: Dask is missing (pip install 'servotwin[studies]')"
WORKER = "import sys\nsys.argv = ['dask', 'spec', *sys.argv[1:]]\nfrom dask.cli import run_cli\nrun_cli()"


@dataclass(frozen=True)
class Workers:
    """Where tasks are carried out.

    ``count``: processes of this machine, None for one on each core; ``cluster``: address of a Dask scheduler,
    'tls://host:8786', instead; ``ca_file``, ``certificate`` and ``key``: files of its TLS.
    """

    count: int | None = None
    cluster: str | None = None
    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    task_time: float = 0.0  # s of a task: expected, then as the last one took in this process

    def __post_init__(self) -> None:
        if self.count is not None and not 1 <= self.count <= 1024:
            raise InputError(f"{self.count}; expected 1 to 1024 processes", field="workers")
        if self.cluster is not None and not self.cluster.startswith(ADDRESSES):
            raise InputError(
                f"'{self.cluster[:80]}'; expected the address of a Dask scheduler, such as tls://host:8786",
                field="cluster",
            )
        tls = (self.ca_file, self.certificate, self.key)
        if any(tls) and not (all(tls) and self.cluster is not None and self.cluster.startswith("tls://")):
            raise InputError(
                "expected the files of the authority, the certificate and the key together, with a cluster tls://...",
                field="tls",
            )

    def stay_here(self, left: int, done: int) -> bool:
        """Whether the next of the tasks that are ``left`` is for this process.

        Where nobody says how many processes there are, the time of a task, expected or of the last one here, tells
        whether more processes are worth the time that they take to start.
        """
        count = self.processes(left)
        if self.cluster is not None or count == 1:
            return self.cluster is None
        if self.count is not None:
            return False
        unknown = done == 0 and self.task_time == 0.0
        return unknown or left * self.task_time * (1.0 - 1.0 / count) < STARTING

    def after(self, seconds: float) -> Workers:
        """The same, with the time that a task took here [s]."""
        return replace(self, task_time=seconds)

    def processes(self, tasks: int) -> int:
        """How many processes of this machine share the tasks; 1: this one alone."""
        return max(1, min(self.count or processors(), tasks)) if dask_is_there() else 1

    def note(self) -> str:
        """What must be said about them, or nothing."""
        if dask_is_there() or self.cluster is not None or (self.count or processors()) == 1:
            return ""
        return MISSING


def dask_is_there() -> bool:
    """Whether the libraries of the extra ``studies`` are installed."""
    try:
        return all(find_spec(name) is not None for name in LIBRARIES)
    except ValueError:  # a module that was put aside by hand
        return False


def carry_out(
    function: Function,
    tasks: Sequence[Task],
    workers: Workers,
    progress: Progress | None = None,
    *,
    expected: float = 0.0,
) -> list[Any]:
    """The results of all tasks, in their order; ``progress`` is told the part that is done, 0 to 1.

    ``expected``: computing time of all of them [s] as far as it is known, by which it is decided where they are
    carried out if nobody says so.
    """
    show = progress or (lambda part: None)
    if workers.cluster is not None and not dask_is_there():
        raise InputError("needs Dask: pip install 'servotwin[studies]'", field="cluster")
    workers = workers.after(expected / max(len(tasks), 1))
    found: list[Any] = []
    while len(found) < len(tasks) and workers.stay_here(len(tasks) - len(found), len(found)):
        began = time.perf_counter()
        show(len(found) / len(tasks))
        found.append(function(tasks[len(found)]))
        workers = workers.after(time.perf_counter() - began)
    left = tasks[len(found) :]
    if left:
        done = len(found) / len(tasks)
        with _client(workers, len(left)) as client:
            found += _gathered(client, function, left, lambda part: show(done + (1.0 - done) * part))
    show(1.0)
    return found


def _distributed() -> Any:
    """The library, most of whose functions state no types."""
    import distributed

    return distributed


def _gathered(client: Any, function: Function, tasks: Sequence[Task], show: Progress) -> list[Any]:
    library = _distributed()
    futures = [client.submit(function, dict(task), pure=False) for task in tasks]
    places = {future.key: k for k, future in enumerate(futures)}
    results: list[Any] = [None] * len(tasks)
    show(0.0)
    try:
        for done, future in enumerate(library.as_completed(futures, loop=client.loop), 1):
            results[places[future.key]] = future.result()
            show(done / len(tasks))
    except ServotwinError:
        raise
    except Exception as error:
        raise ServotwinError(f"a worker failed: {type(error).__name__}: {error}") from error
    finally:
        client.cancel(futures)
    return results


@contextmanager
def _client(workers: Workers, tasks: int) -> Iterator[Any]:
    """A client of the cluster, or of processes that are started here and ended after the block."""
    import dask

    library = _distributed()
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.http.routes": []}))
        if workers.cluster is None:
            cluster = stack.enter_context(local_cluster(workers.processes(tasks)))
            client = library.Client(cluster)
        else:
            security = _security(workers)
            try:
                client = library.Client(
                    workers.cluster, security=security, timeout=PATIENCE, set_as_default=False
                )
            except Exception as error:  # noqa: BLE001 -- whatever it is, nobody answers there
                why = " ".join(str(error).split())[:120]
                raise InputError(
                    f"no Dask scheduler answers at {workers.cluster}: {type(error).__name__}: {why}",
                    field="cluster",
                ) from None
        yield stack.enter_context(client)


def _security(workers: Workers) -> Any:
    """TLS towards a cluster: that of the named files, or what Dask's own configuration says."""
    library = _distributed()
    address = workers.cluster or ""
    security = library.Security()
    if workers.ca_file is not None:
        security = library.Security(
            tls_ca_file=workers.ca_file, tls_client_cert=workers.certificate, tls_client_key=workers.key,
            require_encryption=True,
        )  # fmt: skip
    try:
        context = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:  # errors of TLS are OSErrors that do not name the file
        named = ", ".join(filter(None, (workers.ca_file, workers.certificate, workers.key)))
        why = " ".join(str(error).split())[:120]
        raise InputError(f"cannot use {named or 'the files of Dask'}: {why}", field="tls") from None
    if address.startswith("tls://") and context is None:
        raise InputError(
            "expected the files of its authority, certificate and key (--tls-ca, --tls-cert, --tls-key)",
            field="cluster",
        )
    return security


def local_cluster(count: int) -> Any:
    """A scheduler in this process and ``count`` isolated worker processes of one thread each."""
    from distributed.deploy.subprocess import SubprocessWorker

    library = _distributed()
    security = library.Security.temporary()
    secrets = {
        "CA_FILE": security.tls_ca_file,
        "WORKER__CERT": security.tls_worker_cert,
        "WORKER__KEY": security.tls_worker_key,
        "CLIENT__CERT": security.tls_client_cert,
        "CLIENT__KEY": security.tls_client_key,
    }
    variables = {
        **{f"DASK_DISTRIBUTED__COMM__TLS__{name}": text for name, text in secrets.items()},
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    }

    class IsolatedWorker(SubprocessWorker):
        """A worker that starts as all processes of the package do."""

        async def _start(self) -> None:
            spec = json.dumps({"cls": "distributed.Worker", "opts": {**self.worker_kwargs}})
            self.process = await start_awaited(WORKER, [self.scheduler, "--spec", spec], variables)

    options = {
        "worker_kwargs": {
            "nthreads": 1, "host": "127.0.0.1", "protocol": "tls://", "dashboard": False, "dashboard_address": QUIET,
            "memory_limit": 0,
        }
    }  # fmt: skip
    return library.SpecCluster(
        workers={k: {"cls": IsolatedWorker, "options": options} for k in range(count)},
        scheduler={
            "cls": library.Scheduler,
            "options": {"protocol": "tls://", "host": "127.0.0.1", "port": 0, "dashboard": False,
                        "dashboard_address": QUIET,
                        "security": security},
        },
        security=security,
        silence_logs=40,
    )  # fmt: skip
