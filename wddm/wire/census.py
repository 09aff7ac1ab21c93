"""How many objects a big message will make and how long it will be, told from its headers before it is decoded.

A MessagePack byte can become an object of some seventy bytes, so that a message within its size limit could still take a hundred
times its size. Payloads of strings and binaries are stepped over.
"""

from __future__ import annotations

from typing import Final

#: Header bytes after the first byte, for 0xC0..0xDF.
_HEADER: Final = (0, 0, 0, 0, 1, 2, 4, 2, 3, 5, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 1, 2, 4, 2, 4, 2, 4)
#: Those of them whose header begins with a length in bytes (bin, ext, str), and the bytes of that length.
_LENGTH: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
#: Those that have items, and how many for each that the header counts (arrays, maps).
_ITEMS: Final = {0xDC: 1, 0xDD: 1, 0xDE: 2, 0xDF: 2}


class Census:
    """Of one message, which may come in chunks; what follows it in its last chunk is not looked at.

    ``count`` is the number of objects whose header has been seen, ``length`` the bytes up to where the last of them ends.
    """

    def __init__(self) -> None:
        self.count = 0
        self.length = 0
        self._missing = 1  # objects that must still come
        self._skip = 0  # payload bytes still to step over
        self._header = b""  # a header cut off by the end of a chunk

    def add(self, chunk: bytes, limit: int) -> bool:
        """Take the next bytes; False as soon as there are more than ``limit`` objects."""
        if self._skip >= len(chunk):
            self._skip -= len(chunk)
            return True
        at = first_at = self._skip
        count, missing = self.count, self._missing
        if self._header:
            chunk, at, first_at, self._header = self._header + chunk, 0, 0, b""
        end = len(chunk)
        while at < end and missing and count <= limit:
            first = chunk[at]
            missing -= 1
            if 0xC0 <= first <= 0xDF:
                after = at + 1 + _HEADER[first - 0xC0]
                if after > end:
                    self._header = chunk[at:]
                    missing += 1
                    break
                if first in _LENGTH:
                    after += int.from_bytes(chunk[at + 1 : at + 1 + _LENGTH[first]], "big")
                elif first in _ITEMS:
                    missing += _ITEMS[first] * int.from_bytes(chunk[at + 1 : after], "big")
                at = after
            elif 0xA0 <= first < 0xC0:
                at += 1 + (first & 31)
            else:
                if 0x80 <= first < 0xA0:
                    missing += (first & 15) * (1 if first >= 0x90 else 2)
                at += 1
            count += 1
        self._skip = max(0, at - end)
        self.length += at - first_at
        self.count, self._missing = count, missing
        return count <= limit
