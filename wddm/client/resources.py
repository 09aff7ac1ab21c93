"""Objects that a device creates: ids with what a client remembers of their descriptions.

An object lives until :meth:`DeviceChild.release`, or until Python forgets it; what is bound to the pipeline stays alive there, as
in Direct3D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from .enums import BindFlag, CpuAccessFlag, Format, QueryType, ResourceMiscFlag, ShaderStage, Usage

if TYPE_CHECKING:
    from .device_base import DeviceBase

__all__ = [
    "BlendState",
    "Buffer",
    "DepthStencilState",
    "DepthStencilView",
    "DeviceChild",
    "InputLayout",
    "Query",
    "RasterizerState",
    "RenderTargetView",
    "Resource",
    "SamplerState",
    "Shader",
    "ShaderResourceView",
    "Texture",
    "Texture1D",
    "Texture2D",
    "Texture3D",
    "UnorderedAccessView",
    "View",
]


#: The number of an object that was given up: the runtime refuses it wherever it is used.
RELEASED: Final = 0xFFFF_FFFF


class DeviceChild:
    """What every object of a device has. After :meth:`release` it is refused wherever it is used."""

    __slots__ = ("__weakref__", "device", "id")

    def __init__(self, device: DeviceBase, id: int) -> None:
        self.device = device
        self.id = id

    def release(self) -> None:
        """Give the object up, after the commands recorded so far. Harmless when done twice."""
        id, self.id = self.id, RELEASED
        if id not in (0, RELEASED):
            self.device.doomed.append(id)

    def __del__(self) -> None:
        if getattr(self, "id", 0) not in (0, RELEASED):
            self.device.doomed.append(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'released' if self.id in (0, RELEASED) else self.id}>"


class Resource(DeviceChild):
    """A buffer or texture."""

    __slots__ = ("bind_flags", "cpu_access_flags", "done_at", "misc_flags", "usage")

    def __init__(
        self,
        device: DeviceBase,
        id: int,
        usage: int,
        bind_flags: int,
        cpu_access_flags: int,
        misc_flags: int,
    ) -> None:
        super().__init__(device, id)
        self.usage = Usage(usage)
        self.bind_flags = BindFlag(bind_flags)
        self.cpu_access_flags = CpuAccessFlag(cpu_access_flags)
        self.misc_flags = ResourceMiscFlag(misc_flags)
        #: STAGING: the value of the device's fence by which the last copy into it is done; 0: known to be done.
        self.done_at = 0


class Buffer(Resource):
    """ID3D11Buffer: ``byte_width`` bytes."""

    __slots__ = ("byte_width", "structure_byte_stride")

    def __init__(
        self,
        device: DeviceBase,
        id: int,
        usage: int,
        bind_flags: int,
        cpu_access_flags: int,
        misc_flags: int,
        byte_width: int,
        structure_byte_stride: int,
    ) -> None:
        super().__init__(device, id, usage, bind_flags, cpu_access_flags, misc_flags)
        self.byte_width = byte_width
        self.structure_byte_stride = structure_byte_stride


class Texture(Resource):
    """A texture of ``dimension`` 1, 2 or 3; sizes of the most detailed level in texels."""

    __slots__ = (
        "array_size",
        "depth",
        "dimension",
        "format",
        "height",
        "mip_levels",
        "sample_count",
        "width",
    )

    def __init__(
        self,
        device: DeviceBase,
        id: int,
        usage: int,
        bind_flags: int,
        cpu_access_flags: int,
        misc_flags: int,
        *,
        dimension: int,
        width: int,
        height: int,
        depth: int,
        mip_levels: int,
        array_size: int,
        format: int,
        sample_count: int,
    ) -> None:
        super().__init__(device, id, usage, bind_flags, cpu_access_flags, misc_flags)
        self.dimension = dimension
        self.width = width
        self.height = height
        self.depth = depth
        self.mip_levels = mip_levels or max(width, height, depth).bit_length()
        self.array_size = array_size
        self.format = Format(format)
        self.sample_count = sample_count

    def size(self, subresource: int = 0) -> tuple[int, ...]:
        """Width[, height[, depth]] of a subresource (mip + slice * mip_levels)."""
        mip = subresource % self.mip_levels
        full = (self.width, self.height, self.depth)[: self.dimension]
        return tuple(max(n >> mip, 1) for n in full)


class Texture1D(Texture):
    """ID3D11Texture1D."""

    __slots__ = ()


class Texture2D(Texture):
    """ID3D11Texture2D."""

    __slots__ = ()


class Texture3D(Texture):
    """ID3D11Texture3D."""

    __slots__ = ()


class View(DeviceChild):
    """A view of ``resource``."""

    __slots__ = ("resource",)

    def __init__(self, resource: Resource, id: int) -> None:
        super().__init__(resource.device, id)
        self.resource = resource


class ShaderResourceView(View):
    """ID3D11ShaderResourceView."""

    __slots__ = ()


class RenderTargetView(View):
    """ID3D11RenderTargetView."""

    __slots__ = ()


class DepthStencilView(View):
    """ID3D11DepthStencilView."""

    __slots__ = ()


class UnorderedAccessView(View):
    """ID3D11UnorderedAccessView."""

    __slots__ = ()


class Shader(DeviceChild):
    """A shader of ``stage``."""

    __slots__ = ("stage",)

    def __init__(self, device: DeviceBase, id: int, stage: ShaderStage) -> None:
        super().__init__(device, id)
        self.stage = stage


class InputLayout(DeviceChild):
    """ID3D11InputLayout."""

    __slots__ = ()


class BlendState(DeviceChild):
    """ID3D11BlendState."""

    __slots__ = ()


class DepthStencilState(DeviceChild):
    """ID3D11DepthStencilState."""

    __slots__ = ()


class RasterizerState(DeviceChild):
    """ID3D11RasterizerState."""

    __slots__ = ()


class SamplerState(DeviceChild):
    """ID3D11SamplerState."""

    __slots__ = ()


class Query(DeviceChild):
    """ID3D11Query or ID3D11Predicate of ``type``."""

    __slots__ = ("type",)

    def __init__(self, device: DeviceBase, id: int, type: int) -> None:
        super().__init__(device, id)
        self.type = QueryType(type)
