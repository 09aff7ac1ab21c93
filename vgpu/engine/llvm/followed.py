"""The state that a draw follows, by the op of its packets: a draw keeps their versions as one tuple. Constant buffers, which change
most, have their own."""

from __future__ import annotations

from typing import Final

FOLLOWED: Final = (1, 8, 9, 0xB, 0xC, 0xD, 0xF, 0x10, 3, 4, 5, 0xA, 0x11, 0x12, 0xE, 6, 7)
