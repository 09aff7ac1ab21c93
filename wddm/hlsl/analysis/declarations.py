"""Analysis of declarations: types, structures, globals, constant buffers, functions, attributes."""

from __future__ import annotations

from wddm.hlsl import layout, tree
from wddm.hlsl import syntax as ast
from wddm.hlsl.conversions import conversion_cost
from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.fold import as_float
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import (
    STRING,
    VOID,
    Array,
    Field,
    Numeric,
    Object,
    Struct,
    Type,
    lane_count,
)
from wddm.hlsl.words import word_set

from .context import NamespaceSymbol, Profile, SemanticProblem
from .statements import ends
from .types import MAX_LANES, TypeAnalysis

__all__ = ["analyse"]

_ATTRIBUTES = word_set("""numthreads domain partitioning outputtopology outputcontrolpoints patchconstantfunc maxtessfactor
    maxvertexcount instance earlydepthstencil clipplanes""")


def analyse(declarations: list[ast.Declaration], sink: Sink, profile: Profile, analysis: type[Analysis]) -> tree.Unit:
    """Check everything in a translation unit; what could be understood is in the result."""
    return analysis(sink, profile).run(declarations)


class Analysis(TypeAnalysis):
    def run(self, declarations: list[ast.Declaration]) -> tree.Unit:
        self.globals_buffer = tree.ConstantBuffer("$Globals", "cbuffer", declarations[0].token.position if declarations
                                                  else self.sink_position())  # fmt: skip
        for node in declarations:
            self.safely(node)
        self.place_members(self.globals_buffer, [])
        if self.globals_buffer.variables:
            self.unit.buffers.append(self.globals_buffer)
        return self.unit

    def sink_position(self) -> Position:
        return Position("", 1, 1)

    def safely(self, node: ast.Declaration) -> None:
        try:
            self.declaration(node)
        except SemanticProblem:
            self.scopes.clear()
            self.function = None

    def declaration(self, node: ast.Declaration) -> None:
        if isinstance(node, ast.FunctionDeclaration):
            self.function_declaration(node)
        elif isinstance(node, ast.StructDeclaration):
            self.structure(node)
        elif isinstance(node, ast.BufferDeclaration):
            self.constant_buffer(node)
        elif isinstance(node, ast.Typedef):
            if node.type.definition is not None:
                self.structure(node.type.definition)
                type_ = self.definition_type(node.type)
            else:
                type_ = self.resolve_type(node.type)
            self.declare(node.name, self.sized(type_, node.dimensions, node.token), node.token)
        elif isinstance(node, ast.Namespace):
            self.declare(node.name, NamespaceSymbol(node.name), node.token)
            outer = self.namespace
            self.namespace = (*outer, node.name)
            for inner in node.declarations:
                self.safely(inner)
            self.namespace = outer
        elif isinstance(node, ast.InterfaceDeclaration):
            self.fail(3000, f"'{node.name}': interfaces and class linkage are not supported", node.token)
        elif isinstance(node, ast.VariableDeclaration):
            self.global_variable(node)

    # -- structures ----------------------------------------------------------------------------------------------

    def structure(self, node: ast.StructDeclaration) -> Struct:
        struct = Struct(node.name if not self.namespace else "::".join((*self.namespace, node.name)))
        for base in node.bases:
            parent = self.resolve_type(base)
            if not isinstance(parent, Struct):
                self.fail(3000, f"'{parent}' cannot be inherited from", base.token)
            if struct.base is not None:
                self.fail(3000, "only one base structure is allowed", base.token)
            struct.base = parent
            for member in parent.fields:
                struct.add(Field(member.name, member.type, member.position, member.semantic, member.modifiers))
        if node.name != "<unnamed>":
            self.declare(node.name, struct, node.token)
        else:
            self.anonymous = struct
        own: set[str] = set()
        functions: list[tuple[ast.FunctionDeclaration, tree.Function]] = []
        for member_node in node.members:
            try:
                if isinstance(member_node, ast.FunctionDeclaration):
                    function = self.signature(member_node, struct)
                    struct.methods.setdefault(member_node.path[-1], []).append(function)
                    functions.append((member_node, function))
                elif isinstance(member_node, ast.VariableDeclaration):
                    self.field(member_node, struct, own)
                elif isinstance(member_node, ast.StructDeclaration):
                    self.structure(member_node)
                else:
                    self.error(3000, "this cannot stand in a structure", member_node.token)
            except SemanticProblem:
                continue
        if struct.lanes > MAX_LANES:
            self.fail(3059, f"'{struct.name}' is too large", node.token)
        for function_node, function in functions:
            if function_node.body is not None:
                try:
                    self.function_body(function_node, function)
                except SemanticProblem:
                    continue
        return struct

    def field(self, node: ast.VariableDeclaration, struct: Struct, own: set[str]) -> None:
        words = frozenset(t.text for t in node.type.modifiers)
        type_ = self.resolve_member_type(node.type)
        if "static" in words:
            type_, initializer = self.declared_type(type_, node)
            variable = tree.Variable(node.name, type_, "static", node.token.position, words, initializer=initializer)
            self.set_constant(variable)
            self.unit.globals.append(variable)
            self.globals[f"{struct.name}::{node.name}"] = variable
            return
        type_ = self.sized(type_, node.dimensions, node.token)
        if type_ is VOID or type_ is struct:
            self.fail(3038, f"'{node.name}': a member cannot be of type '{type_}'", node.token)
        if isinstance(type_, Object) or type_ is STRING:
            self.fail(3090, f"'{node.name}': '{type_}' cannot be a member of a structure", node.token)
        if node.name in own:
            self.error(3003, f"redefinition of '{node.name}'", node.token)
        own.add(node.name)
        if node.initializer is not None:
            self.error(3046, f"'{node.name}': members cannot be initialized", node.token)
        semantic = node.semantic.name if node.semantic is not None else ""
        struct.add(Field(node.name, type_, node.token.position, semantic, words))

    def resolve_member_type(self, node: ast.TypeName) -> Type:
        if node.definition is not None and node.definition.name == "<unnamed>":
            return self.structure(node.definition)
        return self.resolve_type(node)

    # -- globals -------------------------------------------------------------------------------------------------

    def registers(self, nodes: list[ast.Register]) -> dict[str, int]:
        out: dict[str, int] = {}
        for node in nodes:
            profile = node.profile
            if profile and profile not in (f"{self.profile.stage}s", self.profile.name):
                continue
            if node.letter in out:
                self.error(3530, f"register '{node.letter}' is given twice", node.token)
            out[node.letter] = node.number
        return out

    def global_variable(self, node: ast.VariableDeclaration) -> None:
        words = frozenset(t.text for t in node.type.modifiers)
        type_ = self.resolve_member_type(node.type) if node.type.definition is None else self.definition_type(node.type)
        if type_ is VOID:
            self.fail(3038, f"'{node.name}': a variable cannot be void", node.token)
        for bad in ("in", "out", "inout"):
            if bad in words:
                self.fail(3055, f"'{bad}' cannot be used on a global variable", node.token)
        if type_ is STRING:
            return
        type_, initializer = self.declared_type(type_, node)
        inner = type_
        while isinstance(inner, Array):
            inner = inner.element
        is_object = isinstance(inner, Object)
        storage = "static" if "static" in words else "groupshared" if "groupshared" in words else "uniform"
        if storage != "uniform" and is_object and storage == "groupshared":
            self.fail(3034, "objects cannot be groupshared", node.token)
        if storage == "groupshared" and initializer is not None:
            self.fail(3033, "groupshared variables cannot have an initial value", node.token)
        if isinstance(inner, Object) and inner.kind.family in ("stream", "patch"):
            self.fail(3034, f"'{inner}' can only be a parameter of an entry point", node.token)
        variable = tree.Variable(
            node.name, type_, storage, node.token.position, words,
            node.semantic.name if node.semantic is not None else "", initializer,
        )
        variable.registers = self.registers(node.registers)
        for register in node.registers:
            self.check_register(register, inner, storage)
        if node.pack_offset is not None:
            self.fail(3530, "packoffset is only allowed in a constant buffer", node.token)
        self.set_constant(variable)
        if storage == "static" and initializer is None and "const" in words:
            self.fail(3012, f"'{node.name}': missing initial value", node.token)
        self.declare(node.name, variable, node.token)
        if storage == "uniform" and not is_object:
            variable.buffer = self.globals_buffer
            if initializer is not None and variable.constant is None:
                variable.constant = self.evaluate(initializer)
                if variable.constant is None:
                    self.fail(3011, f"'{node.name}': initial value must be a literal expression", node.token)
            self.globals_buffer.variables.append(variable)
        else:
            self.unit.globals.append(variable)

    def definition_type(self, node: ast.TypeName) -> Type:
        """Of ``struct {…} name``: the structure was declared just before, unless it has no name."""
        assert node.definition is not None
        if node.definition.name == "<unnamed>":
            return self.anonymous
        return self.resolve_type(node)

    def check_register(self, node: ast.Register, type_: Type, storage: str) -> None:
        if storage in ("static", "groupshared"):
            self.error(3530, "only uniforms and resources have registers", node.token)
            return
        if node.letter == "?":
            return
        if isinstance(type_, Object):
            legacy = type_.kind.family == "sampler" and type_.kind.dimension != ""
            if node.letter != type_.kind.register and not (legacy and node.letter in "ts"):
                self.error(3591, f"invalid register specification, expected '{type_.kind.register}' binding",
                           node.token)  # fmt: skip
            limit = {"t": 128, "s": 16, "u": 8}.get(node.letter, 128)
            if node.number >= limit:
                self.error(4509, f"register {node.letter}{node.number} is out of range: there are {limit}", node.token)
        elif node.letter not in "cib":
            self.error(3591, "invalid register specification, expected 'c' binding", node.token)

    def constant_buffer(self, node: ast.BufferDeclaration) -> None:
        buffer = tree.ConstantBuffer(node.name, node.kind, node.token.position)
        letter, limit = ("b", 14) if node.kind == "cbuffer" else ("t", 128)
        for register in node.registers:
            if register.letter != letter and register.letter != "?":
                self.error(3591, f"invalid register specification, expected '{letter}' binding", register.token)
            elif register.number >= limit:
                self.error(3591, f"register {letter}{register.number} is out of range: there are {limit}", register.token)
        buffer.slot = self.registers(node.registers).get(letter)
        self.buffer_members(buffer, node)
        self.unit.buffers.append(buffer)

    def buffer_members(self, buffer: tree.ConstantBuffer, node: ast.BufferDeclaration) -> None:
        offsets: list[tuple[ast.VariableDeclaration, int | None]] = []
        for member in node.members:
            try:
                if isinstance(member, ast.StructDeclaration):
                    self.structure(member)
                    continue
                if not isinstance(member, ast.VariableDeclaration):
                    self.fail(3000, "only variables can stand in a constant buffer", member.token)
                words = frozenset(t.text for t in member.type.modifiers)
                base = self.resolve_member_type(member.type) if member.type.definition is None else self.definition_type(
                    member.type
                )
                type_, initializer = self.declared_type(base, member)
                if lane_count(type_) == 0:
                    inner = type_.element if isinstance(type_, Array) else type_
                    if isinstance(inner, Object):  # a resource declared inside is a global of its own
                        self.global_variable(member)
                        continue
                    self.fail(3038, f"'{member.name}': '{type_}' cannot be in a constant buffer", member.token)
                if {"static", "groupshared"} & words:
                    self.fail(3034, f"'{member.name}': static and groupshared cannot be in a constant buffer", member.token)
                variable = tree.Variable(
                    member.name, type_, "uniform", member.token.position, words,
                    member.semantic.name if member.semantic is not None else "", initializer, buffer=buffer,
                )
                if initializer is not None:
                    variable.constant = self.evaluate(initializer)
                    if variable.constant is None:
                        self.fail(3011, f"'{member.name}': initial value must be a literal expression", member.token)
                self.declare(member.name, variable, member.token)
                buffer.variables.append(variable)
                offsets.append((member, member.pack_offset.dword if member.pack_offset is not None else None))
            except SemanticProblem:
                continue
        given = [o for _, o in offsets if o is not None]
        if given and len(given) != len(offsets):
            self.error(3530, f"cannot mix packoffset elements with nonpackoffset elements in '{buffer.name}'", node.token)
            given = []
        self.place_members(buffer, [(n.token, o) for n, o in offsets if o is not None] if given else [])

    def place_members(self, buffer: tree.ConstantBuffer, packed: list[tuple[Token, int]]) -> None:
        """Give every member its offset: one after the other, or where packoffset says."""
        cursor = 0
        taken: list[tuple[int, int, str]] = []
        for index, variable in enumerate(buffer.variables):
            dwords = layout.size(variable.type, "cbuffer")
            if packed:
                token, start = packed[index]
                if layout.place(variable.type, start, "cbuffer") != start:
                    self.error(3530, f"'{variable.name}': packoffset would break a 16-byte register", token)
                for first, last, other in taken:
                    if start < last and first < start + dwords:
                        self.error(3530, f"'{variable.name}' overlaps '{other}'", token)
                taken.append((start, start + dwords, variable.name))
                cursor = max(cursor, start + dwords)
            else:
                start = layout.place(variable.type, cursor, "cbuffer")
                given = variable.registers.get("c")
                if given is not None and buffer is self.globals_buffer:
                    start = 4 * given
                cursor = max(cursor, start + dwords) if given is not None else start + dwords
            variable.offset = start
            buffer.size = max(buffer.size, start + dwords)
        if buffer.size > 4096 * 4:
            self.sink.error(4567, f"constant buffer '{buffer.name}' is larger than 4096 vectors", buffer.position)

    # -- functions -----------------------------------------------------------------------------------------------

    def function_declaration(self, node: ast.FunctionDeclaration) -> None:
        if len(node.path) == 2:
            owner = self.find(node.path[:1])
            if isinstance(owner, Struct):
                self.method_definition(node, owner)
                return
        if len(node.path) > 1:
            self.fail(3000, f"'{'::'.join(node.path)}' was not declared", node.token)
        function = self.signature(node, None)
        key = "::".join((*self.namespace, node.path[0]))
        if key in self.globals:
            self.error(3003, f"redefinition of '{node.path[0]}'", node.token)
        listed = self.unit.functions.setdefault(key, [])
        for known in listed:
            if same_parameters(known, function):
                if known.returns is not function.returns and str(known.returns) != str(function.returns):
                    self.fail(3003, f"'{function.name}': redefinition; different return type", node.token)
                if node.body is not None and known.body is not None:
                    self.fail(3003, f"redefinition of '{function.name}'", node.token)
                if node.body is None:
                    return
                for old, new in zip(known.parameters, function.parameters, strict=True):
                    new.initializer = new.initializer or old.initializer
                known.parameters, known.semantic = function.parameters, function.semantic or known.semantic
                known.attributes.update(function.attributes)
                known.position = function.position
                function = known
                break
        else:
            listed.append(function)
        if node.body is not None:
            self.function_body(node, function)

    def method_definition(self, node: ast.FunctionDeclaration, owner: Struct) -> None:
        function = self.signature(node, owner)
        for known in owner.methods.get(node.path[1], []):
            if same_parameters(known, function):
                if known.body is not None:
                    self.fail(3003, f"redefinition of '{owner.name}::{node.path[1]}'", node.token)
                known.parameters = function.parameters
                self.function_body(node, known)
                return
        self.fail(3003, f"'{owner.name}' has no method '{node.path[1]}' of these parameters", node.token)

    def signature(self, node: ast.FunctionDeclaration, owner: Struct | None) -> tree.Function:
        words = frozenset(t.text for t in node.returns.modifiers)
        returns = self.definition_type(node.returns) if node.returns.definition is not None else self.resolve_type(node.returns)
        if isinstance(returns, Object):
            self.fail(3000, f"'{node.path[-1]}': a function cannot return '{returns}'", node.token)
        parameters: list[tree.Variable] = []
        names: set[str] = set()
        optional = False
        for parameter in node.parameters:
            made = self.parameter(parameter)
            if parameter.name and parameter.name in names:
                self.error(3003, f"redefinition of '{parameter.name}'", parameter.token)
            names.add(parameter.name)
            if optional and made.initializer is None:
                self.error(3078, f"'{parameter.name}': missing default parameter", parameter.token)
            optional = optional or made.initializer is not None
            parameters.append(made)
        function = tree.Function(
            node.path[-1], returns, parameters, node.token.position,
            node.semantic.name if node.semantic is not None else "",
        )
        function.modifiers = words
        function.precise = "precise" in words
        function.owner = owner
        function.static = "static" in words
        function.attributes = self.function_attributes(node.attributes)
        if owner is not None and not function.static:
            function.this = tree.Variable("this", owner, "this", node.token.position)
        return function

    def parameter(self, node: ast.Parameter) -> tree.Variable:
        words = frozenset(t.text for t in node.type.modifiers)
        type_ = self.resolve_type(node.type)
        if type_ is VOID:
            self.fail(3038, f"'{node.name}': a parameter cannot be void", node.token)
        if node.dimensions and node.dimensions[0] is None:
            self.fail(3072, f"'{node.name}': array dimensions of function parameters must be explicit", node.token)
        type_ = self.sized(type_, node.dimensions, node.token)
        if {"in", "out"} <= words:
            words = words - {"in", "out"} | {"inout"}
        for bad in ("static", "groupshared", "extern"):
            if bad in words:
                self.fail(3055, f"'{bad}' cannot be used on a parameter", node.token)
        if "const" in words and ({"out", "inout"} & words):
            self.fail(3055, f"'{node.name}': an output parameter cannot be const", node.token)
        variable = tree.Variable(
            node.name, type_, "parameter", node.token.position, words,
            node.semantic.name if node.semantic is not None else "",
        )
        variable.registers = {r.letter: r.number for r in node.registers}
        if node.initializer is not None:
            if {"out", "inout"} & words:
                self.fail(3076, f"'{node.name}': an output parameter cannot have a default value", node.token)
            variable.initializer = self.initial_value(type_, node.initializer)
        return variable

    def function_body(self, node: ast.FunctionDeclaration, function: tree.Function) -> None:
        errors = self.sink.errors
        outer = self.function, self.scopes, self.loops, self.breakable
        self.function, self.scopes, self.loops, self.breakable = function, [{}], 0, 0
        for parameter in function.parameters:
            if parameter.name:
                self.scopes[-1][parameter.name] = parameter
        assert node.body is not None
        try:
            statements = [self.statement(s) for s in node.body.statements]
        finally:
            self.function, self.scopes, self.loops, self.breakable = outer
        function.body = tree.Block(node.body.token, statements)
        if self.sink.errors == errors and function.returns is not VOID and not ends(statements) and not any(
            isinstance(part, tree.Return) for part in tree.walk(function.body)
        ):
            self.error(3080, f"'{function.name}': function must return a value", node.token)

    def function_attributes(self, nodes: list[ast.Attribute]) -> dict[str, list[int | str | float]]:
        out: dict[str, list[int | str | float]] = {}
        for node in nodes:
            if node.name not in _ATTRIBUTES:
                self.warn(3554, f"unknown attribute {node.name}, or attribute invalid for this statement", node.token)
                continue
            values: list[int | str | float] = []
            for argument in node.arguments:
                value = self.value(argument)
                if value.type is STRING:
                    assert isinstance(argument, ast.Literal)
                    values.append(str(argument.value))
                elif isinstance(value.type, Numeric) and value.type.kind == "f":
                    lanes = self.evaluate(value)
                    if lanes is None or len(lanes) != 1:
                        self.fail(3527, f"[{node.name}] needs literals", node.token)
                    values.append(as_float(lanes[0]))
                else:
                    values.append(self.integer_constant(argument, value, 3527, f"an argument of [{node.name}]"))
            out[node.name] = values
        return out


def same_parameters(a: tree.Function, b: tree.Function) -> bool:
    """Whether two functions differ in no parameter type, so that one declares the other again."""
    if len(a.parameters) != len(b.parameters):
        return False
    return all(
        x.type is y.type or (conversion_cost(x.type, y.type) == 0 and str(x.type) == str(y.type))
        for x, y in zip(a.parameters, b.parameters, strict=True)
    )
