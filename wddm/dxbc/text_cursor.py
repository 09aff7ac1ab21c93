"""A cursor over one line of assembly text: words, numbers, operands, each fault with its column."""

from __future__ import annotations

import math
import re
import struct

from .opcodes import MinPrecision, Modifier, RegisterType, Selection
from .program import Index, Operand, float_bits
from .text_names import BARE_COMPONENTS, MIN_PRECISIONS, REGISTERS, lookup
from .token_operands import MAX_RELATIVE_DEPTH

__all__ = ["REGISTER_TYPES", "Cursor", "Fault"]

REGISTER_TYPES = lookup(REGISTERS) | {
    "vcp": RegisterType.INPUT_CONTROL_POINT,
    "primid": RegisterType.INPUT_PRIMITIVEID,
}
"""Word in lower case → register file."""

_PRECISIONS = lookup(MIN_PRECISIONS)
_COMPONENT = {letter: i & 3 for i, letter in enumerate("xyzwrgba")}

_SPACE = re.compile(r"[ \t]*")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNSIGNED = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
_LITERAL = re.compile(
    r"(?P<hex>[+-]?0[xX][0-9a-fA-F]+)|(?P<float>[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)\b)"
    r"|(?P<int>[+-]?\d+)",
    re.ASCII,
)
_REGISTER = re.compile(r"([A-Za-z]+)(\d*)", re.ASCII)
_SUFFIX = re.compile(r"\.(?:(?P<count>[014])(?::(?P<raw>0[xX][0-9a-fA-F]{1,3}))?\b|(?P<letters>[A-Za-z]+|_)(?!\w))", re.ASCII)
_NOTES = re.compile(r"\s*\{([^}]*)\}")


class Fault(Exception):
    """What is wrong, at a column (from 0) of the line."""

    def __init__(self, message: str, column: int, length: int = 1) -> None:
        self.message, self.column, self.length = message, column, length
        super().__init__(message)


class Cursor:
    """Reads ``text[pos:end]``; ``end`` is where a comment begins.  Every method skips blanks first."""

    def __init__(self, text: str, pos: int = 0, end: int | None = None) -> None:
        self.text = text
        self.pos = pos
        self.end = len(text) if end is None else end
        self.skip()

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.pos, self.end)
        assert match is not None
        self.pos = match.end()

    @property
    def at_end(self) -> bool:
        return self.pos >= self.end

    def fault(self, message: str, start: int | None = None) -> Fault:
        """A fault from ``start`` to here; without ``start``, at what comes next."""
        if start is not None:
            return Fault(message, start, max(1, self.pos - start))
        following = re.compile(r"\w+|\S|$").search(self.text, self.pos, self.end)
        length = following.end() - following.start() if following is not None else 1
        return Fault(message, min(self.pos, self.end), max(1, length))

    def peek(self) -> str:
        """Next character, empty at the end."""
        return self.text[self.pos] if self.pos < self.end else ""

    def try_take(self, literal: str) -> bool:
        if self.text.startswith(literal, self.pos, self.end):
            self.pos += len(literal)
            self.skip()
            return True
        return False

    def take(self, literal: str, where: str = "") -> None:
        if not self.try_take(literal):
            raise self.fault(f"expected {literal!r}{where and ' ' + where}")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.pos, self.end)
        if found is not None:
            self.pos = found.end()
            self.skip()
        return found

    def match_tight(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """As :meth:`match`, but stays directly behind the match."""
        found = pattern.match(self.text, self.pos, self.end)
        if found is not None:
            self.pos = found.end()
        return found

    def following_word(self) -> str:
        """The word that comes next, unread; empty when none does."""
        found = _WORD.match(self.text, self.pos, self.end)
        return "" if found is None else found[0]

    def word(self, what: str) -> str:
        found = self.match(_WORD)
        if found is None:
            raise self.fault(f"expected {what}")
        return found[0]

    def unsigned(self, what: str) -> int:
        """A number of 32 bits."""
        start = self.pos
        found = self.match(_UNSIGNED)
        if found is None:
            raise self.fault(f"expected {what}")
        if len(found[0]) > 12 or (value := int(found[0], 0 if found[0][:2] in ("0x", "0X") else 10)) > 0xFFFFFFFF:
            raise Fault(f"{what} does not fit 32 bits", start, found.end() - start)
        return value

    def bits(self) -> int:
        """A literal as 32 bits: ``1.5`` float, ``-3`` integer, ``0x…`` pattern."""
        start = self.pos
        found = self.match(_LITERAL)
        if found is None:
            raise self.fault("expected a number")
        if found["float"] is not None:
            value = float(found[0])
            bits = float_bits(value)
            if bits & 0x7FFFFFFF == 0x7F800000 and "inf" not in found[0]:
                raise Fault(f"{found[0]} is beyond a float", start, found.end() - start)
            return bits
        if len(found[0]) > 13 or not -(1 << 31) <= (number := int(found[0], 16 if found["hex"] else 10)) < 1 << 32:
            raise Fault(f"{found[0]} does not fit 32 bits", start, found.end() - start)
        return number & 0xFFFFFFFF

    def double(self) -> tuple[int, int]:
        """A double literal as (low, high) dwords: ``1.5l``, ``1.5``, or 64 bits in hex."""
        start = self.pos
        found = self.match(_LITERAL)
        if found is None:
            raise self.fault("expected a double")
        if found["hex"] is not None:
            if len(found[0]) > 18 or found[0][0] in "+-":
                raise Fault(f"{found[0]} is not a pattern of 64 bits", start, found.end() - start)
            bits = int(found[0], 16)
        else:
            if self.text[self.pos : self.pos + 1] in ("l", "L"):
                self.pos += 1
                self.skip()
            value = float(found[0])
            if math.isinf(value) and "inf" not in found[0]:
                raise Fault(f"{found[0]} is beyond a double", start, found.end() - start)
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return bits & 0xFFFFFFFF, bits >> 32

    def braced(self, what: str) -> list[int]:
        """``{ 1, 0x2, … }``."""
        self.take("{", f"before the {what}")
        values: list[int] = []
        while not self.try_take("}"):
            if values:
                self.take(",", f"between {what}")
            values.append(self.bits())
        return values

    # --- operands ---------------------------------------------------------------------------------------------

    def operand(self, masked: bool, depth: int = 0) -> Operand:
        """An operand; ``masked``: letters behind it are a write mask, else a swizzle or a selection."""
        negate = self.try_take("-")
        absolute = self.try_take("|")
        operand = self._bare_operand(masked, depth)
        if absolute:
            self.take("|", "to close the absolute value")
        if negate or absolute:
            operand.modifier = Modifier(negate + 2 * absolute)
        self.notes(operand)
        return operand

    def _bare_operand(self, masked: bool, depth: int) -> Operand:
        start = self.pos
        found = _REGISTER.match(self.text, self.pos, self.end)
        if found is None:
            raise self.fault("expected a register or a literal")
        name, digits = found[1], found[2]
        if not digits and name in ("l", "d") and self.text.startswith("(", found.end()):
            self.pos = found.end() + 1
            return self._immediate(name == "d", start)
        type_ = REGISTER_TYPES.get(name.lower())
        if type_ is None:
            raise Fault(f"no register file is called {name!r}", start, found.end() - start)
        self.pos = found.end()
        operand = Operand(type_, 0, Selection.MASK, 0)
        if digits:
            if len(digits) > 10 or int(digits) > 0xFFFFFFFF:
                raise Fault(f"register number {digits} does not fit 32 bits", start, found.end() - start)
            operand.indices.append(Index(int(digits)))
        while self.text.startswith("[", self.pos, self.end):
            self.pos += 1
            self.skip()
            if len(operand.indices) == 3:
                raise self.fault("a register has at most three indices")
            operand.indices.append(self._index(depth))
        self.suffix(operand, masked)
        return operand

    def _index(self, depth: int) -> Index:
        if self.peek().isdecimal():
            immediate = self.unsigned("index")
            if self.try_take("+"):
                return self._closed(Index(immediate, self._relative(depth), immediate == 0))
            return self._closed(Index(immediate))
        relative = self._relative(depth)
        if self.try_take("+"):
            immediate = self.unsigned("index")
            return self._closed(Index(immediate, relative, immediate == 0))
        return self._closed(Index(0, relative))

    def _relative(self, depth: int) -> Operand:
        if depth == MAX_RELATIVE_DEPTH:
            raise self.fault(f"relative indices nest deeper than {MAX_RELATIVE_DEPTH}")
        return self.operand(False, depth + 1)

    def _closed(self, index: Index) -> Index:
        if not self.text.startswith("]", self.pos, self.end):
            raise self.fault("expected ']' behind the index")
        self.pos += 1
        return index

    def suffix(self, operand: Operand, masked: bool) -> None:
        """The components behind a register: letters, ``_`` for an empty mask, or raw as ``.4:0x39``."""
        start = self.pos
        found = _SUFFIX.match(self.text, self.pos, self.end)
        if found is None:
            if self.text.startswith(".", self.pos, self.end):
                self.pos += 1
                raise self.fault("expected components out of x, y, z, w", start)
            operand.components, operand.selector = BARE_COMPONENTS.get(operand.type, (0, 0))
            self.skip()
            return
        self.pos = found.end()
        if found["count"] is not None:
            operand.components = int(found["count"])
            raw = int(found["raw"], 16) if found["raw"] else 0
            if raw & 3 == 3 or raw >> 10:
                raise self.fault("no such component selection", start)
            operand.selection, operand.selector = Selection(raw & 3), raw >> 2
        else:
            operand.components = 4
            letters = found["letters"]
            if letters != "_":
                self._letters(operand, letters, masked, start)
        self.skip()

    def _letters(self, operand: Operand, letters: str, masked: bool, start: int) -> None:
        try:
            components = [_COMPONENT[letter] for letter in letters]
        except KeyError:
            raise self.fault(f"{letters!r} are not components out of x, y, z, w", start) from None
        if masked:
            selector = 0
            for component in components:
                if selector >> component:
                    raise self.fault(f"mask {letters!r} is not in ascending order", start)
                selector |= 1 << component
            operand.selector = selector
        elif len(components) == 1:
            operand.selection, operand.selector = Selection.SELECT1, components[0]
        elif len(components) > 4:
            raise self.fault(f"swizzle {letters!r} has more than four components", start)
        else:
            components += components[-1:] * (4 - len(components))
            operand.selection = Selection.SWIZZLE
            operand.selector = (
                components[0] | components[1] << 2 | components[2] << 4 | components[3] << 6
            )

    def _immediate(self, double: bool, start: int) -> Operand:
        self.skip()
        values: list[int] = []
        count = 0
        while not self.try_take(")"):
            if count:
                self.take(",", "or ')' behind the literal")
            values += self.double() if double else (self.bits(),)
            count += 1
        allowed = (1, 2) if double else (1, 4)
        if count not in allowed:
            raise self.fault(f"a literal has {allowed[0]} or {allowed[1]} numbers, not {count}", start)
        operand = Operand(
            RegisterType.IMMEDIATE64 if double else RegisterType.IMMEDIATE32,
            1 if count == 1 else 4, Selection.MASK, 0, [], tuple(values),
        )
        if self.peek() == ".":
            components = operand.components
            self.suffix(operand, False)
            if operand.components != components:
                raise self.fault("the components of a literal are its numbers", start)
        return operand

    def notes(self, operand: Operand) -> None:
        """Min precision and such behind an operand: ``{min16f}``."""
        if self.peek() != "{":
            return
        start = self.pos
        found = self.match(_NOTES)
        if found is None:
            raise self.fault("'{' without '}'", start)
        for note in found[1].split(","):
            # The compiler also says what the register really is ("min16f as def32"): only the wish is stored.
            note = note.strip().lower().partition(" as ")[0]
            if note == "nonuniform":
                operand.nonuniform = True
            elif note in _PRECISIONS:
                operand.min_precision = _PRECISIONS[note]
            elif note == "def32":
                operand.min_precision = MinPrecision.DEFAULT
            else:
                raise self.fault(f"{note!r} is neither nonuniform nor one of {', '.join(_PRECISIONS)}", start)
