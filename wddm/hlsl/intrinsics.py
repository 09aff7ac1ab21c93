"""The intrinsic functions: how many arguments, of which types, giving what, since which profile.

One table.  A letter stands for a parameter: ``F`` float of any shape, ``N`` any number of any shape, ``A`` anything
of any shape, ``I``/``U`` signed/unsigned of any shape, ``V`` float vector, ``W`` number vector, ``f i u`` scalars, ``3
4`` float vectors.  Parameters with the same capital letter are brought to one type.  ``&`` marks an out parameter.
Results: a capital letter is that common type, ``s`` its scalar, ``B`` bool of its shape, ``b`` bool, ``v`` nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from .conversions import common_base, common_shape
from .types import BOOL, FLOAT, INT, UINT, VOID, Numeric, Type, vector
from .words import word_set

__all__ = ["INTRINSICS", "SPECIAL", "Intrinsic", "parameter_types"]


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """``model`` is the first shader model; ``stages`` is empty for all, else letters of p, c, …"""

    name: str
    parameters: tuple[str, ...]
    result: str
    model: int = 40
    stages: str = ""


_TABLE = """
abs N N|acos F F|all A b|any A b|asin F F|atan F F|atan2 FF F|ceil F F|clamp NNN N|clip F v p|cos F F|cosh F F
cross 33 3|degrees F F|distance VV s|dot WW s|exp F F|exp2 F F|faceforward VVV V|floor F F|fmod FF F|frac F F
frexp F&F F|isfinite F B|isinf F B|isnan F B|ldexp FF F|length V s|lerp FFF F|lit fff 4|log F F|log10 F F
log2 F F|mad NNN N|max NN N|min NN N|modf F&F F|noise V f|normalize V V|pow FF F|radians F F|rcp F F 50|reflect VV V
refract VVf V|round F F|rsqrt F F|saturate F F|sign N I|sin F F|sincos F&F&F v|sinh F F|smoothstep FFF F|sqrt F F
step FF F|tan F F|tanh F F|trunc F F|ddx F F 40 p|ddy F F 40 p|fwidth F F 40 p|ddx_coarse F F 50 p|ddx_fine F F 50 p
ddy_coarse F F 50 p|ddy_fine F F 50 p|countbits U U 50|firstbithigh N N 50|firstbitlow U U 50|reversebits U U 50
f16tof32 U F 50|f32tof16 F U 50|dst 44 4|D3DCOLORtoUBYTE4 4 4|fma NNN N 50
AllMemoryBarrier  v 40 c|AllMemoryBarrierWithGroupSync  v 40 c|DeviceMemoryBarrier  v 50 cp
DeviceMemoryBarrierWithGroupSync  v 50 c|GroupMemoryBarrier  v 40 c|GroupMemoryBarrierWithGroupSync  v 40 c
GetRenderTargetSampleCount  u 41 p|GetRenderTargetSamplePosition i 2 41 p|CheckAccessFullyMapped u b 50
abort  v 50|errorf  v 50|printf  v 50
"""

SPECIAL = word_set("""mul transpose determinant asfloat asint asuint asdouble InterlockedAdd InterlockedAnd InterlockedOr
    InterlockedXor InterlockedMin InterlockedMax InterlockedExchange InterlockedCompareExchange
    InterlockedCompareStore msad4 EvaluateAttributeAtCentroid EvaluateAttributeCentroid EvaluateAttributeAtSample
    EvaluateAttributeSnapped
    tex1D tex1Dbias tex1Dgrad tex1Dlod tex1Dproj tex2D tex2Dbias tex2Dgrad tex2Dlod tex2Dproj tex3D tex3Dbias tex3Dgrad
    tex3Dlod tex3Dproj texCUBE texCUBEbias texCUBEgrad texCUBElod texCUBEproj Process2DQuadTessFactorsAvg
    Process2DQuadTessFactorsMax Process2DQuadTessFactorsMin ProcessIsolineTessFactors ProcessQuadTessFactorsAvg
    ProcessQuadTessFactorsMax ProcessQuadTessFactorsMin ProcessTriTessFactorsAvg ProcessTriTessFactorsMax
    ProcessTriTessFactorsMin""")
"""Intrinsics whose types follow no row of the table; the analysis of calls handles them one by one."""

_UNSUPPORTED = frozenset({"noise", "errorf", "printf"})


def _read_table() -> dict[str, Intrinsic]:
    out: dict[str, Intrinsic] = {}
    for row in _TABLE.replace("\n", "|").split("|"):
        if not row:
            continue
        name, _, rest = row.partition(" ")
        parameters, _, rest = rest.partition(" ")
        result, *more = rest.split()
        model = next((int(word) for word in more if word.isdigit()), 40)
        stages = next((word for word in more if word.isalpha()), "")
        listed: list[str] = []
        for letter in parameters:
            if listed and listed[-1] == "&":
                listed[-1] = "&" + letter
            else:
                listed.append(letter)
        if name not in _UNSUPPORTED:
            out[name] = Intrinsic(name, tuple(listed), result, model, stages)
    return out


INTRINSICS = _read_table()

_SINGLE: dict[str, Type] = {
    "f": FLOAT, "i": INT, "u": UINT, "b": BOOL, "v": VOID,
    "2": vector("float", 2), "3": vector("float", 3), "4": vector("float", 4),
}  # fmt: skip


def parameter_types(
    intrinsic: Intrinsic, arguments: list[tuple[Numeric, bool]]
) -> tuple[list[Numeric], Type] | None:
    """Parameter and result types for arguments of (type, literal); None when the shapes do not go together."""
    groups: dict[str, tuple[Numeric, bool]] = {}
    for letter, (type_, literal) in zip(intrinsic.parameters, arguments, strict=True):
        letter = letter.lstrip("&")
        if letter not in "FNAIUVW":
            continue
        known = groups.get(letter)
        if known is None:
            groups[letter] = (type_, literal)
            continue
        base = common_base(known[0], type_, known[1], literal)
        shape = common_shape(base, known[0], type_)
        if shape is None:
            return None
        groups[letter] = (shape, known[1] and literal)
    final: dict[str, Numeric] = {}
    for letter, (type_, _) in groups.items():
        kind = type_.kind
        if letter in "FV" and kind != "f":
            type_ = type_.with_base("float")
        elif (letter == "N" and kind == "b") or (letter == "W" and kind == "b"):
            type_ = type_.with_base("int")
        elif letter == "U" and kind != "u":
            type_ = type_.with_base("uint")
        elif letter == "I" and kind != "i":
            type_ = type_.with_base("int")
        if letter in "VW" and type_.shape == "matrix":
            return None
        final[letter] = type_
    parameters: list[Numeric] = []
    for letter in intrinsic.parameters:
        name = letter.lstrip("&")
        made = final.get(name) or _SINGLE[name]
        assert isinstance(made, Numeric)
        parameters.append(made)
    result = intrinsic.result
    if result in final:
        return parameters, final[result]
    group = next(iter(final.values()), FLOAT)
    if result == "s":
        return parameters, group.with_count(1)
    if result == "B":
        return parameters, group.with_base("bool")
    if result in "IUFN":
        return parameters, group.with_base({"I": "int", "U": "uint"}.get(result, "float"))
    return parameters, _SINGLE[result]
