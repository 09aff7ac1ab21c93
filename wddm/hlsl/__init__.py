"""HLSL to DXBC: a compiler for shader models 4.0, 4.1 and 5.0.

Depends on :mod:`wddm.dxbc` alone.  :func:`compile` gives a container that a Direct3D 11 runtime takes, or raises
:class:`CompileError` with messages in the manner of fxc; :func:`reflect` tells what a container binds.
"""

from .cache import Cache, default_cache
from .compiler import PROFILES, VERSION, CompileResult, Flags, compile, compile_with_diagnostics
from .diagnostics import CompileError, Diagnostic, Position
from .reflect import reflect

__all__ = [
    "PROFILES",
    "VERSION",
    "Cache",
    "CompileError",
    "CompileResult",
    "Diagnostic",
    "Flags",
    "Position",
    "compile",
    "compile_with_diagnostics",
    "default_cache",
    "reflect",
]
