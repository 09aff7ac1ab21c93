"""Lowering of statements: branches, loops, switches, jumps.

Where two paths meet, every variable whose value differs gets a phi; small pure branches become selections.  A loop is
unrolled by lowering its body again and again while its condition folds to true.  ``return``, and ``break`` out of an
unrolled loop, set a flag; what follows is put under its negation, so that no jump is needed where none exists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from wddm.hlsl import tree
from wddm.hlsl.ir.builder import varying
from wddm.hlsl.ir.nodes import (
    EFFECTS,
    FALSE,
    GRADIENTS,
    TRUE,
    Break,
    If,
    Imm,
    Instr,
    Loop,
    Region,
    Switch,
    Value,
    Vec,
)
from wddm.hlsl.lexer import Token
from wddm.hlsl.types import Object, lane_count

from .expressions import ExpressionLowering
from .state import UNDEFINED, JumpScope

__all__ = ["FlowLowering"]

MAX_NESTING = 60

_COSTLY = frozenset({"ld", "ld_ms", "sample_l", "sample_d", "sample_c_lz", "gather4", "gather4_c", "gather4_po", "gather4_po_c",
                     "ld_structured", "ld_raw", "ld_uav_typed"})  # fmt: skip


class FlowLowering(ExpressionLowering):
    nesting = 0

    def statements(self, nodes: list[tree.Statement]) -> None:
        """A list of statements; after a conditional virtual jump the rest is guarded."""
        for index, node in enumerate(nodes):
            if self.stopped():
                return
            self.statement(node)
            if self.stopped():
                return
            guard = self.pending()
            if guard is FALSE:
                continue
            if guard is TRUE:
                self.dead = "virtual"
                return
            if index + 1 < len(nodes):
                self.guarded(guard, partial(self.statements, nodes[index + 1 :]), node.token)
            return

    def stopped(self) -> bool:
        return self.dead != ""

    def statement(self, node: tree.Statement) -> None:
        self.step(node.token)
        _HANDLERS[type(node)](self, node)

    # -- jumps ---------------------------------------------------------------------------------------------------

    def pending(self) -> Value:
        """Whether a jump out of something around here may be under way.

        Flags of scopes outside the innermost real loop leave that loop on the spot; the others are or-ed together.
        """
        real = self.innermost_real()
        guard: Value = FALSE
        for index, scope in enumerate(self.jumps):
            if scope.node is not None:
                continue
            flag = self.flag(scope)
            if flag is FALSE:
                continue
            if index < real:
                self.env[scope] = (TRUE,)  # as those see it who leave
                self.leave_real(real, flag)
                if self.dead:
                    return FALSE
                self.env[scope] = (FALSE,)
                continue
            guard = self.b.one("or", guard, flag)
        return guard

    def leave_real(self, index: int, condition: Value | None) -> None:
        """Break out of the real loop or switch ``jumps[index]``, under ``condition`` if there is one."""
        scope = self.jumps[index]
        node = scope.node
        assert node is not None
        if condition is TRUE:
            condition = None
        made = Break(node, condition)
        if condition is not None and varying(condition):
            scope.varying = True
        self.b.region.append(made)
        node.breaks.append(made)
        scope.exits.append(dict(self.env))
        if condition is None:
            self.dead = "real"

    def jump(self, index: int) -> None:
        """Go to the end of the scope ``jumps[index]``."""
        scope = self.jumps[index]
        real = self.innermost_real()
        if index == real:
            self.leave_real(index, None)
            return
        self.env[scope] = (TRUE,)
        if real > index:
            self.leave_real(real, None)
        else:
            self.dead = "virtual"

    def break_(self, node: tree.Break) -> None:
        for index in range(len(self.jumps) - 1, -1, -1):
            if self.jumps[index].kind == "break":
                self.jump(index)
                return

    def continue_(self, node: tree.Continue) -> None:
        for index in range(len(self.jumps) - 1, -1, -1):
            if self.jumps[index].kind == "continue":
                self.jump(index)
                return

    def return_(self, node: tree.Return) -> None:
        for index in range(len(self.jumps) - 1, -1, -1):
            scope = self.jumps[index]
            if scope.kind == "function":
                if node.value is not None:
                    self.env[scope.result] = self.value(node.value)
                self.jump(index)
                return

    def discard(self, node: tree.Discard) -> None:
        self.need_stage("p", "discard", node.token)
        self.b.effect("discard", [(TRUE,)])

    def need_stage(self, stages: str, what: str, token: Token) -> None:
        if self.stage not in stages:
            self.fail(4532, f"cannot map expression to {self.stage}s_{self.model // 10}_{self.model % 10} instruction "
                      f"set: {what}", token)  # fmt: skip

    def need_model(self, model: int, what: str, token: Token) -> None:
        if self.model < model:
            self.fail(4532, f"cannot map expression to {self.stage}s_{self.model // 10}_{self.model % 10} instruction "
                      f"set: {what} needs shader model {model / 10}", token)  # fmt: skip

    # -- simple statements ---------------------------------------------------------------------------------------

    def block(self, node: tree.Block) -> None:
        self.statements(node.statements)

    def evaluate(self, node: tree.Evaluate) -> None:
        self.value(node.expression)

    def declare(self, node: tree.Declare) -> None:
        variable = node.variable
        if isinstance(variable.type, Object):
            if variable.initializer is not None:
                self.env[variable] = self.resource(variable.initializer)
            return
        if variable.initializer is not None:
            outer = self.b.precise
            self.b.precise = outer or "precise" in variable.modifiers
            value = self.value(variable.initializer)
            self.b.precise = outer
        else:
            value = (UNDEFINED,) * lane_count(variable.type)
        if variable.scalarised:
            self.env[variable] = value
        elif variable.initializer is not None:
            self.store(self.of_memory(variable), value, node.token)

    # -- branches ------------------------------------------------------------------------------------------------

    def branch(self, node: tree.If) -> None:
        condition = self.scalar(node.condition)
        self.split(
            condition, lambda: self.statement(node.then),
            (lambda: self.statement(node.otherwise)) if node.otherwise is not None else None,  # type: ignore[arg-type]
            node.token, node.hint,
        )

    def guarded(self, guard: Value, body: Callable[[], None], token: Token) -> None:
        """``body`` where ``guard`` is false; the flags behind the guard are known inside."""
        flags = [s for s in self.jumps if s.node is None and self.flag(s) is not FALSE]
        real = self.innermost_real()
        flags = [s for s in flags if self.jumps.index(s) > real]

        def inside() -> None:
            for scope in flags:
                self.env[scope] = (FALSE,)
            body()

        def outside() -> None:
            if len(flags) == 1:
                self.env[flags[0]] = (TRUE,)

        self.split(self.b.one("not", guard), inside, outside, token, "")
        if not self.dead and len(flags) == 1 and self.flag(flags[0]) is TRUE:
            self.dead = "virtual"

    def split(
        self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None] | None, token: Token, hint: str
    ) -> None:
        """An if statement whose sides are made by ``then`` and ``otherwise``."""
        if type(condition) is Imm:
            if condition.bits:
                then()
            elif otherwise is not None:
                otherwise()
            return
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(4508, f"flow control is nested more than {MAX_NESTING} deep", token)
        node = If(condition)
        node.token = token
        before = self.env
        outcomes: list[tuple[dict[Any, Any], str]] = []
        for region, make in ((node.then, then), (node.otherwise, otherwise)):
            self.env = dict(before)
            self.dead = ""
            if make is not None:
                with self.b.into(region):
                    make()
            outcomes.append((self.env, self.dead))
        self.nesting -= 1
        (env_then, dead_then), (env_else, dead_else) = outcomes
        self.dead = ""
        if "real" in (dead_then, dead_else):
            self.env = env_else if dead_then == "real" else env_then
            self.b.region.append(node)
            self.dead = dead_else if dead_then == "real" else dead_then
            self.env = {k: v for k, v in self.env.items() if k in before}
            return
        if dead_then and dead_else:
            self.dead = "virtual"
        merged = {k: env_then[k] for k in before if k in env_then and k in env_else}
        differing = [(k, env_then[k], env_else[k]) for k in merged if env_then[k] is not env_else[k]]
        flat = self.flattened(node, condition, hint, token)
        if not flat:
            if node.then or node.otherwise:
                self.b.region.append(node)
        for key, a, c in differing:
            if not isinstance(a, tuple) or not isinstance(c, tuple):
                continue
            merged[key] = self.merge(node, condition, a, c, flat or not (node.then or node.otherwise))
        self.env = merged

    def merge(self, node: If, condition: Value, a: Vec, c: Vec, flat: bool) -> Vec:
        """One variable where two paths meet."""
        out = list(a)
        places: list[int] = []
        for i, (x, y) in enumerate(zip(a, c, strict=True)):
            if x is y:
                continue
            if x is UNDEFINED:
                out[i] = y
            elif y is UNDEFINED:
                out[i] = x
            elif x is TRUE and y is FALSE:
                out[i] = condition
            elif x is FALSE and y is TRUE:
                out[i] = self.b.one("not", condition)
            elif x is TRUE and y is condition:
                out[i] = condition
            else:
                places.append(i)
        for at in range(0, len(places), 4):
            chunk = places[at : at + 4]
            xs, ys = tuple(a[i] for i in chunk), tuple(c[i] for i in chunk)
            if flat:
                lanes: Any = self.b.op("movc", (condition,), xs, ys)
            else:
                phi = Instr("phi", [xs, ys], len(chunk))
                phi.varying = varying(condition) or any(varying(v) for v in (*xs, *ys))
                node.phis.append(phi)
                self.b.count += 1
                lanes = phi.lanes
            for i, lane in zip(chunk, lanes, strict=True):
                out[i] = lane
        return tuple(out)

    def flattened(self, node: If, condition: Value, hint: str, token: Token) -> bool:
        """Move both sides into the surrounding region when that is allowed and worth it."""
        if hint == "branch":
            return False
        cost = 0
        gradient = False
        for region in (node.then, node.otherwise):
            for inner in region:
                if not isinstance(inner, Instr) or (inner.op in EFFECTS and inner.op != "discard"):
                    return False
                gradient = gradient or inner.op in GRADIENTS
                cost += 4 if inner.op in _COSTLY else 1
        if not (hint == "flatten" or cost <= self.flatten_cost or (gradient and varying(condition))):
            return False
        for region, test in ((node.then, condition), (node.otherwise, None)):
            for inner in region:
                assert isinstance(inner, Instr)
                if inner.op == "discard":
                    if test is None:
                        test = self.b.one("not", condition)
                    both = self.b.one("and", test, inner.srcs[0][0])
                    self.b.effect("discard", [(both,)])
                else:
                    self.b.region.append(inner)
        return True

    def join(self, before: dict[Any, Any], scope: JumpScope, node: Loop | Switch) -> None:
        """The environment behind a loop or switch, from those at its breaks."""
        exits = scope.exits
        self.dead = ""
        merged: dict[Any, Any] = {}
        for key in before:
            values: list[Any] = [e.get(key) for e in exits]
            first = values[0]
            if any(v is None for v in values):
                continue
            if all(v is first for v in values) or not isinstance(first, tuple):
                merged[key] = first
                continue
            out = list(first)
            places = [i for i in range(len(first)) if any(v[i] is not first[i] for v in values)]
            for at in range(0, len(places), 4):
                chunk = places[at : at + 4]
                phi = Instr("phi", [tuple(v[i] for i in chunk) for v in values], len(chunk))
                phi.varying = scope.varying or any(varying(x) for src in phi.srcs for x in src)
                node.exit_phis.append(phi)
                self.b.count += 1
                for i, lane in zip(chunk, phi.lanes, strict=True):
                    out[i] = lane
            merged[key] = tuple(out)
        self.env = merged

    def loop(self, node: tree.Loop) -> None:
        raise NotImplementedError

    def alive(self) -> bool:
        """Whether no scope around is surely being left."""
        return all(self.flag(s) is not TRUE for s in self.jumps if s.node is None)

    # -- switch --------------------------------------------------------------------------------------------------

    def switch(self, node: tree.Switch) -> None:
        selector = self.scalar(node.selector)
        if not node.cases:
            return
        if type(selector) is Imm:
            self.known_switch(node, selector.bits)
            return
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(4508, f"flow control is nested more than {MAX_NESTING} deep", node.token)
        made = Switch(selector)
        made.token = node.token
        scope = JumpScope("break", made)
        scope.varying = varying(selector)
        before = self.env
        self.jumps.append(scope)
        default_seen = False
        for group in node.cases:
            region: Region = []
            self.env = dict(before)
            self.dead = ""
            with self.b.into(region):
                self.statements(group.statements)
                if not self.dead and (guard := self.pending()) is not FALSE:
                    self.leave_real(len(self.jumps) - 1, None if guard is TRUE else guard)
                if self.dead == "virtual":
                    self.dead = ""
                if not self.dead:
                    self.leave_real(len(self.jumps) - 1, None)
            default_seen = default_seen or group.default
            made.cases.append((group.labels, group.default, region))
        if not default_seen:
            region = []
            self.env, self.dead = dict(before), ""
            with self.b.into(region):
                self.leave_real(len(self.jumps) - 1, None)
            made.cases.append(([], True, region))
        self.jumps.pop()
        self.nesting -= 1
        self.b.region.append(made)
        self.join(before, scope, made)

    def known_switch(self, node: tree.Switch, selector: int) -> None:
        chosen = next((g for g in node.cases if selector in g.labels), None)
        chosen = chosen or next((g for g in node.cases if g.default), None)
        if chosen is None:
            return
        scope = JumpScope("break")
        self.jumps.append(scope)
        self.env[scope] = (FALSE,)
        self.statements(chosen.statements)
        self.jumps.pop()
        self.env.pop(scope, None)
        if self.dead == "virtual" and self.alive():
            self.dead = ""


_HANDLERS: dict[type, Callable[[FlowLowering, Any], None]] = {
    tree.Block: FlowLowering.block,
    tree.Evaluate: FlowLowering.evaluate,
    tree.Declare: FlowLowering.declare,
    tree.If: FlowLowering.branch,
    tree.Loop: lambda self, node: self.loop(node),
    tree.Switch: FlowLowering.switch,
    tree.Break: FlowLowering.break_,
    tree.Continue: FlowLowering.continue_,
    tree.Return: FlowLowering.return_,
    tree.Discard: FlowLowering.discard,
}
