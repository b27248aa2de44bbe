"""The reference firmware of a rig: constants, layout and structures from the table of frames, the rest as it stands."""

from __future__ import annotations

from importlib.resources import files

from servotwin.hil.link.checks import FIRST_STATE, ROUND_CONSTANTS
from servotwin.hil.link.endpoint import ROOM
from servotwin.hil.link.frames import (
    EACH,
    HEADER,
    HEADER_SIZE,
    LARGEST,
    MAGIC,
    ONCE,
    PAYLOADS,
    VERSION,
    Kind,
    Refusal,
    Word,
)
from servotwin.hil.link.handshake import LONGEST_PERIOD, LONGEST_WATCHDOG
from servotwin.hil.link.rig_loop import FIRST_COMMAND
from servotwin.hil.link.rig_server import SHORTEST
from servotwin.hil.ports import MAX_SHAFTS, RigFault

SHAFTS = 2  # of the rig that the firmware is written for; whoever adapts it changes the number
SAMPLE_AT = (
    80  # percent of a period from the command to the samples: they are 0.2 periods old at the next one
)
TYPES = {"f8": "double", "i8": "int64_t", "u8": "uint64_t"}
NAMES = {"version": "VERSION_AT", "shafts": "SHAFT_COUNT"}  # of offsets whose name is taken
HOST_LIMIT = "{64.0, 8.0, 1000.0, 100.0, 1}"


def firmware_text() -> str:
    """The text of the C file."""
    text = files("servotwin.hil.link").joinpath("firmware.c.txt").read_text(encoding="utf-8")
    parts = {
        "@CONSTANTS@": _constants(),
        "@STRUCTS@": _structs(),
        "@SHA_K@": _words([int(x) for x in ROUND_CONSTANTS]),
        "@SHA_H@": _words([int(x) for x in FIRST_STATE]),
        "@HOST_LIMITS@": ", ".join([HOST_LIMIT] * SHAFTS),
    }
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _words(values: list[int]) -> str:
    return ", ".join(f"0x{value:08x}u" for value in values)


def _constants() -> str:
    lines = [
        f"#define RIG_MAGIC 0x{MAGIC:08x}u",
        f"#define RIG_VERSION {VERSION}",
        f"#define RIG_SHAFTS {SHAFTS} /* of this rig */",
        f"#define RIG_MOST_SHAFTS {MAX_SHAFTS}",
        f"#define RIG_SHORTEST_PERIOD {SHORTEST} /* ns */",
        f"#define RIG_LONGEST_PERIOD INT64_C({LONGEST_PERIOD}) /* ns */",
        "#if !defined(RIG_LONGEST_WATCHDOG)",
        f"#define RIG_LONGEST_WATCHDOG INT64_C({LONGEST_WATCHDOG}) /* ns, whatever a simulator asks for */",
        "#endif",
        f"#define RIG_FIRST_COMMAND INT64_C({FIRST_COMMAND}) /* ns that the simulator has for its first command */",
        f"#define RIG_SAMPLE_AT {SAMPLE_AT} /* percent of a period after the command */",
        f"#define RIG_FAULT_WATCHDOG {int(RigFault.WATCHDOG)}",
        f"#define RIG_HEADER_SIZE {HEADER_SIZE}u",
        f"#define RIG_LARGEST {LARGEST}",
        f"#define RIG_ROOM {ROOM}",
    ]
    at = 0
    for name, code, meaning in HEADER:
        lines.append(
            f"#define RIG_{NAMES.get(name, name.upper())} {at} /* {code}: {meaning} */".replace(
                "RIG_MAGIC 0 ", "RIG_MAGIC_AT 0 "
            )
        )
        at += int(code[1])
    lines.append("enum { " + ", ".join(f"RIG_{kind.name} = {int(kind)}" for kind in Kind) + " };")
    refusals = [each for each in Refusal if each != Refusal.NONE]
    lines.append("enum { " + ", ".join(f"RIG_REFUSE_{each.name} = {int(each)}" for each in refusals) + " };")
    lines.append("/* words of 8 bytes of a payload by kind: once, and for each shaft */")
    for name, values in (("rig_once", ONCE), ("rig_each", EACH)):
        lines.append(f"static const unsigned {name}[] = {{{', '.join(str(int(x)) for x in values)}}};")
    return "\n".join(lines) + "\n"


def _fields(words: tuple[Word, ...]) -> str:
    return "".join(f"    {TYPES[word.kind]} {word.name}; /* {word.meaning} */\n" for word in words)


def _structs() -> str:
    text = ""
    for kind, name in ((Kind.COMMAND, "command"), (Kind.FEEDBACK, "feedback")):
        payload = PAYLOADS[kind]
        text += f"struct rig_shaft_{name} {{\n{_fields(payload.shaft)}}};\n"
        text += f"struct rig_{name} {{\n{_fields(payload.once)}"
        text += f"    struct rig_shaft_{name} shaft[RIG_SHAFTS];\n}};\n"
    return text + f"struct rig_limits {{\n{_fields(PAYLOADS[Kind.WELCOME].shaft)}}};\n"
