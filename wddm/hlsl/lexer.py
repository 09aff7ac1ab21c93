"""Text to tokens.

Owns the :class:`Token` and the one regular expression that all of HLSL and its preprocessor directives lex with.
Expands nothing, judges nothing but characters that can start no token.  Keywords are identifiers here.
"""

from __future__ import annotations

import re

from .diagnostics import Position, Sink

__all__ = ["BAD", "EOF", "FLOAT", "ID", "INT", "NEWLINE", "OP", "STRING", "Token", "report_bad", "tokenize"]

ID, INT, FLOAT, STRING, OP, NEWLINE, EOF, BAD = "id", "int", "float", "string", "op", "newline", "eof", "bad"

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v\ufeff]|\\\r?\n)+)
  | (?P<id>[A-Za-z_]\w*)
  | (?P<comment>//(?:\\\r?\n|[^\n])* | /\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<newline>\n)
  | (?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fFhHlL]? | \d+[eE][+-]?\d+[fFhHlL]? | \d+[fFhH](?!\w))
  | (?P<int>0[xX][0-9a-fA-F]+[uUlL]* | \d+[uUlL]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<op><<=|>>=|\.\.\.|\+\+|--|->|&&|\|\||[<>=!+\-*/%&|^]=|<<|>>|::|\#\#|/(?!\*)|[-+*%&|^~!<>=?:;,.(){}\[\]\#])
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)


class Token:
    """One token.  ``hide`` holds the macros that may not expand it again; ``space``: white space stood before it."""

    __slots__ = ("column", "file", "hide", "kind", "line", "space", "text")

    def __init__(
        self, kind: str, text: str, file: str, line: int, column: int, space: bool = False,
        hide: frozenset[str] | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.file = file
        self.line = line
        self.column = column
        self.space = space
        self.hide = hide

    @property
    def position(self) -> Position:
        return Position(self.file, self.line, self.column, max(1, len(self.text)))

    def __repr__(self) -> str:
        return f"Token({self.kind} {self.text!r} {self.line}:{self.column})"


def tokenize(text: str, file: str) -> list[Token]:
    """All tokens of ``text``, NEWLINE tokens included, an EOF at the end.

    What can start no token becomes a BAD one: an error only if it is not skipped by a directive.
    """
    tokens: list[Token] = []
    append = tokens.append
    match = _TOKEN.match
    position, line, line_start, space, end = 0, 1, 0, False, len(text)
    while position < end:
        found = match(text, position)
        if found is None:
            comment = text.startswith("/*", position)
            append(Token(BAD, "/*" if comment else text[position], file, line, position - line_start + 1, space))
            if comment:
                break
            position += 1
            continue
        kind = found.lastgroup
        stop = found.end()
        if kind == "space" or kind == "comment":
            space = True
            if (newlines := text.count("\n", position, stop)):
                line += newlines
                line_start = text.rfind("\n", position, stop) + 1
        elif kind == "newline":
            append(Token(NEWLINE, "\n", file, line, position - line_start + 1, space))
            line += 1
            line_start = stop
            space = False
        else:
            append(Token(kind or OP, found.group(), file, line, position - line_start + 1, space))
            space = False
        position = stop
    append(Token(NEWLINE, "\n", file, line, max(1, end - line_start + 1)))
    append(Token(EOF, "", file, line, max(1, end - line_start + 1)))
    return tokens


def report_bad(token: Token, sink: Sink) -> None:
    """The error that a BAD token is, where it is not skipped."""
    if token.text == "/*":
        sink.error(1501, "end of file found in comment", token.position)
    elif token.text in ("'", '"'):
        sink.error(1502, "string is not terminated on its line", token.position)
    else:
        sink.error(1500, f"syntax error: unexpected character {token.text!a}", token.position)
