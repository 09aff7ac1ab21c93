"""The preprocessor and the lexer."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from wddm import hlsl
from wddm.hlsl.diagnostics import Abort, Sink
from wddm.hlsl.preprocessor import Include, preprocess


def expand(source: str, include: Include = None, **defines: str) -> str:
    sink = Sink()
    text = preprocess(source, "file", defines, include, sink).text()
    assert not sink.errors, sink.diagnostics
    return squeeze(text)


def squeeze(text: str) -> str:
    """White space only where it parts words."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(text.split()))


def fails(source: str, include: Include = None) -> list[int]:
    sink = Sink()
    with suppress(Abort):
        preprocess(source, "file", {}, include, sink)
    return [d.code for d in sink.diagnostics]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("#define A 1\nA + A", "1 + 1"),
        ("#define F(x) x * 2\nF(3) F (4) F", "3 * 2 4 * 2 F"),
        ("#define F(x, y) y x\nF((1, 2), [3])", "[3] (1, 2)"),
        ("#define F() z\nF()", "z"),
        ("#define CAT(a, b) a##b\nCAT(x, 1) CAT(, y) CAT(z,)", "x1 y z"),
        ("#define X 5\n#define CAT(a, b) a##b\nCAT(X, X) CAT(1, .5)", "XX 1.5"),
        ("#define S(x) #x\nS(a + b)", '"a + b"'),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define f(x) x + f(x)\nf(f(1))", "1 + f(1) + f(1 + f(1))"),
        ("#define A(x) x\nA(\n1\n)", "1"),
        ("#define A x \\\n y\nA", "x y"),
        ("#define A 1\n#undef A\nA", "A"),
        ("#if 1 + 2 * 3 == 7 && defined(Q) && !defined R\nyes\n#else\nno\n#endif", "yes"),
        ("#if 0\na\n#elif 1 << 3 > 7\nb\n#elif 1\nc\n#else\nd\n#endif", "b"),
        ("#ifdef Q\n#ifndef Q\na\n#else\nb\n#endif\n#endif", "b"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#endif\nc", "c"),
        ("#if FOO\na\n#else\nb\n#endif", "b"),
        ("#if Q == 3 ? 1 : 0\na\n#endif", "a"),
        ("#if -7 / 2 == -3 && -7 % 2 == -1 && ~0 == -1 && 0x10 == 16 && 010 == 8\na\n#endif", "a"),
        ("#if 0\n'unclosed\n#endif\nx", "x"),
        ("a /* b\nc */ d // e\nf", "a d f"),
        ("__LINE__\n__LINE__", "1 2"),
        ("#line 5\n#pragma def(x)\n#\nx", "x"),
        ("1.5f .5 1. 1e3 0x1Fu 2.0h 3L", "1.5f .5 1. 1e3 0x1Fu 2.0h 3L"),
    ],
)
def test_expansion(source: str, wanted: str) -> None:
    assert expand(source, Q="3") == squeeze(wanted)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("#if 1", 1506),
        ("#endif", 1508),
        ("#else", 1508),
        ("#if 1\n#else\n#else\n#endif", 1509),
        ("#error no way", 1511),
        ("#foo", 1512),
        ("#ifdef", 1513),
        ("#if defined(", 1513),
        ("#define 1", 1514),
        ("#define F(x", 1515),
        ("#define F(x, x) x", 1515),
        ("#define F ## x", 1516),
        ("#define F(x) x\nF(1", 1503),
        ("#define F(x) x\nF(1, 2)", 1503),
        ("#if 1 +\n#endif", 1521),
        ("#if 1 / 0\n#endif", 1522),
        ("#if\n#endif", 1520),
        ("#include \"x\"", 1507),
        ("#include x", 1518),
        ("#include <x", 1518),
        ("/* open", 1501),
        ("\"open", 1502),
        ("#pragma pack_matrix(foo)", 1517),
        ("#if " + "(" * 5000 + "1\n#endif", 1523),
        ("#define A B B B B\n#define B C C C C C\n#define C D D D D D D\n#define D E E E E E E E E\n#define E F F F F F F F F\n"
         "#define F G G G G G G G G G\n#define G 1 1 1 1 1 1 1 1 1\nA", 1504),
    ],
)  # fmt: skip
def test_errors(source: str, code: int) -> None:
    assert code in fails(source)


def test_includes(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.h").write_text('#pragma once\n#include "deep/b.h"\nA\n')
    (tmp_path / "deep" / "b.h").write_text("B __FILE__\n")
    got = expand('#include "a.h"\n#include <a.h>\nC', [tmp_path])
    assert got == squeeze(f'B "{tmp_path / "deep" / "b.h"}" A C')
    assert fails('#include "a"', lambda name, system: f'#include "{name}"') == [1505]
    assert fails('#include "a"', [tmp_path]) == [1507]


def test_pragma_pack_matrix() -> None:
    source = """cbuffer A { float2x3 a; }
    #pragma pack_matrix(row_major)
    cbuffer B { float2x3 b; column_major float2x3 c; }
    float4 main() : SV_Target { return a[0].xyzz + b[0].xyzz + c[0].xyzz; }"""
    found = hlsl.reflect(hlsl.compile(source))
    classes = {v.name: v.type.type_class.name for b in found.constant_buffers for v in b.variables}
    assert classes == {"a": "MATRIX_COLUMNS", "b": "MATRIX_ROWS", "c": "MATRIX_COLUMNS"}
    row = hlsl.reflect(hlsl.compile(source, flags=hlsl.Flags.PACK_MATRIX_ROW_MAJOR))
    assert row.buffer("A").variables[0].type.type_class.name == "MATRIX_ROWS"


def test_defines_of_the_caller() -> None:
    source = "float4 main() : SV_Target { float4 r = 0; [unroll] for (int i = 0; i < N; i++) r += V; return r; }"
    a = hlsl.compile(source, defines={"N": "4", "V": "float4(1, 2, 3, 4)"})
    b = hlsl.compile("float4 main() : SV_Target { return float4(4, 8, 12, 16); }")
    from wddm.dxbc.container import ShaderBlob

    assert ShaderBlob.parse(a).program == ShaderBlob.parse(b).program
