"""Layout facts: members and offsets of the header's structures, sizes of array records, bits of flag words."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum, IntFlag
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import wddm.ddi
from wddm.ddi import d3d10umddi, d3dhal, d3dkmddi, d3dkmdt, d3dkmthk, d3dukmdt, d3dumddi, dxgiddi
from wddm.ddi.d3dukmdt import D3DDDI_OFFER_PRIORITY

# Structure, size on x64, members at their byte offsets, as the driver reference gives them.
DOCUMENTED = """\
D3D10DDIARG_OPENADAPTER 40 hRTAdapter@0 hAdapter@8 Interface@16 Version@20 pAdapterCallbacks@24 pAdapterFuncs@32
  pAdapterFuncs_2@32
D3D10DDIARG_CREATEDEVICE 88 hRTDevice@0 Interface@8 Version@12 pKTCallbacks@16 pDeviceFuncs@24 hDrvDevice@32
  DXGIBaseDDI@40 hRTCoreLayer@56 p11UMCallbacks@64 Flags@72 ppfnRetrieveSubObject@80
D3D11DDIARG_CREATEDEFERREDCONTEXT 40 p11ContextFuncs@0 hDrvContext@8 hRTCoreLayer@16 p11UMCallbacks@24 Flags@32
D3D11DDIARG_CREATERESOURCE 80 pMipInfoList@0 pInitialDataUP@8 ResourceDimension@16 Usage@20 BindFlags@24 MapFlags@28
  MiscFlags@32 Format@36 SampleDesc@40 MipLevels@48 ArraySize@52 pPrimaryDesc@56 ByteStride@64 DecoderBufferType@68
  TextureLayout@72
D3DHAL_DRAWPRIMITIVES2DATA 72 dwhContext@0 dwFlags@8 dwVertexType@12 lpDDCommands@16 dwCommandOffset@24
  dwCommandLength@28 lpDDVertex@32 lpVertices@32 dwVertexOffset@40 dwVertexLength@44 dwReqVertexBufSize@48
  dwReqCommandBufSize@52 lpdwRStates@56 dwVertexSize@64 ddrval@64 dwErrorOffset@68
D3DDDI_SYNCHRONIZATIONOBJECTINFO2 80 Type@0 Flags@4 SharedHandle@72
DXGI_DDI_ARG_PRESENT 56 hDevice@0 hSurfaceToPresent@8 SrcSubResourceIndex@16 hDstResource@24 DstSubResourceIndex@32
  pDXGIContext@40 Flags@48 FlipInterval@52
DXGIDDICB_PRESENT 592 hSrcAllocation@0 hDstAllocation@4 pDXGIContext@8 hContext@16 BroadcastContextCount@24
  BroadcastContext@32 BroadcastSrcAllocation@544 BroadcastDstAllocation@552 PrivateDriverDataSize@560
  pPrivateDriverData@568 bOptimizeForComposition@576 SyncIntervalOverrideValid@580 SyncIntervalOverride@584
DXGI_DDI_ARG_PRESENT1 80 hDevice@0 phSurfacesToPresent@8 SurfacesToPresent@16 hDstResource@24 DstSubResourceIndex@32
  pDXGIContext@40 Flags@48 FlipInterval@52 Reserved@56 pDirtyRects@64 DirtyRects@72 BackBufferMultiplicity@76
DXGI_GAMMA_CONTROL_CAPABILITIES 4116 ScaleAndOffsetSupported@0 MaxConvertedValue@4 MinConvertedValue@8
  NumGammaControlPoints@12 ControlPointPositions@16
DXGI_DDI_ARG_BLT 64 hDevice@0 hDstResource@8 DstSubresource@16 DstLeft@20 DstTop@24 DstRight@28 DstBottom@32
  hSrcResource@40 SrcSubresource@48 Flags@52 Rotate@56
DXGI_DDI_PRIMARY_DESC 44 Flags@0 VidPnSourceId@4 ModeDesc@8 DriverFlags@40
D3DDDICB_ALLOCATE 40 pPrivateDriverData@0 PrivateDriverDataSize@8 hResource@16 hKMResource@24 NumAllocations@28
  pAllocationInfo@32 pAllocationInfo2@32
D3DDDI_ALLOCATIONINFO 40 hAllocation@0 pSystemMem@8 pPrivateDriverData@16 PrivateDriverDataSize@24 VidPnSourceId@28
DXGK_ALLOCATIONINFO 88 pPrivateDriverData@0 PrivateDriverDataSize@8 Alignment@12 Size@16 PitchAlignedSize@24
  HintedBank@32 PreferredSegment@36 SupportedReadSegmentSet@40 SupportedWriteSegmentSet@44 EvictionSegmentSet@48
  MaximumRenamingListLength@52 PhysicalAdapterIndex@52 hAllocation@56 Flags@64 FlagsWddm2@64 pAllocationUsageHint@72
  AllocationPriority@80 Flags2@84
DXGK_SEGMENTDESCRIPTOR 56 BaseAddress@0 CpuTranslatedAddress@8 Size@16 NbOfBanks@24 pBankRangeTable@32 CommitLimit@40
  Flags@48
D3DDDICB_LOCK 48 hAllocation@0 PrivateDriverData@4 NumPages@8 pPages@16 pData@24 Flags@32 GpuVirtualAddress@40
D3DDDI_MAKERESIDENT 48 hPagingQueue@0 NumAllocations@4 AllocationList@8 PriorityList@16 Flags@24 PagingFenceValue@32
  NumBytesToTrim@40
D3DDDI_MAPGPUVIRTUALADDRESS 104 hPagingQueue@0 BaseAddress@8 MinimumAddress@16 MaximumAddress@24 hAllocation@32
  OffsetInPages@40 SizeInPages@48 Protection@56 DriverProtection@64 Reserved0@72 Reserved1@80 VirtualAddress@88
  PagingFenceValue@96
DXGK_GPUMMUCAPS 24 Value@0 PageTableUpdateMode@4 VirtualAddressBitCount@8 LeafPageTableSizeFor64KPagesInBytes@12
  PageTableLevelCount@16
DXGK_PAGE_TABLE_LEVEL_DESC 20 PageTableIndexBitCount@0 PageTableSegmentId@4 PagingProcessPageTableSegmentId@8
  PageTableSizeInBytes@12 PageTableAlignmentInBytes@16
DXGKARG_CREATEDEVICE 32 hDevice@0 Flags@8 pInfo@8 Pasid@16 hKmdProcess@24
DXGKARG_CREATECONTEXT 72 hContext@0 NodeOrdinal@8 EngineAffinity@12 Flags@16 pPrivateDriverData@24
  PrivateDriverDataSize@32 ContextInfo@36
DXGK_CONTEXTINFO 32 DmaBufferSize@0 DmaBufferSegmentSet@4 DmaBufferPrivateDataSize@8 AllocationListSize@12
  PatchLocationListSize@16 Reserved@20 Caps@24 PagingCompanionNodeId@28
D3DDDICB_CREATECONTEXT 96 NodeOrdinal@0 EngineAffinity@4 Flags@8 pPrivateDriverData@16 PrivateDriverDataSize@24
  hContext@32 pCommandBuffer@40 CommandBufferSize@48 pAllocationList@56 AllocationListSize@64 pPatchLocationList@72
  PatchLocationListSize@80 CommandBuffer@88
D3DDDICB_RENDER 680 CommandLength@0 CommandOffset@4 NumAllocations@8 NumPatchLocations@12 pNewCommandBuffer@16
  NewCommandBufferSize@24 pNewAllocationList@32 NewAllocationListSize@40 pNewPatchLocationList@48
  NewPatchLocationListSize@56 Flags@60 hContext@64 BroadcastContextCount@72 BroadcastContext@80 QueuedBufferCount@592
  NewCommandBuffer@600 pPrivateDriverData@608 PrivateDriverDataSize@616 MarkerLogType@620 RenderCBSequence@624
DXGKARG_RENDER 112 pCommand@0 CommandLength@8 pDmaBuffer@16 DmaSize@24 pDmaBufferPrivateData@32
  DmaBufferPrivateDataSize@40 pAllocationList@48 AllocationListSize@56 pPatchLocationListIn@64
  PatchLocationListInSize@72 pPatchLocationListOut@80 PatchLocationListOutSize@88 MultipassOffset@92
  DmaBufferSegmentId@96 DmaBufferPhysicalAddress@104
DXGKARG_PRESENT 168 pDmaBuffer@0 DmaSize@8 pDmaBufferPrivateData@16 DmaBufferPrivateDataSize@24 pAllocationList@32
  pAllocationInfo@32 pPresentMultiPlaneOverlayInfo@32 pPatchLocationListOut@40 PatchLocationListOutSize@48
  MultipassOffset@52 Color@56 DstRect@60 SrcRect@76 SubRectCnt@92 pDstSubRects@96 FlipInterval@104 Flags@108
  DmaBufferSegmentId@112 DmaBufferPhysicalAddress@120 Reserved@128 DmaBufferGpuVirtualAddress@136 NumSrcAllocations@144
  NumDstAllocations@148 PrivateDriverDataSize@152 pPrivateDriverData@160
DXGKARG_PATCH 120 hDevice@0 hContext@0 DmaBufferSegmentId@8 DmaBufferPhysicalAddress@16 pDmaBuffer@24 DmaBufferSize@32
  DmaBufferSubmissionStartOffset@36 DmaBufferSubmissionEndOffset@40 pDmaBufferPrivateData@48 DmaBufferPrivateDataSize@56
  DmaBufferPrivateDataSubmissionStartOffset@60 DmaBufferPrivateDataSubmissionEndOffset@64 pAllocationList@72
  AllocationListSize@80 pPatchLocationList@88 PatchLocationListSize@96 PatchLocationListSubmissionStart@100
  PatchLocationListSubmissionLength@104 SubmissionFenceId@108 Flags@112 EngineOrdinal@116
DXGKARG_SUBMITCOMMAND 96 hDevice@0 hContext@0 DmaBufferSegmentId@8 DmaBufferPhysicalAddress@16 DmaBufferSize@24
  DmaBufferSubmissionStartOffset@28 DmaBufferSubmissionEndOffset@32 pDmaBufferPrivateData@40 DmaBufferPrivateDataSize@48
  DmaBufferPrivateDataSubmissionStartOffset@52 DmaBufferPrivateDataSubmissionEndOffset@56 SubmissionFenceId@60
  VidPnSourceId@64 FlipInterval@68 Flags@72 EngineOrdinal@76 DmaBufferVirtualAddress@80 NodeOrdinal@88
DXGKARG_SETVIDPNSOURCEADDRESS 2112 VidPnSourceId@0 PrimarySegment@4 PrimaryAddress@8 hAllocation@16 ContextCount@24
  Context@32 Flags@552 Duration@556 PrimaryData@560 DriverPrivateDataSize@2096 pDriverPrivateData@2104
D3DKMDT_VIDEO_SIGNAL_INFO 56 VideoStandard@0 TotalSize@4 ActiveSize@12 VSyncFreq@20 HSyncFreq@28 PixelRate@40
  ScanLineOrdering@48
D3DKMDT_VIDPN_PRESENT_PATH 360 VidPnSourceId@0 VidPnTargetId@4 ImportanceOrdinal@8 ContentTransformation@12
  VisibleFromActiveTLOffset@28 VisibleFromActiveBROffset@36 VidPnTargetColorBasis@44 Content@64 GammaRamp@336
"""


def _modules() -> list[Any]:
    return [importlib.import_module(f"wddm.ddi.{module.name}") for module in pkgutil.iter_modules(wddm.ddi.__path__)]


def _classes() -> dict[str, type[Any]]:
    return {
        name: value
        for module in _modules()
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def _documented() -> Iterator[tuple[str, int, dict[str, int]]]:
    for entry in DOCUMENTED.replace("\n  ", " ").splitlines():
        name, size, *members = entry.split()
        yield name, int(size), {member: int(at) for member, at in (pair.split("@") for pair in members)}


CLASSES = _classes()
WITH_LAYOUT = sorted(name for name, cls in CLASSES.items() if hasattr(cls, "_LAYOUT_"))


@pytest.mark.parametrize(("name", "size", "members"), [pytest.param(*row, id=row[0]) for row in _documented()])
def test_offsets_are_the_documented_ones(name: str, size: int, members: dict[str, int]) -> None:
    cls = CLASSES[name]
    assert size == cls._SIZE_
    offsets = {member: at for member, at, _ in cls._LAYOUT_}
    assert offsets | members == offsets


@pytest.mark.parametrize("name", WITH_LAYOUT)
def test_layout_fits_the_class(name: str) -> None:
    """Members exist, start at their natural alignment, end inside the structure, and overlap only as a union."""
    cls = CLASSES[name]
    names = {f.name for f in fields(cls)}
    properties = {key for key, value in vars(cls).items() if isinstance(value, property)}
    ends: dict[int, int] = {}
    for member, at, size in cls._LAYOUT_:
        assert member in names | properties
        assert at % (size if size in (1, 2) else 4) == 0, f"{member} at {at} is not aligned"
        ends[at] = max(ends.get(at, 0), at + size)
    starts = sorted(ends)
    for start, following in pairwise(starts):
        assert ends[start] <= following, f"member at {start} runs into the one at {following}"
    assert ends[starts[-1]] <= getattr(cls, "_SIZE_", 1 << 16)


def test_every_structure_is_a_dataclass_with_slots() -> None:
    for name, cls in CLASSES.items():
        if issubclass(cls, Enum) or not is_dataclass(cls):
            continue
        assert "__slots__" in vars(cls), name
        assert cls.__doc__


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (d3dukmdt.D3DDDI_ALLOCATIONLIST_DTYPE, 8),
        (d3dukmdt.D3DDDI_PATCHLOCATIONLIST_DTYPE, 24),
        (d3dukmdt.DXGK_PTE_DTYPE, 16),
        (d3dkmddi.DXGK_ALLOCATIONLIST_DTYPE, 24),
        (d3dkmdt.D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE, 1536),
        (d3dkmdt.D3DDDI_GAMMA_RAMP_DXGI_1_DTYPE, 12324),
        (dxgiddi.DXGI_GAMMA_CONTROL_DTYPE, 12324),
        (d3dumddi.FORMATOP_DTYPE, 20),
        (d3d10umddi.D3D10_DDI_QUERY_DATA_TIMESTAMP_DISJOINT_DTYPE, 16),
        (d3d10umddi.D3D11_DDI_QUERY_DATA_PIPELINE_STATISTICS_DTYPE, 88),
        (d3d10umddi.D3D10_DDI_QUERY_DATA_SO_STATISTICS_DTYPE, 16),
    ],
)
def test_record_sizes(dtype: np.dtype[Any], size: int) -> None:
    assert dtype.itemsize == size


def test_record_offsets() -> None:
    kernel = d3dkmddi.DXGK_ALLOCATIONLIST_DTYPE
    assert kernel.fields is not None
    assert {name: kernel.fields[name][1] for name in kernel.names or ()} == {
        "hDeviceSpecificAllocation": 0,
        "Value": 8,
        "PhysicalAddress": 16,
    }
    patch = d3dukmdt.D3DDDI_PATCHLOCATIONLIST_DTYPE
    assert patch.fields is not None
    assert [patch.fields[name][1] for name in patch.names or ()] == [0, 4, 8, 12, 16, 20]


def test_list_words() -> None:
    assert d3dukmdt.allocation_list_value(WriteOperation=True) == 1
    assert d3dukmdt.allocation_list_value(DoNotRetireInstance=True, OfferPriority=D3DDDI_OFFER_PRIORITY.HIGH) == 0b01110
    assert d3dkmddi.dxgk_allocation_list_value(WriteOperation=True, SegmentId=2) == 0b101
    assert d3dkmddi.dxgk_allocation_list_value(SegmentId=31) == d3dkmddi.DXGK_ALLOCATIONLIST_SEGMENTID_MASK


def test_segment_preference_words() -> None:
    word = d3dukmdt.segment_preference(2, (1, True), 3)
    assert word == 2 | (1 | 0x20) << 6 | 3 << 12
    assert d3dukmdt.segment_preference_choices(word) == ((2, False), (1, True), (3, False))
    assert d3dukmdt.segment_preference_choices(0) == ()
    with pytest.raises(ValueError, match="five places"):
        d3dukmdt.segment_preference(1, 2, 3, 4, 5, 6)
    with pytest.raises(ValueError, match="segment id 32"):
        d3dukmdt.segment_preference(32)


def test_bank_preference_words() -> None:
    assert d3dkmddi.segment_bank_preference(3, (1, True)) == 3 | 0x81 << 8
    with pytest.raises(ValueError, match="four places"):
        d3dkmddi.segment_bank_preference(0, 1, 2, 3, 4)
    with pytest.raises(ValueError, match="bank 128"):
        d3dkmddi.segment_bank_preference(128)


def test_scheduling_caps_word() -> None:
    caps = d3dkmddi.vidsch_caps(
        d3dkmddi.DXGK_VIDSCHCAPS.MultiEngineAware | d3dkmddi.DXGK_VIDSCHCAPS.PreemptionAware, HwQueuePacketCap=6
    )
    assert int(caps) == 0x305
    assert d3dkmddi.vidsch_hw_queue_packet_cap(caps) == 6
    with pytest.raises(ValueError, match="HwQueuePacketCap 16"):
        d3dkmddi.vidsch_caps(d3dkmddi.DXGK_VIDSCHCAPS.NONE, HwQueuePacketCap=16)


def test_fault_error_code() -> None:
    assert d3dkmddi.fault_error_code(d3dkmddi.DXGK_GENERAL_ERROR_CODE.INVALID_INSTRUCTION) == 2
    assert d3dkmddi.fault_error_code(5, device_specific=True) == 11


FLAGS = """\
d3dukmdt.D3DDDICB_LOCKFLAGS ReadOnly WriteOnly DonotWait IgnoreSync LockEntire DonotEvict AcquireAperture Discard
  NoExistingReference UseAlternateVA IgnoreReadSync
d3dukmdt.D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS Shared NtSecuritySharing CrossAdapter TopOfPipeline NoSignal NoWait
  NoSignalMaxValueOnTdr NoGPUAccess SignalByKmd LocalMemoryPreferred
d3dukmdt.D3DDDI_CREATECONTEXTFLAGS NullRendering InitialData DisableGpuTimeout SynchronizationOnly HwQueueSupported NoKmdAccess
d3dumddi.D3DDDICB_RENDERFLAGS ResizeCommandBuffer ResizeAllocationList ResizePatchLocationList NullRendering
d3dkmddi.DXGK_SUBMITCOMMANDFLAGS Paging Present RedirectedPresent NullRendering Flip FlipWithNoWait ContextSwitch Resubmission
  VirtualMachineData
d3dkmddi.DXGK_PATCHFLAGS Paging Present RedirectedPresent NullRendering
d3dkmddi.DXGK_TRANSFERFLAGS Swizzle Unswizzle AllocationIsIdle TransferStart TransferEnd
d3dkmddi.DXGK_PRESENTFLAGS Blt ColorFill Flip FlipWithNoWait SrcColorKey DstColorKey LinearToSrgb Rotate FlipStereo
  FlipStereoTemporaryMono FlipStereoPreferRight BltStereoUseRight FlipWithMultiPlaneOverlay RedirectedFlip
d3dkmddi.DXGK_FLIPCAPS FlipOnVSyncWithNoWait FlipOnVSyncMmIo FlipInterval FlipImmediateMmIo FlipIndependent DdiPresentForIFlip
  FlipImmediateOnHSync
d3dkmddi.DXGK_CREATECONTEXTFLAGS SystemContext GdiContext VirtualAddressing SystemProtectedContext HwQueueSupported
d3dkmddi.DXGK_SEGMENTFLAGS Aperture Agp CpuVisible UseBanking CacheCoherent PitchAlignment PopulatedFromSystemMemory
  PreservedDuringStandby PreservedDuringHibernate PartiallyPreservedDuringHibernate DirectFlip Use64KBPages ReservedSysMem
  SupportsCpuHostAperture SupportsCachedCpuHostAperture ApplicationTarget VprSupported VprPreservedDuringStandby
  EncryptedPagingSupported LocalBudgetGroup NonLocalBudgetGroup PopulatedByReservedDDRByFirmware
d3dkmddi.DXGK_ALLOCATIONINFOFLAGS CpuVisible PermanentSysMem Cached Protected ExistingSysMem ExistingKernelSysMem
  FromEndOfSegment Swizzled Overlay Capture UseAlternateVA SynchronousPaging LinkMirrored LinkInstanced HistoryBuffer
d3dkmddi.DXGK_SETVIDPNSOURCEADDRESS_FLAGS ModeChange FlipImmediate FlipOnNextVSync FlipStereo FlipStereoTemporaryMono
  FlipStereoPreferRight SharedPrimaryTransition IndependentFlipExclusive MoveFlip
d3dkmthk.D3DKMT_PRESENTFLAGS Blt ColorFill Flip FlipDoNotFlip FlipDoNotWait FlipRestart DstRectValid SrcRectValid
  RestrictVidPnSource SrcColorKey DstColorKey LinearToSrgb PresentCountValid Rotate PresentToBitmap RedirectedFlip RedirectedBlt
  FlipStereo FlipStereoTemporaryMono FlipStereoPreferRight BltStereoUseRight PresentHistoryTokenOnly PresentRegionsValid
  PresentDDA ProtectedContentBlankedOut RemoteSession CrossAdapter DurationValid PresentIndirect PresentHMD
d3dkmthk.D3DKMT_CREATEALLOCATIONFLAGS CreateResource CreateShared NonSecure CreateProtected RestrictSharedAccess ExistingSysMem
  NtSecuritySharing ReadOnly CreateWriteCombined CreateCached SwapChainBackBuffer CrossAdapter OpenCrossAdapter
  PartialSharedCreation Zeroed WriteWatch StandardAllocation ExistingSection AllowNotZeroed PhysicallyContiguous NoKmdAccess
  SharedDisplayable
dxgiddi.DXGI_DDI_PRESENT_FLAGS Blt Flip PreferRight TemporaryMono AllowTearing AllowFlexibleRefresh NoScanoutTransform
dxgiddi.DXGI_DDI_ARG_BLT_FLAGS Resolve Convert Stretch Present
d3dhal.D3DHALDP2 USERMEMVERTICES EXECUTEBUFFER SWAPVERTEXBUFFER SWAPCOMMANDBUFFER REQVERTEXBUFSIZE REQCOMMANDBUFSIZE
  VIDMEMVERTEXBUF VIDMEMCOMMANDBUF
"""


@pytest.mark.parametrize("line", FLAGS.replace("\n  ", " ").splitlines())
def test_flags_take_consecutive_bits(line: str) -> None:
    where, *names = line.split()
    module, name = where.split(".")
    flags: type[IntFlag] = getattr(importlib.import_module(f"wddm.ddi.{module}"), name)
    assert {flag.name: int(flag) for flag in flags if flag.name in names} == {n: 1 << bit for bit, n in enumerate(names)}
    assert int(getattr(flags, "NONE", 0)) == 0


def test_flags_of_gaps() -> None:
    gaps = d3dkmddi.DXGK_ALLOCATIONINFOFLAGS_WDDM2_0
    assert gaps.MapApertureCpuVisible == 1 << 13
    assert gaps.HistoryBuffer == 1 << 14
    assert gaps.AccessedPhysically == 1 << 15
    assert gaps.CpuVisibleOnDemand == 1 << 18
    assert d3dkmddi.DXGK_VIDSCHCAPS.NativeGpuFence.value == 0x800
    assert d3d10umddi.D3D10_DDI_FORMAT_SUPPORT.NOT_SUPPORTED.value == 0x8000_0000
    assert d3d10umddi.D3D10_DDI_RESOURCE_MISC_FLAG.PHYSICALLY_CONTIGUOUS.value == 0x100_0000


def test_enumeration_values() -> None:
    assert [int(value) for value in d3dukmdt.D3DDDI_FLIPINTERVAL_TYPE] == list(range(6))
    assert [int(value) for value in dxgiddi.DXGI_DDI_FLIP_INTERVAL_TYPE] == list(range(6))
    assert [int(value) for value in d3dkmddi.DXGK_INTERRUPT_TYPE] == list(range(1, 21))
    assert [int(value) for value in d3dkmddi.DXGK_BUILDPAGINGBUFFER_OPERATION] == list(range(18))
    assert [int(value) for value in d3dkmthk.D3DKMT_DEVICEEXECUTION_STATE] == list(range(1, 8))
    assert [int(value) for value in d3dukmdt.D3DDDI_SYNCHRONIZATIONOBJECT_TYPE] == list(range(1, 7))
    assert [int(value) for value in d3dkmdt.D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY] == [0, 100, 200, 300, 400, 500]
    assert d3dkmddi.DXGK_QUERYADAPTERINFOTYPE.SCANOUT_CAPS.value == 0x21
    assert d3dukmdt.D3DDDI_ALLOCATIONPRIORITY.NORMAL.value == 0x7800_0000
    assert d3dukmdt.DXGKDDI_INTERFACE_VERSION.WDDM3_1.value == 0x10004
    assert d3dukmdt.D3DDDIFORMAT.DXT1.value == 0x3154_5844
    assert d3dukmdt.D3DDDIFORMAT.MULTI2_ARGB8.value == 0x3154_454D
    assert d3dukmdt.D3DDDI_ID_ALL == 0xFFFF_FFFD


def test_unions_carry_their_tag() -> None:
    buffer = np.zeros(64, np.uint8)
    fill = d3dkmddi.DXGK_BUILDPAGINGBUFFER_FILL(
        hAllocation=1, FillSize=4096, FillPattern=0, Destination=d3dkmddi.DXGK_PAGING_LOCATION(SegmentId=1)
    )
    arg = d3dkmddi.DXGKARG_BUILDPAGINGBUFFER(pDmaBuffer=buffer, DmaSize=64, Parameters=fill)
    assert arg.Operation is d3dkmddi.DXGK_BUILDPAGINGBUFFER_OPERATION.FILL
    done = d3dkmddi.DXGKARGCB_NOTIFY_INTERRUPT_DATA(d3dkmddi.DXGK_INTERRUPT_DMA_COMPLETED(SubmissionFenceId=7, NodeOrdinal=0))
    assert done.InterruptType is d3dkmddi.DXGK_INTERRUPT_TYPE.DMA_COMPLETED
    operations = {
        cls.Operation for name, cls in CLASSES.items() if name.startswith("DXGK_BUILDPAGINGBUFFER_") and hasattr(cls, "Operation")
    }
    assert operations == set(d3dkmddi.DXGK_BUILDPAGINGBUFFER_OPERATION)


def test_all_modules_are_listed() -> None:
    assert wddm.ddi.__doc__ is not None
    for module in _modules():
        assert f"``{module.__name__.rpartition('.')[2]}``" in wddm.ddi.__doc__
        assert module.__doc__
    assert d3dhal.D3DHAL_MAX_RSTATES == 256
