"""What a client records is what the table declares: every method of the context yields commands that the check accepts."""

from __future__ import annotations

import inspect
from contextlib import nullcontext, suppress
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wddm.client import context as context_module
from wddm.client.context import BATCH_COMMANDS, ImmediateContext
from wddm.client.enums import BindFlag, Format, MapType, QueryType, ShaderStage
from wddm.client.resources import (
    BlendState,
    Buffer,
    DepthStencilState,
    DepthStencilView,
    InputLayout,
    Query,
    RasterizerState,
    RenderTargetView,
    SamplerState,
    Shader,
    ShaderResourceView,
    Texture2D,
    UnorderedAccessView,
)
from wddm.client.values import Rect, Viewport
from wddm.wire.api import ExecuteCommands
from wddm.wire.api_commands import COMMANDS, check_command
from wddm.wire.connection import _plain
from wddm.wire.message import ProtocolError


class Recorder:
    """A device that keeps what is sent."""

    def __init__(self) -> None:
        self.id = 1
        self.sent: list[ExecuteCommands] = []
        self.doomed: list[int] = []
        self.removed = None
        self.context = ImmediateContext(self)  # type: ignore[arg-type]

    def send(self, message: ExecuteCommands) -> None:
        self.sent.append(message)

    def run_sync(self, function: Any) -> None:
        function()

    def place(self, data: Any) -> bytes:
        return bytes(data.tobytes())

    def commands(self) -> list[list[Any]]:
        """Everything sent, as it arrives."""
        self.context.send()
        packed = [msgpack.packb(m.commands, default=_plain) for m in self.sent]
        self.sent.clear()
        return [c for p in packed for c in msgpack.unpackb(p)]


def arguments(device: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments for every plain method."""
    buffer = Buffer(device, 18, 0, int(BindFlag.VERTEX_BUFFER), 0, 0, 64, 0)
    texture = Texture2D(
        device, 19, 0, 8, 0, 0, dimension=2, width=4, height=4, depth=1, mip_levels=1, array_size=1, format=28, sample_count=1
    )
    srv, rtv, dsv, uav = (
        cls(texture, 20 + i) for i, cls in enumerate((ShaderResourceView, RenderTargetView, DepthStencilView, UnorderedAccessView))
    )
    shader, query = Shader(device, 30, ShaderStage.VERTEX), Query(device, 31, QueryType.OCCLUSION)
    sampler = SamplerState(device, 32)
    found: dict[str, tuple[Any, ...]] = {
        "flush": (),
        "clear_state": (),
        "unmap": (buffer, 0),
        "write": (buffer, np.zeros(4, np.float32), np.int64(4), MapType.WRITE_DISCARD),
        "ia_set_input_layout": (InputLayout(device, 33),),
        "ia_set_vertex_buffers": (np.int32(0), [buffer, None], [np.uint8(20), 0], [0, 0]),
        "ia_set_index_buffer": (buffer, Format.R16_UINT, 2),
        "ia_set_primitive_topology": (4,),
        "cs_set_unordered_access_views": (0, [uav, None], [3, 4]),
        "so_set_targets": ([buffer], [0]),
        "rs_set_state": (RasterizerState(device, 34),),
        "rs_set_viewports": ([Viewport(0, 0, 4, 4), (1.5, 0, 4, 4)],),
        "rs_set_scissor_rects": ([Rect(0, 0, 4, 4)],),
        "om_set_blend_state": (BlendState(device, 35), np.ones(4, np.float32)),
        "om_set_depth_stencil_state": (DepthStencilState(device, 36), 1),
        "om_set_render_targets": ([rtv], dsv),
        "om_set_render_targets_and_unordered_access_views": ([rtv], dsv, 1, [uav]),
        "draw": (3, 0),
        "draw_indexed": (3, 0, -1),
        "draw_instanced": (3, 2),
        "draw_indexed_instanced": (3, 2, 0, -5),
        "draw_auto": (),
        "draw_instanced_indirect": (buffer, 0),
        "draw_indexed_instanced_indirect": (buffer, 4),
        "dispatch": (1, 2, 3),
        "dispatch_indirect": (buffer,),
        "clear_render_target_view": (rtv, np.array([0, 0.5, 1, 1])),
        "clear_depth_stencil_view": (dsv,),
        "clear_unordered_access_view_uint": (uav, (1, 2, 3, 4)),
        "clear_unordered_access_view_float": (uav, (1, 2, 3, 4)),
        "copy_resource": (buffer, buffer),
        "copy_subresource_region": (texture, 0, 1, 2, 0, texture, 0, (0, 0, 0, 1, 1, 1)),
        "update_subresource": (texture, np.zeros((4, 4, 4), np.uint8)),
        "copy_structure_count": (buffer, 4, uav),
        "resolve_subresource": (texture, 0, texture, 0, Format.R8G8B8A8_UNORM),
        "generate_mips": (srv,),
        "set_resource_min_lod": (texture, np.float32(1.5)),
        "begin": (query,),
        "end": (query,),
        "set_predication": (query, True),
    }
    for prefix in ("vs", "hs", "ds", "gs", "ps", "cs"):
        found[f"{prefix}_set_shader"] = (shader,)
        found[f"{prefix}_set_constant_buffers"] = (0, [buffer, None])
        found[f"{prefix}_set_shader_resources"] = (0, [srv, None])
        found[f"{prefix}_set_samplers"] = (0, [sampler, None])
    return found


def recording_methods() -> list[str]:
    """Plain public methods that record."""
    return [
        name
        for name, member in inspect.getmembers(ImmediateContext, inspect.isfunction)
        if not name.startswith("_") and not inspect.iscoroutinefunction(member) and name not in ("send", "signal")
    ]


def test_every_method_has_arguments_here() -> None:
    assert set(recording_methods()) == set(arguments(Recorder()))


@pytest.mark.parametrize("name", recording_methods())
def test_what_is_recorded_is_accepted(name: str) -> None:
    device = Recorder()
    getattr(device.context, name)(*arguments(device)[name])
    commands = device.commands()
    assert commands
    for command in commands:
        check_command(command)


def test_every_command_is_recorded_by_something() -> None:
    seen = set()
    for name in recording_methods():
        device = Recorder()
        getattr(device.context, name)(*arguments(device)[name])
        seen.update(command[0] for command in device.commands())
    device = Recorder()
    device.doomed.append(5)
    device.context._written[18, 0] = np.zeros(4, np.uint8)
    device.context.unmap(arguments(device)["unmap"][0])
    seen.update(command[0] for command in device.commands())
    assert seen == set(COMMANDS)


def test_batches_go_out_by_themselves() -> None:
    device = Recorder()
    for _ in range(BATCH_COMMANDS + 1):
        device.context.draw(3)
    assert [len(m.commands) for m in device.sent] == [BATCH_COMMANDS]


def test_released_objects_follow_the_commands_that_use_them() -> None:
    device = Recorder()
    buffer = Buffer(device, 18, 0, 1, 0, 0, 64, 0)  # type: ignore[arg-type]
    device.context.ia_set_vertex_buffers(0, [buffer], [4], [0])
    del buffer
    device.context.draw(3)
    assert [c[0] for c in device.commands()] == [11, 40, 0]


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | st.binary(max_size=4) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=8,
)


@given(st.lists(_values, max_size=7) | _values)
@settings(deadline=None, max_examples=300)
def test_anything_is_a_command_or_a_protocol_error(command: Any) -> None:
    with suppress(ProtocolError):
        assert check_command(command) in COMMANDS.values()


@given(st.sampled_from(list(COMMANDS.values())), st.data())
@settings(deadline=None, max_examples=300)
def test_wrong_arguments_are_named(command: Any, data: st.DataObject) -> None:
    values = [data.draw(_values) for _ in command.arguments]
    fits = all(kind.test(value) for (_, kind), value in zip(command.arguments, values, strict=True))
    with nullcontext() if fits else pytest.raises(ProtocolError, match=command.name):
        check_command([int(command), *values])


def test_big_updates_travel_in_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_module, "BAND", 100)
    device: Any = Recorder()
    texture = Texture2D(
        device, 19, 0, 8, 0, 0, dimension=2, width=8, height=10, depth=1, mip_levels=1, array_size=1, format=28, sample_count=1
    )
    data = np.arange(320, dtype=np.uint32).view(np.uint8)[:320].reshape(10, 8, 4)
    device.context.update_subresource(texture, data)
    commands = device.commands()
    assert [c[3] for c in commands] == [[0, y, 0, 8, min(y + 3, 10), 1] for y in (0, 3, 6, 9)]
    assert b"".join(c[4] for c in commands) == data.tobytes()
    buffer = Buffer(device, 18, 0, 1, 0, 0, 320, 0)
    device.context.update_subresource(buffer, data)
    commands = device.commands()
    assert [c[3][0] for c in commands] == [0, 100, 200, 300]
    assert b"".join(c[4] for c in commands) == data.tobytes()
