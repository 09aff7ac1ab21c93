"""Commands that bind what the pipeline writes: render targets, depth, unordered access, stream output.

Binding for writing takes the same subresources away from every reading slot and from every other writing one first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from wddm.client.enums import BindFlag
from wddm.ddi import d3d10umddi as dd

from . import bindings as b
from .bind_commands import BindCommands
from .commands import Call, Pending, handles, sequence, used
from .errors import invalid_arg, require
from .resources import Buffer, Resource
from .views import DepthStencilView, RenderTargetView, UnorderedAccessView, View

_BUFFER: Final = dd.D3D10DDIRESOURCE_TYPE.BUFFER
_TEXTURE3D: Final = dd.D3D10DDIRESOURCE_TYPE.TEXTURE3D
_STREAM_OUTPUT: Final = int(BindFlag.STREAM_OUTPUT)
KEEP: Final = 0xFFFF_FFFF  #: initial count that leaves a counter as it is



class OutputCommands(BindCommands):
    """Binding for writing."""

    def cs_set_unordered_access_views(self, start: int, ids: list[int], counts: list[int]) -> Pending:
        if len(ids) != len(counts):
            raise invalid_arg(f"initial_counts: {len(counts)} for {len(ids)} views")
        views = self._slots(start, ids, b.UAVS, UnorderedAccessView, "unordered_access_views")
        _no_overlap([v for v in views if v is not None], "unordered_access_views")
        bound, end = self.bound, start + len(ids)
        calls = self._make_way(views, keep_cs=(start, end))
        _count_view_outputs(bound.cs_uavs[start:end], views)
        bound.cs_uavs[start:end] = views
        calls.append(lambda: self._ddi.pfnCsSetUnorderedAccessViews(start, len(ids), handles(views), counts))
        return sequence(calls)

    def so_set_targets(self, ids: list[int], offsets: list[int]) -> Pending:
        if len(ids) != len(offsets):
            raise invalid_arg(f"offsets: {len(offsets)} for {len(ids)} targets")
        buffers = self._slots(0, ids, b.SO_BUFFERS, Buffer, "targets")
        for i, buffer in enumerate(buffers):
            if buffer is not None and not buffer.bind_flags & _STREAM_OUTPUT:
                raise invalid_arg(f"targets[{i}]: it was not created with bind flag STREAM_OUTPUT")
            if buffer is not None and buffers.index(buffer) != i:
                raise invalid_arg(f"targets[{i}]: the buffer is there twice")
        bound = self.bound
        before = used(bound.so_buffers)
        calls = self._make_way_for_buffers([x for x in buffers if x is not None])
        new = [*buffers, *[None] * (b.SO_BUFFERS - len(buffers))]
        for old in bound.so_buffers:
            if old is not None:
                old.outputs -= 1
        for buffer in new:
            if buffer is not None:
                buffer.outputs += 1
                buffer.written = True
        bound.so_buffers, bound.so_offsets = new, [*offsets, *[0] * (b.SO_BUFFERS - len(offsets))]
        if not buffers and not before:
            return sequence(calls)
        count, clear = len(buffers), max(before - len(buffers), 0)
        calls.append(lambda: self._ddi.pfnSoSetTargets(count, clear, handles(buffers), list(offsets)))
        return sequence(calls)

    def om_set_render_targets(self, ids: list[int], dsv: int) -> Pending:
        if self._bound_already(ids, dsv):
            return None
        return self.om_set_render_targets_and_unordered_access_views(False, ids, dsv, len(ids), False, [], [])

    def _bound_already(self, ids: list[int], dsv_id: int) -> bool:
        """Whether these targets are bound and nothing else is: what comes with every frame."""
        bound, get = self.bound, self.device.objects.by_id.get
        if dsv_id:
            same = bound.depth_stencil is not None and get(dsv_id) is bound.depth_stencil
        else:
            same = bound.depth_stencil is None
        if not same or bound.om_uavs.count(None) < b.UAVS or len(ids) > b.RENDER_TARGETS:
            return False
        return [get(id, self) if id else None for id in ids] == bound.render_targets[: len(ids)] and not any(
            bound.render_targets[len(ids) :]
        )

    def om_set_render_targets_and_unordered_access_views(
        self,
        keep_targets: bool,
        ids: list[int],
        dsv_id: int,
        uav_start: int,
        keep_uavs: bool,
        uav_ids: list[int],
        counts: list[int],
    ) -> Pending:
        bound = self.bound
        if len(uav_ids) != len(counts):
            raise invalid_arg(f"initial_counts: {len(counts)} for {len(uav_ids)} views")
        dsv: DepthStencilView | None
        if keep_targets:
            targets, dsv = bound.render_targets[: used(bound.render_targets)], bound.depth_stencil
        else:
            targets = self._slots(0, ids, b.RENDER_TARGETS, RenderTargetView, "render_target_views")
            dsv = self.device.get(dsv_id, DepthStencilView, "depth_stencil_view") if dsv_id else None
        uavs: list[UnorderedAccessView | None]
        if keep_uavs:
            uavs = list(bound.om_uavs)
        else:
            if uav_ids and uav_start < used(targets):
                raise invalid_arg(f"uav_start_slot: {uav_start}, render targets take the slots below {used(targets)}")
            found = self._slots(uav_start, uav_ids, b.UAVS, UnorderedAccessView, "unordered_access_views")
            uavs = [None] * b.UAVS
            uavs[uav_start : uav_start + len(found)] = found
        if not keep_targets:
            _check_targets(targets, dsv)
        views: list[View | None] = [*targets, *uavs, dsv]
        _no_overlap([v for v in views if v is not None], "views")
        new_targets = [*targets, *[None] * (b.RENDER_TARGETS - len(targets))]
        if (
            new_targets == bound.render_targets
            and dsv is bound.depth_stencil
            and uavs == bound.om_uavs
            and not any(count != KEEP for count in counts)
        ):
            return None
        calls = self._make_way(views, keep_om=True)
        old_count, old_uavs = used(bound.render_targets), bound.om_uavs
        _count_view_outputs([*bound.render_targets, *bound.om_uavs], [*new_targets, *uavs])
        for old, sign in ((bound.depth_stencil, -1), (dsv, 1)):
            if old is not None and b.writes(old):
                old.resource.outputs += sign
                old.resource.written = True
        bound.render_targets, bound.depth_stencil, bound.om_uavs = new_targets, dsv, uavs
        calls.append(lambda: self._tell_targets(targets, old_count, old_uavs, uav_start, len(uav_ids), counts, keep_uavs))
        return sequence(calls)

    def _tell_targets(
        self,
        targets: Sequence[RenderTargetView | None],
        old_count: int,
        old_uavs: Sequence[UnorderedAccessView | None],
        uav_start: int,
        uav_count: int,
        counts: list[int],
        keep_uavs: bool,
    ) -> Pending:
        """SetRenderTargets: targets and how many more to unbind; UAV slots, and the range among them that changed."""
        bound = self.bound
        dsv, uavs = bound.depth_stencil, bound.om_uavs
        changed = [i for i in range(b.UAVS) if uavs[i] is not old_uavs[i]]
        if not keep_uavs and uav_count:
            changed += [uav_start, uav_start + uav_count - 1]
        first = min(changed, default=0)
        size = max(changed, default=-1) - first + 1 if changed else 0
        all_counts = [KEEP] * b.UAVS
        if not keep_uavs:
            all_counts[uav_start : uav_start + uav_count] = counts
        used = [i for i in range(b.UAVS) if uavs[i] is not None]
        start = min(used, default=first)
        end = max(used, default=start - 1) + 1
        return self._ddi.pfnSetRenderTargets(  # type: ignore[no-any-return]
            handles(targets),
            len(targets),
            max(old_count - len(targets), 0),
            dsv.handle if dsv is not None else 0,
            handles(uavs[start:end]),
            all_counts[start:end],
            start,
            end - start,
            first,
            size,
        )

    def _make_way(
        self, outputs: Sequence[View | None], keep_cs: tuple[int, int] | None = None, keep_om: bool = False
    ) -> list[Call]:
        """Unbind from everything else what is about to be bound for writing; returns the driver calls that tell it."""
        calls: list[Call] = []
        for view in outputs:
            if view is None:
                continue
            if isinstance(view, DepthStencilView) and not b.writes(view):
                continue
            resource = view.resource
            if resource.inputs:
                calls += self._unbind_inputs(view)
            if resource.outputs:
                calls += self._unbind_outputs(view, keep_cs, keep_om)
        return calls

    def _make_way_for_buffers(self, buffers: Sequence[Resource]) -> list[Call]:
        calls: list[Call] = []
        for buffer in buffers:
            whole = View(self.device, buffer)
            if buffer.inputs:
                calls += self._unbind_inputs(whole)
            if buffer.outputs:
                calls += self._unbind_outputs(whole, None, False)
        return calls

    def _unbind_inputs(self, out: View) -> list[Call]:
        bound, ddi = self.bound, self._ddi
        calls: list[Call] = []
        resource = out.resource
        for stage, slots in enumerate(bound.shader_resources):
            for i, view in enumerate(slots):
                if view is not None and view.resource is resource and out.overlaps(view) and b.writes_what(out, view):
                    slots[i] = None
                    resource.inputs -= 1
                    calls.append(partial(self._set_shader_resources[stage], i, 1, [0]))
        if resource.dimension is _BUFFER:
            for i, buffer in enumerate(bound.vertex_buffers):
                if buffer is resource:
                    bound.vertex_buffers[i] = None
                    resource.inputs -= 1
                    calls.append(partial(ddi.pfnIaSetVertexBuffers, i, 1, [0], [0], [0]))
            if bound.index_buffer is resource:
                calls.append(partial(self.ia_set_index_buffer, 0, 0, 0))
        return calls

    def _unbind_outputs(self, out: View, keep_cs: tuple[int, int] | None, keep_om: bool) -> list[Call]:
        bound, ddi = self.bound, self._ddi
        calls: list[Call] = []
        resource = out.resource
        for i, view in enumerate(bound.cs_uavs):
            inside = keep_cs is not None and keep_cs[0] <= i < keep_cs[1]
            if view is not None and not inside and view.overlaps(out):
                bound.cs_uavs[i] = None
                resource.outputs -= 1
                calls.append(partial(ddi.pfnCsSetUnorderedAccessViews, i, 1, [0], [KEEP]))
        if any(buffer is resource for buffer in bound.so_buffers):
            kept = [x if x is not resource else None for x in bound.so_buffers]
            offsets, before = bound.so_offsets, used(bound.so_buffers)
            bound.so_buffers = kept
            resource.outputs -= 1
            calls.append(lambda: ddi.pfnSoSetTargets(before, 0, handles(kept[:before]), offsets[:before]))
        if not keep_om and any(v.overlaps(out) for v in (*bound.render_targets, *bound.om_uavs, bound.depth_stencil) if v):
            targets = [None if v is not None and v.overlaps(out) else v for v in bound.render_targets]
            uavs = [None if v is not None and v.overlaps(out) else v for v in bound.om_uavs]
            depth = bound.depth_stencil
            if depth is not None and depth.overlaps(out):
                if b.writes(depth):
                    depth.resource.outputs -= 1
                depth = None
            old_count, old_uavs = used(bound.render_targets), bound.om_uavs
            _count_view_outputs([*bound.render_targets, *bound.om_uavs], [*targets, *uavs])
            bound.render_targets, bound.om_uavs, bound.depth_stencil = targets, uavs, depth
            given = targets[: used(targets)]
            calls.append(lambda: self._tell_targets(given, old_count, old_uavs, 0, 0, [], True))
        return calls

    def unbind_resource(self, resource: Resource) -> Pending:
        """Take a resource (a back buffer after its flip) out of the whole pipeline."""
        whole = View(self.device, resource)
        whole.mip_end, whole.slice_end = 1 << 30, 1 << 30
        calls: list[Call] = []
        if resource.outputs:
            calls += self._unbind_outputs(whole, None, False)
        if resource.inputs:
            calls += self._unbind_inputs(whole)
        return sequence(calls)


def _count_view_outputs(old: Sequence[View | None], new: Sequence[View | None]) -> None:
    for view in old:
        if view is not None:
            view.resource.outputs -= 1
    for view in new:
        if view is not None:
            view.resource.outputs += 1
            view.resource.written = True


def _no_overlap(views: Sequence[View], what: str) -> None:
    """Raise E_INVALIDARG when two of the views, bound for writing together, cover the same subresource."""
    for i, view in enumerate(views):
        for other in views[:i]:
            if view.overlaps(other) and not (view.resource.dimension in (_BUFFER, _TEXTURE3D) and view is not other):
                raise invalid_arg(f"{what}: two of them cover the same subresource")


def _check_targets(targets: Sequence[RenderTargetView | None], dsv: DepthStencilView | None) -> None:
    """Raise E_INVALIDARG unless all targets agree in samples, and size."""
    first: View | None = None
    for view in (*targets, dsv):
        if view is None:
            continue
        if first is None:
            first = view
            continue
        ours, theirs = view.resource, first.resource
        require(
            ours.sample_count == theirs.sample_count and ours.sample_quality == theirs.sample_quality,
            "render_target_views, depth_stencil_view: different sample counts",
        )
        if ours.dimension is not _BUFFER and theirs.dimension is not _BUFFER and view is not dsv:
            require(
                ours.size(view.mip)[:2] == theirs.size(first.mip)[:2], "render_target_views: render targets of different sizes"
            )
