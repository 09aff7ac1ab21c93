"""A lowered shader to a container: the order of the back end's steps."""

from __future__ import annotations

from collections import Counter
from typing import Any

from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.opcodes import GlobalFlags, Opcode, ProgramType, RegisterType
from wddm.dxbc.program import Instruction, Phase, Program
from wddm.dxbc.signature import Signature
from wddm.dxbc.statistics import FeatureFlags
from wddm.hlsl import tree
from wddm.hlsl.diagnostics import Abort, Position, Sink
from wddm.hlsl.ir.nodes import (
    COMPONENTWISE,
    DOUBLE_OPS,
    EFFECTS,
    STATUS,
    Fixed,
    Instr,
    Lane,
    Region,
    Value,
    each_instruction,
    each_region,
)
from wddm.hlsl.lowering.stages import Shader
from wddm.hlsl.lowering.state import Module
from wddm.hlsl.signature import Element
from wddm.hlsl.types import MIN_PRECISION

from .allocate import allocate
from .declare import Declarer
from .emit import Emitter
from .linear import coalesce, linearise, live_ranges
from .reflection import make_reflection
from .registers import Usage, assign_slots
from .statistics import make_statistics
from .vectors import form_vectors

__all__ = ["build"]

_TYPES = {
    "v": ProgramType.VERTEX, "p": ProgramType.PIXEL, "g": ProgramType.GEOMETRY, "h": ProgramType.HULL,
    "d": ProgramType.DOMAIN, "c": ProgramType.COMPUTE,
}  # fmt: skip

_EXTENDED_DOUBLES = frozenset({"ddiv", "drcp", "dfma", "dtoi", "dtou", "itod", "utod"})

MAX_TEMPS = 4096
MAX_SHARED = 32768
MAX_ICB = 4096

Outputs = dict[Instr, tuple[RegisterType, int, tuple[int, ...]]]


def build(
    shader: Shader, module: Module, unit: tree.Unit, params: tree.ConstantBuffer, sink: Sink, *, model: int,
    optimise: bool, creator: str, flags: int, position: Position, reflection: bool = True,
) -> bytes:  # fmt: skip
    """The container of a shader whose passes have run.  Errors (slots, temps) go to ``sink`` and raise Abort."""
    type_ = _TYPES[shader.stage]
    program = Program(type_, model // 10, model % 10)
    instructions = [i for phase in shader.phases for i in each_instruction(phase.region)]
    usage = Usage([phase.region for phase in shader.phases])
    targets = [e.register + 1 for e in shader.outputs if shader.stage == "p" and e.register_type is None]
    bindings, slots = assign_slots(usage, module, unit, params, sink, first_uav=max(targets, default=0))
    shared = sum(s.stride * s.count * 4 for s in usage.shared)
    if shared > MAX_SHARED:
        sink.error(3662, f"groupshared memory takes {shared} bytes, there are {MAX_SHARED}", position)
    if usage.icb and len(module.icb) > MAX_ICB:
        sink.error(4510, f"constant arrays take {len(module.icb)} vectors, there are {MAX_ICB}", position)
    if sink.errors:
        raise Abort
    declarer = Declarer(shader, type_, usage, model)
    global_flags, features = _flags(instructions, shader, bindings_need_flag(bindings, model), model, optimise)
    arrays = declarer.arrays()
    head = declarer.resources(bindings, slots, global_flags, module.icb)
    program.declarations = head

    def slot_of(buffer: Any) -> int:
        return slots[id(buffer)]

    for phase in shader.phases:
        read, specials = _reads(phase.region)
        outputs = _direct_outputs(phase.region, shader.stage)
        webs = form_vectors(phase.region)
        outputs |= _direct_outputs(phase.region, shader.stage)
        items = linearise(phase.region)
        live_ranges(items, webs)
        coalesce(items, webs)
        places, temps = allocate(webs)
        emitter = Emitter(places, temps, model, slot_of, outputs)
        code = emitter.run(items)
        code.append(Instruction(Opcode.RET))
        if emitter.temps + sum(a.registers for a in usage.arrays) > MAX_TEMPS:
            sink.fatal(4505, "maximum temp register index exceeded", position)
        temps_declared = declarer.temps(emitter.temps)
        if phase.kind == "main":
            program.declarations = head + declarer.stage(read, specials) + temps_declared + arrays
            program.instructions = code
        else:
            kind = Opcode.HS_CONTROL_POINT_PHASE if phase.kind == "control_point" else Opcode.HS_FORK_PHASE
            declarations = declarer.hull_phase(phase, read, specials) + temps_declared + arrays
            program.phases.append(Phase(kind, declarations, code))
        _mark_reads(shader, phase.kind, read, type_)
    if type_ is ProgramType.HULL:
        program.declarations = declarer.hull_globals() + head
    rdef = None
    if reflection:
        rdef = make_reflection(type_, model, unit, params, bindings, slots, usage, creator, flags)
    has_patch = type_ in (ProgramType.HULL, ProgramType.DOMAIN)
    blob = ShaderBlob.build(
        program, _signature(shader.inputs, False), _signature(shader.outputs, True),
        _signature(shader.patch_constants, type_ is ProgramType.HULL) if has_patch else None,
        reflection=rdef, statistics=make_statistics(program, shader), features=features,
    )  # fmt: skip
    return blob.to_bytes()


def _signature(elements: list[Element], output: bool) -> Signature:
    listed = [e for e in elements if not _internal(e)]
    for element in listed:
        if output:
            element.rw_mask = 0xF ^ (element.mask if element.register_type is None else 1)
    return Signature([e.signature() for e in listed])


def _internal(element: Element) -> bool:
    """Inputs that are registers of their own do not stand in a signature, vPrim excepted."""
    return element.register_type is not None and element.register_type not in (
        RegisterType.INPUT_PRIMITIVEID, RegisterType.OUTPUT_DEPTH, RegisterType.OUTPUT_DEPTH_GREATER_EQUAL,
        RegisterType.OUTPUT_DEPTH_LESS_EQUAL, RegisterType.OUTPUT_COVERAGE_MASK, RegisterType.OUTPUT_STENCIL_REF,
    )  # fmt: skip


def _mark_reads(shader: Shader, phase: str, read: dict[tuple[str, int], int], type_: ProgramType) -> None:
    """Note in input elements which components the code reads."""
    files = {"main": "INPUT", "control_point": "INPUT", "fork": "INPUT_CONTROL_POINT"}
    file = "INPUT_CONTROL_POINT" if type_ is ProgramType.DOMAIN else files[phase]
    for element in shader.inputs:
        if element.register_type is not None:
            element.rw_mask |= read.get((element.register_type.name, 0), 0)
        else:
            element.rw_mask |= element.mask & read.get((file, element.register), 0)
    if type_ is ProgramType.DOMAIN:
        for element in shader.patch_constants:
            element.rw_mask |= element.mask & read.get(("INPUT_PATCH_CONSTANT", element.register), 0)


_NUMBERED = ("INPUT", "INPUT_CONTROL_POINT", "OUTPUT_CONTROL_POINT", "INPUT_PATCH_CONSTANT")


def _reads(region: Region) -> tuple[dict[tuple[str, int], int], dict[str, int]]:
    """Components read per (file, register), and per register that stands alone."""
    read: dict[tuple[str, int], int] = {}
    specials: dict[str, int] = {}

    def note(value: Value | None) -> None:
        if isinstance(value, Fixed) and value.register.file != "cb":
            register = value.register
            key = (register.file, register.index)
            read[key] = read.get(key, 0) | 1 << value.component
            if register.file not in _NUMBERED:
                specials[register.file] = specials.get(register.file, 0) | 1 << value.component

    for instr in each_instruction(region):
        if instr.op.startswith("eval_"):
            value = instr.srcs[0][0]
            assert isinstance(value, Fixed)
            assert instr.components is not None
            for component in instr.components:
                note(value.register.lanes[component])
            continue
        for src in instr.srcs:
            for value in src:
                note(value)
        if instr.op == "vertex_load" and instr.components is not None:
            file, number = instr.info
            for component in instr.components:
                read[file, number] = read.get((file, number), 0) | 1 << component
    for current in each_region(region):
        for node in current:
            note(getattr(node, "condition", None))
            note(getattr(node, "selector", None))
    return read, specials


def _direct_outputs(region: Region, stage: str) -> Outputs:
    """Let instructions whose whole result is an output write it themselves."""
    uses: Counter[Value] = Counter()
    for instr in each_instruction(region):
        for src in instr.srcs:
            uses.update(src)
    for current in each_region(region):
        for node in current:
            value = getattr(node, "condition", None) or getattr(node, "selector", None)
            if value is not None:
                uses[value] += 1
    out: Outputs = {}
    for current in each_region(region):
        homes = {node: at for at, node in enumerate(current) if isinstance(node, Instr)}
        dropped: set[Instr] = set()
        for at, node in enumerate(current):
            if not isinstance(node, Instr) or node.op != "output" or node.modifiers:
                continue
            file, number, components, element = node.info
            left: list[int] = []
            by_producer: dict[Instr | None, list[int]] = {}
            for place, value in enumerate(node.srcs[0]):
                by_producer.setdefault(value.instr if isinstance(value, Lane) else None, []).append(place)
            for producer, places in by_producer.items():
                src = tuple(node.srcs[0][i] for i in places)
                if producer is None or not _fits(producer, src, uses, homes, out) or (
                    stage == "g" and any(
                        not isinstance(n, Instr) or n.op in ("emit", "cut") for n in current[homes[producer] + 1 : at]
                    )
                ):
                    left += places
                    continue
                by_lane = {node.srcs[0][i]: components[i] for i in places}
                out[producer] = (RegisterType[file], number, tuple(by_lane[lane] for lane in producer.lanes))
                producer.lanes = []
            left.sort()
            if not left:
                dropped.add(node)
            elif len(left) < len(components):
                node.srcs = [tuple(node.srcs[0][i] for i in left)]
                node.info = (file, number, tuple(components[i] for i in left), element)
        if dropped:
            current[:] = [n for n in current if n not in dropped]
    return out


def _fits(producer: Instr, src: tuple[Value, ...], uses: Counter[Value], homes: dict[Instr, int], out: Outputs) -> bool:
    """Whether ``src`` is all that ``producer`` makes, and nobody else reads it."""
    if producer not in homes or producer in out or not _may_write_output(producer):
        return False
    return len(src) == len(producer.lanes) and set(src) == set(producer.lanes) and all(uses[v] == 1 for v in src)


def _may_write_output(instr: Instr) -> bool:
    return instr.op not in ("phi", "sincos", "udivrem") and instr.op not in DOUBLE_OPS and instr.op not in EFFECTS and not (
        instr.components is not None and STATUS in instr.components
    ) and not (
        instr.op in COMPONENTWISE and len(instr.srcs) > 0 and _mixed(instr)
    )


def _mixed(instr: Instr) -> bool:
    """Whether the instruction might yet be split; before that its results cannot be redirected."""
    if len(instr.lanes) == 1:
        return False
    return any(len({_home(v) for v in src}) > 1 for src in instr.srcs)


def _home(value: Value) -> object:
    if isinstance(value, Lane):
        return value.instr
    return value.register if isinstance(value, Fixed) else "immediate"


def bindings_need_flag(bindings: list[Any], model: int) -> bool:
    return model < 50 and any(b.type.kind.family in ("raw", "structured") for b in bindings)


def _flags(
    instructions: list[Instr], shader: Shader, raw_in_4: bool, model: int, optimise: bool
) -> tuple[GlobalFlags, FeatureFlags]:
    flags = GlobalFlags.REFACTORING_ALLOWED if optimise else GlobalFlags.SKIP_OPTIMIZATION
    features = FeatureFlags.NONE
    if any(i.op in DOUBLE_OPS for i in instructions):
        flags |= GlobalFlags.DOUBLE_PRECISION
        features |= FeatureFlags.DOUBLES
    if any(i.op in _EXTENDED_DOUBLES for i in instructions):
        flags |= GlobalFlags.DOUBLE_EXTENSIONS_11_1
        features |= FeatureFlags.DOUBLE_EXTENSIONS_11_1
    if any(i.op == "msad" for i in instructions):
        flags |= GlobalFlags.SHADER_EXTENSIONS_11_1
        features |= FeatureFlags.SHADER_EXTENSIONS_11_1
    if shader.early_depth_stencil:
        flags |= GlobalFlags.FORCE_EARLY_DEPTH_STENCIL
    if model < 50 and (raw_in_4 or shader.stage == "c"):
        flags |= GlobalFlags.RAW_AND_STRUCTURED_BUFFERS
        features |= FeatureFlags.COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_4_X
    elements = [*shader.inputs, *shader.outputs, *shader.patch_constants]
    if any(e.type.base in MIN_PRECISION for e in elements):
        flags |= GlobalFlags.MIN_PRECISION
        features |= FeatureFlags.MINIMUM_PRECISION
    if any(e.register_type is RegisterType.OUTPUT_STENCIL_REF for e in elements):
        features |= FeatureFlags.STENCIL_REF
    return flags, features
