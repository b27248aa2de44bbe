"""``servotwin bus``."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_quantity
from servotwin.cli.output import print_json, print_line, print_table, working
from servotwin.description.nodes import quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.fieldbus.tools import ObjectValue

DONE = 0
_ENTRY = re.compile(r"(?:0x)?([0-9a-fA-F]{1,4})(?::(?:0x)?([0-9a-fA-F]{1,2}))?")
SCAN_COLUMNS = (
    "slave", "name", "vendor", "product", "revision", "state", "CoE", "clock", "out [B]", "in [B]",
)  # fmt: skip


def read_entry(text: str) -> tuple[int, int]:
    """Index and subindex of an object.

    >>> read_entry("607D:01") == (0x607D, 1), read_entry("6064") == (0x6064, 0)
    (True, True)
    """
    found = _ENTRY.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{quoted(text)}; expected index and subindex, such as 607D:01", field="object")
    return int(found[1], 16), int(found[2] or "0", 16)


def scan(interface: str, *, pcap: str | None = None, json: bool = False) -> int:
    """Print the slaves of a network; the exit code."""
    with working(f"scanning {interface}"):
        from servotwin.fieldbus.controller.run import opened_port
        from servotwin.fieldbus.tools import scan_bus

        with opened_port(interface, pcap, keep_rights=False) as port:
            found = scan_bus(port)
    if json:
        print_json([slave.plain() for slave in found])
        return DONE
    rows = [
        [
            str(s.position), s.name, f"{s.vendor:08X}", f"{s.product:08X}", f"{s.revision:08X}", s.state,
            "yes" if s.has_coe else "no", "yes" if s.has_clock else "no",
            "" if s.outputs_bytes is None else str(s.outputs_bytes),
            "" if s.inputs_bytes is None else str(s.inputs_bytes),
        ]
        for s in found
    ]  # fmt: skip
    print_table(SCAN_COLUMNS, rows, text_columns=8)
    return DONE


def read(interface: str, slave: int, entry: str, *, pcap: str | None = None, json: bool = False) -> int:
    """Print an object; the exit code."""
    index, subindex = read_entry(entry)
    with working(f"reading slave {slave}"):
        from servotwin.fieldbus.controller.run import opened_port
        from servotwin.fieldbus.tools import read_object

        with opened_port(interface, pcap, keep_rights=False) as port:
            found = read_object(port, slave, index, subindex)
    _print(found, json=json)
    return DONE


def write(
    interface: str,
    slave: int,
    entry: str,
    value: str,
    *,
    kind: str | None = None,
    pcap: str | None = None,
    arm_hardware: bool = False,
    json: bool = False,
) -> int:
    """Write an object and print it as it is then; the exit code."""
    index, subindex = read_entry(entry)
    with working(f"writing to slave {slave}"):
        from servotwin.fieldbus.controller.run import opened_port
        from servotwin.fieldbus.tools import write_object

        with opened_port(interface, pcap, keep_rights=False) as port:
            found = write_object(port, slave, index, subindex, value, type=kind, arm_hardware=arm_hardware)
    _print(found, json=json)
    return DONE


def watch(
    interface: str,
    slave: int,
    entries: Sequence[str],
    *,
    count: int = 0,
    every: str = "500 ms",
    pcap: str | None = None,
    json: bool = False,
) -> int:
    """Print objects again and again; the exit code."""
    wanted = [read_entry(text) for text in entries]
    period = read_quantity("--every", every, "s", example="500 ms")
    from servotwin.fieldbus.controller.run import opened_port
    from servotwin.fieldbus.tools import watch_objects

    shown = 0

    def told(values: list[ObjectValue]) -> bool:
        nonlocal shown
        shown += 1
        if json:
            print_json([_plain(value) for value in values])
        else:
            print_line("  ".join(f"{_place(v)} {v.value}" for v in values))
        if shown == count:
            return False
        time.sleep(max(period, 0.0))
        return True

    with opened_port(interface, pcap, keep_rights=False) as port, suppress(KeyboardInterrupt):
        watch_objects(port, slave, wanted, told)
    return DONE


def _place(value: ObjectValue) -> str:
    return f"{value.index:04X}:{value.subindex:02X}"


def _plain(value: ObjectValue) -> dict[str, Any]:
    return {
        "object": _place(value),
        "name": value.name,
        "type": value.type,
        "value": value.value,
        "bytes": value.data.hex(),
    }


def _print(value: ObjectValue, *, json: bool) -> None:
    if json:
        print_json(_plain(value))
        return
    number = f" (0x{value.value:X})" if isinstance(value.value, int) and value.value >= 0 else ""
    print_line(f"{_place(value)} {value.name}: {value.value}{number} {value.type}".rstrip())
