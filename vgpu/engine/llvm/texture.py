"""Texture and typed buffer access: texel addresses, loads, sizes, sampling."""
from __future__ import annotations
OPERATIONS = {}
def element_address(*a):
    raise NotImplementedError
