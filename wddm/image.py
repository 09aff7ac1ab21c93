"""Pictures to files: a PNG writer for arrays, so that looking at a frame needs no further package."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt


def png_bytes(image: npt.NDArray[np.uint8]) -> bytes:
    """``image`` is (height, width, 3 or 4) uint8. Raises ValueError for other shapes, and without pixels."""
    if image.ndim != 3 or image.shape[2] not in (3, 4) or image.dtype != np.uint8 or not image.size:
        raise ValueError(f"a picture is (height, width, 3 or 4) uint8, not {image.shape} {image.dtype}")
    height, width, channels = image.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # filter byte 0 (none), then the row
    rows[:, 1:] = image.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 6 if channels == 4 else 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def write_png(path: str | Path, image: npt.NDArray[np.uint8]) -> None:
    """Write ``image`` to ``path``."""
    Path(path).write_bytes(png_bytes(image))
