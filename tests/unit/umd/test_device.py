"""The device: start-up, command buffers, renaming, fences, destruction, errors; against a kernel that writes everything down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.umd.fake_runtime import H_DEVICE, FakeRuntime
from umd.device import COMMAND_LIST_ENTRIES
from wddm.ddi import d3d10umddi as d3d
from wddm.ddi.d3dukmdt import RECT
from wddm.ddi.dxgiddi import (
    DXGI_DDI_ARG_BLT,
    DXGI_DDI_ARG_BLT_FLAGS,
    DXGI_DDI_ARG_PRESENT,
    DXGI_DDI_ARG_QUERYRESOURCERESIDENCY,
    DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES,
    DXGI_DDI_MODE_DESC,
    DXGI_DDI_PRESENT_FLAGS,
    DXGI_DDI_PRIMARY_DESC,
    DXGI_DDI_PRIMARY_DRIVER_FLAGS,
    DXGI_DDI_PRIMARY_FLAGS,
)
from wddm.ddi.dxgiformat import DXGI_FORMAT
from wddm.ddi.status import HRESULT
from wddm.dxbc.opcodes import Interpolation, Opcode, ProgramType, RegisterType, SystemValue
from wddm.dxbc.program import Declaration, Instruction, Program, cb, inp, out, register
from wddm.dxbc.tokens import encode
from wddm.hw.descriptors import bits_float
from wddm.hw.driver import AllocationFlag
from wddm.hw.isa import ShaderProgram
from wddm.hw.isa_check import check
from wddm.hw.packets import Op, Stage

B = d3d.D3D10_DDI_RESOURCE_BIND_FLAG
DYNAMIC, STAGING = d3d.D3D10_DDI_RESOURCE_USAGE.DYNAMIC, d3d.D3D10_DDI_RESOURCE_USAGE.STAGING
DISCARD, NO_OVERWRITE, READ = (
    d3d.D3D10_DDI_MAP.WRITE_DISCARD,
    d3d.D3D10_DDI_MAP.WRITE_NOOVERWRITE,
    d3d.D3D10_DDI_MAP.READ,
)
SIGNATURES = d3d.D3D10DDIARG_STAGE_IO_SIGNATURES()


def tokens(program: Program) -> Any:
    return np.frombuffer(encode(program), np.uint32)


def vertex_shader() -> Any:
    return tokens(
        Program(
            ProgramType.VERTEX,
            5,
            0,
            [
                Declaration(Opcode.DCL_CONSTANTBUFFER, register(RegisterType.CONSTANT_BUFFER, 0, 4)),
                Declaration(Opcode.DCL_INPUT, inp(0, mask="xyzw")),
                Declaration(Opcode.DCL_OUTPUT_SIV, out(0), system_value=SystemValue.POSITION),
            ],
            [Instruction(Opcode.ADD, [out(0), inp(0), cb(0, 1)]), Instruction(Opcode.RET)],
        )
    )


def pixel_shader() -> Any:
    return tokens(
        Program(
            ProgramType.PIXEL,
            5,
            0,
            [
                Declaration(Opcode.DCL_INPUT_PS, inp(1, mask="xyzw"), interpolation=Interpolation.LINEAR),
                Declaration(Opcode.DCL_OUTPUT, out(0)),
            ],
            [Instruction(Opcode.MOV, [out(0), inp(1)]), Instruction(Opcode.RET)],
        )
    )


async def scene(r: FakeRuntime) -> dict[str, int]:
    """Everything that a triangle needs, bound."""
    s: dict[str, int] = {}
    s["vb"] = await r.buffer(36, B.VERTEX_BUFFER, data=np.arange(9, dtype=np.float32))
    s["cb"] = await r.buffer(64, B.CONSTANT_BUFFER, data=np.arange(16, dtype=np.float32))
    s["rt"] = await r.texture(64, 64, bind=B.RENDER_TARGET)
    s["rtv"] = await r.target(s["rt"])
    s["vs"] = await r.create_shader("pfnCreateVertexShader", vertex_shader())
    s["ps"] = await r.create_shader("pfnCreatePixelShader", pixel_shader())
    layout = d3d.D3D10DDIARG_CREATEELEMENTLAYOUT([d3d.D3D10DDIARG_INPUT_ELEMENT_DESC(0, 0, DXGI_FORMAT.R32G32B32_FLOAT)], 1)
    s["layout"] = await r.create("pfnCreateElementLayout", layout)
    await r.call("pfnIaSetInputLayout", s["layout"])
    await r.call("pfnIaSetTopology", d3d.D3D10_DDI_PRIMITIVE_TOPOLOGY.TRIANGLELIST)
    await r.call("pfnIaSetVertexBuffers", 0, 1, [s["vb"]], [12], [0])
    await r.call("pfnVsSetShader", s["vs"])
    await r.call("pfnPsSetShader", s["ps"])
    await r.call("pfnVsSetConstantBuffers", 0, 1, [s["cb"]])
    await r.call("pfnSetViewports", 1, 0, [d3d.D3D10_DDI_VIEWPORT(0, 0, 64, 64)])
    await r.set_targets(s["rtv"])
    return s


@pytest.fixture
async def runtime() -> FakeRuntime:
    return await FakeRuntime().start()


async def test_versions_and_caps(runtime: FakeRuntime) -> None:
    a = runtime.adapter
    hr, count, _ = a.pfnGetSupportedVersions(1, None)  # type: ignore[misc]
    assert (hr, count) == (0, 3)
    assert a.pfnGetSupportedVersions(1, 1)[0] == 0x8007007A  # type: ignore[misc]
    assert 0x000B000A00020000 in a.pfnGetSupportedVersions(1, 3)[2]  # type: ignore[misc]
    caps = d3d.D3D10_2DDIARG_GETCAPS(d3d.D3D10_2DDICAPS_TYPE.D3D11DDICAPS_THREADING)
    assert a.pfnGetCaps(1, caps) == 0  # type: ignore[misc]
    assert caps.pData == 0


async def test_every_entry_is_filled_but_command_lists(runtime: FakeRuntime) -> None:
    unset = {f for f in d3d.D3D11DDI_DEVICEFUNCS.__dataclass_fields__ if f.startswith("pfn") and getattr(runtime.f, f) is None}
    assert unset == COMMAND_LIST_ENTRIES


async def test_a_triangle(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    await r.call("pfnClearRenderTargetView", s["rtv"], (0.0, 0.0, 0.2, 1.0))
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert r.errors == []
    (sub,) = r.submissions
    ops = sub.ops
    assert ops[0] is Op.COPY_BUFFER  # the vertex buffer's initial data
    assert ops[1:3] == [Op.SET_SURFACE, Op.CLEAR_COLOR]
    assert ops[-1] is Op.DRAW
    assert sub.packets["data"][-1][:4].tolist() == [3, 1, 0, 0]
    assert sub.fence == 1
    at = ops.index(Op.SET_CONSTANT_BUFFER)
    handle, offset = sub.patched(at)
    content = r.allocations[handle].pages[offset : offset + 64].view(np.float32)
    assert content.tolist() == list(range(16))
    shaders = [i for i, op in enumerate(ops) if op is Op.SET_SHADER]
    assert {int(sub.packets["slot"][i]) >> 8 for i in shaders} == {Stage.VERTEX, Stage.PIXEL}
    for i in shaders:
        handle, offset = sub.patched(i)
        size = int(sub.packets["extent"][i])
        check(ShaderProgram.from_bytes(r.allocations[handle].pages[offset : offset + size].tobytes()))
    target = ops.index(Op.SET_RENDER_TARGET)
    handle, _ = sub.patched(target)
    entry = sub.allocations[sub.allocations["hAllocation"] == handle]
    assert entry["Value"][0] & 1, "the target is written"
    assert not r.allocations[handle].flags & AllocationFlag.CPU_ACCESS


async def test_each_buffer_sets_all_state_again_and_nothing_twice(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    for _ in range(2):
        await r.call("pfnDraw", 3, 0)
        await r.call("pfnDraw", 3, 3)
        await r.call("pfnFlush")
    first, second = (s.ops for s in r.submissions)
    assert first[-2:] == second[-2:] == [Op.DRAW, Op.DRAW]
    assert set(first) - {Op.COPY_BUFFER} == set(second)
    assert second.count(Op.SET_SHADER) == 2
    assert r.amortized == 2


async def test_full_command_buffer_is_submitted() -> None:
    r = await FakeRuntime(command_bytes=64 * 32).start()
    await scene(r)
    for _ in range(100):
        await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert len(r.submissions) > 3
    assert all(len(s.packets) <= 32 for s in r.submissions)
    assert sum(s.ops.count(Op.DRAW) for s in r.submissions) == 100
    for s in r.submissions:
        assert Op.SET_SHADER in s.ops
        assert s.ops.index(Op.SET_SHADER) < s.ops.index(Op.DRAW)


async def test_full_allocation_list_is_submitted() -> None:
    r = await FakeRuntime(list_size=10).start()
    await scene(r)
    buffers = [await r.buffer(256, B.VERTEX_BUFFER) for _ in range(12)]
    for h in buffers:
        await r.call("pfnIaSetVertexBuffers", 0, 1, [h], [12], [0])
        await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert len(r.submissions) > 1
    assert sum(s.ops.count(Op.DRAW) for s in r.submissions) == 12
    assert r.errors == []


async def test_memory_budget_splits_submissions() -> None:
    r = await FakeRuntime(local_size=32 << 20).start()
    await scene(r)
    for _ in range(6):
        h = await r.buffer(6 << 20, B.VERTEX_BUFFER)
        await r.call("pfnIaSetVertexBuffers", 0, 1, [h], [12], [0])
        await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert len(r.submissions) >= 3
    assert sum(s.ops.count(Op.DRAW) for s in r.submissions) == 6


async def test_constant_updates_are_renamed(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    for value in range(4):
        data = np.full(16, value, np.float32)
        await r.call("pfnDefaultConstantBufferUpdateSubresourceUP", s["cb"], 0, None, data, 0, 0)
        await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    (sub,) = r.submissions
    seen = []
    for i, op in enumerate(sub.ops):
        if op is Op.SET_CONSTANT_BUFFER:
            handle, offset = sub.patched(i)
            seen.append(r.allocations[handle].pages[offset : offset + 64].view(np.float32)[0])
    assert seen == [0, 1, 2, 3]


async def test_partial_constant_update_keeps_the_rest(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    box = d3d.D3D10_DDI_BOX(4, 0, 0, 8, 1, 1)
    await r.call("pfnDefaultConstantBufferUpdateSubresourceUP", s["cb"], 0, box, np.float32([99]).tobytes(), 0, 0)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    handle, offset = sub.patched(sub.ops.index(Op.SET_CONSTANT_BUFFER))
    content = r.allocations[handle].pages[offset : offset + 64].view(np.float32)
    assert content.tolist() == [0, 99, *range(2, 16)]


async def test_content_survives_the_turn_of_the_ring(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    other = await r.buffer(32768, B.CONSTANT_BUFFER)
    await r.call("pfnDraw", 3, 0)
    for n in range(200):
        await r.call("pfnDefaultConstantBufferUpdateSubresourceUP", other, 0, None, bytes([n]) * 32768, 0, 0)
        await r.call("pfnFlush")
        r.complete()
    uploads = sum(1 for a in r.allocations.values() if a.flags & AllocationFlag.UPLOAD)
    assert uploads <= 3
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    handle, offset = sub.patched(sub.ops.index(Op.SET_CONSTANT_BUFFER))
    assert r.allocations[handle].pages[offset : offset + 64].view(np.float32).tolist() == list(range(16))


async def test_dynamic_constant_buffer_map(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    h = await r.buffer(16, B.CONSTANT_BUFFER, usage=DYNAMIC, map_flags=1)
    await r.call("pfnVsSetConstantBuffers", 0, 1, [h])
    pointers = []
    for n in range(3):
        out_ = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
        await r.call("pfnDynamicConstantBufferMapDiscard", h, 0, DISCARD, 0, out_)
        out_.pData[:] = n  # type: ignore[index]
        pointers.append(out_.pData.ctypes.data)  # type: ignore[union-attr]
        await r.call("pfnDynamicConstantBufferUnmap", h, 0)
        await r.call("pfnDraw", 3, 0)
    assert len(set(pointers)) == 3
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    places = [sub.patched(i) for i, op in enumerate(sub.ops) if op is Op.SET_CONSTANT_BUFFER]
    assert [r.allocations[a].pages[o] for a, o in places] == [0, 1, 2]


async def test_large_dynamic_buffer_renames_instances_and_no_overwrite_never_waits(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    size = 1 << 18
    h = await r.buffer(size, B.VERTEX_BUFFER, usage=DYNAMIC, map_flags=1)
    await r.call("pfnIaSetVertexBuffers", 0, 1, [h], [12], [0])
    seen = set()
    for _ in range(3):
        m = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
        await r.call("pfnDynamicIABufferMapDiscard", h, 0, DISCARD, 0, m)
        seen.add(m.pData.ctypes.data)  # type: ignore[union-attr]
        await r.call("pfnDynamicIABufferUnmap", h, 0)
        await r.call("pfnDraw", 3, 0)
        again = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
        await r.call("pfnDynamicIABufferMapNoOverwrite", h, 0, NO_OVERWRITE, 0, again)
        assert again.pData.ctypes.data == m.pData.ctypes.data  # type: ignore[union-attr]
        await r.call("pfnDynamicIABufferUnmap", h, 0)
    assert len(seen) == 3
    assert r.waits == []


async def test_map_of_a_busy_staging_texture(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    staging = await r.texture(64, 64, bind=0, usage=STAGING, MapFlags=2)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnResourceCopy", staging, s["rt"])
    out_ = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
    assert r.f.pfnResourceIsStagingBusy(H_DEVICE, staging)
    await r.call("pfnStagingResourceMap", staging, 0, READ, d3d.D3D10_DDI_MAP_FLAG.DONOTWAIT, out_)
    assert r.errors == [HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING]
    assert len(r.submissions) == 1, "what it waits for is on its way"
    r.errors.clear()
    await r.call("pfnStagingResourceMap", staging, 0, READ, 0, out_)
    assert r.errors == []
    assert r.waits == [1]
    assert (out_.RowPitch, out_.pData.nbytes) == (256, 256 * 64)  # type: ignore[union-attr]
    assert not r.f.pfnResourceIsStagingBusy(H_DEVICE, staging)


async def test_reading_what_is_only_read_by_the_gpu_does_not_wait(runtime: FakeRuntime) -> None:
    r = runtime
    staging = await r.buffer(256, 0, usage=STAGING, map_flags=3)
    target = await r.buffer(256, B.VERTEX_BUFFER)
    await r.call("pfnResourceCopy", target, staging)
    out_ = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
    await r.call("pfnStagingResourceMap", staging, 0, READ, 0, out_)
    assert r.waits == []
    await r.call("pfnStagingResourceMap", staging, 0, d3d.D3D10_DDI_MAP.WRITE, 0, out_)
    assert r.waits == [1]


async def test_destruction_waits_for_the_submission(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    handle = next(h for h, a in r.allocations.items() if a.flags & AllocationFlag.RENDER_TARGET)
    await r.call("pfnDraw", 3, 0)
    await r.set_targets()
    await r.call("pfnDestroyResource", s["rt"])
    assert r.freed == []
    await r.call("pfnFlush")
    assert r.freed == [handle]
    assert r.log.index("render") < r.log.index("deallocate")


async def test_flush_without_commands_frees(runtime: FakeRuntime) -> None:
    r = runtime
    h = await r.texture(16, 16)
    await r.call("pfnDestroyResource", h)
    await r.call("pfnFlush")
    assert len(r.freed) == 1
    assert r.submissions == []


async def test_full_queue_is_passed_upward(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    await r.call("pfnDraw", 3, 0)
    r.full_queue = True
    result = r.f.pfnFlush(H_DEVICE)
    assert result is not None
    await result
    assert r.log[-1] == "render waited"
    assert r.submissions[-1].fence == 1


async def test_failed_submission_removes_the_device(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    await r.call("pfnDraw", 3, 0)
    r.render_result = int(HRESULT.D3DDDIERR_DEVICEREMOVED)
    await r.call("pfnFlush")
    assert r.errors == [HRESULT.D3DDDIERR_DEVICEREMOVED]


async def test_errors_stay_within_the_category(runtime: FakeRuntime) -> None:
    r = runtime
    await r.create_shader("pfnCreateVertexShader", np.array([0x00010050, 3, 0xFFFF], np.uint32))
    assert r.errors == [HRESULT.E_OUTOFMEMORY]
    await r.call("pfnResourceUpdateSubresourceUP", 0xDEAD, 0, None, b"", 0, 0)
    assert r.errors[-1] == HRESULT.D3DDDIERR_DEVICEREMOVED
    r.fail_allocate = int(HRESULT.D3DDDIERR_DEVICEREMOVED)
    await r.texture(8, 8)
    assert r.errors[-1] == HRESULT.D3DDDIERR_DEVICEREMOVED
    r.fail_allocate = int(HRESULT.E_OUTOFMEMORY)
    await r.texture(8, 8)
    assert r.errors[-1] == HRESULT.E_OUTOFMEMORY


async def test_present_submits_first_and_passes_the_context_on(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    await r.call("pfnDraw", 3, 0)
    token = object()
    arg = DXGI_DDI_ARG_PRESENT(H_DEVICE, s["rt"], DXGI_DDI_PRESENT_FLAGS.Flip, pDXGIContext=token)
    assert await r.call_dxgi("pfnPresent", arg) == 0
    assert r.log[-2:] == ["render", "present"]
    assert r.presents[0].pDXGIContext is token
    assert r.presents[0].hContext == 0xC0


async def test_rotation_of_identities(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    targets = [await r.texture(64, 64, bind=B.RENDER_TARGET | B.PRESENT) for _ in range(3)]
    view = await r.target(targets[0])
    await r.set_targets(view)
    seen = []
    for _ in range(4):
        await r.call("pfnDraw", 3, 0)
        await r.call("pfnFlush")
        sub = r.submissions[-1]
        seen.append(sub.patched(sub.ops.index(Op.SET_RENDER_TARGET))[0])
        arg = DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES(H_DEVICE, targets, 3)
        assert await r.call_dxgi("pfnRotateResourceIdentities", arg) == 0
    assert len(set(seen)) == 3
    assert seen[3] == seen[0]
    await r.call("pfnDraw", 3, 0)
    assert await r.call_dxgi("pfnRotateResourceIdentities", DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES(H_DEVICE, targets, 3)) == 0
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert r.submissions[-1].ops.count(Op.SET_RENDER_TARGET) == 2, "a bound view follows at once"


async def test_primaries(runtime: FakeRuntime) -> None:
    r = runtime
    mode = DXGI_DDI_MODE_DESC(64, 64, DXGI_FORMAT.R8G8B8A8_UNORM)
    good = DXGI_DDI_PRIMARY_DESC(DXGI_DDI_PRIMARY_FLAGS.OPTIONAL, 0, mode)
    await r.texture(64, 64, bind=B.RENDER_TARGET | B.PRESENT, pPrimaryDesc=good)
    assert good.DriverFlags == 0
    assert any(a.primary for a in r.allocations.values())
    optional = DXGI_DDI_PRIMARY_DESC(DXGI_DDI_PRIMARY_FLAGS.OPTIONAL, 0, mode)
    await r.texture(
        64, 64, bind=B.RENDER_TARGET | B.PRESENT, pPrimaryDesc=optional, SampleDesc=d3d.DXGI_SAMPLE_DESC(4)
    )
    assert optional.DriverFlags == DXGI_DDI_PRIMARY_DRIVER_FLAGS.NO_SCANOUT
    assert r.errors == []
    front = DXGI_DDI_PRIMARY_DESC(DXGI_DDI_PRIMARY_FLAGS.NONE, 0, mode)
    await r.texture(64, 64, bind=B.PRESENT, pPrimaryDesc=front, SampleDesc=d3d.DXGI_SAMPLE_DESC(4))
    assert front.DriverFlags == DXGI_DDI_PRIMARY_DRIVER_FLAGS.NO_SCANOUT
    assert r.errors == [HRESULT.DXGI_DDI_ERR_UNSUPPORTED]


async def test_residency(runtime: FakeRuntime) -> None:
    r = runtime
    h = await r.texture(16, 16)
    arg = DXGI_DDI_ARG_QUERYRESOURCERESIDENCY(H_DEVICE, [h], 1)
    assert await r.call_dxgi("pfnQueryResourceResidency", arg) == 0
    assert [int(s) for s in arg.pStatus] == [1]


async def test_blt_with_resolve_goes_through_a_surface_of_its_own(runtime: FakeRuntime) -> None:
    r = runtime
    source = await r.texture(32, 32, bind=B.RENDER_TARGET | B.PRESENT, SampleDesc=d3d.DXGI_SAMPLE_DESC(4))
    target = await r.texture(64, 64, bind=B.RENDER_TARGET, format=87)
    arg = DXGI_DDI_ARG_BLT(
        H_DEVICE, target, source, 0, 0, 64, 64, Flags=DXGI_DDI_ARG_BLT_FLAGS.Resolve | DXGI_DDI_ARG_BLT_FLAGS.Stretch
    )
    assert await r.call_dxgi("pfnBlt", arg) == 0
    await r.call("pfnFlush")
    assert r.submissions[-1].ops == [Op.SET_SURFACE, Op.SET_SURFACE, Op.RESOLVE, Op.SET_SURFACE, Op.SET_SURFACE, Op.BLT]
    assert len(r.freed) == 1


async def test_query_over_several_submissions(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    q = await r.create("pfnCreateQuery", d3d.D3D10DDIARG_CREATEQUERY(d3d.D3D10DDI_QUERY.OCCLUSION))
    await r.call("pfnQueryBegin", q)
    for _ in range(3):
        await r.call("pfnDraw", 3, 0)
        await r.call("pfnFlush")
    await r.call("pfnQueryEnd", q)
    data = bytearray(8)
    await r.call("pfnQueryGetData", q, data, 8, 0)
    assert r.errors == [HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING]
    for sub in r.submissions:
        assert sub.ops.count(Op.QUERY_BEGIN) == sub.ops.count(Op.QUERY_END) == 1
        handle, offset = sub.patched(sub.ops.index(Op.QUERY_END))
        r.allocations[handle].pages[offset : offset + 16].view(np.uint64)[:] = (1, 10)
    r.complete()
    r.errors.clear()
    await r.call("pfnQueryGetData", q, data, 8, 0)
    assert r.errors == []
    assert int.from_bytes(data, "little") == 10 * len(r.submissions)


async def test_event_query(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    q = await r.create("pfnCreateQuery", d3d.D3D10DDIARG_CREATEQUERY(d3d.D3D10DDI_QUERY.EVENT))
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnQueryEnd", q)
    data = bytearray(4)
    flags = d3d.D3D10_DDI_GET_DATA_FLAG.DO_NOT_FLUSH
    await r.call("pfnQueryGetData", q, data, 4, flags)
    assert r.submissions == []
    await r.call("pfnQueryGetData", q, data, 4, 0)
    assert len(r.submissions) == 1
    assert r.errors == [HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING] * 2
    r.complete()
    await r.call("pfnQueryGetData", q, data, 4, 0)
    assert data[0] == 1
    assert len(r.errors) == 2


async def test_predication_lets_uploads_pass(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    q = await r.create("pfnCreateQuery", d3d.D3D10DDIARG_CREATEQUERY(d3d.D3D10DDI_QUERY.OCCLUSIONPREDICATE))
    await r.call("pfnQueryBegin", q)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnQueryEnd", q)
    await r.call("pfnSetPredication", q, False)
    await r.call("pfnClearRenderTargetView", s["rtv"], (0.0,) * 4)
    await r.buffer(4096, B.VERTEX_BUFFER, data=bytes(4096))
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    marks = [
        (op, int(sub.packets["arg"][i]), int(sub.packets["extent"][i]))
        for i, op in enumerate(sub.ops)
        if op in (Op.SET_PREDICATION, Op.CLEAR_COLOR, Op.COPY_BUFFER, Op.DRAW)
    ]
    tail = marks[marks.index((Op.SET_PREDICATION, 3, 8)) :]
    assert [m[0] for m in tail] == [
        Op.SET_PREDICATION,
        Op.CLEAR_COLOR,
        Op.SET_PREDICATION,
        Op.COPY_BUFFER,
        Op.SET_PREDICATION,
        Op.DRAW,
    ]
    assert [m[2] for m in tail if m[0] is Op.SET_PREDICATION] == [8, 0, 8]


async def test_update_of_a_texture_box(runtime: FakeRuntime) -> None:
    r = runtime
    h = await r.texture(64, 64, mips=3)
    box = d3d.D3D10_DDI_BOX(4, 8, 0, 12, 10, 1)
    data = np.arange(64, dtype=np.uint8)
    await r.call("pfnResourceUpdateSubresourceUP", h, 1, box, data, 32, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    assert sub.ops == [Op.SET_SURFACE, Op.SET_SURFACE, Op.COPY_REGION]
    assert sub.packets["data"][2].tolist() == [1, 4 | 8 << 16, 0, 0, 0, 1 << 16, 8 | 2 << 16, 1]
    handle, offset = sub.patched(1)
    rows = r.allocations[handle].pages[offset : offset + 128].reshape(2, 64)
    assert rows[0, :32].tolist() == list(range(32))
    assert rows[1, :32].tolist() == list(range(32, 64))


async def test_an_idle_gpu_is_given_what_is_recorded() -> None:
    r = await FakeRuntime(command_bytes=1 << 20, auto_complete=True).start()
    await scene(r)
    for _ in range(5000):
        await r.call("pfnDraw", 3, 0)
    assert [len(s.ops) for s in r.submissions] == [4096]
    r.auto_complete = False  # from here on it is busy
    for _ in range(8000):
        await r.call("pfnDraw", 3, 0)
    assert len(r.submissions) == 2
    r.complete()
    for _ in range(4096):
        await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    assert len(r.submissions) == 4
    assert len(r.submissions[2].ops) > 4096, "it was busy when there were so many"
    assert sum(s.ops.count(Op.DRAW) for s in r.submissions) == 5000 + 8000 + 4096
    for s in r.submissions:  # each sets its own state
        assert s.ops[0] is not Op.DRAW
        assert Op.SET_SHADER in s.ops
    assert r.errors == []


async def test_large_updates_go_in_pieces(runtime: FakeRuntime) -> None:
    r = runtime
    h = await r.buffer(3 << 20, B.VERTEX_BUFFER, data=np.zeros(3 << 20, np.uint8))
    await r.call("pfnResourceUpdateSubresourceUP", h, 0, None, np.ones(3 << 20, np.uint8), 0, 0)
    t = await r.texture(1024, 1024)
    await r.call("pfnResourceUpdateSubresourceUP", t, 0, None, np.ones(4 << 20, np.uint8), 4096, 0)
    box = d3d.D3D10_DDI_BOX(0, 0, 0, 1023, 1024, 1)
    await r.call("pfnResourceUpdateSubresourceUP", t, 0, box, np.ones(4 << 20, np.uint8), 4096, 0)
    await r.call("pfnFlush")
    assert r.errors == []
    ops = [op for s in r.submissions for op in s.ops]
    assert ops.count(Op.COPY_BUFFER) == 3 + 3 + 4, "initial data, a buffer, whole rows of a texture"
    assert ops.count(Op.COPY_REGION) >= 4, "parts of rows"


async def test_copy_to_a_constant_buffer_gives_it_a_home(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    source = await r.buffer(64, 0, usage=STAGING, map_flags=3)
    await r.call("pfnResourceCopyRegion", s["cb"], 0, 16, 0, 0, source, 0, d3d.D3D10_DDI_BOX(0, 0, 0, 16, 1, 1))
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    home, offset = sub.patched(sub.ops.index(Op.SET_CONSTANT_BUFFER))
    assert offset == 0
    assert not r.allocations[home].flags & AllocationFlag.CPU_ACCESS
    copies = [i for i, op in enumerate(sub.ops) if op is Op.COPY_BUFFER]
    assert [sub.patched(i) for i in copies[-2:]] == [(home, 0), (home, 16)]
    await r.call("pfnDefaultConstantBufferUpdateSubresourceUP", s["cb"], 0, None, bytes(64), 0, 0)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    assert sub.patched(sub.ops.index(Op.SET_CONSTANT_BUFFER))[0] != home
    assert home in r.freed


async def test_unordered_views_with_counters_and_clears(runtime: FakeRuntime) -> None:
    r = runtime
    h = await r.buffer(256, B.UNORDERED_ACCESS, ByteStride=16, MiscFlags=0x40)
    flags = d3d.D3D11_DDI_BUFFER_UAV_FLAG.COUNTER
    arg = d3d.D3D11DDIARG_CREATEUNORDEREDACCESSVIEW(
        h,
        DXGI_FORMAT.UNKNOWN,
        d3d.D3D10DDIRESOURCE_TYPE.BUFFER,
        Buffer=d3d.D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW(2, 8, flags),
    )
    v = await r.create("pfnCreateUnorderedAccessView", arg)
    compute = Program(
        ProgramType.COMPUTE, 5, 0, [Declaration(Opcode.DCL_THREAD_GROUP, thread_group=(1, 1, 1))], [Instruction(Opcode.RET)]
    )
    shader = next(r.handles)
    await r.call("pfnCreateComputeShader", tokens(compute), shader, 0)
    await r.call("pfnDispatch", 1, 1, 1)  # without a shader: nothing
    await r.call("pfnCsSetShader", shader)
    await r.call("pfnClearUnorderedAccessViewUint", v, (7, 0, 0, 0))
    await r.call("pfnCsSetUnorderedAccessViews", 0, 1, [v], [5])
    await r.call("pfnDispatch", 1, 2, 3)
    count = await r.buffer(64, B.VERTEX_BUFFER)
    await r.call("pfnCopyStructureCount", count, 4, v)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    assert sub.ops[:2] == [Op.FILL_BUFFER, Op.FILL_BUFFER]
    assert set(sub.ops[2:4]) == {Op.SET_UAV, Op.SET_SHADER}
    assert sub.ops[4:] == [Op.DISPATCH, Op.COPY_BUFFER]
    assert sub.patched(0)[1] == 32
    assert int(sub.packets["extent"][0]) == 128
    assert int(sub.packets["data"][1][0]) == 5
    assert sub.patched(sub.ops.index(Op.SET_UAV), second=True) == sub.patched(1) == sub.patched(5, second=True)
    assert sub.packets["data"][4][:3].tolist() == [1, 2, 3]


async def test_stream_output_without_a_geometry_shader(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    arg = d3d.D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT(
        None, [d3d.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY(0, 0, 0, 15)], 1, [16], 1, 0xFFFFFFFF
    )
    gs = await r.create("pfnCreateGeometryShaderWithStreamOutput", arg, SIGNATURES)
    await r.call("pfnGsSetShader", gs)
    so = await r.buffer(1024, B.STREAM_OUTPUT | B.VERTEX_BUFFER)
    await r.call("pfnSoSetTargets", 1, 0, [so], [0])
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    at = sub.ops.index(Op.SET_STREAM_OUTPUT)
    assert (sub.packets["arg"][at], sub.packets["data"][at][0]) == (1, 0)
    vertex = next(i for i, op in enumerate(sub.ops) if op is Op.SET_SHADER and sub.packets["slot"][i] == 0)
    handle, offset = sub.patched(vertex)
    code = r.allocations[handle].pages[offset : offset + int(sub.packets["extent"][vertex])].tobytes()
    kinds = ShaderProgram.from_bytes(code).declarations["kind"].tolist()
    assert 9 in kinds
    assert 10 in kinds
    await r.call("pfnSoSetTargets", 0, 1, [], [])
    await r.call("pfnGsSetShader", 0)
    await r.call("pfnIaSetVertexBuffers", 0, 1, [so], [16], [0])
    await r.call("pfnDrawAuto")
    await r.call("pfnFlush")
    assert r.submissions[-1].ops[-1] is Op.DRAW_AUTO
    assert r.errors == []


async def test_draws_that_cannot_work_do_nothing(runtime: FakeRuntime) -> None:
    r = runtime
    s = await scene(r)
    await r.call("pfnFlush")
    await r.call("pfnVsSetShader", 0)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnVsSetShader", s["vs"])
    await r.call("pfnIaSetTopology", 0)
    await r.call("pfnDrawIndexed", 3, 0, 0)
    await r.call("pfnFlush")
    assert all(Op.DRAW not in sub.ops and Op.DRAW_INDEXED not in sub.ops for sub in r.submissions)
    assert r.errors == []


async def test_viewport_and_scissor(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    await r.call("pfnSetViewports", 2, 0, [d3d.D3D10_DDI_VIEWPORT(0, 0, 8, 8), d3d.D3D10_DDI_VIEWPORT(8, 0, 8, 8)])
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    rows = [p for p, op in zip(sub.packets, sub.ops, strict=True) if op is Op.SET_VIEWPORT]
    assert [(int(p["slot"]), int(p["arg"]), bits_float(int(p["data"][0]))) for p in rows] == [(0, 2, 0.0), (1, 2, 8.0)]


async def test_interface_11_1() -> None:
    r = await FakeRuntime(interface=d3d.DDI_VERSION.D3D11_1).start()
    s = await scene(r)
    big = await r.buffer(1024, B.CONSTANT_BUFFER, data=np.arange(256, dtype=np.float32))
    await r.call("pfnVsSetConstantBuffers", 0, 1, [big], [16], [2])
    await r.call("pfnDraw", 3, 0)
    rects = [RECT(1, 2, 5, 6), RECT(3, 3, 3, 9)]
    kind = d3d.D3D11DDI_HANDLETYPE.RENDERTARGETVIEW
    await r.call("pfnClearView", kind, s["rtv"], (1.0,) * 4, rects, 2)
    await r.call("pfnDiscard", kind, s["rtv"], [], 0)
    await r.call("pfnFlush")
    sub = r.submissions[-1]
    at = sub.ops.index(Op.SET_CONSTANT_BUFFER)
    handle, offset = sub.patched(at)
    assert int(sub.packets["extent"][at]) == 32
    assert r.allocations[handle].pages[offset : offset + 4].view(np.float32)[0] == 64
    assert sub.ops[-2:] == [Op.SET_SURFACE, Op.CLEAR_COLOR]
    assert sub.packets["data"][-1][4:].tolist() == [1, 2, 5, 6]
    assert await r.call("pfnCheckDirectFlipSupport", s["rt"], s["rt"], 0) is False
    assert r.dxgi.pfnBlt1 is not None
    assert r.dxgi.pfnReclaimResources is not None
    assert r.errors == []


async def test_destroy_device_leaves_nothing(runtime: FakeRuntime) -> None:
    r = runtime
    await scene(r)
    await r.call("pfnDraw", 3, 0)
    await r.call("pfnDestroyDevice")
    assert r.allocations == {}
    assert r.log[-2:] == ["destroy sync", "destroy context"]
