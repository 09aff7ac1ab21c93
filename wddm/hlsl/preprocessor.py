"""The preprocessor: directives, macro expansion, includes.

Owns everything between the characters of the files and the token list that the parser reads.  Works on tokens, one
logical line at a time, with hide sets, so that no macro expands itself.  Bounds: depth of includes, count of tokens
produced.  ``#pragma pack_matrix`` and ``#pragma warning`` are recorded for the later phases.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from .diagnostics import Sink
from .lexer import BAD, EOF, FLOAT, ID, INT, NEWLINE, OP, STRING, Token, report_bad, tokenize

__all__ = ["Include", "Preprocessed", "preprocess"]

Include = Callable[[str, bool], str] | Sequence[str | PathLike[str]] | None
"""A function of (name, written in angle brackets) to text that raises OSError, or directories to look in."""

MAX_INCLUDE_DEPTH = 32
MAX_TOKENS = 400_000
MAX_CONDITION_DEPTH = 200


class Preprocessed:
    """Tokens for the parser (no NEWLINE, one EOF at the end) and what the pragmas said.

    ``pack_matrix`` lists (index of the first token it holds for, True for row-major) in order.
    """

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.pack_matrix: list[tuple[int, bool]] = []
        self.warnings: dict[int, str] = {}

    def row_major_at(self, index: int, default: bool) -> bool:
        """Whether matrices declared at token ``index`` are row-major by default."""
        if not self.pack_matrix:
            return default
        found = bisect_right(self.pack_matrix, (index, True)) - 1
        return self.pack_matrix[found][1] if found >= 0 else default

    def text(self) -> str:
        """The tokens with their spacing, enough to tell two sources apart and to show with /P."""
        parts: list[str] = []
        where: tuple[str, int] | None = None
        for token in self.tokens:
            here = (token.file, token.line)
            if where is not None and here != where:
                parts.append("\n")
            elif token.space or (parts and where is None) or (parts and parts[-1][-1:].isalnum() and token.text[:1].isalnum()):
                parts.append(" ")
            where = here
            parts.append(token.text)
        return "".join(parts)


class _Macro:
    __slots__ = ("body", "name", "parameters")

    def __init__(self, name: str, parameters: list[str] | None, body: list[Token]) -> None:
        self.name = name
        self.parameters = parameters
        self.body = body


def preprocess(source: str, filename: str, defines: Mapping[str, str], include: Include, sink: Sink) -> Preprocessed:
    """Run the preprocessor over ``source``; errors go to ``sink``."""
    return _Preprocessor(defines, include, sink).run(source, filename)


class _Preprocessor:
    def __init__(self, defines: Mapping[str, str], include: Include, sink: Sink) -> None:
        self.sink = sink
        self.include = include
        self.macros: dict[str, _Macro] = {}
        self.out = Preprocessed()
        self.produced = 0
        self.depth = 0
        self.once: set[str] = set()
        for name, value in defines.items():
            body = [t for t in tokenize(value, "<command line>") if t.kind not in (NEWLINE, EOF)]
            self.macros[name] = _Macro(name, None, body)

    def run(self, source: str, filename: str) -> Preprocessed:
        self.file(source, filename)
        last = self.out.tokens[-1] if self.out.tokens else Token(EOF, "", filename, 1, 1)
        self.out.tokens.append(Token(EOF, "", last.file, last.line, last.column + len(last.text)))
        return self.out

    # -- lines ---------------------------------------------------------------------------------------------------

    def file(self, source: str, filename: str) -> None:
        self.sink.add_file(filename, source)
        tokens = tokenize(source, filename)
        index, count = 0, len(tokens)
        conditions: list[tuple[bool, bool, bool, Token]] = []  # live, some branch taken, else seen, the #if
        live = True
        pending: list[Token] = []
        while index < count:
            token = tokens[index]
            if token.kind == OP and token.text == "#":
                end = index
                while tokens[end].kind != NEWLINE and tokens[end].kind != EOF:
                    end += 1
                line = tokens[index + 1 : end]
                index = end + 1
                self.flush(pending)
                if line:
                    live = self.directive(line, token, conditions, live)
                continue
            start = index
            while tokens[index].kind != NEWLINE and tokens[index].kind != EOF:
                index += 1
            if live:
                pending += tokens[start:index]
            index += 1
        self.flush(pending)
        if conditions:
            self.sink.error(1506, "unexpected end of file: missing #endif", conditions[-1][3].position)

    def flush(self, pending: list[Token]) -> None:
        """Expand the lines gathered since the last directive; a macro call may span lines, not directives."""
        if pending:
            expanded = self.expand(pending)
            if any(t.kind == BAD for t in expanded):
                for token in expanded:
                    if token.kind == BAD:
                        report_bad(token, self.sink)
                expanded = [t for t in expanded if t.kind != BAD]
            self.out.tokens += expanded
            pending.clear()

    def directive(
        self, line: list[Token], hash_: Token, conditions: list[tuple[bool, bool, bool, Token]], live: bool
    ) -> bool:
        head, rest = line[0], line[1:]
        name = head.text
        if name in ("if", "ifdef", "ifndef"):
            if len(conditions) >= MAX_CONDITION_DEPTH:
                self.sink.fatal(1507, "conditional directives are nested too deeply", head.position)
            value = False
            if live:
                value = self.condition(rest, head) if name == "if" else self.is_defined(rest, head) == (name == "ifdef")
            conditions.append((live, value, False, head))
            return live and value
        if name in ("elif", "else", "endif"):
            if not conditions:
                self.sink.error(1508, f"unexpected #{name}: there is no #if", head.position)
                return live
            outer, taken, seen_else, opened = conditions[-1]
            if name == "endif":
                conditions.pop()
                return outer
            if seen_else:
                self.sink.error(1509, f"unexpected #{name} after #else", head.position)
                return False
            value = outer and not taken
            if value and name == "elif":
                value = self.condition(rest, head)
            conditions[-1] = (outer, taken or value, name == "else", opened)
            return value
        if not live:
            return live
        if name == "define":
            self.define(rest, head)
        elif name == "undef":
            if not rest or rest[0].kind != ID:
                self.sink.error(1510, "#undef needs the name of a macro", head.position)
            else:
                self.macros.pop(rest[0].text, None)
        elif name == "include":
            self.do_include(rest, head)
        elif name == "error":
            message = " ".join(t.text for t in rest)
            self.sink.fatal(1511, f"#error: {message}", head.position)
        elif name == "pragma":
            self.pragma(rest)
        elif name == "line" or head.kind == INT:
            pass
        else:
            self.sink.error(1512, f"unknown preprocessor directive #{name}", head.position)
        return live

    def is_defined(self, rest: list[Token], head: Token) -> bool:
        if not rest or rest[0].kind != ID:
            self.sink.error(1513, f"#{head.text} needs the name of a macro", head.position)
            return False
        return rest[0].text in self.macros

    def define(self, rest: list[Token], head: Token) -> None:
        if not rest or rest[0].kind != ID:
            self.sink.error(1514, "#define needs a name", head.position)
            return
        name, body = rest[0], rest[1:]
        parameters: list[str] | None = None
        if body and body[0].text == "(" and not body[0].space:
            parameters, index = [], 1
            while index < len(body) and body[index].text != ")":
                if body[index].kind == ID:
                    parameters.append(body[index].text)
                elif body[index].text != ",":
                    self.sink.error(1515, f"unexpected {body[index].text!r} in macro parameters", body[index].position)
                    return
                index += 1
            if index >= len(body):
                self.sink.error(1515, "macro parameters are not closed", name.position)
                return
            if len(set(parameters)) != len(parameters):
                self.sink.error(1515, "a macro parameter is named twice", name.position)
                return
            body = body[index + 1 :]
        if body and (body[0].text == "##" or body[-1].text == "##"):
            self.sink.error(1516, "'##' cannot stand at either end of a macro", name.position)
            return
        known = self.macros.get(name.text)
        if known is not None and [t.text for t in known.body] != [t.text for t in body]:
            self.sink.warning(1519, f"{name.text!r}: macro redefinition", name.position)
        self.macros[name.text] = _Macro(name.text, parameters, body)

    def pragma(self, rest: list[Token]) -> None:
        words = [t.text for t in rest]
        if words[:2] == ["pack_matrix", "("] and len(words) >= 4:
            if words[2] not in ("row_major", "column_major"):
                self.sink.error(1517, "pack_matrix takes row_major or column_major", rest[2].position)
                return
            self.out.pack_matrix.append((len(self.out.tokens), words[2] == "row_major"))
        elif words[:2] == ["warning", "("]:
            action = ""
            for token in rest[2:]:
                if token.kind == ID:
                    action = token.text
                elif token.kind == INT and action:
                    self.out.warnings[_integer(token.text)] = action
            self.sink.configure(self.out.warnings)
        elif words[:1] == ["once"]:
            self.once.add(rest[0].file)
        elif words[:1] not in (["def"], ["message"], ["ruledisable"]) and rest:
            self.sink.warning(3568, f"{words[0]!r}: unknown pragma ignored", rest[0].position)

    def do_include(self, rest: list[Token], head: Token) -> None:
        line = rest if rest and (rest[0].kind == STRING or rest[0].text == "<") else self.expand(rest)
        system = False
        if line and line[0].kind == STRING:
            name = line[0].text[1:-1]
        elif line and line[0].text == "<":
            system = True
            name = "".join((" " if t.space else "") + t.text for t in line[1:])
            name, closed, _ = name.partition(">")
            if not closed:
                self.sink.fatal(1518, "#include: '>' is missing", head.position)
        else:
            self.sink.fatal(1518, "#include needs a file name in quotes or angle brackets", head.position)
        if self.depth >= MAX_INCLUDE_DEPTH:
            self.sink.fatal(1505, f"files include each other more than {MAX_INCLUDE_DEPTH} deep", head.position)
        text, resolved = self.open(name.strip(), system, head)
        if resolved in self.once:
            return
        self.depth += 1
        self.file(text, resolved)
        self.depth -= 1

    def open(self, name: str, system: bool, head: Token) -> tuple[str, str]:  # noqa: RET503 - the last call does not return
        at = head.position
        if self.include is None:
            self.sink.fatal(1507, f"failed to open source file: {name!r}: no include handler was given", at)
        if callable(self.include):
            try:
                return self.include(name, system), name
            except (OSError, LookupError) as error:
                self.sink.fatal(1507, f"failed to open source file: {name!r}: {error}", at)
        if "\0" in name:
            self.sink.fatal(1507, "failed to open source file: the name holds a NUL", at)
        places = [Path(p) for p in self.include]
        if not system:
            places.insert(0, Path(head.file).parent)
        for place in places:
            path = place / name
            try:
                if path.is_file():
                    return path.read_text(encoding="utf-8", errors="replace"), str(path)
            except OSError as error:
                self.sink.fatal(1507, f"failed to open source file: {name!r}: {error.strerror}", at)
        self.sink.fatal(1507, f"failed to open source file: {name!r}", at)

    # -- expansion -----------------------------------------------------------------------------------------------

    def expand(self, tokens: list[Token]) -> list[Token]:
        """Expand all macros in ``tokens``."""
        macros = self.macros
        out: list[Token] = []
        if not any(t.kind == ID and (t.text in macros or t.text in _BUILTIN) for t in tokens):
            self.account(len(tokens), tokens)
            return tokens
        stack = tokens[::-1]
        while stack:
            token = stack.pop()
            self.account(1, (token,))
            text = token.text
            if token.kind != ID:
                out.append(token)
                continue
            if text in _BUILTIN and text not in macros:
                value = str(token.line) if text == "__LINE__" else f'"{token.file}"'
                kind = INT if text == "__LINE__" else STRING
                out.append(Token(kind, value, token.file, token.line, token.column, token.space))
                continue
            macro = macros.get(text)
            if macro is None or (token.hide and text in token.hide):
                out.append(token)
                continue
            hide = (token.hide or frozenset()) | {text}
            if macro.parameters is None:
                body = self.substitute(macro, {}, {}, token, hide)
            else:
                if not stack or stack[-1].text != "(":
                    out.append(token)
                    continue
                arguments = self.arguments(stack, token)
                if len(macro.parameters) == 0 and len(arguments) == 1 and not arguments[0]:
                    arguments = []
                if len(arguments) != len(macro.parameters):
                    few = "not enough" if len(arguments) < len(macro.parameters) else "too many"
                    self.sink.error(1503, f"{few} actual parameters for macro {text!r}", token.position)
                    continue
                raw = dict(zip(macro.parameters, arguments, strict=True))
                body = self.substitute(macro, raw, {}, token, hide)
            stack += reversed(body)
        return out

    def account(self, count: int, tokens: Sequence[Token]) -> None:
        """The bound on macro expansion."""
        self.produced += count
        if self.produced > MAX_TOKENS:
            self.sink.fatal(1504, f"the source expands to more than {MAX_TOKENS} tokens", tokens[0].position)

    def arguments(self, stack: list[Token], name: Token) -> list[list[Token]]:  # noqa: RET503 - the last call does not return
        stack.pop()
        depth = 0
        out: list[list[Token]] = [[]]
        while stack:
            token = stack.pop()
            self.account(1, (token,))
            text = token.text
            if text in ("(", "[", "{") and token.kind == OP:
                depth += text == "("
            elif text == ")" and token.kind == OP:
                if depth == 0:
                    return out
                depth -= 1
            elif text == "," and depth == 0 and token.kind == OP:
                out.append([])
                continue
            out[-1].append(token)
        self.sink.fatal(1503, f"unexpected end of file in macro invocation of {name.text!r}", name.position)

    def substitute(
        self, macro: _Macro, raw: dict[str, list[Token]], expanded: dict[str, list[Token]], at: Token,
        hide: frozenset[str],
    ) -> list[Token]:
        out: list[Token] = []
        body = macro.body
        index = 0
        while index < len(body):
            token = body[index]
            following = body[index + 1] if index + 1 < len(body) else None
            if token.text == "#" and raw and following is not None and following.text in raw:
                text = " ".join(t.text for t in raw[following.text]).replace("\\", "\\\\").replace('"', '\\"')
                out.append(Token(STRING, f'"{text}"', at.file, at.line, at.column, token.space))
                index += 2
                continue
            if token.text == "##" and out and following is not None:
                right = list(raw.get(following.text, [following]))
                left = out.pop()
                if left.kind != EOF or right:
                    out += self.paste(left, right, at)
                index += 2
                continue
            pasted = following is not None and following.text == "##"
            if token.text in raw:
                if pasted:
                    out += raw[token.text] or [Token(EOF, "", at.file, at.line, at.column)]
                else:
                    if token.text not in expanded:
                        expanded[token.text] = self.expand(list(raw[token.text]))
                    out += expanded[token.text]
            else:
                out.append(token)
            index += 1
        self.account(len(out), (at,))
        return [
            Token(t.kind, t.text, at.file, at.line, at.column, t.space or i == 0, hide if t.hide is None else t.hide | hide)
            for i, t in enumerate(out)
            if t.kind != EOF
        ]

    def paste(self, left: Token, right: list[Token], at: Token) -> list[Token]:
        if not right:
            return [left]
        text = left.text + right[0].text
        if len(text) > 4096:
            self.sink.fatal(1504, "'##' makes a token that is too long", at.position)
        made = [t for t in tokenize(text, at.file) if t.kind not in (NEWLINE, EOF)]
        return [Token(t.kind, t.text, at.file, at.line, at.column) for t in made] + right[1:]

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(self, line: list[Token], head: Token) -> bool:
        tokens: list[Token] = []
        index = 0
        while index < len(line):
            token = line[index]
            if token.text == "defined":
                bracket = index + 1 < len(line) and line[index + 1].text == "("
                at = index + (2 if bracket else 1)
                if at >= len(line) or line[at].kind != ID or (bracket and (at + 1 >= len(line) or line[at + 1].text != ")")):
                    self.sink.error(1513, "'defined' needs the name of a macro", token.position)
                    return False
                tokens.append(Token(INT, str(int(line[at].text in self.macros)), token.file, token.line, token.column))
                index = at + (2 if bracket else 1)
                continue
            tokens.append(token)
            index += 1
        tokens = self.expand(tokens)
        if not tokens:
            self.sink.error(1520, f"#{head.text} needs an expression", head.position)
            return False
        return _Condition(tokens, head, self.sink).value() != 0


_BUILTIN = frozenset({"__LINE__", "__FILE__"})

_LEVELS: dict[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


def _integer(text: str) -> int:
    text = text.rstrip("uUlL")
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    if len(text) > 1 and text[0] == "0" and all(c in "01234567" for c in text):
        return int(text, 8)
    return int(text[:40])


def _signed(value: int) -> int:
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


class _Condition:
    """Value of an ``#if`` expression: 32-bit integers, undefined identifiers are 0, parentheses bounded."""

    def __init__(self, tokens: list[Token], head: Token, sink: Sink) -> None:
        self.tokens = tokens
        self.index = 0
        self.head = head
        self.sink = sink
        self.depth = 0

    def value(self) -> int:
        result = self.ternary()
        if self.index < len(self.tokens):
            self.fail(self.tokens[self.index])
        return result

    def fail(self, token: Token) -> None:
        self.sink.fatal(1521, f"unexpected {token.text!r} in the expression of #{self.head.text}", token.position)

    def take(self, *texts: str) -> str:
        if self.index < len(self.tokens) and self.tokens[self.index].text in texts:
            self.index += 1
            return self.tokens[self.index - 1].text
        return ""

    def ternary(self) -> int:
        value = self.binary(1)
        if self.take("?"):
            first = self.ternary()
            if not self.take(":"):
                self.fail(self.head)
            second = self.ternary()
            return first if value else second
        return value

    def binary(self, level: int) -> int:
        left = self.unary()
        while self.index < len(self.tokens):
            operator = self.tokens[self.index].text
            priority = _LEVELS.get(operator, 0)
            if priority < level:
                break
            self.index += 1
            left = self.apply(operator, left, self.binary(priority + 1))
        return left

    def apply(self, operator: str, a: int, b: int) -> int:
        if operator in ("/", "%"):
            if b == 0:
                self.sink.fatal(1522, "division by zero in a preprocessor expression", self.head.position)
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return _signed(quotient if operator == "/" else a - b * quotient)
        match operator:
            case "||":
                return int(bool(a) or bool(b))
            case "&&":
                return int(bool(a) and bool(b))
            case "|":
                return a | b
            case "^":
                return a ^ b
            case "&":
                return a & b
            case "==":
                return int(a == b)
            case "!=":
                return int(a != b)
            case "<":
                return int(a < b)
            case ">":
                return int(a > b)
            case "<=":
                return int(a <= b)
            case ">=":
                return int(a >= b)
            case "<<":
                return _signed(a << (b & 31))
            case ">>":
                return a >> (b & 31)
            case "+":
                return _signed(a + b)
            case "-":
                return _signed(a - b)
            case _:
                return _signed(a * b)

    def unary(self) -> int:
        self.depth += 1
        if self.depth > 200:
            self.sink.fatal(1523, "the preprocessor expression is nested too deeply", self.head.position)
        try:
            operator = self.take("!", "-", "+", "~", "(")
            if operator == "!":
                return int(not self.unary())
            if operator == "-":
                return _signed(-self.unary())
            if operator == "+":
                return self.unary()
            if operator == "~":
                return ~self.unary()
            if operator == "(":
                value = self.ternary()
                if not self.take(")"):
                    self.fail(self.head)
                return value
            if self.index >= len(self.tokens):
                self.fail(self.head)
            token = self.tokens[self.index]
            self.index += 1
            if token.kind == INT:
                return _signed(_integer(token.text))
            if token.kind == ID:
                return int(token.text == "true")
            if token.kind == FLOAT:
                return int(float(token.text.rstrip("fFhHlL")[:40]))
            self.fail(token)
            return 0
        finally:
            self.depth -= 1
