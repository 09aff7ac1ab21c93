"""The RDEF chunk: names, types and places of what a shader binds.

Owns reading and writing of resource definitions, in the shader model 4, 5.0 and 5.1 layouts.  A compiler writes
them, reflection reads them; a driver never sees them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from .errors import DxbcError
from .opcodes import ProgramType

__all__ = [
    "BaseType",
    "BindingFlags",
    "BufferKind",
    "ConstantBuffer",
    "InputType",
    "Reflection",
    "ResourceBinding",
    "ResourceReturn",
    "ShaderType",
    "TypeClass",
    "TypeMember",
    "Variable",
    "VariableFlags",
    "ViewDimension",
]

_NONE = 0xFFFFFFFF
_MAX_NAME = 4096
_MAX_DEPTH = 32

_PROGRAM_TYPES = {
    ProgramType.PIXEL: 0xFFFF,
    ProgramType.VERTEX: 0xFFFE,
    ProgramType.GEOMETRY: 0x4753,
    ProgramType.HULL: 0x4853,
    ProgramType.DOMAIN: 0x4453,
    ProgramType.COMPUTE: 0x4353,
}
_TAG_5_0 = int.from_bytes(b"RD11", "little")
_TAG_5_1 = 0x25441313


class InputType(IntEnum):
    CBUFFER = 0
    TBUFFER = 1
    TEXTURE = 2
    SAMPLER = 3
    UAV_RWTYPED = 4
    STRUCTURED = 5
    UAV_RWSTRUCTURED = 6
    BYTEADDRESS = 7
    UAV_RWBYTEADDRESS = 8
    UAV_APPEND_STRUCTURED = 9
    UAV_CONSUME_STRUCTURED = 10
    UAV_RWSTRUCTURED_WITH_COUNTER = 11


class ResourceReturn(IntEnum):
    NONE = 0
    UNORM = 1
    SNORM = 2
    SINT = 3
    UINT = 4
    FLOAT = 5
    MIXED = 6
    DOUBLE = 7


class ViewDimension(IntEnum):
    UNKNOWN = 0
    BUFFER = 1
    TEXTURE1D = 2
    TEXTURE1DARRAY = 3
    TEXTURE2D = 4
    TEXTURE2DARRAY = 5
    TEXTURE2DMS = 6
    TEXTURE2DMSARRAY = 7
    TEXTURE3D = 8
    TEXTURECUBE = 9
    TEXTURECUBEARRAY = 10
    BUFFEREX = 11


class BindingFlags(IntFlag):
    NONE = 0
    USERPACKED = 1
    COMPARISON_SAMPLER = 2
    TEXTURE_COMPONENT_0 = 4
    TEXTURE_COMPONENT_1 = 8
    UNUSED = 16


class BufferKind(IntEnum):
    CBUFFER = 0
    TBUFFER = 1
    INTERFACE_POINTERS = 2
    RESOURCE_BIND_INFO = 3
    """The element layout of a structured buffer."""


class VariableFlags(IntFlag):
    NONE = 0
    USERPACKED = 1
    USED = 2
    INTERFACE_POINTER = 4
    INTERFACE_PARAMETER = 8


class TypeClass(IntEnum):
    SCALAR = 0
    VECTOR = 1
    MATRIX_ROWS = 2
    MATRIX_COLUMNS = 3
    OBJECT = 4
    STRUCT = 5
    INTERFACE_CLASS = 6
    INTERFACE_POINTER = 7


class BaseType(IntEnum):
    """Base type of a type, as D3D_SHADER_VARIABLE_TYPE numbers them."""

    VOID = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
    STRING = 4
    TEXTURE = 5
    TEXTURE1D = 6
    TEXTURE2D = 7
    TEXTURE3D = 8
    TEXTURECUBE = 9
    SAMPLER = 10
    SAMPLER1D = 11
    SAMPLER2D = 12
    SAMPLER3D = 13
    SAMPLERCUBE = 14
    PIXELSHADER = 15
    VERTEXSHADER = 16
    PIXELFRAGMENT = 17
    VERTEXFRAGMENT = 18
    UINT = 19
    UINT8 = 20
    GEOMETRYSHADER = 21
    RASTERIZER = 22
    DEPTHSTENCIL = 23
    BLEND = 24
    BUFFER = 25
    CBUFFER = 26
    TBUFFER = 27
    TEXTURE1DARRAY = 28
    TEXTURE2DARRAY = 29
    RENDERTARGETVIEW = 30
    DEPTHSTENCILVIEW = 31
    TEXTURE2DMS = 32
    TEXTURE2DMSARRAY = 33
    TEXTURECUBEARRAY = 34
    HULLSHADER = 35
    DOMAINSHADER = 36
    INTERFACE_POINTER = 37
    COMPUTESHADER = 38
    DOUBLE = 39
    RWTEXTURE1D = 40
    RWTEXTURE1DARRAY = 41
    RWTEXTURE2D = 42
    RWTEXTURE2DARRAY = 43
    RWTEXTURE3D = 44
    RWBUFFER = 45
    BYTEADDRESS_BUFFER = 46
    RWBYTEADDRESS_BUFFER = 47
    STRUCTURED_BUFFER = 48
    RWSTRUCTURED_BUFFER = 49
    APPEND_STRUCTURED_BUFFER = 50
    CONSUME_STRUCTURED_BUFFER = 51
    MIN8FLOAT = 57
    MIN10FLOAT = 58
    MIN16FLOAT = 59
    MIN12INT = 60
    MIN16INT = 61
    MIN16UINT = 62


@dataclass(slots=True)
class TypeMember:
    """A member of a structure; ``offset`` in bytes from its start."""

    name: str
    type: ShaderType
    offset: int = 0


@dataclass(slots=True)
class ShaderType:
    """A type; ``elements`` is 0 for what is no array."""

    type_class: TypeClass = TypeClass.SCALAR
    base: BaseType = BaseType.FLOAT
    rows: int = 1
    columns: int = 1
    elements: int = 0
    members: list[TypeMember] = field(default_factory=list)
    name: str = ""
    """Shader model 5 only."""


@dataclass(slots=True)
class Variable:
    """A variable of a constant buffer: ``start`` and ``size`` in bytes, ``default`` its ``size`` bytes or None."""

    name: str
    start: int
    size: int
    type: ShaderType
    flags: VariableFlags = VariableFlags.NONE
    default: bytes | None = None
    texture_start: int = _NONE
    texture_count: int = 0
    sampler_start: int = _NONE
    sampler_count: int = 0


@dataclass(slots=True)
class ConstantBuffer:
    """A constant buffer, or the layout of a structured buffer; ``size`` in bytes."""

    name: str
    variables: list[Variable] = field(default_factory=list)
    size: int = 0
    flags: int = 0
    kind: BufferKind = BufferKind.CBUFFER


@dataclass(slots=True)
class ResourceBinding:
    """A bound resource: ``bind_count`` registers from ``bind_point``."""

    name: str
    type: InputType
    return_type: ResourceReturn = ResourceReturn.NONE
    dimension: ViewDimension = ViewDimension.UNKNOWN
    sample_count: int = 0
    """0xFFFFFFFF where a sample count means nothing for a texture; 0 for buffers and samplers."""
    bind_point: int = 0
    bind_count: int = 1
    flags: BindingFlags = BindingFlags.NONE
    space: int = 0
    range_id: int = 0
    """``space`` and ``range_id``: shader model 5.1."""


@dataclass(slots=True)
class Reflection:
    """A whole RDEF chunk."""

    type: ProgramType
    major: int = 5
    minor: int = 0
    buffers: list[ConstantBuffer] = field(default_factory=list)
    bindings: list[ResourceBinding] = field(default_factory=list)
    flags: int = 0
    """The D3DCOMPILE flags the shader was compiled with."""
    creator: str = ""

    @classmethod
    def parse(cls, data: bytes) -> Reflection:
        """Read a chunk payload.

        :raises DxbcError: with offsets from the start of the payload; work is linear in its size.
        """
        return _Reader(data).read()

    def to_bytes(self) -> bytes:
        """The chunk payload in the layout of ``major``.``minor``.

        :raises DxbcError: a value or name that cannot be stored.
        """
        return _Writer(self).write()

    def find(self, name: str) -> ResourceBinding | None:
        """The binding of that name."""
        return next((binding for binding in self.bindings if binding.name == name), None)


class _Reader:
    """Reads records at offsets that anybody may have written: a budget keeps the work linear."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # A record is at least 12 bytes, so honest data never holds more records than this.
        self.budget = len(data) // 12 + 1
        self.types: dict[int, ShaderType | None] = {}
        self.names: dict[int, str] = {}

    def dwords(self, at: int, count: int) -> tuple[int, ...]:
        if at + 4 * count > len(self.data):
            raise DxbcError(f"RDEF: a record of {4 * count} bytes at byte {at} leaves its {len(self.data)} bytes", at)
        return struct.unpack_from(f"<{count}I", self.data, at)

    def spend(self, at: int, records: int) -> None:
        self.budget -= records
        if self.budget < 0:
            raise DxbcError("RDEF: more records than its bytes can hold", min(at, len(self.data)))

    def records(self, at: int, count: int, dwords: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        self.spend(at, count)
        for i in range(count):
            place = at + 4 * dwords * i
            yield place, self.dwords(place, dwords)

    def name(self, at: int) -> str:
        if at not in self.names:
            end = self.data.find(b"\0", at, at + _MAX_NAME + 1) if at < len(self.data) else -1
            if end < 0:
                raise DxbcError("RDEF: no terminated name here", at)
            self.names[at] = self.data[at:end].decode("latin-1")
        return self.names[at]

    def read(self) -> Reflection:
        buffers, buffers_at, bindings, bindings_at, version, flags, creator = self.dwords(0, 7)
        types = {number: type_ for type_, number in _PROGRAM_TYPES.items()}
        minor, major = version & 0xFF, version >> 8 & 0xFF
        if version >> 16 not in types or (major, minor) not in ((4, 0), (4, 1), (5, 0), (5, 1)):
            raise DxbcError(f"RDEF: version word 0x{version:08x} names no program", 16)
        if major == 5:
            tag, *sizes = self.dwords(28, 8)
            expected = (_TAG_5_1, 40) if minor == 1 else (_TAG_5_0, 32)
            if tag != expected[0] or sizes[:6] != [60, 24, expected[1], 40, 36, 12]:
                raise DxbcError("RDEF: the record sizes of its extended header are unknown", 28)
        reflection = Reflection(types[version >> 16], major, minor, flags=flags, creator=self.name(creator))
        for at, fields in self.records(bindings_at, bindings, 10 if (major, minor) == (5, 1) else 8):
            reflection.bindings.append(self.binding(at, fields))
        for at, fields in self.records(buffers_at, buffers, 6):
            reflection.buffers.append(self.buffer(at, fields, major))
        return reflection

    def binding(self, at: int, fields: tuple[int, ...]) -> ResourceBinding:
        name, type_, return_type, dimension, samples, point, count, flags = fields[:8]
        try:
            binding = ResourceBinding(
                self.name(name), InputType(type_), ResourceReturn(return_type), ViewDimension(dimension), samples,
                point, count, BindingFlags(flags & 31), *fields[8:],
            )
        except ValueError as error:
            if isinstance(error, DxbcError):
                raise
            raise DxbcError(f"RDEF binding: {error}", at) from None
        if flags & ~31:
            raise DxbcError(f"RDEF binding: flags 0x{flags:x} are unknown", at + 28)
        return binding

    def buffer(self, at: int, fields: tuple[int, ...], major: int) -> ConstantBuffer:
        name, count, variables_at, size, flags, kind = fields
        if kind not in list(BufferKind):
            raise DxbcError(f"RDEF constant buffer: kind {kind} does not exist", at + 20)
        buffer = ConstantBuffer(self.name(name), [], size, flags, BufferKind(kind))
        for place, record in self.records(variables_at, count, 10 if major == 5 else 6):
            name, start, length, bits, type_at, default = record[:6]
            if bits & ~15:
                raise DxbcError(f"RDEF variable: flags 0x{bits:x} are unknown", place + 12)
            if default and default + length > len(self.data):
                raise DxbcError(f"RDEF variable: default of {length} bytes at byte {default} is not there", place + 20)
            self.spend(place, length // 12 if default else 0)
            buffer.variables.append(
                Variable(
                    self.name(name), start, length, self.type(type_at, major), VariableFlags(bits),
                    self.data[default : default + length] if default else None, *record[6:],
                )
            )
        return buffer

    def type(self, at: int, major: int, depth: int = 0) -> ShaderType:
        """The type record at ``at``; records are shared, so each is read once."""
        known = self.types.get(at)
        if known is not None:
            return known
        if at in self.types or depth == _MAX_DEPTH:
            raise DxbcError(f"RDEF: types contain themselves or nest deeper than {_MAX_DEPTH}", at)
        self.types[at] = None
        ((_, fields),) = self.records(at, 1, 9 if major == 5 else 4)
        class_, base = fields[0] & 0xFFFF, fields[0] >> 16
        try:
            type_ = ShaderType(
                TypeClass(class_), BaseType(base), fields[1] & 0xFFFF, fields[1] >> 16, fields[2] & 0xFFFF
            )
        except ValueError as error:
            raise DxbcError(f"RDEF type: {error}", at) from None
        # Only 16 bits of the member offset count.
        for place, (name, member_at, offset) in self.records(fields[3] & 0xFFFF, fields[2] >> 16, 3):
            if member_at == at:
                raise DxbcError("RDEF: a type contains itself", place)
            type_.members.append(TypeMember(self.name(name), self.type(member_at, major, depth + 1), offset))
        if major == 5:
            type_.name = self.name(fields[8]) if fields[8] else ""
        self.types[at] = type_
        return type_


class _Writer:
    """Lays out header, bindings, buffers, variables, types and members, then default values, then names."""

    def __init__(self, reflection: Reflection) -> None:
        self.reflection = reflection
        self.sm5 = reflection.major == 5
        self.data = bytearray()
        self.types: dict[int, int] = {}  # id of a type object → its record
        self.shared: dict[str, int] = {}  # description of a type → its record
        self.fixups: list[tuple[int, str]] = []  # (where an offset goes, the name it points to)
        self.defaults: list[tuple[int, bytes]] = []  # (where an offset goes, the bytes it points to)

    def dwords(self, *values: int) -> int:
        at = len(self.data)
        if not all(0 <= value <= 0xFFFFFFFF for value in values):
            raise DxbcError(f"RDEF: one of {values} does not fit a dword")
        self.data += struct.pack(f"<{len(values)}I", *values)
        return at

    def patch(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.data, at, value)

    def write(self) -> bytes:
        r = self.reflection
        if (r.major, r.minor) not in ((4, 0), (4, 1), (5, 0), (5, 1)):
            raise DxbcError(f"RDEF: shader model {r.major}.{r.minor} is none of 4.0, 4.1, 5.0, 5.1")
        version = _PROGRAM_TYPES[r.type] << 16 | r.major << 8 | r.minor
        self.dwords(len(r.buffers), 0, len(r.bindings), 0, version, r.flags, 0)
        self.fixups.append((24, r.creator))
        sm51 = self.sm5 and r.minor == 1
        if self.sm5:
            self.dwords(_TAG_5_1 if sm51 else _TAG_5_0, 60, 24, 40 if sm51 else 32, 40, 36, 12, 0)
        self.patch(12, len(self.data) if r.bindings else 0)
        for b in r.bindings:
            more = (b.space, b.range_id) if sm51 else ()
            at = self.dwords(
                0, b.type, b.return_type, b.dimension, b.sample_count, b.bind_point, b.bind_count, b.flags, *more
            )
            self.fixups.append((at, b.name))
        self.patch(4, len(self.data) if r.buffers else 0)
        places = [
            self.dwords(0, len(c.variables), 0, c.size, c.flags, c.kind) for c in r.buffers
        ]
        for buffer, at in zip(r.buffers, places, strict=True):
            self.fixups.append((at, buffer.name))
            self.patch(at + 8, len(self.data) if buffer.variables else 0)
            self.variables(buffer)
        self.finish()
        return bytes(self.data)

    def variables(self, buffer: ConstantBuffer) -> None:
        places = []
        for v in buffer.variables:
            more = (v.texture_start, v.texture_count, v.sampler_start, v.sampler_count) if self.sm5 else ()
            places.append(self.dwords(0, v.start, v.size, v.flags, 0, 0, *more))
        for variable, at in zip(buffer.variables, places, strict=True):
            self.fixups.append((at, variable.name))
            self.patch(at + 16, self.type(variable.type))
            if variable.default is not None:
                if len(variable.default) != variable.size:
                    raise DxbcError(f"RDEF: default of {variable.name} has {len(variable.default)} bytes, not its size")
                self.defaults.append((at + 20, variable.default))

    def type(self, type_: ShaderType, depth: int = 0) -> int:
        if id(type_) in self.types:
            return self.types[id(type_)]
        if depth == _MAX_DEPTH:
            raise DxbcError(f"RDEF: type {type_.name!r} contains itself or nests deeper than {_MAX_DEPTH}")
        members = [(member, self.type(member.type, depth + 1)) for member in type_.members]
        # Types that read alike share one record.
        key = repr((
            type_.type_class, type_.base, type_.rows, type_.columns, type_.elements, type_.name,
            [(member.name, at, member.offset) for member, at in members],
        ))
        if key not in self.shared:
            if not all(0 <= n <= 0xFFFF for n in (type_.rows, type_.columns, type_.elements, len(members))):
                raise DxbcError(f"RDEF: rows, columns, elements or members of type {type_.name!r} exceed 16 bits")
            members_at = len(self.data) if members else 0
            if members_at > 0xFFFF:
                raise DxbcError(f"RDEF: members of type {type_.name!r} lie beyond the 64 KiB that their offset reaches")
            for member, at in members:
                self.fixups.append((self.dwords(0, at, member.offset), member.name))
            at = self.dwords(
                type_.type_class | type_.base << 16, type_.rows | type_.columns << 16,
                type_.elements | len(members) << 16, members_at, *((0,) * 5 if self.sm5 else ()),
            )
            if self.sm5 and type_.name:
                self.fixups.append((at + 32, type_.name))
            self.shared[key] = at
        self.types[id(type_)] = self.shared[key]
        return self.shared[key]

    def finish(self) -> None:
        for at, default in self.defaults:
            self.patch(at, len(self.data))
            self.data += default + bytes(-len(default) % 4)
        places: dict[str, int] = {}
        for at, name in self.fixups:
            if name not in places:
                try:
                    text = name.encode("latin-1")
                except UnicodeEncodeError:
                    raise DxbcError(f"RDEF: name {name!r} is not Latin-1") from None
                if b"\0" in text or len(text) > _MAX_NAME:
                    raise DxbcError(f"RDEF: name {name!r} holds a NUL or is longer than {_MAX_NAME}")
                places[name] = len(self.data)
                self.data += text + b"\0"
            self.patch(at, places[name])
        self.data += b"\xab" * (-len(self.data) % 4)
