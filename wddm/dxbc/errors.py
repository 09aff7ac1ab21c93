"""What goes wrong with shader bytes and shader text, each said with its place.  Owns no parsing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AssemblyError", "Diagnostic", "DxbcError"]


class DxbcError(ValueError):
    """A container, a token stream or a program breaks the format.

    ``offset`` is the byte at which the fault was seen, counted from the start of what was being read (the container,
    or the token payload), or None for programs that were not read from bytes.  ``where`` is the declaration or
    instruction at fault when an existing program is checked or written.
    """

    def __init__(self, message: str, offset: int | None = None, where: object = None) -> None:
        self.message = message
        self.offset = offset
        self.where = where
        super().__init__(message if offset is None else f"byte {offset} (dword {offset // 4}): {message}")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault in assembly text; ``line`` and ``column`` count from 1."""

    message: str
    line: int
    column: int
    source: str
    """The whole source line."""
    length: int = 1
    """Characters that the caret underlines."""

    def __str__(self) -> str:
        pad = "".join("\t" if c == "\t" else " " for c in self.source[: self.column - 1])
        caret = "^" * max(1, min(self.length, len(self.source) - self.column + 1))
        return f"{self.line}:{self.column}: {self.message}\n    {self.source}\n    {pad}{caret}"


class AssemblyError(ValueError):
    """Assembly text that does not make a shader; ``diagnostics`` lists every fault found, in source order."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
