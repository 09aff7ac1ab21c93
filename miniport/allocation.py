"""Allocations as the miniport sees them: DxgkDdiCreateAllocation, Open, Close, Destroy, Describe, standard allocations.

Models the pages "dxgkddi_createallocation", "_dxgk_allocationinfo", "dxgkddi_openallocationinfo" and
"dxgkddi_describeallocation". The user-mode driver says in private data what an allocation is; the miniport recomputes what can be
computed (a texture's size follows from its layout), so that a wrong number in it cannot become a wrong extent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONINFO,
    DXGK_ALLOCATIONINFOFLAGS,
    DXGKARG_CREATEALLOCATION,
    DXGKARG_DESCRIBEALLOCATION,
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
)
from wddm.ddi.d3dkmdt import D3DKMDT_SHAREDPRIMARYSURFACEDATA, D3DKMDT_STANDARDALLOCATION_TYPE
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONPRIORITY, D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS
from wddm.hw.driver import (
    ALLOCATION_PRIVATE,
    AllocationFlag,
    AllocationKind,
    PrivateDataMismatch,
    private_record,
    read_private,
)
from wddm.hw.formats import Format
from wddm.hw.layout import surface_layout
from wddm.hw.memory import PAGE_SIZE, align_up

from .segments import MemorySizes, choose, preference, segment_bit

#: Renaming instances of one allocation before a discarding lock waits.
MAX_RENAMES: Final = 8
#: Bytes of one allocation: extents of packets have 32 bits.
MAX_ALLOCATION: Final = (1 << 32) - PAGE_SIZE
_ALL_FLAGS: Final = sum(int(flag) for flag in AllocationFlag)
_HOT: Final = AllocationFlag.RENDER_TARGET | AllocationFlag.DEPTH_STENCIL | AllocationFlag.PRIMARY

#: What the display head can scan out, by the names of both sides.
SCANOUT_FORMATS: Final[dict[Format, D3DDDIFORMAT]] = {
    Format.B8G8R8A8_UNORM: D3DDDIFORMAT.A8R8G8B8,
    Format.B8G8R8X8_UNORM: D3DDDIFORMAT.X8R8G8B8,
    Format.R8G8B8A8_UNORM: D3DDDIFORMAT.A8B8G8R8,
    Format.R8G8B8A8_UNORM_SRGB: D3DDDIFORMAT.A8B8G8R8,
    Format.B8G8R8A8_UNORM_SRGB: D3DDDIFORMAT.A8R8G8B8,
    Format.R10G10B10A2_UNORM: D3DDDIFORMAT.A2B10G10R10,
    Format.R16G16B16A16_FLOAT: D3DDDIFORMAT.A16B16G16R16F,
}
#: The reverse, for modes that the kernel names.
SCANOUT_BY_DDI_FORMAT: Final[dict[int, Format]] = {
    D3DDDIFORMAT.A8R8G8B8: Format.B8G8R8A8_UNORM,
    D3DDDIFORMAT.X8R8G8B8: Format.B8G8R8X8_UNORM,
    D3DDDIFORMAT.A8B8G8R8: Format.R8G8B8A8_UNORM,
    D3DDDIFORMAT.A2B10G10R10: Format.R10G10B10A2_UNORM,
    D3DDDIFORMAT.A16B16G16R16F: Format.R16G16B16A16_FLOAT,
}


@dataclass(slots=True)
class Allocation:
    """One adapter allocation. ``size`` in bytes, as the hardware may touch it."""

    handle: int
    kind: AllocationKind
    flags: AllocationFlag
    size: int
    format: Format
    width: int
    height: int
    depth: int
    mips: int
    slices: int
    samples: int
    pitch: int  #: bytes between rows of mip 0
    vidpn_source: int
    refresh: tuple[int, int]


class BadAllocation(ValueError):
    """Private data that describes no allocation; the text names the field, ``status`` is what the kernel is told."""

    def __init__(self, why: str, status: NTSTATUS = NTSTATUS.STATUS_INVALID_PARAMETER) -> None:
        super().__init__(why)
        self.status = status


def parse(data: bytes | bytearray | memoryview | None, handle: int) -> Allocation:
    """Read ALLOCATION_PRIVATE. Raises BadAllocation."""
    try:
        record = read_private(ALLOCATION_PRIVATE, data)
        kind, format = AllocationKind(int(record["kind"])), Format(int(record["format"]))
    except PrivateDataMismatch as error:
        raise BadAllocation(str(error), NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH) from None
    except ValueError as error:
        raise BadAllocation(str(error)) from None
    if int(record["flags"]) & ~_ALL_FLAGS:
        raise BadAllocation(f"flags {int(record['flags']):#x} have bits that mean nothing")
    flags = AllocationFlag(int(record["flags"]))
    alignment = int(record["alignment"])
    if alignment & (alignment - 1) or alignment > PAGE_SIZE:
        raise BadAllocation(f"alignment {alignment} is no power of two up to {PAGE_SIZE}")
    width, height, depth, mips, slices, samples = (
        int(record[n]) for n in ("width", "height", "depth", "mips", "slices", "samples")
    )
    pitch = 0
    if kind is AllocationKind.TEXTURE:
        try:
            layout = surface_layout(format, width, height, depth, mips, slices, samples)
        except ValueError as error:
            raise BadAllocation(str(error)) from None
        size, pitch = layout.size, layout.subresources[0].row_pitch
    else:
        size = int(record["size"])
    if not 0 < size <= MAX_ALLOCATION:
        raise BadAllocation(f"size {size} is not in 1..{MAX_ALLOCATION}")
    if flags & AllocationFlag.PRIMARY:
        if kind is not AllocationKind.TEXTURE or format not in SCANOUT_FORMATS:
            raise BadAllocation(f"a primary cannot be a {kind.name.lower()} of format {format.name}")
        if (depth, mips, slices, samples) != (1, 1, 1, 1):
            raise BadAllocation(f"a primary with depth {depth}, {mips} mips, {slices} slices, {samples} samples")
        if flags & (AllocationFlag.CPU_ACCESS | AllocationFlag.CPU_READ):
            raise BadAllocation("a primary lives in local memory and cannot have CPU_ACCESS or CPU_READ")
    refresh = (int(record["refresh_numerator"]), int(record["refresh_denominator"]))
    source = int(record["vidpn_source"])
    return Allocation(handle, kind, flags, size, format, width, height, depth, mips, slices, samples, pitch, source, refresh)


def describe_to_kernel(allocation: Allocation, info: DXGK_ALLOCATIONINFO, memory: MemorySizes) -> None:
    """Fill the out members of DXGK_ALLOCATIONINFO: where it may live, how it is paged."""
    info.Alignment = PAGE_SIZE
    info.Size = align_up(allocation.size, PAGE_SIZE)
    info.PitchAlignedSize = 0
    info.EvictionSegmentSet = 0
    info.MaximumRenamingListLength = MAX_RENAMES
    info.hAllocation = allocation.handle
    flags = allocation.flags
    cpu_access = bool(flags & AllocationFlag.CPU_ACCESS)
    info.Flags = DXGK_ALLOCATIONINFOFLAGS.CpuVisible if cpu_access else DXGK_ALLOCATIONINFOFLAGS.NONE
    if cpu_access and flags & AllocationFlag.CPU_READ:
        info.Flags |= DXGK_ALLOCATIONINFOFLAGS.Cached
    segments = choose(memory, cpu_access=cpu_access, primary=bool(flags & AllocationFlag.PRIMARY))
    info.PreferredSegment = preference(segments)
    info.SupportedReadSegmentSet = info.SupportedWriteSegmentSet = sum(segment_bit(s) for s in segments)
    info.AllocationPriority = D3DDDI_ALLOCATIONPRIORITY.HIGH if flags & _HOT else D3DDDI_ALLOCATIONPRIORITY.NORMAL


class Allocations:
    """All allocations of the adapter, and the device-specific handles that stand for them in lists."""

    def __init__(self, memory: MemorySizes, explain: Callable[[str], None]) -> None:
        self._memory = memory
        self._explain = explain
        self._allocations: dict[int, Allocation] = {}
        self._opened: dict[int, Allocation] = {}
        self._next = 0x1000

    def _handle(self) -> int:
        self._next += 0x10
        return self._next

    def create(self, arguments: DXGKARG_CREATEALLOCATION) -> NTSTATUS:
        """DxgkDdiCreateAllocation: all or nothing."""
        made = []
        for index, info in enumerate(arguments.pAllocationInfo):
            try:
                made.append(parse(info.pPrivateDriverData, self._handle()))
            except BadAllocation as error:
                self._explain(f"allocation {index}: {error}")
                return error.status
        for info, allocation in zip(arguments.pAllocationInfo, made, strict=True):
            self._allocations[allocation.handle] = allocation
            describe_to_kernel(allocation, info, self._memory)
        return NTSTATUS.STATUS_SUCCESS

    def destroy(self, handles: list[int]) -> NTSTATUS:
        """DxgkDdiDestroyAllocation: all or nothing. Who has one open keeps what he knows of it."""
        if any(handle not in self._allocations for handle in handles):
            return NTSTATUS.STATUS_INVALID_HANDLE
        for handle in handles:
            self._allocations.pop(handle, None)
        return NTSTATUS.STATUS_SUCCESS

    def open(self, allocation_handle: int) -> int:
        """A device-specific handle for an adapter allocation; 0 when there is no such allocation."""
        allocation = self._allocations.get(allocation_handle)
        if allocation is None:
            return 0
        handle = self._handle() | 1
        self._opened[handle] = allocation
        return handle

    def close(self, handles: list[int]) -> NTSTATUS:
        """DxgkDdiCloseAllocation: all or nothing."""
        if any(handle not in self._opened for handle in handles):
            return NTSTATUS.STATUS_INVALID_HANDLE
        for handle in handles:
            self._opened.pop(handle, None)
        return NTSTATUS.STATUS_SUCCESS

    def adapter_allocation(self, handle: int) -> Allocation | None:
        """By DxgkDdiCreateAllocation's handle."""
        return self._allocations.get(handle)

    def device_allocation(self, handle: int) -> Allocation | None:
        """By DxgkDdiOpenAllocation's handle."""
        return self._opened.get(handle)

    def size(self, handle: int) -> int:
        """Bytes of a device-specific allocation; 0 for the NULL element and unknown handles."""
        allocation = self._opened.get(handle)
        return 0 if allocation is None else allocation.size

    def describe(self, arguments: DXGKARG_DESCRIBEALLOCATION) -> NTSTATUS:
        """DxgkDdiDescribeAllocation, for primaries and present sources; others have no display format."""
        allocation = self._allocations.get(arguments.hAllocation)
        if allocation is None:
            return NTSTATUS.STATUS_INVALID_HANDLE
        arguments.Width, arguments.Height = allocation.width, allocation.height
        arguments.Format = SCANOUT_FORMATS.get(allocation.format, D3DDDIFORMAT.UNKNOWN)
        arguments.MultisampleMethod.NumSamples = max(1, allocation.samples)
        arguments.RefreshRate = D3DDDI_RATIONAL(*allocation.refresh)
        return NTSTATUS.STATUS_SUCCESS


def standard_allocation(arguments: DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA) -> NTSTATUS:
    """DxgkDdiGetStandardAllocationDriverData: private data for what the kernel creates itself. Only shared primaries exist here."""
    surface = arguments.Parameters
    if arguments.StandardAllocationType is not D3DKMDT_STANDARDALLOCATION_TYPE.SHAREDPRIMARYSURFACE or not isinstance(
        surface, D3DKMDT_SHAREDPRIMARYSURFACEDATA
    ):
        return NTSTATUS.STATUS_NOT_SUPPORTED
    format = SCANOUT_BY_DDI_FORMAT.get(surface.Format)
    if format is None:
        return NTSTATUS.STATUS_INVALID_PARAMETER
    try:
        layout = surface_layout(format, surface.Width, surface.Height)
    except ValueError:
        return NTSTATUS.STATUS_INVALID_PARAMETER
    arguments.AllocationPrivateDriverDataSize = ALLOCATION_PRIVATE.itemsize
    arguments.ResourcePrivateDriverDataSize = 0
    if arguments.pAllocationPrivateDriverData is not None:
        arguments.pAllocationPrivateDriverData[:] = private_record(
            ALLOCATION_PRIVATE,
            kind=AllocationKind.TEXTURE,
            flags=AllocationFlag.PRIMARY | AllocationFlag.RENDER_TARGET,
            format=format,
            size=layout.size,
            alignment=PAGE_SIZE,
            pitch=layout.subresources[0].row_pitch,
            width=surface.Width,
            height=surface.Height,
            depth=1,
            mips=1,
            slices=1,
            samples=1,
            vidpn_source=surface.VidPnSourceId,
            refresh_numerator=surface.RefreshRate.Numerator,
            refresh_denominator=surface.RefreshRate.Denominator,
        )
    return NTSTATUS.STATUS_SUCCESS
