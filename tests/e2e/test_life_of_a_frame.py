"""The life of a frame, as docs/life-of-a-frame.md tells it: exactly these events, in this order, in these processes.

The client waits for its fence before it presents, so that every event causes the next and the order across processes is one order.
What is not caused by the frame (vertical syncs that latch nothing) is left out; what belongs to it may neither be missing nor come
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.e2e.conftest import client, stack_of_processes
from tests.support.scenes import TRIANGLE, Simple
from wddm import trace

VSYNC = 8  #: the cause of a vertical sync's interrupt

START_UP = [
    # The runtime meets the user-mode driver, which asks the miniport what it runs on.
    ("runtime", "OpenAdapter10_2"),
    ("runtime", "pfnQueryAdapterInfoCb"),
    ("kernel", "D3DKMTQueryAdapterInfo"),
    ("kernel", "DxgkDdiQueryAdapterInfo"),
    ("runtime", "GetSupportedVersions"),  # how many
    ("runtime", "GetSupportedVersions"),  # which
    ("runtime", "GetCaps"),  # threading
    ("runtime", "GetCaps"),  # shader
    ("runtime", "GetCaps"),  # 3D pipeline
    # A device: first the kernel's, then the driver's, which makes a context and a fence.
    ("kernel", "D3DKMTCreateDevice"),
    ("kernel", "DxgkDdiCreateDevice"),
    ("runtime", "CalcPrivateDeviceSize"),
    ("runtime", "CreateDevice"),
    ("runtime", "pfnCreateContextCb"),
    ("kernel", "D3DKMTCreateContext"),
    ("kernel", "DxgkDdiCreateContext"),
    ("runtime", "pfnCreateSynchronizationObject2Cb"),
    ("kernel", "D3DKMTCreateSynchronizationObject"),
]

RESOURCE = [
    ("runtime", "CreateResource"),
    ("runtime", "pfnAllocateCb"),
    ("kernel", "D3DKMTCreateAllocation"),
    ("kernel", "DxgkDdiCreateAllocation"),
    ("kernel", "DxgkDdiOpenAllocation"),
]

INTERRUPT = [
    ("vgpu", "Interrupt"),
    ("kernel", "DxgkDdiInterruptRoutine"),
    ("kernel", "DxgkCbNotifyInterrupt"),
    ("kernel", "DxgkCbQueueDpc"),
    ("kernel", "DxgkDdiDpcRoutine"),
    ("kernel", "DxgkCbNotifyDpc"),
]

FRAME = [
    ("runtime", "Draw"),  # 1 appended to the command buffer
    ("runtime", "Flush"),  # 2 the driver decides to submit
    ("runtime", "pfnRenderCb"),  # 3
    ("runtime", "pfnSignalSynchronizationObject2Cb"),
    ("kernel", "D3DKMTRender"),
    ("kernel", "DxgkDdiRender"),  # 4 validated, translated
    ("kernel", "D3DKMTSignalSynchronizationObject"),  # the driver's fence
    ("kernel", "DxgkDdiSignalMonitoredFence"),
    ("kernel", "D3DKMTSignalSynchronizationObject"),  # the one the application waits for
    ("kernel", "DxgkDdiSignalMonitoredFence"),
    ("kernel", "DxgkDdiBuildPagingBuffer"),  # 5 for what must move
    ("kernel", "DxgkDdiPatch"),
    ("kernel", "DxgkDdiSubmitCommand"),  # 6 paging
    *INTERRUPT,
    ("kernel", "Retire"),
    ("kernel", "DxgkDdiPatch"),  # 7 final addresses
    ("kernel", "DxgkDdiSubmitCommand"),  # 8 with its fence
    *INTERRUPT,  # 9, 10
    ("kernel", "Retire"),  # 11
]

PRESENT = [
    ("runtime", "DXGI Present"),
    ("runtime", "pfnPresentCb"),
    ("kernel", "D3DKMTPresent"),
    ("kernel", "DxgkDdiPresent"),
    ("kernel", "DxgkDdiDescribeAllocation"),
    ("kernel", "DxgkDdiSetVidPnSourceAddress"),
    *INTERRUPT,  # the vertical sync that latched it
    ("kernel", "PresentRetired"),
]


def between(events: Sequence[trace.Event], first: str, last: str, names: Sequence[tuple[str, str]]) -> list[trace.Event]:
    """Events whose kind is in ``names``, from the last ``first`` before the first ``last`` that follows it, both included."""
    begin = next(i for i, e in enumerate(events) if e.name == first)
    end = next(i for i, e in enumerate(events) if i >= begin and e.name == last)
    return [e for e in events[begin : end + 1] if (e.process, e.name) in names]


def kinds(events: Sequence[trace.Event]) -> list[tuple[str, str]]:
    return [(e.process, e.name) for e in events]


def without_vsyncs(events: Sequence[trace.Event]) -> list[trace.Event]:
    """Drop the interrupts of vertical syncs, which go on whatever a frame does."""
    chain = {name for _, name in INTERRUPT}
    kept: list[trace.Event] = []
    serving_vsync = False
    for index, event in enumerate(events):
        if event.name == "Interrupt" and event.arguments["cause"] == VSYNC:
            continue
        if event.name == "DxgkDdiInterruptRoutine":
            # What it goes on to report tells which interrupt it serves.
            notified = next((e for e in events[index + 1 :] if e.name == "DxgkCbNotifyInterrupt"), None)
            serving_vsync = notified is None or notified.arguments["InterruptType"] == "CRTC_VSYNC"
        if event.name in chain and event.process == "kernel" and serving_vsync:
            continue
        kept.append(event)
    return kept


async def test_a_real_run_has_exactly_these_events(tmp_path: Path) -> None:
    async with stack_of_processes(trace_dir=tmp_path, refresh=5.0) as stack, client(stack) as gpu:
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=48, format=28)
        scene = await Simple.create(gpu, device=device, target=await chain.get_buffer(0), vertices=TRIANGLE)
        scene.draw(clear=(0, 0, 0, 1))
        await scene.ctx.wait_fence(scene.ctx.signal())
        await chain.present(1)
        for _ in range(3):
            await gpu.wait_for_vblank()
    events = trace.read(sorted(tmp_path.glob("*.jsonl")))

    start = between(events, "OpenAdapter10_2", "D3DKMTCreateSynchronizationObject", START_UP)
    assert kinds(start) == START_UP

    resource = between(events, "CreateResource", "DxgkDdiOpenAllocation", RESOURCE)
    assert kinds(resource) == RESOURCE

    frame = without_vsyncs(events)
    render = [i for i, e in enumerate(frame) if e.name == "Retire" and e.arguments["kind"] == "RENDER"]
    draw = next(i for i, e in enumerate(frame) if e.name == "Draw")
    lived = [e for e in frame[draw : render[0] + 1] if (e.process, e.name) in FRAME]
    # As many paging operations as allocations had to be made resident, then one buffer of them.
    paging = [e for e in lived if e.name == "DxgkDdiBuildPagingBuffer"]
    assert len(paging) >= 1
    lived = [e for e in lived if e not in paging[1:]]
    assert kinds(lived) == FRAME
    submitted = [e.arguments for e in lived if e.name == "DxgkDdiSubmitCommand"]
    assert submitted[0]["hContext"] == 0  # the system's
    assert submitted[1]["hContext"] != 0
    completed = [e.arguments["SubmissionFenceId"] for e in lived if e.name == "DxgkCbNotifyInterrupt"]
    assert completed == [arguments["SubmissionFenceId"] for arguments in submitted]

    begin = next(i for i, e in enumerate(events) if e.name == "DXGI Present")
    flip = next(i for i, e in enumerate(events) if i > begin and e.name == "DxgkDdiSetVidPnSourceAddress")
    end = next(i for i, e in enumerate(events) if i > flip and e.name == "PresentRetired")
    before = [e for e in without_vsyncs(events[begin : flip + 1]) if (e.process, e.name) in PRESENT]
    after = [e for e in events[flip + 1 : end + 1] if (e.process, e.name) in PRESENT]
    assert kinds([*before, *after]) == PRESENT
    latched = next(e for e in after if e.name == "DxgkCbNotifyInterrupt")
    assert latched.arguments["InterruptType"] == "CRTC_VSYNC"
    assert latched.arguments["PhysicalAddress"] == before[-1].arguments["PrimaryAddress"]
