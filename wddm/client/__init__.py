"""What an app imports: Direct3D 11 and DXGI objects over a socket, with trio.

Names are the API's in snake_case; enumerations have the API's value names without prefix. :mod:`wddm.blocking` offers the same
objects without async.
"""

from __future__ import annotations

from .context import ImmediateContext
from .device import Device
from .enums import *  # noqa: F403
from .errors import D3DError
from .gpu import Gpu, connect, connect_over
from .resources import (
    BlendState,
    Buffer,
    DepthStencilState,
    DepthStencilView,
    DeviceChild,
    InputLayout,
    Query,
    RasterizerState,
    RenderTargetView,
    Resource,
    SamplerState,
    Shader,
    ShaderResourceView,
    Texture,
    Texture1D,
    Texture2D,
    Texture3D,
    UnorderedAccessView,
    View,
)
from .swap_chain import SwapChain
from .values import *  # noqa: F403
