"""What an app imports: Direct3D 11 and DXGI objects over a socket, with trio.

Names are the API's in snake_case; enumerations have the API's value names without prefix. :mod:`wddm.blocking` offers the same
objects without async.
"""

from __future__ import annotations

from .context import ImmediateContext as ImmediateContext
from .device import Device as Device
from .dp2 import Dp2Context as Dp2Context
from .dp2 import Dp2Error as Dp2Error
from .dp2_commands import Dp2CommandBuffer as Dp2CommandBuffer
from .enums import *  # noqa: F403
from .errors import D3DError as D3DError
from .gpu import Gpu as Gpu
from .gpu import connect as connect
from .gpu import connect_over as connect_over
from .resources import *  # noqa: F403
from .swap_chain import SwapChain as SwapChain
from .values import *  # noqa: F403
