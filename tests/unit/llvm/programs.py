"""Random shader programs that every engine must run alike: integer work bit for bit, float work where it is exactly defined.

Registers r0..r5 hold integers, r6..r11 floats; the two meet in comparisons and conversions alone, so that the payload of a NaN
never shows. r12 and up count loops and hold addresses.
"""

from __future__ import annotations

import random

INTEGER = [
    "iadd",
    "imul",
    "imul_hi",
    "umul_hi",
    "udiv",
    "urem",
    "imin",
    "imax",
    "umin",
    "umax",
    "uadd_carry",
    "usub_borrow",
    "and",
    "or",
    "xor",
    "shl",
    "ishr",
    "ushr",
]
INTEGER_ONE = ["not", "count_bits", "first_bit_hi", "first_bit_lo", "first_bit_shi", "bit_reverse", "ineg"]
INTEGER_THREE = ["imad", "msad", "ubfe", "ibfe"]
FLOAT = ["fadd", "fmul", "fdiv", "fmin", "fmax"]
FLOAT_ONE = ["frcp", "fsqrt", "ffrc", "fround_ne", "fround_ni", "fround_pi", "fround_z"]
COMPARE = ["feq", "fne", "flt", "fge"]
INTEGER_COMPARE = ["ieq", "ine", "ilt", "ige", "ult", "uge"]


class Generator:
    """Makes the body of a program."""

    def __init__(self, seed: int, *, arrays: bool = True, shared: bool = False) -> None:
        self.r = random.Random(seed)
        self.arrays, self.shared = arrays, shared
        self.lines: list[str] = []
        self.counters = 12
        self.loops = 0

    def int_source(self) -> str:
        """An integer operand."""
        pick = self.r.random()
        if pick < 0.65:
            return ("-" if self.r.random() < 0.15 else "") + f"r{self.r.randrange(6)}"
        if pick < 0.8:
            return f"c0[{self.r.randrange(20)}]"  # some beyond the end
        return str(self.r.choice([0, 1, 2, 3, 5, 31, 32, 255, 0x80000000, 0xFFFFFFFF, self.r.getrandbits(32)]))

    def float_source(self) -> str:
        """A float operand."""
        pick = self.r.random()
        text = f"r{self.r.randrange(6, 12)}" if pick < 0.75 else f"{self.r.uniform(-4, 4):.5f}"
        if self.r.random() < 0.2:
            text = f"|{text.removeprefix('-')}|"
        return "-" + text.removeprefix("-") if self.r.random() < 0.2 else text

    def statement(self, depth: int) -> None:
        """One statement, maybe a structured one."""
        r, add = self.r, self.lines.append
        pick = r.random()
        i, f = f"r{r.randrange(6)}", f"r{r.randrange(6, 12)}"
        sat = ".sat" if r.random() < 0.1 else ""
        if pick < 0.28:
            add(f"{r.choice(INTEGER)} {i}, {self.int_source()}, {self.int_source()}")
        elif pick < 0.34:
            add(f"{r.choice(INTEGER_ONE)} {i}, {self.int_source()}")
        elif pick < 0.39:
            add(f"{r.choice(INTEGER_THREE)} {i}, {self.int_source()}, {self.int_source()}, {self.int_source()}")
        elif pick < 0.41:
            add(f"bfi {i}, {self.int_source()}, {self.int_source()}, {self.int_source()}, {self.int_source()}")
        elif pick < 0.52:
            add(f"{r.choice(FLOAT)}{sat} {f}, {self.float_source()}, {self.float_source()}")
        elif pick < 0.57:
            add(f"{r.choice(FLOAT_ONE)}{sat} {f}, {self.float_source()}")
        elif pick < 0.61:
            add(f"{r.choice(COMPARE)} {i}, {self.float_source()}, {self.float_source()}")
        elif pick < 0.66:
            add(f"{r.choice(INTEGER_COMPARE)} {i}, {self.int_source()}, {self.int_source()}")
        elif pick < 0.69:
            add(f"{r.choice(['itof', 'utof'])} {f}, {self.int_source()}")
        elif pick < 0.72:
            add(f"{r.choice(['ftoi', 'ftou'])} {i}, {self.float_source()}")
        elif pick < 0.75:
            add(f"select {i}, {self.int_source()}, r{r.randrange(6)}, r{r.randrange(6)}")
        elif pick < 0.77:
            add(f"load_constant {i}, {self.int_source()}, 0")
        elif pick < 0.79:
            add(f"load_icb {i}, {self.int_source()}")
        elif pick < 0.83 and self.arrays:
            add(f"and r15, {self.int_source()}, 15")
            if r.random() < 0.5:
                add(f"store_array r15, {self.int_source().removeprefix('-')}, 0")
            else:
                add(f"load_array {i}, r15, 0")
        elif pick < 0.93 and depth < 3:
            self.structure(depth)
        elif depth and self.loops and pick < 0.95:
            add(f"{r.choice(['breakc', 'continuec'])}{'.z' if r.random() < 0.3 else ''} r{r.randrange(6)}, 1")
        elif pick > 0.995:
            add(f"retc r{r.randrange(6)}")
        else:
            add(f"mov {i}, {self.int_source().removeprefix('-')}")

    def structure(self, depth: int) -> None:
        """IF, LOOP or BLOCK."""
        r, add = self.r, self.lines.append
        kind = r.random()
        if kind < 0.5 or self.counters > 14:
            loops, self.loops = self.loops, self.loops if r.random() < 0.5 else 0  # with breaks inside, or without
            add(f"if{'.z' if r.random() < 0.3 else ''} r{r.randrange(6)}")
            self.body(depth + 1)
            if r.random() < 0.5:
                add("else")
                self.body(depth + 1)
            add("endif")
            self.loops = loops
        elif kind < 0.8:
            counter = f"r{16 + self.counters}"
            self.counters += 1
            add(f"mov {counter}, 0")
            add("loop")
            add(f"iadd {counter}, {counter}, 1")
            add(f"uge r15, {counter}, {r.randrange(2, 6)}")
            add("breakc r15, 1")
            self.loops += 1
            self.body(depth + 1)
            self.loops -= 1
            add("endloop")
        else:
            loops, self.loops = self.loops, 0
            add("block")
            self.body(depth + 1)
            add(f"breakc r{r.randrange(6)}, 1")
            self.body(depth + 1)
            add("endblock")
            self.loops = loops

    def body(self, depth: int) -> None:
        """Some statements."""
        for _ in range(self.r.randrange(1, 5)):
            self.statement(depth)


def compute_program(seed: int) -> str:
    """A kernel that mixes its thread id through random work and writes its registers out."""
    g = Generator(seed)
    group = g.r.choice(["64,1,1", "16,2,1", "8,4,2", "7,3,1", "1,1,1"])
    head = [
        f"compute temps=40 group={group}",
        "constants 0 16",
        "resource 0 RAW_BUFFER",
        "uav 0 RAW_BUFFER",
        "array 0 12",
        "icb 1 2 3 0x40 0xffffffff",
        "imad r13, $GROUP_ID_X, 64, $ID_IN_GROUP_FLAT",
        "shl r14, r13, 5",
        "load_raw r0, r14 t0 mask=xyzw",
        "iadd r15, r14, 16",
        "load_raw r6, r15 t0 mask=xyzw",
        "mov r4, $ID_IN_GROUP_X",
        "mov r5, $GROUP_ID_X",
        "utof r10, $ID_IN_GROUP_Y",
        "mov r11, 0.5",
    ]
    for _ in range(g.r.randrange(8, 24)):
        g.statement(0)
    tail = ["imul r14, r13, 48"]
    for k in range(0, 12, 3):
        tail += [f"iadd r15, r14, {4 * k}", f"uav_store_raw r15, r{k} u0 mask=xyz"]
    return "\n".join([*head, *g.lines, *tail])
