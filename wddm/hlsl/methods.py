"""The methods of object types: parameter lists and results.

Owns which methods exist on which object, in all their overloads, since which shader model and in which stages.  Makes
no code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .types import FLOAT, INT, OBJECTS, UINT, VOID, Numeric, Object, Type, scalar, vector

__all__ = ["Parameter", "Signature", "signatures"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """``type`` is a type, or ``"sampler"`` / ``"comparison"`` for either kind of sampler."""

    type: Type | str
    out: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]
    result: Type
    model: int = 40
    stages: str = ""
    offset: int = -1
    """Index of the parameter that must be a literal texel offset; -1: none."""
    clamp: int = -1
    """Index of the lower bound of the level of detail."""
    status: int = -1
    """Index of the out parameter that tells whether all texels were mapped."""


def _floats(count: int) -> Type:
    return FLOAT if count == 1 else vector("float", count)


def _ints(count: int) -> Type:
    return INT if count == 1 else vector("int", count)


_SAMPLER, _COMPARISON = Parameter("sampler"), Parameter("comparison")

_DIMENSIONS = {
    "TEXTURE1D": 1, "TEXTURE1DARRAY": 2, "TEXTURE2D": 2, "TEXTURECUBE": 2, "TEXTURE2DARRAY": 3,
    "TEXTURECUBEARRAY": 3, "TEXTURE3D": 3, "TEXTURE2DMS": 3, "TEXTURE2DMSARRAY": 4, "BUFFER": 1,
}  # fmt: skip


def signatures(object_: Object, name: str) -> list[Signature]:
    """All overloads of a method; empty when the object has no such method."""
    family = object_.kind.family
    if family == "texture" and not object_.kind.writable:
        return _texture(object_, name)
    if family in ("texture", "buffer"):
        return _typed(object_, name)
    if family == "structured":
        return _structured(object_, name)
    if family == "raw":
        return _raw(object_, name)
    if family == "stream" and object_.element is not None:
        if name == "Append":
            return [Signature((Parameter(object_.element),), VOID)]
        if name == "RestartStrip":
            return [Signature((), VOID)]
    return []


def _texture(object_: Object, name: str) -> list[Signature]:
    kind, element = object_.kind, object_.element
    assert isinstance(element, Numeric)
    coordinates = Parameter(_floats(kind.coordinates + kind.array))
    gradient = Parameter(_floats(kind.coordinates))
    value = Parameter(FLOAT)
    four = vector(element.base, 4)
    cube = "CUBE" in kind.dimension
    ms = kind.multisampled
    offset = None if cube else Parameter(_ints(kind.coordinates))

    def with_offset(
        parameters: tuple[Parameter, ...], result: Type, model: int = 40, stages: str = "", *, clamped: bool = False
    ) -> list[Signature]:
        out = [Signature(parameters, result, model, stages)]
        place = -1
        if offset is not None:
            place = len(parameters)
            parameters = (*parameters, offset)
            out.append(Signature(parameters, result, model, stages, place))
        return out + _with_feedback(parameters, result, stages, place, clamped=clamped)

    if name == "GetDimensions":
        return _dimensions(_DIMENSIONS[kind.dimension], mips=not ms)
    if name == "Load" and not cube:
        if ms:
            base = (Parameter(_ints(kind.coordinates + kind.array)), Parameter(INT))
            return with_offset(base, element)
        return with_offset((Parameter(_ints(kind.coordinates + kind.array + 1)),), element)
    if name == "GetSamplePosition" and ms:
        return [Signature((Parameter(INT),), vector("float", 2), 41)]
    if ms:
        return []
    floating = element.kind == "f"
    if name == "Sample" and floating:
        return with_offset((_SAMPLER, coordinates), element, 40, "p", clamped=True)
    if name == "SampleBias" and floating:
        return with_offset((_SAMPLER, coordinates, value), element, 40, "p", clamped=True)
    if name == "SampleLevel" and floating:
        return with_offset((_SAMPLER, coordinates, value), element)
    if name == "SampleGrad" and floating:
        return with_offset((_SAMPLER, coordinates, gradient, gradient), element, clamped=True)
    if name in ("SampleCmp", "SampleCmpLevelZero") and floating and kind.dimension != "TEXTURE3D":
        implicit = name == "SampleCmp"
        return with_offset((_COMPARISON, coordinates, value), FLOAT, 40, "p" if implicit else "", clamped=implicit)
    if name in ("CalculateLevelOfDetail", "CalculateLevelOfDetailUnclamped"):
        return [Signature((_SAMPLER, gradient), FLOAT, 41, "p")]
    gathers = kind.dimension in ("TEXTURE2D", "TEXTURE2DARRAY", "TEXTURECUBE", "TEXTURECUBEARRAY")
    if gathers and name in ("Gather", "GatherRed", "GatherGreen", "GatherBlue", "GatherAlpha"):
        model = 41 if name == "Gather" else 50
        out = with_offset((_SAMPLER, coordinates), four, model)
        if offset is not None:
            out = [replace(s, offset=-1) for s in out]  # offsets need not be literal
            if name != "Gather":
                out.append(Signature((_SAMPLER, coordinates, offset, offset, offset, offset), four, 50))
        return out
    if gathers and name in ("GatherCmp", "GatherCmpRed", "GatherCmpGreen", "GatherCmpBlue", "GatherCmpAlpha") and floating:
        out = with_offset((_COMPARISON, coordinates, value), vector("float", 4), 50)
        out = [replace(s, offset=-1) for s in out]
        if offset is not None and name != "GatherCmp":
            out.append(Signature((_COMPARISON, coordinates, value, offset, offset, offset, offset), vector("float", 4), 50))
        return out
    return []


def _with_feedback(
    parameters: tuple[Parameter, ...], result: Type, stages: str = "", offset: int = -1, *, clamped: bool = False
) -> list[Signature]:
    """The forms for tiled resources: behind everything else a clamp (sampling with gradients) and a status."""
    out: list[Signature] = []
    clamp = -1
    if clamped:
        clamp = len(parameters)
        parameters = (*parameters, Parameter(FLOAT))
        out.append(Signature(parameters, result, 50, stages, offset, clamp))
    out.append(Signature((*parameters, Parameter(UINT, True)), result, 50, stages, offset, clamp, len(parameters)))
    return out


def _dimensions(count: int, *, mips: bool) -> list[Signature]:
    out: list[Signature] = []
    for type_ in (UINT, FLOAT, INT):
        results = (Parameter(type_, True),) * count
        out.append(Signature(results, VOID))
        if mips:
            out.append(Signature((Parameter(UINT), *results, Parameter(type_, True)), VOID))
    return out


def _typed(object_: Object, name: str) -> list[Signature]:
    kind, element = object_.kind, object_.element
    assert element is not None
    if name == "GetDimensions":
        return _dimensions(_DIMENSIONS[kind.dimension], mips=False)
    if name == "Load":
        base = (Parameter(_ints(kind.coordinates + kind.array)),)
        return [Signature(base, element), *_with_feedback(base, element)]
    return []


def _structured(object_: Object, name: str) -> list[Signature]:
    kind, element = object_.kind, object_.element
    assert element is not None
    if name == "GetDimensions":
        return [Signature((Parameter(t, True), Parameter(t, True)), VOID) for t in (UINT, FLOAT, INT)]
    if kind.counter == "append":
        return [Signature((Parameter(element),), VOID, 50)] if name == "Append" else []
    if kind.counter == "consume":
        return [Signature((), element, 50)] if name == "Consume" else []
    if name == "Load":
        return [Signature((Parameter(INT),), element), *_with_feedback((Parameter(INT),), element)]
    if kind.writable and name in ("IncrementCounter", "DecrementCounter"):
        return [Signature((), UINT, 50)]
    return []


_INTERLOCKED = ("Add", "And", "Or", "Xor", "Min", "Max", "Exchange")


def _raw(object_: Object, name: str) -> list[Signature]:
    address = Parameter(UINT)
    if name == "GetDimensions":
        return [Signature((Parameter(t, True),), VOID) for t in (UINT, FLOAT, INT)]
    for count, suffix in ((1, ""), (2, "2"), (3, "3"), (4, "4")):
        type_ = UINT if count == 1 else vector("uint", count)
        if name == "Load" + suffix:
            return [Signature((address,), type_), *_with_feedback((address,), type_)]
        if name == "Store" + suffix and object_.kind.writable:
            return [Signature((address, Parameter(type_)), VOID)]
    if object_.kind.writable and name.startswith("Interlocked"):
        operation = name[len("Interlocked") :]
        out: list[Signature] = []
        for type_ in (UINT, INT):
            value, original = Parameter(type_), Parameter(type_, True)
            if operation in _INTERLOCKED:
                if operation != "Exchange":
                    out.append(Signature((address, value), VOID))
                out.append(Signature((address, value, original), VOID))
            elif operation == "CompareExchange":
                out.append(Signature((address, value, value, original), VOID))
            elif operation == "CompareStore":
                out.append(Signature((address, value, value), VOID))
        return out
    return []


def is_sampler(type_: Type, comparison: bool) -> bool:
    """Whether a type may stand where a (comparison) sampler is asked for."""
    if not isinstance(type_, Object) or type_.kind.family != "sampler":
        return False
    return (type_.kind is OBJECTS["SamplerComparisonState"]) == comparison or type_.kind.name == "sampler"


def element_of(base: str, count: int) -> Numeric:
    return scalar(base) if count == 1 else vector(base, count)
