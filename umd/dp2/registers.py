"""Where things are in translated shaders: rows of the constant buffer, and temporary registers beyond the program's own 32."""

from __future__ import annotations

from typing import Final

# --- constant rows ---------------------------------------------------------------------------------------------------------
INTEGERS: Final = 256
BOOLEANS: Final = 272
FOG_COLOR: Final = 288
FOG_PARAMETERS: Final = 289
ALPHA_REF: Final = 290
BUMP_MATRIX: Final = 292
BUMP_LUMINANCE: Final = 300
ROWS: Final = 308
# --- temporary registers ---------------------------------------------------------------------------------------------------
ADDRESS: Final = "r32"
PREDICATE: Final = "r33"
OUTPUTS: Final = 34  #: what is written to output registers, by the register of the assembly
TEXTURES: Final = 66  #: texture registers of pixel shaders before 1.4
INPUTS: Final = 74  #: inputs that are converted, or that the vertex does not bring
LOOPS: Final = 90  #: x = rounds left, y = aL, z = step, w = scratch
MAX_LOOPS: Final = 8
RESULT, RESULT2 = "r98", "r99"
SOURCES: Final = 100  #: four sources with modifiers
A, B, PAD = "r104", "r105", "r106"
TEMPS: Final = 108
