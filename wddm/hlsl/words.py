"""The words of the language that are not types: modifiers, reserved words, operator priorities."""

from __future__ import annotations

__all__ = ["ASSIGNMENTS", "BINARY", "MODIFIERS", "RESERVED", "SOFT_MODIFIERS", "word_set"]


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


MODIFIERS = word_set("""const static uniform extern volatile precise inline groupshared shared row_major column_major in out inout
    nointerpolation noperspective centroid linear sample snorm unorm point line triangle lineadj triangleadj
    globallycoherent export""")
"""Words that may stand before a type."""

SOFT_MODIFIERS = word_set("sample point line triangle lineadj triangleadj linear centroid shared export")
"""Of these, the ones that are ordinary names where no type follows."""

RESERVED = word_set(
    """if else for while do switch case default break continue return discard struct class interface namespace typedef
    cbuffer tbuffer true false const static uniform extern volatile precise inline groupshared in out inout
    row_major column_major void register packoffset asm asm_fragment auto catch char const_cast delete dynamic_cast
    enum explicit friend goto long mutable new operator private protected public reinterpret_cast short signed sizeof
    static_cast template throw try typename union unsigned using virtual""")
"""Words that name nothing else."""

BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
"""Binary operators and how tightly they bind."""

ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
