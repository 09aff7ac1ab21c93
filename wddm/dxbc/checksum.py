"""The checksum of a container: MD5 (RFC 1321) with another ending.

MD5 appends 0x80, zeros and the bit length; here the length stands before the tail and a second number derived from
it closes the last block, so no library routine can be used.
"""

from __future__ import annotations

import math
import struct

__all__ = ["checksum"]

_SINES = tuple(int(abs(math.sin(i + 1)) * 2**32) for i in range(64))
# (word of the block, additive constant, left rotation) of the 16 steps of each round
_ROUNDS = tuple(
    tuple(
        ((multiplier * i + start) & 15, _SINES[16 * number + i], rotations[i & 3])
        for i in range(16)
    )
    for number, (multiplier, start, rotations) in enumerate(
        ((1, 0, (7, 12, 17, 22)), (5, 1, (5, 9, 14, 20)), (3, 5, (4, 11, 16, 23)), (7, 0, (6, 10, 15, 21)))
    )
)
_INITIAL = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_State = tuple[int, int, int, int]


def _compress(state: _State, block: tuple[int, ...]) -> _State:
    a, b, c, d = state
    one, two, three, four = _ROUNDS
    for word, sine, turn in one:
        x = (a + (d ^ (b & (c ^ d))) + block[word] + sine) & 0xFFFFFFFF
        a, d, c, b = d, c, b, (b + (x << turn | x >> (32 - turn))) & 0xFFFFFFFF
    for word, sine, turn in two:
        x = (a + (c ^ (d & (b ^ c))) + block[word] + sine) & 0xFFFFFFFF
        a, d, c, b = d, c, b, (b + (x << turn | x >> (32 - turn))) & 0xFFFFFFFF
    for word, sine, turn in three:
        x = (a + (b ^ c ^ d) + block[word] + sine) & 0xFFFFFFFF
        a, d, c, b = d, c, b, (b + (x << turn | x >> (32 - turn))) & 0xFFFFFFFF
    for word, sine, turn in four:
        x = (a + (c ^ (b | (d ^ 0xFFFFFFFF))) + block[word] + sine) & 0xFFFFFFFF
        a, d, c, b = d, c, b, (b + (x << turn | x >> (32 - turn))) & 0xFFFFFFFF
    return (
        (state[0] + a) & 0xFFFFFFFF,
        (state[1] + b) & 0xFFFFFFFF,
        (state[2] + c) & 0xFFFFFFFF,
        (state[3] + d) & 0xFFFFFFFF,
    )


def checksum(container: bytes | bytearray | memoryview) -> bytes:
    """The 16 bytes that belong at offset 4: taken over everything from byte 20 on."""
    message = bytes(container[20:])
    whole = len(message) & ~63
    tail = message[whole:]
    bits = len(message) * 8 & 0xFFFFFFFF
    first, last = struct.pack("<I", bits), struct.pack("<I", bits >> 2 | 1)
    if len(tail) >= 56:
        ending = (tail + b"\x80").ljust(64, b"\0") + first + bytes(56) + last
    else:
        ending = (first + tail + b"\x80").ljust(60, b"\0") + last
    state: _State = _INITIAL
    for block in struct.iter_unpack("<16I", message[:whole] + ending):
        state = _compress(state, block)
    return struct.pack("<4I", *state)
