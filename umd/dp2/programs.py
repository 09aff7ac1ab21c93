"""Programmable shaders of DirectX 8 and 9: declarations, functions and pixel shaders by handle.

DEVIATES: shader code is refused with DDERR_UNSUPPORTED, as by a driver whose caps tell shader versions of 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from umd.dp2.assembly import Assembly
from umd.dp2.errors import CommandError
from umd.dp2.formats import VertexFormat, declaration8, declaration9, fvf_format
from umd.dp2.state import Kind, State
from umd.dp2.surfaces import Surface


@dataclass(slots=True)
class Program:
    """A shader as it is to be bound: what it is made of, how it is written, its constants, the register of each vertex element."""

    key: Any
    write: Callable[[], Assembly]
    constants: bytes
    registers: tuple[int, ...] = ()


class Programs:
    """Handles of one context."""

    def __init__(self) -> None:
        self._declarations: dict[int, VertexFormat] = {}
        self._constants: dict[int, dict[int, tuple[int, ...]]] = {}

    def create_vertex_shader(self, handle: int, declaration: bytes, code: bytes) -> None:
        """CREATEVERTEXSHADER: a declaration with or without a function. Raises CommandError."""
        if code:
            raise CommandError.unsupported("vertex shaders are not supported")
        tokens = np.frombuffer(declaration[: len(declaration) & ~3], "<u4").tolist()
        self._declarations[handle], self._constants[handle] = declaration8(tokens)

    def create_declaration(self, handle: int, records: Any) -> None:
        """CREATEVERTEXSHADERDECL. Raises CommandError."""
        self._declarations[handle] = declaration9(records)

    def create_function(self, handle: int, code: bytes) -> None:
        """CREATEVERTEXSHADERFUNC. Raises CommandError."""
        raise CommandError.unsupported("vertex shaders are not supported")

    def create_pixel_shader(self, handle: int, code: bytes) -> None:
        """CREATEPIXELSHADER. Raises CommandError."""
        raise CommandError.unsupported("pixel shaders are not supported")

    def delete_function(self, handle: int) -> None:
        """Forget a function."""

    def delete_pixel_shader(self, handle: int) -> None:
        """Forget a pixel shader."""

    def has_function(self, handle: int) -> bool:
        """Whether a handle of DirectX 8 has a function with its declaration."""
        return False

    def constants(self, handle: int) -> dict[int, tuple[int, ...]]:
        """The constants that a declaration of DirectX 8 defines."""
        return self._constants.get(handle, {})

    def delete_declaration(self, handle: int) -> None:
        """Forget a declaration."""
        self._declarations.pop(handle, None)
        self._constants.pop(handle, None)

    def format(self, state: State) -> VertexFormat:
        """The vertex format that is set. Raises CommandError."""
        handle = state.get(Kind.DECLARATION)
        if handle & 1:
            found = self._declarations.get(handle)
            if found is None:
                raise CommandError.call(f"declaration {handle} does not exist")
            return found
        if not handle:
            raise CommandError.call("no vertex format is set")
        return fvf_format(handle)

    def vertex(self, state: State, format: VertexFormat) -> Program | None:
        """The vertex shader that is set, None for the fixed function."""
        return None

    def pixel(self, state: State, textures: list[Surface | None]) -> Program | None:
        """The pixel shader that is set, None for the fixed function."""
        return None
