"""The rules of descriptions: what is refused, and that the sentence names the parameter."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import ApiError
from runtime.objects import Kind, ObjectTable
from runtime.resources import Buffer, Resource, buffer_of, texture_of
from runtime.states import blend_desc, depth_stencil_desc, rasterizer_desc, sampler_desc
from runtime.swap_chain_rules import check_description
from runtime.views import view_of
from wddm.ddi.d3d10umddi import D3D10DDIRESOURCE_TYPE
from wddm.ddi.status import HRESULT
from wddm.wire import api

VB, IB, CB, SRV, SO, RTV, DSV, UAV = (1 << i for i in range(8))
WRITE, READ = 0x10000, 0x20000
DATA = [api.SubresourceData(blob=api.Blob(data=bytes(4096)))]


class FakeDevice:
    """What descriptions ask of a device."""

    def __init__(self) -> None:
        self.objects = ObjectTable()

    def quality_levels(self, format: Any, count: int) -> int:
        return 2 if count in (2, 4, 8) else 0


def refused(code: int, parameter: str, call: Any, *arguments: Any) -> None:
    with pytest.raises(ApiError) as caught:
        call(*arguments)
    assert caught.value.code == code
    assert parameter in caught.value.sentence


BAD_BUFFERS: list[tuple[str, dict[str, Any]]] = [
    ("byte_width", {"byte_width": 0}),
    ("byte_width", {"byte_width": 1 << 31}),
    ("byte_width", {"byte_width": 20, "bind_flags": CB}),
    ("byte_width", {"byte_width": 65552, "bind_flags": CB}),
    ("bind_flags", {"bind_flags": CB | VB}),
    ("bind_flags", {"bind_flags": DSV}),
    ("bind_flags", {"bind_flags": 0x1000}),
    ("usage", {"usage": 4}),
    ("cpu_access_flags", {"cpu_access_flags": READ, "bind_flags": VB}),
    ("cpu_access_flags", {"cpu_access_flags": 1}),
    ("cpu_access_flags", {"usage": 2, "bind_flags": VB}),
    ("cpu_access_flags", {"usage": 2, "bind_flags": VB, "cpu_access_flags": READ | WRITE}),
    ("bind_flags", {"usage": 2, "cpu_access_flags": WRITE}),
    ("bind_flags", {"usage": 2, "cpu_access_flags": WRITE, "bind_flags": UAV}),
    ("cpu_access_flags", {"usage": 3}),
    ("bind_flags", {"usage": 3, "cpu_access_flags": READ, "bind_flags": VB}),
    ("initial data", {"usage": 1, "bind_flags": VB}),
    ("bind_flags", {"usage": 1, "bind_flags": UAV, "initial": DATA}),
    ("misc_flags", {"misc_flags": 1}),
    ("structure_byte_stride", {"misc_flags": 0x40, "structure_byte_stride": 0, "bind_flags": SRV}),
    ("structure_byte_stride", {"misc_flags": 0x40, "structure_byte_stride": 2052, "bind_flags": SRV}),
    ("byte_width", {"misc_flags": 0x40, "structure_byte_stride": 24, "bind_flags": SRV}),
    ("misc_flags", {"misc_flags": 0x60, "structure_byte_stride": 16, "bind_flags": SRV}),
    ("bind_flags", {"misc_flags": 0x40, "structure_byte_stride": 16, "bind_flags": VB}),
    ("misc_flags", {"misc_flags": 0x20, "bind_flags": VB}),
    ("usage", {"misc_flags": 0x10, "usage": 3, "cpu_access_flags": READ}),
    ("initial data", {"initial": DATA * 2}),
]


@pytest.mark.parametrize(("parameter", "fields"), BAD_BUFFERS)
def test_buffers_refused(parameter: str, fields: dict[str, Any]) -> None:
    message = api.CreateBuffer(device=1, **{"byte_width": 64, **fields})
    refused(HRESULT.E_INVALIDARG, parameter, buffer_of, FakeDevice(), message)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"bind_flags": VB | IB | SRV | SO},
        {"bind_flags": CB, "usage": 2, "cpu_access_flags": WRITE},
        {"usage": 3, "cpu_access_flags": READ | WRITE},
        {"usage": 1, "bind_flags": IB, "initial": DATA},
        {"bind_flags": SRV | UAV, "misc_flags": 0x40, "structure_byte_stride": 16},
        {"bind_flags": SRV | UAV | VB, "misc_flags": 0x20},
        {"misc_flags": 0x10},
    ],
)
def test_buffers_accepted(fields: dict[str, Any]) -> None:
    assert buffer_of(FakeDevice(), api.CreateBuffer(device=1, byte_width=64, **fields)).byte_width == 64  # type: ignore[arg-type]


BAD_TEXTURES: list[tuple[str, dict[str, Any]]] = [
    ("dimension", {"dimension": 4}),
    ("width", {"width": 0}),
    ("width", {"width": 16385}),
    ("height", {"dimension": 1, "height": 2}),
    ("depth", {"depth": 2}),
    ("width", {"dimension": 3, "width": 2049}),
    ("array_size", {"array_size": 2049}),
    ("array_size", {"dimension": 3, "array_size": 2}),
    ("mip_levels", {"mip_levels": 6}),
    ("format", {"format": 0}),
    ("format", {"format": 140}),
    ("format", {"format": 71, "dimension": 1, "height": 1}),
    ("width, height", {"format": 71, "width": 18}),
    ("bind_flags", {"bind_flags": VB}),
    ("bind_flags", {"bind_flags": RTV, "format": 71}),
    ("bind_flags", {"bind_flags": DSV}),
    ("bind_flags", {"bind_flags": SRV, "format": 40}),
    ("bind_flags", {"bind_flags": DSV | RTV, "format": 39}),
    ("bind_flags", {"bind_flags": UAV, "format": 29}),
    ("misc_flags", {"misc_flags": 0x40}),
    ("misc_flags", {"misc_flags": 4, "array_size": 6, "height": 8}),
    ("array_size", {"misc_flags": 4, "array_size": 7}),
    ("misc_flags", {"misc_flags": 1, "bind_flags": SRV}),
    ("sample_count", {"sample_count": 0}),
    ("sample_count", {"sample_count": 3, "bind_flags": RTV}),
    ("sample_count", {"sample_count": 4, "bind_flags": RTV, "dimension": 1, "height": 1}),
    ("sample_quality", {"sample_quality": 1}),
    ("sample_quality", {"sample_count": 4, "sample_quality": 2, "bind_flags": RTV}),
    ("mip_levels", {"sample_count": 4, "mip_levels": 2, "bind_flags": RTV}),
    ("bind_flags", {"sample_count": 4, "bind_flags": SRV}),
    ("bind_flags", {"sample_count": 4, "bind_flags": RTV | UAV}),
    ("mip_levels", {"usage": 2, "cpu_access_flags": WRITE, "mip_levels": 2}),
    ("initial data", {"usage": 1}),
    ("initial data", {"mip_levels": 2, "initial": DATA}),
    ("width", {"width": 16384, "height": 16384, "format": 2}),
]


@pytest.mark.parametrize(("parameter", "fields"), BAD_TEXTURES)
def test_textures_refused(parameter: str, fields: dict[str, Any]) -> None:
    base: dict[str, Any] = {"dimension": 2, "width": 16, "height": 16, "format": 28, "bind_flags": SRV}
    refused(HRESULT.E_INVALIDARG, parameter, texture_of, FakeDevice(), api.CreateTexture(device=1, **{**base, **fields}))


def test_all_mips_are_counted() -> None:
    message = api.CreateTexture(device=1, dimension=2, width=16, height=5, format=28, mip_levels=0, bind_flags=SRV)
    texture = texture_of(FakeDevice(), message)  # type: ignore[arg-type]
    assert texture.mip_levels == 5
    assert [texture.size(mip) for mip in (0, 2, 4)] == [(16, 5, 1), (4, 1, 1), (1, 1, 1)]


def added(device: FakeDevice, resource: Resource, kind: Kind) -> int:
    return device.objects.add(kind, resource)


def texture(device: Any, **fields: Any) -> int:
    base: dict[str, Any] = {"dimension": 2, "width": 16, "height": 16, "format": 28, "bind_flags": SRV | RTV}
    return added(device, texture_of(device, api.CreateTexture(device=1, **{**base, **fields})), Kind.TEXTURE)


def buffer(device: Any, **fields: Any) -> int:
    base: dict[str, Any] = {"byte_width": 64, "bind_flags": SRV | UAV}
    return added(device, buffer_of(device, api.CreateBuffer(device=1, **{**base, **fields})), Kind.BUFFER)


BAD_VIEWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("resource", {}, {"kind": 2, "default": True}),
    ("kind", {}, {"kind": 4}),
    ("dimension", {}, {"kind": 0, "dimension": 0}),
    ("dimension", {}, {"kind": 0, "dimension": 2}),
    ("dimension", {}, {"kind": 0, "dimension": 6}),
    ("dimension", {}, {"kind": 0, "dimension": 9}),
    ("format", {}, {"kind": 0, "dimension": 4, "format": 29}),
    ("format", {}, {"kind": 0, "dimension": 4, "format": 87}),
    ("format", {"format": 27}, {"kind": 0, "default": True}),
    ("format", {"format": 27}, {"kind": 0, "dimension": 4, "format": 41}),
    ("mip_levels", {"mip_levels": 3}, {"kind": 0, "dimension": 4, "mip": 3}),
    ("mip_levels", {"mip_levels": 3}, {"kind": 0, "dimension": 4, "mip": 1, "mips": 3}),
    ("mip_slice", {}, {"kind": 1, "dimension": 4, "mip": 1}),
    ("array_size", {"array_size": 4}, {"kind": 0, "dimension": 5, "first": 2, "count": 3}),
    ("array_size", {"array_size": 4}, {"kind": 0, "dimension": 4, "first": 1}),
    ("flags", {}, {"kind": 1, "dimension": 4, "flags": 1}),
]


@pytest.mark.parametrize(("parameter", "resource", "fields"), BAD_VIEWS)
def test_texture_views_refused(parameter: str, resource: dict[str, Any], fields: dict[str, Any]) -> None:
    device = FakeDevice()
    refused(HRESULT.E_INVALIDARG, parameter, view_of, device, api.CreateView(resource=texture(device, **resource), **fields))


@pytest.mark.parametrize(
    ("parameter", "resource", "fields"),
    [
        ("format", {}, {"kind": 0, "dimension": 1, "format": 0}),
        ("num_elements", {}, {"kind": 0, "dimension": 1, "format": 42, "first": 16}),
        ("num_elements", {}, {"kind": 0, "dimension": 1, "format": 42, "count": 17}),
        ("flags", {}, {"kind": 0, "dimension": 11, "format": 39, "flags": 1}),
        ("format", {"misc_flags": 0x20}, {"kind": 0, "dimension": 11, "format": 42, "flags": 1}),
        ("flags", {}, {"kind": 3, "dimension": 1, "format": 42, "flags": 2}),
        ("flags", {"misc_flags": 0x40, "structure_byte_stride": 4}, {"kind": 3, "dimension": 1, "flags": 6}),
        ("format", {"misc_flags": 0x40, "structure_byte_stride": 4}, {"kind": 3, "dimension": 1, "format": 42}),
    ],
)
def test_buffer_views_refused(parameter: str, resource: dict[str, Any], fields: dict[str, Any]) -> None:
    device = FakeDevice()
    refused(HRESULT.E_INVALIDARG, parameter, view_of, device, api.CreateView(resource=buffer(device, **resource), **fields))


def test_a_cube_view_covers_its_faces() -> None:
    device = FakeDevice()
    cube = texture(device, array_size=12, misc_flags=4)
    view, argument = view_of(device, api.CreateView(resource=cube, kind=0, default=True))  # type: ignore[arg-type]
    assert (argument.ResourceDimension, argument.TexCube.NumCubes) == (D3D10DDIRESOURCE_TYPE.TEXTURECUBE, 2)
    assert (view.slice, view.slice_end) == (0, 12)
    view, argument = view_of(device, api.CreateView(resource=cube, kind=0, dimension=10, first=6, count=1))  # type: ignore[arg-type]
    assert (view.slice, view.slice_end) == (6, 12)
    assert argument.TexCube.First2DArrayFace == 6


def test_raw_and_structured_views_become_buffer_ex() -> None:
    device = FakeDevice()
    raw = buffer(device, misc_flags=0x20)
    _, argument = view_of(device, api.CreateView(resource=raw, kind=0, default=True))  # type: ignore[arg-type]
    assert (argument.ResourceDimension, argument.BufferEx.NumElements, argument.BufferEx.Flags) == (6, 16, 1)
    structured = buffer(device, misc_flags=0x40, structure_byte_stride=16)
    _, argument = view_of(device, api.CreateView(resource=structured, kind=3, dimension=1, flags=4))  # type: ignore[arg-type]
    assert (argument.Buffer.NumElements, argument.Buffer.Flags) == (4, 4)


def blend(**fields: Any) -> api.CreateBlendState:
    return api.CreateBlendState(device=1, targets=[api.RenderTargetBlend(**fields)])


def test_states_that_mean_the_same_are_the_same() -> None:
    assert blend_desc(blend(src_blend=5))[0] == blend_desc(blend(src_blend=7))[0]  # blending is off: its factors do not count
    assert blend_desc(blend(blend_enable=True, src_blend=5))[0] != blend_desc(blend(blend_enable=True, src_blend=7))[0]
    face = api.StencilFace()
    off = depth_stencil_desc(api.CreateDepthStencilState(device=1, front=face, back=face, stencil_read_mask=3))
    plain = depth_stencil_desc(api.CreateDepthStencilState(device=1, front=face, back=face))
    assert off[0] == plain[0]


@pytest.mark.parametrize(
    ("parameter", "call", "message"),
    [
        ("render_target[0].src_blend", blend_desc, blend(blend_enable=True, src_blend=12)),
        ("src_blend_alpha", blend_desc, blend(blend_enable=True, src_blend_alpha=3)),
        ("blend_op", blend_desc, blend(blend_enable=True, blend_op=6)),
        ("write_mask", blend_desc, blend(write_mask=16)),
        ("fill_mode", rasterizer_desc, api.CreateRasterizerState(device=1, fill_mode=1)),
        ("cull_mode", rasterizer_desc, api.CreateRasterizerState(device=1, cull_mode=0)),
        ("depth_bias_clamp", rasterizer_desc, api.CreateRasterizerState(device=1, depth_bias_clamp=float("nan"))),
        ("filter", sampler_desc, api.CreateSamplerState(device=1, filter=2, border_color=[0] * 4)),
        ("address_u", sampler_desc, api.CreateSamplerState(device=1, address_u=0, border_color=[0] * 4)),
        ("max_anisotropy", sampler_desc, api.CreateSamplerState(device=1, filter=0x55, max_anisotropy=17, border_color=[0] * 4)),
        ("comparison_func", sampler_desc, api.CreateSamplerState(device=1, filter=0x95, comparison_func=0, border_color=[0] * 4)),
        ("border_color", sampler_desc, api.CreateSamplerState(device=1, border_color=[0] * 3)),
        ("mip_lod_bias", sampler_desc, api.CreateSamplerState(device=1, mip_lod_bias=16.0, border_color=[0] * 4)),
    ],
)
def test_states_refused(parameter: str, call: Any, message: Any) -> None:
    refused(HRESULT.E_INVALIDARG, parameter, call, message)


CHAIN: dict[str, Any] = {"width": 64, "height": 64, "format": 28, "buffer_count": 2}


@pytest.mark.parametrize(
    ("parameter", "fields"),
    [
        ("swap_effect", {"swap_effect": 2}),
        ("format", {"format": 85}),
        ("format", {"format": 29}),
        ("format", {"format": 41, "swap_effect": 0}),
        ("buffer_count", {"buffer_count": 1}),
        ("buffer_count", {"buffer_count": 17}),
        ("sample_count", {"sample_count": 4}),
        ("sample_count", {"sample_count": 4, "swap_effect": 1}),
        ("buffer_usage", {"buffer_usage": 0x80}),
        ("flags", {"flags": 1024}),
        ("flags", {"flags": 2048, "swap_effect": 0}),
        ("scaling", {"scaling": 3}),
        ("width", {"width": 20000}),
    ],
)
def test_swap_chains_refused(parameter: str, fields: dict[str, Any]) -> None:
    message = api.CreateSwapChain(device=1, **{**CHAIN, **fields})
    refused(HRESULT.DXGI_ERROR_INVALID_CALL, parameter, check_description, FakeDevice(), message)


def test_a_multisampled_discard_chain_is_allowed() -> None:
    check_description(FakeDevice(), api.CreateSwapChain(device=1, **{**CHAIN, "swap_effect": 0, "sample_count": 4}))  # type: ignore[arg-type]


def test_ids_are_typed_and_never_come_back() -> None:
    table, device = ObjectTable(), FakeDevice()
    first = Buffer(device)  # type: ignore[arg-type]
    id = table.add(Kind.BUFFER, first)
    assert table.get(id, Buffer, "x") is first
    for wrong, words in ((0, "NULL"), (id + 1, "destroyed"), ((id >> 4 << 4), "dp2 context .* destroyed"), (id + 32, "never given out")):
        with pytest.raises(ApiError, match=words):
            table.get(wrong, Buffer, "x")
    table.remove(id)
    assert table.add(Kind.BUFFER, first) != id
    with pytest.raises(ApiError, match="has been destroyed"):
        table.get(id, Buffer, "x")


_u32 = st.integers(0, 0xFFFF_FFFF) | st.integers(0, 300)


_BUFFER_FIELDS = ("byte_width", "usage", "bind_flags", "cpu_access_flags", "misc_flags", "structure_byte_stride")
_TEXTURE_FIELDS = (
    "width", "height", "depth", "mip_levels", "array_size", "format", "sample_count", "sample_quality", "usage", "bind_flags",
    "cpu_access_flags", "misc_flags",
)  # fmt: skip


@given(st.fixed_dictionaries(dict.fromkeys(_BUFFER_FIELDS, _u32)))
@settings(deadline=None, max_examples=200)
def test_any_buffer_is_made_or_refused(fields: dict[str, int]) -> None:
    with suppress(ApiError):
        buffer_of(FakeDevice(), api.CreateBuffer(device=1, **fields))  # type: ignore[arg-type]


@given(st.integers(0, 5), st.fixed_dictionaries(dict.fromkeys(_TEXTURE_FIELDS, _u32)))
@settings(deadline=None, max_examples=300)
def test_any_texture_is_made_or_refused(dimension: int, fields: dict[str, int]) -> None:
    with suppress(ApiError):
        texture_of(FakeDevice(), api.CreateTexture(device=1, dimension=dimension, **fields))  # type: ignore[arg-type]
