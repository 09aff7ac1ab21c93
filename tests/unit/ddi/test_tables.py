"""Function tables: slots and their order, which table a version selects, error categories, the miniport's entries."""

from dataclasses import fields
from typing import Any

import pytest

from wddm.ddi import d3d10umddi as um
from wddm.ddi import dispmprt, dxgiddi
from wddm.ddi.d3d10umddi import DDI_VERSION, ErrorCategory
from wddm.ddi.d3dumddi import D3DDDI_ADAPTERCALLBACKS, D3DDDI_DEVICECALLBACKS
from wddm.ddi.status import HRESULT


@pytest.mark.parametrize(
    ("table", "slots"),
    [
        (D3DDDI_DEVICECALLBACKS, 65),
        (D3DDDI_ADAPTERCALLBACKS, 3),
        (um.D3D10DDI_ADAPTERFUNCS, 3),
        (um.D3D10_2DDI_ADAPTERFUNCS, 5),
        (um.D3D10DDI_CORELAYER_DEVICECALLBACKS, 26),
        (um.D3D11DDI_CORELAYER_DEVICECALLBACKS, 40),
        (um.D3D10DDI_DEVICEFUNCS, 101),
        (um.D3D10_1DDI_DEVICEFUNCS, 103),
        (um.D3D11DDI_DEVICEFUNCS, 150),
        (um.D3D11_1DDI_DEVICEFUNCS, 155),
        (um.D3DWDDM1_3DDI_DEVICEFUNCS, 164),
        (um.D3DWDDM2_0DDI_DEVICEFUNCS, 168),
        (um.D3DWDDM2_1DDI_DEVICEFUNCS, 170),
        (um.D3DWDDM2_2DDI_DEVICEFUNCS, 174),
        (um.D3DWDDM2_6DDI_DEVICEFUNCS, 176),
        (dxgiddi.DXGI_DDI_BASE_FUNCTIONS, 7),
        (dxgiddi.DXGI1_1_DDI_BASE_FUNCTIONS, 8),
        (dxgiddi.DXGI1_2_DDI_BASE_FUNCTIONS, 15),
        (dxgiddi.DXGI1_3_DDI_BASE_FUNCTIONS, 18),
        (dxgiddi.DXGI1_4_DDI_BASE_FUNCTIONS, 21),
        (dxgiddi.DXGI1_5_DDI_BASE_FUNCTIONS, 22),
        (dxgiddi.DXGI1_6_1_DDI_BASE_FUNCTIONS, 22),
        (dxgiddi.DXGI_DDI_BASE_CALLBACKS, 5),
    ],
)
def test_slot_counts(table: type[Any], slots: int) -> None:
    assert um.table_size(table) == dxgiddi.table_size(table) == slots
    assert all(getattr(table(), f.name) is None for f in fields(table)), "a new table is empty"


@pytest.mark.parametrize(
    ("slot", "name"),
    [
        (0, "pfnDefaultConstantBufferUpdateSubresourceUP"),
        (6, "pfnDrawIndexed"),
        (30, "pfnSetRenderTargets"),
        (48, "pfnFlush"),
        (58, "pfnCreateResource"),
        (99, "pfnDestroyDevice"),
        (100, "pfnSetTextFilterSize"),
        (101, "pfnResourceConvert"),
        (103, "pfnDrawIndexedInstancedIndirect"),
        (116, "pfnCheckDeferredContextHandleSizes"),
        (142, "pfnDispatch"),
        (149, "pfnRecycleDestroyCommandList"),
    ],
)
def test_device_function_order(slot: int, name: str) -> None:
    assert fields(um.D3D11DDI_DEVICEFUNCS)[slot].name == name
    assert um.slot_number(name) == slot


def test_later_device_tables_append() -> None:
    names = [f.name for f in fields(um.D3DWDDM2_6DDI_DEVICEFUNCS)]
    assert names[150:155] == [
        "pfnDiscard",
        "pfnAssignDebugBinary",
        "pfnDynamicConstantBufferMapNoOverwrite",
        "pfnCheckDirectFlipSupport",
        "pfnClearView",
    ]
    assert names[155] == "pfnUpdateTileMappings"
    assert names[-1] == "pfnPrepareScanoutTransformation"


def test_kernel_callback_order() -> None:
    names = [f.name for f in fields(D3DDDI_DEVICECALLBACKS)]
    assert names[0] == "pfnAllocateCb"
    assert names[6] == "pfnRenderCb"
    assert names[14] == "pfnCreateContextCb"
    assert names[29] == "pfnMakeResidentCb"
    assert names[64] == "pfnSubmitHistorySequenceCb"


@pytest.mark.parametrize(
    ("Interface", "Version", "table"),
    [
        (DDI_VERSION.D3D10_0, 6000, dxgiddi.DXGI_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.D3D10_0_7, 6000 | 9, dxgiddi.DXGI1_1_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.D3D11_0, 8, dxgiddi.DXGI_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.D3D11_0, 9, dxgiddi.DXGI1_1_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.D3D11_1_RC, 0, dxgiddi.DXGI1_2_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.D3D11_1, 0, dxgiddi.DXGI1_2_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.WDDM1_3, 0, dxgiddi.DXGI1_3_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.WDDM2_0, 0, dxgiddi.DXGI1_4_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.WDDM2_1, 0, dxgiddi.DXGI1_5_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.WDDM2_2, 0, dxgiddi.DXGI1_6_1_DDI_BASE_FUNCTIONS),
        (DDI_VERSION.WDDM3_0, 0, dxgiddi.DXGI1_6_1_DDI_BASE_FUNCTIONS),
        (0x000C_0000, 0, dxgiddi.DXGI1_1_DDI_BASE_FUNCTIONS),
    ],
)
def test_dxgi_table_selection(Interface: int, Version: int, table: type[Any]) -> None:
    assert dxgiddi.base_functions_class(Interface, Version) is table


def test_dxgi_slots_that_change_their_meaning() -> None:
    def slot(table: type[Any], number: int) -> str:
        return fields(table)[number].name

    assert slot(dxgiddi.DXGI1_2_DDI_BASE_FUNCTIONS, 13) == "pfnCheckMultiplaneOverlaySupport"
    assert slot(dxgiddi.DXGI1_3_DDI_BASE_FUNCTIONS, 12) == "pfnGetMultiplaneOverlayGroupCaps"
    assert slot(dxgiddi.DXGI1_3_DDI_BASE_FUNCTIONS, 13) == "pfnReserved1"
    assert slot(dxgiddi.DXGI1_4_DDI_BASE_FUNCTIONS, 9) == "pfnOfferResources"
    assert slot(dxgiddi.DXGI1_5_DDI_BASE_FUNCTIONS, 9) == "pfnOfferResources1"
    for table in (dxgiddi.DXGI1_3_DDI_BASE_FUNCTIONS, dxgiddi.DXGI1_5_DDI_BASE_FUNCTIONS, dxgiddi.DXGI1_6_1_DDI_BASE_FUNCTIONS):
        assert slot(table, 16) == "pfnPresent1"
    assert slot(dxgiddi.DXGI1_6_1_DDI_BASE_FUNCTIONS, 20) == "pfnPresentMultiplaneOverlay1"


@pytest.mark.parametrize(
    ("Interface", "count"),
    [
        (DDI_VERSION.D3D11_0, 1),
        (DDI_VERSION.D3D11_1, 2),
        (DDI_VERSION.WDDM2_2, 3),
        (DDI_VERSION.WDDM2_4, 4),
        (DDI_VERSION.WDDM2_5, 5),
    ],
)
def test_dxgi_callback_count(Interface: int, count: int) -> None:
    assert dxgiddi.base_callback_count(Interface) == count


@pytest.mark.parametrize(
    ("Interface", "table"),
    [
        (DDI_VERSION.D3D10on9, um.D3D10DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D10_0_7, um.D3D10DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D10_1, um.D3D10_1DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D10_1_7, um.D3D10_1DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D11_0_VISTA, um.D3D11DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D11_0_7, um.D3D11DDI_DEVICEFUNCS),
        (DDI_VERSION.D3D11_1, um.D3D11_1DDI_DEVICEFUNCS),
        (DDI_VERSION.WDDM1_3, um.D3DWDDM1_3DDI_DEVICEFUNCS),
        (DDI_VERSION.WDDM2_0, um.D3DWDDM2_0DDI_DEVICEFUNCS),
        (DDI_VERSION.WDDM2_1, um.D3DWDDM2_1DDI_DEVICEFUNCS),
        (DDI_VERSION.WDDM2_5, um.D3DWDDM2_2DDI_DEVICEFUNCS),
        (DDI_VERSION.WDDM3_0, um.D3DWDDM2_6DDI_DEVICEFUNCS),
    ],
)
def test_device_table_selection(Interface: int, table: type[Any]) -> None:
    assert um.device_funcs_class(Interface) is table
    core = um.D3D10DDI_CORELAYER_DEVICECALLBACKS if Interface < 0x000B_0000 else um.D3D11DDI_CORELAYER_DEVICECALLBACKS
    assert um.core_layer_callbacks_class(Interface) is core


@pytest.mark.parametrize(
    ("Interface", "entry"),
    [
        (DDI_VERSION.D3D10on9, 0x000A_0000_0000_0000),
        (DDI_VERSION.D3D10_0, 0x000A_0001_0004_0000),
        (DDI_VERSION.D3D10_1, 0x000A_0002_0001_0000),
        (DDI_VERSION.D3D10_1_7, 0x000A_000A_0000_0000),
        (DDI_VERSION.D3D11_0, 0x000B_000A_0002_0000),
        (DDI_VERSION.D3D11_0_7, 0x000B_000B_0002_0000),
        (DDI_VERSION.D3D11_1, 0x000B_000F_0000_0000),
        (DDI_VERSION.WDDM1_3, 0x000B_0010_0001_0000),
        (DDI_VERSION.WDDM2_0, 0x000B_0020_0009_0000),
        (DDI_VERSION.WDDM2_2, 0x000B_0023_0005_0000),
    ],
)
def test_supported_version_entries(Interface: int, entry: int) -> None:
    assert um.supported_version(Interface) == entry
    assert um.interface_of(entry) == Interface
    assert um.version_of(entry) >> 16 == um.DDI_BUILD_VERSION[Interface]


def test_version_negotiation() -> None:
    runtime = [um.supported_version(v) for v in (DDI_VERSION.D3D10_0_7, DDI_VERSION.D3D11_0_7, DDI_VERSION.D3D11_1)]
    driver = [um.supported_version(v) for v in (DDI_VERSION.D3D10_0_7, DDI_VERSION.D3D11_0_7)]
    assert um.choose_version(runtime, driver) == um.supported_version(DDI_VERSION.D3D11_0_7)
    newer = um.supported_version(DDI_VERSION.D3D11_0_7, build=3)
    assert um.choose_version(runtime, [newer]) is None, "a runtime older than the driver's build does not serve it"
    assert um.choose_version([], driver) is None
    assert set(um.DDI_BUILD_VERSION) == set(DDI_VERSION)
    assert um.make_interface(11, 11) == DDI_VERSION.D3D11_0_7
    assert um.make_version(2, 10) == 0x0002_000A


@pytest.mark.parametrize("level", um.D3D11DDI_3DPIPELINELEVEL)
def test_pipeline_level_is_a_split_field(level: um.D3D11DDI_3DPIPELINELEVEL) -> None:
    flags = um.create_device_flags(level, um.D3D10DDI_CREATEDEVICE_FLAGS.SINGLETHREADED)
    assert flags & 0x10
    assert flags & ~0xDE == 0
    assert um.create_device_pipeline_level(flags) == level


def test_pipeline_support_word() -> None:
    levels = um.D3D11DDI_3DPIPELINELEVEL
    assert um.encode_pipeline_support(levels.LEVEL_10_0, levels.LEVEL_10_1, levels.LEVEL_11_0) == 0b111
    assert um.encode_pipeline_support() == 0


def test_error_categories() -> None:
    letters = um.D3D11DDI_DEVICEFUNCS.ERROR_CATEGORIES
    assert len(letters) == 150
    assert set(letters) == set("RMWNC?")
    assert letters.count("C") == 1
    assert um.error_category("pfnCreateQuery") is ErrorCategory.AllowCounterCreationErrors
    for f in fields(um.D3D11DDI_DEVICEFUNCS):
        name = f.name
        category = um.error_category(name)
        if name.startswith("pfnCalc"):
            assert category is ErrorCategory.NoErrors
        if name.startswith("pfnDestroy"):
            assert category is ErrorCategory.AllowDeviceRemoved
        if name.startswith("pfnCreate") and name != "pfnCreateQuery":
            assert category is ErrorCategory.AllowOutOfMemory
        assert HRESULT.S_OK not in um.allowed_errors(name)
    with pytest.raises(KeyError):
        um.error_category("pfnNothing")


def test_allowed_errors() -> None:
    removed = HRESULT.D3DDDIERR_DEVICEREMOVED
    busy = HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING
    assert um.allowed_errors("pfnDraw") == {removed}
    assert um.allowed_errors("pfnCreateVertexShader") == {removed, HRESULT.E_OUTOFMEMORY}
    assert um.allowed_errors("pfnCreateQuery") == {removed, HRESULT.E_OUTOFMEMORY, HRESULT.DXGI_DDI_ERR_NONEXCLUSIVE}
    assert um.allowed_errors("pfnResourceMap") == {removed}
    assert um.allowed_errors("pfnResourceMap", do_not_wait=True) == {removed, busy}
    assert um.allowed_errors("pfnQueryGetData") == {removed, busy}
    assert um.allowed_errors("pfnCheckFormatSupport") == frozenset()
    assert HRESULT.DXGI_DDI_ERR_UNSUPPORTED not in um.allowed_errors("pfnCreateResource")
    assert HRESULT.DXGI_DDI_ERR_UNSUPPORTED in um.allowed_errors("pfnCreateResource", creates_primary=True)
    assert um.allowed_errors("pfnCheckCounter") == {HRESULT.DXGI_DDI_ERR_UNSUPPORTED, HRESULT.E_INVALIDARG}


def test_deferred_context_null_slots() -> None:
    names = {f.name for f in fields(um.D3D11DDI_DEVICEFUNCS)}
    assert names > um.DEFERRED_CONTEXT_NULL_SLOTS
    assert "pfnCalcPrivateUnorderedAccessViewSize" in um.DEFERRED_CONTEXT_NULL_SLOTS
    assert "pfnDraw" not in um.DEFERRED_CONTEXT_NULL_SLOTS


def test_filter_bits() -> None:
    anisotropic = um.D3D10_DDI_FILTER.COMPARISON_ANISOTROPIC
    assert anisotropic.anisotropic
    assert anisotropic.comparison
    assert anisotropic.min_linear
    point = um.D3D10_DDI_FILTER.MIN_POINT_MAG_LINEAR_MIP_POINT
    assert point.mag_linear
    assert (point.min_linear, point.mip_linear, point.comparison) == (False, False, False)


def test_miniport_entries() -> None:
    names = dispmprt.entry_names()
    assert names[:3] == ("DxgkDdiAddDevice", "DxgkDdiStartDevice", "DxgkDdiStopDevice")
    assert names.index("DxgkDdiSetDisplayPrivateDriverFormat") == 60
    assert names.index("DxgkDdiRenderKm") == 67
    assert names.index("DxgkDdiSetPowerComponentFState") == 70
    assert names.index("DxgkDdiGetNodeMetadata") == 82
    assert names.index("DxgkDdiRenderGdi") == 88
    assert names[-1] == "DxgkDdiFlushHwQueue"
    assert len(names) == len(set(names)) == 171
    assert all(getattr(dispmprt.DRIVER_INITIALIZATION_DATA(), name) is None for name in names)


def test_kernel_services() -> None:
    names = {f.name for f in fields(dispmprt.DXGKRNL_INTERFACE)}
    assert {
        "DxgkCbNotifyInterrupt",
        "DxgkCbQueueDpc",
        "DxgkCbNotifyDpc",
        "DxgkCbMapMemory",
        "DxgkCbGetDeviceInformation",
        "DxgkCbGetHandleData",
        "DxgkCbSynchronizeExecution",
        "DxgkCbLogEtwEvent",
        "DxgkCbQueryVidPnInterface",
    } <= names
