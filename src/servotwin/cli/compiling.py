"""Whether numba compiles just now, so that a person who waits knows what for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PASS = "numba:run_pass"  # the event of a compiler pass; code that is read from the cache has none


@contextmanager
def watch_compiler(show: Callable[[bool], None]) -> Iterator[None]:
    """Call ``show`` with True when numba begins to compile in the block, with False when it has compiled."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        """Counts the passes that have begun and not ended: a pass compiles what its function calls."""

        depth = 0

        def on_start(self, _: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                show(True)

        def on_end(self, _: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                show(False)

    with event.install_listener(PASS, Watch()):
        yield


def compiling_words() -> str:
    """What is said while numba compiles."""
    from servotwin.cache.place import place

    found = place()
    found.to_write()  # whether the cache is kept shows when it is written
    return "compiling, once on this machine" if found.private is None else "compiling"
