"""Pictures to files."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from wddm.image import png_bytes, write_png


def decode(data: bytes) -> np.ndarray:
    """A PNG with filter 0 on every row, as the writer makes it."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 7, 4), (240, 320, 3)])
def test_a_picture_comes_out_again(shape: tuple[int, int, int], tmp_path: Path) -> None:
    image = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    assert (decode(png_bytes(image)) == image).all()
    assert (decode(png_bytes(image[::-1, ::-1])) == image[::-1, ::-1]).all()
    write_png(tmp_path / "x.png", image)
    assert (tmp_path / "x.png").read_bytes() == png_bytes(image)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((4, 4, 4), np.float32),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 0, 3), np.uint8),
    ],
)
def test_what_is_no_picture_is_refused(image: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"a picture is \(height, width, 3 or 4\) uint8, not \("):
        png_bytes(image)
