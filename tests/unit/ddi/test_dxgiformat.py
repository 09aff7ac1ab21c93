"""DXGI formats: numbers, channels, families, sizes and the abilities of feature level 11_0."""

import pytest

from wddm.ddi.d3dukmdt import D3DDDIFORMAT
from wddm.ddi.dxgiformat import (
    BACK_BUFFER_CAST_FAMILIES,
    D3DDDIFORMAT_FROM_DXGI,
    DISPLAY_MODE_FORMATS,
    DXGI_FORMAT,
    DXGI_FROM_D3DDDIFORMAT,
    FLIP_MODEL_FORMATS,
    FORMATS,
    GDI_DISPLAY_MODE_FORMATS,
    SCAN_OUT_FORMATS,
    TYPELESS_FAMILIES,
    Channel,
    ChannelType,
    FormatAbility,
    FormatClass,
)

F = DXGI_FORMAT


def test_numbers() -> None:
    assert [int(f) for f in F][:116] == list(range(116))
    assert F.R32G32B32A32_FLOAT.value == 2
    assert F.R8G8B8A8_UNORM.value == 28
    assert F.D24_UNORM_S8_UINT.value == 45
    assert F.B8G8R8A8_UNORM.value == 87
    assert F.BC7_UNORM_SRGB.value == 99
    assert F.FORMAT_420_OPAQUE.value == 106
    assert F.A4B4G4R4_UNORM.value == 191
    assert set(FORMATS) == set(F) - {F.FORCE_UINT}


def test_channels_fill_the_element() -> None:
    for info in FORMATS.values():
        if not info.channels or info.compressed:
            continue
        offset = 0
        for channel in info.channels:
            assert channel.offset == offset
            offset += channel.bits
        pixels = 2 if info.format in (F.R8G8_B8G8_UNORM, F.G8R8_G8B8_UNORM) else 1
        assert offset == info.bits * pixels, info.format.name


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (F.R10G10B10A2_UNORM, "R10@0 UNORM, G10@10 UNORM, B10@20 UNORM, A2@30 UNORM"),
        (F.R10G10B10_XR_BIAS_A2_UNORM, "R10@0 XR_BIAS, G10@10 XR_BIAS, B10@20 XR_BIAS, A2@30 UNORM"),
        (F.R11G11B10_FLOAT, "R11@0 UFLOAT, G11@11 UFLOAT, B10@22 UFLOAT"),
        (F.R9G9B9E5_SHAREDEXP, "R9@0 SHAREDEXP, G9@9 SHAREDEXP, B9@18 SHAREDEXP, E5@27 SHAREDEXP"),
        (F.B5G6R5_UNORM, "B5@0 UNORM, G6@5 UNORM, R5@11 UNORM"),
        (F.B5G5R5A1_UNORM, "B5@0 UNORM, G5@5 UNORM, R5@10 UNORM, A1@15 UNORM"),
        (F.D24_UNORM_S8_UINT, "D24@0 UNORM, S8@24 UINT"),
        (F.D32_FLOAT_S8X24_UINT, "D32@0 FLOAT, S8@32 UINT, X24@40 UNUSED"),
        (F.X24_TYPELESS_G8_UINT, "X24@0 UNUSED, G8@24 UINT"),
        (F.R32_FLOAT_X8X24_TYPELESS, "R32@0 FLOAT, X8@32 UNUSED, X24@40 UNUSED"),
        (F.B8G8R8X8_UNORM, "B8@0 UNORM, G8@8 UNORM, R8@16 UNORM, X8@24 UNUSED"),
        (F.A8_UNORM, "A8@0 UNORM"),
        (F.R16G16_SNORM, "R16@0 SNORM, G16@16 SNORM"),
        (F.R8G8_B8G8_UNORM, "R8@0 UNORM, G8@8 UNORM, B8@16 UNORM, G8@24 UNORM"),
        (F.BC5_SNORM, "R0@0 SNORM, G0@0 SNORM"),
        (F.BC6H_UF16, "R0@0 UFLOAT, G0@0 UFLOAT, B0@0 UFLOAT"),
        (F.NV12, ""),
        (F.P8, ""),
    ],
)
def test_channels(number: DXGI_FORMAT, text: str) -> None:
    def spell(channel: Channel) -> str:
        return f"{channel.name}{channel.bits}@{channel.offset} {channel.type.name}"

    assert ", ".join(spell(channel) for channel in FORMATS[number].channels) == text


def test_families() -> None:
    assert TYPELESS_FAMILIES[F.R10G10B10A2_TYPELESS] == (
        F.R10G10B10A2_UNORM,
        F.R10G10B10A2_UINT,
        F.R10G10B10_XR_BIAS_A2_UNORM,
    )
    assert TYPELESS_FAMILIES[F.B8G8R8A8_TYPELESS] == (F.B8G8R8A8_UNORM, F.B8G8R8A8_UNORM_SRGB)
    assert FORMATS[F.D16_UNORM].family is F.R16_TYPELESS
    assert FORMATS[F.A8_UNORM].family is None
    assert FORMATS[F.R11G11B10_FLOAT].family is None
    typeless = {f for f in F if f.name.endswith("_TYPELESS") and not f.name.startswith(("R24_UNORM", "R32_FLOAT"))}
    assert set(TYPELESS_FAMILIES) == typeless
    for head, members in TYPELESS_FAMILIES.items():
        assert FORMATS[head].family is head
        assert FORMATS[head].typeless
        for member in members:
            assert FORMATS[member].family is head
            assert FORMATS[member].bits == FORMATS[head].bits
            assert FORMATS[member].castable
            assert not FORMATS[member].typeless


def test_sizes() -> None:
    assert FORMATS[F.R32G32B32A32_FLOAT].bytes == 16
    assert FORMATS[F.BC1_UNORM].bytes == 8
    assert FORMATS[F.BC7_UNORM].bytes == 16
    assert FORMATS[F.BC1_UNORM].row_bytes(1) == 8
    assert FORMATS[F.BC1_UNORM].row_bytes(5) == 16
    assert FORMATS[F.BC1_UNORM].rows(9) == 3
    assert FORMATS[F.R8G8B8A8_UNORM].row_bytes(640) == 2560
    assert FORMATS[F.R8G8B8A8_UNORM].rows(9) == 9
    assert FORMATS[F.R1_UNORM].row_bytes(9) == 2


def test_depth_stencil_and_srgb() -> None:
    assert {f for f, info in FORMATS.items() if info.depth} == {
        F.D16_UNORM,
        F.D24_UNORM_S8_UINT,
        F.D32_FLOAT,
        F.D32_FLOAT_S8X24_UINT,
    }
    assert {f for f, info in FORMATS.items() if info.stencil} == {F.D24_UNORM_S8_UINT, F.D32_FLOAT_S8X24_UINT}
    for info in FORMATS.values():
        assert info.depth == info.requires(FormatAbility.DEPTH_STENCIL)
    assert FORMATS[F.R8G8B8A8_UNORM_SRGB].srgb
    assert not FORMATS[F.R8G8B8A8_UNORM].srgb


def test_abilities() -> None:
    ability = FormatAbility
    assert len(ability) == 45
    rgba8 = FORMATS[F.R8G8B8A8_UNORM]
    assert rgba8.requires(ability.RENDER_TARGET | ability.BLENDABLE | ability.SHADER_SAMPLE | ability.DISPLAY)
    assert not rgba8.allows(ability.DEPTH_STENCIL)
    rgb32 = FORMATS[F.R32G32B32_FLOAT]
    assert rgb32.requires(ability.IA_VERTEX_BUFFER | ability.STREAM_OUTPUT)
    assert rgb32.optional & ability.RENDER_TARGET
    assert rgb32.dependent & ability.BLENDABLE
    assert not rgb32.requires(ability.RENDER_TARGET)
    assert rgb32.allows(ability.RENDER_TARGET | ability.BLENDABLE)
    index = {f for f, info in FORMATS.items() if info.requires(ability.IA_INDEX_BUFFER)}
    assert index == {F.R16_UINT, F.R32_UINT}
    assert {f for f, info in FORMATS.items() if info.allows(ability.UAV_ATOMIC_ADD)} == {F.R32_UINT, F.R32_SINT}
    assert {f for f, info in FORMATS.items() if info.allows(ability.RAW_VIEW)} == {F.R32_TYPELESS}
    assert {f for f, info in FORMATS.items() if info.allows(ability.STRUCTURED_VIEW)} == {F.UNKNOWN}
    assert {f for f, info in FORMATS.items() if info.requires(ability.SHADER_SAMPLE_COMPARISON)} == {
        F.R32_FLOAT,
        F.R32_FLOAT_X8X24_TYPELESS,
        F.R24_UNORM_X8_TYPELESS,
        F.R16_UNORM,
    }
    for info in FORMATS.values():
        assert not info.required & info.optional
        assert not (info.required | info.optional) & info.dependent
        if info.format_class is FormatClass.NOT_LISTED:
            assert not info.required | info.optional | info.dependent


def test_display_sets() -> None:
    assert {24, 28, 29, 87, 89, 91, 10} == SCAN_OUT_FORMATS
    assert {85, 86, 87, 88, 10, 24, 28, 29} == DISPLAY_MODE_FORMATS
    assert {85, 86, 87, 88} == GDI_DISPLAY_MODE_FORMATS
    assert {10, 24, 28, 87} == FLIP_MODEL_FORMATS
    assert {23, 27, 90} == BACK_BUFFER_CAST_FAMILIES
    castable = {f for f, info in FORMATS.items() if info.requires(FormatAbility.BACK_BUFFER_CAST)}
    assert {FORMATS[f].family for f in castable} == BACK_BUFFER_CAST_FAMILIES


def test_legacy_formats() -> None:
    assert DXGI_FROM_D3DDDIFORMAT[D3DDDIFORMAT.A8R8G8B8] is F.B8G8R8A8_UNORM
    assert DXGI_FROM_D3DDDIFORMAT[D3DDDIFORMAT.R8G8_B8G8] is F.G8R8_G8B8_UNORM
    assert D3DDDIFORMAT_FROM_DXGI[F.R8G8B8A8_UNORM_SRGB] is D3DDDIFORMAT.A8B8G8R8
    for dxgi, legacy in D3DDDIFORMAT_FROM_DXGI.items():
        assert FORMATS[DXGI_FROM_D3DDDIFORMAT[legacy]].bits == FORMATS[dxgi].bits


def test_typeless_channels() -> None:
    assert all(c.type in (ChannelType.TYPELESS, ChannelType.UNUSED) for c in FORMATS[F.R32G8X24_TYPELESS].channels)
    assert not FORMATS[F.R24_UNORM_X8_TYPELESS].typeless
