"""Requests about legacy Direct3D contexts."""

from __future__ import annotations

from typing import Any

from wddm.wire import api

from .legacy import Dp2Context
from .requests import RequestGroup
from .resources import Resource


class LegacyRequests(RequestGroup):
    """Handlers of CreateSurfaceEx, DrawPrimitives2, GetRenderStates."""

    def create_surface_ex(self, m: api.CreateSurfaceEx) -> Any:
        context = self.objects.get(m.context, Dp2Context, "context")
        device = context.device
        resource = device.get(m.resource, Resource, "resource") if m.resource else None
        return self._turn(device, lambda: context.create_surface(m.surface, resource, m.format, m.subresource))

    def draw_primitives2(self, m: api.DrawPrimitives2) -> Any:
        context = self.objects.get(m.context, Dp2Context, "context")
        device = context.device

        async def drawn() -> api.PrimitivesDrawn:
            reply = await context.draw(m)
            await device.finish()
            if self.link.channel.congested:
                await self.link.channel.drained()  # a slow kernel slows the client
            return reply

        return self._turn(device, drawn)

    def get_render_states(self, m: api.GetRenderStates) -> api.RenderStates:
        return api.RenderStates(data=self.objects.get(m.context, Dp2Context, "context").render_states.tobytes())
