"""Commands that set state, or make, name and delete objects; none of them draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from umd.dp2.errors import CommandError
from umd.dp2.fixed import world_key
from umd.dp2.formats import MAX_STREAMS
from umd.dp2.parser import OP, Command
from umd.dp2.patches import Patches
from umd.dp2.programs import Programs
from umd.dp2.queries import Queries
from umd.dp2.state import RS, TSS, USER_MEMORY, Key, Kind, State
from umd.dp2.surfaces import Surfaces
from wddm.ddi.d3dhal import (
    D3DHAL_DRAWPRIMITIVES2DATA,
    D3DHAL_MAX_RSTATES,
    D3DHAL_SETLIGHT,
    D3DHAL_TSS_MAXSTAGES,
    D3DHAL_TSS_STATESPERSTAGE,
    D3DLIGHT7_DTYPE,
    D3DTEXTUREOP,
    D3DTS_WORLDMATRIX_BASE,
    D3DVERTEXELEMENT9_DTYPE,
)

MAX_LIGHT_INDEX: Final = 1 << 16
MAX_CONSTANTS: Final = 8192
FLOATS, INTEGERS, BOOLEANS = 0, 1, 2
#: Render states of DirectX 3 to 5 that are states of texture stage 0 since.
_LEGACY: Final = {
    RS.TEXTUREHANDLE: TSS.TEXTUREMAP, RS.TEXTUREADDRESS: TSS.ADDRESS, RS.TEXTUREADDRESSU: TSS.ADDRESSU,
    RS.TEXTUREADDRESSV: TSS.ADDRESSV, RS.TEXTUREMAG: TSS.MAGFILTER, RS.TEXTUREMIN: TSS.MINFILTER, RS.BORDERCOLOR: TSS.BORDERCOLOR,
    RS.MIPMAPLODBIAS: TSS.MIPMAPLODBIAS, RS.ANISOTROPY: TSS.MAXANISOTROPY,
}  # fmt: skip
_O: Final = D3DTEXTUREOP
#: TEXTUREMAPBLEND as operations of stage 0: (colour, alpha); arguments are texture and diffuse colour.
_MAP_BLEND: Final = {
    1: (_O.SELECTARG1, _O.SELECTARG1), 2: (_O.MODULATE, _O.SELECTARG1), 3: (_O.BLENDTEXTUREALPHA, _O.SELECTARG2),
    4: (_O.MODULATE, _O.MODULATE), 7: (_O.SELECTARG1, _O.SELECTARG1), 8: (_O.ADD, _O.SELECTARG2),
}  # fmt: skip
#: DirectX 7 numbers of the first world matrices.
_WORLDS: Final = {1: 0, 4: 1, 5: 2, 6: 3}


def transform_key(type: int) -> int:
    """One number for each transform state. Raises CommandError."""
    if type in _WORLDS:
        return world_key(_WORLDS[type])
    if type in (2, 3) or 16 <= type <= 23 or D3DTS_WORLDMATRIX_BASE <= type < D3DTS_WORLDMATRIX_BASE + 256:
        return type
    raise CommandError.params(f"transform state {type}")


def _frozen(record: Any) -> Any:
    """A structure that outlives the command buffer."""
    return record.copy()


class StateCommands:
    """Handlers by opcode."""

    def __init__(
        self, state: State, surfaces: Surfaces, programs: Programs, queries: Queries, patches: Patches
    ) -> None:
        self._state = state
        self._surfaces = surfaces
        self._programs = programs
        self._queries = queries
        self._patches = patches
        self._rstates: Any = None
        none = self._nothing
        self.handlers: dict[OP, Callable[[Command], None]] = {
            OP.RENDERSTATE: self.render_states,
            OP.TEXTURESTAGESTATE: self.stage_states,
            OP.VIEWPORTINFO: self.viewport,
            OP.WINFO: self.w_info,
            OP.ZRANGE: self.z_range,
            OP.SETSCISSORRECT: self.scissor,
            OP.SETMATERIAL: self.material,
            OP.CREATELIGHT: self.create_light,
            OP.SETLIGHT: self.light,
            OP.SETTRANSFORM: self.transform,
            OP.MULTIPLYTRANSFORM: self.multiply_transform,
            OP.SETCLIPPLANE: self.clip_plane,
            OP.STATESET: self.state_set,
            OP.SETRENDERTARGET: self.render_target,
            OP.SETRENDERTARGET2: self.render_target2,
            OP.SETDEPTHSTENCIL: self.depth_stencil,
            OP.SETPALETTE: self.set_palette,
            OP.UPDATEPALETTE: self.update_palette,
            OP.SETPRIORITY: self.priority,
            OP.SETTEXLOD: self.texture_lod,
            # The driver manages no textures and caches nothing of them: what is dirty is not its business.
            OP.ADDDIRTYRECT: none,
            OP.ADDDIRTYBOX: none,
            # Weights of a filter that the driver does not tell in its caps.
            OP.SETCONVOLUTIONKERNELMONO: none,
            OP.SETSTREAMSOURCE: self.stream,
            OP.SETSTREAMSOURCE2: self.stream,
            OP.SETSTREAMSOURCEUM: self.user_stream,
            OP.SETSTREAMSOURCEFREQ: self.stream_frequency,
            OP.SETINDICES: self.indices,
            OP.CREATEVERTEXSHADER: self.create_vertex_shader,
            OP.DELETEVERTEXSHADER: self.delete_vertex_shader,
            OP.SETVERTEXSHADER: self.set_vertex_shader,
            OP.SETVERTEXSHADERCONST: self._constants(Kind.VERTEX_CONSTANT, FLOATS),
            OP.SETVERTEXSHADERCONSTI: self._constants(Kind.VERTEX_CONSTANT, INTEGERS),
            OP.SETVERTEXSHADERCONSTB: self._constants(Kind.VERTEX_CONSTANT, BOOLEANS),
            OP.CREATEVERTEXSHADERDECL: self.create_declaration,
            OP.DELETEVERTEXSHADERDECL: self.delete_declaration,
            OP.SETVERTEXSHADERDECL: self._setter(Kind.DECLARATION),
            OP.CREATEVERTEXSHADERFUNC: self.create_function,
            OP.DELETEVERTEXSHADERFUNC: self.delete_function,
            OP.SETVERTEXSHADERFUNC: self._setter(Kind.VERTEX_FUNCTION),
            OP.CREATEPIXELSHADER: self.create_pixel_shader,
            OP.DELETEPIXELSHADER: self.delete_pixel_shader,
            OP.SETPIXELSHADER: self._setter(Kind.PIXEL_SHADER),
            OP.SETPIXELSHADERCONST: self._constants(Kind.PIXEL_CONSTANT, FLOATS),
            OP.SETPIXELSHADERCONSTI: self._constants(Kind.PIXEL_CONSTANT, INTEGERS),
            OP.SETPIXELSHADERCONSTB: self._constants(Kind.PIXEL_CONSTANT, BOOLEANS),
            OP.CREATEQUERY: self.create_query,
            OP.DELETEQUERY: self.delete_query,
        }

    def begin(self, data: D3DHAL_DRAWPRIMITIVES2DATA) -> None:
        """A call begins: its copy of the render states is the one to keep up to date.

        A copy that the driver has not seen yet learns the one default of its own.
        """
        if data.lpdwRStates is not self._rstates:
            self._rstates = data.lpdwRStates
            self._tell(int(RS.POINTSIZE), self._state.render(RS.POINTSIZE))

    def _nothing(self, command: Command) -> None:
        """What the command asks for is done by doing nothing."""

    def _setter(self, kind: Kind) -> Callable[[Command], None]:
        def set_handle(command: Command) -> None:
            for e in command.each:
                self._state.put(kind, 0, 0, int(e["dwHandle"]))

        return set_handle

    # --- render and texture states -----------------------------------------------------------------------------------------
    def render_states(self, command: Command) -> None:
        """RENDERSTATE. A Boolean may have any value but 0 for true."""
        for code, value in command.each.tolist():
            if code >= D3DHAL_MAX_RSTATES:
                raise CommandError.params(f"render state {code} of {D3DHAL_MAX_RSTATES}")
            self._state.put(Kind.RENDERSTATE, code, 0, value)
            self._legacy(code, value)
            if code == RS.DELETERTPATCH and not self._state.recording:
                self._patches.delete(value)
            if not self._state.recording:
                self._tell(code, value)

    def _tell(self, code: int, value: int) -> None:
        """The runtime's copy gets what the driver uses."""
        if code < len(self._rstates):
            self._rstates[code] = value

    def _legacy(self, code: int, value: int) -> None:
        """Texture states that were render states before there were stages."""
        stage_state = _LEGACY.get(code)  # type: ignore[call-overload]
        if stage_state is not None:
            self._stage(0, int(stage_state), value)
        elif code == RS.TEXTUREMAPBLEND and value in _MAP_BLEND:
            color, alpha = _MAP_BLEND[value]
            self._stage(0, TSS.COLOROP, int(color))
            self._stage(0, TSS.ALPHAOP, int(alpha))

    def stage_states(self, command: Command) -> None:
        """TEXTURESTAGESTATE."""
        for stage, code, value in command.each.tolist():
            if stage >= D3DHAL_TSS_MAXSTAGES or code >= D3DHAL_TSS_STATESPERSTAGE:
                raise CommandError.params(f"texture-stage state {code} of stage {stage}")
            self._stage(stage, code, value)

    def _stage(self, stage: int, code: int, value: int) -> None:
        self._state.put(Kind.STAGE, stage, code, value)
        if code == TSS.ADDRESS:
            self._state.put(Kind.STAGE, stage, int(TSS.ADDRESSU), value)
            self._state.put(Kind.STAGE, stage, int(TSS.ADDRESSV), value)

    # --- viewport, scissor, targets ----------------------------------------------------------------------------------------
    def viewport(self, command: Command) -> None:
        """VIEWPORTINFO."""
        x, y, width, height = (int(v) for v in command.each[0].tolist())
        if max(x, y, width, height) > 1 << 15:
            raise CommandError.params(f"viewport {width} x {height} at ({x}, {y})")
        self._state.put(Kind.VIEWPORT, 0, 0, (x, y, width, height))

    def w_info(self, command: Command) -> None:
        """WINFO."""
        self._state.put(Kind.WINFO, 0, 0, tuple(float(v) for v in command.each[0].tolist()))

    def z_range(self, command: Command) -> None:
        """ZRANGE."""
        for low, high in command.each.tolist():
            if not (low == low and high == high):
                raise CommandError.params("a depth range that is no number")
            self._state.put(Kind.ZRANGE, 0, 0, (low, high))

    def scissor(self, command: Command) -> None:
        """SETSCISSORRECT."""
        for e in command.each:
            self._state.put(Kind.SCISSOR, 0, 0, tuple(int(v) for v in e.tolist()))

    def render_target(self, command: Command) -> None:
        """SETRENDERTARGET."""
        for target, depth in command.each.tolist():
            self._target(0, target)
            self._depth(depth)

    def _target(self, index: int, handle: int) -> None:
        if handle:
            self._surfaces.target(handle, False)
        self._state.put(Kind.TARGET, index, 0, handle)

    def _depth(self, handle: int) -> None:
        if handle:
            self._surfaces.depth(handle)
        self._state.put(Kind.DEPTH, 0, 0, handle)

    def render_target2(self, command: Command) -> None:
        """SETRENDERTARGET2."""
        for index, target in command.each.tolist():
            if index >= 4:
                raise CommandError.params(f"render target {index} of four")
            self._target(index, target)

    def depth_stencil(self, command: Command) -> None:
        """SETDEPTHSTENCIL."""
        for e in command.each:
            self._depth(int(e["hZBuffer"]))

    # --- transformation and lighting ---------------------------------------------------------------------------------------
    def material(self, command: Command) -> None:
        """SETMATERIAL."""
        for e in command.each:
            self._state.put(Kind.MATERIAL, 0, 0, _frozen(e))

    def create_light(self, command: Command) -> None:
        """CREATELIGHT."""
        for e in command.each:
            self._light_index(int(e["dwIndex"]))

    @staticmethod
    def _light_index(index: int) -> int:
        if index >= MAX_LIGHT_INDEX:
            raise CommandError.params(f"light {index} of {MAX_LIGHT_INDEX}")
        return index

    def light(self, command: Command) -> None:
        """SETLIGHT."""
        for e, tail in zip(command.each, command.tails, strict=True):
            index, type = self._light_index(int(e["dwIndex"])), int(e["dwDataType"])
            if type == D3DHAL_SETLIGHT.DATA:
                self._state.put(Kind.LIGHT, index, 0, np.frombuffer(bytes(tail), D3DLIGHT7_DTYPE)[0])
            elif type in (D3DHAL_SETLIGHT.ENABLE, D3DHAL_SETLIGHT.DISABLE):
                self._state.put(Kind.LIGHT_ENABLE, index, 0, type == D3DHAL_SETLIGHT.ENABLE)
            else:
                raise CommandError.params(f"light data of type {type}")

    def transform(self, command: Command) -> None:
        """SETTRANSFORM."""
        for e in command.each:
            self._state.put(Kind.TRANSFORM, transform_key(int(e["xfrmType"])), 0, e["matrix"].copy())

    def multiply_transform(self, command: Command) -> None:
        """MULTIPLYTRANSFORM: the given matrix comes first, as in the API."""
        for e in command.each:
            type = transform_key(int(e["xfrmType"]))
            with np.errstate(all="ignore"):
                product = e["matrix"] @ self._state.get(Kind.TRANSFORM, type)
            self._state.put(Kind.TRANSFORM, type, 0, product)

    def clip_plane(self, command: Command) -> None:
        """SETCLIPPLANE."""
        for e in command.each:
            if e["dwIndex"] >= 32:
                raise CommandError.params(f"clip plane {int(e['dwIndex'])}")
            self._state.put(Kind.CLIP_PLANE, int(e["dwIndex"]), 0, e["plane"].copy())

    # --- state sets ----------------------------------------------------------------------------------------------------
    def state_set(self, command: Command) -> None:
        """STATESET; what a set changes of the render states is told as if each had been set."""
        for operation, handle, type in command.each.tolist():
            changed: list[Key] = self._state.stateset(operation, handle, type)
            for kind, code, _ in changed:
                if kind == Kind.RENDERSTATE:
                    self._tell(code, self._state.render(code))

    # --- surfaces ------------------------------------------------------------------------------------------------------
    def set_palette(self, command: Command) -> None:
        """SETPALETTE."""
        for palette, flags, surface in command.each.tolist():
            self._surfaces.set_palette(palette, flags, surface)

    def update_palette(self, command: Command) -> None:
        """UPDATEPALETTE."""
        e = command.each[0]
        self._surfaces.update_palette(int(e["dwPaletteHandle"]), int(e["wStartIndex"]), np.frombuffer(command.tails[0], "<u4"))

    def priority(self, command: Command) -> None:
        """SETPRIORITY: kept, as the kernel places what the driver has allocated."""
        for surface, priority in command.each.tolist():
            self._surfaces.get(surface).priority = priority

    def texture_lod(self, command: Command) -> None:
        """SETTEXLOD: kept; every mip of a texture is where the texture is."""
        for surface, lod in command.each.tolist():
            self._surfaces.get(surface).lod = lod

    # --- streams -------------------------------------------------------------------------------------------------------
    @staticmethod
    def _stream(stream: int) -> int:
        if stream >= MAX_STREAMS:
            raise CommandError.params(f"stream {stream} of {MAX_STREAMS}")
        return stream

    def stream(self, command: Command) -> None:
        """SETSTREAMSOURCE and SETSTREAMSOURCE2; handle 0 unbinds."""
        for e in command.each:
            stream, handle, stride = self._stream(int(e["dwStream"])), int(e["dwVBHandle"]), int(e["dwStride"])
            offset = int(e["dwOffset"]) if command.op is OP.SETSTREAMSOURCE2 else 0
            if stride > 65535:
                raise CommandError.params(f"vertices of {stride} bytes")
            if handle:
                self._surfaces.buffer(handle, "vertex buffer")
            self._state.put(Kind.STREAM, stream, 0, (handle, offset, stride) if handle else None)

    def user_stream(self, command: Command) -> None:
        """SETSTREAMSOURCEUM."""
        for stream, stride in command.each.tolist():
            if stride > 65535:
                raise CommandError.params(f"vertices of {stride} bytes")
            self._state.put(Kind.STREAM, self._stream(stream), 0, (USER_MEMORY, 0, stride))

    def stream_frequency(self, command: Command) -> None:
        """SETSTREAMSOURCEFREQ."""
        for stream, divider in command.each.tolist():
            if not divider & 0x3FFF_FFFF:
                raise CommandError.params(f"stream {stream} with the divider {divider:#x}")
            self._state.put(Kind.STREAM_FREQUENCY, self._stream(stream), 0, divider)

    def indices(self, command: Command) -> None:
        """SETINDICES; handle 0 clears."""
        for handle, stride in command.each.tolist():
            if handle and stride not in (2, 4):
                raise CommandError.params(f"indices of {stride} bytes")
            if handle:
                self._surfaces.buffer(handle, "index buffer")
            self._state.put(Kind.INDICES, 0, 0, (handle, stride) if handle else None)

    # --- shaders -------------------------------------------------------------------------------------------------------
    def create_vertex_shader(self, command: Command) -> None:
        """CREATEVERTEXSHADER."""
        for e, tail in zip(command.each, command.tails, strict=True):
            size = int(e["dwDeclSize"])
            self._programs.create_vertex_shader(int(e["dwHandle"]), bytes(tail[:size]), bytes(tail[size:]))

    def delete_vertex_shader(self, command: Command) -> None:
        """DELETEVERTEXSHADER."""
        for e in command.each:
            self._programs.delete_declaration(int(e["dwHandle"]))
            self._programs.delete_function(int(e["dwHandle"]))

    def set_vertex_shader(self, command: Command) -> None:
        """SETVERTEXSHADER: an FVF with the fixed function, or a declaration with its function."""
        for e in command.each:
            handle = int(e["dwHandle"])
            self._state.put(Kind.DECLARATION, 0, 0, handle)
            self._state.put(Kind.VERTEX_FUNCTION, 0, 0, handle if self._programs.has_function(handle) else 0)
            for register, words in self._programs.constants(handle).items():
                self._state.put(Kind.VERTEX_CONSTANT, register, FLOATS, words)

    def create_declaration(self, command: Command) -> None:
        """CREATEVERTEXSHADERDECL."""
        for e, tail in zip(command.each, command.tails, strict=True):
            self._programs.create_declaration(int(e["dwHandle"]), np.frombuffer(bytes(tail), D3DVERTEXELEMENT9_DTYPE))

    def delete_declaration(self, command: Command) -> None:
        """DELETEVERTEXSHADERDECL."""
        for e in command.each:
            self._programs.delete_declaration(int(e["dwHandle"]))

    def create_function(self, command: Command) -> None:
        """CREATEVERTEXSHADERFUNC."""
        for e, tail in zip(command.each, command.tails, strict=True):
            self._programs.create_function(int(e["dwHandle"]), bytes(tail))

    def delete_function(self, command: Command) -> None:
        """DELETEVERTEXSHADERFUNC."""
        for e in command.each:
            self._programs.delete_function(int(e["dwHandle"]))

    def create_pixel_shader(self, command: Command) -> None:
        """CREATEPIXELSHADER."""
        for e, tail in zip(command.each, command.tails, strict=True):
            self._programs.create_pixel_shader(int(e["dwHandle"]), bytes(tail))

    def delete_pixel_shader(self, command: Command) -> None:
        """DELETEPIXELSHADER."""
        for e in command.each:
            self._programs.delete_pixel_shader(int(e["dwHandle"]))

    def _constants(self, kind: Kind, file: int) -> Callable[[Command], None]:
        """SET…SHADERCONST…: registers of four values, or one Boolean each."""

        def set_constants(command: Command) -> None:
            for e, tail in zip(command.each, command.tails, strict=True):
                first = int(e["dwRegister"])
                width = 1 if file == BOOLEANS else 4
                rows = np.frombuffer(tail, "<u4").reshape(-1, width).tolist()
                if first + len(rows) > MAX_CONSTANTS:
                    raise CommandError.params(f"shader constants {first} to {first + len(rows)} of {MAX_CONSTANTS}")
                for index, row in enumerate(rows, first):
                    self._state.put(kind, index, file, tuple(row))

        return set_constants

    # --- queries -------------------------------------------------------------------------------------------------------
    def create_query(self, command: Command) -> None:
        """CREATEQUERY."""
        for id, type in command.each.tolist():
            self._queries.create(id, type)

    def delete_query(self, command: Command) -> None:
        """DELETEQUERY."""
        for e in command.each:
            self._queries.delete(int(e["dwQueryID"]))
