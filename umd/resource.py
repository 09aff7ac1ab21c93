"""Resources: what they are, creation, opening and destruction.

Models "CreateResource(D3D11)" and "Creating and Destroying Resources". Placement by use: what the processor maps
(dynamic, staging) lives in the aperture, so that a map is a pointer; the rest lives in local memory and is filled by copies.
Constant buffers and small dynamic buffers have no allocation of their own: their content is a slice of the upload ring, and every
whole update or discarding map takes a fresh one (renaming). A constant buffer that the GPU writes gets a home of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from umd.core import Core, Pending
from umd.errors import DeviceError
from umd.memory import Allocation, Request
from umd.upload import CHUNK_SIZE, as_bytes, copy_rows
from wddm.ddi.d3d10umddi import (
    D3D10_DDI_CPU_ACCESS,
    D3D10_DDI_RESOURCE_BIND_FLAG,
    D3D10_DDI_RESOURCE_MISC_FLAG,
    D3D10_DDI_RESOURCE_USAGE,
    D3D10_DDIARG_SUBRESOURCE_UP,
    D3D10DDIARG_OPENRESOURCE,
    D3D10DDIRESOURCE_TYPE,
    D3D11DDIARG_CREATERESOURCE,
)
from wddm.ddi.dxgiddi import (
    DXGI_DDI_MODE_ROTATION,
    DXGI_DDI_PRIMARY_DESC,
    DXGI_DDI_PRIMARY_DRIVER_FLAGS,
    DXGI_DDI_PRIMARY_FLAGS,
)
from wddm.ddi.status import HRESULT
from wddm.hw.driver import (
    ALLOCATION_PRIVATE,
    RESOURCE_PRIVATE,
    AllocationFlag,
    AllocationKind,
    private_record,
    read_private,
)
from wddm.hw.formats import FORMATS, Format
from wddm.hw.layout import SurfaceLayout, surface_layout

BIND = D3D10_DDI_RESOURCE_BIND_FLAG
MISC = D3D10_DDI_RESOURCE_MISC_FLAG
USAGE = D3D10_DDI_RESOURCE_USAGE
TYPE = D3D10DDIRESOURCE_TYPE

#: Dynamic buffers up to this size live in the ring.
RING_BUFFER_SIZE = 1 << 16
#: What the display heads scan out.
SCANOUT_FORMATS = frozenset(
    (
        Format.R16G16B16A16_FLOAT,
        Format.R10G10B10A2_UNORM,
        Format.R8G8B8A8_UNORM,
        Format.R8G8B8A8_UNORM_SRGB,
        Format.B8G8R8A8_UNORM,
        Format.B8G8R8X8_UNORM,
        Format.B8G8R8A8_UNORM_SRGB,
    )
)


class Resource:
    """A driver resource. ``allocation`` + ``offset`` is where its content lies now (None: see ``saved``)."""

    __slots__ = (
        "allocation",
        "bind",
        "depth",
        "dimension",
        "fill_counter",
        "format",
        "h_resource",
        "height",
        "instances",
        "keys",
        "layout",
        "map_flags",
        "mapped",
        "min_lod",
        "mips",
        "misc",
        "offset",
        "primary",
        "renamed",
        "samples",
        "saved",
        "shared",
        "size",
        "slices",
        "stride",
        "usage",
        "views",
        "width",
    )

    def __init__(self, dimension: int, format: int, usage: int, bind: int, map_flags: int, misc: int, stride: int) -> None:
        self.dimension = dimension
        self.format = format
        self.usage = usage
        self.bind = bind
        self.map_flags = map_flags
        self.misc = misc
        self.stride = stride
        self.width = self.height = self.depth = 1
        self.mips = self.slices = self.samples = 1
        self.size = 0
        self.layout: SurfaceLayout | None = None
        self.allocation: Allocation | None = None
        self.offset = 0
        self.saved: bytes | None = None  #: content of a resident that lost its slice
        self.renamed = False  #: content is a slice of the ring
        self.mapped = 0
        self.instances: list[Allocation] = []
        self.keys: set[int] = set()  #: bindings that name it
        self.views: list[Any] = []
        self.min_lod = 0.0
        self.primary = False
        self.shared = False
        self.h_resource = 0
        self.fill_counter: Any = None  #: place of the stream-output fill counter

    @property
    def is_buffer(self) -> bool:
        return self.dimension in (TYPE.BUFFER, TYPE.BUFFEREX)

    @property
    def placed(self) -> Allocation:
        """The allocation of a resource that has one."""
        assert self.allocation is not None
        return self.allocation

    def subresource(self, index: int) -> tuple[int, int]:
        """``(mip, slice)``. Raises DeviceError for an index that does not exist."""
        if not 0 <= index < self.mips * self.slices:
            raise DeviceError.invalid(f"subresource {index} of {self.mips * self.slices}")
        return index % self.mips, index // self.mips


def describe(arg: D3D11DDIARG_CREATERESOURCE) -> Resource:
    """The driver's description of what is asked for. Raises DeviceError for what no layout fits."""
    r = Resource(
        int(arg.ResourceDimension), int(arg.Format), int(arg.Usage), int(arg.BindFlags), int(arg.MapFlags), int(arg.MiscFlags),
        arg.ByteStride,
    )  # fmt: skip
    top = arg.pMipInfoList[0]
    if r.is_buffer:
        r.width = r.size = top.TexelWidth
        if r.size <= 0:
            raise DeviceError.invalid("a buffer without bytes")
        return r
    r.width, r.height, r.depth = top.TexelWidth, top.TexelHeight, top.TexelDepth
    r.mips, r.slices, r.samples = arg.MipLevels, arg.ArraySize, max(1, arg.SampleDesc.Count)
    _lay_out(r)
    return r


def _lay_out(r: Resource) -> None:
    try:
        r.layout = surface_layout(Format(r.format), r.width, r.height, r.depth, r.mips, r.slices, r.samples)
    except ValueError as error:
        raise DeviceError.invalid(str(error)) from None
    r.size = r.layout.size


def allocation_flags(r: Resource) -> AllocationFlag:
    """How the miniport shall place it."""
    flags = AllocationFlag.NONE
    if r.usage in (USAGE.DYNAMIC, USAGE.STAGING) or (r.map_flags and r.usage == USAGE.DEFAULT):
        flags |= AllocationFlag.CPU_ACCESS
        if r.map_flags & D3D10_DDI_CPU_ACCESS.READ:
            flags |= AllocationFlag.CPU_READ
    for bind, flag in (
        (BIND.RENDER_TARGET, AllocationFlag.RENDER_TARGET),
        (BIND.DEPTH_STENCIL, AllocationFlag.DEPTH_STENCIL),
        (BIND.UNORDERED_ACCESS, AllocationFlag.UNORDERED_ACCESS),
    ):
        if r.bind & bind:
            flags |= flag
    if r.primary:
        flags |= AllocationFlag.PRIMARY
    if r.shared:
        flags |= AllocationFlag.SHARED
    return flags


def request(r: Resource, primary: DXGI_DDI_PRIMARY_DESC | None) -> Request:
    """What to ask the kernel for."""
    fields: list[tuple[str, int]] = []
    source = 0
    if r.layout is not None:
        fields = [
            ("format", r.format),
            ("width", r.width),
            ("height", r.height),
            ("depth", r.depth),
            ("mips", r.mips),
            ("slices", r.slices),
            ("samples", r.samples),
            ("pitch", r.layout.subresources[0].row_pitch),
        ]
    if primary is not None and r.primary:
        source = primary.VidPnSourceId
        rate = primary.ModeDesc.RefreshRate
        fields += [("refresh_numerator", rate.Numerator), ("refresh_denominator", rate.Denominator)]
    kind = AllocationKind.BUFFER if r.is_buffer else AllocationKind.TEXTURE
    return Request(r.size, kind, allocation_flags(r), tuple(fields), source, r.primary)


class ResourceFunctions:
    """Entries about resources as such. Methods have the names of the DDI without ``pfn``."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.resources: dict[int, Resource] = {}

    def get(self, h: int) -> Resource:
        """The resource of a driver handle. Raises DeviceError for a handle that is none."""
        found = self.resources.get(h)
        if found is None:
            raise DeviceError.invalid(f"no resource {h:#x}")
        return found

    # --- sizes ---------------------------------------------------------------------------------------------------------
    def CalcPrivateResourceSize(self, hDevice: int, arg: D3D11DDIARG_CREATERESOURCE) -> int:
        return 64

    def CalcPrivateOpenedResourceSize(self, hDevice: int, arg: D3D10DDIARG_OPENRESOURCE) -> int:
        return 64

    # --- creation ------------------------------------------------------------------------------------------------------
    def CreateResource(self, hDevice: int, arg: D3D11DDIARG_CREATERESOURCE, hResource: int, hRTResource: int) -> Pending:
        r = describe(arg)
        r.shared = bool(arg.MiscFlags & MISC.SHARED)
        primary = arg.pPrimaryDesc
        if primary is not None and arg.BindFlags & BIND.PRESENT:
            r.primary = self._scannable(r, primary)
        small = r.usage == USAGE.DYNAMIC and r.size <= RING_BUFFER_SIZE
        constant = r.bind & BIND.CONSTANT_BUFFER and r.usage != USAGE.STAGING and r.size <= CHUNK_SIZE // 4
        if r.is_buffer and not r.shared and (constant or small):
            return self._create_renamed(r, arg, hResource)
        return self._create(r, arg, hResource, hRTResource)

    def _scannable(self, r: Resource, primary: DXGI_DDI_PRIMARY_DESC) -> bool:
        """Whether the heads can scan it out. An optional primary that they cannot is told so; another is refused."""
        stereo = primary.Flags & DXGI_DDI_PRIMARY_FLAGS.STEREO
        # The heads do not rotate, whether or not the application did.
        rotated = primary.ModeDesc.Rotation not in (DXGI_DDI_MODE_ROTATION.UNSPECIFIED, DXGI_DDI_MODE_ROTATION.IDENTITY)
        if r.format in SCANOUT_FORMATS and r.samples == 1 and not stereo and not rotated:
            return True
        primary.DriverFlags = DXGI_DDI_PRIMARY_DRIVER_FLAGS.NO_SCANOUT
        if not primary.Flags & DXGI_DDI_PRIMARY_FLAGS.OPTIONAL:
            raise DeviceError(HRESULT.DXGI_DDI_ERR_UNSUPPORTED, "the display cannot scan out such a primary")
        return False

    def _create_renamed(self, r: Resource, arg: D3D11DDIARG_CREATERESOURCE, hResource: int) -> Pending:
        r.renamed = True
        if arg.pInitialDataUP:
            data = as_bytes(arg.pInitialDataUP[0].pSysMem)
            if data.nbytes < r.size:
                raise DeviceError.invalid(f"{data.nbytes} bytes of initial data for a buffer of {r.size}")
            r.saved = data[: r.size].tobytes()
        self.resources[hResource] = r
        return None

    async def _create(self, r: Resource, arg: D3D11DDIARG_CREATERESOURCE, hResource: int, hRTResource: int) -> None:
        primary = arg.pPrimaryDesc
        private = private_record(
            RESOURCE_PRIVATE,
            dimension=r.dimension,
            usage=r.usage,
            bind_flags=r.bind,
            map_flags=r.map_flags,
            misc_flags=r.misc,
            stride=r.stride,
            vidpn_source=primary.VidPnSourceId if primary is not None else 0,
            allocation_count=1,
        )
        # Only shared resources are grouped under the runtime's handle: rotation hands allocations from one resource to another.
        r.h_resource = hRTResource if r.shared else 0
        r.allocation, _ = await self.core.memory.allocate(
            request(r, primary), h_resource=r.h_resource, resource_private=private
        )
        r.instances = [r.allocation]
        try:
            if arg.pInitialDataUP:
                await self._fill(r, arg.pInitialDataUP)
        except DeviceError:
            self.core.memory.destroy(r.allocation)
            raise
        self.resources[hResource] = r

    async def _fill(self, r: Resource, initial: Any) -> None:
        """Initial data, subresource by subresource in the layout they have in memory."""
        if r.layout is None:
            await self._write(r, 0, as_bytes(initial[0].pSysMem), r.size)
            return
        if len(initial) < len(r.layout.subresources):
            raise DeviceError.invalid(f"initial data of {len(initial)} subresources; there are {len(r.layout.subresources)}")
        for part, up in zip(r.layout.subresources, initial, strict=False):
            await self._write(r, part.offset, _packed(r, part, up), part.size)

    async def _write(self, r: Resource, offset: int, data: npt.NDArray[np.uint8], size: int) -> None:
        """``size`` bytes at ``offset`` of a resource that no command names yet."""
        if data.nbytes < size:
            raise DeviceError.invalid(f"{data.nbytes} bytes of initial data; {size} are needed")
        allocation = r.placed
        if allocation.view is not None:
            allocation.view[offset : offset + size] = data[:size].data
            return
        for at in range(0, size, CHUNK_SIZE):
            length = min(CHUNK_SIZE, size - at)
            pending = self.core.unpredicated(
                lambda at=at, length=length: self.core.stage(allocation, offset + at, data[at : at + length])  # type: ignore[misc]
            )
            if pending is not None:
                await pending

    def OpenResource(self, hDevice: int, arg: D3D10DDIARG_OPENRESOURCE, hResource: int, hRTResource: int) -> None:
        try:
            shared = read_private(RESOURCE_PRIVATE, arg.pPrivateDriverData)
            info = arg.pOpenAllocationInfo[0]
            record = read_private(ALLOCATION_PRIVATE, info.pPrivateDriverData)
        except (ValueError, IndexError) as error:
            raise DeviceError.invalid(f"a shared resource that this driver did not make: {error}") from None
        names = ("dimension", "usage", "bind_flags", "map_flags", "misc_flags", "stride")
        dimension, usage, bind, map_flags, misc, stride = (int(shared[n]) for n in names)
        r = Resource(dimension, int(record["format"]), usage, bind, map_flags, misc, stride)
        r.shared, r.h_resource = True, hRTResource
        if r.is_buffer:
            r.width = r.size = int(record["size"])
        else:
            r.width, r.height, r.depth = (int(record[n]) for n in ("width", "height", "depth"))
            r.mips, r.slices, r.samples = (int(record[n]) for n in ("mips", "slices", "samples"))
            _lay_out(r)
        r.allocation = Allocation(info.hAllocation, r.size, hRTResource)
        r.instances = [r.allocation]
        self.core.memory.live += r.size
        self.resources[hResource] = r

    def DestroyResource(self, hDevice: int, hResource: int) -> Pending:
        r = self.get(hResource)
        del self.resources[hResource]
        core = self.core
        for k in list(r.keys):
            core.bind(k, None)
        if r.fill_counter is not None:
            core.counter_heap.give(r.fill_counter)
        primaries = [a for a in r.instances if r.primary and a.batch == core.batch.serial]
        for allocation in r.instances:
            core.memory.destroy(allocation)
        r.instances = []
        r.allocation = None
        r.mapped = 0
        # A primary belongs to the immediate context and is gone when the call returns.
        return core.flush() if primaries else None

    def CheckDirectFlipSupport(self, hDevice: int, hResource1: int, hResource2: int, Flags: int) -> bool:
        """11.1: whether the heads can go from scanning out one resource to the other without a visible change of mode."""
        one, other = self.get(hResource1), self.get(hResource2)
        return one.primary and other.primary and one.format == other.format and one.layout == other.layout


def _packed(r: Resource, part: Any, up: D3D10_DDIARG_SUBRESOURCE_UP) -> npt.NDArray[np.uint8]:
    """Initial data of a subresource in the hardware's layout."""
    info = FORMATS[Format(r.format)]
    row_bytes = (part.width + info.block_width - 1) // info.block_width * info.bytes_per_block
    packed = np.zeros(part.size, np.uint8)
    try:
        copy_rows(
            packed, 0, part.row_pitch, part.depth_pitch, as_bytes(up.pSysMem), up.SysMemPitch or row_bytes, up.SysMemSlicePitch,
            row_bytes, part.rows, part.depth,
        )  # fmt: skip
    except ValueError as error:
        raise DeviceError.invalid(f"initial data: {error}") from None
    return packed
