"""Shader containers (DXBC) and shader model 4/5 token programs: read, write, check, assemble, disassemble."""
