from pathlib import Path

from servotwin.hil.link.frames import VERSION, Kind, frame_size
from tools import rig_protocol_page


def test_tables_of_the_page_are_those_of_the_code():
    text = rig_protocol_page.PAGE.read_text(encoding="utf-8")
    assert rig_protocol_page.page(text) == text
    assert "| 17 | `rig_fault` | the rig reports a fault |" in text
    assert f"Version of the protocol: {VERSION}." in text
    assert f"{frame_size(Kind.FEEDBACK, 1) + 2} + {frame_size(Kind.COMMAND, 1) + 2} bytes" in text


def test_firmware_ships_with_the_package():
    from servotwin.hil.link import firmware

    assert (Path(firmware.__file__).parent / "firmware.c.txt").is_file()
    assert "@" not in firmware.firmware_text()
