"""State of a Direct3D context as one mapping of keys to values, so that state sets are mappings as well.

A key is (kind, a, b). A state set is a part of the mapping: recording diverts what is set into it, executing sets it again,
capturing refreshes the values of its keys. Values are never changed in place. Models "Accelerated State Management".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final

import numpy as np

from umd.dp2.errors import CommandError
from wddm.ddi.d3dhal import (
    D3DHAL_MAX_RSTATES,
    D3DHAL_STATESET,
    D3DHAL_TSS_MAXSTAGES,
    D3DMATERIAL7_DTYPE,
    D3DRENDERSTATE_DEFAULTS,
    D3DRENDERSTATETYPE,
    D3DSTATEBLOCKTYPE,
    D3DTEXTURESTAGESTATETYPE,
    PIXEL_RENDERSTATES,
    VERTEX_RENDERSTATES,
    texture_stage_default,
)

RS = D3DRENDERSTATETYPE
TSS = D3DTEXTURESTAGESTATETYPE
Key = tuple[int, int, int]
IDENTITY: Final = np.eye(4, dtype=np.float32)
MAX_STATE_SETS: Final = 4096
MAX_DERIVED: Final = 1024
ALL: Final = -1  #: in a key that is read: every state of the kind


class Kind(IntEnum):
    """What a key is about; the comment tells ``a`` and ``b``."""

    RENDERSTATE = 0  # code: DWORD
    STAGE = 1  # stage, code: DWORD
    TRANSFORM = 2  # transform: 4x4 floats
    MATERIAL = 3  # D3DMATERIAL7
    LIGHT = 4  # index: D3DLIGHT7
    LIGHT_ENABLE = 5  # index: bool
    CLIP_PLANE = 6  # index: 4 floats
    VIEWPORT = 7  # (x, y, width, height)
    ZRANGE = 8  # (min, max)
    WINFO = 9  # (near, far)
    SCISSOR = 10  # (left, top, right, bottom)
    DECLARATION = 11  # FVF, or handle with bit 0 set
    VERTEX_FUNCTION = 12  # handle, 0 = fixed function
    PIXEL_SHADER = 13  # handle, 0 = fixed function
    VERTEX_CONSTANT = 14  # register, file: 4 dwords
    PIXEL_CONSTANT = 15  # register, file: 4 dwords
    STREAM = 16  # stream: (handle, offset, stride); handle USER_MEMORY is the call's memory
    STREAM_FREQUENCY = 17  # stream: divider
    INDICES = 18  # (handle, stride)
    TARGET = 19  # index: surface handle
    DEPTH = 20  # surface handle


USER_MEMORY: Final = -1
_VALUES: Final[dict[Kind, Any]] = {
    Kind.TRANSFORM: IDENTITY,
    Kind.MATERIAL: np.zeros((), D3DMATERIAL7_DTYPE)[()],
    Kind.LIGHT: None,
    Kind.LIGHT_ENABLE: False,
    Kind.CLIP_PLANE: np.zeros(4, np.float32),
    Kind.VIEWPORT: None,
    Kind.ZRANGE: (0.0, 1.0),
    Kind.WINFO: (0.0, 1.0),
    Kind.SCISSOR: None,
    Kind.DECLARATION: 0,
    Kind.VERTEX_FUNCTION: 0,
    Kind.PIXEL_SHADER: 0,
    Kind.VERTEX_CONSTANT: (0, 0, 0, 0),
    Kind.PIXEL_CONSTANT: (0, 0, 0, 0),
    Kind.STREAM: None,
    Kind.STREAM_FREQUENCY: 1,
    Kind.INDICES: None,
    Kind.TARGET: 0,
    Kind.DEPTH: 0,
}


def bits(value: float) -> int:
    """A default as it travels: floats by their IEEE bits."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0]) if isinstance(value, float) else int(value)


#: DEVIATES: POINTSIZE starts at 1.0, as applications before DirectX 8 know points; the page gives 64 for a driver without a value.
RENDERSTATES: Final = {
    **dict.fromkeys(range(D3DHAL_MAX_RSTATES), 0),
    **{int(code): bits(value) for code, value in D3DRENDERSTATE_DEFAULTS.items()},
    int(RS.POINTSIZE): bits(1.0),
}


def default(key: Key) -> Any:
    """The value of a state that was never set."""
    kind, a, b = key
    if kind == Kind.RENDERSTATE:
        return RENDERSTATES[a]
    if kind == Kind.STAGE:
        return texture_stage_default(a, TSS(b)) if b in TSS._value2member_map_ else 0
    return _VALUES[Kind(kind)]


def float_of(word: int) -> float:
    """The float that a DWORD holds."""
    return float(struct.unpack("<f", struct.pack("<I", word & 0xFFFFFFFF))[0])


class State:
    """The state of one context with its state sets, and what was derived from it.

    :meth:`derive` notes which states a value was computed from and keeps it until one of them changes, so that nobody else has to
    say what depends on what.
    """

    def __init__(self) -> None:
        self.values: dict[Key, Any] = {}
        self.changed = True  #: since the last draw
        self._reads: set[Key] | None = None  #: what the value being derived has read
        self._derived: dict[Any, tuple[Any, set[Key]]] = {}
        self._readers: dict[Key, set[Any]] = {}
        self._sets: dict[int, dict[Key, Any]] = {}
        self._recording: dict[Key, Any] | None = None
        self._handle = 0

    # --- reading -------------------------------------------------------------------------------------------------------
    def get(self, kind: int, a: int = 0, b: int = 0) -> Any:
        """The value of a state."""
        key = (kind, a, b)
        if self._reads is not None:
            self._reads.add(key)
        return self.values[key] if key in self.values else default(key)

    def render(self, code: int) -> int:
        """A render state's DWORD."""
        key = (Kind.RENDERSTATE, code, 0)
        if self._reads is not None:
            self._reads.add(key)
        value: int | None = self.values.get(key)
        return RENDERSTATES[code] if value is None else value

    def render_float(self, code: int) -> float:
        """A render state that is a float."""
        return float_of(self.render(code))

    def stage(self, stage: int, code: int) -> int:
        """A texture-stage state's DWORD."""
        return int(self.get(Kind.STAGE, stage, code))

    def stage_float(self, stage: int, code: int) -> float:
        """A texture-stage state that is a float."""
        return float_of(self.stage(stage, code))

    def all_of(self, kind: int) -> list[tuple[Key, Any]]:
        """Every state of a kind that was set, in order of its key."""
        if self._reads is not None:
            self._reads.add((kind, ALL, ALL))
        return sorted(((k, v) for k, v in self.values.items() if k[0] == kind), key=lambda item: item[0])

    def derive(self, name: Any, compute: Callable[[], Any]) -> Any:
        """``compute()``, or what it gave before while none of the states it read has changed.

        ``name`` says what else it depends on.
        """
        found = self._derived.get(name)
        if found is not None:
            if self._reads is not None:
                self._reads |= found[1]
            return found[0]
        if len(self._derived) >= MAX_DERIVED:
            self.forget()
        outer, self._reads = self._reads, set()
        try:
            value = compute()
        finally:
            reads, self._reads = self._reads, outer
        if outer is not None:
            outer |= reads
        for key in reads:
            self._readers.setdefault(key, set()).add(name)
        self._derived[name] = value, reads
        return value

    def forget(self) -> None:
        """Nothing that was derived is good any more."""
        self._derived.clear()
        self._readers.clear()

    def _assign(self, key: Key, value: Any) -> None:
        self.values[key] = value
        self._invalidate(key)

    def _invalidate(self, key: Key) -> None:
        self.changed = True
        for read in (key, (key[0], ALL, ALL)):
            for name in self._readers.pop(read, ()):
                self._derived.pop(name, None)

    @contextmanager
    def replaced(self, values: dict[Key, Any]) -> Iterator[None]:
        """Other values for a while."""
        before = {key: self.values[key] for key in values if key in self.values}
        for key, value in values.items():
            self._assign(key, value)
        try:
            yield
        finally:
            for key in values:
                self.values.pop(key, None)
                if key in before:
                    self.values[key] = before[key]
                self._invalidate(key)

    # --- setting -------------------------------------------------------------------------------------------------------
    @property
    def recording(self) -> bool:
        """Whether what is set goes into a state set."""
        return self._recording is not None

    def put(self, kind: int, a: int, b: int, value: Any) -> None:
        """Set a state, or record it."""
        if self._recording is not None:
            self._recording[kind, a, b] = value
            return
        key = (kind, a, b)
        if value.__class__ is int and self.values.get(key) == value:
            return
        self._assign(key, value)

    # --- state sets ----------------------------------------------------------------------------------------------------
    def stateset(self, operation: int, handle: int, type: int) -> list[Key]:
        """D3DDP2OP_STATESET; returns the keys that were set anew. Raises CommandError."""
        if operation == D3DHAL_STATESET.END:
            if self._recording is None:
                raise CommandError.call("a recording ends that nobody began")
            self._store(self._handle, self._recording)
            self._recording = None
            return []
        if self._recording is not None:
            raise CommandError.call(f"state set operation {operation} while a state set is recorded")
        if operation == D3DHAL_STATESET.BEGIN:
            self._recording, self._handle = {}, handle
        elif operation == D3DHAL_STATESET.CREATE:
            self._store(handle, {key: self.get(*key) for key in self._all(type)})
        elif operation in (D3DHAL_STATESET.DELETE, D3DHAL_STATESET.EXECUTE, D3DHAL_STATESET.CAPTURE):
            found = self._sets.get(handle)
            if found is None:
                raise CommandError.params(f"state set {handle} does not exist")
            if operation == D3DHAL_STATESET.DELETE:
                del self._sets[handle]
            elif operation == D3DHAL_STATESET.EXECUTE:
                for key, value in found.items():
                    self._assign(key, value)
                return list(found)
            else:
                for key in found:
                    found[key] = self.get(*key)
        else:
            raise CommandError.params(f"state set operation {operation}")
        return []

    def _store(self, handle: int, values: dict[Key, Any]) -> None:
        if handle not in self._sets and len(self._sets) >= MAX_STATE_SETS:
            raise CommandError.params(f"{MAX_STATE_SETS} state sets exist already")
        self._sets[handle] = values

    def _all(self, type: int) -> frozenset[Key]:
        """What a state set that is created whole captures."""
        if type not in (D3DSTATEBLOCKTYPE.ALL, D3DSTATEBLOCKTYPE.PIXELSTATE, D3DSTATEBLOCKTYPE.VERTEXSTATE):
            raise CommandError.params(f"state set of type {type}")
        pixel, vertex = type != D3DSTATEBLOCKTYPE.VERTEXSTATE, type != D3DSTATEBLOCKTYPE.PIXELSTATE
        whole = pixel and vertex
        codes = (PIXEL_RENDERSTATES if pixel else frozenset()) | (VERTEX_RENDERSTATES if vertex else frozenset())
        if whole:
            codes = codes | set(D3DRENDERSTATE_DEFAULTS)
        keys: set[Key] = {(Kind.RENDERSTATE, int(code), 0) for code in codes}
        stage_states = [s for s in TSS if s is not TSS.TEXTUREMAP] if pixel else [TSS.TEXCOORDINDEX, TSS.TEXTURETRANSFORMFLAGS]
        keys |= {(Kind.STAGE, stage, int(s)) for stage in range(D3DHAL_TSS_MAXSTAGES) for s in stage_states}
        kinds: set[int] = set()
        if pixel:
            kinds |= {Kind.PIXEL_CONSTANT}
            keys.add((Kind.PIXEL_SHADER, 0, 0))
        if vertex:
            kinds |= {Kind.LIGHT, Kind.LIGHT_ENABLE, Kind.VERTEX_CONSTANT}
            keys |= {(Kind.DECLARATION, 0, 0), (Kind.VERTEX_FUNCTION, 0, 0)}
        if whole:
            kinds |= {Kind.TRANSFORM, Kind.CLIP_PLANE, Kind.VIEWPORT, Kind.ZRANGE, Kind.SCISSOR}
            keys.add((Kind.MATERIAL, 0, 0))
        return frozenset(keys | {key for key in self.values if key[0] in kinds})
