"""The adapter: start and stop, what it says about itself, devices, contexts, interrupts, explanations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miniport.adapter import ESCAPE_WHY
from miniport.kernel import Kernel as Services
from miniport.kernel import Unavailable
from miniport.private import DMA_PRIVATE_SIZE
from wddm.ddi import dispmprt
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONINFO,
    DXGK_ALLOCATIONLIST_DTYPE,
    DXGK_CREATECONTEXTFLAGS,
    DXGK_DRIVERCAPS,
    DXGK_ENGINE_TYPE,
    DXGK_FLIPCAPS,
    DXGK_OPENALLOCATIONINFO,
    DXGK_PRESENTFLAGS,
    DXGK_QUERYADAPTERINFOTYPE,
    DXGK_QUERYSEGMENTOUT,
    DXGK_VIDSCHCAPS,
    DXGKARG_CLOSEALLOCATION,
    DXGKARG_CREATEALLOCATION,
    DXGKARG_CREATECONTEXT,
    DXGKARG_CREATEDEVICE,
    DXGKARG_DESTROYALLOCATION,
    DXGKARG_ESCAPE,
    DXGKARG_GETNODEMETADATA,
    DXGKARG_OPENALLOCATION,
    DXGKARG_PRESENT,
    DXGKARG_QUERYADAPTERINFO,
    DXGKARG_RENDER,
    DXGKARG_SUBMITCOMMAND,
    vidsch_hw_queue_packet_cap,
)
from wddm.ddi.d3dukmdt import D3DDDI_PATCHLOCATIONLIST_DTYPE
from wddm.ddi.dispmprt import DXGKRNL_INTERFACE
from wddm.ddi.status import NTSTATUS
from wddm.hw.driver import (
    ADAPTER_PRIVATE,
    ALLOCATION_PRIVATE,
    CONTEXT_PRIVATE,
    AllocationKind,
    private_record,
    read_private,
)
from wddm.hw.interrupts import Fault, Interrupt, InterruptMessage, latch
from wddm.hw.packets import PACKET, Op
from wddm.hw.registers import NodeControl, NodeRegister, Register

from .rig import OK, Kernel, Rig, load

Info = DXGK_QUERYADAPTERINFOTYPE


@pytest.fixture
def rig() -> Rig:
    return Rig(heads=2)


# ----- start and stop -----------------------------------------------------------------------------------------------------------


def test_starting_finds_sources_and_monitors_and_makes_the_rings(rig: Rig) -> None:
    assert rig.started == (OK, 2, 2)
    assert rig.kernel.mapped == 1
    assert [m.PhysicalAddress for m in rig.kernel.memory] == [
        rig.registers.node(n, NodeRegister.RING_BASE_LO) | rig.registers.node(n, NodeRegister.RING_BASE_HI) << 32 for n in (0, 1)
    ]
    enabled = Interrupt.FENCE | Interrupt.PREEMPTED | Interrupt.FAULT | Interrupt.VSYNC
    assert rig.registers.values[Register.INTERRUPT_ENABLE] == enabled
    assert all(rig.registers.node(n, NodeRegister.CONTROL) == NodeControl.ENABLE for n in (0, 1))


def test_stopping_gives_everything_back_and_starting_again_works(rig: Rig) -> None:
    assert rig("StopDevice") == OK
    assert (rig.kernel.mapped, rig.kernel.memory) == (0, [])
    assert rig.registers.take() == [("INTERRUPT_ENABLE", 0), ("RESET", 0xDEAD_0001)]
    assert rig("StartDevice", dispmprt.DXGK_START_INFO(), rig.kernel.interface()) == (OK, 2, 2)
    assert rig.submit(1) == OK
    assert rig("StopDevice") == OK
    assert rig("RemoveDevice") == OK
    assert rig("RemoveDevice") == NTSTATUS.STATUS_INVALID_HANDLE


@pytest.mark.parametrize(
    ("fail", "status"),
    [
        ("bar", NTSTATUS.STATUS_UNSUCCESSFUL),
        ("map", NTSTATUS.STATUS_UNSUCCESSFUL),
        ("allocate 0", NTSTATUS.STATUS_NO_MEMORY),
        ("allocate 1", NTSTATUS.STATUS_NO_MEMORY),
    ],
)
def test_a_start_that_fails_leaves_nothing_behind(fail: str, status: NTSTATUS) -> None:
    kernel, table = Kernel(fail={fail}), load()
    assert table.DxgkDdiAddDevice is not None
    assert table.DxgkDdiStartDevice is not None
    _, adapter = table.DxgkDdiAddDevice(None)
    assert table.DxgkDdiStartDevice(adapter, dispmprt.DXGK_START_INFO(), kernel.interface()) == (status, 0, 0)
    assert (kernel.mapped, kernel.memory) == (0, [])


@pytest.mark.parametrize(
    ("register", "value"), [(Register.DEVICE_ID, 7), (Register.INTERFACE_VERSION, 0x0002_0000), (Register.NODE_COUNT, 1)]
)
def test_another_device_is_not_started(register: Register, value: int) -> None:
    kernel, table = Kernel(), load()
    kernel.registers.values[register] = value
    _, adapter = table.DxgkDdiAddDevice(None)  # type: ignore[misc]
    status, *_ = table.DxgkDdiStartDevice(adapter, dispmprt.DXGK_START_INFO(), kernel.interface())  # type: ignore[misc]
    assert status == NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH
    assert kernel.mapped == 0
    assert "is not for this driver" in kernel.take()[0][1]


def test_a_minor_revision_of_the_interface_is_none_of_our_business() -> None:
    kernel = Kernel()
    kernel.registers.values[Register.INTERFACE_VERSION] = 0x0001_0009
    kernel.registers.values[Register.NODE_COUNT] = 4
    table = load()
    _, adapter = table.DxgkDdiAddDevice(None)  # type: ignore[misc]
    assert table.DxgkDdiStartDevice(adapter, dispmprt.DXGK_START_INFO(), kernel.interface())[0] == OK  # type: ignore[misc]
    assert len(kernel.memory) == 2


def test_a_kernel_that_offers_too_little_is_refused() -> None:
    with pytest.raises(Unavailable, match="Dxgkrnl offers no DxgkCbGetDeviceInformation"):
        Services(DXGKRNL_INTERFACE())
    table = load()
    _, adapter = table.DxgkDdiAddDevice(None)  # type: ignore[misc]
    started = table.DxgkDdiStartDevice(adapter, dispmprt.DXGK_START_INFO(), DXGKRNL_INTERFACE())  # type: ignore[misc]
    assert started == (NTSTATUS.STATUS_INVALID_PARAMETER, 0, 0)


def test_two_adapters_of_one_driver_keep_apart() -> None:
    table = load()
    add, remove = table.DxgkDdiAddDevice, table.DxgkDdiRemoveDevice
    assert add is not None
    assert remove is not None
    handles = [add(None)[1] for _ in range(3)]
    assert remove(handles[0]) == OK
    handles.append(add(None)[1])
    assert len(set(handles)) == 4
    kernels = [Kernel() for _ in handles[1:]]
    devices = []
    for handle, kernel in zip(handles[1:], kernels, strict=True):
        assert table.DxgkDdiStartDevice(handle, dispmprt.DXGK_START_INFO(), kernel.interface())[0] == OK  # type: ignore[misc]
        arguments = DXGKARG_CREATEDEVICE(1)
        assert table.DxgkDdiCreateDevice(handle, arguments) == OK  # type: ignore[misc]
        devices.append(arguments.hDevice)
    contexts = []
    for device in devices:
        made = DXGKARG_CREATECONTEXT(1, 0, pPrivateDriverData=private_record(CONTEXT_PRIVATE, node=0))
        assert table.DxgkDdiCreateContext(device, made) == OK  # type: ignore[misc]
        contexts.append(made.hContext)
    assert len({*devices, *contexts, *handles}) == 10
    assert remove(handles[1]) == OK
    assert table.DxgkDdiDestroyContext(contexts[0]) == NTSTATUS.STATUS_INVALID_HANDLE  # type: ignore[misc]
    assert table.DxgkDdiDestroyDevice(devices[0]) == NTSTATUS.STATUS_INVALID_HANDLE  # type: ignore[misc]
    assert table.DxgkDdiDestroyContext(contexts[1]) == OK  # type: ignore[misc]


# ----- what the adapter is --------------------------------------------------------------------------------------------------------


def test_capabilities_are_consistent(rig: Rig) -> None:
    arguments = DXGKARG_QUERYADAPTERINFO(Info.DRIVERCAPS)
    assert rig("QueryAdapterInfo", arguments) == OK
    caps = arguments.pOutputData
    assert isinstance(caps, DXGK_DRIVERCAPS)
    assert caps.SchedulingCaps & DXGK_VIDSCHCAPS.PreemptionAware
    assert caps.SchedulingCaps & DXGK_VIDSCHCAPS.MultiEngineAware
    assert caps.FlipCaps & DXGK_FLIPCAPS.FlipOnVSyncMmIo  # preemption needs it
    assert vidsch_hw_queue_packet_cap(caps.SchedulingCaps) == 8
    assert (caps.NbAsymetricProcessingNodes, caps.PagingNode) == (2, 1)
    assert caps.MaxAllocationListSlotId >= 4096


def test_segments_are_told_in_two_calls(rig: Rig) -> None:
    answer = DXGK_QUERYSEGMENTOUT()
    assert rig("QueryAdapterInfo", DXGKARG_QUERYADAPTERINFO(Info.QUERYSEGMENT, pOutputData=answer)) == OK
    assert (answer.NbSegment, answer.pSegmentDescriptor, answer.PagingBufferSegmentId) == (3, None, 0)
    assert answer.PagingBufferPrivateDataSize == DMA_PRIVATE_SIZE
    answer.pSegmentDescriptor = []
    assert rig("QueryAdapterInfo", DXGKARG_QUERYADAPTERINFO(Info.QUERYSEGMENT, pOutputData=answer)) == OK
    assert [s.Size for s in answer.pSegmentDescriptor] == [240 << 20, 16 << 20, 1 << 30]
    wrong = DXGKARG_QUERYADAPTERINFO(Info.QUERYSEGMENT, pOutputData=None)
    assert rig("QueryAdapterInfo", wrong) == NTSTATUS.STATUS_INVALID_PARAMETER


def test_the_user_mode_driver_is_told_about_the_hardware(rig: Rig) -> None:
    arguments = DXGKARG_QUERYADAPTERINFO(Info.UMDRIVERPRIVATE, OutputDataSize=64)
    assert rig("QueryAdapterInfo", arguments) == OK
    record = read_private(ADAPTER_PRIVATE, arguments.pOutputData)
    assert (record["local_size"], record["visible_window"], record["node_count"], record["head_count"]) == (
        256 << 20,
        16 << 20,
        2,
        2,
    )
    small = DXGKARG_QUERYADAPTERINFO(Info.UMDRIVERPRIVATE, OutputDataSize=63)
    assert rig("QueryAdapterInfo", small) == NTSTATUS.STATUS_BUFFER_TOO_SMALL
    assert rig("QueryAdapterInfo", DXGKARG_QUERYADAPTERINFO(Info.GPUMMUCAPS)) == NTSTATUS.STATUS_NOT_SUPPORTED


def test_nodes_have_names(rig: Rig) -> None:
    found = []
    for node in (0, 1):
        answer = DXGKARG_GETNODEMETADATA()
        assert rig("GetNodeMetadata", node, answer) == OK
        found.append(answer.EngineType)
    assert found == [DXGK_ENGINE_TYPE.ENGINE_3D, DXGK_ENGINE_TYPE.COPY]
    assert rig("GetNodeMetadata", 2, DXGKARG_GETNODEMETADATA()) == NTSTATUS.STATUS_INVALID_PARAMETER


# ----- devices and contexts -------------------------------------------------------------------------------------------------------


def test_contexts_say_how_large_their_buffers_are(rig: Rig) -> None:
    device = rig.device()
    for flags, elements in ((DXGK_CREATECONTEXTFLAGS.NONE, 4096), (DXGK_CREATECONTEXTFLAGS.GdiContext, 256)):
        arguments = DXGKARG_CREATECONTEXT(1, 0, Flags=flags, pPrivateDriverData=private_record(CONTEXT_PRIVATE, node=0))
        assert rig.entry("CreateContext", device, arguments) == OK
        info = arguments.ContextInfo
        assert (info.DmaBufferSegmentSet, info.DmaBufferPrivateDataSize) == (0, DMA_PRIVATE_SIZE)
        assert info.AllocationListSize == elements
        assert info.PatchLocationListSize >= 2 * info.DmaBufferSize // PACKET.itemsize


@pytest.mark.parametrize(
    ("node", "affinity", "private", "status", "why"),
    [
        (2, 1, private_record(CONTEXT_PRIVATE, node=2), NTSTATUS.STATUS_INVALID_PARAMETER, "no engine 0x1 of node 2"),
        (0, 0, private_record(CONTEXT_PRIVATE), NTSTATUS.STATUS_INVALID_PARAMETER, "no engine 0x0"),
        (0, 2, private_record(CONTEXT_PRIVATE), NTSTATUS.STATUS_INVALID_PARAMETER, "no engine 0x2"),
        (0, 3, private_record(CONTEXT_PRIVATE), NTSTATUS.STATUS_INVALID_PARAMETER, "no engine 0x3"),
        (0, 1, None, NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH, "private data of 0 bytes"),
        (0, 1, bytes(16), NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH, "magic 0x0"),
        (0, 1, private_record(CONTEXT_PRIVATE, node=1), NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH, "for node 1"),
        (0, 1, private_record(CONTEXT_PRIVATE, flags=1), NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH, "flags 0x1"),
    ],
)
def test_contexts_that_cannot_be_are_refused(rig: Rig, node: int, affinity: int, private: bytes | None, status: int, why: str) -> None:
    arguments = DXGKARG_CREATECONTEXT(1, node, affinity, pPrivateDriverData=private)
    assert rig.entry("CreateContext", rig.device(), arguments) == status
    assert why in rig.kernel.take()[0][1]


def test_system_contexts_need_no_private_data_and_run_as_the_kernel(rig: Rig) -> None:
    arguments = DXGKARG_CREATECONTEXT(1, 1, Flags=DXGK_CREATECONTEXTFLAGS.SystemContext)
    assert rig.entry("CreateContext", rig.device(), arguments) == OK
    rig.submit(1, arguments.hContext, node=1)
    assert rig.new_entries(1, 0)[0]["context"] == 0
    rig.entry("DestroyContext", arguments.hContext)
    rig.submit(2, node=1)
    assert len(rig.new_entries(1, 0)) == 2  # nothing to forget


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=40), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_any_private_data_makes_a_context_or_none(data: bytes, node: int, affinity: int) -> None:
    rig = Rig()
    device = rig.device()
    for private in (data, bytes(private_record(CONTEXT_PRIVATE))[:8] + data[:8]):
        status = rig.entry("CreateContext", device, DXGKARG_CREATECONTEXT(1, node % 4, affinity % 4, pPrivateDriverData=private))
        assert status in (OK, NTSTATUS.STATUS_INVALID_PARAMETER, NTSTATUS.STATUS_GRAPHICS_DRIVER_MISMATCH)


def test_handles_that_are_none_are_told(rig: Rig) -> None:
    bad = NTSTATUS.STATUS_INVALID_HANDLE
    render = DXGKARG_RENDER.__new__(DXGKARG_RENDER)
    assert rig.entry("CreateContext", 5, DXGKARG_CREATECONTEXT(1, 0)) == bad
    assert rig.entry("DestroyContext", 5) == bad
    assert rig.entry("DestroyDevice", 5) == bad
    assert rig.entry("Render", 5, render) == bad
    assert rig.entry("RenderKm", 5, render) == bad
    assert rig.entry("Present", 5, DXGKARG_PRESENT.__new__(DXGKARG_PRESENT)) == bad
    assert rig.entry("OpenAllocation", 5, DXGKARG_OPENALLOCATION([])) == bad
    assert rig.entry("CloseAllocation", 5, DXGKARG_CLOSEALLOCATION([])) == bad
    device = rig.device()
    assert rig.entry("DestroyDevice", device) == OK
    assert rig.entry("DestroyDevice", device) == bad


# ----- allocations and buffers ------------------------------------------------------------------------------------------------------


def allocation(rig: Rig, size: int = 4096) -> int:
    record = private_record(ALLOCATION_PRIVATE, kind=AllocationKind.BUFFER, size=size)
    info = DXGK_ALLOCATIONINFO(pPrivateDriverData=record, PrivateDriverDataSize=len(record))
    assert rig("CreateAllocation", DXGKARG_CREATEALLOCATION([info], 1)) == OK
    return info.hAllocation


def opened(rig: Rig, device: int, *kernel_handles: int) -> tuple[int, list[int]]:
    infos = [DXGK_OPENALLOCATIONINFO(h) for h in kernel_handles]
    status = rig.entry("OpenAllocation", device, DXGKARG_OPENALLOCATION(infos, len(infos)))
    return status, [i.hDeviceSpecificAllocation for i in infos]


def test_opening_is_all_or_nothing(rig: Rig) -> None:
    device = rig.device()
    rig.kernel.handles = {0x40: allocation(rig), 0x80: allocation(rig)}
    status, handles = opened(rig, device, 0x40, 0x80)
    assert status == OK
    assert len(set(handles)) == 2
    status, nothing = opened(rig, device, 0x40, 0x99)
    assert (status, nothing) == (NTSTATUS.STATUS_INVALID_HANDLE, [0, 0])
    assert rig.entry("CloseAllocation", device, DXGKARG_CLOSEALLOCATION(handles)) == OK
    assert rig.entry("CloseAllocation", device, DXGKARG_CLOSEALLOCATION(handles)) == NTSTATUS.STATUS_INVALID_HANDLE
    assert rig("DestroyAllocation", DXGKARG_DESTROYALLOCATION(list(rig.kernel.handles.values()))) == OK
    assert rig("DestroyAllocation", DXGKARG_DESTROYALLOCATION([1])) == NTSTATUS.STATUS_INVALID_HANDLE


def render(packets: np.ndarray, handle: int = 0) -> DXGKARG_RENDER:
    listed = np.zeros(2, DXGK_ALLOCATIONLIST_DTYPE)
    listed["hDeviceSpecificAllocation"][1] = handle
    patches = np.zeros(0, D3DDDI_PATCHLOCATIONLIST_DTYPE)
    return DXGKARG_RENDER(
        packets.view(np.uint8),
        packets.nbytes,
        np.zeros(4096, np.uint8),
        4096,
        np.zeros(DMA_PRIVATE_SIZE, np.uint8),
        DMA_PRIVATE_SIZE,
        listed,
        2,
        patches,
        0,
        np.zeros(64, D3DDDI_PATCHLOCATIONLIST_DTYPE),
        64,
    )


def ops(*op: int) -> np.ndarray:
    packets = np.zeros(len(op), PACKET)
    packets["op"] = op
    return packets


def test_render_knows_its_node_and_says_why_it_refuses(rig: Rig) -> None:
    device = rig.device()
    graphics, copy = rig.context(device, 0), rig.context(device, 1)
    assert rig.entry("Render", graphics, render(ops(Op.DRAW))) == OK
    assert rig.kernel.take() == []
    assert rig.entry("Render", copy, render(ops(Op.DRAW))) == NTSTATUS.STATUS_ILLEGAL_INSTRUCTION
    assert rig.kernel.take() == [("why", "packet 0: the copy node takes no DRAW")]
    assert rig.entry("Render", graphics, render(ops(Op.DRAW, Op.WRITE_FENCE))) == NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION
    assert rig.kernel.take() == [("why", "packet 1: WRITE_FENCE is privileged")]


_ALLOWED = {
    OK,
    NTSTATUS.STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
    NTSTATUS.STATUS_PRIVILEGED_INSTRUCTION,
    NTSTATUS.STATUS_ILLEGAL_INSTRUCTION,
    NTSTATUS.STATUS_INVALID_PARAMETER,
    NTSTATUS.STATUS_INVALID_USER_BUFFER,
    NTSTATUS.STATUS_INVALID_HANDLE,
}
_KNOWN = st.sampled_from([int(op) for op in Op])


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(_KNOWN | st.integers(0, 0xFFFF), st.binary(min_size=62, max_size=62)), max_size=6),
    st.booleans(),
    st.binary(max_size=24 * 6),
    st.booleans(),
    st.integers(-1, 500),
    st.booleans(),
)
def test_any_command_buffer_is_translated_or_refused_in_words(rows, clean, patches, plausible, length, copy) -> None:
    """Whatever user mode writes: a status that DxgkDdiRender may answer, a sentence with every refusal, no exception."""
    rig = Rig()
    device = rig.device()
    rig.kernel.handles = {0x40: allocation(rig)}
    _, (handle,) = opened(rig, device, 0x40)
    commands = np.frombuffer(b"".join(op.to_bytes(2, "little") + rest for op, rest in rows), PACKET).copy()
    if clean:
        commands["address"] = commands["address2"] = 0
        commands["slot"] &= 1
    entries = np.frombuffer(patches[: len(patches) // 24 * 24], D3DDDI_PATCHLOCATIONLIST_DTYPE).copy()
    if plausible:
        entries["AllocationIndex"] %= 2
        entries["PatchOffset"] = entries["PatchOffset"] % 6 * 64 + 8
    a = render(commands, handle)
    a.CommandLength = length if not clean else commands.nbytes
    a.pPatchLocationListIn, a.PatchLocationListInSize = entries, len(entries)
    rig.kernel.take()
    status = rig.entry("Render", rig.context(device, int(copy)), a)
    assert status in _ALLOWED
    assert bool(rig.kernel.take()) == (status != OK)
    assert 0 <= a.DmaBufferUsed <= 4096


def test_render_km_answers_what_it_may(rig: Rig) -> None:
    context = rig.context(rig.device())
    for op in (Op.WRITE_FENCE, 0x3F):
        assert rig.entry("RenderKm", context, render(ops(op))) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert rig.entry("RenderKm", context, render(ops(Op.DRAW_INDIRECT))) == NTSTATUS.STATUS_INVALID_HANDLE
    assert rig.entry("RenderKm", context, render(ops(Op.DRAW))) == OK


def why(rig: Rig, device: int, context: int = 0, data: bytes = ESCAPE_WHY) -> tuple[int, bytes]:
    arguments = DXGKARG_ESCAPE(device, bytearray(data), len(data), hContext=context)
    return rig("Escape", arguments), bytes(arguments.pPrivateDriverData)


def test_a_device_hears_of_its_own_refusals_alone(rig: Rig) -> None:
    mine, other = rig.device(), rig.device()
    context = rig.context(mine)
    rig.entry("Render", context, render(ops(0x3F)))
    assert why(rig, mine) == (OK, b"packet 0: no opcode 0x3f")
    assert why(rig, 0, context) == (OK, b"packet 0: no opcode 0x3f")
    assert why(rig, other) == (OK, b"")
    rig.submit(1, context)
    rig.interrupt(InterruptMessage(Interrupt.FAULT, fence=1, fault=Fault.HANG, fault_packet=2))
    assert why(rig, mine) == (OK, b"the hardware refused packet 2: HANG")
    assert why(rig, other) == (OK, b"")


@given(st.binary(max_size=8))
def test_other_escapes_are_refused(data: bytes) -> None:
    rig = Rig()
    device = rig.device()
    if data != ESCAPE_WHY:
        assert why(rig, device, data=data) == (NTSTATUS.STATUS_INVALID_PARAMETER, data)
    assert why(rig, 12345)[0] == NTSTATUS.STATUS_INVALID_PARAMETER


def test_a_present_says_why_it_refuses(rig: Rig) -> None:
    context = rig.context(rig.device())
    listed = np.zeros(3, DXGK_ALLOCATIONLIST_DTYPE)
    arguments = DXGKARG_PRESENT(listed, DXGK_PRESENTFLAGS.Flip)
    assert rig.entry("Present", context, arguments) == NTSTATUS.STATUS_INVALID_PARAMETER
    assert rig.kernel.take() == [("why", "a flip has a source, no destination, and is nothing else")]


# ----- interrupts -----------------------------------------------------------------------------------------------------------------


def test_every_interrupt_notifies_then_queues_the_dpc(rig: Rig) -> None:
    rig.submit(1)
    rig.interrupt(InterruptMessage(Interrupt.FENCE, fence=1))
    notified, queued = rig.kernel.take()
    assert queued == "queue dpc"
    assert notified.SubmissionFenceId == 1
    rig("DpcRoutine")
    assert rig.kernel.take() == ["notify dpc"]


@pytest.mark.parametrize(
    "registers",
    [
        {Register.INTERRUPT_STATUS: 0, Register.INTERRUPT_SOURCE: 0},
        {Register.INTERRUPT_STATUS: 3, Register.INTERRUPT_SOURCE: 0},
        {Register.INTERRUPT_STATUS: 64, Register.INTERRUPT_SOURCE: 0},
        {Register.INTERRUPT_STATUS: 1, Register.INTERRUPT_SOURCE: 3},
        {Register.INTERRUPT_STATUS: 1, Register.INTERRUPT_SOURCE: 99},
        {Register.INTERRUPT_STATUS: 8, Register.INTERRUPT_SOURCE: 3},
        latch(InterruptMessage(Interrupt.RESET_DONE)),
    ],
)
def test_interrupts_that_are_not_ours_are_left_to_others(rig: Rig, registers: dict[int, int]) -> None:
    rig.registers.values.update(registers)
    assert rig("InterruptRoutine", 0) is False
    assert rig.kernel.take() == []


def test_unloading_is_possible(rig: Rig) -> None:
    assert rig.entry("Unload") is None
    assert isinstance(DXGKARG_SUBMITCOMMAND, type)
