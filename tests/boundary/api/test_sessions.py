"""Sessions: hello, garbage, a kernel or a client that vanishes, devices that are lost; nobody else notices."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgpack
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import wddm
from tests.boundary.api import fakes
from tests.boundary.api.fakes import Stack, one_client, stack
from wddm import dxbc
from wddm.ddi.status import HRESULT
from wddm.wire import api, thunk
from wddm.wire.api_commands import COMMANDS
from wddm.wire.channel import Channel, ChannelClosed
from wddm.wire.connection import RemoteError
from wddm.wire.transport import TransportClosed

from .test_context import PS, VS


async def raw(s: Stack, nursery: trio.Nursery) -> Channel:
    """A client without client code."""
    channel = Channel(s.transport(), api.API, server=False)
    for struct, declaration in api.API.by_struct.items():
        if declaration.from_server:
            channel.on(struct, lambda m: None)
    await nursery.start(channel.run)
    return channel


async def hello(channel: Channel) -> None:
    await channel.request(api.Hello(protocol="wddm.api", version=1), api.HelloReply)


async def test_another_version_is_refused_in_words() -> None:
    async with stack() as s, trio.open_nursery() as nursery:
        channel = await raw(s, nursery)
        with pytest.raises(RemoteError, match=r"wddm\.api 1"):
            await channel.request(api.Hello(protocol="wddm.api", version=2), api.HelloReply)
        channel.close()


async def test_hello_comes_first_and_once() -> None:
    async with stack() as s, trio.open_nursery() as nursery:
        channel = await raw(s, nursery)
        with pytest.raises(ChannelClosed):
            await channel.request(api.GetAdapterInfo(), thunk.AdapterInfo)
        assert "hello" in str(channel.protocol_error)
        channel = await raw(s, nursery)
        await hello(channel)
        with pytest.raises(RemoteError, match="before"):
            await hello(channel)
        channel.close()


async def test_no_kernel_is_an_answer() -> None:
    async with stack() as s, trio.open_nursery() as nursery:

        async def nobody() -> Any:
            raise ConnectionRefusedError(111, "cannot connect to unix:/nowhere: Connection refused")

        s.runtime._connect_kernel = nobody
        channel = await raw(s, nursery)
        with pytest.raises(RemoteError, match="cannot connect") as caught:
            await hello(channel)
        assert caught.value.code == HRESULT.DXGI_ERROR_NOT_CURRENTLY_AVAILABLE
        channel.close()


async def test_a_kernel_that_vanishes_loses_every_device() -> None:
    async with one_client() as (s, gpu):
        device = await gpu.create_device()
        chain = await gpu.create_swap_chain(device, width=64, height=64, format=28)
        s.kernel.channels[0].close("gone")
        await trio.testing.wait_all_tasks_blocked()
        for call in (device.create_buffer(64), device.immediate_context.wait_idle(), chain.present()):
            with pytest.raises(wddm.D3DError) as caught:
                await call
            assert caught.value.code == HRESULT.DXGI_ERROR_DEVICE_REMOVED
            assert "kernel is lost" in caught.value.sentence
        reason = await device.get_device_removed_reason()
        assert reason.code == HRESULT.DXGI_ERROR_DEVICE_REMOVED
        device.immediate_context.draw(3)  # recording goes on, to nowhere
        device.immediate_context.flush()


async def test_the_kernels_reason_is_the_devices_reason() -> None:
    async with one_client() as (s, gpu):
        device, other = await gpu.create_device(), await gpu.create_device()
        handle = s.kernel.of(thunk.CreateContext)[0].hDevice
        s.kernel.channels[0].notify(
            thunk.DeviceStateChanged(
                hDevice=handle, state=3, reason=int(HRESULT.DXGI_ERROR_DEVICE_HUNG), sentence="a shader never ended"
            )
        )
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(wddm.D3DError, match="a shader never ended"):
            await device.immediate_context.wait_idle()
        reason = await device.get_device_removed_reason()
        assert (reason.code, reason.sentence) == (HRESULT.DXGI_ERROR_DEVICE_HUNG, "a shader never ended")
        await other.immediate_context.wait_idle()


async def test_a_lost_runtime_is_a_lost_device() -> None:
    async with stack() as s:
        transport = s.transport()
        async with wddm.connect_over(transport) as gpu:
            device = await gpu.create_device()
            transport.close()
            with pytest.raises(wddm.D3DError) as caught:
                await device.create_buffer(64)
            assert caught.value.code == HRESULT.DXGI_ERROR_DEVICE_REMOVED
            assert (await device.get_device_removed_reason()).code == HRESULT.DXGI_ERROR_DEVICE_REMOVED


async def test_a_client_that_leaves_frees_its_kernel_connection() -> None:
    async with stack() as s:
        async with s.client() as gpu:
            await gpu.create_device()
        await trio.testing.wait_all_tasks_blocked()
        assert s.kernel.channels[0].closed
        assert fakes.DEVICES[0].named("pfnDestroyDevice") == [()]


async def test_a_client_that_leaves_while_the_driver_waits() -> None:
    async with stack() as s:
        async with s.client() as gpu:
            device = await gpu.create_device()
            fakes.DEVICES[0].wait_in["pfnDraw"] = trio.Event()
            device.immediate_context.vs_set_shader(await device.create_vertex_shader(dxbc.assemble(VS)))
            device.immediate_context.draw(3)
            device.immediate_context.flush()
            await trio.testing.wait_all_tasks_blocked()
        await trio.testing.wait_all_tasks_blocked()
        async with s.client() as gpu:
            await gpu.create_device()


async def test_a_bad_upload_area_ends_that_client_alone() -> None:
    import os

    from wddm.wire.message import Descriptor

    async with stack() as s, s.client() as good, trio.open_nursery() as nursery:
        channel = await raw(s, nursery)
        await hello(channel)
        made = await channel.request(api.CreateDevice(), api.DeviceCreated)
        number = os.memfd_create("unsealed")
        channel.notify(api.AnnounceUpload(device=made.device, memory=Descriptor(number), size=4096))
        os.close(number)
        await trio.testing.wait_all_tasks_blocked()
        assert "sealed" in str(channel.protocol_error)
        os.close(made.fence.number)  # type: ignore[union-attr]
        await good.create_device()


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=20)
def test_any_bytes(data: bytes) -> None:
    async def main() -> None:
        async with stack() as s:
            transport = s.transport()
            await transport.send(data)
            transport.close()
            async with s.client() as gpu:
                await gpu.create_device()

    trio.run(main)


_numbers = st.integers(0, 0xFFFF_FFFF) | st.integers(0, 40) | st.integers(0, 20).map(lambda n: n << 4)


def _values(annotation: str) -> st.SearchStrategy[Any]:
    return {
        "U": _numbers,
        "I": st.integers(-(1 << 31), (1 << 31) - 1),
        "F": st.floats(width=64),
        "B": st.booleans(),
        "ID": st.sampled_from(range(12)),  # replaced by ids that exist
        "IDS": st.lists(st.sampled_from(range(12)), max_size=4),
        "US": st.lists(_numbers, max_size=4),
        "F4": st.lists(st.floats(width=64), min_size=4, max_size=4),
        "U4": st.lists(_numbers, min_size=4, max_size=4),
        "BOX": st.none() | st.lists(st.integers(0, 70), min_size=6, max_size=6),
        "DATA": st.binary(max_size=300) | st.tuples(st.integers(0, 1 << 20), st.integers(0, 5000)).map(list),
        "VIEWPORTS": st.lists(st.lists(st.floats(width=64) | st.integers(0, 9), min_size=6, max_size=6), max_size=3),
        "RECTS": st.lists(st.lists(st.integers(-5, 70), min_size=4, max_size=4), max_size=3),
    }[annotation]


def _commands() -> st.SearchStrategy[list[Any]]:
    from wddm.wire import api_commands

    names = {id(kind): name for name, kind in vars(api_commands).items() if isinstance(kind, api_commands.Kind)}
    return st.sampled_from(sorted(COMMANDS)).flatmap(
        lambda code: st.tuples(st.just(code), *(_values(names[id(kind)]) for _, kind in COMMANDS[code].arguments)).map(list)
    )


def _with_ids(command: list[Any], ids: list[int]) -> list[Any]:
    """Put ids of real objects where a command wants ids."""
    found = list(command)
    for place, (_, kind) in enumerate(COMMANDS[command[0]].arguments, 1):
        if kind.text == "id":
            found[place] = ids[command[place] % len(ids)]
        elif kind.text.startswith("list") and kind.text.endswith("ids"):
            found[place] = [ids[i % len(ids)] for i in command[place]]
    return found


async def _objects(device: wddm.Device) -> list[Any]:
    bind = wddm.BindFlag
    buffer = await device.create_buffer(256, bind_flags=bind.VERTEX_BUFFER | bind.STREAM_OUTPUT)
    constants = await device.create_buffer(256, bind_flags=bind.CONSTANT_BUFFER)
    dynamic = await device.create_buffer(
        256, bind_flags=bind.VERTEX_BUFFER, usage=wddm.Usage.DYNAMIC, cpu_access_flags=wddm.CpuAccessFlag.WRITE
    )
    flags = bind.SHADER_RESOURCE | bind.RENDER_TARGET | bind.UNORDERED_ACCESS
    texture = await device.create_texture2d(width=16, height=16, format=wddm.Format.R32_UINT, mip_levels=2, bind_flags=flags)
    return [
        buffer,
        constants,
        dynamic,
        texture,
        await device.create_shader_resource_view(texture),
        await device.create_render_target_view(texture),
        await device.create_unordered_access_view(texture),
        await device.create_vertex_shader(dxbc.assemble(VS)),
        await device.create_pixel_shader(dxbc.assemble(PS)),
        await device.create_query(wddm.QueryType.OCCLUSION),
        await device.create_sampler_state(),
    ]


@given(st.lists(_commands(), min_size=1, max_size=25))
@settings(deadline=None, max_examples=40)
def test_any_well_formed_commands(commands: list[list[Any]]) -> None:
    """They work or are reported; the device and everybody else go on."""

    async def main() -> None:
        async with one_client() as (_, gpu):
            device = await gpu.create_device()
            objects = await _objects(device)
            ids = [0, *(o.id for o in objects)]
            context = device.immediate_context
            context._commands.extend(tuple(_with_ids(c, ids)) for c in commands)
            for child in objects:
                child.id = 0
            with suppress(wddm.D3DError):
                await context.wait_idle()
            assert (await device.get_device_removed_reason()).code == 0
            await device.create_buffer(64)
            await context.wait_idle()
            await (await gpu.create_device()).immediate_context.wait_idle()

    trio.run(main)


_requests = [d for d in api.API.by_struct.values() if not d.from_server and d.reply is not None and d.method != "hello"]
_anything = st.recursive(
    st.none() | st.booleans() | _numbers | st.floats() | st.binary(max_size=8) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _fields(declaration: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly numbers, under the message's own field names."""
    from wddm.wire.message import fields_of

    names = [f.name for f, _ in fields_of(declaration.struct)]
    return st.fixed_dictionaries({}, optional={n: _numbers | _anything for n in names})


@given(st.lists(st.sampled_from(_requests).flatmap(lambda d: st.tuples(st.just(d.method), _fields(d))), min_size=1, max_size=6))
@settings(deadline=None, max_examples=40)
def test_any_requests(requests: list[tuple[str, dict[str, Any]]]) -> None:
    """Each is answered, refused, or ends its own connection."""

    async def main() -> None:
        async with stack() as s, s.client() as good:
            device = await good.create_device()
            transport = s.transport()
            await transport.send(msgpack.packb([0, 1, "hello", [{"protocol": "wddm.api", "version": 1}]]))
            await trio.testing.wait_all_tasks_blocked()
            for number, (method, fields) in enumerate(requests, 2):
                with suppress(TransportClosed):
                    await transport.send(msgpack.packb([0, number, method, [fields]]))
            await trio.testing.wait_all_tasks_blocked()
            transport.close()
            await device.immediate_context.wait_idle()

    trio.run(main)


async def test_a_device_that_is_closed_is_gone() -> None:
    async with one_client() as (s, gpu):
        async with await gpu.create_device() as device:
            chain = await gpu.create_swap_chain(device, width=64, height=64, format=28)
            buffer = await device.create_buffer(64)
        assert s.kernel.owners == {}
        names = [n for n, _ in fakes.DEVICES[0].calls]
        assert names[-1] == "pfnDestroyDevice"
        assert len(s.kernel.of(thunk.DestroyDevice)) == 1
        with pytest.raises(wddm.D3DError, match="was closed"):
            await device.create_buffer(64)
        other = await gpu.create_device()
        other.immediate_context.copy_resource(buffer, buffer)
        with pytest.raises(wddm.D3DError):
            await other.immediate_context.wait_idle()
        assert await (await gpu.create_swap_chain(other, width=64, height=64, format=28)).present() == 0
        del chain
