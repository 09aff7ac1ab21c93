"""What the compiler tells its user: positions, numbered errors and warnings, and their text.

Owns :class:`Position`, :class:`Diagnostic`, :class:`CompileError` and the :class:`Sink` that collects them.  Knows
nothing of the language.  The text has the shape fxc gives: ``file(line,column-column): error X3004: message``, then
the source line and a caret.  Numbers are fxc's where they are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

__all__ = ["MAX_ERRORS", "Abort", "CompileError", "Diagnostic", "Position", "Sink"]

MAX_ERRORS = 100
"""After so many errors a compilation stops."""


@dataclass(frozen=True, slots=True)
class Position:
    """A stretch of one source line; ``line`` and ``column`` count from 1, ``length`` is in characters."""

    file: str
    line: int
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: ``severity`` is ``"error"`` or ``"warning"``, ``code`` is the number after the X."""

    severity: str
    code: int
    message: str
    position: Position
    source_line: str = ""

    def __str__(self) -> str:
        at = self.position
        span = f"{at.column}-{at.column + at.length - 1}" if at.length > 1 else f"{at.column}"
        head = f"{at.file}({at.line},{span}): {self.severity} X{self.code:04d}: {self.message}"
        if not self.source_line.strip():
            return head
        text = self.source_line.expandtabs(4)[:200]
        pad = len(self.source_line[: at.column - 1].expandtabs(4))
        if pad >= 200:
            return f"{head}\n    {text}"
        marks = "^" + "~" * max(0, min(at.length - 1, len(text) - pad - 1))
        return f"{head}\n    {text}\n    {' ' * pad}{marks}"


class CompileError(Exception):
    """The source was refused.  ``diagnostics`` holds errors and warnings in source order of discovery."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(d) for d in self.diagnostics)


class Abort(Exception):
    """Unwinds a phase after an error has been recorded; never leaves the compiler."""


class Sink:
    """Collects diagnostics, knows the text of every file, applies ``#pragma warning`` and ``/WX``.

    One (severity, code, position, message) is reported once, so that code lowered twice complains once.
    """

    def __init__(self, *, warnings_are_errors: bool = False) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.errors = 0
        self.warnings_are_errors = warnings_are_errors
        self.files: dict[str, list[str]] = {}
        self.actions: dict[int, str] = {}
        self._seen: set[tuple[str, int, Position]] = set()

    def add_file(self, name: str, text: str) -> None:
        self.files[name] = text.split("\n")

    def error(self, code: int, message: str, at: Position) -> None:
        """Record an error; raises :class:`Abort` once there are :data:`MAX_ERRORS` of them."""
        self._add("error", code, message, at)
        if self.errors >= MAX_ERRORS:
            raise Abort

    def fatal(self, code: int, message: str, at: Position) -> NoReturn:
        """Record an error and unwind the phase."""
        self._add("error", code, message, at)
        raise Abort

    def warning(self, code: int, message: str, at: Position) -> None:
        action = self.actions.get(code, "default")
        if action == "disable":
            return
        self._add("error" if self.warnings_are_errors or action == "error" else "warning", code, message, at)

    def configure(self, settings: Mapping[int, str]) -> None:
        """Take over ``#pragma warning`` settings: code to ``disable``, ``error`` or ``default``."""
        self.actions.update(settings)

    def mark(self) -> int:
        """A place to come back to with :meth:`forget_since`."""
        return len(self.diagnostics)

    def forget_since(self, mark: int) -> None:
        """Drop what was recorded since ``mark``: the work that found it is done again from the start."""
        for diagnostic in self.diagnostics[mark:]:
            self._seen.discard((diagnostic.severity, diagnostic.code, diagnostic.position))
            self.errors -= diagnostic.severity == "error"
        del self.diagnostics[mark:]

    def _add(self, severity: str, code: int, message: str, at: Position) -> None:
        key = (severity, code, at)
        if key in self._seen:
            return
        self._seen.add(key)
        lines = self.files.get(at.file, [])
        line = lines[at.line - 1].rstrip("\r") if 0 < at.line <= len(lines) else ""
        self.diagnostics.append(Diagnostic(severity, code, message, at, line))
        if severity == "error":
            self.errors += 1
