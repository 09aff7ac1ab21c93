"""What the translator refuses, in words. The device reports it as E_INVALIDARG through ``pfnSetErrorCb``'s log text."""

from __future__ import annotations


class ShaderError(ValueError):
    """A token program that cannot become a hardware program; ``offset`` is the dword of the instruction, or None."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        self.message = message
        self.offset = offset
        super().__init__(message if offset is None else f"dword {offset}: {message}")
