"""Lowering of loops: unrolled by lowering the body again while the condition folds to true, else with phis at the head.

A loop without attribute is tried within narrow bounds; if that comes to nothing, everything is put back as it was.
"""

from __future__ import annotations

from wddm.hlsl import tree
from wddm.hlsl.ir.builder import varying
from wddm.hlsl.ir.nodes import FALSE, TRUE, Imm, Instr, Loop, Value

from .effects import assigned_in
from .flow import MAX_NESTING, FlowLowering
from .state import JumpScope

__all__ = ["LoopLowering"]

UNROLL_INSTRUCTIONS = 400
UNROLL_ITERATIONS = 64
"""Bounds for loops that do not ask for unrolling."""

UNROLL_LIMIT = 1024
"""Iterations of a loop that asks for it without a number."""

class _NotUnrollable(Exception):
    """An attempt to unroll came to nothing; the loop is lowered as a loop."""


class LoopLowering(FlowLowering):
    def loop(self, node: tree.Loop) -> None:
        if node.initializer is not None:
            self.statement(node.initializer)
        if node.hint in ("", "unroll"):
            try:
                self.unrolled(node)
                return
            except _NotUnrollable:
                node.hint = "kept"  # once is enough
        self.real_loop(node)

    def unrolled(self, node: tree.Loop) -> None:
        """Lower the iterations one after the other; raises _NotUnrollable with everything as it was."""
        forced = node.hint == "unroll"
        before, mark, count, known = dict(self.env), len(self.b.region), self.b.count, dict(self.b.known[-1])
        jumps, nesting = len(self.jumps), self.nesting
        bound = node.limit or (UNROLL_LIMIT if forced else UNROLL_ITERATIONS)
        scope = JumpScope("break")
        self.jumps.append(scope)
        self.env[scope] = (FALSE,)
        self.loops.append(node)
        start = self.b.count

        def give_up(code: int, message: str) -> None:
            if forced:
                self.fail(code, message, node.token)
            del self.b.region[mark:]
            del self.jumps[jumps:]
            self.env, self.b.count, self.nesting = before, count, nesting
            self.b.known[-1] = known
            self.dead = ""
            self.loops.pop()
            raise _NotUnrollable

        def iteration(number: int) -> None:
            while True:
                if number > 0 or node.test_first:
                    test = TRUE if node.condition is None else self.scalar(node.condition)
                    if test is FALSE or (type(test) is Imm and not test.bits):
                        return
                    if type(test) is not Imm:
                        if not node.limit:
                            give_up(3511, "unable to unroll loop, its condition does not come to a known value")
                        if number >= bound:
                            return
                        self.split(test, lambda n=number: body_then_next(n), None, node.token, "")  # type: ignore[misc]
                        return
                if number >= bound:
                    if node.limit and forced:
                        return
                    give_up(3511, f"unable to unroll loop, loop does not appear to terminate in a timely manner "
                            f"({number} iterations), use the [unroll(n)] attribute to force an exact higher number")  # fmt: skip
                if not body(number):
                    return
                number += 1

        def body_then_next(number: int) -> None:
            if body(number):
                iteration(number + 1)

        def body(number: int) -> bool:
            """One pass; False when control never comes to the next one, or already went there under a guard."""
            if not forced and self.b.count - start > UNROLL_INSTRUCTIONS:
                give_up(3511, "the unrolled loop is too large")
            inner = JumpScope("continue")
            self.jumps.append(inner)
            self.env[inner] = (FALSE,)
            self.statement(node.body)
            self.jumps.pop()
            skipped = self.env.pop(inner, (FALSE,))[0]
            if self.dead == "real":
                return False
            if self.dead == "virtual" and (skipped is TRUE or self.alive()):
                self.dead = ""
            if self.dead:
                return False
            guard = self.pending()
            if self.dead or guard is TRUE:
                self.dead = self.dead or "virtual"
                return False
            if guard is not FALSE:
                if not forced:
                    give_up(3511, "the loop is left early")

                def rest() -> None:
                    if node.step is not None:
                        self.value(node.step)
                    iteration(number + 1)

                self.guarded(guard, rest, node.token)
                return False
            if node.step is not None:
                self.value(node.step)
            return True

        iteration(0)
        self.loops.pop()
        self.jumps.pop()
        self.env.pop(scope, None)
        if self.dead == "virtual" and self.alive():
            self.dead = ""

    def real_loop(self, node: tree.Loop) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(4508, f"flow control is nested more than {MAX_NESTING} deep", node.token)
        loop = Loop()
        loop.token = node
        self.b.touch_memory()
        parts = [p for p in (node.condition, node.step, node.body) if p is not None]
        assigned = assigned_in(parts)
        before = self.env
        self.env = dict(before)
        headers: list[tuple[tree.Variable, int, Instr]] = []
        for variable, lanes in before.items():
            if variable in assigned and isinstance(lanes, tuple):
                fresh: list[Value] = []
                for at in range(0, len(lanes), 4):
                    chunk = lanes[at : at + 4]
                    phi = Instr("phi", [chunk], len(chunk))
                    phi.varying = any(varying(v) for v in chunk)
                    loop.phis.append(phi)
                    headers.append((variable, at, phi))
                    fresh += phi.lanes
                    self.b.count += 1
                self.env[variable] = tuple(fresh)
        scope = JumpScope("break", loop)
        self.jumps.append(scope)
        self.loops.append(node)
        with self.b.into(loop.body):
            if node.test_first and node.condition is not None:
                self.break_unless(node.condition)
            inner = JumpScope("continue")
            self.jumps.append(inner)
            self.env[inner] = (FALSE,)
            if not self.dead:
                self.statement(node.body)
            self.jumps.pop()
            self.env.pop(inner, None)
            if self.dead == "virtual":
                self.dead = ""
            if not self.dead and self.pending() is FALSE and not self.dead:
                if node.step is not None:
                    self.value(node.step)
                if not node.test_first and node.condition is not None:
                    self.break_unless(node.condition)
        for variable, at, phi in headers:
            width = len(phi.lanes)
            if not self.dead:
                phi.srcs.append(tuple(self.env[variable][at : at + width]))
                phi.varying = phi.varying or any(varying(v) for v in phi.srcs[1])
        self.loops.pop()
        self.jumps.pop()
        self.nesting -= 1
        self.b.region.append(loop)
        self.b.touch_memory()
        if not loop.breaks:
            self.fail(3696, "infinite loop detected - loop never exits", node.token)
        self.join(before, scope, loop)

    def break_unless(self, condition: tree.Expression) -> None:
        test = self.b.one("not", self.scalar(condition))
        if test is FALSE:
            return
        self.leave_real(len(self.jumps) - 1, test)
