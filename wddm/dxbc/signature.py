"""Signature chunks: which semantics a stage reads and writes, in which registers.

Owns ISGN, OSGN, PCSG (24-byte elements), OSG5 (with stream) and ISG1, OSG1, PSG1 (with stream and min precision).
The runtime links stages and input layouts with them; the driver gets a digest without the names.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from enum import IntEnum

from .errors import DxbcError
from .opcodes import MinPrecision, ProgramType, SystemValue, TessDomain

__all__ = [
    "MAX_ELEMENTS",
    "NO_REGISTER",
    "ComponentType",
    "D3DName",
    "Signature",
    "SignatureElement",
    "container_system_value",
    "semantic_system_value",
]

NO_REGISTER = 0xFFFFFFFF
"""Register of an element that has none (oDepth, oMask, oStencilRef)."""

MAX_ELEMENTS = 1024
"""More than any stage can have: 4 streams of 32 registers of 4 components, and those without a register."""

_MAX_NAME = 1024
_NAME = re.compile(r"[!-9;-~]{1,1024}")  # visible ASCII but the colon


class ComponentType(IntEnum):
    UNKNOWN = 0
    UINT32 = 1
    SINT32 = 2
    FLOAT32 = 3


class D3DName(IntEnum):
    """System values as containers number them; from TARGET on they are derived from names and never stored."""

    UNDEFINED = 0
    POSITION = 1
    CLIP_DISTANCE = 2
    CULL_DISTANCE = 3
    RENDER_TARGET_ARRAY_INDEX = 4
    VIEWPORT_ARRAY_INDEX = 5
    VERTEX_ID = 6
    PRIMITIVE_ID = 7
    INSTANCE_ID = 8
    IS_FRONT_FACE = 9
    SAMPLE_INDEX = 10
    FINAL_QUAD_EDGE_TESSFACTOR = 11
    FINAL_QUAD_INSIDE_TESSFACTOR = 12
    FINAL_TRI_EDGE_TESSFACTOR = 13
    FINAL_TRI_INSIDE_TESSFACTOR = 14
    FINAL_LINE_DETAIL_TESSFACTOR = 15
    FINAL_LINE_DENSITY_TESSFACTOR = 16
    TARGET = 64
    DEPTH = 65
    COVERAGE = 66
    DEPTH_GREATER_EQUAL = 67
    DEPTH_LESS_EQUAL = 68
    STENCIL_REF = 69
    INNER_COVERAGE = 70


_DERIVED = {
    "SV_TARGET": D3DName.TARGET,
    "SV_DEPTH": D3DName.DEPTH,
    "SV_COVERAGE": D3DName.COVERAGE,
    "SV_DEPTHGREATEREQUAL": D3DName.DEPTH_GREATER_EQUAL,
    "SV_DEPTHLESSEQUAL": D3DName.DEPTH_LESS_EQUAL,
    "SV_STENCILREF": D3DName.STENCIL_REF,
    "SV_INNERCOVERAGE": D3DName.INNER_COVERAGE,
}
# Tessellation factors are one container number each and one token number per edge or axis: (first, how many).
_TESSFACTORS = {
    D3DName.FINAL_QUAD_EDGE_TESSFACTOR: (SystemValue.FINAL_QUAD_U_EQ_0_EDGE_TESSFACTOR, 4),
    D3DName.FINAL_QUAD_INSIDE_TESSFACTOR: (SystemValue.FINAL_QUAD_U_INSIDE_TESSFACTOR, 2),
    D3DName.FINAL_TRI_EDGE_TESSFACTOR: (SystemValue.FINAL_TRI_U_EQ_0_EDGE_TESSFACTOR, 3),
    D3DName.FINAL_TRI_INSIDE_TESSFACTOR: (SystemValue.FINAL_TRI_INSIDE_TESSFACTOR, 1),
    D3DName.FINAL_LINE_DETAIL_TESSFACTOR: (SystemValue.FINAL_LINE_DETAIL_TESSFACTOR, 1),
    D3DName.FINAL_LINE_DENSITY_TESSFACTOR: (SystemValue.FINAL_LINE_DENSITY_TESSFACTOR, 1),
}
_STORED = {int(name): name for name in D3DName if name < D3DName.TARGET}
_TYPES = tuple(ComponentType)
_PRECISIONS = {int(p): p for p in MinPrecision}


@dataclass(slots=True)
class SignatureElement:
    """One semantic.  Masks: bit 0 = x.

    ``rw_mask``: of an input, the components really read; of an output, the components NEVER written.
    """

    semantic_name: str
    semantic_index: int = 0
    system_value: D3DName = D3DName.UNDEFINED
    component_type: ComponentType = ComponentType.FLOAT32
    register: int = 0
    mask: int = 0xF
    rw_mask: int = 0
    stream: int = 0
    min_precision: MinPrecision = MinPrecision.DEFAULT

    @property
    def semantic(self) -> str:
        """Name and index together, e.g. ``TEXCOORD1``."""
        return f"{self.semantic_name}{self.semantic_index}"

    @property
    def reported_system_value(self) -> D3DName:
        """What reflection reports: the stored value, or the one that the name of an output implies."""
        return self.system_value or _DERIVED.get(self.semantic_name.upper(), D3DName.UNDEFINED)

    @property
    def token_system_value(self) -> SystemValue:
        """The value in token numbering, as the DDI's signature entries carry it (one number per edge factor)."""
        if self.system_value in _TESSFACTORS:
            first, count = _TESSFACTORS[self.system_value]
            return SystemValue(first + min(self.semantic_index, count - 1))
        return SystemValue(self.system_value if self.system_value < 64 else 0)


# Semantic → stages and directions where it is a system value: "v" vertex shader, "g" geometry, "h" hull, "d" domain,
# "p" pixel, each with i(nput) or o(utput).  Elsewhere it is an ordinary semantic.
_SEMANTICS = {
    "SV_POSITION": (D3DName.POSITION, "vo hi ho di do gi go pi"),
    "SV_CLIPDISTANCE": (D3DName.CLIP_DISTANCE, "vo hi ho di do gi go pi"),
    "SV_CULLDISTANCE": (D3DName.CULL_DISTANCE, "vo hi ho di do gi go pi"),
    "SV_RENDERTARGETARRAYINDEX": (D3DName.RENDER_TARGET_ARRAY_INDEX, "vo do go pi"),
    "SV_VIEWPORTARRAYINDEX": (D3DName.VIEWPORT_ARRAY_INDEX, "vo do go pi"),
    "SV_VERTEXID": (D3DName.VERTEX_ID, "vi"),
    "SV_INSTANCEID": (D3DName.INSTANCE_ID, "vi"),
    "SV_PRIMITIVEID": (D3DName.PRIMITIVE_ID, "hi di gi go pi"),
    "SV_ISFRONTFACE": (D3DName.IS_FRONT_FACE, "go pi"),
    "SV_SAMPLEINDEX": (D3DName.SAMPLE_INDEX, "pi"),
}


def semantic_system_value(
    name: str,
    index: int,
    type: ProgramType,
    *,
    output: bool,
    patch_constant: bool = False,
    domain: TessDomain = TessDomain.UNDEFINED,
) -> D3DName:
    """The system value that containers store for a semantic; UNDEFINED where it means nothing to the hardware.

    Tessellation factors are system values in patch-constant signatures only, and need the domain.
    """
    name = name.upper()
    if patch_constant:
        if name == "SV_TESSFACTOR":
            if domain is TessDomain.ISOLINE:
                # [U] the factor with index 0 is the density, the one with index 1 the detail.
                return D3DName.FINAL_LINE_DETAIL_TESSFACTOR if index else D3DName.FINAL_LINE_DENSITY_TESSFACTOR
            return {
                TessDomain.TRI: D3DName.FINAL_TRI_EDGE_TESSFACTOR,
                TessDomain.QUAD: D3DName.FINAL_QUAD_EDGE_TESSFACTOR,
            }.get(domain, D3DName.UNDEFINED)
        if name == "SV_INSIDETESSFACTOR":
            return {
                TessDomain.TRI: D3DName.FINAL_TRI_INSIDE_TESSFACTOR,
                TessDomain.QUAD: D3DName.FINAL_QUAD_INSIDE_TESSFACTOR,
            }.get(domain, D3DName.UNDEFINED)
        return D3DName.UNDEFINED
    value, places = _SEMANTICS.get(name, (D3DName.UNDEFINED, ""))
    return value if type.prefix[0] + ("o" if output else "i") in places else D3DName.UNDEFINED


def container_system_value(value: SystemValue) -> D3DName:
    """The container number of a name token."""
    for name, (first, count) in _TESSFACTORS.items():
        if first <= value < first + count:
            return name
    return D3DName(value)


# Chunk tag → bytes per element, whether a stream stands in front, whether a min precision stands behind.
_LAYOUTS = {
    "ISGN": (24, False, False),
    "OSGN": (24, False, False),
    "PCSG": (24, False, False),
    "OSG5": (28, True, False),
    "ISG1": (32, True, True),
    "OSG1": (32, True, True),
    "PSG1": (32, True, True),
}


@dataclass(slots=True)
class Signature:
    """The elements of a signature chunk, in the order they are stored."""

    elements: list[SignatureElement] = field(default_factory=list)

    @classmethod
    def parse(cls, data: bytes, tag: str) -> Signature:
        """Read a chunk payload; ``tag`` (``"ISGN"`` …) decides the layout.

        :raises DxbcError: with offsets from the start of the payload.
        """
        size, streamed, precise = _LAYOUTS[tag]
        if len(data) < 8:
            raise DxbcError(f"{tag} of {len(data)} bytes has no header", 0)
        count, start = struct.unpack_from("<2I", data)
        if count > MAX_ELEMENTS:
            raise DxbcError(f"{tag} has {count} elements, at most {MAX_ELEMENTS} make sense", 0)
        if start % 4 or start < 8 or start + count * size > len(data):
            raise DxbcError(f"{tag}: {count} elements at byte {start} leave its {len(data)} bytes", 4)
        elements = []
        for i in range(count):
            at = start + i * size
            fields = struct.unpack_from(f"<{size // 4}I", data, at)
            try:
                elements.append(_read_element(fields, data, streamed, precise))
            except DxbcError as error:
                raise DxbcError(f"{tag} element {i}: {error.message}", at) from None
        return cls(elements)

    def to_bytes(self, tag: str) -> bytes:
        """The chunk payload; equal names share one string and the end is padded with 0xAB, as compilers do.

        :raises DxbcError: a value that the layout of ``tag`` cannot hold.
        """
        size, streamed, precise = _LAYOUTS[tag]
        if len(self.elements) > MAX_ELEMENTS:
            raise DxbcError(f"{tag} has {len(self.elements)} elements, at most {MAX_ELEMENTS} make sense")
        strings = bytearray()
        places: dict[str, int] = {}
        records = bytearray(struct.pack("<2I", len(self.elements), 8))
        base = 8 + size * len(self.elements)
        for i, element in enumerate(self.elements):
            name = element.semantic_name
            if name not in places:
                if not _NAME.fullmatch(name):
                    raise DxbcError(f"{tag} element {i}: {name!r} cannot be a semantic name")
                places[name] = base + len(strings)
                strings += name.encode("ascii") + b"\0"
            try:
                records += _write_element(element, places[name], streamed, precise)
            except DxbcError as error:
                raise DxbcError(f"{tag} element {i} ({element.semantic}): {error.message}") from None
        strings += b"\xab" * (-(base + len(strings)) % 4)
        return bytes(records + strings)

    def find(self, name: str, index: int = 0, stream: int = 0) -> SignatureElement | None:
        """The element of a semantic; names compare without case."""
        name = name.upper()
        for element in self.elements:
            if (element.semantic_index, element.stream) == (index, stream) and element.semantic_name.upper() == name:
                return element
        return None


def _read_element(fields: tuple[int, ...], data: bytes, streamed: bool, precise: bool) -> SignatureElement:
    stream = fields[0] if streamed else 0
    name_at, index, value, type_, register, masks = fields[streamed : streamed + 6]
    precision = _PRECISIONS.get(fields[-1] if precise else 0)
    if stream > 3:
        raise DxbcError(f"stream {stream} is none of 0 to 3")
    end = data.find(b"\0", name_at, name_at + _MAX_NAME + 1) if name_at < len(data) else -1
    if end <= name_at:
        raise DxbcError(f"no semantic name at byte {name_at}")
    name = data[name_at:end].decode("latin-1")
    if not _NAME.fullmatch(name):
        raise DxbcError(f"{name!r} cannot be a semantic name")
    if value not in _STORED:
        raise DxbcError(f"system value {value} does not exist")
    if type_ >= len(_TYPES):
        raise DxbcError(f"component type {type_} does not exist")
    if masks & ~0x0F0F:
        raise DxbcError(f"masks 0x{masks:08x} have more than four components")
    if register > 31 and register != NO_REGISTER:
        raise DxbcError(f"register {register} is beyond 31")
    if precision is None:
        raise DxbcError(f"min precision {fields[-1]} does not exist")
    return SignatureElement(
        name, index, _STORED[value], _TYPES[type_], register, masks & 15, masks >> 8, stream, precision
    )


def _write_element(element: SignatureElement, name_at: int, streamed: bool, precise: bool) -> bytes:
    if not streamed and element.stream:
        raise DxbcError("a stream number needs OSG5 or OSG1")
    if not precise and element.min_precision:
        raise DxbcError("a min precision needs ISG1, OSG1 or PSG1")
    if element.system_value >= D3DName.TARGET:
        raise DxbcError(f"{element.system_value.name} is never stored")
    if not (0 <= element.mask <= 15 and 0 <= element.rw_mask <= 15 and 0 <= element.stream <= 3):
        raise DxbcError("masks have four bits, streams are 0 to 3")
    if not (0 <= element.register <= 31 or element.register == NO_REGISTER) or not 0 <= element.semantic_index < 2**32:
        raise DxbcError(f"register {element.register} or semantic index {element.semantic_index} cannot be stored")
    fields = [
        name_at, element.semantic_index, element.system_value, element.component_type, element.register,
        element.mask | element.rw_mask << 8,
    ]
    if streamed:
        fields.insert(0, element.stream)
    if precise:
        fields.append(element.min_precision)
    return struct.pack(f"<{len(fields)}I", *fields)
