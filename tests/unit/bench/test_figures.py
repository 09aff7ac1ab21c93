"""Statistics, merged runs, tables: what a figure becomes on its way to a reader."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import figures
from bench.figures import Figure, Row, failed, geometric_mean, merge, number, percentile, share, speed, table


def test_percentile_is_a_sample_that_the_percentage_does_not_exceed():
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(samples, 50) == 3
    assert percentile(samples, 99) == 5
    assert percentile(samples, 100) == 5
    assert percentile(samples, 0) == 1
    assert percentile([7.0], 99) == 7
    assert math.isnan(percentile([], 50))


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60), st.floats(0, 100))
@settings(deadline=None, max_examples=100)
def test_percentile_leaves_no_more_above_it_than_it_may(samples, percent):
    value = percentile(samples, percent)
    assert value in samples
    at_most = sum(sample <= value for sample in samples)
    assert at_most * 100 >= percent * len(samples) - 1e-6


def test_geometric_mean():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1)
    assert math.isnan(geometric_mean([]))


def test_speed_is_above_one_for_the_faster_side():
    assert speed(30, 10, "high") == 3
    assert speed(10, 30, "low") == 3
    assert speed(10, 0, "high") == math.inf


def test_merge_takes_medians_of_runs_and_ratios_within_each_run():
    runs = [
        [Figure("a", "us", [10, 30, 20], "low", {"floor": 10.0})],
        [Figure("a", "us", [40], "low", {"floor": 10.0})],
        [Figure("a", "us", [90], "low", {"floor": 90.0}), Figure("b", "fps", [5])],
    ]
    a, b = merge(runs)
    assert (a.test, a.value, a.low, a.high, a.runs) == ("a", 40, 20, 90, 3)
    assert a.against == {"floor": (10.0, 2.0)}
    assert (b.test, b.value, b.runs, b.against) == ("b", 5, 1, {})


def test_a_failed_run_does_not_spoil_the_others():
    (row,) = merge([[failed("a", "device removed")], [Figure("a", "us", [4], "low")]])
    assert (row.value, row.runs, row.error) == (4, 1, None)
    (row,) = merge([[failed("a", "device removed")]])
    assert row.error == "device removed"


def test_json_goes_both_ways():
    figure = Figure("a", "us", [1.5, 2.5], "low", {"floor": 1.0}, "why", [1.0, 2.0, 3.0, 4.0])
    assert Figure.from_json(json.loads(json.dumps(figure.to_json()))) == figure
    assert Figure.from_json(failed("a", "no").to_json()).error == "no"
    json.dumps(figures.rows_to_json(merge([[figure, failed("b", "no")]])), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.1234, "0.123"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (12345.6, "12,346"), (math.nan, "-"), (math.inf, "inf")],
)
def test_numbers_have_three_digits_that_matter(value, text):
    assert number(value) == text


def test_a_ratio_is_told_as_times_a_floor_or_as_a_part_of_a_ceiling():
    assert share(3.5, "low") == "3.50 x"
    assert share(0.25, "high") == "25.0 % of"


def test_the_table_has_a_line_for_every_test_and_says_why_one_failed():
    rows = [
        Row("a.long.name", "us", "low", 20, 10, 30, 3, {"floor": (10.0, 2.0)}),
        *merge([[failed("b", "x" * 500)]]),
    ]
    lines = table(rows).splitlines()
    assert len(lines) == 3
    assert "20.0" in lines[1]
    assert "2.00 x floor (10.0)" in lines[1]
    assert "failed: xxx" in lines[2]
    assert max(map(len, lines)) < 200
    assert table([]) == "  nothing was measured"
