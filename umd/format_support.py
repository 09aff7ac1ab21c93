"""What the adapter does with a format beyond what the feature level requires."""

from __future__ import annotations

from wddm.ddi.d3d10umddi import D3D10_DDI_FORMAT_SUPPORT
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS, FormatAbility
from wddm.hw import formats as hardware

SUPPORT = D3D10_DDI_FORMAT_SUPPORT
A = FormatAbility
SAMPLE_COUNTS = (1, 2, 4, 8)
#: Abilities of the hardware for every format that the feature level lets have them, and the bit that tells.
_ABILITIES = (
    (A.SHADER_SAMPLE, SUPPORT.SHADER_SAMPLE),
    (A.RENDER_TARGET, SUPPORT.RENDERTARGET),
    (A.BLENDABLE, SUPPORT.BLENDABLE),
    (A.MULTISAMPLE_LOAD, SUPPORT.MULTISAMPLE_LOAD),
    (A.IA_VERTEX_BUFFER, SUPPORT.VERTEX_BUFFER),
    (A.BUFFER, SUPPORT.BUFFER),
    (A.SHADER_GATHER, SUPPORT.SHADER_GATHER),
    (A.UAV_TYPED_STORE, SUPPORT.UAV_WRITES),
    (A.OUTPUT_MERGER_LOGIC_OP, SUPPORT.OUTPUT_MERGER_LOGIC_OP),
)


def known(format: int) -> bool:
    """Whether the hardware has the format at all."""
    return format in hardware.FORMATS and format in FORMATS


class FormatFunctions:
    """The check entries."""

    def CheckFormatSupport(self, hDevice: int, Format: int) -> int:
        if not known(int(Format)):
            return 0
        info = FORMATS[DXGI_FORMAT(int(Format))]
        if int(Format) == DXGI_FORMAT.R10G10B10_XR_BIAS_A2_UNORM:
            return 0  # scan-out and copies only, which need no bit
        bits = SUPPORT.NONE
        for ability, bit in _ABILITIES:
            if info.allows(ability):
                bits |= bit
        if bits & SUPPORT.BLENDABLE and not bits & SUPPORT.RENDERTARGET:
            bits &= ~SUPPORT.BLENDABLE
        if bits & SUPPORT.RENDERTARGET or info.allows(A.DEPTH_STENCIL):
            bits |= SUPPORT.MULTISAMPLE_RENDERTARGET
        return int(bits)

    def CheckMultisampleQualityLevels(self, hDevice: int, Format: int, SampleCount: int) -> int:
        if SampleCount not in SAMPLE_COUNTS or not known(int(Format)):
            return 0
        info = FORMATS[DXGI_FORMAT(int(Format))]
        return 1 if info.allows(A.RENDER_TARGET) or info.allows(A.DEPTH_STENCIL) else 0
