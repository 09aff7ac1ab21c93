"""Values and nodes of the intermediate representation.

A value is 32 bits and typeless: an immediate (:class:`Imm`), a component of a register that never changes
(:class:`Fixed`: constant buffers, inputs) or one lane of an instruction (:class:`Lane`).  An instruction computes up
to four lanes at once; each source is a tuple of values, so swizzles, constructors and copies cost nothing and need no
instruction.  Control flow is a tree: a region is a list of :class:`Instr`, :class:`If`, :class:`Loop`,
:class:`Switch` and :class:`Break`.  Where paths meet, ``phi`` instructions choose; their sources run parallel to the
paths.  Truth is 0xFFFFFFFF or 0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from wddm.hlsl.words import word_set

__all__ = [
    "COMPARES", "COMPONENTWISE", "DOUBLE_OPS", "EFFECTS", "FALSE", "FEEDBACK",
    "FLOAT_OPS", "GRADIENTS", "ONE", "STATUS", "TRUE", "ZERO",
    "Break",
    "Fixed", "FixedRegister", "If", "Imm", "Instr", "Lane", "Loop", "Node", "Region", "Switch", "Value", "each_instruction",
    "each_region", "fixed", "imm", "imm_float",
]  # fmt: skip


class Value:
    """One 32-bit value; compared by identity."""

    __slots__ = ()


class Imm(Value):
    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __repr__(self) -> str:
        return f"#{self.bits:#x}"


_IMMEDIATES: dict[int, Imm] = {}


def imm(bits: int) -> Imm:
    """The immediate of a bit pattern; negative numbers wrap."""
    bits &= 0xFFFFFFFF
    made = _IMMEDIATES.get(bits)
    if made is None:
        if len(_IMMEDIATES) > 100_000:
            return Imm(bits)
        made = _IMMEDIATES[bits] = Imm(bits)
    return made


def float_pattern(value: float) -> int:
    """Bits of the nearest float32; too large becomes an infinity."""
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def imm_float(value: float) -> Imm:
    return imm(float_pattern(value))


ZERO, TRUE, ONE = imm(0), imm(0xFFFFFFFF), imm_float(1.0)
FALSE = ZERO


class FixedRegister:
    """A register that keeps its value through the program: ``file`` is cb or a register type's name."""

    __slots__ = ("file", "index", "lanes", "owner", "varying", "vertex")

    def __init__(self, file: str, owner: Any, vertex: int | None, index: int, varying: bool) -> None:
        self.file = file
        self.owner = owner
        self.vertex = vertex
        self.index = index
        self.varying = varying
        self.lanes = tuple(Fixed(self, c) for c in range(4))

    def __repr__(self) -> str:
        return f"{self.file}[{'' if self.vertex is None else f'{self.vertex}]['}{self.index}]"


class Fixed(Value):
    """One component of a :class:`FixedRegister`."""

    __slots__ = ("component", "register")

    def __init__(self, register: FixedRegister, component: int) -> None:
        self.register = register
        self.component = component

    def __repr__(self) -> str:
        return f"{self.register}.{'xyzw'[self.component]}"


class Lane(Value):
    """Result number ``index`` of ``instr``."""

    __slots__ = ("index", "instr")

    def __init__(self, instr: Instr, index: int) -> None:
        self.instr = instr
        self.index = index

    def __repr__(self) -> str:
        return f"%{id(self.instr) & 0xFFFFF:x}.{self.index}"


Vec = tuple[Value, ...]


class Node:
    __slots__ = ()


Region = list[Node]


class Instr(Node):
    """``lanes`` results of ``op``.

    Component-wise operations: every source has as many values as there are lanes.  Loads and other vector results:
    ``components`` says which component of the fetched vector each lane is.  ``info`` holds what else the operation
    needs (resource, offsets, …).  ``modifiers`` (1 negate, 2 absolute, 3 both) and ``saturate`` are set by late passes.
    """

    __slots__ = ("components", "info", "lanes", "line", "modifiers", "op", "precise", "saturate", "srcs", "varying")

    def __init__(
        self, op: str, srcs: list[Vec], lanes: int, components: tuple[int, ...] | None = None, info: Any = None
    ) -> None:
        self.op = op
        self.srcs = srcs
        self.lanes = [Lane(self, i) for i in range(lanes)]
        self.components = components
        self.info = info
        self.modifiers: list[int] | None = None
        self.saturate = False
        self.precise = False
        self.varying = False
        self.line = 0

    def keep(self, wanted: list[int]) -> None:
        """Drop all lanes but those listed (ascending)."""
        lanes = [self.lanes[i] for i in wanted]
        if self.op in COMPONENTWISE:
            self.srcs = [tuple(src[i] for i in wanted) for src in self.srcs]
        if self.components is not None:
            self.components = tuple(self.components[i] for i in wanted)
        for index, lane in enumerate(lanes):
            lane.index = index
        self.lanes = lanes

    def __repr__(self) -> str:
        return f"{self.lanes} = {self.op} {self.srcs} {self.components or ''} {self.info or ''}"


class If(Node):
    """Two regions and the phis behind them: sources (then, otherwise).  ``negated``: then runs when it is false."""

    __slots__ = ("condition", "negated", "otherwise", "phis", "then", "token")

    def __init__(self, condition: Value) -> None:
        self.condition = condition
        self.negated = False
        self.then: Region = []
        self.otherwise: Region = []
        self.phis: list[Instr] = []
        self.token: Any = None


class Loop(Node):
    """Endless but for its breaks.  ``phis``: sources (before, end of body); ``exit_phis``: one source per break."""

    __slots__ = ("body", "breaks", "exit_phis", "phis", "token")

    def __init__(self) -> None:
        self.phis: list[Instr] = []
        self.body: Region = []
        self.breaks: list[Break] = []
        self.exit_phis: list[Instr] = []
        self.token: Any = None


class Switch(Node):
    """``cases``: (labels, default, region); every region that ends at all ends with a break."""

    __slots__ = ("breaks", "cases", "exit_phis", "selector", "token")

    def __init__(self, selector: Value) -> None:
        self.selector = selector
        self.cases: list[tuple[list[int], bool, Region]] = []
        self.breaks: list[Break] = []
        self.exit_phis: list[Instr] = []
        self.token: Any = None


class Break(Node):
    """Out of ``target``, always, or when ``condition`` is true."""

    __slots__ = ("condition", "negated", "target")

    def __init__(self, target: Loop | Switch, condition: Value | None = None) -> None:
        self.target = target
        self.condition = condition
        self.negated = False


COMPARES = word_set("eq ne lt ge ieq ine ilt ige ult uge deq dne dlt dge check_access_fully_mapped")

FLOAT_OPS = word_set("add mul div mad max min dp2 dp3 dp4 exp log frc rcp rsq sqrt sin cos round_ne round_ni round_pi round_z "
    "deriv_rtx deriv_rty deriv_rtx_coarse deriv_rty_coarse deriv_rtx_fine deriv_rty_fine")
"""Results that may be saturated, sources that may be negated as floats."""

COMPONENTWISE = (
    word_set("""mov movc and or xor not iadd imul imul_hi umul_hi imad imax imin umax umin ineg ishl ishr ushr udiv urem
        uaddc_carry usubb_borrow countbits firstbit_hi firstbit_lo firstbit_shi bfrev ubfe ibfe bfi ftoi ftou itof utof
        f32tof16 f16tof32 msad fneg fabs sat phi""")
    | (FLOAT_OPS - {"dp2", "dp3", "dp4"})
    | (COMPARES - {"deq", "dne", "dlt", "dge"})
)

DOUBLE_OPS = word_set("dadd dmul dmin dmax ddiv drcp dfma deq dne dlt dge dtof ftod dtoi dtou itod utod")

GRADIENTS = word_set(
    """sample sample_b sample_c sample_cl_s sample_b_cl_s sample_c_cl_s lod deriv_rtx deriv_rty deriv_rtx_coarse
    deriv_rty_coarse deriv_rtx_fine deriv_rty_fine"""
)
"""Operations that look at neighbouring pixels."""

FEEDBACK = {
    "sample": "sample_cl_s", "sample_b": "sample_b_cl_s", "sample_d": "sample_d_cl_s", "sample_c": "sample_c_cl_s",
    "sample_l": "sample_l_s", "sample_c_lz": "sample_c_lz_s", "gather4": "gather4_s", "gather4_c": "gather4_c_s",
    "gather4_po": "gather4_po_s", "gather4_po_c": "gather4_po_c_s", "ld": "ld_s", "ld_ms": "ld_ms_s",
    "ld_uav_typed": "ld_uav_typed_s", "ld_raw": "ld_raw_s", "ld_structured": "ld_structured_s",
}  # fmt: skip
"""Reads and their forms that also tell whether all they touched was mapped: that is component :data:`STATUS`."""

STATUS = 4

EFFECTS = word_set("""discard output emit cut sync store_uav_typed store_raw store_structured array_store atomic alloc consume abort
    """)
"""Operations that stay where they are and stay even if nobody wants their lanes."""


def each_region(region: Region) -> Iterator[Region]:
    """``region`` and all below it."""
    stack = [region]
    while stack:
        current = stack.pop()
        yield current
        for node in current:
            if isinstance(node, If):
                stack += (node.then, node.otherwise)
            elif isinstance(node, Loop):
                stack.append(node.body)
            elif isinstance(node, Switch):
                stack += [case[2] for case in node.cases]


def each_instruction(region: Region) -> Iterator[Instr]:
    """All instructions, phis included, in no promised order."""
    for current in each_region(region):
        for node in current:
            if isinstance(node, Instr):
                yield node
            elif isinstance(node, If):
                yield from node.phis
            elif isinstance(node, Loop):
                yield from node.phis
                yield from node.exit_phis
            elif isinstance(node, Switch):
                yield from node.exit_phis


def fixed(table: dict[Any, FixedRegister], file: str, owner: Any, index: int, vertex: int | None = None,
          varying: bool = True) -> FixedRegister:  # fmt: skip
    """The register, one object per (file, owner, vertex, index) in ``table``."""
    key = (file, id(owner), vertex, index)
    made = table.get(key)
    if made is None:
        made = table[key] = FixedRegister(file, owner, vertex, index, varying)
    return made
