"""System memory as the miniport sees it: an MDL tells where its pages are on the bus."""

from __future__ import annotations

from typing import Protocol


class Mdl(Protocol):
    """A memory descriptor list of the kernel. Its pages follow each other on the bus from ``PhysicalAddress`` on."""

    @property
    def PhysicalAddress(self) -> int:
        """Bus address of the first byte."""
        ...


def mdl_address(mdl: object) -> int:
    """Bus address of an MDL's first byte."""
    address = getattr(mdl, "PhysicalAddress", None)
    if not isinstance(address, int):
        raise TypeError(f"{mdl!r} is no MDL")
    return address
