"""Ours beside the peers: ratios, means, rows behind, noise, pictures."""

import json
import math

import pytest

from bench.figures import Figure, failed
from bench.peers.compare import OURS, Comparison, Record, counts


def record(peer, test, value, *, better="high", run=0, other=0.0, check=None):
    return Record(peer, run, Figure(test, "Gpix/s", [value], better, check=check), other)


def test_ratios_say_how_many_times_as_fast_ours_is():
    found = Comparison(
        [
            record(OURS, "fill.a", 10.0), record("vtest", "fill.a", 5.0), record("llvmpipe", "fill.a", 20.0),
            record(OURS, "readback.b", 1.0, better="low"), record("vtest", "readback.b", 4.0, better="low"),
        ]
    )  # fmt: skip
    assert found.peers == [OURS, "vtest", "llvmpipe"]
    assert found.ratio("fill.a", "vtest") == 2
    assert found.ratio("fill.a", "llvmpipe") == 0.5
    assert found.ratio("readback.b", "vtest") == 4
    assert found.ratio("readback.b", "llvmpipe") is None
    assert found.best("fill.a") == (0.5, "llvmpipe")
    assert found.behind() == [("fill.a", 0.5, "llvmpipe")]


def test_means_are_geometric_and_the_best_peer_is_taken_row_by_row():
    found = Comparison(
        [
            record(OURS, "fill.a", 8.0), record("vtest", "fill.a", 1.0), record("llvmpipe", "fill.a", 2.0),
            record(OURS, "blend.b", 2.0), record("vtest", "blend.b", 2.0),
        ]
    )  # fmt: skip
    assert found.mean("vtest") == pytest.approx(math.sqrt(8))
    assert found.mean("llvmpipe") == 4
    assert found.mean(None) == pytest.approx(2)
    assert found.mean("vtest", "blend.") == 1
    assert math.isnan(found.mean("llvmpipe", "blend."))


def test_a_row_that_tells_the_same_samples_again_does_not_count():
    assert counts("shader.mad200.ms")
    assert not counts("shader.mad200.gflops")
    assert not counts("latency.draw1px.finish.p99")


def test_nothing_pending_in_one_process_is_not_compared():
    test = "latency.empty.finish"
    found = Comparison([record(peer, test, 1.0, better="low") for peer in (OURS, "llvmpipe", "vtest")])
    assert found.ratio(test, "llvmpipe") is None
    assert found.ratio(test, "vtest") == 1


def test_noisy_runs_are_left_out_where_there_is_a_quiet_one():
    found = Comparison([record(OURS, "a", 1.0, other=1.5), record(OURS, "a", 3.0, run=1, other=0.1)])
    assert (found.cells["a", OURS].value, found.cells["a", OURS].noisy) == (3, False)
    found = Comparison([record(OURS, "a", 1.0, other=1.5), record(OURS, "a", 3.0, run=1, other=0.9)])
    assert (found.cells["a", OURS].value, found.cells["a", OURS].noisy) == (3, True)


def test_failures_and_different_pictures_are_told():
    found = Comparison(
        [
            record(OURS, "fill.a", 1.0, check=[10.0, 0, 0, 255]),
            record("llvmpipe", "fill.a", 1.0, check=[200.0, 0, 0, 255]),
            record("vtest", "fill.a", 1.0, check=[201.0, 0, 0, 255]),
            Record(OURS, 0, failed("fill.b", "device removed")),
            record("llvmpipe", "fill.b", 1.0),
        ]
    )
    text = found.text()
    assert "fill.a: ours drew another picture than llvmpipe" in text
    assert "vtest drew another" not in text
    assert "ours failed fill.b: device removed" in text
    assert "behind: none" in text


def test_the_report_is_json_without_nan():
    limits = {"fill.a": {"memset": 9.0}}
    found = Comparison([record(OURS, "fill.a", 2.0), record("vtest", "fill.a", 1.0), Record("vtest", 0, failed("x", "no"))], limits)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["rows"][0]["times_as_fast"] == {"vtest": 2.0}
    assert told["rows"][0]["limits"] == {"memset": 9.0}
    assert told["geometric_means"] == {"vtest": 2.0}
    assert "2.00x" in found.text()


def test_an_empty_session_has_a_text():
    assert Comparison([]).text()
