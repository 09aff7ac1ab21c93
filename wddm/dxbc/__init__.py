"""Shader containers (DXBC) and shader model 4/5 token programs: read, write, check, assemble, disassemble.

The layers, lowest first: ``opcodes`` (numbers and tables), ``program`` (the data model), ``tokens`` (bytes and back),
``container`` (chunks, signatures, checksum), ``validate`` (is it a legal program), ``assembler`` and
``disassembler`` (text and back).
"""

from .assembler import assemble, disassemble
from .container import Container, ShaderBlob
from .errors import AssemblyError, DxbcError

__all__ = ["AssemblyError", "Container", "DxbcError", "ShaderBlob", "assemble", "disassemble"]
