"""Shader code of DirectX 8 and 9 from short lines: ``mad_sat r0.xyz, c0, -v1.xxxx, r1``.

Written for tests alone, and from the token formats rather than from the driver's reader.
"""

from __future__ import annotations

import re
import struct

OPCODES = {
    "nop": 0, "mov": 1, "add": 2, "sub": 3, "mad": 4, "mul": 5, "rcp": 6, "rsq": 7, "dp3": 8, "dp4": 9, "min": 10, "max": 11, "slt": 12,
    "sge": 13, "exp": 14, "log": 15, "lit": 16, "dst": 17, "lrp": 18, "frc": 19, "m4x4": 20, "m4x3": 21, "m3x4": 22, "m3x3": 23,
    "m3x2": 24, "call": 25, "callnz": 26, "loop": 27, "ret": 28, "endloop": 29, "label": 30, "dcl": 31, "pow": 32, "crs": 33, "sgn": 34,
    "abs": 35, "nrm": 36, "sincos": 37, "rep": 38, "endrep": 39, "if": 40, "ifc": 41, "else": 42, "endif": 43, "break": 44,
    "breakc": 45, "mova": 46, "defb": 47, "defi": 48, "texcoord": 64, "texkill": 65, "tex": 66, "texbem": 67, "texbeml": 68,
    "texreg2ar": 69, "texreg2gb": 70, "texm3x2pad": 71, "texm3x2tex": 72, "texm3x3pad": 73, "texm3x3tex": 74, "texm3x3spec": 76,
    "texm3x3vspec": 77, "expp": 78, "logp": 79, "cnd": 80, "def": 81, "texreg2rgb": 82, "texdp3tex": 83, "texdp3": 85, "texm3x3": 86,
    "cmp": 88, "bem": 89, "dp2add": 90, "dsx": 91, "dsy": 92, "texldd": 93, "setp": 94, "texldl": 95, "breakp": 96,
}  # fmt: skip
FILES = {"r": 0, "v": 1, "c": 2, "a": 3, "t": 3, "oPos": 4, "oFog": 4, "oPts": 4, "oD": 5, "oT": 6, "o": 6, "i": 7, "oC": 8,
         "oDepth": 9, "s": 10, "b": 14, "aL": 15, "vPos": 17, "vFace": 17, "l": 18, "p": 19}  # fmt: skip
NUMBERS = {"oPos": 0, "oFog": 1, "oPts": 2, "vPos": 0, "vFace": 1}
USAGES = {"position": 0, "normal": 3, "psize": 4, "texcoord": 5, "tangent": 6, "color": 10, "fog": 11, "depth": 12}
COMPARISONS = {"gt": 1, "eq": 2, "ge": 3, "lt": 4, "ne": 5, "le": 6}
MODIFIERS = {"_bias": 2, "_bx2": 4, "_x2": 7, "_dz": 9, "_dw": 10, "_abs": 11}
SHIFTS = {"_x2": 1, "_x4": 2, "_x8": 3, "_d2": 15, "_d4": 14, "_d8": 13}


def _register(name: str) -> int:
    """File and number bits of a register."""
    letters = re.match(r"[a-zA-Z]+", name)
    assert letters is not None
    file = letters[0]
    digits = name[len(file) :]
    number = int(digits) if digits else NUMBERS.get(file, 0)
    code = FILES[file]
    return 1 << 31 | (code & 7) << 28 | (code >> 3) << 11 | number


def _source(text: str, two: bool) -> list[int]:
    text = text.strip()
    negative, complement, inverted = text.startswith("-"), text.startswith("1-"), text.startswith("!")
    text = text.removeprefix("1-").lstrip("-!")
    name, _, swizzle = text.partition(".") if "[" not in text else (text.split("]")[0] + "]", "", text.split("]")[1].lstrip("."))
    modifier = 0
    for suffix, value in MODIFIERS.items():
        if name.endswith(suffix):
            name, modifier = name.removesuffix(suffix), value
    if complement:
        modifier = 6
    if inverted:
        modifier = 13
    if negative:
        modifier = {0: 1, 2: 3, 4: 5, 7: 8, 11: 12}[modifier]
    swizzle = swizzle or "xyzw"
    swizzle = swizzle + swizzle[-1] * (4 - len(swizzle))
    bits = sum("xyzw".index(c) << 16 + 2 * i for i, c in enumerate(swizzle)) | modifier << 24
    indexed = re.match(r"c\[(a0|aL)(?:\.([xyzw]))?(?: \+ (\d+))?\]", name)
    if indexed:
        tokens = [_register(f"c{indexed[3] or 0}") | bits | 1 << 13]
        if two:
            component = "xyzw".index(indexed[2] or "x")
            tokens.append(_register(indexed[1]) | component * 0x550000)
        return tokens
    return [_register(name) | bits]


def _destination(text: str, saturate: bool, shift: int) -> int:
    name, _, mask = text.strip().partition(".")
    bits = sum(1 << "xyzw".index(c) for c in mask or "xyzw")
    return _register(name) | bits << 16 | saturate << 20 | shift << 24


def assemble(text: str) -> bytes:
    """The tokens of a listing whose first line names the model, as ps_2_0."""
    lines = [line.split("//")[0].strip() for line in text.strip().splitlines()]
    kind, major, minor = lines[0].split("_")
    two = int(major) >= 2
    tokens = [(0xFFFF if kind == "ps" else 0xFFFE) << 16 | int(major) << 8 | int(minor)]
    for line in filter(None, lines[1:]):
        predicate = re.match(r"\((!?p0(?:\.\w+)?)\) ", line)
        line = line[predicate.end() :] if predicate else line
        coissued = line.startswith("+")
        word, _, rest = line.lstrip("+ ").partition(" ")
        parts = [p.strip() for p in rest.split(",")] if rest else []
        name, *suffixes = word.split("_")
        body: list[int] = []
        control = 0
        if name.startswith("dcl"):
            usage = suffixes[0] if suffixes else ""
            if usage in ("2d", "cube", "volume"):
                body = [1 << 31 | {"2d": 2, "cube": 3, "volume": 4}[usage] << 27, _destination(parts[0], False, 0)]
            else:
                letters = usage.rstrip("0123456789")
                index = int(usage[len(letters) :] or 0)
                body = [1 << 31 | USAGES.get(letters, 0) | index << 16, _destination(parts[0], False, 0)]
            name = "dcl"
        elif name in ("def", "defi", "defb"):
            form = {"def": "<f", "defi": "<i", "defb": "<i"}[name]
            values = [struct.unpack("<I", struct.pack(form, float(p) if name == "def" else int(p)))[0] for p in parts[1:]]
            body = [_destination(parts[0], False, 0), *values]
        else:
            shift = next((SHIFTS[f"_{s}"] for s in suffixes if f"_{s}" in SHIFTS), 0)
            control = next((COMPARISONS[s] for s in suffixes if s in COMPARISONS), 0)
            if name in ("texld", "texldp", "texldb"):
                control = {"texld": 0, "texldp": 1, "texldb": 2}[name]
                name = "tex"
            if name == "texcrd":
                name = "texcoord"
            if name == "if" and control:
                name = "ifc"
            if name == "break" and control:
                name = "breakc"
            no_destination = name in ("if", "ifc", "rep", "loop", "call", "callnz", "label", "breakc", "breakp")
            if parts and not no_destination:
                body.append(_destination(parts[0], "sat" in suffixes, shift))
                if predicate:
                    body += _source(predicate[1], two)
                parts = parts[1:]
            for part in parts:
                body += _source(part, two)
        head = OPCODES[name] | control << 16 | (len(body) << 24 if two else 0) | coissued << 30 | (1 << 28 if predicate else 0)
        tokens += [head, *body]
    return struct.pack(f"<{len(tokens) + 1}I", *tokens, 0xFFFF)
