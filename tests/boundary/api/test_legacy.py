"""Legacy contexts at the API boundary: what reaches the driver's DrawPrimitives2, and what never does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import wddm
from tests.boundary.api import fakes
from tests.boundary.api.fakes import one_client
from wddm import D3DError, Dp2CommandBuffer, Dp2Error
from wddm.ddi import ddrawint as dd
from wddm.ddi.d3dhal import D3DHALDP2
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.message import Nothing


class FakeHal:
    """A driver that keeps what it is handed; ``answer`` plays DrawPrimitives2."""

    def __init__(self) -> None:
        self.data: list[Any] = []
        self.surfaces: list[Any] = []
        self.destroyed: list[int] = []
        self.parser: Any = None
        self.answer: Callable[[Any], None] = lambda data: None

    def info(self, arg: dd.DD_GETDRIVERINFODATA) -> int:
        table = {
            dd.GUID_D3DCallbacks: dd.D3DHAL_CALLBACKS(self.create, self.destroy),
            dd.GUID_D3DCallbacks3: dd.D3DHAL_CALLBACKS3(self.draw),
            dd.GUID_Miscellaneous2Callbacks: dd.DD_MISCELLANEOUS2CALLBACKS(self.surface),
        }
        if arg.guidInfo == dd.GUID_D3DParseUnknownCommandCallback:
            self.parser = arg.lpvData
        else:
            arg.lpvData = table[arg.guidInfo]
        return dd.DDHAL_DRIVER_HANDLED

    def create(self, arg: Any) -> int:
        arg.dwhContext = 5
        return dd.DDHAL_DRIVER_HANDLED

    def destroy(self, arg: Any) -> int:
        self.destroyed.append(arg.dwhContext)
        return dd.DDHAL_DRIVER_HANDLED

    def surface(self, arg: Any) -> int:
        self.surfaces.append(arg.lpDDSLcl)
        return dd.DDHAL_DRIVER_HANDLED

    async def draw(self, data: Any) -> int:
        await trio.lowlevel.checkpoint()
        self.data.append(data)
        self.answer(data)
        return dd.DDHAL_DRIVER_HANDLED


@pytest.fixture
def hal(monkeypatch: pytest.MonkeyPatch) -> FakeHal:
    made = FakeHal()
    monkeypatch.setattr(fakes, "DdGetDriverInfo", made.info, raising=False)
    return made


async def test_a_driver_without_the_export_has_no_legacy_contexts() -> None:
    async with one_client() as (_, gpu):
        device = await gpu.create_device()
        with pytest.raises(D3DError, match="DXGI_ERROR_UNSUPPORTED.*DrawPrimitives2"):
            await device.create_dp2_context()


async def test_the_call_carries_commands_and_vertices(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        device = await gpu.create_device()
        context = await device.create_dp2_context()
        vertices = np.arange(3 * 5, dtype=np.float32).reshape(3, 5)
        commands = Dp2CommandBuffer().triangle_list(0, 1)
        await context.draw_primitives2(commands, vertices, fvf=0x44, vertex_offset=20)
        data = hal.data[0]
        assert (data.dwhContext, data.dwVertexType, data.dwVertexSize, data.dwVertexOffset, data.dwVertexLength) == (5, 0x44, 20, 20, 2)
        assert bytes(data.lpDDCommands) == bytes(commands)
        assert bytes(data.lpVertices) == vertices.tobytes()
        assert data.dwFlags & D3DHALDP2.USERMEMVERTICES
        await context.draw_primitives2(commands, fvf=0x44, vertex_surface=9, vertex_count=7)
        data = hal.data[1]
        assert (data.lpDDVertex, data.lpVertices, data.dwVertexLength) == (9, None, 7)
        assert not data.dwFlags & D3DHALDP2.USERMEMVERTICES
        assert hal.parser is not None
        assert hal.parser(memoryview(b"")) == (int(HRESULT.D3DERR_COMMAND_UNPARSED), 0)


async def test_big_vertices_go_up_through_shared_memory_and_commands_are_copied(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        device = await gpu.create_device()
        context = await device.create_dp2_context()
        vertices = np.arange(50_000, dtype=np.float32)
        seen: list[bytes] = []
        hal.answer = lambda data: seen.append(bytes(data.lpVertices))
        for _ in range(200):  # more than the area holds: it comes round
            await context.draw_primitives2(bytes(8000), vertices, vertex_size=4)
        assert all(s == vertices.tobytes() for s in seen)


async def test_failures_and_responses_come_back(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        context = await (await gpu.create_device()).create_dp2_context()

        def fail(data: Any) -> None:
            data.ddrval, data.dwErrorOffset = 0x8876086C, 6

        hal.answer = fail
        with pytest.raises(Dp2Error) as caught:
            await context.draw_primitives2(Dp2CommandBuffer().triangle_list(0, 1).clear(1))
        assert (caught.value.code, caught.value.name, caught.value.error_offset) == (0x8876086C, "D3DDDIERR_INVALIDCALL", 6)
        assert "CLEAR at byte 6" in caught.value.sentence

        def respond(data: Any) -> None:
            answer = bytes([88, 0, 1, 0, 20, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]) + b"abcd"
            data.lpDDCommands[:20] = answer
            data.dwErrorOffset = 20

        hal.answer = respond
        assert await context.get_query_data(3) == b"abcd"


async def test_the_runtime_s_render_states_begin_at_their_defaults_and_are_the_driver_s_to_change(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        context = await (await gpu.create_device()).create_dp2_context()
        states = await context.render_states()
        assert (states[RS.ZFUNC], states[RS.FOGEND], states[RS.CULLMODE]) == (4, 0x3F800000, 3)

        def change(data: Any) -> None:
            data.lpdwRStates[RS.CULLMODE] = 1

        hal.answer = change
        await context.draw_primitives2(b"")
        assert (await context.render_states())[RS.CULLMODE] == 1


async def test_surfaces_keep_their_memory(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        device = await gpu.create_device()
        driver = fakes.DEVICES[-1]
        context = await device.create_dp2_context()
        buffer = await device.create_buffer(64, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        handle = await context.create_surface(buffer)
        buffer.release()
        await device.immediate_context.wait_idle()
        assert driver.named("pfnDestroyResource") == []
        await context.destroy_surface(handle)
        await device.immediate_context.wait_idle()
        assert len(driver.named("pfnDestroyResource")) == 1
        assert [(s.dwSurfaceHandle, bool(s.hDrvResource)) for s in hal.surfaces] == [(handle, True), (handle, False)]
        other = await device.create_buffer(64, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        await context.create_surface(other, handle=70)
        context.release()
        other.release()
        await device.immediate_context.wait_idle()
        assert hal.destroyed == [5]
        assert len(driver.named("pfnDestroyResource")) == 2


async def test_a_driver_that_raises_loses_its_device_only(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        other = await gpu.create_device()
        device = await gpu.create_device()
        context = await device.create_dp2_context()

        def bug(data: Any) -> None:
            raise KeyError("a bug of the driver")

        hal.answer = bug
        with pytest.raises(D3DError, match="DEVICE_REMOVED"):
            await context.draw_primitives2(b"")
        assert (await device.get_device_removed_reason()).name == "DXGI_ERROR_DRIVER_INTERNAL_ERROR"
        assert (await other.get_device_removed_reason()).code == 0


async def test_what_is_no_surface_or_context_is_refused(hal: FakeHal) -> None:
    async with one_client() as (_, gpu):
        device, foreign = await gpu.create_device(), await gpu.create_device()
        context = await device.create_dp2_context()
        theirs = await foreign.create_buffer(64, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        for message in (
            api.CreateSurfaceEx(context=context.id, surface=1, resource=theirs.id),
            api.CreateSurfaceEx(context=context.id, surface=1, resource=context.id),
            api.CreateSurfaceEx(context=context.id, surface=0, resource=0),
            api.CreateSurfaceEx(context=context.id, surface=1, format=7),
            api.CreateSurfaceEx(context=device.id, surface=1),
            api.CreateSurfaceEx(context=12345, surface=1),
        ):
            with pytest.raises(D3DError, match="E_INVALIDARG"):
                await device.call(message, Nothing)
        for message in (
            api.DrawPrimitives2(context=device.id, commands=api.Blob()),
            api.DrawPrimitives2(context=context.id, commands=api.Blob(), room=1 << 30),
            api.DrawPrimitives2(context=context.id, commands=api.Blob(position=0, size=64)),
        ):
            with pytest.raises(D3DError, match="E_INVALIDARG"):
                await device.call(message, api.PrimitivesDrawn)
        assert hal.data == []


@settings(deadline=None, max_examples=30)
@given(st.binary(max_size=64), st.binary(max_size=64), st.lists(st.integers(0, 0xFFFFFFFF), min_size=5, max_size=5))
def test_any_numbers_reach_the_driver_as_they_are(commands: bytes, vertices: bytes, numbers: list[int]) -> None:
    made = FakeHal()

    async def run() -> None:
        async with one_client() as (_, gpu):
            device = await gpu.create_device()
            context = await device.create_dp2_context()
            fvf, surface, offset, length, size = numbers
            message = api.DrawPrimitives2(
                context=context.id, commands=api.Blob(data=commands), vertices=api.Blob(data=vertices), vertex_type=fvf,
                vertex_surface=surface, vertex_offset=offset, vertex_length=length, vertex_size=size,
            )  # fmt: skip
            await device.call(message, api.PrimitivesDrawn)
            data = made.data[0]
            assert (data.dwVertexType, data.lpDDVertex, data.dwVertexOffset, data.dwVertexLength, data.dwVertexSize) == tuple(numbers)
            assert bytes(data.lpDDCommands) == commands

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fakes, "DdGetDriverInfo", made.info, raising=False)
        trio.run(run)
