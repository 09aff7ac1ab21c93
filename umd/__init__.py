"""The vendor's user-mode display driver: what the runtime loads as ``"umd:OpenAdapter10_2"``, and legacy Direct3D as
``"umd:DdGetDriverInfo"``.

It fills the Direct3D 11 and DXGI device-driver interface tables, translates shader tokens into the hardware's instruction set and
records command buffers of the hardware's packets. It speaks to the kernel through the runtime's callbacks alone and knows the
hardware by its manual (:mod:`wddm.hw`).
"""

from umd.adapter import OpenAdapter10_2
from umd.dp2.driver import DdGetDriverInfo

__all__ = ["DdGetDriverInfo", "OpenAdapter10_2"]
