"""Formats in plain numpy, from the rules of Direct3D alone: what bits of a texel mean, and which bits a value becomes.

Works on the name of a format; shares no table with the driver or the hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wddm import Format

_CHANNEL = re.compile(r"([RGBAX])(\d+)")


@dataclass(frozen=True)
class Plain:
    """A format of plain channels: (letter or X, first bit, bits) from the lowest bit up, and what the bits are."""

    channels: tuple[tuple[str, int, int], ...]
    kind: str
    srgb: bool

    @property
    def bytes(self) -> int:
        """Bytes of a texel."""
        return sum(bits for _, _, bits in self.channels) // 8


def plain(format: Format) -> Plain:
    """The layout that the name tells."""
    head, kind, *rest = format.name.split("_")
    at, channels = 0, []
    for letter, bits in _CHANNEL.findall(head):
        channels.append((letter, at, int(bits)))
        at += int(bits)
    return Plain(tuple(channels), kind, rest == ["SRGB"])


def _fields(layout: Plain, raw: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[np.uint64]]:
    """Unsigned integers of each channel of (n, bytes) texels."""
    bits = np.unpackbits(raw, axis=1, bitorder="little").astype(np.uint64)
    return {
        letter: (bits[:, at : at + size] << np.arange(size, dtype=np.uint64)).sum(1, dtype=np.uint64)
        for letter, at, size in layout.channels
    }


def to_linear(v: Any) -> Any:
    """sRGB to linear."""
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def to_srgb(v: Any) -> Any:
    """Linear to sRGB."""
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 1e-9) ** (1 / 2.4) - 0.055)


def small_float(field: Any, bits: int) -> Any:
    """An unsigned 10- or 11-bit float."""
    mantissa = bits - 5
    e, m = field >> np.uint64(mantissa), (field & np.uint64((1 << mantissa) - 1)).astype(float) / (1 << mantissa)
    e = e.astype(int)
    value = np.where(e == 0, m * 2.0**-14, (1 + m) * 2.0 ** (e - 15.0))
    return np.where(e == 31, np.where(m == 0, np.inf, np.nan), value)


def decode(format: Format, raw: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """(n, bytes) texels as (n, 4) numbers: float64, or int64 for integer formats."""
    layout = plain(format)
    out = np.zeros((len(raw), 4), np.int64 if layout.kind in ("UINT", "SINT") else np.float64)
    out[:, 3] = 1
    if format is Format.R9G9B9E5_SHAREDEXP:
        word = raw.view("<u4").reshape(-1)
        for n in range(3):
            out[:, n] = (word >> 9 * n & 511) / 512 * 2.0 ** ((word >> 27).astype(float) - 15)
        return out
    for letter, field in _fields(layout, raw).items():
        if letter == "X":
            continue
        bits = next(b for name, _, b in layout.channels if name == letter)
        channel = "RGBA".index(letter)
        signed = (field.astype(np.int64) << (64 - bits)) >> (64 - bits)
        if layout.kind == "UINT":
            value: Any = field.astype(np.int64)
        elif layout.kind == "SINT":
            value = signed
        elif layout.kind == "UNORM":
            value = field.astype(float) / ((1 << bits) - 1)
            if layout.srgb and letter != "A":
                value = to_linear(value)
        elif layout.kind == "SNORM":
            value = np.maximum(signed / ((1 << bits - 1) - 1), -1)
        elif bits == 32:
            value = field.astype(np.uint32).view(np.float32)
        elif bits == 16:
            value = field.astype(np.uint16).view(np.float16)
        else:
            value = small_float(field, bits)
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            out[:, channel] = value
    return out


def _float_code(value: Any, bits: int) -> Any:
    """The code of an unsigned 10- or 11-bit float, or a 16-bit one, rounding towards zero."""
    v = np.asarray(value, np.float64)
    mantissa = 10 if bits == 16 else bits - 5
    sign = np.signbit(v) & (bits == 16)
    a = np.where(np.signbit(v) & (bits != 16), 0, np.abs(v))
    with np.errstate(all="ignore"):
        e = np.clip(np.floor(np.log2(np.where(a > 0, a, 1))), -14, 15)
        e = np.where((a > 0) & (a < 2.0**-14), -15, e)
        m = np.where(e == -15, a / 2.0**-14, a / 2.0**e - 1)
        code = (e + 15) * 2**mantissa + np.floor(m * 2**mantissa)
    most = 31 * 2**mantissa - 1
    code = np.where(a == 0, 0, np.minimum(code, most))
    code = np.where(np.isinf(a), most + 1, code)
    return code + sign * 2.0**15


def codes(format: Format, values: npt.NDArray[Any]) -> list[tuple[int, int, npt.NDArray[np.float64], float]]:
    """What (n, 4) values become: for each stored channel its first bit, bits, exact code, and the error that is allowed."""
    layout, out = plain(format), []
    for letter, at, bits in layout.channels:
        if letter == "X":
            continue
        v = values[:, "RGBA".index(letter)]
        slack = 0.0
        if layout.kind == "UINT":
            code: Any = np.clip(v, 0, (1 << bits) - 1)
        elif layout.kind == "SINT":
            code = np.clip(v, -(1 << bits - 1), (1 << bits - 1) - 1) % (1 << bits)
        elif layout.kind == "UNORM":
            held = np.clip(np.nan_to_num(np.asarray(v, float)), 0, 1)
            slack = 0.6
            code = (to_srgb(held) if layout.srgb and letter != "A" else held) * ((1 << bits) - 1)
        elif layout.kind == "SNORM":
            code, slack = np.clip(np.nan_to_num(np.asarray(v, float)), -1, 1) * ((1 << bits - 1) - 1), 0.6
        elif bits == 32:
            code = np.asarray(v, np.float32).view(np.uint32)
        else:
            code = _float_code(v, bits)
        out.append((at, bits, np.asarray(code, np.float64), slack))
    return out


def check_encoded(format: Format, raw: npt.NDArray[np.uint8], values: npt.NDArray[Any], slack: float | None = None) -> None:
    """Compare stored texels with the values that were written; ``slack`` replaces the error that a conversion may make."""
    layout = plain(format)
    fields = list(_fields(layout, raw).items())
    stored = {at: (field, letter) for (letter, at, _), (_, field) in zip(layout.channels, fields, strict=True)}
    for at, bits, code, allowed in codes(format, values):
        field, letter = stored[at]
        got = field.astype(np.float64)
        if layout.kind == "SNORM":
            got = ((field.astype(np.int64) << (64 - bits)) >> (64 - bits)).astype(np.float64)
        wrong = np.abs(got - code) > (allowed if slack is None else slack)
        assert not wrong.any(), f"{format.name} {letter}: stored {got[wrong][:4]}, expected {code[wrong][:4]}"
