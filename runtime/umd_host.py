"""The host of a user-mode driver: loading it, agreeing on a version, asking its capabilities, making a device.

Models "Initializing Communication with the Direct3D Version 11 DDI". A driver is named "module:Entry", as a registry value names a
DLL in Windows; the only export needed is the entry. Every call into the driver is traced, knows its slot (for the error category
check) and is guarded: a driver that raises has broken its contract, and its device is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import fields
from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from wddm.ddi import d3d10umddi as dd
from wddm.ddi import ddrawint
from wddm.ddi import dxgiddi as dx
from wddm.ddi.status import HRESULT, hresult_name
from wddm.trace import Tracer

from .core_layer import CoreLayer
from .errors import ApiError
from .kernel_link import KernelLink
from .objects import new_handle
from .thunks import KernelDevice

if TYPE_CHECKING:
    pass

_log = logging.getLogger("runtime")
tracer = Tracer("runtime")

#: What this runtime can drive: the Direct3D 11.0 interface, whose tables have 150 entries.
RUNTIME_VERSIONS: Final = (dd.supported_version(dd.DDI_VERSION.D3D11_0), dd.supported_version(dd.DDI_VERSION.D3D11_0_7))
#: Version word: the build of the interface; the low word says that shared resources are resolved and offered (DXGI 1.1 table).
RUNTIME_VERSION: Final = dd.make_version(dd.DDI_BUILD_VERSION[dd.DDI_VERSION.D3D11_0_7], dd.OFFER_RECLAIM_BUILD)

#: Entries that may stay NULL: what only deferred contexts, class linkage, text filters, counters and 10.x software need.
OPTIONAL_SLOTS: Final = frozenset(
    {
        "pfnRelocateDeviceFuncs",
        "pfnSetTextFilterSize",
        "pfnOpenResource",
        "pfnCalcPrivateOpenedResourceSize",
        "pfnCheckCounter",
        "pfnCheckCounterInfo",
        "pfnResourceConvert",
        "pfnResourceConvertRegion",
        "pfnCommandListExecute",
        "pfnCheckDeferredContextHandleSizes",
        "pfnCalcDeferredContextHandleSize",
        "pfnCalcPrivateDeferredContextSize",
        "pfnCreateDeferredContext",
        "pfnAbandonCommandList",
        "pfnCalcPrivateCommandListSize",
        "pfnCreateCommandList",
        "pfnDestroyCommandList",
        "pfnPsSetShaderWithIfaces",
        "pfnVsSetShaderWithIfaces",
        "pfnGsSetShaderWithIfaces",
        "pfnHsSetShaderWithIfaces",
        "pfnDsSetShaderWithIfaces",
        "pfnCsSetShaderWithIfaces",
        "pfnRecycleCommandList",
        "pfnRecycleCreateCommandList",
        "pfnRecycleCreateDeferredContext",
        "pfnRecycleDestroyCommandList",
    }
)
OPTIONAL_DXGI_SLOTS: Final = frozenset({"pfnResolveSharedResource", "pfnSetResourcePriority", "pfnQueryResourceResidency"})


async def settle(result: Any) -> Any:
    """The result of an entry that may be an awaitable."""
    return await result if isawaitable(result) else result


def load_driver(name: str) -> Callable[[dd.D3D10DDIARG_OPENADAPTER], Any]:
    """The entry "module:Entry". Raises ApiError when there is none."""
    module, _, entry = name.partition(":")
    try:
        found: Callable[[dd.D3D10DDIARG_OPENADAPTER], Any] = getattr(import_module(module), entry or "OpenAdapter10_2")
    except (ImportError, AttributeError, ValueError) as error:
        raise ApiError(HRESULT.DXGI_ERROR_NOT_FOUND, f"the user-mode driver {name!r} cannot be loaded: {error}") from None
    return found


def load_legacy(name: str) -> Callable[[ddrawint.DD_GETDRIVERINFODATA], Any]:
    """DdGetDriverInfo of the driver whose entry is "module:Entry". Raises ApiError when it has none."""
    module = name.partition(":")[0]
    found: Any = getattr(import_module(module), "DdGetDriverInfo", None)
    if found is None:
        raise ApiError(HRESULT.DXGI_ERROR_UNSUPPORTED, f"the user-mode driver {module!r} knows no DrawPrimitives2")
    entry: Callable[[ddrawint.DD_GETDRIVERINFODATA], Any] = found
    return entry


def check(code: Any, what: str) -> int:
    """Raise ApiError for a failed HRESULT of a driver entry."""
    number = int(code or 0) & 0xFFFF_FFFF
    if number & 0x8000_0000:
        raise ApiError(number, f"the driver's {what} failed with {hresult_name(number)}")
    return number


class Adapter:
    """An opened adapter of a driver."""

    def __init__(self, link: KernelLink, driver: str) -> None:
        self.link = link
        self.driver = driver
        self.hRTAdapter = new_handle()
        self.hAdapter = 0
        self.funcs = dd.D3D10_2DDI_ADAPTERFUNCS()
        self.interface = 0
        self.version = 0
        self.caps: dict[dd.D3D10_2DDICAPS_TYPE, Any] = {}

    async def open(self) -> None:
        """Steps 1 to 3 of the start-up: OpenAdapter10_2, the versions, the capabilities. Raises ApiError."""
        entry = load_driver(self.driver)
        arg = dd.D3D10DDIARG_OPENADAPTER(
            hRTAdapter=self.hRTAdapter,
            Interface=dd.interface_of(RUNTIME_VERSIONS[-1]),
            Version=RUNTIME_VERSION,
            pAdapterCallbacks=self.link.adapter_callbacks(),
            pAdapterFuncs_2=self.funcs,
        )
        tracer("OpenAdapter10_2", hRTAdapter=self.hRTAdapter)
        check(await settle(entry(arg)), "OpenAdapter10_2")
        self.hAdapter = arg.hAdapter
        for slot in fields(self.funcs):
            if getattr(self.funcs, slot.name) is None:
                raise ApiError(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, f"the driver left {slot.name} NULL")
        await self._negotiate()
        for kind in (
            dd.D3D10_2DDICAPS_TYPE.D3D11DDICAPS_THREADING,
            dd.D3D10_2DDICAPS_TYPE.D3D11DDICAPS_SHADER,
            dd.D3D10_2DDICAPS_TYPE.D3D11DDICAPS_3DPIPELINESUPPORT,
        ):
            self.caps[kind] = await self._get_caps(kind)

    async def _negotiate(self) -> None:
        get = self.funcs.pfnGetSupportedVersions
        assert get is not None
        tracer("GetSupportedVersions", puEntries=None)
        code, number, _ = await settle(get(self.hAdapter, None))
        check(code, "GetSupportedVersions")
        tracer("GetSupportedVersions", puEntries=number)
        code, number, entries = await settle(get(self.hAdapter, number))
        check(code, "GetSupportedVersions")
        chosen = dd.choose_version(RUNTIME_VERSIONS, entries[:number])
        if chosen is None:
            raise ApiError(
                HRESULT.DXGI_ERROR_UNSUPPORTED,
                f"no interface in common: the driver has {[f'{e >> 32:#x}' for e in entries]}, "
                f"the runtime {[f'{e >> 32:#x}' for e in RUNTIME_VERSIONS]}",
            )
        self.interface = dd.interface_of(chosen)
        self.version = dd.make_version(dd.DDI_BUILD_VERSION[self.interface], dd.OFFER_RECLAIM_BUILD)

    async def _get_caps(self, kind: dd.D3D10_2DDICAPS_TYPE) -> int:
        get = self.funcs.pfnGetCaps
        assert get is not None
        arg = dd.D3D10_2DDIARG_GETCAPS(Type=kind, DataSize=4)
        tracer("GetCaps", Type=kind.name)
        check(await settle(get(self.hAdapter, arg)), f"GetCaps({kind.name})")
        if arg.pData is None:
            return 0
        if not isinstance(arg.pData, int):
            raise ApiError(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, f"GetCaps({kind.name}) answered no flags word")
        return int(arg.pData)

    def supports_level(self, level: dd.D3D11DDI_3DPIPELINELEVEL) -> bool:
        """Whether the driver told this pipeline level."""
        return bool(self.caps[dd.D3D10_2DDICAPS_TYPE.D3D11DDICAPS_3DPIPELINESUPPORT] >> level & 1)

    async def close(self) -> None:
        """CloseAdapter."""
        if self.hAdapter and self.funcs.pfnCloseAdapter is not None:
            tracer("CloseAdapter", hAdapter=self.hAdapter)
            await settle(self.funcs.pfnCloseAdapter(self.hAdapter))
            self.hAdapter = 0


class DeviceFunctions:
    """A driver device's entries as the runtime calls them: without hDevice, guarded, traced; one attribute for each slot."""

    def __init__(self, core: CoreLayer) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Only entries that the driver left NULL come here: using one is the driver's fault.
        if not name.startswith("pfn"):
            raise AttributeError(name)
        core = self._core

        def missing(*arguments: Any) -> None:
            core.fault(f"the driver has no {name}")

        return missing

    def bind(self, slot: str, function: Callable[..., Any], hDevice: int) -> None:
        """Make the attribute of one entry."""
        core = self._core

        def call(*arguments: Any) -> Any:
            core.slot = slot
            try:
                result = function(hDevice, *arguments)
            except Exception:
                _log.exception("the driver raised in %s", slot)
                core.fault(f"the driver failed in {slot}")
                return None
            if result is not None and isawaitable(result):
                return _guarded(core, slot, result)
            return result

        if tracer.enabled:

            def traced(*arguments: Any) -> Any:
                tracer(slot.removeprefix("pfn"), **_plain(arguments))
                return call(*arguments)

            self.__dict__[slot] = traced
        else:
            self.__dict__[slot] = call


async def _guarded(core: CoreLayer, slot: str, result: Awaitable[Any]) -> Any:
    try:
        return await result
    except Exception:
        _log.exception("the driver raised in %s", slot)
        core.fault(f"the driver failed in {slot}")
        return None


def _plain(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The numbers among the arguments, for the timeline."""
    return {f"a{i}": a for i, a in enumerate(arguments) if type(a) is int or type(a) is float}


class DriverDevice:
    """hDevice of a driver with its two tables."""

    def __init__(self, adapter: Adapter, kernel: KernelDevice, core: CoreLayer) -> None:
        self.adapter = adapter
        self.kernel = kernel
        self.core = core
        self.hDrvDevice = new_handle()
        self.hRTDevice = new_handle()
        self.hRTCoreLayer = new_handle()
        self.ddi: Any = DeviceFunctions(core)
        self.dxgi: Any = DeviceFunctions(core)
        self.created = False
        self.no_redirection = False

    async def create(self, flags: dd.D3D10DDI_CREATEDEVICE_FLAGS, level: dd.D3D11DDI_3DPIPELINELEVEL) -> None:
        """Steps 4 and 5: CalcPrivateDeviceSize, CreateDevice, the tables checked. Raises ApiError."""
        adapter = self.adapter
        interface, version = adapter.interface, adapter.version
        calc, create = adapter.funcs.pfnCalcPrivateDeviceSize, adapter.funcs.pfnCreateDevice
        assert calc is not None
        assert create is not None
        words = dd.create_device_flags(level, flags)
        tracer("CalcPrivateDeviceSize", Interface=interface, Version=version)
        await settle(calc(adapter.hAdapter, dd.D3D10DDIARG_CALCPRIVATEDEVICESIZE(interface, version, words)))
        table = dd.device_funcs_class(interface)()
        dxgi = dx.base_functions_class(interface, version)()
        core_table: Any = self.core.callbacks(dd.core_layer_callbacks_class(interface))
        arg = dd.D3D10DDIARG_CREATEDEVICE(
            hRTDevice=self.hRTDevice,
            Interface=interface,
            Version=version,
            pKTCallbacks=self.kernel.callbacks(),
            pDeviceFuncs=table,
            hDrvDevice=self.hDrvDevice,
            DXGIBaseDDI=dx.DXGI_DDI_BASE_ARGS(self.kernel.dxgi_callbacks(), dxgi),
            hRTCoreLayer=self.hRTCoreLayer,
            p11UMCallbacks=core_table,
            Flags=words,
        )
        tracer("CreateDevice", hRTDevice=self.hRTDevice, Interface=interface, Version=version)
        code = check(await settle(create(adapter.hAdapter, arg)), "CreateDevice")
        self.created = True
        self.no_redirection = code == HRESULT.DXGI_STATUS_NO_REDIRECTION
        for slot in fields(table):
            function = getattr(table, slot.name)
            if function is not None:
                self.ddi.bind(slot.name, function, self.hDrvDevice)
            elif slot.name not in OPTIONAL_SLOTS:
                raise ApiError(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, f"the driver left {slot.name} NULL")
        for slot in fields(dxgi):
            function = getattr(dxgi, slot.name)
            if function is not None:
                self._bind_dxgi(slot.name, function)
            elif slot.name not in OPTIONAL_DXGI_SLOTS:
                raise ApiError(HRESULT.DXGI_ERROR_DRIVER_INTERNAL_ERROR, f"the driver left the DXGI entry {slot.name} NULL")

    def _bind_dxgi(self, slot: str, function: Callable[[Any], Any]) -> None:
        core = self.core

        async def call(arg: Any) -> int:
            core.slot = slot
            tracer(f"DXGI {slot.removeprefix('pfn')}")
            try:
                return int(await settle(function(arg)) or 0) & 0xFFFF_FFFF
            except Exception:
                _log.exception("the driver raised in the DXGI entry %s", slot)
                core.fault(f"the driver failed in the DXGI entry {slot}")
                return int(HRESULT.D3DDDIERR_DEVICEREMOVED)

        self.dxgi.__dict__[slot] = call

    async def destroy(self) -> None:
        """DestroyDevice: everything of the driver's must be gone when it returns."""
        if self.created:
            self.created = False
            await settle(self.ddi.pfnDestroyDevice())


