"""Our side of every workload that the peers run, one module a group, tests of the same names.

``GROUPS`` are the modules; each has ``SCENES``. Nothing is imported until a group is asked for.
"""

from __future__ import annotations

from typing import Final

#: In the order in which they are measured and told.
GROUPS: Final = (
    "fill",
    "blend",
    "texture",
    "tri_small",
    "tri_large",
    "shader",
    "drawrate",
    "compute",
    "latency",
    "readback",
    "frameloop",
    "jit",
)
