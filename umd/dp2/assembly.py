"""Shader assembly as it is written: declarations, instructions, and the token stream that comes of them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.tokens import encode

#: Registers between vertex and pixel shader: position, colours, fog, eight texture coordinates, clip distances.
POSITION: Final = 0
DIFFUSE: Final = 1
SPECULAR: Final = 2  #: alpha is the vertex fog factor
FOG: Final = 3  #: x: w, y: z, both of clip space; z: point size in pixels
TEXCOORD0: Final = 4
CLIP0: Final = 12


class Assembly:
    """A shader being written."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self._declarations: list[str] = []
        self._lines: list[str] = []
        self._temps = 0
        self._constants: dict[int, list[int]] = {}
        self._dynamic: set[int] = set()
        self.returned = False  #: the main program has ended; subroutines may follow

    def declare(self, line: str) -> None:
        """A declaration, once."""
        if line not in self._declarations:
            self._declarations.append(line)

    def __call__(self, *lines: str) -> None:
        """Instructions."""
        self._lines += lines

    def temps(self, count: int) -> None:
        """At least so many temporary registers are used."""
        self._temps = max(self._temps, count)

    def constants(self, slot: int, count: int, *, dynamic: bool = False) -> None:
        """A constant buffer with at least ``count`` registers is read."""
        self._constants.setdefault(slot, [0])[0] = max(self._constants.get(slot, [0])[0], count)
        if dynamic:
            self._dynamic.add(slot)

    def text(self) -> str:
        """The listing."""
        buffers = [
            f"dcl_constantbuffer CB{slot}[{count}], {'dynamicIndexed' if slot in self._dynamic else 'immediateIndexed'}"
            for slot, (count,) in sorted(self._constants.items())
        ]
        temps = [f"dcl_temps {self._temps}"] if self._temps else []
        end = [] if self.returned else ["ret"]
        return "\n".join([self.profile, *buffers, *self._declarations, *temps, *self._lines, *end, ""])

    def tokens(self) -> Any:
        """The token stream, DWORDs."""
        return np.frombuffer(encode(assemble_program(self.text())), np.uint32)
