"""The adapter entries: OpenAdapter10_2, versions, capabilities, and making devices.

Models "Initializing Communication with the Direct3D Version 11 DDI". The driver lists the interfaces that it speaks and the
runtime chooses; the adapter's numbers come from the miniport through pfnQueryAdapterInfoCb.
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from itertools import count
from typing import Any

from umd.device import Device
from umd.errors import DeviceError
from wddm.ddi.d3d10umddi import (
    D3D10_2DDIARG_GETCAPS,
    D3D10_2DDICAPS_TYPE,
    D3D10DDIARG_CALCPRIVATEDEVICESIZE,
    D3D10DDIARG_CREATEDEVICE,
    D3D10DDIARG_OPENADAPTER,
    D3D11_1DDI_D3D11_OPTIONS_DATA,
    D3D11DDI_3DPIPELINELEVEL,
    D3D11DDI_SHADER_CAPS,
    D3D11DDI_THREADING_CAPS,
    D3DDDICAPS_ARCHITECTURE_INFO,
    DDI_BUILD_VERSION,
    DDI_VERSION,
    encode_pipeline_support,
    supported_version,
)
from wddm.ddi.d3dumddi import D3DDDICB_QUERYADAPTERINFO
from wddm.ddi.status import HRESULT
from wddm.hw.driver import ADAPTER_PRIVATE, ADAPTER_PRIVATE_SIZE, read_private
from wddm.hw.registers import INTERFACE_VERSION

S_OK = int(HRESULT.S_OK)
#: ERROR_INSUFFICIENT_BUFFER as an HRESULT.
INSUFFICIENT_BUFFER = 0x8007007A
#: Interfaces that this driver speaks, oldest first.
INTERFACES = (DDI_VERSION.D3D11_0, DDI_VERSION.D3D11_0_7, DDI_VERSION.D3D11_1)
_LEVELS = (
    D3D11DDI_3DPIPELINELEVEL.LEVEL_10_0,
    D3D11DDI_3DPIPELINELEVEL.LEVEL_10_1,
    D3D11DDI_3DPIPELINELEVEL.LEVEL_11_0,
)
_handles = count(1)


class Adapter:
    """One open adapter."""

    def __init__(self, arg: D3D10DDIARG_OPENADAPTER) -> None:
        self._h_rt_adapter = arg.hRTAdapter
        self._callbacks = arg.pAdapterCallbacks
        self.local_size = 0
        self.devices: list[Device] = []

    async def open(self) -> int:
        """Ask the miniport what the adapter is."""
        query = self._callbacks.pfnQueryAdapterInfoCb
        if query is None:
            return int(HRESULT.E_INVALIDARG)
        arg = D3DDDICB_QUERYADAPTERINFO(bytearray(ADAPTER_PRIVATE_SIZE), ADAPTER_PRIVATE_SIZE)
        hr: Any = query(self._h_rt_adapter, arg)
        if isawaitable(hr):
            hr = await hr
        if hr & 0x80000000:
            return int(hr)
        try:
            record = read_private(ADAPTER_PRIVATE, arg.pPrivateDriverData)
        except ValueError:
            return int(HRESULT.E_INVALIDARG)
        if int(record["interface_version"]) >> 16 != INTERFACE_VERSION >> 16:
            return int(HRESULT.E_INVALIDARG)
        self.local_size = int(record["local_size"])
        return S_OK

    def GetSupportedVersions(self, hAdapter: int, capacity: int | None) -> tuple[int, int, list[int]]:
        """Two calls: the count, then the entries."""
        entries = [supported_version(i) for i in INTERFACES]
        if capacity is None:
            return S_OK, len(entries), []
        if capacity < len(entries):
            return INSUFFICIENT_BUFFER, len(entries), []
        return S_OK, len(entries), entries

    def GetCaps(self, hAdapter: int, arg: D3D10_2DDIARG_GETCAPS) -> int:
        """Answer what is known; what is not is answered with nothing."""
        T = D3D10_2DDICAPS_TYPE
        answers: dict[int, object] = {
            # Neither free threading nor command lists: the runtime serialises, and makes deferred contexts itself.
            T.D3D11DDICAPS_THREADING: int(D3D11DDI_THREADING_CAPS.NONE),
            T.D3D11DDICAPS_SHADER: int(
                D3D11DDI_SHADER_CAPS.DOUBLES
                | D3D11DDI_SHADER_CAPS.COMPUTE_PLUS_RAW_AND_STRUCTURED_BUFFERS_IN_SHADER_4_X
            ),
            T.D3D11DDICAPS_3DPIPELINESUPPORT: encode_pipeline_support(*_LEVELS),
            T.D3D11_1DDICAPS_D3D11_OPTIONS: D3D11_1DDI_D3D11_OPTIONS_DATA(OutputMergerLogicOp=True),
            T.D3D11_1DDICAPS_ARCHITECTURE_INFO: D3DDDICAPS_ARCHITECTURE_INFO(TileBasedDeferredRenderer=True),
        }
        arg.pData = answers.get(int(arg.Type))
        return S_OK

    def CalcPrivateDeviceSize(self, hAdapter: int, arg: D3D10DDIARG_CALCPRIVATEDEVICESIZE) -> int:
        """Bytes that the runtime sets aside for a device."""
        return 4096

    def CreateDevice(self, hAdapter: int, arg: D3D10DDIARG_CREATEDEVICE) -> int | Awaitable[int]:
        """Make a device for one of the interfaces that were offered."""
        if arg.Interface not in INTERFACES or arg.Version >> 16 < DDI_BUILD_VERSION[arg.Interface]:
            return int(HRESULT.E_INVALIDARG)
        return self._create(arg)

    async def _create(self, arg: D3D10DDIARG_CREATEDEVICE) -> int:
        device = Device(arg, self.local_size)
        try:
            await device.create()
        except DeviceError as error:
            return error.hr
        self.devices.append(device)
        return S_OK

    def CloseAdapter(self, hAdapter: int) -> int:
        """Nothing of the adapter is left."""
        self.devices.clear()
        return S_OK


async def OpenAdapter10_2(arg: D3D10DDIARG_OPENADAPTER) -> int:
    """The driver's one export."""
    table = arg.pAdapterFuncs_2
    if table is None:
        return int(HRESULT.E_INVALIDARG)
    adapter = Adapter(arg)
    hr = await adapter.open()
    if hr & 0x80000000:
        return hr
    table.pfnGetSupportedVersions = adapter.GetSupportedVersions
    table.pfnGetCaps = adapter.GetCaps
    table.pfnCalcPrivateDeviceSize = adapter.CalcPrivateDeviceSize
    table.pfnCreateDevice = adapter.CreateDevice
    table.pfnCloseAdapter = adapter.CloseAdapter
    arg.hAdapter = next(_handles)
    return S_OK
