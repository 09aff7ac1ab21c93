"""The fixed-function pixel pipeline as a pixel shader: the cascade of texture stages, specular, alpha test, fog.

A :class:`PixelKey` says everything that changes the code; everything else is a constant. Every stage clamps its result to 0..1.
Models "Texture stage states" of the DrawPrimitives2 pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umd.dp2.assembly import DIFFUSE, FOG, SPECULAR, TEXCOORD0, Assembly
from umd.dp2.vertex import fog_factor
from wddm.ddi.d3dhal import D3DCMPFUNC, D3DFOGMODE, D3DTA, D3DTA_SELECTMASK, D3DTEXTUREOP

# --- constant registers -------------------------------------------------------------------------------------------------
TFACTOR: Final = 0
FOG_COLOR: Final = 1
FOG_PARAMETERS: Final = 2
ALPHA_REF: Final = 3
STAGE_CONSTANT: Final = 4
BUMP_MATRIX: Final = 12  #: 00, 01, 10, 11
BUMP_LUMINANCE: Final = 20  #: scale, offset
COUNT: Final = 28
PALETTES: Final = 1  #: constant buffer of stage 0's palette

CURRENT, TEMP, TEXEL, BUMP = "r0", "r1", "r2", "r7"
_OP: Final = D3DTEXTUREOP
#: Fog modes beyond D3DFOGMODE: the vertex shader's factor, and table fog by z instead of w.
VERTEX_FOG: Final = 16
BY_Z: Final = 32
TEXTURE_KINDS: Final = {1: "texture1d", 2: "texture2d", 3: "texture3d", 4: "texturecube"}


@dataclass(frozen=True, slots=True)
class Stage:
    """One texture stage. Arguments in the order 0, 1, 2; ``texture``: 0 none, 1-3 dimensions, 4 cube; ``swizzle``: the texel's
    components; ``projected``: component by which the others are divided, 0 = none; ``palette``: texels are indices."""

    color_op: int
    color_args: tuple[int, int, int]
    alpha_op: int
    alpha_args: tuple[int, int, int]
    to_temp: bool = False
    texture: int = 0
    swizzle: str = "xyzw"
    projected: int = 0
    palette: bool = False


@dataclass(frozen=True, slots=True)
class PixelKey:
    """What changes the code."""

    stages: tuple[Stage, ...]
    specular: bool = False
    fog: int = D3DFOGMODE.NONE
    alpha_func: int = D3DCMPFUNC.ALWAYS
    flat: bool = False


def samples(stage: Stage) -> bool:
    """Whether a stage reads its texture."""
    return bool(stage.texture) and (
        stage.color_op in (_OP.BUMPENVMAP, _OP.BUMPENVMAPLUMINANCE)
        or _uses(stage.color_op, stage.color_args, D3DTA.TEXTURE)
        or _uses(stage.alpha_op, stage.alpha_args, D3DTA.TEXTURE)
    )


def _operands(op: int) -> tuple[int, ...]:
    """Which of the arguments an operation reads."""
    if op in (_OP.DISABLE,):
        return ()
    if op == _OP.SELECTARG1:
        return (1,)
    if op == _OP.SELECTARG2:
        return (2,)
    return (0, 1, 2) if op in (_OP.MULTIPLYADD, _OP.LERP) else (1, 2)


def _uses(op: int, args: tuple[int, int, int], what: int) -> bool:
    if what == D3DTA.TEXTURE and op in (_OP.BLENDTEXTUREALPHA, _OP.BLENDTEXTUREALPHAPM):
        return True
    return any(args[i] & D3DTA_SELECTMASK == what for i in _operands(op))


def without_texture(stage: Stage) -> Stage:
    """A stage whose texture is not there hands on what came from the stage before, wherever it would have read the texture."""
    if stage.texture:
        return stage
    color, color_args, alpha, alpha_args = stage.color_op, stage.color_args, stage.alpha_op, stage.alpha_args
    if _uses(color, color_args, D3DTA.TEXTURE) or color in (_OP.BUMPENVMAP, _OP.BUMPENVMAPLUMINANCE):
        color, color_args = _OP.SELECTARG1, (0, int(D3DTA.CURRENT), 0)
    if _uses(alpha, alpha_args, D3DTA.TEXTURE):
        alpha, alpha_args = _OP.SELECTARG1, (0, int(D3DTA.CURRENT), 0)
    return Stage(color, color_args, alpha, alpha_args, stage.to_temp)


def pixel_shader(key: PixelKey) -> Assembly:
    """The shader of a key."""
    out = Assembly("ps_5_0")
    out.temps(9)
    out.constants(0, COUNT)
    mode = "constant" if key.flat else "linear"
    out.declare(f"dcl_input_ps {mode} v{DIFFUSE}.xyzw")
    specular_color = key.specular or any(
        _uses(s.color_op, s.color_args, D3DTA.SPECULAR) or _uses(s.alpha_op, s.alpha_args, D3DTA.SPECULAR) for s in key.stages
    )
    if specular_color or key.fog == VERTEX_FOG:
        # The fog factor is interpolated even when colours are flat, so the register is; DEVIATES: then a flat specular colour is
        # interpolated as well when vertex fog is on.
        flat = key.flat and key.fog != VERTEX_FOG
        out.declare(f"dcl_input_ps {'constant' if flat else 'linear'} v{SPECULAR}.xyzw")
    out(f"mov_sat {CURRENT}.xyzw, v{DIFFUSE}.xyzw", f"mov {TEMP}.xyzw, l(0, 0, 0, 0)")
    bumped = luminance = False
    for index, stage in enumerate(key.stages):
        if samples(stage):
            _sample(out, index, stage, bumped, luminance)
        bumped = stage.color_op in (_OP.BUMPENVMAP, _OP.BUMPENVMAPLUMINANCE)
        luminance = stage.color_op == _OP.BUMPENVMAPLUMINANCE
        if bumped:
            _bump(out, index)
        else:
            _combine(out, index, stage)
    if key.specular:
        out(f"add_sat {CURRENT}.xyz, {CURRENT}.xyzx, v{SPECULAR}.xyzx")
    alpha_test(out, key.alpha_func, CURRENT, "r3", f"cb0[{ALPHA_REF}]")
    fog(out, key.fog, CURRENT, "r3", f"cb0[{FOG_COLOR}]", f"cb0[{FOG_PARAMETERS}]")
    out.declare("dcl_output o0.xyzw")
    out(f"mov o0.xyzw, {CURRENT}.xyzw")
    return out


def _sample(out: Assembly, index: int, stage: Stage, bumped: bool, luminance: bool) -> None:
    """The texel of a stage."""
    register = f"v{TEXCOORD0 + index}"
    out.declare(f"dcl_input_ps linear {register}.xyzw")
    kind = TEXTURE_KINDS[stage.texture]
    out.declare(f"dcl_resource_{kind} (float,float,float,float) t{index}")
    out.declare(f"dcl_sampler s{index}, mode_default")
    out(f"mov r3.xyzw, {register}.xyzw")
    if stage.projected:
        out(f"div r3.xyz, {register}.xyzx, {register}.{'xyzw'[stage.projected] * 4}")
    if bumped:
        out(f"add r3.xy, r3.xyxx, {BUMP}.xyxx")
    out(f"sample {TEXEL}.xyzw, r3.xyzw, t{index}.xyzw, s{index}")
    if stage.palette:
        out.constants(PALETTES + index, 256, dynamic=True)
        out(
            f"mad {TEXEL}.x, {TEXEL}.x, l(255.0), l(0.5)",
            f"ftou {TEXEL}.x, {TEXEL}.x",
            f"mov {TEXEL}.xyzw, cb{PALETTES + index}[{TEXEL}.x].xyzw",
        )
    elif stage.swizzle != "xyzw":
        out(f"mov {TEXEL}.xyzw, {TEXEL}.{stage.swizzle}")
    if luminance:
        out(f"mul_sat {TEXEL}.xyz, {TEXEL}.xyzx, {BUMP}.zzzz")


def _bump(out: Assembly, index: int) -> None:
    """Offsets for the next stage's coordinates: (du, dv) times the stage's matrix; luminance scaled and shifted."""
    matrix, luminance = BUMP_MATRIX + index, BUMP_LUMINANCE + index
    out(
        f"mul {BUMP}.xy, {TEXEL}.xxxx, cb0[{matrix}].xyxx",
        f"mad {BUMP}.xy, {TEXEL}.yyyy, cb0[{matrix}].zwzz, {BUMP}.xyxx",
        f"mad_sat {BUMP}.z, {TEXEL}.z, cb0[{luminance}].x, cb0[{luminance}].y",
    )


def _argument(out: Assembly, to: str, arg: int, index: int) -> None:
    """An argument with its modifiers, all four components."""
    source = {
        D3DTA.DIFFUSE: f"v{DIFFUSE}",
        D3DTA.CURRENT: CURRENT,
        D3DTA.TEXTURE: TEXEL,
        D3DTA.TFACTOR: f"cb0[{TFACTOR}]",
        D3DTA.SPECULAR: f"v{SPECULAR}",
        D3DTA.TEMP: TEMP,
        D3DTA.CONSTANT: f"cb0[{STAGE_CONSTANT + index}]",
    }[D3DTA(arg & D3DTA_SELECTMASK)]
    out(f"mov_sat {to}.xyzw, {source}.xyzw")
    if arg & D3DTA.COMPLEMENT:
        out(f"add {to}.xyzw, l(1.0, 1.0, 1.0, 1.0), -{to}.xyzw")
    if arg & D3DTA.ALPHAREPLICATE:
        out(f"mov {to}.xyzw, {to}.wwww")


def _combine(out: Assembly, index: int, stage: Stage) -> None:
    """Colour and alpha of a stage into CURRENT or TEMP."""
    target = TEMP if stage.to_temp else CURRENT
    for i in _operands(stage.color_op):
        _argument(out, f"r{3 + i}", stage.color_args[i], index)
    if stage.color_op == _OP.DOTPRODUCT3:
        # The one operation that gives all four components.
        out(
            "mad r4.xyz, r4.xyzx, l(2.0, 2.0, 2.0, 0), l(-1.0, -1.0, -1.0, 0)",
            "mad r5.xyz, r5.xyzx, l(2.0, 2.0, 2.0, 0), l(-1.0, -1.0, -1.0, 0)",
            "dp3_sat r6.xyzw, r4.xyzx, r5.xyzx",
            f"mov {target}.xyzw, r6.xyzw",
        )
        return
    _operation(out, stage.color_op, "xyz", index)
    alpha = stage.alpha_op
    if alpha == _OP.DISABLE:
        out(f"mov_sat {target}.xyz, r6.xyzx")  # alpha stays what it was
        return
    out("mov r8.xyz, r6.xyzx")
    for i in _operands(alpha):
        _argument(out, f"r{3 + i}", stage.alpha_args[i], index)
    _operation(out, alpha, "w", index)
    out(f"mov_sat {target}.xyz, r8.xyzx", f"mov_sat {target}.w, r6.w")


def _operation(out: Assembly, op: int, mask: str, index: int) -> None:
    """r6 = the operation on r3 (argument 0), r4 (1), r5 (2)."""
    s = "xyzx" if mask == "xyz" else "wwww"
    a0, a1, a2, result = f"r3.{s}", f"r4.{s}", f"r5.{s}", f"r6.{mask}"
    half = "l(-0.5, -0.5, -0.5, -0.5)"
    factors = {
        _OP.BLENDDIFFUSEALPHA: f"v{DIFFUSE}.wwww",
        _OP.BLENDTEXTUREALPHA: f"{TEXEL}.wwww",
        _OP.BLENDFACTORALPHA: f"cb0[{TFACTOR}].wwww",
        _OP.BLENDCURRENTALPHA: f"{CURRENT}.wwww",
    }
    if op == _OP.SELECTARG1:
        out(f"mov {result}, {a1}")
    elif op == _OP.SELECTARG2:
        out(f"mov {result}, {a2}")
    elif op in (_OP.MODULATE, _OP.MODULATE2X, _OP.MODULATE4X):
        out(f"mul {result}, {a1}, {a2}")
        scale = {_OP.MODULATE2X: 2, _OP.MODULATE4X: 4}.get(_OP(op))
        if scale:
            out(f"mul {result}, r6.{s}, l({scale}.0, {scale}.0, {scale}.0, {scale}.0)")
    elif op == _OP.ADD:
        out(f"add {result}, {a1}, {a2}")
    elif op in (_OP.ADDSIGNED, _OP.ADDSIGNED2X):
        out(f"add {result}, {a1}, {a2}", f"add {result}, r6.{s}, {half}")
        if op == _OP.ADDSIGNED2X:
            out(f"add {result}, r6.{s}, r6.{s}")
    elif op == _OP.SUBTRACT:
        out(f"add {result}, {a1}, -{a2}")
    elif op == _OP.ADDSMOOTH:
        out(f"add {result}, l(1.0, 1.0, 1.0, 1.0), -{a1}", f"mad {result}, r6.{s}, {a2}, {a1}")
    elif op in factors:
        out(f"add {result}, {a1}, -{a2}", f"mad {result}, r6.{s}, {factors[_OP(op)]}, {a2}")
    elif op == _OP.BLENDTEXTUREALPHAPM:
        out(f"add r6.w, l(1.0), -{TEXEL}.w", f"mad {result}, {a2}, r6.wwww, {a1}")
    elif op == _OP.MODULATEALPHA_ADDCOLOR:
        out(f"mad {result}, r4.wwww, {a2}, {a1}")
    elif op == _OP.MODULATECOLOR_ADDALPHA:
        out(f"mad {result}, {a1}, {a2}, r4.wwww")
    elif op == _OP.MODULATEINVALPHA_ADDCOLOR:
        out("add r6.w, l(1.0), -r4.w", f"mad {result}, r6.wwww, {a2}, {a1}")
    elif op == _OP.MODULATEINVCOLOR_ADDALPHA:
        out(f"add {result}, l(1.0, 1.0, 1.0, 1.0), -{a1}", f"mad {result}, r6.{s}, {a2}, r4.wwww")
    elif op == _OP.MULTIPLYADD:
        out(f"mad {result}, {a1}, {a2}, {a0}")
    elif op == _OP.LERP:
        out(f"add {result}, {a1}, -{a2}", f"mad {result}, r6.{s}, {a0}, {a2}")
    else:
        raise ValueError(f"texture operation {op}")


#: The comparison that lets a pixel die, as (instruction, whether alpha comes first).
_DIES: Final = {
    D3DCMPFUNC.LESS: ("ge", True),
    D3DCMPFUNC.EQUAL: ("ne", True),
    D3DCMPFUNC.LESSEQUAL: ("lt", False),
    D3DCMPFUNC.GREATER: ("ge", False),
    D3DCMPFUNC.NOTEQUAL: ("eq", True),
    D3DCMPFUNC.GREATEREQUAL: ("lt", True),
}


def alpha_test(out: Assembly, func: int, color: str, scratch: str, reference: str) -> None:
    """Alpha of eight bits against the reference; pixels that fail end."""
    if func == D3DCMPFUNC.ALWAYS:
        return
    if func == D3DCMPFUNC.NEVER:
        out("discard_nz l(-1)")
        return
    op, first = _DIES[D3DCMPFUNC(func)]
    out(f"mul {scratch}.x, {color}.w, l(255.0)", f"round_ne {scratch}.x, {scratch}.x")
    a, b = (f"{scratch}.x", f"{reference}.x") if first else (f"{reference}.x", f"{scratch}.x")
    out(f"{op} {scratch}.x, {a}, {b}", f"discard_nz {scratch}.x")


def fog(out: Assembly, mode: int, color: str, scratch: str, fog_color: str, parameters: str) -> None:
    """Colour towards the fog's colour; alpha stays. The specular register is declared by whoever reads it first."""
    if mode == D3DFOGMODE.NONE:
        return
    if mode == VERTEX_FOG:
        out(f"mov_sat {scratch}.x, v{SPECULAR}.w")
    else:
        out.declare(f"dcl_input_ps linear v{FOG}.xyzw")
        if mode & BY_Z:
            out(f"div {scratch}.x, v{FOG}.y, v{FOG}.x")
        else:
            out(f"mov {scratch}.x, v{FOG}.x")
        fog_factor(out, mode & ~BY_Z, scratch, parameters)
    out(
        f"add {color}.xyz, {color}.xyzx, -{fog_color}.xyzx",
        f"mad {color}.xyz, {color}.xyzx, {scratch}.xxxx, {fog_color}.xyzx",
    )
