"""Compiled shaders on disk.

Owns a directory private to the user, bounded in size, keyed by a digest of everything the blob depends on.  An entry
that cannot be read or is not what was written counts as absent; a failure to write is not an error of the compilation.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from wddm.dxbc.container import Container
from wddm.dxbc.errors import DxbcError

__all__ = ["Cache", "default_cache", "digest"]

MAX_BYTES = 64 << 20
MAX_ENTRIES = 4096


def digest(*parts: str) -> str:
    """Hex digest of the parts; no two lists of parts share one."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def default_cache() -> Cache:
    """The cache in ``$WDDM_CACHE_DIR``, or in the user's cache directory."""
    root = os.environ.get("WDDM_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wddm")
    return Cache(Path(root) / "hlsl")


class Cache:
    """Blobs by key below ``directory``, which is made with mode 0700 and used only if it belongs to this user."""

    def __init__(self, directory: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES) -> None:
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self.max_entries = max_entries

    def get(self, key: str) -> bytes | None:
        """The blob, or None; a container whose checksum is wrong is removed."""
        path = self.directory / f"{key}.dxbc"
        try:
            if not self._ours():
                return None
            data = path.read_bytes()
        except OSError:
            return None
        try:
            Container.parse(data)
        except DxbcError:
            path.unlink(missing_ok=True)
            return None
        try:
            os.utime(path)
        except OSError:
            return data
        return data

    def put(self, key: str, blob: bytes) -> None:
        """Store a blob, all of it or none; then make room if the bounds are exceeded."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._ours():
                return
            handle, temporary = tempfile.mkstemp(dir=self.directory, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(blob)
            os.replace(temporary, self.directory / f"{key}.dxbc")
            self._trim()
        except OSError:
            return

    def _ours(self) -> bool:
        status = self.directory.stat()
        return status.st_uid == os.getuid() and status.st_mode & 0o077 == 0

    def _trim(self) -> None:
        entries = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(self.directory)]
        entries.sort(reverse=True)
        total = 0
        for number, (_, size, path) in enumerate(entries):
            total += size
            if total > self.max_bytes or number >= self.max_entries:
                Path(path).unlink(missing_ok=True)
