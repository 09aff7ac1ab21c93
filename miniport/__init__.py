"""The vendor's kernel-mode driver (display miniport) of the virtual GPU.

Dxgkrnl loads it by name ("miniport:DriverEntry") and calls nothing else by name: everything goes through the table that
:func:`DriverEntry` registers. It validates what user mode wrote, translates it for the hardware and programs the hardware; it never
schedules, never decides what is resident, and never waits.
"""

from .driver import DriverEntry

__all__ = ["DriverEntry"]
