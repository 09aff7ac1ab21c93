"""Shader containers (DXBC) and shader model 4/5 token programs: read, write, check, assemble, disassemble.

The layers, lowest first: ``opcodes`` (numbers and tables), ``program`` (the data model), ``tokens`` (bytes and back),
``container`` (chunks, signatures, checksum), ``validate`` (is it a legal program), ``assembler`` and
``disassembler`` (text and back).  The names below load their modules when first used, so that a driver that only
decodes never loads the assembler.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .assembler import assemble
    from .container import Container, ShaderBlob
    from .disassembler import disassemble
    from .errors import AssemblyError, DxbcError

__all__ = ["AssemblyError", "Container", "DxbcError", "ShaderBlob", "assemble", "disassemble"]

_HOMES = {
    "AssemblyError": "errors",
    "Container": "container",
    "DxbcError": "errors",
    "ShaderBlob": "container",
    "assemble": "assembler",
    "disassemble": "disassembler",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
