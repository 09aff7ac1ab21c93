"""Programmable shaders of DirectX 8 and 9: declarations, functions and pixel shaders by handle.

Code is parsed and translated once when it is created, so that what cannot be is refused there; the shader that is bound depends on
the vertex format, the textures, the alpha test and the fog as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from umd.dp2 import fixed, registers
from umd.dp2.assembly import Assembly
from umd.dp2.bytecode import Code, File, Op, parse
from umd.dp2.errors import CommandError
from umd.dp2.formats import SIGNED, UNSIGNED, VertexFormat, declaration8, declaration9, fvf_format
from umd.dp2.output import color
from umd.dp2.state import RS, TSS, Kind, State
from umd.dp2.surfaces import Surface
from umd.dp2.translator import Link, Translator
from wddm.dxbc.errors import DxbcError

MAX_SHADERS: Final = 1 << 14
FLOATS, INTEGERS, BOOLEANS = 0, 1, 2


@dataclass(slots=True)
class Program:
    """A shader as it is to be bound: what it is made of, how it is written, its constants, the register of each vertex element."""

    key: Any
    write: Callable[[], Assembly]
    constants: bytes
    registers: tuple[int, ...] = ()


class _Shader:
    """Code with what it defines and declares itself."""

    def __init__(self, data: bytes, pixel: bool) -> None:
        self.data = data
        self.code: Code = parse(data)
        if self.code.pixel is not pixel:
            raise CommandError.params("vertex shader code for a pixel shader, or the other way round")
        self.definitions: list[tuple[int, tuple[int, ...]]] = []  #: (row of the constant buffer, dwords)
        self.usages: dict[tuple[int, int], int] = {}  #: (usage, index) -> input
        rows = {Op.DEF: (0, 256), Op.DEFI: (registers.INTEGERS, 16), Op.DEFB: (registers.BOOLEANS, 16)}
        for i in self.code.instructions:
            d = i.destination
            if d is None:
                continue
            if i.op in rows:
                first, count = rows[i.op]
                if d.number >= count:
                    raise CommandError.params(f"constant {d.number} of {count}")
                self.definitions.append((first + d.number, i.words))
            elif i.op is Op.DCL and d.file is File.INPUT:
                self.usages[i.words[0] & 0x1F, i.words[0] >> 16 & 0xF] = d.number
        self.translate(Link(tuple((n, "v") for n in range(16))))

    def translate(self, link: Link) -> Assembly:
        """The shader for what is around it. Raises CommandError."""
        made = Translator(self.code, link).translate()
        try:
            made.tokens()
        except DxbcError as error:
            raise CommandError.params(f"shader code that means nothing: {error}") from None
        return made


class Programs:
    """Handles of one context."""

    def __init__(self) -> None:
        self._declarations: dict[int, VertexFormat] = {}
        self._constants: dict[int, dict[int, tuple[int, ...]]] = {}
        self._functions: dict[int, _Shader] = {}
        self._pixel: dict[int, _Shader] = {}

    # --- handles -------------------------------------------------------------------------------------------------------
    def create_vertex_shader(self, handle: int, declaration: bytes, code: bytes) -> None:
        """CREATEVERTEXSHADER: a declaration with or without a function. Raises CommandError."""
        tokens = np.frombuffer(declaration[: len(declaration) & ~3], "<u4").tolist()
        format, constants = declaration8(tokens)
        if code:
            self.create_function(handle, code)
        else:
            self._functions.pop(handle, None)
        self._put(self._declarations, handle, format)
        self._constants[handle] = constants

    def create_declaration(self, handle: int, records: Any) -> None:
        """CREATEVERTEXSHADERDECL. Raises CommandError."""
        self._put(self._declarations, handle, declaration9(records))
        self._constants.pop(handle, None)

    def create_function(self, handle: int, code: bytes) -> None:
        """CREATEVERTEXSHADERFUNC. Raises CommandError."""
        self._put(self._functions, handle, _Shader(code, False))

    def create_pixel_shader(self, handle: int, code: bytes) -> None:
        """CREATEPIXELSHADER. Raises CommandError."""
        self._put(self._pixel, handle, _Shader(code, True))

    @staticmethod
    def _put(table: dict[int, Any], handle: int, made: Any) -> None:
        if not handle:
            raise CommandError.params("shader handle 0 is the fixed function")
        if handle not in table and len(table) >= MAX_SHADERS:
            raise CommandError.params(f"{MAX_SHADERS} shaders exist already")
        table[handle] = made

    def delete_declaration(self, handle: int) -> None:
        """Forget a declaration."""
        self._declarations.pop(handle, None)
        self._constants.pop(handle, None)

    def delete_function(self, handle: int) -> None:
        """Forget a function."""
        self._functions.pop(handle, None)

    def delete_pixel_shader(self, handle: int) -> None:
        """Forget a pixel shader."""
        self._pixel.pop(handle, None)

    def has_function(self, handle: int) -> bool:
        """Whether a handle of DirectX 8 has a function with its declaration."""
        return handle in self._functions and handle in self._declarations

    def constants(self, handle: int) -> dict[int, tuple[int, ...]]:
        """The constants that a declaration of DirectX 8 defines."""
        return self._constants.get(handle, {})

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

    # --- binding -------------------------------------------------------------------------------------------------------
    def vertex(self, state: State, format: VertexFormat) -> Program | None:
        """The vertex shader that is set, None for the fixed function. Raises CommandError."""
        handle = state.get(Kind.VERTEX_FUNCTION)
        if not handle or format.transformed:
            return None  # transformed vertices have nothing to compute
        shader = self._functions.get(handle)
        if shader is None:
            raise CommandError.call(f"vertex shader {handle} does not exist")
        places, inputs = [], []
        for e in format.elements:
            # A declaration of DirectX 8 names registers, one of DirectX 9 what its elements are for.
            register = shader.usages.get((int(e.usage), e.usage_index), -1) if shader.usages else e.register
            places.append(register if 0 <= register < 16 else -1)
            if 0 <= register < 16:
                inputs.append((register, "u" if e.type in UNSIGNED else "s" if e.type in SIGNED else "v"))
        link = Link(tuple(inputs))
        constants = state.derive(("vertex rows", shader), lambda: _rows(state, Kind.VERTEX_CONSTANT, shader).tobytes())
        return Program((shader.data, link), lambda: shader.translate(link), constants, tuple(places))

    def pixel(self, state: State, textures: list[Surface | None]) -> Program | None:
        """The pixel shader that is set, None for the fixed function. Raises CommandError."""
        handle = state.get(Kind.PIXEL_SHADER)
        if not handle:
            return None
        shader = self._pixel.get(handle)
        if shader is None:
            raise CommandError.call(f"pixel shader {handle} does not exist")
        bound = tuple(
            (surface.kind, surface.swizzle, fixed.projected(state, stage)) if surface is not None else (0, "xyzw", 0)
            for stage, surface in enumerate(textures)
        )
        link = Link((), bound, fixed.alpha_func(state), fixed.fog_modes(state, False)[1], state.render(RS.SHADEMODE) == 1)
        constants = state.derive(("pixel rows", shader), lambda: _pixel_rows(state, shader))
        return Program((shader.data, link), lambda: shader.translate(link), constants)


def _pixel_rows(state: State, shader: _Shader) -> bytes:
    """The constant buffer of a pixel shader, with what the driver adds."""
    rows = _rows(state, Kind.PIXEL_CONSTANT, shader)
    floats = rows.view(np.float32)
    floats[registers.FOG_COLOR] = color(state.render(RS.FOGCOLOR))
    floats[registers.FOG_PARAMETERS] = fixed.fog_parameters(state)
    floats[registers.ALPHA_REF, 0] = state.render(RS.ALPHAREF) & 0xFF
    matrix = (TSS.BUMPENVMAT00, TSS.BUMPENVMAT01, TSS.BUMPENVMAT10, TSS.BUMPENVMAT11)
    for stage in range(8):
        rows[registers.BUMP_MATRIX + stage] = [state.stage(stage, code) for code in matrix]
        rows[registers.BUMP_LUMINANCE + stage, :2] = [state.stage(stage, c) for c in (TSS.BUMPENVLSCALE, TSS.BUMPENVLOFFSET)]
    data: bytes = rows.tobytes()
    return data


def _rows(state: State, kind: Kind, shader: _Shader) -> Any:
    """The constant buffer: what is set, and over it what the shader defines itself."""
    rows = np.zeros((registers.ROWS, 4), np.uint32)
    first = {FLOATS: 0, INTEGERS: registers.INTEGERS, BOOLEANS: registers.BOOLEANS}
    count = {FLOATS: 256, INTEGERS: 16, BOOLEANS: 16}
    for (_, register, file), value in state.all_of(kind):
        if register < count[file]:
            rows[first[file] + register, : len(value)] = value
    for row, words in shader.definitions:
        rows[row, : len(words)] = words
    return rows
