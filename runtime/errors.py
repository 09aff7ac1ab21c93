"""How the runtime says no: an HRESULT with a sentence that names the parameter."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from wddm.ddi.status import HRESULT, hresult_name, hresult_sentence
from wddm.wire.channel import CallError


class ApiError(Exception):
    """An API call fails with ``code`` (an HRESULT number); ``sentence`` tells which parameter was wrong and how."""

    def __init__(self, code: int, sentence: str = "") -> None:
        self.code = int(code) & 0xFFFF_FFFF
        self.name = hresult_name(self.code)
        self.sentence = sentence or hresult_sentence(self.code)
        super().__init__(f"{self.name}: {self.sentence}")

    def call_error(self) -> CallError:
        """The same, for the wire."""
        return CallError(self.code, self.name, self.sentence)


def invalid_arg(sentence: str) -> ApiError:
    """E_INVALIDARG: a parameter is not valid."""
    return ApiError(HRESULT.E_INVALIDARG, sentence)


def invalid_call(sentence: str) -> ApiError:
    """DXGI_ERROR_INVALID_CALL: the parameters or the state do not allow this."""
    return ApiError(HRESULT.DXGI_ERROR_INVALID_CALL, sentence)


def require(condition: bool, sentence: str) -> None:
    """Raise E_INVALIDARG with ``sentence`` unless ``condition``."""
    if not condition:
        raise ApiError(HRESULT.E_INVALIDARG, sentence)


_FLOAT = struct.Struct("<f")
_FLOATS = struct.Struct("<4f")


def float32(value: float) -> float:
    """The nearest 32-bit float, as the API takes it; what is beyond its range becomes infinite."""
    try:
        return float(_FLOAT.unpack(_FLOAT.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def float4(values: Sequence[float]) -> tuple[float, ...]:
    """Four numbers as 32-bit floats."""
    try:
        return _FLOATS.unpack(_FLOATS.pack(*values))
    except OverflowError:
        return tuple(map(float32, values))


#: What a driver may report, as the application sees it.
DDI_TO_API = {
    HRESULT.D3DDDIERR_DEVICEREMOVED: HRESULT.DXGI_ERROR_DEVICE_REMOVED,
    HRESULT.DXGI_DDI_ERR_WASSTILLDRAWING: HRESULT.DXGI_ERROR_WAS_STILL_DRAWING,
    HRESULT.DXGI_DDI_ERR_UNSUPPORTED: HRESULT.DXGI_ERROR_UNSUPPORTED,
    HRESULT.DXGI_DDI_ERR_NONEXCLUSIVE: HRESULT.DXGI_ERROR_NONEXCLUSIVE,
}


def api_code(code: int) -> int:
    """The API's HRESULT for one of the DDI."""
    return int(DDI_TO_API.get(code, code))  # type: ignore[call-overload]
