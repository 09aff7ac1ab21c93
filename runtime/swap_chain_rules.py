"""The rules of DXGI_SWAP_CHAIN_DESC1 and of IDXGISwapChain1::Present."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wddm.client.enums import BufferUsage, PresentFlag, SwapChainFlag, SwapEffect
from wddm.ddi.dxgiformat import DISPLAY_MODE_FORMATS, DXGI_FORMAT, FLIP_MODEL_FORMATS
from wddm.wire import api

from .errors import invalid_call, require
from .resources import MAX_TEXTURE_DIMENSION

if TYPE_CHECKING:
    from .device import Device

MAX_BUFFERS: Final = 16  #: DXGI_MAX_SWAP_CHAIN_BUFFERS
_FLIP_EFFECTS: Final = (SwapEffect.FLIP_SEQUENTIAL, SwapEffect.FLIP_DISCARD)
_PRESENT_FLAGS: Final = (
    PresentFlag.TEST
    | PresentFlag.DO_NOT_SEQUENCE
    | PresentFlag.RESTART
    | PresentFlag.DO_NOT_WAIT
    | PresentFlag.STEREO_PREFER_RIGHT
    | PresentFlag.STEREO_TEMPORARY_MONO
    | PresentFlag.RESTRICT_TO_OUTPUT
    | PresentFlag.USE_DURATION
    | PresentFlag.ALLOW_TEARING
)


def flips(desc: api.CreateSwapChain) -> bool:
    """Whether the swap effect is one of the flip model."""
    return desc.swap_effect in _FLIP_EFFECTS


def check_present(desc: api.CreateSwapChain, interval: int, flags: int) -> None:
    """The rules of IDXGISwapChain::Present. Raises DXGI_ERROR_INVALID_CALL."""
    if interval > 4:
        raise invalid_call(f"sync_interval: {interval} is not in 0..4")
    unknown = flags & ~int(_PRESENT_FLAGS)
    if unknown:
        raise invalid_call(f"flags: {flags:#x} has unknown bits ({unknown:#x})")
    if flags & (PresentFlag.STEREO_PREFER_RIGHT | PresentFlag.STEREO_TEMPORARY_MONO):
        raise invalid_call("flags: the chain is not stereo")
    if flags & PresentFlag.RESTRICT_TO_OUTPUT:
        raise invalid_call("flags: RESTRICT_TO_OUTPUT needs an output given at creation")
    if flags & PresentFlag.USE_DURATION:
        raise invalid_call("flags: USE_DURATION without a present duration")
    if flags & PresentFlag.RESTART and not flips(desc):
        raise invalid_call("flags: RESTART is for flip-model chains")
    if flags & PresentFlag.ALLOW_TEARING:
        if not desc.flags & SwapChainFlag.ALLOW_TEARING:
            raise invalid_call("flags: ALLOW_TEARING needs a chain created with ALLOW_TEARING")
        if interval:
            raise invalid_call(f"sync_interval: {interval} with ALLOW_TEARING, which needs 0")


def check_description(device: Device, m: api.CreateSwapChain) -> None:
    """The rules of DXGI_SWAP_CHAIN_DESC1. Raises DXGI_ERROR_INVALID_CALL or E_INVALIDARG."""
    if m.swap_effect not in SwapEffect._value2member_map_:
        raise invalid_call(f"swap_effect: {m.swap_effect} is no DXGI_SWAP_EFFECT")
    effect = SwapEffect(m.swap_effect)
    flip = flips(m)
    if m.format not in DXGI_FORMAT._value2member_map_ or m.format == DXGI_FORMAT.FORCE_UINT:
        raise invalid_call(f"format: {m.format} is no DXGI_FORMAT")
    format = DXGI_FORMAT(m.format)
    allowed = FLIP_MODEL_FORMATS if flip else DISPLAY_MODE_FORMATS
    if format not in allowed:
        raise invalid_call(f"format: {format.name} cannot be that of a {'flip' if flip else 'blt'}-model swap chain")
    least = 2 if flip else 1
    if not least <= m.buffer_count <= MAX_BUFFERS:
        raise invalid_call(f"buffer_count: {m.buffer_count} is not in {least}..{MAX_BUFFERS}")
    if m.sample_count != 1 and effect is not SwapEffect.DISCARD:
        raise invalid_call(f"sample_count: {m.sample_count}, only DISCARD chains can be multisampled")
    if m.sample_count == 0 or (m.sample_count == 1 and m.sample_quality):
        raise invalid_call(f"sample_count, sample_quality: {m.sample_count}, {m.sample_quality}")
    if m.sample_count > 1:
        levels = device.quality_levels(format, m.sample_count)
        require(m.sample_quality < levels, f"sample_count: {format.name} has {levels} quality levels at {m.sample_count} samples")
    unknown = m.buffer_usage & ~int(
        BufferUsage.SHADER_INPUT
        | BufferUsage.RENDER_TARGET_OUTPUT
        | BufferUsage.BACK_BUFFER
        | BufferUsage.DISCARD_ON_PRESENT
        | BufferUsage.UNORDERED_ACCESS
    )
    if unknown:
        raise invalid_call(f"buffer_usage: {m.buffer_usage:#x} has bits that a back buffer cannot have ({unknown:#x})")
    unknown = m.flags & ~int(
        SwapChainFlag.NONPREROTATED | SwapChainFlag.ALLOW_MODE_SWITCH | SwapChainFlag.ALLOW_TEARING
    )
    if unknown:
        raise invalid_call(f"flags: {m.flags:#x} has bits that are not supported ({unknown:#x})")
    if m.flags & SwapChainFlag.ALLOW_TEARING and not flip:
        raise invalid_call("flags: ALLOW_TEARING is for flip-model chains")
    if m.scaling > 2:
        raise invalid_call(f"scaling: {m.scaling} is no DXGI_SCALING")
    for name, value in (("width", m.width), ("height", m.height)):
        if not 0 < value <= MAX_TEXTURE_DIMENSION:
            raise invalid_call(f"{name}: {value} is not in 1..{MAX_TEXTURE_DIMENSION}")
