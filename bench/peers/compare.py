"""The table of ours beside the peers: values, how many times as fast ours is, geometric means, and the rows that are behind."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.figures import Better, Figure, columns, geometric_mean, number, speed

OURS: Final = "ours"
#: Runs during which other processes used more cores than this are left out where there is a quieter one.
QUIET: Final = 0.3
#: How far the mean of a channel (0..255) may be from the first peer's before the pictures count as different: blending in 8 bits
#: rounds every layer, some up and some down.
SAME_PICTURE: Final = 4.0
#: In one process ``glFinish`` with nothing pending does nothing: there is no submission to compare with.
NOT_COMPARED: Final = frozenset({("llvmpipe", "latency.empty.finish"), ("llvmpipe", "latency.empty.finish.p99")})


@dataclass(frozen=True)
class Record:
    """One figure of one peer in one run. ``other_cpu``: cores that the rest of the machine used meanwhile."""

    peer: str
    run: int
    figure: Figure
    other_cpu: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As one JSON object."""
        return {"peer": self.peer, "run": self.run, "other_cpu": round(self.other_cpu, 3), **self.figure.to_json()}


@dataclass(frozen=True)
class Cell:
    """What a peer did in a test over all runs that count. ``noisy``: there was no quiet run, this is the quietest."""

    value: float
    unit: str
    better: Better
    noisy: bool


def counts(test: str) -> bool:
    """Whether a test enters means: not when it tells the samples of another once more."""
    return not test.endswith((".p99", ".gflops", ".hlsl"))


class Comparison:
    """Cells by (test, peer), in the order in which tests and peers first appeared."""

    def __init__(self, records: Sequence[Record], limits: dict[str, dict[str, float]] | None = None) -> None:
        self.limits = limits or {}
        self.tests = list(dict.fromkeys(r.figure.test for r in records))
        self.peers = [OURS, *dict.fromkeys(r.peer for r in records if r.peer != OURS)]
        self.cells: dict[tuple[str, str], Cell] = {}
        self.errors: dict[tuple[str, str], str] = {}
        grouped: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            grouped.setdefault((record.figure.test, record.peer), []).append(record)
        for key, group in grouped.items():
            good = [r for r in group if r.figure.error is None and r.figure.samples]
            wrong = [r.figure.error for r in group if r.figure.error is not None]
            if wrong:
                self.errors[key] = wrong[0]
            if good:
                quiet = [r for r in good if r.other_cpu <= QUIET] or [min(good, key=lambda r: r.other_cpu)]
                value = statistics.median(r.figure.value for r in quiet)
                first = quiet[0]
                self.cells[key] = Cell(value, first.figure.unit, first.figure.better, first.other_cpu > QUIET)
        self.pictures = _different_pictures(records, self.peers)

    def ratio(self, test: str, peer: str) -> float | None:
        """How many times as fast ours is; None where one of them has no figure or there is nothing to compare."""
        mine, theirs = self.cells.get((test, OURS)), self.cells.get((test, peer))
        if mine is None or theirs is None or (peer, test) in NOT_COMPARED:
            return None
        return speed(mine.value, theirs.value, theirs.better)

    def best(self, test: str) -> tuple[float, str] | None:
        """The smallest ratio, and whose it is."""
        found = [(ratio, peer) for peer in self.peers[1:] if (ratio := self.ratio(test, peer)) is not None]
        return min(found) if found else None

    def mean(self, peer: str | None, prefix: str = "") -> float:
        """The geometric mean of the ratios to ``peer``, or to the best peer of each row; NaN where there are none."""
        found = []
        for test in self.tests:
            if counts(test) and test.startswith(prefix):
                best = self.best(test)
                ratio = self.ratio(test, peer) if peer is not None else best[0] if best else None
                if ratio:
                    found.append(ratio)
        return geometric_mean(found)

    def behind(self) -> list[tuple[str, float, str]]:
        """(test, ratio, peer) of the rows in which a peer is faster, the worst first."""
        found = [(test, *best) for test in self.tests if counts(test) and (best := self.best(test)) and best[0] < 1]
        return sorted(found, key=lambda row: row[1])

    def text(self) -> str:
        """The whole report."""
        return "\n\n".join(part for part in (self._table(), self._means(), self._notes()) if part)

    def _table(self) -> str:
        rows = [["test", "unit", *self.peers, "limit"]]
        for test in self.tests:
            known = [cell for peer in self.peers if (cell := self.cells.get((test, peer)))]
            if not known:
                continue
            row = [test, known[0].unit]
            for peer in self.peers:
                cell = self.cells.get((test, peer))
                if cell is None:
                    row.append("failed" if (test, peer) in self.errors else "")
                    continue
                ratio = self.ratio(test, peer) if peer != OURS else None
                row.append(f"{'~' * cell.noisy}{number(cell.value)}" + (f" ({number(ratio)}x)" if ratio is not None else ""))
            limits = self.limits.get(test, {})
            row.append("; ".join(f"{name} {number(value)}" for name, value in limits.items()))
            rows.append(row)
        return columns(rows, right=range(2, 2 + len(self.peers)))

    def _means(self) -> str:
        if len(self.peers) < 2:
            return ""
        rows = [["geometric mean of times as fast", *self.peers[1:], "best of them"]]
        groups = dict.fromkeys(test.split(".")[0] for test in self.tests if counts(test))
        for group in (*groups, ""):
            means = [self.mean(peer, f"{group}." if group else "") for peer in (*self.peers[1:], None)]
            rows.append([group or "all", *(f"{number(mean)}x" if mean == mean else "" for mean in means)])
        return columns(rows, right=range(1, len(self.peers) + 1))

    def _notes(self) -> str:
        lines = []
        behind = self.behind()
        if behind:
            told = ", ".join(f"{test} ({number(ratio)}x of {peer})" for test, ratio, peer in behind)
            lines.append(textwrap.fill(f"behind: {told}", 130, initial_indent="  ", subsequent_indent="    "))
        elif len(self.peers) > 1 and any(peer == OURS for _, peer in self.cells):
            lines.append("  behind: none")
        lines += [f"  {peer} failed {test}: {why}" for (test, peer), why in self.errors.items() if (test, peer) not in self.cells]
        lines += self.pictures
        if any(cell.noisy for cell in self.cells.values()):
            lines.append(f"  ~ : no run without other processes on the machine (over {QUIET} cores); the quietest is told")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        rows = []
        for test in self.tests:
            cells = {peer: self.cells[test, peer] for peer in self.peers if (test, peer) in self.cells}
            if not cells:
                continue
            first = next(iter(cells.values()))
            row: dict[str, Any] = {"test": test, "unit": first.unit, "better": first.better}
            row["median"] = {peer: cell.value for peer, cell in cells.items()}
            row["times_as_fast"] = {peer: ratio for peer in self.peers[1:] if (ratio := self.ratio(test, peer)) is not None}
            row["limits"] = self.limits.get(test, {})
            rows.append(row)
        means = {peer: mean for peer in self.peers[1:] if (mean := self.mean(peer)) == mean}
        errors = [{"test": test, "peer": peer, "error": why} for (test, peer), why in self.errors.items()]
        behind = [{"test": test, "times_as_fast": ratio, "peer": peer} for test, ratio, peer in self.behind()]
        return {"rows": rows, "geometric_means": means, "behind": behind, "errors": errors}


def _different_pictures(records: Sequence[Record], peers: Sequence[str]) -> list[str]:
    """Sentences about tests in which not all drew the same."""
    shown: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record.figure.check is not None:
            shown.setdefault(record.figure.test, {})[record.peer] = record.figure.check
    lines = []
    for test, pictures in shown.items():
        first = next((peer for peer in (*peers[1:], OURS) if peer in pictures), OURS)
        for peer, check in pictures.items():
            if max(abs(a - b) for a, b in zip(check, pictures[first], strict=True)) > SAME_PICTURE:
                lines.append(f"  {test}: {peer} drew another picture than {first}: {check} and {pictures[first]}")
    return lines
