"""From IR to callable machine code, with a cache of objects in memory and on disk.

Owns the code generators, the linker and the cache. The key of an entry is a digest of the IR text, level, processor and all
versions. The disk cache is private to the user (directory mode 0700), bounded (least recently used entries go) and trusted only
when an entry's own digest holds: damaged entries are dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from .codegen import FULL, QUICK, CodeGenerator, processor, target_machine

_MAGIC: Final = b"wddm-obj-1\n"
_DIGEST_SIZE: Final = 20


def lane_counts() -> tuple[int, int]:
    """Lanes of a vector in front of the rasterizer, and of pixels and compute threads. ``WDDM_LANES`` overrides both (8 or 16).

    16 where the processor has AVX-512, else 8: as much as a register holds. Pixels and compute threads are 16 everywhere, so that
    two chains of dependent operations are under way where a register holds 8.
    """
    forced = os.environ.get("WDDM_LANES")
    if forced is not None:
        if forced not in ("8", "16"):
            raise ValueError(f"WDDM_LANES is {forced!r}; 8 and 16 exist")
        return int(forced), int(forced)
    features = processor()[1]
    return (16 if features.get("avx512vl") and features.get("avx512bw") else 8), 16


def default_cache_directory() -> Path:
    """Where objects are kept: ``$XDG_CACHE_HOME/wddm/shaders``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "wddm" / "shaders"


@dataclass(slots=True)
class Statistics:
    """What compiling cost. Times in seconds."""

    compiled: int = 0
    memory_hits: int = 0
    disk_hits: int = 0
    damaged: int = 0
    adopted: int = 0  #: compiled by the process in the background
    optimise_time: float = 0.0
    emit_time: float = 0.0
    link_time: float = 0.0
    by_name: dict[str, float] = field(default_factory=dict)  #: total per kind of module


class DiskCache:
    """Objects on disk by key. Every failure of the file system means "not there": the cache is never needed."""

    def __init__(self, directory: Path, limit: int = 128 << 20) -> None:
        self.directory, self.limit = directory, limit
        self.damaged = 0
        self._size: int | None = None
        self.usable = self._prepare()

    def _prepare(self) -> bool:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = os.stat(self.directory)
        except OSError:
            return False
        # Machine code is only taken from a directory that nobody else can write.
        return info.st_uid == os.getuid() and not stat.S_IMODE(info.st_mode) & 0o077

    def get(self, key: str) -> bytes | None:
        """The object, or None."""
        if not self.usable:
            return None
        path = self.directory / key
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST_SIZE
        payload = data[start:]
        if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : start] != _digest(key.encode() + payload):
            self.damaged += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep an object."""
        if not self.usable:
            return
        temporary = self.directory / f".{key}.{os.getpid()}.{threading.get_ident()}"
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(_MAGIC + _digest(key.encode() + payload) + payload)
            os.replace(temporary, self.directory / key)
            self._account(len(payload))
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _account(self, added: int) -> None:
        """Keep the directory below its limit: beyond it, entries go until three quarters are left, oldest use first."""
        if self._size is None or self._size + added > self.limit:
            entries = []
            with os.scandir(self.directory) as directory:
                for entry in directory:
                    with contextlib.suppress(FileNotFoundError):  # another process makes room as well
                        info = entry.stat()
                        entries.append((info.st_mtime_ns, info.st_size, entry.path))
            self._size = sum(size for _, size, _ in entries)
            wanted = self.limit * 3 // 4 if self._size > self.limit else self._size
            for _, size, path in sorted(entries):
                if self._size <= wanted:
                    break
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                self._size -= size
        else:
            self._size += added


@cache
def sources() -> bytes:
    """A digest of this package: what is compiled at level FULL need not follow from what is compiled at level QUICK alone."""
    state = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        state.update(path.read_bytes())
    return state.digest()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()


class Code:
    """Linked machine code: addresses by function name. Keeps the code alive."""

    __slots__ = ("_tracker", "key", "level")

    def __init__(self, tracker: Any, key: str, level: int) -> None:
        self._tracker, self.key, self.level = tracker, key, level

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])


class Jit:
    """Compiles IR for this processor."""

    def __init__(self, cache: DiskCache | None = None, *, memory_entries: int = 4096) -> None:
        cpu, _, features = processor()
        self.cache = cache
        self.statistics = Statistics()
        self._version = f"{llvmlite.__version__} {llvm.llvm_version_info} {cpu} {features}".encode() + sources()
        self._generators: dict[int, CodeGenerator] = {}
        # This linker places all of an object side by side; the default one may put code and constants too far apart to reach.
        self._linker = llvm.create_lljit_compiler(target_machine(FULL), use_jit_link=True)
        self._codes: OrderedDict[str, Code] = OrderedDict()
        self._limit = memory_entries
        self._serial = 0
        self._lock = threading.Lock()

    def _generator(self, level: int) -> CodeGenerator:
        if level not in self._generators:
            self._generators[level] = CodeGenerator(level)
        return self._generators[level]

    def _key(self, ir: str, level: int) -> str:
        return hashlib.blake2b(self._version + bytes([level]) + ir.encode(), digest_size=_DIGEST_SIZE).hexdigest()

    def compile(self, ir: str, *, kind: str = "", level: int = FULL, better: bool = True) -> Code:
        """Machine code of the module ``ir``. ``kind`` names it in the statistics. Where the level is QUICK, FULL code that is
        kept is as good, if ``better``."""
        with self._lock:
            start = time.perf_counter()
            code = None
            for kept in (FULL, QUICK) if level == QUICK and better else (level,):
                code = self._kept(ir, self._key(ir, kept), kept)
                if code is not None:
                    break
            if code is None:
                image = self._emit(ir, level)
                code = self._keep(image, ir, self._key(ir, level), level)
            self._spent(kind, time.perf_counter() - start)
            return code

    def adopt(self, ir: str, image: bytes) -> Code:
        """Machine code that does what ``ir`` does, from an object that another process made at level FULL."""
        with self._lock:
            self._codes.pop(self._key(ir, QUICK), None)
            self.statistics.adopted += 1
            return self._keep(image, ir, self._key(ir, FULL), FULL)

    def _kept(self, ir: str, key: str, level: int) -> Code | None:
        """From memory or disk."""
        code = self._codes.get(key)
        if code is not None:
            self._codes.move_to_end(key)
            self.statistics.memory_hits += 1
            return code
        image = self.cache.get(key) if self.cache is not None else None
        if image is None:
            return None
        self.statistics.disk_hits += 1
        return self._remember(self._link(image, ir, key, level))

    def _keep(self, image: bytes, ir: str, key: str, level: int) -> Code:
        if self.cache is not None:
            self.cache.put(key, image)
        return self._remember(self._link(image, ir, key, level))

    def _remember(self, code: Code) -> Code:
        self._codes[code.key] = code
        while len(self._codes) > self._limit:
            self._codes.popitem(last=False)
        return code

    def _spent(self, kind: str, seconds: float) -> None:
        spent = self.statistics.by_name
        spent[kind] = spent.get(kind, 0.0) + seconds

    def assembly(self, ir: str, *, level: int = FULL) -> str:
        """The assembly text of ``ir``, for people."""
        generator = self._generator(level)
        return str(generator.machine.emit_assembly(generator.optimised(ir)))

    def _emit(self, ir: str, level: int) -> bytes:
        start = time.perf_counter()
        generator = self._generator(level)
        module = generator.optimised(ir)
        middle = time.perf_counter()
        image = generator.emit(module)
        self.statistics.compiled += 1
        self.statistics.optimise_time += middle - start
        self.statistics.emit_time += time.perf_counter() - middle
        return image

    def _link(self, image: bytes, ir: str, key: str, level: int) -> Code:
        start = time.perf_counter()
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(image)
        builder.add_current_process()
        for line in ir.splitlines():
            if line.startswith("define ") and "internal" not in line:
                builder.export_symbol(line.split("@", 1)[1].split("(", 1)[0])
        self._serial += 1
        tracker = builder.link(self._linker, f"m{self._serial}")
        self.statistics.link_time += time.perf_counter() - start
        return Code(tracker, key, level)
