"""Signatures as the comment tables of a listing.

A row is: name, index, mask, register, system value, format, components used.  The compiler's convention ``N/A`` and
``YES``/``NO`` stands for elements without a register and a one-component mask; ``m1:NAME`` for stream 1.
"""

from __future__ import annotations

import re

from .opcodes import MinPrecision
from .signature import NO_REGISTER, ComponentType, D3DName, Signature, SignatureElement
from .text_names import COMPONENT_TYPES, MIN_PRECISIONS, SYSVALUE_COLUMN, lookup

__all__ = ["HEADER", "format_signature", "parse_format", "parse_row"]

HEADER = re.compile(r"//\s*(Input|Output|Patch Constant) signature(?: \((\w{4})\))?:\s*$", re.IGNORECASE)
"""First line of a table: which signature, and the chunk tag where it is not the usual one."""

_REGISTERLESS = {
    "SV_DEPTH": "oDepth",
    "SV_DEPTHGREATEREQUAL": "oDepthGE",
    "SV_DEPTHLESSEQUAL": "oDepthLE",
    "SV_COVERAGE": "oMask",
    "SV_STENCILREF": "oStencilRef",
    "SV_PRIMITIVEID": "primID",
}
_PRECISE_TYPES = {
    MinPrecision.FLOAT16: ComponentType.FLOAT32,
    MinPrecision.FLOAT2_8: ComponentType.FLOAT32,
    MinPrecision.SINT16: ComponentType.SINT32,
    MinPrecision.UINT16: ComponentType.UINT32,
}
_TYPES = lookup(COMPONENT_TYPES)
_PRECISIONS = lookup(MIN_PRECISIONS)
_SYSVALUES = lookup(SYSVALUE_COLUMN)
_RULE = "// -------------------- ----- ------ -------- -------- ------- ------\n"


def format_signature(
    signature: Signature, title: str, tag: str | None, usual_tag: str, *, read: bool = False
) -> str:
    """The comment block; ``title`` is Input, Output or Patch Constant; ``read``: the program reads the registers."""
    note = f" ({tag})" if tag is not None and tag != usual_tag else ""
    lines = [
        f"//\n// {title} signature{note}:\n//\n",
        "// Name                 Index   Mask Register SysValue  Format   Used\n",
        _RULE,
    ]
    if not signature.elements:
        lines.append(f"// no {title}\n")
    lines += [_row(element, read) for element in signature.elements]
    lines.append("//\n")
    return "".join(lines)


def _letters(mask: int) -> str:
    return "".join("xyzw"[i] if mask >> i & 1 else " " for i in range(4))


def _row(element: SignatureElement, is_input: bool) -> str:
    name = f"m{element.stream}:{element.semantic_name}" if element.stream else element.semantic_name
    used = element.rw_mask if is_input else 0xF ^ element.rw_mask
    mask_text, used_text, place = _letters(element.mask), _letters(used), str(element.register)
    if element.register == NO_REGISTER:
        place = _REGISTERLESS.get(element.semantic_name.upper(), "special")
        if element.mask == 1 and used in (0, 1):
            mask_text, used_text = "N/A", "YES" if used else "NO"
    if not mask_text.strip():
        mask_text = "_"
    format_text = COMPONENT_TYPES[element.component_type]
    if element.min_precision:
        precise = MIN_PRECISIONS[element.min_precision]
        usual = _PRECISE_TYPES[element.min_precision] is element.component_type
        format_text = precise if usual else f"{format_text}:{precise}"
    system_value = SYSVALUE_COLUMN[element.reported_system_value]
    return (
        f"// {name:<20} {element.semantic_index:>5} {mask_text:>6} {place:>8} {system_value:>8} "
        f"{format_text:>7} {used_text:>6}\n"
    )


def parse_format(text: str) -> tuple[ComponentType, MinPrecision] | None:
    """``float``, ``uint``, ``int``, ``min16f`` …, or both as ``uint:min16f``; None when it is neither."""
    first, _, second = text.lower().partition(":")
    if second:
        if first in _TYPES and second in _PRECISIONS:
            return _TYPES[first], _PRECISIONS[second]
        return None
    if first in _TYPES:
        return _TYPES[first], MinPrecision.DEFAULT
    if first in _PRECISIONS:
        return _PRECISE_TYPES[_PRECISIONS[first]], _PRECISIONS[first]
    return None


_ROW = re.compile(
    r"//\s*(?:m(?P<stream>[0-3]):)?(?P<name>\S+)\s+(?P<index>\d{1,10})\s+(?P<mask>[xyzw][xyzw ]*|N/A|_)\s+"
    r"(?P<register>\w+)\s+(?P<value>\w+)\s+(?P<format>[\w:]+)(?P<used>.*)$",
    re.ASCII,
)


def parse_row(line: str, is_input: bool) -> SignatureElement | str | None:
    """The element a comment line holds; a message when the row is broken; None when the line is no row."""
    body = line[2:].strip()
    words = body.split()
    if len(words) < 5 or words[:2] == ["Name", "Index"] or body.startswith("---"):
        return None
    match = _ROW.match(line)
    if match is None:
        return "signature row is not: name, index, mask, register, system value, format, used"
    format_ = parse_format(match["format"])
    if format_ is None:
        return f"format {match['format']!r} is none of {', '.join([*_TYPES, *_PRECISIONS])}"
    if match["value"].lower() not in _SYSVALUES:
        return f"system value {match['value']!r} is none of {', '.join(w.upper() for w in _SYSVALUES)}"
    value = _SYSVALUES[match["value"].lower()]
    place, mask_text, used_text = match["register"], match["mask"].strip(), match["used"].strip()
    if place.isdecimal() and (len(place) > 2 or int(place) > 31):
        return f"register {place} is beyond 31"
    if int(match["index"]) > 0xFFFFFFFF:
        return f"semantic index {match['index']} does not fit 32 bits"
    mask = 1 if mask_text == "N/A" else _mask(mask_text)
    used = {"YES": 1, "NO": 0}.get(used_text, _mask(used_text))
    if mask is None or used is None:
        return f"mask {mask_text!r} or used components {used_text!r} are not made of x, y, z, w"
    return SignatureElement(
        match["name"],
        int(match["index"]),
        value if value < D3DName.TARGET else D3DName.UNDEFINED,
        format_[0],
        int(place) if place.isdecimal() else NO_REGISTER,
        mask,
        used if is_input else 0xF ^ used,
        int(match["stream"] or 0),
        format_[1],
    )


def _mask(text: str) -> int | None:
    mask = 0
    for letter in text.replace("_", "").replace(" ", ""):
        component = "xyzw".find(letter)
        if component < 0:
            return None
        mask |= 1 << component
    return mask
