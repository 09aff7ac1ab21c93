"""The engine of generated machine code; see :mod:`.engine`."""

from .engine import LlvmEngine

__all__ = ["LlvmEngine"]
