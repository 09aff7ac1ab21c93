"""The address map of the virtual GPU.

Three disjoint ranges of one 64-bit physical address space:

===================  ==========================================  =========================================
range                what                                        who may name it
===================  ==========================================  =========================================
local memory         video memory. Its first ``VISIBLE_WINDOW``  any packet
                     bytes can be seen by the processor
aperture             pages of system memory, bound page range    any packet
                     by page range (``MAP_APERTURE``)
bus                  system memory by its bus address            privileged packets and ring entries only
===================  ==========================================  =========================================

Local memory is [LOCAL_BASE, LOCAL_BASE + its size), the aperture [APERTURE_BASE, APERTURE_BASE + its size); both sizes are in the
register file. An access that is not wholly inside one of the ranges, or that touches an aperture page with nothing bound, faults
(``Fault.ADDRESS``); nothing wraps. Address 0 is never valid: in a packet it means "nothing bound".

A bus address is ``BUS_BASE | id << 36 | offset``, where ``id`` (1 to BUS_MAX_ID) names a block of system memory that the host has
announced to the device (the model's page frame numbers). Blocks do not touch: an access stays in its block.

Content: local memory reads 0 after power-on and after ``Register.RESET``, which also unbinds every aperture page.
Within the device all memory is coherent: what an entry wrote is seen by every later entry of every node, and by the processor.
"""

from __future__ import annotations

from typing import Final

PAGE_SIZE: Final = 4096

#: First address of local memory.
LOCAL_BASE: Final = 1 << 32
#: First address of the aperture.
APERTURE_BASE: Final = 1 << 40
#: First bus address of system memory.
BUS_BASE: Final = 1 << 62
BUS_ID_SHIFT: Final = 36
BUS_MAX_ID: Final = (1 << 24) - 1
BUS_MAX_SIZE: Final = 1 << BUS_ID_SHIFT

#: Largest sizes a device may be built with, bytes.
MAX_LOCAL_SIZE: Final = 1 << 36
MAX_APERTURE_SIZE: Final = 1 << 36


def bus_address(memory_id: int, offset: int = 0) -> int:
    """The bus address of byte ``offset`` of the system memory block ``memory_id``."""
    if not 0 < memory_id <= BUS_MAX_ID or not 0 <= offset < BUS_MAX_SIZE:
        raise ValueError(f"no bus address for block {memory_id} offset {offset:#x}")
    return BUS_BASE | memory_id << BUS_ID_SHIFT | offset


def is_bus_address(address: int) -> bool:
    """Whether ``address`` lies in the bus range, or above it: nothing that an unprivileged packet may name."""
    return address >= BUS_BASE


def split_bus_address(address: int) -> tuple[int, int]:
    """``(block id, byte offset)`` of a bus address. An id that no block can have (above BUS_MAX_ID) comes out as it is."""
    return (address - BUS_BASE) >> BUS_ID_SHIFT, address & (BUS_MAX_SIZE - 1)


def align_up(value: int, alignment: int) -> int:
    """``value`` rounded up to a multiple of ``alignment`` (a power of two)."""
    return (value + alignment - 1) & -alignment


def pages(size: int) -> int:
    """Number of pages that hold ``size`` bytes."""
    return (size + PAGE_SIZE - 1) // PAGE_SIZE
