"""The shared header of the driver pair: private data that travels between the user-mode driver and the miniport.

Dxgkrnl and the runtime carry these bytes without looking inside: the private data of an adapter (answer of
``DXGKQAITYPE_UMDRIVERPRIVATE``), of a context (``D3DDDICB_CREATECONTEXT``), of a resource and of each allocation
(``D3DDDICB_ALLOCATE``). Records are little endian and of fixed size; the miniport reads them as untrusted input.

Every allocation is an object of the vendor's own hardware, so these formats belong to the manual's side of the house and not to
the WDK headers.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np

PRIVATE_MAGIC: Final = 0x44504756  #: "VGPD"
#: Version of this header. Both halves of the driver pair must be built from the same one.
PRIVATE_VERSION: Final = 1

ADAPTER_PRIVATE: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),  # PRIVATE_VERSION
        ("interface_version", "<u4"),  # registers.INTERFACE_VERSION
        ("caps", "<u4"),  # AdapterCap
        ("local_size", "<u8"),  # bytes of video memory
        ("visible_window", "<u8"),  # bytes of it that the processor can see
        ("aperture_size", "<u8"),
        ("node_count", "<u4"),
        ("engine_kind", "<u4"),  # registers.EngineKind
        ("engine_threads", "<u4"),
        ("timestamp_frequency", "<u4"),  # Hz
        ("head_count", "<u4"),
        ("reserved", "<u4"),
    ]
)
ADAPTER_PRIVATE_SIZE: Final = 64


class AdapterCap(IntFlag):
    """What the adapter can do beyond the manual's minimum."""

    NONE = 0


CONTEXT_PRIVATE: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("node", "<u4"),  # registers.Node the driver means to feed
        ("flags", "<u4"),  # 0
    ]
)
CONTEXT_PRIVATE_SIZE: Final = 16

RESOURCE_PRIVATE: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("dimension", "<u4"),  # D3D10DDIRESOURCE_TYPE
        ("usage", "<u4"),
        ("bind_flags", "<u4"),
        ("map_flags", "<u4"),
        ("misc_flags", "<u4"),
        ("stride", "<u4"),  # bytes of one structure
        ("vidpn_source", "<u4"),  # of a primary
        ("allocation_count", "<u4"),
        ("reserved", "<u4", (2,)),
    ]
)
"""What a device that opens a shared resource must know beyond its allocations."""
RESOURCE_PRIVATE_SIZE: Final = 48

ALLOCATION_PRIVATE: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("kind", "<u4"),  # AllocationKind
        ("flags", "<u4"),  # AllocationFlag
        ("size", "<u8"),  # bytes; for textures that of layout.surface_layout
        ("alignment", "<u4"),  # bytes, a power of two
        ("pitch", "<u4"),  # bytes between rows of mip 0; 0 for buffers
        ("format", "<u4"),  # formats.Format; UNKNOWN for buffers
        ("width", "<u4"),  # texels
        ("height", "<u4"),
        ("depth", "<u4"),
        ("mips", "<u4"),
        ("slices", "<u4"),
        ("samples", "<u4"),
        ("vidpn_source", "<u4"),  # of a primary
        ("refresh_numerator", "<u4"),  # Hz, of a primary
        ("refresh_denominator", "<u4"),
        ("reserved", "<u4", (2,)),
    ]
)
ALLOCATION_PRIVATE_SIZE: Final = 80
assert ADAPTER_PRIVATE.itemsize == ADAPTER_PRIVATE_SIZE
assert CONTEXT_PRIVATE.itemsize == CONTEXT_PRIVATE_SIZE
assert RESOURCE_PRIVATE.itemsize == RESOURCE_PRIVATE_SIZE
assert ALLOCATION_PRIVATE.itemsize == ALLOCATION_PRIVATE_SIZE


class AllocationKind(IntEnum):
    """What an allocation holds."""

    BUFFER = 1
    TEXTURE = 2


class AllocationFlag(IntFlag):
    """How an allocation is used; the miniport chooses segments and Dxgkrnl flags by it.

    ``CPU_ACCESS`` asks for the aperture (system memory pages that both processor and GPU see); without it the allocation
    lives in local memory and is reached by copies only.
    """

    NONE = 0
    CPU_ACCESS = 0x1  #: locked by the driver: aperture, never local memory
    CPU_READ = 0x2  #: read back by the processor (cached)
    RENDER_TARGET = 0x4
    DEPTH_STENCIL = 0x8
    PRIMARY = 0x10  #: may be scanned out: local memory
    SHADER_CODE = 0x20
    UPLOAD = 0x40  #: a chunk of the driver's own upload ring
    SHARED = 0x80
    UNORDERED_ACCESS = 0x100


def private_record(dtype: np.dtype[Any], **fields: int) -> bytearray:
    """One record of ``dtype`` with magic and version filled in, as the bytes that travel."""
    record = np.zeros(1, dtype)
    record["magic"], record["version"] = PRIVATE_MAGIC, PRIVATE_VERSION
    for name, value in fields.items():
        record[name] = value
    return bytearray(record.tobytes())


class PrivateDataMismatch(ValueError):
    """Private data of another driver, or of another version of this one."""


def read_private(dtype: np.dtype[Any], data: bytes | bytearray | memoryview | None) -> np.void:
    """The record in ``data``. Raises PrivateDataMismatch for a wrong size, magic or version, ValueError for reserved bits."""
    size = 0 if data is None else memoryview(data).nbytes
    if data is None or size != dtype.itemsize:
        raise PrivateDataMismatch(f"private data of {size} bytes, {dtype.itemsize} expected")
    record: np.void = np.frombuffer(data, dtype, 1)[0]
    if record["magic"] != PRIVATE_MAGIC or record["version"] != PRIVATE_VERSION:
        raise PrivateDataMismatch(f"private data with magic {int(record['magic']):#x} version {int(record['version'])}")
    if "reserved" in (dtype.names or ()) and np.any(record["reserved"]):
        raise ValueError("private data with reserved fields that are not 0")
    return record
