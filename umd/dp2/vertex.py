"""The fixed-function vertex pipeline as a vertex shader: transformation, lighting, fog, texture coordinates, clip planes.

A :class:`VertexKey` says everything that changes the code; everything else is a constant (:func:`constants`). Vectors are rows and
matrices multiply from the right, as Direct3D has them; lighting happens in camera space. Models "Hardware Transform and Lighting".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umd.dp2.assembly import CLIP0, DIFFUSE, FOG, POSITION, SPECULAR, TEXCOORD0, Assembly
from umd.dp2.formats import COMPONENTS, SIGNED, UNSIGNED, Register, VertexFormat
from wddm.ddi.d3dhal import D3DFOGMODE, D3DLIGHTTYPE, D3DMATERIALCOLORSOURCE, D3DTSS_TCI

# --- constant registers -------------------------------------------------------------------------------------------------
WORLD_VIEW: Final = 0
PROJECTION: Final = 4
NORMAL: Final = 8
SCREEN: Final = 11  #: (2 / width, -2 / height, 0, 0) of the target, for transformed vertices and point sprites
FOG_PARAMETERS: Final = 12  #: start, end, density, 1 / (end - start)
AMBIENT: Final = 13
MATERIAL: Final = 14  #: diffuse, ambient, specular, emissive
POWER: Final = 18  #: specular power; point size, least and greatest
POINT_SCALE: Final = 19  #: A, B, C, height of the viewport
CLIP_PLANES: Final = 20
LIGHTS: Final = 26
LIGHT_STRIDE: Final = 7  #: diffuse, specular, ambient, position + range, direction + falloff, attenuation, cone
TEXTURES: Final = 96
BLEND: Final = 128  #: world-view matrices of vertex blending
MAX_LIGHTS: Final = 8
MAX_BLEND_MATRICES: Final = 256
MAX_CLIP_PLANES: Final = 6

EYE, N, DIFFUSE_SUM, SPECULAR_SUM, AMBIENT_SUM, VIEW = "r0", "r1", "r2", "r3", "r4", "r5"
_SOURCE: Final = {D3DMATERIALCOLORSOURCE.COLOR1: Register.DIFFUSE, D3DMATERIALCOLORSOURCE.COLOR2: Register.SPECULAR}


@dataclass(frozen=True, slots=True)
class Coordinate:
    """How one stage's texture coordinates are made. ``count``: components that a texture transform leaves, 0 = none."""

    generated: int
    index: int
    count: int


@dataclass(frozen=True, slots=True)
class VertexKey:
    """What changes the code. ``lights`` are the types of the enabled lights; ``sources`` the material sources of diffuse, ambient,
    specular and emissive; ``coordinates`` one for each stage that samples."""

    format: VertexFormat
    lighting: bool = False
    lights: tuple[int, ...] = ()
    sources: tuple[int, int, int, int] = (0, 0, 0, 0)
    specular: bool = False
    local_viewer: bool = True
    normalize: bool = False
    fog: int = D3DFOGMODE.NONE
    range_fog: bool = False
    coordinates: tuple[Coordinate | None, ...] = ()
    planes: int = 0
    blend: int = 0  #: matrices that are blended, 0 = none
    indexed: bool = False
    points: bool = False
    scaled: bool = False


def vertex_shader(key: VertexKey) -> Assembly:
    """The shader of a key."""
    return _Writer(key).write()


class _Writer:
    def __init__(self, key: VertexKey) -> None:
        self.key = key
        self.out = Assembly("vs_5_0")
        self.read: dict[int, str] = {}
        self.temp = 12  # r0-r11 have fixed uses

    def write(self) -> Assembly:
        out, key = self.out, self.key
        out.temps(12)
        for element in key.format.elements:
            if 0 <= element.register < Register.TEXCOORD0 + 8 and element.register not in self.read:
                self._input(element.register)
        out.declare(f"dcl_output_siv o{POSITION}.xyzw, position")
        for register in (DIFFUSE, SPECULAR, FOG):
            out.declare(f"dcl_output o{register}.xyzw")
        out.constants(0, LIGHTS)
        if key.format.transformed:
            self._transformed()
            self._unlit()
            self._given_fog()
        else:
            self._position()
            if key.lighting or any(c is not None and c.generated for c in key.coordinates):
                self._normal()
            self._lit() if key.lighting else self._unlit()
            self._fog()
            self._clip()
        out("mov r6.w, l(0)", f"mov o{FOG}.w, r6.w")
        self._point_size()
        for stage, coordinate in enumerate(key.coordinates):
            if coordinate is not None:
                self._coordinate(stage, coordinate)
        return out

    # --- inputs --------------------------------------------------------------------------------------------------------
    def _input(self, register: int) -> None:
        """Declare an input; integers become floats in a register of their own."""
        element = self.key.format.find(register)
        assert element is not None
        self.out.declare(f"dcl_input v{register}.xyzw")
        name = f"v{register}"
        if element.type in UNSIGNED | SIGNED and register != Register.BLENDINDICES:
            name = f"r{self.temp}"
            self.temp += 1
            self.out.temps(self.temp)
            self.out(f"{'utof' if element.type in UNSIGNED else 'itof'} {name}.xyzw, v{register}.xyzw")
        self.read[register] = name

    # --- positions -----------------------------------------------------------------------------------------------------
    def _transformed(self) -> None:
        """Screen position and reciprocal w to clip space: the viewport covers the target, and puts centres on whole numbers."""
        p = self.read[Register.POSITION]
        self.out(
            f"eq r1.x, {p}.w, l(0)",
            f"movc r1.x, r1.x, l(1.0), {p}.w",
            "div r0.w, l(1.0), r1.x",
            f"mad r0.xy, {p}.xyxx, cb0[{SCREEN}].xyxx, l(-1.0, 1.0, 0, 0)",
            f"mov r0.z, {p}.z",
            "mul r0.xyz, r0.xyzx, r0.wwww",
            f"mov o{POSITION}.xyzw, r0.xyzw",
            f"mov o{FOG}.x, r0.w",
            f"mov o{FOG}.y, r0.z",
        )

    def _position(self) -> None:
        """To camera space (r0), and from there to clip space."""
        out, p = self.out, self.read[Register.POSITION]
        if self.key.blend:
            self._blended(p)
        else:
            self._multiply(EYE, p, f"cb0[{WORLD_VIEW}", "")
        self._multiply("r6", EYE, f"cb0[{PROJECTION}", "")
        out(f"mov o{POSITION}.xyzw, r6.xyzw", f"mov o{FOG}.x, r6.w", f"mov o{FOG}.y, r6.z")

    def _multiply(self, to: str, vector: str, base: str, index: str) -> None:
        """``to`` = vector * matrix, whose first row is register ``base``; ``index`` is added to it."""
        head, first = base.rsplit("[", 1)
        rows = [f"{head}[{index}{int(first) + row}].xyzw" for row in range(4)]
        self.out(
            f"mul {to}.xyzw, {vector}.wwww, {rows[3]}",
            *(f"mad {to}.xyzw, {vector}.{c * 4}, {rows[i]}, {to}.xyzw" for i, c in enumerate("xyz")),
        )

    def _weights(self) -> None:
        """r8 = the weights of the blended matrices; the last is what is left of 1."""
        out, count = self.out, self.key.blend
        given = self.read.get(Register.BLENDWEIGHT)
        have = min(self.key.format.weights, count - 1) if given else 0
        out("mov r8.xyzw, l(0, 0, 0, 0)", "mov r9.x, l(1.0)")
        for i in range(have):
            c = "xyzw"[i]
            out(f"mov r8.{c}, {given}.{c}", f"add r9.x, r9.x, -{given}.{c}")
        out(f"mov r8.{'xyzw'[count - 1]}, r9.x")

    def _blended(self, p: str) -> None:
        out, key = self.out, self.key
        self._weights()
        indexed = key.indexed and Register.BLENDINDICES in self.read
        out.constants(0, BLEND + 4 * (MAX_BLEND_MATRICES if indexed else key.blend), dynamic=indexed)
        out("mov r10.xyzw, l(0, 0, 0, 0)")
        for i in range(key.blend):
            c = "xyzw"[i]
            if indexed:
                out(f"ishl r9.y, v{Register.BLENDINDICES}.{c}, l(2)")
                self._multiply("r6", p, f"cb0[{BLEND}", "r9.y + ")
            else:
                self._multiply("r6", p, f"cb0[{BLEND + 4 * i}", "")
            out(f"mad r10.xyzw, r6.xyzw, r8.{c * 4}, r10.xyzw")
        out(f"mov {EYE}.xyzw, r10.xyzw")

    def _normal(self) -> None:
        """The normal in camera space; a vertex without one has the zero vector, so that no light shines on it."""
        out, key = self.out, self.key
        if Register.NORMAL not in self.read:
            out(f"mov {N}.xyzw, l(0, 0, 0, 0)")
            return
        n = self.read[Register.NORMAL]
        if key.blend:
            # DEVIATES: blended normals go through the blended matrices themselves, not through their inverse transposes.
            self.out("mov r10.xyzw, l(0, 0, 0, 0)")
            indexed = key.indexed and Register.BLENDINDICES in self.read
            for i in range(key.blend):
                c = "xyzw"[i]
                if indexed:
                    out(f"ishl r9.y, v{Register.BLENDINDICES}.{c}, l(2)")
                rows = [f"cb0[r9.y + {BLEND + r}].xyzx" if indexed else f"cb0[{BLEND + 4 * i + r}].xyzx" for r in range(3)]
                out(f"mul r6.xyz, {n}.xxxx, {rows[0]}")
                out(*(f"mad r6.xyz, {n}.{a * 4}, {rows[r]}, r6.xyzx" for r, a in ((1, "y"), (2, "z"))))
                out(f"mad r10.xyz, r6.xyzx, r8.{c * 4}, r10.xyzx")
            out(f"mov {N}.xyz, r10.xyzx")
        else:
            out(f"mul {N}.xyz, {n}.xxxx, cb0[{NORMAL}].xyzx")
            out(*(f"mad {N}.xyz, {n}.{c * 4}, cb0[{NORMAL + i}].xyzx, {N}.xyzx" for i, c in ((1, "y"), (2, "z"))))
        if key.normalize:
            self._normalize(N)

    def _normalize(self, vector: str) -> None:
        """A zero vector stays one."""
        self.out(
            f"dp3 r9.w, {vector}.xyzx, {vector}.xyzx",
            "max r9.w, r9.w, l(0.000000000000000000000000000001)",
            "rsq r9.w, r9.w",
            f"mul {vector}.xyz, {vector}.xyzx, r9.wwww",
        )

    # --- colours -------------------------------------------------------------------------------------------------------
    def _color(self, source: int, fallback: str) -> str:
        """A material colour's place; a vertex colour that is not there is the material's."""
        return self.read.get(_SOURCE.get(D3DMATERIALCOLORSOURCE(source), -1), fallback)

    def _unlit(self) -> None:
        diffuse, specular = self.read.get(Register.DIFFUSE), self.read.get(Register.SPECULAR)
        self.out(
            f"mov_sat o{DIFFUSE}.xyzw, " + (f"{diffuse}.xyzw" if diffuse else "l(1.0, 1.0, 1.0, 1.0)"),
            f"mov_sat o{SPECULAR}.xyz, " + (f"{specular}.xyzx" if specular else "l(0, 0, 0, 0)"),
        )

    def _lit(self) -> None:
        out, key = self.out, self.key
        out(
            f"mov {DIFFUSE_SUM}.xyzw, l(0, 0, 0, 0)",
            f"mov {SPECULAR_SUM}.xyzw, l(0, 0, 0, 0)",
            f"mov {AMBIENT_SUM}.xyzw, cb0[{AMBIENT}].xyzw",
        )
        if key.specular:
            if key.local_viewer:
                out(f"mov {VIEW}.xyz, -{EYE}.xyzx")
                self._normalize(VIEW)
            else:
                out(f"mov {VIEW}.xyz, l(0, 0, -1.0, 0)")
        for index, type in enumerate(key.lights):
            self._light(LIGHTS + LIGHT_STRIDE * index, type)
        diffuse, ambient, specular, emissive = (
            self._color(source, f"cb0[{MATERIAL + i}]") for i, source in enumerate(key.sources)
        )
        out(
            f"mov r6.xyzw, {emissive}.xyzw",
            f"mad r6.xyz, {AMBIENT_SUM}.xyzx, {ambient}.xyzx, r6.xyzx",
            f"mad_sat o{DIFFUSE}.xyz, {DIFFUSE_SUM}.xyzx, {diffuse}.xyzx, r6.xyzx",
            f"mov_sat o{DIFFUSE}.w, {diffuse}.w",
            f"mul_sat o{SPECULAR}.xyz, {SPECULAR_SUM}.xyzx, {specular}.xyzx",
        )

    def _light(self, c: int, type: int) -> None:
        """One light: r6 = direction to it, r7.x = attenuation, r7.y = N·L."""
        out = self.out
        out.constants(0, c + LIGHT_STRIDE)
        if type == D3DLIGHTTYPE.DIRECTIONAL:
            out(f"mov r6.xyz, -cb0[{c + 4}].xyzx", "mov r7.x, l(1.0)")
        else:
            out(
                f"add r6.xyz, cb0[{c + 3}].xyzx, -{EYE}.xyzx",
                "dp3 r7.z, r6.xyzx, r6.xyzx",
                "sqrt r7.z, r7.z",
            )
            self._normalize("r6")
            out(
                f"mad r7.x, r7.z, cb0[{c + 5}].z, cb0[{c + 5}].y",
                f"mad r7.x, r7.x, r7.z, cb0[{c + 5}].x",
                "max r7.x, r7.x, l(0.000000000000000000000000000001)",
                "div r7.x, l(1.0), r7.x",
                f"ge r7.w, cb0[{c + 3}].w, r7.z",
                "and r7.x, r7.x, r7.w",
            )
        if type == D3DLIGHTTYPE.SPOT:
            # (rho - cos(phi/2)) / (cos(theta/2) - cos(phi/2)), raised to the falloff.
            out(
                f"dp3 r7.z, r6.xyzx, -cb0[{c + 4}].xyzx",
                f"add r7.z, r7.z, -cb0[{c + 6}].y",
                f"mul_sat r7.z, r7.z, cb0[{c + 6}].z",
                "lt r7.w, l(0), r7.z",
                "max r7.z, r7.z, l(0.00000000000000000001)",
                "log r7.z, r7.z",
                f"mul r7.z, r7.z, cb0[{c + 4}].w",
                "exp r7.z, r7.z",
                "and r7.z, r7.z, r7.w",
                "mul r7.x, r7.x, r7.z",
            )
        out(
            f"mad {AMBIENT_SUM}.xyz, cb0[{c + 2}].xyzx, r7.xxxx, {AMBIENT_SUM}.xyzx",
            f"dp3 r7.y, {N}.xyzx, r6.xyzx",
            "max r7.y, r7.y, l(0)",
            "mul r7.z, r7.y, r7.x",
            f"mad {DIFFUSE_SUM}.xyz, cb0[{c}].xyzx, r7.zzzz, {DIFFUSE_SUM}.xyzx",
        )
        if self.key.specular:
            out(f"add r8.xyz, r6.xyzx, {VIEW}.xyzx")
            self._normalize("r8")
            out(
                f"dp3 r7.z, {N}.xyzx, r8.xyzx",
                "lt r7.w, l(0), r7.z",
                "lt r7.y, l(0), r7.y",
                "and r7.w, r7.w, r7.y",
                "max r7.z, r7.z, l(0.00000000000000000001)",
                "log r7.z, r7.z",
                f"mul r7.z, r7.z, cb0[{POWER}].x",
                "exp r7.z, r7.z",
                "and r7.z, r7.z, r7.w",
                "mul r7.z, r7.z, r7.x",
                f"mad {SPECULAR_SUM}.xyz, cb0[{c + 1}].xyzx, r7.zzzz, {SPECULAR_SUM}.xyzx",
            )

    # --- fog, clipping, points -----------------------------------------------------------------------------------------
    def _fog(self) -> None:
        """The vertex fog factor, 1 = no fog."""
        out, key = self.out, self.key
        if key.fog == D3DFOGMODE.NONE:
            self._given_fog()
            return
        if key.range_fog:
            out(f"dp3 r6.x, {EYE}.xyzx, {EYE}.xyzx", "sqrt r6.x, r6.x")
        else:
            out(f"mov r6.x, |{EYE}.z|")
        fog_factor(out, key.fog, "r6", f"cb0[{FOG_PARAMETERS}]")
        out(f"mov o{SPECULAR}.w, r6.x")

    def _given_fog(self) -> None:
        """The factor that a vertex brings in its specular alpha."""
        specular = self.read.get(Register.SPECULAR)
        self.out(f"mov_sat o{SPECULAR}.w, " + (f"{specular}.w" if specular else "l(1.0)"))

    def _clip(self) -> None:
        """Distances from the user's planes, in camera space."""
        planes = [i for i in range(MAX_CLIP_PLANES) if self.key.planes >> i & 1]
        for first in range(0, len(planes), 4):
            part = planes[first : first + 4]
            register = CLIP0 + first // 4
            self.out.declare(f"dcl_output_siv o{register}.{'xyzw'[: len(part)]}, clip_distance")
            self.out(*(f"dp4 o{register}.{'xyzw'[i]}, {EYE}.xyzw, cb0[{CLIP_PLANES + p}].xyzw" for i, p in enumerate(part)))

    def _point_size(self) -> None:
        """Pixels, between the least and the greatest."""
        out, key = self.out, self.key
        if not key.points:
            out(f"mov o{FOG}.z, l(1.0)")
            return
        size = self.read.get(Register.PSIZE)
        out("mov r6.x, " + (f"{size}.x" if size else f"cb0[{POWER}].y"))
        if key.scaled and not key.format.transformed:
            out(
                f"dp3 r6.y, {EYE}.xyzx, {EYE}.xyzx",
                "sqrt r6.y, r6.y",
                f"mad r6.z, r6.y, cb0[{POINT_SCALE}].z, cb0[{POINT_SCALE}].y",
                f"mad r6.z, r6.z, r6.y, cb0[{POINT_SCALE}].x",
                "rsq r6.z, r6.z",
                f"mul r6.x, r6.x, cb0[{POINT_SCALE}].w",
                "mul r6.x, r6.x, r6.z",
            )
        out(f"max r6.x, r6.x, cb0[{POWER}].z", f"min r6.x, r6.x, cb0[{POWER}].w", f"mov o{FOG}.z, r6.x")

    # --- texture coordinates -------------------------------------------------------------------------------------------
    def _coordinate(self, stage: int, c: Coordinate) -> None:
        out, key = self.out, self.key
        target = f"o{TEXCOORD0 + stage}"
        out.declare(f"dcl_output {target}.xyzw")
        if c.generated == D3DTSS_TCI.PASSTHRU or key.format.transformed:
            self._given("r6", c.index, homogeneous=bool(c.count))
        elif c.generated == D3DTSS_TCI.CAMERASPACENORMAL:
            out(f"mov r6.xyz, {N}.xyzx", "mov r6.w, l(1.0)")
        elif c.generated == D3DTSS_TCI.CAMERASPACEPOSITION:
            out(f"mov r6.xyz, {EYE}.xyzx", "mov r6.w, l(1.0)")
        else:
            # The reflection of the eye's direction: E - 2 N (N·E).
            out(f"mov r8.xyz, {EYE}.xyzx")
            self._normalize("r8")
            out(
                f"dp3 r9.x, {N}.xyzx, r8.xyzx",
                "add r9.x, r9.x, r9.x",
                f"mad r6.xyz, -{N}.xyzx, r9.xxxx, r8.xyzx",
                "mov r6.w, l(1.0)",
            )
            if c.generated == D3DTSS_TCI.SPHEREMAP:
                out(
                    "mov r8.xyz, r6.xyzx",
                    "add r8.z, r8.z, l(-1.0)",
                    "dp3 r9.x, r8.xyzx, r8.xyzx",
                    "max r9.x, r9.x, l(0.000000000000000000000000000001)",
                    "rsq r9.x, r9.x",
                    "mul r9.x, r9.x, l(0.5)",
                    "mad r6.xy, r6.xyxx, r9.xxxx, l(0.5, 0.5, 0, 0)",
                    "mov r6.z, l(0)",
                )
        if c.count and not key.format.transformed:
            out.constants(0, TEXTURES + 4 * stage + 4)
            self._multiply("r10", "r6", f"cb0[{TEXTURES + 4 * stage}", "")
            out(f"mov {target}.xyzw, r10.xyzw")
        else:
            out(f"mov {target}.xyzw, r6.xyzw")

    def _given(self, to: str, index: int, *, homogeneous: bool) -> None:
        """A set of the vertex. For a transform the component behind the last given one is 1, else z is 0 and w is 1."""
        register = Register.TEXCOORD0 + min(index, 7)
        element = self.key.format.find(register)
        if element is None:
            self.out(f"mov {to}.xyzw, l(0, 0, 0, 1.0)")
            return
        have = COMPONENTS[element.type]
        self.out(f"mov {to}.xyzw, {self.read[register]}.xyzw")
        if have < 4 and homogeneous:
            fill = ["l(1.0)"] + ["l(0)"] * 3
            self.out(*(f"mov {to}.{'xyzw'[i]}, {fill[i - have]}" for i in range(have, 4)))


def fog_factor(out: Assembly, mode: int, register: str, parameters: str) -> None:
    """``register``.x: from distance to fog factor. ``parameters``: start, end, density, 1 / (end - start)."""
    if mode == D3DFOGMODE.LINEAR:
        out(f"add {register}.x, {parameters}.y, -{register}.x", f"mul_sat {register}.x, {register}.x, {parameters}.w")
        return
    out(f"mul {register}.x, {register}.x, {parameters}.z")
    if mode == D3DFOGMODE.EXP2:
        out(f"mul {register}.x, {register}.x, {register}.x")
    out(f"mul {register}.x, {register}.x, l(-1.44269504)", f"exp {register}.x, {register}.x", f"mov_sat {register}.x, {register}.x")


def point_shader(coordinates: int, clip: int, sprite: bool) -> Assembly:
    """A geometry shader that makes a square of a point. ``coordinates``: mask of the texture registers that are passed on;
    ``clip``: clip distances; ``sprite``: the coordinates span the square."""
    out = Assembly("gs_5_0")
    out.temps(3)
    out.constants(0, LIGHTS)
    used = [DIFFUSE, SPECULAR, FOG, *(TEXCOORD0 + i for i in range(8) if coordinates >> i & 1)]
    out.declare(f"dcl_input_siv v[1][{POSITION}].xyzw, position")
    for register in used:
        out.declare(f"dcl_input v[1][{register}].xyzw")
    distances = [(CLIP0 + i // 4, "xyzw"[: min(4, clip - i)]) for i in range(0, clip, 4)]
    for register, mask in distances:
        out.declare(f"dcl_input_siv v[1][{register}].{mask}, clip_distance")
    out.declare("dcl_inputprimitive point")
    out.declare("dcl_stream m0")
    out.declare("dcl_outputtopology trianglestrip")
    out.declare(f"dcl_output_siv o{POSITION}.xyzw, position")
    for register in used:
        out.declare(f"dcl_output o{register}.xyzw")
    for register, mask in distances:
        out.declare(f"dcl_output_siv o{register}.{mask}, clip_distance")
    out.declare("dcl_maxout 4")
    # Half the size in clip space: size / 2 pixels of 2 / width each, times w.
    out(
        f"mul r0.xy, v[0][{FOG}].zzzz, cb0[{SCREEN}].xyxx",
        f"mul r0.xy, r0.xyxx, v[0][{POSITION}].wwww",
        "mul r0.xy, r0.xyxx, l(0.5, 0.5, 0, 0)",
    )
    for x, y in ((0, 0), (1, 0), (0, 1), (1, 1)):
        out(
            f"mad r1.xy, r0.xyxx, l({2 * x - 1}.0, {2 * y - 1}.0, 0, 0), v[0][{POSITION}].xyxx",
            f"mov o{POSITION}.xy, r1.xyxx",
            f"mov o{POSITION}.zw, v[0][{POSITION}].zzzw",
        )
        for register in used:
            if sprite and register >= TEXCOORD0:
                out(f"mov o{register}.xyzw, l({x}.0, {y}.0, 0, 1.0)")
            else:
                out(f"mov o{register}.xyzw, v[0][{register}].xyzw")
        for register, mask in distances:
            out(f"mov o{register}.{mask}, v[0][{register}].xyzw")
        out("emit_stream m0")
    out("cut_stream m0")
    return out
