"""From the state of a context to the keys and constants of the fixed-function shaders.

DEVIATES: texture-coordinate wrapping (WRAP0 to WRAP15), tweening (VERTEXBLEND = 255) and colour keys have no effect.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umd.dp2 import pixel, vertex
from umd.dp2.formats import Register, VertexFormat
from umd.dp2.output import color, viewport_of
from umd.dp2.state import RS, TSS, Kind, State
from umd.dp2.surfaces import Surface
from wddm.ddi.d3dhal import (
    D3DCMPFUNC,
    D3DFOGMODE,
    D3DHAL_TSS_MAXSTAGES,
    D3DLIGHTTYPE,
    D3DMATERIALCOLORSOURCE,
    D3DTA_SELECTMASK,
    D3DTEXTUREOP,
    D3DTRANSFORMSTATETYPE,
    D3DTS_WORLDMATRIX_BASE,
    D3DTTFF,
)

Array = npt.NDArray[np.float32]
T = D3DTRANSFORMSTATETYPE
MAX_BLEND_WEIGHTS: Final = 3
_FOG_MODES: Final = frozenset(D3DFOGMODE)


def world_key(index: int) -> int:
    """The transform state of world matrix ``index``; DirectX 7 has numbers of its own for the first four."""
    return D3DTS_WORLDMATRIX_BASE + index


def lights(state: State) -> list[Any]:
    """The enabled lights in order, as many as the pipeline takes."""
    found = []
    for (_, index, _), enabled in state.all_of(Kind.LIGHT_ENABLE):
        if enabled:
            light = state.get(Kind.LIGHT, index)
            if light is not None and int(light["Type"]) in D3DLIGHTTYPE._value2member_map_:
                found.append(light)
    return found[: vertex.MAX_LIGHTS]


def stages(state: State, textures: list[Surface | None]) -> tuple[pixel.Stage, ...]:
    """The texture stages up to the first that is disabled."""
    found: list[pixel.Stage] = []
    for index in range(D3DHAL_TSS_MAXSTAGES):
        color_op = state.stage(index, TSS.COLOROP)
        if color_op == D3DTEXTUREOP.DISABLE:
            break
        surface = textures[index]
        stage = pixel.Stage(
            color_op,
            tuple(_argument(state.stage(index, c)) for c in (TSS.COLORARG0, TSS.COLORARG1, TSS.COLORARG2)),  # type: ignore[arg-type]
            state.stage(index, TSS.ALPHAOP),
            tuple(_argument(state.stage(index, c)) for c in (TSS.ALPHAARG0, TSS.ALPHAARG1, TSS.ALPHAARG2)),  # type: ignore[arg-type]
            state.stage(index, TSS.RESULTARG) & D3DTA_SELECTMASK == 5,
            surface.kind if surface is not None else 0,
            surface.swizzle if surface is not None else "xyzw",
            projected(state, index),
            bool(surface is not None and surface.palette),
        )
        found.append(pixel.without_texture(_known(stage)))
    return tuple(found)


def _argument(value: int) -> int:
    """An argument; one that does not exist reads the diffuse colour."""
    return value & 0x3F if value & D3DTA_SELECTMASK <= 6 else value & 0x30


def _known(stage: pixel.Stage) -> pixel.Stage:
    """Operations that do not exist hand on the stage before.

    DEVIATES: PREMODULATE is SELECTARG1; the next stage's texture does not multiply it.
    """
    ops = D3DTEXTUREOP._value2member_map_

    def known(op: int) -> int:
        return int(D3DTEXTUREOP.SELECTARG1) if op not in ops or op == D3DTEXTUREOP.PREMODULATE else op

    alpha = known(stage.alpha_op)
    if alpha in (D3DTEXTUREOP.BUMPENVMAP, D3DTEXTUREOP.BUMPENVMAPLUMINANCE, D3DTEXTUREOP.DOTPRODUCT3):
        alpha = int(D3DTEXTUREOP.SELECTARG1)
    return pixel.Stage(
        known(stage.color_op), stage.color_args, alpha, stage.alpha_args, stage.to_temp, stage.texture, stage.swizzle,
        stage.projected, stage.palette,
    )  # fmt: skip


def fog_modes(state: State, transformed: bool) -> tuple[int, int]:
    """(vertex fog, pixel fog). Table fog goes before vertex fog; transformed vertices bring their factor in specular alpha."""
    if not state.render(RS.FOGENABLE):
        return 0, 0
    table, per_vertex = state.render(RS.FOGTABLEMODE), state.render(RS.FOGVERTEXMODE)
    if table in _FOG_MODES and table:
        # By w where the projection divides by it, else by z.
        projection = state.get(Kind.TRANSFORM, T.PROJECTION)
        affine = bool((projection[:, 3] == (0, 0, 0, 1)).all())
        return 0, table | (pixel.BY_Z if affine else 0)
    if per_vertex not in _FOG_MODES or transformed:
        per_vertex = 0
    return per_vertex, pixel.VERTEX_FOG


def alpha_func(state: State) -> int:
    """The comparison that lets a pixel live; ALWAYS without an alpha test."""
    func = state.render(RS.ALPHAFUNC) if state.render(RS.ALPHATESTENABLE) else int(D3DCMPFUNC.ALWAYS)
    return func if func in D3DCMPFUNC._value2member_map_ else int(D3DCMPFUNC.ALWAYS)


def projected(state: State, stage: int) -> int:
    """The component by which a stage's coordinates are divided, 0 = none."""
    flags = state.stage(stage, TSS.TEXTURETRANSFORMFLAGS)
    count = flags & 0xFF
    return (max(2, min(count, 4)) - 1 if count else 3) if flags & D3DTTFF.PROJECTED else 0


def pixel_key(state: State, format: VertexFormat, textures: list[Surface | None]) -> pixel.PixelKey:
    """The key of the fixed-function pixel shader."""
    return pixel.PixelKey(
        stages(state, textures),
        bool(state.render(RS.SPECULARENABLE)),
        fog_modes(state, format.transformed)[1],
        alpha_func(state),
        state.render(RS.SHADEMODE) == 1,
    )


def vertex_key(
    state: State, format: VertexFormat, sampled: tuple[bool, ...], points: bool
) -> vertex.VertexKey:
    """The key of the fixed-function vertex shader. ``sampled``: which stages need coordinates."""
    r = state.render
    coordinates = tuple(_coordinate(state, index) if used else None for index, used in enumerate(sampled))
    if format.transformed:
        return vertex.VertexKey(format, coordinates=coordinates, points=points)
    lit = bool(r(RS.LIGHTING))
    codes = (RS.DIFFUSEMATERIALSOURCE, RS.AMBIENTMATERIALSOURCE, RS.SPECULARMATERIALSOURCE, RS.EMISSIVEMATERIALSOURCE)
    sources = tuple(min(r(c), 2) if r(RS.COLORVERTEX) else int(D3DMATERIALCOLORSOURCE.MATERIAL) for c in codes)
    weights = r(RS.VERTEXBLEND)
    blend = weights + 1 if 1 <= weights <= MAX_BLEND_WEIGHTS else 1 if weights == 256 else 0
    return vertex.VertexKey(
        format,
        lit,
        tuple(int(light["Type"]) for light in lights(state)) if lit else (),
        sources if lit else (0, 0, 0, 0),  # type: ignore[arg-type]
        lit and bool(r(RS.SPECULARENABLE)),
        bool(r(RS.LOCALVIEWER)),
        bool(r(RS.NORMALIZENORMALS)),
        fog_modes(state, False)[0],
        bool(r(RS.RANGEFOGENABLE)),
        coordinates,
        r(RS.CLIPPLANEENABLE) & 0x3F,
        blend,
        bool(r(RS.INDEXEDVERTEXBLENDENABLE)) and blend > 0,
        points,
        bool(r(RS.POINTSCALEENABLE)),
    )


def _coordinate(state: State, stage: int) -> vertex.Coordinate:
    index = state.stage(stage, TSS.TEXCOORDINDEX)
    generated = index & 0xFFFF_0000
    count = state.stage(stage, TSS.TEXTURETRANSFORMFLAGS) & 0xFF
    if generated > 0x4_0000:
        generated = 0
    return vertex.Coordinate(generated, index & 0xFFFF, min(count, 4))


def needs_size(state: State, format: VertexFormat) -> bool:
    """Whether points are more than the hardware's single pixels."""
    return (
        format.find(Register.PSIZE) is not None
        or state.render_float(RS.POINTSIZE) != 1.0
        or bool(state.render(RS.POINTSPRITEENABLE))
        or (bool(state.render(RS.POINTSCALEENABLE)) and not format.transformed)
    )


# --- constants ------------------------------------------------------------------------------------------------------------


def fog_parameters(state: State) -> tuple[float, float, float, float]:
    start, end = state.render_float(RS.FOGSTART), state.render_float(RS.FOGEND)
    return start, end, state.render_float(RS.FOGDENSITY), 1.0 / (end - start) if end != start else 1e30


def _matrix(state: State, type: int) -> npt.NDArray[np.float64]:
    return np.asarray(state.get(Kind.TRANSFORM, type), np.float64)


def vertex_constants(state: State, key: vertex.VertexKey, size: tuple[int, int]) -> bytes:
    """The constant buffer of the vertex (and point) shader; ``size`` of the target in pixels."""
    with np.errstate(all="ignore"):
        return _vertex_constants(state, key, size)


def _vertex_constants(state: State, key: vertex.VertexKey, size: tuple[int, int]) -> bytes:
    v = vertex
    rows = v.TEXTURES + 32
    if key.blend:
        rows = v.BLEND + 4 * (v.MAX_BLEND_MATRICES if key.indexed else key.blend)
    c = np.zeros((rows, 4), np.float32)
    c[v.SCREEN, :2] = 2 / max(1, size[0]), -2 / max(1, size[1])
    view = _matrix(state, T.VIEW)
    world_view = _matrix(state, world_key(0)) @ view
    c[v.WORLD_VIEW : v.WORLD_VIEW + 4] = world_view
    c[v.PROJECTION : v.PROJECTION + 4] = _matrix(state, T.PROJECTION)
    c[v.NORMAL : v.NORMAL + 3, :3] = _inverse(world_view[:3, :3]).T
    c[v.FOG_PARAMETERS] = fog_parameters(state)
    c[v.AMBIENT] = color(state.render(RS.AMBIENT))
    material = state.get(Kind.MATERIAL)
    for i, name in enumerate(("Diffuse", "Ambient", "Specular", "Emissive")):
        c[v.MATERIAL + i] = material[name]
    f = state.render_float
    c[v.POWER] = float(material["Power"]), f(RS.POINTSIZE), f(RS.POINTSIZE_MIN), f(RS.POINTSIZE_MAX)
    c[v.POINT_SCALE] = f(RS.POINTSCALE_A), f(RS.POINTSCALE_B), f(RS.POINTSCALE_C), viewport_of(state, size)[3]
    back = _inverse(view)
    for i in range(v.MAX_CLIP_PLANES):
        if key.planes >> i & 1:
            # Planes are of the world: (p_world · plane) = (p_eye · view⁻¹ · plane).
            c[v.CLIP_PLANES + i] = back @ np.asarray(state.get(Kind.CLIP_PLANE, i), np.float64)
    if key.lights:
        rows_of_lights = state.derive("light rows", lambda: _lights(state))
        c[v.LIGHTS : v.LIGHTS + len(rows_of_lights)] = rows_of_lights
    c[v.TEXTURES : v.TEXTURES + 4 * D3DHAL_TSS_MAXSTAGES] = state.derive("texture matrices", lambda: _texture_matrices(state))
    if key.blend:
        for i in range(v.MAX_BLEND_MATRICES if key.indexed else key.blend):
            c[v.BLEND + 4 * i : v.BLEND + 4 * i + 4] = _matrix(state, world_key(i)) @ view
    return c.tobytes()


def _inverse(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The inverse; of a matrix that has none, the matrix itself."""
    try:
        return np.linalg.inv(matrix).astype(np.float64)
    except np.linalg.LinAlgError:
        return matrix


def _texture_matrices(state: State) -> Array:
    return np.concatenate([_matrix(state, T.TEXTURE0 + stage) for stage in range(D3DHAL_TSS_MAXSTAGES)]).astype(np.float32)


def _lights(state: State) -> Array:
    """The registers of all enabled lights."""
    view = _matrix(state, T.VIEW)
    return np.concatenate([_light(light, view) for light in lights(state)])


def _light(light: Any, view: npt.NDArray[np.float64]) -> Array:
    """The seven registers of a light, in camera space."""
    c = np.zeros((vertex.LIGHT_STRIDE, 4), np.float32)
    c[0], c[1], c[2] = light["Diffuse"], light["Specular"], light["Ambient"]
    position = np.append(np.asarray(light["Position"], np.float64), 1.0) @ view
    direction = np.asarray(light["Direction"], np.float64) @ view[:3, :3]
    length = float(np.linalg.norm(direction))
    c[3, :3], c[3, 3] = position[:3], light["Range"]
    c[4, :3] = direction / length if length > 0 else direction
    c[4, 3] = light["Falloff"]
    c[5, :3] = light["Attenuation0"], light["Attenuation1"], light["Attenuation2"]
    inner, outer = math.cos(_angle(light["Theta"]) / 2), math.cos(_angle(light["Phi"]) / 2)
    c[6, :3] = inner, outer, 1.0 / (inner - outer) if inner - outer > 1e-9 else 1e9
    return c


def _angle(value: Any) -> float:
    angle = float(value)
    return angle if math.isfinite(angle) else 0.0


def pixel_constants(state: State) -> bytes:
    """The constant buffer of the pixel shader."""
    p = pixel
    c: Array = state.derive("stage rows", lambda: _stage_rows(state)).copy()
    with np.errstate(all="ignore"):
        c[p.TFACTOR] = color(state.render(RS.TEXTUREFACTOR))
        c[p.FOG_COLOR] = color(state.render(RS.FOGCOLOR))
        c[p.FOG_PARAMETERS] = fog_parameters(state)
        c[p.ALPHA_REF, 0] = float(state.render(RS.ALPHAREF) & 0xFF)
    return c.tobytes()


def _stage_rows(state: State) -> Array:
    """What the texture stages say, the rest zero."""
    p = pixel
    c = np.zeros((p.COUNT, 4), np.float32)
    with np.errstate(all="ignore"):
        for s in range(D3DHAL_TSS_MAXSTAGES):
            c[p.STAGE_CONSTANT + s] = color(state.stage(s, TSS.CONSTANT))
            c[p.BUMP_MATRIX + s] = [
                state.stage_float(s, t) for t in (TSS.BUMPENVMAT00, TSS.BUMPENVMAT01, TSS.BUMPENVMAT10, TSS.BUMPENVMAT11)
            ]
            c[p.BUMP_LUMINANCE + s, :2] = state.stage_float(s, TSS.BUMPENVLSCALE), state.stage_float(s, TSS.BUMPENVLOFFSET)
    return c


def coordinate_mask(key: vertex.VertexKey) -> int:
    """Which texture-coordinate registers a vertex shader writes."""
    return sum(1 << i for i, c in enumerate(key.coordinates) if c is not None)
