"""Texture instructions of pixel shaders 1.0 to 3.0.

Before 1.4 texture registers hold coordinates until an instruction loads them; from 1.4 on they are coordinates, and a sampler is
named.
"""

from __future__ import annotations

from typing import Any, Final

from umd.dp2.assembly import TEXCOORD0, Assembly
from umd.dp2.bytecode import Code, Destination, File, Instruction, Op, Source
from umd.dp2.errors import CommandError
from umd.dp2.pixel import TEXTURE_KINDS
from umd.dp2.registers import BUMP_LUMINANCE, BUMP_MATRIX, PAD, TEXTURES, A, B

_DIRECT: Final = {Op.TEXREG2AR: "wxxx", Op.TEXREG2GB: "yzzz", Op.TEXREG2RGB: "xyzz"}
_ROW: Final = {
    Op.TEXM3X2PAD: 0, Op.TEXM3X2TEX: 1, Op.TEXM3X3TEX: 2, Op.TEXM3X3: 2, Op.TEXM3X3SPEC: 2, Op.TEXM3X3VSPEC: 2, Op.TEXDP3: 0,
    Op.TEXDP3TEX: 0,
}  # fmt: skip


class TextureOps:
    """What a translator needs for textures."""

    out: Assembly
    code: Code
    link: Any
    version: tuple[int, int]
    result: str
    declared_textures: dict[int, int]
    _pads: int = 0

    def source(self, s: Source) -> str:
        """An operand."""
        raise NotImplementedError

    @staticmethod
    def scalar(operand: str, component: int = 3) -> str:
        """A component four times."""
        raise NotImplementedError

    def texture_register(self, n: int) -> str:
        """t#: loaded before 1.4, coordinates since."""
        if n >= 8 or (n >= 4 and self.version < (1, 4)):
            raise CommandError.params(f"texture register {n}")
        if self.version < (1, 4):
            return f"r{TEXTURES + n}"
        self.out.declare(f"dcl_input_ps linear v{TEXCOORD0 + n}.xyzw")
        return f"v{TEXCOORD0 + n}"

    def texture_op(self, i: Instruction) -> bool:
        """Compute a texture instruction; False when it is none."""
        if not self.code.pixel and i.op not in (Op.TEXLDL,):
            return False
        d = i.destination
        assert d is not None
        if i.op is Op.TEXKILL:
            self._kill(d)
        elif i.op is Op.TEX:
            self._load(i, d)
        elif i.op is Op.TEXLDL:
            coordinates, sampler = self.source(i.sources[0]), self._sampler(i.sources[1])
            self.out(f"mov {A}.xyzw, {coordinates}")
            self._sample(sampler, f"{A}.xyzw", "sample_l", f", {A}.w")
        elif i.op is Op.TEXLDD:
            coordinates, dx, dy = (self.source(i.sources[k]) for k in (0, 2, 3))
            self.out(f"mov {A}.xyzw, {dx}", f"mov {B}.xyzw, {dy}", f"mov {PAD}.xyzw, {coordinates}")
            self._sample(self._sampler(i.sources[1]), f"{PAD}.xyzw", "sample_d", f", {A}.xyzw, {B}.xyzw")
        elif i.op is Op.TEXCOORD:
            if i.sources:
                self.out(f"mov {self.result}.xyzw, {self.source(i.sources[0])}")
            else:
                self.out(f"mov_sat {self.result}.xyzw, {self.texture_register(d.number)}.xyzw")
        elif i.op in _DIRECT:
            source = self.texture_register(i.sources[0].number)
            self._sample(d.number, f"{source}.{_DIRECT[i.op]}")
        elif i.op in (Op.TEXBEM, Op.TEXBEML):
            self._bump(i, d)
        elif i.op is Op.BEM:
            self._bem(i, d)
        elif i.op in _ROW or i.op is Op.TEXM3X3PAD:
            self._matrix_row(i, d)
        else:
            return False
        return True

    # --- sampling ------------------------------------------------------------------------------------------------------
    def _sampler(self, s: Source) -> int:
        if s.file is not File.SAMPLER or s.number >= 16:
            raise CommandError.params(f"{s.file.name} {s.number} as a sampler")
        if not self.code.pixel:
            # DEVIATES: vertex shaders of model 3.0 cannot sample; they are refused.
            raise CommandError.unsupported("a vertex shader that samples")
        return s.number

    def _sample(self, stage: int, coordinates: str, op: str = "sample", more: str = "") -> None:
        """The result = the texel of a stage. What is bound decides the dimension; nothing bound reads zeros of what is declared."""
        textures = self.link.textures
        kind, swizzle, _ = textures[stage] if stage < len(textures) else (0, "xyzw", 0)
        kind = kind or self.declared_textures.get(stage, 2)
        self.out.declare(f"dcl_resource_{TEXTURE_KINDS[kind]} (float,float,float,float) t{stage}")
        self.out.declare(f"dcl_sampler s{stage}, mode_default")
        self.out(f"{op} {self.result}.xyzw, {coordinates}, t{stage}.xyzw, s{stage}{more}")
        if swizzle != "xyzw":
            self.out(f"mov {self.result}.xyzw, {self.result}.{swizzle}")

    def _load(self, i: Instruction, d: Destination) -> None:
        """tex and texld."""
        if self.version < (1, 4):
            register = self.texture_register(d.number)
            projected = self.link.textures[d.number][2]
            if projected:
                self.out(f"div {A}.xyzw, {register}.xyzw, {register}.{'xyzw'[projected] * 4}")
                register = A
            self._sample(d.number, f"{register}.xyzw")
        elif self.version < (2, 0):
            self._sample(d.number, self.source(i.sources[0]))
        else:
            coordinates, stage = self.source(i.sources[0]), self._sampler(i.sources[1])
            self.out(f"mov {A}.xyzw, {coordinates}")
            if i.control & 1:
                self.out(f"div {A}.xyz, {A}.xyzx, {A}.wwww")
            if i.control & 2:
                self._sample(stage, f"{A}.xyzw", "sample_b", f", {A}.w")
            else:
                self._sample(stage, f"{A}.xyzw")

    def _kill(self, d: Destination) -> None:
        """Any component below 0 ends the pixel: three of a coordinate before 2.0, the written ones since."""
        register = f"r{d.number % 32}" if d.file is File.TEMP else self.texture_register(d.number)
        mask = d.mask if self.version >= (2, 0) else "xyz"
        for component in mask:
            self.out(f"lt {A}.x, {register}.{component}, l(0)", f"discard_nz {A}.x")

    # --- bump maps and matrices of model 1 -------------------------------------------------------------------------------
    def _bump(self, i: Instruction, d: Destination) -> None:
        n = d.number
        own, source = self.texture_register(n), self.texture_register(i.sources[0].number)
        self._offset(f"{own}.xyxx", f"{source}.xyxx", n)
        self._sample(n, f"{A}.xyzw")
        if i.op is Op.TEXBEML:
            scale = f"cb0[{BUMP_LUMINANCE + n}]"
            self.out(f"mad_sat {A}.x, {source}.z, {scale}.x, {scale}.y", f"mul {self.result}.xyz, {self.result}.xyzx, {A}.xxxx")

    def _offset(self, base: str, delta: str, stage: int) -> None:
        """A.xy = base + delta times the stage's bump matrix."""
        matrix = f"cb0[{BUMP_MATRIX + stage}]"
        self.out(f"mov {A}.xyzw, {base}", f"mov {B}.xyzw, {delta}")
        self.out(f"mad {A}.xy, {B}.xxxx, {matrix}.xyxx, {A}.xyxx", f"mad {A}.xy, {B}.yyyy, {matrix}.zwzz, {A}.xyxx")

    def _bem(self, i: Instruction, d: Destination) -> None:
        self._offset(self.source(i.sources[0]), self.source(i.sources[1]), d.number % 8)
        self.out(f"mov {self.result}.xyzw, {A}.xyzw")

    def _matrix_row(self, i: Instruction, d: Destination) -> None:
        """A row of coordinates times a texel; the last row of a matrix uses what came together."""
        own, source = self.texture_register(d.number), self.source(i.sources[0])
        row = self._pads if i.op is Op.TEXM3X3PAD else _ROW[i.op]
        self.out(f"dp3 {PAD}.{'xyz'[row % 3]}, {own}.xyzx, {source}")
        if i.op in (Op.TEXM3X2PAD, Op.TEXM3X3PAD):
            self._pads = self._pads + 1 if i.op is Op.TEXM3X3PAD else 0
            self.out(f"mov {self.result}.xyzw, {own}.xyzw")  # the register keeps its coordinates
            return
        self._pads = 0
        if i.op is Op.TEXDP3:
            self.out(f"mov {self.result}.xyzw, {PAD}.xxxx")
        elif i.op is Op.TEXDP3TEX:
            self.out(f"mov {PAD}.yz, l(0, 0, 0, 0)")
            self._sample(d.number, f"{PAD}.xyzz")
        elif i.op is Op.TEXM3X2TEX:
            self._sample(d.number, f"{PAD}.xyyy")
        elif i.op is Op.TEXM3X3:
            self.out(f"mov {self.result}.xyz, {PAD}.xyzx", f"mov {self.result}.w, l(1.0)")
        elif i.op is Op.TEXM3X3TEX:
            self._sample(d.number, f"{PAD}.xyzz")
        else:
            self._reflect(i, d)

    def _reflect(self, i: Instruction, d: Destination) -> None:
        """2 N (N·E) / (N·N) - E, with the eye of a constant, or of the fourth coordinates."""
        if i.op is Op.TEXM3X3SPEC:
            self.out(f"mov {A}.xyzw, {self.source(i.sources[1])}")
        else:
            for component, n in zip("xyz", range(d.number - 2, d.number + 1), strict=True):
                if n < 0:
                    raise CommandError.params("a matrix that begins before the first texture register")
                self.out(f"mov {A}.{component}, v{TEXCOORD0 + n}.w")
        self.out(
            f"dp3 {B}.x, {PAD}.xyzx, {A}.xyzx", f"dp3 {B}.y, {PAD}.xyzx, {PAD}.xyzx", f"div {B}.x, {B}.x, {B}.y",
            f"add {B}.x, {B}.x, {B}.x", f"mad {A}.xyz, {PAD}.xyzx, {B}.xxxx, -{A}.xyzx",
        )  # fmt: skip
        self._sample(d.number, f"{A}.xyzz")
