"""DXBC containers: chunks with a checksum, and the shader inside them.

Owns :class:`Container` (any chunks, kept as bytes) and :class:`ShaderBlob` (a shader: its tokens, its signatures and
the optional chunks, parsed when asked for).  What ``CreateVertexShader`` and its sisters take.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise

from .checksum import checksum
from .errors import DxbcError
from .opcodes import ProgramType
from .program import Program
from .reflection import Reflection
from .signature import ComponentType, D3DName, Signature, SignatureElement
from .statistics import FeatureFlags, Statistics
from .tokens import decode, encode

__all__ = [
    "Chunk",
    "ComponentType",
    "Container",
    "D3DName",
    "FeatureFlags",
    "Reflection",
    "ShaderBlob",
    "Signature",
    "SignatureElement",
    "Statistics",
    "checksum",
]

_MAGIC = b"DXBC"
_HEADER = 32


@dataclass(slots=True)
class Chunk:
    """A tagged payload, e.g. ``Chunk("SHEX", tokens)``."""

    tag: str
    """Four Latin-1 characters."""
    data: bytes
    offset: int = field(default=0, compare=False)
    """Byte in the container at which the payload was found."""


@dataclass(slots=True)
class Container:
    """The chunks of a container, in stored order."""

    chunks: list[Chunk] = field(default_factory=list)

    @classmethod
    def parse(cls, data: bytes | bytearray | memoryview, *, verify_checksum: bool = True) -> Container:
        """Split a container into its chunks.

        :raises DxbcError: and nothing else, whatever the bytes; offsets count from the start of the container.
        """
        data = bytes(data)
        if len(data) < _HEADER:
            raise DxbcError(f"{len(data)} bytes are too few for a container, its header has {_HEADER}", 0)
        magic, digest, version, size, count = struct.unpack_from("<4s16s3I", data)
        if magic != _MAGIC:
            raise DxbcError(f"the container begins with {magic!r}, not {_MAGIC!r}", 0)
        if version != 1:
            raise DxbcError(f"container version {version} is not 1", 20)
        if size != len(data):
            raise DxbcError(f"the container says it has {size} bytes, there are {len(data)}", 24)
        if count > (size - _HEADER) // 12:
            raise DxbcError(f"{count} chunks do not fit {size} bytes", 28)
        if verify_checksum and checksum(data) != digest:
            raise DxbcError(f"checksum is {digest.hex()}, the content has {checksum(data).hex()}", 4)
        container = cls()
        taken: list[tuple[int, int, int]] = []
        for i, at in enumerate(struct.unpack_from(f"<{count}I", data, _HEADER)):
            if at % 4 or at < _HEADER + 4 * count or at + 8 > size:
                raise DxbcError(f"chunk {i} cannot stand at byte {at}", _HEADER + 4 * i)
            tag, length = struct.unpack_from("<4sI", data, at)
            if length > size - at - 8:
                raise DxbcError(f"chunk {i} ({tag!r}) of {length} bytes leaves the container", at + 4)
            taken.append((at, at + 8 + length, i))
        taken.sort()
        for (_, end, first), (at, _, second) in pairwise(taken):
            if at < end:
                raise DxbcError(f"chunks {first} and {second} overlap", at)
        for at, end, _ in sorted(taken, key=lambda place: place[2]):
            container.chunks.append(Chunk(data[at : at + 4].decode("latin-1"), data[at + 8 : end], at + 8))
        return container

    def to_bytes(self) -> bytes:
        """The container with its checksum; payloads are padded to whole dwords with zeros between chunks."""
        offsets: list[int] = []
        body = bytearray()
        start = _HEADER + 4 * len(self.chunks)
        for chunk in self.chunks:
            tag = chunk.tag.encode("latin-1")
            if len(tag) != 4:
                raise DxbcError(f"chunk tag {chunk.tag!r} does not have four characters")
            offsets.append(start + len(body))
            body += struct.pack("<4sI", tag, len(chunk.data)) + chunk.data + bytes(-len(chunk.data) % 4)
        data = bytearray(struct.pack("<4s16s3I", _MAGIC, bytes(16), 1, start + len(body), len(self.chunks)))
        data += struct.pack(f"<{len(offsets)}I", *offsets) + body
        data[4:20] = checksum(data)
        return bytes(data)

    def find(self, *tags: str) -> Chunk | None:
        """The first chunk with one of the tags."""
        return next((chunk for chunk in self.chunks if chunk.tag in tags), None)


_CODE = ("SHEX", "SHDR")
_INPUT = ("ISGN", "ISG1")
_OUTPUT = ("OSGN", "OSG5", "OSG1")
_PATCH = ("PCSG", "PSG1")
_KNOWN = (*_CODE, *_INPUT, *_OUTPUT, *_PATCH, "RDEF", "STAT", "SFI0")


@dataclass
class ShaderBlob:
    """A shader: tokens, signatures, and the chunks around them as bytes.

    ``rdef``, ``stat`` and ``sfi0`` are payloads or None; ``reflection``, ``statistics`` and ``features`` parse them.
    Signature tags are kept when read; None chooses them: OSG5 for a geometry shader of model 5, the ``1`` forms as
    soon as an element has a min precision, else the plain ones.
    """

    tokens: bytes
    input_signature: Signature = field(default_factory=Signature)
    output_signature: Signature = field(default_factory=Signature)
    patch_constant_signature: Signature | None = None
    rdef: bytes | None = None
    stat: bytes | None = None
    sfi0: bytes | None = None
    extra: list[Chunk] = field(default_factory=list)
    """Chunks of other kinds, in stored order."""
    input_tag: str | None = None
    output_tag: str | None = None
    patch_constant_tag: str | None = None
    code_tag: str | None = None
    _program: tuple[bytes, Program] | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def parse(cls, data: bytes | bytearray | memoryview, *, verify_checksum: bool = True) -> ShaderBlob:
        """Read a container that holds a shader; the tokens themselves are decoded by ``program``.

        :raises DxbcError: a broken container or signature, no code, DXIL instead of tokens, a chunk twice.
        """
        container = Container.parse(data, verify_checksum=verify_checksum)
        for group in (_CODE, _INPUT, _OUTPUT, _PATCH, ("RDEF",), ("STAT",), ("SFI0",)):
            found = [chunk for chunk in container.chunks if chunk.tag in group]
            if len(found) > 1:
                raise DxbcError(f"two chunks say the same thing: {found[0].tag} and {found[1].tag}", found[1].offset)
        code = container.find(*_CODE)
        if code is None:
            dxil = container.find("DXIL")
            if dxil is not None:
                raise DxbcError("the shader is DXIL (shader model 6), not tokens", dxil.offset)
            raise DxbcError("the container has neither an SHEX nor an SHDR chunk", 28)
        blob = cls(code.data, code_tag=code.tag)
        for tags, name in ((_INPUT, "input"), (_OUTPUT, "output"), (_PATCH, "patch_constant")):
            chunk = container.find(*tags)
            if chunk is not None:
                try:
                    signature = Signature.parse(chunk.data, chunk.tag)
                except DxbcError as error:
                    raise DxbcError(error.message, chunk.offset + (error.offset or 0)) from None
                setattr(blob, f"{name}_signature", signature)
                setattr(blob, f"{name}_tag", chunk.tag)
        for tag in ("RDEF", "STAT", "SFI0"):
            chunk = container.find(tag)
            setattr(blob, tag.lower(), chunk.data if chunk is not None else None)
        blob.extra = [chunk for chunk in container.chunks if chunk.tag not in _KNOWN]
        return blob

    @classmethod
    def build(
        cls,
        program: Program,
        input_signature: Signature,
        output_signature: Signature,
        patch_constant_signature: Signature | None = None,
        *,
        reflection: Reflection | None = None,
        statistics: Statistics | None = None,
        features: FeatureFlags = FeatureFlags.NONE,
    ) -> ShaderBlob:
        """A shader from its parts.  :raises DxbcError: parts that cannot be written."""
        return cls(
            encode(program),
            input_signature,
            output_signature,
            patch_constant_signature,
            rdef=reflection.to_bytes() if reflection is not None else None,
            stat=statistics.to_bytes(program.major) if statistics is not None else None,
            sfi0=features.to_chunk() if features else None,
        )

    @property
    def program(self) -> Program:
        """The decoded tokens, decoded once.  Changing it does not change ``tokens``.

        :raises DxbcError: with offsets from the start of the tokens.
        """
        if self._program is None or self._program[0] is not self.tokens:
            self._program = (self.tokens, decode(self.tokens))
        return self._program[1]

    @property
    def reflection(self) -> Reflection | None:
        """RDEF, parsed.  :raises DxbcError: when it is broken."""
        return None if self.rdef is None else Reflection.parse(self.rdef)

    @property
    def statistics(self) -> Statistics | None:
        """STAT, parsed.  :raises DxbcError: when it is broken."""
        return None if self.stat is None else Statistics.parse(self.stat)

    @property
    def features(self) -> FeatureFlags:
        """SFI0, parsed; NONE without the chunk.  :raises DxbcError: when it is broken."""
        return FeatureFlags.NONE if self.sfi0 is None else FeatureFlags.parse(self.sfi0)

    def chunks(self) -> list[Chunk]:
        """The chunks in the order compilers use: RDEF, ISGN, OSGN, PCSG, SHEX, SFI0, STAT, others."""
        version = int.from_bytes(self.tokens[:4], "little")
        major, type_ = version >> 4 & 0xF, version >> 16
        streamed = major >= 5 and type_ == ProgramType.GEOMETRY
        signatures = (self.input_signature, self.output_signature, self.patch_constant_signature)
        precise = any(e.min_precision for s in signatures if s is not None for e in s.elements)
        chunks = []
        if self.rdef is not None:
            chunks.append(Chunk("RDEF", self.rdef))
        for signature, tag, plain, one in (
            (self.input_signature, self.input_tag, "ISGN", "ISG1"),
            (self.output_signature, self.output_tag, "OSG5" if streamed else "OSGN", "OSG1"),
            (self.patch_constant_signature, self.patch_constant_tag, "PCSG", "PSG1"),
        ):
            if signature is not None:
                tag = tag or (one if precise else plain)
                chunks.append(Chunk(tag, signature.to_bytes(tag)))
        chunks.append(Chunk(self.code_tag or ("SHEX" if major >= 5 else "SHDR"), self.tokens))
        if self.sfi0 is not None:
            chunks.append(Chunk("SFI0", self.sfi0))
        if self.stat is not None:
            chunks.append(Chunk("STAT", self.stat))
        return chunks + self.extra

    def to_bytes(self) -> bytes:
        """The whole container.  :raises DxbcError: a signature that cannot be written."""
        return Container(self.chunks()).to_bytes()
