"""From semantics to registers: the signatures of an entry point.

Owns the rules by which parameters become signature elements, which system values mean what in which stage, and the
packing of elements into registers.  Both sides of a stage boundary pack the same list the same way, so they agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from wddm.dxbc.opcodes import Interpolation, MinPrecision, ProgramType, RegisterType, SystemValue, TessDomain
from wddm.dxbc.signature import NO_REGISTER, ComponentType, D3DName, SignatureElement, semantic_system_value

from .diagnostics import Position
from .types import Array, Numeric, Struct, Type, lane_count

__all__ = ["Element", "collect", "pack", "split_semantic"]

_STAGE = {
    "v": ProgramType.VERTEX, "p": ProgramType.PIXEL, "g": ProgramType.GEOMETRY, "h": ProgramType.HULL,
    "d": ProgramType.DOMAIN, "c": ProgramType.COMPUTE,
}  # fmt: skip

_PRECISION = {
    "min16float": MinPrecision.FLOAT16, "min10float": MinPrecision.FLOAT2_8, "min16int": MinPrecision.SINT16,
    "min12int": MinPrecision.SINT16, "min16uint": MinPrecision.UINT16,
}  # fmt: skip

# Semantic → stages in which it is a register of its own, read or written without a signature register.
_SPECIAL_INPUTS: dict[tuple[str, str], tuple[RegisterType, int, str]] = {
    ("SV_DISPATCHTHREADID", "c"): (RegisterType.INPUT_THREAD_ID, 3, "u"),
    ("SV_GROUPID", "c"): (RegisterType.INPUT_THREAD_GROUP_ID, 3, "u"),
    ("SV_GROUPTHREADID", "c"): (RegisterType.INPUT_THREAD_ID_IN_GROUP, 3, "u"),
    ("SV_GROUPINDEX", "c"): (RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED, 1, "u"),
    ("SV_COVERAGE", "p"): (RegisterType.INPUT_COVERAGE_MASK, 1, "u"),
    ("SV_PRIMITIVEID", "g"): (RegisterType.INPUT_PRIMITIVEID, 1, "u"),
    ("SV_PRIMITIVEID", "h"): (RegisterType.INPUT_PRIMITIVEID, 1, "u"),
    ("SV_PRIMITIVEID", "d"): (RegisterType.INPUT_PRIMITIVEID, 1, "u"),
    ("SV_GSINSTANCEID", "g"): (RegisterType.INPUT_GS_INSTANCE_ID, 1, "u"),
    ("SV_OUTPUTCONTROLPOINTID", "h"): (RegisterType.OUTPUT_CONTROL_POINT_ID, 1, "u"),
    ("SV_DOMAINLOCATION", "d"): (RegisterType.INPUT_DOMAIN_POINT, 3, "f"),
}
_SPECIAL_OUTPUTS = {
    "SV_DEPTH": (RegisterType.OUTPUT_DEPTH, "f"),
    "SV_DEPTHGREATEREQUAL": (RegisterType.OUTPUT_DEPTH_GREATER_EQUAL, "f"),
    "SV_DEPTHLESSEQUAL": (RegisterType.OUTPUT_DEPTH_LESS_EQUAL, "f"),
    "SV_COVERAGE": (RegisterType.OUTPUT_COVERAGE_MASK, "u"),
    "SV_STENCILREF": (RegisterType.OUTPUT_STENCIL_REF, "u"),
}
_PIXEL_NAMES = {"COLOR": "SV_Target", "DEPTH": "SV_Depth"}

# System values: components allowed and kind.
_SHAPES = {
    "SV_POSITION": (4, 4, "f"), "SV_VERTEXID": (1, 1, "u"), "SV_INSTANCEID": (1, 1, "u"), "SV_PRIMITIVEID": (1, 1, "u"),
    "SV_ISFRONTFACE": (1, 1, "b"), "SV_SAMPLEINDEX": (1, 1, "u"), "SV_RENDERTARGETARRAYINDEX": (1, 1, "u"),
    "SV_VIEWPORTARRAYINDEX": (1, 1, "u"), "SV_CLIPDISTANCE": (1, 4, "f"), "SV_CULLDISTANCE": (1, 4, "f"),
    "SV_TARGET": (1, 4, "fiu"), "SV_DEPTH": (1, 1, "f"), "SV_DEPTHGREATEREQUAL": (1, 1, "f"),
    "SV_DEPTHLESSEQUAL": (1, 1, "f"), "SV_COVERAGE": (1, 1, "u"), "SV_STENCILREF": (1, 1, "u"),
    "SV_DISPATCHTHREADID": (1, 3, "u"), "SV_GROUPID": (1, 3, "u"), "SV_GROUPTHREADID": (1, 3, "u"),
    "SV_GROUPINDEX": (1, 1, "u"), "SV_GSINSTANCEID": (1, 1, "u"), "SV_OUTPUTCONTROLPOINTID": (1, 1, "u"),
    "SV_DOMAINLOCATION": (2, 3, "f"), "SV_TESSFACTOR": (1, 1, "f"), "SV_INSIDETESSFACTOR": (1, 1, "f"),
}  # fmt: skip

_GENERATED = frozenset({"SV_PRIMITIVEID", "SV_ISFRONTFACE", "SV_SAMPLEINDEX"})
"""Values that the rasteriser can make: packed last, so that they do not move what the stage before writes."""


@dataclass(eq=False, slots=True)
class Element:
    """One semantic and the lanes of the parameter it carries.  ``start`` is the first component in the register."""

    name: str
    index: int
    type: Numeric
    lanes: tuple[int, ...]
    count: int
    interpolation: Interpolation
    position: Position
    system_value: D3DName = D3DName.UNDEFINED
    register_type: RegisterType | None = None
    register: int = NO_REGISTER
    start: int = 0
    stream: int = 0
    rw_mask: int = 0

    @property
    def mask(self) -> int:
        return ((1 << self.count) - 1) << self.start

    @property
    def upper(self) -> str:
        return self.name.upper()

    @property
    def signed(self) -> bool:
        return self.type.kind == "i"

    def token_value(self) -> SystemValue:
        return self.signature().token_system_value

    def signature(self) -> SignatureElement:
        kind = self.type.kind
        component = {"f": ComponentType.FLOAT32, "i": ComponentType.SINT32}.get(kind, ComponentType.UINT32)
        return SignatureElement(
            self.name, self.index, self.system_value, component, self.register, self.mask if self.register_type is None
            or self.register != NO_REGISTER else (1 << self.count) - 1, self.rw_mask, self.stream,
            _PRECISION.get(self.type.base, MinPrecision.DEFAULT),
        )  # fmt: skip


def split_semantic(text: str) -> tuple[str, int]:
    """``TEXCOORD12`` → (``TEXCOORD``, 12); without digits the index is 0."""
    found = re.match(r"(.*?)(\d{0,6})\Z", text)
    assert found is not None
    name, digits = found.groups()
    return (name or text, int(digits)) if digits and name else (text, 0)


Report = Callable[[int, str, Position], None]


def collect(
    type_: Type, semantic: str, modifiers: frozenset[str], position: Position, what: str, report: Report,
    lane: int = 0,
) -> list[Element]:
    """Signature elements of a parameter, in order.  Reports what has no semantic or cannot be an element."""
    out: list[Element] = []
    if isinstance(type_, Struct):
        for member in type_.fields:
            words = member.modifiers
            if not words & _MODE_WORDS:
                words |= modifiers & _MODE_WORDS
            inner = member.semantic or (semantic if semantic and len(type_.fields) == 1 else "")
            out += collect(member.type, inner, words, member.position, f"{what}.{member.name}", report, lane + member.lane)
        return out
    if not semantic:
        report(3502, f"{what}: missing semantics", position)
        return out
    name, index = split_semantic(semantic)
    vectors: list[tuple[Numeric, tuple[int, ...]]] = []
    if not _vectors(type_, lane, vectors):
        report(3089, f"{what}: '{type_}' cannot carry a semantic", position)
        return out
    for offset, (vector_type, lanes) in enumerate(vectors):
        if vector_type.kind == "d":
            report(3089, f"{what}: doubles cannot be shader inputs or outputs", position)
            return out
        mode = _interpolation(modifiers, vector_type)
        out.append(Element(name, index + offset, vector_type, lanes, len(lanes), mode, position))
    return out


_MODE_WORDS = frozenset({"nointerpolation", "noperspective", "linear", "centroid", "sample"})


def _vectors(type_: Type, lane: int, out: list[tuple[Numeric, tuple[int, ...]]]) -> bool:
    if isinstance(type_, Array):
        step = lane_count(type_.element)
        return all(_vectors(type_.element, lane + i * step, out) for i in range(type_.size)) if type_.size <= 128 else False
    if not isinstance(type_, Numeric):
        return False
    if type_.shape != "matrix":
        out.append((type_, tuple(range(lane, lane + type_.count))))
    elif type_.row_major:
        for row in range(type_.rows):
            start = lane + row * type_.columns
            out.append((type_.with_count(type_.columns), tuple(range(start, start + type_.columns))))
    else:
        for column in range(type_.columns):
            lanes = tuple(lane + row * type_.columns + column for row in range(type_.rows))
            out.append((type_.with_count(type_.rows), lanes))
    return True


def _interpolation(words: frozenset[str], type_: Numeric) -> Interpolation:
    if "nointerpolation" in words or type_.kind in "iub":
        return Interpolation.CONSTANT
    if "sample" in words:
        return Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE if "noperspective" in words else Interpolation.LINEAR_SAMPLE
    if "centroid" in words:
        return Interpolation.LINEAR_NOPERSPECTIVE_CENTROID if "noperspective" in words else Interpolation.LINEAR_CENTROID
    return Interpolation.LINEAR_NOPERSPECTIVE if "noperspective" in words else Interpolation.LINEAR


def assign_system_values(
    elements: list[Element], stage: str, *, output: bool, profile: str, report: Report, patch_constant: bool = False,
    domain: TessDomain = TessDomain.UNDEFINED,
) -> None:
    """Find the hardware meaning of each semantic; report those that mean nothing in this stage."""
    direction = "output" if output else "input"
    seen: dict[tuple[str, int, int], Element] = {}
    for element in elements:
        if stage == "p" and output and element.upper in _PIXEL_NAMES:
            element.name = _PIXEL_NAMES[element.upper]
        name = element.upper
        key = (name, element.index, element.stream)
        if key in seen:
            report(3095, f"'{element.name}{element.index or ''}': semantic is used more than once", element.position)
        seen[key] = element
        if name.startswith("SV_"):
            element.system_value = semantic_system_value(
                name, element.index, _STAGE[stage], output=output, patch_constant=patch_constant, domain=domain
            )
            special = _SPECIAL_INPUTS.get((name, stage)) if not output else None
            if special is not None:
                element.register_type = special[0]
            elif output and stage == "p" and name in _SPECIAL_OUTPUTS:
                element.register_type = _SPECIAL_OUTPUTS[name][0]
            elif element.system_value is D3DName.UNDEFINED and not _ordinary(name, stage, output, patch_constant):
                report(4502, f"invalid {profile} {direction} semantic '{element.name}'", element.position)
                continue
            shape = _SHAPES.get(name)
            meaningful = element.system_value is not D3DName.UNDEFINED or element.register_type is not None
            if shape is not None and (meaningful or name == "SV_TARGET"):
                low, high, kinds = shape
                kind = element.type.kind
                kind_fits = kind in kinds or (kinds in ("u", "b") and kind in "iub")
                if not low <= element.count <= high or not kind_fits:
                    report(3093, f"'{element.name}': '{element.type}' is the wrong type for this system value", element.position)
        elif stage == "p" and output:
            report(4502, f"invalid {profile} output semantic '{element.name}'", element.position)
        elif stage == "c":
            report(4502, f"invalid {profile} {direction} semantic '{element.name}'", element.position)
        if stage == "p" and not output and element.system_value is D3DName.POSITION:
            modes = {Interpolation.LINEAR: Interpolation.LINEAR_NOPERSPECTIVE,
                     Interpolation.LINEAR_CENTROID: Interpolation.LINEAR_NOPERSPECTIVE_CENTROID,
                     Interpolation.LINEAR_SAMPLE: Interpolation.LINEAR_NOPERSPECTIVE_SAMPLE}  # fmt: skip
            element.interpolation = modes.get(element.interpolation, element.interpolation)


def _ordinary(name: str, stage: str, output: bool, patch_constant: bool) -> bool:
    """Whether an SV_ name without meaning here is still fine: it is carried like any other semantic."""
    if name == "SV_TARGET":
        return stage == "p" and output
    if stage in "cp" and (output or stage == "c"):
        return False
    carried = {"SV_POSITION", "SV_CLIPDISTANCE", "SV_CULLDISTANCE", "SV_INSTANCEID", "SV_VERTEXID", "SV_PRIMITIVEID",
               "SV_RENDERTARGETARRAYINDEX", "SV_VIEWPORTARRAYINDEX"}  # fmt: skip
    return name in carried and not (patch_constant and output)


def pack(elements: list[Element], stage: str, *, output: bool, profile: str, report: Report) -> None:
    """Give every element its register and first component."""
    limit = 32 if stage != "v" or output or profile.endswith(("5_0", "4_1")) else 16
    if stage == "p" and output:
        for element in elements:
            if element.register_type is None:
                element.register = element.index
                if element.index > 7:
                    report(4509, f"'{element.name}{element.index}': there are 8 render targets", element.position)
        return
    if stage == "v" and not output:
        next_register = 0
        for element in elements:
            if element.register_type is None:
                element.register = next_register
                next_register += 1
        _check_limit(next_register, limit, elements, profile, output, report)
        return
    rows: dict[int, list[tuple[object, int]]] = {}  # stream → per register (key, components taken)
    ordered = [e for e in elements if e.upper not in _GENERATED] + [e for e in elements if e.upper in _GENERATED]
    used = 0
    for element in ordered:
        if element.register_type is not None:
            continue
        taken = rows.setdefault(element.stream, [])
        key = _packing_key(element)
        for register in range(len(taken) + 1):
            if register == len(taken):
                taken.append((key, 0))
            row_key, mask = taken[register]
            if row_key != key:
                continue
            start = next((s for s in range(5 - element.count) if not mask & (((1 << element.count) - 1) << s)), -1)
            if start >= 0 and (mask == 0 or key[1] != "alone"):
                element.register, element.start = register, start
                taken[register] = (row_key, mask | element.mask)
                break
        used = max(used, len(taken))
    _check_limit(used, limit, elements, profile, output, report)


def _packing_key(element: Element) -> tuple[object, str]:
    """Elements share a register only when their keys are equal; ``alone`` never share."""
    value = element.system_value
    name = element.upper
    if name in ("SV_CLIPDISTANCE", "SV_CULLDISTANCE"):
        return (element.interpolation, "distance")
    if value is not D3DName.UNDEFINED or name.startswith("SV_"):
        return (name, "alone")
    mode = element.interpolation
    if mode is Interpolation.UNDEFINED:
        mode = Interpolation.LINEAR
    return (mode, "")


def _check_limit(used: int, limit: int, elements: list[Element], profile: str, output: bool, report: Report) -> None:
    if used > limit:
        what = "output" if output else "input"
        report(4506, f"{profile} {what} limit ({limit}) exceeded, shader uses {used} {what}s", elements[-1].position)
