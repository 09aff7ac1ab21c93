"""Shaders of DirectX 8 and 9 (models 1.0 to 3.0) written anew as shader assembly.

Every instruction computes its whole result into a scratch register and writes it where it belongs: saturation, shifts, write masks
and predicates are one place's matter, and the driver's optimizer forwards the moves. Constants are the rows of one buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from umd.dp2.arithmetic import ARITHMETIC, COMPARE, negated
from umd.dp2.assembly import DIFFUSE, FOG, POSITION, SPECULAR, TEXCOORD0, Assembly
from umd.dp2.bytecode import Code, Destination, File, Instruction, Modifier, Op, Source
from umd.dp2.errors import CommandError
from umd.dp2.pixel import VERTEX_FOG, alpha_test, fog
from umd.dp2.registers import (
    ADDRESS,
    ALPHA_REF,
    BOOLEANS,
    FOG_COLOR,
    FOG_PARAMETERS,
    INPUTS,
    INTEGERS,
    LOOPS,
    MAX_LOOPS,
    OUTPUTS,
    PREDICATE,
    RESULT,
    RESULT2,
    ROWS,
    SOURCES,
    TEMPS,
    TEXTURES,
    A,
    B,
)
from umd.dp2.texture_ops import TextureOps
from wddm.ddi.d3dhal import D3DDECLUSAGE, D3DFOGMODE

U = D3DDECLUSAGE
#: Registers between the stages for usages that have no place of their own.
_GENERIC: Final = {
    (U.NORMAL, 0): 14, (U.TANGENT, 0): 15, (U.BINORMAL, 0): 16, (U.BLENDWEIGHT, 0): 17, (U.BLENDINDICES, 0): 18,
    (U.POSITION, 1): 19, (U.DEPTH, 0): 20, **{(U.TEXCOORD, i): 13 + i for i in range(8, 16)},
}  # fmt: skip


def varying(usage: int, index: int) -> tuple[int, str] | None:
    """Register and components between vertex and pixel shader for a usage; None for one that is not passed on."""
    if usage in (U.POSITION, U.POSITIONT) and index == 0:
        return POSITION, "xyzw"
    if usage == U.COLOR and index < 2:
        return (DIFFUSE, SPECULAR)[index], "xyzw"
    if usage == U.TEXCOORD and index < 8:
        return TEXCOORD0 + index, "xyzw"
    if usage == U.FOG:
        return SPECULAR, "wwww"
    if usage == U.PSIZE:
        return FOG, "zzzz"
    register = _GENERIC.get((D3DDECLUSAGE(usage), index)) if usage in U._value2member_map_ else None
    return None if register is None else (register, "xyzw")


@dataclass(frozen=True, slots=True)
class Link:
    """What is around a shader. Vertex: ``inputs`` maps its inputs to "v" (there), "u" or "s" (unsigned or signed integers);
    pixel: the kind and swizzle of each bound texture, projection, alpha test, fog, flat colours."""

    inputs: tuple[tuple[int, str], ...] = ()
    textures: tuple[tuple[int, str, int], ...] = ((2, "xyzw", 0),) * 16
    alpha_func: int = 8
    fog: int = int(D3DFOGMODE.NONE)
    flat: bool = False


class Translator(TextureOps):
    """One shader being translated."""

    def __init__(self, code: Code, link: Link) -> None:
        self.code = code
        self.link = link
        self.version = code.version
        self.out = Assembly("ps_5_0" if code.pixel else "vs_5_0")
        self.out.temps(TEMPS)
        self.result = RESULT
        self._loops: list[Op] = []
        self._inputs: dict[int, str] = {}
        self._outputs: dict[int, tuple[int, str]] = {}  #: output registers of model 3.0
        self._written: set[int] = set()
        self._finished = False
        self._labels = 0
        self._called: set[int] = set()
        self._defined: set[int] = set()
        self.declared_textures: dict[int, int] = {}
        self._sources = 0

    # --- the whole -----------------------------------------------------------------------------------------------------
    def translate(self) -> Assembly:
        """The assembly. Raises CommandError."""
        self.out.constants(0, ROWS)
        self._declarations()
        pending: list[tuple[Destination, str, Instruction]] = []
        instructions = self.code.instructions
        for index, i in enumerate(instructions):
            together = index + 1 < len(instructions) and instructions[index + 1].coissued
            self.result = RESULT2 if i.coissued else RESULT
            self._sources = 0
            computed = self._instruction(i)
            if computed is not None:
                pending.append((computed, self.result, i))
            if not together:
                for destination, result, instruction in pending:
                    self._write(destination, result, instruction)
                pending.clear()
        if self._loops:
            raise CommandError.params("a block of shader code without its end")
        if not self._finished:
            self._finish()
        elif self._called - self._defined:
            raise CommandError.params("a call of a label that does not exist")
        return self.out

    def _declarations(self) -> None:
        pixel = self.code.pixel
        for i in self.code.instructions:
            d = i.destination
            if i.op is Op.DCL and d is not None:
                self._declare(d, i.words[0])
            elif d is not None and i.op not in (Op.DEF, Op.DEFI, Op.DEFB):
                self._note_written(d)
        if not pixel:
            self._vertex_inputs()
        for register in sorted(self._written):
            one = register == DIFFUSE and not pixel
            self.out(f"mov r{OUTPUTS + register}.xyzw, l({'1.0, 1.0, 1.0, 1.0' if one else '0, 0, 0, 0'})")
        if not pixel:
            self.out.declare(f"dcl_output_siv o{POSITION}.xyzw, position")
        elif self.version < (1, 4):
            for n in range(4):
                self.out.declare(f"dcl_input_ps linear v{TEXCOORD0 + n}.xyzw")
                self.out(f"mov r{TEXTURES + n}.xyzw, v{TEXCOORD0 + n}.xyzw")

    def _declare(self, d: Destination, usage: int) -> None:
        if d.file is File.SAMPLER:
            if d.number >= 16:
                raise CommandError.params(f"sampler {d.number}")
            self.declared_textures[d.number] = {3: 4, 4: 3}.get(usage >> 27 & 0xF, 2)
        elif self.version >= (3, 0) and d.file is (File.INPUT if self.code.pixel else File.OUTPUT):
            place = varying(usage & 0x1F, usage >> 16 & 0xF)
            if place is not None:
                self._outputs[d.number] = place
                if not self.code.pixel:
                    self._written.add(place[0])

    def _note_written(self, d: Destination) -> None:
        """Outputs that the shader writes, by the register of the assembly."""
        place = self._output(d)
        if place is not None:
            self._written.add(place[0])

    def _output(self, d: Destination) -> tuple[int, str] | None:
        """Register and components of an output; None when it is none."""
        if self.code.pixel:
            if d.file is File.COLOROUT and d.number < 4:
                return d.number, "xyzw"
            return (8, "xxxx") if d.file is File.DEPTHOUT else None
        if d.file is File.RASTOUT and d.number < 3:
            return ((POSITION, "xyzw"), (SPECULAR, "wwww"), (FOG, "zzzz"))[d.number]
        if d.file is File.ATTROUT and d.number < 2:
            return (DIFFUSE, SPECULAR)[d.number], "xyzw"
        if d.file is File.OUTPUT:
            if self.version >= (3, 0):
                return self._outputs.get(d.number)
            return (TEXCOORD0 + d.number, "xyzw") if d.number < 8 else None
        return None

    def _vertex_inputs(self) -> None:
        there = dict(self.link.inputs)
        for number in range(16):
            kind = there.get(number)
            if kind is None:
                self._inputs[number] = f"r{INPUTS + number}"
                self.out(f"mov r{INPUTS + number}.xyzw, l(0, 0, 0, 1.0)")
                continue
            self.out.declare(f"dcl_input v{number}.xyzw")
            self._inputs[number] = f"v{number}"
            if kind != "v":
                self._inputs[number] = f"r{INPUTS + number}"
                self.out(f"{'utof' if kind == 'u' else 'itof'} r{INPUTS + number}.xyzw, v{number}.xyzw")

    # --- operands ------------------------------------------------------------------------------------------------------
    def _register(self, s: Source) -> str:
        """The register of a source without its swizzle."""
        n = s.number
        if s.file is File.TEMP and n < 32:
            return f"r{n}"
        if s.file is File.CONST and n < INTEGERS:
            return f"cb0[{n}]" if s.relative is None else f"cb0[{self._index(s.relative)} + {n}]"
        if s.file is File.CONSTINT and n < 16:
            return f"cb0[{INTEGERS + n}]"
        if s.file is File.CONSTBOOL and n < 16:
            return f"cb0[{BOOLEANS + n}]"
        if s.file is File.LOOP:
            return f"r{self._loop()}"
        if s.file is File.PREDICATE:
            return PREDICATE
        if s.file is File.INPUT and s.relative is None:
            return self._input(n)
        if s.file is File.ADDRESS:
            if not self.code.pixel:
                return ADDRESS
            return self.texture_register(n)
        if s.file is File.MISC and self.code.pixel and n < 2:
            return self._position_or_face(n)
        raise CommandError.unsupported(f"source {s.file.name} {n} of a shader")

    def _input(self, n: int) -> str:
        if not self.code.pixel:
            if n >= 16:
                raise CommandError.params(f"vertex input {n}")
            return self._inputs[n]
        if self.version >= (3, 0):
            place = self._outputs.get(n)
            if place is None:
                raise CommandError.params(f"pixel input {n} is not declared")
            register, components = place
        else:
            if n >= 2:
                raise CommandError.params(f"pixel input {n}")
            register, components = (DIFFUSE, SPECULAR)[n], "xyzw"
        self._declare_varying(register)
        if components != "xyzw":
            self.out(f"mov r{INPUTS + n % 16}.xyzw, v{register}.{components}")
            return f"r{INPUTS + n % 16}"
        return f"v{register}"

    def _declare_varying(self, register: int) -> None:
        flat = self.link.flat and register == DIFFUSE
        self.out.declare(f"dcl_input_ps {'constant' if flat else 'linear'} v{register}.xyzw")

    def _position_or_face(self, n: int) -> str:
        if n:
            self.out.declare("dcl_input_ps_sgv constant v30.x, is_front_face")
            self.out(f"movc {B}.xyzw, v30.xxxx, l(1.0, 1.0, 1.0, 1.0), l(-1.0, -1.0, -1.0, -1.0)")
            return B
        # Centres are whole numbers in Direct3D 9, halves in the hardware.
        self.out.declare("dcl_input_ps_siv linear noperspective v0.xy, position")
        self.out(f"mov {B}.xyzw, l(0, 0, 0, 0)", f"add {B}.xy, v0.xyxx, l(-0.5, -0.5, 0, 0)")
        return B

    def _index(self, relative: tuple[File, int, str]) -> str:
        file, _, component = relative
        if self.code.pixel:
            raise CommandError.unsupported("a pixel shader that indexes its constants")
        self.out.constants(0, ROWS, dynamic=True)
        return f"r{self._loop()}.y" if file is File.LOOP else f"{ADDRESS}.{component}"

    def _loop(self) -> int:
        """The register of the innermost loop."""
        return LOOPS + max(0, len([op for op in self._loops if op in (Op.LOOP, Op.REP)]) - 1)

    def source(self, s: Source) -> str:
        """An operand of four components, with its modifier."""
        name = self._register(s)
        swizzle = "yyyy" if s.file is File.LOOP else s.swizzle
        operand, m = f"{name}.{swizzle}", s.modifier
        if s.file is File.LOOP:
            operand = self._scratch(f"itof {{0}}.xyzw, {operand}")
        if m is Modifier.NONE or m is Modifier.NOT:
            return operand
        if m is Modifier.NEG:
            return negated(operand)
        if m is Modifier.ABS:
            return f"|{operand}|"
        if m is Modifier.ABSNEG:
            return f"-|{operand}|"
        half, one, two = (f"l({', '.join([v] * 4)})" for v in ("-0.5", "1.0", "2.0"))
        made = {
            Modifier.BIAS: f"add {{0}}.xyzw, {operand}, {half}",
            Modifier.SIGN: f"mad {{0}}.xyzw, {operand}, {two}, l(-1.0, -1.0, -1.0, -1.0)",
            Modifier.COMP: f"add {{0}}.xyzw, {one}, -{operand}",
            Modifier.X2: f"add {{0}}.xyzw, {operand}, {operand}",
            Modifier.DZ: f"div {{0}}.xyzw, {operand}, {name}.{s.swizzle[2] * 4}",
            Modifier.DW: f"div {{0}}.xyzw, {operand}, {name}.{s.swizzle[3] * 4}",
        }
        base = {Modifier.BIASNEG: Modifier.BIAS, Modifier.SIGNNEG: Modifier.SIGN, Modifier.X2NEG: Modifier.X2}.get(m, m)
        operand = self._scratch(made[base])
        return negated(operand) if base is not m else operand

    def _scratch(self, line: str) -> str:
        register = f"r{SOURCES + self._sources % 4}"
        self._sources += 1
        self.out(line.format(register))
        return f"{register}.xyzw"

    @staticmethod
    def scalar(operand: str, component: int = 3) -> str:
        """An operand's component (by its place in the swizzle) four times; sources of one value say it in every place."""
        head, _, swizzle = operand.rpartition(".")
        bar = swizzle.endswith("|")
        return f"{head}.{swizzle[component] * 4}" + ("|" if bar else "")

    # --- results -------------------------------------------------------------------------------------------------------
    def _write(self, d: Destination, result: str, i: Instruction) -> None:
        """The result where it belongs."""
        out = self.out
        place = self._output(d)
        if place is not None:
            register, components = f"r{OUTPUTS + place[0]}", place[1]
            if components != "xyzw":
                if not d.mask:
                    return
                out(f"mov {result}.xyzw, {result}.{d.mask[0] * 4}")
            mask = d.mask if components == "xyzw" else components[0]
        elif d.file is File.TEMP and d.number < 32:
            register, mask = f"r{d.number}", d.mask
        elif d.file is File.ADDRESS:
            register, mask = (ADDRESS if not self.code.pixel else f"r{TEXTURES + d.number % 8}"), d.mask
        elif d.file is File.PREDICATE:
            register, mask = PREDICATE, d.mask
        elif d.file is File.OUTPUT and self.version >= (3, 0):
            return  # declared with a usage that goes nowhere
        else:
            raise CommandError.unsupported(f"destination {d.file.name} {d.number} of a shader")
        if not mask:
            return
        if d.shift:
            factor = f"{2.0 ** d.shift}"
            out(f"mul {result}.xyzw, {result}.xyzw, l({', '.join([factor] * 4)})")
        if d.saturate:
            out(f"mov_sat {result}.xyzw, {result}.xyzw")
        if i.predicate is not None:
            p = f"{PREDICATE}.{i.predicate.swizzle}"
            first, second = f"{result}.xyzw", f"{register}.xyzw"
            if i.predicate.modifier is Modifier.NOT:
                first, second = second, first
            out(f"movc {register}.{mask}, {p}, {first}, {second}")
        else:
            out(f"mov {register}.{mask}, {result}.xyzw")

    # --- instructions ----------------------------------------------------------------------------------------------------
    def _instruction(self, i: Instruction) -> Destination | None:
        """Compute an instruction; returns where its result goes, None when it has none."""
        if i.op in (Op.NOP, Op.PHASE, Op.DCL, Op.DEF, Op.DEFI, Op.DEFB):
            return None
        if i.op in _FLOW:
            _FLOW[i.op](self, i)
            return None
        assert i.destination is not None
        if self.texture_op(i):
            return None if i.op is Op.TEXKILL else i.destination
        if i.op in (Op.M4X4, Op.M4X3, Op.M3X4, Op.M3X3, Op.M3X2):
            self._matrix(i)
            return i.destination
        write = ARITHMETIC.get(i.op)
        if write is None:
            raise CommandError.unsupported(f"shader instruction {i.op.name}")
        write(self, self.result, [self.source(s) for s in i.sources], i)
        return i.destination

    def _matrix(self, i: Instruction) -> None:
        """Dot products with consecutive registers."""
        dot = "dp4" if i.op in (Op.M4X4, Op.M4X3) else "dp3"
        rows = {Op.M4X4: 4, Op.M4X3: 3, Op.M3X4: 4, Op.M3X3: 3, Op.M3X2: 2}[i.op]
        vector, first = self.source(i.sources[0]), i.sources[1]
        self.out(f"mov {A}.xyzw, {vector}", f"mov {self.result}.xyzw, l(0, 0, 0, 0)")
        for row in range(rows):
            part = Source(first.file, first.number + row, first.swizzle, first.modifier, first.relative)
            self.out(f"{dot} {self.result}.{'xyzw'[row]}, {A}.xyzw, {self.source(part)}")

    # --- flow ----------------------------------------------------------------------------------------------------------
    def _condition(self, s: Source) -> str:
        """"nz" or "z" with the component that says it."""
        name = self._register(s)
        test = "z" if s.modifier is Modifier.NOT else "nz"
        return f"{test} {name}.{s.swizzle[0]}"

    def _compare(self, i: Instruction) -> str:
        op, swapped = COMPARE.get(i.control & 7, ("eq", False))
        a, b = (self.source(s) for s in i.sources)
        self.out(f"{op} {A}.xyzw, {b if swapped else a}, {a if swapped else b}")
        return A

    def _push(self, op: Op) -> None:
        if sum(o in (Op.LOOP, Op.REP) for o in self._loops) >= MAX_LOOPS or len(self._loops) >= 64:
            raise CommandError.params("shader blocks nested too deep")
        self._loops.append(op)

    def _pop(self, *openers: Op) -> None:
        if not self._loops or self._loops[-1] not in openers:
            raise CommandError.params("the end of a shader block that did not begin")
        self._loops.pop()

    def _if(self, i: Instruction) -> None:
        self.out(f"if_{self._condition(i.sources[0])}")
        self._push(Op.IF)

    def _ifc(self, i: Instruction) -> None:
        self.out(f"if_nz {self._compare(i)}.x")
        self._push(Op.IF)

    def _else(self, i: Instruction) -> None:
        self._pop(Op.IF)
        self._push(Op.ELSE)
        self.out("else")

    def _endif(self, i: Instruction) -> None:
        self._pop(Op.IF, Op.ELSE)
        self.out("endif")

    def _begin_loop(self, i: Instruction) -> None:
        integer = i.sources[-1]
        if integer.file is not File.CONSTINT:
            raise CommandError.params("a shader loop that no integer constant counts")
        name = self._register(integer)
        self._push(i.op)
        counter = f"r{self._loop()}"
        self.out(f"mov {counter}.xyz, {name}.xyzx", "loop")
        self.out(f"ige {counter}.w, l(0), {counter}.x", f"breakc_nz {counter}.w", f"iadd {counter}.x, {counter}.x, l(-1)")

    def _end_loop(self, i: Instruction) -> None:
        counter = f"r{self._loop()}"
        self._pop(Op.LOOP if i.op is Op.ENDLOOP else Op.REP)
        if i.op is Op.ENDLOOP:
            self.out(f"iadd {counter}.y, {counter}.y, {counter}.z")
        self.out("endloop")

    def _in_loop(self) -> None:
        if not any(op in (Op.LOOP, Op.REP) for op in self._loops):
            raise CommandError.params("a break outside of a shader loop")

    def _break(self, i: Instruction) -> None:
        self._in_loop()
        self.out("break")

    def _breakc(self, i: Instruction) -> None:
        self._in_loop()
        self.out(f"breakc_nz {self._compare(i)}.x")

    def _breakp(self, i: Instruction) -> None:
        self._in_loop()
        self.out(f"breakc_{self._condition(i.sources[0])}")

    def _call(self, i: Instruction) -> None:
        self._called.add(i.sources[0].number)
        if i.op is Op.CALL:
            self.out(f"call l{i.sources[0].number}")
        else:
            self.out(f"callc_{self._condition(i.sources[1])}, l{i.sources[0].number}")

    def _label(self, i: Instruction) -> None:
        if not self._finished:
            raise CommandError.params("a label before the end of the main program")
        number = i.sources[0].number
        if number in self._defined or number > 4095:
            raise CommandError.params(f"label {number}")
        self._defined.add(number)
        self.out(f"label l{number}")

    def _return(self, i: Instruction) -> None:
        if self._loops:
            raise CommandError.unsupported("a return inside of a block")
        if self._finished:
            self.out("ret")
        else:
            self._finish()

    # --- the end -------------------------------------------------------------------------------------------------------
    def _finish(self) -> None:
        """Outputs get what was written."""
        self._finished = True
        self._finish_pixel() if self.code.pixel else self._finish_vertex()
        self.out("ret")
        self.out.returned = True

    def _finish_vertex(self) -> None:
        out, written = self.out, self._written
        clamp = "_sat" if self.version < (3, 0) else ""

        def value(register: int, otherwise: str) -> str:
            return f"r{OUTPUTS + register}.xyzw" if register in written else otherwise

        zero = "l(0, 0, 0, 0)"
        fogged = (SPECULAR in written and self.version >= (3, 0)) or any(
            self._output(i.destination) == (SPECULAR, "wwww") for i in self.code.instructions if i.destination is not None
        )
        for register in (DIFFUSE, SPECULAR, FOG, *range(TEXCOORD0, TEXCOORD0 + 8)):
            out.declare(f"dcl_output o{register}.xyzw")
        position = value(POSITION, zero)
        out(
            f"mov o{POSITION}.xyzw, {position}",
            f"mov{clamp} o{DIFFUSE}.xyzw, {value(DIFFUSE, 'l(1.0, 1.0, 1.0, 1.0)')}",
            f"mov{clamp} o{SPECULAR}.xyz, {value(SPECULAR, zero)}",
            f"mov_sat o{SPECULAR}.w, " + (f"r{OUTPUTS + SPECULAR}.w" if fogged else "l(1.0)"),
            f"mov o{FOG}.x, " + (f"r{OUTPUTS}.w" if POSITION in written else "l(1.0)"),
            f"mov o{FOG}.y, " + (f"r{OUTPUTS}.z" if POSITION in written else "l(0)"),
            f"mov o{FOG}.z, " + (f"r{OUTPUTS + FOG}.z" if FOG in written else "l(1.0)"),
            f"mov o{FOG}.w, l(0)",
        )
        for register in range(TEXCOORD0, TEXCOORD0 + 8):
            out(f"mov o{register}.xyzw, {value(register, zero)}")
        for register in sorted(written):
            if register >= 14:
                out.declare(f"dcl_output o{register}.xyzw")
                out(f"mov o{register}.xyzw, {value(register, zero)}")

    def _finish_pixel(self) -> None:
        out, link = self.out, self.link
        colors = sorted(r for r in self._written if r < 4) if self.version >= (2, 0) else [0]
        if self.version < (2, 0):
            out(f"mov_sat r{OUTPUTS}.xyzw, r0.xyzw")
        if 0 in colors:
            alpha_test(out, link.alpha_func, f"r{OUTPUTS}", A, f"cb0[{ALPHA_REF}]")
            if self.version < (3, 0):
                if link.fog == VERTEX_FOG:
                    self._declare_varying(SPECULAR)
                fog(out, link.fog, f"r{OUTPUTS}", A, f"cb0[{FOG_COLOR}]", f"cb0[{FOG_PARAMETERS}]")
        for register in colors:
            out.declare(f"dcl_output o{register}.xyzw")
            out(f"mov o{register}.xyzw, r{OUTPUTS + register}.xyzw")
        if 8 in self._written:
            out.declare("dcl_output oDepth")
            out(f"mov oDepth, r{OUTPUTS + 8}.x")


_FLOW: Final[dict[Op, Callable[[Any, Instruction], None]]] = {
    Op.IF: Translator._if, Op.IFC: Translator._ifc, Op.ELSE: Translator._else, Op.ENDIF: Translator._endif,
    Op.LOOP: Translator._begin_loop, Op.REP: Translator._begin_loop,
    Op.ENDLOOP: Translator._end_loop, Op.ENDREP: Translator._end_loop,
    Op.BREAK: Translator._break, Op.BREAKC: Translator._breakc, Op.BREAKP: Translator._breakp, Op.CALL: Translator._call,
    Op.CALLNZ: Translator._call, Op.LABEL: Translator._label, Op.RET: Translator._return,
}  # fmt: skip
