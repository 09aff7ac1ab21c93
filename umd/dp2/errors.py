"""How a DP2 command fails: an HRESULT, at the command that caused it."""

from __future__ import annotations

from wddm.ddi.status import HRESULT

DD_OK = 0
DDERR_GENERIC = 0x80004005
DDERR_UNSUPPORTED = 0x80004001
DDERR_INVALIDPARAMS = 0x80070057
DDERR_OUTOFMEMORY = 0x8007000E
D3DERR_COMMAND_UNPARSED = int(HRESULT.D3DERR_COMMAND_UNPARSED)
D3DERR_INVALIDCALL = int(HRESULT.D3DERR_INVALIDCALL)
D3DERR_NOTAVAILABLE = int(HRESULT.D3DERR_NOTAVAILABLE)


class CommandError(Exception):
    """A command cannot be carried out; what came before it stays done."""

    def __init__(self, hr: int, why: str) -> None:
        self.hr = hr
        self.why = why
        super().__init__(f"{why} (0x{hr:08X})")

    @classmethod
    def params(cls, why: str) -> CommandError:
        """DDERR_INVALIDPARAMS."""
        return cls(DDERR_INVALIDPARAMS, why)

    @classmethod
    def call(cls, why: str) -> CommandError:
        """D3DERR_INVALIDCALL: right by itself, but not now."""
        return cls(D3DERR_INVALIDCALL, why)

    @classmethod
    def unsupported(cls, why: str) -> CommandError:
        """DDERR_UNSUPPORTED."""
        return cls(DDERR_UNSUPPORTED, why)
