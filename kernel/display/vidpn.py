"""Video present networks: topologies, mode sets, pins, and the functions through which a miniport sees them.

A VidPN object lives as long as the negotiation or the commit needs it; the miniport only ever holds handles. Models "Introduction
to Video Present Networks" and DXGK_VIDPN_INTERFACE with its set and topology interfaces. DEVIATES: gamma and transformations live
in the path; monitors have no frequency ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from wddm.ddi.d3dkmddi import (
    D3DDDI_MULTISAMPLINGMETHOD,
    DXGK_VIDPN_INTERFACE,
    DXGK_VIDPNSOURCEMODESET_INTERFACE,
    DXGK_VIDPNTARGETMODESET_INTERFACE,
    DXGK_VIDPNTOPOLOGY_INTERFACE,
)
from wddm.ddi.d3dkmdt import (
    D3DKMDT_2DREGION,
    D3DKMDT_GRAPHICS_RENDERING_FORMAT,
    D3DKMDT_VIDEO_SIGNAL_INFO,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_SOURCE_MODE,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
    D3DKMDT_VIDPN_TARGET_MODE,
)
from wddm.ddi.d3dukmdt import D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS

_OK: Final = NTSTATUS.STATUS_SUCCESS
_END: Final = NTSTATUS.STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET
_EMPTY: Final = NTSTATUS.STATUS_GRAPHICS_DATASET_IS_EMPTY


@dataclass(slots=True, eq=False)
class SourceModeSet:
    """Modes of a source; at most one is pinned."""

    modes: list[D3DKMDT_VIDPN_SOURCE_MODE] = field(default_factory=list)
    pinned: D3DKMDT_VIDPN_SOURCE_MODE | None = None
    ids: int = 0


@dataclass(slots=True, eq=False)
class TargetModeSet:
    """Modes of a target; at most one is pinned."""

    modes: list[D3DKMDT_VIDPN_TARGET_MODE] = field(default_factory=list)
    pinned: D3DKMDT_VIDPN_TARGET_MODE | None = None
    ids: int = 0


@dataclass(slots=True, eq=False)
class VidPn:
    """A topology and the mode sets of its sources and targets."""

    paths: list[D3DKMDT_VIDPN_PRESENT_PATH] = field(default_factory=list)
    sources: dict[int, SourceModeSet] = field(default_factory=dict)
    targets: dict[int, TargetModeSet] = field(default_factory=dict)
    multisampling: dict[int, Sequence[D3DDDI_MULTISAMPLINGMETHOD]] = field(default_factory=dict)

    def add_path(self, source: int, target: int) -> None:
        """A path with empty mode sets at both ends."""
        self.paths.append(D3DKMDT_VIDPN_PRESENT_PATH(source, target))
        self.sources.setdefault(source, SourceModeSet())
        self.targets.setdefault(target, TargetModeSet())

    @property
    def functional(self) -> bool:
        """Whether there is a path and every end of every path has a pinned mode."""
        return bool(self.paths) and all(
            self.sources[p.VidPnSourceId].pinned is not None and self.targets[p.VidPnTargetId].pinned is not None
            for p in self.paths
        )


class VidPnObjects:
    """All VidPN objects of the adapter, by handle, and the interfaces onto them."""

    def __init__(self, sources: int, targets: int) -> None:
        self._source_count = sources
        self._target_count = targets
        self._next = 0x40
        self._vidpns: dict[int, VidPn] = {}
        self._topologies: dict[int, VidPn] = {}
        self._source_sets: dict[int, SourceModeSet] = {}
        self._target_sets: dict[int, TargetModeSet] = {}
        self._vidpn_interface = DXGK_VIDPN_INTERFACE(
            pfnGetTopology=self._get_topology,
            pfnAcquireSourceModeSet=self._acquire_source_set,
            pfnReleaseSourceModeSet=self._release_source_set,
            pfnCreateNewSourceModeSet=self._create_source_set,
            pfnAssignSourceModeSet=self._assign_source_set,
            pfnAssignMultisamplingMethodSet=self._assign_multisampling,
            pfnAcquireTargetModeSet=self._acquire_target_set,
            pfnReleaseTargetModeSet=self._release_target_set,
            pfnCreateNewTargetModeSet=self._create_target_set,
            pfnAssignTargetModeSet=self._assign_target_set,
        )
        self._topology_interface = DXGK_VIDPNTOPOLOGY_INTERFACE(
            pfnGetNumPaths=self._get_num_paths,
            pfnGetNumPathsFromSource=self._get_num_paths_from_source,
            pfnEnumPathTargetsFromSource=self._enum_targets,
            pfnAcquireFirstPathInfo=self._first_path,
            pfnAcquireNextPathInfo=self._next_path,
            pfnReleasePathInfo=lambda topology, path: _OK,
            pfnUpdatePathSupportInfo=self._update_path,
            pfnCreateNewPathInfo=lambda topology: (_OK, D3DKMDT_VIDPN_PRESENT_PATH(0, 0)),
            pfnAddPath=self._add_path,
            pfnRemovePath=self._remove_path,
        )
        self._source_interface = DXGK_VIDPNSOURCEMODESET_INTERFACE(
            pfnGetNumModes=lambda handle: self._count(self._source_sets.get(handle)),
            pfnAcquireFirstModeInfo=lambda handle: _first(self._source_sets.get(handle)),
            pfnAcquireNextModeInfo=lambda handle, mode: _following(self._source_sets.get(handle), mode),
            pfnAcquirePinnedModeInfo=lambda handle: _pinned(self._source_sets.get(handle)),
            pfnReleaseModeInfo=lambda handle, mode: _OK,
            pfnCreateNewModeInfo=self._new_source_mode,
            pfnAddMode=lambda handle, mode: _add(self._source_sets.get(handle), mode),
            pfnPinMode=lambda handle, number: _pin(self._source_sets.get(handle), number),
        )
        self._target_interface = DXGK_VIDPNTARGETMODESET_INTERFACE(
            pfnGetNumModes=lambda handle: self._count(self._target_sets.get(handle)),
            pfnAcquireFirstModeInfo=lambda handle: _first_target(self._target_sets.get(handle)),
            pfnAcquireNextModeInfo=lambda handle, mode: _following_target(self._target_sets.get(handle), mode),
            pfnAcquirePinnedModeInfo=lambda handle: _pinned_target(self._target_sets.get(handle)),
            pfnReleaseModeInfo=lambda handle, mode: _OK,
            pfnCreateNewModeInfo=self._new_target_mode,
            pfnAddMode=lambda handle, mode: _add_target(self._target_sets.get(handle), mode),
            pfnPinMode=lambda handle, number: _pin_target(self._target_sets.get(handle), number),
        )

    def open(self, vidpn: VidPn) -> int:
        """A handle for the miniport."""
        return self._name(self._vidpns, vidpn)

    def close(self, handle: int) -> None:
        """The call is over: every handle onto the VidPN is void."""
        for table in (self._vidpns, self._topologies, self._source_sets, self._target_sets):
            table.clear()

    def interface(self, handle: int) -> tuple[int, DXGK_VIDPN_INTERFACE | None]:
        """DxgkCbQueryVidPnInterface."""
        return (_OK, self._vidpn_interface) if handle in self._vidpns else (NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN, None)

    def _name(self, table: dict[int, object] | dict[int, VidPn], item: object) -> int:
        self._next += 4
        table[self._next] = item  # type: ignore[assignment]
        return self._next

    # ----- VidPN -------------------------------------------------------------------------------------------------------------

    def _get_topology(self, handle: int) -> tuple[int, int, DXGK_VIDPNTOPOLOGY_INTERFACE | None]:
        vidpn = self._vidpns.get(handle)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN, 0, None
        return _OK, self._name(self._topologies, vidpn), self._topology_interface

    def _acquire_source_set(self, handle: int, source: int) -> tuple[int, int, DXGK_VIDPNSOURCEMODESET_INTERFACE | None]:
        vidpn = self._vidpns.get(handle)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN, 0, None
        found = vidpn.sources.get(source)
        if found is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE, 0, None
        return _OK, self._name_source(found), self._source_interface

    def _acquire_target_set(self, handle: int, target: int) -> tuple[int, int, DXGK_VIDPNTARGETMODESET_INTERFACE | None]:
        vidpn = self._vidpns.get(handle)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN, 0, None
        found = vidpn.targets.get(target)
        if found is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET, 0, None
        return _OK, self._name_target(found), self._target_interface

    def _name_source(self, item: SourceModeSet) -> int:
        self._next += 4
        self._source_sets[self._next] = item
        return self._next

    def _name_target(self, item: TargetModeSet) -> int:
        self._next += 4
        self._target_sets[self._next] = item
        return self._next

    def _release_source_set(self, handle: int, mode_set: int) -> int:
        return _OK if self._source_sets.pop(mode_set, None) is not None else NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET

    def _release_target_set(self, handle: int, mode_set: int) -> int:
        return _OK if self._target_sets.pop(mode_set, None) is not None else NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET

    def _create_source_set(self, handle: int, source: int) -> tuple[int, int, DXGK_VIDPNSOURCEMODESET_INTERFACE | None]:
        if not 0 <= source < self._source_count:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE, 0, None
        return _OK, self._name_source(SourceModeSet()), self._source_interface

    def _create_target_set(self, handle: int, target: int) -> tuple[int, int, DXGK_VIDPNTARGETMODESET_INTERFACE | None]:
        if not 0 <= target < self._target_count:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET, 0, None
        return _OK, self._name_target(TargetModeSet()), self._target_interface

    def _assign_source_set(self, handle: int, source: int, mode_set: int) -> int:
        vidpn, found = self._vidpns.get(handle), self._source_sets.pop(mode_set, None)
        if vidpn is None or found is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET
        vidpn.sources[source] = found
        return _OK

    def _assign_target_set(self, handle: int, target: int, mode_set: int) -> int:
        vidpn, found = self._vidpns.get(handle), self._target_sets.pop(mode_set, None)
        if vidpn is None or found is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET
        vidpn.targets[target] = found
        return _OK

    def _assign_multisampling(self, handle: int, source: int, methods: Sequence[D3DDDI_MULTISAMPLINGMETHOD]) -> int:
        vidpn = self._vidpns.get(handle)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN
        vidpn.multisampling[source] = list(methods)
        return _OK

    # ----- topology ----------------------------------------------------------------------------------------------------------

    def _get_num_paths(self, topology: int) -> tuple[int, int]:
        vidpn = self._topologies.get(topology)
        return (NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY, 0) if vidpn is None else (_OK, len(vidpn.paths))

    def _get_num_paths_from_source(self, topology: int, source: int) -> tuple[int, int]:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY, 0
        return _OK, sum(p.VidPnSourceId == source for p in vidpn.paths)

    def _enum_targets(self, topology: int, source: int, index: int) -> tuple[int, int]:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY, 0
        targets = [p.VidPnTargetId for p in vidpn.paths if p.VidPnSourceId == source]
        return (_OK, targets[index]) if 0 <= index < len(targets) else (_END, 0)

    def _first_path(self, topology: int) -> tuple[int, D3DKMDT_VIDPN_PRESENT_PATH | None]:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY, None
        return (_OK, vidpn.paths[0]) if vidpn.paths else (_EMPTY, None)

    def _next_path(
        self, topology: int, path: D3DKMDT_VIDPN_PRESENT_PATH
    ) -> tuple[int, D3DKMDT_VIDPN_PRESENT_PATH | None]:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY, None
        for at, one in enumerate(vidpn.paths[:-1]):
            if one is path:
                return _OK, vidpn.paths[at + 1]
        return _END, None

    def _update_path(self, topology: int, path: D3DKMDT_VIDPN_PRESENT_PATH) -> int:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
        for one in vidpn.paths:
            if (one.VidPnSourceId, one.VidPnTargetId) == (path.VidPnSourceId, path.VidPnTargetId):
                one.ContentTransformation.ScalingSupport = path.ContentTransformation.ScalingSupport
                one.ContentTransformation.RotationSupport = path.ContentTransformation.RotationSupport
                return _OK
        return NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY

    def _add_path(self, topology: int, path: D3DKMDT_VIDPN_PRESENT_PATH) -> int:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
        if not 0 <= path.VidPnSourceId < self._source_count:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE
        if not 0 <= path.VidPnTargetId < self._target_count:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET
        if any(p.VidPnTargetId == path.VidPnTargetId for p in vidpn.paths):
            return NTSTATUS.STATUS_GRAPHICS_PATH_ALREADY_IN_TOPOLOGY
        vidpn.paths.append(path)
        vidpn.sources.setdefault(path.VidPnSourceId, SourceModeSet())
        vidpn.targets.setdefault(path.VidPnTargetId, TargetModeSet())
        return _OK

    def _remove_path(self, topology: int, source: int, target: int) -> int:
        vidpn = self._topologies.get(topology)
        if vidpn is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
        for path in vidpn.paths:
            if (path.VidPnSourceId, path.VidPnTargetId) == (source, target):
                vidpn.paths.remove(path)
                return _OK
        return NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY

    # ----- mode sets ---------------------------------------------------------------------------------------------------------

    @staticmethod
    def _count(mode_set: SourceModeSet | TargetModeSet | None) -> tuple[int, int]:
        return (NTSTATUS.STATUS_INVALID_HANDLE, 0) if mode_set is None else (_OK, len(mode_set.modes))

    def _new_source_mode(self, handle: int) -> tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]:
        mode_set = self._source_sets.get(handle)
        if mode_set is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET, None
        mode_set.ids += 1
        empty = D3DKMDT_GRAPHICS_RENDERING_FORMAT(D3DKMDT_2DREGION(), D3DKMDT_2DREGION(), 0, D3DDDIFORMAT.UNKNOWN)
        return _OK, D3DKMDT_VIDPN_SOURCE_MODE(mode_set.ids, D3DKMDT_VIDPN_SOURCE_MODE_TYPE.UNINITIALIZED, empty)

    def _new_target_mode(self, handle: int) -> tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]:
        mode_set = self._target_sets.get(handle)
        if mode_set is None:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET, None
        mode_set.ids += 1
        signal = D3DKMDT_VIDEO_SIGNAL_INFO(D3DKMDT_2DREGION(), D3DKMDT_2DREGION(), D3DDDI_RATIONAL(), D3DDDI_RATIONAL(), 0)
        return _OK, D3DKMDT_VIDPN_TARGET_MODE(mode_set.ids, signal)


def _first(mode_set: SourceModeSet | None) -> tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET, None
    return (_OK, mode_set.modes[0]) if mode_set.modes else (_EMPTY, None)


def _first_target(mode_set: TargetModeSet | None) -> tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET, None
    return (_OK, mode_set.modes[0]) if mode_set.modes else (_EMPTY, None)


def _following(
    mode_set: SourceModeSet | None, mode: D3DKMDT_VIDPN_SOURCE_MODE
) -> tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET, None
    later = [m for m in mode_set.modes if m.Id > mode.Id]
    return (_OK, later[0]) if later else (_END, None)


def _following_target(
    mode_set: TargetModeSet | None, mode: D3DKMDT_VIDPN_TARGET_MODE
) -> tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET, None
    later = [m for m in mode_set.modes if m.Id > mode.Id]
    return (_OK, later[0]) if later else (_END, None)


def _pinned(mode_set: SourceModeSet | None) -> tuple[int, D3DKMDT_VIDPN_SOURCE_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET, None
    return (NTSTATUS.STATUS_GRAPHICS_MODE_NOT_PINNED, None) if mode_set.pinned is None else (_OK, mode_set.pinned)


def _pinned_target(mode_set: TargetModeSet | None) -> tuple[int, D3DKMDT_VIDPN_TARGET_MODE | None]:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET, None
    return (NTSTATUS.STATUS_GRAPHICS_MODE_NOT_PINNED, None) if mode_set.pinned is None else (_OK, mode_set.pinned)


def _add(mode_set: SourceModeSet | None, mode: D3DKMDT_VIDPN_SOURCE_MODE) -> int:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET
    size = mode.Format.PrimSurfSize
    if mode.Type is not D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS or not size.cx or not size.cy:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE_MODE
    if any(m.Id == mode.Id for m in mode_set.modes):
        return NTSTATUS.STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET
    mode_set.modes.append(mode)
    return _OK


def _add_target(mode_set: TargetModeSet | None, mode: D3DKMDT_VIDPN_TARGET_MODE) -> int:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET
    active = mode.VideoSignalInfo.ActiveSize
    if not active.cx or not active.cy:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_ACTIVE_REGION
    if any(m.Id == mode.Id for m in mode_set.modes):
        return NTSTATUS.STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET
    mode_set.modes.append(mode)
    return _OK


def _pin(mode_set: SourceModeSet | None, number: int) -> int:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET
    for mode in mode_set.modes:
        if mode.Id == number:
            mode_set.pinned = mode
            return _OK
    return NTSTATUS.STATUS_GRAPHICS_MODE_NOT_IN_MODESET


def _pin_target(mode_set: TargetModeSet | None, number: int) -> int:
    if mode_set is None:
        return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TARGETMODESET
    for mode in mode_set.modes:
        if mode.Id == number:
            mode_set.pinned = mode
            return _OK
    return NTSTATUS.STATUS_GRAPHICS_MODE_NOT_IN_MODESET
