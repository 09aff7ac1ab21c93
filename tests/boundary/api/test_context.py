"""Commands from a client to a driver: order, filters, hazards, errors, life of objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trio

import wddm
from tests.boundary.api import fakes
from tests.boundary.api.fakes import FakeDriver, one_client
from wddm import dxbc
from wddm.client.device import Device
from wddm.client.gpu import Gpu
from wddm.ddi.status import HRESULT

VS = """
vs_5_0
dcl_input v0.xyzw
dcl_output_siv o0.xyzw, position
mov o0.xyzw, v0.xyzw
ret
"""
PS = """
ps_5_0
dcl_output o0.xyzw
mov o0.xyzw, l(1.0, 1.0, 1.0, 1.0)
ret
"""
RTV = wddm.BindFlag.RENDER_TARGET
SRV = wddm.BindFlag.SHADER_RESOURCE
UAV = wddm.BindFlag.UNORDERED_ACCESS
UINT = wddm.Format.R32_UINT


async def new_device(gpu: Gpu) -> tuple[Device, FakeDriver]:
    device = await gpu.create_device()
    return device, fakes.DEVICES[-1]


async def target(device: Device, **rest: Any) -> Any:
    rest.setdefault("bind_flags", RTV | SRV | UAV)
    return await device.create_texture2d(width=16, height=16, format=UINT, **rest)


async def settled(device: Device) -> None:
    await device.immediate_context.wait_idle()


async def test_start_up_in_the_documented_order() -> None:
    async with one_client() as (stack, gpu):
        device, driver = await new_device(gpu)
        assert device.feature_level is wddm.FeatureLevel.LEVEL_11_0
        arg = driver.arg
        assert arg.Interface == 0x000B000A
        assert type(arg.pDeviceFuncs).__name__ == "D3D11DDI_DEVICEFUNCS"
        assert type(arg.DXGIBaseDDI.pDXGIDDIBaseFunctions).__name__ == "DXGI1_1_DDI_BASE_FUNCTIONS"
        names = [type(m).__name__ for m in stack.kernel.messages]
        assert names[:4] == ["Hello", "OpenAdapter", "CreateDevice", "CreateContext"]


async def test_draws_arrive_in_order_and_redundant_state_does_not() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        vs = await device.create_vertex_shader(dxbc.assemble(VS))
        ps = await device.create_pixel_shader(dxbc.assemble(PS))
        driver.calls.clear()
        for _ in range(3):
            ctx.vs_set_shader(vs)
            ctx.ps_set_shader(ps)
            ctx.ia_set_primitive_topology(4)
            ctx.rs_set_viewports([wddm.Viewport(0, 0, 16, 16)])
            ctx.draw(3, 1)
        ctx.draw_indexed(6, 2, -1)
        await settled(device)
        assert [name for name, _ in driver.calls] == [
            "pfnVsSetShader",
            "pfnPsSetShader",
            "pfnIaSetTopology",
            "pfnSetViewports",
            "pfnDraw",
            "pfnDraw",
            "pfnDraw",
            "pfnDrawIndexed",
            "pfnFlush",
        ]
        assert driver.named("pfnDraw") == [(3, 1)] * 3
        assert driver.named("pfnDrawIndexed") == [(6, 2, -1)]


async def test_the_render_and_its_fence_travel_together() -> None:
    async with one_client() as (stack, gpu):
        device, _ = await new_device(gpu)
        await settled(device)
        render = next(m for m in stack.kernel.messages if type(m).__name__ == "Render")
        assert render.values[-1] == 1
        assert render.fences[-1] in stack.kernel.fences
        assert "SignalSynchronizationObject" not in [type(m).__name__ for m in stack.kernel.messages]


async def test_nothing_is_drawn_without_a_vertex_shader(caplog: pytest.LogCaptureFixture) -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        device.immediate_context.draw(3)
        await settled(device)
        assert driver.named("pfnDraw") == []
        assert "no vertex shader" in caplog.text


# ----- hazards -------------------------------------------------------------------------------------------------------------


async def test_binding_for_writing_unbinds_from_reading() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        texture = await target(device)
        srv, rtv = await device.create_shader_resource_view(texture), await device.create_render_target_view(texture)
        ctx.ps_set_shader_resources(3, [srv])
        ctx.cs_set_shader_resources(0, [srv])
        await settled(device)
        driver.calls.clear()
        ctx.om_set_render_targets([rtv])
        await settled(device)
        names = [name for name, _ in driver.calls]
        assert names == ["pfnPsSetShaderResources", "pfnCsSetShaderResources", "pfnSetRenderTargets", "pfnFlush"]
        assert driver.named("pfnPsSetShaderResources") == [(3, 1, [0])]


async def test_what_is_written_cannot_be_bound_for_reading() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        texture = await target(device)
        srv, rtv = await device.create_shader_resource_view(texture), await device.create_render_target_view(texture)
        ctx.om_set_render_targets([rtv])
        ctx.ps_set_shader_resources(0, [srv])
        await settled(device)
        assert driver.named("pfnPsSetShaderResources") == []  # NULL was there before
        ctx.om_set_render_targets([])
        ctx.ps_set_shader_resources(0, [srv])
        await settled(device)
        assert len(driver.named("pfnPsSetShaderResources")) == 1
        assert len(driver.named("pfnShaderResourceViewReadAfterWriteHazard")) == 1


async def test_other_mips_do_not_conflict() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        texture = await target(device, mip_levels=2)
        srv = await device.create_shader_resource_view(texture, most_detailed_mip=0, mip_levels=1)
        rtv = await device.create_render_target_view(texture, mip_slice=1)
        ctx.ps_set_shader_resources(0, [srv])
        ctx.om_set_render_targets([rtv])
        await settled(device)
        assert len(driver.named("pfnPsSetShaderResources")) == 1


async def test_compute_and_graphics_outputs_take_from_each_other() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        texture = await target(device)
        rtv, uav = await device.create_render_target_view(texture), await device.create_unordered_access_view(texture)
        ctx.cs_set_unordered_access_views(2, [uav])
        ctx.om_set_render_targets([rtv])
        ctx.cs_set_unordered_access_views(2, [uav])
        await settled(device)
        sets = driver.named("pfnCsSetUnorderedAccessViews")
        assert [(s[0], s[2] == [0]) for s in sets] == [(2, False), (2, True), (2, False)]
        targets = driver.named("pfnSetRenderTargets")
        assert [t[0] for t in targets][-1] == []


async def test_a_vertex_buffer_that_stream_output_writes_is_unbound() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        both = wddm.BindFlag.VERTEX_BUFFER | wddm.BindFlag.STREAM_OUTPUT
        buffer = await device.create_buffer(256, bind_flags=both)
        ctx.ia_set_vertex_buffers(1, [buffer], [16], [0])
        ctx.so_set_targets([buffer], [0])
        await settled(device)
        assert driver.named("pfnIaSetVertexBuffers")[-1] == (1, 1, [0], [0], [0])
        ctx.so_set_targets([], [])
        ctx.ia_set_vertex_buffers(0, [buffer], [16], [0])
        await settled(device)
        assert driver.named("pfnIaSetVertexBuffers")[-1][2] != [0]


async def test_a_read_only_depth_view_can_be_read() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        depth = await device.create_texture2d(
            width=16, height=16, format=wddm.Format.R32_TYPELESS, bind_flags=wddm.BindFlag.DEPTH_STENCIL | SRV
        )
        srv = await device.create_shader_resource_view(depth, format=wddm.Format.R32_FLOAT)
        flags = wddm.DsvFlag.READ_ONLY_DEPTH
        dsv = await device.create_depth_stencil_view(depth, format=wddm.Format.D32_FLOAT, flags=flags)
        ctx.om_set_render_targets([], dsv)
        ctx.ps_set_shader_resources(0, [srv])
        await settled(device)
        assert len(driver.named("pfnPsSetShaderResources")) == 1


# ----- errors --------------------------------------------------------------------------------------------------------------


async def test_a_bad_command_is_told_by_the_next_awaited_call_and_the_others_go_on() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        buffer = await device.create_buffer(64)
        ctx.dispatch(70000)
        ctx.copy_resource(buffer, buffer)
        ctx.clear_state()
        ctx.ia_set_primitive_topology(4)
        with pytest.raises(wddm.D3DError, match="thread_group_count") as caught:
            await settled(device)
        assert caught.value.code == HRESULT.E_INVALIDARG
        assert "they are the same" in caught.value.__notes__[0]
        assert len(driver.named("pfnIaSetTopology")) == 1
        await settled(device)


async def test_wrong_ids_are_told_apart() -> None:
    async with one_client() as (_, gpu):
        device, _ = await new_device(gpu)
        ctx = device.immediate_context
        buffer = await device.create_buffer(64, bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        texture = await target(device)
        for wrong, words in ((texture, "is a texture"), (None, "has been destroyed")):
            if wrong is None:
                id = buffer.id
                buffer.release()
                await settled(device)
                buffer.id = id
                wrong = buffer
            ctx.vs_set_constant_buffers(0, [wrong])
            with pytest.raises(wddm.D3DError, match=words):
                await settled(device)
        buffer.id = 0


@pytest.mark.parametrize("data", ["abc", 2.5, None, [1, 2], {}, np.array([object()]), memoryview(bytes(64))[::2]], ids=repr)
async def test_what_is_no_data_is_told(data: Any) -> None:
    async with one_client() as (_, gpu):
        device, _ = await new_device(gpu)
        made = await device.create_buffer(64, bind_flags=SRV)
        with pytest.raises(wddm.D3DError, match="E_INVALIDARG .*: data: .* where a numpy array or bytes belong"):
            await device.create_buffer(data, bind_flags=SRV)
        with pytest.raises(wddm.D3DError, match="E_INVALIDARG .*: (data|width): "):
            await device.create_texture2d(data, format=UINT)
        with pytest.raises(wddm.D3DError, match="E_INVALIDARG .*: data: "):
            device.immediate_context.update_subresource(made, data)


async def test_what_the_driver_may_report_is_the_apps_error() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        driver.report["pfnCreateResource"] = HRESULT.E_OUTOFMEMORY
        with pytest.raises(wddm.D3DError) as caught:
            await device.create_buffer(64)
        assert caught.value.code == HRESULT.E_OUTOFMEMORY
        assert (await device.get_device_removed_reason()).code == 0
        await device.create_buffer(64)


@pytest.mark.parametrize(
    ("entry", "code"), [("pfnDraw", HRESULT.E_OUTOFMEMORY), ("pfnDraw", HRESULT.S_OK), ("pfnCreateResource", HRESULT.E_FAIL)]
)
async def test_what_the_driver_may_not_report_loses_the_device(entry: str, code: HRESULT, caplog: pytest.LogCaptureFixture) -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        ctx.vs_set_shader(await device.create_vertex_shader(dxbc.assemble(VS)))
        driver.report[entry] = code
        ctx.draw(3)
        with pytest.raises(wddm.D3DError) as caught:
            await settled(device)
            await device.create_buffer(64)
        assert caught.value.code == HRESULT.DXGI_ERROR_DEVICE_REMOVED
        reason = await device.get_device_removed_reason()
        assert reason.code == HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR
        assert entry in reason.sentence
        assert entry in caplog.text
        other = await gpu.create_device()  # the client goes on
        await other.immediate_context.wait_idle()


async def test_a_driver_that_raises_loses_the_device(caplog: pytest.LogCaptureFixture) -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        driver.pfnCheckFormatSupport = lambda *a: 1 // 0  # type: ignore[method-assign]
        driver.arg.pDeviceFuncs.pfnCheckFormatSupport = None
        driver.memory = None  # type: ignore[assignment]
        buffer = await device.create_buffer(
            64, bind_flags=wddm.BindFlag.VERTEX_BUFFER, usage=wddm.Usage.DYNAMIC, cpu_access_flags=wddm.CpuAccessFlag.WRITE
        )
        with pytest.raises(wddm.D3DError):
            await device.immediate_context.map(buffer, 0, wddm.MapType.WRITE_DISCARD)
        assert (await device.get_device_removed_reason()).code == HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR


# ----- waiting in the driver, data, mapping --------------------------------------------------------------------------------


async def test_while_the_driver_waits_nothing_else_enters_it() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        ctx.vs_set_shader(await device.create_vertex_shader(dxbc.assemble(VS)))
        driver.calls.clear()
        gate = driver.wait_in["pfnDraw"] = trio.Event()
        ctx.draw(1)
        ctx.draw(2)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(device.create_buffer, 64)
            nursery.start_soon(settled, device)
            await trio.testing.wait_all_tasks_blocked()
            assert [n for n, _ in driver.calls] == ["pfnVsSetShader", "pfnDraw"]
            gate.set()
        names = [n for n, _ in driver.calls]
        assert names[1:3] == ["pfnDraw", "pfnDraw"]
        assert "pfnCreateResource" in names[3:]


async def test_big_data_goes_up_through_shared_memory() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        content = np.arange(10000, dtype=np.uint32)
        await device.create_buffer(content, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        argument = driver.named("pfnCreateResource")[-1][0]
        assert (np.frombuffer(argument.pInitialDataUP[0].pSysMem, np.uint32) == content).all()
        buffer = await device.create_buffer(40000, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        device.immediate_context.update_subresource(buffer, content[::-1])
        await settled(device)
        data = driver.named("pfnResourceUpdateSubresourceUP")[-1][3]
        assert data.nbytes == 40000
        assert device._ring is not None
        assert int(device._ring.memory.array[:8].view(np.uint64)[0]) >= 80000


async def test_mapped_pages_are_passed_on_once() -> None:
    async with one_client() as (stack, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        access = wddm.CpuAccessFlag.READ | wddm.CpuAccessFlag.WRITE
        staging = await device.create_texture2d(
            width=16, height=16, format=UINT, usage=wddm.Usage.STAGING, bind_flags=0, cpu_access_flags=access
        )
        mapped = await ctx.map(staging, 0, wddm.MapType.WRITE)
        mapped.view(np.uint32)[:] = 7
        ctx.unmap(staging)
        pages = next(iter(stack.kernel.memories.values())).array
        assert (pages[256 : 256 + 64].view(np.uint32) == 7).all()
        read = await ctx.map(staging)
        assert read.data[0] == 7
        assert not read.data.flags.writeable
        assert (read.row_pitch, len(device._memories)) == (64, 1)
        with pytest.raises(wddm.D3DError, match="mapped already"):
            await ctx.map(staging)
        ctx.unmap(staging)
        ctx.unmap(staging)
        with pytest.raises(wddm.D3DError, match="is not mapped"):
            await settled(device)
        assert len(driver.named("pfnStagingResourceUnmap")) == 2


async def test_a_map_waits_by_the_fence_of_the_copy_before_it() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        assert device.fence_page is not None
        source = await target(device)
        first, second = [
            await device.create_texture2d(
                width=16, height=16, format=UINT, usage=wddm.Usage.STAGING, bind_flags=0, cpu_access_flags=wddm.CpuAccessFlag.READ
            )
            for _ in range(2)
        ]

        async def signals(flags: int = 0) -> int:
            """Signals so far, after a map of the first."""
            await ctx.map(first, 0, wddm.MapType.READ, flags)
            ctx.unmap(first)
            return ctx._fence_value

        assert await signals() == 0, "nothing was copied"
        ctx.copy_resource(first, source)
        ctx.flush()
        ctx.copy_resource(second, source)
        assert await signals() == 1, "the flush has told the fence, whatever came later"
        ctx.flush()
        ctx.flush()
        assert ctx._fence_value == 2, "only what is new in a staging resource asks for it"
        ctx.copy_subresource_region(first, 0, 0, 0, 0, source)
        assert await signals() == 3
        assert await signals() == 3
        ctx.copy_resource(first, source)
        assert await signals(wddm.MapFlag.DO_NOT_WAIT) == 3, "who does not wait asks the driver"
        await settled(device)
        assert len(driver.named("pfnResourceCopy")) == 3


async def test_a_busy_resource_is_the_apps_to_wait_for() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        staging = await device.create_buffer(64, usage=wddm.Usage.STAGING, cpu_access_flags=wddm.CpuAccessFlag.READ)
        driver.report["pfnStagingResourceMap"] = HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING
        with pytest.raises(wddm.D3DError) as caught:
            await device.immediate_context.map(staging, 0, wddm.MapType.READ, wddm.MapFlag.DO_NOT_WAIT)
        assert caught.value.code == HRESULT.DXGI_ERROR_WAS_STILL_DRAWING
        assert (await device.get_device_removed_reason()).code == 0


@pytest.mark.parametrize(
    ("usage", "bind", "access", "kind", "words"),
    [
        (3, 0, 0x10000, 1, "CPU access READ"),
        (3, 0, 0x20000, 2, "CPU access WRITE"),
        (3, 0, 0x30000, 4, "DYNAMIC"),
        (2, 4, 0x10000, 5, "WRITE_NO_OVERWRITE is for vertex"),
        (2, 1, 0x10000, 2, "STAGING"),
        (0, 1, 0, 1, "CPU access READ"),
        (3, 0, 0x30000, 6, "no D3D11_MAP"),
    ],
)
async def test_maps_refused(usage: int, bind: int, access: int, kind: int, words: str) -> None:
    async with one_client() as (_, gpu):
        device, _ = await new_device(gpu)
        buffer = await device.create_buffer(64, usage=usage, bind_flags=bind, cpu_access_flags=access)
        with pytest.raises(wddm.D3DError, match=words):
            await device.immediate_context.map(buffer, 0, kind)


# ----- life of objects -----------------------------------------------------------------------------------------------------


async def test_what_is_bound_outlives_its_ids() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        texture = await target(device)
        srv = await device.create_shader_resource_view(texture)
        ctx.ps_set_shader_resources(0, [srv])
        srv.release()
        texture.release()
        await settled(device)
        assert driver.named("pfnDestroyShaderResourceView") == []
        assert driver.named("pfnDestroyResource") == []
        ctx.ps_set_shader_resources(0, [None])
        await settled(device)
        assert len(driver.named("pfnDestroyShaderResourceView")) == 1
        assert len(driver.named("pfnDestroyResource")) == 1


async def test_equal_states_are_one_object() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        before = len(driver.named("pfnCreateSampler"))
        first = await device.create_sampler_state(filter=wddm.Filter.MIN_MAG_MIP_POINT)
        second = await device.create_sampler_state(filter=wddm.Filter.MIN_MAG_MIP_POINT)
        assert len(driver.named("pfnCreateSampler")) == before + 1
        assert first.id != second.id
        first.release()
        await settled(device)
        assert driver.named("pfnDestroySampler") == []
        second.release()
        await settled(device)
        assert len(driver.named("pfnDestroySampler")) == 1


async def test_objects_of_another_device_are_refused() -> None:
    async with one_client() as (_, gpu):
        one, _ = await new_device(gpu)
        other, _ = await new_device(gpu)
        buffer = await one.create_buffer(64, bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        other.immediate_context.vs_set_constant_buffers(0, [buffer])
        with pytest.raises(wddm.D3DError, match="another device"):
            await settled(other)


async def test_queries() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        occlusion = await device.create_query(wddm.QueryType.OCCLUSION)
        statistics = await device.create_query(wddm.QueryType.SO_STATISTICS_STREAM2)
        assert [a[0].Query for a in driver.named("pfnCreateQuery")] == [1, 11]
        with pytest.raises(wddm.D3DError, match="was not ended"):
            await ctx.get_data(occlusion)
        ctx.begin(occlusion)
        ctx.begin(occlusion)
        ctx.end(occlusion)
        ctx.end(statistics)
        with pytest.raises(wddm.D3DError, match="was not begun"):
            await ctx.get_data(occlusion)
        assert [n for n, _ in driver.calls if n in ("pfnQueryBegin", "pfnQueryEnd")] == [
            "pfnQueryBegin",
            "pfnQueryEnd",
            "pfnQueryBegin",
            "pfnQueryEnd",
        ]
        assert await ctx.get_data(occlusion) == int.from_bytes(bytes(range(1, 9)), "little")
        driver.report["pfnQueryGetData"] = HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING
        assert await ctx.get_data(occlusion) is None
        driver.report["pfnQueryGetData"] = HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING
        assert await ctx.get_data(occlusion, wait=True) is not None


async def test_state_is_sent_again_when_the_driver_asks() -> None:
    async with one_client() as (_, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        buffer = await device.create_buffer(64, bind_flags=wddm.BindFlag.CONSTANT_BUFFER)
        ctx.ps_set_constant_buffers(2, [buffer])
        ctx.rs_set_viewports([wddm.Viewport(0, 0, 4, 4)])
        await settled(device)
        table: Any = driver.arg.p11UMCallbacks
        driver.calls.clear()
        table.pfnStatePsConstBufCb(driver.arg.hRTCoreLayer, 0, 14)
        table.pfnStateRsViewportsCb(driver.arg.hRTCoreLayer)
        table.pfnStateIaVertexBufCb(driver.arg.hRTCoreLayer, 0, 2)
        start, count, handles = driver.named("pfnPsSetConstantBuffers")[0]
        assert (start, count, [h != 0 for h in handles].index(True)) == (0, 14, 2)
        assert driver.named("pfnSetViewports")[0][0] == 1
        assert driver.named("pfnIaSetVertexBuffers")[0][2] == [0, 0]


async def test_a_client_cannot_use_up_the_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime import allocation_thunks

    monkeypatch.setattr(allocation_thunks, "MAX_KEPT_DESCRIPTORS", 2)
    async with one_client() as (_, gpu):
        device, _ = await new_device(gpu)
        ctx = device.immediate_context
        access = wddm.CpuAccessFlag.READ | wddm.CpuAccessFlag.WRITE
        buffers = [await device.create_buffer(64, usage=wddm.Usage.STAGING, cpu_access_flags=access) for _ in range(5)]
        for buffer in buffers:  # more pages than descriptors are kept: the others are copied
            mapped = await ctx.map(buffer, 0, wddm.MapType.WRITE)
            mapped.data[:] = 5
            ctx.unmap(buffer)
            assert (await ctx.map(buffer)).data[0] == 5
            ctx.unmap(buffer)
        assert len(device._memories) >= 2


async def test_waiting_again_with_nothing_in_between_asks_nobody() -> None:
    async with one_client() as (stack, gpu):
        device, driver = await new_device(gpu)
        ctx = device.immediate_context
        buffer = await device.create_buffer(64)
        await ctx.wait_idle()
        told, value = len(stack.kernel.messages), ctx.signal()
        driver.calls.clear()
        for _ in range(3):
            await ctx.wait_idle()
        assert (ctx.signal(), len(stack.kernel.messages), driver.calls) == (value, told, [])
        ctx.draw(3)  # recorded
        assert ctx.signal() == value + 1
        await device.create_buffer(64)  # asked for: what it was given may be on its way
        assert ctx.signal() == value + 2
        del buffer  # to be destroyed
        assert ctx.signal() == value + 3
        await ctx.wait_idle()
