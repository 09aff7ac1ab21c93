"""Allocations: private data of any kind, sizes that are computed again, where they may live, handles, standard allocations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniport.allocation import (
    MAX_ALLOCATION,
    SCANOUT_BY_DDI_FORMAT,
    SCANOUT_FORMATS,
    Allocations,
    BadAllocation,
    parse,
    standard_allocation,
)
from miniport.segments import MemorySizes, choose, descriptors, preference
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONINFO,
    DXGK_ALLOCATIONINFOFLAGS,
    DXGK_SEGMENTFLAGS,
    DXGKARG_CREATEALLOCATION,
    DXGKARG_DESCRIBEALLOCATION,
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA,
)
from wddm.ddi.d3dkmdt import (
    D3DKMDT_SHADOWSURFACEDATA,
    D3DKMDT_SHAREDPRIMARYSURFACEDATA,
    D3DKMDT_STANDARDALLOCATION_TYPE,
)
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONPRIORITY, D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS
from wddm.hw.driver import ALLOCATION_PRIVATE, AllocationFlag, AllocationKind, private_record
from wddm.hw.formats import Format
from wddm.hw.layout import surface_layout
from wddm.hw.memory import APERTURE_BASE, LOCAL_BASE, PAGE_SIZE

OK = NTSTATUS.STATUS_SUCCESS
MEMORY = MemorySizes(256 << 20, 16 << 20, 1 << 30)
LOCAL, VISIBLE, APERTURE = 1, 2, 3


def texture(**changes: int) -> bytearray:
    fields = {
        "kind": AllocationKind.TEXTURE,
        "format": Format.R8G8B8A8_UNORM,
        "width": 100,
        "height": 50,
        "depth": 1,
        "mips": 1,
        "slices": 1,
        "samples": 1,
    }
    return private_record(ALLOCATION_PRIVATE, **(fields | changes))


def buffer(size: int = 1000, **changes: int) -> bytearray:
    return private_record(ALLOCATION_PRIVATE, **({"kind": AllocationKind.BUFFER, "size": size} | changes))


def allocations(why: list[str] | None = None) -> Allocations:
    return Allocations(MEMORY, lambda text: None if why is None else why.append(text))


def create(all_: Allocations, *data: bytes | bytearray | None) -> tuple[NTSTATUS, list[DXGK_ALLOCATIONINFO]]:
    infos = [DXGK_ALLOCATIONINFO(pPrivateDriverData=d, PrivateDriverDataSize=len(d or b"")) for d in data]
    return all_.create(DXGKARG_CREATEALLOCATION(infos, len(infos))), infos


# ----- private data -----------------------------------------------------------------------------------------------------------


def test_a_texture_has_the_size_of_its_layout_whatever_is_said() -> None:
    for said in (0, 1, 1 << 40):
        allocation = parse(texture(size=said, pitch=7, mips=3, slices=2), 8)
        layout = surface_layout(Format.R8G8B8A8_UNORM, 100, 50, 1, 3, 2)
        assert (allocation.size, allocation.pitch) == (layout.size, layout.subresources[0].row_pitch)


def test_a_buffer_has_the_size_that_is_said() -> None:
    assert parse(buffer(1000), 8).size == 1000
    assert parse(buffer(MAX_ALLOCATION), 8).size == MAX_ALLOCATION


@pytest.mark.parametrize(
    ("data", "why", "status"),
    [
        (None, "private data of 0 bytes, 80 expected", NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH),
        (b"", "private data of 0 bytes", NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH),
        (bytes(80), "magic 0x0", NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH),
        (bytes(buffer()[:4]) + b"\x09" + bytes(75), "version 9", NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH),
        (bytes(buffer()) + b"\0", "private data of 81 bytes", NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH),
        (bytes(buffer()[:-1]) + b"\1", "reserved", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(kind=0), "AllocationKind", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(format=66), "Format", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(0), r"size 0 is not in 1\.\.", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(MAX_ALLOCATION + 1), "size 4294963201", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(2**64 - 1), "size 18446744073709551615", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(flags=0x8000_0000), "flags 0x80000000 have bits that mean nothing", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(alignment=3), "alignment 3 is no power of two", NTSTATUS.STATUS_INVALID_PARAMETER),
        (buffer(alignment=8192), "alignment 8192", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(width=0), "width 0", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(slices=5000), "slices 5000", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(samples=3), "3 samples", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(format=Format.UNKNOWN), "no memory layout", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(width=16384, height=16384, depth=2048), "size ", NTSTATUS.STATUS_INVALID_PARAMETER),
        (texture(flags=AllocationFlag.PRIMARY, format=Format.R8_UNORM), "primary cannot be a texture of format R8", None),
        (buffer(flags=AllocationFlag.PRIMARY), "primary cannot be a buffer", None),
        (texture(flags=AllocationFlag.PRIMARY, samples=4), "primary with depth 1, 1 mips, 1 slices, 4 samples", None),
        (texture(flags=AllocationFlag.PRIMARY, mips=2), "primary with depth 1, 2 mips", None),
        (texture(flags=AllocationFlag.PRIMARY | AllocationFlag.CPU_ACCESS), "primary lives in local memory", None),
    ],
)
def test_what_describes_no_allocation_is_refused_by_name(data: bytes | None, why: str, status: NTSTATUS | None) -> None:
    with pytest.raises(BadAllocation, match=why) as info:
        parse(data, 8)
    assert info.value.status == status or status is None
    said: list[str] = []
    answer, _ = create(allocations(said), buffer(), data)
    assert answer == info.value.status
    assert said == [f"allocation 1: {info.value}"]


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.none(), st.binary(max_size=100)), st.dictionaries(st.sampled_from(ALLOCATION_PRIVATE.names), st.integers(0, 2**32 - 1)))
def test_any_bytes_are_an_allocation_within_its_limits_or_refused(raw: bytes | None, fields: dict[str, int]) -> None:
    fields.pop("reserved", None)
    for data in (raw, private_record(ALLOCATION_PRIVATE, **fields), texture(**fields), buffer(**fields)):
        try:
            allocation = parse(data, 8)
        except BadAllocation as error:
            assert str(error)
        else:
            assert 0 < allocation.size <= MAX_ALLOCATION


# ----- what the kernel is told ------------------------------------------------------------------------------------------------


def segments_of(info: DXGK_ALLOCATIONINFO) -> list[int]:
    return [s for place in range(5) if (s := info.PreferredSegment >> 6 * place & 0x1F)]


@pytest.mark.parametrize(
    ("data", "segments", "flags", "priority"),
    [
        (buffer(), [LOCAL, VISIBLE, APERTURE], "NONE", "NORMAL"),
        (texture(), [LOCAL, VISIBLE, APERTURE], "NONE", "NORMAL"),
        (texture(flags=AllocationFlag.RENDER_TARGET), [LOCAL, VISIBLE, APERTURE], "NONE", "HIGH"),
        (texture(flags=AllocationFlag.PRIMARY), [LOCAL, VISIBLE], "NONE", "HIGH"),
        (buffer(flags=AllocationFlag.CPU_ACCESS), [APERTURE], "CpuVisible", "NORMAL"),
        (buffer(flags=AllocationFlag.CPU_ACCESS | AllocationFlag.CPU_READ), [APERTURE], "Cached", "NORMAL"),
    ],
)
def test_an_allocation_goes_where_its_flags_say(data: bytearray, segments: list[int], flags: str, priority: str) -> None:
    status, (info,) = create(allocations(), data)
    assert status == OK
    assert segments_of(info) == segments
    assert info.SupportedReadSegmentSet == info.SupportedWriteSegmentSet == sum(1 << s - 1 for s in segments)
    wanted = DXGK_ALLOCATIONINFOFLAGS[flags]
    assert info.Flags == (wanted | DXGK_ALLOCATIONINFOFLAGS.CpuVisible if flags == "Cached" else wanted)
    assert info.AllocationPriority == D3DDDI_ALLOCATIONPRIORITY[priority]
    assert info.Size % PAGE_SIZE == 0
    assert info.Size >= parse(data, 0).size
    assert info.Alignment == PAGE_SIZE
    assert info.hAllocation


def test_segments_without_memory_are_nobodys_place() -> None:
    for sizes, local in ((MemorySizes(64, 64, 9), [VISIBLE]), (MemorySizes(64, 0, 9), [LOCAL])):
        assert choose(sizes, cpu_access=False, primary=True) == local
        assert choose(sizes, cpu_access=False, primary=False) == [*local, APERTURE]
    assert preference([3, 1]) == 3 | 1 << 6


def test_segments_cover_the_memory() -> None:
    local, visible, aperture = descriptors(MEMORY)
    assert (visible.BaseAddress, visible.Size, visible.Flags) == (LOCAL_BASE, MEMORY.visible, DXGK_SEGMENTFLAGS.CpuVisible)
    assert visible.CpuTranslatedAddress == LOCAL_BASE
    assert (local.BaseAddress, local.Size) == (LOCAL_BASE + MEMORY.visible, MEMORY.local - MEMORY.visible)
    assert (aperture.BaseAddress, aperture.Size) == (APERTURE_BASE, MEMORY.aperture)
    assert aperture.Flags == DXGK_SEGMENTFLAGS.Aperture | DXGK_SEGMENTFLAGS.CacheCoherent
    assert all(s.CommitLimit == s.Size for s in (local, visible, aperture))


# ----- handles ----------------------------------------------------------------------------------------------------------------


def test_creation_is_all_or_nothing() -> None:
    all_ = allocations()
    status, infos = create(all_, buffer(), texture(width=0))
    assert status == NTSTATUS.STATUS_INVALID_PARAMETER
    assert not infos[0].hAllocation
    assert not all_._allocations


def test_open_handles_are_the_devices_own_and_outlive_the_allocation() -> None:
    all_ = allocations()
    _, (info,) = create(all_, buffer(500))
    first, second = all_.open(info.hAllocation), all_.open(info.hAllocation)
    assert len({first, second, info.hAllocation, 0}) == 4
    assert all_.size(first) == all_.size(second) == 500
    assert all_.size(0) == all_.size(info.hAllocation) == 0
    assert all_.close([first]) == OK
    assert all_.size(first) == 0
    assert all_.destroy([info.hAllocation]) == OK
    assert all_.size(second) == 500  # the kernel closes it later
    assert all_.adapter_allocation(info.hAllocation) is None
    assert all_.open(info.hAllocation) == 0


def test_wrong_handles_change_nothing() -> None:
    all_ = allocations()
    _, (info,) = create(all_, buffer())
    opened = all_.open(info.hAllocation)
    assert all_.destroy([info.hAllocation, 12345]) == NTSTATUS.STATUS_INVALID_HANDLE
    assert all_.close([opened, 12345]) == NTSTATUS.STATUS_INVALID_HANDLE
    assert all_.size(opened) == 1000
    assert all_.device_allocation(opened) is all_.adapter_allocation(info.hAllocation)


def test_describe_tells_what_can_be_shown() -> None:
    all_ = allocations()
    _, (screen, other) = create(
        all_, texture(format=Format.B8G8R8A8_UNORM, refresh_numerator=60, refresh_denominator=1, samples=4), buffer()
    )
    asked = DXGKARG_DESCRIBEALLOCATION(screen.hAllocation)
    assert all_.describe(asked) == OK
    assert (asked.Width, asked.Height, asked.Format) == (100, 50, D3DDDIFORMAT.A8R8G8B8)
    assert asked.MultisampleMethod.NumSamples == 4
    assert asked.RefreshRate == D3DDDI_RATIONAL(60, 1)
    asked = DXGKARG_DESCRIBEALLOCATION(other.hAllocation)
    assert all_.describe(asked) == OK
    assert (asked.Format, asked.MultisampleMethod.NumSamples) == (D3DDDIFORMAT.UNKNOWN, 1)
    assert all_.describe(DXGKARG_DESCRIBEALLOCATION(1)) == NTSTATUS.STATUS_INVALID_HANDLE


# ----- standard allocations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", SCANOUT_BY_DDI_FORMAT)
def test_a_shared_primary_is_described_so_that_it_can_be_created(format: int) -> None:
    surface = D3DKMDT_SHAREDPRIMARYSURFACEDATA(1280, 720, D3DDDIFORMAT(format), D3DDDI_RATIONAL(60, 1), 0)
    arguments = DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA(D3DKMDT_STANDARDALLOCATION_TYPE.SHAREDPRIMARYSURFACE, surface)
    assert standard_allocation(arguments) == OK
    arguments.pAllocationPrivateDriverData = bytearray(arguments.AllocationPrivateDriverDataSize)
    assert standard_allocation(arguments) == OK
    assert arguments.ResourcePrivateDriverDataSize == 0
    made = parse(arguments.pAllocationPrivateDriverData, 8)
    assert (made.width, made.height, made.refresh) == (1280, 720, (60, 1))
    assert SCANOUT_FORMATS[made.format] == format
    record = np.frombuffer(arguments.pAllocationPrivateDriverData, ALLOCATION_PRIVATE)[0]
    assert (record["size"], record["pitch"]) == (made.size, made.pitch)


def test_other_standard_allocations_are_refused() -> None:
    kinds = D3DKMDT_STANDARDALLOCATION_TYPE

    def ask(kind: D3DKMDT_STANDARDALLOCATION_TYPE, surface: object) -> NTSTATUS:
        return standard_allocation(DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA(kind, surface))  # type: ignore[arg-type]

    def primary(*size: int, format: D3DDDIFORMAT = D3DDDIFORMAT.A8R8G8B8) -> D3DKMDT_SHAREDPRIMARYSURFACEDATA:
        return D3DKMDT_SHAREDPRIMARYSURFACEDATA(*size, format, D3DDDI_RATIONAL(60, 1), 0)

    shadow = D3DKMDT_SHADOWSURFACEDATA(1, 1, D3DDDIFORMAT.A8R8G8B8)
    assert ask(kinds.SHADOWSURFACE, shadow) == NTSTATUS.STATUS_NOT_SUPPORTED
    assert ask(kinds.SHAREDPRIMARYSURFACE, shadow) == NTSTATUS.STATUS_NOT_SUPPORTED
    assert ask(kinds.SHAREDPRIMARYSURFACE, primary(8, 8, format=D3DDDIFORMAT.P8)) == NTSTATUS.STATUS_INVALID_PARAMETER
    for size in ((0, 8), (8, 0), (20_000, 8)):
        assert ask(kinds.SHAREDPRIMARYSURFACE, primary(*size)) == NTSTATUS.STATUS_INVALID_PARAMETER
