"""Figures: what was measured, as values and as ratios to limits and peers of the same run.

Owns the statistics, the table and the JSON form. A figure never says whether it is good: it stands beside its limit.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Better = Literal["low", "high"]
KEPT_SAMPLES: Final = 64
SHOWN_ERROR: Final = 120  #: characters of it in a table


@dataclass
class Figure:
    """One test of one run. ``against`` holds limits in the figure's own unit, ``check`` the mean colour of what was drawn."""

    test: str
    unit: str
    samples: list[float]
    better: Better = "high"
    against: dict[str, float] = field(default_factory=dict)
    note: str = ""
    check: list[float] | None = None
    error: str | None = None

    @property
    def value(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples) if self.samples else math.nan

    def to_json(self) -> dict[str, Any]:
        """As one JSON object; a failed test has ``error`` and no median."""
        record: dict[str, Any] = {"test": self.test}
        if self.error is not None:
            return record | {"error": self.error}
        record |= {
            "unit": self.unit,
            "better": self.better,
            "median": self.value,
            "samples": [float(f"{s:.6g}") for s in self.samples[:KEPT_SAMPLES]],
        }
        if self.against:
            record["against"] = self.against
        if self.note:
            record["note"] = self.note
        if self.check is not None:
            record["check"] = self.check
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Figure:
        """The other way round, of our lines and of the peers'."""
        return cls(
            record["test"],
            record.get("unit", ""),
            list(record.get("samples", ())),
            record.get("better", "high"),
            dict(record.get("against", {})),
            record.get("note", ""),
            record.get("check"),
            record.get("error"),
        )


def failed(test: str, why: object) -> Figure:
    """A test that gave no figure."""
    return Figure(test, "", [], error=str(why)[:300])


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that ``percent`` of the samples do not exceed. NaN without samples."""
    if not samples:
        return math.nan
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * percent / 100) - 1))]


def geometric_mean(values: Iterable[float]) -> float:
    """NaN without values. All must be above 0."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def speed(ours: float, theirs: float, better: Better) -> float:
    """How many times as fast ``ours`` is as ``theirs``."""
    over, under = (ours, theirs) if better == "high" else (theirs, ours)
    return over / under if under else math.inf


@dataclass
class Row:
    """A test over all runs: medians of the runs' medians, ratios likewise."""

    test: str
    unit: str
    better: Better
    value: float
    low: float
    high: float
    runs: int
    against: dict[str, tuple[float, float]]  #: limit -> (its value, ours divided by it)
    note: str = ""
    error: str | None = None


def merge(runs: Sequence[Sequence[Figure]]) -> list[Row]:
    """The rows of several runs of the same tests, in the order of their first appearance."""
    found: dict[str, list[Figure]] = {}
    for figures in runs:
        for figure in figures:
            found.setdefault(figure.test, []).append(figure)
    rows = []
    for test, figures in found.items():
        good = [f for f in figures if f.error is None and f.samples]
        if not good:
            rows.append(Row(test, "", "high", math.nan, math.nan, math.nan, 0, {}, "", figures[0].error or "no samples"))
            continue
        values = [f.value for f in good]
        limits = {}
        for name in dict.fromkeys(name for f in good for name in f.against):
            pairs = [(f.value, f.against[name]) for f in good if name in f.against]
            limits[name] = (
                statistics.median(limit for _, limit in pairs),
                statistics.median(value / limit if limit else math.inf for value, limit in pairs),
            )
        first = good[0]
        rows.append(
            Row(test, first.unit, first.better, statistics.median(values), min(values), max(values), len(good), limits, first.note)
        )
    return rows


def number(value: float) -> str:
    """Three digits that matter."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == 0 or abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def share(ratio: float, better: Better) -> str:
    """A ratio to a limit in words: times as much as a limit from below, or the part that is reached of one from above."""
    return f"{number(ratio)} x" if better == "low" else f"{number(100 * ratio)} % of"


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Cells in aligned columns; those in ``right`` end at the same place."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=False))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def table(rows: Sequence[Row]) -> str:
    """As people read it: value, range over the runs, ratio to each limit with the limit's own value."""
    if not rows:
        return "  nothing was measured"
    cells = [["test", "median", "unit", "range over runs", "against (same run)"]]
    for row in rows:
        if row.error is not None:
            why = row.error if len(row.error) <= SHOWN_ERROR else f"{row.error[:SHOWN_ERROR]}..."
            cells.append([row.test, "-", "", "", f"failed: {why}"])
            continue
        spread = f"{number(row.low)} - {number(row.high)}" if row.runs > 1 else ""
        against = [f"{share(ratio, row.better)} {name} ({number(limit)})" for name, (limit, ratio) in row.against.items()]
        cells.append([row.test, number(row.value), row.unit, spread, "; ".join(against + ([row.note] if row.note else []))])
    return columns(cells, right=(1,))


def rows_to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For ``--json``."""
    found = []
    for row in rows:
        record: dict[str, Any] = {"test": row.test}
        if row.error is not None:
            record["error"] = row.error
        else:
            record |= {"unit": row.unit, "better": row.better, "runs": row.runs}
            record |= {"median": row.value, "min": row.low, "max": row.high}
            record["against"] = {name: {"value": limit, "ratio": ratio} for name, (limit, ratio) in row.against.items()}
            if row.note:
                record["note"] = row.note
        found.append(record)
    return found
