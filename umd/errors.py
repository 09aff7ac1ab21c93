"""How a failure travels inside the driver: an exception with an HRESULT, turned into ``pfnSetErrorCb`` at the DDI entry."""

from __future__ import annotations

from wddm.ddi.status import HRESULT


class DeviceError(Exception):
    """A DDI entry cannot do its work. ``hr`` is an HRESULT number; which ones an entry may report is its category's matter."""

    def __init__(self, hr: int, why: str = "") -> None:
        self.hr = int(hr)
        self.why = why
        super().__init__(f"{why} (0x{self.hr:08X})" if why else f"0x{self.hr:08X}")

    @classmethod
    def invalid(cls, why: str) -> DeviceError:
        """E_INVALIDARG with a sentence."""
        return cls(HRESULT.E_INVALIDARG, why)

    @classmethod
    def out_of_memory(cls, why: str) -> DeviceError:
        """E_OUTOFMEMORY with a sentence."""
        return cls(HRESULT.E_OUTOFMEMORY, why)


class WasStillDrawing(DeviceError):
    """The GPU still works on it and the caller does not want to wait."""

    def __init__(self) -> None:
        super().__init__(HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING, "the GPU still uses it")
