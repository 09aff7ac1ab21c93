"""Failures as exceptions."""

from __future__ import annotations

from wddm.ddi.status import HRESULT


class D3DError(Exception):
    """A call failed: ``code`` is the HRESULT (unsigned), ``name`` its name, ``sentence`` what was wrong."""

    def __init__(self, code: int, name: str, sentence: str) -> None:
        super().__init__(f"{name} (0x{code:08X}): {sentence}")
        self.code = code
        self.name = name
        self.sentence = sentence

    @classmethod
    def of(cls, result: HRESULT, sentence: str = "") -> D3DError:
        """The failure of a known code."""
        return cls(int(result), result.name, sentence or result.sentence)
