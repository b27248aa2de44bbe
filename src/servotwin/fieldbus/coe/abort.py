"""SDO abort codes with the standard's numbers."""

from __future__ import annotations

from enum import IntEnum

from servotwin.errors import ServotwinError


class AbortCode(IntEnum):
    """Why a transfer of an object is refused."""

    TOGGLE = 0x05030000
    COMMAND = 0x05040001
    OUT_OF_MEMORY = 0x05040005
    UNSUPPORTED_ACCESS = 0x06010000
    WRITE_ONLY = 0x06010001
    READ_ONLY = 0x06010002
    SUBINDEX_0_NOT_0 = 0x06010003
    NO_COMPLETE_ACCESS = 0x06010004
    NO_OBJECT = 0x06020000
    NOT_MAPPABLE = 0x06040041
    TOO_MANY_MAPPED = 0x06040042
    LENGTH = 0x06070010
    TOO_LONG = 0x06070012
    TOO_SHORT = 0x06070013
    NO_SUBINDEX = 0x06090011
    VALUE = 0x06090030
    VALUE_HIGH = 0x06090031
    VALUE_LOW = 0x06090032
    GENERAL = 0x08000000
    NOT_NOW = 0x08000020
    STATE = 0x08000022


class SdoAbortError(ServotwinError):
    """A transfer of an object is refused."""

    def __init__(self, code: AbortCode, index: int, subindex: int) -> None:
        self.code, self.index, self.subindex = code, index, subindex
        super().__init__(f"{index:04X}:{subindex:02X}: {code.name.lower().replace('_', ' ')} (0x{code:08X})")
